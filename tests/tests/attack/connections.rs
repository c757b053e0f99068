//! More connections than there is room for.

use std::time::Instant;

use devstack::Options;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use system_tests::{PATIENCE, World};

use crate::bystanders::unharmed;
use crate::memory::Memory;
use crate::wire::Wire;

/// How many connections are held on to.
const HELD: usize = 10_000;

/// How many there is room for.
const ROOM: usize = 8_000;

/// Files that this process opens besides.
const OTHER_FILES: u64 = 1_000;

fn open_as_many_files_as_possible() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let possible = limit.maximum.unwrap_or(u64::MAX);
    let needed = u64::try_from(HELD).unwrap() + OTHER_FILES;
    assert!(
        possible >= needed,
        "this test opens {needed} files; ulimit -Hn allows for {possible}"
    );
}

#[test]
fn those_who_hold_on_to_connections_are_in_the_way_of_one_another_only() {
    open_as_many_files_as_possible();
    let world = World::start(
        Options::new()
            .setting("DS_GATEWAY__MAX_CONNECTIONS", &ROOM.to_string())
            .setting("DS_GATEWAY__IDLE_TIMEOUT", "10m")
            .setting("DS_GATEWAY__HEAD_TIMEOUT", "10m"),
    );
    let memory = Memory::of(&world);
    unharmed(&world, || {
        // Some say nothing, some half a request, some ask once, over both protocols.
        let starts = [
            "",
            "POST /api/v1/companies/search HTTP/1.1\r\nHost: x\r\n",
            "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0",
        ];
        let mut held: Vec<Wire> = (0..HELD)
            .map(|number| {
                let mut wire = Wire::to(&world);
                wire.say(starts[number % starts.len()]);
                wire
            })
            .collect();
        // As many as there is no room for had to make room, those that came first before others.
        let begun = Instant::now();
        let open = loop {
            let open: Vec<usize> = (0..HELD).filter(|number| !held[*number].is_closed()).collect();
            if open.len() <= ROOM {
                break open;
            }
            assert!(begun.elapsed() < PATIENCE, "{} are still open", open.len());
        };
        assert!(open.contains(&(HELD - 1)), "the last one had to go");
        assert!(!open.contains(&0), "the first one is still there");
        assert!(open.len() > ROOM / 2, "only {} are left", open.len());
    });
    memory.is_bounded();
}
