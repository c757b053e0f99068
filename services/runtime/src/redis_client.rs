//! Where Redis is, and whether it is spoken with by TLS: `rediss://` is, with a certificate that is always checked.

use std::path::{Path, PathBuf};

use redis::{Client, ConnectionAddr, TlsCertificates};

use crate::settings::Settings;

/// What every file of certificates has in it.
const PEM_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// Reads `redis_url`, which is a secret since it may hold a password, and `redis_tls_authority`. Nobody is connected to yet.
///
/// # Panics
/// If the address that stands in for a bad one is none, which is a slip in the code.
pub fn read(settings: &mut Settings, doc: &'static str) -> Client {
    let url = settings.secret("redis_url", 1, doc);
    let authority: Option<PathBuf> = settings.optional(
        "redis_tls_authority",
        "PEM file with the authority of Redis' certificate, where redis_url is a rediss:// one; none: those of Mozilla.",
    );
    open(url.expose(), authority.as_deref()).unwrap_or_else(|problem| {
        // One that is missing has been told.
        if !url.expose().is_empty() {
            settings.contradiction(problem);
        }
        Client::open("redis://127.0.0.1").expect("this is an address")
    })
}

fn open(url: &str, authority: Option<&Path>) -> Result<Client, String> {
    // What the library says of an address may hold the password.
    let client = Client::open(url).map_err(|_| {
        "redis_url: is no address of a Redis, such as redis://:password@host:6379, or rediss://... by TLS"
    })?;
    let is_tls = match client.get_connection_info().addr() {
        ConnectionAddr::TcpTls { insecure: true, .. } => {
            return Err(
                "redis_url: ends in #insecure, but certificates are always checked: redis_tls_authority is for one of \
                 your own authority"
                    .to_owned(),
            );
        }
        address => matches!(address, ConnectionAddr::TcpTls { .. }),
    };
    let Some(path) = authority else { return Ok(client) };
    if !is_tls {
        return Err("redis_tls_authority: is set, but redis_url does not begin with rediss://".to_owned());
    }
    let certificates = std::fs::read_to_string(path)
        .map_err(|error| format!("redis_tls_authority: {} can't be read: {error}", path.display()))?;
    // Of a file without any, the library makes an authority that nobody's certificate is of.
    let client = certificates.contains(PEM_CERTIFICATE).then(|| {
        let certificates = TlsCertificates {
            client_tls: None,
            root_cert: Some(certificates.into_bytes()),
        };
        Client::build_with_tls(url, certificates).ok()
    });
    client
        .flatten()
        .ok_or_else(|| format!("redis_tls_authority: {} holds no certificate", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(environment: &[(&str, &str)]) -> Vec<String> {
        let environment = environment
            .iter()
            .map(|(name, value)| (format!("DS_KEYS__{name}"), (*value).to_owned()));
        let (mut settings, _) = Settings::read("keys", [], environment);
        read(&mut settings, "");
        settings.finish().err().unwrap_or_default()
    }

    #[test]
    fn an_address_that_is_none_is_told_without_its_password() {
        for url in [
            "http://:hush@host",
            "redis://:hush@",
            "hush",
            "rediss://:hush@host#other",
        ] {
            let problems = problems(&[("REDIS_URL", url)]);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(
                problems[0].starts_with("redis_url: is no address"),
                "{problems:?}"
            );
            assert!(!problems[0].contains("hush"), "{problems:?}");
        }
        assert_eq!(problems(&[]).len(), 1);
        for url in [
            "redis://host",
            "redis://:hush@host:6380",
            "rediss://:hush@host:6380",
        ] {
            assert_eq!(problems(&[("REDIS_URL", url)]), [""; 0], "{url}");
        }
    }

    #[test]
    fn certificates_are_checked_always_and_by_an_authority_that_is_one() {
        let told = |url: &str, authority: Option<&str>| {
            let mut environment = vec![("REDIS_URL", url)];
            environment.extend(authority.map(|path| ("REDIS_TLS_AUTHORITY", path)));
            problems(&environment).join("\n")
        };
        assert!(told("rediss://host#insecure", None).starts_with("redis_url: ends in #insecure"));
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(told("rediss://host", Some("/no/such/file")).contains("can't be read"));
        assert!(told("rediss://host", Some(here)).ends_with("holds no certificate"));
        assert!(told("redis://host", Some(here)).contains("does not begin with rediss://"));
    }
}
