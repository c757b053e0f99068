//! Whether every balance is what its ledger says.
//!
//! The ledger is read some entries at a time, account by account, while charges go on. That needs no snapshot held for
//! long and no lock: entries are never changed, those of an account are numbered in the order in which they were written,
//! and each statement tells the balances of the same moment as its entries. A balance is compared once nothing comes
//! behind the account's last entry, with what was true when that entry was read. Whoever stops listening stops it.

use crate::store::{KeptBalance, Store, StoreError, WrittenEntry};

/// Rows read at a time.
const ROWS: i64 = 10_000;

/// What a step has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Accounts whose balance has been recomputed.
    pub accounts: i64,
    /// Entries that it was recomputed from.
    pub entries: i64,
    /// Where it differs.
    pub differences: Vec<Difference>,
}

/// An account whose balance is not what its ledger says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Whose.
    pub account: String,
    /// Balance as it is kept.
    pub balance: i64,
    /// Balance as its ledger adds up; as near to it as the type allows.
    pub recomputed: i64,
    /// The first entry that tells another balance than the ledger adds up to.
    pub entry: Option<i64>,
}

/// A verification under way.
#[derive(Debug)]
pub struct Verification {
    store: Store,
    progress: Progress,
}

/// Where it stands.
#[derive(Debug)]
enum Progress {
    /// In the ledger, within this account, or at its beginning.
    Entries(Option<Sum>),
    /// Behind this one of the accounts, for those without entries.
    Balances(String),
    /// At the end.
    Done,
}

/// The sum of an account's ledger so far. It is wider than what it adds up: no ledger can overflow it.
#[derive(Clone, Debug)]
struct Sum {
    account: String,
    last_entry: i64,
    total: i128,
    /// As told with the last entry.
    kept: i64,
    first_wrong: Option<i64>,
}

impl Verification {
    /// Of all accounts of this store.
    #[must_use]
    pub const fn new(store: Store) -> Self {
        Self {
            store,
            progress: Progress::Entries(None),
        }
    }

    /// Goes on for some rows; none at the end. After a failure the same step is done again.
    pub async fn step(&mut self) -> Result<Option<Verified>, StoreError> {
        match &mut self.progress {
            Progress::Entries(sum) => {
                let behind = sum
                    .as_ref()
                    .map_or(("", 0), |sum| (sum.account.as_str(), sum.last_entry));
                let entries = self.store.entries_behind(behind, ROWS).await?;
                let mut verified = Verified::default();
                let is_end = entries.is_empty();
                for entry in entries {
                    add(sum, entry, &mut verified);
                }
                if is_end {
                    if let Some(sum) = sum.take() {
                        sum.close(&mut verified);
                    }
                    self.progress = Progress::Balances(String::new());
                }
                Ok(Some(verified))
            }
            Progress::Balances(behind) => {
                let balances = self.store.balances_behind(behind, ROWS).await?;
                self.progress = match balances.last() {
                    Some(last) => Progress::Balances(last.account.clone()),
                    None => Progress::Done,
                };
                Ok(Some(verify_without_entries(balances)))
            }
            Progress::Done => Ok(None),
        }
    }
}

fn add(sum: &mut Option<Sum>, entry: WrittenEntry, verified: &mut Verified) {
    verified.entries += 1;
    if let Some(done) = sum.take_if(|sum| sum.account != entry.account) {
        done.close(verified);
    }
    let sum = sum.get_or_insert_with(|| Sum {
        account: entry.account,
        last_entry: 0,
        total: 0,
        kept: 0,
        first_wrong: None,
    });
    sum.last_entry = entry.id;
    sum.kept = entry.kept;
    sum.total += i128::from(entry.amount);
    if sum.total != i128::from(entry.balance) && sum.first_wrong.is_none() {
        sum.first_wrong = Some(entry.id);
    }
}

impl Sum {
    fn close(self, verified: &mut Verified) {
        verified.accounts += 1;
        if self.total != i128::from(self.kept) || self.first_wrong.is_some() {
            let nearest = if self.total < 0 { i64::MIN } else { i64::MAX };
            verified.differences.push(Difference {
                account: self.account,
                balance: self.kept,
                recomputed: i64::try_from(self.total).unwrap_or(nearest),
                entry: self.first_wrong,
            });
        }
    }
}

/// An account without entries has a balance of 0.
fn verify_without_entries(balances: Vec<KeptBalance>) -> Verified {
    let mut verified = Verified::default();
    for balance in balances.into_iter().filter(|balance| !balance.has_entries) {
        verified.accounts += 1;
        if balance.balance != 0 {
            verified.differences.push(Difference {
                account: balance.account,
                balance: balance.balance,
                recomputed: 0,
                entry: None,
            });
        }
    }
    verified
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ledger_overflows_its_sum() {
        let (mut sum, mut verified) = (None, Verified::default());
        for id in 1..=3 {
            let entry = WrittenEntry {
                account: "acct".to_owned(),
                id,
                amount: i64::MAX,
                balance: i64::MAX,
                kept: i64::MAX,
            };
            add(&mut sum, entry, &mut verified);
        }
        sum.unwrap().close(&mut verified);
        let expected = Difference {
            account: "acct".to_owned(),
            balance: i64::MAX,
            recomputed: i64::MAX,
            entry: Some(2),
        };
        assert_eq!(verified.differences, [expected]);
    }
}
