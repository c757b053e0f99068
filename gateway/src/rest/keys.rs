//! The five operations on API keys, for the account of a session token.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, State};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use proto::error_code::ErrorCode;
use proto::keys::v1::{
    ApiKey, CreateKeyRequest, ListKeysRequest, RegenerateKeyRequest, RenameKeyRequest, RevokeKeyRequest,
};
use serde::Serialize;
use tonic::Status;
use utoipa::ToSchema;

use super::Gateway;
use super::envelope::ACCOUNT_FIELD;
use crate::body::key_body;
use crate::error::ApiError;
use crate::row::rfc3339;

/// What is said with the secret of a new key.
pub(super) const CREATED: &str = "Keep the secret now: it is not shown again";

/// What is said with the new secret of a key.
pub(super) const REGENERATED: &str =
    "Keep the new secret now: it is not shown again, and the one before has stopped working";

/// What is said when a key is revoked.
pub(super) const REVOKED: &str = "Key revoked";

/// An API key without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyPublic {
    /// Id of the key.
    #[schema(format = Uuid, example = "0198c2d4-7a10-7c3e-9f52-3b1d8e6f4a20")]
    pub id: String,
    /// Its name.
    #[schema(min_length = 1, example = "Production")]
    pub name: String,
    /// What its secret begins with: `dsk_` and the next 8 characters.
    #[schema(example = "dsk_01234567")]
    pub key_prefix: String,
    /// When it was made.
    #[schema(format = DateTime, example = "2026-11-28T09:30:00.000Z")]
    pub created_at: String,
    /// When its secret was last used, at most 60 s behind; null if never.
    #[schema(required = true, format = DateTime)]
    pub last_used_at: Option<String>,
    /// When it was revoked; null while it is active.
    #[schema(required = true, format = DateTime)]
    pub revoked_at: Option<String>,
    /// Whether it can be used.
    pub active: bool,
}

/// All keys of the account.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyList {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// Newest first, revoked ones too.
    pub keys: Vec<ApiKeyPublic>,
}

/// A key with its secret, which is told here and never again.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyCreated {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// The key.
    pub key: ApiKeyPublic,
    /// The full API key.
    #[schema(example = "dsk_0123456789ABCDEFGHIJKLMNOPQRSTUV0lYb4h")]
    pub secret: String,
    /// What to do with it.
    pub message: String,
}

/// A key renamed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyRenamed {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// The key.
    pub key: ApiKeyPublic,
}

/// A key revoked.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyRevoked {
    /// Always `true`.
    #[schema(example = true)]
    pub success: bool,
    /// The key, with the time of its first revocation.
    pub key: ApiKeyPublic,
    /// `Key revoked`.
    #[schema(example = "Key revoked")]
    pub message: String,
}

/// Lists the keys.
pub async fn list(
    State(gateway): State<Arc<Gateway>>,
    Session(account_id): Session,
) -> Result<Json<ApiKeyList>, ApiError> {
    let request = ListKeysRequest { account_id };
    let service = gateway.upstreams.keys.enter()?;
    let answer = service.call_repeatable(gateway.deadline(), request, async |mut client, request| {
        client.list_keys(request).await
    });
    let keys = answer
        .await?
        .keys
        .into_iter()
        .map(|key| public(Some(key)))
        .collect::<Result<_, _>>()?;
    Ok(Json(ApiKeyList { success: true, keys }))
}

/// Makes a key.
pub async fn create(
    State(gateway): State<Arc<Gateway>>,
    Session(account_id): Session,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<ApiKeyCreated>), ApiError> {
    let deadline = gateway.deadline();
    let bytes = gateway.bodies.read(&headers, body, deadline).await?;
    let name = key_body::parse_create(&bytes).map_err(ApiError::invalid)?;
    let request = CreateKeyRequest { account_id, name };
    let service = gateway.upstreams.keys.enter()?;
    // Not repeated: a key that nobody knows of would be left behind.
    let answer = service.call(deadline, request, async |mut client, request| {
        client.create_key(request).await
    });
    let answer = answer.await?;
    Ok((
        StatusCode::CREATED,
        Json(with_secret(answer.key, answer.secret, CREATED)?),
    ))
}

/// Renames a key.
pub async fn rename(
    State(gateway): State<Arc<Gateway>>,
    Session(account_id): Session,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ApiKeyRenamed>, ApiError> {
    let deadline = gateway.deadline();
    let bytes = gateway.bodies.read(&headers, body, deadline).await?;
    let name = key_body::parse_rename(&bytes).map_err(ApiError::invalid)?;
    let request = RenameKeyRequest {
        account_id,
        key_id: key_id(id)?,
        name,
    };
    let service = gateway.upstreams.keys.enter()?;
    let answer = service.call_repeatable(deadline, request, async |mut client, request| {
        client.rename_key(request).await
    });
    Ok(Json(ApiKeyRenamed {
        success: true,
        key: public(answer.await?.key)?,
    }))
}

/// Revokes a key.
pub async fn revoke(
    State(gateway): State<Arc<Gateway>>,
    Session(account_id): Session,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ApiKeyRevoked>, ApiError> {
    let request = RevokeKeyRequest {
        account_id,
        key_id: key_id(id)?,
    };
    let service = gateway.upstreams.keys.enter()?;
    let answer = service.call_repeatable(gateway.deadline(), request, async |mut client, request| {
        client.revoke_key(request).await
    });
    let key = public(answer.await?.key)?;
    Ok(Json(ApiKeyRevoked {
        success: true,
        key,
        message: REVOKED.to_owned(),
    }))
}

/// Replaces the secret of a key.
pub async fn regenerate(
    State(gateway): State<Arc<Gateway>>,
    Session(account_id): Session,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ApiKeyCreated>, ApiError> {
    let request = RegenerateKeyRequest {
        account_id,
        key_id: key_id(id)?,
    };
    let service = gateway.upstreams.keys.enter()?;
    // Not repeated: a secret that was replaced meanwhile may already be in use.
    let answer = service.call(gateway.deadline(), request, async |mut client, request| {
        client.regenerate_key(request).await
    });
    let answer = answer.await?;
    Ok(Json(with_secret(answer.key, answer.secret, REGENERATED)?))
}

/// The account of the request's session token. Every operation begins with it and works on this account alone.
pub struct Session(String);

impl FromRequestParts<Arc<Gateway>> for Session {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, gateway: &Arc<Gateway>) -> Result<Self, ApiError> {
        let account_id = gateway.sessions.authenticate(&parts.headers).await?;
        tracing::Span::current().record(ACCOUNT_FIELD, account_id.as_str());
        Ok(Self(account_id.as_str().to_owned()))
    }
}

/// An id that can't even be read is nobody's.
fn key_id(id: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    id.map(|Path(id)| id)
        .map_err(|_| ApiError::new(ErrorCode::KeyNotFound))
}

fn with_secret(key: Option<ApiKey>, secret: String, message: &str) -> Result<ApiKeyCreated, ApiError> {
    Ok(ApiKeyCreated {
        success: true,
        key: public(key)?,
        secret,
        message: message.to_owned(),
    })
}

/// An answer without its key, or a key without its time of creation, breaks the keys service's contract.
fn public(key: Option<ApiKey>) -> Result<ApiKeyPublic, ApiError> {
    let complete = key.and_then(|key| {
        key.created_at
            .and_then(rfc3339)
            .map(|created_at| (key, created_at))
    });
    let (key, created_at) =
        complete.ok_or_else(|| Status::internal("the keys service's answer has no whole key"))?;
    let revoked_at = key.revoked_at.and_then(rfc3339);
    Ok(ApiKeyPublic {
        id: key.id,
        name: key.name,
        key_prefix: key.key_prefix,
        created_at,
        last_used_at: key.last_used_at.and_then(rfc3339),
        active: revoked_at.is_none(),
        revoked_at,
    })
}
