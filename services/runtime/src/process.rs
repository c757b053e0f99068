//! The life of a process, from its arguments to its exit status.
//!
//! Settings are read and checked whole; the listeners are bound; telemetry, admin port and signals are set up; then the
//! service runs until it is told to stop; what runs is finished within the grace time; telemetry is flushed.
//! Exit status: 0 done, 1 failed (`health`: not in good health, for whatever reason), 2 refused for its settings. It leaves no core file, since that would hold every secret it
//! knows. It may open as many files as the system lets it: the usual limit is for programs that can't count beyond it.

use std::future::Future;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};

use crate::admin;
use crate::ambient::Ambient;
use crate::health;
use crate::readiness::{Condition, Readiness};
use crate::settings::{self, Command, Settings};
use crate::shutdown::Shutdown;
use crate::telemetry::{self, TelemetryConfig};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// What a service may fail with: the causes are told by the error's own chain.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A process of ours.
pub trait Service {
    /// Its name, as in `DS_<NAME>__...`.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;
    /// Where it listens unless told.
    const DEFAULT_LISTEN: &'static str;
    /// Where its admin port listens unless told.
    const DEFAULT_ADMIN_LISTEN: &'static str;
    /// Whether its callers are strangers, who decide nothing about what it traces.
    const IS_PUBLIC: bool = false;
    /// Its own settings.
    type Config: Send;

    /// Reads its settings.
    fn read(settings: &mut Settings) -> Self::Config;

    /// Runs until the process drains. What it started with [`Shutdown::spawn`] is waited for afterwards.
    fn serve(config: Self::Config, process: Process) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Brings its database to this version's form.
    fn migrate(config: Self::Config) -> impl Future<Output = Result<(), BoxError>> + Send {
        drop(config);
        async { Ok(()) }
    }
}

/// What a running service is given.
pub struct Process {
    /// Where it will listen: bound, so that the address is its own, and refusing connections until it can answer them.
    socket: TcpSocket,
    /// Time and randomness.
    pub ambient: Ambient,
    /// What its readiness hangs on.
    pub readiness: Readiness,
    /// Whether it serves. Until then it is not ready, and a process that is told to stop just ends.
    started: Condition,
    /// How it ends.
    pub shutdown: Shutdown,
}

impl Process {
    /// A process that does not serve yet.
    #[must_use]
    pub fn new(socket: TcpSocket, ambient: Ambient, readiness: Readiness, shutdown: Shutdown) -> Self {
        Self {
            socket,
            ambient,
            started: readiness.condition("it serves"),
            readiness,
            shutdown,
        }
    }

    /// Begins to serve: what is left to the service is to accept.
    pub fn listen(self) -> std::io::Result<(TcpListener, Shutdown)> {
        let listener = self.socket.listen(BACKLOG)?;
        self.started.set(true);
        Ok((listener, self.shutdown))
    }
}

/// Settings of every process.
#[derive(Debug)]
struct BaseConfig {
    listen: SocketAddr,
    admin_listen: SocketAddr,
    grace: Duration,
    telemetry: TelemetryConfig,
}

impl BaseConfig {
    fn read<S: Service>(settings: &mut Settings) -> Self {
        let address = |text: &str| text.parse().expect("a default address is an address");
        Self {
            listen: settings.value("listen", address(S::DEFAULT_LISTEN), "Where to serve. Port 0 picks a free one."),
            admin_listen: settings.value(
                "admin_listen",
                address(S::DEFAULT_ADMIN_LISTEN),
                "Where to serve /livez, /readyz and /metrics; never a public address. Port 0 picks a free one.",
            ),
            grace: settings.value(
                "grace",
                Duration::from_secs(20),
                "How long running work may take to finish once told to stop.",
            ),
            telemetry: TelemetryConfig::read(settings),
        }
    }
}

/// The whole of a `main`.
#[must_use]
pub fn run<S: Service>() -> ExitCode {
    let no_core_file = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if let Err(error) = setrlimit(Resource::Core, no_core_file) {
        complain(&format!("{} can't forgo core files: {error}", S::NAME));
    }
    let files = getrlimit(Resource::Nofile);
    let all_files = Rlimit {
        current: files.maximum,
        ..files
    };
    if let Err(error) = setrlimit(Resource::Nofile, all_files) {
        complain(&format!("{} can't open more files: {error}", S::NAME));
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "settings are the one reader of the environment"
    )]
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let (mut settings, command) = Settings::read(S::NAME, std::env::args().skip(1), environment);
    let base = BaseConfig::read::<S>(&mut settings);
    if command == Command::Health {
        return tell_health(S::NAME, base.admin_listen, settings.problems());
    }
    let config = S::read(&mut settings);
    if command == Command::Help {
        return say(&settings::help(S::NAME, S::ABOUT, settings.knobs()));
    }
    if command == Command::Settings {
        return say(&settings::table(S::NAME, settings.knobs()));
    }
    let knobs = match settings.finish() {
        Ok(knobs) => knobs,
        Err(problems) => {
            complain(&format!(
                "{} can't start: {} problem(s) with its settings",
                S::NAME,
                problems.len()
            ));
            for problem in problems {
                complain(&format!("  {problem}"));
            }
            complain(&format!("`{} --help` tells every setting", S::NAME));
            return ExitCode::from(2);
        }
    };
    if command == Command::PrintConfig {
        return say(&settings::print_config(&knobs));
    }
    let executor = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(executor) => executor,
        Err(error) => {
            complain(&format!("{} can't start its threads: {error}", S::NAME));
            return ExitCode::FAILURE;
        }
    };
    let outcome = executor.block_on(async {
        match command {
            Command::Migrate => S::migrate(config).await.map(|()| true),
            _ => serve::<S>(base, config).await,
        }
    });
    executor.shutdown_timeout(Duration::from_secs(1));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&format!("{} failed: {}", S::NAME, with_causes(&*error)));
            ExitCode::FAILURE
        }
    }
}

async fn serve<S: Service>(base: BaseConfig, config: S::Config) -> Result<bool, BoxError> {
    let socket = bind(base.listen)?;
    let admin_listener = bind(base.admin_listen)?.listen(BACKLOG)?;
    let telemetry = telemetry::start(S::NAME, S::IS_PUBLIC, &base.telemetry)?;
    let (shutdown, readiness) = (Shutdown::new(), Readiness::default());
    shutdown.listen_to_signals()?;
    tracing::info!(
        service.address = %socket.local_addr()?,
        admin.address = %admin_listener.local_addr()?,
        "{} starts", S::NAME,
    );
    // The admin port outlives the draining: it is how one sees that the process drains.
    let admin_server = admin::serve(admin_listener, readiness.clone(), telemetry.metrics());
    let process = Process::new(socket, Ambient::system(), readiness.clone(), shutdown.clone());
    let started = process.started.clone();
    let drain_readiness = async {
        shutdown.draining().await;
        readiness.drain();
        std::future::pending::<()>().await;
    };
    let stopped_at_start = async {
        shutdown.draining().await;
        if started.holds() {
            std::future::pending::<()>().await;
        }
    };
    let service = async {
        let result = tokio::select! {
            result = S::serve(config, process) => result,
            () = stopped_at_start => Ok(()),
        };
        (shutdown.finish().await, result)
    };
    let (finished, result) = tokio::select! {
        done = service => done,
        () = shutdown.patience_ends(base.grace) => (false, Ok(())),
        result = admin_server => (false, result.map_err(BoxError::from)),
        () = telemetry::keep_up(telemetry.metrics()) => unreachable!("it never returns"),
        () = drain_readiness => unreachable!("it never returns"),
    };
    if let Err(error) = &result {
        tracing::error!(error = %with_causes(&**error), "the service has failed");
    }
    tracing::info!(finished, "{} ends", S::NAME);
    telemetry.flush().await;
    result.map(|()| finished)
}

/// Most files that this process may have open at once, connections among them.
#[must_use]
pub fn max_open_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// A socket with this address, on which nobody listens yet.
pub fn bind(address: SocketAddr) -> Result<TcpSocket, BoxError> {
    let bound = || {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        // A process that starts again takes over the address from connections that are still closing.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    bound().map_err(|error: std::io::Error| format!("{address} can't be listened on: {error}").into())
}

/// An error and all of its causes, in one line.
#[must_use]
pub fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// Whether the process that serves with these settings is in good health: one that is not, or can't be asked since the
/// settings are wrong, is told by the exit status 1, the one that container engines know for it.
fn tell_health(name: &str, admin_listen: SocketAddr, problems: &[String]) -> ExitCode {
    for problem in problems {
        complain(&format!("{name}: {problem}"));
    }
    if !problems.is_empty() {
        return ExitCode::FAILURE;
    }
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let health = executor.map_err(BoxError::from).and_then(|executor| {
        executor
            .block_on(health::ask(admin_listen))
            .map_err(BoxError::from)
    });
    match health {
        Ok(()) => say("ready"),
        Err(error) => {
            complain(&format!("{name} is not in good health: {}", with_causes(&*error)));
            ExitCode::FAILURE
        }
    }
}

/// Prints what was asked for on the command line. Whoever reads it may leave before its end (`... --help | head`), which
/// is no failure.
#[must_use]
pub fn say(text: &str) -> ExitCode {
    let mut output = std::io::stdout().lock();
    match writeln!(output, "{}", text.trim_end()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// There are no logs yet, or no more. If nobody reads this either, nothing is left to tell it to.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
