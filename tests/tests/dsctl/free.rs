//! What is asked before a search, and costs nothing.

use proto::search::v1::PersonRecord;
use proto::search::v1::import_record::Change;
use serde_json::Value;
use system_tests::{person, world};

use crate::{companies, dsctl, printed, refused};

#[test]
fn a_count_is_one_number() {
    let account = world().poor_account();
    let (word, names) = companies(3);
    let count = |arguments: &[&str]| {
        let command = ["count", "companies", "--company-name", &word];
        printed(dsctl(&account).args(command).args(arguments))
    };
    assert_eq!(count(&[]).trim(), names.len().to_string());
    let answer: Value = serde_json::from_str(&count(&["--json"])).unwrap();
    assert_eq!(answer["data"]["total"], 3);
    let (status, told) = refused(dsctl(&account).args(["count", "people", "--job-title", "*"]));
    assert_eq!(status, 1);
    assert!(told.contains("jobTitles"), "{told}");
}

#[test]
fn an_explanation_names_words_and_places() {
    let account = world().poor_account();
    let command = [
        "explain",
        "people",
        "--job-title",
        "VPs",
        "--location",
        "Springfield, IL",
        "--sort",
        "fullName",
    ];
    let told = printed(dsctl(&account).args(command));
    assert!(told.contains("VPs -> phrase vice president"), "{told}");
    assert!(
        told.contains("city: Springfield, Illinois, United States"),
        "{told}"
    );
    assert!(told.contains("sort fullName asc"), "{told}");
}

#[test]
fn suggestions_are_filters_that_can_be_given() {
    let account = world().poor_account();
    let (word, _) = companies(1);
    let title = format!("Captain of {word}");
    let record = PersonRecord {
        job_title: Some(title.clone()),
        ..person(&word, &word)
    };
    world().operator.import([Change::Person(record)]);
    world().operator.wait_suggested();
    let told = printed(dsctl(&account).args(["suggest", "job-titles", &format!("captain of {word}")]));
    assert!(told.contains(&format!("\"{title}\"")), "{told}");
    let (status, told) = refused(dsctl(&account).args(["suggest", "tags", "!", "--limit", "0"]));
    assert_eq!(status, 1);
    assert!(told.contains("q: ") && told.contains("limit: "), "{told}");
}

#[test]
fn the_balance_tells_what_has_moved_it() {
    let account = world().poor_account();
    world().operator.grant(&account.id, 5);
    let _ = account.companies(&serde_json::json!({"limit": 1})).expect(200);
    let told = printed(dsctl(&account).arg("balance"));
    assert!(told.starts_with("balance 4\n"), "{told}");
    assert!(
        told.contains("searchCompanies") && told.contains("grant"),
        "{told}"
    );
    let told = printed(dsctl(&account).args(["balance", "--limit", "1"]));
    let next = told.lines().last().unwrap().strip_prefix("next: ").unwrap();
    let told = printed(dsctl(&account).arg("balance").args(next.split(' ')));
    assert!(told.contains("grant") && !told.contains("charge"), "{told}");
}
