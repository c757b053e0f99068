//! The whole chain on the sample, beside a bare axum route in the same run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::load::{Figures, Shot};
use crate::{BoxError, account, load};

const CONNECTIONS: [usize; 3] = [1, 8, 32];

/// Searches as callers send them, on what the sample holds.
fn searches(prefix: &str) -> Vec<(&'static str, Vec<Shot>)> {
    let shots = |kind: &str, bodies: Vec<Value>| {
        let path = format!("{prefix}/{kind}/search");
        bodies
            .iter()
            .map(|body| Shot::post(path.clone(), Bytes::from(body.to_string())))
            .collect()
    };
    let types = [
        "software",
        "bank",
        "insurance",
        "biotechnology",
        "semiconductor",
        "real estate",
        "mining",
        "retail",
    ];
    let countries = [
        "Germany",
        "USA",
        "Japan",
        "United Kingdom",
        "France",
        "Canada",
        "Australia",
        "Sweden",
    ];
    let titles = [
        "CEO",
        "sales manager",
        "software engineer",
        "accountant",
        "head of marketing",
        "VP sales",
    ];
    let names = [
        "solar", "acme", "pacific", "global", "nordic", "capital", "energy", "pharma",
    ];
    let pairs = || types.iter().zip(countries);
    vec![
        (
            "companies: type + country",
            shots(
                "companies",
                pairs()
                    .map(|(kind, place)| json!({"businessType": kind, "location": place}))
                    .collect(),
            ),
        ),
        (
            "companies: name",
            shots(
                "companies",
                names.iter().map(|name| json!({"companyName": name})).collect(),
            ),
        ),
        (
            "companies: everything",
            shots(
                "companies",
                (1..=8)
                    .map(|page| json!({"page": page, "sort": {"field": "name"}}))
                    .collect(),
            ),
        ),
        (
            "people: title + country",
            shots(
                "people",
                titles
                    .iter()
                    .zip(countries)
                    .map(|(title, place)| json!({"jobTitles": [title], "location": place}))
                    .collect(),
            ),
        ),
        (
            "people: everything",
            shots("people", (1..=8).map(|page| json!({"page": page})).collect()),
        ),
    ]
}

/// Prints the table.
pub(crate) async fn run(duration: Duration) -> Result<(), BoxError> {
    let target = account::prepare().await?;
    let bare = crate::bare::start().await?;
    println!(
        "{:<28} {:>5} {:>9} {:>9} {:>9} {:>8}",
        "", "conn.", "p50 ms", "p99 ms", "req/s", "p50 / bare"
    );
    for connections in CONNECTIONS {
        let body = Bytes::from_static(b"{\"companyName\":\"acme\"}");
        let echo = Shot::post("/search".to_owned(), body);
        let baseline = load::run(&bare.address, "none", Arc::new(vec![echo]), connections, duration).await?;
        row("bare axum route", connections, &baseline, &baseline);
        for (name, shots) in searches(&target.prefix) {
            let figures = load::run(
                &target.address,
                &target.api_key,
                Arc::new(shots),
                connections,
                duration,
            )
            .await?;
            row(name, connections, &figures, &baseline);
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "latencies are shown with few digits")]
fn row(name: &str, connections: usize, figures: &Figures, baseline: &Figures) {
    let millis =
        |figures: &Figures, quantile: f64| figures.latency.value_at_quantile(quantile) as f64 / 1_000.0;
    println!(
        "{name:<28} {connections:>5} {:>9.3} {:>9.3} {:>9.0} {:>8.1}",
        millis(figures, 0.50),
        millis(figures, 0.99),
        figures.rate,
        millis(figures, 0.50) / millis(baseline, 0.50),
    );
}
