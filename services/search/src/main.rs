//! The search service: companies and people, filters, index, reveals.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use runtime::grpc_server;
use runtime::process::{self, BoxError, Process, Service, with_causes};
use runtime::settings::Settings;
use runtime::statement;
use search::background;
use search::config::SearchConfig;
use search::engine::{Index, IndexError, IndexSettings, Opened};
use search::feed::Feed;
use search::grpc::{self, IndexApi, RecordApi, SearchApi};
use search::meters;
use search::place::gazetteer::Gazetteer;
use search::recording::Recorder;
use search::search::Search;
use search::store::{Store, schema};
use search::suggest::Suggest;

/// Documents are many small allocations, made on one thread and dropped on another: the system's allocator takes a fifth
/// of the time of a rebuild for them, and keeps more memory. Huge pages are off: to clear them took as long again. Its second
/// version gives memory back after 10 ms; the third, after a second, held a quarter more of it in a rebuild, and was no faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct SearchProcess;

impl Service for SearchProcess {
    const NAME: &'static str = "search";
    const ABOUT: &'static str = "Keeps companies and people, and searches them.";
    const DEFAULT_LISTEN: &'static str = "127.0.0.1:7101";
    const DEFAULT_ADMIN_LISTEN: &'static str = "127.0.0.1:7111";
    type Config = SearchConfig;

    fn read(settings: &mut Settings) -> SearchConfig {
        SearchConfig::read(settings)
    }

    async fn serve(config: SearchConfig, process: Process) -> Result<(), BoxError> {
        meters::describe();
        let built = process.readiness.condition("the index is built");
        let pool = config.database.open(&schema()).await?;
        let observing = statement::observe_pool(pool.clone(), process.shutdown.clone());
        process.shutdown.spawn_critical("database connections", observing);
        let store = Store::new(pool);
        // A feed's index is of no use to another: its positions mean other changes.
        let dir = config.index_dir.join(store.feed().await?.id.to_string());
        let index = background::start(move || {
            // Read now, not by the first search for a place.
            let _ = Gazetteer::get();
            open(&dir, config.index)
        });
        let index = Arc::new(index.await??);

        let (ambient, shutdown) = (process.ambient.clone(), process.shutdown.clone());
        let feed = Feed::new(
            store.clone(),
            Arc::clone(&index),
            config.feed,
            ambient.clone(),
            shutdown.clone(),
        );
        shutdown.spawn_critical("feed", Arc::clone(&feed).run(built.clone()));
        shutdown.spawn_critical("pruning", Arc::clone(&feed).prune());
        shutdown.spawn_critical("observing", Arc::clone(&feed).observe());

        let suggest = Suggest::new(config.search.concurrency, config.search.timeout);
        let counting = suggest.clone().follow(Arc::clone(&index), shutdown.clone());
        shutdown.spawn_critical("suggestions", counting);
        let search = Search::new(store.clone(), index, config.search, ambient.clone());
        let recorder = Recorder {
            store,
            ambient,
            shutdown,
        };
        let records = RecordApi {
            recorder,
            search_time: search.time(),
        };
        let service = grpc::service(SearchApi { search, suggest }, records, IndexApi { feed });
        // Nobody listens before: whoever calls goes to a replica that can answer, however calls are balanced.
        built.held().await;
        grpc_server::serve(process, config.grpc, service).await
    }

    async fn migrate(config: SearchConfig) -> Result<(), BoxError> {
        Ok(config.database.migrate(schema()).await?)
    }
}

/// Opens the index; one that can't be used is put aside, and an empty one is begun.
fn open(dir: &Path, settings: IndexSettings) -> Result<Index, IndexError> {
    match Index::open(dir, settings)? {
        Opened::Ready(index) => Ok(index),
        Opened::Unusable(unusable) => {
            tracing::warn!(
                reason = %with_causes(unusable.reason()),
                "the index can't be used: it is put aside, and built anew"
            );
            unusable.start_afresh()
        }
    }
}

fn main() -> ExitCode {
    process::run::<SearchProcess>()
}
