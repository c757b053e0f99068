//! TLS to Redis, as those who run it for others ask for it: `rediss://`, and an authority where it is not one of the public ones.

use std::fs;

use devstack::{Options, Service};
use redis::Connection;
use reqwest::Method;
use serde_json::json;
use system_tests::{Authority, World, until};

/// Where the tests' Redis listens.
const HERE: &str = "127.0.0.1";

/// The processes that speak with Redis.
const CALLERS: [Service; 2] = [Service::Gateway, Service::Keys];

/// Changes a setting of the running Redis.
fn configure(redis: &mut Connection, name: &str, value: &str) {
    let mut command = redis::cmd("CONFIG");
    command.arg("SET").arg(name).arg(value).exec(redis).unwrap();
}

/// Whether a process says in its log, beyond what was there, that this has failed for the certificate.
fn tells(world: &World, service: Service, there: usize, what: &str) -> bool {
    let log = world.stack.log(service).unwrap();
    let mut lines = log[there..].lines();
    lines.any(|line| line.contains(what) && line.contains("UnknownIssuer"))
}

/// Whether all of them speak with Redis: rates are shared, and a change of a key is announced and heard.
fn speak_with_redis(world: &World) -> bool {
    let value = |service, name| world.metric(service, name).unwrap();
    let failures = || value(Service::Keys, "keys_announcement_failures_total");
    let before = failures();
    let account = world.account();
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    let key = format!("/{}", account.key_id);
    let _ = account.keys(Method::DELETE, &key, None).expect(200);
    let listening = ["gateway_rate_limit_shared", "gateway_key_changes_heard"];
    failures() <= before && listening.iter().all(|name| value(Service::Gateway, name) > 0.0)
}

#[test]
fn redis_is_spoken_with_in_tls_and_only_with_one_of_the_authority_that_is_named() {
    let world = World::start(Options::new());
    let [ours, others] = ["ours", "others"].map(Authority::new);
    let file = |name: &str, text: &str| {
        let path = world.stack.folder().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let pair = ours.server(HERE);
    let plain_url = world.stack.redis_url();
    let plain = redis::Client::open(plain_url.as_str()).unwrap();
    let port = plain_url.rsplit_once(':').unwrap().1.trim_end_matches('/');
    let mut redis = plain.get_connection().unwrap();
    for (name, value) in [
        ("tls-auth-clients", "no"),
        ("tls-cert-file", &file("redis.crt", &pair.certificate)),
        ("tls-key-file", &file("redis.key", &pair.key)),
        // In the open nobody is listened to any more: the same port is that of TLS.
        ("port", "0"),
        ("tls-port", port),
    ] {
        configure(&mut redis, name, value);
    }
    let refused = plain.get_connection().err().unwrap();
    assert!(
        refused.is_io_error() || refused.is_connection_dropped(),
        "{refused}"
    );

    let authorities = [
        ("others", Some(file("others.pem", &others.certificate))),
        ("Mozilla", None),
        ("ours", Some(file("ours.pem", &ours.certificate))),
    ];
    for (name, authority) in authorities {
        let there = CALLERS.map(|service| world.stack.log(service).unwrap().len());
        for service in CALLERS {
            let setting = |name: &str| format!("DS_{}__{name}", service.name().to_uppercase());
            let url = plain_url.replacen("redis://", "rediss://", 1);
            world.stack.set(&setting("REDIS_URL"), &url);
            let authority = authority.as_deref().unwrap_or_default();
            world.stack.set(&setting("REDIS_TLS_AUTHORITY"), authority);
            world.stack.restart(service).unwrap();
        }
        if name == "ours" {
            until("Redis is spoken with", || speak_with_redis(&world));
            continue;
        }
        let [gateway, keys] = there;
        for (service, there, what) in [
            (Service::Gateway, gateway, "Redis can't be reached"),
            (Service::Gateway, gateway, "changes of API keys are not heard"),
            (Service::Keys, keys, "could not be announced over Redis"),
        ] {
            // An announcement may also give up before it knows why.
            until(&format!("{name}: {what:?} is told"), || {
                assert!(!speak_with_redis(&world), "{name}");
                tells(&world, service, there, what)
            });
        }
        assert!(!speak_with_redis(&world), "{name}");
    }
}
