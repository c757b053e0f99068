//! Connections that end without taking back what they said last.
//!
//! A server that ends a connection in good order says which calls it has taken (GOAWAY), and its client sends the others
//! elsewhere. But a socket that is closed while bytes come to it resets the connection, and a client whose next write
//! fails by that reads no further: it can't tell of any of its calls whether it was taken, though what says so has
//! arrived. The moment is short, but every connection that ends by its age while it is in use goes through it.
//!
//! So the end of a connection is only told at first. What still comes is read and dropped until the client has closed it
//! too, as it does when it has read what was said, or for [`LINGER`] at most.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Longest wait for a client to close its side.
const LINGER: Duration = Duration::from_secs(2);

/// A connection whose shutdown is complete once the client has closed its side too.
pub(crate) struct Lingering {
    stream: TcpStream,
    /// Since its end was told.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            patience: None,
        }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl Connected for Lingering {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Lingering {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let patience = match &mut this.patience {
            Some(patience) => patience,
            none => {
                ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
                none.insert(Box::pin(tokio::time::sleep(LINGER)))
            }
        };
        // First, so that a client that goes on writing doesn't put it off.
        if patience.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut dropped = [0; 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut dropped);
            let read = ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::shutdown::Shutdown;

    /// Both sides of a connection.
    async fn connection() -> (Lingering, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (Lingering::new(server), client)
    }

    /// Says its last word and ends.
    async fn end(mut server: Lingering) {
        server.write_all(b"no more").await.unwrap();
        server.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_is_still_writing_reads_what_was_said_last() {
        let (server, mut client) = connection().await;
        client.write_all(b"one call").await.unwrap();
        let ending = Shutdown::new().spawn(end(server));
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        // Each is on its way before the next: a reset would have come back by then.
        for _ in 0..100 {
            client.write_all(b"another call").await.unwrap();
            tokio::task::yield_now().await;
        }
        assert!(!ending.is_finished());
        drop(client);
        ending.await.unwrap();
        assert_eq!(said, "no more");
    }

    #[tokio::test]
    async fn a_client_that_does_not_close_its_side_is_not_waited_for_long() {
        let (server, mut client) = connection().await;
        let ending = Shutdown::new().spawn(end(server));
        let mut said = String::new();
        client.read_to_string(&mut said).await.unwrap();
        assert!(!ending.is_finished());
        tokio::time::pause();
        let begun = tokio::time::Instant::now();
        ending.await.unwrap();
        assert!(begun.elapsed() < 2 * LINGER, "{:?}", begun.elapsed());
    }
}
