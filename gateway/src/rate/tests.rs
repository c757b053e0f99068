//! The limiter on a real Redis, and without one.

use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;

use super::gcra::tests::{Definition, Moment};
use super::gcra::{Pace, decide};
use super::*;

const BUDGET: Duration = Duration::from_secs(5);

fn redis() -> redis::Client {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the test's Redis is, is told by the environment"
    )]
    let url = std::env::var("DS_TEST__REDIS_URL").expect("DS_TEST__REDIS_URL is not set: run `./dev test`");
    redis::Client::open(url).unwrap()
}

fn own_account() -> String {
    format!("test-{}", Ambient::system().uuid_v7())
}

async fn connected(limiter: &RateLimiter) {
    while limiter
        .shared
        .take("test-probe", limiter.default_pace, 0)
        .await
        .is_none()
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn gateways_share_one_allowance() {
    let (pace, shutdown) = (Pace::of(20, 86_400_000), Shutdown::new());
    let one = RateLimiter::start(pace, redis(), BUDGET, &shutdown);
    let two = RateLimiter::start(pace, redis(), BUDGET, &shutdown);
    connected(&one).await;
    connected(&two).await;
    let account = own_account();
    let attempts = (0..80).map(|attempt| {
        let (limiter, account) = (
            if attempt % 2 == 0 {
                one.clone()
            } else {
                two.clone()
            },
            account.clone(),
        );
        async move { limiter.take(&account, None).await.decision.passes }
    });
    let passed = futures::future::join_all(attempts)
        .await
        .into_iter()
        .filter(|passes| *passes)
        .count();
    assert_eq!(passed, 20);
    shutdown.begin();
}

#[tokio::test]
async fn without_redis_it_limits_at_once_by_itself() {
    let (pace, shutdown) = (Pace::of(2, 86_400_000), Shutdown::new());
    // Port 1 is nobody's.
    let nowhere = redis::Client::open("redis://127.0.0.1:1").unwrap();
    let limiter = RateLimiter::start(pace, nowhere, BUDGET, &shutdown);
    let mut passed = Vec::new();
    for _ in 0..4 {
        passed.push(limiter.take("a", None).await.decision.passes);
    }
    assert_eq!(passed, [true, true, false, false]);
    let own = Pace::of(1_000, 86_400_000);
    assert_eq!(limiter.take("b", Some(own)).await.remaining(), 999);
    shutdown.begin();
}

#[tokio::test]
async fn when_redis_goes_the_local_limiter_goes_on_from_there_and_hands_back() {
    let (pace, shutdown) = (Pace::of(10, 86_400_000), Shutdown::new());
    let limiter = RateLimiter::start(pace, redis(), BUDGET, &shutdown);
    connected(&limiter).await;
    let account = own_account();
    for _ in 0..4 {
        assert!(limiter.take(&account, None).await.decision.passes);
    }
    // Redis ends the limiter's own connection, as it would when it stops.
    let id: i64 = {
        let mut connection = limiter.shared.connection.read().unwrap().clone().unwrap().redis;
        redis::cmd("CLIENT")
            .arg("ID")
            .query_async(&mut connection)
            .await
            .unwrap()
    };
    let mut other = redis().get_multiplexed_async_connection().await.unwrap();
    let () = redis::cmd("CLIENT")
        .arg("KILL")
        .arg("ID")
        .arg(id)
        .query_async(&mut other)
        .await
        .unwrap();
    let remaining = limiter.take(&account, None).await.remaining();
    assert_eq!(remaining, 5, "it goes on from what was left");
    connected(&limiter).await;
    shutdown.begin();
}

#[tokio::test]
async fn a_redis_that_was_emptied_gives_no_new_allowance() {
    let (pace, shutdown) = (Pace::of(10, 86_400_000), Shutdown::new());
    let one = RateLimiter::start(pace, redis(), BUDGET, &shutdown);
    let two = RateLimiter::start(pace, redis(), BUDGET, &shutdown);
    connected(&one).await;
    connected(&two).await;
    let forget = async |account: &str| {
        let mut redis = redis().get_multiplexed_async_connection().await.unwrap();
        let forget = redis::cmd("DEL").arg(format!("rate:{account}")).to_owned();
        let forgotten: u64 = forget.query_async(&mut redis).await.unwrap();
        assert_eq!(forgotten, 1);
    };
    let account = own_account();
    for remaining in (6..10).rev() {
        assert_eq!(one.take(&account, None).await.remaining(), remaining);
    }
    forget(&account).await;
    assert_eq!(one.take(&account, None).await.remaining(), 5);
    assert_eq!(two.take(&account, None).await.remaining(), 4);
    // What is refused for what one gateway remembers is refused by all.
    while one.take(&account, None).await.decision.passes {}
    forget(&account).await;
    assert!(!one.take(&account, None).await.decision.passes);
    let newcomer = RateLimiter::start(pace, redis(), BUDGET, &shutdown);
    connected(&newcomer).await;
    assert!(!newcomer.take(&account, None).await.decision.passes);
    shutdown.begin();
}

/// The script as it is, with Redis' own clock, which is asked right before it and right after.
#[tokio::test(flavor = "multi_thread")]
async fn many_clients_get_what_the_definition_allows_and_nothing_else() {
    const CLIENTS: usize = 16;
    const REQUESTS: usize = 150;
    let (pace, key) = (Pace::of(50, 1_000), own_account());
    let mut asked = redis::pipe();
    asked.atomic();
    asked.cmd("INCR").arg(format!("{key}-number"));
    asked.cmd("TIME");
    asked.cmd("EVAL").arg(shared::SCRIPT).arg(1).arg(&key);
    asked.arg(&[pace.interval_us(), pace.burst_us(), 0][..]);
    asked.cmd("TIME");
    let clients = (0..CLIENTS).map(|_| async {
        let mut connection = redis().get_multiplexed_async_connection().await.unwrap();
        let mut told = Vec::new();
        for _ in 0..REQUESTS {
            type Told = (u64, (u64, u64), (u8, u64), (u64, u64));
            let (number, before, (passes, _), after): Told =
                asked.query_async(&mut connection).await.unwrap();
            let micros = |(seconds, micros)| seconds * 1_000_000 + micros;
            let (earliest_us, latest_us) = (micros(before), micros(after));
            let moment = Moment {
                earliest_us,
                latest_us,
            };
            told.push((number, moment, passes == 1));
        }
        told
    });
    let mut told = futures::future::join_all(clients).await.concat();
    told.sort_by_key(|(number, ..)| *number);
    assert!(told.iter().any(|(_, _, passes)| !passes), "the limit is reached");
    let mut definition = Definition::default();
    for (number, moment, passes) in told {
        let as_defined = definition.note(pace, moment, passes);
        assert_eq!(as_defined, Ok(()), "request {number}");
    }
    let mut connection = redis().get_multiplexed_async_connection().await.unwrap();
    let forget = redis::cmd("DEL")
        .arg(&key)
        .arg(format!("{key}-number"))
        .to_owned();
    let () = forget.query_async(&mut connection).await.unwrap();
}

#[tokio::test]
async fn the_script_and_the_model_decide_alike() {
    let mut connection = redis().get_multiplexed_async_connection().await.unwrap();
    // The same script at a time that the test sets.
    let script = shared::SCRIPT.replace("redis.call('TIME')", "{ ARGV[4], ARGV[5] }");
    assert_ne!(script, shared::SCRIPT);
    let script = redis::Script::new(&script);
    let rates = prop::collection::vec((1..=1_000_000_i64, 1_000..=86_400_000_u64), 1..3);
    let small_rates = prop::collection::vec((1..=5_i64, 1_000..=86_400_000_u64), 1..3);
    let steps = prop::collection::vec(
        (0..4_u32, 0..100_000_000_u64, any::<prop::sample::Index>()),
        1..30,
    );
    let start = 1_700_000_000_000_000..2_000_000_000_000_000_u64;
    let cases = (prop_oneof![rates, small_rates], start, steps);
    let mut runner = TestRunner::new(Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    });
    let mut histories = Vec::new();
    for _ in 0..64 {
        histories.push(cases.new_tree(&mut runner).unwrap().current());
    }
    for (rates, start, steps) in histories {
        let paces: Vec<_> = rates
            .into_iter()
            .map(|(requests, millis)| Pace::of(requests, millis))
            .collect();
        let (key, mut now_us, mut full_at_us) = (own_account(), start, 0);
        for (scale, step, which) in steps {
            // Nothing, some of a second, up to some minutes; and now and then another rate.
            now_us += step * u64::from(scale) / 3;
            let pace = *which.get(&paces);
            let modelled = decide(pace, now_us, full_at_us);
            full_at_us = now_us + modelled.ahead_us;
            let mut invocation = script.key(&key);
            invocation.arg(&[pace.interval_us(), pace.burst_us(), 0][..]);
            invocation.arg(now_us / 1_000_000).arg(now_us % 1_000_000);
            let (passes, ahead_us): (u8, u64) = invocation.invoke_async(&mut connection).await.unwrap();
            assert_eq!(
                (passes == 1, ahead_us),
                (modelled.passes, modelled.ahead_us),
                "{pace:?} at {now_us}"
            );
        }
        let () = redis::cmd("DEL")
            .arg(&key)
            .query_async(&mut connection)
            .await
            .unwrap();
    }
}
