//! Folding: what two texts have in common that differ only in case, accents or the form of their characters.
//!
//! NFKC, full case folding, accents removed, letters that only look like accented ones replaced (`ø`=`o`, `æ`=`ae`).
//! Accents are the combining marks of the scripts that write theirs as an addition to a letter (Latin, Greek,
//! Cyrillic) or leave them out in everyday text (Hebrew, Arabic); elsewhere a mark is a vowel or another consonant
//! (Devanagari, Thai, Japanese voicing) and stays.

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, is_nfc_quick, is_nfkc_quick};
use unicode_script::{Script, UnicodeScript as _};

/// The folded text, with all its characters that are not letters or digits.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    plain(&caseless(text))
}

/// NFKC and case folding alone: accents are still there.
pub(super) fn caseless(text: &str) -> String {
    let visible = text.chars().filter(|character| !is_invisible(*character));
    let folded = if is_nfkc_quick(visible.clone()) == IsNormalized::Yes {
        fold_case(visible)
    } else {
        fold_case(visible.nfkc())
    };
    if is_nfkc_quick(folded.chars()) == IsNormalized::Yes {
        return folded;
    }
    // Some characters fold to what NFKC changes again, and the other way round; twice is stable.
    fold_case(folded.nfkc()).nfc().collect()
}

fn fold_case(characters: impl Iterator<Item = char>) -> String {
    let mut folded = String::new();
    for character in characters {
        if character.is_ascii() {
            folded.push(character.to_ascii_lowercase());
        } else {
            folded.extend(std::iter::once(character).default_case_fold());
        }
    }
    folded
}

/// Removes accents from a text that [`caseless()`] made.
pub(super) fn plain(caseless: &str) -> String {
    let mut folded = String::with_capacity(caseless.len());
    for character in caseless.chars() {
        if character.is_ascii() || is_indivisible(character) {
            folded.push(character);
            continue;
        }
        decompose_canonical(character, |part| {
            if !is_accent(part) {
                push_letter(&mut folded, part);
            }
        });
    }
    recompose(folded)
}

/// Whether a character surely has no accent: Chinese, and the syllables of Korean.
const fn is_indivisible(character: char) -> bool {
    matches!(character, '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// The same, with `ä ö ü ø å` written as `ae oe ue oe aa`; none if there is none of them.
pub(super) fn expanded(caseless: &str) -> Option<String> {
    if !caseless.contains(is_expandable) {
        return None;
    }
    let mut folded = String::with_capacity(caseless.len() + 4);
    let mut expands = false;
    let mut base = ' ';
    for character in caseless.nfd() {
        let added = match (base, character) {
            ('a' | 'o' | 'u', '\u{308}') => Some('e'),
            ('a', '\u{30a}') => Some('a'),
            (_, 'ø') => {
                folded.push('o');
                Some('e')
            }
            _ => None,
        };
        if let Some(letter) = added {
            folded.push(letter);
            expands = true;
        } else if !is_accent(character) {
            push_letter(&mut folded, character);
        }
        // Several accents may stand on one letter, the one that counts not being the first.
        if !is_combining_mark(character) || added.is_some() {
            base = if added.is_some() { ' ' } else { character };
        }
    }
    expands.then(|| recompose(folded))
}

/// Whether a character is one that is expanded, or a mark that makes one of the letter before it.
const fn is_expandable(character: char) -> bool {
    matches!(
        character,
        'ä' | 'ö'
            | 'ü'
            | 'ø'
            | 'å'
            | 'ǟ'
            | 'ȫ'
            | 'ṏ'
            | 'ǖ'
            | 'ǘ'
            | 'ǚ'
            | 'ǜ'
            | 'ṻ'
            | 'ǻ'
            | 'ǿ'
            | '\u{308}'
            | '\u{30a}'
    )
}

/// Whether a mark is an accent.
fn is_accent(character: char) -> bool {
    if character.is_ascii() || !is_combining_mark(character) || matches!(character, '\u{3099}' | '\u{309a}') {
        return false;
    }
    matches!(
        character.script(),
        Script::Inherited
            | Script::Common
            | Script::Latin
            | Script::Greek
            | Script::Cyrillic
            | Script::Hebrew
            | Script::Arabic
    )
}

/// Characters that stand within a word and show nothing: soft hyphen, joiners, marks of direction.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200c}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

/// Letters that have no decomposition but are written without their stroke, or as two letters, where they are missing.
fn push_letter(folded: &mut String, letter: char) {
    let replacement = match letter {
        'ø' => "o",
        'ł' => "l",
        'æ' => "ae",
        'œ' => "oe",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ı' => "i",
        'ħ' => "h",
        'ŧ' => "t",
        'ŋ' => "n",
        'ĸ' => "k",
        _ => {
            folded.push(letter);
            return;
        }
    };
    folded.push_str(replacement);
}

fn recompose(text: String) -> String {
    if is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text
    } else {
        text.nfc().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn case_accents_and_forms_do_not_count() {
        for (text, folded) in [
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("Ångström", "angstrom"),
            ("A\u{30a}ngstro\u{308}m", "angstrom"),
            ("Søren Ærø", "soren aero"),
            ("Łódź", "lodz"),
            ("Đặng", "dang"),
            ("Þórr Ðorn", "thorr dorn"),
            ("İstanbul ISPARTA Iğdır", "istanbul isparta igdir"),
            ("ﬁn ﬂow", "fin flow"),
            ("Ｆｕｌｌ　Ｗｉｄｔｈ", "full width"),
            ("ﾄﾖﾀ", "トヨタ"),
            ("ｶﾞｽ", "ガス"),
            ("Ελλάδα ΕΛΛΑΔΑ", "ελλαδα ελλαδα"),
            ("Σίσυφος", "σισυφοσ"),
            ("Йёж", "иеж"),
            ("मुंबई", "मुंबई"),
            ("กรุงเทพ", "กรุงเทพ"),
            ("مُحَمَّد", "محمد"),
            ("שָׁלוֹם", "שלום"),
            ("co\u{ad}operate", "cooperate"),
            ("한국", "한국"),
            ("C++ & C#", "c++ & c#"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn umlauts_have_a_second_form() {
        for (text, second) in [
            ("müller", Some("mueller")),
            ("mu\u{308}ller", Some("mueller")),
            ("ørsted", Some("oersted")),
            ("århus", Some("aarhus")),
            ("ǖber", Some("ueber")),
            ("čäpek", Some("caepek")),
            ("noël", None),
            ("ærø", Some("aeroe")),
            ("ascii", None),
            ("йӧ", None),
        ] {
            assert_eq!(expanded(&caseless(text)).as_deref(), second, "{text}");
        }
    }

    #[test]
    fn every_letter_that_expands_is_listed() {
        for letter in ('\u{80}'..='\u{ffff}').filter(|letter| caseless(&letter.to_string()).contains(*letter))
        {
            let parts = letter.to_string().nfd().collect::<Vec<_>>();
            let expands = match parts[..] {
                ['a' | 'o' | 'u', ref marks @ ..] => {
                    marks.contains(&'\u{308}') || parts[0] == 'a' && marks.contains(&'\u{30a}')
                }
                ['ø', ..] => true,
                _ => matches!(letter, '\u{308}' | '\u{30a}'),
            };
            assert_eq!(is_expandable(letter), expands, "{letter}");
        }
    }

    proptest! {
        #[test]
        fn folding_again_changes_nothing(text in any::<String>()) {
            let folded = fold(&text);
            prop_assert_eq!(fold(&folded), folded);
        }

        #[test]
        fn canonically_equal_texts_fold_alike(text in "\\PC{0,20}") {
            prop_assert_eq!(fold(&text.nfd().collect::<String>()), fold(&text));
            prop_assert_eq!(fold(&text.nfc().collect::<String>()), fold(&text));
        }
    }
}
