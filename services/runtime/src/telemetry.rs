//! Logs, traces and metrics.
//!
//! Logs go to standard error, as text or as JSON. Traces go to an OTLP collector where one is configured; a collector
//! that is slow or away costs spans, never requests: the exporter works in the background on a bounded queue, and the
//! flush at the end is bounded too. Nothing secret and no text of a query is logged at the default level.

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::KeyValue;
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::process::BoxError;
use crate::settings::Settings;

/// Longest wait for the last spans to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// How often samples that have come in are summed up.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Bounds of the buckets of every histogram of seconds.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
];

/// Settings of logs and traces.
#[derive(Debug)]
pub struct TelemetryConfig {
    log_filter: String,
    log_json: bool,
    otlp_endpoint: Option<String>,
}

impl TelemetryConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        let config = Self {
            log_filter: settings.value(
                "log_filter",
                "info".to_owned(),
                "What is logged: a level, or targets with levels (info,tower=debug).",
            ),
            log_json: settings.value("log_json", false, "Logs as one JSON object a line."),
            otlp_endpoint: settings.optional(
                "otlp_endpoint",
                "OTLP collector (gRPC) that traces go to, such as http://127.0.0.1:4317; none: no traces.",
            ),
        };
        if let Err(error) = EnvFilter::try_new(&config.log_filter) {
            settings.contradiction(format!("log_filter: {error}"));
        }
        config
    }
}

/// Running telemetry.
pub struct Telemetry {
    metrics: PrometheusHandle,
    traces: Option<SdkTracerProvider>,
}

/// Starts logs, traces and metrics of this process. Once a process.
pub(crate) fn start(name: &'static str, config: &TelemetryConfig) -> Result<Telemetry, BoxError> {
    let filter = EnvFilter::try_new(&config.log_filter)?;
    let traces = config
        .otlp_endpoint
        .as_deref()
        .map(|endpoint| tracer_provider(name, endpoint))
        .transpose()?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // They would be told on the same stderr, by a macro that panics if its disk is full.
        .log_internal_errors(false);
    let lines = if config.log_json {
        lines.json().flatten_event(true).boxed()
    } else {
        lines.with_ansi(false).boxed()
    };
    let spans = traces
        .as_ref()
        .map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer(name)));
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .with(spans)
        .try_init()?;
    opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()?;
    Ok(Telemetry { metrics, traces })
}

fn tracer_provider(name: &'static str, endpoint: &str) -> Result<SdkTracerProvider, BoxError> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .with_timeout(FLUSH_TIMEOUT)
        .build()?;
    let resource = Resource::builder()
        .with_service_name(name)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build())
}

impl Telemetry {
    pub(crate) fn metrics(&self) -> PrometheusHandle {
        self.metrics.clone()
    }

    /// Sends what is left, at most for [`FLUSH_TIMEOUT`].
    pub(crate) async fn flush(self) {
        let Some(traces) = self.traces else { return };
        // It blocks, and a collector that accepts and never answers must not hold up the end.
        let flushed = tokio::task::spawn_blocking(move || traces.shutdown_with_timeout(FLUSH_TIMEOUT));
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
    }
}

/// Keeps what the metrics hold bounded, whether or not somebody reads them. Never returns.
pub(crate) async fn keep_up(metrics: PrometheusHandle) {
    loop {
        metrics.run_upkeep();
        tokio::time::sleep(UPKEEP_INTERVAL).await;
    }
}

/// Makes the span a part of the trace that the caller's headers name, if they name one.
pub fn continue_trace(span: &Span, headers: &HeaderMap) {
    let parent =
        opentelemetry::global::get_text_map_propagator(|propagator| propagator.extract(&Headers(headers)));
    // Fails only where there are no traces at all.
    let _ = span.set_parent(parent);
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}
