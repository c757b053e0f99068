//! The rules of the messages about credits, and what such a message asks for once it meets them.

use uuid::Uuid;

use crate::account::{self, AccountId};
use crate::billing::v1;
use crate::violation::ViolationCode::{InvalidFormat, InvalidValue, Missing, TooBig, TooLong, TooSmall};
use crate::violation::{PathSegment, Violation};

/// Most credits of one charge.
pub const MAX_CHARGE: i64 = 1_000_000;
/// Most credits of one grant.
pub const MAX_GRANT: i64 = 1_000_000_000_000;
/// Most credits of an account.
pub const MAX_BALANCE: i64 = 1_000_000_000_000_000;
/// Most characters of an idempotency key.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 255;
/// Most characters of a grant's id.
pub const MAX_GRANT_ID_CHARS: usize = 128;
/// Bytes of a fingerprint.
pub const FINGERPRINT_BYTES: usize = 32;
/// Entries of a ledger's page where the request does not say.
pub const DEFAULT_LEDGER_PAGE: i32 = 100;
/// Most entries of a ledger's page.
pub const MAX_LEDGER_PAGE: i32 = 1_000;

/// What is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// A search for people.
    SearchPeople,
    /// A search for companies.
    SearchCompanies,
}

/// The caller's own word that a request is the same as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// 1-255 printable ASCII characters.
    pub key: String,
    /// SHA-256 of what was asked for.
    pub fingerprint: [u8; FINGERPRINT_BYTES],
}

/// Something to be paid for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purchase {
    /// Who pays.
    pub account: AccountId,
    /// What for.
    pub operation: Operation,
    /// Credits, 0-[`MAX_CHARGE`].
    pub amount: i64,
    /// The caller's own word that it is the same as before.
    pub idempotency: Option<Idempotency>,
}

/// Credits to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Of this charge: the same one again is never taken again.
    pub id: Uuid,
    /// What is paid for.
    pub purchase: Purchase,
}

/// Credits to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// To whom.
    pub account: AccountId,
    /// 1-128 characters: the same one again is never given again.
    pub id: String,
    /// Credits, 1-[`MAX_GRANT`].
    pub amount: i64,
}

/// A page of a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerPage {
    /// Whose.
    pub account: AccountId,
    /// Most entries, 1-[`MAX_LEDGER_PAGE`].
    pub size: i32,
    /// Only entries with a lower number; none for the newest.
    pub before: Option<i64>,
}

/// What the request asks for, or every rule it breaks.
pub fn charge(request: &v1::ChargeRequest) -> Result<Charge, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(&request.account_id));
    let id = accept(&mut found, charge_id(&request.charge_id));
    let operation = accept(&mut found, operation(request.operation));
    let amount = accept(&mut found, amount(request.amount, 0, MAX_CHARGE));
    let idempotency = idempotency(&mut found, request.idempotency.as_ref());
    match (account, id, operation, amount) {
        (Some(account), Some(id), Some(operation), Some(amount)) if found.is_empty() => Ok(Charge {
            id,
            purchase: Purchase {
                account,
                operation,
                amount,
                idempotency,
            },
        }),
        _ => Err(found),
    }
}

/// What the request asks for, or every rule it breaks.
pub fn preview(request: &v1::PreviewChargeRequest) -> Result<Purchase, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(&request.account_id));
    let operation = accept(&mut found, operation(request.operation));
    let amount = accept(&mut found, amount(request.amount, 0, MAX_CHARGE));
    let idempotency = idempotency(&mut found, request.idempotency.as_ref());
    match (account, operation, amount) {
        (Some(account), Some(operation), Some(amount)) if found.is_empty() => Ok(Purchase {
            account,
            operation,
            amount,
            idempotency,
        }),
        _ => Err(found),
    }
}

/// What the request asks for, or every rule it breaks.
pub fn grant(request: &v1::GrantCreditsRequest) -> Result<Grant, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(&request.account_id));
    let id = accept(&mut found, grant_id(&request.grant_id));
    let amount = accept(&mut found, amount(request.amount, 1, MAX_GRANT));
    match (account, id, amount) {
        (Some(account), Some(id), Some(amount)) => Ok(Grant { account, id, amount }),
        _ => Err(found),
    }
}

/// What the request asks for, or every rule it breaks.
pub fn ledger_page(request: &v1::ListLedgerEntriesRequest) -> Result<LedgerPage, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(&request.account_id));
    let size = request.page_size.unwrap_or(DEFAULT_LEDGER_PAGE);
    let size = accept(
        &mut found,
        bounded("pageSize", size.into(), 1, MAX_LEDGER_PAGE.into()).map(|_| size),
    );
    let before = accept(&mut found, page_token(&request.page_token));
    match (account, size, before) {
        (Some(account), Some(size), Some(before)) => Ok(LedgerPage {
            account,
            size,
            before,
        }),
        _ => Err(found),
    }
}

/// The token that continues a ledger behind the entry with this number.
#[must_use]
pub fn write_page_token(last: i64) -> String {
    last.to_string()
}

fn accept<T>(found: &mut Vec<Violation>, value: Result<T, Violation>) -> Option<T> {
    value.map_err(|violation| found.push(violation)).ok()
}

fn charge_id(text: &str) -> Result<Uuid, Violation> {
    if text.is_empty() {
        return Err(Violation::at("chargeId", Missing, "is missing"));
    }
    Uuid::try_parse(text).map_err(|_| Violation::at("chargeId", InvalidFormat, "is no UUID"))
}

fn operation(number: i32) -> Result<Operation, Violation> {
    match v1::Operation::try_from(number) {
        Ok(v1::Operation::SearchPeople) => Ok(Operation::SearchPeople),
        Ok(v1::Operation::SearchCompanies) => Ok(Operation::SearchCompanies),
        Ok(v1::Operation::Unspecified) => Err(Violation::at("operation", Missing, "is missing")),
        Err(_) => Err(Violation::at(
            "operation",
            InvalidValue,
            "is none of the known operations",
        )),
    }
}

impl From<Operation> for v1::Operation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::SearchPeople => Self::SearchPeople,
            Operation::SearchCompanies => Self::SearchCompanies,
        }
    }
}

fn amount(amount: i64, least: i64, most: i64) -> Result<i64, Violation> {
    bounded("amount", amount, least, most)
}

fn bounded(property: &str, number: i64, least: i64, most: i64) -> Result<i64, Violation> {
    if number < least {
        Err(Violation::at(
            property,
            TooSmall,
            format!("is {number}, less than {least}"),
        ))
    } else if number > most {
        Err(Violation::at(
            property,
            TooBig,
            format!("is {number}, more than {most}"),
        ))
    } else {
        Ok(number)
    }
}

fn grant_id(id: &str) -> Result<String, Violation> {
    let chars = id.chars().count();
    if chars == 0 {
        Err(Violation::at("grantId", Missing, "is missing"))
    } else if chars > MAX_GRANT_ID_CHARS {
        Err(Violation::at(
            "grantId",
            TooLong,
            format!("has {chars} characters, more than {MAX_GRANT_ID_CHARS}"),
        ))
    } else if id.contains(char::is_control) {
        Err(Violation::at("grantId", InvalidValue, "has a control character"))
    } else {
        Ok(id.to_owned())
    }
}

fn page_token(token: &str) -> Result<Option<i64>, Violation> {
    if token.is_empty() {
        return Ok(None);
    }
    let number = token
        .parse::<i64>()
        .ok()
        .filter(|number| *number > 0 && write_page_token(*number) == token);
    let violation = || Violation::at("pageToken", InvalidFormat, "is no token of this service");
    number.map(Some).ok_or_else(violation)
}

fn idempotency(found: &mut Vec<Violation>, idempotency: Option<&v1::Idempotency>) -> Option<Idempotency> {
    let idempotency = idempotency?;
    let mut tell = |property: &str, code, message: String| {
        let mut violation = Violation::at("idempotency", code, message);
        violation.path.push(PathSegment::Name(property.to_owned()));
        found.push(violation);
    };
    let key = &idempotency.key;
    if key.is_empty() {
        tell("key", Missing, "is missing".to_owned());
    } else if !key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        tell(
            "key",
            InvalidValue,
            "has other characters than printable ASCII".to_owned(),
        );
    } else if key.len() > MAX_IDEMPOTENCY_KEY_CHARS {
        tell(
            "key",
            TooLong,
            format!(
                "has {} characters, more than {MAX_IDEMPOTENCY_KEY_CHARS}",
                key.len()
            ),
        );
    }
    let fingerprint = <[u8; FINGERPRINT_BYTES]>::try_from(idempotency.fingerprint.as_slice());
    let Ok(fingerprint) = fingerprint else {
        tell(
            "fingerprint",
            InvalidFormat,
            format!("has not {FINGERPRINT_BYTES} bytes"),
        );
        return None;
    };
    Some(Idempotency {
        key: key.clone(),
        fingerprint,
    })
}

#[cfg(test)]
mod tests {
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
}
