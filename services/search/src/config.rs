//! The settings of the search service.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use runtime::database::DatabaseConfig;
use runtime::grpc_server::GrpcServerConfig;
use runtime::settings::Settings;

use crate::cursor::CursorKeys;
use crate::engine::IndexSettings;
use crate::feed::FeedSettings;
use crate::search::SearchSettings;

/// Shortest cursor key: fewer characters could be guessed from a cursor.
const MIN_CURSOR_KEY_LENGTH: usize = 32;

const DAY: Duration = Duration::from_hours(24);

/// Tantivy takes no less for a thread that writes.
const MIN_WRITER_MB: usize = 15;

/// The settings.
#[derive(Debug)]
pub struct SearchConfig {
    /// Its database.
    pub database: DatabaseConfig,
    /// How it is called.
    pub grpc: GrpcServerConfig,
    /// Where this replica keeps its index.
    pub index_dir: PathBuf,
    /// What the index may use.
    pub index: IndexSettings,
    /// How the index follows the records.
    pub feed: FeedSettings,
    /// How searches are answered.
    pub search: SearchSettings,
}

impl SearchConfig {
    /// Reads them.
    pub fn read(settings: &mut Settings) -> Self {
        let mut config = Self {
            database: DatabaseConfig::read(settings),
            grpc: GrpcServerConfig::read(settings),
            index_dir: settings.required(
                "index_dir",
                "/var/lib/search/index",
                "Directory of this replica's index; never shared with another one.",
            ),
            index: read_index(settings),
            feed: read_feed(settings),
            search: read_search(settings),
        };
        config.index.search_threads = config.search.concurrency;
        config
    }
}

fn read_index(settings: &mut Settings) -> IndexSettings {
    let default = IndexSettings::default();
    let writer_threads = settings.bounded(
        "index_writer_threads",
        default.writer_threads,
        1..=8,
        "Threads that write the index, for each kind of records.",
    );
    let writer_memory_mb = settings.bounded(
        "index_writer_memory_mb",
        default.writer_memory_bytes >> 20,
        MIN_WRITER_MB..=4_096,
        "Memory in which documents are gathered before they are written, in MiB, for each kind of records. A rebuild \
         takes the same once more.",
    );
    if writer_memory_mb < MIN_WRITER_MB * writer_threads {
        settings.contradiction(format!(
            "index_writer_memory_mb: is less than {MIN_WRITER_MB} for each of index_writer_threads"
        ));
    }
    IndexSettings {
        writer_threads,
        writer_memory_bytes: writer_memory_mb << 20,
        merge_threads: settings.bounded(
            "index_merge_threads",
            default.merge_threads,
            1..=8,
            "Threads that merge what was written, for each kind of records.",
        ),
        verify_on_open: settings.value(
            "index_verify",
            default.verify_on_open,
            "Whether the whole index is checked at the start. A damaged one is built anew.",
        ),
        ..default
    }
}

fn read_feed(settings: &mut Settings) -> FeedSettings {
    FeedSettings {
        interval: settings.bounded(
            "feed_interval",
            Duration::from_millis(100),
            Duration::from_millis(1)..=Duration::from_secs(10),
            "Pause between two looks for changed records.",
        ),
        batch: settings.bounded(
            "feed_batch",
            50_000,
            1..=100_000,
            "Most changed records that become searchable at once; far behind, up to four times as many.",
        ),
        retention: settings.bounded(
            "feed_retention",
            7 * DAY,
            Duration::from_mins(1)..=3_650 * DAY,
            "How long changes are kept. An index that was away for longer is built anew.",
        ),
    }
}

fn read_search(settings: &mut Settings) -> SearchSettings {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cursor_key = settings.secret(
        "cursor_key",
        MIN_CURSOR_KEY_LENGTH,
        "What cursors are signed with: the same on all replicas. If it changes at once, cursors that are out are refused.",
    );
    let previous_cursor_key = settings.optional_secret(
        "previous_cursor_key",
        MIN_CURSOR_KEY_LENGTH,
        "A second key that cursors are still read with. To change the key: set the new one here on every replica, then \
         swap the two, then drop the old one once no cursor of its is used any more.",
    );
    SearchSettings {
        cursor_keys: CursorKeys::new(&cursor_key, previous_cursor_key.as_ref()),
        new_business_days: settings.bounded(
            "new_business_days",
            365,
            1..=36_500,
            "For how many days after its founding a company is new.",
        ),
        concurrency: settings
            .optional_bounded(
                "search_concurrency",
                1..=1_024,
                "Searches worked on at once; others wait. While fewer are, a large one takes more than one thread. The \
                 number of cores unless set.",
            )
            .unwrap_or(cores),
        timeout: settings.bounded(
            "search_timeout",
            Duration::from_secs(10),
            Duration::from_millis(10)..=Duration::from_mins(5),
            "Longest time for a search; a caller's own deadline counts if it is sooner.",
        ),
    }
}
