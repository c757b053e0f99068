//! The operations as tools for language models: the Model Context Protocol at [`PATH`], by `rmcp`.
//!
//! A tool is an operation of the OpenAPI document ([`tools`]), and calling it is a request to the same routes as everybody's:
//! nothing is decided here about credentials, limits, validation or credits. What is added is what a model needs:
//! what a call costs is said before it is made, and it is made only within a budget.
//!
//! # What can go wrong, and what then
//! - **No API key, or a bad one.** 401 for the whole of the protocol, not only for tools that are called: a client asks its
//!   user for one, and nobody else makes us parse anything.
//! - **A model spends without being told to.** Tools that cost credits ask for `maxCredits`, and a call that would cost more
//!   is refused before it becomes a request. Its answer tells cost and balance.
//! - **A client repeats a call whose answer was lost.** With `idempotencyKey` it is charged once, as by REST.
//! - **The operation refuses** (a bad filter, no credits, too many requests). That is the tool's answer, marked as an error,
//!   with the whole refusal in it: a model mends its call by that. Only what is no tool is an error of the protocol.
//! - **Sessions.** There are none, and no streams: each request is answered by itself, so that any gateway answers any
//!   request, and a restart loses nothing.
//! - **A web page of somebody else** reaches a gateway that its user can reach. It has no key; and a browser's request is
//!   taken from pages that may ask (`cors_origins`) and no others.

mod tools;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, FORWARDED, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use runtime::request_id;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::auth::api_key::API_KEY_HEADER;
use crate::auth::client_address::Peer;
use crate::rest::Gateway;
use crate::rest::cors::Cors;
use crate::rest::envelope::REQUEST_ID;
use tools::Tools;

/// Where it is.
pub const PATH: &str = "/mcp";

/// What a model is told of all tools.
const INSTRUCTIONS: &str = "Searches companies and people in business data. A search costs credits, whatever it finds; its \
    description says how many. Say the cost to the user before you spend, and pass what they allow as `maxCredits`. Counting, \
    explaining, suggesting and looking at the credits cost nothing: find out by them what a search would find first.";

/// Answers the protocol; operations are asked of `rest`.
pub fn service(rest: Router, gateway: &Gateway) -> StreamableHttpService<Operations, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_max_request_body_bytes(gateway.limits.max_body_bytes)
        // Which names lead here is not known here. Whoever asks has a key.
        .disable_allowed_hosts();
    let config = match &*gateway.cors {
        Cors::Any => config.disable_allowed_origins(),
        Cors::Some(origins) => {
            let origins = origins.iter().filter_map(|origin| origin.to_str().ok());
            config.with_allowed_origins(origins).enforce_origin_validation()
        }
    };
    let operations = Operations {
        rest,
        tools: Arc::new(Tools::of_document(&gateway.credits)),
    };
    StreamableHttpService::new(
        move || Ok(operations.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    )
}

/// Lets in who has a good API key, with a body that keeps the bounds of every body. (Each operation looks at the key again;
/// what it finds is in memory then.)
pub async fn admit(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let deadline = gateway.deadline();
    let (mut head, body) = request.into_parts();
    let peer = Peer::of(&head.extensions);
    if let Err(refusal) = gateway.api_keys.authenticate(peer, &head.headers, deadline).await {
        return refusal.into_response();
    }
    let body = match gateway.bodies.read(&head.headers, body, deadline).await {
        Ok(bytes) => Body::from(bytes),
        Err(refusal) => return refusal.into_response(),
    };
    // The id of this request is that of the operation, too.
    if let Some(id) = request_id::current().and_then(|id| HeaderValue::try_from(id).ok()) {
        head.headers.insert(REQUEST_ID, id);
    }
    next.run(Request::from_parts(head, body)).await
}

/// The operations, as tools.
#[derive(Clone)]
pub struct Operations {
    rest: Router,
    tools: Arc<Tools>,
}

impl ServerHandler for Operations {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("developer-search-api", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.get(name).map(|tool| tool.described.clone())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.described()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        let tool = self.tools.get(&call.name).ok_or_else(|| {
            rmcp::ErrorData::invalid_params(format!("there is no tool {:?}", call.name), None)
        })?;
        let request = match tool.request(call.arguments.unwrap_or_default()) {
            Ok(request) => request,
            Err(refusal) => return Ok(CallToolResult::structured_error(refusal).into()),
        };
        let outer = context.extensions.get::<Parts>();
        let request = with_caller(request, outer);
        let Ok(response) = self.rest.clone().oneshot(request).await;
        Ok(result(response).await.into())
    }
}

/// The request, as from the caller of the protocol: by their key, in their trace, under the id of theirs.
fn with_caller(mut request: http::Request<Body>, outer: Option<&Parts>) -> http::Request<Body> {
    let Some(outer) = outer else { return request };
    for name in [
        API_KEY_HEADER,
        AUTHORIZATION,
        FORWARDED,
        REQUEST_ID,
        HeaderName::from_static("traceparent"),
        HeaderName::from_static("x-forwarded-for"),
    ] {
        for value in outer.headers.get_all(&name) {
            request.headers_mut().append(name.clone(), value.clone());
        }
    }
    request.extensions_mut().insert(Peer::of(&outer.extensions));
    request
}

/// An operation's answer as a tool's.
async fn result(response: Response) -> CallToolResult {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes);
    let answer = serde_json::from_slice::<Value>(&bytes.unwrap_or_default());
    // Every answer of ours is JSON.
    let mut answer = answer.unwrap_or_else(|_| json!({"success": false, "status": head.status.as_u16()}));
    if head.status.is_success() {
        return CallToolResult::structured(answer);
    }
    let retry_after = head
        .headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok());
    if let Some(seconds) = retry_after.and_then(|seconds| seconds.parse::<u64>().ok()) {
        answer["retryAfterSeconds"] = seconds.into();
    }
    CallToolResult::structured_error(answer)
}
