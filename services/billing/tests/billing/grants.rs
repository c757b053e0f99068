use billing::billing::BillingError;
use billing::store::{Cause, PostingError};
use futures::future::{join_all, try_join_all};
use proto::credits::{Grant, LedgerPage, MAX_BALANCE, Operation};
use sqlx::PgPool;
use uuid::Uuid;

use crate::bank::{charge, id, open};

fn grant(grant_id: &str, amount: i64) -> Grant {
    Grant {
        account: id("acct"),
        id: grant_id.to_owned(),
        amount,
    }
}

#[sqlx::test]
async fn a_grant_is_given_once(pool: PgPool) {
    let replicas = [open(&pool), open(&pool)];
    let grants = (0..20).map(|number| replicas[number % 2].billing.grant(grant("g1", 25)));
    let given = try_join_all(grants).await.unwrap();
    assert_eq!(given.iter().filter(|granted| !granted.replayed).count(), 1);
    assert!(
        given
            .iter()
            .all(|granted| (granted.amount, granted.balance) == (25, 25))
    );
    let billing = &replicas[0].billing;
    assert!(matches!(
        billing.grant(grant("g1", 26)).await,
        Err(BillingError::NotPosted(PostingError::IdReused))
    ));
    // Another account may use the same id.
    let other = Grant {
        account: id("other"),
        ..grant("g1", 1)
    };
    let given = billing.grant(other).await.unwrap();
    assert_eq!((given.balance, given.replayed), (1, false));
    assert_eq!(replicas[0].balance("acct").await, 25);
    replicas[0].audit().await;
}

#[sqlx::test]
async fn grants_and_charges_side_by_side_add_up(pool: PgPool) {
    let replicas = [open(&pool), open(&pool)];
    replicas[0].give("acct", 100).await;
    let granting = join_all((0..20).map(|number| {
        let grant = grant(&format!("g{number}"), 5);
        replicas[number % 2].billing.grant(grant)
    }));
    let charging = join_all(
        (0..60_u8).map(|number| replicas[usize::from(number % 2)].charge(charge("acct", number.into()))),
    );
    let (granted, charged) = futures::join!(granting, charging);
    assert!(granted.iter().all(Result::is_ok) && charged.iter().all(Result::is_ok));
    assert_eq!(replicas[0].balance("acct").await, 100 + 100 - 60);
    replicas[0].audit().await;
}

#[sqlx::test]
async fn a_balance_has_a_top(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", MAX_BALANCE - 1).await;
    assert!(matches!(
        bank.billing.grant(grant("g1", 2)).await,
        Err(BillingError::NotPosted(PostingError::BalanceTooLarge))
    ));
    let given = bank.billing.grant(grant("g1", 1)).await.unwrap();
    assert_eq!(
        (given.balance, given.replayed),
        (MAX_BALANCE, false),
        "a refused grant's id is free"
    );
    assert!(matches!(
        bank.billing.grant(grant("g2", i64::MAX)).await,
        Err(BillingError::NotPosted(PostingError::BalanceTooLarge))
    ));
    bank.audit().await;
}

#[sqlx::test]
async fn the_ledger_is_read_newest_first_page_by_page(pool: PgPool) {
    let bank = open(&pool);
    bank.billing.grant(grant("g1", 25)).await.unwrap();
    for number in 1..=20 {
        bank.charge(charge("acct", number)).await.unwrap();
    }
    bank.give("other", 1).await;
    let mut page = LedgerPage {
        account: id("acct"),
        size: 7,
        before: None,
    };
    let mut entries = Vec::new();
    loop {
        let (found, more) = bank.billing.ledger(&page).await.unwrap();
        assert!(found.len() == 7 || !more);
        page.before = found.last().map(|entry| entry.id);
        entries.extend(found);
        if !more {
            break;
        }
    }
    assert_eq!(entries.len(), 21);
    for (number, entry) in (1..=20_u8).rev().zip(&entries) {
        let id = Uuid::from_u128(number.into());
        assert_eq!(
            entry.cause,
            Cause::Charge {
                id,
                operation: Operation::SearchPeople
            }
        );
        assert_eq!((entry.amount, entry.balance), (-1, 25 - i64::from(number)));
    }
    assert_eq!(entries[20].cause, Cause::Grant("g1".to_owned()));
    assert_eq!((entries[20].amount, entries[20].balance), (25, 25));
    assert_eq!(entries[20].created_at, bank.ambient.now());
    let nobody = LedgerPage {
        account: id("nobody"),
        size: 7,
        before: None,
    };
    assert_eq!(bank.billing.ledger(&nobody).await.unwrap(), (vec![], false));
    assert_eq!(bank.balance("nobody").await, 0);
}
