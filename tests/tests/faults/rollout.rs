//! Every process is replaced while callers ask without a break, and no request is lost.

use std::fs;
use std::path::{Path, PathBuf};

use devstack::{Options, Part, Service};

use crate::fleet::Fleet;

#[test]
fn every_process_is_replaced_and_no_request_is_lost() {
    let fleet = Fleet::start(Options::new());
    fleet.while_asked(|| {
        for _ in 0..2 {
            for service in Service::ALL {
                fleet.roll(service);
            }
        }
    });
}

/// The files that name the generations of a replica's index, and its format.
fn currents(folder: &Path) -> Vec<PathBuf> {
    let indexes = fs::read_dir(folder).unwrap();
    let currents = indexes.map(|index| index.unwrap().path().join("current"));
    currents.filter(|current| current.exists()).collect()
}

/// A replica that has no index yet is not called for what it would have to refuse.
#[test]
fn a_replica_that_builds_its_index_anew_loses_no_request() {
    let fleet = Fleet::start(Options::new());
    let folder = fleet.world.stack.folder().join("index");
    let damage = |part: Part| {
        let currents = currents(&folder.join(part.to_string()));
        assert!(!currents.is_empty(), "{part} has an index");
        for current in currents {
            fs::write(current, "1 1\n").unwrap();
        }
    };
    fleet.while_asked(|| fleet.roll_after(Service::Search, damage));
    for replica in ["search", "search-2"] {
        let log = fleet
            .world
            .stack
            .folder()
            .join("logs")
            .join(format!("{replica}.log"));
        let log = fs::read_to_string(log).unwrap();
        assert!(log.contains("the index can't be used"), "{replica}: {log}");
    }
}
