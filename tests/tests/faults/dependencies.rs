//! What the gateway stands on is dead, stands still, or is slow: callers are told in time, few of them wait, nobody asks
//! again and again, and what does not need it goes on.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use devstack::{Line, Options, Part, Service};
use reqwest::Method;
use system_tests::{Account, Answer, World, until};

use crate::calls::CountedLine;
use crate::gateways::search;

/// Longest time for a request, and most that may call one service at once: fewer than by default, to be reached.
const BUDGET: Duration = Duration::from_secs(6);
const MAX_CALLS: usize = 4;

/// How many ask at once.
const AT_ONCE: usize = 20;

/// How many ask one after the other, each of whom waits for its answer.
const IN_TURN: usize = 4;

/// How often a call is tried at most: a documented promise.
const TRIES: usize = 3;

/// By how much the machine may be late with an answer that the gateway gave in time. Far less than it would take if
/// somebody waited for a service that says nothing.
const MARGIN: Duration = Duration::from_secs(20);

/// Later than anybody waits.
const TOO_LATE: Duration = Duration::from_secs(30);

/// How long a gateway goes by what it was told of a key.
const KNOWN_FOR: Duration = Duration::from_secs(4);

/// The services that the gateway calls.
const CALLED: [Service; 3] = [Service::Search, Service::Keys, Service::Billing];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It is not there.
    Killed,
    /// It keeps its connections and answers nothing.
    Paused,
    /// Its answers come too late.
    Late,
}

/// The gateway's way to a service.
struct Way {
    service: Service,
    line: Line,
    counted: CountedLine,
}

impl Way {
    /// The gateway calls the service on this way from its next start on.
    fn to(world: &World, service: Service) -> Self {
        let address = world.stack.address(service).unwrap();
        let address: SocketAddr = address.trim_start_matches("http://").parse().unwrap();
        let line = Line::to(address).unwrap();
        let counted = CountedLine::to(line.address());
        let setting = format!("DS_GATEWAY__{}_URL", service.name().to_uppercase());
        world
            .stack
            .set(&setting, &format!("http://{}", counted.address()));
        Self {
            service,
            line,
            counted,
        }
    }

    fn begin(&self, world: &World, fault: Fault) {
        match fault {
            Fault::Killed => world.stack.kill(self.service).unwrap(),
            Fault::Paused => world.stack.suspend(self.service),
            Fault::Late => self.line.delay(TOO_LATE),
        }
    }

    fn end(&self, world: &World, fault: Fault) {
        match fault {
            Fault::Killed => world.stack.start_part(self.service).unwrap(),
            Fault::Paused => world.stack.resume(self.service),
            Fault::Late => self.line.delay(Duration::ZERO),
        }
    }
}

fn start(options: Options) -> (World, Vec<Way>) {
    let world = World::start(options);
    let ways = CALLED.map(|service| Way::to(&world, service)).into();
    let budget = format!("{}s", BUDGET.as_secs());
    world.stack.set("DS_GATEWAY__REQUEST_BUDGET", &budget);
    world.stack.set("DS_GATEWAY__MAX_CALLS", &MAX_CALLS.to_string());
    world.stack.restart(Service::Gateway).unwrap();
    (world, ways)
}

/// It is what the contract has for this, and came in time.
fn is_told_in_time(answer: &Answer, took: Duration, what: &str) {
    assert!(took < BUDGET + MARGIN, "{what}: {took:?}");
    match answer.status {
        503 => assert_eq!(answer.body["code"], "UNAVAILABLE", "{what}"),
        504 => assert_eq!(answer.body["code"], "TIMEOUT", "{what}"),
        status => panic!("{what}: {status}: {}", answer.body),
    }
    let retry_after = answer
        .header("retry-after")
        .map(|value| value.parse::<u64>().unwrap());
    assert_eq!(
        answer.status == 503,
        retry_after.is_some_and(|seconds| seconds >= 1),
        "{what}"
    );
}

/// The answers to many who ask at once, in the order in which they came, and how long each took.
fn at_once(account: &Account) -> Vec<(Answer, Duration)> {
    let (send, receive) = mpsc::channel();
    let together = Arc::new(Barrier::new(AT_ONCE));
    for _ in 0..AT_ONCE {
        let (account, send, together) = (account.clone(), send.clone(), Arc::clone(&together));
        thread::spawn(move || {
            together.wait();
            let begun = Instant::now();
            let _ = send.send((search(&account), begun.elapsed()));
        });
    }
    drop(send);
    receive.iter().collect()
}

#[test]
fn whatever_befalls_a_service_few_wait_for_it_in_vain_and_the_others_go_on() {
    let (world, ways) = start(Options::new());
    let known = world.account();
    for way in &ways {
        for fault in [Fault::Killed, Fault::Paused, Fault::Late] {
            let what = format!("{:?} is {fault:?}", way.service);
            let unknown = world.account();
            let _ = search(&known).expect(200);
            let known_at = Instant::now();
            let asking = if way.service == Service::Keys {
                &unknown
            } else {
                &known
            };
            way.begin(&world, fault);
            let calls_before = way.counted.calls();

            // What does not need it goes on: before, while and after others wait for it.
            let goes_on = || {
                let _ = Answer::of(known.request(Method::GET, "/openapi.json")).expect(200);
                if way.service == Service::Keys {
                    let answer = search(&known);
                    if known_at.elapsed() < KNOWN_FOR {
                        let _ = answer.expect(200);
                    }
                } else {
                    let _ = known.keys(Method::GET, "", None).expect(200);
                }
            };
            goes_on();
            let answers = thread::scope(|scope| {
                let answers = scope.spawn(|| at_once(asking));
                if way.service != Service::Keys {
                    goes_on();
                }
                answers.join().unwrap()
            });
            assert_eq!(answers.len(), AT_ONCE);
            for (answer, took) in &answers {
                is_told_in_time(answer, *took, &what);
            }
            if fault != Fault::Killed {
                // Those who are too many are refused while the others still wait.
                let refused = answers
                    .iter()
                    .take_while(|(answer, _)| answer.status == 503)
                    .count();
                assert!(
                    refused >= AT_ONCE - MAX_CALLS,
                    "{what}: {refused} were refused at once"
                );
                assert!(refused < AT_ONCE, "{what}: nobody waited");
            }
            // Some calls are made for those that went on with the keys service.
            let calls = way.counted.calls() - calls_before;
            assert!(calls <= (AT_ONCE + 2) * TRIES, "{what}: {calls} calls");

            way.end(&world, fault);
            let over = Instant::now();
            until(&format!("{what} no longer"), || {
                let status = search(asking).status;
                assert!([200, 503, 504].contains(&status), "{what}: {status}");
                status == 200
            });
            eprintln!("{what}: {calls} calls; back after {:?}", over.elapsed());
        }
    }
}

#[test]
fn a_charge_that_could_not_be_sent_was_not_taken_and_one_without_an_answer_may_have_been() {
    let world = World::start(Options::new());
    let budget = format!("{}s", BUDGET.as_secs());
    world.stack.set("DS_GATEWAY__REQUEST_BUDGET", &budget);
    world.stack.restart(Service::Gateway).unwrap();
    let unknown = || {
        world
            .metric(Service::Gateway, "gateway_charges_unknown_total")
            .unwrap()
    };
    let (account, other) = (world.account(), world.account());
    let _ = search(&account).expect(200);
    let balance = world.operator.balance(&account.id);

    world.stack.kill(Service::Billing).unwrap();
    // The balance of this one is not known, so that billing is asked for it: now its connection is known to be dead.
    let _ = search(&other).refused(503, "UNAVAILABLE");
    let _ = search(&account).refused(503, "UNAVAILABLE");
    let log = world.stack.log(Service::Gateway).unwrap();
    assert!(log.contains("this charge was not taken"), "{log}");
    assert!(unknown().abs() < f64::EPSILON);
    world.stack.start_part(Service::Billing).unwrap();
    assert_eq!(world.operator.balance(&account.id), balance);

    until("billing is called again", || search(&account).status == 200);
    world.stack.suspend(Service::Billing);
    let _ = search(&account).refused(504, "TIMEOUT");
    assert!((unknown() - 1.0).abs() < f64::EPSILON);
    world.stack.resume(Service::Billing);
    until("billing answers again", || search(&account).status == 200);
}

#[test]
fn a_service_that_is_a_little_slow_is_waited_for() {
    let (world, ways) = start(Options::new());
    let account = world.account();
    for way in &ways {
        way.line.delay(Duration::from_millis(200));
        let calls = way.counted.calls();
        for _ in 0..3 {
            let _ = search(&account).expect(200);
            let _ = account.keys(Method::GET, "", None).expect(200);
        }
        // Each was asked once for each, if at all.
        assert!(way.counted.calls() - calls <= 6, "{:?}", way.service);
        way.line.delay(Duration::ZERO);
    }
}

#[test]
fn a_database_that_says_nothing_is_told_in_time_and_is_used_again_when_it_speaks() {
    let world = World::start(Options::new());
    let databases = [
        (Service::Keys, &world.environment.database_url_keys),
        (Service::Billing, &world.environment.database_url_billing),
    ];
    let lines = databases.map(|(service, url)| {
        let (before, rest) = url.rsplit_once('@').unwrap();
        let (server, database) = rest.split_once('/').unwrap();
        let line = Line::to(server.parse().unwrap()).unwrap();
        let setting = format!("DS_{}__DATABASE_URL", service.name().to_uppercase());
        let by_line = format!("{before}@{}/{database}", line.address());
        world.stack.set(&setting, &by_line);
        world.stack.restart(service).unwrap();
        line
    });
    let budget = format!("{}s", BUDGET.as_secs());
    world.stack.set("DS_GATEWAY__REQUEST_BUDGET", &budget);
    world.stack.restart(Service::Gateway).unwrap();
    let account = world.account();
    for (line, (service, _)) in lines.iter().zip(databases) {
        let what = format!("the database of {service:?} says nothing");
        until(&what, || search(&account).status == 200);
        line.delay(TOO_LATE);
        for _ in 0..2 {
            let begun = Instant::now();
            if service == Service::Keys {
                is_told_in_time(&account.keys(Method::GET, "", None), begun.elapsed(), &what);
            } else {
                is_told_in_time(&search(&account), begun.elapsed(), &what);
                let _ = account.keys(Method::GET, "", None).expect(200);
            }
        }
        line.delay(Duration::ZERO);
        let over = Instant::now();
        until(&format!("{what} no longer"), || {
            search(&account).status == 200 && account.keys(Method::GET, "", None).status == 200
        });
        eprintln!("{what}: back after {:?}", over.elapsed());
    }
}

#[test]
fn nobody_asks_again_and_again_for_what_a_dead_database_holds() {
    let (world, ways) = start(Options::new().own_postgres().durable());
    let account = world.account();
    let _ = search(&account).expect(200);
    let before: Vec<usize> = ways.iter().map(|way| way.counted.calls()).collect();
    world.stack.kill(Part::Postgres).unwrap();
    for _ in 0..IN_TURN {
        let begun = Instant::now();
        let answer = account.keys(Method::GET, "", None);
        is_told_in_time(&answer, begun.elapsed(), "keys without a database");
        let begun = Instant::now();
        let answer = search(&account);
        is_told_in_time(&answer, begun.elapsed(), "a search without a database");
    }
    for (way, before) in ways.iter().zip(before) {
        let calls = way.counted.calls() - before;
        // Of the keys service both want something.
        let most = if way.service == Service::Keys { 2 } else { 1 } * IN_TURN * TRIES;
        assert!(calls <= most, "{:?}: {calls} calls", way.service);
        eprintln!(
            "{:?}: {calls} calls for {IN_TURN} requests of each kind",
            way.service
        );
    }
    world.stack.start_part(Part::Postgres).unwrap();
    let over = Instant::now();
    until("the database is used again", || {
        search(&account).status == 200 && account.keys(Method::GET, "", None).status == 200
    });
    eprintln!("back after {:?}", over.elapsed());
}
