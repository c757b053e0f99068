//! Words as the baseline's tables hold them: what a database administrator would prepare before loading, so that
//! Postgres finds what the search service finds. Made for the data of this measurement, not for all text.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Short forms in job titles, and what they stand for.
const SHORT_FORMS: [(&str, &str); 28] = [
    ("assoc", "associate"),
    ("asst", "assistant"),
    ("avp", "assistant vice president"),
    ("ceo", "chief executive officer"),
    ("cfo", "chief financial officer"),
    ("chro", "chief human resources officer"),
    ("cio", "chief information officer"),
    ("ciso", "chief information security officer"),
    ("cmo", "chief marketing officer"),
    ("coo", "chief operating officer"),
    ("coord", "coordinator"),
    ("cpa", "certified public accountant"),
    ("cto", "chief technology officer"),
    ("dir", "director"),
    ("engr", "engineer"),
    ("evp", "executive vice president"),
    ("exec", "executive"),
    ("hr", "human resources"),
    ("jr", "junior"),
    ("mgmt", "management"),
    ("mgr", "manager"),
    ("ops", "operations"),
    ("qa", "quality assurance"),
    ("rvp", "regional vice president"),
    ("sr", "senior"),
    ("supv", "supervisor"),
    ("svp", "senior vice president"),
    ("vp", "vice president"),
];

/// Lower case without accents.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for letter in text.nfkd().flat_map(char::to_lowercase).nfkd() {
        match letter {
            'ß' => folded.push_str("ss"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            'ı' => folded.push('i'),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'þ' => folded.push_str("th"),
            letter if is_combining_mark(letter) => {}
            letter => folded.push(letter),
        }
    }
    folded
}

/// The words of a text, folded.
pub(super) fn words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let cut = |other: char| !(other.is_alphanumeric() || other == '+' || other == '#');
    let trim = |word: &str| word.trim_start_matches(['+', '#']).to_owned();
    folded
        .split(cut)
        .map(trim)
        .filter(|word| !word.is_empty())
        .collect()
}

/// The words of a text, singular and plural alike.
pub(super) fn stemmed(text: &str) -> Vec<String> {
    words(text).iter().map(|word| singular(word)).collect()
}

/// The words of a job title, short forms written out, singular and plural alike.
pub(super) fn title(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for word in words(text) {
        match SHORT_FORMS.binary_search_by_key(&word.as_str(), |(short, _)| short) {
            Ok(at) => all.extend(SHORT_FORMS[at].1.split(' ').map(singular)),
            Err(_) => all.push(singular(&word)),
        }
    }
    all
}

/// A plural's singular by its ending. Where it is wrong it is so for the table and the query alike; a difference to the
/// service would show as a difference of the totals.
pub(super) fn singular(word: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|end| word.ends_with(end));
    if word.len() < 4 || !word.ends_with('s') || ends(&["ss", "us", "is", "aas"]) {
        // Its plural ends as that of a word in -y.
        return match word.strip_suffix("ie") {
            Some(rest) if rest.len() > 1 => format!("{rest}y"),
            _ => word.to_owned(),
        };
    }
    let cut = match () {
        () if ends(&["ies"]) && word.len() > 4 => return format!("{}y", &word[..word.len() - 3]),
        () if ends(&["yses", "theses"]) => return format!("{}is", &word[..word.len() - 2]),
        () if ends(&["xes", "ches", "shes", "sses", "zzes", "oes"]) => 2,
        () => 1,
    };
    word[..word.len() - cut].to_owned()
}

/// A `tsvector` with the words of several values; between the values are gaps, so that no phrase crosses them.
pub(super) fn vector(values: &[Vec<String>]) -> String {
    const GAP: usize = 100;
    const LAST: usize = 16_383;
    let mut vector = String::new();
    for (number, value) in values.iter().enumerate() {
        for (offset, word) in value.iter().enumerate() {
            let position = (number * GAP + offset + 1).min(LAST);
            vector.extend(["'", word, "':", &position.to_string(), " "]);
        }
    }
    vector
}

/// A `tsquery` for all of the words.
pub(super) fn all_of(words: &[String]) -> String {
    joined(words, " & ")
}

/// A `tsquery` for the words next to each other.
pub(super) fn phrase_of(words: &[String]) -> String {
    joined(words, " <-> ")
}

fn joined(words: &[String], operator: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    quoted.join(operator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_cut_and_brought_to_the_singular() {
        assert_eq!(words("Müller & Söhne (C++)"), ["muller", "sohne", "c++"]);
        assert_eq!(
            stemmed("Banks, Companies; boxes glass"),
            ["bank", "company", "box", "glass"]
        );
        assert_eq!(title("Sr. VP, Sales"), ["senior", "vice", "president", "sale"]);
        assert!(SHORT_FORMS.is_sorted());
    }

    #[test]
    fn phrases_do_not_cross_values() {
        let values = [stemmed("real estate"), stemmed("services")];
        assert_eq!(vector(&values), "'real':1 'estate':2 'service':101 ");
        assert_eq!(all_of(&values[0]), "'real' & 'estate'");
        assert_eq!(phrase_of(&values[0]), "'real' <-> 'estate'");
    }
}
