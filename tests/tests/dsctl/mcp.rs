//! `dsctl mcp` as a host uses it: a process with pipes, on a running system.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use devstack::{Options, Service};
use proto::search::v1::CompanyRecord;
use proto::search::v1::import_record::Change;
use reqwest::Method;
use serde_json::{Value, json};
use system_tests::{Account, World, company, world};

use crate::relay::{Fate, Relay};
use crate::{companies, dsctl, refused};

/// The version of the protocol that this host speaks.
const PROTOCOL: &str = "2025-06-18";

/// A host of a language model, with `dsctl mcp` started.
struct Host {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    /// How it was greeted.
    greeting: Value,
}

impl Host {
    /// Starts the command and greets it.
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut host = Self {
            child,
            input,
            output,
            last: 0,
            greeting: Value::Null,
        };
        let greeting = host.ask(
            "initialize",
            &json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        host.greeting = greeting["result"].clone();
        host.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        host
    }

    /// `dsctl mcp` with this budget, by an account's key.
    fn with_budget(account: &Account, budget: u64) -> Self {
        Self::start(dsctl(account).args(["mcp", "--budget", &budget.to_string()]))
    }

    fn write(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    /// Sends a request; its number.
    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.write(&request.to_string());
        self.last
    }

    /// The next message from the program: all that it writes is one, a line each.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let number = self.send(method, params);
        let answer = self.read();
        assert_eq!(answer["id"], number, "{answer}");
        answer
    }

    fn send_call(&mut self, arguments: &Value) -> u64 {
        self.send(
            "tools/call",
            &json!({"name": "search_companies", "arguments": arguments}),
        )
    }

    /// Searches companies: what was answered, and whether it is an error.
    fn search(&mut self, arguments: &Value) -> (Value, bool) {
        let number = self.send_call(arguments);
        let answer = self.read();
        assert_eq!(answer["id"], number, "{answer}");
        told(&answer)
    }

    /// Closes its input; exit status and standard error.
    fn end(mut self) -> (i32, String) {
        drop(self.input);
        let mut rest = String::new();
        self.output.read_line(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing but answers is written");
        let output = self.child.wait_with_output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    }
}

/// The answer of a tool, and whether it is an error.
fn told(answer: &Value) -> (Value, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str();
    let text: Value = serde_json::from_str(text.unwrap_or_else(|| panic!("{answer}"))).unwrap();
    assert_eq!(text, result["structuredContent"], "both forms say the same");
    (text, result["isError"].as_bool().unwrap_or_default())
}

/// The tools as the gateway lists them.
fn tools_of_the_gateway(account: &Account) -> Value {
    let host = account.base.trim_end_matches("/api/v1");
    let answer = reqwest::blocking::Client::new()
        .post(format!("{host}/mcp"))
        .header("Accept", "application/json, text/event-stream")
        .header("X-API-Key", &account.key)
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        .send()
        .unwrap();
    answer.json::<Value>().unwrap()["result"]["tools"].take()
}

#[test]
fn the_tools_are_the_gateways_and_the_key_is_seen_by_nobody() {
    let account = world().account();
    let mut host = Host::with_budget(&account, 5);
    assert_eq!(host.greeting["protocolVersion"], PROTOCOL);
    assert_eq!(host.greeting["serverInfo"]["name"], "dsctl");
    let told = host.greeting["instructions"].as_str().unwrap();
    assert!(
        told.contains("costs credits") && told.contains("5 credits in all"),
        "{told}"
    );
    let listed = host.ask("tools/list", &json!({}));
    assert_eq!(listed["result"]["tools"], tools_of_the_gateway(&account));
    let command_line = fs::read(format!("/proc/{}/cmdline", host.child.id())).unwrap();
    assert!(!String::from_utf8_lossy(&command_line).contains(&account.key));
    assert_eq!(host.ask("ping", &json!({}))["result"], json!({}));
    let other = host.ask("tools/call", &json!({"name": "drop_tables", "arguments": {}}));
    assert_eq!(other["error"]["code"], -32602, "{other}");
    assert_eq!(host.end(), (0, String::new()));
}

#[test]
fn a_session_spends_its_budget_and_no_more() {
    let (word, _) = companies(1);
    let account = world().account();
    let before = world().operator.balance(&account.id);
    let mut host = Host::with_budget(&account, 3);

    // Five at once, each of which may cost more than there is.
    let arguments = json!({"companyName": word, "maxCredits": 5});
    let mut waiting: Vec<u64> = (0..5).map(|_| host.send_call(&arguments)).collect();
    let mut left = Vec::new();
    while !waiting.is_empty() {
        let answer = host.read();
        waiting.retain(|number| answer["id"] != *number);
        let (told, is_error) = told(&answer);
        if is_error {
            assert_eq!(told["code"], "BUDGET_EXHAUSTED", "{told}");
            assert!(told["message"].as_str().unwrap().contains("--budget"), "{told}");
        } else {
            assert_eq!(told["data"]["total"], 1);
            assert_eq!(told["session"]["budget"], 3);
            left.push(told["session"]["left"].as_u64().unwrap());
        }
    }
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2]);
    assert_eq!(world().operator.balance(&account.id), before - 3);

    // What is free is refused by nobody, and what costs nothing counts nothing.
    let (told, is_error) = host.search(&json!({"companyName": word, "maxCredits": 0}));
    assert!(is_error);
    assert_eq!(told["credits"]["wouldCost"], 1, "{told}");
    assert_eq!(told["session"], json!({"budget": 3, "spent": 3, "left": 0}));
    let (told, is_error) = host.search(&json!({"companyName": word}));
    assert!(is_error);
    assert!(
        told["message"]
            .as_str()
            .unwrap()
            .contains("maxCredits is missing")
    );
    assert_eq!(world().operator.balance(&account.id), before - 3);
    assert_eq!(host.end().0, 0);
}

#[test]
fn what_a_call_may_cost_is_lowered_to_what_is_left() {
    let account = world().account();
    let mut host = Host::with_budget(&account, 2);
    // Refused for a reason of its own: the reader is told that the budget was one too.
    let (told, is_error) = host.search(&json!({"limit": 0, "maxCredits": 5}));
    assert!(is_error);
    assert_eq!(told["code"], "VALIDATION_ERROR");
    assert!(
        told["session"]["note"].as_str().unwrap().contains("lowered to 2"),
        "{told}"
    );
    assert_eq!(told["session"]["spent"], 0);
    // Without a budget nothing is lowered, and what was spent is told.
    let mut free = Host::start(dsctl(&account).arg("mcp"));
    let (told, _) = free.search(&json!({"limit": 1, "maxCredits": 5}));
    assert_eq!(told["session"], json!({"spent": 1}));
}

#[test]
fn a_lost_answer_counts_as_spent_and_its_repeat_counts_once() {
    let account = world().account();
    let before = world().operator.balance(&account.id);
    let relay = Relay::start();
    let mut host = Host::start(dsctl(&account).args(["mcp", "--budget", "4", "--base-url", &relay.base]));
    relay.keep_back(0, Fate::Broken);
    let (told, is_error) = host.search(&json!({"limit": 1, "maxCredits": 4}));
    assert!(is_error);
    assert_eq!(told["code"], "ANSWER_LOST", "{told}");
    assert_eq!(told["session"]["left"], 0);
    let note = told["session"]["note"].as_str().unwrap();
    assert!(note.contains("counts with the 4"), "{note}");
    assert_eq!(world().operator.balance(&account.id), before - 1);

    let (told, is_error) = host.search(&json!({"limit": 2, "maxCredits": 1}));
    assert!(is_error);
    assert_eq!(told["code"], "BUDGET_EXHAUSTED");
    // The same call, by the key that was told: charged once, and from now on counted with what it has cost.
    let key = note.split('"').nth(1).unwrap();
    let (told, is_error) = host.search(&json!({"limit": 1, "maxCredits": 4, "idempotencyKey": key}));
    assert!(!is_error, "{told}");
    assert_eq!(told["session"], json!({"budget": 4, "spent": 1, "left": 3}));
    assert_eq!(world().operator.balance(&account.id), before - 1);
    let (status, said) = host.end();
    assert_eq!(status, 0);
    assert!(said.contains("can't reach"), "{said}");
}

#[test]
fn the_gateway_goes_away_and_comes_back() {
    let world = World::start(Options::new());
    let account = world.account();
    let command = || {
        let mut command = world.stack.dsctl().unwrap();
        command
            .env("API_KEY", &account.key)
            .args(["mcp", "--budget", "5"]);
        command
    };
    let call = json!({"limit": 1, "maxCredits": 1});
    let mut host = Host::start(&mut command());
    assert_eq!(host.search(&call).0["session"]["spent"], 1);

    world.stack.kill(Service::Gateway).unwrap();
    let (told, is_error) = host.search(&call);
    assert!(is_error);
    assert_eq!(told["code"], "UNREACHABLE", "{told}");
    assert_eq!(told["session"]["spent"], 1);
    let listed = host.ask("tools/list", &json!({}));
    assert!(
        listed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("can't reach"),
        "{listed}"
    );
    // One that is started meanwhile serves, too.
    let mut late = Host::start(&mut command());

    world.stack.start_part(Service::Gateway).unwrap();
    assert_eq!(host.search(&call).0["session"]["spent"], 2);
    assert_eq!(late.search(&call).0["session"]["spent"], 1);
    let (status, said) = late.end();
    assert_eq!(status, 0);
    assert!(said.contains("serves all the same"), "{said}");

    // A host that gives a call up has no answer to it; it is charged, and counts.
    world.stack.suspend(Service::Gateway);
    let given_up = host.send_call(&call);
    host.write(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": given_up}})
            .to_string(),
    );
    world.stack.resume(Service::Gateway);
    assert_eq!(host.search(&call).0["session"]["spent"], 4);
    assert_eq!(world.operator.balance(&account.id), 100_000 - 5);
    assert_eq!(host.end().0, 0);
}

#[test]
fn a_key_of_no_worth_is_told_at_once_and_one_that_is_revoked_with_each_call() {
    let account = world().account();
    let bad = |command: &mut Command| refused(command.stdin(Stdio::null()));
    let (status, said) = bad(dsctl(&account).env("API_KEY", "dsk_nothing").arg("mcp"));
    assert_eq!(status, 1);
    assert!(
        said.contains("INVALID_API_KEY") && said.contains("dsctl login"),
        "{said}"
    );
    let (status, said) = bad(dsctl(&account).args(["mcp", "--api-key-file", "-"]));
    assert_eq!(status, 2);
    assert!(said.contains("standard input is the host's"), "{said}");
    let (status, said) = bad(dsctl(&account).args(["mcp", "--base-url", "http://127.0.0.1:1/other"]));
    assert_eq!(status, 2);
    assert!(said.contains("/api/v1"), "{said}");

    let mut host = Host::with_budget(&account, 5);
    let revoked = account.keys(Method::DELETE, &format!("/{}", account.key_id), None);
    let _ = revoked.expect(200);
    while account.people(&json!({"limit": 0})).status != 401 {}
    let (told, is_error) = host.search(&json!({"limit": 1, "maxCredits": 1}));
    assert!(is_error);
    assert_eq!(told["code"], "INVALID_API_KEY", "{told}");
    assert!(told["hint"].as_str().unwrap().contains("dsctl login"), "{told}");
    assert_eq!(told["session"]["spent"], 0);
}

#[test]
fn a_call_too_many_says_when_to_come_again() {
    let account = world().account();
    world().operator.set_rate(&account.id, 1, 60);
    let mut host = Host::with_budget(&account, 50);
    let answers: Vec<Value> = (0..3)
        .map(|_| host.search(&json!({"limit": 1, "maxCredits": 1})).0)
        .collect();
    let limited = answers
        .iter()
        .find(|told| told["code"] == "RATE_LIMIT_EXCEEDED")
        .unwrap();
    assert!(limited["retryAfterSeconds"].as_u64().unwrap() > 0, "{limited}");
    let charged = answers.iter().filter(|told| told["success"] == true).count();
    assert_eq!(answers.last().unwrap()["session"]["spent"], charged);
}

#[test]
fn what_is_no_message_ends_nothing() {
    let account = world().account();
    let mut host = Host::with_budget(&account, 5);
    host.write("this is no JSON");
    host.write("");
    host.write("{\"jsonrpc\": \"2.0\", \"id\": 99, \"method\":");
    // JSON that is no message is answered.
    host.write("{\"jsonrpc\": \"2.0\", \"id\": {\"a\": 1}, \"method\": 7}");
    assert_eq!(host.read()["error"]["code"], -32600);
    let unknown = host.ask("no/such/method", &json!({}));
    assert!(unknown["error"]["code"].is_number(), "{unknown}");
    // More than the gateway takes.
    let (told, is_error) = host.search(&json!({"companyName": "x".repeat(2 << 20), "maxCredits": 1}));
    assert!(is_error);
    assert_eq!(told["code"], "PAYLOAD_TOO_LARGE", "{told}");
    assert_eq!(told["session"]["spent"], 0);
    // More than a message can be: it is passed over.
    host.write(&"x".repeat(17 << 20));
    assert_eq!(host.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(host.end().0, 0);
}

#[test]
fn an_answer_of_many_rows_goes_on_whole() {
    let account = world().account();
    let word = world().word();
    let description = "a long description ".repeat(200);
    let records = (0..250).map(|number| {
        let name = format!("{word} {number:03}");
        Change::Company(CompanyRecord {
            description: Some(description.clone()),
            ..company(&name, &name)
        })
    });
    let answer = world().operator.import(records);
    assert!(answer.rejected.is_empty(), "{answer:?}");
    let mut host = Host::with_budget(&account, 1);
    let (told, is_error) = host.search(&json!({"companyName": word, "limit": 250, "maxCredits": 1}));
    assert!(!is_error);
    let by_rest = account
        .companies(&json!({"companyName": word, "limit": 250}))
        .expect(200);
    assert_eq!(told["data"], by_rest.body["data"]);
    assert_eq!(told["data"]["rows"].as_array().unwrap().len(), 250);
    assert!(told.to_string().len() > 900_000);
}

#[test]
fn what_runs_is_answered_when_the_host_closes_its_end() {
    let account = world().account();
    let mut host = Host::with_budget(&account, 1);
    let number = host.send_call(&json!({"limit": 1, "maxCredits": 1}));
    drop(host.input);
    let mut line = String::new();
    host.output.read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["id"], number);
    assert!(!told(&answer).1, "{answer}");
    assert!(host.child.wait().unwrap().success());
}
