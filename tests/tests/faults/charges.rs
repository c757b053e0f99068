//! One credit is one credit, whatever dies and whenever.
//!
//! 64 callers search with idempotency keys, on one account, and repeat each search until it is answered 200; 16 others
//! search without one, each on an account of its own; an operator grants credits under ids and repeats each grant until it
//! is told. Beside them, round after round, parts are killed and paused at random ([`crate::chaos`]): both gateways, the
//! services, Postgres (which writes to disk what it commits), Redis. At the end all gateways finish what they have begun,
//! and the ledger is held against what everybody was told ([`crate::audit`]).
//!
//! # What can become of a request
//! Where it breaks, and what then has to hold:
//! - **Before the charge** (key, limit, preview, search): 503, 504 or no answer. Nothing was taken, its key is free.
//! - **The charge's way to billing breaks.** The gateway sends the same charge id again. Billing takes it once.
//! - **Billing dies before the commit.** Nothing was taken.
//! - **Billing dies after the commit, or the way back breaks.** It was taken. The same charge id, sent again, is told so; if
//!   billing stays away the gateway can't know, says so in its log, and answers 503 or 504. That is the one way in which a
//!   request that was answered otherwise than 200 has cost a credit; with a key, its repeat is the one that is answered.
//! - **Postgres dies at the commit.** Billing finds out by the charge ids, or says that it does not know: as above.
//! - **The gateway dies after the charge.** The caller has no answer: with a key it repeats; without, the credit is lost.
//! - **The gateway is paused with the charge not yet sent, the caller repeats at the other one, the first wakes up.** Two
//!   charges with one key: the second is the first one's repeat.
//! - **The caller leaves** (some with a key do, at any moment, and repeat at once): its charge runs to its end, beside that
//!   of the repeat.
//! - **The binding is there, its charge is not, or the other way round.** Both are of one commit: never.
//! - **A grant is repeated.** It is given once.
//!
//! # What is held against the ledger
//! - With a key: all answered 200 with a cost of 1; each key stands for one charge, commit by commit; no other charges.
//! - Without: one charge for each 200; the others are of charges whose outcome a gateway's log calls unknown, or of
//!   requests that had no answer. Each 200's balance tells how many were charged since the 200 before: itself, and at most
//!   those that failed in the same faults.
//! - Balance = sum of the ledger = grants - charges, also by `dsctl credits verify`.
//! - A request that begins and ends while all is well is answered 200. So what was lost was under way at a kill or a pause.

use std::collections::BTreeSet;
use std::iter::Sum;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use devstack::{Options, Part, Service, Stack};
use futures::future::{join_all, join3};
use rand::RngExt as _;
use sqlx::{Connection as _, PgConnection};
use system_tests::{Account, Operator, World};
use tokio::runtime::Runtime;

use crate::audit::{Books, Endings, Lost};
use crate::chaos::Rounds;
use crate::gateways::Gateways;
use crate::run::Run;
use crate::traffic::{Caller, EndOfTraffic, Ending, Traffic};

const WITH_KEY: u64 = 64;
const WITHOUT_KEY: u64 = 16;

/// Searches with a key that are answered in a round, at least.
const SEARCHES: u64 = 250;

/// Credits of an account at first, more than it can spend.
const GRANTED: i64 = 100_000_000;

/// What the callers with keys met.
#[derive(Default)]
struct Repeated {
    attempts: usize,
    left: usize,
    unanswered: usize,
    repeats: usize,
}

impl Sum for Repeated {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            attempts: sum.attempts + one.attempts,
            left: sum.left + one.left,
            unanswered: sum.unanswered + one.unanswered,
            repeats: sum.repeats + one.repeats,
        })
    }
}

/// Searches with keys, each until it is answered.
async fn search_with_keys(mut caller: Caller<'_>) -> Repeated {
    let traffic = caller.traffic;
    let mut met = Repeated::default();
    while !traffic.is_over() {
        let search = traffic.begun.fetch_add(1, Ordering::SeqCst);
        let (key, mut attempts) = (key_of(search), 0);
        while !traffic.is_given_up() {
            attempts += 1;
            let leaves = caller.chance.random_range(0..40) == 0;
            let leave = leaves.then(|| Duration::from_millis(caller.chance.random_range(0..30)));
            match caller.attempt(search, Some(&key), leave).await {
                Ending::Answered(charged) => {
                    if charged.cost != 1 || (charged.is_repeat && attempts == 1) {
                        traffic.note(format!("{key} has cost {} in attempt {attempts}", charged.cost));
                    }
                    met.repeats += usize::from(charged.is_repeat);
                    break;
                }
                Ending::Left => met.left += 1,
                Ending::Unanswered => met.unanswered += 1,
                Ending::Refused => {}
            }
        }
        met.attempts += attempts;
        traffic.answered.fetch_add(1, Ordering::SeqCst);
    }
    met
}

fn key_of(search: u64) -> String {
    format!("search-{search}")
}

/// Searches without keys, none again. Each answer tells a balance, and so how many were charged since the one before:
/// itself, and of those that failed since all was well each at most once.
async fn search_without_keys(mut caller: Caller<'_>) -> Endings {
    let traffic = caller.traffic;
    let (mut ended, mut balance, mut failed) = (Endings::default(), GRANTED, 0);
    for search in 0.. {
        if traffic.is_over() {
            break;
        }
        match caller.attempt(search, None, None).await {
            Ending::Answered(charged) => {
                ended.answered += 1;
                let others = balance - charged.balance - 1;
                if charged.cost != 1 || charged.is_repeat || !(0..=failed).contains(&others) {
                    let of = &caller.accounts[0].id;
                    traffic.note(format!(
                        "search {search} of {of} took the balance from {balance} to {}, and {failed} had failed",
                        charged.balance
                    ));
                }
                balance = charged.balance;
                failed = if caller.was_fair { 0 } else { failed - others };
                continue;
            }
            Ending::Refused => ended.refused += 1,
            Ending::Unanswered | Ending::Left => ended.unanswered += 1,
        }
        failed += 1;
    }
    ended
}

/// Grants credits, each until it is told; all that was granted.
async fn grant(traffic: &Traffic, operator: &Operator, account: &str) -> i64 {
    let mut granted = 0;
    for amount in 1.. {
        if traffic.is_over() {
            break;
        }
        let id = format!("grant-{amount}");
        while operator.try_grant(account, &id, amount).await.is_err() && !traffic.is_given_up() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        granted += amount;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    granted
}

/// Ids of the charges whose outcome the gateways did not learn.
fn unknown_charges(stack: &Stack, gateways: [Part; 2]) -> BTreeSet<String> {
    let logs = gateways.map(|gateway| stack.log(gateway).unwrap());
    let lines = logs.iter().flat_map(|log| log.lines());
    let unknown = lines.filter(|line| line.contains("it is unknown whether this charge was taken"));
    let ids = unknown.map(|line| {
        let (_, rest) = line.split_once("charge.id=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    });
    ids.collect()
}

/// Lets everything happen that the seed has in store.
fn endure(run: &Run, traffic: &Traffic, world: &World, gateways: [Part; 2], runtime: &Runtime) {
    let parts = vec![
        Part::Postgres,
        Part::Redis,
        Service::Search.into(),
        Service::Keys.into(),
        Service::Billing.into(),
        gateways[0],
        gateways[1],
    ];
    runtime.block_on(traffic.until_all_are_served(1));
    traffic.weather.fetch_add(1, Ordering::SeqCst);
    let mut rounds = Rounds::of(parts, SEARCHES, run.chance());
    for number in run.rounds() {
        let round = rounds.draw();
        let before = traffic.answered.load(Ordering::SeqCst);
        runtime.block_on(traffic.until_answered(before + round.after));
        traffic.weather.fetch_add(1, Ordering::SeqCst);
        round.begin(&world.stack);
        runtime.block_on(async { tokio::time::sleep(round.lasts).await });
        let away = Instant::now();
        round.end(&world.stack);
        let back = away.elapsed().as_secs_f64();
        let ended = traffic.weather.fetch_add(2, Ordering::SeqCst) + 2;
        runtime.block_on(traffic.until_all_are_served(ended));
        let served = away.elapsed().as_secs_f64();
        traffic.weather.fetch_add(1, Ordering::SeqCst);
        runtime.block_on(traffic.until_answered(before + SEARCHES));
        let answered = traffic.answered.load(Ordering::SeqCst);
        let rate = run.a_second(answered);
        let told = format!(
            "{round}, back after {back:.1} s, all served after {served:.1} s; {answered} searches, {rate:.0}/s"
        );
        run.tell(number, &told);
    }
}

#[test]
fn each_search_is_charged_once_whatever_dies() {
    // Postgres tells nobody of what is not on the disk.
    let mut options = Options::new().own_postgres().durable();
    for service in ["SEARCH", "KEYS", "BILLING"] {
        // A machine that is busy is no database that is away.
        options = options.setting(&format!("DS_{service}__DATABASE_ACQUIRE_TIMEOUT"), "8s");
    }
    let world = World::start(options);
    // A Redis that is paused is away; how long it takes to see that is the subject of others.
    world.stack.set("DS_GATEWAY__REDIS_BUDGET", "300ms");
    world.stack.restart(Service::Gateway).unwrap();
    let gateways = Gateways::of(&world);
    let rich_account = || {
        let account = world.poor_account();
        world.operator.grant(&account.id, GRANTED);
        account
    };
    let shared = rich_account();
    let own: Vec<Account> = (0..WITHOUT_KEY).map(|_| rich_account()).collect();

    let run = Run::begin("charges", 7);
    let (traffic, runtime) = (Traffic::of(WITH_KEY + WITHOUT_KEY), Runtime::new().unwrap());
    let with_keys = (0..WITH_KEY).map(|number| {
        let caller = Caller::new(&traffic, gateways.for_account(&shared), number);
        search_with_keys(caller)
    });
    let without = (WITH_KEY..).zip(&own).map(|(number, account)| {
        let caller = Caller::new(&traffic, gateways.for_account(account), number);
        search_without_keys(caller)
    });
    let granting = grant(&traffic, &world.operator, &shared.id);
    let all = join3(join_all(with_keys), join_all(without), granting);
    let (repeated, ended, granted) = std::thread::scope(|scope| {
        let all = scope.spawn(|| runtime.block_on(all));
        {
            let _end = EndOfTraffic(&traffic);
            endure(&run, &traffic, &world, gateways.parts(), &runtime);
        }
        all.join().unwrap()
    });
    traffic.assert_nothing_is_wrong();

    // They finish what they have begun: from now on the ledger stays as it is.
    for gateway in gateways.parts() {
        world.stack.stop(gateway).unwrap();
    }
    let verified = world
        .stack
        .dsctl()
        .unwrap()
        .args(["credits", "verify"])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let unknown = unknown_charges(&world.stack, gateways.parts());
    let read = async |account: &Account| {
        let url = &world.environment.database_url_billing;
        let mut database = PgConnection::connect(url).await.unwrap();
        Books::read(&mut database, &account.id).await
    };

    let keys: BTreeSet<String> = (0..traffic.begun.load(Ordering::SeqCst)).map(key_of).collect();
    let books = runtime.block_on(read(&shared));
    let wrong = [books.wrong_sums(GRANTED + granted), books.not_once(&keys)].concat();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(books.charges(), keys.len());
    let met: Repeated = repeated.into_iter().sum();
    eprintln!(
        "charges: {} searches with keys, each charged once, in {} attempts: {} callers left, {} had no answer, {} were \
         charged before they were answered; {granted} granted meanwhile; {:.0} s",
        keys.len(),
        met.attempts,
        met.left,
        met.unanswered,
        met.repeats,
        run.seconds(),
    );

    let mut lost = Lost::default();
    let mut all = Endings::default();
    for (account, ended) in own.iter().zip(ended) {
        let books = runtime.block_on(read(account));
        let wrong = books.wrong_sums(GRANTED);
        assert!(wrong.is_empty(), "{wrong:#?}");
        let of_account = books.lost(ended, &unknown).unwrap();
        lost.behind_the_gateway += of_account.behind_the_gateway;
        lost.before_it += of_account.before_it;
        all.answered += ended.answered;
        all.refused += ended.refused;
        all.unanswered += ended.unanswered;
    }
    eprintln!(
        "charges: {all:?} without keys, each charged at most once; all under way at a fault: {} were charged and had no \
         answer, {} were charged and answered 503 or 504, which the gateway's log tells",
        lost.before_it, lost.behind_the_gateway,
    );
}
