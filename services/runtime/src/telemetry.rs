//! Logs, traces and metrics.
//!
//! Logs go to standard error, as text or as JSON. A line that is written while a request is worked on has its `span`:
//! the id of the request, the account and key once they are known, the id of the trace where traces are sent. Nothing
//! secret and no text of a query is logged at the default level.
//!
//! Traces go to an OTLP collector where one is configured ([`traces`]); where none is, no span is made but the one that a
//! request's log lines are told by. Spans, their attributes and the metrics that others have too are named by the
//! semantic conventions of OpenTelemetry.
//!
//! Metrics are read at the admin port. A label has few values, known beforehand: none is made of what a caller sends.

mod process_metrics;
mod traces;

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::process::BoxError;
use crate::settings::{Settings, Share};

use traces::CollectorAddress;

pub use traces::{continue_trace, fail, inject, link, redis_span, set};

/// Target of the span of a request: its fields are told by the log lines, and it is the server's part of the trace.
pub const REQUEST: &str = "request";

/// Target of spans that are a part of the trace and of nothing else.
pub const TRACE: &str = "trace";

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
    otlp_endpoint: Option<CollectorAddress>,
    trace_sample_ratio: Share,
}

impl TelemetryConfig {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        let config = Self {
            log_filter: settings.value(
                "log_filter",
                "info".to_owned(),
                "What is logged: a level, or targets with levels (info,tower=debug). `warn,access=info`: what goes \
                 wrong, and a line for each request.",
            ),
            log_json: settings.value("log_json", false, "Logs as one JSON object a line."),
            otlp_endpoint: settings.optional(
                "otlp_endpoint",
                "OTLP collector (gRPC) that traces go to, such as http://127.0.0.1:4317; none: no traces.",
            ),
            trace_sample_ratio: settings.value(
                "trace_sample_ratio",
                Share::ALL,
                "Share of the traces that are sent to the collector, 0 to 1. A service sends its part of what its caller \
                 sends; the gateway decides by itself, whatever its callers ask for.",
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

/// Starts logs, traces and metrics of this process. Once a process. `is_public`: its callers are strangers.
pub(crate) fn start(
    name: &'static str,
    is_public: bool,
    config: &TelemetryConfig,
) -> Result<Telemetry, BoxError> {
    let traces = config.otlp_endpoint.as_ref();
    let traces = traces
        .map(|endpoint| traces::provider(name, is_public, endpoint, config.trace_sample_ratio.number()))
        .transpose()?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // They would be told on the same stderr, by a macro that panics if its disk is full.
        .log_internal_errors(false);
    let lines = if config.log_json {
        // One span is told, the request's: no other one is there for the log at the levels meant for it.
        lines.json().flatten_event(true).with_span_list(false).boxed()
    } else {
        lines.with_ansi(false).boxed()
    };
    // Whatever is logged tells its request. The hints keep what nobody wants to know of from being looked at.
    let logged = filter_fn(|metadata| metadata.is_span() && metadata.target() == REQUEST)
        .with_max_level_hint(LevelFilter::INFO)
        .or(EnvFilter::try_new(&config.log_filter)?)
        .and(filter_fn(|metadata| metadata.target() != TRACE).with_max_level_hint(LevelFilter::TRACE));
    let spans = traces.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(name))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(
                filter_fn(|metadata| metadata.is_span() && [REQUEST, TRACE].contains(&metadata.target()))
                    .with_max_level_hint(LevelFilter::INFO),
            )
    });
    tracing_subscriber::registry()
        .with(lines.with_filter(logged))
        .with(spans)
        .try_init()?;
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()?;
    describe(name);
    Ok(Telemetry { metrics, traces })
}

/// What every process tells; counters are there from the start, so that their first step is seen.
fn describe(name: &'static str) {
    metrics::describe_gauge!(
        "developer_search_build_info",
        "The process and its version; always 1."
    );
    metrics::gauge!("developer_search_build_info", "service" => name, "version" => env!("CARGO_PKG_VERSION"))
        .set(1.0);
    metrics::describe_gauge!(
        "ready",
        "1 if the process can do its job now, as /readyz tells; else 0."
    );
    process_metrics::describe();
    traces::describe();
}

impl Telemetry {
    pub(crate) fn metrics(&self) -> PrometheusHandle {
        self.metrics.clone()
    }

    /// Sends what is left, at most for [`traces::EXPORT_TIMEOUT`].
    pub(crate) async fn flush(self) {
        let Some(traces) = self.traces else { return };
        // It blocks, and a collector that accepts and never answers must not hold up the end.
        let timeout = traces::EXPORT_TIMEOUT;
        let flushed = tokio::task::spawn_blocking(move || traces.shutdown_with_timeout(timeout));
        let _ = tokio::time::timeout(timeout, flushed).await;
    }
}

/// Keeps what the metrics hold bounded, whether or not somebody reads them. Never returns.
pub(crate) async fn keep_up(metrics: PrometheusHandle) {
    loop {
        process_metrics::observe();
        metrics.run_upkeep();
        tokio::time::sleep(UPKEEP_INTERVAL).await;
    }
}
