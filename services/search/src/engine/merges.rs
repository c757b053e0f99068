//! Which segments are merged, and which merges are running.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::index::{Index, SegmentId, SegmentMeta};
use tantivy::indexer::{LogMergePolicy, MergeCandidate, MergePolicy};

/// The merges of an index.
#[derive(Clone, Debug, Default)]
pub(super) struct Merges(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The segments of each merge that was set going and has not ended.
    running: Vec<HashSet<SegmentId>>,
    /// Whether one has ended since that was asked last.
    ended: bool,
}

/// When segments are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// Whenever there are enough of about a size.
    AsItGrows,
    /// Not before there are [`MOST_SEGMENTS`]: much more is to come, and what is merged now would be merged again.
    Later,
}

/// From so many segments on they are merged in any case: each costs every search its look-ups.
const MOST_SEGMENTS: usize = 64;

/// The rule, and its memory of what it has set going.
#[derive(Debug)]
pub(super) struct Policy {
    index: Index,
    rule: LogMergePolicy,
    merging: Merging,
    merges: Merges,
}

impl Merges {
    /// How many are running.
    pub(super) fn running(&self) -> u64 {
        self.state().running.len() as u64
    }

    /// Whether one has ended since this was asked last.
    pub(super) fn have_ended(&self) -> bool {
        std::mem::take(&mut self.state().ended)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The policy of a writer of the index.
    pub(super) fn policy(&self, index: &Index, merging: Merging) -> Policy {
        Policy {
            index: index.clone(),
            rule: rule(),
            merging,
            merges: self.clone(),
        }
    }
}

impl MergePolicy for Policy {
    /// Tantivy asks after each commit and after each merge, and offers what is not being merged: a merge whose segments
    /// are committed and not offered is running.
    fn compute_merge_candidates(&self, offered: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let candidates = match self.merging {
            Merging::Later if offered.len() < MOST_SEGMENTS => Vec::new(),
            _ => self.rule.compute_merge_candidates(offered),
        };
        let offered = offered.iter().map(SegmentMeta::id).collect::<HashSet<_>>();
        let mut state = self.merges.state();
        let committed = self.index.searchable_segment_ids().unwrap_or_default();
        let committed = committed.into_iter().collect::<HashSet<_>>();
        let before = state.running.len();
        let goes_on = |merge: &HashSet<SegmentId>| merge.is_subset(&committed) && merge.is_disjoint(&offered);
        state.running.retain(goes_on);
        state.ended |= state.running.len() < before;
        let started = candidates
            .iter()
            .map(|candidate| candidate.0.iter().copied().collect());
        state.running.extend(started);
        candidates
    }
}

/// For a commit several times a second: segments of up to a thousand documents are one layer, merged by fives, so
/// that what is merged over and over is small; then layers by factors of four, so that millions of documents are in
/// thirty segments at most, since each costs a search its look-ups. A segment half of which is deleted is written
/// anew, with its layer: with a fifth, a bulk load of people, which replaces their companies one after the other, had
/// the companies merged over and over.
fn rule() -> LogMergePolicy {
    let mut rule = LogMergePolicy::default();
    rule.set_min_num_segments(5);
    rule.set_min_layer_size(1_000);
    rule.set_level_log_size(2.0);
    rule.set_del_docs_ratio_before_merge(0.5);
    rule
}

#[cfg(test)]
mod tests {
    use tantivy::indexer::NoMergePolicy;
    use tantivy::schema::Schema;
    use tantivy::{IndexWriter, TantivyDocument};

    use super::*;

    #[test]
    fn a_merge_runs_from_when_it_is_set_going_until_its_segments_are_gone_or_free() {
        let index = Index::create_in_ram(Schema::builder().build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for _ in 0..5 {
            writer.add_document(TantivyDocument::default()).unwrap();
            writer.commit().unwrap();
        }
        let merges = Merges::default();
        let policy = merges.policy(&index, Merging::AsItGrows);
        let segments = || index.searchable_segment_metas().unwrap();
        assert!(policy.compute_merge_candidates(&segments()[..4]).is_empty());
        assert_eq!(merges.running(), 0);

        let candidates = policy.compute_merge_candidates(&segments());
        assert_eq!((candidates.len(), merges.running()), (1, 1));
        // Not offered while it runs.
        assert!(policy.compute_merge_candidates(&[]).is_empty());
        assert_eq!((merges.running(), merges.have_ended()), (1, false));
        // Offered again: it has failed.
        assert!(policy.compute_merge_candidates(&segments()[..4]).is_empty());
        assert_eq!(merges.running(), 0);

        let candidates = policy.compute_merge_candidates(&segments());
        writer.merge(&candidates[0].0).wait().unwrap();
        assert!(policy.compute_merge_candidates(&segments()).is_empty());
        assert_eq!(merges.running(), 0);
        assert!(merges.have_ended() && !merges.have_ended());
    }

    #[test]
    fn merging_waits_while_more_is_to_come_but_not_for_ever() {
        let index = Index::create_in_ram(Schema::builder().build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        for _ in 0..MOST_SEGMENTS {
            writer.add_document(TantivyDocument::default()).unwrap();
            writer.commit().unwrap();
        }
        let segments = index.searchable_segment_metas().unwrap();
        let policy = |merging| Merges::default().policy(&index, merging);
        let fewer = &segments[1..];
        assert!(policy(Merging::Later).compute_merge_candidates(fewer).is_empty());
        assert!(
            !policy(Merging::AsItGrows)
                .compute_merge_candidates(fewer)
                .is_empty()
        );
        assert!(
            !policy(Merging::Later)
                .compute_merge_candidates(&segments)
                .is_empty()
        );
    }
}
