//! Load over so many connections, each with one request under way at a time: in a closed loop, where the next request
//! waits for the answer to the one before, or at a fixed rate, where it does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::BoxError;

/// A request to be sent over and over.
#[derive(Clone)]
pub(crate) struct Shot {
    /// Path, with its query string.
    path: String,
    /// JSON; none is sent where there is none.
    body: Option<Bytes>,
}

impl Shot {
    /// `POST` of a JSON body.
    pub(crate) const fn post(path: String, body: Bytes) -> Self {
        Self {
            path,
            body: Some(body),
        }
    }

    /// `GET`.
    pub(crate) const fn get(path: String) -> Self {
        Self { path, body: None }
    }
}

/// What was measured.
pub(crate) struct Figures {
    /// Microseconds a request.
    pub(crate) latency: Histogram<u64>,
    /// Requests a second.
    pub(crate) rate: f64,
    /// All requests, those of the warm-up too.
    pub(crate) requests: u64,
}

impl Figures {
    /// Milliseconds below which this share of all requests was.
    #[expect(clippy::cast_precision_loss, reason = "latencies are shown with few digits")]
    pub(crate) fn millis(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1_000.0
    }
}

/// Sends the shots in turn over so many connections for so long, after a warm-up of a tenth of it.
pub(crate) async fn run(
    address: &str,
    api_key: &str,
    shots: Arc<Vec<Shot>>,
    connections: usize,
    duration: Duration,
) -> Result<Figures, BoxError> {
    let begin = Instant::now() + duration / 10;
    let end = begin + duration;
    let mut tasks = JoinSet::new();
    for number in 0..connections {
        let (address, api_key, shots) = (address.to_owned(), api_key.to_owned(), Arc::clone(&shots));
        tasks.spawn(async move { connection(&address, &api_key, &shots, number, begin, end).await });
    }
    gathered(tasks, duration).await
}

/// Sends the shots in turn at a fixed rate, whatever becomes of those before; a latency counts from when the request was
/// due, also if all connections were busy then. After a warm-up as above.
pub(crate) async fn run_at_rate(
    address: &str,
    api_key: &str,
    shots: Arc<Vec<Shot>>,
    connections: usize,
    rate: u32,
    duration: Duration,
) -> Result<Figures, BoxError> {
    let start = Instant::now();
    let begin = start + duration / 10;
    let (sender, due) = mpsc::unbounded_channel();
    let pacing = tokio::task::spawn_blocking(move || pace(start, rate, begin + duration, &sender));
    let due = Arc::new(Mutex::new(due));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (address, api_key) = (address.to_owned(), api_key.to_owned());
        let (shots, due) = (Arc::clone(&shots), Arc::clone(&due));
        tasks.spawn(async move {
            let (mut sender, _driver) = connect(&address).await?;
            let mut sent = Sent::new()?;
            loop {
                let next = due.lock().await.recv().await;
                let Some((number, at)) = next else {
                    return Ok(sent);
                };
                send(&mut sender, &address, &api_key, &shots[number % shots.len()]).await?;
                sent.note(at, begin)?;
            }
        });
    }
    let figures = gathered(tasks, duration).await;
    pacing.await?;
    figures
}

/// Tells each request when it is due. A thread of its own wakes up to the tenth of a millisecond; a timer of the
/// runtime does not.
#[expect(clippy::disallowed_methods, reason = "it is a thread of its own")]
fn pace(start: Instant, rate: u32, end: Instant, sender: &mpsc::UnboundedSender<(usize, Instant)>) {
    for number in 0_u32.. {
        let at = start + Duration::from_secs(1) * number / rate.max(1);
        if at >= end {
            return;
        }
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if sender.send((number as usize, at)).is_err() {
            return;
        }
    }
}

/// What a connection has sent.
struct Sent {
    latency: Histogram<u64>,
    requests: u64,
}

impl Sent {
    fn new() -> Result<Self, BoxError> {
        Ok(Self {
            latency: Histogram::new(3)?,
            requests: 0,
        })
    }

    /// Notes an answer to a request that was due at `at`, after a warm-up until `begin`.
    fn note(&mut self, at: Instant, begin: Instant) -> Result<(), BoxError> {
        self.requests += 1;
        if at >= begin {
            self.latency
                .record(u64::try_from(at.elapsed().as_micros())?.max(1))?;
        }
        Ok(())
    }
}

async fn gathered(
    mut tasks: JoinSet<Result<Sent, BoxError>>,
    duration: Duration,
) -> Result<Figures, BoxError> {
    let mut all = Sent::new()?;
    while let Some(result) = tasks.join_next().await {
        let sent = result??;
        all.latency.add(sent.latency)?;
        all.requests += sent.requests;
    }
    Ok(Figures {
        rate: per_second(all.latency.len(), duration),
        latency: all.latency,
        requests: all.requests,
    })
}

async fn connect(
    address: &str,
) -> Result<(SendRequest<Full<Bytes>>, JoinSet<Result<(), hyper::Error>>), BoxError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    Ok((sender, driver))
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown with few digits")]
pub(crate) fn per_second(count: u64, duration: Duration) -> f64 {
    count as f64 / duration.as_secs_f64()
}

async fn connection(
    address: &str,
    api_key: &str,
    shots: &[Shot],
    number: usize,
    begin: Instant,
    end: Instant,
) -> Result<Sent, BoxError> {
    let (mut sender, _driver) = connect(address).await?;
    let mut sent = Sent::new()?;
    // Each connection starts at another shot, so that they don't march in step.
    for shot in shots.iter().cycle().skip(number * 7) {
        let start = Instant::now();
        if start >= end {
            break;
        }
        send(&mut sender, address, api_key, shot).await?;
        sent.note(start, begin)?;
    }
    Ok(sent)
}

async fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    address: &str,
    api_key: &str,
    shot: &Shot,
) -> Result<(), BoxError> {
    let request = match &shot.body {
        Some(body) => Request::post(&shot.path)
            .header("content-type", "application/json")
            .body(Full::new(body.clone())),
        None => Request::get(&shot.path).body(Full::default()),
    };
    let mut request = request?;
    request.headers_mut().insert("host", address.parse()?);
    request.headers_mut().insert("x-api-key", api_key.parse()?);
    // An answer may be read to its end before the connection knows that it is free again.
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    if status != StatusCode::OK {
        return Err(format!("{status} for {}: {}", shot.path, String::from_utf8_lossy(&body)).into());
    }
    Ok(())
}
