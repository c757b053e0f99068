//! The baseline of the whole chain: axum routes that read a JSON body, or a query string, and answer it as JSON, and do
//! nothing else.

use axum::extract::RawQuery;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::BoxError;
use crate::served::{self, Served};

/// Serves them.
pub(crate) async fn serve() -> Result<(), BoxError> {
    let echo = post(async |Json(body): Json<Value>| Json(json!({"echo": body})));
    let query = get(async |RawQuery(query): RawQuery| Json(json!({"echo": query})));
    let router = Router::new()
        .route("/search", echo)
        .route("/suggest/{vocabulary}", query);
    served::serve(router).await
}

/// Starts them as a process of its own.
pub(crate) async fn start() -> Result<Served, BoxError> {
    Served::start("serve-bare", Vec::new()).await
}
