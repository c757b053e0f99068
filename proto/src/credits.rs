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
/// Most credits of one adjustment, either way.
pub const MAX_ADJUSTMENT: i64 = MAX_GRANT;
/// Most characters of the id of a grant or an adjustment.
pub const MAX_ID_CHARS: usize = 128;
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

/// A charge to give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    /// To whom.
    pub account: AccountId,
    /// Number of the charge's entry.
    pub entry: i64,
}

/// A correction of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjustment {
    /// Whose.
    pub account: AccountId,
    /// 1-128 characters: the same one again moves nothing again.
    pub id: String,
    /// Number of the entry that is corrected.
    pub entry: i64,
    /// Credits to give (above 0) or to take (below 0), at most [`MAX_ADJUSTMENT`]; not 0.
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
    let id = accept(&mut found, movement_id("grantId", &request.grant_id));
    let amount = accept(&mut found, amount(request.amount, 1, MAX_GRANT));
    match (account, id, amount) {
        (Some(account), Some(id), Some(amount)) => Ok(Grant { account, id, amount }),
        _ => Err(found),
    }
}

/// What the request asks for, or every rule it breaks.
pub fn refund(request: &v1::RefundChargeRequest) -> Result<Refund, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(&request.account_id));
    let entry = accept(&mut found, entry_id(request.entry_id));
    match (account, entry) {
        (Some(account), Some(entry)) => Ok(Refund { account, entry }),
        _ => Err(found),
    }
}

/// What the request asks for, or every rule it breaks.
pub fn adjustment(request: &v1::AdjustBalanceRequest) -> Result<Adjustment, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(&request.account_id));
    let id = accept(&mut found, movement_id("adjustmentId", &request.adjustment_id));
    let entry = accept(&mut found, entry_id(request.entry_id));
    let amount = amount(request.amount, -MAX_ADJUSTMENT, MAX_ADJUSTMENT).and_then(|amount| match amount {
        0 => Err(Violation::at("amount", InvalidValue, "is 0, which moves nothing")),
        _ => Ok(amount),
    });
    let amount = accept(&mut found, amount);
    match (account, id, entry, amount) {
        (Some(account), Some(id), Some(entry), Some(amount)) => Ok(Adjustment {
            account,
            id,
            entry,
            amount,
        }),
        _ => Err(found),
    }
}

/// What the request asks for, or every rule it breaks.
pub fn ledger_page(request: &v1::ListLedgerEntriesRequest) -> Result<LedgerPage, Vec<Violation>> {
    page(&request.account_id, request.page_size, &request.page_token)
}

/// What the request asks for, or every rule it breaks.
pub fn statement_page(request: &v1::GetStatementRequest) -> Result<LedgerPage, Vec<Violation>> {
    page(&request.account_id, request.page_size, &request.page_token)
}

fn page(account_id: &str, size: Option<i32>, token: &str) -> Result<LedgerPage, Vec<Violation>> {
    let mut found = Vec::new();
    let account = accept(&mut found, account::check(account_id));
    let size = size.unwrap_or(DEFAULT_LEDGER_PAGE);
    let size = accept(
        &mut found,
        bounded("pageSize", size.into(), 1, MAX_LEDGER_PAGE.into()).map(|_| size),
    );
    let before = accept(&mut found, page_token(token));
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

/// The entry behind which the token continues; none if it is no token.
#[must_use]
pub fn read_page_token(token: &str) -> Option<i64> {
    let number = token.parse().ok();
    number.filter(|number| *number > 0 && write_page_token(*number) == token)
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

/// The id of a grant or an adjustment, which stands at this property.
fn movement_id(property: &str, id: &str) -> Result<String, Violation> {
    let chars = id.chars().count();
    if chars == 0 {
        Err(Violation::at(property, Missing, "is missing"))
    } else if chars > MAX_ID_CHARS {
        Err(Violation::at(
            property,
            TooLong,
            format!("has {chars} characters, more than {MAX_ID_CHARS}"),
        ))
    } else if id.contains(char::is_control) {
        Err(Violation::at(property, InvalidValue, "has a control character"))
    } else {
        Ok(id.to_owned())
    }
}

fn entry_id(id: i64) -> Result<i64, Violation> {
    match id {
        0 => Err(Violation::at("entryId", Missing, "is missing")),
        1.. => Ok(id),
        _ => Err(Violation::at("entryId", InvalidValue, "is no number of an entry")),
    }
}

fn page_token(token: &str) -> Result<Option<i64>, Violation> {
    if token.is_empty() {
        return Ok(None);
    }
    let violation = || Violation::at("pageToken", InvalidFormat, "is no token of this service");
    read_page_token(token).map(Some).ok_or_else(violation)
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
mod tests;
