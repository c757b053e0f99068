//! A generation of the index: companies and people, built from one point of the change feed on.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tantivy::IndexWriter;
use tantivy::merge_policy::NoMergePolicy;

use super::error::{IndexError, Unreadable};
use super::half::{Half, Prepared};
use super::kept::Kept;
use super::merges::Merging;
use super::schema::Fields;
use super::search::{Searchers, search};
use super::settings::IndexSettings;
use super::sources::Snapshot;
use super::threads::Threads;
use crate::document::{Change, Document};
use crate::plan::{EngineError, Hits, Kind, Plan, Stop};

const COMPANIES: &str = "companies";
const PEOPLE: &str = "people";

/// Companies and people in a directory, searched by many and written by one at a time.
pub struct Generation {
    fields: Fields,
    companies: Half,
    people: Half,
    /// What a search reads. Of both halves together: what is asked of people's companies is asked of the companies of the
    /// same commit.
    searchers: RwLock<Searchers>,
    settings: IndexSettings,
    /// None behind a failure: the next writing opens new ones, which begin at the last commit.
    writers: Mutex<Option<Writers>>,
    /// Apart from the writing, so that no one who asks for it has to wait for a commit.
    position: Mutex<Option<i64>>,
}

struct Writers {
    companies: IndexWriter,
    people: IndexWriter,
}

/// What is in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexStatus {
    /// The companies.
    pub companies: KindStatus,
    /// The people.
    pub people: KindStatus,
    /// The position of the change feed up to which everything is in it; none before the first commit.
    pub position: Option<i64>,
}

/// What is in the index of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindStatus {
    /// Documents that a search can find.
    pub documents: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Merges of segments that are running.
    pub merges: u64,
}

impl Generation {
    /// Makes an empty one in a directory that must not be there yet.
    pub(super) fn create(dir: &Path, settings: &IndexSettings) -> Result<Self, IndexError> {
        fs::create_dir(dir).map_err(|error| IndexError::io(dir, error))?;
        let fields = Fields::new();
        let companies = Half::create(&dir.join(COMPANIES), &fields)?;
        let people = Half::create(&dir.join(PEOPLE), &fields)?;
        Self::with_writers(fields, companies, people, settings.clone())
    }

    /// Opens the halves of one that is there.
    pub(super) fn open(dir: &Path, settings: &IndexSettings) -> Result<Result<Self, Unreadable>, IndexError> {
        let fields = Fields::new();
        let open = |name| Half::open(&dir.join(name), &fields, settings.verify_on_open);
        // Each half's files are read.
        let opened = std::thread::scope(|scope| {
            let companies = scope.spawn(|| open(COMPANIES));
            let people = open(PEOPLE);
            let companies = companies.join();
            (
                companies.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                people,
            )
        });
        let (companies, people) = match opened {
            (Ok(companies), Ok(people)) => (companies, people),
            (Err(unreadable), _) | (_, Err(unreadable)) => return Ok(Err(unreadable)),
        };
        let generation = Self::with_writers(fields, companies, people, settings.clone())?;
        if let Err(error) = generation.resume_merges() {
            // It is searched as it is. Whoever writes next is told what is wrong.
            tracing::warn!(%error, "the merges of the index were not taken up again");
        }
        Ok(Ok(generation))
    }

    /// Commits again what was committed last: only a commit sets merges going, and those that were running, or put off,
    /// when the process ended would else wait for the next change.
    fn resume_merges(&self) -> Result<(), IndexError> {
        self.writing(|writers| {
            for (half, writer) in [
                (&self.companies, &mut writers.companies),
                (&self.people, &mut writers.people),
            ] {
                if let Some(position) = half.position()? {
                    half.commit(writer, position, Merging::AsItGrows)?;
                }
            }
            Ok(())
        })
    }

    fn with_writers(
        fields: Fields,
        companies: Half,
        people: Half,
        settings: IndexSettings,
    ) -> Result<Self, IndexError> {
        let position = companies
            .position()?
            .zip(people.position()?)
            .map(|(companies, people)| companies.min(people));
        let searchers = Searchers {
            companies: companies.searcher(),
            people: people.searcher(),
            kept: Arc::new(Kept::new(settings.kept_from)),
        };
        let generation = Self {
            fields,
            companies,
            people,
            searchers: RwLock::new(searchers),
            settings,
            writers: Mutex::default(),
            position: Mutex::new(position),
        };
        // Opened now, so that what is wrong with them is told now.
        generation.writing(|_| Ok(()))?;
        Ok(generation)
    }

    /// Writes changes, of which no search sees anything before the next [`Generation::commit`]. Of several changes
    /// of a record the last one counts, and writing them again changes nothing.
    ///
    /// After an error, here or in a commit, all that was written since the last commit is dropped: go on from
    /// [`Generation::position`].
    pub fn write(&self, changes: &[Change]) -> Result<(), IndexError> {
        let mut known = HashSet::new();
        let last = changes.iter().rev();
        let last: Vec<&Change> = last
            .filter(|change| known.insert((change.kind(), change.id())))
            .collect();
        self.write_prepared(|kind| {
            let of_kind = last.iter().filter(|change| change.kind() == kind);
            Prepared::changes(&self.fields, of_kind.copied())
        })
    }

    /// Writes documents of which none has been written to this generation before: a first load, which spares looking
    /// for what they would replace. Nobody searches it before it is committed: segments are merged from then on.
    /// Otherwise as [`Generation::write`].
    pub fn fill(&self, documents: &[Document]) -> Result<(), IndexError> {
        self.writing(|writers| {
            for writer in [&writers.companies, &writers.people] {
                writer.set_merge_policy(Box::new(NoMergePolicy));
            }
            Ok(())
        })?;
        self.write_prepared(|kind| {
            let of_kind = documents.iter().filter(|document| document.kind == kind);
            Prepared::first(&self.fields, of_kind)
        })
    }

    fn write_prepared(&self, prepare: impl Fn(Kind) -> Prepared) -> Result<(), IndexError> {
        // Before the writers are taken, so that several can prepare at once.
        let companies = prepare(Kind::Company);
        let people = prepare(Kind::Person);
        self.writing(|writers| {
            companies.write(&writers.companies)?;
            people.write(&writers.people)
        })
    }

    /// Makes durable and visible what was written, together with the position of the change feed up to which
    /// everything has been. A search that starts when this has returned sees it.
    pub fn commit(&self, position: i64, merging: Merging) -> Result<(), IndexError> {
        self.writing(|writers| {
            std::thread::scope(|scope| {
                let companies =
                    scope.spawn(|| self.companies.commit(&mut writers.companies, position, merging));
                self.people.commit(&mut writers.people, position, merging)?;
                companies
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        self.show();
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = Some(position);
        Ok(())
    }

    /// Lets searches have the segments that merges have made since the last commit, and what they replace be removed. To be
    /// called now and then while nothing is committed; cheap if there are none.
    pub fn show_merged(&self) -> Result<(), IndexError> {
        let merged = [self.companies.has_merged(), self.people.has_merged()];
        if merged == [false; 2] {
            return Ok(());
        }
        // Between two commits, so that both halves are of one.
        self.writing(|_| {
            self.companies.reload()?;
            self.people.reload()?;
            self.show();
            Ok(())
        })
    }

    /// Lets searches have what the halves have loaded.
    fn show(&self) {
        let mut searchers = self.searchers.write().unwrap_or_else(PoisonError::into_inner);
        searchers.companies = self.companies.searcher();
        searchers.people = self.people.searcher();
        searchers.kept.keep_to([&searchers.companies, &searchers.people]);
    }

    /// [`Generation::write`] and [`Generation::commit`].
    pub fn apply(&self, changes: &[Change], position: i64) -> Result<(), IndexError> {
        self.write(changes)?;
        self.commit(position, Merging::AsItGrows)
    }

    /// The position up to which everything is in it, none before the first commit. After a crash between the
    /// commits of the two halves it is the earlier one; what comes behind it is to be written again.
    pub fn position(&self) -> Option<i64> {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in it.
    pub fn status(&self) -> Result<IndexStatus, IndexError> {
        let status = |half: &Half| {
            let searcher = half.searcher();
            let segments = searcher.segment_readers().len() as u64;
            Ok::<_, IndexError>(KindStatus {
                documents: searcher.num_docs(),
                segments,
                bytes: half.bytes()?,
                merges: half.merges(),
            })
        };
        Ok(IndexStatus {
            companies: status(&self.companies)?,
            people: status(&self.people)?,
            position: self.position(),
        })
    }

    pub(super) fn search(&self, plan: &Plan, stop: &Stop, threads: &Threads) -> Result<Hits, EngineError> {
        search(&self.searchers(), &self.fields, plan, stop, threads)
    }

    pub(super) fn wait_kept(&self) {
        self.searchers().kept.wait_idle();
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot(self.searchers())
    }

    fn searchers(&self) -> Searchers {
        self.searchers
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Does some writing. What fails, or panics, leaves the state of the last commit behind: of a writer that has
    /// failed nothing is certain but what it has committed.
    fn writing(&self, work: impl FnOnce(&mut Writers) -> tantivy::Result<()>) -> Result<(), IndexError> {
        let mut guard = self.writers.lock().unwrap_or_else(|poisoned| {
            let mut guard = poisoned.into_inner();
            *guard = None;
            self.writers.clear_poison();
            guard
        });
        let writers = match &mut *guard {
            Some(writers) => writers,
            none => none.insert(Writers {
                companies: self.companies.writer(&self.settings)?,
                people: self.people.writer(&self.settings)?,
            }),
        };
        let done = work(writers);
        if done.is_err() {
            *guard = None;
        }
        Ok(done?)
    }
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Generation")
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}
