//! The rules of the house, as `ARCHITECTURE.md` has them: who may know whom, names, sizes, and that the map is true.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand, Package};

/// Each of our crates, and those of ours that it may know, in code, tests and build scripts.
const MAY_KNOW: [(&str, &[&str]); 11] = [
    ("proto", &[]),
    ("runtime", &[]),
    ("gateway", &["proto", "runtime"]),
    ("search", &["proto", "runtime"]),
    ("keys", &["proto", "runtime"]),
    ("billing", &["proto", "runtime"]),
    ("dsctl", &["proto", "runtime"]),
    ("devstack", &[]),
    ("bench", &["proto", "devstack"]),
    ("system-tests", &["proto", "devstack"]),
    ("fuzz", &["proto", "runtime", "gateway", "search"]),
];

/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 9] = [
    "util", "utils", "common", "commons", "helper", "helpers", "manager", "managers", "misc",
];

/// Files are to have 500 lines at most without their tests; beyond this, one is too long by any reading.
const MAX_LINES: usize = 550;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All Rust files of our crates.
fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = metadata()
        .packages
        .iter()
        .map(|package| package.manifest_path.parent().unwrap().into())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files.dedup();
    assert!(files.len() > 50, "the sources were not found");
    files
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn no_crate_knows_more_of_ours_than_it_may() {
    let metadata = metadata();
    let ours: BTreeSet<&str> = metadata
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let listed: BTreeSet<&str> = MAY_KNOW.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours, listed, "every crate has its line in the table");
    let known = |package: &Package| -> Vec<String> {
        let names = package
            .dependencies
            .iter()
            .map(|dependency| dependency.name.clone());
        names.filter(|name| ours.contains(name.as_str())).collect()
    };
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let (_, may_know) = MAY_KNOW
            .iter()
            .find(|(name, _)| *name == package.name.as_str())
            .unwrap();
        for name in known(package) {
            if !may_know.contains(&name.as_str()) {
                problems.push(format!("{} must not know {name}", package.name));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_crate_has_the_lints_and_the_dependencies_of_the_workspace() {
    let mut problems = Vec::new();
    for package in metadata().packages {
        let manifest: toml::Table = read(package.manifest_path.as_std_path()).parse().unwrap();
        let of_workspace =
            |value: &toml::Value| value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        if !manifest.get("lints").is_some_and(of_workspace) {
            problems.push(format!(
                "{} does not take the lints of the workspace",
                package.name
            ));
        }
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, value) in manifest
                .get(table)
                .and_then(toml::Value::as_table)
                .into_iter()
                .flatten()
            {
                if !of_workspace(value) {
                    problems.push(format!("{} has its own version of {name}", package.name));
                }
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn no_module_has_an_empty_name() {
    let mut problems = Vec::new();
    for path in sources() {
        let relative = shown(&path);
        for part in Path::new(&relative).with_extension("").components() {
            if EMPTY_NAMES.iter().any(|name| part.as_os_str() == *name) {
                problems.push(format!("{relative} is called after nothing"));
            }
        }
        for line in read(&path).lines() {
            let words: Vec<&str> = line
                .split(|other: char| !other.is_alphanumeric() && other != '_')
                .collect();
            let module = words
                .iter()
                .position(|word| *word == "mod")
                .filter(|_| line.trim_end().ends_with([';', '{']));
            let name = module.and_then(|at| words.get(at + 1));
            if name.is_some_and(|name| EMPTY_NAMES.contains(name)) {
                problems.push(format!("{relative}: {line}"));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn no_file_is_too_long_without_its_tests() {
    let mut problems = Vec::new();
    for path in sources() {
        let relative = shown(&path);
        if relative.contains("/tests/") || relative.ends_with("/tests.rs") {
            continue;
        }
        let lines = read(&path)
            .lines()
            .take_while(|line| !line.starts_with("#[cfg(test)]"))
            .count();
        if lines > MAX_LINES {
            problems.push(format!("{relative} has {lines} lines without its tests"));
        }
    }
    assert_none(&problems);
}

#[test]
fn every_path_on_the_map_exists() {
    let map = read(&root().join("ARCHITECTURE.md"));
    // Every other part between backticks is code; a path has a slash after a name without a dot, other than
    // `search.v1.SearchService/Companies`.
    let code = map.split('`').skip(1).step_by(2);
    let is_path = |text: &&str| {
        let first = text.split_once('/').map_or("", |(first, _)| first);
        !first.is_empty()
            && first
                .chars()
                .all(|char| char.is_ascii_alphanumeric() || char == '-' || char == '_')
    };
    let paths: Vec<&str> = code
        .filter(|text| !text.contains([' ', '\n']))
        .filter(is_path)
        .collect();
    assert!(paths.len() > 10, "the paths were not found");
    let missing = paths.iter().filter(|path| !root().join(path).exists());
    let problems: Vec<String> = missing
        .map(|path| format!("ARCHITECTURE.md names {path}, which is not there"))
        .collect();
    assert_none(&problems);
}

/// The form of a table that a statement selects all of changes with a later version's migration, under a process that runs.
#[test]
fn no_statement_selects_all_columns_of_a_table() {
    let mut problems = Vec::new();
    for path in sources() {
        let relative = shown(&path);
        if !relative.starts_with("services/") || relative.contains("/tests/") {
            continue;
        }
        for line in read(&path).lines() {
            let rest = line.split_once("SELECT * FROM ").map(|(_, rest)| rest);
            if rest.is_some_and(|rest| !rest.starts_with("unnest(")) || line.contains("RETURNING *") {
                problems.push(format!("{relative}: {}", line.trim()));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_test_that_a_claim_names_exists() {
    assert_tests_exist("docs/security.md", 20);
    assert_tests_exist("docs/comparison.md", 10);
}

/// The tests that a document names, of which there are more than so many.
fn assert_tests_exist(document: &str, more_than: usize) {
    let text = read(&root().join(document));
    let named: Vec<(&str, &str)> = text
        .split('`')
        .filter_map(|code| code.split_once(".rs::"))
        .collect();
    assert!(named.len() > more_than, "the tests were not found");
    let is_there = |(file, test): &(&str, &str)| {
        let source = fs::read_to_string(root().join(format!("{file}.rs"))).unwrap_or_default();
        let mut lines = source.lines().map(str::trim);
        // Its attribute stands above it.
        let attributed = |line: &str| line.starts_with("#[") && line.contains("test");
        let mut tested = false;
        lines.any(|line| {
            let found = tested && line.contains(&format!("fn {test}("));
            tested = attributed(line) || (tested && !line.is_empty() && !line.contains("fn "));
            found
        })
    };
    let missing = named.iter().filter(|named| !is_there(named));
    let problems: Vec<String> = missing
        .map(|(file, test)| format!("{document} names {file}.rs::{test}, which is not there"))
        .collect();
    assert_none(&problems);
}
