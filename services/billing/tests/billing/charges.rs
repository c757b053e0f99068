use billing::billing::BillingError;
use billing::bindings;
use billing::books::{Charged, Refusal, Taken};
use billing::lanes::LanesConfig;
use chrono::TimeDelta;
use futures::future::{join_all, try_join_all};
use proto::credits::Operation;
use sqlx::PgPool;

use crate::bank::{
    Bank, CONFIG, DAY, charge, id, is_somebody_waiting, open, open_with, purchase, until, with_key,
};

#[sqlx::test]
async fn a_balance_covers_what_it_has_and_no_more(pool: PgPool) {
    let (one, two) = (open(&pool), open(&pool));
    one.give("acct", 30).await;
    let charges = (0..100).map(|number| {
        let replica = if number % 2 == 0 { &one } else { &two };
        replica.charge(charge("acct", number))
    });
    let outcomes = join_all(charges).await;
    let mut balances = outcomes
        .iter()
        .filter_map(|outcome| Some(outcome.as_ref().ok()?.balance))
        .collect::<Vec<_>>();
    balances.sort_unstable();
    assert_eq!(
        balances,
        (0..30).collect::<Vec<_>>(),
        "each charge is told its own balance"
    );
    let short = |outcome: &Result<Charged, BillingError>| {
        matches!(
            outcome,
            Err(BillingError::Refused(Refusal::InsufficientCredits {
                balance: 0,
                amount: 1
            }))
        )
    };
    assert_eq!(outcomes.iter().filter(|outcome| short(outcome)).count(), 70);
    assert_eq!((one.balance("acct").await, one.charges("acct").await), (0, 30));
    one.audit().await;
}

#[sqlx::test]
async fn one_idempotency_key_is_one_charge(pool: PgPool) {
    let replicas = [open(&pool), open(&pool)];
    replicas[0].give("acct", 30).await;
    let charges = (0..20).map(|number| {
        let replica = &replicas[usize::from(number % 2 == 0)];
        replica.charge(with_key(charge("acct", number), "key", 7))
    });
    let outcomes = try_join_all(charges).await.unwrap();
    assert_eq!(
        outcomes
            .iter()
            .filter(|charged| charged.taken == Taken::Now)
            .count(),
        1
    );
    assert!(
        outcomes
            .iter()
            .all(|charged| (charged.cost, charged.balance) == (1, 29))
    );
    assert_eq!(replicas[0].charges("acct").await, 1);
    replicas[0].audit().await;
}

#[sqlx::test]
async fn an_idempotency_key_stands_for_one_request_of_one_operation(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 30).await;
    let first = bank.charge(with_key(charge("acct", 1), "key", 1)).await.unwrap();
    assert_eq!(
        first,
        Charged {
            cost: 1,
            balance: 29,
            taken: Taken::Now
        }
    );
    let other = bank
        .charge(with_key(charge("acct", 2), "key", 2))
        .await
        .unwrap_err();
    assert!(matches!(
        other,
        BillingError::Refused(Refusal::IdempotencyKeyReused)
    ));
    // The same charge id does not excuse another request.
    let other = bank
        .charge(with_key(charge("acct", 1), "key", 2))
        .await
        .unwrap_err();
    assert!(matches!(
        other,
        BillingError::Refused(Refusal::IdempotencyKeyReused)
    ));
    let mut elsewhere = with_key(charge("acct", 3), "key", 2);
    elsewhere.purchase.operation = Operation::SearchCompanies;
    assert_eq!(bank.charge(elsewhere).await.unwrap().taken, Taken::Now);
    bank.give("other", 1).await;
    assert_eq!(
        bank.charge(with_key(charge("other", 4), "key", 2))
            .await
            .unwrap()
            .taken,
        Taken::Now
    );
    assert_eq!(bank.balance("acct").await, 28);
    bank.audit().await;
}

#[sqlx::test]
async fn a_refused_charge_leaves_its_idempotency_key_free(pool: PgPool) {
    let bank = open(&pool);
    let short = bank
        .charge(with_key(charge("acct", 1), "key", 1))
        .await
        .unwrap_err();
    assert!(matches!(
        short,
        BillingError::Refused(Refusal::InsufficientCredits { .. })
    ));
    bank.give("acct", 1).await;
    assert_eq!(
        bank.charge(with_key(charge("acct", 1), "key", 2))
            .await
            .unwrap()
            .taken,
        Taken::Now
    );
    // A repeat is answered at balance 0 too, at the cost of the first time.
    let mut dearer = with_key(charge("acct", 3), "key", 2);
    dearer.purchase.amount = 5;
    assert_eq!(
        bank.charge(dearer).await.unwrap(),
        Charged {
            cost: 1,
            balance: 0,
            taken: Taken::ByAnother
        }
    );
}

#[sqlx::test]
async fn the_same_charge_again_is_no_replay_of_its_own_key(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 10).await;
    let charge = |number| bank.charge(with_key(charge("acct", number), "key", 1));
    for (number, taken) in [
        (1, Taken::Now),
        (1, Taken::Before),
        (2, Taken::ByAnother),
        (1, Taken::Before),
    ] {
        let charged = charge(number).await.unwrap();
        assert_eq!((charged.balance, charged.taken), (9, taken));
    }
}

#[sqlx::test]
async fn a_charge_id_is_taken_once(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 10).await;
    bank.give("other", 10).await;
    let outcomes = try_join_all((0..20).map(|_| bank.charge(charge("acct", 1))))
        .await
        .unwrap();
    assert_eq!(
        outcomes
            .iter()
            .filter(|charged| charged.taken == Taken::Now)
            .count(),
        1
    );
    let foreign = bank.charge(charge("other", 1)).await.unwrap_err();
    assert!(matches!(foreign, BillingError::Refused(Refusal::ChargeIdReused)));
    let mut operation = charge("acct", 1);
    operation.purchase.operation = Operation::SearchCompanies;
    let operation = bank.charge(operation).await.unwrap_err();
    assert!(matches!(
        operation,
        BillingError::Refused(Refusal::ChargeIdReused)
    ));
    assert_eq!((bank.balance("acct").await, bank.balance("other").await), (9, 10));
    bank.audit().await;
}

#[sqlx::test]
async fn one_charge_id_in_two_accounts_at_once_is_taken_from_one(pool: PgPool) {
    let bank = open(&pool);
    let accounts = (0..8).map(|number| format!("acct-{number}")).collect::<Vec<_>>();
    for account in &accounts {
        bank.give(account, 10).await;
    }
    for number in 0..20 {
        let outcomes = join_all(
            accounts
                .iter()
                .map(|account| bank.charge(charge(account, number))),
        )
        .await;
        assert_eq!(
            outcomes.iter().filter(|outcome| outcome.is_ok()).count(),
            1,
            "{outcomes:?}"
        );
    }
    bank.audit().await;
}

#[sqlx::test]
async fn what_costs_nothing_needs_no_account(pool: PgPool) {
    let bank = open(&pool);
    let free = |number| {
        let mut charge = with_key(charge("nobody", number), "key", 1);
        charge.purchase.amount = 0;
        charge
    };
    let outcomes = try_join_all((0..10).map(|number| bank.charge(free(number))))
        .await
        .unwrap();
    assert!(
        outcomes
            .iter()
            .all(|charged| (charged.cost, charged.balance) == (0, 0))
    );
    assert_eq!(bank.charges("nobody").await, 1);
    bank.audit().await;
}

#[sqlx::test]
async fn a_preview_tells_what_a_charge_would_and_takes_nothing(pool: PgPool) {
    let bank = open(&pool);
    let preview = async |purchase| bank.billing.preview(&purchase).await;
    let short = preview(purchase("acct", 1)).await.unwrap_err();
    assert!(matches!(
        short,
        BillingError::Refused(Refusal::InsufficientCredits {
            balance: 0,
            amount: 1
        })
    ));
    assert_eq!(preview(purchase("acct", 0)).await.unwrap().taken, Taken::Now);
    bank.give("acct", 1).await;
    let fine = preview(purchase("acct", 1)).await.unwrap();
    assert_eq!((fine.balance, fine.taken), (1, Taken::Now));
    let keyed = |fingerprint| with_key(charge("acct", 1), "key", fingerprint);
    assert_eq!(preview(keyed(1).purchase).await.unwrap().taken, Taken::Now);
    bank.charge(keyed(1)).await.unwrap();
    let again = preview(keyed(1).purchase).await.unwrap();
    assert_eq!((again.balance, again.taken), (0, Taken::ByAnother));
    let other = preview(keyed(2).purchase).await.unwrap_err();
    assert!(matches!(
        other,
        BillingError::Refused(Refusal::IdempotencyKeyReused)
    ));
    bank.ambient.advance(DAY);
    let late = preview(keyed(1).purchase).await.unwrap_err();
    assert!(matches!(
        late,
        BillingError::Refused(Refusal::InsufficientCredits { .. })
    ));
    assert_eq!(bank.charges("acct").await, 1);
}

#[sqlx::test]
async fn an_idempotency_key_is_free_again_after_a_day(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 30).await;
    let keyed = |number, fingerprint| bank.charge(with_key(charge("acct", number), "key", fingerprint));
    keyed(1, 1).await.unwrap();
    bank.ambient.advance(DAY - TimeDelta::seconds(1));
    assert_eq!(keyed(2, 1).await.unwrap().taken, Taken::ByAnother);
    assert_eq!(remove_old(&bank).await, 0, "it still counts");
    bank.ambient.advance(TimeDelta::seconds(1));
    assert_eq!(
        keyed(3, 2).await.unwrap().taken,
        Taken::Now,
        "a binding that is too old is replaced"
    );
    assert_eq!(keyed(4, 2).await.unwrap().taken, Taken::ByAnother);
    bank.ambient.advance(DAY);
    assert_eq!(remove_old(&bank).await, 1);
    assert_eq!(keyed(5, 3).await.unwrap().taken, Taken::Now);
    assert_eq!(bank.balance("acct").await, 27);
    bank.audit().await;
}

#[sqlx::test]
async fn old_idempotency_keys_are_removed_batch_by_batch(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 10_000).await;
    let key = |number: u128| with_key(charge("acct", number), &number.to_string(), 1);
    try_join_all((0..2_500).map(|number| bank.charge(key(number))))
        .await
        .unwrap();
    bank.ambient.advance(DAY);
    bank.charge(with_key(charge("acct", 9_999), "young", 1))
        .await
        .unwrap();
    assert_eq!(remove_old(&bank).await, 2_500);
    assert_eq!(
        bank.charge(with_key(charge("acct", 10_000), "young", 1))
            .await
            .unwrap()
            .taken,
        Taken::ByAnother
    );
}

async fn remove_old(bank: &Bank) -> u64 {
    bindings::remove(&bank.billing.store, &bank.ambient, DAY, &bank.shutdown)
        .await
        .unwrap()
}

#[sqlx::test]
async fn charges_that_wait_together_are_written_together(pool: PgPool) {
    let bank = open_with(&pool, LanesConfig { lanes: 1, ..CONFIG });
    bank.give("acct", 1_000).await;
    let mut holder = pool.begin().await.unwrap();
    sqlx::query("SELECT * FROM accounts FOR UPDATE")
        .execute(&mut *holder)
        .await
        .unwrap();
    let charges = join_all((0..400).map(|number| bank.charge(charge("acct", number))));
    let release = async {
        until(|| is_somebody_waiting(&pool)).await;
        holder.rollback().await.unwrap();
    };
    let (outcomes, ()) = futures::join!(charges, release);
    assert!(outcomes.iter().all(Result::is_ok));
    // `xmin` is the transaction that wrote a row.
    let transactions: i64 = sqlx::query_scalar(
        "SELECT count(DISTINCT xmin::text) FROM ledger_entries WHERE charge_id IS NOT NULL",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert!(transactions <= 2, "400 charges took {transactions} transactions");
    bank.audit().await;
}

#[sqlx::test]
async fn the_ledger_can_only_be_added_to(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 5).await;
    for statement in [
        "UPDATE ledger_entries SET amount = 6",
        "UPDATE ledger_entries SET amount = 6 WHERE false",
        "DELETE FROM ledger_entries",
        "TRUNCATE ledger_entries",
    ] {
        let refused = sqlx::query(statement).execute(&pool).await.unwrap_err();
        assert!(
            refused.to_string().contains("append-only"),
            "{statement}: {refused}"
        );
    }
    let below = sqlx::query("UPDATE accounts SET balance = -1")
        .execute(&pool)
        .await
        .unwrap_err();
    assert!(below.to_string().contains("accounts_balance_check"), "{below}");
    assert_eq!(bank.billing.balance(&id("acct")).await.unwrap(), 5);
}
