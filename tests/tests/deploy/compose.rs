//! `docker-compose.yml` and the images: every setting that a process must have is given.

use std::collections::{BTreeMap, BTreeSet};

use devstack::Service;
use regex::Regex;
use serde_json::Value;

use crate::{assert_none, documents, list, processes, read, root};

/// Names in the `environment` of a service, which is a map or a list.
fn environment(service: &Value) -> BTreeSet<String> {
    let environment = &service["environment"];
    let of_map = environment
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys().cloned());
    let of_list = list(environment).iter().filter_map(|entry| {
        let entry = entry.as_str()?;
        Some(entry.split_once('=').map_or(entry, |(name, _)| name).to_owned())
    });
    of_map.chain(of_list).collect()
}

#[test]
fn every_process_is_given_what_it_must_have() {
    let path = root().join("docker-compose.yml");
    let dockerfile = read(&root().join("deploy/docker/Dockerfile"));
    let mut problems = Vec::new();
    let mut processes_found = BTreeSet::new();
    let compose = documents(&path).remove(0);
    for (name, service) in compose["services"].as_object().unwrap() {
        let Some(process) = Service::ALL.into_iter().find(|process| {
            let image = format!("developer-search-{}", process.name());
            let named = service["image"].as_str().unwrap_or_default();
            named.split([':', '$']).next() == Some(image.as_str())
        }) else {
            continue;
        };
        let command = list(&service["command"]);
        let migrates =
            command.iter().any(|argument| argument == "migrate") || service["command"] == "migrate";
        processes_found.insert((process, migrates));
        let given = environment(service);
        for setting in processes::settings(process)
            .iter()
            .filter(|setting| setting.is_required)
        {
            let is_given = given.contains(&setting.name)
                || given.contains(&format!("{}_FILE", setting.name))
                || dockerfile.contains(&format!("{}=", setting.name));
            let is_needed = !migrates || setting.name.contains("__DATABASE_");
            if is_needed && !is_given {
                problems.push(format!("{name} is not given {}", setting.name));
            }
        }
    }
    assert_eq!(
        processes_found.iter().filter(|(_, migrates)| !migrates).count(),
        Service::ALL.len(),
        "a service of docker-compose.yml for each process"
    );
    assert_none(&problems);
}

#[test]
fn ports_are_those_that_the_images_listen_on() {
    let path = root().join("docker-compose.yml");
    let dockerfile = read(&root().join("deploy/docker/Dockerfile"));
    let mut listening = BTreeMap::new();
    for process in Service::ALL {
        let port = |setting: &str| {
            let name = format!("DS_{}__{setting}=0.0.0.0:", process.name().to_uppercase());
            let (_, after) = dockerfile.split_once(&name).unwrap();
            after.split([' ', '\n']).next().unwrap().to_owned()
        };
        let (public, admin) = (port("LISTEN"), port("ADMIN_LISTEN"));
        assert!(
            dockerfile.contains(&format!("EXPOSE {public} {admin}\n")),
            "{} exposes what it listens on",
            process.name()
        );
        listening.insert(process.name(), public);
    }
    let compose = read(&path);
    let mut problems = Vec::new();
    let addresses = Regex::new(r"http://(search|keys|billing|gateway)[a-z0-9-]*:(\d+)").unwrap();
    let mut found = BTreeSet::new();
    for address in addresses.captures_iter(&compose) {
        let (process, port) = (&address[1], &address[2]);
        found.insert(process.to_owned());
        if listening[process] != port {
            problems.push(format!("{} is not where {process} listens", &address[0]));
        }
    }
    assert_eq!(found.len(), Service::ALL.len(), "the addresses were not found");
    // At the end of what is published.
    let published = Regex::new(r#"(?m):(7\d{3})"?\]?$"#).unwrap();
    for port in published.captures_iter(&compose).map(|port| port[1].to_owned()) {
        if !listening.values().any(|known| *known == port) {
            problems.push(format!("nobody listens on {port}, which is published"));
        }
    }
    assert_none(&problems);
}
