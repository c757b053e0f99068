//! The part of OTLP that is looked at.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prost::Message;
use system_tests::Collector;

/// A span, whoever tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty at the beginning of a trace.
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) service: String,
    /// As texts.
    pub(crate) attributes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeSpans {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<WireSpan>,
}

#[derive(Clone, PartialEq, Message)]
struct WireSpan {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Truth(bool),
    #[prost(int64, tag = "3")]
    Number(i64),
    #[prost(double, tag = "4")]
    Fraction(f64),
}

fn texts(attributes: &[Attribute]) -> BTreeMap<String, String> {
    let text = |attribute: &Attribute| match attribute.value.as_ref().and_then(|any| any.value.as_ref()) {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Truth(truth)) => truth.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Fraction(fraction)) => fraction.to_string(),
        None => String::new(),
    };
    let texts = attributes
        .iter()
        .map(|attribute| (attribute.key.clone(), text(attribute)));
    texts.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn spans(export: &Export) -> Vec<Span> {
    let mut spans = Vec::new();
    for of_resource in &export.resource_spans {
        let resource = of_resource.resource.clone().unwrap_or_default();
        let service = texts(&resource.attributes)["service.name"].clone();
        for span in of_resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            assert_eq!(span.trace_state, "", "nobody's state goes along");
            spans.push(Span {
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                name: span.name.clone(),
                kind: ["", "internal", "server", "client"][usize::try_from(span.kind).unwrap()].to_owned(),
                service: service.clone(),
                attributes: texts(&span.attributes),
            });
        }
    }
    spans
}

/// All that the collector has been sent of a trace.
pub(crate) fn spans_of(trace: &str, collector: &Collector) -> Vec<Span> {
    let exports = collector.exports().into_iter();
    // A message has its length, and whether it is compressed, in front.
    let spans = exports.flat_map(|bytes| spans(&Export::decode(bytes.slice(5..)).unwrap()));
    spans.filter(|span| span.trace == trace).collect()
}
