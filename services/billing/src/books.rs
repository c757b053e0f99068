//! Who may be charged what: the decision, in memory, over what the database holds.

use std::collections::HashMap;

use proto::credits::{Charge, FINGERPRINT_BYTES, Operation, Purchase};
use uuid::Uuid;

/// A charge answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    /// Credits taken, now or the first time.
    pub cost: i64,
    /// Balance after it; of a repeat, the balance now.
    pub balance: i64,
    /// When they were taken.
    pub taken: Taken,
}

/// When the credits of a charge were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Now.
    Now,
    /// Before: this very charge had been sent already.
    Before,
    /// By an earlier charge with the same idempotency key.
    ByAnother,
}

/// Why a charge is refused. It leaves nothing behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The balance does not cover it.
    #[error("the balance of {balance} does not cover {amount}")]
    InsufficientCredits {
        /// Credits there.
        balance: i64,
        /// Credits asked for.
        amount: i64,
    },
    /// The idempotency key is bound to another request.
    #[error("the idempotency key is bound to another request")]
    IdempotencyKeyReused,
    /// The charge id is that of another account's or operation's charge.
    #[error("the charge id is that of another charge")]
    ChargeIdReused,
}

/// How a charge was decided.
pub type Outcome = Result<Charged, Refusal>;

/// A charge in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCharge {
    /// Who paid.
    pub account: String,
    /// What for.
    pub operation: Operation,
    /// Credits taken.
    pub cost: i64,
}

/// What an idempotency key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// SHA-256 of what was asked for.
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    /// Credits taken.
    pub cost: i64,
}

/// Where an idempotency key counts: account, operation, key.
pub type BindingKey = (String, Operation, String);

/// What the database holds of that which some charges touch; kept up to date as they are decided.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Balances; an account that is not there has 0.
    pub balances: HashMap<String, i64>,
    /// Charges by id.
    pub charges: HashMap<Uuid, PastCharge>,
    /// Bindings that count.
    pub bindings: HashMap<BindingKey, Binding>,
}

impl Books {
    /// Decides a charge, and notes it if credits are taken.
    pub fn charge(&mut self, charge: &Charge) -> Outcome {
        let purchase = &charge.purchase;
        let balance = self.balance(purchase);
        let bound = self.bound(purchase)?;
        // The charge itself first: what has bound its idempotency key may be itself.
        if let Some(past) = self.charges.get(&charge.id) {
            if past.account != purchase.account.as_str() || past.operation != purchase.operation {
                return Err(Refusal::ChargeIdReused);
            }
            return Ok(Charged {
                cost: past.cost,
                balance,
                taken: Taken::Before,
            });
        }
        if let Some(cost) = bound {
            return Ok(Charged {
                cost,
                balance,
                taken: Taken::ByAnother,
            });
        }
        let balance = covered(balance, purchase.amount)?;
        self.note(charge, balance);
        Ok(Charged {
            cost: purchase.amount,
            balance,
            taken: Taken::Now,
        })
    }

    /// How the purchase would be decided now, under a new charge id; the balance told is the one now.
    pub fn preview(&self, purchase: &Purchase) -> Outcome {
        let balance = self.balance(purchase);
        if let Some(cost) = self.bound(purchase)? {
            return Ok(Charged {
                cost,
                balance,
                taken: Taken::ByAnother,
            });
        }
        covered(balance, purchase.amount)?;
        Ok(Charged {
            cost: purchase.amount,
            balance,
            taken: Taken::Now,
        })
    }

    fn balance(&self, purchase: &Purchase) -> i64 {
        self.balances.get(purchase.account.as_str()).copied().unwrap_or(0)
    }

    /// What the purchase's idempotency key had cost; none if it has none or it is free.
    fn bound(&self, purchase: &Purchase) -> Result<Option<i64>, Refusal> {
        let Some(idempotency) = &purchase.idempotency else {
            return Ok(None);
        };
        let Some(key) = binding_key(purchase) else {
            return Ok(None);
        };
        match self.bindings.get(&key) {
            None => Ok(None),
            Some(binding) if binding.fingerprint == idempotency.fingerprint => Ok(Some(binding.cost)),
            Some(_) => Err(Refusal::IdempotencyKeyReused),
        }
    }

    fn note(&mut self, charge: &Charge, balance: i64) {
        let purchase = &charge.purchase;
        let account = purchase.account.as_str().to_owned();
        self.balances.insert(account.clone(), balance);
        let past = PastCharge {
            account,
            operation: purchase.operation,
            cost: purchase.amount,
        };
        self.charges.insert(charge.id, past);
        if let (Some(key), Some(idempotency)) = (binding_key(purchase), &purchase.idempotency) {
            let binding = Binding {
                fingerprint: idempotency.fingerprint,
                cost: purchase.amount,
            };
            self.bindings.insert(key, binding);
        }
    }
}

/// Where the purchase's idempotency key counts; none if it has none.
#[must_use]
pub fn binding_key(purchase: &Purchase) -> Option<BindingKey> {
    let key = purchase.idempotency.as_ref()?.key.clone();
    Some((purchase.account.as_str().to_owned(), purchase.operation, key))
}

/// The balance after the amount is taken.
fn covered(balance: i64, amount: i64) -> Result<i64, Refusal> {
    let rest = balance.checked_sub(amount).filter(|rest| *rest >= 0);
    rest.ok_or(Refusal::InsufficientCredits { balance, amount })
}
