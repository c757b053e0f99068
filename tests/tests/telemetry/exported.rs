//! Dashboards and alerts ask for what a running system tells.

use std::collections::{BTreeMap, BTreeSet};

use devstack::Service;
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::json;
use system_tests::{World, company, until_some, world};

use crate::files::{alerts, questions};
use crate::metrics;
use crate::promql::reads;

/// What Prometheus adds.
const OF_PROMETHEUS: [&str; 3] = ["job", "instance", "le"];

/// Uses the system, so that everything is counted once.
pub(crate) fn use_all(world: &World) {
    let account = world.account();
    let name = world.word();
    world.operator.import([Change::Company(company(&name, &name))]);
    let _ = account.companies(&json!({"companyName": name})).expect(200);
    let _ = account.people(&json!({"limit": 1})).expect(200);
    let _ = account.people(&json!({"limit": 999})).expect(400);
    let _ = account.keys(Method::GET, "", None).expect(200);
}

/// Every metric that the processes tell, with its labels.
fn told(world: &World) -> BTreeMap<String, BTreeSet<String>> {
    let mut told = BTreeMap::<String, BTreeSet<String>>::new();
    for service in Service::ALL {
        let text = metrics(world, service);
        for line in text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
        {
            let (series, _) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let of_name = told.entry(name.to_owned()).or_default();
            let names = labels.split("\",").filter_map(|label| label.split_once("=\""));
            of_name.extend(names.map(|(label, _)| label.to_owned()));
        }
    }
    told
}

#[test]
fn every_metric_and_label_that_is_asked_for_is_one_that_a_running_system_tells() {
    let world = world();
    use_all(world);
    // What is looked at from time to time has been looked at.
    let told = until_some("the index and the processes were looked at", || {
        let told = told(world);
        let all = ["search_index_bytes", "process_resident_memory_bytes", "ready"];
        all.iter().all(|name| told.contains_key(*name)).then_some(told)
    });
    let known_labels: BTreeSet<&str> = told
        .values()
        .flatten()
        .map(String::as_str)
        .chain(OF_PROMETHEUS)
        .collect();
    let asked = questions().into_iter().map(|question| {
        let place = format!("{}: {}", question.dashboard, question.panel);
        (place, question.expression)
    });
    let asked = asked.chain(alerts().into_iter().map(|alert| (alert.name, alert.expression)));
    let mut problems = Vec::new();
    for (place, expression) in asked {
        let (selectors, grouped) = reads(&expression);
        assert!(!selectors.is_empty(), "{place}: {expression}");
        for selector in selectors.iter().filter(|selector| selector.metric != "up") {
            let Some(labels) = told.get(&selector.metric) else {
                problems.push(format!("{place}: nobody tells {}", selector.metric));
                continue;
            };
            for label in &selector.labels {
                if !labels.contains(label) && !OF_PROMETHEUS.contains(&label.as_str()) {
                    problems.push(format!("{place}: {} has no label {label}", selector.metric));
                }
            }
        }
        for label in grouped {
            if !known_labels.contains(label.as_str()) {
                problems.push(format!("{place}: nothing has a label {label}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_metric_of_ours_says_what_it_means() {
    let world = world();
    use_all(world);
    let mut silent = BTreeSet::new();
    for service in Service::ALL {
        let text = metrics(world, service);
        let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        for name in names.filter_map(|line| line.split(' ').next()) {
            if !text.contains(&format!("# HELP {name} ")) {
                silent.insert(name.to_owned());
            }
        }
    }
    assert!(silent.is_empty(), "{silent:?}");
}
