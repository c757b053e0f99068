//! `./dev up`: from whatever is there to a system that answers searches.
//!
//! Each step looks first whether it is still to be done, so that running it again completes what was interrupted and
//! repeats nothing: what runs is left running (unless it was built anew, or another port is wanted), what is loaded is
//! not loaded again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use sha2::{Digest as _, Sha256};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::steps::Steps;
use super::{Place, cargo, plan, say};
use crate::environment::{Environment, Operator};
use crate::error::{Error, Tried as _};
use crate::folder::Folder;
use crate::installation::{Installation, Manner, stop, stop_all};
use crate::programs::{Need, provide};
use crate::run::{run_openly, shown};
use crate::service::{Part, Service};
use crate::state::hexadecimal;
use crate::wait::wait_for;

/// The account that one develops with.
pub(super) const ACCOUNT: &str = "development";

const CREDITS: u64 = 1_000_000;
const SAMPLE: &str = "sample";
const FIRST_SEARCH: &str = r#"{"businessType":"software","location":"Germany","limit":3}"#;
const ANSWER_LIMIT: Duration = Duration::from_mins(2);

#[derive(Debug, Args)]
pub(super) struct Up {
    /// Come back when everything answers, and leave it running; without, Ctrl-C ends it
    #[arg(long)]
    detach: bool,

    /// Do not load the sample
    #[arg(long)]
    empty: bool,

    /// Cargo profile that the processes are built with
    #[arg(long, env = "DEV_PROFILE", default_value = "release", value_name = "PROFILE")]
    profile: String,

    #[command(flatten)]
    ports: PortsTold,

    #[command(flatten)]
    place: Place,
}

/// Ports of one's own choice; others are free ones, and stay what they are.
#[derive(Debug, Args)]
struct PortsTold {
    /// Port of the public REST
    #[arg(long = "gateway-port", env = "DEV_GATEWAY_PORT", value_name = "PORT")]
    gateway: Option<u16>,
    /// Port of the search service
    #[arg(long = "search-port", env = "DEV_SEARCH_PORT", value_name = "PORT")]
    search: Option<u16>,
    /// Port of the keys service
    #[arg(long = "keys-port", env = "DEV_KEYS_PORT", value_name = "PORT")]
    keys: Option<u16>,
    /// Port of the billing service
    #[arg(long = "billing-port", env = "DEV_BILLING_PORT", value_name = "PORT")]
    billing: Option<u16>,
    /// Port of Postgres
    #[arg(long = "postgres-port", env = "DEV_POSTGRES_PORT", value_name = "PORT")]
    postgres: Option<u16>,
    /// Port of Redis
    #[arg(long = "redis-port", env = "DEV_REDIS_PORT", value_name = "PORT")]
    redis: Option<u16>,
}

impl PortsTold {
    fn by_part(&self) -> BTreeMap<Part, u16> {
        let told = [
            (Service::Gateway.into(), self.gateway),
            (Service::Search.into(), self.search),
            (Service::Keys.into(), self.keys),
            (Service::Billing.into(), self.billing),
            (Part::Postgres, self.postgres),
            (Part::Redis, self.redis),
        ];
        told.into_iter()
            .filter_map(|(part, port)| Some((part, port?)))
            .collect()
    }
}

impl Up {
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        // In the foreground, Ctrl-C ends what was started, at whatever step it comes.
        let signals = if self.detach { None } else { Some(signals()?) };
        let begun = self.bring_up();
        let Some(mut signals) = signals else {
            return begun.map(|()| ExitCode::SUCCESS);
        };
        if begun.is_ok() {
            eprintln!("dev: Ctrl-C ends it all; `./dev logs -f` in another terminal shows what happens");
            signals.forever().next();
        }
        if let Some(folder) = Folder::open(&self.place.work_dir) {
            eprintln!("dev: stopping");
            stop_all(&folder, Manner::InGoodOrder)?;
        }
        begun.map(|()| ExitCode::SUCCESS)
    }

    fn bring_up(&self) -> Result<(), Error> {
        let steps = Steps::begin();
        provide(&[Need::Postgres, Need::Redis])?;
        steps.tell(&format!(
            "building ({}); the first time this takes minutes",
            self.profile
        ));
        cargo::build(&self.profile)?;
        let folder = Folder::create(&self.place.work_dir)?;
        let _lock = folder.lock()?;
        let mut installation = Installation::open(folder, plan(cargo::binaries(&self.profile)?))?;
        steps.tell("starting Postgres and Redis");
        self.clear_the_way(&mut installation)?;
        installation.start_stores()?;
        steps.tell("migrating the databases");
        installation.migrate()?;
        steps.tell("starting search, keys, billing and gateway");
        let parts = Service::ALL.map(Part::from);
        for part in parts {
            installation.start(part)?;
        }
        for part in parts {
            installation.wait_ready(part)?;
        }
        offer_dsctl(&installation)?;
        if !self.empty {
            load_sample(&mut installation, &steps)?;
        }
        let operator = Operator {
            installation: &installation,
            account: ACCOUNT,
        };
        operator.grant(CREDITS, "development")?;
        let jwt = operator.token()?;
        let environment = Environment::of(&installation)?;
        let kept = installation
            .state
            .api_key
            .clone()
            .filter(|key| key_is_accepted(&environment, key));
        let api_key = kept.map_or_else(|| operator.create_key(&jwt, "development"), Ok)?;
        if installation.state.api_key.as_ref() != Some(&api_key) {
            installation.state.api_key = Some(api_key.clone());
            installation.state.save(&installation.folder)?;
        }
        steps.tell("waiting for a search to answer");
        let total = first_search(&environment, &api_key)?;
        steps.tell(&format!("ready: the search below finds {total}"));
        say(&greeting(&environment, &api_key, &jwt));
        Ok(())
    }

    /// Stops what can't stay as it is.
    fn clear_the_way(&self, installation: &mut Installation) -> Result<(), Error> {
        let parts = Service::ALL.map(Part::from);
        for part in parts {
            if installation.is_outdated(part) {
                stop(&installation.folder, part, Manner::InGoodOrder)?;
            }
        }
        if installation.assign_ports(&parts, &self.ports.by_part())? {
            // Whoever calls what has moved must know where to.
            stop_all(&installation.folder, Manner::InGoodOrder)?;
        }
        Ok(())
    }
}

fn signals() -> Result<Signals, Error> {
    Signals::new([SIGINT, SIGTERM, SIGHUP]).tried(|| "handling signals".to_owned())
}

/// Puts `dsctl`, and it alone, into a folder for PATH.
fn offer_dsctl(installation: &Installation) -> Result<(), Error> {
    let link = installation.folder.join("bin").join("dsctl");
    let program = installation.binary("dsctl")?;
    if fs::read_link(&link).is_ok_and(|target| target == program) {
        return Ok(());
    }
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&program, &link).tried(|| format!("linking {}", link.display()))
}

/// Loads companies and people, unless this very sample is loaded already.
fn load_sample(installation: &mut Installation, steps: &Steps) -> Result<(), Error> {
    let digest = digest(Path::new(SAMPLE))?;
    if installation.state.loaded.as_ref() == Some(&digest) {
        return Ok(());
    }
    for what in ["companies", "people"] {
        steps.tell(&format!("loading the sample's {what}"));
        import(installation, &format!("sample-{what}"))?;
    }
    installation.state.loaded = Some(digest);
    installation.state.save(&installation.folder)
}

/// `dsctl MAKER | dsctl import - --wait`
fn import(installation: &Installation, maker: &str) -> Result<(), Error> {
    let mut command = Operator::dsctl(installation)?;
    let started = command.arg(maker).stdout(Stdio::piped()).spawn();
    let mut source = started.tried(|| format!("running `{}`", shown(&command)))?;
    let mut import = Operator::dsctl(installation)?;
    import.args(["import", "-", "--wait"]);
    if let Some(output) = source.stdout.take() {
        import.stdin(output);
    }
    // Its progress belongs to the terminal, its result is no result of `up`.
    import.stdout(std::io::stderr());
    let imported = run_openly(&mut import);
    let status = source.wait().tried(|| format!("running `{}`", shown(&command)))?;
    imported?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Command {
        command: shown(&command),
        status,
        output: String::new(),
    })
}

/// Digest of all files of a folder, names and contents.
fn digest(folder: &Path) -> Result<String, Error> {
    let reading = || format!("reading {}", folder.display());
    let entries = fs::read_dir(folder).tried(reading)?;
    let mut files = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<PathBuf>, _>>();
    if let Ok(files) = &mut files {
        files.sort();
    }
    let mut digest = Sha256::new();
    for file in files.tried(reading)?.iter().filter(|file| file.is_file()) {
        let content = fs::read(file).tried(|| format!("reading {}", file.display()))?;
        digest.update(file.file_name().unwrap_or_default().as_encoded_bytes());
        digest.update(content.len().to_be_bytes());
        digest.update(content);
    }
    Ok(hexadecimal(&digest.finalize()))
}

/// Asks for something no key may ask for: only the credential is looked at, and nothing is charged.
fn key_is_accepted(environment: &Environment, key: &str) -> bool {
    let answer = search(environment, key, r#"{"limit":0}"#);
    matches!(answer, Err(ureq::Error::StatusCode(400)))
}

/// How many the first search finds, as soon as it is answered.
fn first_search(environment: &Environment, key: &str) -> Result<u64, Error> {
    let mut last = String::new();
    let total = wait_for(ANSWER_LIMIT, || match search(environment, key, FIRST_SEARCH) {
        Ok(answer) => answer.pointer("/data/total").and_then(serde_json::Value::as_u64),
        Err(error) => {
            last = error.to_string();
            None
        }
    });
    total.ok_or_else(|| Error::Answer(format!("no search was answered: {last}; see `./dev logs`")))
}

fn search(environment: &Environment, key: &str, body: &str) -> Result<serde_json::Value, ureq::Error> {
    ureq::post(format!("{}/companies/search", environment.base_url))
        .header("x-api-key", key)
        .header("content-type", "application/json")
        .send(body)?
        .body_mut()
        .read_json()
}

fn greeting(environment: &Environment, api_key: &str, jwt: &str) -> String {
    format!(
        "\n\
         Base address  {base}\n\
         API key       {api_key}\n\
         Session JWT   {jwt}\n\
         \n\
         A search to paste:\n\
         \n  curl -s {base}/companies/search -H 'X-API-Key: {api_key}' \\\n    \
         -H 'Content-Type: application/json' -d '{FIRST_SEARCH}'\n\
         \n\
         All of it as variables:  eval \"$(./dev env)\"\n",
        base = environment.base_url,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_tells_any_change_of_the_sample() {
        let folder = tempfile::tempdir().unwrap();
        let of_nothing = digest(folder.path()).unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let of_one = digest(folder.path()).unwrap();
        assert_eq!(digest(folder.path()).unwrap(), of_one);
        fs::write(folder.path().join("a"), "2").unwrap();
        let of_another = digest(folder.path()).unwrap();
        fs::rename(folder.path().join("a"), folder.path().join("b")).unwrap();
        let all = [of_nothing, of_one, of_another, digest(folder.path()).unwrap()];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
