//! Free ports on the loopback.
//!
//! Postgres and Redis can't be handed a bound socket, so a port is found, kept bound while the rest is prepared, and let
//! go just before its process binds it. Ports are taken from below the ranges that the systems use for outgoing
//! connections (Linux from 32768, macOS from 49152): no connection of anybody can take one in between. None is given twice
//! by one process, whose stacks run side by side: a part that was killed, or that does not listen yet, leaves its port free.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::error::{Error, Tried as _};

const FIRST: u16 = 15_000;
const COUNT: u16 = 17_000;
const TRIES: usize = 1_000;

/// Ports that this process has given.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port that nobody else can bind while this lives.
pub(crate) struct Reserved(TcpListener);

impl Reserved {
    /// The number.
    pub(crate) fn port(&self) -> Result<u16, Error> {
        Ok(self.0.local_addr().tried(|| "reading a port".to_owned())?.port())
    }
}

/// Whether nobody has it.
pub(crate) fn is_free(port: u16) -> bool {
    reserve(port).is_some()
}

/// This very port, if nobody has it.
pub(crate) fn reserve(port: u16) -> Option<Reserved> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(Reserved)
}

/// Any free port that this process has not given before.
pub(crate) fn reserve_any() -> Result<Reserved, Error> {
    for _ in 0..TRIES {
        let random = SysRng
            .try_next_u32()
            .map_err(|error| Error::Answer(format!("no random number: {error}")))?;
        let offset = u16::try_from(random % u32::from(COUNT)).unwrap_or_default();
        let port = FIRST + offset;
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !given.contains(&port)
            && let Some(reserved) = reserve(port)
        {
            given.insert(port);
            return Ok(reserved);
        }
    }
    Err(Error::Missing(format!(
        "no free port on the loopback between {FIRST} and {}",
        FIRST + COUNT - 1
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice_though_it_is_free_again() {
        let given = (0..2_000).map(|_| reserve_any().unwrap().port().unwrap());
        let given = given.collect::<Vec<_>>();
        assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), given.len());
    }

    #[test]
    fn a_reserved_port_is_not_free_until_it_is_let_go() {
        let reserved = reserve_any().unwrap();
        let port = reserved.port().unwrap();
        assert!(!is_free(port));
        assert!(reserve(port).is_none());
        drop(reserved);
        assert!(is_free(port));
    }
}
