//! `dsctl index`: the search index of a replica.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use clap::Subcommand;
use indicatif::ProgressBar;
use proto::search::v1::index_service_client::IndexServiceClient;
use proto::search::v1::{GetIndexStatusRequest, GetIndexStatusResponse, RebuildIndexRequest};
use serde_json::json;

use crate::connection::{Connection, GrpcChannel, accepted, timely};
use crate::duration;
use crate::failure::Failure;
use crate::import::grouped;
use crate::output::Output;

/// Between two lines of progress where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Between two looks at the index.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// What to do with the index.
#[derive(Debug, Subcommand)]
pub(crate) enum Index {
    /// Its size, and how far it has followed the records
    Status,
    /// Starts to build it anew from the records; searches go on meanwhile
    Rebuild,
}

impl Index {
    /// Does it.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let mut client = IndexServiceClient::new(connection.search().await?);
        match self {
            Self::Status => {
                let answer = client.get_index_status(timely(GetIndexStatusRequest {})).await;
                let status = accepted("search", answer)?;
                let lag = lag(&status);
                output.show(
                    &json!({
                        "companies": status.companies, "people": status.people, "segments": status.segments,
                        "sizeBytes": status.size_bytes, "position": status.position,
                        "feedPosition": status.feed_position, "lagChanges": status.lag_changes,
                        "lagSeconds": lag.map(|lag| lag.as_secs_f64()), "rebuilding": status.rebuilding,
                        "merges": status.merges,
                    }),
                    || human(&status, lag),
                )
            }
            Self::Rebuild => {
                let answer = client.rebuild_index(timely(RebuildIndexRequest {})).await;
                let started = accepted("search", answer)?.started;
                output.show(&json!({ "started": started }), || {
                    let text = if started {
                        "the rebuild has started"
                    } else {
                        "a rebuild is running already"
                    };
                    format!("{text}: dsctl index status tells when it is done")
                })
            }
        }
    }
}

fn lag(status: &GetIndexStatusResponse) -> Option<Duration> {
    status.lag.and_then(|lag| Duration::try_from(lag).ok())
}

fn human(status: &GetIndexStatusResponse, lag: Option<Duration>) -> String {
    let count = |number: i64| grouped(u64::try_from(number).unwrap_or_default());
    let behind = match (status.lag_changes, lag) {
        (0, _) => "up to date".to_owned(),
        (changes, lag) => {
            format!(
                "{} changes behind, {}",
                count(changes),
                duration::format(lag.unwrap_or_default())
            )
        }
    };
    format!(
        "companies  {}\npeople     {}\nsize       {} bytes in {} segments, {}\nposition   {} of {}: {behind}{}",
        count(status.companies),
        count(status.people),
        count(status.size_bytes),
        count(status.segments),
        match status.merges {
            0 => "none being merged".to_owned(),
            1 => "1 merge running".to_owned(),
            merges => format!("{} merges running", count(merges)),
        },
        status.position,
        status.feed_position,
        if status.rebuilding {
            "\na rebuild is running"
        } else {
            ""
        },
    )
}

/// Waits until searches see the position of the change feed.
pub(crate) async fn wait_for(
    channel: GrpcChannel,
    position: i64,
    at_most: Duration,
    quiet: bool,
) -> Result<(), Failure> {
    let mut client = IndexServiceClient::new(channel);
    let started = Instant::now();
    let mut told = started;
    let spinner = if quiet || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new_spinner()
    };
    loop {
        let status = accepted(
            "search",
            client.get_index_status(timely(GetIndexStatusRequest {})).await,
        )?;
        if status.position >= position {
            spinner.finish_and_clear();
            return Ok(());
        }
        if started.elapsed() >= at_most {
            return Err(Failure::Refused(format!(
                "all is stored, but not searchable after {}: the index is at {} of {position} (see dsctl index status)",
                duration::format(at_most),
                status.position
            )));
        }
        let message = format!("waiting for the index: {} of {position}", status.position);
        if !quiet && spinner.is_hidden() && told.elapsed() >= LINE_INTERVAL {
            told = Instant::now();
            eprintln!("{message}");
        }
        spinner.set_message(message);
        spinner.tick();
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}
