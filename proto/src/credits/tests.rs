use super::*;
use crate::violation::ViolationCode;

fn request() -> v1::ChargeRequest {
    v1::ChargeRequest {
        account_id: "acct".into(),
        charge_id: "01890a5d-ac96-774b-bcce-b302099a8057".into(),
        operation: v1::Operation::SearchPeople.into(),
        amount: 1,
        idempotency: Some(v1::Idempotency {
            key: "k".into(),
            fingerprint: vec![7; 32],
        }),
    }
}

fn told<T>(result: Result<T, Vec<Violation>>) -> Vec<(String, ViolationCode)> {
    let violations = result.err().unwrap_or_default();
    violations
        .iter()
        .map(|violation| (violation.field(), violation.code))
        .collect()
}

fn charge_with(change: impl FnOnce(&mut v1::ChargeRequest)) -> Vec<(String, ViolationCode)> {
    let mut request = request();
    change(&mut request);
    let preview = v1::PreviewChargeRequest {
        account_id: request.account_id.clone(),
        operation: request.operation,
        amount: request.amount,
        idempotency: request.idempotency.clone(),
    };
    let charged = told(charge(&request));
    let mut expected = charged.clone();
    expected.retain(|(field, _)| field != "chargeId");
    assert_eq!(
        told(super::preview(&preview)),
        expected,
        "both have the same rules"
    );
    charged
}

fn at(field: &str, code: ViolationCode) -> Vec<(String, ViolationCode)> {
    vec![(field.to_owned(), code)]
}

#[test]
fn a_charge_within_its_bounds_passes() {
    let charge = charge(&request()).unwrap();
    assert_eq!(charge.purchase.amount, 1);
    assert_eq!(charge.purchase.idempotency.unwrap().fingerprint, [7; 32]);
    for amount in [0, 1_000_000] {
        assert_eq!(charge_with(|request| request.amount = amount), []);
    }
    assert_eq!(charge_with(|request| request.idempotency = None), []);
    for key in ["~", " ", &"x".repeat(255)] {
        assert_eq!(
            charge_with(|request| request.idempotency.as_mut().unwrap().key = key.into()),
            []
        );
    }
}

#[test]
fn each_rule_of_a_charge_is_told() {
    assert_eq!(
        charge_with(|request| request.account_id.clear()),
        at("accountId", Missing)
    );
    assert_eq!(
        charge_with(|request| request.charge_id.clear()),
        at("chargeId", Missing)
    );
    assert_eq!(
        charge_with(|request| request.charge_id = "7".into()),
        at("chargeId", InvalidFormat)
    );
    assert_eq!(
        charge_with(|request| request.operation = 0),
        at("operation", Missing)
    );
    assert_eq!(
        charge_with(|request| request.operation = 99),
        at("operation", InvalidValue)
    );
    assert_eq!(charge_with(|request| request.amount = -1), at("amount", TooSmall));
    assert_eq!(
        charge_with(|request| request.amount = 1_000_001),
        at("amount", TooBig)
    );
    for (key, code) in [
        ("", Missing),
        ("é", InvalidValue),
        ("a\nb", InvalidValue),
        (&"x".repeat(256), TooLong),
    ] {
        let found = charge_with(|request| request.idempotency.as_mut().unwrap().key = key.into());
        assert_eq!(found, at("idempotency.key", code));
    }
    for length in [0, 31, 33] {
        let found =
            charge_with(|request| request.idempotency.as_mut().unwrap().fingerprint = vec![0; length]);
        assert_eq!(found, at("idempotency.fingerprint", InvalidFormat));
    }
    let all = charge_with(|request| {
        *request = v1::ChargeRequest {
            amount: -1,
            idempotency: Some(v1::Idempotency::default()),
            ..Default::default()
        };
    });
    let fields = all.into_iter().map(|(field, _)| field).collect::<Vec<_>>();
    let expected = [
        "accountId",
        "chargeId",
        "operation",
        "amount",
        "idempotency.key",
        "idempotency.fingerprint",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn a_grant_has_its_bounds() {
    let grant = |id: &str, amount: i64| {
        told(super::grant(&v1::GrantCreditsRequest {
            account_id: "a".into(),
            grant_id: id.into(),
            amount,
        }))
    };
    for (id, amount) in [("g", 1), (&"é".repeat(128)[..], 1_000_000_000_000)] {
        assert_eq!(grant(id, amount), []);
    }
    assert_eq!(grant("", 1), at("grantId", Missing));
    assert_eq!(grant(&"x".repeat(129), 1), at("grantId", TooLong));
    assert_eq!(grant("a\0", 1), at("grantId", InvalidValue));
    assert_eq!(grant("g", 0), at("amount", TooSmall));
    assert_eq!(grant("g", i64::MAX), at("amount", TooBig));
}

#[test]
fn a_refund_names_an_entry() {
    let refund = |entry_id: i64| {
        told(super::refund(&v1::RefundChargeRequest {
            account_id: "a".into(),
            entry_id,
        }))
    };
    for entry in [1, i64::MAX] {
        assert_eq!(refund(entry), []);
    }
    assert_eq!(refund(0), at("entryId", Missing));
    assert_eq!(refund(-1), at("entryId", InvalidValue));
    let nothing = told(super::refund(&v1::RefundChargeRequest::default()));
    assert_eq!(nothing.len(), 2, "all problems at once");
}

#[test]
fn an_adjustment_names_an_entry_and_has_its_bounds() {
    let adjustment = |id: &str, entry_id: i64, amount: i64| {
        told(super::adjustment(&v1::AdjustBalanceRequest {
            account_id: "a".into(),
            adjustment_id: id.into(),
            entry_id,
            amount,
        }))
    };
    for amount in [1, -1, 1_000_000_000_000, -1_000_000_000_000] {
        assert_eq!(adjustment("a", 1, amount), []);
    }
    assert_eq!(adjustment("", 1, 1), at("adjustmentId", Missing));
    assert_eq!(adjustment(&"x".repeat(129), 1, 1), at("adjustmentId", TooLong));
    assert_eq!(adjustment("a", 0, 1), at("entryId", Missing));
    assert_eq!(adjustment("a", 1, 0), at("amount", InvalidValue));
    assert_eq!(adjustment("a", 1, i64::MAX), at("amount", TooBig));
    assert_eq!(adjustment("a", 1, i64::MIN), at("amount", TooSmall));
    let nothing = told(super::adjustment(&v1::AdjustBalanceRequest::default()));
    assert_eq!(nothing.len(), 4, "all problems at once");
}

#[test]
fn a_page_of_the_ledger_has_its_bounds() {
    let page = |page_size: Option<i32>, token: &str| {
        let page_token = token.to_owned();
        super::ledger_page(&v1::ListLedgerEntriesRequest {
            account_id: "a".into(),
            page_size,
            page_token,
        })
    };
    assert_eq!(page(None, "").unwrap().size, 100);
    assert_eq!(
        page(Some(1_000), &write_page_token(i64::MAX)).unwrap().before,
        Some(i64::MAX)
    );
    assert_eq!(told(page(Some(0), "")), at("pageSize", TooSmall));
    assert_eq!(told(page(Some(1_001), "")), at("pageSize", TooBig));
    for token in ["x", "0", "-1", "01", "+1", " 1", "99999999999999999999"] {
        assert_eq!(told(page(None, token)), at("pageToken", InvalidFormat), "{token}");
    }
}
