//! Each part dies while the others run.

use devstack::{Options, Part, Service};
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::json;
use system_tests::{Account, World, company, until};

/// Searches until it is answered. In between there is nothing but the errors that the contract has for it.
fn searches_again(account: &Account, part: Part) {
    until(&format!("a search is answered after {part}"), || {
        let answer = account.companies(&json!({"limit": 1}));
        assert!(
            [200, 503, 504].contains(&answer.status),
            "{part}: {}",
            answer.body
        );
        answer.status == 200
    });
}

/// All that the system does, once: a key is made and opens, a record is imported and found, credits are granted.
fn does_everything(world: &World, account: &Account, part: Part) {
    searches_again(account, part);
    until(&format!("a key is made after {part}"), || {
        let answer = account.keys(Method::POST, "", None);
        assert!(
            [201, 503, 504].contains(&answer.status),
            "{part}: {}",
            answer.body
        );
        answer.status == 201
    });
    let name = world.word();
    world.operator.import([Change::Company(company(&name, &name))]);
    let found = account.companies(&json!({"companyName": name})).expect(200);
    assert_eq!(found.total(), 1, "{part}");
    let another = world.account();
    let _ = another.companies(&json!({"limit": 1})).expect(200);
}

#[test]
fn whatever_part_dies_and_starts_again_the_others_go_on_untouched() {
    let world = World::start(Options::new().own_postgres().durable());
    let account = world.account();
    let stores = [Part::Postgres, Part::Redis];
    for part in Service::ALL.map(Part::from).into_iter().chain(stores) {
        world.stack.kill(part).unwrap();
        world.stack.start_part(part).unwrap();
        does_everything(&world, &account, part);
    }
}

#[test]
fn a_service_that_is_away_is_told_as_such_and_costs_nothing() {
    let world = World::start(Options::new());
    let account = world.account();
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    for service in [Service::Search, Service::Billing] {
        let before = world.operator.balance(&account.id);
        world.stack.kill(service).unwrap();
        let away = account
            .companies(&json!({"limit": 1}))
            .refused(503, "UNAVAILABLE");
        assert_eq!(away.header("retry-after"), Some("1"));
        assert!(away.header("x-ratelimit-remaining").is_some());
        // What does not need it goes on.
        let _ = account.keys(Method::GET, "", None).expect(200);
        world.stack.start_part(service).unwrap();
        searches_again(&account, service.into());
        assert_eq!(world.operator.balance(&account.id), before - 1, "{service:?}");
    }
}

#[test]
fn while_the_keys_service_is_away_no_key_is_refused_as_wrong() {
    let world = World::start(Options::new());
    let (known, unknown) = (world.account(), world.account());
    let _ = known.companies(&json!({"limit": 1})).expect(200);
    world.stack.kill(Service::Keys).unwrap();
    // Verified before, it goes on for a few seconds.
    let status = known.companies(&json!({"limit": 1})).status;
    assert!([200, 503].contains(&status), "{status}");
    let _ = unknown
        .companies(&json!({"limit": 1}))
        .refused(503, "UNAVAILABLE");
    let _ = unknown.keys(Method::GET, "", None).refused(503, "UNAVAILABLE");
    world.stack.start_part(Service::Keys).unwrap();
    searches_again(&unknown, Service::Keys.into());
}
