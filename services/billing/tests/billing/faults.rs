use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use billing::billing::BillingError;
use billing::books::{Charged, Taken};
use billing::lanes::LanesConfig;
use billing::store::StoreError;
use futures::future::{FutureExt as _, join, join_all, try_join_all};
use proto::credits::Grant;
use runtime::shutdown::Shutdown;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::bank::{Bank, CONFIG, charge, id, is_somebody_waiting, open, open_with, until, with_key};

#[sqlx::test]
async fn abandoned_calls_leave_nothing_half_done(pool: PgPool) {
    let bank = open(&pool);
    let accounts = (0..16).map(|number| format!("acct-{number}")).collect::<Vec<_>>();
    for account in &accounts {
        bank.give(account, 1_000).await;
    }
    for round in 0..20_u128 {
        // Polled a few times, so that some are queued, some are being written and some are answered.
        let calls = (0..160_u128).map(|number| {
            let account = &accounts[usize::try_from(number % 16).unwrap()];
            let number = round * 1_000 + number;
            let call = bank.charge(with_key(charge(account, number), &number.to_string(), 1));
            // Some end before they are polled for the last time.
            Box::pin(call.fuse())
        });
        let mut calls = calls.collect::<Vec<_>>();
        for _ in 0..round {
            for call in &mut calls {
                let _ = futures::poll!(call);
            }
            tokio::task::yield_now().await;
        }
        let grants = (0..8_i64).map(|number| {
            let id = id(&accounts[usize::try_from(number).unwrap()]);
            Box::pin(bank.billing.grant(Grant {
                account: id,
                id: format!("{round}-{number}"),
                amount: 1,
            }))
        });
        for mut grant in grants {
            let _ = futures::poll!(&mut grant);
        }
    }
    // Behind all of them in their lanes.
    let last = accounts
        .iter()
        .zip(1_000_000..)
        .map(|(account, number)| bank.charge(charge(account, number)));
    try_join_all(last).await.unwrap();
    until(async || {
        let grants: i64 =
            sqlx::query_scalar("SELECT count(*) FROM ledger_entries WHERE grant_id IS NOT NULL")
                .fetch_one(&pool)
                .await
                .unwrap();
        grants == 16 + 20 * 8
    })
    .await;
    bank.audit().await;
    let bound: i64 = sqlx::query_scalar("SELECT count(*) FROM idempotency_bindings")
        .fetch_one(&pool)
        .await
        .unwrap();
    let taken: i64 = sqlx::query_scalar("SELECT count(*) FROM ledger_entries WHERE charge_id IS NOT NULL")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(bound, taken - 16, "each charge but the last ones has its binding");
    assert!(bound > 0, "some were taken");
    until(async || {
        let open: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'",
        )
        .fetch_one(&pool)
        .await
        .unwrap();
        open == 0
    })
    .await;
    let all = (0..pool.options().get_max_connections()).map(|_| pool.acquire());
    assert!(try_join_all(all).await.is_ok(), "every connection is back");
}

#[sqlx::test]
async fn a_charge_whose_caller_has_gone_before_its_turn_is_not_taken(pool: PgPool) {
    let bank = open_with(&pool, LanesConfig { lanes: 1, ..CONFIG });
    bank.give("acct", 10).await;
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM accounts FOR UPDATE")
        .execute(&mut *holder)
        .await
        .unwrap();
    let mut first = Box::pin(bank.charge(charge("acct", 1)));
    let _ = futures::poll!(&mut first);
    until(|| is_somebody_waiting(&pool)).await;
    let mut second = Box::pin(bank.charge(charge("acct", 2)));
    let _ = futures::poll!(&mut second);
    drop(second);
    let third = bank.charge(charge("acct", 3));
    holder.rollback().await.unwrap();
    let (first, third) = join(first, third).await;
    assert_eq!((first.unwrap().balance, third.unwrap().balance), (9, 8));
    assert_eq!(bank.charges("acct").await, 2);
}

#[sqlx::test]
async fn a_full_queue_refuses_at_once(pool: PgPool) {
    let bank = open_with(
        &pool,
        LanesConfig {
            lanes: 1,
            queue: 3,
            ..CONFIG
        },
    );
    bank.give("acct", 10).await;
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM accounts FOR UPDATE")
        .execute(&mut *holder)
        .await
        .unwrap();
    let mut first = Box::pin(bank.charge(charge("acct", 0)));
    let _ = futures::poll!(&mut first);
    until(|| is_somebody_waiting(&pool)).await;
    let mut queued = (1..=3)
        .map(|number| Box::pin(bank.charge(charge("acct", number))))
        .collect::<Vec<_>>();
    for call in &mut queued {
        assert!(futures::poll!(call).is_pending());
    }
    let refused = bank.charge(charge("acct", 4)).await;
    assert!(matches!(refused, Err(BillingError::Overloaded)));
    holder.rollback().await.unwrap();
    queued.push(first);
    assert!(try_join_all(queued).await.is_ok());
    assert_eq!(bank.balance("acct").await, 6);
}

#[sqlx::test]
async fn an_account_that_somebody_else_holds_stops_nobody_but_itself(pool: PgPool) {
    let bank = open_with(&pool, LanesConfig { lanes: 2, ..CONFIG });
    for account in ["acct", "held", "other"] {
        bank.give(account, 100).await;
    }
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM accounts WHERE account_id = 'held' FOR UPDATE")
        .execute(&mut *holder)
        .await
        .unwrap();
    // In one group with the others, to begin with.
    let mut held = Box::pin(try_join_all(
        (0..10).map(|number| bank.charge(charge("held", number))),
    ));
    let _ = futures::poll!(&mut held);
    for round in 1..20 {
        let others = ["acct", "other"].map(|account| {
            let number = if account == "acct" { round } else { round + 100 };
            bank.charge(charge(account, 1_000 + number))
        });
        assert!(try_join_all(others).await.is_ok());
        let _ = futures::poll!(&mut held);
    }
    assert_eq!(bank.charges("held").await, 0);
    holder.rollback().await.unwrap();
    let balances = held.await.unwrap().into_iter().map(|charged| charged.balance);
    assert!(balances.eq((90..100).rev()), "they are taken in their order");
    bank.audit().await;
}

#[sqlx::test]
async fn an_account_that_sends_too_much_leaves_room_for_others(pool: PgPool) {
    let config = LanesConfig {
        lanes: 1,
        queue: 8,
        ..CONFIG
    };
    let bank = open_with(&pool, config);
    bank.give("greedy", 100).await;
    bank.give("modest", 100).await;
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM accounts FOR UPDATE")
        .execute(&mut *holder)
        .await
        .unwrap();
    let mut first = Box::pin(bank.charge(charge("greedy", 0)));
    let _ = futures::poll!(&mut first);
    until(|| is_somebody_waiting(&pool)).await;
    let greedy = (1..=8)
        .map(|number| Box::pin(bank.charge(charge("greedy", number))))
        .collect::<Vec<_>>();
    let mut greedy = Box::pin(join_all(greedy));
    assert!(futures::poll!(&mut greedy).is_pending());
    // They have to be in the queue before the next ones come.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let modest = try_join_all((11..=14).map(|number| bank.charge(charge("modest", number))));
    let release = async {
        until(async || {
            let _ = is_somebody_waiting(&pool).await;
            true
        })
        .await;
        holder.rollback().await.unwrap();
    };
    let (modest, greedy, first, ()) = futures::join!(modest, greedy, first, release);
    assert_eq!(modest.unwrap().len(), 4);
    assert!(first.is_ok());
    let refused = greedy
        .iter()
        .filter(|outcome| matches!(outcome, Err(BillingError::Overloaded)));
    assert_eq!(refused.count(), 4, "{greedy:?}");
    assert!(greedy[..4].iter().all(Result::is_ok), "its latest have to go");
    bank.audit().await;
}

#[sqlx::test]
async fn one_charge_that_cannot_be_written_does_not_fail_the_others(pool: PgPool) {
    let bank = open_with(&pool, LanesConfig { lanes: 1, ..CONFIG });
    bank.give("acct", 100).await;
    bank.give("poison", 10).await;
    sqlx::query("ALTER TABLE ledger_entries ADD CHECK (account_id <> 'poison') NOT VALID")
        .execute(&pool)
        .await
        .unwrap();
    for poisoned in 0..8_u128 {
        let charges = (0..8).map(|number| {
            let account = if number == poisoned { "poison" } else { "acct" };
            bank.charge(charge(account, poisoned * 8 + number))
        });
        let mut outcomes = join_all(charges).await;
        let refused = outcomes.remove(usize::try_from(poisoned).unwrap());
        assert!(
            matches!(refused, Err(BillingError::Store(StoreError::Refused(_)))),
            "{refused:?}"
        );
        let first = 100 - 7 * i64::try_from(poisoned).unwrap();
        let balances = outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap().balance)
            .collect::<Vec<_>>();
        assert_eq!(balances, (first - 7..first).rev().collect::<Vec<_>>());
    }
    assert_eq!(bank.balance("poison").await, 10);
    bank.audit().await;
}

#[sqlx::test]
async fn without_a_database_nothing_is_taken_and_that_is_told(pool: PgPool) {
    let bank = open(&pool);
    pool.close().await;
    let charged = bank.charge(charge("acct", 1)).await;
    assert!(
        matches!(charged, Err(BillingError::Store(StoreError::Unavailable(_)))),
        "{charged:?}"
    );
    let granted = bank
        .billing
        .grant(Grant {
            account: id("acct"),
            id: "g".to_owned(),
            amount: 1,
        })
        .await;
    assert!(matches!(
        granted,
        Err(BillingError::Store(StoreError::Unavailable(_)))
    ));
}

#[sqlx::test]
async fn a_commit_whose_answer_is_lost_is_found_out(options: PgPoolOptions, connect: PgConnectOptions) {
    for cut in [Cut::BeforeCommit, Cut::AfterCommit] {
        let (bank, lossy, cutter) = behind_proxy(&options, &connect, cut).await;
        let account = format!("{cut:?}");
        bank.give(&account, 10).await;
        cutter.store(true, Ordering::SeqCst);
        let charges = (0..5).map(|number| {
            let number = if cut == Cut::AfterCommit {
                number
            } else {
                number + 100
            };
            lossy.charge(with_key(charge(&account, number), &number.to_string(), 1))
        });
        let mut outcomes = try_join_all(charges).await.unwrap();
        assert!(!cutter.load(Ordering::SeqCst), "the commit was cut");
        outcomes.sort_unstable_by_key(|charged| charged.balance);
        let expected = (5..10)
            .map(|balance| Charged {
                cost: 1,
                balance,
                taken: Taken::Now,
            })
            .collect::<Vec<_>>();
        assert_eq!(outcomes, expected, "{cut:?}");
        assert_eq!(
            (bank.balance(&account).await, bank.charges(&account).await),
            (5, 5),
            "{cut:?}"
        );
        bank.audit().await;
    }
}

#[sqlx::test]
async fn a_commit_that_cannot_be_found_out_is_not_called_refused(
    options: PgPoolOptions,
    connect: PgConnectOptions,
) {
    let (bank, lossy, cutter) = behind_proxy(&options, &connect, Cut::AfterCommitForGood).await;
    bank.give("acct", 10).await;
    cutter.store(true, Ordering::SeqCst);
    let outcome = lossy.charge(charge("acct", 1)).await;
    assert!(
        matches!(outcome, Err(BillingError::OutcomeUnknown)),
        "{outcome:?}"
    );
    // The same charge id settles it.
    assert_eq!(
        bank.charge(charge("acct", 1)).await.unwrap(),
        Charged {
            cost: 1,
            balance: 9,
            taken: Taken::Before
        }
    );
    bank.audit().await;
}

/// Where the proxy cuts a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Instead of handing on the commit.
    BeforeCommit,
    /// Instead of handing on the answer to the commit.
    AfterCommit,
    /// The same, and no new connection is let through.
    AfterCommitForGood,
}

/// A bank on the database, another one whose connections go through a proxy, and what arms that for one cut.
async fn behind_proxy(
    options: &PgPoolOptions,
    connect: &PgConnectOptions,
    cut: Cut,
) -> (Bank, Bank, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let upstream = (connect.get_host().to_owned(), connect.get_port());
    let armed = Arc::new(AtomicBool::new(false));
    let (cutter, shutdown) = (Arc::clone(&armed), Shutdown::new());
    let connections = shutdown.clone();
    shutdown.spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&upstream).await.unwrap();
            connections.spawn(pass(client, server, cut, Arc::clone(&cutter)));
        }
    });
    let direct = options.clone().connect_with(connect.clone()).await.unwrap();
    let through = connect.clone().host("127.0.0.1").port(port);
    // Little patience where nothing comes back, so that this test ends soon; else a busy machine is no lost connection.
    let (acquire_timeout, patience) = if cut == Cut::AfterCommitForGood {
        (Duration::from_secs(3), Duration::from_secs(5))
    } else {
        (CONFIG.patience, CONFIG.patience)
    };
    // One connection at a time.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(acquire_timeout);
    let lossy = pool.connect_with(through).await.unwrap();
    let lossy = open_with(
        &lossy,
        LanesConfig {
            lanes: 1,
            patience,
            ..CONFIG
        },
    );
    (open(&direct), lossy, armed)
}

async fn pass(mut client: TcpStream, mut server: TcpStream, cut: Cut, armed: Arc<AtomicBool>) {
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(length @ 1..) = read else { return };
                let message = &from_client[..length];
                let is_commit = message.windows(7).any(|window| window == b"COMMIT\0");
                let is_cut = (is_commit && armed.swap(cut == Cut::AfterCommitForGood && armed.load(Ordering::SeqCst), Ordering::SeqCst))
                    || (!is_commit && cut == Cut::AfterCommitForGood && is_startup(message) && armed.load(Ordering::SeqCst));
                if is_cut && (!is_commit || cut == Cut::BeforeCommit) {
                    return;
                }
                server.write_all(message).await.unwrap();
                if is_cut {
                    // Its answer tells that it has taken effect; nobody else hears it.
                    let _ = server.read(&mut from_server).await;
                    return;
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&from_server[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Whether the message opens a connection (protocol 3.x), as sent by a client without TLS.
fn is_startup(message: &[u8]) -> bool {
    message.get(4..6) == Some(&[0, 3])
}
