use billing::grpc;
use futures::TryStreamExt as _;
use prost::Message as _;
use prost_types::FileDescriptorSet;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::billing::v1::{
    AdjustBalanceRequest, AdjustmentCause, ChargeRequest, GetBalanceRequest, GetStatementRequest,
    GrantCreditsRequest, Idempotency, ListLedgerEntriesRequest, Operation, PreviewChargeRequest, RefundCause,
    RefundChargeRequest, StatementEntryType, VerifyBalancesRequest, ledger_entry,
};
use proto::error_code::ErrorCode;
use proto::violation::from_status;
use runtime::service_token::Scope;
use sqlx::PgPool;
use tonic::service::Routes;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::bank::open;

fn charge(number: u128) -> ChargeRequest {
    ChargeRequest {
        account_id: "acct".into(),
        charge_id: Uuid::from_u128(number).to_string(),
        operation: Operation::SearchCompanies.into(),
        amount: 1,
        idempotency: None,
    }
}

fn grant(id: &str, amount: i64) -> GrantCreditsRequest {
    GrantCreditsRequest {
        account_id: "acct".into(),
        grant_id: id.into(),
        amount,
    }
}

fn client(pool: &PgPool) -> BillingServiceClient<Routes> {
    BillingServiceClient::new(grpc::service(open(pool).billing).routes)
}

#[sqlx::test]
async fn credits_come_and_go_over_the_wire(pool: PgPool) {
    let mut client = client(&pool);
    let given = client.grant_credits(grant("g1", 3)).await.unwrap().into_inner();
    assert_eq!((given.balance, given.replayed), (3, false));
    assert!(
        client
            .grant_credits(grant("g1", 3))
            .await
            .unwrap()
            .into_inner()
            .replayed
    );
    let preview = PreviewChargeRequest {
        account_id: "acct".into(),
        operation: Operation::SearchPeople.into(),
        amount: 1,
        idempotency: None,
    };
    assert_eq!(
        client.preview_charge(preview).await.unwrap().into_inner().balance,
        3
    );
    for number in 0..2 {
        let charged = client.charge(charge(number)).await.unwrap().into_inner();
        assert_eq!((charged.cost, charged.replayed), (1, false));
    }
    let account_id = "acct".to_owned();
    assert_eq!(
        client
            .get_balance(GetBalanceRequest { account_id })
            .await
            .unwrap()
            .into_inner()
            .balance,
        1
    );
    let mut request = ListLedgerEntriesRequest {
        account_id: "acct".into(),
        page_size: Some(2),
        page_token: String::new(),
    };
    let first = client
        .list_ledger_entries(request.clone())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        first.entries.iter().map(|entry| entry.amount).collect::<Vec<_>>(),
        [-1, -1]
    );
    let Some(ledger_entry::Cause::Charge(cause)) = &first.entries[0].cause else {
        panic!("a charge")
    };
    assert_eq!(cause.operation(), Operation::SearchCompanies);
    request.page_token = first.next_page_token;
    let second = client.list_ledger_entries(request).await.unwrap().into_inner();
    assert_eq!(second.entries.len(), 1);
    assert!(matches!(
        second.entries[0].cause,
        Some(ledger_entry::Cause::Grant(_))
    ));
    assert_eq!(second.next_page_token, "");
}

#[sqlx::test]
async fn a_statement_has_the_balance_and_every_kind_of_entry(pool: PgPool) {
    let mut client = client(&pool);
    let request = GetStatementRequest {
        account_id: "acct".into(),
        page_size: Some(3),
        page_token: String::new(),
    };
    let empty = client.get_statement(request.clone()).await.unwrap().into_inner();
    assert_eq!((empty.balance, empty.entries.len()), (0, 0));
    assert_eq!(empty.next_page_token, "");

    client.grant_credits(grant("g1", 5)).await.unwrap();
    client.charge(charge(1)).await.unwrap();
    // Another account's entries are nobody else's.
    let other = GrantCreditsRequest {
        account_id: "other".into(),
        ..grant("g1", 7)
    };
    client.grant_credits(other).await.unwrap();
    let page = client.get_statement(request.clone()).await.unwrap().into_inner();
    let charged = page.entries[0];
    assert_eq!(
        (charged.r#type(), charged.operation()),
        (StatementEntryType::Charge, Operation::SearchCompanies)
    );
    let refund = RefundChargeRequest {
        account_id: "acct".into(),
        entry_id: charged.id,
    };
    client.refund_charge(refund).await.unwrap();
    let adjustment = AdjustBalanceRequest {
        account_id: "acct".into(),
        adjustment_id: "a1".into(),
        entry_id: charged.id,
        amount: -2,
    };
    client.adjust_balance(adjustment).await.unwrap();

    let page = client.get_statement(request.clone()).await.unwrap().into_inner();
    assert_eq!(page.balance, 3);
    let told: Vec<_> = page
        .entries
        .iter()
        .map(|entry| (entry.r#type(), entry.amount, entry.balance, entry.corrects))
        .collect();
    assert_eq!(
        told,
        [
            (StatementEntryType::Adjustment, -2, 3, Some(charged.id)),
            (StatementEntryType::Refund, 1, 5, Some(charged.id)),
            (StatementEntryType::Charge, -1, 4, None),
        ]
    );
    let next = GetStatementRequest {
        page_token: page.next_page_token,
        ..request
    };
    let last = client.get_statement(next).await.unwrap().into_inner();
    assert_eq!(last.balance, 3, "the balance is that of now on every page");
    assert_eq!(
        last.entries
            .iter()
            .map(|entry| (entry.r#type(), entry.amount))
            .collect::<Vec<_>>(),
        [(StatementEntryType::Grant, 5)]
    );
    assert_eq!(last.next_page_token, "");
}

#[sqlx::test]
async fn corrections_name_their_entry_over_the_wire(pool: PgPool) {
    let mut client = client(&pool);
    client.grant_credits(grant("g1", 3)).await.unwrap();
    client.charge(charge(1)).await.unwrap();
    let request = ListLedgerEntriesRequest {
        account_id: "acct".into(),
        ..Default::default()
    };
    let entries = async |client: &mut BillingServiceClient<Routes>| {
        let page = client.list_ledger_entries(request.clone()).await.unwrap();
        page.into_inner().entries
    };
    let [charged, granted] = &entries(&mut client).await[..] else {
        panic!("two entries")
    };
    let refund = |entry_id| RefundChargeRequest {
        account_id: "acct".into(),
        entry_id,
    };
    for replayed in [false, true] {
        let refunded = client
            .refund_charge(refund(charged.id))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            (refunded.amount, refunded.balance, refunded.replayed),
            (1, 3, replayed)
        );
    }
    let adjust = |id: &str, amount| AdjustBalanceRequest {
        account_id: "acct".into(),
        adjustment_id: id.into(),
        entry_id: granted.id,
        amount,
    };
    for replayed in [false, true] {
        let adjusted = client
            .adjust_balance(adjust("a1", -2))
            .await
            .unwrap()
            .into_inner();
        assert_eq!((adjusted.balance, adjusted.replayed), (1, replayed));
    }
    let newest = entries(&mut client).await;
    let causes = newest.iter().take(2).map(|entry| entry.cause.clone());
    assert_eq!(
        causes.collect::<Vec<_>>(),
        [
            Some(ledger_entry::Cause::Adjustment(AdjustmentCause {
                adjustment_id: "a1".into(),
                corrects: granted.id
            })),
            Some(ledger_entry::Cause::Refund(RefundCause { corrects: charged.id })),
        ]
    );
    let field = |refused: &Status| from_status(refused)[0].field();
    for entry in [granted.id, charged.id + 1_000] {
        let refused = client.refund_charge(refund(entry)).await.unwrap_err();
        assert_eq!(
            (ErrorCode::of(&refused), field(&refused)),
            (ErrorCode::ValidationError, "entryId".to_owned())
        );
    }
    let refused = client.adjust_balance(adjust("a1", -1)).await.unwrap_err();
    assert_eq!(field(&refused), "adjustmentId");
    let refused = client.adjust_balance(adjust("a2", -2)).await.unwrap_err();
    assert_eq!(ErrorCode::of(&refused), ErrorCode::InsufficientCredits);
    let steps = client.verify_balances(VerifyBalancesRequest {}).await.unwrap();
    let steps: Vec<_> = steps.into_inner().try_collect().await.unwrap();
    assert_eq!(steps.iter().map(|step| step.entries).sum::<i64>(), 4, "{steps:?}");
    assert!(steps.iter().all(|step| step.differences.is_empty()));
}

#[sqlx::test]
async fn a_process_that_is_told_to_stop_does_not_verify_on(pool: PgPool) {
    let bank = open(&pool);
    bank.give("acct", 1).await;
    let mut client = BillingServiceClient::new(grpc::service(bank.billing.clone()).routes);
    let mut steps = client
        .verify_balances(VerifyBalancesRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(steps.message().await.unwrap().unwrap().entries, 1);
    bank.shutdown.begin();
    // What had been begun is told yet.
    let stopped = loop {
        match steps.message().await {
            Ok(step) => assert!(step.is_some(), "it went on to its end"),
            Err(stopped) => break stopped,
        }
    };
    assert_eq!(stopped.code(), Code::Unavailable);
}

#[sqlx::test]
async fn each_refusal_has_its_code(pool: PgPool) {
    let mut client = client(&pool);
    let short = client.charge(charge(1)).await.unwrap_err();
    assert_eq!(
        (ErrorCode::of(&short), short.code()),
        (ErrorCode::InsufficientCredits, Code::FailedPrecondition)
    );
    client.grant_credits(grant("g1", 9)).await.unwrap();
    let reused = client.grant_credits(grant("g1", 8)).await.unwrap_err();
    assert_eq!(
        (ErrorCode::of(&reused), reused.code()),
        (ErrorCode::GrantIdReused, Code::AlreadyExists)
    );
    let keyed = |number, fingerprint| {
        let idempotency = Some(Idempotency {
            key: "key".into(),
            fingerprint: vec![fingerprint; 32],
        });
        ChargeRequest {
            idempotency,
            ..charge(number)
        }
    };
    client.charge(keyed(1, 1)).await.unwrap();
    let reused = client.charge(keyed(2, 2)).await.unwrap_err();
    assert_eq!(
        (ErrorCode::of(&reused), reused.code()),
        (ErrorCode::IdempotencyKeyReused, Code::AlreadyExists)
    );
    let foreign = ChargeRequest {
        account_id: "other".into(),
        ..charge(1)
    };
    let foreign = client.charge(foreign).await.unwrap_err();
    assert_eq!(ErrorCode::of(&foreign), ErrorCode::ValidationError);
    assert_eq!(from_status(&foreign)[0].field(), "chargeId");
    let invalid = client.charge(ChargeRequest::default()).await.unwrap_err();
    assert_eq!(ErrorCode::of(&invalid), ErrorCode::ValidationError);
    let fields = from_status(&invalid)
        .iter()
        .map(proto::violation::Violation::field)
        .collect::<Vec<_>>();
    assert_eq!(
        fields,
        ["accountId", "chargeId", "operation"],
        "all problems at once"
    );
    pool.close().await;
    let away = client.charge(charge(5)).await.unwrap_err();
    assert_eq!(
        (ErrorCode::of(&away), away.code()),
        (ErrorCode::Unavailable, Code::Unavailable)
    );
    assert!(
        !away.message().contains("pool"),
        "no internals: {}",
        away.message()
    );
}

#[sqlx::test]
async fn each_method_asks_for_its_scope(pool: PgPool) {
    let scope_of = grpc::service(open(&pool).billing).scope_of;
    let files = FileDescriptorSet::decode(proto::FILE_DESCRIPTOR_SET).unwrap();
    let file = files
        .file
        .iter()
        .find(|file| file.package() == "billing.v1")
        .unwrap();
    let methods = file.service.iter().flat_map(|service| {
        service
            .method
            .iter()
            .map(|method| format!("/billing.v1.{}/{}", service.name(), method.name()))
    });
    let methods = methods.collect::<Vec<_>>();
    assert_eq!(methods.len(), 9);
    for method in methods {
        let charges = ["/Charge", "/PreviewCharge", "/GetStatement"];
        let expected = if charges.iter().any(|name| method.ends_with(name)) {
            Scope::Charge
        } else {
            Scope::Admin
        };
        assert_eq!(scope_of(&method), Some(expected), "{method}");
    }
    assert_eq!(scope_of("/billing.v1.BillingService/Else"), None);
    assert_eq!(scope_of("/keys.v1.KeyService/Charge"), None);
}
