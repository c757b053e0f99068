//! A stack comes and goes whole, whatever becomes of its owner.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use devstack::{Part, Stack};
use url::Url;

const LIMIT: Duration = Duration::from_mins(1);

/// Waits for the condition; panics when it takes too long.
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LIMIT, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// What a stack of stores is made of, as one sees it from outside.
struct Traces {
    folder: PathBuf,
    pids: Vec<String>,
    ports: Vec<u16>,
}

impl Traces {
    fn of(stack: &Stack) -> Self {
        let folder = stack.folder();
        let records = std::fs::read_dir(folder.join("run")).unwrap();
        let pids = records.map(|record| {
            let record = std::fs::read_to_string(record.unwrap().path()).unwrap();
            record.lines().next().unwrap().to_owned()
        });
        let ports = [stack.cluster_url().unwrap(), stack.redis_url()];
        let ports = ports.map(|url| Url::parse(&url).unwrap().port().unwrap());
        Self {
            folder: folder.clone(),
            pids: pids.collect(),
            ports: ports.to_vec(),
        }
    }

    fn assert_gone(&self) {
        assert!(!self.folder.exists(), "{} is left", self.folder.display());
        let parent = self.folder.parent().unwrap();
        let name = self.folder.file_name().unwrap().to_string_lossy().into_owned();
        let left = std::fs::read_dir(parent)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left
            .filter(|left| left.to_string_lossy().starts_with(&name))
            .collect();
        assert!(left.is_empty(), "left: {left:?}");
        for pid in &self.pids {
            assert!(!is_alive(pid), "process {pid} is left");
        }
        for port in &self.ports {
            assert!(
                TcpStream::connect(("127.0.0.1", *port)).is_err(),
                "port {port} is still served"
            );
        }
    }
}

/// Whether there is such a process, and not only its exit status, which nobody has collected yet.
fn is_alive(pid: &str) -> bool {
    let there = Command::new("kill")
        .args(["-0", pid])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success();
    let ended = std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    there && !ended
}

/// Asks Redis with its password.
fn redis_answers(stack: &Stack) -> bool {
    let url = Url::parse(&stack.redis_url()).unwrap();
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", url.port().unwrap())) else {
        return false;
    };
    let ask = format!("AUTH {}\r\nPING\r\n", url.password().unwrap());
    if stream.write_all(ask.as_bytes()).is_err() {
        return false;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).is_ok() && &answer == b"+OK\r\n+PONG\r\n"
}

fn cluster_answers(stack: &Stack) -> bool {
    let url = Url::parse(&stack.cluster_url().unwrap()).unwrap();
    TcpStream::connect(("127.0.0.1", url.port().unwrap())).is_ok()
}

#[test]
fn one_after_the_other_leaves_nothing() {
    for _ in 0..2 {
        let stack = Stack::start_stores().unwrap();
        assert!(redis_answers(&stack) && cluster_answers(&stack));
        let traces = Traces::of(&stack);
        assert_eq!(traces.pids.len(), 2);
        drop(stack);
        traces.assert_gone();
    }
}

#[test]
fn two_at_once_have_nothing_in_common() {
    let (one, two) = (Stack::start_stores().unwrap(), Stack::start_stores().unwrap());
    let (of_one, of_two) = (Traces::of(&one), Traces::of(&two));
    assert!(of_one.ports.iter().all(|port| !of_two.ports.contains(port)));
    drop(one);
    of_one.assert_gone();
    assert!(redis_answers(&two) && cluster_answers(&two));
    drop(two);
    of_two.assert_gone();
}

#[test]
fn parts_are_stopped_killed_and_started_again_where_they_were() {
    let stack = Stack::start_stores().unwrap();
    let ports = Traces::of(&stack).ports;
    for part in [Part::Redis, Part::Postgres] {
        for end in [Stack::stop, Stack::kill] {
            end(&stack, part).unwrap();
            assert!(!stack.is_running(part));
            assert!(part != Part::Redis || !redis_answers(&stack));
            assert!(part != Part::Postgres || !cluster_answers(&stack));
            stack.start_part(part).unwrap();
            assert!(redis_answers(&stack) && cluster_answers(&stack));
        }
        stack.restart(part).unwrap();
    }
    let traces = Traces::of(&stack);
    assert_eq!(traces.ports, ports);
    drop(stack);
    traces.assert_gone();
}

#[test]
fn a_suspended_part_is_torn_down_too() {
    let stack = Stack::start_stores().unwrap();
    stack.suspend(Part::Redis);
    stack.suspend(Part::Postgres);
    let traces = Traces::of(&stack);
    drop(stack);
    traces.assert_gone();
}

/// This very program, running the test below alone.
fn holder() -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "holds_a_stack_until_it_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "no test: run by the next one, as a process to be killed"]
fn holds_a_stack_until_it_is_killed() {
    let stack = Stack::start_stores().unwrap();
    let traces = Traces::of(&stack);
    println!(
        "\nholding {} {} {:?}",
        traces.folder.display(),
        traces.pids.join(","),
        traces.ports
    );
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

#[test]
fn nothing_is_left_of_the_stack_of_a_process_that_was_killed() {
    let mut holder = holder();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let line = lines
        .find_map(|line| line.unwrap().strip_prefix("holding ").map(str::to_owned))
        .unwrap();
    let mut words = line.splitn(3, ' ');
    let folder = PathBuf::from(words.next().unwrap());
    let pids = words.next().unwrap().split(',').map(str::to_owned).collect();
    let ports = words.next().unwrap().trim_matches(['[', ']']).split(", ");
    let traces = Traces {
        folder,
        pids,
        ports: ports.map(|port| port.parse().unwrap()).collect(),
    };
    assert!(Path::new(&traces.folder).exists());
    holder.kill().unwrap();
    holder.wait().unwrap();
    let named = |entry: std::fs::DirEntry| {
        entry
            .path()
            .to_string_lossy()
            .starts_with(&*traces.folder.to_string_lossy())
    };
    let parent = traces.folder.parent().unwrap();
    wait_until("the removal", || {
        !std::fs::read_dir(parent).unwrap().flatten().any(named)
    });
    traces.assert_gone();
}
