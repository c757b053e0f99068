//! A plain reverse proxy: nginx before the bare route, as its packages bring it, with the least configuration that keeps
//! connections open on both sides. It is one process, so that nothing is left of it when that is ended.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::BoxError;

/// Where packages put it.
const PLACES: [&str; 4] = [
    "/usr/sbin/nginx",
    "/usr/bin/nginx",
    "/opt/homebrew/bin/nginx",
    "/usr/local/bin/nginx",
];

/// The proxy, which ends when this is dropped.
pub(super) struct Proxy {
    /// `address:port`.
    pub(super) address: String,
    pub(super) pid: i32,
    _process: Child,
}

impl Proxy {
    /// Starts it before this address, with its files in the folder.
    pub(super) async fn start(folder: &Path, upstream: &str) -> Result<Self, BoxError> {
        let program = PLACES.iter().find(|place| Path::new(place).exists());
        let program = program.ok_or("nginx is not there; `./dev bench gateway` installs it")?;
        fs::create_dir_all(folder)?;
        // Free until now, and nobody else's by the time that nginx takes it, but for bad luck.
        let address = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string();
        let configuration = folder.canonicalize()?.join("nginx.conf");
        fs::write(&configuration, written(folder, &address, upstream)?)?;
        let mut process = Command::new(program)
            .arg("-e")
            .arg(folder.canonicalize()?.join("error.log"))
            .arg("-c")
            .arg(&configuration)
            .kill_on_drop(true)
            .spawn()?;
        while TcpStream::connect(&address).await.is_err() {
            if let Some(status) = process.try_wait()? {
                return Err(format!("nginx ended: {status}").into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let pid = process.id().ok_or("nginx has ended")?;
        Ok(Self {
            address,
            pid: i32::try_from(pid)?,
            _process: process,
        })
    }
}

fn written(folder: &Path, address: &str, upstream: &str) -> Result<String, BoxError> {
    let folder = folder.canonicalize()?;
    let folder = folder.display();
    Ok(format!(
        "daemon off;
master_process off;
pid {folder}/pid;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/client_body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    upstream bare {{
        server {upstream};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
    server {{
        listen {address};
        location / {{
            proxy_pass http://bare;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
        }}
    }}
}}
"
    ))
}
