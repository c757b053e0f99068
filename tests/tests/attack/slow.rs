//! Clients that take their time, and such as are no longer there: each step of theirs has its own.

use std::sync::OnceLock;
use std::time::Instant;

use devstack::{Options, Service};
use system_tests::{PATIENCE, World};

use crate::bystanders::unharmed;
use crate::frames::{END_HEADERS, END_STREAM, HEADERS, Http2, frame, head};
use crate::memory::Memory;
use crate::wire::{Told, Wire};

/// A gateway that does not wait long.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let options = Options::new()
            .setting("DS_GATEWAY__HEAD_TIMEOUT", "3s")
            .setting("DS_GATEWAY__IDLE_TIMEOUT", "10s")
            .setting("DS_GATEWAY__ANSWER_TIMEOUT", "5s");
        World::start(options)
    })
}

const DESCRIPTION: &str = "GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n";

fn blanks() -> impl Iterator<Item = u8> {
    std::iter::repeat(b' ')
}

#[test]
fn a_head_byte_by_byte_is_not_waited_for() {
    let world = world();
    unharmed(world, || {
        let mut first = Wire::to(world);
        let endless = DESCRIPTION.bytes().chain(*b"X-Slow:").chain(blanks());
        assert_eq!(first.trickle(endless), b"");
        // Nor is one after another request.
        let mut second = Wire::to(world);
        assert!(second.say(format!("{DESCRIPTION}\r\n")));
        let endless = DESCRIPTION.bytes().chain(blanks());
        let mut answered = false;
        let answers = second.trickle(endless.inspect(|_| answered = true));
        assert!(answered || !answers.is_empty());
        let answers = crate::wire::answers(&answers);
        assert_eq!(answers.iter().map(|told| told.status).collect::<Vec<_>>(), [200]);
    });
}

#[test]
fn half_a_head_and_silence_are_not_waited_for() {
    let world = world();
    unharmed(world, || {
        let silences = ["", "G", "PRI * HTT", DESCRIPTION];
        let mut connections: Vec<Wire> = silences
            .iter()
            .map(|start| {
                let mut wire = Wire::to(world);
                assert!(wire.say(start));
                wire
            })
            .collect();
        // And one that has been answered.
        let mut answered = Wire::to(world);
        assert!(answered.say(format!("{DESCRIPTION}\r\n")));
        for wire in &mut connections {
            assert_eq!(wire.hear_all(), b"");
        }
        let answers = answered.hear_answers();
        assert_eq!(answers.iter().map(|told| told.status).collect::<Vec<_>>(), [200]);
    });
}

/// A search whose body is still to come.
fn search(world: &World) -> Wire {
    let key = world.account().key;
    let mut wire = Wire::to(world);
    let head = format!(
        "POST /api/v1/companies/search HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000000\r\n\r\n"
    );
    assert!(wire.say(head));
    wire
}

fn timed_out(answers: &[Told]) {
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0].is_refusal(504, "TIMEOUT");
}

#[test]
fn a_body_byte_by_byte_or_none_at_all_is_told_that_its_time_is_over() {
    let world = world();
    unharmed(world, || {
        let mut silent = search(world);
        timed_out(&crate::wire::answers(&search(world).trickle(blanks())));
        timed_out(&silent.hear_answers());
    });
}

#[test]
fn an_answer_that_nobody_reads_is_given_up() {
    let world = World::start(
        Options::new()
            .setting("DS_GATEWAY__IDLE_TIMEOUT", "10m")
            .setting("DS_GATEWAY__ANSWER_TIMEOUT", "3s"),
    );
    let world = &world;
    let memory = Memory::of(world);
    // Until the first connection nothing is told.
    let connections = || {
        world
            .metric(Service::Gateway, "gateway_connections")
            .unwrap_or_default()
    };
    let before = connections();
    let many = 50;
    let unread: Vec<Wire> = (0..many)
        .map(|_| {
            // More than the system takes in between.
            let mut wire = Wire::to(world);
            assert!(wire.say(format!("{DESCRIPTION}\r\n").repeat(500)));
            wire
        })
        .collect();
    // Over HTTP/2 the client says how much it takes: nothing.
    let path = "/api/v1/openapi.json";
    let mut takes_nothing: Vec<Http2> = (0..many)
        .map(|_| {
            let mut connection = Http2::to(world, 0);
            let streams = (0..100).map(|number| 2 * number + 1);
            let requests: Vec<u8> = streams
                .flat_map(|stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", path, &[])))
                .collect();
            assert!(connection.wire.say(requests));
            connection
        })
        .collect();
    for connection in &mut takes_nothing {
        let _ = connection.reason_of_end();
    }
    let begun = Instant::now();
    while connections() > before {
        assert!(begun.elapsed() < PATIENCE, "unread answers are kept");
    }
    memory.is_bounded();
    drop(unread);
}
