//! Files that are replaced as a whole, so that no crash leaves half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Puts this text in place of what the file holds, durably. Only the user may read it.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.new", std::process::id()));
    let new = Path::new(&new);
    // One that a killed process of this number has left. (What is there otherwise is not written through, wherever it leads.)
    drop(fs::remove_file(new));
    let replaced = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(new)
        .and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(new, path));
    if let Err(error) = replaced {
        // It is of no use to anybody; what went wrong is told.
        drop(fs::remove_file(new));
        return Err(error);
    }
    // A name is durable with its folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
