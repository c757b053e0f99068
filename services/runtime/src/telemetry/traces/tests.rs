use metrics_exporter_prometheus::PrometheusBuilder;
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, Tracer as _, TracerProvider as _};

use super::*;

const STRANGERS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn headers(values: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in values {
        headers.append(*name, HeaderValue::from_static(value));
    }
    headers
}

/// The context that the headers name, if they name one.
fn named(values: &[(&'static str, &'static str)]) -> Option<SpanContext> {
    let headers = headers(values);
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(&headers));
    let named = context.span().span_context().clone();
    named.is_valid().then_some(named)
}

fn sampling(ratio: f64, follows_callers: bool) -> Sampling {
    Sampling {
        ratio,
        follows_callers,
        key: RandomState::new(),
    }
}

/// Whether a trace is sent whose parent has this flag.
fn is_sent(sampling: &Sampling, trace: u128, is_sampled: bool, is_remote: bool) -> bool {
    let trace = TraceId::from(trace);
    let flags = if is_sampled {
        TraceFlags::SAMPLED
    } else {
        TraceFlags::default()
    };
    let parent = SpanContext::new(trace, SpanId::from(7), flags, is_remote, TraceState::default());
    let parent = Context::new().with_remote_span_context(parent);
    let result = sampling.should_sample(Some(&parent), trace, "", &SpanKind::Server, &[], &[]);
    result.decision == SamplingDecision::RecordAndSample
}

#[test]
fn one_traceparent_counts_and_nothing_else() {
    let one = named(&[("traceparent", STRANGERS), ("tracestate", "a=1,b=2")]).unwrap();
    assert_eq!(one.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert!(one.is_remote());
    assert_eq!(one.trace_state().header(), "");
    for hostile in [
        &[][..],
        &[("traceparent", STRANGERS), ("traceparent", STRANGERS)],
        &[(
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        )],
        &[(
            "traceparent",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        )],
        &[(
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        )],
        &[(
            "traceparent",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        )],
        &[(
            "traceparent",
            "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01",
        )],
        &[("traceparent", "")],
        &[("baggage", "a=1"), ("tracestate", "a=1")],
    ] {
        assert_eq!(named(hostile), None, "{hostile:?}");
    }
}

#[test]
fn a_stranger_decides_nothing_and_a_caller_of_a_service_does() {
    let edge = sampling(0.25, false);
    let sent = |is_sampled| {
        let traces = 1..=4_000_u128;
        traces
            .filter(|trace| is_sent(&edge, *trace, is_sampled, true))
            .collect::<Vec<_>>()
    };
    let chosen = sent(true);
    assert_eq!(chosen, sent(false));
    assert!((800..1_200).contains(&chosen.len()), "{}", chosen.len());
    // Another process chooses others: no id is known to be sent.
    let other = sampling(0.25, false);
    assert!(chosen.iter().any(|trace| !is_sent(&other, *trace, true, true)));
    for is_sampled in [true, false] {
        assert!(!is_sent(&sampling(0.0, false), 1, is_sampled, true));
        assert!(is_sent(&sampling(1.0, false), 1, is_sampled, true));
        assert_eq!(is_sent(&sampling(0.0, true), 1, is_sampled, true), is_sampled);
        assert_eq!(is_sent(&sampling(1.0, true), 1, is_sampled, true), is_sampled);
        // What goes on within a process follows its own beginning.
        assert_eq!(is_sent(&edge, 1, is_sampled, false), is_sampled);
    }
}

/// An exporter whose collector never answers.
#[derive(Debug)]
struct Silent;

impl SpanExporter for Silent {
    async fn export(&self, _batch: Vec<SpanData>) -> OTelSdkResult {
        std::future::pending().await
    }
}

#[test]
fn what_there_is_no_room_for_is_dropped_and_counted() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let told = recorder.handle();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let processor = BoundedProcessor::new(Silent);
    let queued = Arc::clone(&processor.queued);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor)
        .build();
    let tracer = provider.tracer("test");
    for _ in 0..MAX_QUEUED + 10 {
        drop(tracer.start("a span"));
    }
    assert_eq!(queued.load(Ordering::Relaxed), MAX_QUEUED);
    let told = told.render();
    assert!(
        told.contains("trace_spans_total{outcome=\"queue_full\"} 10"),
        "{told}"
    );
    // Its thread waits for ever: nobody waits for it.
    std::mem::forget(provider);
}
