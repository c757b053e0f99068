//! Each part that can be broken on one machine is broken once, and a Prometheus with the deployed rules fires the alerts
//! that `docs/operations.md` has for it. Run by `./dev test --observability`, as `observability` is.

use std::fs;

use devstack::{Options, Part, Service};
use reqwest::Method;
use serde_json::json;
use system_tests::{Account, World, until, until_some};

use crate::observability::{Prometheus, logs};

/// Searches, whatever becomes of it.
fn search(account: &Account) {
    let answer = account.companies(&json!({"limit": 1}));
    assert!([200, 503, 504].contains(&answer.status), "{}", answer.body);
}

/// What `/readyz` says.
fn readiness(world: &World, service: Service) -> String {
    let address = world.stack.admin_address(service).unwrap();
    let answer = reqwest::blocking::get(format!("{address}/readyz"));
    answer.and_then(reqwest::blocking::Response::text).unwrap()
}

/// Waits until these alerts fire, searching meanwhile.
fn fire(prometheus: &Prometheus, account: &Account, alerts: &[&str]) {
    for alert in alerts {
        until(&format!("{alert} fires"), || {
            search(account);
            prometheus.is_firing(alert)
        });
    }
}

/// Waits until these alerts, which look at what is and not at what was, are over.
fn are_over(prometheus: &Prometheus, account: &Account, alerts: &[&str]) {
    for alert in alerts {
        until(&format!("{alert} is over"), || {
            search(account);
            !prometheus.is_firing(alert)
        });
    }
}

#[test]
#[ignore = "needs programs that ./dev test --observability builds"]
fn whatever_is_broken_its_alerts_fire_and_those_that_tell_the_present_end() {
    let world = World::start(Options::new().own_postgres().durable());
    let account = world.account();
    let home = logs("breaks");
    let prometheus = Prometheus::start(&world, &home);
    until_some("all processes are scraped", || {
        search(&account);
        (prometheus.ask("sum(up)")?.first()?["value"][1] == "4").then_some(())
    });

    world.stack.kill(Part::Redis).unwrap();
    let other = world.account();
    let revoked = other.keys(Method::DELETE, &format!("/{}", other.key_id), None);
    let _ = revoked.expect(200);
    // Nobody else notices.
    for alert in ["RateLimitNotShared", "KeyChangesNotHeard", "KeyAnnouncementsFail"] {
        until(&format!("{alert} fires"), || {
            let _ = account.companies(&json!({"limit": 1})).expect(200);
            prometheus.is_firing(alert)
        });
    }
    world.stack.start_part(Part::Redis).unwrap();
    are_over(
        &prometheus,
        &account,
        &["RateLimitNotShared", "KeyChangesNotHeard"],
    );

    world.stack.kill(Service::Search).unwrap();
    fire(&prometheus, &account, &["ProcessDown", "HighErrorRate"]);
    world.stack.start_part(Service::Search).unwrap();
    are_over(&prometheus, &account, &["ProcessDown"]);

    world.stack.kill(Part::Postgres).unwrap();
    fire(
        &prometheus,
        &account,
        &[
            "ProcessNotReady",
            "DatabaseStatementsFail",
            "ChargesFail",
            "ChargesUnknown",
            "IndexNotFollowing",
        ],
    );
    for service in [Service::Keys, Service::Billing] {
        assert_eq!(readiness(&world, service), "not ready: the database answers\n");
    }
    assert_eq!(readiness(&world, Service::Search), "ready\n");
    world.stack.start_part(Part::Postgres).unwrap();
    are_over(&prometheus, &account, &["ProcessNotReady"]);

    until_some("the index follows again", || {
        let query = "time() - search_feed_last_contact_timestamp_seconds < 5";
        prometheus.ask(query).filter(|found| !found.is_empty())
    });

    world
        .stack
        .set("DS_GATEWAY__SERVICE_TOKEN", "a-token-that-nobody-has-been-told");
    world.stack.restart(Service::Gateway).unwrap();
    until("ServiceCallsDenied fires", || {
        let _ = account.companies(&json!({"limit": 1}));
        prometheus.is_firing("ServiceCallsDenied")
    });

    let log = world.stack.log(Service::Keys).unwrap();
    assert!(log.contains("a call was denied"), "{log}");

    world.stack.set("DS_KEYS__OTLP_ENDPOINT", "http://127.0.0.1:9");
    world.stack.restart(Service::Keys).unwrap();
    until("SpansLost fires", || {
        let _ = account.keys(Method::GET, "", None);
        world.operator.set_rate(&account.id, 1_000_000, 60);
        prometheus.is_firing("SpansLost")
    });
    drop(prometheus);
    fs::remove_dir_all(home).unwrap();
}
