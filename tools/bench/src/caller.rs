//! A caller with a connection of its own, and what many of them measure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::http::request::Builder;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::BoxError;

/// One request under way at a time.
pub(crate) struct Caller {
    host: String,
    sender: SendRequest<Full<Bytes>>,
    _driver: JoinSet<Result<(), hyper::Error>>,
}

impl Caller {
    /// Connects to `address:port`.
    pub(crate) async fn connect(host: &str) -> Result<Self, BoxError> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        Ok(Self {
            host: host.to_owned(),
            sender,
            _driver: driver,
        })
    }

    /// Sends a request and reads its answer to the end.
    pub(crate) async fn ask(
        &mut self,
        request: Builder,
        body: &'static str,
    ) -> Result<(StatusCode, Bytes), BoxError> {
        let request = request
            .header("host", &self.host)
            .body(Full::new(Bytes::from_static(body.as_bytes())))?;
        // An answer may be read to its end before the connection knows that it is free again.
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }

    /// The cheapest search with this key.
    pub(crate) async fn search(&mut self, prefix: &str, key: &str) -> Result<StatusCode, BoxError> {
        let request = Request::post(format!("{prefix}/companies/search"))
            .header("content-type", "application/json")
            .header("x-api-key", key);
        let (status, _) = self.ask(request, r#"{"limit": 1, "fields": ["id"]}"#).await?;
        Ok(status)
    }
}

/// The sum of a metric of a process over all its labels; nothing if it has not been told.
pub(crate) async fn metric(admin: &str, name: &str) -> Result<f64, BoxError> {
    let host = admin.trim_start_matches("http://");
    let (_, text) = Caller::connect(host)
        .await?
        .ask(Request::get("/metrics"), "")
        .await?;
    let of_name = |line: &str| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with(['{', ' '])
            .then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
    };
    Ok(String::from_utf8_lossy(&text).lines().filter_map(of_name).sum())
}

/// What callers measured.
pub(crate) struct Measured {
    /// Microseconds a request.
    pub(crate) latency: Histogram<u64>,
    /// Answers by their status.
    pub(crate) answers: BTreeMap<u16, u64>,
}

impl Measured {
    pub(crate) fn new() -> Result<Self, BoxError> {
        Ok(Self {
            latency: Histogram::new(3)?,
            answers: BTreeMap::new(),
        })
    }

    /// Notes an answer to a request that began then.
    pub(crate) fn note(&mut self, begun: Instant, status: StatusCode) -> Result<(), BoxError> {
        let took = u64::try_from(begun.elapsed().as_micros())?;
        self.latency.record(took.max(1))?;
        *self.answers.entry(status.as_u16()).or_default() += 1;
        Ok(())
    }

    /// Takes in what another measured.
    pub(crate) fn add(&mut self, other: Self) -> Result<(), BoxError> {
        self.latency.add(other.latency)?;
        for (status, count) in other.answers {
            *self.answers.entry(status).or_default() += count;
        }
        Ok(())
    }

    /// Milliseconds below which this share of all requests was.
    #[expect(clippy::cast_precision_loss, reason = "latencies are shown with few digits")]
    pub(crate) fn millis(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// Answers a second of a measurement of this length.
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with few digits")]
    pub(crate) fn per_second(&self, length: Duration) -> f64 {
        self.latency.len() as f64 / length.as_secs_f64()
    }

    /// `401: 1990, 429: 10`.
    pub(crate) fn statuses(&self) -> String {
        let counted = self
            .answers
            .iter()
            .map(|(status, count)| format!("{status}: {count}"));
        counted.collect::<Vec<_>>().join(", ")
    }
}
