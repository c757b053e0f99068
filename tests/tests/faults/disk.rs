//! The disk of the index is full, or its directory is gone: what is committed by the database is found in the end, and
//! nothing else happens to anybody.

use std::process::Command;

use devstack::{Options, Service};
use proto::search::v1::import_record::Change;
use proto::search::v1::{ImportRequest, ImportResponse};
use serde_json::json;
use system_tests::{Account, World, company, until};

/// Imports companies that share a word of their names, without waiting until they can be searched.
fn imported(world: &World, shared: &str, count: usize) -> ImportResponse {
    let companies =
        (0..count).map(|number| company(&format!("{shared}-{number}"), &format!("{shared} {number}")));
    let request: ImportRequest = system_tests::batch(companies.map(Change::Company));
    world.operator.send(request)
}

fn total(account: &Account, word: &str) -> i64 {
    account
        .companies(&json!({"companyName": word}))
        .expect(200)
        .total()
}

/// Lets the search service write files up to this many bytes: what a full disk does to it, at a place of our choice.
#[cfg(target_os = "linux")]
fn limit_files(world: &World, bytes: &str) {
    let pid = world.stack.pid(Service::Search).unwrap();
    let done = Command::new("prlimit")
        .args([format!("--pid={pid}"), format!("--fsize={bytes}:unlimited")])
        .status();
    assert!(done.unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn while_nothing_can_be_written_searches_go_on_and_what_comes_meanwhile_is_found_after_it() {
    let world = World::start(Options::new());
    let account = world.account();
    let before = world.word();
    world.operator.wait_for(imported(&world, &before, 10).position);
    let pid = world.stack.pid(Service::Search);
    let failures = || {
        world
            .metric(Service::Search, "search_feed_errors_total")
            .unwrap_or_default()
    };
    // From a place within a segment's files to not even a line of the log.
    for bytes in ["65536", "4096", "512", "1"] {
        let meanwhile = world.word();
        let failed = failures();
        limit_files(&world, bytes);
        let batch = imported(&world, &meanwhile, 3_000);
        until("the index can't be written", || failures() > failed);
        assert_eq!(total(&account, &before), 10);
        limit_files(&world, "unlimited");
        world.operator.wait_for(batch.position);
        assert_eq!(total(&account, &meanwhile), 3_000);
    }
    assert_eq!(world.stack.pid(Service::Search), pid);
}

#[test]
fn a_process_whose_index_was_removed_ends_and_the_next_one_builds_another() {
    let world = World::start(Options::new());
    let account = world.account();
    let (before, behind) = (world.word(), world.word());
    world.operator.wait_for(imported(&world, &before, 10).position);
    std::fs::remove_dir_all(world.stack.folder().join("index")).unwrap();
    assert_eq!(total(&account, &before), 10);
    let batch = imported(&world, &behind, 10);
    until("the process ends", || !world.stack.is_running(Service::Search));
    world.stack.start_part(Service::Search).unwrap();
    world.operator.wait_for(batch.position);
    assert_eq!([&before, &behind].map(|word| total(&account, word)), [10, 10]);
}
