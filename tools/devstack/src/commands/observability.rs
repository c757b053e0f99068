//! The programs that `deploy/observability/` is for, as far as packages do not bring them: an OpenTelemetry Collector and
//! Jaeger, built from their modules once, and kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::steps::Steps;
use crate::error::{Error, Tried as _};
use crate::programs::{Need, on_path, provide};
use crate::run::{run, run_openly};

/// Where they are kept; the folder of a version is its own.
const FOLDER: &str = "target/observability";

const COLLECTOR: &str = "0.165.0";

/// The collector's stable modules count for themselves.
const COLLECTOR_STABLE: &str = "1.71.0";

/// A module of both lines of Jaeger: this is 2.13, too.
const JAEGER: &str = "github.com/jaegertracing/jaeger@v1.76.0";

/// The programs, by the names under which the tests look for them.
pub(super) fn programs(steps: &Steps) -> Result<Vec<(&'static str, PathBuf)>, Error> {
    provide(&[Need::Go, Need::Prometheus])?;
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder).tried(|| format!("making {FOLDER}"))?;
    let folder = folder.canonicalize().tried(|| format!("finding {FOLDER}"))?;
    let found = |name: &str| on_path(name).ok_or_else(|| Error::Missing(name.to_owned()));
    Ok(vec![
        ("DS_TEST__OTELCOL", collector(steps, &folder)?),
        ("DS_TEST__JAEGER", jaeger(steps, &folder)?),
        ("DS_TEST__PROMETHEUS", found("prometheus")?),
        ("DS_TEST__PROMTOOL", found("promtool")?),
    ])
}

/// The collector with what its configuration names, and nothing else.
fn collector(steps: &Steps, folder: &Path) -> Result<PathBuf, Error> {
    let sources = folder.join(format!("collector-{COLLECTOR}"));
    let program = sources.join("otelcol");
    if program.exists() {
        return Ok(program);
    }
    steps.tell(&format!(
        "building an OpenTelemetry Collector {COLLECTOR}, once; this takes minutes"
    ));
    let manifest = folder.join("collector.yaml");
    fs::write(&manifest, collector_manifest(&sources)).tried(|| format!("writing {}", manifest.display()))?;
    run_openly(
        Command::new("go")
            .arg("run")
            .arg(format!("go.opentelemetry.io/collector/cmd/builder@v{COLLECTOR}"))
            .arg("--config")
            .arg(&manifest),
    )?;
    Ok(program)
}

/// What the collector's own builder builds.
fn collector_manifest(sources: &Path) -> String {
    let module =
        |path: &str, version: &str| format!("  - gomod: go.opentelemetry.io/collector/{path} v{version}\n");
    format!(
        "dist:\n  name: otelcol\n  version: {COLLECTOR}\n  output_path: {}\n\
         receivers:\n{}processors:\n{}{}exporters:\n{}providers:\n{}{}",
        sources.display(),
        module("receiver/otlpreceiver", COLLECTOR),
        module("processor/batchprocessor", COLLECTOR),
        module("processor/memorylimiterprocessor", COLLECTOR),
        module("exporter/otlpexporter", COLLECTOR),
        module("confmap/provider/envprovider", COLLECTOR_STABLE),
        module("confmap/provider/fileprovider", COLLECTOR_STABLE),
    )
}

fn jaeger(steps: &Steps, folder: &Path) -> Result<PathBuf, Error> {
    let version = JAEGER.rsplit('@').next().unwrap_or_default();
    let program = folder.join(format!("jaeger-{version}"));
    if program.exists() {
        return Ok(program);
    }
    steps.tell(&format!("building {JAEGER}, once; this takes several minutes"));
    let told = run(Command::new("go").args(["mod", "download", "-json", JAEGER]))?;
    let told: serde_json::Value =
        serde_json::from_str(&told).map_err(|error| Error::Answer(format!("`go mod download`: {error}")))?;
    let sources = told["Dir"].as_str().unwrap_or_default();
    // It can't be installed by name, since it replaces modules of others: it is built where it is.
    run_openly(
        Command::new("go")
            .args(["build", "-buildvcs=false", "-o"])
            .arg(&program)
            .arg("./cmd/jaeger")
            .current_dir(sources),
    )?;
    Ok(program)
}
