//! Programs and libraries that come as packages of npm, each set of them in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::run::run_openly;

/// What npm reads, and what it has installed by.
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs what the lock file of `manifests` says into `folder`, if that does not hold exactly this.
pub(crate) fn provide_packages(folder: &Path, manifests: &Path) -> Result<(), Error> {
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).ok();
    let mark = folder.join("installed");
    let same = |name: &&str| read(folder, name) == read(manifests, name);
    if mark.exists() && FILES.iter().all(same) {
        return Ok(());
    }
    provide(&[Need::Npx])?;
    fs::create_dir_all(folder).tried(|| format!("making {}", folder.display()))?;
    for name in FILES {
        let (from, to) = (manifests.join(name), folder.join(name));
        fs::copy(&from, &to).tried(|| format!("copying {}", from.display()))?;
    }
    run_openly(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel", "error"])
            .current_dir(folder),
    )?;
    fs::write(&mark, "").tried(|| format!("writing {}", mark.display()))
}

/// A program of the packages in this folder, run by the Node that is one of them.
pub(crate) fn program(folder: &Path, name: &str) -> Result<Command, Error> {
    let programs = folder.join("node_modules/.bin");
    let programs = programs
        .canonicalize()
        .tried(|| format!("finding {}", programs.display()))?;
    let mut command = Command::new(programs.join("node"));
    command.arg(programs.join(name));
    Ok(command)
}
