//! A process that runs on by itself, known by its record in the work folder.
//!
//! Nothing but the record ties a daemon to who started it, so any later command can see, stop and restart it. Two things
//! must never happen: that a process is killed which only has the number of one of ours, and that one of ours is left
//! without a record. Hence:
//!
//! - The record holds the process id and the moment the process started. Both must agree before it is touched.
//! - The process writes its own record before it becomes the program (`exec` keeps both), and does not go on if it
//!   can't: when a work folder is removed, what was just being started there ends by itself.
//! - Each daemon leads a process group of its own: Ctrl-C in the terminal does not reach it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::error::{Error, Tried as _};
use crate::folder::Folder;
use crate::wait::wait_for;

/// Writes the record (by renaming, so that it is whole or not there), then becomes the program.
const BIRTH: &str = r#"
set -e
trap '' HUP
{ echo $$; cat /proc/$$/stat 2>/dev/null || ps -o state=,lstart= -p $$; } > "$0.new"
mv "$0.new" "$0"
exec "$@"
"#;

const KILL_LIMIT: Duration = Duration::from_secs(20);

/// What to run.
pub(crate) struct Program {
    /// The command and its arguments.
    pub(crate) command: Vec<OsString>,
    /// What its environment has besides what is inherited. Settings of ours (`DS_...`) are not inherited: a process
    /// has those it is given.
    pub(crate) environment: Vec<(String, String)>,
}

/// A daemon of a work folder. It need not run.
#[derive(Clone, Copy)]
pub(crate) struct Daemon<'a> {
    folder: &'a Folder,
    name: &'a str,
}

impl<'a> Daemon<'a> {
    /// The daemon of this name.
    pub(crate) fn new(folder: &'a Folder, name: &'a str) -> Self {
        Self { folder, name }
    }

    /// The process id, if it runs.
    pub(crate) fn pid(self) -> Option<i32> {
        let record = fs::read_to_string(self.folder.run(self.name)).ok()?;
        let (pid, status) = record.split_once('\n')?;
        let pid: i32 = pid.trim().parse().ok()?;
        (start(status)? == start(&status_of(pid)?)?).then_some(pid)
    }

    /// When it was started last: the age of its record.
    pub(crate) fn started_at(self) -> Option<std::time::SystemTime> {
        fs::metadata(self.folder.run(self.name))
            .and_then(|data| data.modified())
            .ok()
    }

    /// Starts it, its log appended to what is there.
    pub(crate) fn start(self, program: Program) -> Result<(), Error> {
        let log = self.folder.log(self.name);
        let open = || File::options().create(true).append(true).open(&log);
        let output = open().tried(|| format!("opening {}", log.display()))?;
        let errors = output
            .try_clone()
            .tried(|| format!("opening {}", log.display()))?;
        let record = self.folder.run(self.name);
        let _ = fs::remove_file(&record);
        let mut command = Command::new("sh");
        for name in settings_here().into_keys() {
            command.env_remove(name);
        }
        let mut child = command
            .arg("-c")
            .arg(BIRTH)
            .arg(&record)
            .args(program.command)
            .envs(program.environment)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .tried(|| format!("starting {}", self.name))?;
        let pid = i32::try_from(child.id()).unwrap_or_default();
        // Collects its exit status, so that no zombie is left while this process lives on.
        let waiting = std::thread::spawn(move || child.wait());
        let born = wait_for(KILL_LIMIT, || {
            (record.exists() || waiting.is_finished()).then_some(record.exists())
        });
        match born {
            Some(true) => Ok(()),
            _ => Err(Error::Ended {
                name: format!("{} (process {pid})", self.name),
                log: self.folder.log_end(self.name),
            }),
        }
    }

    /// Waits until it is ready; it must not end meanwhile.
    pub(crate) fn wait_ready(self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<(), Error> {
        let ended = || Error::Ended {
            name: self.name.to_owned(),
            log: self.folder.log_end(self.name),
        };
        let outcome = wait_for(limit, || {
            if ready() {
                Some(Ok(()))
            } else if self.pid().is_none() {
                Some(Err(ended()))
            } else {
                None
            }
        });
        outcome.unwrap_or_else(|| {
            let log = self.folder.log_end(self.name);
            Err(Error::NotReady {
                name: self.name.to_owned(),
                waited: limit,
                log,
            })
        })
    }

    /// Sends it a signal, if it runs.
    fn signal(self, signal: Signal) {
        if let Some(pid) = self.pid() {
            send(pid, signal);
        }
    }

    /// Asks it to end, and makes it end when the grace time is over. Whether it was running.
    pub(crate) fn stop(self, ask: Signal, grace: Duration) -> Result<bool, Error> {
        let ran = self.ask(ask);
        self.finish(grace)?;
        Ok(ran)
    }

    /// Asks it to end. Whether it is running.
    pub(crate) fn ask(self, signal: Signal) -> bool {
        let runs = self.pid().is_some();
        self.signal(signal);
        // A suspended process hears nothing else.
        self.resume();
        runs
    }

    /// Waits for it to end, and makes it end when the grace time is over.
    pub(crate) fn finish(self, grace: Duration) -> Result<(), Error> {
        if wait_for(grace, || self.pid().is_none().then_some(())).is_none() {
            self.kill()?;
        }
        let _ = fs::remove_file(self.folder.run(self.name));
        Ok(())
    }

    /// Ends it and its children at once, as a crash would.
    pub(crate) fn kill(self) -> Result<(), Error> {
        let Some(pid) = self.pid() else { return Ok(()) };
        self.suspend();
        let children = children_of(pid);
        if let Some(group) = Pid::from_raw(pid) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        for child in &children {
            send(*child, Signal::KILL);
        }
        let has_ended = |pid| status_of(pid).and_then(|status| start(&status)).is_none();
        wait_for(KILL_LIMIT, || {
            (self.pid().is_none() && children.iter().copied().all(has_ended)).then_some(())
        })
        .ok_or(Error::Unstoppable {
            name: self.name.to_owned(),
            pid,
        })
    }

    /// Freezes it and its children (Postgres has one for each connection), if it runs.
    pub(crate) fn suspend(self) {
        let Some(pid) = self.pid() else { return };
        // Itself first, so that it starts no others meanwhile.
        send(pid, Signal::STOP);
        for child in children_of(pid) {
            send(child, Signal::STOP);
        }
    }

    /// Lets it and its children go on, if it runs.
    pub(crate) fn resume(self) {
        let Some(pid) = self.pid() else { return };
        for process in children_of(pid).into_iter().chain([pid]) {
            send(process, Signal::CONT);
        }
    }
}

/// The settings of our processes (`DS_...`) that this process's environment holds.
pub(crate) fn settings_here() -> BTreeMap<String, String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "what a process inherits is the business of who starts it"
    )]
    let environment = std::env::vars_os();
    let texts =
        environment.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(name, _)| name.starts_with("DS_")).collect()
}

/// Names of all daemons with a record in this folder.
pub(crate) fn recorded(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.join("run")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| Path::new(name).extension().is_none())
        .collect();
    names.sort();
    names
}

/// Sends a process a signal. It may have ended since it was looked at: then there is nothing to tell it.
fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// The processes that this one has started.
fn children_of(parent: i32) -> Vec<i32> {
    if !Path::new("/proc/self/stat").exists() {
        let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
        let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let read = |line: &str| {
            let (pid, of) = line.trim().split_once(char::is_whitespace)?;
            (of.trim().parse() == Ok(parent)).then(|| pid.parse().ok())?
        };
        return listed.unwrap_or_default().lines().filter_map(read).collect();
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // `pid (name) state parent ...`
    let is_child = |pid: &i32| {
        let status = status_of(*pid)?;
        let (_, fields) = status.rsplit_once(')')?;
        let of = fields.split_whitespace().nth(1)?.parse::<i32>().ok()?;
        (of == parent).then_some(())
    };
    pids.filter(|pid| is_child(pid).is_some()).collect()
}

/// The system's word on a process, as the record has it too.
fn status_of(pid: i32) -> Option<String> {
    if Path::new("/proc/self/stat").exists() {
        return fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    }
    let output = Command::new("ps")
        .args(["-o", "state=,lstart=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// When the process started, by the system's word on it; nothing if it has ended and only waits to be collected.
fn start(status: &str) -> Option<String> {
    // Linux: `pid (name) state ...`, the 20th field is the number of threads, the 22nd the start; the name may hold blanks
    // and parentheses. Elsewhere: `state day month date time year`.
    let fields = status.rsplit_once(')').map_or(status, |(_, rest)| rest);
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let state = fields.first()?;
    // While other threads are ending, so are its sockets: its port is still taken.
    let has_other_threads = status.contains(')')
        && fields
            .get(17)
            .is_some_and(|threads| !["0", "1"].contains(threads));
    if state.starts_with(['Z', 'X']) && !has_other_threads {
        return None;
    }
    if status.contains(')') {
        fields.get(19).map(ToString::to_string)
    } else {
        Some(fields[1..].join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::create(directory.path()).unwrap();
        (directory, folder)
    }

    fn shell(script: &str) -> Program {
        Program {
            command: ["sh", "-c", script].map(OsString::from).to_vec(),
            environment: Vec::new(),
        }
    }

    #[test]
    fn starts_and_stops_and_is_known_by_its_record_alone() {
        let (_directory, folder) = folder();
        Daemon::new(&folder, "one")
            .start(shell("echo hello; exec sleep 600"))
            .unwrap();
        let pid = Daemon::new(&folder, "one").pid().unwrap();
        assert_eq!(recorded(&folder), ["one"]);
        Daemon::new(&folder, "one")
            .wait_ready(KILL_LIMIT, || folder.log_end("one") == "hello")
            .unwrap();
        assert!(
            Daemon::new(&folder, "one")
                .stop(Signal::TERM, KILL_LIMIT)
                .unwrap()
        );
        assert!(status_of(pid).and_then(|status| start(&status)).is_none());
        assert!(recorded(&folder).is_empty());
        assert!(
            !Daemon::new(&folder, "one")
                .stop(Signal::TERM, KILL_LIMIT)
                .unwrap()
        );
    }

    #[test]
    fn a_process_that_only_has_its_number_is_left_alone() {
        let (_directory, folder) = folder();
        let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = i32::try_from(stranger.id()).unwrap();
        let status = status_of(pid)
            .unwrap()
            .replace(&start(&status_of(pid).unwrap()).unwrap(), "12345");
        fs::write(folder.run("one"), format!("{pid}\n{status}")).unwrap();
        let one = Daemon::new(&folder, "one");
        assert_eq!(one.pid(), None);
        one.kill().unwrap();
        assert!(!one.stop(Signal::KILL, KILL_LIMIT).unwrap());
        assert!(stranger.try_wait().unwrap().is_none(), "the stranger must live");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn one_that_does_not_listen_is_killed() {
        let (_directory, folder) = folder();
        let deaf = Daemon::new(&folder, "deaf");
        deaf.start(shell("trap '' TERM; echo deaf; while :; do sleep 600; done"))
            .unwrap();
        deaf.wait_ready(KILL_LIMIT, || folder.log_end("deaf") == "deaf")
            .unwrap();
        assert!(deaf.stop(Signal::TERM, Duration::from_millis(1)).unwrap());
        assert_eq!(deaf.pid(), None);
    }

    #[test]
    fn its_children_are_frozen_and_killed_with_it_in_whatever_group_they_are() {
        let (_directory, folder) = folder();
        let parent = Daemon::new(&folder, "parent");
        parent
            .start(shell("setsid sleep 600 & echo started; wait"))
            .unwrap();
        parent
            .wait_ready(KILL_LIMIT, || folder.log_end("parent") == "started")
            .unwrap();
        let pid = parent.pid().unwrap();
        let child = wait_for(KILL_LIMIT, || children_of(pid).first().copied()).unwrap();
        let is_frozen = |pid| status_of(pid).is_some_and(|status| status.contains(") T "));
        let becomes = |frozen| {
            wait_for(KILL_LIMIT, || {
                [pid, child]
                    .iter()
                    .all(|pid| is_frozen(*pid) == frozen)
                    .then_some(())
            })
        };
        parent.suspend();
        assert!(becomes(true).is_some());
        parent.resume();
        assert!(becomes(false).is_some());
        parent.kill().unwrap();
        assert!(status_of(child).and_then(|status| start(&status)).is_none());
    }

    #[test]
    fn one_that_ends_while_it_starts_is_told_with_its_log() {
        let (_directory, folder) = folder();
        let short = Daemon::new(&folder, "short");
        short.start(shell("echo no such thing; exit 3")).unwrap();
        let error = short.wait_ready(KILL_LIMIT, || false).unwrap_err();
        assert!(
            matches!(&error, Error::Ended { log, .. } if log == "no such thing"),
            "{error}"
        );
    }

    #[test]
    fn nothing_starts_in_a_folder_that_is_gone() {
        let (directory, folder) = folder();
        fs::remove_dir_all(folder.join("run")).unwrap();
        let late = directory.path().join("late");
        let error = Daemon::new(&folder, "one")
            .start(shell(&format!("touch {}", late.display())))
            .unwrap_err();
        assert!(matches!(error, Error::Ended { .. }), "{error}");
        assert!(!late.exists());
    }
}
