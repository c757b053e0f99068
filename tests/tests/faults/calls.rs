//! A line to a service on which its calls are counted.

use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The length of what HTTP/2 begins with.
const PREFACE: usize = 24;

/// The frame that begins a call.
const HEADERS: u8 = 1;

/// Leads to a service, until it is dropped.
pub(crate) struct CountedLine {
    address: SocketAddr,
    calls: Arc<AtomicUsize>,
    is_cut: Arc<AtomicBool>,
}

impl CountedLine {
    pub(crate) fn to(service: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let line = Self {
            address: listener.local_addr().unwrap(),
            calls: Arc::default(),
            is_cut: Arc::default(),
        };
        let (calls, is_cut) = (Arc::clone(&line.calls), Arc::clone(&line.is_cut));
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if is_cut.load(Ordering::Relaxed) {
                    return;
                }
                // A service that is away closes the connection.
                if let Ok(far) = TcpStream::connect(service) {
                    connect(&near, &far, &calls);
                }
            }
        });
        line
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many calls have been made.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Drop for CountedLine {
    fn drop(&mut self) {
        self.is_cut.store(true, Ordering::Relaxed);
        // Wakes whoever accepts, to see that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

fn connect(near: &TcpStream, far: &TcpStream, calls: &Arc<AtomicUsize>) {
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    let calls = Arc::clone(calls);
    thread::spawn(move || {
        let _ = forward_counting(&mut from, &mut to, &calls);
        hang_up(&from, &to);
    });
    let (mut from, mut to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        hang_up(&from, &to);
    });
}

fn hang_up(from: &TcpStream, to: &TcpStream) {
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn forward_counting(from: &mut impl Read, to: &mut TcpStream, calls: &AtomicUsize) -> std::io::Result<()> {
    let mut bytes = vec![0; PREFACE];
    from.read_exact(&mut bytes)?;
    to.write_all(&bytes)?;
    loop {
        bytes.resize(9, 0);
        from.read_exact(&mut bytes)?;
        let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        if bytes[3] == HEADERS {
            calls.fetch_add(1, Ordering::Relaxed);
        }
        bytes.resize(9 + usize::try_from(length).unwrap(), 0);
        from.read_exact(&mut bytes[9..])?;
        to.write_all(&bytes)?;
    }
}
