//! What can be done with credits.

use std::future::Future;
use std::time::Instant;

use chrono::TimeDelta;
use proto::account::AccountId;
use proto::credits::{Adjustment, Charge, Grant, LedgerPage, Purchase, Refund};
use runtime::ambient::Ambient;
use runtime::shutdown::Shutdown;

use crate::books::{Charged, Refusal};
use crate::lanes::Lanes;
use crate::store::{LedgerEntry, Moment, Posted, PostingError, Statement, Store, StoreError};
use crate::verification::Verification;

/// Why something could not be done with credits.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BillingError {
    /// A charge is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A grant, a refund or an adjustment is refused.
    #[error(transparent)]
    NotPosted(PostingError),
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

    /// Gives credits once.
    pub async fn grant(&self, grant: Grant) -> Result<Posted, BillingError> {
        let (store, now) = (self.store.clone(), self.ambient.now());
        self.to_its_end(async move { store.grant(&grant, now).await })
            .await
    }

    /// Gives back once what a charge has taken.
    pub async fn refund(&self, refund: Refund) -> Result<Posted, BillingError> {
        let (store, now) = (self.store.clone(), self.ambient.now());
        self.to_its_end(async move { store.refund(&refund, now).await })
            .await
    }

    /// Moves credits once, to correct an entry.
    pub async fn adjust(&self, adjustment: Adjustment) -> Result<Posted, BillingError> {
        let (store, now) = (self.store.clone(), self.ambient.now());
        self.to_its_end(async move { store.adjust(&adjustment, now).await })
            .await
    }

    /// The balance of the account.
    pub async fn balance(&self, account: &AccountId) -> Result<i64, BillingError> {
        Ok(self.store.balance(account).await?)
    }

    /// A page of the account's ledger, newest first, and whether there is more behind it.
    pub async fn ledger(&self, page: &LedgerPage) -> Result<(Vec<LedgerEntry>, bool), BillingError> {
        Ok(self.store.ledger(page).await?)
    }

    /// The account's balance, and a page of its ledger.
    pub async fn statement(&self, page: &LedgerPage) -> Result<Statement, BillingError> {
        Ok(self.store.statement(page).await?)
    }

    /// Recomputes every balance.
    #[must_use]
    pub fn verify(&self) -> Verification {
        Verification::new(self.store.clone())
    }

    async fn to_its_end(
        &self,
        work: impl Future<Output = Result<Posted, PostingError>> + Send + 'static,
    ) -> Result<Posted, BillingError> {
        let done = self.shutdown.spawn(work).await;
        Ok(done.map_err(|_| BillingError::BrokenOff)??)
    }
}

impl From<PostingError> for BillingError {
    fn from(error: PostingError) -> Self {
        match error {
            PostingError::Store(error) => Self::Store(error),
            refused => Self::NotPosted(refused),
        }
    }
}
