//! The gateway's `/mcp`: messages to it, and what became of them.

use proto::error_code::{ALL, ErrorCode};
use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, PaginatedRequestParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::told;
use crate::connection::CONNECT_TIMEOUT;
use crate::failure::{Failure, Refusal};
use crate::rest::Api;

/// The version of the protocol that the gateway is spoken to in, whatever the host speaks.
const PROTOCOL: &str = "2025-11-25";

/// The tools of a gateway.
pub(super) struct Gateway(Api);

/// What became of a call.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// It was done: the operation's answer.
    Done(Value),
    /// It was not done, and cost nothing: the refusal.
    Refused(Value),
    /// Nobody here knows whether it was done, and charged: what is told instead of an answer.
    Unknown(Value),
}

impl Gateway {
    /// The tools that belong to this interface.
    pub(super) fn new(api: Api) -> Result<Self, Failure> {
        api.beside("/mcp").map(Self)
    }

    /// What the gateway tells models of all its tools; nothing if it is away now.
    pub(super) async fn instructions(&self) -> Result<String, Failure> {
        let params = json!({
            "protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": {"name": "dsctl", "version": env!("CARGO_PKG_VERSION")},
        });
        let asked = self.ask("initialize", params);
        // Hosts wait for the first answer, and not for long.
        let answered = tokio::time::timeout(CONNECT_TIMEOUT, asked).await;
        match answered {
            Ok(Ok(answer)) => Ok(
                match answer.pointer("/result/instructions").and_then(Value::as_str) {
                    Some(told) => format!("{told} "),
                    None => String::new(),
                },
            ),
            Ok(Err(failure)) if !may_pass(&failure) => Err(failure),
            Ok(Err(failure)) => {
                eprintln!("dsctl: {failure}\n  serves all the same: calls are tried when they are made");
                Ok(String::new())
            }
            Err(_) => {
                eprintln!("dsctl: the gateway is slow to answer; calls are tried when they are made");
                Ok(String::new())
            }
        }
    }

    /// The tools.
    pub(super) async fn tools(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListToolsResult, ErrorData> {
        let answer = self.ask("tools/list", json!(page.unwrap_or_default())).await;
        let answer = answer.map_err(|failure| {
            eprintln!("dsctl: {failure}");
            ErrorData::internal_error(failure.to_string(), None)
        })?;
        let listed: ListToolsResult = result(answer)?;
        Ok(ListToolsResult {
            next_cursor: listed.next_cursor,
            ..ListToolsResult::with_all_items(listed.tools)
        })
    }

    /// Calls a tool. What is no tool is an error of the protocol.
    pub(super) async fn call(&self, tool: &str, arguments: JsonObject) -> Result<Outcome, ErrorData> {
        let params = json!({"name": tool, "arguments": arguments});
        match self.ask("tools/call", params).await {
            Ok(answer) => {
                let result: Value = result(answer)?;
                let is_error = result["isError"].as_bool().unwrap_or_default();
                Ok(match result.get("structuredContent") {
                    Some(told) if !is_error => Outcome::Done(told.clone()),
                    Some(told) if is_known(told) => Outcome::Refused(told.clone()),
                    Some(told) => Outcome::Unknown(told.clone()),
                    None => {
                        Outcome::Unknown(told("NOT_UNDERSTOOD", "the gateway's answer is not understood"))
                    }
                })
            }
            Err(failure) => {
                eprintln!("dsctl: {failure}");
                Ok(failed(&failure))
            }
        }
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.0.post_message(&message, PROTOCOL).await
    }
}

/// The result of an answer, or the error of the protocol that it is.
fn result<T: DeserializeOwned>(mut answer: Value) -> Result<T, ErrorData> {
    if let Some(error) = answer.get_mut("error") {
        return Err(serde_json::from_value(error.take()).unwrap_or_else(|_| not_understood()));
    }
    serde_json::from_value(answer["result"].take()).map_err(|_| not_understood())
}

fn not_understood() -> ErrorData {
    ErrorData::internal_error("the gateway's answer is not understood", None)
}

/// Whether a failure may be another one a moment later.
const fn may_pass(failure: &Failure) -> bool {
    match failure {
        Failure::Rest(refusal) => refusal.status == 429 || refusal.status >= 500,
        Failure::Unreachable { .. } => true,
        _ => false,
    }
}

/// Whether an operation that refused is known to have cost nothing.
fn is_known(told: &Value) -> bool {
    let code = told["code"].as_str().unwrap_or_default();
    let known = ALL.into_iter().find(|known| known.as_str() == code);
    known.is_some_and(|code: ErrorCode| code.http_status() < 500)
}

/// A call without the answer of an operation.
fn failed(failure: &Failure) -> Outcome {
    match failure {
        Failure::Rest(refusal) if refusal.status < 500 => Outcome::Refused(refused(refusal)),
        Failure::Rest(refusal) => Outcome::Unknown(refused(refusal)),
        Failure::Unreachable {
            message,
            before_it_was_sent: true,
        } => Outcome::Refused(told("UNREACHABLE", message)),
        other => Outcome::Unknown(told("ANSWER_LOST", &other.to_string())),
    }
}

/// The refusal of the whole message, with what can be done about it.
fn refused(refusal: &Refusal) -> Value {
    let mut told = if refusal.body.is_object() {
        refusal.body.clone()
    } else {
        told(
            "NOT_UNDERSTOOD",
            &format!("the gateway answered {}", refusal.status),
        )
    };
    if let Some(wait) = refusal.retry_after {
        told["retryAfterSeconds"] = wait.as_secs().into();
    }
    if refusal.status == 401 {
        told["hint"] = refusal.remedy().into();
    }
    told
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rest(status: u16, body: Value) -> Failure {
        Failure::Rest(Box::new(Refusal {
            status,
            body,
            retry_after: Some(Duration::from_secs(7)),
        }))
    }

    #[test]
    fn what_may_have_been_charged_is_told_from_what_was_not() {
        let lost = |before_it_was_sent| Failure::Unreachable {
            message: "m".to_owned(),
            before_it_was_sent,
        };
        assert!(matches!(failed(&lost(true)), Outcome::Refused(_)));
        assert!(matches!(failed(&lost(false)), Outcome::Unknown(_)));
        let cut = Failure::Refused("answered 502 without JSON".to_owned());
        assert!(matches!(failed(&cut), Outcome::Unknown(_)));
        for (status, known) in [(401, true), (413, true), (429, true), (503, false), (504, false)] {
            let outcome = failed(&rest(status, json!({"code": "X"})));
            assert_eq!(matches!(outcome, Outcome::Refused(_)), known, "{status}");
        }
        for (code, known) in [
            ("VALIDATION_ERROR", true),
            ("INSUFFICIENT_CREDITS", true),
            ("RATE_LIMIT_EXCEEDED", true),
            ("INTERNAL", false),
            ("UNAVAILABLE", false),
            ("TIMEOUT", false),
            ("WHAT_IS_NEW", false),
        ] {
            assert_eq!(is_known(&json!({"code": code})), known, "{code}");
        }
    }

    #[test]
    fn a_refusal_says_when_and_what_to_do() {
        let Outcome::Refused(told) = failed(&rest(429, json!({"code": "RATE_LIMIT_EXCEEDED"}))) else {
            panic!("it is known");
        };
        assert_eq!(told["retryAfterSeconds"], 7);
        let Outcome::Refused(told) = failed(&rest(401, json!({"code": "INVALID_API_KEY"}))) else {
            panic!("it is known");
        };
        assert!(told["hint"].as_str().unwrap().contains("dsctl login"));
    }
}
