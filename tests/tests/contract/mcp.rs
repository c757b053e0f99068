//! The operations as tools for language models, at `/mcp`: an extension of the contract, under the contract's rules.

use proto::search::v1::import_record::Change;
use reqwest::Method;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};
use system_tests::{Account, Answer, company, world};

/// The version of the protocol that these tests speak.
const PROTOCOL: &str = "2025-06-18";

fn post(account: &Account, message: &Value) -> RequestBuilder {
    let host = account.base.trim_end_matches("/api/v1");
    reqwest::blocking::Client::new()
        .request(Method::POST, format!("{host}/mcp"))
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", PROTOCOL)
        .json(message)
}

/// The result of a request of the protocol.
fn ask(account: &Account, method: &str, params: &Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let request = post(account, &message).header("X-API-Key", &account.key);
    let answer = Answer::of(request).expect(200);
    assert_eq!(answer.body["id"], 7, "{answer:?}");
    answer.body
}

/// The answer of a tool, and whether it is an error.
fn call(account: &Account, tool: &str, arguments: &Value) -> (Value, bool) {
    let answer = ask(
        account,
        "tools/call",
        &json!({"name": tool, "arguments": arguments}),
    );
    let result = &answer["result"];
    let told: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(told, result["structuredContent"], "both forms say the same");
    (told, result["isError"].as_bool().unwrap_or_default())
}

fn tools(account: &Account) -> Vec<Value> {
    let answer = ask(account, "tools/list", &json!({}));
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn a_client_is_greeted_and_told_of_the_cost() {
    let account = world().account();
    let answer = ask(
        &account,
        "initialize",
        &json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    );
    let result = &answer["result"];
    assert_eq!(result["protocolVersion"], PROTOCOL);
    assert_eq!(result["serverInfo"]["name"], "developer-search-api");
    assert!(result["capabilities"]["tools"].is_object());
    assert!(result["instructions"].as_str().unwrap().contains("costs credits"));
}

#[test]
fn whoever_has_no_key_learns_nothing() {
    let account = world().account();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for request in [
        post(&account, &list),
        post(&account, &list).header("X-API-Key", "dsk_nothing"),
        post(&account, &list).bearer_auth(&account.jwt),
    ] {
        let _ = Answer::of(request).refused(401, "INVALID_API_KEY");
    }
}

#[test]
fn bodies_keep_the_bounds_of_all_bodies() {
    let account = world().account();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let request = || post(&account, &list).header("X-API-Key", &account.key);
    let large = request().body(" ".repeat((1 << 20) + 1));
    let _ = Answer::of(large).refused(413, "PAYLOAD_TOO_LARGE");
    let (client, undeclared) = request().build_split();
    let mut undeclared = undeclared.unwrap();
    undeclared.headers_mut().remove("content-type");
    let undeclared = RequestBuilder::from_parts(client, undeclared);
    let _ = Answer::of(undeclared).refused(415, "UNSUPPORTED_MEDIA_TYPE");
}

/// What a schema of the document says, with what it refers to written out.
fn written_out(schema: &Value, document: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let mut written = serde_json::Map::new();
            if let Some(reference) = schema["$ref"].as_str() {
                let referred = document.pointer(reference.trim_start_matches('#')).unwrap();
                written.clone_from(written_out(referred, document).as_object().unwrap());
            }
            let own = object.iter().filter(|(name, _)| *name != "$ref");
            written.extend(own.map(|(name, value)| (name.clone(), written_out(value, document))));
            written.into()
        }
        Value::Array(items) => items.iter().map(|item| written_out(item, document)).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_tool_knows_the_filters_of_its_operation_and_what_it_costs() {
    let account = world().account();
    let document = Answer::of(account.request(Method::GET, "/openapi.json")).body;
    for (tool, schema) in [
        ("search_people", "PeopleSearchRequest"),
        ("search_companies", "CompanySearchRequest"),
    ] {
        let tools = tools(&account);
        let tool = tools.iter().find(|described| described["name"] == tool).unwrap();
        let filters = document["components"]["schemas"][schema]["properties"]
            .as_object()
            .unwrap();
        let known = tool["inputSchema"]["properties"].as_object().unwrap();
        for (name, filter) in filters {
            assert_eq!(known.get(name), Some(&written_out(filter, &document)), "{name}");
        }
        assert_eq!(known.len(), filters.len() + 2);
        assert_eq!(tool["inputSchema"]["required"], json!(["maxCredits"]));
        assert_eq!(tool["annotations"]["readOnlyHint"], false);
        assert!(
            tool["description"]
                .as_str()
                .unwrap()
                .ends_with("Costs 1 credit, whatever it finds.")
        );
    }
}

#[test]
fn every_tool_stands_by_itself_and_what_is_free_says_so() {
    for tool in tools(&world().account()) {
        assert!(!tool.to_string().contains("\"$ref\""), "{tool}");
        let description = tool["description"].as_str().unwrap();
        let costs = tool["inputSchema"]["properties"]["maxCredits"].is_object();
        assert_eq!(costs, description.contains("Costs 1 credit"), "{description}");
        assert_eq!(!costs, description.contains("Costs nothing."), "{description}");
        assert_eq!(tool["annotations"]["readOnlyHint"], !costs);
    }
}

#[test]
fn a_search_answers_what_rest_answers_and_is_charged_like_it() {
    let account = world().account();
    let word = world().word();
    world().operator.import([Change::Company(company(&word, &word))]);
    let before = world().operator.balance(&account.id);
    let (told, is_error) = call(
        &account,
        "search_companies",
        &json!({"companyName": word, "maxCredits": 1}),
    );
    assert!(!is_error, "{told}");
    let by_rest = account.companies(&json!({"companyName": word})).expect(200);
    assert_eq!(told["data"], by_rest.body["data"]);
    assert_eq!(told["data"]["total"], 1);
    assert_eq!(told["credits"], json!({"cost": 1, "balance": before - 1}));
    assert_eq!(world().operator.balance(&account.id), before - 2);
}

#[test]
fn what_is_free_answers_what_rest_answers_and_takes_nothing() {
    let account = world().poor_account();
    world().operator.grant(&account.id, 5);
    let body = json!({"companyName": world().word(), "location": "Paris"});
    for (tool, path) in [
        ("count_people", "/people/count"),
        ("count_companies", "/companies/count"),
        ("explain_people_search", "/people/explain"),
        ("explain_companies_search", "/companies/explain"),
    ] {
        let (told, is_error) = call(&account, tool, &body);
        assert!(!is_error, "{told}");
        assert_eq!(
            told["data"],
            account.post(path, &body).expect(200).body["data"],
            "{tool}"
        );
    }
    let (told, is_error) = call(&account, "get_credits", &json!({"limit": 1}));
    assert!(!is_error, "{told}");
    assert_eq!(
        told["data"],
        account.get("/credits?limit=1").expect(200).body["data"]
    );
    assert_eq!(told["data"]["balance"], 5);
    world().operator.wait_suggested();
    let asked = json!({"vocabulary": "jobTitles", "q": format!("{} a&b", world().word())});
    let (told, is_error) = call(&account, "suggest", &asked);
    assert!(!is_error, "{told}");
    assert_eq!(told["data"], json!({"suggestions": []}));
    let (told, is_error) = call(&account, "suggest", &json!({"vocabulary": "titles"}));
    assert!(is_error);
    assert_eq!(told["issues"].as_array().unwrap().len(), 2, "{told}");
    let (told, is_error) = call(&account, "get_credits", &json!({"limit": 0, "until": "x"}));
    assert!(is_error);
    assert_eq!(told["issues"].as_array().unwrap().len(), 2, "{told}");
}

#[test]
fn nothing_is_spent_beyond_what_is_allowed() {
    let account = world().account();
    let before = world().operator.balance(&account.id);
    for arguments in [
        json!({"companyName": "x"}),
        json!({"companyName": "x", "maxCredits": 0}),
        json!({"companyName": "x", "maxCredits": -1}),
        json!({"companyName": "x", "maxCredits": "many"}),
        json!({"companyName": "x", "maxCredits": 0.5}),
    ] {
        let (told, is_error) = call(&account, "search_companies", &arguments);
        assert!(is_error, "{arguments}: {told}");
        assert_eq!(told["credits"], json!({"cost": 0, "wouldCost": 1}));
        assert!(told["message"].as_str().unwrap().contains("maxCredits"), "{told}");
    }
    assert_eq!(world().operator.balance(&account.id), before);
}

#[test]
fn a_repeated_call_is_charged_once() {
    let account = world().account();
    let before = world().operator.balance(&account.id);
    for _ in 0..3 {
        let arguments = json!({"companyName": "x", "maxCredits": 1, "idempotencyKey": "once"});
        let (told, is_error) = call(&account, "search_companies", &arguments);
        assert!(!is_error, "{told}");
    }
    assert_eq!(world().operator.balance(&account.id), before - 1);
}

#[test]
fn a_refusal_is_the_tools_answer_with_every_problem_in_it() {
    let account = world().account();
    let arguments = json!({"companyNam": "x", "limit": 999, "maxCredits": 1});
    let (told, is_error) = call(&account, "search_people", &arguments);
    assert!(is_error);
    assert_eq!(told["code"], "VALIDATION_ERROR");
    let paths = told["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue["path"].clone());
    assert_eq!(
        paths.collect::<Vec<_>>(),
        [json!(["companyNam"]), json!(["limit"])]
    );
    assert!(told["requestId"].is_string());

    let poor = world().poor_account();
    let (told, is_error) = call(&poor, "search_people", &json!({"maxCredits": 1}));
    assert!(is_error);
    assert_eq!(told["code"], "INSUFFICIENT_CREDITS");
}

#[test]
fn what_is_no_tool_is_an_error_of_the_protocol() {
    let account = world().account();
    let answer = ask(
        &account,
        "tools/call",
        &json!({"name": "drop_tables", "arguments": {}}),
    );
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = ask(&account, "resources/subscribe", &json!({"uri": "x://y"}));
    assert!(answer["error"]["code"].is_number(), "{answer}");
}

#[test]
fn calls_share_the_rate_of_the_account() {
    let account = world().account();
    world().operator.set_rate(&account.id, 3, 60);
    let codes = (0..5).map(|_| {
        let (told, _) = call(&account, "search_people", &json!({"limit": 1, "maxCredits": 1}));
        told["code"].as_str().unwrap_or("none").to_owned()
    });
    // The one more that may come back while they are made.
    let limited = codes.filter(|code| code == "RATE_LIMIT_EXCEEDED").count();
    assert!(
        (1..=2).contains(&limited),
        "of five calls {limited} were too many"
    );
}
