//! One copy of the system in one work folder: what both `./dev up` and the stacks of tests are made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fmt, fs};

use rustix::process::Signal;
use url::Url;

use crate::daemon::{Daemon, Program, recorded};
use crate::error::{Error, Tried as _};
use crate::folder::{Folder, write_private};
use crate::ports::{self, Reserved};
use crate::postgres::{self, Database, Durability, Role};
use crate::redis;
use crate::run::run;
use crate::service::{self, Part, Service};
use crate::state::{Ports, Postgres, Secrets, State};
use crate::wait::wait_for;

/// A little longer than our processes' own grace time.
const GRACE: Duration = Duration::from_secs(25);
const READY_LIMIT: Duration = Duration::from_mins(1);
/// The search may have to build its index from all records first: ten million of them, then.
const BUILT_LIMIT: Duration = Duration::from_mins(10);
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// Setting of `migrate`: whom to give the rights to serve.
const SERVING_ROLE: &str = "database_serving_role";

/// What an installation is to be like.
pub(crate) struct Plan {
    /// Folder with our binaries.
    pub(crate) binaries: PathBuf,
    /// Address of the cluster to use; none for one of its own.
    pub(crate) cluster: Option<Url>,
    /// Put before the names of databases and roles.
    pub(crate) database_prefix: String,
    /// How much its own cluster values its data.
    pub(crate) durability: Durability,
    /// Further settings of our processes, `DS_<PROCESS>__<NAME>`; they go before those made here.
    pub(crate) settings: BTreeMap<String, String>,
    /// Further settings of its own cluster, `name=value`.
    pub(crate) postgres_settings: Vec<String>,
}

/// One copy of the system.
pub(crate) struct Installation {
    pub(crate) folder: Folder,
    pub(crate) state: State,
    /// Those of this version.
    own_binaries: PathBuf,
    /// Those that processes are started of.
    binaries: PathBuf,
    durability: Durability,
    settings: BTreeMap<String, String>,
    postgres_settings: Vec<String>,
    /// Ports of what has not been started yet.
    reserved: Vec<Reserved>,
}

/// Without its secrets.
impl fmt::Debug for Installation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Installation")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// How parts are told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// What runs is finished.
    InGoodOrder,
    /// At once; what they hold is thrown away.
    AtOnce,
}

impl Installation {
    /// The copy in this folder, or a new one.
    pub(crate) fn open(folder: Folder, plan: Plan) -> Result<Self, Error> {
        let state = if let Some(state) = State::load(&folder)? {
            state
        } else {
            let postgres = match plan.cluster {
                Some(administrator) => Postgres::Given { administrator },
                None => Postgres::Own {
                    port: 0,
                    home: postgres::make_home(&folder)?,
                },
            };
            let state = State {
                postgres,
                database_prefix: plan.database_prefix,
                redis_port: 0,
                processes: BTreeMap::new(),
                secrets: Secrets::generate()?,
                api_key: None,
                loaded: None,
            };
            // Before anything is made that `remove` has to find.
            state.save(&folder)?;
            state
        };
        let Plan {
            binaries: own_binaries,
            durability,
            settings,
            postgres_settings,
            ..
        } = plan;
        Ok(Self {
            folder,
            state,
            binaries: own_binaries.clone(),
            own_binaries,
            durability,
            settings,
            postgres_settings,
            reserved: Vec::new(),
        })
    }

    /// Gives a port to every part that has none, or whose port somebody else has meanwhile, or who is told another.
    /// Whether any part that had one gets another.
    pub(crate) fn assign_ports(
        &mut self,
        services: &[Part],
        told: &BTreeMap<Part, u16>,
    ) -> Result<bool, Error> {
        let mut changed = false;
        if let Postgres::Own { port, .. } = self.state.postgres {
            let new = self.port(Part::Postgres, port, told.get(&Part::Postgres).copied())?;
            changed |= port != 0 && new != port;
            if let Postgres::Own { port, .. } = &mut self.state.postgres {
                *port = new;
            }
        }
        let old = self.state.redis_port;
        self.state.redis_port = self.port(Part::Redis, old, told.get(&Part::Redis).copied())?;
        changed |= old != 0 && self.state.redis_port != old;
        for part in services {
            let old = self.state.processes.get(&part.to_string()).copied();
            let kept = old.unwrap_or(Ports { listen: 0, admin: 0 });
            let listen = self.port(*part, kept.listen, told.get(part).copied())?;
            let admin = self.port(*part, kept.admin, None)?;
            let new = Ports { listen, admin };
            changed |= old.is_some_and(|old| old != new);
            self.state.processes.insert(part.to_string(), new);
        }
        self.state.save(&self.folder)?;
        Ok(changed)
    }

    fn port(&mut self, part: Part, kept: u16, told: Option<u16>) -> Result<u16, Error> {
        if self.is_running(part) && told.is_none_or(|told| told == kept) {
            return Ok(kept);
        }
        let reserved = match told {
            Some(told) => Some(ports::reserve(told).ok_or_else(|| {
                Error::Missing(format!(
                    "port {told}, wanted for {part}, is taken by somebody else"
                ))
            })?),
            None if kept != 0 => ports::reserve(kept),
            None => None,
        };
        let reserved = reserved.map_or_else(ports::reserve_any, Ok)?;
        let number = reserved.port()?;
        self.reserved.push(reserved);
        Ok(number)
    }

    /// Lets go of the ports, so that the part can bind them.
    fn release(&mut self, ports: &[u16]) {
        self.reserved
            .retain(|reserved| reserved.port().is_ok_and(|port| !ports.contains(&port)));
    }

    /// Starts Postgres and Redis where they are down, and makes the databases where they are missing.
    pub(crate) fn start_stores(&mut self) -> Result<(), Error> {
        for part in [Part::Postgres, Part::Redis] {
            self.start(part)?;
        }
        for part in [Part::Postgres, Part::Redis] {
            self.wait_ready(part)?;
        }
        Ok(())
    }

    /// Makes the databases where they are missing, and brings them to this version's form.
    pub(crate) fn migrate(&self) -> Result<(), Error> {
        for service in Service::WITH_DATABASE {
            let name = self.database_name(service);
            let database = self.database(&name);
            let administrator = self.administrator()?;
            database.create(&administrator)?;
            let mut command = Command::new(self.binary(service.name())?);
            for name in crate::daemon::settings_here().into_keys() {
                command.env_remove(name);
            }
            let mut settings = self.settings_of(service.into(), service)?;
            let mut set = |name: &str, value| settings.insert(name.to_owned(), toml::Value::String(value));
            set("database_url", database.url(&administrator, Role::Owner));
            if self.serving_role(service)? == Role::Server {
                set(SERVING_ROLE, database.role(Role::Server));
            }
            let name = format!("{}-migrate", service.name());
            run(command
                .arg("migrate")
                .envs(self.hand_over(&name, service, &settings)?))?;
        }
        Ok(())
    }

    /// Starts a part if it is down. It is not ready yet.
    pub(crate) fn start(&mut self, part: Part) -> Result<(), Error> {
        if self.is_running(part) {
            return Ok(());
        }
        match part {
            Part::Postgres => {
                let Postgres::Own { port, home } = self.state.postgres.clone() else {
                    return Ok(());
                };
                postgres::initialize(&self.folder, &home, &self.state.secrets.database)?;
                self.release(&[port]);
                postgres::start(
                    &self.folder,
                    &home,
                    port,
                    self.durability,
                    &self.postgres_settings,
                )
            }
            Part::Redis => {
                self.release(&[self.state.redis_port]);
                redis::start(&self.folder, self.state.redis_port, &self.state.secrets.redis)
            }
            Part::Process(service, _) => {
                let program = Program {
                    command: vec![self.binary(service.name())?.into(), "serve".into()],
                    environment: self.hand_over(
                        &part.to_string(),
                        service,
                        &self.settings_of(part, service)?,
                    )?,
                };
                let Ports { listen, admin } = self.ports(part)?;
                self.release(&[listen, admin]);
                Daemon::new(&self.folder, &part.to_string()).start(program)
            }
        }
    }

    /// Where a part serves.
    pub(crate) fn port_of(&self, part: Part) -> Option<u16> {
        match (part, &self.state.postgres) {
            (Part::Postgres, Postgres::Own { port, .. }) => Some(*port),
            (Part::Postgres, Postgres::Given { administrator }) => administrator.port(),
            (Part::Redis, _) => Some(self.state.redis_port),
            (Part::Process(..), _) => self.ports(part).ok().map(|ports| ports.listen),
        }
    }

    /// Whether a part can do its job now.
    pub(crate) fn is_ready(&self, part: Part) -> bool {
        match part {
            Part::Postgres | Part::Redis => self.port_of(part).is_some_and(|port| !ports::is_free(port)),
            Part::Process(..) => self.ports(part).is_ok_and(|ports| is_ready(ports.admin)),
        }
    }

    /// Waits until a part can do its job.
    pub(crate) fn wait_ready(&self, part: Part) -> Result<(), Error> {
        match part {
            Part::Postgres => match self.state.postgres {
                Postgres::Own { port, .. } => postgres::wait_ready(&self.folder, port),
                Postgres::Given { .. } => Ok(()),
            },
            Part::Redis => redis::wait_ready(&self.folder, self.state.redis_port),
            Part::Process(service, _) => {
                let limit = match service {
                    Service::Search => BUILT_LIMIT,
                    _ => READY_LIMIT,
                };
                let admin = self.ports(part)?.admin;
                Daemon::new(&self.folder, &part.to_string()).wait_ready(limit, || is_ready(admin))
            }
        }
    }

    /// Whether a part runs.
    pub(crate) fn is_running(&self, part: Part) -> bool {
        Daemon::new(&self.folder, &part.to_string()).pid().is_some()
    }

    /// Whether a part that runs was started before its binary was built.
    pub(crate) fn is_outdated(&self, part: Part) -> bool {
        let Part::Process(service, _) = part else {
            return false;
        };
        let built = self.binary(service.name()).and_then(|path| {
            fs::metadata(&path)
                .and_then(|data| data.modified())
                .tried(|| format!("reading {}", path.display()))
        });
        let started = Daemon::new(&self.folder, &part.to_string()).started_at();
        built
            .ok()
            .zip(started)
            .is_some_and(|(built, started)| built > started)
    }

    /// Further or other settings of processes that are started from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.settings.insert(name.to_owned(), value.to_owned());
    }

    /// Processes that are started from now on are of the binaries in this folder, of another version.
    pub(crate) fn use_binaries(&mut self, folder: PathBuf) {
        self.binaries = folder;
    }

    /// Processes that are started from now on are of this version.
    pub(crate) fn use_own_binaries(&mut self) {
        self.binaries.clone_from(&self.own_binaries);
    }

    /// The settings of a process.
    fn settings_of(&self, part: Part, service: Service) -> Result<toml::Table, Error> {
        let url = self.database_url_as(service, self.serving_role(service)?)?;
        let index = service::index_folder(&self.folder, part);
        let own = service::settings(service, self.ports(part)?, &index, &self.state, &url);
        let prefix = service.setting("");
        let further = self
            .settings
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?.to_lowercase(), value.clone())));
        Ok(own
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(further)
            .map(|(name, value)| (name, toml::Value::String(value)))
            .collect())
    }

    /// Writes settings for a process, and names their file as its environment has to: a secret in an environment can be
    /// read by whoever may look at the process, and is inherited by whatever it starts.
    fn hand_over(
        &self,
        name: &str,
        service: Service,
        settings: &toml::Table,
    ) -> Result<Vec<(String, String)>, Error> {
        let path = self.folder.settings(name);
        write_private(&path, settings.to_string().as_bytes())?;
        Ok(vec![(service.setting("config"), path.display().to_string())])
    }

    /// The ports of a process.
    pub(crate) fn ports(&self, part: Part) -> Result<Ports, Error> {
        let ports = self.state.processes.get(&part.to_string()).copied();
        ports.ok_or_else(|| Error::Missing(format!("{part} is no part of this stack")))
    }

    /// `http://127.0.0.1:port` of a process.
    pub(crate) fn address(&self, part: Part) -> Result<String, Error> {
        Ok(format!("http://127.0.0.1:{}", self.ports(part)?.listen))
    }

    /// Address of the cluster for its administrator.
    pub(crate) fn administrator(&self) -> Result<Url, Error> {
        administrator(&self.state)
    }

    fn database_name(&self, service: Service) -> String {
        format!("{}{}", self.state.database_prefix, service.name())
    }

    fn database<'a>(&'a self, name: &'a str) -> Database<'a> {
        Database {
            name,
            password: &self.state.secrets.database,
        }
    }

    /// Address of a service's database for the role that it serves as.
    pub(crate) fn database_url(&self, service: Service) -> Result<String, Error> {
        self.database_url_as(service, Role::Server)
    }

    fn database_url_as(&self, service: Service, role: Role) -> Result<String, Error> {
        let name = self.database_name(service);
        Ok(self.database(&name).url(&self.administrator()?, role))
    }

    /// The role that a service's binary serves as: old versions know of no second one.
    fn serving_role(&self, service: Service) -> Result<Role, Error> {
        if self.binaries == self.own_binaries {
            return Ok(Role::Server);
        }
        let help = run(Command::new(self.binary(service.name())?).arg("help"))?;
        let knows_two = help.contains(&service.setting(SERVING_ROLE));
        Ok(if knows_two { Role::Server } else { Role::Owner })
    }

    /// One of our binaries.
    pub(crate) fn binary(&self, name: &str) -> Result<PathBuf, Error> {
        binary(&self.binaries, name)
    }
}

/// One of our binaries in a folder.
pub(crate) fn binary(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    if path.exists() {
        Ok(path)
    } else {
        Err(Error::NotBuilt(path))
    }
}

fn administrator(state: &State) -> Result<Url, Error> {
    match &state.postgres {
        Postgres::Given { administrator } => Ok(administrator.clone()),
        Postgres::Own { port, .. } => {
            let text = format!(
                "postgres://postgres:{}@127.0.0.1:{port}/postgres",
                state.secrets.database
            );
            Url::parse(&text)
                .map_err(|error| Error::Answer(format!("the cluster's address is none: {error}")))
        }
    }
}

/// Whether a process says that it can do its job.
fn is_ready(admin: u16) -> bool {
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_global(Some(ASK_LIMIT))
            .build(),
    );
    agent
        .get(format!("http://127.0.0.1:{admin}/readyz"))
        .call()
        .is_ok()
}

/// Ends all that was started in this folder: gateways first, what they call next, Postgres and Redis last. The names of
/// what was running.
pub(crate) fn stop_all(folder: &Folder, manner: Manner) -> Result<Vec<String>, Error> {
    let names = recorded(folder);
    let wave = |name: &str| match Part::named(name) {
        Some(Part::Process(Service::Gateway, _)) => 0,
        Some(Part::Process(..)) | None => 1,
        Some(Part::Postgres | Part::Redis) => 2,
    };
    let mut stopped = Vec::new();
    for number in 0..=2 {
        let names: Vec<&String> = names.iter().filter(|name| wave(name) == number).collect();
        for name in &names {
            if Daemon::new(folder, name).ask(signal(name, manner)) {
                stopped.push((*name).clone());
            }
        }
        for name in names {
            Daemon::new(folder, name).finish(GRACE)?;
        }
    }
    Ok(stopped)
}

/// Ends one part.
pub(crate) fn stop(folder: &Folder, part: Part, manner: Manner) -> Result<bool, Error> {
    let name = part.to_string();
    Daemon::new(folder, &name).stop(signal(&name, manner), GRACE)
}

fn signal(name: &str, manner: Manner) -> Signal {
    match (Part::named(name), manner) {
        (Some(Part::Postgres), Manner::InGoodOrder) => postgres::STOP,
        // It gives back its shared memory, which one that is killed does only when it starts again.
        (Some(Part::Postgres), Manner::AtOnce) => Signal::QUIT,
        (Some(Part::Redis), Manner::InGoodOrder) => redis::STOP,
        (_, Manner::InGoodOrder) => Signal::TERM,
        (_, Manner::AtOnce) => Signal::KILL,
    }
}

/// Ends all that was started in this folder, at once, and removes the folder and whatever belongs to it elsewhere.
pub(crate) fn remove(folder: &Folder) -> Result<(), Error> {
    let state = State::load(folder);
    if let Ok(Some(state)) = &state
        && matches!(state.postgres, Postgres::Given { .. })
    {
        stop_all(folder, Manner::AtOnce)?;
        for service in Service::WITH_DATABASE {
            let name = format!("{}{}", state.database_prefix, service.name());
            // The cluster may have ended before: then its databases are gone with it.
            let _ = Database {
                name: &name,
                password: "",
            }
            .remove(&administrator(state)?);
        }
    }
    // What is just being started writes its record here, or ends since it can't: after the renaming there is nothing
    // new, and a last look finds the rest.
    let doomed = folder
        .path()
        .with_extension(format!("removed-{}", std::process::id()));
    stop_all(folder, Manner::AtOnce)?;
    fs::rename(folder.path(), &doomed).tried(|| format!("removing {}", folder.path().display()))?;
    if let Some(doomed) = Folder::open(&doomed) {
        stop_all(&doomed, Manner::AtOnce)?;
    }
    if let Ok(Some(State {
        postgres: Postgres::Own { home, .. },
        ..
    })) = &state
        && home.exists()
    {
        remove_folder(home)?;
    }
    remove_folder(&doomed)
}

/// Children of a killed process may still be writing their last while the folder is emptied.
fn remove_folder(path: &Path) -> Result<(), Error> {
    const LIMIT: Duration = Duration::from_secs(20);
    wait_for(LIMIT, || {
        let _ = fs::remove_dir_all(path);
        (!path.exists()).then_some(())
    })
    .ok_or_else(|| Error::Folder {
        path: path.to_owned(),
        problem: "can't be removed".to_owned(),
    })
}
