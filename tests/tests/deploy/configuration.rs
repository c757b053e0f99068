//! `docs/configuration.md`, and the names of settings wherever else they are written down.

use regex::Regex;

use crate::{assert_none, files, processes, read, root};

#[test]
fn the_document_of_settings_is_what_the_processes_say() {
    let path = root().join(devstack::configuration::FILE);
    let written = read(&path);
    assert!(
        devstack::configuration::refreshed(&written).unwrap() == written,
        "{} is not what the processes say: `./dev docs` writes it anew",
        devstack::configuration::FILE
    );
}

#[test]
fn every_setting_that_is_named_is_known() {
    let known = processes::variables();
    let root = root();
    let mut named = vec![root.join("README.md"), root.join("docker-compose.yml")];
    named.extend(files(&root.join("docs")));
    named.extend(files(&root.join("deploy")));
    let pattern = Regex::new("DS_[A-Z]+__[A-Z0-9_]+").unwrap();
    let mut found = 0;
    let mut problems = Vec::new();
    for path in named.iter().filter(|path| path.exists()) {
        let Ok(text) = String::from_utf8(std::fs::read(path).unwrap()) else {
            continue;
        };
        for name in pattern.find_iter(&text).map(|found| found.as_str()) {
            found += 1;
            if !known.iter().any(|known| known == name) {
                problems.push(format!("{}: no process knows {name}", path.display()));
            }
        }
    }
    assert!(found > 100, "the settings were not found");
    assert_none(&problems);
}
