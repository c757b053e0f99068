//! The files of `deploy/observability/`, and the runbook.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// An alert, as its rule has it.
#[derive(Debug, Default)]
pub(crate) struct Alert {
    pub(crate) name: String,
    pub(crate) expression: String,
    runbook: String,
}

/// A panel's question.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) dashboard: String,
    pub(crate) panel: String,
    pub(crate) expression: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

pub(crate) fn folder() -> PathBuf {
    root().join("deploy/observability")
}

/// All alerts. Each of their expressions is one line in single quotes.
pub(crate) fn alerts() -> Vec<Alert> {
    let text = fs::read_to_string(folder().join("prometheus/rules/alerts.yml")).unwrap();
    let mut alerts: Vec<Alert> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- alert: ") {
            alerts.push(Alert {
                name: name.to_owned(),
                ..Alert::default()
            });
        } else if let Some(quoted) = line.strip_prefix("expr: '") {
            let expression = quoted.strip_suffix('\'').unwrap().replace("''", "'");
            alerts.last_mut().unwrap().expression = expression;
        } else if let Some(runbook) = line.strip_prefix("runbook_url: ") {
            runbook.clone_into(&mut alerts.last_mut().unwrap().runbook);
        }
    }
    assert!(alerts.len() >= 20, "{alerts:?}");
    alerts
}

/// All questions of all dashboards.
pub(crate) fn questions() -> Vec<Question> {
    let mut questions = Vec::new();
    for entry in fs::read_dir(folder().join("grafana/dashboards")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let dashboard: Value = serde_json::from_str(&text).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                questions.push(Question {
                    dashboard: dashboard["title"].as_str().unwrap().to_owned(),
                    panel: panel["title"].as_str().unwrap().to_owned(),
                    expression: target["expr"].as_str().unwrap().to_owned(),
                });
            }
        }
    }
    assert!(questions.len() >= 50, "{}", questions.len());
    questions
}

#[test]
fn every_alert_leads_to_its_heading_in_the_runbook() {
    let text = fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let headings: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let mut problems = Vec::new();
    let alerts = alerts();
    for Alert { name, runbook, .. } in &alerts {
        if !headings.contains(&name.as_str()) {
            problems.push(format!("docs/operations.md has no heading {name}"));
        }
        if *runbook != format!("docs/operations.md#{}", name.to_lowercase()) {
            problems.push(format!("{name} leads to {runbook}"));
        }
        let tests = fs::read_to_string(folder().join("prometheus/tests/alerts.yml")).unwrap();
        if !tests.contains(&format!("alertname=\"{name}\"")) {
            problems.push(format!("{name} is not tried by prometheus/tests/alerts.yml"));
        }
    }
    // What looks like an alert in the runbook is one.
    let is_one_word = |heading: &&&str| heading.chars().all(char::is_alphanumeric);
    for heading in headings.iter().filter(is_one_word) {
        let uppercase = heading.chars().filter(|letter| letter.is_uppercase()).count();
        if uppercase > 1 && !alerts.iter().any(|alert| alert.name == *heading) {
            problems.push(format!(
                "docs/operations.md tells of an alert that is none: {heading}"
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
