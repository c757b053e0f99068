//! Every secret is changed while callers ask without a break, in the steps that `docs/operations.md` tells, and no request is
//! lost: all replicas of a step are replaced before the next one.

mod certificates;
mod issuer;
mod stores;

use devstack::{Options, Part, Service};
use system_tests::{World, session, until};

use crate::fleet::{Fleet, NEW, OLD, SERVICES, setting, tokens};

#[test]
fn keys_and_tokens_are_changed_and_no_request_is_lost() {
    let options = Options::new()
        .setting("DS_SEARCH__CURSOR_KEY", OLD)
        .setting("DS_KEYS__PEPPER", OLD);
    let fleet = Fleet::start(options);
    fleet.while_asked(|| {
        // The key that cursors are signed with.
        fleet.roll_with(Service::Search, &[("DS_SEARCH__PREVIOUS_CURSOR_KEY", NEW)]);
        let swapped = [
            ("DS_SEARCH__CURSOR_KEY", NEW),
            ("DS_SEARCH__PREVIOUS_CURSOR_KEY", OLD),
        ];
        fleet.roll_with(Service::Search, &swapped);
        fleet.roll_with(Service::Search, &[("DS_SEARCH__PREVIOUS_CURSOR_KEY", "")]);

        // The pepper.
        fleet.roll_with(Service::Keys, &[("DS_KEYS__PREVIOUS_PEPPER", NEW)]);
        fleet.roll_with(
            Service::Keys,
            &[("DS_KEYS__PEPPER", NEW), ("DS_KEYS__PREVIOUS_PEPPER", OLD)],
        );
        until("no key has the previous pepper", || {
            fleet.go_on();
            is_told(&fleet.world, Service::Keys, "keys_active{pepper=\"previous\"} 0")
        });
        fleet.roll_with(Service::Keys, &[("DS_KEYS__PREVIOUS_PEPPER", "")]);

        // What sessions are signed with.
        let first = fleet.world.environment.jwt_secret.as_str();
        fleet.roll_with(Service::Gateway, &[("DS_GATEWAY__PREVIOUS_SESSION_SECRET", NEW)]);
        fleet.load.sign_with(|account| session(account, NEW));
        fleet.roll_with(
            Service::Gateway,
            &[
                ("DS_GATEWAY__SESSION_SECRET", NEW),
                ("DS_GATEWAY__PREVIOUS_SESSION_SECRET", first),
            ],
        );
        fleet.roll_with(Service::Gateway, &[("DS_GATEWAY__PREVIOUS_SESSION_SECRET", "")]);

        // The token of the gateways: services take two, gateways show the new one, services forget the old one.
        let take = |tokens: &str| {
            for service in SERVICES {
                fleet.roll_with(service, &[(&setting(service, "service_tokens"), tokens)]);
            }
        };
        take(&tokens(&fleet.world, &[OLD, NEW]));
        fleet.roll_with(Service::Gateway, &[("DS_GATEWAY__SERVICE_TOKEN", NEW)]);
        take(&tokens(&fleet.world, &[NEW]));
    });
}

/// Whether a process tells this line among its metrics.
fn is_told(world: &World, part: impl Into<Part>, line: &str) -> bool {
    let address = world.stack.admin_address(part).unwrap();
    let metrics = reqwest::blocking::get(format!("{address}/metrics"))
        .unwrap()
        .text()
        .unwrap();
    metrics.lines().any(|told| told == line)
}
