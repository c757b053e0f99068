//! `./dev status`.

use std::process::ExitCode;

use clap::Args;

use super::{Place, say};
use crate::daemon::Daemon;
use crate::error::Error;
use crate::service::{Part, Service};

#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    place: Place,
}

impl Status {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let installation = self.place.installation()?;
        let parts = [Part::Postgres, Part::Redis]
            .into_iter()
            .chain(Service::ALL.map(Part::from));
        let mut all_ready = true;
        for part in parts {
            let pid = Daemon::new(&installation.folder, &part.to_string()).pid();
            let ready = pid.is_some() && installation.is_ready(part);
            all_ready &= ready;
            let state = match (pid, ready) {
                (None, _) => "down".to_owned(),
                (Some(pid), true) => format!("ready (process {pid})"),
                (Some(pid), false) => format!("running, not ready (process {pid})"),
            };
            let port = installation
                .port_of(part)
                .map_or_else(|| "-".to_owned(), |port| format!("127.0.0.1:{port}"));
            say(&format!("{:<10} {port:<16} {state}", part.to_string()));
        }
        Ok(if all_ready {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}
