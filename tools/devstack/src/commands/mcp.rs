//! The official tools of the Model Context Protocol, which `/mcp` and `dsctl mcp` are tested with.

use std::path::{Path, PathBuf};

use crate::error::{Error, Tried as _};
use crate::node::provide_packages;

/// Where the packages are kept.
const FOLDER: &str = "target/mcp";

/// Where the packages are listed.
const MANIFESTS: &str = "tests/tests/mcp";

/// The folder of the packages, by the name under which the tests look for it.
pub(super) fn programs() -> Result<Vec<(&'static str, PathBuf)>, Error> {
    let folder = Path::new(FOLDER);
    provide_packages(folder, Path::new(MANIFESTS))?;
    let folder = folder.canonicalize().tried(|| format!("finding {FOLDER}"))?;
    Ok(vec![("DS_TEST__MCP_PACKAGES", folder)])
}
