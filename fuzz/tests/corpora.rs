//! What the fuzzer has kept still holds.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use fuzz::TARGETS;
use proto::search_properties::PROPERTIES;

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn a_body_with_each_property_holds() {
    for property in &PROPERTIES {
        fuzz::body::holds(format!("{{\"{}\": {}}}", property.name, property.example).as_bytes());
    }
}

#[test]
fn every_input_that_was_kept_holds() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpora = package.join("corpora");
    for (name, holds) in TARGETS {
        let folder = corpora.join(name);
        let inputs = names(&folder);
        assert!(inputs.len() > 20, "{name} has hardly any inputs");
        for input in inputs {
            let bytes = fs::read(folder.join(&input)).unwrap();
            let held = catch_unwind(|| holds(&bytes));
            assert!(
                held.is_ok(),
                "{name}/{input}: {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&corpora), targets);
    assert_eq!(names(&package.join("targets")), targets);
}
