//! Programs that come as packages of Python: no part of the project, so that each set of them has a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::run::run_openly;

/// The folder with the programs of these packages (`name==version`), which are installed into `folder` if it does not hold
/// exactly these.
pub(crate) fn provide_packages(folder: &Path, packages: &[&str]) -> Result<PathBuf, Error> {
    let mark = folder.join("packages");
    let wanted = packages.join("\n");
    if fs::read_to_string(&mark).ok().as_deref() != Some(&wanted) {
        provide(&[Need::Python])?;
        eprintln!(
            "dev: missing: {}; installing into {}",
            packages.join(", "),
            folder.display()
        );
        run_openly(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(folder),
        )?;
        let pip = folder.join("bin").join("pip");
        run_openly(
            Command::new(pip)
                .args(["install", "--quiet", "--disable-pip-version-check"])
                .args(packages),
        )?;
        fs::write(&mark, wanted).tried(|| format!("writing {}", mark.display()))?;
    }
    let programs = folder.join("bin");
    programs
        .canonicalize()
        .tried(|| format!("finding {}", programs.display()))
}
