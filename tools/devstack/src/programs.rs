//! Where the programs of other makers are on this machine, and how to get the ones that are missing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Tried as _};

/// Oldest Postgres that will do.
const MIN_POSTGRES: u32 = 15;

/// Where packages put the programs of Postgres: Debian, Fedora, Homebrew. A star stands for one folder name.
const POSTGRES_PLACES: [&str; 6] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/opt/homebrew/bin",
    "/usr/local/pgsql/bin",
];

/// Something that a command needs and that packages bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The Postgres server, 15 or newer.
    Postgres,
    /// Redis.
    Redis,
    /// Node's package runner.
    Npx,
    /// Python with virtual environments.
    Python,
    /// A C++ compiler.
    CxxCompiler,
    /// A reverse proxy, to compare with.
    Nginx,
    /// Go, to build what is there in no package.
    Go,
    /// Prometheus and its tool.
    Prometheus,
    /// A browser.
    Chromium,
    /// What the guides type requests with.
    Curl,
}

impl Need {
    fn is_met(self) -> bool {
        match self {
            Self::Postgres => postgres_folder().is_some(),
            Self::Redis => redis_server().is_some(),
            Self::Npx => on_path("npx").is_some(),
            Self::Python => runs("python3", &["-c", "import venv, ensurepip"]),
            Self::CxxCompiler => on_path("c++").is_some(),
            Self::Nginx => on_path("nginx").is_some(),
            Self::Go => on_path("go").is_some(),
            Self::Prometheus => on_path("prometheus").is_some() && on_path("promtool").is_some(),
            Self::Chromium => chromium().is_some(),
            Self::Curl => on_path("curl").is_some(),
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Postgres => "a Postgres server, version 15 or newer",
            Self::Redis => "Redis",
            Self::Npx => "npm",
            Self::Python => "Python 3 with venv",
            Self::CxxCompiler => "a C++ compiler",
            Self::Nginx => "nginx",
            Self::Go => "Go",
            Self::Prometheus => "Prometheus",
            Self::Chromium => "Chromium",
            Self::Curl => "curl",
        }
    }

    fn apt(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => &["postgresql"],
            Self::Redis => &["redis-server"],
            Self::Npx => &["npm"],
            Self::Python => &["python3", "python3-venv"],
            Self::CxxCompiler => &["g++"],
            Self::Nginx => &["nginx"],
            Self::Go => &["golang"],
            Self::Prometheus => &["prometheus"],
            Self::Chromium => &["chromium"],
            Self::Curl => &["curl"],
        }
    }

    fn brew(self) -> &'static str {
        match self {
            Self::Postgres => "postgresql@17",
            Self::Redis => "redis",
            Self::Npx => "node",
            Self::Python => "python",
            Self::CxxCompiler => "gcc",
            Self::Nginx => "nginx",
            Self::Go => "go",
            Self::Prometheus => "prometheus",
            Self::Chromium => "chromium",
            Self::Curl => "curl",
        }
    }
}

/// Sees to it that all of this is there: by the package manager where it may be used, else by saying exactly what to do.
pub(crate) fn provide(needs: &[Need]) -> Result<(), Error> {
    let missing: Vec<Need> = needs.iter().copied().filter(|need| !need.is_met()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let what = missing
        .iter()
        .map(|need| need.what())
        .collect::<Vec<_>>()
        .join(" and ");
    let by_hand = |command: &str| {
        Error::Missing(format!(
            "missing: {what}. Get it with\n  {command}\nand try again"
        ))
    };
    if on_path("apt-get").is_some() {
        let packages: Vec<&str> = missing.iter().flat_map(|need| need.apt()).copied().collect();
        let Some(rights) = rights() else {
            return Err(by_hand(&format!("sudo apt-get install {}", packages.join(" "))));
        };
        install(
            &what,
            "apt-get",
            &[rights, &["sh", "-c", APT, "sh"], &packages].concat(),
            &packages,
        )?;
    } else if on_path("brew").is_some() {
        let packages: Vec<&str> = missing.iter().map(|need| need.brew()).collect();
        install(
            &what,
            "brew",
            &[&["brew", "install"], &packages[..]].concat(),
            &packages,
        )?;
    } else {
        let packages = "Postgres 15 or newer (initdb, postgres, psql) and Redis (redis-server), on PATH";
        return Err(by_hand(&format!("your system's package manager: {packages}")));
    }
    let still: Vec<&str> = missing
        .iter()
        .filter(|need| !need.is_met())
        .map(|need| need.what())
        .collect();
    if still.is_empty() {
        return Ok(());
    }
    let still = still.join(" and ");
    Err(Error::Missing(format!(
        "the packages are installed, and yet there is not: {still}. Is the system too old?"
    )))
}

/// Installs packages; the servers among them are not started: one on its usual port is not ours, and nobody asked for it.
const APT: &str = r#"
set -e
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -o DPkg::Lock::Timeout=120 update
apt-get -qq -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"
"#;

/// What to put before a command that needs root: nothing, `sudo`, or it can't be had.
fn rights() -> Option<&'static [&'static str]> {
    if is_root() {
        return Some(&[]);
    }
    runs("sudo", &["-n", "true"]).then_some(&["sudo", "-n"])
}

/// Runs an installer in the open.
fn install(what: &str, manager: &str, command: &[&str], packages: &[&str]) -> Result<(), Error> {
    let shown = format!("{manager} install {}", packages.join(" "));
    eprintln!("dev: missing: {what}; running `{shown}`");
    let status = Command::new(command[0])
        .args(&command[1..])
        .stdout(std::io::stderr())
        .status()
        .tried(|| format!("running `{shown}`"))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Missing(format!(
        "`{shown}` failed ({status}): get {what} by hand and try again"
    )))
}

/// Whether this process may do everything.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Folder with the programs of the newest Postgres that will do.
pub(crate) fn postgres_folder() -> Option<PathBuf> {
    let on_path = on_path("postgres").and_then(|path| path.canonicalize().ok()?.parent().map(Path::to_owned));
    let places = POSTGRES_PLACES
        .iter()
        .flat_map(|place| folders(place))
        .chain(on_path);
    places
        .filter(|folder| {
            ["initdb", "postgres", "psql", "pg_isready"]
                .iter()
                .all(|name| folder.join(name).exists())
        })
        .filter_map(|folder| Some((postgres_version(&folder)?, folder)))
        .filter(|(version, _)| *version >= MIN_POSTGRES)
        .max()
        .map(|(_, folder)| folder)
}

/// `postgres (PostgreSQL) 15.18 (...)`: 15.
fn postgres_version(folder: &Path) -> Option<u32> {
    let output = Command::new(folder.join("postgres"))
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let digits: String = text
        .split(')')
        .nth(1)?
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// The server of Redis, or of its free successor.
pub(crate) fn redis_server() -> Option<PathBuf> {
    on_path("redis-server").or_else(|| on_path("valkey-server"))
}

/// Chromium, or the browser that is made of it.
pub(crate) fn chromium() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find_map(on_path)
}

/// The folders that a pattern with at most one star stands for.
fn folders(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![PathBuf::from(pattern)];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or_default();
    let entries = fs::read_dir(format!("{parent}/")).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    matching
        .map(|entry| PathBuf::from(format!("{}{after}", entry.path().display())))
        .collect()
}

/// Where a program is, on PATH or where administrators have theirs.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    #[expect(
        clippy::disallowed_methods,
        reason = "PATH is the system's word on where programs are, no setting"
    )]
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/bin"].map(PathBuf::from));
    folders
        .map(|folder| folder.join(program))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn runs(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there_and_not_what_is_not() {
        assert!(on_path("sh").is_some());
        assert!(on_path("no-such-program-anywhere").is_none());
        assert_eq!(folders("/no/such/place-*/bin"), Vec::<PathBuf>::new());
        assert!(folders("/us*/bin").contains(&PathBuf::from("/usr/bin")));
    }
}
