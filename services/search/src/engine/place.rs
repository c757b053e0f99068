//! The directory of an index.
//!
//! ```text
//! lock                    held by whoever has the index open
//! current                 the format and the number of the generation that serves
//! generation-000001/      companies/ and people/, each a Tantivy index
//! set-aside/              what was found damaged last
//! ```
//!
//! `current` is replaced by renaming, so that it names a whole generation at any time; a generation that it does not
//! name is what is left of a rebuild, or of one that was replaced, and is removed.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{IndexError, Unreadable};

/// Version of what is in a generation: its fields, what is kept of them, how rows are packed, and the terms that the
/// normalisers make. It goes up with each of them, and an index of another version is built anew.
pub(super) const FORMAT: u32 = 7;

const LOCK: &str = "lock";
const CURRENT: &str = "current";
const NEW_CURRENT: &str = "current.new";
const SET_ASIDE: &str = "set-aside";
const GENERATION: &str = "generation-";

/// A directory that is locked as long as this lives.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    rebuilding: AtomicBool,
    _lock: File,
}

/// The right to rebuild, given back when dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Place>);

impl Turn {
    pub(super) fn take(place: &Arc<Place>) -> Result<Self, IndexError> {
        if place.rebuilding.swap(true, Ordering::AcqRel) {
            return Err(IndexError::RebuildRunning);
        }
        Ok(Self(Arc::clone(place)))
    }

    pub(super) fn is_at(&self, place: &Arc<Place>) -> bool {
        Arc::ptr_eq(&self.0, place)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.rebuilding.store(false, Ordering::Release);
    }
}

impl Place {
    /// Bytes that are left on its disk for who is not the administrator; none if the system does not tell.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(&self.root).ok()?;
        disk.f_bavail.checked_mul(disk.f_frsize)
    }

    /// Makes the directory if it is not there and locks it.
    pub(super) fn lock(root: &Path) -> Result<Self, IndexError> {
        fs::create_dir_all(root).map_err(|error| IndexError::io(root, error))?;
        let path = root.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = lock.map_err(|error| IndexError::io(&path, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root: root.to_owned(),
                rebuilding: AtomicBool::new(false),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked(root.to_owned())),
            Err(TryLockError::Error(error)) => Err(IndexError::io(&path, error)),
        }
    }

    pub(super) fn generation(&self, number: u64) -> PathBuf {
        self.root.join(format!("{GENERATION}{number:06}"))
    }

    /// Whether the directory was removed, or emptied.
    pub(super) fn is_gone(&self) -> bool {
        matches!(fs::metadata(self.root.join(CURRENT)), Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// The number of the generation that serves, or why it can't; none if there is none.
    pub(super) fn current(&self) -> Result<Option<Result<u64, Unreadable>>, IndexError> {
        let path = self.root.join(CURRENT);
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IndexError::io(&path, error)),
        };
        let content = String::from_utf8_lossy(&content);
        let mut numbers = content.split_whitespace().map(str::parse::<u64>);
        Ok(Some(match (numbers.next(), numbers.next()) {
            (Some(Ok(format)), _) if format != u64::from(FORMAT) => Err(Unreadable::OtherFormat),
            (Some(Ok(_)), Some(Ok(number))) => Ok(number),
            _ => Err(Unreadable::Checksum { file: path }),
        }))
    }

    /// Names the generation that serves from now on.
    pub(super) fn point_to(&self, number: u64) -> Result<(), IndexError> {
        let new = self.root.join(NEW_CURRENT);
        let failed = |error| IndexError::io(&new, error);
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(format!("{FORMAT} {number}\n").as_bytes())
            .map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, self.root.join(CURRENT)).map_err(failed)?;
        self.sync()
    }

    /// Removes the generations but for one.
    pub(super) fn remove_all_but(&self, kept: Option<u64>) -> Result<(), IndexError> {
        let kept = kept.map(|number| self.generation(number));
        for path in self.generations()? {
            if Some(&path) != kept.as_ref() {
                fs::remove_dir_all(&path).map_err(|error| IndexError::io(&path, error))?;
            }
        }
        Ok(())
    }

    /// Moves everything to [`SET_ASIDE`]. Cut short, it leaves a directory without a generation that serves.
    pub(super) fn set_aside(&self) -> Result<(), IndexError> {
        let aside = self.root.join(SET_ASIDE);
        let failed = |error| IndexError::io(&aside, error);
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => fs::create_dir(&aside).map_err(failed)?,
        }
        for path in [self.root.join(CURRENT)].into_iter().chain(self.generations()?) {
            let name = path.file_name().unwrap_or_default();
            fs::rename(&path, aside.join(name)).map_err(|error| IndexError::io(&path, error))?;
        }
        self.sync()
    }

    fn generations(&self) -> Result<Vec<PathBuf>, IndexError> {
        let failed = |error| IndexError::io(&self.root, error);
        let mut generations = Vec::new();
        for entry in fs::read_dir(&self.root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(GENERATION) {
                generations.push(entry.path());
            }
        }
        Ok(generations)
    }

    fn sync(&self) -> Result<(), IndexError> {
        File::open(&self.root)
            .and_then(|root| root.sync_all())
            .map_err(|error| IndexError::io(&self.root, error))
    }
}
