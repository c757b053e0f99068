//! `health`: whether the process that runs with these settings can do its job now, asked of its own admin port.
//!
//! For the checks of containers, whose images have no shell and no other program to ask with. It needs no secret and no
//! setting but `admin_listen`, and looks at no other. A process that listens on all addresses is asked on the loopback.
//!
//! It fails if nobody answers there, if the answer is not "ready" or no answer of an admin port, and if the answer takes
//! longer than a check may: whoever asks it again and again wants an answer, not a process that hangs beside the other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longest time for connection and answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 4 * 1024;

/// Why a process is not in good health.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HealthError {
    /// With port 0 nobody else knows where it listens.
    #[error("admin_listen has port 0: only the process itself knows where it listens")]
    PortUnknown,
    /// Nobody answers.
    #[error("{0} can't be asked: {1}")]
    Unreachable(SocketAddr, std::io::Error),
    /// It takes too long.
    #[error("{0} has not answered within {PATIENCE:?}")]
    Silent(SocketAddr),
    /// It answers that it can't do its job, or what no admin port would.
    #[error("{0} answered: {1}")]
    Unready(SocketAddr, String),
}

/// Asks the admin port that listens there.
pub(crate) async fn ask(admin_listen: SocketAddr) -> Result<(), HealthError> {
    if admin_listen.port() == 0 {
        return Err(HealthError::PortUnknown);
    }
    let address = SocketAddr::new(reachable(admin_listen.ip()), admin_listen.port());
    let answer = tokio::time::timeout(PATIENCE, readyz(address))
        .await
        .map_err(|_| HealthError::Silent(address))?
        .map_err(|error| HealthError::Unreachable(address, error))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status_line = head.lines().next().unwrap_or_default();
    match status_line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|status| status.get(..3))
    {
        Some("200") => Ok(()),
        Some("503") => Err(HealthError::Unready(address, body.trim_end().to_owned())),
        _ => Err(HealthError::Unready(address, status_line.to_owned())),
    }
}

/// Where a process that listens on this address can be reached from beside it.
const fn reachable(listen: IpAddr) -> IpAddr {
    match listen {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        listen => listen,
    }
}

async fn readyz(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// What asking comes to where the first connection is answered with this text; `None` answers nothing.
    async fn asked_of(answer: Option<&str>) -> Result<(), HealthError> {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let Some(answer) = answer else {
                return std::future::pending().await;
            };
            stream.read_exact(&mut [0; 4]).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            // Until the other side is done: closing before it has read would take the answer back.
            let _ = stream.read_to_end(&mut Vec::new()).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            told = ask(address) => told,
            () = answering => unreachable!("it never returns"),
        }
    }

    #[tokio::test]
    async fn only_a_ready_process_is_in_good_health() {
        assert!(asked_of(Some("HTTP/1.1 200 OK\r\n\r\nready\n")).await.is_ok());
        let unready = "HTTP/1.1 503 Service Unavailable\r\n\r\nnot ready: the index is built\n";
        for (answer, told) in [
            (unready, "answered: not ready: the index is built"),
            (
                "HTTP/1.1 404 Not Found\r\n\r\n",
                "answered: HTTP/1.1 404 Not Found",
            ),
            ("220 200 OK\r\n", "answered: 220 200 OK"),
            ("", "answered: "),
        ] {
            let refused = asked_of(Some(answer)).await.unwrap_err().to_string();
            assert!(refused.ends_with(told), "{refused}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_does_not_answer_is_not_waited_for_without_end() {
        assert!(matches!(asked_of(None).await, Err(HealthError::Silent(_))));
    }

    #[tokio::test]
    async fn nobody_there_is_told_and_port_0_too() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        assert!(matches!(ask(address).await, Err(HealthError::Unreachable(..))));
        let unknown = ask("0.0.0.0:0".parse().unwrap()).await;
        assert!(matches!(unknown, Err(HealthError::PortUnknown)));
    }

    #[test]
    fn a_process_that_listens_everywhere_is_asked_on_the_loopback() {
        for (listen, asked) in [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("10.1.2.3", "10.1.2.3")] {
            let (listen, asked): (IpAddr, IpAddr) = (listen.parse().unwrap(), asked.parse().unwrap());
            assert_eq!(reachable(listen), asked);
        }
    }
}
