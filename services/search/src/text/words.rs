//! Words: runs of letters and digits.
//!
//! `+` and `#` right after a letter belong to the word (`c++`, `c#`), unless another word follows at once. In scripts that are written without spaces
//! each character is a word of its own that continues the one before it, so that a part of a text is found as the
//! sequence of its characters.

use std::borrow::Cow;

use proto::alternatives::MARKS;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript as _};

use super::fold;

/// A word, or a character of a script without spaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Word {
    /// Folded.
    pub plain: String,
    /// With `ae oe ue oe aa` for `ä ö ü ø å`, if it has one of them.
    pub expanded: Option<String>,
    /// Whether it is the next character of a run without spaces: what is looked for only behind the word before.
    pub continues: bool,
}

impl Word {
    /// A word that is plain as it stands.
    #[must_use]
    pub fn plain(word: &str) -> Self {
        Self {
            plain: word.to_owned(),
            expanded: None,
            continues: false,
        }
    }

    /// The second form where there is one, else the first.
    #[must_use]
    pub fn expanded_or_plain(&self) -> &str {
        self.expanded.as_deref().unwrap_or(&self.plain)
    }
}

/// The words of a text, in order. A text that holds a letter or a digit has at least one.
#[must_use]
pub fn words(text: &str) -> Vec<Word> {
    let caseless = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        // A trade mark sign is no letter, though NFKC makes two of it.
        fold::caseless(&without_signs(text))
    };
    let words = cut(&caseless);
    if !words.is_empty() || text.is_ascii() {
        return words;
    }
    // Letters that stand for none of their own (a modifier, a lone sign): all of them as one word. The signs are part of
    // it only where there is nothing else.
    [caseless, fold::caseless(text), text.to_owned()]
        .iter()
        .map(|form| {
            form.chars()
                .filter(|letter| letter.is_alphanumeric())
                .collect::<String>()
        })
        .find(|rest| !rest.is_empty())
        .map(|rest| vec![Word::plain(&rest)])
        .unwrap_or_default()
}

fn without_signs(text: &str) -> Cow<'_, str> {
    if text.contains(MARKS) {
        Cow::Owned(text.replace(MARKS, " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// The words as a text again: with a space before each that does not continue the one before it.
#[must_use]
pub fn joined(words: &[Word], form: fn(&Word) -> &str) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() && !word.continues {
            text.push(' ');
        }
        text.push_str(form(word));
    }
    text
}

/// Groups the words that continue each other.
pub fn runs(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    words.chunk_by(|_, next| next.continues)
}

/// What a character is to the word it stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Letter or digit of a script with spaces.
    Letter,
    /// Letter of a script without.
    Character,
    /// Mark on whatever stands before it.
    Mark,
    /// `+` or `#`.
    Sign,
    /// Anything else.
    Separator,
}

fn cut(caseless: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut class = Class::Separator;
    // The last one that is neither mark nor sign.
    let mut letter = ' ';
    let mut continues = false;
    for (at, character) in caseless.char_indices() {
        let next = match classify(character) {
            Class::Mark if class != Class::Separator => continue,
            Class::Sign if class == Class::Letter && letter.is_alphabetic() && ends_word(&caseless[at..]) => {
                continue;
            }
            Class::Mark | Class::Sign => Class::Separator,
            next => next,
        };
        if next != class || next == Class::Character {
            push(&mut words, &caseless[start..at], class, continues);
            continues = class == Class::Character && next == Class::Character;
            start = at;
        }
        class = next;
        letter = character;
    }
    push(&mut words, &caseless[start..], class, continues);
    words
}

/// Whether no letter or digit follows the signs: between two of them (`Bang+Olufsen`) they only separate.
fn ends_word(signs: &str) -> bool {
    let next = signs.trim_start_matches(['+', '#']).chars().next();
    !next.is_some_and(|next| matches!(classify(next), Class::Letter | Class::Character))
}

fn push(words: &mut Vec<Word>, raw: &str, class: Class, continues: bool) {
    if class == Class::Separator {
        return;
    }
    let word = if raw.is_ascii() {
        Word::plain(raw)
    } else {
        Word {
            plain: fold::plain(raw),
            expanded: fold::expanded(raw),
            continues,
        }
    };
    if !word.plain.is_empty() {
        words.push(word);
    }
}

/// No character before it stands on another.
const FIRST_MARK: char = '\u{300}';

fn classify(character: char) -> Class {
    if character.is_ascii() {
        return match character {
            'a'..='z' | '0'..='9' => Class::Letter,
            '+' | '#' => Class::Sign,
            _ => Class::Separator,
        };
    }
    match character {
        // Apostrophes and quotes that Unicode counts among the letters.
        '\u{2b9}'..='\u{2bf}' | '\u{2c8}' | '\u{2ca}'..='\u{2cd}' | '\u{2ee}' => Class::Separator,
        // Chinese, and the syllables of Korean: asked first, since there are many. The dash lengthens a Japanese vowel,
        // whichever of the two scripts it stands in.
        '\u{4e00}'..='\u{9fff}' | 'ー' => Class::Character,
        '\u{ac00}'..='\u{d7a3}' => Class::Letter,
        _ if character >= FIRST_MARK && is_combining_mark(character) => Class::Mark,
        _ if !character.is_alphanumeric() => Class::Separator,
        _ if is_without_spaces(character) => Class::Character,
        _ => Class::Letter,
    }
}

fn is_without_spaces(character: char) -> bool {
    // The first of them is Thai.
    character >= '\u{e00}'
        && matches!(
            character.script(),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    fn plain(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.plain).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        for (text, expected) in [
            (
                "A.S. Création Tapeten AG",
                &["a", "s", "creation", "tapeten", "ag"][..],
            ),
            ("AT&T (UK)", &["at", "t", "uk"]),
            ("O'Brien’s", &["o", "brien", "s"]),
            ("e-commerce/B2B", &["e", "commerce", "b2b"]),
            ("C++, C# & F#.", &["c++", "c#", "f#"]),
            ("Huber+Suhner, Data#3", &["huber", "suhner", "data", "3"]),
            ("C#/C++, C+-", &["c#", "c++", "c+"]),
            ("+49 #1 3+4 ++", &["49", "1", "3", "4"]),
            ("Ｃ＋＋", &["c++"]),
            ("é+", &["e+"]),
            ("Acme™ Widgets®", &["acme", "widgets"]),
            ("  ", &[]),
            ("!!!", &[]),
            ("m²", &["m2"]),
            ("½", &["1", "2"]),
            ("हिन्दी भाषा", &["हिन्दी", "भाषा"]),
            ("주식회사 삼성전자", &["주식회사", "삼성전자"]),
            ("Zoë\u{200d}s", &["zoes"]),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn without_spaces_each_character_is_a_word() {
        let cut = words("株式会社ABCトヨタ自動車");
        let shown = cut
            .iter()
            .map(|word| (word.plain.as_str(), word.continues))
            .collect::<Vec<_>>();
        assert_eq!(
            shown,
            [
                ("株", false),
                ("式", true),
                ("会", true),
                ("社", true),
                ("abc", false),
                ("ト", false),
                ("ヨ", true),
                ("タ", true),
                ("自", true),
                ("動", true),
                ("車", true),
            ]
        );
        assert_eq!(plain("コーヒー"), ["コ", "ー", "ヒ", "ー"]);
        assert_eq!(plain("がぎ"), ["が", "ぎ"]);
        assert_eq!(plain("ปูน").len(), 2, "a vowel sign stays with its consonant");
        assert!(
            words("東京 電力")
                .iter()
                .map(|word| word.continues)
                .eq([false, true, false, true])
        );
    }

    #[test]
    fn letters_that_vanish_still_make_a_word() {
        for text in ["ʼ", "™", "\u{fe70}", "\u{ff9e}", "\u{37a}"] {
            assert_eq!(words(text).len(), 1, "{text:?}");
        }
        for text in ["\u{fe70}", "\u{37a}"] {
            assert_eq!(words(&format!("{text}℠")), words(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_holds_a_letter_or_digit_has_a_word(text in any::<String>()) {
            let searchable = proto::alternatives::is_searchable(&text);
            prop_assert!(!searchable || !words(&text).is_empty());
        }

        #[test]
        fn spelling_does_not_matter(text in "[\\p{L}\\p{N}\\p{P} ]{0,30}") {
            let cut = words(&text);
            prop_assert_eq!(&words(&text.nfd().collect::<String>()), &cut);
            prop_assert_eq!(&words(&format!(" {text} ")), &cut);
        }
    }
}
