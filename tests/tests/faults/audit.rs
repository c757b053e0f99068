//! Holds the ledger of an account against what its callers were told.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

/// A movement of credits.
#[derive(Clone)]
pub(crate) struct Entry {
    amount: i64,
    balance: i64,
    /// Id of the charge; none of a grant.
    charge: Option<String>,
    /// Commits have moments of their own; all that was written by one has the same.
    moment: String,
}

/// An idempotency key that stands for a charge.
#[derive(Clone)]
pub(crate) struct Binding {
    key: String,
    /// Of the commit that has taken its charge.
    moment: String,
}

/// What the database knows of an account.
#[derive(Clone)]
pub(crate) struct Books {
    balance: i64,
    /// The oldest first.
    entries: Vec<Entry>,
    bindings: Vec<Binding>,
}

/// How requests without an idempotency key ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Endings {
    /// With 200.
    pub(crate) answered: usize,
    /// With 503 or 504.
    pub(crate) refused: usize,
    /// Without an answer: the connection was lost, or the caller's time was over.
    pub(crate) unanswered: usize,
}

/// Requests that were not answered 200 and have cost a credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The gateway did not learn the outcome of their charge, and has said so in its log.
    pub(crate) behind_the_gateway: usize,
    /// Their answer did not reach the caller.
    pub(crate) before_it: usize,
}

impl Books {
    /// Reads them; nothing may be on its way any more.
    pub(crate) async fn read(database: &mut PgConnection, account: &str) -> Self {
        let entries: Vec<(i64, i64, Option<String>, String)> = sqlx::query_as(
            "SELECT amount, balance, charge_id::text, created_at::text
             FROM ledger_entries WHERE account_id = $1 ORDER BY id",
        )
        .bind(account)
        .fetch_all(&mut *database)
        .await
        .unwrap();
        let bindings: Vec<(String, String)> =
            sqlx::query_as("SELECT key, bound_at::text FROM idempotency_bindings WHERE account_id = $1")
                .bind(account)
                .fetch_all(&mut *database)
                .await
                .unwrap();
        let balance = sqlx::query_scalar("SELECT balance FROM accounts WHERE account_id = $1")
            .bind(account)
            .fetch_one(database)
            .await
            .unwrap();
        Self {
            balance,
            entries: entries
                .into_iter()
                .map(|(amount, balance, charge, moment)| Entry {
                    amount,
                    balance,
                    charge,
                    moment,
                })
                .collect(),
            bindings: bindings
                .into_iter()
                .map(|(key, moment)| Binding { key, moment })
                .collect(),
        }
    }

    /// How often a search was charged.
    pub(crate) fn charges(&self) -> usize {
        self.entries.iter().filter(|entry| entry.charge.is_some()).count()
    }

    /// What is wrong with the sums: the balance is that of the last entry, that is the sum of all, and that is what was
    /// granted less one for each charge.
    pub(crate) fn wrong_sums(&self, granted: i64) -> Vec<String> {
        let mut wrong = Vec::new();
        let (mut sum, mut given) = (0, 0);
        for (place, entry) in self.entries.iter().enumerate() {
            sum += entry.amount;
            if entry.balance != sum {
                wrong.push(format!("entry {place} tells {}, the sum is {sum}", entry.balance));
            }
            match &entry.charge {
                Some(charge) if entry.amount != -1 => {
                    wrong.push(format!("charge {charge} took {}", -entry.amount));
                }
                Some(_) => {}
                None => given += entry.amount,
            }
        }
        if self.balance != sum {
            wrong.push(format!("the balance is {}, the sum {sum}", self.balance));
        }
        if given != granted {
            wrong.push(format!("{granted} were granted, the ledger has {given}"));
        }
        wrong
    }

    /// What is wrong if all requests had these idempotency keys, and all were answered 200: each key stands for one charge,
    /// and there is no other.
    pub(crate) fn not_once(&self, answered: &BTreeSet<String>) -> Vec<String> {
        let mut wrong = Vec::new();
        let bound: BTreeSet<&String> = self.bindings.iter().map(|binding| &binding.key).collect();
        for key in answered {
            if !bound.contains(key) {
                wrong.push(format!("{key} was answered and not charged"));
            }
        }
        for key in bound {
            if !answered.contains(key) {
                wrong.push(format!("{key} was charged and not answered"));
            }
        }
        // What was written in one commit is told apart by nothing else.
        let mut commits = BTreeMap::<&str, (usize, usize)>::new();
        for entry in self.entries.iter().filter(|entry| entry.charge.is_some()) {
            commits.entry(&entry.moment).or_default().0 += 1;
        }
        for binding in &self.bindings {
            commits.entry(&binding.moment).or_default().1 += 1;
        }
        for (moment, (charges, keys)) in commits {
            if charges != keys {
                wrong.push(format!("{charges} charges for {keys} keys at {moment}"));
            }
        }
        wrong
    }

    /// Which requests were charged though not answered 200, if none had an idempotency key and they ended like this; or what
    /// is wrong. `unknown` are the charges whose outcome a gateway did not learn.
    pub(crate) fn lost(&self, ended: Endings, unknown: &BTreeSet<String>) -> Result<Lost, Vec<String>> {
        let mut wrong = Vec::new();
        let charges: Vec<&String> = self
            .entries
            .iter()
            .filter_map(|entry| entry.charge.as_ref())
            .collect();
        let behind_the_gateway = charges.iter().filter(|charge| unknown.contains(**charge)).count();
        let known = charges.len() - behind_the_gateway;
        if known < ended.answered {
            wrong.push(format!("{} were answered, {known} charged", ended.answered));
        }
        let before_it = known.saturating_sub(ended.answered);
        if before_it > ended.unanswered {
            wrong.push(format!(
                "{before_it} were charged beyond the {} answered, {} were not answered",
                ended.answered, ended.unanswered
            ));
        }
        if behind_the_gateway + before_it > ended.refused + ended.unanswered {
            wrong.push(format!(
                "{behind_the_gateway} and {before_it} were charged in vain: {ended:?}"
            ));
        }
        if wrong.is_empty() {
            Ok(Lost {
                behind_the_gateway,
                before_it,
            })
        } else {
            Err(wrong)
        }
    }
}

/// A grant of 10, and a charge for each of these idempotency keys, two in a commit.
fn books(keys: &[&str]) -> Books {
    let moment = |place: usize| format!("moment {}", place / 2);
    let mut balance = 10;
    let mut entries = vec![Entry {
        amount: 10,
        balance,
        charge: None,
        moment: "first".to_owned(),
    }];
    for place in 0..keys.len() {
        balance -= 1;
        entries.push(Entry {
            amount: -1,
            balance,
            charge: Some(format!("charge {place}")),
            moment: moment(place),
        });
    }
    let bindings = keys.iter().enumerate().map(|(place, key)| Binding {
        key: (*key).to_owned(),
        moment: moment(place),
    });
    Books {
        balance,
        entries,
        bindings: bindings.collect(),
    }
}

/// One more charge at the end, as if a request had been charged again.
fn with_another_charge(mut books: Books) -> Books {
    books.balance -= 1;
    let last = books.entries.last().unwrap().clone();
    books.entries.push(Entry {
        balance: books.balance,
        charge: Some("another charge".to_owned()),
        ..last
    });
    books
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_key_charged_twice_or_never_is_found() {
    let right = books(&["a", "b", "c"]);
    assert!(right.wrong_sums(10).is_empty());
    assert!(right.not_once(&set(&["a", "b", "c"])).is_empty());

    let twice = with_another_charge(right.clone());
    assert!(twice.wrong_sums(10).is_empty(), "the sums are right");
    assert_eq!(
        twice.not_once(&set(&["a", "b", "c"])),
        ["2 charges for 1 keys at moment 1"]
    );
    // As many charges as keys, and yet one key has two and another one none.
    let instead = with_another_charge(books(&["a", "b"]));
    assert_eq!(
        instead.not_once(&set(&["a", "b", "c"])),
        [
            "c was answered and not charged",
            "3 charges for 2 keys at moment 0"
        ]
    );
    assert_eq!(
        right.not_once(&set(&["a", "b"])),
        ["c was charged and not answered"]
    );
}

#[test]
fn sums_that_are_wrong_are_found() {
    let right = books(&["a", "b"]);
    let mut wrong = right.clone();
    wrong.balance += 1;
    assert_eq!(wrong.wrong_sums(10), ["the balance is 9, the sum 8"]);
    let mut wrong = right.clone();
    wrong.entries[1].balance += 1;
    assert_eq!(wrong.wrong_sums(10), ["entry 1 tells 10, the sum is 9"]);
    let mut wrong = right.clone();
    wrong.entries[2] = Entry {
        amount: -2,
        balance: 7,
        ..wrong.entries[2].clone()
    };
    wrong.balance = 7;
    assert_eq!(wrong.wrong_sums(10), ["charge charge 1 took 2"]);
    assert_eq!(right.wrong_sums(11), ["11 were granted, the ledger has 10"]);
}

#[test]
fn without_a_key_a_charge_too_many_is_found_unless_an_answer_was_lost() {
    let ended = |answered, refused, unanswered| Endings {
        answered,
        refused,
        unanswered,
    };
    let (books, none) = (books(&["a", "b", "c"]), BTreeSet::new());
    assert_eq!(books.lost(ended(3, 2, 2), &none), Ok(Lost::default()));
    let lost = Lost {
        behind_the_gateway: 0,
        before_it: 1,
    };
    assert_eq!(books.lost(ended(2, 0, 1), &none), Ok(lost));
    // Refused, and charged.
    assert!(books.lost(ended(2, 1, 0), &none).is_err());
    let unknown = set(&["charge 1", "of somebody else"]);
    let lost = Lost {
        behind_the_gateway: 1,
        before_it: 0,
    };
    assert_eq!(books.lost(ended(2, 1, 0), &unknown), Ok(lost));
    // Charged twice.
    assert!(books.lost(ended(2, 0, 0), &unknown).is_err());
    // Answered, and not charged.
    assert!(books.lost(ended(4, 0, 0), &none).is_err());
    assert!(books.lost(ended(3, 1, 0), &unknown).is_err());
}
