//! Bodies and heads without end, and such as unfold.

use std::io::Write as _;
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use system_tests::{World, world};

use crate::bystanders::unharmed;
use crate::memory::Memory;
use crate::wire::Wire;

const MIB: usize = 1 << 20;

/// How many do it at once, each with a body of 100 MiB.
const AT_ONCE: usize = 8;

fn search(world: &World, headers: &str) -> Wire {
    let key = world.account().key;
    let mut wire = Wire::to(world);
    let head = format!(
        "POST /api/v1/companies/search HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\n{headers}\r\n\r\n"
    );
    assert!(wire.say(head));
    wire
}

/// It was refused like this, if it came to that before the connection ended.
fn is_refused(mut wire: Wire, status: u16, code: &str) {
    let answers = wire.hear_answers();
    assert!(answers.len() <= 1, "{answers:?}");
    if let Some(answer) = answers.first() {
        answer.is_refusal(status, code);
    }
}

#[test]
fn a_hundred_megabytes_are_refused_however_they_are_framed() {
    let world = world();
    let memory = Memory::of(world);
    let part = vec![b' '; MIB];
    let length = format!("Content-Length: {}", 100 * MIB);
    let framings = [
        (length.as_str(), part.clone()),
        (
            "Transfer-Encoding: chunked",
            [format!("{MIB:x}\r\n").as_bytes(), &part, b"\r\n"].concat(),
        ),
    ];
    unharmed(world, || {
        for (framing, part) in &framings {
            thread::scope(|scope| {
                for _ in 0..AT_ONCE {
                    scope.spawn(|| {
                        let mut wire = search(world, framing);
                        wire.repeat(part, 100);
                        is_refused(wire, 413, "PAYLOAD_TOO_LARGE");
                    });
                }
            });
        }
        // Who waits to be told is told, and nothing has to be read for it.
        let mut waits = search(world, &format!("{length}\r\nExpect: 100-continue"));
        let answers = waits.hear_answers();
        answers[0].is_refusal(413, "PAYLOAD_TOO_LARGE");
    });
    memory.is_bounded();
}

#[test]
fn what_is_compressed_is_refused_as_it_is() {
    let world = world();
    let memory = Memory::of(world);
    // Blanks, a thousand times as many as it has bytes.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![b' '; 30 * MIB]).unwrap();
    let bomb = encoder.finish().unwrap();
    unharmed(world, || {
        for encoding in [
            "gzip",
            "deflate",
            "br",
            "zstd",
            "identity, gzip",
            "gzip\r\nContent-Encoding: gzip",
        ] {
            let headers = format!("Content-Encoding: {encoding}\r\nContent-Length: {}", bomb.len());
            let mut wire = search(world, &headers);
            wire.say(&bomb);
            let answers = wire.hear_answers();
            answers[0].is_refusal(415, "UNSUPPORTED_MEDIA_TYPE");
        }
    });
    memory.is_bounded();
}

#[test]
fn heads_without_end_are_refused() {
    let world = world();
    let memory = Memory::of(world);
    let start = "GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n";
    let floods = [
        (format!("{start}X-Large: "), "x".repeat(MIB)),
        (start.to_owned(), "X: y\r\n".repeat(10_000)),
        ("GET /".to_owned(), "x".repeat(MIB)),
        (String::new(), "x".repeat(MIB)),
        (String::new(), "\r\n".repeat(10_000)),
    ];
    unharmed(world, || {
        for (start, part) in &floods {
            let mut wire = Wire::to(world);
            assert!(wire.say(start));
            let at_most = 1_000;
            let taken = wire.repeat(part.as_bytes(), at_most);
            assert!(taken < at_most, "{start:?}: all of it was taken");
            is_refused(wire, 400, "VALIDATION_ERROR");
        }
        // As much as may be, and never ended, on many connections.
        let begun: Vec<Wire> = (0..1_000)
            .map(|_| {
                let mut wire = Wire::to(world);
                assert!(wire.say(format!("{start}X-Large: {}", "x".repeat(60_000))));
                wire
            })
            .collect();
        drop(begun);
    });
    memory.is_bounded();
}
