//! What the keys service tells by metrics, by name. Counters are there from the start, so that their first step is seen.

pub(crate) const ACTIVE: &str = "keys_active";
pub(crate) const ANNOUNCEMENT_FAILURES: &str = "keys_announcement_failures_total";
pub(crate) const USAGE_WRITE_FAILURES: &str = "keys_usage_write_failures_total";
pub(crate) const VERIFICATIONS: &str = "keys_verifications_total";

/// Describes them all, and begins to count.
pub fn describe() {
    metrics::describe_gauge!(
        ACTIVE,
        "Active keys, by the pepper that their secrets are hashed with."
    );
    for (name, meaning) in [
        (
            ANNOUNCEMENT_FAILURES,
            "Changes of keys that could not be announced over Redis: gateways learn of them within 5 s.",
        ),
        (
            USAGE_WRITE_FAILURES,
            "Times that the last uses of keys could not be written yet.",
        ),
    ] {
        metrics::describe_counter!(name, meaning);
        metrics::counter!(name).increment(0);
    }
    metrics::describe_counter!(VERIFICATIONS, "Secrets verified, by outcome.");
}
