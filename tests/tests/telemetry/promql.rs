//! As much of `PromQL` as it takes to know of which metrics and labels an expression speaks.

use std::collections::BTreeSet;

use regex::Regex;

const KEYWORDS: [&str; 6] = ["and", "or", "unless", "bool", "offset", "inf"];

/// A metric that an expression reads, and the labels that it is chosen by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) labels: BTreeSet<String>,
}

/// What an expression reads, and the labels that its results are grouped or joined by.
pub(crate) fn reads(expression: &str) -> (Vec<Selector>, BTreeSet<String>) {
    let regex = |pattern: &str| Regex::new(pattern).unwrap();
    let grouping = regex(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)");
    let grouped = grouping.captures_iter(expression).flat_map(|found| {
        let labels = found[2].split(',').map(|label| label.trim().to_owned());
        labels.collect::<Vec<_>>()
    });
    let grouped = grouped.filter(|label| !label.is_empty()).collect();
    let plain = grouping.replace_all(expression, " ");
    let plain = regex(r"\[[^\]]*\]").replace_all(&plain, " ");
    let label = regex(r#"(\w+)\s*(?:=~|!~|!=|=)\s*""#);
    let word = regex(r#"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\}|\()?|"[^"]*""#);
    let mut selectors = Vec::new();
    for found in word.captures_iter(&plain) {
        let Some(name) = found.get(1).map(|name| name.as_str()) else {
            continue;
        };
        let rest = found.get(2).map_or("", |rest| rest.as_str());
        if rest == "(" || KEYWORDS.contains(&name) {
            continue;
        }
        selectors.push(Selector {
            metric: name.to_owned(),
            labels: label
                .captures_iter(rest)
                .map(|label| label[1].to_owned())
                .collect(),
        });
    }
    (selectors, grouped)
}

#[test]
fn metrics_and_labels_are_told_from_functions_and_words() {
    let (selectors, grouped) = reads(
        r#"histogram_quantile(0.99, sum by (le, job) (rate(a_bucket{x=~"b.*", y!="c"}[5m]))) > 1 or d / on (instance) e"#,
    );
    let told = selectors.iter().map(|selector| selector.metric.as_str());
    assert_eq!(told.collect::<Vec<_>>(), ["a_bucket", "d", "e"]);
    assert_eq!(selectors[0].labels, ["x", "y"].map(str::to_owned).into());
    assert_eq!(grouped, ["instance", "job", "le"].map(str::to_owned).into());
}
