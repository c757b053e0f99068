//! The memory of the gateway.

use std::process::Command;

use devstack::Service;
use system_tests::World;

/// Most that anything here may add to it: far more than it does, and far less than what is thrown at it.
const MOST_MIB: u64 = 200;

/// What the gateway takes up before an attack.
pub(crate) struct Memory<'a> {
    world: &'a World,
    before: u64,
}

impl<'a> Memory<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        let before = resident_mib(pid(world));
        Self { world, before }
    }

    /// It has not grown beyond the bound since, not even in between (where the system remembers that).
    pub(crate) fn is_bounded(&self) {
        let pid = pid(self.world);
        let after = peak_mib(pid).unwrap_or_else(|| resident_mib(pid));
        let before = self.before;
        assert!(
            after < before + MOST_MIB,
            "the gateway took up {before} MiB before and {after} MiB after"
        );
        eprintln!("the gateway took up {before} MiB before and {after} MiB at most since");
    }
}

fn pid(world: &World) -> i32 {
    world.stack.pid(Service::Gateway).unwrap()
}

fn resident_mib(pid: i32) -> u64 {
    let told = Command::new("ps")
        .args(["-o", "rss=", "-p", &pid.to_string()])
        .output()
        .unwrap();
    let kib: u64 = String::from_utf8(told.stdout).unwrap().trim().parse().unwrap();
    kib / 1024
}

/// Linux alone remembers it.
fn peak_mib(pid: i32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib / 1024)
}
