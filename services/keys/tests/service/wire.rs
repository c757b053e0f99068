//! `keys.v1` as a caller sees it, over a real connection.

use chrono::TimeDelta;
use keys::config::KeysConfig;
use keys::grpc;
use proto::error_code::ErrorCode;
use proto::keys::v1::key_service_client::KeyServiceClient;
use proto::keys::v1::{
    CreateKeyRequest, GetRateRequest, ListKeysRequest, Rate, RegenerateKeyRequest, RenameKeyRequest,
    RevokeKeyRequest, SetRateRequest, VerifyKeyRequest,
};
use proto::violation;
use runtime::grpc_server;
use runtime::process::{self, Process};
use runtime::readiness::Readiness;
use runtime::settings::Settings;
use runtime::shutdown::Shutdown;
use sqlx::PgPool;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::fixture::{keys, start, until};

const TOKENS: [&str; 4] = ["keys", "verify", "admin", "search"];

/// A served service, and a client of it that shows the token for one scope.
struct Served {
    client: KeyServiceClient<Channel>,
    shutdown: Shutdown,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

fn token(scope: &str) -> String {
    format!("a-token-for-{scope}-long-enough")
}

fn with<T>(scope: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let bearer = format!("Bearer {}", token(scope));
    request
        .metadata_mut()
        .insert("authorization", bearer.parse().unwrap());
    request
}

async fn serve(pool: &PgPool) -> Served {
    let tokens = TOKENS
        .map(|scope| format!("tester-{scope}:{scope}:{}", token(scope)))
        .join(",");
    let environment = [
        ("DATABASE_URL", "postgres://localhost/unused"),
        ("REDIS_URL", "redis://localhost"),
        ("PEPPER", "a pepper of thirty-two characters"),
        ("SERVICE_TOKENS", &tokens),
    ]
    .map(|(name, value)| (format!("DS_KEYS__{name}"), value.to_owned()));
    let (mut settings, _) = Settings::read("keys", [], environment);
    let config = KeysConfig::read(&mut settings);
    settings.finish().unwrap();
    let keys = keys(pool);
    let socket = process::bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    let shutdown = keys.shutdown.clone();
    let ambient = keys.ambient.clone();
    let readiness = Readiness::default();
    let process = Process::new(socket, ambient, readiness.clone(), shutdown.clone());
    shutdown.spawn(async move {
        grpc_server::serve(process, config.grpc, grpc::service(keys))
            .await
            .unwrap();
    });
    until("it serves", async || readiness.is_ready()).await;
    let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
    Served {
        client: KeyServiceClient::new(channel),
        shutdown,
    }
}

/// Calls a method with a token for this scope.
macro_rules! call {
    ($served:expr, $scope:expr, $method:ident, $message:expr) => {
        $served
            .client
            .$method(with($scope, $message))
            .await
            .map(|response| response.into_inner())
    };
}

fn create_request(name: Option<&str>) -> CreateKeyRequest {
    CreateKeyRequest {
        account_id: "acme".to_owned(),
        name: name.map(str::to_owned),
    }
}

#[sqlx::test]
async fn the_life_of_a_key(pool: PgPool) {
    let mut served = serve(&pool).await;
    let account_id = || "acme".to_owned();
    let created = call!(served, "keys", create_key, create_request(None)).unwrap();
    let key = created.key.unwrap();
    assert_eq!(key.name, "API key");
    assert_eq!(key.key_prefix, created.secret[..12]);
    assert_eq!(key.created_at.unwrap().seconds, start().timestamp());
    assert_eq!((key.last_used_at, key.revoked_at), (None, None));
    let key_id = || key.id.clone();

    let request = RenameKeyRequest {
        account_id: account_id(),
        key_id: key_id(),
        name: "  another name ".to_owned(),
    };
    let renamed = call!(served, "keys", rename_key, request).unwrap().key.unwrap();
    assert_eq!(renamed.name, "another name");

    let verify = |secret: &str| VerifyKeyRequest {
        secret: secret.to_owned(),
    };
    let verified = call!(served, "verify", verify_key, verify(&created.secret))
        .unwrap()
        .key
        .unwrap();
    assert_eq!((verified.key_id, verified.account_id), (key_id(), account_id()));
    assert_eq!(verified.rate, None);

    let request = RegenerateKeyRequest {
        account_id: account_id(),
        key_id: key_id(),
    };
    let regenerated = call!(served, "keys", regenerate_key, request.clone()).unwrap();
    assert_eq!(regenerated.key.unwrap().key_prefix, regenerated.secret[..12]);
    assert_eq!(
        call!(served, "verify", verify_key, verify(&created.secret))
            .unwrap()
            .key,
        None
    );

    let revoke = RevokeKeyRequest {
        account_id: account_id(),
        key_id: key_id(),
    };
    let revoked = call!(served, "keys", revoke_key, revoke.clone())
        .unwrap()
        .key
        .unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(
        call!(served, "keys", revoke_key, revoke).unwrap().key,
        Some(revoked.clone())
    );
    assert_eq!(
        call!(served, "verify", verify_key, verify(&regenerated.secret))
            .unwrap()
            .key,
        None
    );
    let refused = call!(served, "keys", regenerate_key, request).unwrap_err();
    assert_eq!(ErrorCode::of(&refused), ErrorCode::KeyRevoked);

    let request = ListKeysRequest {
        account_id: account_id(),
    };
    assert_eq!(call!(served, "keys", list_keys, request).unwrap().keys, [revoked]);
}

#[sqlx::test]
async fn the_rate_of_an_account(pool: PgPool) {
    let mut served = serve(&pool).await;
    let account_id = || "acme".to_owned();
    let secret = call!(served, "keys", create_key, create_request(None))
        .unwrap()
        .secret;
    let window = prost_types::Duration {
        seconds: 90,
        nanos: 5_000_000,
    };
    let rate = Rate {
        requests: 3,
        window: Some(window),
    };
    let get = || GetRateRequest {
        account_id: account_id(),
    };
    assert_eq!(call!(served, "admin", get_rate, get()).unwrap().rate, None);
    let request = SetRateRequest {
        account_id: account_id(),
        rate: Some(rate),
    };
    call!(served, "admin", set_rate, request).unwrap();
    assert_eq!(call!(served, "admin", get_rate, get()).unwrap().rate, Some(rate));
    let verified = call!(served, "verify", verify_key, VerifyKeyRequest { secret }).unwrap();
    assert_eq!(verified.key.unwrap().rate, Some(rate));
    call!(
        served,
        "admin",
        set_rate,
        SetRateRequest {
            account_id: account_id(),
            rate: None
        }
    )
    .unwrap();
    assert_eq!(call!(served, "admin", get_rate, get()).unwrap().rate, None);
}

fn told(status: &Status) -> Vec<String> {
    assert_eq!(ErrorCode::of(status), ErrorCode::ValidationError);
    violation::from_status(status)
        .iter()
        .map(|violation| format!("{} {}", violation.field(), violation.code.as_str()))
        .collect()
}

#[sqlx::test]
async fn everything_that_is_wrong_with_a_request_is_told(pool: PgPool) {
    let mut served = serve(&pool).await;
    let long = || "a".repeat(129);
    let request = CreateKeyRequest {
        account_id: String::new(),
        name: Some(" ".to_owned()),
    };
    let refused = call!(served, "keys", create_key, request).unwrap_err();
    assert_eq!(told(&refused), ["accountId missing", "name too_small"]);
    for (name, code) in [
        ("a\0b", "invalid_value"),
        (&long()[..101], "too_long"),
        ("\n", "too_small"),
    ] {
        let refused = call!(served, "keys", create_key, create_request(Some(name))).unwrap_err();
        assert_eq!(told(&refused), [format!("name {code}")]);
        let request = RenameKeyRequest {
            account_id: long(),
            key_id: "no id".to_owned(),
            name: name.to_owned(),
        };
        let refused = call!(served, "keys", rename_key, request).unwrap_err();
        assert_eq!(
            told(&refused),
            ["accountId too_long".to_owned(), format!("name {code}")]
        );
    }
    let (account_id, key_id) = ("a\nb".to_owned(), String::new());
    let request = RevokeKeyRequest {
        account_id: account_id.clone(),
        key_id: key_id.clone(),
    };
    let revoke = call!(served, "keys", revoke_key, request).unwrap_err();
    let request = RegenerateKeyRequest {
        account_id: account_id.clone(),
        key_id,
    };
    let regenerate = call!(served, "keys", regenerate_key, request).unwrap_err();
    let list = call!(
        served,
        "keys",
        list_keys,
        ListKeysRequest {
            account_id: account_id.clone()
        }
    )
    .unwrap_err();
    let get = call!(
        served,
        "admin",
        get_rate,
        GetRateRequest {
            account_id: account_id.clone()
        }
    )
    .unwrap_err();
    for refused in [revoke, regenerate, list, get] {
        assert_eq!(told(&refused), ["accountId invalid_value"]);
    }
    let rate = Some(Rate {
        requests: 1_000_001,
        window: None,
    });
    let refused = call!(served, "admin", set_rate, SetRateRequest { account_id, rate }).unwrap_err();
    assert_eq!(
        told(&refused),
        [
            "accountId invalid_value",
            "rate.requests too_big",
            "rate.window missing"
        ]
    );
}

#[sqlx::test]
async fn ids_of_others_unknown_and_malformed_are_refused_alike(pool: PgPool) {
    let mut served = serve(&pool).await;
    let own = call!(served, "keys", create_key, create_request(None))
        .unwrap()
        .key
        .unwrap()
        .id;
    let mut told = std::collections::HashSet::new();
    let (simple, upper) = (own.replace('-', ""), own.to_uppercase());
    for (account_id, key_id) in [
        ("other", own.as_str()),
        ("acme", "019756f3-0000-7000-8000-000000000000"),
        ("acme", ""),
        ("acme", "no id"),
        ("acme", "a\0b"),
        ("acme", &simple),
        ("acme", &upper),
    ] {
        let (account_id, key_id) = (account_id.to_owned(), key_id.to_owned());
        let rename = RenameKeyRequest {
            account_id: account_id.clone(),
            key_id: key_id.clone(),
            name: "x".to_owned(),
        };
        let revoke = RevokeKeyRequest {
            account_id: account_id.clone(),
            key_id: key_id.clone(),
        };
        let regenerate = RegenerateKeyRequest { account_id, key_id };
        let rename = call!(served, "keys", rename_key, rename).unwrap_err();
        let revoke = call!(served, "keys", revoke_key, revoke).unwrap_err();
        let regenerate = call!(served, "keys", regenerate_key, regenerate).unwrap_err();
        for status in [rename, revoke, regenerate] {
            assert_eq!(ErrorCode::of(&status), ErrorCode::KeyNotFound);
            told.insert((status.code(), status.message().to_owned()));
        }
    }
    assert_eq!(told.len(), 1, "{told:?}");
}

#[sqlx::test]
async fn a_token_covers_the_methods_of_its_scope_alone(pool: PgPool) {
    let mut served = serve(&pool).await;
    for scope in TOKENS {
        let results = [
            (
                "keys",
                call!(served, scope, list_keys, ListKeysRequest::default()).err(),
            ),
            (
                "keys",
                call!(served, scope, create_key, CreateKeyRequest::default()).err(),
            ),
            (
                "keys",
                call!(served, scope, rename_key, RenameKeyRequest::default()).err(),
            ),
            (
                "keys",
                call!(served, scope, revoke_key, RevokeKeyRequest::default()).err(),
            ),
            (
                "keys",
                call!(served, scope, regenerate_key, RegenerateKeyRequest::default()).err(),
            ),
            (
                "verify",
                call!(served, scope, verify_key, VerifyKeyRequest::default()).err(),
            ),
            (
                "admin",
                call!(served, scope, get_rate, GetRateRequest::default()).err(),
            ),
            (
                "admin",
                call!(served, scope, set_rate, SetRateRequest::default()).err(),
            ),
        ];
        for (needed, refused) in results {
            let is_denied = refused.is_some_and(|status| status.code() == Code::PermissionDenied);
            assert_eq!(is_denied, needed != scope, "{needed} with {scope}");
        }
    }
    let bare = served
        .client
        .verify_key(VerifyKeyRequest::default())
        .await
        .unwrap_err();
    assert_eq!(bare.code(), Code::Unauthenticated);
}

#[sqlx::test]
async fn the_limit_and_a_database_that_is_away_have_their_codes(pool: PgPool) {
    let mut served = serve(&pool).await;
    for _ in 0..50 {
        call!(served, "keys", create_key, create_request(None)).unwrap();
    }
    let refused = call!(served, "keys", create_key, create_request(None)).unwrap_err();
    assert_eq!(ErrorCode::of(&refused), ErrorCode::KeyLimitReached);
    assert!(refused.message().contains("50"));
    let secret = keys::secret::generate(&runtime::ambient::Ambient::fixed(start() + TimeDelta::days(1), 9));
    pool.close().await;
    let refused = call!(served, "keys", create_key, create_request(None)).unwrap_err();
    assert_eq!(ErrorCode::of(&refused), ErrorCode::Unavailable);
    let request = VerifyKeyRequest {
        secret: secret.expose().to_owned(),
    };
    let refused = call!(served, "verify", verify_key, request).unwrap_err();
    assert_eq!(ErrorCode::of(&refused), ErrorCode::Unavailable);
    assert!(!format!("{refused:?}").contains(&secret.expose()[12..]));
}
