//! Every process is replaced while callers ask without a break, and no request is lost: two replicas of each, one after the
//! other, as a rollout does it. Secrets are changed in the same way, in the steps that `docs/operations.md` tells.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Instant;

use devstack::{Options, Part, Service};
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, Answer, World, company, person, session};

use crate::parts::PATIENCE;

/// Those who ask without a break.
const CALLERS: usize = 6;

/// Answers between two restarts.
const BETWEEN: u64 = 60;

/// Secrets before and after they are changed.
const OLD: &str = "old-0123456789-0123456789-0123456789";
const NEW: &str = "new-0123456789-0123456789-0123456789";

/// Those that the gateways call.
const SERVICES: [Service; 3] = [Service::Search, Service::Keys, Service::Billing];

/// The setting of the tokens that a service accepts.
fn tokens_of(service: Service) -> String {
    format!("DS_{}__SERVICE_TOKENS", service.name().to_uppercase())
}

/// The operator's token and these of the gateways.
fn tokens(world: &World, gateways: &[&str]) -> String {
    let operator = format!(
        "operator:search+keys+verify+charge+admin:{}",
        world.environment.service_token
    );
    let gateways = gateways
        .iter()
        .map(|token| format!("gateway:search+keys+verify+charge:{token}"));
    gateways.chain([operator]).collect::<Vec<_>>().join(",")
}

/// Two replicas of each process, and what callers see of them.
struct Fleet {
    world: World,
    /// Whether requests go to each gateway: a balancer sends none to one that is about to end, and waits for those that
    /// it has.
    gateways: [(Part, RwLock<bool>); 2],
    /// What sessions are signed with now.
    session_secret: Mutex<String>,
    answered: AtomicU64,
    charged: AtomicU64,
    wrong: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl Fleet {
    fn start(options: Options) -> Self {
        let world = World::start(options);
        world.stack.set("DS_GATEWAY__SERVICE_TOKEN", OLD);
        for service in SERVICES {
            world.stack.set(&tokens_of(service), &tokens(&world, &[OLD]));
            world.stack.restart(service).unwrap();
            let another = world.stack.start_another(service).unwrap();
            let addresses = [service.into(), another].map(|part| world.stack.address(part).unwrap());
            let setting = format!("DS_GATEWAY__{}_URL", service.name().to_uppercase());
            world.stack.set(&setting, &addresses.join(","));
        }
        world.stack.restart(Service::Gateway).unwrap();
        let gateways = [
            Service::Gateway.into(),
            world.stack.start_another(Service::Gateway).unwrap(),
        ];
        let session_secret = world.environment.jwt_secret.clone();
        let companies =
            (0..50_u32).map(|number| company(&format!("c{number}"), &format!("Rollout {number}")));
        let people = (0..50_u32).map(|number| {
            let mut person = person(&format!("p{number}"), &format!("Ada Example {number}"));
            person.company_external_id = Some(format!("c{number}"));
            person
        });
        let changes: Vec<_> = companies
            .map(Change::Company)
            .chain(people.map(Change::Person))
            .collect();
        world.operator.import(changes);
        Self {
            world,
            gateways: gateways.map(|part| (part, RwLock::new(true))),
            session_secret: Mutex::new(session_secret),
            answered: AtomicU64::new(0),
            charged: AtomicU64::new(0),
            wrong: Mutex::new(Vec::new()),
            is_over: AtomicBool::new(false),
        }
    }

    /// Asks without a break until all is over, as an account of its own.
    fn ask(&self, account: &Account, number: usize) {
        let mut cursor = Value::Null;
        for turn in number.. {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let gateways = self.gateways.iter().cycle().skip(turn % 2).take(2);
            let Some((part, _in)) = gateways
                .map(|(part, goes)| (part, goes.read().unwrap()))
                .find(|(_, goes)| **goes)
            else {
                continue;
            };
            let base = format!("{}/api/v1", self.world.stack.address(*part).unwrap());
            let mut account = account.at(&base);
            account.jwt = session(&account.id, &self.session_secret.lock().unwrap());
            match turn % 8 {
                0 => self.change_keys(&account),
                1 | 5 => self.is_answered(&account.keys(Method::GET, "", None)),
                2 | 6 => {
                    let people = account.people(&json!({"limit": 3, "fields": ["id"]}));
                    self.is_charged(&people, 50);
                }
                _ => {
                    let page =
                        json!({"companyName": "rollout", "limit": 7, "fields": ["name"], "cursor": cursor});
                    let companies = account.companies(&page);
                    self.is_charged(&companies, 50);
                    cursor = companies.body["data"]["nextCursor"].clone();
                }
            }
        }
    }

    /// A key is made, renamed, used, revoked.
    fn change_keys(&self, account: &Account) {
        let made = account.keys(Method::POST, "", Some(json!({"name": "rollout"})));
        self.is_answered(&made);
        let id = made.body["key"]["id"].as_str().unwrap_or_default();
        let path = format!("/{id}");
        self.is_answered(&account.keys(Method::PATCH, &path, Some(json!({"name": "rolled"}))));
        self.is_answered(&account.keys(Method::DELETE, &path, None));
    }

    fn is_charged(&self, answer: &Answer, total: i64) {
        self.is_answered(answer);
        if answer.status == 200 {
            self.charged.fetch_add(1, Ordering::SeqCst);
            if answer.body["data"]["total"] != total {
                self.note(answer);
            }
        }
    }

    fn is_answered(&self, answer: &Answer) {
        if (200..300).contains(&answer.status) {
            self.answered.fetch_add(1, Ordering::SeqCst);
        } else {
            self.note(answer);
        }
    }

    fn note(&self, answer: &Answer) {
        self.wrong
            .lock()
            .unwrap()
            .push(format!("{} {}", answer.status, answer.body));
    }

    fn assert_nothing_is_wrong(&self) {
        let wrong = self.wrong.lock().unwrap();
        assert!(
            wrong.is_empty(),
            "{} requests failed: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(10)]
        );
    }

    /// Until so many more requests are answered.
    fn go_on(&self) {
        let (until, begun) = (self.answered.load(Ordering::SeqCst) + BETWEEN, Instant::now());
        while self.answered.load(Ordering::SeqCst) < until {
            self.assert_nothing_is_wrong();
            assert!(begun.elapsed() < PATIENCE, "nobody is answered any more");
            thread::yield_now();
        }
    }

    /// Replaces both replicas, one after the other.
    fn roll(&self, service: Service) {
        for part in [Part::from(service), Part::Process(service, 2)] {
            let gateway = self.gateways.iter().find(|(gateway, _)| *gateway == part);
            if let Some((_, goes)) = gateway {
                *goes.write().unwrap() = false;
            }
            self.world.stack.restart(part).unwrap();
            if let Some((_, goes)) = gateway {
                *goes.write().unwrap() = true;
            }
            self.go_on();
        }
    }

    /// Processes that are started from now on have these settings.
    fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.world.stack.set(name, value);
        }
    }

    fn roll_with(&self, service: Service, settings: &[(&str, &str)]) {
        self.set(settings);
        self.roll(service);
    }

    /// Does this while everybody asks; in the end every request was answered, and charged once.
    fn while_asked(&self, what: impl FnOnce()) {
        let accounts: Vec<_> = (0..CALLERS).map(|_| self.world.account()).collect();
        thread::scope(|scope| {
            // Whether what follows goes well or not.
            let _over = Over(&self.is_over);
            for (number, account) in accounts.iter().enumerate() {
                scope.spawn(move || self.ask(account, number));
            }
            self.go_on();
            what();
        });
        self.assert_nothing_is_wrong();
        let left: i64 = accounts
            .iter()
            .map(|account| self.world.operator.balance(&account.id))
            .sum();
        let granted = 100_000 * i64::try_from(CALLERS).unwrap();
        assert_eq!(
            u64::try_from(granted - left).unwrap(),
            self.charged.load(Ordering::SeqCst)
        );
    }
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

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

#[test]
fn every_secret_is_changed_and_no_request_is_lost() {
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
        let begun = Instant::now();
        while !is_told(&fleet.world, Service::Keys, "keys_active{pepper=\"previous\"} 0") {
            assert!(begun.elapsed() < PATIENCE, "keys stay with the previous pepper");
            fleet.go_on();
        }
        fleet.roll_with(Service::Keys, &[("DS_KEYS__PREVIOUS_PEPPER", "")]);

        // What sessions are signed with.
        let first = fleet.world.environment.jwt_secret.as_str();
        fleet.roll_with(Service::Gateway, &[("DS_GATEWAY__PREVIOUS_SESSION_SECRET", NEW)]);
        NEW.clone_into(&mut fleet.session_secret.lock().unwrap());
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
                fleet.roll_with(service, &[(&tokens_of(service), tokens)]);
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
