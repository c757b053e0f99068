//! Which of many phrases occur in a text: exactly these words, adjacent and in order, as quotes ask for them.

use std::collections::HashMap;

use crate::text::words::Word;

/// Where all phrases begin.
const ROOT: u32 = 0;

/// Phrases, as a tree of their words.
#[derive(Debug)]
pub(super) struct Phrases {
    /// Numbers of words, by their forms.
    words: HashMap<(String, Option<String>), u32>,
    /// The words that have a form.
    with_form: HashMap<String, Vec<u32>>,
    /// From a node, by a word, to the next one.
    steps: HashMap<(u32, u32), u32>,
    /// The phrase that ends at each node.
    ending: Vec<Option<u32>>,
    /// How many phrases there are.
    count: u32,
}

impl Default for Phrases {
    fn default() -> Self {
        Self {
            words: HashMap::new(),
            with_form: HashMap::new(),
            steps: HashMap::new(),
            ending: vec![None],
            count: 0,
        }
    }
}

impl Phrases {
    /// The number of a phrase, counted from 0; equal ones have one.
    pub(super) fn add(&mut self, words: &[Word]) -> u32 {
        let mut node = ROOT;
        for word in words {
            let step = (node, self.number(word));
            node = if let Some(next) = self.steps.get(&step) {
                *next
            } else {
                let next = u32::try_from(self.ending.len()).expect("the words of all texts fit into memory");
                self.ending.push(None);
                self.steps.insert(step, next);
                next
            };
        }
        let count = &mut self.count;
        *self.ending[node as usize].get_or_insert_with(|| {
            *count += 1;
            *count - 1
        })
    }

    fn number(&mut self, word: &Word) -> u32 {
        let next = u32::try_from(self.words.len()).expect("the words of all texts fit into memory");
        let forms = (word.plain.clone(), word.expanded.clone());
        let with_form = &mut self.with_form;
        *self.words.entry(forms).or_insert_with(|| {
            for form in forms_of(word) {
                with_form.entry(form.to_owned()).or_default().push(next);
            }
            next
        })
    }

    /// How many different phrases there are.
    pub(super) const fn len(&self) -> usize {
        self.count as usize
    }

    /// The phrases that occur in a text of these words, each once.
    pub(super) fn found_in(&self, words: &[Word]) -> Vec<u32> {
        // Two words are the same if they have a form in common.
        let same = words.iter().map(|word| {
            let with_forms = forms_of(word).filter_map(|form| self.with_form.get(form));
            with_forms.flatten().copied().collect::<Vec<_>>()
        });
        let same = same.collect::<Vec<_>>();
        let mut found = Vec::new();
        for start in 0..same.len() {
            let mut nodes = vec![ROOT];
            for words in &same[start..] {
                let steps = nodes
                    .iter()
                    .flat_map(|node| words.iter().map(move |word| (*node, *word)));
                let mut next = steps
                    .filter_map(|step| self.steps.get(&step).copied())
                    .collect::<Vec<_>>();
                next.sort_unstable();
                next.dedup();
                nodes = next;
                if nodes.is_empty() {
                    break;
                }
                found.extend(nodes.iter().filter_map(|node| self.ending[*node as usize]));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn forms_of(word: &Word) -> impl Iterator<Item = &str> {
    let expanded = word.expanded.as_deref().filter(|form| *form != word.plain);
    std::iter::once(word.plain.as_str()).chain(expanded)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::InValue;
    use crate::text::slots::{Comparison, asked_phrase, one_of_many};
    use crate::text::words::words;

    const WORDS: [&str; 8] = [
        "sales", "Head", "of", "Müller", "Mueller", "Muller", "cars", "東京",
    ];

    proptest! {
        #[test]
        fn what_is_found_is_what_quotes_find(
            phrases in vec(vec(prop::sample::select(&WORDS[..]), 1..4), 1..12),
            text in vec(prop::sample::select(&WORDS[..]), 1..7),
        ) {
            let mut all = Phrases::default();
            let text = words(&text.join(" "));
            let slots = one_of_many(&text, Comparison::Stemmed).iter().next().unwrap();
            let mut expected = Vec::new();
            for phrase in &phrases {
                let phrase = words(&phrase.join(" "));
                let number = all.add(&phrase);
                prop_assert_eq!(all.add(&phrase), number);
                if InValue::Phrase(asked_phrase(&phrase, Comparison::Exact)).holds_in(&slots) {
                    expected.push(number);
                }
            }
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(all.found_in(&text), expected);
        }
    }
}
