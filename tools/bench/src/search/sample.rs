//! The pieces of the repository's sample that records are made of.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::BoxError;

/// Words that are legal forms, or parts of some: a made-up name has its legal form at its end alone.
const NO_NAME_WORDS: &str = " aktiebolaget sgps nyrt limited company corporation corp incorporated public private joint stock gmbh kgaa \
    aktiengesellschaft anonyme societe sociedad anonima anonim sirketi ortakligi publ holding aktiebolag spolka \
    akcyjna perseroan terbatas open closed trust aktieselskab spolecnost akcionarsko drustvo naamloze vennootschap \
    berhad sendirian kabushiki kaisha unlimited partnership liability bvba gesellschaft commandite responsabilite \
    capital variable sanayi ticaret ltee oyj asa bhd sdn llc plc ltd inc tbk spa pte pvt pty pjsc ojsc cjsc jsc \
    corporacion compagnie companhia compania limitada fund fondo fundo investimento inversion ";

/// A company of the sample, as far as it is used.
pub(super) struct Pattern {
    pub(super) business_types: Vec<String>,
    pub(super) tags: Vec<String>,
    /// Its description's sentences.
    pub(super) sentences: Vec<String>,
}

/// Where a company or person is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) city: Option<String>,
    pub(super) region: Option<String>,
    pub(super) country: String,
}

/// The pieces. Lists hold a piece as often as the sample does, so that what is common there is common here.
pub(super) struct Sample {
    pub(super) patterns: Vec<Pattern>,
    pub(super) places: Vec<Place>,
    /// First words of names.
    pub(super) first_words: Vec<String>,
    /// Further words of names.
    pub(super) later_words: Vec<String>,
    pub(super) titles: Vec<String>,
}

impl Sample {
    /// Reads it from the repository's `sample/`.
    pub(super) fn read(folder: &Path) -> Result<Self, BoxError> {
        let path = folder.join("companies.jsonl.gz");
        let file = File::open(&path)
            .map_err(|error| format!("{}: {error}: run it from the repository's root", path.display()))?;
        let mut sample = Self {
            patterns: Vec::new(),
            places: Vec::new(),
            first_words: Vec::new(),
            later_words: Vec::new(),
            titles: Vec::new(),
        };
        for line in BufReader::new(GzDecoder::new(file)).lines() {
            sample.add(&serde_json::from_str(&line?)?);
        }
        let titles = std::fs::read_to_string(folder.join("job_titles.txt"))?;
        let titles = titles.lines().map(str::trim).filter(|title| !title.is_empty());
        sample.titles = titles.map(str::to_owned).collect();
        Ok(sample)
    }

    fn add(&mut self, company: &Value) {
        let text = |name: &str| company[name].as_str().map(str::to_owned);
        let list = |name: &str| {
            let items = company[name].as_array().into_iter().flatten();
            items
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let description = text("description").unwrap_or_default();
        let sentences = description.split_inclusive(". ").map(str::trim);
        self.patterns.push(Pattern {
            business_types: list("businessTypes"),
            tags: list("tags"),
            sentences: sentences
                .filter(|sentence| sentence.len() > 30)
                .map(str::to_owned)
                .collect(),
        });
        if let Some(country) = text("country") {
            self.places.push(Place {
                city: text("city"),
                region: text("region"),
                country,
            });
        }
        let name = text("name").unwrap_or_default();
        let words = name.split_whitespace().map(|word| word.trim_matches([',', '.']));
        for (position, word) in words.enumerate().filter(|(_, word)| is_name_word(word)) {
            let list = if position == 0 {
                &mut self.first_words
            } else {
                &mut self.later_words
            };
            list.push(word.to_owned());
        }
    }
}

fn is_name_word(word: &str) -> bool {
    word.chars().count() >= 4
        && word.chars().all(char::is_alphabetic)
        && !super::text::words(word)
            .iter()
            .any(|word| NO_NAME_WORDS.contains(&format!(" {word} ")))
}
