//! Floods of frames: each ends its connection, or is read no faster than its answers are.

use std::sync::OnceLock;
use std::thread;

use devstack::Options;
use system_tests::{PATIENCE, World};

use crate::bystanders::unharmed;
use crate::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Http2, MAX_PAYLOAD, PING, RST_STREAM,
    SETTINGS, frame, head, search_head, text,
};
use crate::memory::Memory;

/// Reasons for which a connection is ended.
const NO_ERROR: u32 = 0;
const COMPRESSION_ERROR: u32 = 9;
const PROTOCOL_ERROR: u32 = 1;
const ENHANCE_YOUR_CALM: u32 = 11;

const WINDOW: u32 = 65_535;

/// What is between us and the gateway takes in this much before it is known that the gateway does not.
const BETWEEN: usize = 32 << 20;

/// A gateway that does not wait long for those who read nothing.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::start(Options::new().setting("DS_GATEWAY__IDLE_TIMEOUT", "10s")))
}

/// Says this again and again, while somebody else hears all that comes back. How often it was taken, and the reason for the
/// end.
fn flood(mut connection: Http2, bytes: &[u8], at_most: usize) -> (usize, Option<u32>) {
    let mut hearing = connection.hearing();
    thread::scope(|scope| {
        let reason = scope.spawn(move || hearing.reason_of_end());
        let taken = connection.wire.repeat(bytes, at_most);
        // It is over for us; for the gateway too, unless it was before.
        let _ = connection.wire.stream.shutdown(std::net::Shutdown::Write);
        (taken, reason.join().unwrap())
    })
}

#[test]
fn requests_that_are_taken_back_at_once_cost_little() {
    let world = world();
    let memory = Memory::of(world);
    let account = world.account();
    let head = search_head(&account);
    // Streams have odd numbers, each once.
    let floods = 100_u32;
    unharmed(world, || {
        let mut connection = Http2::to(world, WINDOW);
        let mut hearing = connection.hearing();
        thread::scope(|scope| {
            scope.spawn(move || hearing.reason_of_end());
            for flood in 0..floods {
                let streams = (flood * 1_000..(flood + 1) * 1_000).map(|number| 2 * number + 1);
                let requests: Vec<u8> = streams
                    .flat_map(|stream| {
                        let begun = frame(HEADERS, END_HEADERS, stream, &head);
                        [begun, frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
                    })
                    .collect();
                if !connection.wire.say(requests) {
                    break;
                }
            }
            let _ = connection.wire.stream.shutdown(std::net::Shutdown::Write);
        });
    });
    memory.is_bounded();
    // None was answered, and none is charged.
    assert_eq!(world.operator.balance(&account.id), 100_000);
}

#[test]
fn heads_without_end_end_the_connection() {
    let world = world();
    let memory = Memory::of(world);
    let large = [vec![0], text(b"x-large"), text(&vec![b'x'; MAX_PAYLOAD - 32])].concat();
    let begin = || {
        let mut connection = Http2::to(world, WINDOW);
        let head = head("GET", "/api/v1/openapi.json", &[]);
        assert!(connection.wire.say(frame(HEADERS, END_STREAM, 1, &head)));
        connection
    };
    unharmed(world, || {
        for part in [&large[..], b""] {
            let part = frame(CONTINUATION, 0, 1, part);
            let at_most = (2 * BETWEEN) / part.len();
            let (taken, reason) = flood(begin(), &part, at_most);
            assert!(taken * part.len() < BETWEEN, "{taken} parts were taken");
            let reasons = [
                None,
                Some(PROTOCOL_ERROR),
                Some(COMPRESSION_ERROR),
                Some(ENHANCE_YOUR_CALM),
            ];
            assert!(reasons.contains(&reason), "{reason:?}");
        }
    });
    memory.is_bounded();
}

#[test]
fn a_head_that_unfolds_is_refused() {
    let world = world();
    let memory = Memory::of(world);
    // A header of 4,000 bytes into the table, and from there 12,000 times: 48 MB in 16 kB, on each of 20 connections.
    let into_table = [vec![0x40], text(b"x-large"), text(&[b'x'; 4_000])].concat();
    let block = [
        head("GET", "/api/v1/openapi.json", &[]),
        into_table,
        vec![0x80 | 0x3e; 12_000],
    ]
    .concat();
    unharmed(world, || {
        let refused: Vec<_> = (0..20)
            .map(|_| {
                let mut connection = Http2::to(world, WINDOW);
                assert!(
                    connection
                        .wire
                        .say(frame(HEADERS, END_STREAM | END_HEADERS, 1, &block))
                );
                connection
            })
            .collect();
        for mut connection in refused {
            while let Some(heard) = connection.next() {
                // 200 stands in the static table.
                assert!(
                    heard.kind != HEADERS || heard.payload[0] != 0x88,
                    "it is answered"
                );
                if heard.kind == RST_STREAM || heard.kind == HEADERS {
                    break;
                }
            }
        }
    });
    memory.is_bounded();
}

#[test]
fn who_reads_no_answers_is_not_read_either() {
    let world = world();
    let memory = Memory::of(world);
    unharmed(world, || {
        thread::scope(|scope| {
            for asked in [frame(PING, 0, 0, &[7; 8]), frame(SETTINGS, 0, 0, &[])] {
                scope.spawn(move || {
                    let mut connection = Http2::to(world, WINDOW);
                    let many = asked.repeat(4_000);
                    let taken = connection.wire.repeat(&many, 2 * BETWEEN / many.len());
                    assert!(
                        taken * many.len() < BETWEEN,
                        "{taken} times {} were taken",
                        many.len()
                    );
                });
            }
        });
    });
    memory.is_bounded();
}

#[test]
fn bodies_of_nothing_take_up_no_room() {
    let world = world();
    let memory = Memory::of(world);
    let account = world.account();
    let head = search_head(&account);
    unharmed(world, || {
        for nothing in [frame(DATA, 0, 1, &[]), frame(DATA, 0x8, 1, &[0])] {
            let mut connection = Http2::to(world, WINDOW);
            assert!(connection.wire.say(frame(HEADERS, END_HEADERS, 1, &head)));
            let many = nothing.repeat(4_000);
            let (_, _) = flood(connection, &many, BETWEEN / many.len());
        }
    });
    memory.is_bounded();
}

#[test]
fn who_asks_nothing_is_sent_away_however_lively_it_is() {
    let world = world();
    let mut lively = Http2::to(world, WINDOW);
    let mut unfinished = Http2::to(world, WINDOW);
    let head = head("GET", "/api/v1/openapi.json", &[]);
    assert!(unfinished.wire.say(frame(HEADERS, END_STREAM, 1, &head)));
    let begun = std::time::Instant::now();
    let mut reason = None;
    while let Some(heard) = lively.next() {
        assert!(begun.elapsed() < PATIENCE, "it goes on for ever");
        match heard.kind {
            SETTINGS if heard.flags & ACK == 0 => {
                let _ = lively.wire.say(frame(SETTINGS, ACK, 0, &[]));
                let _ = lively.wire.say(frame(PING, 0, 0, &[7; 8]));
            }
            // One ping after the other, as soon as the one before is answered.
            PING if heard.payload == [7; 8] => {
                let _ = lively.wire.say(frame(PING, 0, 0, &[7; 8]));
            }
            PING => {
                let _ = lively.wire.say(frame(PING, ACK, 0, &heard.payload));
            }
            crate::frames::GOAWAY => {
                reason = Some(u32::from_be_bytes(heard.payload[4..8].try_into().unwrap()));
            }
            _ => {}
        }
    }
    assert_eq!(reason, Some(NO_ERROR));
    let _ = unfinished.reason_of_end();
}
