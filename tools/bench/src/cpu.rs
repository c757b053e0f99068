//! What processes take of the processors.

use std::fs;
use std::time::Duration;

use crate::BoxError;

/// `/proc` counts in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// The time that processes have taken, from when this was made.
pub(crate) struct Cpu {
    pid: i32,
    with_children: bool,
    before: Option<Duration>,
}

impl Cpu {
    /// Of one process.
    pub(crate) fn of_process(pid: i32) -> Self {
        Self::begin(pid, false)
    }

    /// Of a server whose first process starts others (Postgres): all of them.
    pub(crate) fn of_family(pid: i32) -> Self {
        Self::begin(pid, true)
    }

    fn begin(pid: i32, with_children: bool) -> Self {
        let before = taken(pid, with_children);
        Self {
            pid,
            with_children,
            before,
        }
    }

    /// Taken since then.
    pub(crate) fn used(&self) -> Result<Duration, BoxError> {
        let now = taken(self.pid, self.with_children);
        let used = now
            .zip(self.before)
            .map(|(now, before)| now.saturating_sub(before));
        used.ok_or_else(|| format!("process {} can't be looked at", self.pid).into())
    }
}

fn taken(pid: i32, with_children: bool) -> Option<Duration> {
    let stat = Stat::of(&pid.to_string())?;
    if !with_children {
        return Some(TICK * stat.own);
    }
    let children: u32 = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| Stat::of(&entry.file_name().to_string_lossy()))
        .filter(|child| child.parent == pid)
        .map(|child| child.own)
        .sum();
    Some(TICK * (stat.own + stat.ended_children + children))
}

/// What `/proc/PID/stat` tells.
struct Stat {
    parent: i32,
    /// Ticks of its own.
    own: u32,
    /// Ticks of its children that have ended.
    ended_children: u32,
}

impl Stat {
    fn of(pid: &str) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // Behind the name, which may hold anything.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let field = |number: usize| fields.get(number).and_then(|field| field.parse::<u32>().ok());
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: field(11)? + field(12)?,
            ended_children: field(13)? + field(14)?,
        })
    }
}

/// The machine's load now, as `uptime` tells it.
pub(crate) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}
