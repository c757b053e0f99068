//! The figures of a run, as a table and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::measure::Figures;

/// How searches were asked.
pub(super) const WAYS: [&str; 3] = ["cold", "warm, 1 client", "warm, 8 clients"];

/// A class's figures.
pub(super) struct ClassFigures {
    pub(super) name: &'static str,
    pub(super) selective: bool,
    pub(super) searches: usize,
    /// Median and largest of the totals.
    pub(super) totals: (i64, i64),
    /// Searches that the two systems answer with different totals, and with different rows.
    pub(super) different: (usize, usize),
    /// For each of [`WAYS`], ours and Postgres's.
    pub(super) ways: Vec<(Figures, Figures)>,
}

/// A single figure.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    /// What is wanted, in words; empty where nothing is.
    pub(super) goal: &'static str,
}

/// All that a run has to say.
#[derive(Default)]
pub(super) struct Report {
    pub(super) about: Vec<(&'static str, String)>,
    pub(super) classes: Vec<ClassFigures>,
    pub(super) figures: Vec<Figure>,
}

impl Report {
    /// Adds a single figure.
    pub(super) fn figure(&mut self, name: &'static str, value: f64, unit: &'static str, goal: &'static str) {
        super::progress::tell(&format!("{name}: {value:.1} {unit}"));
        self.figures.push(Figure {
            name,
            value,
            unit,
            goal,
        });
    }

    /// The table.
    pub(super) fn table(&self) -> String {
        let mut table = String::new();
        // Writing to a string can't fail, here and below.
        for (name, value) in &self.about {
            let _ = writeln!(table, "{name}: {value}");
        }
        for (way, name) in WAYS.iter().enumerate() {
            let _ = writeln!(
                table,
                "\n{name:<32} {:>9} | {:>8} {:>8} {:>8} | {:>9} {:>9} {:>8} | {:>7}",
                "matches", "p50 ms", "p99 ms", "per s", "PG p50", "PG p99", "PG per s", "p99 x"
            );
            for class in &self.classes {
                let (ours, theirs) = &class.ways[way];
                let _ = writeln!(
                    table,
                    "{} {:<30} {:>9} | {:>8.2} {:>8.2} {:>8.0} | {:>9.2} {:>9.2} {:>8.0} | {:>7.1}",
                    if class.selective { 's' } else { 'u' },
                    class.name,
                    class.totals.0,
                    millis(ours, 0.5),
                    millis(ours, 0.99),
                    ours.rate,
                    millis(theirs, 0.5),
                    millis(theirs, 0.99),
                    theirs.rate,
                    class.ratio(way),
                );
            }
            if let Some(worst) = self.worst(way) {
                let _ = writeln!(
                    table,
                    "geometric mean of the ratios {:.1}; worst class: {} ({:.1})",
                    self.mean_ratio(way),
                    worst.name,
                    worst.ratio(way)
                );
            }
        }
        let _ = writeln!(
            table,
            "\ns: selective, u: unselective; matches: median of the totals; p99 x: Postgres's p99 by ours"
        );
        for class in &self.classes {
            let _ = writeln!(
                table,
                "{}: {} searches, most matches {}, different totals {}, different rows {}",
                class.name, class.searches, class.totals.1, class.different.0, class.different.1
            );
        }
        let _ = writeln!(table);
        for Figure {
            name,
            value,
            unit,
            goal,
        } in &self.figures
        {
            let _ = writeln!(table, "{name:<58} {value:>12.1} {unit:<12} {goal}");
        }
        table
    }

    /// The same for programs. Times are in milliseconds.
    pub(super) fn json(&self) -> Value {
        let figures = |figures: &Figures| {
            json!({
                "p50": millis(figures, 0.5), "p99": millis(figures, 0.99), "perSecond": figures.rate,
                "samples": figures.latency.len(),
            })
        };
        let classes = self.classes.iter().map(|class| {
            let ways = WAYS.iter().zip(&class.ways).enumerate().map(|(way, (name, (ours, theirs)))| {
                json!({
                    "way": name, "ours": figures(ours), "postgres": figures(theirs), "ratio": class.ratio(way),
                })
            });
            json!({
                "name": class.name, "selective": class.selective, "searches": class.searches,
                "medianTotal": class.totals.0, "largestTotal": class.totals.1,
                "differentTotals": class.different.0, "differentRows": class.different.1,
                "ways": ways.collect::<Vec<_>>(),
            })
        });
        let about: serde_json::Map<_, _> = self
            .about
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let figures = self.figures.iter().map(
            |Figure {
                 name,
                 value,
                 unit,
                 goal,
             }| { json!({"name": name, "value": value, "unit": unit, "goal": goal}) },
        );
        let means = WAYS
            .iter()
            .enumerate()
            .map(|(way, name)| json!({"way": name, "ratio": self.mean_ratio(way)}));
        json!({
            "about": about,
            "classes": classes.collect::<Vec<_>>(),
            "geometricMeans": means.collect::<Vec<_>>(),
            "figures": figures.collect::<Vec<_>>(),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "there are a dozen classes")]
    fn mean_ratio(&self, way: usize) -> f64 {
        let logarithms: f64 = self.classes.iter().map(|class| class.ratio(way).ln()).sum();
        (logarithms / self.classes.len() as f64).exp()
    }

    fn worst(&self, way: usize) -> Option<&ClassFigures> {
        self.classes
            .iter()
            .min_by(|left, right| left.ratio(way).total_cmp(&right.ratio(way)))
    }
}

impl ClassFigures {
    /// How many times Postgres's p99 is ours.
    fn ratio(&self, way: usize) -> f64 {
        let (ours, theirs) = &self.ways[way];
        millis(theirs, 0.99) / millis(ours, 0.99)
    }
}

/// A quantile of the latencies.
#[expect(clippy::cast_precision_loss, reason = "latencies are shown with few digits")]
pub(super) fn millis(figures: &Figures, quantile: f64) -> f64 {
    figures.latency.value_at_quantile(quantile) as f64 / 1_000.0
}
