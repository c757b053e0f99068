use billing::billing::BillingError;
use billing::store::{Cause, Posted, PostingError};
use futures::future::try_join_all;
use proto::credits::{Adjustment, LedgerPage, MAX_BALANCE, Refund};
use sqlx::PgPool;

use crate::bank::{Bank, charge, id, open};

/// Numbers of the account's entries, the oldest first.
async fn entries(bank: &Bank, account: &str) -> Vec<i64> {
    let page = LedgerPage {
        account: id(account),
        size: 100,
        before: None,
    };
    let (entries, _) = bank.billing.ledger(&page).await.unwrap();
    entries.iter().rev().map(|entry| entry.id).collect()
}

fn refund(account: &str, entry: i64) -> Refund {
    Refund {
        account: id(account),
        entry,
    }
}

fn adjustment(name: &str, entry: i64, amount: i64) -> Adjustment {
    Adjustment {
        account: id("acct"),
        id: name.to_owned(),
        entry,
        amount,
    }
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, BillingError>) -> PostingError {
    match outcome {
        Err(BillingError::NotPosted(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[sqlx::test]
async fn a_charge_is_given_back_once(pool: PgPool) {
    let replicas = [open(&pool), open(&pool)];
    replicas[0].give("acct", 10).await;
    let mut dear = charge("acct", 1);
    dear.purchase.amount = 7;
    replicas[0].charge(dear.clone()).await.unwrap();
    let entry = entries(&replicas[0], "acct").await[1];
    let refunds = (0..20).map(|number| replicas[number % 2].billing.refund(refund("acct", entry)));
    let refunded = try_join_all(refunds).await.unwrap();
    assert_eq!(refunded.iter().filter(|refund| !refund.replayed).count(), 1);
    assert!(
        refunded
            .iter()
            .all(|refund| (refund.amount, refund.balance) == (7, 10))
    );
    // It stays a charge that was taken: the same one again takes nothing.
    assert_eq!(replicas[0].charge(dear).await.unwrap().balance, 10);
    let page = LedgerPage {
        account: id("acct"),
        size: 1,
        before: None,
    };
    let (newest, _) = replicas[0].billing.ledger(&page).await.unwrap();
    assert_eq!(newest[0].cause, Cause::Refund { corrects: entry });
    assert_eq!((newest[0].amount, newest[0].balance), (7, 10));
    replicas[0].audit().await;
}

#[sqlx::test]
async fn only_a_charge_of_the_account_that_took_something_can_be_given_back(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 10).await;
    let mut free = charge("acct", 1);
    free.purchase.amount = 0;
    bank.charge(free).await.unwrap();
    bank.charge(charge("acct", 2)).await.unwrap();
    let [grant, free, charged] = entries(&bank, "acct").await[..] else {
        panic!("three entries")
    };
    for entry in [grant, free] {
        let outcome = bank.billing.refund(refund("acct", entry)).await;
        assert!(matches!(refused(outcome), PostingError::NotRefundable));
    }
    for (account, entry) in [
        ("acct", charged + 1_000),
        ("other", charged),
        ("acct", 0),
        ("acct", i64::MAX),
    ] {
        let outcome = bank.billing.refund(refund(account, entry)).await;
        assert!(matches!(refused(outcome), PostingError::NoSuchEntry));
    }
    bank.billing.refund(refund("acct", charged)).await.unwrap();
    let of_refund = *entries(&bank, "acct").await.last().unwrap();
    let outcome = bank.billing.refund(refund("acct", of_refund)).await;
    assert!(matches!(refused(outcome), PostingError::NotRefundable));
    let accounts: Vec<String> = sqlx::query_scalar("SELECT account_id FROM accounts")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(accounts, ["acct"], "what is refused makes no account");
    bank.audit().await;
}

#[sqlx::test]
async fn an_adjustment_is_made_once_and_names_what_it_corrects(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 10).await;
    let grant = entries(&bank, "acct").await[0];
    let down = || bank.billing.adjust(adjustment("a1", grant, -4));
    let adjusted = try_join_all(vec![down(), down(), down()]).await.unwrap();
    assert_eq!(adjusted.iter().filter(|adjusted| !adjusted.replayed).count(), 1);
    assert!(
        adjusted
            .iter()
            .all(|adjusted| (adjusted.amount, adjusted.balance) == (-4, 6))
    );
    for other in [adjustment("a1", grant, -3), adjustment("a1", grant + 1, -4)] {
        assert!(matches!(
            refused(bank.billing.adjust(other).await),
            PostingError::IdReused
        ));
    }
    let unknown = bank.billing.adjust(adjustment("a2", grant + 1_000, 1)).await;
    assert!(matches!(refused(unknown), PostingError::NoSuchEntry));
    let too_much = bank.billing.adjust(adjustment("a2", grant, -7)).await;
    assert!(matches!(
        refused(too_much),
        PostingError::BalanceTooSmall { balance: 6 }
    ));
    let too_much = bank.billing.adjust(adjustment("a2", grant, MAX_BALANCE)).await;
    assert!(matches!(refused(too_much), PostingError::BalanceTooLarge));
    for extreme in [i64::MAX, i64::MIN] {
        assert!(
            bank.billing
                .adjust(adjustment("a2", grant, extreme))
                .await
                .is_err()
        );
    }
    // What was refused leaves its id free; an adjustment can be adjusted.
    let first = entries(&bank, "acct").await[1];
    let up = bank.billing.adjust(adjustment("a2", first, 4)).await.unwrap();
    assert_eq!(
        up,
        Posted {
            amount: 4,
            balance: 10,
            replayed: false
        }
    );
    bank.audit().await;
}

/// Whether the database takes an entry of `acct` with these values: amount, grant, charge, operation, corrects,
/// adjustment.
async fn takes(pool: &PgPool, values: &str) -> Result<(), String> {
    let statement = format!(
        "INSERT INTO ledger_entries
             (account_id, balance, created_at, amount, grant_id, charge_id, operation, corrects, adjustment_id)
         VALUES ('acct', 10, now(), {values})"
    );
    let mut transaction = pool.begin().await.unwrap();
    let outcome = sqlx::query(sqlx::AssertSqlSafe(statement))
        .execute(&mut *transaction)
        .await;
    outcome.map(|_| ()).map_err(|error| error.to_string())
}

#[sqlx::test]
async fn the_database_itself_refuses_entries_that_can_not_be(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 10).await;
    bank.give("other", 10).await;
    bank.charge(charge("acct", 1)).await.unwrap();
    bank.charge(charge("other", 2)).await.unwrap();
    let [grant, charged] = entries(&bank, "acct").await[..] else {
        panic!("two entries")
    };
    let foreign = entries(&bank, "other").await[1];
    let fine = [
        "5, 'g', NULL, NULL, NULL, NULL".to_owned(),
        "-5, NULL, gen_random_uuid(), 1, NULL, NULL".to_owned(),
        "0, NULL, gen_random_uuid(), 1, NULL, NULL".to_owned(),
        format!("1, NULL, NULL, NULL, {charged}, NULL"),
        format!("5, NULL, NULL, NULL, {grant}, 'a'"),
        format!("-5, NULL, NULL, NULL, {charged}, 'a'"),
    ];
    for values in fine {
        assert_eq!(takes(&pool, &values).await, Ok(()), "{values}");
    }
    let refused = [
        // Without a cause, with two, or with half of one.
        ("5, NULL, NULL, NULL, NULL, NULL".to_owned(), "one_cause"),
        (format!("1, 'g', NULL, NULL, {charged}, NULL"), "one_cause"),
        (
            format!("-5, NULL, gen_random_uuid(), 1, {grant}, 'a'"),
            "one_cause",
        ),
        (
            "-5, NULL, gen_random_uuid(), NULL, NULL, NULL".to_owned(),
            "one_cause",
        ),
        ("5, NULL, NULL, NULL, NULL, 'a'".to_owned(), "one_cause"),
        // In the wrong direction.
        ("-5, 'g', NULL, NULL, NULL, NULL".to_owned(), "one_cause"),
        (
            "5, NULL, gen_random_uuid(), 1, NULL, NULL".to_owned(),
            "one_cause",
        ),
        (format!("0, NULL, NULL, NULL, {grant}, 'a'"), "one_cause"),
        // A refund of more, of less, of what is no charge or another's.
        (format!("2, NULL, NULL, NULL, {charged}, NULL"), "gives back"),
        (format!("10, NULL, NULL, NULL, {grant}, NULL"), "gives back"),
        (format!("1, NULL, NULL, NULL, {foreign}, NULL"), "gives back"),
        // A correction of nothing, or of another's entry.
        (
            "5, NULL, NULL, NULL, 1000000, 'a'".to_owned(),
            "ledger_correction",
        ),
        (
            format!("5, NULL, NULL, NULL, {foreign}, 'a'"),
            "ledger_correction",
        ),
        // An amount that no account can have.
        (
            format!("{}, 'g', NULL, NULL, NULL, NULL", i64::MAX),
            "amount_within_balance",
        ),
        (
            format!("{}, NULL, NULL, NULL, {grant}, 'a'", i64::MIN),
            "amount_within_balance",
        ),
    ];
    for (values, reason) in refused {
        let told = takes(&pool, &values).await.unwrap_err();
        assert!(told.contains(reason), "{values}: {told}");
    }
    bank.billing.refund(refund("acct", charged)).await.unwrap();
    let twice = takes(&pool, &format!("1, NULL, NULL, NULL, {charged}, NULL")).await;
    assert!(twice.unwrap_err().contains("ledger_refund_once"));
    bank.audit().await;
}
