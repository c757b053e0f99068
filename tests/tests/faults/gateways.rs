//! Two gateways of one system, asked by one account.

use devstack::{Part, Service};
use serde_json::json;
use system_tests::{Account, Answer, World};

/// The first gateway and another one.
pub(crate) struct Gateways<'a> {
    world: &'a World,
    parts: [Part; 2],
}

impl<'a> Gateways<'a> {
    /// Starts the other one.
    pub(crate) fn of(world: &'a World) -> Self {
        let another = world.stack.start_another(Service::Gateway).unwrap();
        let parts = [Service::Gateway.into(), another];
        Self { world, parts }
    }

    /// The processes.
    pub(crate) fn parts(&self) -> [Part; 2] {
        self.parts
    }

    /// The account, asking at each of them.
    pub(crate) fn for_account(&self, account: &Account) -> [Account; 2] {
        self.parts
            .map(|part| account.at(&format!("{}/api/v1", self.world.stack.address(part).unwrap())))
    }

    /// Whether both limit by what they share in Redis.
    pub(crate) fn share_limits(&self) -> bool {
        let shares = |part| self.world.metric(part, "gateway_rate_limit_shared") == Some(1.0);
        self.parts.into_iter().all(shares)
    }

    /// Whether both hear of changes of keys.
    pub(crate) fn hear_of_changes(&self) -> bool {
        let hears = |part| self.world.metric(part, "gateway_key_changes_heard") == Some(1.0);
        self.parts.into_iter().all(hears)
    }
}

/// The cheapest search.
pub(crate) fn search(account: &Account) -> Answer {
    account.companies(&json!({"limit": 1, "fields": ["id"]}))
}
