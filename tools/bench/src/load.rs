//! Load in a closed loop: so many connections, each with one request under way at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::BoxError;

/// A request to be sent over and over.
#[derive(Clone)]
pub(crate) struct Shot {
    /// Path.
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: Bytes,
}

/// What was measured.
pub(crate) struct Figures {
    /// Microseconds a request.
    pub(crate) latency: Histogram<u64>,
    /// Requests a second.
    pub(crate) rate: f64,
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
    let mut latency = Histogram::new(3)?;
    while let Some(result) = tasks.join_next().await {
        latency.add(result??)?;
    }
    let rate = per_second(latency.len(), duration);
    Ok(Figures { latency, rate })
}

#[expect(clippy::cast_precision_loss, reason = "a rate is shown with few digits")]
fn per_second(count: u64, duration: Duration) -> f64 {
    count as f64 / duration.as_secs_f64()
}

async fn connection(
    address: &str,
    api_key: &str,
    shots: &[Shot],
    number: usize,
    begin: Instant,
    end: Instant,
) -> Result<Histogram<u64>, BoxError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let mut latency = Histogram::new(3)?;
    // Each connection starts at another shot, so that they don't march in step.
    for shot in shots.iter().cycle().skip(number * 7) {
        let start = Instant::now();
        if start >= end {
            break;
        }
        send(&mut sender, address, api_key, shot).await?;
        if start >= begin {
            latency.record(u64::try_from(start.elapsed().as_micros())?.max(1))?;
        }
    }
    Ok(latency)
}

async fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    address: &str,
    api_key: &str,
    shot: &Shot,
) -> Result<(), BoxError> {
    let request = Request::post(&shot.path)
        .header("host", address)
        .header("content-type", "application/json")
        .header("x-api-key", api_key)
        .body(Full::new(shot.body.clone()))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    if status != StatusCode::OK {
        return Err(format!("{status} for {}: {}", shot.path, String::from_utf8_lossy(&body)).into());
    }
    Ok(())
}
