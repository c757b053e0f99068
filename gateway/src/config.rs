//! The settings of the gateway.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};
use proto::keys::v1;
use proto::rate::Rate;
use runtime::grpc_client::{GrpcClientConfig, ServiceAddresses};
use runtime::redis_client;
use runtime::secret::Secret;
use runtime::settings::Settings;

use crate::auth::client_address::{ForwardedHeader, TrustedProxies};
use crate::auth::jwks::Jwks;
use crate::auth::session::{SessionKeys, SessionRules};
use crate::auth::unknown_keys::UnknownKeys;
use crate::credits::Costs;
use crate::rate::gcra::Pace;
use crate::rest::Limits;
use crate::rest::cors::Cors;
use crate::server::{ConnectionLimits, Timeouts};

/// The settings of the gateway.
pub struct Config {
    /// How the services are called.
    pub grpc: GrpcClientConfig,
    /// Where the search service is.
    pub search_url: ServiceAddresses,
    /// Where the keys service is.
    pub keys_url: ServiceAddresses,
    /// Where the billing service is.
    pub billing_url: ServiceAddresses,
    /// Redis, for rates and announcements.
    pub redis: redis::Client,
    /// Longest that a request waits for Redis.
    pub redis_budget: Duration,
    /// The rate of an account that has none of its own.
    pub pace: Pace,
    /// What searches cost.
    pub costs: Costs,
    /// Most requests that may call one of the services at once.
    pub max_calls: usize,
    /// Bounds of a request.
    pub limits: Limits,
    /// Bounds of connections.
    pub connections: ConnectionLimits,
    /// How many unknown API keys a client address may have looked up.
    pub unknown_keys: UnknownKeys,
    /// Which web pages may ask.
    pub cors: Cors,
    /// What a session token has to say.
    pub session_rules: SessionRules,
    /// Where the keys come from that session tokens are signed with.
    pub session_keys: SessionKeys,
}

impl Config {
    /// Reads them.
    pub fn read(settings: &mut Settings) -> Self {
        let (session_rules, session_keys) = read_session(settings);
        Self {
            grpc: GrpcClientConfig::read(settings),
            search_url: settings.required(
                "search_url",
                "http://127.0.0.1:7101",
                "Address of the search service. All addresses that its name has are called, and several are given with commas between.",
            ),
            keys_url: settings.required(
                "keys_url",
                "http://127.0.0.1:7102",
                "Address of the keys service, or several.",
            ),
            billing_url: settings.required(
                "billing_url",
                "http://127.0.0.1:7103",
                "Address of the billing service, or several.",
            ),
            max_calls: settings.bounded(
                "max_calls",
                2_000,
                1..=1_000_000,
                "Most requests that call one of the services at once; what would be beyond it is answered 503 at once.",
            ),
            redis: redis_client::read(
                settings,
                "Redis, for rates and announcements: redis://:password@host:6379, or rediss://... by TLS.",
            ),
            redis_budget: settings.bounded(
                "redis_budget",
                Duration::from_millis(50),
                Duration::from_millis(1)..=Duration::from_secs(10),
                "Longest that a request waits for Redis before its rate is limited by this process alone.",
            ),
            pace: read_pace(settings),
            costs: Costs {
                search_people: settings.bounded(
                    "search_people_cost",
                    1,
                    0..=1_000_000,
                    "Credits for a successful search for people.",
                ),
                search_companies: settings.bounded(
                    "search_companies_cost",
                    1,
                    0..=1_000_000,
                    "Credits for a successful search for companies.",
                ),
            },
            limits: Limits {
                max_body_bytes: settings.bounded::<usize>(
                    "max_body_bytes",
                    1024 * 1024,
                    1..=64 * 1024 * 1024,
                    "Largest body of a request, in bytes.",
                ),
                budget: settings.bounded(
                    "request_budget",
                    Duration::from_secs(10),
                    Duration::from_millis(100)..=Duration::from_mins(5),
                    "Longest time from the head of a request to its answer.",
                ),
            },
            connections: read_connections(settings),
            unknown_keys: read_unknown_keys(settings),
            cors: read_cors(settings),
            session_rules,
            session_keys,
        }
    }
}

fn read_pace(settings: &mut Settings) -> Pace {
    let requests = settings.bounded(
        "rate_requests",
        120,
        1..=proto::rate::MAX_REQUESTS,
        "Requests of an account in rate_window.",
    );
    let window = settings.bounded(
        "rate_window",
        Duration::from_mins(1),
        proto::rate::MIN_WINDOW..=proto::rate::MAX_WINDOW,
        "Time in which rate_requests may be made.",
    );
    let window = prost_types::Duration::try_from(window).ok();
    let rate = proto::rate::check(&v1::Rate {
        requests: requests.into(),
        window,
    });
    rate.expect("both are within the bounds of a rate").into()
}

fn read_connections(settings: &mut Settings) -> ConnectionLimits {
    let times = Duration::from_millis(100)..=Duration::from_hours(1);
    ConnectionLimits {
        max_connections: settings.bounded(
            "max_connections",
            20_000,
            1..=1_000_000,
            "Most connections at once. A further one takes the place of that on which nothing has been asked for longest.",
        ),
        timeouts: Timeouts {
            head: settings.bounded(
                "head_timeout",
                Duration::from_secs(10),
                times.clone(),
                "Longest time from the first byte of a request's head to its last (HTTP/1.1).",
            ),
            idle: settings.bounded(
                "idle_timeout",
                Duration::from_secs(75),
                times.clone(),
                "Longest time that a connection stays open on which nothing is asked.",
            ),
            answer: settings.bounded(
                "answer_timeout",
                Duration::from_mins(1),
                times,
                "Longest time that a client may take to read an answer.",
            ),
        },
    }
}

fn read_unknown_keys(settings: &mut Settings) -> UnknownKeys {
    let lookups = settings.bounded(
        "unknown_keys_per_minute",
        60,
        1..=proto::rate::MAX_REQUESTS,
        "API keys in a minute that one client address (of IPv6, one network of 64 bits) may have looked up in vain; \
         beyond it, a key that has not been good within the last hour is answered 429.",
    );
    let networks = settings.value(
        "trusted_proxies",
        Vec::new(),
        "Addresses and networks of proxies that tell which client they were called by: 10.0.0.0/8,2001:db8::1. \
         Behind a proxy that is not named, all clients are one.",
    );
    let header = settings.value(
        "trusted_proxy_header",
        "X-Forwarded-For".to_owned(),
        "Header in which the trusted proxies tell it: X-Forwarded-For or Forwarded. It has to be one that they write \
         or add to themselves, not pass on.",
    );
    let header = if header.eq_ignore_ascii_case("X-Forwarded-For") {
        ForwardedHeader::XForwardedFor
    } else {
        if !header.eq_ignore_ascii_case("Forwarded") {
            settings.contradiction("trusted_proxy_header: is neither X-Forwarded-For nor Forwarded");
        }
        ForwardedHeader::Forwarded
    };
    let proxies = TrustedProxies::new(&networks, header).unwrap_or_else(|problem| {
        settings.contradiction(format!("trusted_proxies: {problem}"));
        TrustedProxies::none()
    });
    let rate = Rate::new(lookups, Duration::from_mins(1));
    UnknownKeys::new(rate.expect("it is within the bounds of a rate").into(), proxies)
}

fn read_cors(settings: &mut Settings) -> Cors {
    let origins = settings.value(
        "cors_allowed_origins",
        vec!["*".to_owned()],
        "Origins whose web pages may ask from a browser; * for all.",
    );
    Cors::new(&origins).unwrap_or_else(|problem| {
        settings.contradiction(format!("cors_allowed_origins: {problem}"));
        Cors::Any
    })
}

fn read_session(settings: &mut Settings) -> (SessionRules, SessionKeys) {
    let algorithm = settings.value(
        "session_algorithm",
        "HS256".to_owned(),
        "Algorithm of session tokens: HS256 (session_secret), RS256, ES256 or EdDSA (session_public_key or \
         session_jwks_url).",
    );
    let problems = settings.problems().len();
    let secret = settings.optional_secret(
        "session_secret",
        32,
        "Secret that session tokens are signed with.",
    );
    // One whose file can't be read is not missing.
    let is_unread = secret.is_none() && settings.problems().len() > problems;
    let previous_secret = settings.optional_secret(
        "previous_session_secret",
        32,
        "A second secret that session tokens may be signed with. To change the secret: set the new one here on every \
         gateway, then let the issuer sign with it, then swap the two, then drop the old one once its tokens have expired.",
    );
    let public_key: Option<PathBuf> = settings.optional(
        "session_public_key",
        "PEM file with the public key of session tokens.",
    );
    let jwks_url: Option<String> = settings.optional(
        "session_jwks_url",
        "Address where the issuer of session tokens publishes its keys.",
    );
    let algorithm = match algorithm.as_str() {
        "HS256" => Some(Algorithm::HS256),
        "RS256" => Some(Algorithm::RS256),
        "ES256" => Some(Algorithm::ES256),
        "EdDSA" => Some(Algorithm::EdDSA),
        _ => {
            settings.contradiction("session_algorithm: is none of HS256, RS256, ES256, EdDSA");
            None
        }
    };
    let rules = SessionRules {
        algorithm: algorithm.unwrap_or(Algorithm::HS256),
        issuer: settings.optional("session_issuer", "Issuer that session tokens have to name (iss)."),
        audience: settings.value(
            "session_audience",
            Vec::new(),
            "Audiences of which session tokens have to name one (aud); none: not looked at.",
        ),
        account_claim: settings.value(
            "session_account_claim",
            "account_id".to_owned(),
            "Claim of session tokens that holds the account; where it is not there, sub does.",
        ),
        max_lifetime: settings.optional(
            "session_max_lifetime",
            "Longest time until a session token may expire, such as 24h; none: any.",
        ),
    };
    let secrets = [secret, previous_secret];
    let keys = match algorithm {
        Some(algorithm) if !is_unread => session_keys(algorithm, secrets, public_key, jwks_url),
        // Whether the keys go with the algorithm can't be told.
        _ => Ok(SessionKeys::Fixed(Arc::new([]))),
    };
    let keys = keys.unwrap_or_else(|problem| {
        settings.contradiction(problem);
        SessionKeys::Fixed(Arc::new([]))
    });
    (rules, keys)
}

/// Exactly the one source of keys that goes with the algorithm.
fn session_keys(
    algorithm: Algorithm,
    secrets: [Option<Secret>; 2],
    public_key: Option<PathBuf>,
    jwks_url: Option<String>,
) -> Result<SessionKeys, String> {
    match (algorithm, secrets, public_key, jwks_url) {
        (Algorithm::HS256, [Some(secret), previous], None, None) => {
            let keys = std::iter::once(secret).chain(previous);
            Ok(SessionKeys::Fixed(keys.map(|secret| DecodingKey::from_secret(secret.expose().as_bytes())).collect()))
        }
        (Algorithm::HS256, ..) => {
            Err("session_algorithm HS256 needs session_secret, and neither session_public_key nor session_jwks_url".into())
        }
        (_, [None, None], Some(path), None) => {
            let pem = std::fs::read(&path)
                .map_err(|error| format!("session_public_key: {} can't be read: {error}", path.display()))?;
            let key = match algorithm {
                Algorithm::RS256 => DecodingKey::from_rsa_pem(&pem),
                Algorithm::ES256 => DecodingKey::from_ec_pem(&pem),
                _ => DecodingKey::from_ed_pem(&pem),
            };
            let key = key.map_err(|error| format!("session_public_key: is no key for {algorithm:?}: {error}"))?;
            Ok(SessionKeys::Fixed(Arc::new([key])))
        }
        (_, [None, None], None, Some(url)) => {
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return Err("session_jwks_url: is no http or https address".into());
            }
            let jwks = Jwks::new(url, algorithm).map_err(|error| format!("session_jwks_url: {error}"))?;
            Ok(SessionKeys::Published(Arc::new(jwks)))
        }
        _ => Err(format!(
            "session_algorithm {algorithm:?} needs either session_public_key or session_jwks_url, and no session_secret"
        )),
    }
}
