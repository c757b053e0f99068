//! The reference at `/docs` in a browser, and what its guides say to type. Needs a Chromium, Node with two packages and
//! curl, which `./dev test --docs` gets; nothing else runs this.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proto::search::v1::{CompanyRecord, PersonRecord};
use serde_json::{Value, json};
use system_tests::{Set, company, person, world};

use crate::guide::steps;
use crate::programs;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What the examples of the guides search for.
fn siemens_and_ada() -> Set {
    let siemens = CompanyRecord {
        city: Some("Munich".to_owned()),
        region: Some("Bavaria".to_owned()),
        country: Some("DE".to_owned()),
        ..company("siemens", "Siemens Aktiengesellschaft")
    };
    let ada = PersonRecord {
        company_external_id: Some("siemens".to_owned()),
        job_title: Some("CEO".to_owned()),
        ..person("ada", "Ada Example")
    };
    Set::of([siemens], [ada])
}

/// Whether all that is told is there too, in the same form; words that decide what a client does are the same ones.
fn has_the_form_of(told: &Value, got: &Value, path: &str) {
    match (told, got) {
        (Value::Object(told), Value::Object(got)) => {
            let mut names: Vec<&String> = got.keys().collect();
            names.retain(|name| !told.contains_key(*name));
            assert!(names.is_empty(), "{path}: {names:?} are answered and not told");
            for (name, value) in told {
                let got = got
                    .get(name)
                    .unwrap_or_else(|| panic!("{path}.{name} is not answered"));
                has_the_form_of(value, got, &format!("{path}.{name}"));
            }
        }
        (Value::Array(told), Value::Array(got)) => {
            assert_eq!(told.is_empty(), got.is_empty(), "{path}");
            for (told, got) in told.iter().zip(got) {
                has_the_form_of(told, got, path);
            }
        }
        _ => {
            let kind = |value: &Value| std::mem::discriminant(value);
            assert!(
                told.is_null() || got.is_null() || kind(told) == kind(got),
                "{path}: {told} is told, {got} is answered"
            );
            if [
                "code",
                "message",
                "hint",
                "success",
                "paginationMode",
                "field",
                "dir",
                "cost",
            ]
            .iter()
            .any(|name| path.ends_with(&format!(".{name}")))
            {
                assert_eq!(told, got, "{path}");
            }
        }
    }
}

#[test]
#[ignore = "needs programs that ./dev test --docs gets"]
fn docs_what_the_guides_say_to_type_is_answered_as_they_say() {
    let account = siemens_and_ada().account;
    world().operator.wait_suggested();
    let mut typed = 0;
    for entry in fs::read_dir(root().join("gateway/docs/guides")).unwrap() {
        let guide = entry.unwrap().path();
        for step in steps(&fs::read_to_string(&guide).unwrap()) {
            typed += 1;
            let ran = Command::new("bash")
                .args(["-euc", &step.commands])
                .env("BASE_URL", &account.base)
                .env("API_KEY", &account.key)
                .env("JWT", &account.jwt)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let shown = format!("{}: {}", guide.display(), step.commands);
            assert!(ran.status.success(), "{shown}");
            let got: Value = serde_json::from_slice(&ran.stdout).unwrap();
            if !step.answer.is_empty() {
                let told = serde_json::from_str(&step.answer).expect(&shown);
                has_the_form_of(&told, &got, &shown);
            }
        }
    }
    assert!(typed > 4, "the guides have steps");
}

#[test]
#[ignore = "needs programs that ./dev test --docs gets"]
fn docs_the_page_works_in_a_browser() {
    let account = siemens_and_ada().account;
    let origin = account.base.trim_end_matches("/api/v1");
    let status = Command::new(programs("NODE"))
        .args(["--test", "--test-reporter=spec"])
        .arg(root().join("tests/tests/guides/browser/page.test.mjs"))
        .env("ORIGIN", origin)
        .env("API_KEY", &account.key)
        .env("PACKAGES", programs("NODE_PACKAGES"))
        .env("CHROMIUM", programs("CHROMIUM"))
        .env("SCREENSHOTS", programs("SCREENSHOTS"))
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "what failed is told above");
    let balance = account.companies(&json!({})).expect(200).body["credits"]["balance"].as_i64();
    assert!(
        balance < Some(100_000 - 1),
        "the page has searched, and it was paid for"
    );
}

#[test]
#[ignore = "needs programs that ./dev test --docs gets"]
fn docs_the_vendored_script_is_that_of_its_package() {
    let status = Command::new(programs("NODE"))
        .arg(root().join("gateway/docs/scalar/update.mjs"))
        .arg("--check")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}
