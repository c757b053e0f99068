//! What there is to ask for.

use proto::search::v1::Location;

use super::records::{ASKED_PLACES, HOSTS, NAMES, OFFICERS, PHONES, TEXTS};
use crate::scan::Oracle;
use crate::text::words;

/// What the records of a world hold, to make requests of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    pub(super) names: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) sentences: Vec<String>,
    pub(super) titles: Vec<String>,
    pub(super) places: Vec<String>,
    pub(super) websites: Vec<String>,
    pub(super) domains: Vec<String>,
    pub(super) emails: Vec<String>,
    pub(super) phones: Vec<String>,
}

impl Pieces {
    pub(crate) fn of(oracle: &Oracle) -> Self {
        let mut pieces = Self::default();
        let place = |location: Option<&Location>| {
            let location = location.cloned().unwrap_or_default();
            let parts = [location.city, location.region, location.country_code];
            let parts = parts.into_iter().flatten().collect::<Vec<_>>();
            [vec![parts.join(", ")], parts].concat()
        };
        for company in oracle.company_rows() {
            pieces.names.push(company.name.clone());
            pieces
                .labels
                .extend(company.business_types.iter().chain(&company.tags).cloned());
            let sentences = company.description.iter().flat_map(|text| text.split(['.', ';']));
            pieces.sentences.extend(sentences.map(str::to_owned));
            pieces.places.extend(place(company.location.as_ref()));
            pieces.websites.extend(company.website.clone());
            pieces.domains.extend(company.domain.clone());
            pieces.emails.extend(company.business_email.clone());
            pieces.phones.extend(company.business_phone.clone());
        }
        for (_, person, email) in oracle.person_rows() {
            pieces.titles.extend(person.job_title.clone());
            pieces.places.extend(place(person.location.as_ref()));
            pieces.emails.extend(email.map(str::to_owned));
        }
        pieces.names.extend(NAMES.iter().map(|text| (*text).to_owned()));
        pieces.labels.extend(TEXTS.iter().map(|text| (*text).to_owned()));
        pieces.sentences.push("software".to_owned());
        pieces
            .titles
            .extend(OFFICERS.iter().map(|text| (*text).to_owned()));
        pieces
            .places
            .extend(ASKED_PLACES.iter().map(|text| (*text).to_owned()));
        pieces
            .websites
            .extend(HOSTS.iter().map(|text| (*text).to_owned()));
        pieces
            .domains
            .extend(["acme.com", "acme.co.uk"].map(str::to_owned));
        pieces
            .emails
            .extend(["info@acme.com", "@acme.com", "bücher.example"].map(str::to_owned));
        pieces
            .phones
            .extend(["+44 020 7946 0958", "+4420", "2025", "+999 12"].map(str::to_owned));
        let spellings = PHONES.iter().flat_map(|(_, numbers)| *numbers);
        pieces.phones.extend(spellings.map(|number| (*number).to_owned()));
        for list in [
            &mut pieces.names,
            &mut pieces.labels,
            &mut pieces.sentences,
            &mut pieces.titles,
            &mut pieces.places,
        ] {
            list.retain(|text| is_searchable(text));
        }
        // What many records have is asked for as often as what one has.
        for list in [
            &mut pieces.labels,
            &mut pieces.places,
            &mut pieces.emails,
            &mut pieces.phones,
        ] {
            list.sort_unstable();
            list.dedup();
        }
        pieces.websites.retain(|text| !text.contains(' '));
        pieces.emails.retain(|text| !text.contains(' '));
        pieces
            .phones
            .retain(|text| text.chars().filter(|digit| digit.is_numeric()).count() >= 4);
        pieces
    }
}

/// Whether there is a word in it.
pub(super) fn is_searchable(text: &str) -> bool {
    !words(text).is_empty()
}
