//! `dsctl mcp`: the tools of the gateway's `/mcp` for a host that starts a program and speaks the Model Context Protocol with
//! it over standard input and output.
//!
//! Each message goes on to the gateway ([`gateway`]), which alone knows what tools there are and what they do. What is added is
//! the key of `dsctl`, and a budget for the session ([`budget`]).
//!
//! # What can go wrong, and what then
//! - **The gateway is away.** It is served all the same, and each call is tried: the gateway may be back by then. A call that can't
//!   have arrived says so and costs nothing.
//! - **An answer is lost on the way**, or tells that the gateway does not know whether it has charged (500, 503, 504). The call
//!   counts as spent with all that it was allowed. It has an `idempotencyKey`, which is told: the same call with it is charged
//!   once, and counts once.
//! - **The key is of no worth.** At the start that ends the program, with the reason on standard error; a key that is revoked
//!   later has its refusal as the answer of every call.
//! - **429.** The call's answer, with `retryAfterSeconds`. Nothing waits here: hosts give up on a call sooner than a minute is
//!   over, and a model can do something else meanwhile.
//! - **Two calls at once** could both spend what is left: those that may cost are made one after another.
//! - **A call is cancelled.** The host has no answer any more; the request is not taken back, since it may be charged already.
//!   What it cost is counted.
//! - **A frame that is no message.** What is no JSON is passed over, as the protocol's other servers do; JSON that is no message
//!   is answered with an error of the protocol; a line beyond 16 MiB is passed over. None of them ends the session.
//! - **Large messages.** The gateway refuses bodies beyond its bound (413), which is the call's answer. Its own answers are as
//!   large as a page of rows, and go on whole.
//! - **Standard input is closed.** The session is over: what runs has five seconds to be answered, then the program ends with 0.
//! - **Something else writes to standard output.** Nothing does: what there is to tell goes to standard error.

mod budget;
mod gateway;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::transport::io::stdio;
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};
use runtime::ambient::Ambient;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use self::budget::Budget;
use self::gateway::{Gateway, Outcome};
use crate::connection::Connection;
use crate::failure::Failure;

/// `dsctl mcp`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  dsctl login --base-url https://api.example.com/api/v1      # once: the host passes no key
  dsctl mcp --budget 50                                      # what the host is to start
  dsctl mcp --budget 50 --profile staging

In the configuration of most hosts:
  {\"mcpServers\": {\"business-data\": {\"command\": \"dsctl\", \"args\": [\"mcp\", \"--budget\", \"50\"]}}}")]
pub(crate) struct Mcp {
    /// Most credits that this session may spend in all; without it, each call's own maxCredits is the only bound
    #[arg(long, value_name = "CREDITS")]
    budget: Option<u64>,
}

impl Mcp {
    /// Serves until standard input ends.
    pub(crate) async fn run(&self, connection: &Connection) -> Result<(), Failure> {
        if connection.key_is_on_standard_input() {
            return Err(Failure::Usage(
                "standard input is the host's: keep the key by `dsctl login`, or name a file".to_owned(),
            ));
        }
        let gateway = Gateway::new(connection.api()?)?;
        let told = gateway.instructions().await?;
        let budget = Budget::new(self.budget);
        let session = Session {
            instructions: format!("{told}{}", budget.rule()),
            gateway,
            budget: Mutex::new(budget),
            ambient: Ambient::system(),
        };
        match session.serve(stdio()).await {
            Ok(running) => match running.waiting().await {
                Ok(_) => Ok(()),
                Err(error) => Err(Failure::Refused(format!("the session broke off: {error}"))),
            },
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(Failure::Refused(format!(
                "the session did not begin: {error} (dsctl mcp is started by a host, and speaks its protocol)"
            ))),
        }
    }
}

/// The tools, for one host.
struct Session {
    instructions: String,
    gateway: Gateway,
    /// Held while a call that may cost is made.
    budget: Mutex<Budget>,
    ambient: Ambient,
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("dsctl", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions.clone())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.gateway.tools(page).await
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut arguments = call.arguments.unwrap_or_default();
        let Some(asked) = arguments.get(MAX_CREDITS).and_then(Value::as_u64) else {
            // Without it nothing is spent: the gateway refuses a tool that costs.
            let outcome = self.gateway.call(&call.name, arguments).await?;
            return Ok(answer(outcome, None).into());
        };
        let mut budget = self.budget.lock().await;
        let key = self.key_of(&mut arguments);
        let Some(allowed) = budget.allow(&key, asked) else {
            return Ok(answer(Outcome::Refused(budget.refusal()), Some(budget.told())).into());
        };
        arguments.insert(MAX_CREDITS.to_owned(), allowed.into());
        let outcome = self.gateway.call(&call.name, arguments).await?;
        let mut note = String::new();
        match &outcome {
            Outcome::Done(told) => budget.count(&key, cost(told).unwrap_or(allowed)),
            Outcome::Refused(_) if allowed < asked => {
                note = format!("{MAX_CREDITS} was lowered to {allowed}, which is all that is left");
            }
            Outcome::Refused(_) => {}
            Outcome::Unknown(_) => {
                budget.count(&key, allowed);
                note = format!(
                    "this call may have been charged: it counts with the {allowed} that it was allowed. The same call with \
                     idempotencyKey {key:?} is charged once, and counts once"
                );
            }
        }
        let mut told = budget.told();
        if !note.is_empty() {
            told["note"] = note.into();
        }
        Ok(answer(outcome, Some(told)).into())
    }
}

/// The argument that holds what a call may cost.
const MAX_CREDITS: &str = "maxCredits";

/// The argument by which a repeated call is known.
const IDEMPOTENCY_KEY: &str = "idempotencyKey";

impl Session {
    /// The call's own key, or one that is made for it.
    fn key_of(&self, arguments: &mut JsonObject) -> String {
        let key = arguments
            .entry(IDEMPOTENCY_KEY)
            .or_insert_with(|| self.ambient.uuid_v7().to_string().into());
        // One that is no text is refused by the gateway.
        key.as_str().map_or_else(|| key.to_string(), str::to_owned)
    }
}

/// What a call has cost, by its answer.
fn cost(told: &Value) -> Option<u64> {
    told.pointer("/credits/cost")?.as_u64()
}

/// The answer of a call, with what the session has spent.
fn answer(outcome: Outcome, session: Option<Value>) -> CallToolResult {
    let (mut told, is_error) = match outcome {
        Outcome::Done(told) => (told, false),
        Outcome::Refused(told) | Outcome::Unknown(told) => (told, true),
    };
    if let (Some(told), Some(session)) = (told.as_object_mut(), session) {
        told.insert("session".to_owned(), session);
    }
    if is_error {
        CallToolResult::structured_error(told)
    } else {
        CallToolResult::structured(told)
    }
}

/// A failure on the way, in the shape of the gateway's own refusals.
fn told(code: &str, message: &str) -> Value {
    json!({"success": false, "code": code, "message": message})
}
