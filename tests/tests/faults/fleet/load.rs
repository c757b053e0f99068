//! What a fleet is asked meanwhile: searches that are charged, some of them sent twice under one idempotency key, keys that
//! are made, changed and revoked, records that are imported and people who are revealed. Whatever is not answered as it is
//! to be is noted; in the end ledger, index and reveals are held against the answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use proto::search::v1::import_record::Change;
use proto::search::v1::{PersonRecord, SearchQuery};
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, Answer, PATIENCE, World, company, session};

use super::{Backend, Fleet, RECORDS};
use crate::replica::Replica;

/// Those who ask without a break, and one more who imports.
const CALLERS: usize = 6;

/// What each of them has at the start.
const CREDITS: i64 = 100_000;

/// Answers between two restarts.
const BETWEEN: u64 = 60;

/// Makes the session token of an account.
type Signer = Box<dyn Fn(&str) -> String + Send>;

/// What became of all that was asked.
pub(crate) struct Load {
    sign: Mutex<Signer>,
    answered: AtomicU64,
    charged: AtomicU64,
    /// Imports that can be searched.
    found: AtomicU64,
    wrong: Mutex<Vec<String>>,
    imported: Mutex<Imported>,
    /// Account and person.
    revealed: Mutex<BTreeSet<(String, String)>>,
    is_over: AtomicBool,
}

/// What the records have to be in the end.
#[derive(Default)]
struct Imported {
    /// Job titles by the number of a person.
    titles: BTreeMap<u32, String>,
    companies: BTreeSet<String>,
    position: i64,
}

/// One of the people who are searched for.
pub(super) fn person(number: u32, title: &str) -> PersonRecord {
    PersonRecord {
        company_external_id: Some(format!("c{number}")),
        email: Some(format!("p{number}@mail.example")),
        job_title: Some(title.to_owned()),
        ..system_tests::person(&format!("p{number}"), &name_of(number))
    }
}

fn name_of(number: u32) -> String {
    format!("Ada Example {number}")
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Load {
    pub(super) fn new(world: &World) -> Self {
        let secret = world.environment.jwt_secret.clone();
        Self {
            sign: Mutex::new(Box::new(move |account| session(account, &secret))),
            answered: AtomicU64::new(0),
            charged: AtomicU64::new(0),
            found: AtomicU64::new(0),
            wrong: Mutex::default(),
            imported: Mutex::default(),
            revealed: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Sessions are signed by this from now on.
    pub(crate) fn sign_with(&self, sign: impl Fn(&str) -> String + Send + 'static) {
        *self.sign.lock().unwrap() = Box::new(sign);
    }

    fn session(&self, account: &str) -> String {
        (self.sign.lock().unwrap())(account)
    }

    fn note(&self, wrong: String) {
        self.wrong.lock().unwrap().push(wrong);
    }

    fn is_answered(&self, answer: &Answer) {
        if (200..300).contains(&answer.status) {
            self.answered.fetch_add(1, Ordering::SeqCst);
        } else {
            self.note(format!("{} {}", answer.status, answer.body));
        }
    }

    fn is_charged(&self, answer: &Answer) {
        self.is_answered(answer);
        if answer.status == 200 {
            self.charged.fetch_add(1, Ordering::SeqCst);
            if answer.body["data"]["total"] != RECORDS {
                self.note(format!("{}", answer.body));
            }
        }
    }

    fn assert_nothing_is_wrong(&self) {
        // Others go on noting.
        let wrong = self.wrong.lock().unwrap().clone();
        assert!(
            wrong.is_empty(),
            "{} requests failed: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(10)]
        );
    }
}

impl Fleet {
    /// Does this while everybody asks; in the end every request was answered, and charged once, and what was imported is
    /// there.
    pub(crate) fn while_asked(&self, what: impl FnOnce()) {
        let accounts: Vec<_> = (0..CALLERS)
            .map(|_| self.world.account_of(|id| self.load.session(id)))
            .collect();
        thread::scope(|scope| {
            // Whether what follows goes well or not.
            let _over = Over(&self.load.is_over);
            for (number, account) in accounts.iter().enumerate() {
                scope.spawn(move || self.ask(account, number));
            }
            scope.spawn(|| self.import());
            self.go_on();
            what();
        });
        self.load.assert_nothing_is_wrong();
        let left: i64 = accounts
            .iter()
            .map(|account| self.world.operator.balance(&account.id))
            .sum();
        let granted = CREDITS * i64::try_from(CALLERS).unwrap();
        let charged = self.load.charged.load(Ordering::SeqCst);
        assert_eq!(u64::try_from(granted - left).unwrap(), charged);
        let records = self.assert_records();
        self.assert_reveals(&accounts);
        let answered = self.load.answered.load(Ordering::SeqCst);
        eprintln!(
            "{answered} requests answered, {charged} of them charged, {records} records imported: none failed"
        );
    }

    /// Until so many more requests are answered, and what was imported meanwhile can be searched.
    pub(crate) fn go_on(&self) {
        let answered = || self.load.answered.load(Ordering::SeqCst);
        let found = || self.load.found.load(Ordering::SeqCst);
        // An import that has begun before tells nothing of what holds now.
        let (until, until_found, begun) = (answered() + BETWEEN, found() + 2, Instant::now());
        while answered() < until || found() < until_found {
            self.load.assert_nothing_is_wrong();
            assert!(
                begun.elapsed() < PATIENCE,
                "nobody is answered any more, or nothing imported is found"
            );
            thread::yield_now();
        }
    }

    /// Asks without a break until all is over, as an account of its own.
    fn ask(&self, account: &Account, number: usize) {
        let mut cursor = Value::Null;
        for turn in number.. {
            if self.load.is_over.load(Ordering::SeqCst) {
                return;
            }
            let Some((gateway, _taken)) = Backend::pick(&self.gateways, turn) else {
                continue;
            };
            let mut account = account.at(&format!("{gateway}/api/v1"));
            account.jwt = self.load.session(&account.id);
            match turn % 8 {
                0 => self.change_keys(&account),
                1 => self.load.is_answered(&account.keys(Method::GET, "", None)),
                5 => self.load.is_answered(&account.get("/suggest/jobTitles?q=title")),
                2 => self
                    .load
                    .is_charged(&account.people(&json!({"limit": 3, "fields": ["id"]}))),
                6 => self.reveal(&account, turn),
                7 => self.repeat(&account, turn),
                _ => {
                    let page =
                        json!({"companyName": "rollout", "limit": 7, "fields": ["name"], "cursor": cursor});
                    let companies = account.companies(&page);
                    self.load.is_charged(&companies);
                    cursor = companies.body["data"]["nextCursor"].clone();
                }
            }
        }
    }

    /// A key is made, renamed, used, revoked.
    fn change_keys(&self, account: &Account) {
        let made = account.keys(Method::POST, "", Some(json!({"name": "rollout"})));
        self.load.is_answered(&made);
        let mut with_it = account.clone();
        let secret = made.body["secret"].as_str().unwrap_or_default();
        secret.clone_into(&mut with_it.key);
        self.load.is_charged(&with_it.people(&json!({"limit": 1})));
        let id = made.body["key"]["id"].as_str().unwrap_or_default();
        let path = format!("/{id}");
        let renamed = account.keys(Method::PATCH, &path, Some(json!({"name": "rolled"})));
        self.load.is_answered(&renamed);
        self.load.is_answered(&account.keys(Method::DELETE, &path, None));
    }

    /// The same search twice under one idempotency key: it is charged once.
    fn repeat(&self, account: &Account, turn: usize) {
        let key = format!("{}-{turn}", account.id);
        let search = || {
            let body = json!({"limit": 2, "fields": ["fullName"]});
            account.search_with("people", &body, &[("Idempotency-Key", &key)])
        };
        self.load.is_charged(&search());
        let again = search();
        self.load.is_answered(&again);
        if again.header("idempotency-replayed") != Some("true") {
            self.load.note(format!("not known again: {}", again.body));
        }
    }

    /// A person is found, and revealed to the account.
    fn reveal(&self, account: &Account, turn: usize) {
        let people = account.people(&json!({"limit": 1, "page": turn % 50 + 1, "fields": ["id"]}));
        self.load.is_charged(&people);
        let Some(person) = people.body["data"]["rows"][0]["id"].as_str() else {
            return;
        };
        let Some((search, _taken)) = Backend::pick(&self.searches, turn) else {
            return;
        };
        let replica = Replica::of(&self.world, search);
        let revealing = replica.reveal(&account.id, person);
        match self.world.operator.block_on(revealing) {
            Ok(()) => {
                let revealed = (account.id.clone(), person.to_owned());
                self.load.revealed.lock().unwrap().insert(revealed);
            }
            Err(status) => self.load.note(format!("a reveal: {status:?}")),
        }
    }

    /// Imports until all is over, each time when the last import can be searched.
    fn import(&self) {
        for turn in 0.. {
            if self.load.is_over.load(Ordering::SeqCst) {
                return;
            }
            let Some((search, _taken)) = Backend::pick(&self.searches, turn) else {
                continue;
            };
            let number = u32::try_from(turn).unwrap() % RECORDS;
            let (title, name) = (format!("title {turn}"), format!("Imported {turn}"));
            let changes = vec![
                Change::Person(person(number, &title)),
                Change::Company(company(&format!("i{turn}"), &name)),
            ];
            let replica = Replica::of(&self.world, search);
            match self.world.operator.block_on(replica.import(changes)) {
                Ok(position) => {
                    {
                        let mut imported = self.load.imported.lock().unwrap();
                        imported.titles.insert(number, title);
                        imported.companies.insert(name);
                        imported.position = position;
                    }
                    self.world.operator.block_on(replica.wait_for(position));
                    self.load.found.fetch_add(1, Ordering::SeqCst);
                }
                Err(status) => self.load.note(format!("an import: {status:?}")),
            }
        }
    }

    /// Both replicas have what was imported, and nothing else. How many records that is.
    fn assert_records(&self) -> usize {
        let imported = self.load.imported.lock().unwrap();
        let title = |number| {
            imported
                .titles
                .get(&number)
                .map_or("at the start", String::as_str)
        };
        let people: BTreeSet<_> = (0..RECORDS)
            .map(|number| (name_of(number), title(number).to_owned()))
            .collect();
        let rollout = (0..RECORDS).map(|number| format!("Rollout {number}"));
        let companies: BTreeSet<_> = rollout.chain(imported.companies.iter().cloned()).collect();
        for backend in &self.searches {
            let replica = Replica::of(&self.world, &backend.address);
            let (found_people, found_companies) = self.world.operator.block_on(async {
                replica.wait_for(imported.position).await;
                (
                    replica.all_people(SearchQuery::default()).await,
                    replica.all_companies(SearchQuery::default()).await,
                )
            });
            assert_eq!(found_people.len(), people.len());
            let found_people: BTreeSet<_> = found_people
                .into_iter()
                .map(|person| (person.full_name, person.job_title.unwrap_or_default()))
                .collect();
            assert_eq!(found_people, people, "{}", backend.part);
            assert_eq!(found_companies.len(), companies.len());
            let found_companies: BTreeSet<_> =
                found_companies.into_iter().map(|company| company.name).collect();
            assert_eq!(found_companies, companies, "{}", backend.part);
        }
        2 * imported.companies.len()
    }

    /// Each account sees the addresses that were revealed to it, and no others.
    fn assert_reveals(&self, accounts: &[Account]) {
        let revealed = self.load.revealed.lock().unwrap();
        for account in accounts {
            let all = json!({"limit": 250, "fields": ["id", "emailStatus"]});
            for row in account.people(&all).expect(200).rows() {
                let person = row["id"].as_str().unwrap().to_owned();
                let status = if revealed.contains(&(account.id.clone(), person)) {
                    "revealed"
                } else {
                    "locked"
                };
                assert_eq!(row["emailStatus"], status, "{row}");
            }
        }
    }
}
