//! A line to a server that can be made slow, as a long or a busy way to it would be.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Tried as _};

/// Leads to one server, whatever connects to its address, until it is dropped.
#[derive(Debug)]
pub struct Line {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    delay: Duration,
    is_cut: bool,
    /// Both ends of all connections there have been.
    ends: Vec<TcpStream>,
}

impl Line {
    /// A line to this server.
    pub fn to(server: SocketAddr) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).tried(|| "opening a line".to_owned())?;
        let address = listener.local_addr().tried(|| "opening a line".to_owned())?;
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if lock(&shared).is_cut {
                    return;
                }
                // A server that is away closes the connection, as nearly as a line can tell.
                let _ = connect(near, server, &shared);
            }
        });
        Ok(Self { address, state })
    }

    /// Where it begins.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, whatever the server says arrives so much later, and nothing overtakes it.
    pub fn delay(&self, delay: Duration) {
        lock(&self.state).delay = delay;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.is_cut = true;
        for end in &state.ends {
            let _ = end.shutdown(Shutdown::Both);
        }
        drop(state);
        // Wakes whoever accepts, to see that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect(near: TcpStream, server: SocketAddr, state: &Arc<Mutex<State>>) -> std::io::Result<()> {
    let far = TcpStream::connect(server)?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    {
        let mut state = lock(state);
        state.ends.push(near.try_clone()?);
        state.ends.push(far.try_clone()?);
    }
    let (from_near, to_near, shared) = (near.try_clone()?, near, Arc::clone(state));
    let (from_far, to_far) = (far.try_clone()?, far);
    let no_delay = || Duration::ZERO;
    thread::spawn(move || carry(from_near, to_far, no_delay));
    thread::spawn(move || carry(from_far, to_near, || lock(&shared).delay));
    Ok(())
}

/// Carries what one says to the other, until either is gone.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: impl Fn() -> Duration) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        #[expect(
            clippy::disallowed_methods,
            reason = "this thread is the way that takes so long"
        )]
        thread::sleep(delay());
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
