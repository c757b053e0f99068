//! `/llms.txt`: where machines that read find what there is, as llmstxt.org has it. Made from the operations and the guides
//! themselves, once.

use std::sync::LazyLock;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::openapi::{self, Credential, Operation};
use super::{BASE_PATH, docs};
use crate::mcp;

/// Where it is.
pub const PATH: &str = "/llms.txt";

/// What holds for everything below it.
const NOTES: &str = "\
A search shows an API key, as `X-API-Key: <key>` or `Authorization: Bearer <key>`, and costs credits, whatever it finds; its \
answer tells how many, and how many are left. API keys are managed with a session token of the dashboard, as `Authorization: \
Bearer <token>`. Bodies and answers are JSON; every refusal has a `code`, and lists every problem of the request at once. \
Never put a key into an address.";

/// Serves it.
pub async fn serve() -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(text);
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, openapi::CACHED),
    ];
    (headers, TEXT.as_str()).into_response()
}

fn text() -> String {
    let (title, summary) = (openapi::TITLE, openapi::SUMMARY);
    let operations: String = openapi::OPERATIONS.iter().map(operation).collect();
    let guides = docs::guides().map(|(title, address)| format!("- [{title}]({address})\n"));
    let guides = guides.collect::<Vec<_>>().concat();
    format!(
        "# {title}\n\n\
         > {summary}\n\n\
         {NOTES}\n\n\
         ## Reference\n\n\
         - [OpenAPI document]({BASE_PATH}/openapi.json): every operation, field, example, error and limit\n\
         - [Reference]({docs}): the same as a page for people, with a client to try each operation\n\
         - [Tools]({mcp}): the searches for language models, by the Model Context Protocol (streamable HTTP, an API key); \
         a tool spends no more than its argument `maxCredits`\n\n\
         ## Operations\n\n\
         {operations}\n\
         ## Guides\n\n\
         {guides}",
        docs = docs::PATH,
        mcp = mcp::PATH,
    )
}

/// A line of the list; its link leads to the operation within the document.
fn operation(operation: &Operation) -> String {
    let Operation {
        method,
        path,
        summary,
        description,
        ..
    } = operation;
    let pointer = path.replace('/', "~1");
    let credential = match operation.credential() {
        Credential::ApiKey => "with an API key",
        Credential::Session => "with a session token",
        Credential::Either => "with an API key or a session token",
        Credential::None => "without a credential",
    };
    let name = method.to_uppercase();
    format!(
        "- [{summary}]({BASE_PATH}/openapi.json#/paths/{pointer}/{method}): `{name} {BASE_PATH}{path}` {credential}. \
         {description}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_form_of_its_convention_and_all_that_there_is() {
        let text = text();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("# Developer Search API"));
        assert_eq!(
            lines.nth(1),
            Some("> Search people and companies; manage API keys.")
        );
        assert_eq!(text.matches("\n# ").count(), 0);
        for operation in openapi::OPERATIONS {
            let told = format!(
                "`{} {BASE_PATH}{}`",
                operation.method.to_uppercase(),
                operation.path
            );
            assert!(text.contains(&told), "{told}");
        }
        for (title, address) in docs::guides() {
            assert!(text.contains(&format!("- [{title}]({address})")), "{address}");
        }
        let is_item_or_text = |line: &str| line.starts_with("- [") || !line.starts_with('-');
        assert!(text.lines().all(is_item_or_text), "{text}");
    }
}
