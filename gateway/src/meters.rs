//! What the gateway tells by metrics, by name. Counters are there from the start, so that their first step is seen.

pub(crate) const BODIES_DISPLACED: &str = "gateway_bodies_displaced_total";
pub(crate) const CALLS_REPEATED: &str = "gateway_calls_repeated_total";
pub(crate) const CALLS_SHED: &str = "gateway_calls_shed_total";
pub(crate) const CHARGES_UNKNOWN: &str = "gateway_charges_unknown_total";
pub(crate) const CONNECTIONS: &str = "gateway_connections";
pub(crate) const CONNECTIONS_DISPLACED: &str = "gateway_connections_displaced_total";
pub(crate) const JWKS_FAILURES: &str = "gateway_jwks_failures_total";
pub(crate) const KEY_CACHE: &str = "gateway_key_verifications_total";
pub(crate) const KEY_CHANGES_HEARD: &str = "gateway_key_changes_heard";
pub(crate) const PANICS: &str = "gateway_panics_total";
pub(crate) const RATE_DECISIONS: &str = "gateway_rate_limit_decisions_total";
pub(crate) const RATE_SHARED: &str = "gateway_rate_limit_shared";
pub(crate) const UNKNOWN_KEYS_LIMITED: &str = "gateway_unknown_keys_limited_total";

/// Describes them all, and begins to count.
pub fn describe() {
    for (name, meaning) in [
        (
            BODIES_DISPLACED,
            "Bodies that did not end and gave way to others.",
        ),
        (
            CALLS_REPEATED,
            "Calls to services that were tried again, since the service was not there.",
        ),
        (
            CHARGES_UNKNOWN,
            "Charges of which it is unknown whether they were taken.",
        ),
        (
            CONNECTIONS_DISPLACED,
            "Connections on which nothing was asked and that gave way to others.",
        ),
        (
            JWKS_FAILURES,
            "Times that the keys of the issuer of sessions could not be fetched.",
        ),
        (PANICS, "Requests that ended in a panic: a slip of ours."),
        (
            UNKNOWN_KEYS_LIMITED,
            "Requests whose key was not looked up, since their address shows too many unknown ones.",
        ),
    ] {
        metrics::describe_counter!(name, meaning);
        metrics::counter!(name).increment(0);
    }
    metrics::describe_counter!(
        CALLS_SHED,
        "Requests refused since as many as may already call the service."
    );
    for service in ["search", "keys", "billing"] {
        metrics::counter!(CALLS_SHED, "service" => service).increment(0);
    }
    metrics::describe_counter!(
        KEY_CACHE,
        "API keys: known from an answer of the last seconds (cached), known to be of no worth (refused), or asked for (asked)."
    );
    for answer in ["cached", "refused", "asked"] {
        metrics::counter!(KEY_CACHE, "answer" => answer).increment(0);
    }
    metrics::describe_counter!(
        RATE_DECISIONS,
        "Requests that passed or were limited, by the limiter shared through Redis or by the local one that stands in for it."
    );
    for limiter in ["shared", "local"] {
        for outcome in ["passed", "limited"] {
            metrics::counter!(RATE_DECISIONS, "limiter" => limiter, "outcome" => outcome).increment(0);
        }
    }
    metrics::describe_gauge!(CONNECTIONS, "Connections of callers.");
    metrics::describe_gauge!(
        RATE_SHARED,
        "1 while rate limits are shared through Redis, else 0."
    );
    metrics::describe_gauge!(
        KEY_CHANGES_HEARD,
        "1 while changes of API keys are heard over Redis, else 0."
    );
    for gauge in [CONNECTIONS, RATE_SHARED, KEY_CHANGES_HEARD] {
        metrics::gauge!(gauge).set(0.0);
    }
    metrics::describe_histogram!(
        crate::rest::envelope::DURATION,
        "Requests by route, method and status; 499: the caller has left before the answer."
    );
}
