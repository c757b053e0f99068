//! What the billing service tells by metrics, by name. Counters are there from the start, so that their first step is seen.

pub(crate) const BINDINGS_REMOVED: &str = "billing_bindings_removed_total";
pub(crate) const CHARGES: &str = "billing_charges_total";
pub(crate) const CHARGES_SHED: &str = "billing_charges_shed_total";
pub(crate) const CHARGES_WAITING: &str = "billing_charges_waiting";
pub(crate) const CREDITS_CHARGED: &str = "billing_credits_charged_total";
pub(crate) const GROUP_SECONDS: &str = "billing_charge_group_seconds";
pub(crate) const GROUP_SIZE: &str = "billing_charge_group_size";
pub(crate) const LANES_BUSY: &str = "billing_lanes_busy";

/// Describes them all, and begins to count.
pub fn describe() {
    for (name, meaning) in [
        (
            BINDINGS_REMOVED,
            "Idempotency keys that no longer counted and were removed.",
        ),
        (
            CHARGES_SHED,
            "Charges refused since there was no room or no time for them.",
        ),
    ] {
        metrics::describe_counter!(name, meaning);
        metrics::counter!(name).increment(0);
    }
    metrics::describe_counter!(CHARGES, "Charges answered, by outcome.");
    for outcome in ["taken", "replayed", "refused", "failed"] {
        metrics::counter!(CHARGES, "outcome" => outcome).increment(0);
    }
    metrics::describe_counter!(CREDITS_CHARGED, "Credits taken, by what for.");
    for operation in ["search_people", "search_companies"] {
        metrics::counter!(CREDITS_CHARGED, "operation" => operation).increment(0);
    }
    metrics::describe_gauge!(CHARGES_WAITING, "Charges that wait for a lane.");
    metrics::describe_gauge!(
        LANES_BUSY,
        "Lanes that are at work: transactions of charges that run."
    );
    for gauge in [CHARGES_WAITING, LANES_BUSY] {
        metrics::gauge!(gauge).set(0.0);
    }
    metrics::describe_histogram!(GROUP_SECONDS, "Groups of charges, each one transaction or a few.");
    metrics::describe_histogram!(GROUP_SIZE, "Charges of a group.");
}
