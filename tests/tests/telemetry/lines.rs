//! What a request leaves in the log and in the metrics.

use std::collections::BTreeSet;

use devstack::{Options, Service};
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{World, world};

use crate::metrics;

#[test]
fn a_request_has_one_line_with_all_that_tells_it_from_others() {
    let world = World::start(Options::new().setting("DS_GATEWAY__LOG_JSON", "true"));
    let account = world.account();
    let request = account
        .request(Method::POST, "/companies/search?secret=in-the-query")
        .header("X-API-Key", &account.key)
        .header("X-Request-Id", "told-by-this-test")
        .json(&json!({"companyName": "a-text-of-a-query", "limit": 1}));
    assert_eq!(request.send().unwrap().status(), 200);
    let log = world.stack.log(Service::Gateway).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines
        .filter(|line| line["span"]["request.id"] == "told-by-this-test")
        .collect();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(line["target"], "access");
    assert_eq!(line["http.request.method"], "POST");
    assert_eq!(line["http.route"], "/api/v1/companies/search");
    assert_eq!(line["http.response.status_code"], 200);
    assert!(
        line["duration_us"].as_u64().is_some_and(|took| took > 0),
        "{line}"
    );
    assert_eq!(line["span"]["account.id"], account.id);
    assert_eq!(line["span"]["key.id"], account.key_id);
    assert!(!log.contains("in-the-query"), "{log}");
    assert!(!log.contains("a-text-of-a-query"), "{log}");
    assert!(!log.contains(&account.key), "{log}");
}

/// All values of a label.
fn values(metrics: &str, label: &str) -> BTreeSet<String> {
    let start = format!("{label}=\"");
    let told = metrics
        .lines()
        .filter_map(|line| line.split_once(&start)?.1.split('"').next());
    told.map(str::to_owned).collect()
}

#[test]
fn what_callers_make_up_makes_no_series() {
    let world = world();
    let account = world.account();
    for number in 0..50 {
        let method = Method::from_bytes(format!("MADEUP{number}").as_bytes()).unwrap();
        for path in [format!("/made-up-{number}"), format!("/keys/made-up-{number}/x")] {
            let request = account
                .request(method.clone(), &path)
                .header("X-Request-Id", format!("made-up-{number}"));
            assert_eq!(request.send().unwrap().status(), 404);
        }
        let path = format!("/keys/made-up-{number}");
        let request = account.request(Method::DELETE, &path).bearer_auth(&account.jwt);
        assert_eq!(request.send().unwrap().status(), 404);
        let _ = account
            .companies(&json!({"companyName": format!("made-up-{number}")}))
            .expect(200);
    }
    for service in Service::ALL {
        let told = metrics(world, service);
        let series = told.lines().filter(|line| !line.starts_with('#'));
        let made_up: Vec<&str> = series
            .filter(|line| line.to_lowercase().replace('-', "").contains("madeup"))
            .collect();
        assert!(made_up.is_empty(), "{made_up:?}");
        assert!(!told.contains(&account.id), "an account is no label");
    }
    let told = metrics(world, Service::Gateway);
    assert!(values(&told, "http_request_method").contains("_OTHER"), "{told}");
    assert!(values(&told, "http_route").contains("none"), "{told}");
}
