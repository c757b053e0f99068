//! Two replicas of each process, asked without a break, for tests that replace them one after the other: as a rollout does
//! it, with other settings, other secrets, or another version's binaries.
//!
//! What stands before the replicas is played here. A balancer sends nothing to a gateway that is about to end, and waits
//! for what that has; whoever imports does the same with the search service. Between gateways and services nobody stands:
//! gateways call all replicas of a service. Those of old versions knew one address; then each gateway calls the services of
//! its own number, and is drained with them.

mod load;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use devstack::{Options, Part, Service};
use proto::search::v1::import_record::Change;
use system_tests::{World, company, expect_another_version};

pub(crate) use self::load::Load;
use self::load::person;
use crate::replica::Replica;

/// Secrets before and after they are changed.
pub(crate) const OLD: &str = "old-0123456789-0123456789-0123456789";
pub(crate) const NEW: &str = "new-0123456789-0123456789-0123456789";

/// Those that the gateways call.
pub(crate) const SERVICES: [Service; 3] = [Service::Search, Service::Keys, Service::Billing];

/// Fleets take turns: one is all that a small machine can keep answering.
static TURN: Mutex<()> = Mutex::new(());

/// Companies that are searched for, and people; their numbers stay the same.
const RECORDS: u32 = 50;

/// Name of a setting of this service.
pub(crate) fn setting(service: Service, name: &str) -> String {
    format!("DS_{}__{}", service.name().to_uppercase(), name.to_uppercase())
}

/// The operator's token and these of the gateways, as services are told what to accept.
pub(crate) fn tokens(world: &World, gateways: &[&str]) -> String {
    let operator = format!(
        "operator:search+keys+verify+charge+admin:{}",
        world.environment.service_token
    );
    let gateways = gateways
        .iter()
        .map(|token| format!("gateway:search+keys+verify+charge:{token}"));
    gateways.chain([operator]).collect::<Vec<_>>().join(",")
}

/// A replica, as what stands before it knows it. (Its address is not asked of the stack, which answers nobody while it waits
/// for a process.)
struct Backend {
    part: Part,
    address: String,
    takes: RwLock<bool>,
}

impl Backend {
    fn replicas(world: &World, service: Service) -> [Self; 2] {
        [1, 2].map(|replica| {
            let part = Part::Process(service, replica);
            let address = match service {
                Service::Gateway => world.stack.address(part).unwrap(),
                _ => world.service_address(part),
            };
            Self {
                part,
                address,
                takes: RwLock::new(true),
            }
        })
    }

    /// Sends it nothing more, and waits for what it has.
    fn drain(&self) {
        *self.takes.write().unwrap() = false;
    }

    fn admit(&self) {
        *self.takes.write().unwrap() = true;
    }

    /// Address of one that takes requests, of another each turn; it is not drained before the guard is dropped.
    fn pick(backends: &[Self; 2], turn: usize) -> Option<(&str, RwLockReadGuard<'_, bool>)> {
        let both = backends.iter().cycle().skip(turn % 2).take(2);
        both.map(|backend| (backend.address.as_str(), backend.takes.read().unwrap()))
            .find(|(_, takes)| **takes)
    }
}

/// Tells a gateway that is started next where the services are.
fn tell_addresses(world: &World, calls_all: bool, gateway: u8) {
    for service in SERVICES {
        let replicas = if calls_all { vec![1, 2] } else { vec![gateway] };
        let addresses = replicas
            .into_iter()
            .map(|replica| world.service_address(Part::Process(service, replica)));
        let addresses = addresses.collect::<Vec<_>>().join(",");
        let url = setting(Service::Gateway, &format!("{}_url", service.name()));
        world.stack.set(&url, &addresses);
    }
}

/// The replicas, and what callers see of them.
pub(crate) struct Fleet {
    pub(crate) world: World,
    pub(crate) load: Load,
    gateways: [Backend; 2],
    /// For those who import and reveal.
    searches: [Backend; 2],
    /// Whether a gateway calls all replicas of a service, or the one of its own number.
    calls_all: bool,
    /// Dropped after the world has ended.
    _turn: MutexGuard<'static, ()>,
}

impl Fleet {
    pub(crate) fn start(options: Options) -> Self {
        Self::of(World::start(options))
    }

    /// The replicas of a world that has one of each; what it is told is theirs too.
    pub(crate) fn of(world: World) -> Self {
        let fleet = Self::double(world);
        assert!(fleet.calls_all, "a gateway calls all replicas of a service");
        fleet
    }

    /// Of another version's binaries.
    pub(crate) fn of_version(binaries: &Path) -> Self {
        expect_another_version();
        let options = Options::new().binaries(binaries.to_owned());
        Self::double(World::start(options))
    }

    fn double(world: World) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        world.stack.set("DS_GATEWAY__SERVICE_TOKEN", OLD);
        for service in SERVICES {
            // A machine that is busy with tests is no database that is away.
            world
                .stack
                .set(&setting(service, "database_acquire_timeout"), "20s");
            let accepted = tokens(&world, &[OLD]);
            world.stack.set(&setting(service, "service_tokens"), &accepted);
            world.stack.restart(service).unwrap();
            world.stack.start_another(service).unwrap();
        }
        let mut calls_all = true;
        tell_addresses(&world, calls_all, 1);
        if world.stack.restart(Service::Gateway).is_err() {
            calls_all = false;
            tell_addresses(&world, calls_all, 1);
            world.stack.restart(Service::Gateway).unwrap();
        }
        tell_addresses(&world, calls_all, 2);
        world.stack.start_another(Service::Gateway).unwrap();
        let fleet = Self {
            load: Load::new(&world),
            gateways: Backend::replicas(&world, Service::Gateway),
            searches: Backend::replicas(&world, Service::Search),
            world,
            calls_all,
            _turn: turn,
        };
        let records = (0..RECORDS).flat_map(|number| {
            let company = company(&format!("c{number}"), &format!("Rollout {number}"));
            [
                Change::Company(company),
                Change::Person(person(number, "at the start")),
            ]
        });
        fleet.world.operator.import(records);
        fleet.wait_for_suggestions();
        fleet
    }

    /// Until each replica of the search has counted what it suggests. (Whoever replaces them leaves each the time for it.)
    fn wait_for_suggestions(&self) {
        for backend in &self.searches {
            let replica = Replica::of(&self.world, &backend.address);
            self.world.operator.block_on(replica.wait_for_suggestions());
        }
    }

    /// Replaces both replicas, one after the other.
    pub(crate) fn roll(&self, service: Service) {
        self.roll_after(service, |_| {});
    }

    /// The same; before each is replaced, this is done to it.
    pub(crate) fn roll_after(&self, service: Service, prepare: impl Fn(Part)) {
        for replica in [1, 2] {
            let (part, gateway) = (
                Part::Process(service, replica),
                Part::Process(Service::Gateway, replica),
            );
            let backends = self.gateways.iter().chain(&self.searches);
            let drained: Vec<_> = backends
                .filter(|backend| backend.part == part || (!self.calls_all && backend.part == gateway))
                .collect();
            for backend in &drained {
                backend.drain();
            }
            tell_addresses(&self.world, self.calls_all, replica);
            prepare(part);
            self.world.stack.restart(part).unwrap();
            self.wait_for_suggestions();
            for backend in drained {
                backend.admit();
            }
            self.go_on();
        }
    }

    /// Processes that are started from now on have these settings.
    pub(crate) fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.world.stack.set(name, value);
        }
    }

    pub(crate) fn roll_with(&self, service: Service, settings: &[(&str, &str)]) {
        self.set(settings);
        self.roll(service);
    }
}
