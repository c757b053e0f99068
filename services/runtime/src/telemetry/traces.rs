//! Spans: which are sent, how they get away, and what ties them together.
//!
//! # Strangers
//! A caller's `traceparent` is honoured: its trace goes on through all processes. What it can't do is make us work: at the
//! public edge the sampled flag decides nothing. A trace is sent if it belongs to the share that is set
//! (`trace_sample_ratio`), by a hash of its id under a key that each process makes for itself, so that nobody can choose an
//! id that is sent. Services trust their callers, who have shown a token, and follow the flag; thus a trace is sent as a
//! whole or not at all. A `traceparent` that is malformed or comes twice begins a trace of our own. `tracestate` and
//! `baggage` end at the edge: nothing of ours reads them, and they would be carried to every call and into every span.
//!
//! # What can go wrong with a collector, and what then
//! - **It is away, refuses, or answers what is no answer.** The batch is dropped and counted; the next one is tried.
//! - **It accepts and never answers.** The same, after [`EXPORT_TIMEOUT`].
//! - **It is slower than spans come.** [`MAX_QUEUED`] wait, in memory; what comes then is dropped and counted.
//! - **It is so when the process ends.** The end waits for [`EXPORT_TIMEOUT`] at most.
//!
//! In each case a request does not notice: its spans are handed to a thread of their own, never waited for.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry::trace::{Link, SpanKind, Status, TraceContextExt as _, TraceId, TraceState};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_otlp::{WithExportConfig as _, WithTonicConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SamplingDecision, SamplingResult, SdkTracerProvider,
    ShouldSample, Span as SdkSpan, SpanData, SpanExporter, SpanProcessor,
};
use tonic::transport::{Endpoint, Uri};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::TRACE;
use crate::process::BoxError;
use crate::settings::Setting;

/// Longest time that a batch of spans has to get away; also the longest wait for the last ones.
pub(super) const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Spans that may wait to be sent, those on their way among them: about 4 MB.
const MAX_QUEUED: usize = 4_096;

const MAX_BATCH: usize = 512;

/// The header that names a trace.
const TRACEPARENT: &str = "traceparent";

/// What becomes of spans, as a metric.
const SPANS: &str = "trace_spans_total";

/// Where a collector is: `http://host:port`. Spans are sent in the open, to one that is near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CollectorAddress(Uri);

impl Setting for CollectorAddress {
    const FORM: &'static str = "URL";

    fn parse(text: &str) -> Result<Self, String> {
        let uri = text
            .parse::<Uri>()
            .ok()
            .filter(|uri| uri.scheme_str() == Some("http") && uri.path() == "/" && uri.query().is_none());
        uri.map(Self)
            .ok_or_else(|| "has to be http://host:port: gRPC, without TLS and without a path".to_owned())
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

pub(super) fn describe() {
    metrics::describe_counter!(
        SPANS,
        "Spans that were to be sent to the collector, by what became of them."
    );
    for outcome in ["exported", "queue_full", "export_failed"] {
        metrics::counter!(SPANS, "outcome" => outcome).increment(0);
    }
}

/// Sends spans to the collector at this address.
pub(super) fn provider(
    name: &'static str,
    is_public: bool,
    collector: &CollectorAddress,
    ratio: f64,
) -> Result<SdkTracerProvider, BoxError> {
    let channel = Endpoint::from(collector.0.clone())
        .connect_timeout(EXPORT_TIMEOUT)
        .timeout(EXPORT_TIMEOUT)
        .connect_lazy();
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_channel(channel)
        .with_timeout(EXPORT_TIMEOUT)
        .build()?;
    let resource = Resource::builder()
        .with_service_name(name)
        .with_attribute(KeyValue::new("service.namespace", "developer-search"))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let sampling = Sampling {
        ratio,
        follows_callers: !is_public,
        key: RandomState::new(),
    };
    Ok(SdkTracerProvider::builder()
        .with_span_processor(BoundedProcessor::new(exporter))
        .with_sampler(sampling)
        .with_resource(resource)
        .build())
}

/// Which traces are sent.
#[derive(Clone, Debug)]
struct Sampling {
    ratio: f64,
    follows_callers: bool,
    key: RandomState,
}

impl Sampling {
    /// Whether the trace belongs to the share that is sent.
    fn chooses(&self, trace: TraceId) -> bool {
        let hash = self.key.hash_one(trace.to_bytes());
        let high = u32::try_from(hash >> 32).unwrap_or(u32::MAX);
        f64::from(high) < self.ratio * 2_f64.powi(32)
    }
}

impl ShouldSample for Sampling {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace: TraceId,
        _name: &str,
        _kind: &SpanKind,
        _attributes: &[KeyValue],
        _links: &[Link],
    ) -> SamplingResult {
        let told = parent.and_then(|parent| {
            let span = parent.span();
            let parent = span.span_context();
            let counts = parent.is_valid() && (self.follows_callers || !parent.is_remote());
            counts.then(|| parent.is_sampled())
        });
        let decision = if told.unwrap_or_else(|| self.chooses(trace)) {
            SamplingDecision::RecordAndSample
        } else {
            SamplingDecision::Drop
        };
        SamplingResult {
            decision,
            attributes: Vec::new(),
            trace_state: TraceState::default(),
        }
    }
}

/// Hands spans on in batches, while there is room; counts those there is none for.
#[derive(Debug)]
struct BoundedProcessor {
    batches: BatchSpanProcessor,
    queued: Arc<AtomicUsize>,
}

impl BoundedProcessor {
    fn new(exporter: impl SpanExporter + 'static) -> Self {
        let queued = Arc::new(AtomicUsize::new(0));
        let exporter = CountedExporter {
            exporter,
            queued: Arc::clone(&queued),
        };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED)
            .with_max_export_batch_size(MAX_BATCH)
            .with_scheduled_delay(Duration::from_secs(1))
            .build();
        let batches = BatchSpanProcessor::builder(exporter)
            .with_batch_config(config)
            .build();
        Self { batches, queued }
    }
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, _span: &mut SdkSpan, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        if self.queued.fetch_add(1, Ordering::Relaxed) < MAX_QUEUED {
            self.batches.on_end(span);
        } else {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            metrics::counter!(SPANS, "outcome" => "queue_full").increment(1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts what got away and what did not.
#[derive(Debug)]
struct CountedExporter<E> {
    exporter: E,
    queued: Arc<AtomicUsize>,
}

impl<E: SpanExporter> SpanExporter for CountedExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let exported = self.exporter.export(batch).await;
        self.queued.fetch_sub(spans, Ordering::Relaxed);
        let outcome = if exported.is_ok() {
            "exported"
        } else {
            "export_failed"
        };
        metrics::counter!(SPANS, "outcome" => outcome).increment(u64::try_from(spans).unwrap_or(u64::MAX));
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Makes the span of a request a part of the trace that its headers name, if they name one, and tells the trace's id by
/// the span's field `trace_id`.
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers));
    // Fails only where there are no traces at all.
    if span.set_parent(parent).is_ok() {
        let context = span.context();
        let trace = context.span().span_context().trace_id();
        span.record("trace_id", tracing::field::display(trace));
    }
}

/// Writes the current span's place in its trace into the headers of a call, if there is a trace.
pub fn inject(headers: &mut HeaderMap) {
    let context = Span::current().context();
    if context.span().span_context().is_valid() {
        TraceContextPropagator::new().inject_context(&context, &mut HeadersMut(headers));
    }
}

/// Sets an attribute that the log has no use for.
pub fn set(span: &Span, key: &'static str, value: impl Into<Value>) {
    span.set_attribute(key, value);
}

/// The span of a command to Redis, at this address if it is known.
#[must_use]
pub fn redis_span(command: &'static str, server: Option<&str>) -> Span {
    tracing::info_span!(
        target: TRACE,
        "redis",
        otel.name = command,
        otel.kind = "client",
        db.system.name = "redis",
        db.operation.name = command,
        server.address = server,
    )
}

/// Marks the span as failed, for a reason of few words known beforehand.
pub fn fail(span: &Span, error_type: &'static str) {
    span.set_attribute("error.type", error_type);
    span.set_status(Status::error(""));
}

/// Ties a span to another one that it works for besides its parent.
pub fn link(span: &Span, other: &Span) {
    span.add_link(other.context().span().span_context().clone());
}

/// What of the headers counts: one `traceparent`.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let mut values = self.0.get_all(TRACEPARENT).iter();
        let only = values.next().filter(|_| values.next().is_none())?;
        (key == TRACEPARENT).then(|| only.to_str().ok())?
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT]
    }
}

struct HeadersMut<'a>(&'a mut HeaderMap);

impl Injector for HeadersMut<'_> {
    fn set(&mut self, key: &str, value: String) {
        if key == TRACEPARENT
            && let Ok(value) = HeaderValue::try_from(value)
        {
            self.0.insert(TRACEPARENT, value);
        }
    }
}

#[cfg(test)]
mod tests;
