//! What a running system tells of itself: logs, traces, metrics, and that dashboards, alerts and the runbook speak of what
//! is there.

#![expect(clippy::unwrap_used, reason = "what a test needs and does not get fails it")]

mod breaks;
mod collectors;
mod exported;
mod files;
mod lines;
mod observability;
mod otlp;
mod promql;
mod trace;

use devstack::Part;
use system_tests::World;

/// What a process tells by its metrics.
fn metrics(world: &World, part: impl Into<Part>) -> String {
    let address = world.stack.admin_address(part).unwrap();
    let answer = reqwest::blocking::get(format!("{address}/metrics"));
    answer.and_then(reqwest::blocking::Response::text).unwrap()
}

/// The value of a series, by its name and labels as they are told: `ready`, `trace_spans_total{outcome="exported"}`.
fn value(metrics: &str, series: &str) -> Option<f64> {
    let of_series = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
    metrics.lines().find_map(of_series)
}
