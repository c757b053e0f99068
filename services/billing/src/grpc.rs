//! `billing.v1` in and out: messages to plain values, refusals to `Status`.

use chrono::{DateTime, Utc};
use futures::stream::{self, BoxStream, StreamExt as _};
use proto::billing::v1::billing_service_server::{BillingService, BillingServiceServer};
use proto::billing::v1::{
    AdjustBalanceRequest, AdjustBalanceResponse, AdjustmentCause, BalanceDifference, ChargeCause,
    ChargeRequest, ChargeResponse, GetBalanceRequest, GetBalanceResponse, GetStatementRequest,
    GetStatementResponse, GrantCause, GrantCreditsRequest, GrantCreditsResponse, LedgerEntry,
    ListLedgerEntriesRequest, ListLedgerEntriesResponse, Operation, PreviewChargeRequest,
    PreviewChargeResponse, RefundCause, RefundChargeRequest, RefundChargeResponse, StatementEntry,
    StatementEntryType, VerifyBalancesRequest, VerifyBalancesResponse, ledger_entry,
};
use proto::error_code::ErrorCode;
use proto::violation::{Violation, ViolationCode, to_status};
use proto::{FILE_DESCRIPTOR_SET, account, credits};
use runtime::grpc_server::{GrpcService, deadline};
use runtime::process::with_causes;
use runtime::service_token::Scope;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use crate::billing::{Billing, BillingError};
use crate::books::{Refusal, Taken};
use crate::store::{self, Cause, PostingError, StoreError};
use crate::verification::{Difference, Verified};

/// The service as the runtime serves it.
#[must_use]
pub fn service(billing: Billing) -> GrpcService {
    GrpcService {
        routes: Routes::new(BillingServiceServer::new(Api { billing })),
        descriptors: FILE_DESCRIPTOR_SET,
        scope_of,
        names: &["billing.v1.BillingService"],
    }
}

fn scope_of(path: &str) -> Option<Scope> {
    match path.strip_prefix("/billing.v1.BillingService/")? {
        "Charge" | "PreviewCharge" | "GetStatement" => Some(Scope::Charge),
        "GrantCredits" | "RefundCharge" | "AdjustBalance" | "GetBalance" | "ListLedgerEntries"
        | "VerifyBalances" => Some(Scope::Admin),
        _ => None,
    }
}

/// The methods.
struct Api {
    billing: Billing,
}

#[tonic::async_trait]
impl BillingService for Api {
    async fn charge(&self, request: Request<ChargeRequest>) -> Result<Response<ChargeResponse>, Status> {
        let deadline = deadline(request.metadata());
        let charge = credits::charge(&request.into_inner()).map_err(invalid)?;
        let charged = self.billing.charge(charge, deadline).await?;
        Ok(Response::new(ChargeResponse {
            cost: charged.cost,
            balance: charged.balance,
            replayed: charged.taken == Taken::ByAnother,
        }))
    }

    async fn preview_charge(
        &self,
        request: Request<PreviewChargeRequest>,
    ) -> Result<Response<PreviewChargeResponse>, Status> {
        let purchase = credits::preview(&request.into_inner()).map_err(invalid)?;
        let preview = self.billing.preview(&purchase).await?;
        Ok(Response::new(PreviewChargeResponse {
            balance: preview.balance,
            replayed: preview.taken == Taken::ByAnother,
        }))
    }

    async fn get_statement(
        &self,
        request: Request<GetStatementRequest>,
    ) -> Result<Response<GetStatementResponse>, Status> {
        let page = credits::statement_page(&request.into_inner()).map_err(invalid)?;
        let statement = self.billing.statement(&page).await?;
        let last = statement.entries.last().filter(|_| statement.more);
        Ok(Response::new(GetStatementResponse {
            balance: statement.balance,
            next_page_token: last
                .map(|entry| credits::write_page_token(entry.id))
                .unwrap_or_default(),
            entries: statement.entries.into_iter().map(StatementEntry::from).collect(),
        }))
    }

    async fn grant_credits(
        &self,
        request: Request<GrantCreditsRequest>,
    ) -> Result<Response<GrantCreditsResponse>, Status> {
        let grant = credits::grant(&request.into_inner()).map_err(invalid)?;
        let granted = self.billing.grant(grant).await.map_err(grant_status)?;
        Ok(Response::new(GrantCreditsResponse {
            balance: granted.balance,
            replayed: granted.replayed,
        }))
    }

    async fn refund_charge(
        &self,
        request: Request<RefundChargeRequest>,
    ) -> Result<Response<RefundChargeResponse>, Status> {
        let refund = credits::refund(&request.into_inner()).map_err(invalid)?;
        let refunded = self.billing.refund(refund).await?;
        Ok(Response::new(RefundChargeResponse {
            amount: refunded.amount,
            balance: refunded.balance,
            replayed: refunded.replayed,
        }))
    }

    async fn adjust_balance(
        &self,
        request: Request<AdjustBalanceRequest>,
    ) -> Result<Response<AdjustBalanceResponse>, Status> {
        let adjustment = credits::adjustment(&request.into_inner()).map_err(invalid)?;
        let adjusted = self.billing.adjust(adjustment).await?;
        Ok(Response::new(AdjustBalanceResponse {
            balance: adjusted.balance,
            replayed: adjusted.replayed,
        }))
    }

    async fn get_balance(
        &self,
        request: Request<GetBalanceRequest>,
    ) -> Result<Response<GetBalanceResponse>, Status> {
        let account =
            account::check(&request.into_inner().account_id).map_err(|problem| invalid(vec![problem]))?;
        let balance = self.billing.balance(&account).await?;
        Ok(Response::new(GetBalanceResponse { balance }))
    }

    async fn list_ledger_entries(
        &self,
        request: Request<ListLedgerEntriesRequest>,
    ) -> Result<Response<ListLedgerEntriesResponse>, Status> {
        let page = credits::ledger_page(&request.into_inner()).map_err(invalid)?;
        let (entries, more) = self.billing.ledger(&page).await?;
        let last = entries
            .last()
            .filter(|_| more)
            .map(|entry| credits::write_page_token(entry.id));
        Ok(Response::new(ListLedgerEntriesResponse {
            entries: entries.into_iter().map(LedgerEntry::from).collect(),
            next_page_token: last.unwrap_or_default(),
        }))
    }

    type VerifyBalancesStream = BoxStream<'static, Result<VerifyBalancesResponse, Status>>;

    async fn verify_balances(
        &self,
        _: Request<VerifyBalancesRequest>,
    ) -> Result<Response<Self::VerifyBalancesStream>, Status> {
        let shutdown = self.billing.shutdown.clone();
        let steps = stream::try_unfold(self.billing.verify(), move |mut verification| {
            // It may take longer than a process that is told to stop has.
            let is_draining = shutdown.is_draining();
            async move {
                if is_draining {
                    return Err(ErrorCode::Unavailable.status("The service stops"));
                }
                let verified = verification.step().await.map_err(BillingError::from)?;
                Ok(verified.map(|verified| (VerifyBalancesResponse::from(verified), verification)))
            }
        });
        Ok(Response::new(steps.boxed()))
    }
}

impl From<Verified> for VerifyBalancesResponse {
    fn from(verified: Verified) -> Self {
        let difference = |difference: Difference| BalanceDifference {
            account_id: difference.account,
            balance: difference.balance,
            recomputed: difference.recomputed,
            entry_id: difference.entry,
        };
        Self {
            accounts: verified.accounts,
            entries: verified.entries,
            differences: verified.differences.into_iter().map(difference).collect(),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn invalid(violations: Vec<Violation>) -> Status {
    to_status(&violations)
}

impl From<store::LedgerEntry> for LedgerEntry {
    fn from(entry: store::LedgerEntry) -> Self {
        let cause = match entry.cause {
            Cause::Grant(grant_id) => ledger_entry::Cause::Grant(GrantCause { grant_id }),
            Cause::Charge { id, operation } => ledger_entry::Cause::Charge(ChargeCause {
                charge_id: id.to_string(),
                operation: Operation::from(operation).into(),
            }),
            Cause::Refund { corrects } => ledger_entry::Cause::Refund(RefundCause { corrects }),
            Cause::Adjustment { id, corrects } => ledger_entry::Cause::Adjustment(AdjustmentCause {
                adjustment_id: id,
                corrects,
            }),
        };
        Self {
            id: entry.id,
            amount: entry.amount,
            balance: entry.balance,
            created_at: Some(timestamp(entry.created_at)),
            cause: Some(cause),
        }
    }
}

impl From<store::LedgerEntry> for StatementEntry {
    fn from(entry: store::LedgerEntry) -> Self {
        let (entry_type, operation, corrects) = match entry.cause {
            Cause::Grant(_) => (StatementEntryType::Grant, None, None),
            Cause::Charge { operation, .. } => (StatementEntryType::Charge, Some(operation), None),
            Cause::Refund { corrects } => (StatementEntryType::Refund, None, Some(corrects)),
            Cause::Adjustment { corrects, .. } => (StatementEntryType::Adjustment, None, Some(corrects)),
        };
        Self {
            id: entry.id,
            r#type: entry_type.into(),
            operation: operation.map(Operation::from).unwrap_or_default().into(),
            amount: entry.amount,
            balance: entry.balance,
            corrects,
            created_at: Some(timestamp(entry.created_at)),
        }
    }
}

fn timestamp(time: DateTime<Utc>) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: time.timestamp(),
        nanos: i32::try_from(time.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

/// A grant's id has a code of its own.
fn grant_status(error: BillingError) -> Status {
    match error {
        BillingError::NotPosted(PostingError::IdReused) => {
            ErrorCode::GrantIdReused.status("The grant id is bound to another amount")
        }
        error => error.into(),
    }
}

fn not_posted(refused: &PostingError) -> Status {
    let violation =
        |property: &str, code, message: &str| invalid(vec![Violation::at(property, code, message)]);
    match refused {
        PostingError::IdReused => violation(
            "adjustmentId",
            ViolationCode::Conflict,
            "is bound to another adjustment",
        ),
        PostingError::BalanceTooLarge => {
            let message = format!("would raise the balance above {}", credits::MAX_BALANCE);
            violation("amount", ViolationCode::TooBig, &message)
        }
        PostingError::BalanceTooSmall { balance } => ErrorCode::InsufficientCredits.status(format!(
            "The balance of {balance} does not cover what would be taken"
        )),
        PostingError::NoSuchEntry => violation(
            "entryId",
            ViolationCode::InvalidValue,
            "is no entry of this account",
        ),
        PostingError::NotRefundable => violation(
            "entryId",
            ViolationCode::InvalidValue,
            "is no charge that has taken credits",
        ),
        PostingError::Store(error) => BillingError::Store(error.clone()).into(),
    }
}

impl From<BillingError> for Status {
    fn from(error: BillingError) -> Self {
        match &error {
            BillingError::Refused(Refusal::InsufficientCredits { .. }) => {
                ErrorCode::InsufficientCredits.status("The balance does not cover the cost")
            }
            BillingError::Refused(Refusal::IdempotencyKeyReused) => {
                ErrorCode::IdempotencyKeyReused.status("The idempotency key is bound to another request")
            }
            BillingError::Refused(Refusal::ChargeIdReused) => {
                let message = "is that of another account's or operation's charge";
                invalid(vec![Violation::at("chargeId", ViolationCode::Conflict, message)])
            }
            BillingError::NotPosted(refused) => not_posted(refused),
            BillingError::Overloaded => {
                ErrorCode::Unavailable.status("Too many charges are waiting; nothing was taken")
            }
            BillingError::OutcomeUnknown => ErrorCode::Unavailable
                .status("Whether the charge was taken is not known; the same charge id settles it"),
            BillingError::Store(StoreError::Unavailable(_)) => {
                tracing::debug!(error = with_causes(&error), "the database is not available");
                ErrorCode::Unavailable.status("The credits can't be reached at present")
            }
            BillingError::Store(StoreError::Refused(_)) | BillingError::BrokenOff => {
                tracing::error!(error = with_causes(&error), "a call has failed");
                ErrorCode::Internal.status("Something went wrong with the credits")
            }
        }
    }
}
