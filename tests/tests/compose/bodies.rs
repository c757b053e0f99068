//! Bodies that never end: as many as the gateway holds at once have room in its container.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;

use serde_json::json;
use system_tests::{Account, Containers};

/// Bodies at once: little less than the gateway holds of the largest ones, and fewer than the files a process may open.
const BODIES: usize = 900;

/// What each of them says it has, which is the most that a body may have.
const LENGTH: usize = 1 << 20;

/// What comes of it.
const SENT: usize = LENGTH - 1;

/// A request whose body stays short of its end by a byte; none if the gateway has given it up already.
fn held(address: &str, account: &Account, part: &[u8]) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).ok()?;
    let head = format!(
        "POST /api/v1/keys HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {LENGTH}\r\n\r\n",
        account.jwt
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(part).ok()?;
    Some(stream)
}

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn as_many_bodies_as_the_gateway_holds_leave_it_alive() {
    let system = Containers::of_environment();
    let account = system.account("bodies");
    let base = system.environment.base_url.as_str();
    let address = base.trim_start_matches("http://").split('/').next().unwrap();
    let life = || {
        let facts = "{{.State.StartedAt}} {{.State.OOMKilled}} {{.RestartCount}}";
        system.inspect("gateway", facts)
    };
    let before = life();
    let part = vec![b' '; SENT];
    let threads = 4;
    let held: Vec<TcpStream> = thread::scope(|scope| {
        let some = || {
            let streams = (0..BODIES / threads).filter_map(|_| held(address, &account, &part));
            streams.collect::<Vec<_>>()
        };
        let writers: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let written = writers.into_iter().flat_map(|writer| writer.join().unwrap());
        written.collect()
    });
    assert!(held.len() > BODIES / 2, "only {} were taken", held.len());
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    assert_eq!(life(), before, "with {} bodies", held.len());
}
