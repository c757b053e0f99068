//! Who works where: how the made-up people are shared out among the companies, and where they live.

use std::collections::BTreeMap;

use super::chance::Chance;
use super::company::Company;

/// Of a hundred people, so many have no company.
const WITHOUT_COMPANY: u64 = 4;

/// A company as the employer of one person.
pub(super) struct Employer<'a> {
    /// The company.
    pub(super) company: &'a Company,
    /// Which of its people this is, from 0.
    pub(super) rank: u32,
    /// How many people it has in the sample.
    pub(super) people: u32,
}

/// The employer of each of `count` people: companies get people by the root of their size, so that large ones have
/// many and small ones not none. The last few have no employer.
pub(super) fn employers(companies: &[Company], count: u32) -> impl Iterator<Item = Option<Employer<'_>>> {
    let employed = if companies.is_empty() {
        0
    } else {
        u64::from(count) * (100 - WITHOUT_COMPANY) / 100
    };
    let weight = |company: &Company| u64::from(company.employee_count.unwrap_or(9).isqrt().max(1));
    let total = companies.iter().map(weight).sum::<u64>().max(1);
    let mut so_far = 0;
    let of_companies = companies.iter().flat_map(move |company| {
        let before = so_far * employed / total;
        so_far += weight(company);
        let people = u32::try_from(so_far * employed / total - before).unwrap_or(u32::MAX);
        (0..people).map(move |rank| {
            Some(Employer {
                company,
                rank,
                people,
            })
        })
    });
    let without = u64::from(count) - employed;
    of_companies.chain((0..without).map(|_| None))
}

/// Where people can live: the places of the companies.
pub(super) struct Places<'a> {
    all: Vec<&'a Company>,
    of_country: BTreeMap<&'a str, Vec<&'a Company>>,
}

impl<'a> Places<'a> {
    /// The places of these companies.
    pub(super) fn of(companies: &'a [Company]) -> Self {
        let all: Vec<_> = companies
            .iter()
            .filter(|company| company.city.is_some())
            .collect();
        let mut of_country = BTreeMap::<_, Vec<_>>::new();
        for company in &all {
            if let Some(country) = company.country.as_deref() {
                of_country.entry(country).or_default().push(*company);
            }
        }
        Self { all, of_country }
    }

    /// A company in whose place a person lives: mostly the own one's, sometimes elsewhere in the country or abroad, for
    /// some unknown.
    pub(super) fn near(&self, employer: Option<&'a Company>, chance: &mut Chance) -> Option<&'a Company> {
        let country = employer.and_then(|company| company.country.as_deref());
        match (chance.between(0, 99), employer) {
            (0..=9, _) => None,
            (10..=74, Some(employer)) => Some(employer),
            (75..=92, Some(_)) => chance.choose(self.of_country.get(country?)?).copied(),
            _ => chance.choose(&self.all).copied(),
        }
    }
}
