//! Text as the contract compares it (section 4), by ICU4X where the service uses other libraries.

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};

use crate::plural::singular;

/// A word of a text, or one character of a script that is written without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Without accents.
    pub(crate) plain: String,
    /// With `ae oe ue oe aa` in place of `ä ö ü ø å`; the same as `plain` without them.
    pub(crate) long: String,
    /// Whether it follows the character before it without anything between.
    pub(crate) glued: bool,
}

impl Word {
    /// Equal in one of their spellings.
    pub(crate) fn is(&self, other: &Self) -> bool {
        [&self.plain, &self.long]
            .into_iter()
            .any(|form| *form == other.plain || *form == other.long)
    }

    /// The same, English singular and plural alike.
    pub(crate) fn is_in_any_number(&self, other: &Self) -> bool {
        let forms = |word: &Self| [singular(&word.plain), singular(&word.long)];
        let others = forms(other);
        forms(self).iter().any(|form| others.contains(form))
    }
}

/// How two words are compared.
pub(crate) type Equal = fn(&Word, &Word) -> bool;

pub(crate) fn nfkc(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfkc()
        .normalize(text)
        .into_owned()
}

/// Signs of trade and service marks.
const SIGNS: [char; 2] = ['™', '℠'];

/// After NFKC what is asked for is taken apart. The signs stay until then: they are no letters, though NFKC makes some of
/// them.
pub(crate) fn composed(text: &str) -> String {
    let mut composed = String::new();
    for piece in text.split_inclusive(SIGNS) {
        let letters = piece.trim_end_matches(SIGNS);
        composed.push_str(&nfkc(letters));
        composed.push_str(&piece[letters.len()..]);
    }
    composed
}

fn nfc(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc()
        .normalize(text)
        .into_owned()
}

fn nfd(text: &str) -> String {
    DecomposingNormalizerBorrowed::new_nfd()
        .normalize(text)
        .into_owned()
}

fn category(character: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(character)
}

fn script(character: char) -> Script {
    CodePointMapData::<Script>::new().get(character)
}

fn is_mark(character: char) -> bool {
    !character.is_ascii() && GeneralCategoryGroup::Mark.contains(category(character))
}

fn is_letter(character: char) -> bool {
    // Apostrophes that Unicode counts among the letters separate words as the others do.
    let apostrophe = ('\u{2b9}'..='\u{2bf}').contains(&character) || "ˈˊˋˌˍˮ".contains(character);
    GeneralCategoryGroup::Letter.contains(category(character)) && !apostrophe
}

fn is_letter_or_digit(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    is_letter(character) || GeneralCategoryGroup::Number.contains(category(character))
}

/// Chinese, Japanese, Thai and what else is written without spaces.
fn is_without_spaces(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    let script = script(character);
    character == 'ー'
        || [
            Script::Han,
            Script::Hiragana,
            Script::Katakana,
            Script::Thai,
            Script::Lao,
            Script::Khmer,
            Script::Myanmar,
        ]
        .contains(&script)
}

/// A mark that everyday writing leaves out, rather than a vowel or another consonant.
fn is_accent(character: char) -> bool {
    let voiced_kana = ['\u{3099}', '\u{309a}'].contains(&character);
    let scripts = [
        Script::Inherited,
        Script::Common,
        Script::Latin,
        Script::Greek,
        Script::Cyrillic,
        Script::Hebrew,
        Script::Arabic,
    ];
    is_mark(character) && !voiced_kana && scripts.contains(&script(character))
}

/// NFKC and case folding; characters that show nothing are gone.
fn caseless(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let shown = text
        .chars()
        .filter(|character| *character == '\u{200b}' || category(*character) != GeneralCategory::Format)
        .collect::<String>();
    let once = CaseMapper::new().fold_string(&nfkc(&shown)).into_owned();
    let twice = CaseMapper::new().fold_string(&nfkc(&once)).into_owned();
    nfc(&twice)
}

/// A letter without its stroke, or as the two it stands for.
fn plain_letter(letter: char) -> String {
    let plain = match letter {
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
        _ => return letter.to_string(),
    };
    plain.to_owned()
}

fn without_accents(caseless: &str) -> String {
    if caseless.is_ascii() {
        return caseless.to_owned();
    }
    let bare = nfd(caseless)
        .chars()
        .filter(|character| !is_accent(*character))
        .map(plain_letter)
        .collect::<String>();
    nfc(&bare)
}

fn with_long_umlauts(caseless: &str) -> String {
    if caseless.is_ascii() {
        return caseless.to_owned();
    }
    let apart = nfd(caseless);
    if !apart.contains(['\u{308}', '\u{30a}', 'ø']) {
        return without_accents(caseless);
    }
    let mut long = String::new();
    let mut letters = apart.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut marks = String::new();
        while let Some(mark) = letters.next_if(|next| is_mark(*next)) {
            marks.push(mark);
        }
        match letter {
            'a' | 'o' | 'u' if marks.contains('\u{308}') => long.extend([letter, 'e']),
            'a' if marks.contains('\u{30a}') => long.push_str("aa"),
            'ø' => long.push_str("oe"),
            _ => long.push_str(&without_accents(&format!("{letter}{marks}"))),
        }
    }
    nfc(&long)
}

/// The folded text, its punctuation included.
pub(crate) fn fold(text: &str) -> String {
    without_accents(&caseless(text))
}

/// The words of a text.
pub(crate) fn words(text: &str) -> Vec<Word> {
    // A trade mark sign is no part of the name before it, though NFKC makes letters of it.
    let text = caseless(&text.replace(SIGNS, " "));
    let characters = text.chars().collect::<Vec<_>>();
    let mut words = Vec::new();
    let mut at = 0;
    let mut glued = false;
    while let Some(first) = characters.get(at).copied() {
        if !is_letter_or_digit(first) {
            glued = false;
            at += 1;
            continue;
        }
        let mut end = at + 1;
        let marks_from = |mut end: usize| {
            while characters.get(end).is_some_and(|next| is_mark(*next)) {
                end += 1;
            }
            end
        };
        end = marks_from(end);
        let alone = is_without_spaces(first);
        if !alone {
            let mut last = first;
            loop {
                match characters.get(end).copied() {
                    Some(next) if is_letter_or_digit(next) && !is_without_spaces(next) => last = next,
                    // They stay with the letter, however many they are.
                    // Unless another word follows at once.
                    Some('+' | '#') if is_letter(last) && !is_followed_by_word(&characters[end..]) => {}
                    _ => break,
                }
                end = marks_from(end + 1);
            }
        }
        let raw = characters[at..end].iter().collect::<String>();
        words.push(Word {
            plain: without_accents(&raw),
            long: with_long_umlauts(&raw),
            glued: alone && glued,
        });
        glued = alone;
        at = end;
    }
    words
}

fn is_followed_by_word(signs: &[char]) -> bool {
    let next = signs.iter().find(|sign| !matches!(sign, '+' | '#'));
    next.is_some_and(|next| is_letter_or_digit(*next))
}

/// The places at which the words stand one after the other.
pub(crate) fn occurrences(value: &[Word], wanted: &[Word], equal: Equal) -> usize {
    if wanted.is_empty() {
        return 0;
    }
    value
        .windows(wanted.len())
        .filter(|window| is_whole(window, wanted, equal))
        .count()
}

/// Whether the words stand one after the other somewhere.
pub(crate) fn occurs(value: &[Word], wanted: &[Word], equal: Equal) -> bool {
    occurrences(value, wanted, equal) > 0
}

/// Whether the words are the whole value.
pub(crate) fn is_whole(value: &[Word], wanted: &[Word], equal: Equal) -> bool {
    value.len() == wanted.len() && value.iter().zip(wanted).all(|(one, other)| equal(one, other))
}

/// Words that are looked for on their own: single ones, and the characters of a run without spaces together.
pub(crate) fn runs(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    words.chunk_by(|_, next| next.glued)
}
