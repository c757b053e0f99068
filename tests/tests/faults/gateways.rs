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
        let shares = |part| metric(self.world, part, "gateway_rate_limit_shared") == Some(1.0);
        self.parts.into_iter().all(shares)
    }

    /// Whether both hear of changes of keys.
    pub(crate) fn hear_of_changes(&self) -> bool {
        let hears = |part| metric(self.world, part, "gateway_key_changes_heard") == Some(1.0);
        self.parts.into_iter().all(hears)
    }
}

/// The sum of a metric of a process over all its labels; none if it has not been told yet.
pub(crate) fn metric(world: &World, part: Part, name: &str) -> Option<f64> {
    let address = format!("{}/metrics", world.stack.admin_address(part).unwrap());
    let text = reqwest::blocking::get(address).unwrap().text().unwrap();
    let of_name = |line: &str| {
        let rest = line.strip_prefix(name)?;
        let is_whole = rest.starts_with(['{', ' ']);
        is_whole.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
    };
    let values: Vec<f64> = text.lines().filter_map(of_name).collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

/// The cheapest search.
pub(crate) fn search(account: &Account) -> Answer {
    account.companies(&json!({"limit": 1, "fields": ["id"]}))
}
