//! The search service at size, beside Postgres on the same records and the same searches, in one run.
//!
//! The records are made up from pieces of the sample ([`data`]), imported through gRPC ([`import`]) and copied into
//! tables that are made for these searches ([`baseline`]). Then classes of searches ([`classes`], [`sql`]) are
//! answered by both: compared, and measured by one harness ([`measure`]).

mod baseline;
mod chance;
mod classes;
mod compare;
mod costliest;
mod data;
mod each;
mod growth;
mod import;
mod measure;
mod ours;
mod phones;
mod places;
mod process;
mod progress;
pub(crate) mod records;
mod report;
mod sample;
mod sql;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, NaiveDate, Utc};
use clap::Args;
use devstack::{Part, Service, Stack};
use sqlx::PgPool;

use self::classes::{Class, Question, Terms};
use self::data::Data;
use self::import::{Deed, Manner};
use self::measure::{Figures, System, Until};
use self::ours::Ours;
use self::process::Watch;
use self::progress::{per_second, tell};
use self::records::{Left, Records};
use self::report::{Report, millis};
use self::sample::Sample;
use crate::BoxError;
use crate::cpu::load_average;

/// Clients of the mixed load beside an import.
const MIXED_CLIENTS: usize = 2;

/// What can be measured alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    /// The searches, at rest.
    Searches,
    /// Size and rebuild of the index.
    Index,
    /// Each search by itself, without Postgres: which of a class are slow.
    Each,
    /// How much longer searches take than in a tenth of the records, without Postgres.
    Growth,
}

/// `bench search`.
#[derive(Args)]
pub(crate) struct Search {
    #[command(flatten)]
    records: Records,
    /// Seconds for each class, system and number of clients
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Write the figures to this file too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Streams that import at once
    #[arg(long, default_value_t = 2)]
    streams: u64,
    /// Records a batch of the import
    #[arg(long, default_value_t = 2_000)]
    batch: u64,
    /// Import people in random order, not company by company
    #[arg(long)]
    shuffled: bool,
    /// Measure a part alone, behind the import
    #[arg(long, value_name = "PART")]
    only: Option<Only>,
    /// Compare only the classes of searches whose names have this in them
    #[arg(long, value_name = "TEXT", default_value = "")]
    class: String,
    /// Of these, only the searches that ask for this
    #[arg(long, value_name = "TEXT", default_value = "")]
    asked: String,
    /// Setting of the search service, `DS_SEARCH__NAME=VALUE`
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

/// A stack that is measured.
struct Stage {
    stack: Arc<Stack>,
    environment: devstack::Environment,
    cluster_url: String,
    data: Arc<Data>,
    manner: Manner,
    report: Report,
}

impl Search {
    /// Measures, and prints the table.
    pub(crate) async fn run(self) -> Result<(), BoxError> {
        if self.only == Some(Only::Growth) {
            return growth::print(&self, Duration::from_secs(self.seconds)).await;
        }
        let load_before = load_average();
        let mut stage = self.stage().await?;
        stage.report.about = vec![
            (
                "records",
                format!(
                    "{} companies, {} people",
                    stage.data.companies(),
                    stage.data.people()
                ),
            ),
            ("processors", std::thread::available_parallelism()?.to_string()),
            (
                "memory",
                format!("{} GB", process::machine_memory() / 1_000_000_000),
            ),
            ("load average before", load_before),
            (
                "people imported",
                if self.shuffled {
                    "in random order"
                } else {
                    "company by company"
                }
                .to_owned(),
            ),
            ("seconds a cell", self.seconds.to_string()),
        ];
        if self.records.are_there(&stage.stack, Left::Loaded) {
            // What the run before has left to be merged.
            stage.ours().await?.wait_settled().await?;
        } else {
            stage.load().await?;
            self.records.leave(&stage.stack, Left::Loaded)?;
        }
        if self.only == Some(Only::Each) {
            let (ours, classes) = (System::Ours(stage.ours().await?), self.classes(&stage).await?);
            each::print(&ours, &classes, Duration::from_secs(self.seconds)).await?;
            tokio::task::spawn_blocking(move || drop(stage)).await?;
            return Ok(());
        }
        stage.sizes().await?;
        if self.only != Some(Only::Index) {
            let classes = self.classes(&stage).await?;
            stage.compare(classes, Duration::from_secs(self.seconds)).await?;
            stage.costliest(&self).await?;
        }
        if self.only.is_none() {
            stage.beside_import(&self).await?;
        }
        if self.only != Some(Only::Searches) {
            stage.rebuild().await?;
        }
        stage.report.about.push(("load average after", load_average()));
        println!("{}", stage.report.table());
        if let Some(path) = &self.json {
            std::fs::write(path, format!("{:#}\n", stage.report.json()))?;
        }
        tokio::task::spawn_blocking(move || drop(stage)).await?;
        Ok(())
    }

    async fn stage(&self) -> Result<Stage, BoxError> {
        let data = self.records.data()?;
        let stack = self.records.start(&self.set).await?;
        Ok(Stage {
            environment: stack.environment()?,
            cluster_url: stack.cluster_url()?,
            stack,
            data,
            manner: Manner {
                streams: self.streams.max(1),
                batch: self.batch.clamp(1, 5_000),
                shuffled: self.shuffled,
            },
            report: Report::default(),
        })
    }

    /// What searches are drawn from.
    fn terms<'a>(&self, data: &'a Data, today: NaiveDate) -> Terms<'a> {
        Terms {
            data,
            seed: self.records.seed,
            today,
        }
    }

    async fn classes(&self, stage: &Stage) -> Result<Vec<Class>, BoxError> {
        let mut classes = self.terms(&stage.data, today()?).classes();
        // Walking the list for its cursors takes a while.
        if classes::CURSORS.contains(&self.class) {
            classes.push(classes::cursors(&stage.ours().await?, &stage.postgres().await?).await?);
        }
        Ok(self.selected(classes))
    }

    /// Those of these searches that are to be measured.
    fn selected(&self, mut classes: Vec<Class>) -> Vec<Class> {
        for class in &mut classes {
            class
                .questions
                .retain(|question| question.asked().contains(&self.asked));
        }
        classes.retain(|class| class.name.contains(&self.class) && !class.questions.is_empty());
        classes
    }
}

fn today() -> Result<NaiveDate, BoxError> {
    let since = SystemTime::UNIX_EPOCH.elapsed()?;
    let now = DateTime::<Utc>::from_timestamp(i64::try_from(since.as_secs())?, 0).unwrap_or_default();
    Ok(now.date_naive())
}

impl Stage {
    async fn ours(&self) -> Result<Ours, BoxError> {
        Ours::connect(&self.environment).await
    }

    async fn postgres(&self) -> Result<PgPool, BoxError> {
        baseline::open(&self.cluster_url).await
    }

    fn pid(&self) -> Result<i32, BoxError> {
        Ok(self
            .stack
            .pid(Service::Search)
            .ok_or("the search service does not run")?)
    }

    /// Does something with the stack that blocks.
    async fn with_stack<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Stack) -> Result<T, devstack::Error> + Send + 'static,
    ) -> Result<T, BoxError> {
        let stack = Arc::clone(&self.stack);
        Ok(tokio::task::spawn_blocking(move || work(&stack)).await??)
    }

    /// Imports the records, and copies them.
    async fn load(&mut self) -> Result<(), BoxError> {
        let pool = self.postgres().await?;
        let copied = baseline::bare_copy(&pool, &self.data).await?;
        sqlx::raw_sql("CHECKPOINT").execute(&pool).await?;
        let ours = self.ours().await?;
        let watch = Watch::begin(self.pid()?);
        let begun = Instant::now();
        let imported = import::import(&ours, &self.data, self.manner, Deed::Put).await?;
        ours.wait_searchable(imported.position).await?;
        let searchable = begun.elapsed();
        let most = watch.end().await?;
        let records = imported.records;
        let copy_rate = per_second(records, copied);
        let report = &mut self.report;
        report.figure("bare COPY of the same records", copy_rate, "records/s", "");
        report.figure(
            "import until durable",
            per_second(records, imported.time),
            "records/s",
            "",
        );
        report.figure(
            "import until searchable",
            per_second(records, searchable),
            "records/s",
            ">= 15000",
        );
        report.figure(
            "bare COPY by import until searchable",
            copy_rate / per_second(records, searchable),
            "x",
            "",
        );
        report.figure(
            "most memory beyond the mapped index, first import",
            megabytes(most),
            "MiB",
            "<= 512",
        );
        let ids = baseline::Ids::read(&self.environment.database_url_search, &self.data).await?;
        baseline::fill(&pool, &self.data, ids).await?;
        sqlx::raw_sql("CHECKPOINT").execute(&pool).await?;
        ours.wait_settled().await?;
        Ok(())
    }

    /// Bytes on disk.
    async fn sizes(&mut self) -> Result<(), BoxError> {
        let index = self.stack.folder().join("index");
        let (companies, people) = (self.data.companies(), self.data.people());
        let each = |part, count| Ok::<_, BoxError>(quotient(process::bytes_below(&index, part)?, count));
        let (of_company, of_person) = (each("companies", companies)?, each("people", people)?);
        let baseline = baseline::bytes(&self.postgres().await?).await?;
        self.report
            .figure("index, bytes a person", of_person, "bytes", "<= 400");
        self.report
            .figure("index, bytes a company", of_company, "bytes", "");
        let record = quotient(u64::try_from(baseline)?, companies + people);
        self.report
            .figure("baseline in Postgres, bytes a record", record, "bytes", "");
        Ok(())
    }

    /// Both systems' answers compared, then measured: cold, and warm.
    async fn compare(&mut self, classes: Vec<Class>, time: Duration) -> Result<(), BoxError> {
        let ours = System::Ours(self.ours().await?);
        let pool = self.postgres().await?;
        let theirs = System::Postgres(pool.clone());
        let mut figures = Vec::new();
        for class in &classes {
            figures.push(compare::compared(class, &ours, &theirs).await?);
        }

        sqlx::raw_sql("CHECKPOINT").execute(&pool).await?;
        pool.close().await;
        self.with_stack(|stack| stack.stop(Service::Search)).await?;
        self.with_stack(|stack| stack.restart(Part::Postgres)).await?;
        let begun = Instant::now();
        self.with_stack(|stack| stack.start_part(Service::Search)).await?;
        self.report.figure(
            "start to ready with an index that is there",
            begun.elapsed().as_secs_f64(),
            "s",
            "<= 2",
        );
        let ours = System::Ours(self.ours().await?);
        let theirs = System::Postgres(self.postgres().await?);
        for (class, figures) in classes.iter().zip(&mut figures) {
            tell(&format!("{}: cold", class.name));
            let of_ours = measure::once(&ours, &class.questions).await?;
            let of_theirs = measure::once(&theirs, &class.questions).await?;
            figures.ways.push((of_ours, of_theirs));
        }
        for clients in [1, 8] {
            for (class, figures) in classes.iter().zip(&mut figures) {
                tell(&format!("{}: warm, {clients} at once", class.name));
                let questions = Arc::new(class.questions.clone());
                let of_ours = self.repeated(clients, &questions, Until::Time(time)).await?;
                let never = Arc::default();
                let all = vec![theirs.clone(); clients];
                let of_theirs = measure::repeated(all, &questions, Until::Time(time), &never).await?;
                figures.ways.push((of_ours, of_theirs));
            }
        }
        let memory = process::memory(self.pid()?)?;
        self.report.figure(
            "memory beyond the mapped index, after searches",
            megabytes(memory.anonymous),
            "MiB",
            "<= 512",
        );
        self.report.figure(
            "resident memory with the mapped index",
            megabytes(memory.resident),
            "MiB",
            "",
        );
        self.report.classes = figures;
        Ok(())
    }

    /// Asks the search service, over a connection for each client.
    async fn repeated(
        &self,
        clients: usize,
        questions: &Arc<Vec<Question>>,
        until: Until,
    ) -> Result<Figures, BoxError> {
        let mut systems = Vec::new();
        for _ in 0..clients {
            systems.push(System::Ours(self.ours().await?));
        }
        measure::repeated(systems, questions, until, &Arc::default()).await
    }

    /// A mix of all classes at rest, and beside an import of new records, which are deleted again.
    async fn beside_import(&mut self, options: &Search) -> Result<(), BoxError> {
        let classes = options.terms(&self.data, options.records.as_of).classes();
        let most = classes
            .iter()
            .map(|class| class.questions.len())
            .max()
            .unwrap_or(0);
        let mix: Vec<Question> = (0..most)
            .flat_map(|number| {
                classes
                    .iter()
                    .filter_map(move |class| class.questions.get(number))
            })
            .cloned()
            .collect();
        let mix = Arc::new(mix);
        tell("a mix of all classes at rest");
        let rest = self
            .repeated(MIXED_CLIENTS, &mix, Until::Time(Duration::from_secs(10)))
            .await?;

        let sample = Sample::read(Path::new("sample"))?;
        let further = Data::new(
            sample,
            "x",
            (options.records.companies / 20).max(1_000),
            options.records.seed + 1,
            options.records.as_of,
        );
        let further = Arc::new(further);
        let ours = self.ours().await?;
        let watch = Watch::begin(self.pid()?);
        let stop = Arc::new(AtomicBool::new(false));
        let systems = vec![System::Ours(self.ours().await?), System::Ours(self.ours().await?)];
        let load = async {
            let imported = import::import(&ours, &further, self.manner, Deed::Put).await;
            let done = match imported {
                Ok(imported) => ours
                    .wait_searchable(imported.position)
                    .await
                    .map(|()| imported.records),
                Err(error) => Err(error),
            };
            stop.store(true, Ordering::Relaxed);
            done
        };
        let begun = Instant::now();
        let (busy, records) = tokio::join!(measure::repeated(systems, &mix, Until::Told, &stop), load);
        let (busy, records) = (busy?, records?);
        let time = begun.elapsed();
        let memory = watch.end().await?;
        let report = &mut self.report;
        report.figure(
            "p99 of the mix, 2 clients, at rest",
            millis(&rest, 0.99),
            "ms",
            "",
        );
        report.figure(
            "p99 of the mix, 2 clients, beside an import",
            millis(&busy, 0.99),
            "ms",
            "",
        );
        report.figure(
            "p99 beside an import by p99 at rest",
            millis(&busy, 0.99) / millis(&rest, 0.99),
            "x",
            "<= 3",
        );
        report.figure(
            "import beside the mix, until searchable",
            per_second(records, time),
            "records/s",
            "",
        );
        report.figure(
            "most memory beyond the mapped index, import and searches",
            megabytes(memory),
            "MiB",
            "<= 512",
        );
        let deleted = import::import(&ours, &further, self.manner, Deed::Delete).await?;
        ours.wait_searchable(deleted.position).await?;
        ours.wait_settled().await?;
        Ok(())
    }

    /// The index built anew.
    async fn rebuild(&mut self) -> Result<(), BoxError> {
        tell("building the index anew");
        let ours = self.ours().await?;
        let watch = Watch::begin(self.pid()?);
        let begun = Instant::now();
        ours.rebuild().await?;
        let time = begun.elapsed();
        let memory = watch.end().await?;
        let documents = self.data.companies() + self.data.people();
        self.report
            .figure("rebuild", per_second(documents, time), "documents/s", ">= 40000");
        self.report.figure(
            "most memory beyond the mapped index, rebuild",
            megabytes(memory),
            "MiB",
            "<= 512",
        );
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are shown with few digits")]
fn quotient(bytes: u64, count: u64) -> f64 {
    bytes as f64 / count.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "sizes are shown with few digits")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
