//! Every process is replaced while callers ask without a break, and no request is lost.

use devstack::{Options, Service};

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
