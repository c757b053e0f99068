//! The programs of the services, for tests that run one by itself.

use std::path::PathBuf;

use devstack::Service;

/// The program of a service, beside the tests' own.
#[must_use]
pub fn program(service: Service) -> PathBuf {
    let here = std::env::current_exe().expect("a running test has a path");
    let profile = here.parent().and_then(|deps| deps.parent());
    profile
        .expect("tests are in target/<profile>/deps")
        .join(service.name())
}
