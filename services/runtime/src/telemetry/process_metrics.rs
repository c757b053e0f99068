//! What the process takes of its machine, under the names that Prometheus' own libraries use.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

pub(super) fn describe() {
    metrics::describe_counter!("process_cpu_seconds_total", "Processor time used, whole seconds.");
    metrics::describe_gauge!("process_resident_memory_bytes", "Memory held.");
    metrics::describe_gauge!("process_open_fds", "Files open, connections among them.");
    metrics::describe_gauge!("process_max_fds", "Files that may be open at once.");
}

/// Looks at the process. What the system does not tell is not told.
#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; bytes and files are far below 2^53"
)]
pub(super) fn observe() {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let used = u64::try_from(used.tv_sec).map_or(Duration::ZERO, Duration::from_secs);
    metrics::counter!("process_cpu_seconds_total").absolute(used.as_secs());
    if let Some(bytes) = resident_bytes() {
        metrics::gauge!("process_resident_memory_bytes").set(bytes as f64);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        metrics::gauge!("process_open_fds").set(files.count() as f64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        metrics::gauge!("process_max_fds").set(most as f64);
    }
}

/// `VmRSS:     1234 kB`.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}
