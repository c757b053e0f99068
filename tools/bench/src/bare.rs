//! The baseline of the whole chain: axum routes that read a JSON body, or a query string, and answer it as JSON, and do
//! nothing else.

use std::process::Stdio;

use axum::extract::RawQuery;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::BoxError;

/// Serves on a free port, and prints its address as the first line.
pub(crate) async fn serve() -> Result<(), BoxError> {
    let echo = post(async |Json(body): Json<Value>| Json(json!({"echo": body})));
    let query = get(async |RawQuery(query): RawQuery| Json(json!({"echo": query})));
    let router = Router::new()
        .route("/search", echo)
        .route("/suggest/{vocabulary}", query);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

/// The route as a process of its own, which ends when this is dropped.
pub(crate) struct Bare {
    /// `address:port`.
    pub(crate) address: String,
    process: Child,
}

impl Bare {
    /// Starts it.
    pub(crate) async fn start() -> Result<Self, BoxError> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("serve-bare")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().ok_or("the bare route has no output")?;
        let address = BufReader::new(output)
            .lines()
            .next_line()
            .await?
            .ok_or("the bare route did not start")?;
        Ok(Self { address, process })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Result<i32, BoxError> {
        let pid = self.process.id().ok_or("the bare route has ended")?;
        Ok(i32::try_from(pid)?)
    }
}
