//! From another version to this one while callers ask without a break, and no request is lost: `./dev test --upgrade-from`.
//!
//! The order is that of `docs/operations.md`: databases first, whose new form leaves the old version at work; then one
//! replica after the other, so that each version's gateways call the other's services. Every step can be taken back, but
//! for the databases, which nobody takes back: the old version starts on the new form as well.

use std::fs;
use std::path::{Path, PathBuf};

use devstack::{Part, Service};

use crate::fleet::Fleet;

/// The other version's binaries.
#[expect(clippy::disallowed_methods, reason = "./dev tells where it has built them")]
fn previous() -> PathBuf {
    let folder = std::env::var_os("DS_TEST__PREVIOUS_BINARIES");
    PathBuf::from(folder.expect("./dev test --upgrade-from names the folder"))
}

/// Both replicas of each service, in this order.
fn roll_all(fleet: &Fleet, services: impl IntoIterator<Item = Service>) {
    for service in services {
        fleet.roll(service);
    }
}

/// The processes are of the other version, or of this one: where the system tells what a process runs.
fn assert_run(fleet: &Fleet, services: &[Service], binaries: &Path, are_there: bool) {
    for part in services
        .iter()
        .flat_map(|service| [1, 2].map(|replica| Part::Process(*service, replica)))
    {
        let pid = fleet.world.stack.pid(part).unwrap();
        if let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) {
            assert_eq!(
                program.starts_with(binaries),
                are_there,
                "{part}: {}",
                program.display()
            );
        }
    }
}

#[test]
#[ignore = "needs another version's binaries, which ./dev test --upgrade-from builds"]
fn another_version_is_replaced_by_this_one_and_back_and_no_request_is_lost() {
    let previous = previous();
    let fleet = Fleet::of_version(&previous);
    let stack = &fleet.world.stack;
    let is_old = |services: &[Service], is_old| assert_run(&fleet, services, &previous, is_old);
    fleet.while_asked(|| {
        is_old(&Service::ALL, true);
        stack.use_own_binaries();
        stack.migrate().unwrap();
        eprintln!("migrated; the old version goes on");
        fleet.go_on();

        // Services first: old gateways call new services.
        for service in Service::ALL {
            fleet.roll(service);
            is_old(&[service], false);
        }
        eprintln!("all is of this version");

        // Back: new gateways call old services.
        stack.use_binaries(previous.clone());
        for service in Service::ALL {
            fleet.roll(service);
            is_old(&[service], true);
        }
        eprintln!("all is of the old version again, on the new form of the databases");

        // And forward in another order: new gateways call old services once more, each service for itself.
        stack.use_own_binaries();
        stack.migrate().unwrap();
        roll_all(&fleet, Service::ALL.into_iter().rev());
        is_old(&Service::ALL, false);
    });
    let verified = stack
        .dsctl()
        .unwrap()
        .args(["credits", "verify"])
        .output()
        .unwrap();
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stderr)
    );
}
