//! What a process and its index take: memory, room on disk.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::BoxError;

const INTERVAL: Duration = Duration::from_millis(250);

/// Memory of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Bytes that are of no file: `Anonymous` of `/proc/PID/smaps_rollup`. The index is mapped from files, and the
    /// kernel drops its pages whenever it wants the room; these it can't.
    pub(super) anonymous: u64,
    /// All that is in memory of it now, pages of files too.
    pub(super) resident: u64,
}

/// The memory of a process now.
pub(super) fn memory(pid: i32) -> Result<Memory, BoxError> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim()
            .trim_end_matches(" kB")
            .parse::<u64>()
            .ok()
            .map(|kilobytes| kilobytes * 1024)
    };
    Ok(Memory {
        anonymous: bytes("Anonymous:").ok_or("no Anonymous in smaps_rollup")?,
        resident: bytes("Rss:").ok_or("no Rss in smaps_rollup")?,
    })
}

/// Looks at a process's memory until told to stop, and remembers the most.
pub(super) struct Watch {
    stop: watch::Sender<()>,
    looking: JoinHandle<u64>,
}

impl Watch {
    /// Begins to look.
    pub(super) fn begin(pid: i32) -> Self {
        let (stop, mut stopped) = watch::channel(());
        let handle = tokio::runtime::Handle::current();
        let looking = handle.spawn(async move {
            let mut most = 0;
            loop {
                most = most.max(memory(pid).map_or(0, |memory| memory.anonymous));
                tokio::select! {
                    _ = stopped.changed() => return most,
                    () = tokio::time::sleep(INTERVAL) => {}
                }
            }
        });
        Self { stop, looking }
    }

    /// The most bytes that were of no file.
    pub(super) async fn end(self) -> Result<u64, BoxError> {
        drop(self.stop);
        Ok(self.looking.await?)
    }
}

/// Bytes of the files below a folder whose path has `part` in it.
pub(super) fn bytes_below(folder: &Path, part: &str) -> Result<u64, BoxError> {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.components().any(|component| component.as_os_str() == part) {
                bytes += entry.metadata()?.len();
            }
        }
    }
    Ok(bytes)
}

/// Bytes of memory that the machine has.
pub(super) fn machine_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(4 << 20) * 1024
}
