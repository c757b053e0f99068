//! What a work folder remembers: ports and secrets, made once and kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rand::TryRng as _;
use rand::rngs::SysRng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Tried as _};
use crate::folder::{Folder, write_private};

const FILE: &str = "state.json";

/// Ports and secrets of one copy of the system.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    /// Where its databases are.
    pub(crate) postgres: Postgres,
    /// Put before the names of its databases and roles: several copies may share a cluster.
    pub(crate) database_prefix: String,
    /// Redis's port.
    pub(crate) redis_port: u16,
    /// Ports of our processes, by the name of the daemon.
    pub(crate) processes: BTreeMap<String, Ports>,
    /// Its secrets.
    pub(crate) secrets: Secrets,
    /// The development account's API key, once it has one.
    pub(crate) api_key: Option<String>,
    /// Digest of the sample that has been loaded.
    pub(crate) loaded: Option<String>,
}

/// The cluster that the databases are in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Postgres {
    /// Our own.
    Own {
        /// Its port.
        port: u16,
        /// Where its files are.
        home: PathBuf,
    },
    /// One that was there already; opened by this address as its administrator.
    Given {
        /// `postgres://user:password@host:port/database`.
        administrator: url::Url,
    },
}

/// Ports of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ports {
    /// Where it serves.
    pub(crate) listen: u16,
    /// Where it tells how it is.
    pub(crate) admin: u16,
}

/// Random texts that only this copy knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Secrets {
    /// Password of the cluster's administrator, if the cluster is our own, and of the databases' roles.
    pub(crate) database: String,
    /// Password of Redis.
    pub(crate) redis: String,
    /// Pepper of the stored API keys.
    pub(crate) pepper: String,
    /// Key that signs cursors.
    pub(crate) cursor: String,
    /// HS256 secret of session tokens.
    pub(crate) jwt: String,
    /// Service token of the gateway.
    pub(crate) gateway_token: String,
    /// Service token of operators, with every scope.
    pub(crate) operator_token: String,
}

impl Secrets {
    /// New ones.
    pub(crate) fn generate() -> Result<Self, Error> {
        Ok(Self {
            database: random_text()?,
            redis: random_text()?,
            pepper: random_text()?,
            cursor: random_text()?,
            jwt: random_text()?,
            gateway_token: random_text()?,
            operator_token: random_text()?,
        })
    }
}

/// 32 random bytes as 64 hexadecimal digits: needs no quoting anywhere.
pub(crate) fn random_text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| Error::Answer(format!("no random bytes: {error}")))?;
    Ok(hexadecimal(&bytes))
}

/// Two digits a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

impl State {
    /// What the folder remembers, if it remembers anything.
    pub(crate) fn load(folder: &Folder) -> Result<Option<Self>, Error> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read(&path).tried(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| Error::Folder {
                path,
                problem: format!("is not of this version ({error}); `./dev down --wipe` makes a fresh start"),
            })
    }

    /// Has the folder remember it.
    pub(crate) fn save(&self, folder: &Folder) -> Result<(), Error> {
        let path = folder.join(FILE);
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Folder {
            path: path.clone(),
            problem: error.to_string(),
        })?;
        write_private(&path, &text)
    }
}
