//! A whole stack for tests: in a folder of its own, on free ports, gone when its owner is.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use url::Url;

use crate::daemon::Daemon;
use crate::environment::{Account, Environment, Operator};
use crate::error::{Error, Tried as _};
use crate::folder::Folder;
use crate::installation::{Installation, Manner, Plan, binary, stop};
use crate::postgres::Durability;
use crate::programs::postgres_folder;
use crate::service::{Part, Service, redis_url};
use crate::wait::wait_for;

/// Start of the names of all stacks' folders.
pub(crate) const FOLDER_PREFIX: &str = "devstack-";

/// Folder within a stack's where the stacks of tests that use it are.
pub(crate) const NESTED: &str = "nested";

const NESTED_LIMIT: Duration = Duration::from_mins(1);

/// What a stack is to be like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    settings: BTreeMap<String, String>,
    binaries: Option<PathBuf>,
    own_postgres: bool,
    postgres_settings: Vec<String>,
    durable: bool,
    folder: Option<PathBuf>,
    kept: bool,
}

impl Options {
    /// Everything by default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A setting of one of our processes: `DS_GATEWAY__...`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With the binaries in this folder, of another version: [`Stack::use_binaries`].
    #[must_use]
    pub fn binaries(mut self, folder: PathBuf) -> Self {
        self.binaries = Some(folder);
        self
    }

    /// With a cluster of its own even where `DATABASE_URL` names one: for tests that stop or kill it.
    #[must_use]
    pub fn own_postgres(mut self) -> Self {
        self.own_postgres = true;
        self
    }

    /// A setting of its own cluster: `work_mem=64MB`.
    #[must_use]
    pub fn postgres_setting(mut self, setting: &str) -> Self {
        self.postgres_settings.push(setting.to_owned());
        self
    }

    /// With a cluster that writes to disk what it commits: for measurements of writing, and for tests that kill it.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// In this folder instead of a temporary one, with the data of a stack that was [`Options::kept`] there. What
    /// else is in the folder is removed with the stack.
    #[must_use]
    pub fn folder(mut self, folder: PathBuf) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Its folder and data stay when the stack ends; only its processes are stopped.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.kept = true;
        self
    }
}

/// Postgres, Redis and all four processes.
///
/// All calls block, until what they started is ready or what they stopped has ended. The databases are made in the
/// cluster that `DATABASE_URL` names, if there is one; otherwise the stack has a cluster of its own. The binaries are
/// those beside the running one (`target/<profile>/`), as the last build left them.
///
/// Everything is torn down when this is dropped, and also when the process that holds it dies, however it dies: a
/// reaper, a process of its own, sees the end of a pipe that only the holder keeps open.
#[derive(Debug)]
pub struct Stack {
    installation: Mutex<Installation>,
    folder: Folder,
    reaper: Child,
}

impl Stack {
    /// Starts one, and waits until it is ready.
    pub fn start(options: Options) -> Result<Self, Error> {
        let stack = Self::empty(options)?;
        {
            let mut installation = stack.installation();
            let parts = Service::ALL.map(Part::from);
            installation.assign_ports(&parts, &BTreeMap::new())?;
            installation.start_stores()?;
            installation.migrate()?;
            for part in parts {
                installation.start(part)?;
            }
            for part in parts {
                installation.wait_ready(part)?;
            }
        }
        Ok(stack)
    }

    /// Postgres (always its own) and Redis alone.
    pub fn start_stores() -> Result<Self, Error> {
        let stack = Self::empty(Options::new().own_postgres())?;
        {
            let mut installation = stack.installation();
            installation.assign_ports(&[], &BTreeMap::new())?;
            installation.start_stores()?;
        }
        Ok(stack)
    }

    fn empty(options: Options) -> Result<Self, Error> {
        let ours = binaries()?;
        let reaper = binary(&ours, "devstack")?;
        let (folder, reaper) = if let Some(folder) = &options.folder {
            let folder = Folder::create(folder)?;
            let reaper = start_reaper(reaper, &folder, options.kept)?;
            (folder, reaper)
        } else {
            let temporary = tempfile::Builder::new()
                .prefix(FOLDER_PREFIX)
                .tempdir()
                .tried(|| "making a temporary folder".to_owned())?;
            let folder = Folder::create(temporary.path())?;
            // From here on the folder is the reaper's to remove.
            let reaper = start_reaper(reaper, &folder, options.kept)?;
            let _ = temporary.keep();
            (folder, reaper)
        };
        // Names of databases are made of it.
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
        let id: String = name
            .rsplit('-')
            .next()
            .unwrap_or_default()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_lowercase();
        let plan = Plan {
            binaries: ours,
            cluster: if options.own_postgres {
                None
            } else {
                given_cluster()?
            },
            database_prefix: format!("stack_{}_{id}_", std::process::id()),
            durability: if options.durable {
                Durability::Full
            } else {
                Durability::None
            },
            settings: options.settings,
            postgres_settings: options.postgres_settings,
        };
        match Installation::open(folder.clone(), plan) {
            Ok(mut installation) => {
                if let Some(folder) = options.binaries {
                    installation.use_binaries(folder);
                }
                Ok(Self {
                    installation: Mutex::new(installation),
                    folder,
                    reaper,
                })
            }
            Err(error) => {
                end(reaper);
                Err(error)
            }
        }
    }

    fn installation(&self) -> MutexGuard<'_, Installation> {
        self.installation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Addresses and secrets, named as by `./dev env`.
    pub fn environment(&self) -> Result<Environment, Error> {
        Environment::of(&self.installation())
    }

    /// Address of a process, `http://127.0.0.1:port`: of the gateway without `/api/v1`.
    pub fn address(&self, part: impl Into<Part>) -> Result<String, Error> {
        self.installation().address(part.into())
    }

    /// Address of a process's admin port, `http://127.0.0.1:port`.
    pub fn admin_address(&self, part: impl Into<Part>) -> Result<String, Error> {
        Ok(format!(
            "http://127.0.0.1:{}",
            self.installation().ports(part.into())?.admin
        ))
    }

    /// Address of the cluster for its administrator.
    pub fn cluster_url(&self) -> Result<String, Error> {
        Ok(self.installation().administrator()?.into())
    }

    /// A program of the Postgres that stacks run: `pg_dump`.
    pub fn postgres_program(name: &str) -> Result<PathBuf, Error> {
        let folder =
            postgres_folder().ok_or_else(|| Error::Missing("no Postgres is installed".to_owned()))?;
        Ok(folder.join(name))
    }

    /// `dsctl`, ready to speak to this stack.
    pub fn dsctl(&self) -> Result<Command, Error> {
        Operator::dsctl(&self.installation())
    }

    /// Makes an account with so many credits (at least 1) and an API key.
    pub fn account(&self, id: &str, credits: u64) -> Result<Account, Error> {
        let installation = self.installation();
        let operator = Operator {
            installation: &installation,
            account: id,
        };
        operator.grant(credits, "first")?;
        let jwt = operator.token()?;
        let api_key = operator.create_key(&jwt, "test")?;
        Ok(Account {
            id: id.to_owned(),
            api_key,
            jwt,
        })
    }

    /// Sets a setting (`DS_SEARCH__...`) for processes that are started from now on.
    pub fn set(&self, name: &str, value: &str) {
        self.installation().set(name, value);
    }

    /// Processes that are started from now on, `dsctl` and [`Stack::migrate`] too, are of the binaries in this folder, of
    /// another version.
    pub fn use_binaries(&self, folder: PathBuf) {
        self.installation().use_binaries(folder);
    }

    /// Processes that are started from now on are of this version.
    pub fn use_own_binaries(&self) {
        self.installation().use_own_binaries();
    }

    /// Brings the databases to the form of the binaries' version, while processes run.
    pub fn migrate(&self) -> Result<(), Error> {
        self.installation().migrate()
    }

    /// Starts a part that is down, on the ports it had, and waits until it is ready.
    pub fn start_part(&self, part: impl Into<Part>) -> Result<(), Error> {
        let part = part.into();
        let mut installation = self.installation();
        installation.start(part)?;
        installation.wait_ready(part)
    }

    /// Starts a further replica of a service, and waits until it is ready. Its name, to address and stop it by.
    pub fn start_another(&self, service: Service) -> Result<Part, Error> {
        let mut installation = self.installation();
        let taken = |replica: &u8| installation.ports(Part::Process(service, *replica)).is_ok();
        let replica = (2..u8::MAX).find(|replica| !taken(replica)).unwrap_or(u8::MAX);
        let part = Part::Process(service, replica);
        installation.assign_ports(&[part], &BTreeMap::new())?;
        installation.start(part)?;
        installation.wait_ready(part)?;
        Ok(part)
    }

    /// Stops a part in good order.
    pub fn stop(&self, part: impl Into<Part>) -> Result<(), Error> {
        stop(&self.folder, part.into(), Manner::InGoodOrder).map(|_| ())
    }

    /// Ends a part at once, as a crash would: `kill -9`, of all of its processes. A Postgres that is not
    /// [`Options::durable`] may lose what it has committed last.
    pub fn kill(&self, part: impl Into<Part>) -> Result<(), Error> {
        Daemon::new(&self.folder, &part.into().to_string()).kill()
    }

    /// Stops a part in good order and starts it again.
    pub fn restart(&self, part: impl Into<Part>) -> Result<(), Error> {
        let part = part.into();
        self.stop(part)?;
        self.start_part(part)
    }

    /// Freezes a part: it keeps its connections and answers nothing, until [`Stack::resume`].
    pub fn suspend(&self, part: impl Into<Part>) {
        Daemon::new(&self.folder, &part.into().to_string()).suspend();
    }

    /// Lets a frozen part go on.
    pub fn resume(&self, part: impl Into<Part>) {
        Daemon::new(&self.folder, &part.into().to_string()).resume();
    }

    /// Process id of a part, if it runs.
    pub fn pid(&self, part: impl Into<Part>) -> Option<i32> {
        Daemon::new(&self.folder, &part.into().to_string()).pid()
    }

    /// Whether a part runs.
    pub fn is_running(&self, part: impl Into<Part>) -> bool {
        self.installation().is_running(part.into())
    }

    /// All that a part has logged.
    pub fn log(&self, part: impl Into<Part>) -> Result<String, Error> {
        let path = self.folder.log(&part.into().to_string());
        let log = std::fs::read(&path).tried(|| format!("reading {}", path.display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Address of Redis, with its password.
    pub fn redis_url(&self) -> String {
        redis_url(&self.installation().state)
    }

    /// The work folder.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(crate) fn work_folder(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for part in Service::ALL.map(Part::from) {
                eprintln!(
                    "--- the end of the log of {part}:\n{}",
                    self.folder.log_end(&part.to_string())
                );
            }
        }
        drop(self.reaper.stdin.take());
        if !self.reaper.wait().is_ok_and(|status| status.success()) {
            eprintln!(
                "the stack in {} was not torn down: see its logs/reaper.log",
                self.folder.path().display()
            );
        }
    }
}

/// Waits for the reapers of stacks whose folders are within this one: their databases are in the cluster here.
pub(crate) fn reap_nested(folder: &Folder) {
    let nested = folder.join(NESTED);
    let any = || {
        let entries = std::fs::read_dir(&nested).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name())
            .any(|name| name.to_string_lossy().starts_with(FOLDER_PREFIX))
    };
    if wait_for(NESTED_LIMIT, || (!any()).then_some(())).is_none() {
        eprintln!(
            "dev: a stack is left in {}: does a test's process live on?",
            nested.display()
        );
    }
}

/// Starts the process that removes the folder, or only stops what runs in it, as soon as this one has let go of the pipe
/// to it.
fn start_reaper(program: PathBuf, folder: &Folder, keep: bool) -> Result<Child, Error> {
    let log = folder.log("reaper");
    let log = File::create(&log).tried(|| format!("opening {}", log.display()))?;
    let errors = log
        .try_clone()
        .tried(|| "opening the log of the reaper".to_owned())?;
    Command::new(program)
        .arg("reap")
        .args(keep.then_some("--keep"))
        .arg(folder.path())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(log)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .tried(|| "starting the reaper".to_owned())
}

fn end(mut reaper: Child) {
    drop(reaper.stdin.take());
    let _ = reaper.wait();
}

/// The cluster that the environment names.
fn given_cluster() -> Result<Option<Url>, Error> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the name is fixed by sqlx's tests, whose cluster this is"
    )]
    let url = std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
    let parse =
        |url: String| Url::parse(&url).map_err(|error| Error::Answer(format!("DATABASE_URL: {error}")));
    url.map(parse).transpose()
}

/// The folder with our binaries: that of the running one, or the one above for a test, which is in `deps`.
pub(crate) fn binaries() -> Result<PathBuf, Error> {
    let here = std::env::current_exe().tried(|| "finding this program".to_owned())?;
    let folder = here.parent().unwrap_or(&here);
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    Ok(folder.to_owned())
}
