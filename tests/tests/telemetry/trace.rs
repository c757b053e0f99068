//! One search is one trace, through all processes and what they ask.

use devstack::{Options, Service};
use proto::search::v1::PersonRecord;
use proto::search::v1::import_record::Change;
use serde_json::json;
use system_tests::{Account, Collector, World, person, until_some};

use crate::otlp::{Span, spans_of};

/// A caller's own trace, of which it says that it is to be recorded; and the span that asks.
pub(crate) const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
pub(crate) const CALLER: &str = "b7ad6b7169203331";

/// What a search of a person goes through: service, kind, name, and the name of what it is a part of.
const PARTS: [(&str, &str, &str, &str); 14] = [
    ("gateway", "server", "POST /api/v1/people/search", ""),
    (
        "gateway",
        "client",
        "keys.v1.KeyService/VerifyKey",
        "POST /api/v1/people/search",
    ),
    (
        "keys",
        "server",
        "keys.v1.KeyService/VerifyKey",
        "keys.v1.KeyService/VerifyKey",
    ),
    (
        "keys",
        "client",
        "SELECT keys rates",
        "keys.v1.KeyService/VerifyKey",
    ),
    ("gateway", "client", "EVALSHA", "POST /api/v1/people/search"),
    (
        "gateway",
        "client",
        "search.v1.SearchService/SearchPeople",
        "POST /api/v1/people/search",
    ),
    (
        "search",
        "server",
        "search.v1.SearchService/SearchPeople",
        "search.v1.SearchService/SearchPeople",
    ),
    (
        "search",
        "client",
        "SELECT reveals people",
        "search.v1.SearchService/SearchPeople",
    ),
    (
        "gateway",
        "client",
        "billing.v1.BillingService/Charge",
        "POST /api/v1/people/search",
    ),
    (
        "billing",
        "server",
        "billing.v1.BillingService/Charge",
        "billing.v1.BillingService/Charge",
    ),
    (
        "billing",
        "internal",
        "charges",
        "billing.v1.BillingService/Charge",
    ),
    ("billing", "client", "SELECT accounts", "charges"),
    (
        "billing",
        "client",
        "INSERT ledger_entries idempotency_bindings UPDATE accounts",
        "charges",
    ),
    ("billing", "client", "COMMIT", "charges"),
];

/// A stack whose processes send their spans there.
pub(crate) fn traced(collector: &str, options: Options) -> World {
    let mut options = options;
    for service in Service::ALL {
        let name = format!("DS_{}__OTLP_ENDPOINT", service.name().to_uppercase());
        options = options.setting(&name, collector);
    }
    World::start(options)
}

/// Searches a person whose address is locked, as the first request with this key, within the caller's trace.
pub(crate) fn search_in_a_trace(world: &World, account: &Account) {
    let name = world.word();
    let record = PersonRecord {
        email: Some(format!("{name}@locked.example")),
        job_title: Some(name.clone()),
        ..person(&name, "Somebody")
    };
    world.operator.import([Change::Person(record)]);
    let found = account.search_with(
        "people",
        &json!({"jobTitles": [name]}),
        &[
            ("traceparent", &format!("00-{TRACE}-{CALLER}-01")),
            ("tracestate", "vendor=state-of-a-stranger"),
            ("baggage", "secret=of-a-stranger"),
        ],
    );
    assert_eq!(found.expect(200).total(), 1);
}

/// Whether all parts have come: each process sends its own, in its own time.
pub(crate) fn is_complete(spans: &[Span]) -> bool {
    let has = |(service, kind, name, _): &(&str, &str, &str, &str)| {
        let of_it = |span: &Span| span.service == *service && span.kind == *kind && span.name == *name;
        spans.iter().any(of_it)
    };
    let is_tied = |span: &Span| span.parent == CALLER || spans.iter().any(|other| other.id == span.parent);
    PARTS.iter().all(has) && spans.iter().all(is_tied)
}

/// The spans are those of such a search, and tied together as it went.
pub(crate) fn assert_whole(spans: &[Span]) {
    let shown = || {
        let lines = spans
            .iter()
            .map(|span| format!("{} {} {} in {}", span.service, span.kind, span.name, span.parent));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (service, kind, name, parent) in PARTS {
        let of_it = |span: &&Span| span.service == service && span.kind == kind && span.name == name;
        let span = spans.iter().find(of_it);
        let span = span.unwrap_or_else(|| panic!("no {kind} {name} of {service} in\n{}", shown()));
        if parent.is_empty() {
            assert_eq!(span.parent, CALLER);
            continue;
        }
        let above = spans.iter().find(|other| other.id == span.parent);
        let above = above.unwrap_or_else(|| panic!("{name} of {service} is in no span of\n{}", shown()));
        assert_eq!(above.name, parent, "{name} of {service}");
        // A call is one span on either side.
        let is_callee = kind == "server";
        assert_eq!(above.kind == "client", is_callee, "{name} of {service}");
    }
    assert_attributes(spans);
}

fn assert_attributes(spans: &[Span]) {
    for span in spans {
        let told = |name: &str| span.attributes.get(name).map(String::as_str);
        match (span.kind.as_str(), span.service.as_str()) {
            ("server", "gateway") => {
                assert_eq!(told("http.request.method"), Some("POST"));
                assert_eq!(told("http.route"), Some("/api/v1/people/search"));
                assert_eq!(told("http.response.status_code"), Some("200"));
                assert!(told("account.id").is_some() && told("key.id").is_some());
            }
            ("server", _) => {
                assert_eq!(told("rpc.system.name"), Some("grpc"));
                assert_eq!(told("rpc.method"), Some(span.name.as_str()));
                assert_eq!(told("rpc.response.status_code"), Some("OK"));
                assert_eq!(told("caller"), Some("gateway"));
            }
            ("client", _) if span.name == "EVALSHA" => {
                assert_eq!(told("db.system.name"), Some("redis"));
                assert_eq!(told("db.operation.name"), Some("EVALSHA"));
            }
            ("client", "gateway") => {
                assert_eq!(told("rpc.method"), Some(span.name.as_str()));
                assert_eq!(told("server.address"), Some("127.0.0.1"));
            }
            ("client", _) => {
                assert_eq!(told("db.system.name"), Some("postgresql"));
                assert_eq!(told("db.query.summary"), Some(span.name.as_str()));
                assert!(told("server.address").is_some() && told("db.namespace").is_some());
            }
            _ => {}
        }
        for (name, value) in &span.attributes {
            let is_text_of_sql = value.contains('$') || value.contains("WHERE");
            assert!(!is_text_of_sql, "{name}: {value}");
            assert!(!value.contains("stranger"), "{name}: {value}");
            assert!(!value.contains("locked.example"), "{name}: {value}");
        }
    }
}

#[test]
fn one_search_is_one_trace_in_the_callers_own() {
    let collector = Collector::start();
    let world = traced(&collector.address, Options::new());
    let account = world.account();
    search_in_a_trace(&world, &account);
    let spans = until_some("the spans have come", || {
        let spans = spans_of(TRACE, &collector);
        is_complete(&spans).then_some(spans)
    });
    assert_whole(&spans);
    // Log lines tell the trace too.
    let log = world.stack.log(Service::Keys).unwrap();
    assert!(!log.contains("stranger"), "{log}");
    let log = world.stack.log(Service::Gateway).unwrap();
    assert!(log.contains(&format!("trace_id={TRACE}")), "{log}");
}

#[test]
fn a_share_of_none_sends_nothing_whatever_callers_ask_for() {
    let collector = Collector::start();
    let options = Options::new().setting("DS_GATEWAY__TRACE_SAMPLE_RATIO", "0");
    let world = traced(&collector.address, options);
    let account = world.account();
    search_in_a_trace(&world, &account);
    // The last spans leave when the processes end.
    for service in Service::ALL {
        world.stack.stop(service).unwrap();
    }
    let spans = spans_of(TRACE, &collector);
    assert!(spans.is_empty(), "{spans:?}");
}
