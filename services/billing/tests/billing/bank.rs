//! A billing service on a database of its own, and what a test looks at.

use std::future::Future;
use std::time::Duration;

use billing::billing::{Billing, BillingError};
use billing::books::Charged;
use billing::lanes::{Lanes, LanesConfig};
use billing::store::Store;
use chrono::{DateTime, TimeDelta};
use proto::account::{self, AccountId};
use proto::credits::{Charge, Grant, Idempotency, Operation, Purchase};
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;
use sqlx::PgPool;
use uuid::Uuid;

pub(crate) const CONFIG: LanesConfig = LanesConfig {
    lanes: 4,
    queue: 5_000,
    batch: 512,
    patience: Duration::from_mins(1),
};

pub(crate) const DAY: TimeDelta = TimeDelta::hours(24);

pub(crate) struct Bank {
    pub(crate) billing: Billing,
    pub(crate) pool: PgPool,
    pub(crate) ambient: Ambient,
    pub(crate) shutdown: Shutdown,
}

pub(crate) fn open(pool: &PgPool) -> Bank {
    open_with(pool, CONFIG)
}

pub(crate) fn open_with(pool: &PgPool, config: LanesConfig) -> Bank {
    let ambient = Ambient::fixed(DateTime::from_timestamp(1_800_000_000, 0).unwrap(), 1);
    let (store, shutdown) = (Store::new(pool.clone()), Shutdown::new());
    let lanes = Lanes::start(config, &store, &ambient, DAY, &shutdown);
    let billing = Billing {
        store,
        lanes,
        idempotency_ttl: DAY,
        ambient: ambient.clone(),
        shutdown: shutdown.clone(),
    };
    Bank {
        billing,
        pool: pool.clone(),
        ambient,
        shutdown,
    }
}

impl Bank {
    pub(crate) async fn give(&self, account: &str, amount: i64) {
        let grant = Grant {
            account: id(account),
            id: Uuid::from_u128(amount.unsigned_abs().into()).to_string(),
            amount,
        };
        self.billing.grant(grant).await.unwrap();
    }

    pub(crate) async fn charge(&self, charge: Charge) -> Result<Charged, BillingError> {
        self.billing.charge(charge, None).await
    }

    pub(crate) async fn balance(&self, account: &str) -> i64 {
        self.billing.balance(&id(account)).await.unwrap()
    }

    /// How many charges the ledger of the account has.
    pub(crate) async fn charges(&self, account: &str) -> i64 {
        sqlx::query_scalar(
            "SELECT count(*) FROM ledger_entries WHERE account_id = $1 AND charge_id IS NOT NULL",
        )
        .bind(account)
        .fetch_one(&self.pool)
        .await
        .unwrap()
    }

    /// Holds every promise about the ledger that can be seen in the database.
    pub(crate) async fn audit(&self) {
        let faults: Vec<String> = sqlx::query_scalar(
            "SELECT 'sum of ' || account_id FROM ledger_entries
             LEFT JOIN accounts USING (account_id)
             GROUP BY account_id, accounts.balance HAVING sum(amount) <> coalesce(accounts.balance, 0)
             UNION ALL
             SELECT 'running balance at ' || id FROM (
                 SELECT id, balance, sum(amount) OVER (PARTITION BY account_id ORDER BY id) AS sum FROM ledger_entries
             ) AS running WHERE sum <> balance
             UNION ALL
             SELECT 'no ledger of ' || account_id FROM accounts
             WHERE balance <> 0 AND account_id NOT IN (SELECT account_id FROM ledger_entries)",
        )
        .fetch_all(&self.pool)
        .await
        .unwrap();
        assert_eq!(faults, Vec::<String>::new());
    }
}

pub(crate) fn id(account: &str) -> AccountId {
    account::check(account).unwrap()
}

pub(crate) fn purchase(account: &str, amount: i64) -> Purchase {
    Purchase {
        account: id(account),
        operation: Operation::SearchPeople,
        amount,
        idempotency: None,
    }
}

pub(crate) fn charge(account: &str, number: u128) -> Charge {
    Charge {
        id: Uuid::from_u128(number),
        purchase: purchase(account, 1),
    }
}

pub(crate) fn with_key(mut charge: Charge, key: &str, fingerprint: u8) -> Charge {
    charge.purchase.idempotency = Some(Idempotency {
        key: key.to_owned(),
        fingerprint: [fingerprint; 32],
    });
    charge
}

/// Asks again and again, in other tasks' turns, until it holds.
pub(crate) async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    let held = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), held)
        .await
        .expect("waited in vain");
}

/// Whether another session of this database waits for a lock.
pub(crate) async fn is_somebody_waiting(pool: &PgPool) -> bool {
    let waiting: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    .fetch_one(pool)
    .await
    .unwrap();
    waiting > 0
}
