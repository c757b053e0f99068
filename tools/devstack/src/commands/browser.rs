//! The browser that the reference at `/docs` is tested in, and what drives it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Tried as _};
use crate::node::provide_packages;
use crate::programs::{Need, chromium, provide};

/// Where the packages and the pictures are.
const FOLDER: &str = "target/docs";

/// Where the packages are listed.
const MANIFESTS: &str = "tests/tests/guides/browser";

/// The programs and the folders, by the names under which the tests look for them.
pub(super) fn programs() -> Result<Vec<(&'static str, PathBuf)>, Error> {
    provide(&[Need::Chromium, Need::Curl])?;
    let folder = Path::new(FOLDER);
    provide_packages(folder, Path::new(MANIFESTS))?;
    let screenshots = folder.join("screenshots");
    fs::create_dir_all(&screenshots).tried(|| format!("making {}", screenshots.display()))?;
    let folder = folder.canonicalize().tried(|| format!("finding {FOLDER}"))?;
    eprintln!("dev: pictures of the page will be in {}", screenshots.display());
    Ok(vec![
        (
            "DS_TEST__CHROMIUM",
            chromium().ok_or_else(|| Error::Missing("chromium".to_owned()))?,
        ),
        ("DS_TEST__NODE", folder.join("node_modules/.bin/node")),
        ("DS_TEST__NODE_PACKAGES", folder.clone()),
        ("DS_TEST__SCREENSHOTS", folder.join("screenshots")),
    ])
}
