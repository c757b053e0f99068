//! What a company's document tells of its people.

use std::collections::BTreeSet;

use crate::record::{Employee, PlaceText};

/// Most different titles, and most different places, that a company's document tells of its people. A search for a
/// title or place is exact for companies below it; of one beyond it, the document has the first so many by their
/// bytes, on every replica the same, and a warning is logged.
pub const MAX_EMPLOYEE_VALUES: usize = 4096;

/// The different titles and the different places of a company's people, however many people there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workforce {
    titles: First<String>,
    places: First<PlaceText>,
}

/// The first of some different values, by their order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct First<T> {
    values: BTreeSet<T>,
    /// Whether there are others.
    cut: bool,
}

impl Workforce {
    /// Adds one of the people, in any order.
    pub fn add(&mut self, job_title: Option<&String>, place: &PlaceText) {
        if let Some(title) = job_title {
            self.titles.add(title);
        }
        if !place.is_empty() {
            self.places.add(place);
        }
    }

    /// What goes into the company's document; says so if that is not all.
    #[must_use]
    pub fn employees(self, company_external_id: &str) -> Vec<Employee> {
        let Self { titles, places } = self;
        tell_if(titles.cut, company_external_id, "job titles");
        tell_if(places.cut, company_external_id, "places");
        let titles = titles.values.into_iter().map(|title| Employee {
            job_title: Some(title),
            place: PlaceText::default(),
        });
        let places = places.values.into_iter().map(|place| Employee {
            job_title: None,
            place,
        });
        titles.chain(places).collect()
    }
}

impl<T> Default for First<T> {
    fn default() -> Self {
        Self {
            values: BTreeSet::new(),
            cut: false,
        }
    }
}

impl<T: Clone + Ord> First<T> {
    fn add(&mut self, value: &T) {
        // Most are there already: they are not copied.
        if self.values.contains(value) {
            return;
        }
        self.values.insert(value.clone());
        if self.values.len() > MAX_EMPLOYEE_VALUES {
            self.values.pop_last();
            self.cut = true;
        }
    }
}

fn tell_if(cut: bool, company: &str, values: &'static str) {
    if cut {
        metrics::counter!(crate::meters::COMPANIES_CUT, "values" => values).increment(1);
        tracing::warn!(
            company.external_id = company,
            values,
            most = MAX_EMPLOYEE_VALUES,
            "a company's people have more different values than its document holds: the first are searchable"
        );
    }
}
