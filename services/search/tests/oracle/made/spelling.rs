//! How people write what they look for.

use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::text::fold;

/// How a text is written that someone looks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spelling {
    AsItIs,
    Upper,
    Lower,
    WithoutAccents,
    Decomposed,
    WrittenOut,
    InNumber,
    Misspelt,
    Quoted,
    FirstWord,
    LastWords,
    Backwards,
    WithCommas,
    Spaced,
    FullWidth,
    WithOperators,
    WithInches,
}

use Spelling::{
    AsItIs, Backwards, Decomposed, FirstWord, FullWidth, InNumber, LastWords, Lower, Misspelt, Quoted,
    Spaced, Upper, WithCommas, WithInches, WithOperators, WithoutAccents, WrittenOut,
};

/// Those to choose from; the likelier ones more than once.
pub(super) const SPELLINGS: &[Spelling] = &[
    AsItIs,
    AsItIs,
    Upper,
    Lower,
    WithoutAccents,
    Decomposed,
    WrittenOut,
    InNumber,
    InNumber,
    Misspelt,
    Quoted,
    Quoted,
    FirstWord,
    FirstWord,
    FirstWord,
    LastWords,
    LastWords,
    Backwards,
    WithCommas,
    Spaced,
    FullWidth,
    WithOperators,
    WithInches,
];

impl Spelling {
    pub(super) fn of(self, text: &str) -> String {
        let words = text.split_whitespace().collect::<Vec<_>>();
        match self {
            AsItIs => text.to_owned(),
            Upper => text.to_uppercase(),
            Lower => text.to_lowercase(),
            WithoutAccents => fold(text),
            Decomposed => DecomposingNormalizerBorrowed::new_nfd()
                .normalize(text)
                .into_owned(),
            WrittenOut => {
                let long = [
                    ("ä", "ae"),
                    ("ö", "oe"),
                    ("ü", "ue"),
                    ("ø", "oe"),
                    ("å", "aa"),
                    ("ß", "ss"),
                    ("Ö", "OE"),
                ];
                long.iter()
                    .fold(text.to_owned(), |text, (short, long)| text.replace(short, long))
            }
            InNumber => {
                let other = |word: &&str| match word.strip_suffix("ies") {
                    Some(stem) => format!("{stem}y"),
                    None if word.ends_with('y') => format!("{}ies", &word[..word.len() - 1]),
                    None if word.ends_with("ss") => format!("{word}es"),
                    None => word
                        .strip_suffix('s')
                        .map_or_else(|| format!("{word}s"), str::to_owned),
                };
                words.iter().map(other).collect::<Vec<_>>().join(" ")
            }
            Misspelt => {
                let mut letters = text.chars().collect::<Vec<_>>();
                let middle = letters.len() / 2;
                letters.insert(middle, 'q');
                letters.into_iter().collect()
            }
            Quoted => format!("\"{}\"", text.replace('"', "")),
            FirstWord => words.first().map_or_else(String::new, |word| (*word).to_owned()),
            LastWords => words[words.len().saturating_sub(2)..].join(" "),
            Backwards => words.iter().rev().copied().collect::<Vec<_>>().join(" "),
            WithCommas => words.iter().take(4).copied().collect::<Vec<_>>().join(","),
            Spaced => format!("  {} ", text.replace(' ', "  ")),
            FullWidth => {
                let wide = |letter: char| match letter {
                    '!'..='~' => char::from_u32(u32::from(letter) + 0xfee0).unwrap_or(letter),
                    _ => letter,
                };
                text.chars().map(wide).collect()
            }
            WithOperators => format!("-({}) && *", words.join(" +")),
            WithInches => format!("{}\"", words.join("\" \"")),
        }
    }
}
