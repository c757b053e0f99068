//! A Redis of our own: on the loopback, with a password, keeping nothing on disk (nothing in it has to outlive it).

use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use rustix::process::Signal;

use crate::daemon::{Daemon, Program};
use crate::error::{Error, Tried as _};
use crate::folder::{Folder, write_private};
use crate::programs::redis_server;

/// Name of its daemon.
pub(crate) const NAME: &str = "redis";

/// How it is told to stop.
pub(crate) const STOP: Signal = Signal::TERM;

const READY_LIMIT: Duration = Duration::from_secs(20);

/// Starts it.
pub(crate) fn start(folder: &Folder, port: u16, password: &str) -> Result<(), Error> {
    let server = redis_server().ok_or_else(|| Error::Missing("Redis is missing".to_owned()))?;
    let home = folder.join("redis");
    std::fs::create_dir_all(&home).tried(|| format!("making {}", home.display()))?;
    let configuration = home.join("redis.conf");
    let text = format!(
        "bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave \"\"\nappendonly no\ndaemonize no\ndir \"{}\"\n",
        home.display()
    );
    write_private(&configuration, text.as_bytes())?;
    let command = vec![server.into(), configuration.into()];
    Daemon::new(folder, NAME).start(Program {
        command,
        environment: Vec::new(),
    })
}

/// Waits until it takes connections.
pub(crate) fn wait_ready(folder: &Folder, port: u16) -> Result<(), Error> {
    Daemon::new(folder, NAME).wait_ready(READY_LIMIT, || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    })
}
