//! Random sequences against a model that knows nothing of lanes, transactions or SQL.

use std::collections::HashMap;

use billing::billing::BillingError;
use billing::bindings;
use billing::books::{Charged, Refusal, Taken};
use billing::lanes::LanesConfig;
use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use proto::credits::{Charge, Grant, Idempotency, Operation, Purchase};
use sqlx::PgPool;
use uuid::Uuid;

use crate::bank::{CONFIG, DAY, id, open_with};

#[derive(Clone, Debug)]
enum Step {
    Grant { account: u8, grant: u8, amount: i64 },
    Charges(Vec<Wanted>),
    Preview(Wanted),
    Wait { hours: i64 },
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

/// What the service promises, said as plainly as can be.
#[derive(Default)]
struct Model {
    balances: HashMap<u8, i64>,
    grants: HashMap<(u8, u8), i64>,
    charges: HashMap<u8, Wanted>,
    bindings: HashMap<Slot, Bound>,
}

impl Model {
    fn balance(&self, account: u8) -> i64 {
        self.balances.get(&account).copied().unwrap_or(0)
    }

    fn grant(&mut self, account: u8, grant: u8, amount: i64) -> Option<(i64, bool)> {
        match self.grants.get(&(account, grant)) {
            Some(before) if *before != amount => None,
            Some(_) => Some((self.balance(account), true)),
            None => {
                self.grants.insert((account, grant), amount);
                *self.balances.entry(account).or_default() += amount;
                Some((self.balance(account), false))
            }
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
        *self.balances.entry(wanted.account).or_default() -= wanted.amount;
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
                    assert_eq!(given, model.grant(*number, *grant, *amount), "{}", told());
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
            assert_eq!(
                bank.balance(&account(case, number)).await,
                model.balance(number),
                "{steps:#?}"
            );
        }
    }
    bank.audit().await;
}
