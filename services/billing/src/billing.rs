//! What can be done with credits.

use std::future::Future;
use std::time::Instant;

use chrono::TimeDelta;
use proto::account::AccountId;
use proto::credits::{Charge, Grant, LedgerPage, Purchase};
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;

use crate::books::{Charged, Refusal};
use crate::lanes::Lanes;
use crate::store::{Granted, LedgerEntry, Moment, Store, StoreError};

/// Why something could not be done with credits.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BillingError {
    /// A charge is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The grant's id is bound to another amount.
    #[error("the grant id is bound to another amount")]
    GrantIdReused,
    /// The balance would be larger than it can be.
    #[error("the balance would be larger than an account can have")]
    BalanceTooLarge,
    /// Too many charges wait already; nothing was taken.
    #[error("too many charges are waiting")]
    Overloaded,
    /// The database went away at the commit and did not come back in time.
    #[error("it is not known whether the charge was taken")]
    OutcomeUnknown,
    /// The database did not do its part; nothing was moved.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The work broke off.
    #[error("the work broke off")]
    BrokenOff,
}

/// The credits of all accounts. Cheap to clone.
#[derive(Clone)]
pub struct Billing {
    /// Where they are kept.
    pub store: Store,
    /// Who takes charges.
    pub lanes: Lanes,
    /// How long an idempotency key stands for its charge.
    pub idempotency_ttl: TimeDelta,
    /// Time.
    pub ambient: Ambient,
    /// Starts the tasks.
    pub shutdown: Shutdown,
}

impl Billing {
    /// Takes credits once.
    pub async fn charge(&self, charge: Charge, deadline: Option<Instant>) -> Result<Charged, BillingError> {
        self.lanes.charge(charge, deadline).await
    }

    /// What a charge for this purchase would be answered now. Takes nothing.
    pub async fn preview(&self, purchase: &Purchase) -> Result<Charged, BillingError> {
        let now = self.ambient.now();
        let moment = Moment {
            now,
            bindings_expired: now - self.idempotency_ttl,
        };
        let books = self.store.books_of(purchase, moment).await?;
        Ok(books.preview(purchase)?)
    }

    /// Gives credits once: the balance now, and whether they had been given before.
    pub async fn grant(&self, grant: Grant) -> Result<(i64, bool), BillingError> {
        let (store, now) = (self.store.clone(), self.ambient.now());
        let granted = self
            .to_its_end(async move { store.grant(&grant, now).await })
            .await?;
        match granted {
            Granted::Given { balance } => Ok((balance, false)),
            Granted::Before { balance } => Ok((balance, true)),
            Granted::IdReused => Err(BillingError::GrantIdReused),
            Granted::TooMuch => Err(BillingError::BalanceTooLarge),
        }
    }

    /// The balance of the account.
    pub async fn balance(&self, account: &AccountId) -> Result<i64, BillingError> {
        Ok(self.store.balance(account).await?)
    }

    /// A page of the account's ledger, newest first, and whether there is more behind it.
    pub async fn ledger(&self, page: &LedgerPage) -> Result<(Vec<LedgerEntry>, bool), BillingError> {
        Ok(self.store.ledger(page).await?)
    }

    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, BillingError> {
        let done = self.shutdown.spawn(work).await;
        Ok(done.map_err(|_| BillingError::BrokenOff)??)
    }
}
