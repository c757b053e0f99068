//! Random sequences against a model that knows nothing of lanes, transactions or SQL.

use std::collections::HashMap;

use billing::billing::BillingError;
use billing::bindings;
use billing::books::{Charged, Refusal, Taken};
use billing::lanes::LanesConfig;
use billing::store::{Cause, LedgerEntry, Posted};
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use proto::credits::{Adjustment, Charge, Grant, Idempotency, LedgerPage, Operation, Purchase, Refund};
use sqlx::PgPool;
use uuid::Uuid;

use crate::bank::{Bank, CONFIG, DAY, id, open_with};

#[derive(Clone, Debug)]
enum Step {
    Grant {
        account: u8,
        grant: u8,
        amount: i64,
    },
    /// Of the so manyeth entry of the ledger, counted round it.
    Refund {
        account: u8,
        entry: usize,
    },
    Adjust {
        account: u8,
        adjustment: u8,
        entry: usize,
        amount: i64,
    },
    Charges(Vec<Wanted>),
    Preview(Wanted),
    Wait {
        hours: i64,
    },
    RemoveOldKeys,
}

#[derive(Clone, Debug)]
struct Wanted {
    account: u8,
    charge: u8,
    operation: Operation,
    amount: i64,
    idempotency: Option<(u8, u8)>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let wanted = (
        0..3_u8,
        0..40_u8,
        prop_oneof![Just(Operation::SearchPeople), Just(Operation::SearchCompanies)],
        0..8_i64,
        proptest::option::of((0..4_u8, 0..2_u8)),
    );
    let wanted = wanted.prop_map(|(account, charge, operation, amount, idempotency)| Wanted {
        account,
        charge,
        operation,
        amount,
        idempotency,
    });
    let step = prop_oneof![
        2 => (0..3_u8, 0..6_u8, 1..20_i64).prop_map(|(account, grant, amount)| Step::Grant { account, grant, amount }),
        6 => proptest::collection::vec(wanted.clone(), 1..12).prop_map(Step::Charges),
        2 => (0..3_u8, 0..40_usize).prop_map(|(account, entry)| Step::Refund { account, entry }),
        2 => (0..3_u8, 0..4_u8, 0..40_usize, -9..9_i64).prop_filter_map("0 moves nothing", |(account, adjustment, entry, amount)| {
            (amount != 0).then_some(Step::Adjust { account, adjustment, entry, amount })
        }),
        3 => wanted.prop_map(Step::Preview),
        1 => (1..30_i64).prop_map(|hours| Step::Wait { hours }),
        1 => Just(Step::RemoveOldKeys),
    ];
    proptest::collection::vec(step, 1..30)
}

/// Account, operation, key.
type Slot = (u8, Operation, u8);

/// Fingerprint, cost, and when it was bound.
type Bound = (u8, i64, DateTime<Utc>);

/// An entry of the ledger: amount, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Grant { id: u8, amount: i64 },
    Charge { id: u8, cost: i64 },
    Refund { corrects: usize, amount: i64 },
    Adjustment { id: u8, corrects: usize, amount: i64 },
}

impl Entry {
    fn amount(self) -> i64 {
        match self {
            Self::Grant { amount, .. } | Self::Refund { amount, .. } | Self::Adjustment { amount, .. } => {
                amount
            }
            Self::Charge { cost, .. } => -cost,
        }
    }
}

/// What the service promises, said as plainly as can be.
#[derive(Default)]
struct Model {
    /// Of each account, the oldest first.
    ledgers: HashMap<u8, Vec<Entry>>,
    charges: HashMap<u8, Wanted>,
    bindings: HashMap<Slot, Bound>,
}

impl Model {
    fn ledger(&self, account: u8) -> &[Entry] {
        self.ledgers.get(&account).map_or(&[], Vec::as_slice)
    }

    fn balance(&self, account: u8) -> i64 {
        self.ledger(account).iter().map(|entry| entry.amount()).sum()
    }

    /// What it is answered: none if it is refused.
    fn post(&mut self, account: u8, entry: Entry) -> Option<Posted> {
        let same_id = |before: &&Entry| match (entry, before) {
            (Entry::Grant { id, .. }, Entry::Grant { id: before, .. })
            | (Entry::Adjustment { id, .. }, Entry::Adjustment { id: before, .. }) => id == *before,
            (Entry::Refund { corrects, .. }, Entry::Refund { corrects: before, .. }) => corrects == *before,
            _ => false,
        };
        let before = self.ledger(account).iter().find(same_id).copied();
        if before.is_some_and(|before| before != entry) {
            return None;
        }
        if before.is_none() {
            if self.balance(account) + entry.amount() < 0 {
                return None;
            }
            self.ledgers.entry(account).or_default().push(entry);
        }
        Some(Posted {
            amount: entry.amount(),
            balance: self.balance(account),
            replayed: before.is_some(),
        })
    }

    fn refund(&mut self, account: u8, corrects: usize) -> Option<Posted> {
        match self.ledger(account).get(corrects) {
            Some(Entry::Charge {
                cost: amount @ 1.., ..
            }) => {
                let amount = *amount;
                self.post(account, Entry::Refund { corrects, amount })
            }
            _ => None,
        }
    }

    /// `take` is false for a preview, which has no charge id either.
    fn charge(&mut self, wanted: &Wanted, now: DateTime<Utc>, take: bool) -> Result<Charged, Refusal> {
        let balance = self.balance(wanted.account);
        let slot = wanted
            .idempotency
            .map(|(key, _)| (wanted.account, wanted.operation, key));
        let bound = slot
            .and_then(|slot| self.bindings.get(&slot))
            .filter(|(_, _, at)| now - *at < DAY);
        if let Some(((bound, _, _), (_, fingerprint))) = bound.zip(wanted.idempotency)
            && *bound != fingerprint
        {
            return Err(Refusal::IdempotencyKeyReused);
        }
        if let Some(past) = self.charges.get(&wanted.charge).filter(|_| take) {
            return if (past.account, past.operation) == (wanted.account, wanted.operation) {
                Ok(Charged {
                    cost: past.amount,
                    balance,
                    taken: Taken::Before,
                })
            } else {
                Err(Refusal::ChargeIdReused)
            };
        }
        if let Some((_, cost, _)) = bound {
            return Ok(Charged {
                cost: *cost,
                balance,
                taken: Taken::ByAnother,
            });
        }
        if balance < wanted.amount {
            return Err(Refusal::InsufficientCredits {
                balance,
                amount: wanted.amount,
            });
        }
        if !take {
            return Ok(Charged {
                cost: wanted.amount,
                balance,
                taken: Taken::Now,
            });
        }
        let entry = Entry::Charge {
            id: wanted.charge,
            cost: wanted.amount,
        };
        self.ledgers.entry(wanted.account).or_default().push(entry);
        self.charges.insert(wanted.charge, wanted.clone());
        if let Some((slot, (_, fingerprint))) = slot.zip(wanted.idempotency) {
            self.bindings.insert(slot, (fingerprint, wanted.amount, now));
        }
        Ok(Charged {
            cost: wanted.amount,
            balance: self.balance(wanted.account),
            taken: Taken::Now,
        })
    }
}

fn account(case: u128, account: u8) -> String {
    format!("case-{case}-acct-{account}")
}

fn purchase(case: u128, wanted: &Wanted) -> Purchase {
    Purchase {
        account: id(&account(case, wanted.account)),
        operation: wanted.operation,
        amount: wanted.amount,
        idempotency: wanted.idempotency.map(|(key, fingerprint)| Idempotency {
            key: format!("key {key}"),
            fingerprint: [fingerprint; 32],
        }),
    }
}

/// The account's ledger, the oldest entry first.
async fn entries(bank: &Bank, account: &str) -> Vec<LedgerEntry> {
    let page = LedgerPage {
        account: id(account),
        size: 1_000,
        before: None,
    };
    let (mut entries, more) = bank.billing.ledger(&page).await.unwrap();
    assert!(!more);
    entries.reverse();
    entries
}

async fn entry_ids(bank: &Bank, account: &str) -> Vec<i64> {
    entries(bank, account)
        .await
        .iter()
        .map(|entry| entry.id)
        .collect()
}

/// The account's ledger, as the model has it.
async fn ledger(bank: &Bank, case: u128, account: &str) -> Vec<Entry> {
    let entries = entries(bank, account).await;
    let place = |entry_id: i64| entries.iter().position(|entry| entry.id == entry_id).unwrap();
    let as_modelled = |entry: &LedgerEntry| match &entry.cause {
        Cause::Grant(grant) => Entry::Grant {
            id: grant.parse().unwrap(),
            amount: entry.amount,
        },
        Cause::Charge { id, .. } => Entry::Charge {
            id: u8::try_from(id.as_u128() - (case << 64)).unwrap(),
            cost: -entry.amount,
        },
        Cause::Refund { corrects } => Entry::Refund {
            corrects: place(*corrects),
            amount: entry.amount,
        },
        Cause::Adjustment { id, corrects } => Entry::Adjustment {
            id: id.parse().unwrap(),
            corrects: place(*corrects),
            amount: entry.amount,
        },
    };
    entries.iter().map(as_modelled).collect()
}

fn refusal(error: BillingError) -> Refusal {
    match error {
        BillingError::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

#[sqlx::test]
async fn random_sequences_go_as_the_model_says(pool: PgPool) {
    // One lane: then charges of several accounts that are queued in an order are decided in it.
    let bank = open_with(&pool, LanesConfig { lanes: 1, ..CONFIG });
    let mut runner = TestRunner::deterministic();
    for case in 0..60_u128 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let mut model = Model::default();
        for (place, step) in steps.iter().enumerate() {
            let told = || format!("step {place} of {steps:#?}");
            let now = bank.ambient.now();
            match step {
                Step::Grant {
                    account: number,
                    grant,
                    amount,
                } => {
                    let wanted = Grant {
                        account: id(&account(case, *number)),
                        id: grant.to_string(),
                        amount: *amount,
                    };
                    let given = bank.billing.grant(wanted).await.ok();
                    let entry = Entry::Grant {
                        id: *grant,
                        amount: *amount,
                    };
                    assert_eq!(given, model.post(*number, entry), "{}", told());
                }
                Step::Refund {
                    account: number,
                    entry,
                } => {
                    let ids = entry_ids(&bank, &account(case, *number)).await;
                    let Some(place) = entry.checked_rem(ids.len()) else {
                        continue;
                    };
                    let refund = Refund {
                        account: id(&account(case, *number)),
                        entry: ids[place],
                    };
                    let refunded = bank.billing.refund(refund).await.ok();
                    assert_eq!(refunded, model.refund(*number, place), "{}", told());
                }
                Step::Adjust {
                    account: number,
                    adjustment,
                    entry,
                    amount,
                } => {
                    let ids = entry_ids(&bank, &account(case, *number)).await;
                    let Some(place) = entry.checked_rem(ids.len()) else {
                        continue;
                    };
                    let wanted = Adjustment {
                        account: id(&account(case, *number)),
                        id: adjustment.to_string(),
                        entry: ids[place],
                        amount: *amount,
                    };
                    let adjusted = bank.billing.adjust(wanted).await.ok();
                    let entry = Entry::Adjustment {
                        id: *adjustment,
                        corrects: place,
                        amount: *amount,
                    };
                    assert_eq!(adjusted, model.post(*number, entry), "{}", told());
                }
                Step::Charges(wanted) => {
                    let charges = wanted.iter().map(|wanted| Charge {
                        id: Uuid::from_u128(case << 64 | u128::from(wanted.charge)),
                        purchase: purchase(case, wanted),
                    });
                    let outcomes = join_all(charges.map(|charge| bank.charge(charge))).await;
                    for (wanted, outcome) in wanted.iter().zip(outcomes) {
                        let expected = model.charge(wanted, now, true);
                        assert_eq!(outcome.map_err(refusal), expected, "{wanted:?} in {}", told());
                    }
                }
                Step::Preview(wanted) => {
                    let outcome = bank.billing.preview(&purchase(case, wanted)).await;
                    assert_eq!(
                        outcome.map_err(refusal),
                        model.charge(wanted, now, false),
                        "{}",
                        told()
                    );
                }
                Step::Wait { hours } => bank.ambient.advance(TimeDelta::hours(*hours)),
                Step::RemoveOldKeys => {
                    bindings::remove(&bank.billing.store, &bank.ambient, DAY, &bank.shutdown)
                        .await
                        .unwrap();
                }
            }
        }
        for number in 0..3 {
            let account = account(case, number);
            assert_eq!(bank.balance(&account).await, model.balance(number), "{steps:#?}");
            assert_eq!(
                ledger(&bank, case, &account).await,
                model.ledger(number),
                "{steps:#?}"
            );
        }
    }
    bank.audit().await;
}
