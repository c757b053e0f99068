//! What is deployed is what the processes know: names of settings, ports, secrets, and the document of all settings.
//! The processes are asked themselves; none is started.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod compose;
mod configuration;
mod kubernetes;
mod processes;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents of a YAML file.
fn documents(path: &Path) -> Vec<Value> {
    serde_saphyr::from_multiple(&read(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder, but for the secrets that somebody may have made up there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                files.push(path);
            } else if path.file_name().unwrap() != "secrets" {
                folders.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The elements of a list; none if there is no list.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text that has to be there.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
