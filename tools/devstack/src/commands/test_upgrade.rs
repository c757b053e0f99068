//! `./dev test --upgrade-from`: another version's binaries, for the tests of upgrades, which run them beside today's.
//!
//! They are built from that commit's files alone, in a folder of their own, with a target folder of their own: nothing of
//! today's is built anew for it, and a second run finds them there. (The files come by `git archive`: a worktree would be
//! noted in the repository, and be in the way of whoever removes `target/`.)

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cargo::cargo;
use super::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::installation::binary;
use crate::run::{run, run_openly};

/// Where they are kept; the folder of a version is named by its commit.
const FOLDER: &str = "target/upgrade-from";

/// What an upgrade replaces.
const BINARIES: [&str; 5] = ["search", "keys", "billing", "gateway", "dsctl"];

/// Where the tests look for them.
pub(super) const VARIABLE: &str = "DS_TEST__PREVIOUS_BINARIES";

/// The word for the newest release before what is checked out.
pub(super) const PREVIOUS_RELEASE: &str = "previous-release";

/// The folder with the binaries of this version.
pub(super) fn binaries(steps: &Steps, version: &str) -> Result<PathBuf, Error> {
    let version = if version == PREVIOUS_RELEASE {
        previous_release()?
    } else {
        version.to_owned()
    };
    let commit = git(&[
        "rev-parse",
        "--verify",
        "--quiet",
        &format!("{version}^{{commit}}"),
    ])
    .map_err(|_| Error::Missing(format!("{version} is no commit of this repository")))?;
    let folder = Path::new(FOLDER).join(&commit);
    fs::create_dir_all(&folder).tried(|| format!("making {}", folder.display()))?;
    let folder = folder
        .canonicalize()
        .tried(|| format!("finding {}", folder.display()))?;
    let (source, target) = (folder.join("source"), folder.join("target"));
    if !source.exists() {
        unpack(&commit, &source)?;
    }
    steps.tell(&format!(
        "building {version} ({commit}); the first time this takes minutes"
    ));
    let mut build = cargo();
    build.args(["build", "--workspace", "--locked"]);
    for name in BINARIES {
        build.args(["--bin", name]);
    }
    run_openly(build.current_dir(&source).env("CARGO_TARGET_DIR", &target))?;
    let binaries = target.join("debug");
    for name in BINARIES {
        binary(&binaries, name)?;
    }
    Ok(binaries)
}

/// The newest tag `vX.Y.Z` that is behind the one of what is checked out, if that has one.
fn previous_release() -> Result<String, Error> {
    let tag = |of: &str| git(&["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", of]);
    tag("HEAD^").map_err(|_| {
        Error::Missing("no tag vX.Y.Z is behind this commit: name a commit, --upgrade-from=COMMIT".to_owned())
    })
}

/// The files of a commit. They get their name when they are whole.
fn unpack(commit: &str, to: &Path) -> Result<(), Error> {
    let (archive, unfinished) = (to.with_extension("tar"), to.with_extension("unfinished"));
    let made = || format!("making {}", unfinished.display());
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).tried(made)?;
    }
    fs::create_dir(&unfinished).tried(made)?;
    run(Command::new("git")
        .args(["archive", "--format=tar", "--output"])
        .arg(&archive)
        .arg(commit))?;
    run(Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(&unfinished))?;
    fs::remove_file(&archive).tried(|| format!("removing {}", archive.display()))?;
    fs::rename(&unfinished, to).tried(|| format!("naming {}", to.display()))
}

fn git(arguments: &[&str]) -> Result<String, Error> {
    Ok(run(Command::new("git").args(arguments))?.trim().to_owned())
}
