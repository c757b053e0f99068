//! Section 8: behind the gateway; section 9: `dsctl`.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Output, Stdio};

use proto::billing::v1::GetBalanceRequest;
use proto::billing::v1::billing_service_client::BillingServiceClient;
use proto::keys::v1::VerifyKeyRequest;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::search::v1::search_service_client::SearchServiceClient;
use proto::search::v1::{SearchPeopleRequest, SearchQuery};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use system_tests::{Answer, world};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

fn channel(address: &str) -> Channel {
    world()
        .operator
        .block_on(async { Endpoint::from_shared(address.to_owned()).unwrap().connect_lazy() })
}

fn with_token<T>(message: T, token: &str) -> Request<T> {
    let mut request = Request::new(message);
    request
        .metadata_mut()
        .insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

#[test]
fn without_a_service_token_nothing_but_health_answers() {
    let environment = &world().environment;
    world().operator.block_on(async {
        let mut keys = KeyServiceClient::new(channel_of(&environment.keys_grpc));
        let mut billing = BillingServiceClient::new(channel_of(&environment.billing_grpc));
        let mut search = SearchServiceClient::new(channel_of(&environment.search_grpc));
        let refused = keys.verify_key(VerifyKeyRequest::default()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        let refused = billing
            .get_balance(GetBalanceRequest::default())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        let refused = search
            .search_people(SearchPeopleRequest::default())
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        let wrong = with_token(GetBalanceRequest::default(), "x".repeat(64).as_str());
        assert_eq!(
            billing.get_balance(wrong).await.unwrap_err().code(),
            Code::Unauthenticated
        );
        for address in [
            &environment.keys_grpc,
            &environment.billing_grpc,
            &environment.search_grpc,
        ] {
            let mut health = tonic_health::pb::health_client::HealthClient::new(channel_of(address));
            let answer = health
                .check(tonic_health::pb::HealthCheckRequest::default())
                .await
                .unwrap()
                .into_inner();
            assert_eq!(
                answer.status(),
                tonic_health::pb::health_check_response::ServingStatus::Serving
            );
        }
    });
}

fn channel_of(address: &str) -> Channel {
    Endpoint::from_shared(address.to_owned()).unwrap().connect_lazy()
}

/// What reflection of a server answers.
fn reflected(address: &str, asked: MessageRequest) -> MessageResponse {
    let environment = &world().environment;
    let mut client = ServerReflectionClient::new(channel(address));
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(asked),
    };
    let request = with_token(tokio_stream::once(request), &environment.service_token);
    let answer = world().operator.block_on(async {
        let mut answers = client.server_reflection_info(request).await.unwrap().into_inner();
        answers.message().await.unwrap().unwrap()
    });
    answer.message_response.unwrap()
}

#[test]
fn reflection_tells_what_is_served_and_what_refusals_carry() {
    let environment = &world().environment;
    for (address, services) in [
        (&environment.keys_grpc, &["keys.v1.KeyService"][..]),
        (&environment.billing_grpc, &["billing.v1.BillingService"]),
        (
            &environment.search_grpc,
            &[
                "search.v1.IndexService",
                "search.v1.RecordService",
                "search.v1.SearchService",
            ],
        ),
    ] {
        let list = reflected(address, MessageRequest::ListServices(String::new()));
        let MessageResponse::ListServicesResponse(list) = list else {
            panic!("no list: {list:?}")
        };
        let told = list.service.into_iter().map(|service| service.name);
        let expected = ["grpc.health.v1.Health"].iter().chain(services);
        let expected = expected.map(|name| (*name).to_owned());
        assert_eq!(told.collect::<BTreeSet<_>>(), expected.collect());
        for detail in ["google.rpc.ErrorInfo", "google.rpc.BadRequest"] {
            let file = reflected(address, MessageRequest::FileContainingSymbol(detail.to_owned()));
            assert!(
                matches!(file, MessageResponse::FileDescriptorResponse(_)),
                "{detail}: {file:?}"
            );
        }
    }
}

#[test]
fn a_direct_caller_is_told_every_problem_too() {
    let query = SearchQuery {
        limit: Some(0),
        company_name: "***".into(),
        info_updated_from: "x".into(),
        fields: vec!["nme".into()],
        ..Default::default()
    };
    let message = SearchPeopleRequest {
        account_id: "a".into(),
        query: Some(query),
    };
    let environment = &world().environment;
    let mut client = SearchServiceClient::new(channel(&environment.search_grpc));
    let refused = world()
        .operator
        .block_on(client.search_people(with_token(message, &environment.service_token)))
        .unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let mut fields: Vec<String> = proto::violation::from_status(&refused)
        .iter()
        .map(proto::violation::Violation::field)
        .collect();
    fields.sort();
    assert_eq!(fields, ["companyName", "fields[0]", "infoUpdatedFrom", "limit"]);
    assert_eq!(
        proto::error_code::ErrorCode::of(&refused).as_str(),
        "VALIDATION_ERROR"
    );
}

fn dsctl(arguments: &[&str], input: &str) -> Output {
    let mut command = world().stack.dsctl().unwrap();
    let mut child = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn json_of(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

#[test]
fn import_tells_bad_lines_and_takes_the_rest() {
    let (account, tag) = (world().account(), world().word());
    let lines = [
        format!("{{\"type\":\"person\",\"externalId\":\"{tag}-p\",\"fullName\":\"P\",\"companyExternalId\":\"{tag}-1\"}}"),
        format!("{{\"type\":\"company\",\"externalId\":\"{tag}-1\",\"name\":\"One\",\"tags\":[\"{tag}\"]}}"),
        "not json".to_owned(),
        format!("{{\"type\":\"company\",\"externalId\":\"{tag}-2\",\"tags\":[\"{tag}\"]}}"),
        String::new(),
        format!("{{\"type\":\"company\",\"externalId\":\"{tag}-3\",\"name\":\"Three\",\"tags\":[\"{tag}\"],\"country\":\"Germany\"}}"),
        format!("{{\"type\":\"company\",\"externalId\":\"{tag}-4\",\"name\":\"Four\",\"tags\":[\"{tag}\"],\"colour\":\"red\"}}"),
        format!("{{\"type\":\"company\",\"externalId\":\"{tag}-5\",\"name\":\"Five\",\"tags\":[\"{tag}\"]}}\r"),
    ]
    .join("\n");
    let output = dsctl(&["import", "--wait", "-"], &lines);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    for line in [3, 4, 6, 7] {
        assert!(
            told.contains(&format!(":{line}: ")),
            "line {line} is not told: {told}"
        );
    }
    for line in [1, 2, 5, 8] {
        assert!(
            !told.contains(&format!(":{line}: ")),
            "line {line} is told: {told}"
        );
    }
    assert_eq!(
        account.companies(&json!({"searchTags": [tag]})).names(),
        ["Five", "One"]
    );
    assert_eq!(account.people(&json!({"searchTags": [tag]})).names(), ["P"]);
    // The record that was there before a bad update stays; the same again changes nothing.
    let bad = format!("{{\"type\":\"company\",\"externalId\":\"{tag}-1\",\"name\":\"\",\"tags\":[]}}\n");
    assert_eq!(dsctl(&["import", "--wait", "-"], &bad).status.code(), Some(1));
    assert_eq!(
        account.companies(&json!({"searchTags": [tag]})).names(),
        ["Five", "One"]
    );
    let gone = format!("{{\"type\":\"company\",\"externalId\":\"{tag}-5\",\"deleted\":true}}\n");
    assert_eq!(dsctl(&["import", "--wait", "-"], &gone).status.code(), Some(0));
    assert_eq!(account.companies(&json!({"searchTags": [tag]})).names(), ["One"]);
}

#[test]
fn credits_are_granted_once_and_told() {
    let account = world().poor_account();
    let grant = |id: &str, amount: &str| {
        dsctl(
            &[
                "--json",
                "credits",
                "grant",
                "--account",
                &account.id,
                "--amount",
                amount,
                "--id",
                id,
            ],
            "",
        )
    };
    assert_eq!(json_of(&grant("g1", "5"))["balance"], 5);
    assert_eq!(json_of(&grant("g1", "5"))["balance"], 5);
    assert_eq!(grant("g1", "6").status.code(), Some(1));
    let _ = account.people(&json!({"limit": 1})).expect(200);
    assert_eq!(
        json_of(&dsctl(
            &["--json", "credits", "show", "--account", &account.id],
            ""
        ))["balance"],
        4
    );
    let ledger = json_of(&dsctl(
        &["--json", "credits", "ledger", "--account", &account.id],
        "",
    ));
    let amounts: Vec<i64> = ledger["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["amount"].as_i64().unwrap())
        .collect();
    assert_eq!(amounts, [-1, 5]);
}

#[test]
fn a_charge_is_refunded_and_an_entry_adjusted_by_dsctl() {
    let account = world().poor_account();
    world().operator.grant(&account.id, 5);
    let _ = account.people(&json!({"limit": 1})).expect(200);
    let [charge, grant] = &world().operator.ledger(&account.id)[..] else {
        panic!("two entries")
    };
    let credits = |arguments: &[&str]| {
        let arguments = [&["--json", "credits"], arguments, &["--account", &account.id]].concat();
        dsctl(&arguments, "")
    };
    let (charge, grant) = (charge.id.to_string(), grant.id.to_string());
    for replayed in [false, true] {
        let refunded = json_of(&credits(&["refund", "--entry", &charge]));
        assert_eq!(
            (&refunded["amount"], &refunded["balance"], &refunded["replayed"]),
            (&json!(1), &json!(5), &json!(replayed))
        );
    }
    let refused = credits(&["refund", "--entry", &grant]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("entryId"));
    let adjust = |amount: &str| {
        credits(&[
            "adjust", "--entry", &grant, "--amount", amount, "--id", "ticket 7",
        ])
    };
    assert_eq!(json_of(&adjust("-2"))["balance"], 3);
    assert_eq!(json_of(&adjust("-2"))["replayed"], true);
    assert_eq!(adjust("-3").status.code(), Some(1));
    let ledger = json_of(&credits(&["ledger"]));
    let told = ledger["entries"].as_array().unwrap().iter().map(|entry| {
        let corrects = entry["corrects"].as_i64().map(|corrects| corrects.to_string());
        (
            entry["cause"].as_str().unwrap(),
            entry["amount"].as_i64().unwrap(),
            corrects,
        )
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("adjustment", -2, Some(grant.clone())),
            ("refund", 1, Some(charge.clone())),
            ("people search", -1, None),
            ("grant", 5, None),
        ]
    );
}

#[test]
fn every_balance_is_verified_by_dsctl_and_the_ledger_is_beyond_the_services_reach() {
    let account = world().account();
    let _ = account.companies(&json!({"limit": 1})).expect(200);
    let verify = || dsctl(&["--json", "credits", "verify"], "");
    let fine = json_of(&verify());
    assert_eq!(fine["differences"], json!([]));
    assert!(fine["entries"].as_i64() >= Some(2) && fine["accounts"].as_i64() >= Some(1));
    world().operator.block_on(async {
        let mut database = PgConnection::connect(&world().environment.database_url_billing)
            .await
            .unwrap();
        for statement in [
            "UPDATE ledger_entries SET amount = 1",
            "DELETE FROM ledger_entries",
            "TRUNCATE ledger_entries",
        ] {
            let refused = sqlx::query(statement).execute(&mut database).await.unwrap_err();
            assert!(
                refused.to_string().contains("permission denied"),
                "{statement}: {refused}"
            );
        }
        // What is within its reach is found out.
        let change = async |database: &mut PgConnection, by: i64| {
            sqlx::query("UPDATE accounts SET balance = balance + $1 WHERE account_id = $2")
                .bind(by)
                .bind(&account.id)
                .execute(database)
                .await
                .unwrap();
        };
        change(&mut database, 7).await;
        let found = verify();
        change(&mut database, -7).await;
        assert_eq!(found.status.code(), Some(1));
        let found: Value = serde_json::from_slice(&found.stdout).unwrap();
        assert_eq!(
            found["differences"],
            json!([{"accountId": account.id, "balance": 100_006, "recomputed": 99_999, "entryId": null}])
        );
    });
    assert_eq!(json_of(&verify())["differences"], json!([]));
}

#[test]
fn dsctl_speaks_for_operators_and_developers() {
    let account = world().account();
    let token = dsctl(&["token", "--account", &account.id, "--ttl", "10m"], "");
    assert!(token.status.success());
    let jwt = String::from_utf8(token.stdout).unwrap().trim().to_owned();
    let listed = account.request(reqwest::Method::GET, "/keys").bearer_auth(jwt);
    let _ = Answer::of(listed).expect(200);
    let rate = dsctl(
        &[
            "rate",
            "set",
            "--account",
            &account.id,
            "--requests",
            "77",
            "--window",
            "60s",
        ],
        "",
    );
    assert!(rate.status.success(), "{}", String::from_utf8_lossy(&rate.stderr));
    assert_eq!(
        account
            .companies(&json!({"limit": 1}))
            .expect(200)
            .number("x-ratelimit-limit"),
        77
    );
    let status = json_of(&dsctl(&["--json", "index", "status"], ""));
    assert!(status["position"].as_i64().is_some(), "{status}");
    let mut search = world().stack.dsctl().unwrap();
    let output = search
        .env("API_KEY", &account.key)
        .args([
            "--json",
            "search",
            "companies",
            "--limit",
            "2",
            "--company-name",
            &world().word(),
        ])
        .output()
        .unwrap();
    assert_eq!(json_of(&output)["data"]["total"], 0);
    let mut refused = world().stack.dsctl().unwrap();
    let output = refused
        .env("API_KEY", &account.key)
        .args(["search", "companies", "--limit", "999"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(dsctl(&["no-such-command"], "").status.code(), Some(2));
}

#[test]
fn a_person_is_revealed_by_dsctl() {
    let (account, tag) = (world().account(), world().word());
    let line = format!(
        "{{\"type\":\"person\",\"externalId\":\"{tag}\",\"fullName\":\"P\",\"jobTitle\":\"{tag}\",\"email\":\"{tag}@p.example\"}}\n"
    );
    assert!(dsctl(&["import", "--wait", "-"], &line).status.success());
    let id = account.people(&json!({"jobTitles": [tag]})).column("id")[0]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        dsctl(&["reveal", "--account", &account.id, "--person", &id], "")
            .status
            .success()
    );
    assert_eq!(
        account.people(&json!({"jobTitles": [tag]})).column("emailStatus"),
        ["revealed"]
    );
    let deleted = dsctl(&["records", "delete", "--person", &tag], "");
    assert!(
        deleted.status.success(),
        "{}",
        String::from_utf8_lossy(&deleted.stderr)
    );
}
