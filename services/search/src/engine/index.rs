//! The index on disk: its directory, its lock, its generations.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use super::error::{IndexError, Unreadable};
use super::generation::{Generation, IndexStatus};
use super::merges::Merging;
use super::place::{Place, Turn};
use super::rows;
use super::settings::IndexSettings;
use super::sources::Snapshot;
use super::threads::Threads;
use crate::document::Change;
use crate::plan::{Engine, EngineError, Hits, Plan, Stop};

/// The index.
#[derive(Debug)]
pub struct Index {
    place: Arc<Place>,
    settings: IndexSettings,
    threads: Threads,
    current: RwLock<Serving>,
}

/// A commit of an index: another one has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Number of the generation.
    generation: u64,
    /// The position of the change feed.
    pub position: i64,
}

/// What opening an index found.
#[derive(Debug)]
pub enum Opened {
    /// An index to serve from; if its position is none, it is new and empty.
    Ready(Index),
    /// Something that can't be used. Nothing of it was touched.
    Unusable(Unusable),
}

/// An index that is there but can't be used. It holds the directory's lock.
#[derive(Debug)]
pub struct Unusable {
    place: Place,
    settings: IndexSettings,
    reason: Unreadable,
}

/// A generation that is being built while another one serves.
///
/// It is written like an index: [`Generation::fill`] it with the records as they are, [`Generation::commit`] the
/// position of the change feed from before they were read, let it follow the feed until it is where the index is, and
/// [`Index::switch`] to it. Dropped without that, it is removed by the next rebuild or start.
#[derive(Debug)]
pub struct Rebuild {
    built: Serving,
    turn: Turn,
}

#[derive(Clone, Debug)]
struct Serving {
    number: u64,
    generation: Arc<Generation>,
}

impl Index {
    /// Opens the index in the directory, or makes an empty one in a directory that has none or is not there.
    ///
    /// Blocks, for as long as reading the files takes if [`IndexSettings::verify_on_open`].
    pub fn open(root: &Path, settings: IndexSettings) -> Result<Opened, IndexError> {
        let place = Place::lock(root)?;
        rows::prepare();
        match place.current()? {
            None => Self::empty(place, settings).map(Opened::Ready),
            Some(Err(reason)) => Ok(Opened::Unusable(Unusable {
                place,
                settings,
                reason,
            })),
            Some(Ok(number)) => {
                place.remove_all_but(Some(number))?;
                Ok(match Generation::open(&place.generation(number), &settings)? {
                    Ok(generation) => Opened::Ready(Self::serve(place, settings, number, generation)),
                    Err(reason) => Opened::Unusable(Unusable {
                        place,
                        settings,
                        reason,
                    }),
                })
            }
        }
    }

    fn empty(place: Place, settings: IndexSettings) -> Result<Self, IndexError> {
        place.remove_all_but(None)?;
        let number = 1;
        let generation = Generation::create(&place.generation(number), &settings)?;
        place.point_to(number)?;
        Ok(Self::serve(place, settings, number, generation))
    }

    fn serve(place: Place, settings: IndexSettings, number: u64, generation: Generation) -> Self {
        let current = RwLock::new(Serving {
            number,
            generation: Arc::new(generation),
        });
        Self {
            place: Arc::new(place),
            threads: Threads::new(settings.search_threads, settings.shared_from),
            settings,
            current,
        }
    }

    /// Writes changes without committing them, see [`Generation::write`].
    pub fn write(&self, changes: &[Change]) -> Result<(), IndexError> {
        self.current().generation.write(changes)
    }

    /// Commits what was written, see [`Generation::commit`].
    pub fn commit(&self, position: i64, merging: Merging) -> Result<(), IndexError> {
        self.current().generation.commit(position, merging)
    }

    /// Writes changes and commits them, see [`Generation::apply`].
    pub fn apply(&self, changes: &[Change], position: i64) -> Result<(), IndexError> {
        self.current().generation.apply(changes, position)
    }

    /// Lets searches have what merges have made, see [`Generation::show_merged`].
    pub fn show_merged(&self) -> Result<(), IndexError> {
        self.current().generation.show_merged()
    }

    /// The position of the change feed up to which everything is in the index, see [`Generation::position`].
    #[must_use]
    pub fn position(&self) -> Option<i64> {
        self.current().generation.position()
    }

    /// Which commit it is at; none before the first.
    #[must_use]
    pub fn committed(&self) -> Option<Committed> {
        let Serving { number, generation } = self.current();
        Some(Committed {
            generation: number,
            position: generation.position()?,
        })
    }

    /// What is committed now, to be gone through.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.current().generation.snapshot()
    }

    /// What is in the index.
    pub fn status(&self) -> Result<IndexStatus, IndexError> {
        self.current().generation.status()
    }

    /// Starts an empty generation beside the one that serves. One at a time.
    pub fn rebuild(&self) -> Result<Rebuild, IndexError> {
        let turn = Turn::take(&self.place)?;
        let serving = self.current().number;
        self.place.remove_all_but(Some(serving))?;
        let number = serving + 1;
        let generation = Arc::new(Generation::create(
            &self.place.generation(number),
            &self.settings,
        )?);
        Ok(Rebuild {
            built: Serving { number, generation },
            turn,
        })
    }

    /// Removes what is left of a rebuild that was dropped.
    pub fn discard_rebuild(&self) -> Result<(), IndexError> {
        let _turn = Turn::take(&self.place)?;
        self.place.remove_all_but(Some(self.current().number))
    }

    /// Lets the rebuilt generation serve in place of the old one, which is removed. Searches that are under way end
    /// on the old one. After an error the old one goes on serving.
    ///
    /// The caller sees to it that the new one has followed as far as the feed goes, and that nothing is written to the
    /// index meanwhile: it would be written to the old one.
    pub fn switch(&self, rebuild: Rebuild) -> Result<(), IndexError> {
        if !rebuild.turn.is_at(&self.place) {
            return Err(IndexError::NotReady("it was started from another index"));
        }
        // Not compared with the position of the one that serves: that one may be ahead of a feed that was put back.
        if rebuild.position().is_none() {
            return Err(IndexError::NotReady("nothing was committed to it"));
        }
        let Rebuild { built, turn } = rebuild;
        self.place.point_to(built.number)?;
        let number = built.number;
        let old = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, built)
        };
        // Its writers end before their files are removed.
        drop(old);
        if let Err(error) = self.place.remove_all_but(Some(number)) {
            tracing::warn!(%error, "the old index could not be removed; the next rebuild or start tries again");
        }
        drop(turn);
        Ok(())
    }

    /// Bytes that are left on the disk of the index; none if the system does not tell.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        self.place.free_bytes()
    }

    /// Whether somebody has removed its directory. What was open is still searched, but nothing can be written any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.place.is_gone()
    }

    /// Waits until the clauses that are to be kept, because they were asked for again, have been found. Blocks. For who
    /// tests or measures what is kept; a search never waits for it.
    pub fn wait_kept(&self) {
        self.current().generation.wait_kept();
    }

    fn current(&self) -> Serving {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Engine for Index {
    fn search(&self, plan: &Plan, stop: &Stop) -> Result<Hits, EngineError> {
        self.current().generation.search(plan, stop, &self.threads)
    }
}

impl Unusable {
    /// What is wrong with it.
    #[must_use]
    pub const fn reason(&self) -> &Unreadable {
        &self.reason
    }

    /// Starts an empty index. A damaged one is moved to `set-aside` in the index's directory, in place of what is there, for
    /// whoever wants to know what happened; of another format's there is nothing to know, and its room may be needed.
    pub fn start_afresh(self) -> Result<Index, IndexError> {
        if !matches!(self.reason, Unreadable::OtherFormat) {
            self.place.set_aside()?;
        }
        Index::empty(self.place, self.settings)
    }
}

impl Deref for Rebuild {
    type Target = Generation;

    fn deref(&self) -> &Generation {
        &self.built.generation
    }
}
