//! Baselines that are servers of their own: processes of this program, whose processor time can be told from the load's.

use std::process::Stdio;

use axum::Router;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::BoxError;

/// Serves on a free port, and prints its address as the first line.
pub(crate) async fn serve(router: Router) -> Result<(), BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

/// A process that serves, which ends when this is dropped.
pub(crate) struct Served {
    /// `address:port`.
    pub(crate) address: String,
    process: Child,
}

impl Served {
    /// Starts this program's command, with these variables.
    pub(crate) async fn start(command: &str, variables: Vec<(&str, String)>) -> Result<Self, BoxError> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(command)
            .envs(variables)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().ok_or("it has no output")?;
        let address = BufReader::new(output)
            .lines()
            .next_line()
            .await?
            .ok_or_else(|| format!("{command} did not start"))?;
        Ok(Self { address, process })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Result<i32, BoxError> {
        let pid = self.process.id().ok_or("it has ended")?;
        Ok(i32::try_from(pid)?)
    }
}
