//! Suggestions: what the beginning of a text may become, among all that records have, and how many a search would find.
//!
//! # What can go wrong, and what holds then
//! - **A count that no search confirms.** Each suggestion has the text of a filter with it, and its counts are the totals
//!   of a search with that filter alone: of business types and job titles in double quotes (exactly these words, adjacent
//!   and in order, in whatever longer value, for business types in tags too), of tags as `searchTags`, of places as
//!   `location`. They are counted by record and not by value, so that a company with two values that the filter finds is
//!   one. Deleted records are not counted. A value that no filter could ask for (longer than `MAX_VALUE_CHARS`, without
//!   a letter or digit) is not suggested.
//! - **An answer that depends on the replica.** Counts, the spelling shown and the order are functions of the records: two
//!   indexes at one position of the feed give the same, however their segments were merged.
//! - **An index that moves while it is counted.** All of a vocabulary is counted in one [`Snapshot`](crate::engine::Snapshot)
//!   of both halves. The four vocabularies are replaced together.
//! - **Counting that takes what searches need.** It is one thread, which stands back behind them ([`crate::background`]), a
//!   tenth of the time at most: behind each counting there is a pause of nine times as long. So what is suggested is behind what is searched: for the
//!   sample by less than two seconds, for millions of records by up to ten times what their counting takes.
//! - **A start with an index that is there.** Nobody waits for the first counting; until it is done suggestions are refused
//!   as unavailable, and searches are answered.
//! - **A vocabulary without end** (tags that are all different). The `MOST_VALUES` values that
//!   most records have are kept of each, some 300 bytes for each value; while it is counted, each different text takes
//!   about 200 bytes more.
//! - **A costly request.** `q` is short by the rules. What begins as typed is a range of a sorted list. Typing errors are
//!   looked for only if nothing is found without, by an automaton over an FST, and in texts of at most
//!   `MAX_MISTYPED_CHARS` characters; the deadline and a caller who leaves end it.
//!
//! # How
//! The index has columns of the texts as sources write them ([`crate::plan::SourceField`]); `making` goes through them.
//! A million records have few different texts: for each text it is worked out once which filters find it
//! (`phrases`, `places`), then each record is a list of numbers. Term dictionaries with live counts for each request
//! were the other way: a phrase's exact count needs positions, and the order by count needs the counts of all candidates.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use proto::search::v1::{SuggestRequest, SuggestResponse, Vocabulary as Asked};
use proto::suggestions::{DEFAULT_LIMIT, check};
use runtime::process::with_causes;
use runtime::shutdown::Shutdown;
use tokio::sync::Semaphore;

use crate::background;
use crate::engine::{Committed, Index};
use crate::error::SearchError;
use crate::meters;
use crate::plan::Stop;
use crate::search::within;
use crate::text::titles::title_as_written;
use crate::text::words::{joined, words};

mod making;
mod phrases;
mod places;
mod starts;
mod vocabulary;

#[cfg(test)]
mod tests;

use making::Maker;
use vocabulary::Vocabulary;

/// Longest value that is suggested: what an item of a filter may have, less the quotes around it.
const MAX_VALUE_CHARS: usize = proto::search_query::MAX_ITEM_CHARS - 2;

/// Pause between two looks at whether the index has moved.
const REST: Duration = Duration::from_millis(100);

/// Pause behind a counting, in times of what it took.
const PAUSE: u32 = 9;

/// Pause behind a counting that failed.
const PAUSE_BEHIND_FAILURE: Duration = Duration::from_secs(5);

/// Answers requests for suggestions. Clones share what has been counted.
#[derive(Clone, Debug)]
pub struct Suggest {
    made: Arc<RwLock<Option<Arc<Vocabularies>>>>,
    threads: Arc<Semaphore>,
    timeout: Duration,
}

/// What is suggested, as of one state of the index.
#[derive(Debug)]
struct Vocabularies {
    /// That of the state, or an earlier one.
    position: i64,
    places: Vocabulary,
    business_types: Vocabulary,
    job_titles: Vocabulary,
    tags: Vocabulary,
}

impl Suggest {
    /// None can be answered before [`Suggest::follow`] has counted.
    #[must_use]
    pub fn new(concurrency: usize, timeout: Duration) -> Self {
        Self {
            made: Arc::default(),
            threads: Arc::new(Semaphore::new(concurrency)),
            timeout,
        }
    }

    /// What the beginning of a text may become. The deadline is the caller's, if there is one.
    pub async fn suggest(
        &self,
        request: &SuggestRequest,
        deadline: Option<Instant>,
    ) -> Result<SuggestResponse, SearchError> {
        let violations = check(request);
        if !violations.is_empty() {
            return Err(SearchError::Invalid(violations));
        }
        let own = Instant::now() + self.timeout;
        let deadline = deadline.map_or(own, |callers| callers.min(own));
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner).clone();
        let made = made.ok_or(SearchError::NotCounted)?;
        within(deadline, async {
            // Never closed.
            let turn = Arc::clone(&self.threads).acquire_owned().await;
            let turn = turn.map_err(|_| SearchError::Draining)?;
            let stop = Stop::at(deadline);
            let _waiting = stop.waiting();
            let request = request.clone();
            let found = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                made.find(&request, &stop)
            });
            found.await?
        })
        .await
    }

    /// Counts again whenever the index has moved, until the process drains.
    pub async fn follow(self, index: Arc<Index>, shutdown: Shutdown) {
        let mut maker = Maker::default();
        let mut counted = None;
        while !shutdown.is_draining() {
            let stop = Stop::never();
            let _waiting = stop.waiting();
            let started = Instant::now();
            let index = Arc::clone(&index);
            let work = move || {
                let made = count(&index, counted, &mut maker, &stop);
                (maker, made)
            };
            let work = background::start(work);
            let done = tokio::select! {
                () = shutdown.draining() => return,
                done = work => done,
            };
            let pause = match done {
                Ok((kept, Ok(made))) => {
                    maker = kept;
                    if let Some((committed, made)) = made {
                        counted = Some(committed);
                        let took = started.elapsed();
                        metrics::histogram!(meters::SUGGESTIONS_SECONDS).record(took.as_secs_f64());
                        *self.made.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(made));
                        REST.max(took * PAUSE)
                    } else {
                        REST
                    }
                }
                Ok((kept, Err(error))) => {
                    maker = kept;
                    tracing::warn!(error = %with_causes(&error), "what is suggested could not be counted");
                    PAUSE_BEHIND_FAILURE
                }
                Err(error) => {
                    maker = Maker::default();
                    tracing::error!(%error, "counting what is suggested was broken off");
                    PAUSE_BEHIND_FAILURE
                }
            };
            tokio::select! {
                () = shutdown.draining() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

/// Counts what is committed, unless that was counted before.
fn count(
    index: &Index,
    counted: Option<Committed>,
    maker: &mut Maker,
    stop: &Stop,
) -> Result<Option<(Committed, Vocabularies)>, SearchError> {
    // Asked before the snapshot is taken, which may be of a later state: then it is counted once more.
    let Some(committed) = index.committed().filter(|committed| Some(*committed) != counted) else {
        return Ok(None);
    };
    let made = maker.make(&index.snapshot(), committed.position, stop)?;
    Ok(Some((committed, made)))
}

impl Vocabularies {
    /// Looks for what a request that meets the rules asks for.
    fn find(&self, request: &SuggestRequest, stop: &Stop) -> Result<SuggestResponse, SearchError> {
        let plain = |words: Vec<_>| joined(&words, |word| &word.plain);
        let mut texts = vec![plain(words(&request.q))];
        let vocabulary = match request.vocabulary() {
            Asked::Places => &self.places,
            Asked::BusinessTypes => &self.business_types,
            Asked::JobTitles => {
                let written_out = plain(title_as_written(&request.q));
                if texts[0] != written_out {
                    texts.push(written_out);
                }
                &self.job_titles
            }
            Asked::Tags => &self.tags,
            // The rules have refused it.
            Asked::Unspecified => return Ok(SuggestResponse::default()),
        };
        let limit = usize::try_from(request.limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or_default();
        let found = vocabulary.find(&texts, limit, stop);
        if stop.is_due() {
            return Err(SearchError::DeadlineExceeded);
        }
        Ok(SuggestResponse {
            suggestions: found.into_iter().cloned().collect(),
            position: self.position,
        })
    }
}
