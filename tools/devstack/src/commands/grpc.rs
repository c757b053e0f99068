//! The programs that `docs/grpc.md` is typed with, as far as packages do not bring them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, provide};
use crate::python::provide_packages;
use crate::run::run_openly;

/// Where they are kept.
const FOLDER: &str = "target/grpc";

const GRPCURL: &str = "1.9.3";

/// Python's gRPC: the generator, and the details of a refusal.
const PYTHON: [&str; 2] = ["grpcio-tools==1.85.1", "grpcio-status==1.85.1"];

/// The folders of the programs, by the names under which the tests look for them.
pub(super) fn programs(steps: &Steps) -> Result<Vec<(&'static str, PathBuf)>, Error> {
    fs::create_dir_all(FOLDER).tried(|| format!("making {FOLDER}"))?;
    let folder = Path::new(FOLDER);
    let folder = folder.canonicalize().tried(|| format!("finding {FOLDER}"))?;
    Ok(vec![
        ("DS_TEST__GRPCURL", grpcurl(steps, &folder)?),
        (
            "DS_TEST__GRPC_PYTHON",
            provide_packages(&folder.join("python"), &PYTHON)?,
        ),
    ])
}

fn grpcurl(steps: &Steps, folder: &Path) -> Result<PathBuf, Error> {
    let programs = folder.join(format!("grpcurl-{GRPCURL}"));
    if !programs.join("grpcurl").exists() {
        provide(&[Need::Go])?;
        steps.tell(&format!("building grpcurl {GRPCURL}, once; this takes a minute"));
        run_openly(
            Command::new("go")
                .arg("install")
                .arg(format!("github.com/fullstorydev/grpcurl/cmd/grpcurl@v{GRPCURL}"))
                .env("GOBIN", &programs),
        )?;
    }
    Ok(programs)
}
