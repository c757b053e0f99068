//! `./dev logs`.

use std::process::{Command, ExitCode};

use clap::Args;

use super::Place;
use crate::error::{Error, Tried as _};
use crate::service::{Part, Service};

#[derive(Debug, Args)]
pub(super) struct Logs {
    /// search, keys, billing, gateway, postgres or redis; none: all of them
    service: Option<String>,

    /// Go on as more is logged, until Ctrl-C
    #[arg(long, short)]
    follow: bool,

    /// How many of the last lines of each
    #[arg(long, short = 'n', default_value_t = 100)]
    lines: u32,

    #[command(flatten)]
    place: Place,
}

impl Logs {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let folder = self.place.existing()?;
        let parts = match &self.service {
            Some(name) => vec![
                Part::named(name).ok_or_else(|| Error::Missing(format!("there is no {name} with a log")))?,
            ],
            None => Service::ALL
                .map(Part::from)
                .into_iter()
                .chain([Part::Postgres, Part::Redis])
                .collect(),
        };
        let files = parts
            .iter()
            .map(|part| folder.log(&part.to_string()))
            .filter(|file| file.exists());
        let mut tail = Command::new("tail");
        tail.arg("-n").arg(self.lines.to_string());
        if self.follow {
            tail.arg("-F");
        }
        let status = tail.args(files).status().tried(|| "running tail".to_owned())?;
        Ok(super::test::exit_code(status))
    }
}
