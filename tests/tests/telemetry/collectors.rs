//! A collector that is away, silent or mad is nobody's trouble but its own.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use devstack::{Options, Service};
use serde_json::json;
use system_tests::until_some;

use crate::trace::traced;
use crate::{metrics, value};

/// Searches with such a collector are all answered, what is lost is counted, and the processes end in good order.
fn does_no_harm(address: &str) {
    let world = traced(address, Options::new());
    let account = world.account();
    let lost = || {
        value(
            &metrics(&world, Service::Gateway),
            "trace_spans_total{outcome=\"export_failed\"}",
        )
    };
    until_some("spans are lost", || {
        for _ in 0..20 {
            let _ = account.companies(&json!({"limit": 1})).expect(200);
        }
        lost().filter(|lost| *lost > 0.0)
    });
    let log = |service: Service| world.stack.log(service).unwrap();
    for service in Service::ALL {
        world.stack.stop(service).unwrap();
        let ends = format!("{} ends finished=true", service.name());
        assert!(log(service).contains(&ends), "{}", log(service));
    }
}

fn address(listener: &TcpListener) -> String {
    format!("http://{}", listener.local_addr().unwrap())
}

/// Serves each connection so, until the tests end.
fn serving(serve: fn(TcpStream)) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = address(&listener);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

#[test]
fn one_that_is_away() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = address(&listener);
    drop(listener);
    does_no_harm(&address);
}

#[test]
fn one_that_takes_all_and_never_answers() {
    does_no_harm(&serving(|mut stream| {
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }));
}

#[test]
fn one_that_answers_garbage() {
    does_no_harm(&serving(|mut stream| {
        let mut asked = [0; 1_024];
        while stream.read(&mut asked).is_ok_and(|count| count > 0) {
            if stream.write_all(&[0xff; 1_024]).is_err() {
                return;
            }
        }
    }));
}
