//! How the text of a filter falls into alternatives. The rules of a query count them here, the search service reads
//! them here: they can't differ.

use unicode_normalization::UnicodeNormalization as _;

/// What separates the alternatives of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// A comma, but not between double quotes: keyword lists.
    CommaOutsideQuotes,
    /// A comma.
    Comma,
    /// A semicolon: places.
    Semicolon,
}

/// A run of text between or outside double quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Outside.
    Plain(&'a str),
    /// Between, without the quotes.
    Quoted(&'a str),
}

/// The text after Unicode NFKC, but for the signs of trade and service marks, which stay: they are no letters, and NFKC
/// makes two letters of each.
#[must_use]
pub fn composed(text: &str) -> String {
    let mut composed = String::with_capacity(text.len());
    for piece in text.split_inclusive(MARKS) {
        let letters = piece.trim_end_matches(MARKS);
        composed.extend(letters.nfkc());
        composed.push_str(&piece[letters.len()..]);
    }
    composed
}

/// Signs of trade and service marks.
pub const MARKS: [char; 2] = ['™', '℠'];

/// The alternatives of a text: [`composed`], trimmed, in order, without the blank ones.
/// Those of a keyword list keep their quotes: [`parts`] takes them apart.
#[must_use]
pub fn split(text: &str, separator: Separator) -> Vec<String> {
    let text = composed(text);
    let pieces = match separator {
        Separator::Comma => text.split(',').collect(),
        Separator::Semicolon => text.split(';').collect(),
        Separator::CommaOutsideQuotes => split_outside_quotes(&text),
    };
    pieces
        .into_iter()
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Takes a text apart at its double quotes. A quote opens if it does not follow a letter or digit and another quote
/// comes after it; every other one is an ordinary character, so that `16" M3` and `5", 6"` hold none.
#[must_use]
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut searched = 0;
    while let Some(found) = rest.get(searched..).and_then(|tail| tail.find('"')) {
        let open = searched + found;
        let (before, after) = (&rest[..open], &rest[open + 1..]);
        let opens = !before.ends_with(char::is_alphanumeric);
        match after.find('"').filter(|_| opens) {
            Some(close) => {
                if !before.is_empty() {
                    parts.push(Part::Plain(before));
                }
                parts.push(Part::Quoted(&after[..close]));
                rest = &after[close + 1..];
                searched = 0;
            }
            None => searched = open + 1,
        }
    }
    if !rest.is_empty() {
        parts.push(Part::Plain(rest));
    }
    parts
}

fn split_outside_quotes(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for part in parts(text) {
        let inner = match part {
            Part::Quoted(inner) => {
                at += inner.len() + 2;
                continue;
            }
            Part::Plain(inner) => inner,
        };
        for (offset, _) in inner.match_indices(',') {
            pieces.push(&text[start..at + offset]);
            start = at + offset + 1;
        }
        at += inner.len();
    }
    pieces.push(&text[start..]);
    pieces
}

/// Whether there is a letter or a digit in it, after Unicode NFKC: something to search for.
#[must_use]
pub fn is_searchable(text: &str) -> bool {
    text.nfkc().any(char::is_alphanumeric)
}

/// How many runs of letters and digits there are in it, after Unicode NFKC.
#[must_use]
pub fn count_words(text: &str) -> usize {
    let text = text.nfkc().collect::<String>();
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_trimmed_and_blank_ones_skipped() {
        for (text, expected) in [
            ("a, b ,,c", &["a", "b", "c"][..]),
            (" , ", &[]),
            ("a，b", &["a", "b"]),
            ("\"a, b\", c", &["\"a, b\"", "c"]),
            ("x \"a, b\" y, c", &["x \"a, b\" y", "c"]),
            ("16\" M3, screw", &["16\" M3", "screw"]),
            ("5\" pipe, 6\" pipe", &["5\" pipe", "6\" pipe"]),
            ("\"a, b", &["\"a", "b"]),
            ("\"a\"\"b, c\",d", &["\"a\"\"b, c\"", "d"]),
        ] {
            assert_eq!(split(text, Separator::CommaOutsideQuotes), expected, "{text}");
        }
        assert_eq!(composed("ｘ™é℠℠ ½™"), "x™é℠℠ 1⁄2™");
        assert_eq!(split("\"a, b\"", Separator::Comma), ["\"a", "b\""]);
        assert_eq!(
            split("Paris, FR; Rome;", Separator::Semicolon),
            ["Paris, FR", "Rome"]
        );
    }

    #[test]
    fn quotes_open_only_where_they_can_close() {
        use Part::{Plain, Quoted};
        assert_eq!(parts("a \"b c\" d"), [Plain("a "), Quoted("b c"), Plain(" d")]);
        assert_eq!(parts("\"\""), [Quoted("")]);
        assert_eq!(parts("16\" \"wide\""), [Plain("16\" "), Quoted("wide")]);
        assert_eq!(parts("5\", 6\""), [Plain("5\", 6\"")]);
        assert_eq!(parts("ü\"ü\"ü"), [Plain("ü\"ü\"ü")]);
        assert_eq!(parts(""), []);
    }

    #[test]
    fn letters_and_digits_of_any_script_are_searchable() {
        for text in ["a", "7", "株", "①", "é", "٣"] {
            assert!(is_searchable(text), "{text}");
        }
        for text in ["", "*", "!!!", "+-&&||", "\u{200b}", "—", "\"\""] {
            assert!(!is_searchable(text), "{text}");
        }
        assert_eq!(count_words("AT&T  (UK), 株式会社"), 4);
    }
}
