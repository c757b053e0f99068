//! What begins with a text, or nearly so.

use std::sync::LazyLock;

use levenshtein_automata::{DFA, Distance, LevenshteinAutomatonBuilder, SINK_STATE};
use tantivy_fst::{Automaton, IntoStreamer as _, Map, MapBuilder, Streamer as _};

use crate::plan::Stop;

/// How many keys are gone through between two looks at the clock.
const LOOK_EVERY: u32 = 1024;

/// What stands behind all that begins alike: no UTF-8 has such a byte.
const BEHIND: [u8; 1] = [0xff];

/// For each number of typing errors from 1, what makes automata that allow them. A typing error is a character that is
/// missing, too many or another, or two neighbours that are swapped.
static ALLOWING: LazyLock<[LevenshteinAutomatonBuilder; 2]> =
    LazyLock::new(|| [1, 2].map(|errors| LevenshteinAutomatonBuilder::new(errors, true)));

/// How many typing errors are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errors {
    /// One.
    One,
    /// Two.
    Two,
}

/// Keys, sorted, each with the ranks of the values that are looked up by it.
pub(super) struct Starts {
    /// From a key to its place among the keys.
    places: Map<Vec<u8>>,
    /// Where the ranks of each key begin, and where those of the last end.
    begins: Vec<u32>,
    ranks: Vec<u32>,
}

impl Starts {
    /// From keys and ranks, in any order.
    pub(super) fn of(mut pairs: Vec<(&str, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut places = MapBuilder::memory();
        let mut begins = Vec::new();
        let mut ranks = Vec::with_capacity(pairs.len());
        for (place, pairs) in (0..).zip(pairs.chunk_by(|(key, _), (next, _)| key == next)) {
            places
                .insert(pairs[0].0, place)
                .expect("the keys are sorted, and memory takes them");
            begins.push(number(ranks.len()));
            ranks.extend(pairs.iter().map(|(_, rank)| rank));
        }
        begins.push(number(ranks.len()));
        let places = places.into_inner().and_then(Map::from_bytes);
        Self {
            places: places.expect("what was built is whole"),
            begins,
            ranks,
        }
    }

    /// The ranks of the keys that begin with the text.
    pub(super) fn beginning_with(&self, text: &str) -> &[u32] {
        let end = [text.as_bytes(), &BEHIND].concat();
        let begin = |place: usize| self.begins[place] as usize;
        &self.ranks[begin(self.place(text.as_bytes()))..begin(self.place(&end))]
    }

    /// Shows the ranks of the keys that have a beginning that is the text but for so many typing errors; of two, none is
    /// in the first character. Ends early if it has to stop.
    pub(super) fn beginning_nearly_with(
        &self,
        text: &str,
        errors: Errors,
        stop: &Stop,
        mut show: impl FnMut(&[u32]),
    ) {
        let nearly = Nearly(ALLOWING[errors as usize].build_prefix_dfa(text));
        let mut keys = self.places.search(nearly);
        if errors == Errors::Two {
            // Whoever goes on from every first character goes through much of the keys: half a million names of places
            // take milliseconds.
            let first = text.chars().next().map(String::from).unwrap_or_default();
            let end = [first.as_bytes(), &BEHIND].concat();
            keys = keys.ge(first).lt(end);
        }
        let mut stream = keys.into_stream();
        let mut looked_at = 0_u32;
        while let Some((_, place)) = stream.next() {
            if looked_at.is_multiple_of(LOOK_EVERY) && stop.is_due() {
                return;
            }
            looked_at += 1;
            let place = usize::try_from(place).unwrap_or(self.places.len());
            show(&self.ranks[self.begins[place] as usize..self.begins[place + 1] as usize]);
        }
    }

    /// The place of the first key that is not before the bound; behind the last if all are.
    fn place(&self, bound: &[u8]) -> usize {
        let mut stream = self.places.range().ge(bound).into_stream();
        let first = stream.next().and_then(|(_, place)| usize::try_from(place).ok());
        first.unwrap_or(self.places.len())
    }
}

/// Of `MOST_VALUES` values by a few words each there are far fewer.
fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a vocabulary has fewer than four thousand million keys")
}

/// What has a beginning that an automaton of the crate takes.
struct Nearly(DFA);

impl Automaton for Nearly {
    type State = u32;

    fn start(&self) -> u32 {
        self.0.initial_state()
    }

    fn is_match(&self, state: &u32) -> bool {
        matches!(self.0.distance(*state), Distance::Exact(_))
    }

    fn can_match(&self, state: &u32) -> bool {
        *state != SINK_STATE
    }

    fn accept(&self, state: &u32, byte: u8) -> u32 {
        self.0.transition(*state, byte)
    }
}

impl std::fmt::Debug for Starts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Starts")
            .field("keys", &self.places.len())
            .finish_non_exhaustive()
    }
}
