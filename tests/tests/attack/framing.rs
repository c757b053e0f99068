//! Requests of HTTP/1.1 that could be read in two ways. Behind a proxy that reads them the other way, what one client sends
//! as a body would become the next client's request: so what is not plain is refused, and its connection ended.

use std::fmt::Write as _;

use serde_json::Value;
use system_tests::world;

use crate::bystanders::unharmed;
use crate::memory::Memory;
use crate::wire::{Told, Wire};

/// A request that asks for what nobody has: its answer tells that it was read as one.
const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn told(request: impl AsRef<[u8]>) -> Vec<Told> {
    let mut wire = Wire::to(world());
    // It may be answered and closed before all of it is said.
    wire.say(request);
    wire.hear_answers()
}

#[test]
fn what_is_not_plain_is_refused_and_nothing_after_it_is_read() {
    let framings = [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: ",
        "Content-Length: 18446744073709551616",
        "Content-Length : 5",
        "Content-Length\t: 5",
        " Content-Length: 5",
        "X: y\r\n Content-Length: 5",
        "X: y\r\n\tfolded",
        "Content_Length\u{b}: 5",
        "Content-Length: 5\rX: y",
        "Content-Length: 5\0",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding: \"chunked\"",
        "Transfer-Encoding\r\n: chunked",
        "Content-Length: 5\r\nTransfer-Encoding: identity",
        ": 5",
        "X",
    ];
    for framing in framings {
        let request =
            format!("POST /api/v1/companies/search HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n{HIDDEN}");
        let answers = told(&request);
        assert_eq!(answers.len(), 1, "{framing:?}: {answers:?}");
        answers[0].is_refusal(400, "VALIDATION_ERROR");
    }
    for line in [
        "POST /api/v1/companies/search",
        "POST  /api/v1/companies/search HTTP/1.1",
        "POST /api/v1/companies/search HTTP/1.1 ",
        "POST /api/v1/companies/search HTTP/2.0",
        "POST /api/v1/companies/search HTTP/1.10",
        "POST /api/v1/companies/search\u{b}HTTP/1.1",
        "P\0ST /api/v1/companies/search HTTP/1.1",
        "POST /api/v1/comp\0nies/search HTTP/1.1",
    ] {
        let answers = told(format!("{line}\r\nHost: x\r\n\r\n{HIDDEN}"));
        assert_eq!(answers.len(), 1, "{line:?}: {answers:?}");
        answers[0].is_refusal(400, "VALIDATION_ERROR");
    }
    let encoded_in_1_0 =
        "POST /api/v1/companies/search HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let answers = told(format!("{encoded_in_1_0}{HIDDEN}"));
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0].is_refusal(400, "VALIDATION_ERROR");
}

#[test]
fn a_request_with_both_framings_is_the_last_of_its_connection() {
    let hidden = HIDDEN.len();
    for both in [
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked", 5 + hidden),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {}", 5 + hidden),
        format!(
            "Transfer-Encoding: chunked\r\nContent-Length: {}\r\nConnection: keep-alive",
            5 + hidden
        ),
    ] {
        let answers = told(format!(
            "POST /nowhere HTTP/1.1\r\nHost: x\r\n{both}\r\n\r\n0\r\n\r\n{HIDDEN}"
        ));
        assert_eq!(answers.len(), 1, "{both}: {answers:?}");
        answers[0].is_refusal(404, "NOT_FOUND");
        assert_eq!(answers[0].header("connection"), Some("close"));
    }
}

/// A search in chunks that end as they please.
fn in_chunks(key: &str, chunks: &str) -> String {
    format!(
        "POST /api/v1/companies/search HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n{chunks}"
    )
}

#[test]
fn chunks_that_are_none_end_the_connection() {
    let key = &world().account().key;
    let whole = told(in_chunks(key, &format!("2\r\n{{}}\r\n0\r\n\r\n{HIDDEN}")));
    assert_eq!(
        whole.iter().map(|told| told.status).collect::<Vec<_>>(),
        [200, 404],
        "what follows a whole body is the next request"
    );
    for chunks in [
        "0x2\r\n{}\r\n0\r\n\r\n",
        "+2\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "\r\n{}\r\n0\r\n\r\n",
        "g\r\n{}\r\n0\r\n\r\n",
        "2\n{}\n0\n\n",
        "2\r{}\r\n0\r\n\r\n",
        "2\r\n{}0\r\n\r\n",
        "2\r\n{}xx0\r\n\r\n",
        "10000000000000002\r\n{}\r\n0\r\n\r\n",
        "2;\n\r\n{}\r\n0\r\n\r\n",
    ] {
        let answers = told(in_chunks(key, &format!("{chunks}{HIDDEN}")));
        let statuses: Vec<u16> = answers.iter().map(|told| told.status).collect();
        assert!(
            [vec![400], vec![413]].contains(&statuses),
            "{chunks:?}: {statuses:?}"
        );
    }
}

#[test]
fn what_chunks_carry_besides_is_bounded_and_counts_for_nothing() {
    let world = world();
    let key = &world.account().key;
    let memory = Memory::of(world);
    unharmed(world, || {
        // An extension, and trailers, as long as they are taken.
        for (start, part) in [
            ("2;", "x=y;".repeat(4_000)),
            (
                "2\r\n{}\r\n0\r\n",
                "X-Trailer: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(400),
            ),
        ] {
            let mut wire = Wire::to(world);
            assert!(wire.say(in_chunks(key, start)));
            let at_most = (1 << 30) / part.len();
            let taken = wire.repeat(part.as_bytes(), at_most);
            assert!(taken < at_most, "{start:?}: all of it was taken");
        }
        // One byte in each chunk, and as much around it as is let pass.
        let mut body = String::new();
        for byte in ["{", "}"] {
            write!(body, "1;{}\r\n{byte}\r\n", "x".repeat(1_000)).unwrap();
        }
        let answers = told(in_chunks(key, &format!("{body}0\r\n\r\n{HIDDEN}")));
        assert_eq!(answers[0].status, 200);
    });
    memory.is_bounded();
    // A trailer is no header: neither a credential nor a framing.
    let request = in_chunks(
        "",
        &format!("2\r\n{{}}\r\n0\r\nX-API-Key: {key}\r\nContent-Length: 9\r\n\r\n{HIDDEN}"),
    );
    let answers = told(request);
    answers[0].is_refusal(401, "INVALID_API_KEY");
}

#[test]
fn an_address_in_whole_form_leads_to_the_same_place_and_no_other() {
    let ask = |line: &str| {
        told(format!(
            "GET {line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ))
    };
    for line in [
        "/api/v1/openapi.json",
        "http://x/api/v1/openapi.json",
        "http://elsewhere.example:81/api/v1/openapi.json",
    ] {
        let answers = ask(line);
        assert_eq!((answers.len(), answers[0].status), (1, 200), "{line}");
    }
    for line in [
        "http://x/api/v1/../v1/openapi.json",
        "http://x/api",
        "http://x//api/v1/openapi.json",
    ] {
        let answers = ask(line);
        assert_eq!(answers.len(), 1, "{line}");
        answers[0].is_refusal(404, "NOT_FOUND");
    }
    for line in ["/", "http://x", "http://elsewhere.example:81"] {
        let answers = ask(line);
        assert_eq!((answers.len(), answers[0].status), (1, 307), "{line}");
        assert_eq!(answers[0].header("location"), Some("/docs"), "{line}");
    }
    let two_hosts =
        told("GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n");
    two_hosts[0].is_refusal(400, "VALIDATION_ERROR");
}

#[test]
fn requests_that_come_together_are_answered_one_after_the_other() {
    let world = world();
    let memory = Memory::of(world);
    let request = |number: usize| {
        format!("GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nX-Request-Id: {number}\r\n\r\n")
    };
    unharmed(world, || {
        let together: String = (0..200).map(request).collect();
        let answers = told(together + HIDDEN);
        assert_eq!(answers.len(), 201);
        for (number, answer) in answers[..200].iter().enumerate() {
            assert_eq!(
                (answer.status, answer.header("x-request-id")),
                (200, Some(number.to_string().as_str()))
            );
            assert!(serde_json::from_slice::<Value>(&answer.body).is_ok());
        }
        // Who sends more and more, and reads nothing, is not read either.
        let mut wire = Wire::to(world);
        wire.stream
            .set_write_timeout(Some(std::time::Duration::from_secs(5)))
            .unwrap();
        let many: String = (0..10_000).map(request).collect();
        let at_most = 200;
        let taken = wire.repeat(many.as_bytes(), at_most);
        assert!(taken < at_most, "{taken} times 10,000 requests were taken");
    });
    memory.is_bounded();
}
