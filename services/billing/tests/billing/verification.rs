use billing::verification::{Difference, Verified};
use futures::future::{join, try_join_all};
use sqlx::PgPool;

use crate::bank::{Bank, charge, id, open};

/// All that a verification tells.
async fn verified(bank: &Bank) -> Verified {
    let (mut verification, mut all) = (bank.billing.verify(), Verified::default());
    while let Some(step) = verification.step().await.unwrap() {
        all.accounts += step.accounts;
        all.entries += step.entries;
        all.differences.extend(step.differences);
    }
    all
}

/// Changes what nobody who serves can change.
async fn forge(pool: &PgPool, statement: &'static str) {
    let mut transaction = pool.begin().await.unwrap();
    for statement in ["SET LOCAL session_replication_role = replica", statement] {
        sqlx::query(statement).execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
}

#[sqlx::test]
async fn every_balance_that_is_not_what_its_ledger_says_is_told(pool: PgPool) {
    let bank = open(&pool);
    for number in 0..20 {
        let account = format!("acct-{number:02}");
        bank.give(&account, 100).await;
        try_join_all((0..10).map(|charged| bank.charge(charge(&account, number * 100 + charged))))
            .await
            .unwrap();
    }
    let fine = verified(&bank).await;
    assert_eq!((fine.accounts, fine.entries), (20, 220));
    assert_eq!(fine.differences, []);

    forge(
        &pool,
        "UPDATE accounts SET balance = 91 WHERE account_id = 'acct-03'",
    )
    .await;
    forge(
        &pool,
        "INSERT INTO accounts VALUES ('empty', 0), ('from-nothing', 5)",
    )
    .await;
    forge(&pool, "DELETE FROM accounts WHERE account_id = 'acct-19'").await;
    forge(
        &pool,
        "UPDATE ledger_entries SET amount = 101 WHERE account_id = 'acct-07' AND grant_id IS NOT NULL",
    )
    .await;
    forge(
        &pool,
        "DELETE FROM ledger_entries WHERE id = (SELECT max(id) FROM ledger_entries WHERE account_id = 'acct-11')",
    )
    .await;
    let grant: i64 = sqlx::query_scalar(
        "SELECT id FROM ledger_entries WHERE account_id = 'acct-07' AND grant_id IS NOT NULL",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    let difference = |account: &str, balance, recomputed, entry| Difference {
        account: account.to_owned(),
        balance,
        recomputed,
        entry,
    };
    let found = verified(&bank).await;
    assert_eq!(
        found.differences,
        [
            difference("acct-03", 91, 90, None),
            difference("acct-07", 90, 91, Some(grant)),
            difference("acct-11", 90, 91, None),
            difference("acct-19", 0, 90, None),
            difference("from-nothing", 5, 0, None),
        ]
    );
    assert_eq!((found.accounts, found.entries), (22, 219));
}

#[sqlx::test]
async fn charges_meanwhile_are_no_differences(pool: PgPool) {
    let bank = open(&pool);
    let accounts = ["acct-a", "acct-b", "acct-c"];
    for account in accounts {
        bank.give(account, 100_000).await;
    }
    let charging = async {
        for round in 0..60_u128 {
            let charges = (0..300).map(|number| {
                let account = accounts[usize::try_from(number % 3).unwrap()];
                bank.charge(charge(account, round * 1_000 + number))
            });
            try_join_all(charges).await.unwrap();
        }
    };
    let verifying = async {
        let mut steps = 0;
        while bank.balance("acct-a").await > 100_000 - 6_000 {
            let verified = verified(&bank).await;
            assert_eq!(verified.differences, []);
            steps += 1;
        }
        steps
    };
    let ((), verified_times) = join(charging, verifying).await;
    assert!(verified_times > 0);
    let last = verified(&bank).await;
    assert_eq!((last.entries, last.differences), (3 + 60 * 300, vec![]));
    assert_eq!(bank.billing.balance(&id("acct-b")).await.unwrap(), 94_000);
}
