//! The programs that make clients of the OpenAPI document, and what such clients run on.

use std::path::{Path, PathBuf};

use crate::error::{Error, Tried as _};
use crate::{node, python};

/// Where they are kept.
const FOLDER: &str = "target/clients";

/// Where the packages of npm are listed.
const MANIFESTS: &str = "tests/tests/clients/typescript";

/// The generator, which brings what its clients need.
const PYTHON: [&str; 1] = ["openapi-python-client==0.29.1"];

/// The folders of the programs, by the names under which the tests look for them.
pub(super) fn programs() -> Result<Vec<(&'static str, PathBuf)>, Error> {
    let folder = Path::new(FOLDER);
    node::provide_packages(folder, Path::new(MANIFESTS))?;
    let folder = folder.canonicalize().tried(|| format!("finding {FOLDER}"))?;
    let python = python::provide_packages(&folder.join("python"), &PYTHON)?;
    Ok(vec![
        ("DS_TEST__CLIENTS_NODE", folder),
        ("DS_TEST__CLIENTS_PYTHON", python),
    ])
}
