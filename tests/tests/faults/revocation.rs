//! A secret that was revoked or replaced is refused at every gateway, whatever is away; and nobody is refused for that.

use std::time::{Duration, Instant};

use devstack::{Options, Part, Service};
use reqwest::Method;
use system_tests::{Account, World, until};

use crate::gateways::{Gateways, search};

/// What a gateway has been told of a key counts for less than this; by the contract's promise for when Redis is away.
const PROMISED: Duration = Duration::from_secs(5);

/// How long it counts: what is refused sooner was announced.
const REMEMBERED: Duration = Duration::from_secs(4);

/// The ways for a secret to end.
#[derive(Clone, Copy, Debug)]
enum End {
    Revoked,
    Regenerated,
}

impl End {
    const ALL: [Self; 2] = [Self::Revoked, Self::Regenerated];

    /// Ends the secret that the account asks with. When that was answered.
    fn bring_about(self, account: &Account) -> Instant {
        let id = &account.key_id;
        let answer = match self {
            Self::Revoked => account.keys(Method::DELETE, &format!("/{id}"), None),
            Self::Regenerated => account.keys(Method::POST, &format!("/{id}/regenerate"), None),
        };
        let _ = answer.expect(200);
        Instant::now()
    }
}

/// The account at both gateways, which both know its key to be good.
fn known_at_both(world: &World, gateways: &Gateways<'_>) -> [Account; 2] {
    let asking = gateways.for_account(&world.account());
    for account in &asking {
        let _ = search(account).expect(200);
    }
    asking
}

/// Asks until it is answered like this. Until then it may be let in, but no request that begins later than promised.
fn is_let_in_no_longer(account: &Account, ended: Instant, refusal: u16, what: &str) {
    until(what, || {
        let begun = Instant::now();
        let status = search(account).status;
        assert!([200, refusal].contains(&status), "{what}: {status}");
        let since = begun.duration_since(ended);
        assert!(
            status == refusal || since < PROMISED,
            "{what}: let in after {since:?}"
        );
        status == refusal
    });
    assert_eq!(search(account).status, refusal, "{what}");
}

#[test]
fn what_ends_at_one_gateway_is_announced_to_all() {
    let world = World::start(Options::new());
    let gateways = Gateways::of(&world);
    until("changes are heard of", || gateways.hear_of_changes());
    for end in End::ALL {
        // A machine that stands still for seconds shows nothing; then it is tried again.
        until(&format!("{end:?} is announced"), || {
            let begun = Instant::now();
            let asking = known_at_both(&world, &gateways);
            let ended = end.bring_about(&asking[0]);
            for account in &asking {
                is_let_in_no_longer(account, ended, 401, &format!("{end:?}"));
            }
            begun.elapsed() < REMEMBERED
        });
    }
}

#[test]
fn without_redis_it_ends_within_the_time_promised() {
    let world = World::start(Options::new());
    let gateways = Gateways::of(&world);
    let ends_in_time = |what: &str| {
        for end in End::ALL {
            let asking = known_at_both(&world, &gateways);
            let ended = end.bring_about(&asking[0]);
            for account in &asking {
                is_let_in_no_longer(account, ended, 401, &format!("{end:?} with Redis {what}"));
            }
        }
    };
    world.stack.suspend(Part::Redis);
    ends_in_time("paused");
    world.stack.resume(Part::Redis);
    world.stack.kill(Part::Redis).unwrap();
    ends_in_time("killed");
}

#[test]
fn without_the_keys_service_a_known_key_is_good_for_a_moment_and_a_dead_one_is_not() {
    let world = World::start(Options::new());
    let gateways = Gateways::of(&world);
    let dead = known_at_both(&world, &gateways);
    let known = known_at_both(&world, &gateways);
    let unknown = gateways.for_account(&world.account());
    // What has ended is not announced, and can't be asked about.
    world.stack.kill(Part::Redis).unwrap();
    let ended = End::Revoked.bring_about(&dead[0]);
    for account in &known {
        let _ = search(account).expect(200);
    }
    world.stack.kill(Service::Keys).unwrap();
    let away = Instant::now();
    for account in &unknown {
        let _ = search(account).refused(503, "UNAVAILABLE");
        // A mistyped key is refused by its checksum: nobody has to be asked.
        let mut mistyped = account.clone();
        mistyped.key = mistyped.key.replace("dsk_", "dsk_x")[..account.key.len()].to_owned();
        let _ = search(&mistyped).refused(401, "INVALID_API_KEY");
    }
    for account in &dead {
        is_let_in_no_longer(account, ended, 503, "a dead key without the keys service");
    }
    for account in &known {
        is_let_in_no_longer(account, away, 503, "a known key without the keys service");
    }
    world.stack.start_part(Part::Redis).unwrap();
    world.stack.start_part(Service::Keys).unwrap();
    for account in known.iter().chain(&unknown) {
        until("a good key is good again", || search(account).status == 200);
    }
    for account in &dead {
        let _ = search(account).refused(401, "INVALID_API_KEY");
    }
}
