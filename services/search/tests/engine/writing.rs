//! Writing, committing, crashing, rebuilding.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use search::document::Change;
use search::engine::{Index, IndexError, Merging};
use search::plan::{Condition, Engine, EngineError, Kind, Stop};

use crate::{document, everything, id, open, put, settings};

/// Longest wait for what happens soon.
const PATIENCE: Duration = Duration::from_mins(1);

fn count(index: &Index, kind: Kind) -> u64 {
    index.search(&everything(kind, 0), &Stop::never()).unwrap().total
}

/// A copy of the directory as it is: what a crash at this moment leaves. Files that the writer takes away meanwhile
/// are of no commit yet, or no more.
fn crashed_copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            crashed_copy(&entry.path(), &target);
        } else {
            match fs::copy(entry.path(), target) {
                Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        }
    }
}

#[test]
fn a_new_index_is_empty_and_has_no_position() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("not/there/yet"));
    assert_eq!(index.position(), None);
    assert_eq!(count(&index, Kind::Company), 0);
    assert!(
        !index
            .search(&everything(Kind::Person, 5), &Stop::never())
            .unwrap()
            .more
    );
}

#[test]
fn a_search_behind_a_commit_sees_it() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for number in 0..20 {
        index
            .apply(&[put(document(Kind::Person, number))], i64::from(number))
            .unwrap();
        assert_eq!(count(&index, Kind::Person), u64::from(number) + 1);
    }
    index
        .apply(
            &[
                Change::Delete(Kind::Person, id(3)),
                Change::Delete(Kind::Company, id(4)),
            ],
            21,
        )
        .unwrap();
    assert_eq!(count(&index, Kind::Person), 19);
    let status = index.status().unwrap();
    assert_eq!((status.people.documents, status.companies.documents), (19, 0));
    assert_eq!(status.position, Some(21));
    assert!(status.people.bytes > 0 && status.people.segments > 0);
}

#[test]
fn of_several_changes_of_a_record_the_last_counts() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let mut later = document(Kind::Company, 1);
    later.row = "later".into();
    let changes = [
        put(document(Kind::Company, 1)),
        Change::Delete(Kind::Company, id(1)),
        put(document(Kind::Company, 1)),
        put(later),
        put(document(Kind::Company, 2)),
        Change::Delete(Kind::Company, id(2)),
    ];
    for position in 1..4 {
        index.apply(&changes, position).unwrap();
        let hits = index
            .search(&everything(Kind::Company, 9), &Stop::never())
            .unwrap();
        assert_eq!(hits.total, 1);
        assert_eq!(hits.hits[0].row, "later");
    }
}

#[test]
fn what_is_written_is_seen_and_kept_from_the_commit_on() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(&[put(document(Kind::Company, 1))], 1).unwrap();
    index
        .write(&[put(document(Kind::Company, 2)), put(document(Kind::Person, 2))])
        .unwrap();
    index.write(&[Change::Delete(Kind::Company, id(1))]).unwrap();
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (1, 0)
    );
    drop(index);

    let index = open(dir.path());
    assert_eq!(index.position(), Some(1));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (1, 0)
    );
    let changes = [put(document(Kind::Company, 2)), put(document(Kind::Person, 2))];
    index.write(&changes).unwrap();
    index.commit(2, Merging::AsItGrows).unwrap();
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 1)
    );
    drop(index);
    assert_eq!(open(dir.path()).position(), Some(2));
}

/// Between the commits of the two halves, as found on disk.
#[test]
fn the_position_is_that_of_the_half_that_is_behind() {
    let dir = tempfile::tempdir().unwrap();
    let (before, after, between) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("c"));
    let index = open(&before);
    index
        .apply(
            &[put(document(Kind::Company, 1)), put(document(Kind::Person, 1))],
            7,
        )
        .unwrap();
    crashed_copy(&before, &between);
    let changes = [put(document(Kind::Company, 2)), put(document(Kind::Person, 2))];
    index.apply(&changes, 8).unwrap();
    crashed_copy(&before, &after);

    let half = Path::new("generation-000001/companies");
    fs::remove_dir_all(between.join(half)).unwrap();
    fs::rename(after.join(half), between.join(half)).unwrap();
    let index = open(&between);
    assert_eq!(index.position(), Some(7));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 1)
    );
    index.apply(&changes, 8).unwrap();
    assert_eq!(index.position(), Some(8));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 2)
    );
}

/// With less segments than are merged: a merge beside the copy would tear the copy, as no crash does.
#[test]
fn a_copy_taken_before_a_commit_opens_at_the_last_one() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    for number in 0..4_u8 {
        index.write(&[put(document(Kind::Person, number))]).unwrap();
        let copy = dir.path().join(number.to_string());
        crashed_copy(&dir.path().join("index"), &copy);
        let copy = open(&copy);
        assert_eq!(copy.position(), number.checked_sub(1).map(i64::from));
        assert_eq!(count(&copy, Kind::Person), u64::from(number));
        index.commit(i64::from(number), Merging::AsItGrows).unwrap();
    }
}

/// The people can't be written for a while, the companies can.
#[test]
fn after_a_failure_it_goes_on_from_the_position() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index
        .apply(
            &[put(document(Kind::Company, 1)), put(document(Kind::Person, 1))],
            1,
        )
        .unwrap();
    let people = dir.path().join("generation-000001/people");
    let away = dir.path().join("away");
    let changes = [put(document(Kind::Company, 2)), put(document(Kind::Person, 2))];
    fs::rename(&people, &away).unwrap();
    for _ in 0..3 {
        index.apply(&changes, 2).unwrap_err();
        assert_eq!(index.position(), Some(1));
        assert_eq!(count(&index, Kind::Person), 1);
    }
    fs::rename(&away, &people).unwrap();
    index.apply(&changes, 2).unwrap();
    assert_eq!(index.position(), Some(2));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 2)
    );
    drop(index);
    let index = open(dir.path());
    assert_eq!(index.position(), Some(2));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 2)
    );
}

#[test]
fn a_second_writer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let second = Index::open(dir.path(), settings());
    assert!(matches!(second, Err(IndexError::Locked(_))), "{second:?}");
    drop(index);
    open(dir.path());
}

#[test]
fn a_rebuild_takes_over_at_once_and_the_old_one_goes() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index
        .apply(
            &[put(document(Kind::Company, 1)), put(document(Kind::Company, 2))],
            5,
        )
        .unwrap();

    let rebuild = index.rebuild().unwrap();
    assert!(matches!(index.rebuild(), Err(IndexError::RebuildRunning)));
    rebuild
        .fill(&[document(Kind::Company, 2), document(Kind::Person, 3)])
        .unwrap();
    rebuild.commit(4, Merging::AsItGrows).unwrap();
    assert_eq!(count(&index, Kind::Company), 2);
    // It follows the feed.
    rebuild
        .apply(
            &[put(document(Kind::Company, 2)), put(document(Kind::Company, 9))],
            5,
        )
        .unwrap();
    rebuild.apply(&[Change::Delete(Kind::Person, id(3))], 6).unwrap();
    index.switch(rebuild).unwrap();

    assert_eq!(index.position(), Some(6));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 0)
    );
    assert!(!dir.path().join("generation-000001").exists());
    index.apply(&[put(document(Kind::Person, 1))], 7).unwrap();
    drop(index);
    let index = open(dir.path());
    assert_eq!(index.position(), Some(7));
    assert_eq!(
        (count(&index, Kind::Company), count(&index, Kind::Person)),
        (2, 1)
    );
}

#[test]
fn a_rebuild_that_is_empty_or_not_ours_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("a"));
    let other = open(&dir.path().join("b"));
    index.apply(&[put(document(Kind::Company, 1))], 5).unwrap();

    let rebuild = index.rebuild().unwrap();
    assert!(matches!(index.switch(rebuild), Err(IndexError::NotReady(_))));
    let rebuild = other.rebuild().unwrap();
    rebuild.commit(9, Merging::AsItGrows).unwrap();
    assert!(matches!(index.switch(rebuild), Err(IndexError::NotReady(_))));
    assert_eq!((index.position(), count(&index, Kind::Company)), (Some(5), 1));
}

/// As when the records were put back to an older state.
#[test]
fn a_rebuild_may_take_over_from_an_index_that_is_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(&[put(document(Kind::Company, 1))], 5).unwrap();
    let rebuild = index.rebuild().unwrap();
    rebuild.commit(3, Merging::AsItGrows).unwrap();
    index.switch(rebuild).unwrap();
    assert_eq!((index.position(), count(&index, Kind::Company)), (Some(3), 0));
}

#[test]
fn an_abandoned_rebuild_is_cleared_away() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(&[put(document(Kind::Company, 1))], 1).unwrap();
    let rebuild = index.rebuild().unwrap();
    rebuild.apply(&[put(document(Kind::Company, 2))], 2).unwrap();
    drop(rebuild);
    drop(index);
    let index = open(dir.path());
    assert!(!dir.path().join("generation-000002").exists());
    assert_eq!((index.position(), count(&index, Kind::Company)), (Some(1), 1));
}

/// As when the process ended while they ran, or before a bulk load was over.
#[test]
fn merges_that_were_broken_off_go_on_after_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for number in 0..20 {
        index.write(&[put(document(Kind::Person, number))]).unwrap();
        index.commit(i64::from(number), Merging::Later).unwrap();
    }
    let segments = |index: &Index| index.status().unwrap().people.segments;
    assert_eq!(segments(&index), 20);
    drop(index);
    let index = open(dir.path());
    let begun = Instant::now();
    while segments(&index) >= 5 {
        assert!(begun.elapsed() < PATIENCE, "nothing is merged");
        index.show_merged().unwrap();
    }
    assert_eq!((index.position(), count(&index, Kind::Person)), (Some(19), 20));
}

#[test]
fn a_search_that_has_to_stop_stops() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.apply(&[put(document(Kind::Company, 1))], 1).unwrap();
    let mut plan = everything(Kind::Company, 1);
    plan.filter = Condition::Not(Box::new(Condition::Ids(Vec::new())));
    assert!(index.search(&plan, &Stop::never()).is_ok());
    let passed = Stop::at(Instant::now());
    let abandoned = Stop::never();
    drop(abandoned.waiting());
    for stop in [passed, abandoned] {
        assert!(matches!(
            index.search(&plan, &stop),
            Err(EngineError::DeadlineExceeded)
        ));
    }
}
