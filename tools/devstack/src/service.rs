//! Our four processes: their names, ports and settings.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::state::{Ports, State};

/// A kind of process of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Companies and people.
    Search,
    /// API keys.
    Keys,
    /// Credits.
    Billing,
    /// Public REST.
    Gateway,
}

impl Service {
    /// All of them, in the order they start in.
    pub const ALL: [Self; 4] = [Self::Search, Self::Keys, Self::Billing, Self::Gateway];

    /// Those that have a database.
    pub const WITH_DATABASE: [Self; 3] = [Self::Search, Self::Keys, Self::Billing];

    /// Name of its binary.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Keys => "keys",
            Self::Billing => "billing",
            Self::Gateway => "gateway",
        }
    }

    /// Name of a setting of its in the environment.
    pub(crate) fn setting(self, name: &str) -> String {
        format!("DS_{}__{}", self.name().to_uppercase(), name.to_uppercase())
    }
}

/// A part of a stack that can be stopped and started by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The cluster, if it is the stack's own.
    Postgres,
    /// Redis.
    Redis,
    /// One of our processes; replicas are counted from 1.
    Process(Service, u8),
}

impl From<Service> for Part {
    fn from(service: Service) -> Self {
        Self::Process(service, 1)
    }
}

/// The name of its daemon: `postgres`, `gateway`, `gateway-2`.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postgres => f.write_str(crate::postgres::NAME),
            Self::Redis => f.write_str(crate::redis::NAME),
            Self::Process(service, 1) => f.write_str(service.name()),
            Self::Process(service, replica) => write!(f, "{}-{replica}", service.name()),
        }
    }
}

impl Part {
    /// The part with the daemon of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == crate::postgres::NAME {
            return Some(Self::Postgres);
        }
        if name == crate::redis::NAME {
            return Some(Self::Redis);
        }
        let (kind, replica) = match name.split_once('-') {
            Some((kind, replica)) => (kind, replica.parse().ok()?),
            None => (name, 1),
        };
        let service = Service::ALL.into_iter().find(|service| service.name() == kind)?;
        Some(Self::Process(service, replica))
    }
}

/// The settings of a process, by name.
pub(crate) fn settings(
    service: Service,
    ports: Ports,
    index: &Path,
    state: &State,
    database_url: &str,
) -> Vec<(&'static str, String)> {
    let secrets = &state.secrets;
    let accepted = format!(
        "gateway:search+keys+verify+charge:{},operator:search+keys+verify+charge+admin:{}",
        secrets.gateway_token, secrets.operator_token
    );
    let address = |other: Service| {
        let port = state.processes.get(other.name()).map_or(0, |ports| ports.listen);
        format!("http://127.0.0.1:{port}")
    };
    let mut settings = vec![
        ("listen", format!("127.0.0.1:{}", ports.listen)),
        ("admin_listen", format!("127.0.0.1:{}", ports.admin)),
    ];
    match service {
        Service::Search => settings.extend([
            ("database_url", database_url.to_owned()),
            ("service_tokens", accepted),
            ("cursor_key", secrets.cursor.clone()),
            ("index_dir", index.display().to_string()),
        ]),
        Service::Keys => settings.extend([
            ("database_url", database_url.to_owned()),
            ("service_tokens", accepted),
            ("redis_url", redis_url(state)),
            ("pepper", secrets.pepper.clone()),
        ]),
        Service::Billing => settings.extend([
            ("database_url", database_url.to_owned()),
            ("service_tokens", accepted),
        ]),
        Service::Gateway => settings.extend([
            ("search_url", address(Service::Search)),
            ("keys_url", address(Service::Keys)),
            ("billing_url", address(Service::Billing)),
            ("service_token", secrets.gateway_token.clone()),
            ("redis_url", redis_url(state)),
            ("session_secret", secrets.jwt.clone()),
        ]),
    }
    settings
}

/// Redis's address with its password.
pub(crate) fn redis_url(state: &State) -> String {
    format!("redis://:{}@127.0.0.1:{}", state.secrets.redis, state.redis_port)
}

/// Where a replica of the search service keeps its index.
pub(crate) fn index_folder(folder: &Folder, part: Part) -> PathBuf {
    folder.join("index").join(part.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_the_names_of_their_daemons() {
        for part in [
            Part::Postgres,
            Part::Redis,
            Service::Search.into(),
            Part::Process(Service::Gateway, 2),
        ] {
            assert_eq!(Part::named(&part.to_string()), Some(part));
        }
        assert_eq!(Part::named("gateway-x"), None);
        assert_eq!(Part::named("reaper"), None);
    }
}
