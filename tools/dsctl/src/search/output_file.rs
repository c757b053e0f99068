//! The file that `search --all` writes, and the note beside it of how far it is.
//!
//! What may happen, and what holds:
//! - It is killed at any point, also with a page asked for and paid: the note has the page's cursor and `Idempotency-Key` from
//!   before it was asked for, so that the repeat is the same request and is free (as long as the service keeps such keys: 24 h).
//! - It is killed while it writes rows: the note has the length of the file up to which rows count. What is behind it is cut off,
//!   and comes again with the page.
//! - Two are run for one file: the second one is refused, by a lock that ends with its process.
//! - The same file is named for another search, form or address: refused, nothing is changed.
//!
//! The order of each step is therefore: rows durable in the file, then the note (replaced as a whole) of where they end and what
//! is asked for next.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use runtime::ambient::Ambient;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;
use crate::whole_file;

/// What is asked for, by everything that makes two searches different.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    /// Where.
    pub(super) url: String,
    /// The body, without its cursor.
    pub(super) body: Value,
    /// Form of the rows.
    pub(super) format: String,
}

/// How far a search of many pages is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Position {
    /// Cursor of the next page; none is the first.
    pub(super) cursor: Option<String>,
    /// `Idempotency-Key` of the next page.
    pub(super) idempotency_key: String,
    /// Rows written.
    pub(super) rows: u64,
    /// Credits that they cost.
    pub(super) spent: u64,
    /// Bytes of the file that they take.
    pub(super) bytes: u64,
}

impl Position {
    /// Before the first page.
    pub(super) fn start(ambient: &Ambient) -> Self {
        Self {
            cursor: None,
            idempotency_key: ambient.uuid_v7().to_string(),
            rows: 0,
            spent: 0,
            bytes: 0,
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    #[serde(flatten)]
    task: Task,
    #[serde(flatten)]
    position: Position,
}

/// A file that is being written. It is locked.
pub(super) struct OutputFile {
    path: PathBuf,
    note_path: PathBuf,
    file: File,
    task: Task,
}

impl OutputFile {
    /// Opens the file for a task: where it ended, or at its beginning.
    pub(super) fn open(
        path: &Path,
        task: Task,
        overwrite: bool,
        ambient: &Ambient,
    ) -> Result<(Self, Position), Failure> {
        let mut note_path = path.as_os_str().to_owned();
        note_path.push(".dsctl-state");
        let note_path = PathBuf::from(note_path);
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = opened.map_err(|error| failed(path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::Refused(format!(
                    "{}: another dsctl is writing it: wait for it, or name another file",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(path, error)),
        }
        let output = Self {
            path: path.to_owned(),
            note_path,
            file,
            task,
        };
        let length = output.length()?;
        let note = if overwrite { None } else { output.read_note()? };
        let position = match note {
            Some(note) => output.checked(note, length)?,
            None if overwrite || length == 0 => Position::start(ambient),
            None => {
                return Err(Failure::Usage(format!(
                    "{}: is there already, and no search for it was stopped: name another file, or add --overwrite",
                    path.display()
                )));
            }
        };
        output.note(&position)?;
        Ok((output, position))
    }

    /// A note is of use if it is about this task and this file.
    fn checked(&self, note: Note, length: u64) -> Result<Position, Failure> {
        let path = self.path.display();
        if note.task != self.task {
            return Err(Failure::Usage(format!(
                "{path}: another search was stopped while it wrote it (see {}): run that one again, name another file, or \
                 add --overwrite",
                self.note_path.display()
            )));
        }
        if length < note.position.bytes {
            return Err(Failure::Refused(format!(
                "{path}: is shorter than what was written, so rows are lost: name another file, or add --overwrite"
            )));
        }
        Ok(note.position)
    }

    /// Writes a page behind what counts, over what does not; its bytes are durable when this returns. The new length.
    pub(super) fn append(&mut self, behind: u64, text: &str) -> Result<u64, Failure> {
        let mut write = || {
            self.file.set_len(behind)?;
            self.file.seek(SeekFrom::Start(behind))?;
            self.file.write_all(text.as_bytes())?;
            self.file.sync_data()
        };
        write().map_err(|error| failed(&self.path, error))?;
        self.length()
    }

    /// Notes how far it is, durably.
    pub(super) fn note(&self, position: &Position) -> Result<(), Failure> {
        let note = Note {
            task: self.task.clone(),
            position: position.clone(),
        };
        serde_json::to_vec_pretty(&note)
            .map_err(io::Error::from)
            .and_then(|text| whole_file::replace(&self.note_path, &text))
            .map_err(|error| failed(&self.note_path, error))
    }

    /// All rows are there: nothing is left to go on with.
    pub(super) fn finish(self) -> Result<(), Failure> {
        fs::remove_file(&self.note_path).map_err(|error| failed(&self.note_path, error))
    }

    /// The search is not valid: as if the file had not been opened.
    pub(super) fn discard(self) -> Result<(), Failure> {
        let remove = |path: &Path| fs::remove_file(path).map_err(|error| failed(path, error));
        if self.length()? == 0 {
            remove(&self.path)?;
        }
        remove(&self.note_path)
    }

    /// As the user named it.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn length(&self) -> Result<u64, Failure> {
        let about = self.file.metadata().map_err(|error| failed(&self.path, error))?;
        Ok(about.len())
    }

    fn read_note(&self) -> Result<Option<Note>, Failure> {
        let text = match fs::read(&self.note_path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&self.note_path, error)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            Failure::Refused(format!(
                "{}: is no note of a search ({error}): remove it and add --overwrite",
                self.note_path.display()
            ))
        })
    }
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::File {
        path: path.display().to_string(),
        error,
        hint: "--output takes a file in a folder that can be written",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn task(limit: u64) -> Task {
        Task {
            url: "http://127.0.0.1:1/api/v1/people/search".to_owned(),
            body: json!({ "limit": limit }),
            format: "csv".to_owned(),
        }
    }

    fn open(path: &Path, limit: u64, overwrite: bool) -> Result<(OutputFile, Position), Failure> {
        OutputFile::open(path, task(limit), overwrite, &Ambient::system())
    }

    fn refused(opened: Result<(OutputFile, Position), Failure>) -> String {
        opened.err().unwrap().to_string()
    }

    #[test]
    fn it_goes_on_where_rows_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let (mut output, mut position) = open(&path, 5, false).unwrap();
        assert!(refused(open(&path, 5, false)).contains("another dsctl"));
        position.bytes = output.append(0, "one\n").unwrap();
        position.rows = 1;
        position.cursor = Some("next".to_owned());
        output.note(&position).unwrap();
        output.append(4, "half of a ro").unwrap();
        drop(output);

        assert!(refused(open(&path, 6, false)).contains("another search"));
        let (mut output, again) = open(&path, 5, false).unwrap();
        assert_eq!(again, position);
        output.append(position.bytes, "two\n").unwrap();
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        assert!(refused(open(&path, 5, false)).contains("--overwrite"));
        let (output, position) = open(&path, 5, true).unwrap();
        assert_eq!((position.rows, position.cursor), (0, None));
        // What was there is lost when there is something in its place, no sooner.
        output.discard().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let (output, _) = open(&folder.path().join("b.csv"), 5, false).unwrap();
        output.discard().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn lost_rows_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let (mut output, mut position) = open(&path, 5, false).unwrap();
        position.bytes = output.append(0, "one\n").unwrap();
        output.note(&position).unwrap();
        drop(output);
        fs::write(&path, "on").unwrap();
        assert!(refused(open(&path, 5, false)).contains("shorter"));
    }
}
