//! Whatever befalls Redis: searches are answered and limited, and when it is over all gateways share one limit again.

use std::time::Duration;

use devstack::{Line, Options, Part, Service};
use system_tests::{Account, World, until};

use crate::gateways::{Gateways, search};

/// Requests of an account in a day: none refills while the test runs.
const LIMIT: i64 = 20;

/// Redis counts as away when it is slower than this: longer than by default, since a machine that is busy with tests is
/// no slow Redis. The delay is beyond it as the 200 ms of a slow one are beyond the default.
const BUDGET: &str = "2s";
const DELAY: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It ends, and starts again without what it held.
    Killed,
    /// It keeps its connections and answers nothing.
    Paused,
    /// It answers too late.
    Slow,
    /// It takes nothing more in.
    Full,
    /// It became the replica of another, as after a failover.
    ReadOnly,
}

impl Fault {
    const ALL: [Self; 5] = [Self::Killed, Self::Paused, Self::Slow, Self::Full, Self::ReadOnly];

    fn begin(self, world: &World, line: &Line) {
        match self {
            Self::Killed => world.stack.kill(Part::Redis).unwrap(),
            Self::Paused => world.stack.suspend(Part::Redis),
            Self::Slow => line.delay(DELAY),
            Self::Full => tell_redis(world, &["CONFIG", "SET", "maxmemory", "1"]),
            // Nobody answers at port 1; what it holds stays.
            Self::ReadOnly => tell_redis(world, &["REPLICAOF", "127.0.0.1", "1"]),
        }
    }

    fn end(self, world: &World, line: &Line) {
        match self {
            Self::Killed => world.stack.start_part(Part::Redis).unwrap(),
            Self::Paused => world.stack.resume(Part::Redis),
            Self::Slow => line.delay(Duration::ZERO),
            Self::Full => tell_redis(world, &["CONFIG", "SET", "maxmemory", "0"]),
            Self::ReadOnly => tell_redis(world, &["REPLICAOF", "NO", "ONE"]),
        }
    }
}

fn tell_redis(world: &World, command: &[&str]) {
    let client = redis::Client::open(world.stack.redis_url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let (name, arguments) = command.split_first().unwrap();
    let () = redis::cmd(name).arg(arguments).query(&mut connection).unwrap();
}

/// Redis's address, by way of the line.
fn by_way_of(line: &Line, redis_url: &str) -> String {
    let (credential, _) = redis_url.rsplit_once('@').unwrap();
    format!("{credential}@{}", line.address())
}

/// How many searches pass of far more than may, at both gateways at once. All others are refused as beyond the limit, and
/// each tells of it.
fn passed_of_many(asking: &[Account; 2]) -> i64 {
    let ask = |account: &Account| {
        let mut passed = 0;
        for _ in 0..LIMIT {
            let answer = search(account);
            assert!([200, 429].contains(&answer.status), "{}", answer.body);
            assert_eq!(answer.number("x-ratelimit-limit"), LIMIT);
            assert_eq!(answer.status == 429, answer.header("retry-after").is_some());
            passed += i64::from(answer.status == 200);
        }
        passed
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = asking
            .iter()
            .chain(asking)
            .map(|account| scope.spawn(|| ask(account)))
            .collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn whatever_befalls_redis_searches_are_limited_and_one_limit_is_shared_again() {
    let world = World::start(Options::new());
    let redis_url = world.stack.redis_url();
    let (_, redis) = redis_url.rsplit_once('@').unwrap();
    let line = Line::to(redis.parse().unwrap()).unwrap();
    world
        .stack
        .set("DS_GATEWAY__REDIS_URL", &by_way_of(&line, &redis_url));
    world.stack.set("DS_GATEWAY__REDIS_BUDGET", BUDGET);
    world.stack.restart(Service::Gateway).unwrap();
    let gateways = Gateways::of(&world);
    let limited_account = || {
        let account = world.account();
        world.operator.set_rate(&account.id, LIMIT, 86_400);
        gateways.for_account(&account)
    };
    for fault in Fault::ALL {
        until(&format!("limits are shared before it is {fault:?}"), || {
            gateways.share_limits()
        });
        let asking = limited_account();
        for remaining in (LIMIT - 10..LIMIT).rev() {
            let answer = search(&asking[usize::from(remaining % 2 == 0)]).expect(200);
            assert_eq!(answer.number("x-ratelimit-remaining"), remaining, "{fault:?}");
        }

        fault.begin(&world, &line);
        // Each goes on alone from where it knew the account to be: one of them does not know of the last request.
        assert_eq!(passed_of_many(&asking), (LIMIT - 9) + (LIMIT - 10), "{fault:?}");

        fault.end(&world, &line);
        until(&format!("limits are shared after it was {fault:?}"), || {
            gateways.share_limits()
        });
        // What it held counts again. If it holds nothing, what the gateways remember does.
        let passed = passed_of_many(&asking);
        let left = if matches!(fault, Fault::Killed) {
            0
        } else {
            LIMIT - 10
        };
        assert!(passed <= left, "{fault:?}: {passed}");
        assert_eq!(passed_of_many(&limited_account()), LIMIT, "{fault:?}");
    }
}
