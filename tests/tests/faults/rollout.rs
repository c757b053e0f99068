//! Every process is replaced while callers ask without a break, and no request is lost.

use std::fs;
use std::path::{Path, PathBuf};

use devstack::{Options, Service};

use crate::fleet::Fleet;

#[test]
fn every_process_is_replaced_and_no_request_is_lost() {
    let fleet = Fleet::start(Options::new());
    let folder = fleet.world.stack.folder();
    fleet.while_asked(|| {
        for service in Service::ALL {
            fleet.roll(service);
        }
        // Once more; the search without an index that it can use: it is called for nothing before it has built one.
        for service in Service::ALL {
            fleet.roll_after(service, |part| {
                if service == Service::Search {
                    damage(&folder.join("index").join(part.to_string()));
                }
            });
        }
    });
    for replica in ["search", "search-2"] {
        let log = folder.join("logs").join(format!("{replica}.log"));
        let log = fs::read_to_string(log).unwrap();
        assert!(log.contains("the index can't be used"), "{replica}: {log}");
    }
}

/// Makes a replica's index one of another format, for its next start.
fn damage(folder: &Path) {
    let indexes = fs::read_dir(folder).unwrap();
    let currents = indexes.map(|index| index.unwrap().path().join("current"));
    let currents = currents
        .filter(|current| current.exists())
        .collect::<Vec<PathBuf>>();
    assert!(!currents.is_empty(), "{} has an index", folder.display());
    for current in currents {
        fs::write(current, "1 1\n").unwrap();
    }
}
