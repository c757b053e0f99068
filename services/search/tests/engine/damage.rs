//! What is damaged is noticed on open, left alone, and replaced on demand.

use std::fs;
use std::path::{Path, PathBuf};

use search::engine::{Index, Opened, Unreadable, Unusable};
use search::plan::{Engine, Kind, Stop};

use crate::{document, everything, open, put, settings};

fn filled(dir: &Path) {
    let index = open(dir);
    let changes: Vec<_> = (0..50)
        .flat_map(|number| {
            [
                put(document(Kind::Company, number)),
                put(document(Kind::Person, number)),
            ]
        })
        .collect();
    index.apply(&changes, 1).unwrap();
}

fn unusable(dir: &Path) -> Unusable {
    match Index::open(dir, settings()).unwrap() {
        Opened::Unusable(unusable) => unusable,
        Opened::Ready(index) => panic!("{index:?}"),
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    ["companies", "people"]
        .iter()
        .flat_map(|half| fs::read_dir(dir.join("generation-000001").join(half)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect()
}

/// Each of the index's files in turn is changed by `damage`.
fn is_noticed(damage: impl Fn(&Path)) {
    let whole = tempfile::tempdir().unwrap();
    filled(whole.path());
    let count = files(whole.path()).len();
    assert!(count > 10, "{count} files");
    for number in 0..count {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path());
        let file = &files(dir.path())[number.min(files(dir.path()).len() - 1)];
        damage(file);
        let unusable = unusable(dir.path());
        let index = unusable.start_afresh().unwrap();
        assert_eq!(index.position(), None);
        index.apply(&[put(document(Kind::Company, 1))], 1).unwrap();
        assert_eq!(
            index
                .search(&everything(Kind::Company, 1), &Stop::never())
                .unwrap()
                .total,
            1
        );
        assert!(dir.path().join("set-aside/generation-000001").exists());
    }
}

#[test]
fn a_changed_byte() {
    is_noticed(|file| {
        let mut content = fs::read(file).unwrap();
        let middle = content.len() / 2;
        content[middle] ^= 0x80;
        fs::write(file, content).unwrap();
    });
}

#[test]
fn a_cut_file() {
    is_noticed(|file| {
        let content = fs::read(file).unwrap();
        fs::write(file, &content[..content.len() / 2]).unwrap();
    });
}

#[test]
fn an_empty_file() {
    is_noticed(|file| fs::write(file, "").unwrap());
}

#[test]
fn a_missing_file() {
    is_noticed(|file| fs::remove_file(file).unwrap());
}

#[test]
fn a_missing_generation() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    fs::remove_dir_all(dir.path().join("generation-000001")).unwrap();
    assert!(matches!(unusable(dir.path()).reason(), Unreadable::Damaged(_)));
}

#[test]
fn another_format() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    let current = fs::read(dir.path().join("current")).unwrap();
    fs::write(dir.path().join("current"), "999 1\n").unwrap();
    assert!(matches!(unusable(dir.path()).reason(), Unreadable::OtherFormat));
    fs::write(dir.path().join("current"), "").unwrap();
    assert!(matches!(
        unusable(dir.path()).reason(),
        Unreadable::Checksum { .. }
    ));
    // What can't be used is left alone until the caller says so.
    fs::write(dir.path().join("current"), current).unwrap();
    assert_eq!(open(dir.path()).position(), Some(1));
    // Of another format's nobody wants to know what happened.
    fs::write(dir.path().join("current"), "999 1\n").unwrap();
    assert_eq!(unusable(dir.path()).start_afresh().unwrap().position(), None);
    assert!(!dir.path().join("set-aside").exists());
}
