//! English plurals.
//!
//! Only number is removed: `companies` and `company` meet, `accounting` and `account` don't. A word may come out as
//! no word of English (`movie` and `movies` are both `movy`); what counts is that singular and plural meet and that
//! different words don't.

use std::borrow::Cow;
use std::sync::LazyLock;

use foldhash::HashMap;

use super::stem_table::{IRREGULAR, SINGULAR_AS, SINGULAR_CHE, SINGULAR_OE, UNCHANGED};

enum Exception {
    /// The plural of this singular.
    Irregular(&'static str),
    /// No plural.
    Unchanged,
}

/// Every word of every record is looked for among the exceptions, so they are hashed.
static EXCEPTIONS: LazyLock<HashMap<&str, Exception>> = LazyLock::new(|| {
    let irregular = IRREGULAR.iter();
    let irregular = irregular.map(|(plural, singular)| (*plural, Exception::Irregular(singular)));
    let unchanged = UNCHANGED.iter().chain(SINGULAR_AS);
    unchanged
        .map(|word| (*word, Exception::Unchanged))
        .chain(irregular)
        .collect()
});

/// The form that a word's singular and plural share. Words that are not made of `a`-`z` alone are left as they are.
#[must_use]
pub fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    match EXCEPTIONS.get(word) {
        Some(Exception::Irregular(singular)) => return stem_singular(Cow::Borrowed(singular)),
        Some(Exception::Unchanged) => return Cow::Borrowed(word),
        None => {}
    }
    if let Some(singular) = compound_of_person(word) {
        return Cow::Owned(singular);
    }
    stem_singular(singular(word))
}

/// `salesmen`, `spokeswomen`, `salespeople`, `chairpersons`.
fn compound_of_person(word: &str) -> Option<String> {
    let (stem, ending) = [
        ("women", "woman"),
        ("smen", "sman"),
        ("people", "person"),
        ("persons", "person"),
    ]
    .into_iter()
    .find_map(|(plural, singular)| Some((word.strip_suffix(plural)?, singular)))?;
    Some(format!("{stem}{ending}"))
}

/// A plural's singular by its ending; anything else as it is.
fn singular(word: &str) -> Cow<'_, str> {
    let cut = |ending: usize| Cow::Borrowed(&word[..word.len() - ending]);
    let one_of = |words: &[&str]| words.iter().any(|end| word.strip_suffix('s') == Some(end));
    let ends = |endings: &[&str]| endings.iter().any(|end| word.ends_with(end));
    if word.len() < 4 || !word.ends_with('s') || ends(&["ss", "us", "is", "aas"]) {
        return Cow::Borrowed(word);
    }
    if ends(&[
        "yses", "theses", "gnoses", "emphases", "stases", "chroses", "croses",
    ]) {
        return Cow::Owned(format!("{}is", cut(2)));
    }
    if ends(&["ies"]) {
        return if word.len() > 4 {
            Cow::Owned(format!("{}y", cut(3)))
        } else {
            cut(1)
        };
    }
    if ends(&["oes"]) {
        return if one_of(SINGULAR_OE) { cut(1) } else { cut(2) };
    }
    if ends(&["ches"]) {
        return if one_of(SINGULAR_CHE) { cut(1) } else { cut(2) };
    }
    if ends(&["ases"]) {
        let is_as = SINGULAR_AS
            .iter()
            .any(|singular| word.strip_suffix("es") == Some(singular));
        return if is_as { cut(2) } else { cut(1) };
    }
    if ends(&["uses"]) {
        let is_use = ends(&["ouses", "auses", "fuses", "muses", "abuses", "excuses"])
            || matches!(word, "uses" | "reuses");
        return if is_use { cut(1) } else { cut(2) };
    }
    if ends(&["xes", "shes", "sses", "zzes", "tzes"]) {
        return cut(2);
    }
    cut(1)
}

/// Singulars in `-ie` meet those in `-y`, since both have a plural in `-ies`.
fn stem_singular(singular: Cow<'_, str>) -> Cow<'_, str> {
    match singular.strip_suffix("ie") {
        Some(rest) if singular.len() > 3 => Cow::Owned(format!("{rest}y")),
        _ => singular,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Singular and plurals.
    const PAIRS: &[&[&str]] = &[
        &["company", "companies"],
        &["industry", "industries"],
        &["car", "cars"],
        &["box", "boxes"],
        &["tax", "taxes"],
        &["church", "churches"],
        &["cache", "caches"],
        &["niche", "niches"],
        &["dish", "dishes"],
        &["class", "classes"],
        &["business", "businesses"],
        &["process", "processes"],
        &["glass", "glasses"],
        &["analysis", "analyses"],
        &["diagnosis", "diagnoses"],
        &["hypothesis", "hypotheses"],
        &["crisis", "crises"],
        &["base", "bases"],
        &["database", "databases"],
        &["case", "cases"],
        &["lease", "leases"],
        &["release", "releases"],
        &["gas", "gases"],
        &["bias", "biases"],
        &["atlas", "atlases"],
        &["canvas", "canvases"],
        &["house", "houses"],
        &["warehouse", "warehouses"],
        &["nurse", "nurses"],
        &["license", "licenses"],
        &["lens", "lenses"],
        &["campus", "campuses"],
        &["bus", "buses"],
        &["virus", "viruses"],
        &["bonus", "bonuses"],
        &["use", "uses"],
        &["cause", "causes"],
        &["fuse", "fuses"],
        &["size", "sizes"],
        &["prize", "prizes"],
        &["quiz", "quizzes"],
        &["service", "services"],
        &["office", "offices"],
        &["franchise", "franchises"],
        &["enterprise", "enterprises"],
        &["movie", "movies"],
        &["cookie", "cookies"],
        &["smoothie", "smoothies"],
        &["tie", "ties"],
        &["pie", "pies"],
        &["potato", "potatoes"],
        &["hero", "heroes"],
        &["shoe", "shoes"],
        &["photo", "photos"],
        &["logo", "logos"],
        &["person", "people", "persons"],
        &["salesperson", "salespeople", "salespersons"],
        &["man", "men"],
        &["woman", "women"],
        &["salesman", "salesmen"],
        &["businesswoman", "businesswomen"],
        &["fireman", "firemen"],
        &["child", "children"],
        &["foot", "feet"],
        &["tooth", "teeth"],
        &["mouse", "mice"],
        &["knife", "knives"],
        &["shelf", "shelves"],
        &["leaf", "leaves"],
        &["wife", "wives"],
        &["wolf", "wolves"],
        &["valve", "valves"],
        &["curve", "curves"],
        &["sleeve", "sleeves"],
        &["olive", "olives"],
        &["criterion", "criteria"],
        &["alumnus", "alumni"],
        &["index", "indexes", "indices"],
        &["matrix", "matrices"],
        &["vertex", "vertices"],
        &["curriculum", "curricula"],
        &["menu", "menus"],
        &["api", "apis"],
        &["gpu", "gpus"],
        &["taxi", "taxis"],
        &["key", "keys"],
        &["attorney", "attorneys"],
        &["sale", "sales"],
        &["clinic", "clinics"],
        &["system", "systems"],
        &["operation", "operations"],
        &["boss", "bosses"],
        &["ad", "ads"],
        &["pc", "pcs"],
        &["axis", "axes"],
        &["money", "monies", "moneys"],
        &["estate", "estates"],
        &["machine", "machines"],
        &["bakery", "bakeries"],
        &["beach", "beaches"],
        &["brewery", "breweries"],
        &["gym", "gyms"],
        &["spa", "spas"],
        &["villa", "villas"],
        &["pizza", "pizzas"],
        &["visa", "visas"],
        &["purchase", "purchases"],
        &["phase", "phases"],
        &["bureau", "bureaus", "bureaux"],
    ];

    #[test]
    fn singular_and_plural_meet() {
        for forms in PAIRS {
            for form in *forms {
                assert_eq!(stem(form), stem(forms[0]), "{form}");
            }
        }
    }

    #[test]
    fn different_words_do_not_meet() {
        let mut seen = BTreeMap::new();
        for forms in PAIRS {
            if let Some(other) = seen.insert(stem(forms[0]), forms[0]) {
                panic!("{other} and {} meet", forms[0]);
            }
        }
        for (one, other) in [
            ("news", "new"),
            ("business", "busy"),
            ("goods", "good"),
            ("physics", "physician"),
            ("accounting", "account"),
            ("marketing", "market"),
            ("engineer", "engineering"),
            ("specimen", "speciman"),
            ("series", "sery"),
            ("saas", "saa"),
            ("ios", "io"),
            ("sms", "sm"),
            ("class", "clas"),
            ("lens", "len"),
            ("media", "medium"),
            ("c", "cs"),
            ("new", "news"),
            ("university", "universe"),
            ("organ", "organization"),
            ("policy", "police"),
        ] {
            assert_ne!(stem(one), stem(other), "{one}, {other}");
        }
    }

    #[test]
    fn stems_are_stable() {
        for form in PAIRS.iter().flat_map(|forms| forms.iter()) {
            let stemmed = stem(form);
            assert_eq!(stem(&stemmed), stemmed, "{form}");
        }
        for word in ["müller", "c++", "b2b", "東", "is", "us", "3ds"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(IRREGULAR.is_sorted_by(|a, b| a.0 < b.0));
    }
}
