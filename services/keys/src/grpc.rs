//! `keys.v1` in and out: messages to plain values, refusals to `Status`.

use chrono::{DateTime, Utc};
use proto::account::{self, AccountId};
use proto::error_code::ErrorCode;
use proto::key::{DEFAULT_NAME, check_name};
use proto::keys::v1::key_service_server::{KeyService, KeyServiceServer};
use proto::keys::v1::{
    ApiKey, CreateKeyRequest, CreateKeyResponse, GetRateRequest, GetRateResponse, ListKeysRequest,
    ListKeysResponse, RegenerateKeyRequest, RegenerateKeyResponse, RenameKeyRequest, RenameKeyResponse,
    RevokeKeyRequest, RevokeKeyResponse, SetRateRequest, SetRateResponse, VerifiedKey, VerifyKeyRequest,
    VerifyKeyResponse,
};
use proto::violation::{self, Violation};
use proto::{FILE_DESCRIPTOR_SET, rate};
use runtime::grpc_server::GrpcService;
use runtime::process::with_causes;
use runtime::service_token::Scope;
use tonic::service::Routes;
use tonic::{Request, Response, Status};

use crate::key::{Key, KeyId};
use crate::keys::{Keys, KeysError};
use crate::store::StoreError;

/// The service as the runtime serves it.
#[must_use]
pub fn service(keys: Keys) -> GrpcService {
    GrpcService {
        routes: Routes::new(KeyServiceServer::new(Api { keys })),
        descriptors: FILE_DESCRIPTOR_SET,
        scope_of,
        names: &["keys.v1.KeyService"],
    }
}

fn scope_of(path: &str) -> Option<Scope> {
    match path.strip_prefix("/keys.v1.KeyService/")? {
        "ListKeys" | "CreateKey" | "RenameKey" | "RevokeKey" | "RegenerateKey" => Some(Scope::Keys),
        "VerifyKey" => Some(Scope::Verify),
        "GetRate" | "SetRate" => Some(Scope::Admin),
        _ => None,
    }
}

/// The methods.
struct Api {
    keys: Keys,
}

#[tonic::async_trait]
impl KeyService for Api {
    async fn list_keys(
        &self,
        request: Request<ListKeysRequest>,
    ) -> Result<Response<ListKeysResponse>, Status> {
        let account = read_account(&request.into_inner().account_id)?;
        let keys = self.keys.list(&account).await?;
        let keys = keys.into_iter().map(ApiKey::from).collect();
        Ok(Response::new(ListKeysResponse { keys }))
    }

    async fn create_key(
        &self,
        request: Request<CreateKeyRequest>,
    ) -> Result<Response<CreateKeyResponse>, Status> {
        let request = request.into_inner();
        let name = request.name.as_deref().unwrap_or(DEFAULT_NAME);
        let (account, name) = read_with_account(&request.account_id, read_name(name))?;
        let (key, secret) = self.keys.create(account, name).await?;
        Ok(Response::new(CreateKeyResponse {
            key: Some(key.into()),
            secret: secret.expose().to_owned(),
        }))
    }

    async fn rename_key(
        &self,
        request: Request<RenameKeyRequest>,
    ) -> Result<Response<RenameKeyResponse>, Status> {
        let request = request.into_inner();
        let (account, name) = read_with_account(&request.account_id, read_name(&request.name))?;
        let id = read_key_id(&request.key_id)?;
        let key = self.keys.rename(account, id, name).await?;
        Ok(Response::new(RenameKeyResponse {
            key: Some(key.into()),
        }))
    }

    async fn revoke_key(
        &self,
        request: Request<RevokeKeyRequest>,
    ) -> Result<Response<RevokeKeyResponse>, Status> {
        let request = request.into_inner();
        let account = read_account(&request.account_id)?;
        let id = read_key_id(&request.key_id)?;
        let key = self.keys.revoke(account, id).await?;
        Ok(Response::new(RevokeKeyResponse {
            key: Some(key.into()),
        }))
    }

    async fn regenerate_key(
        &self,
        request: Request<RegenerateKeyRequest>,
    ) -> Result<Response<RegenerateKeyResponse>, Status> {
        let request = request.into_inner();
        let account = read_account(&request.account_id)?;
        let id = read_key_id(&request.key_id)?;
        let (key, secret) = self.keys.regenerate(account, id).await?;
        Ok(Response::new(RegenerateKeyResponse {
            key: Some(key.into()),
            secret: secret.expose().to_owned(),
        }))
    }

    async fn verify_key(
        &self,
        request: Request<VerifyKeyRequest>,
    ) -> Result<Response<VerifyKeyResponse>, Status> {
        let found = self.keys.verify(&request.into_inner().secret).await?;
        let key = found.map(|found| VerifiedKey {
            key_id: found.id.to_string(),
            account_id: found.account_id,
            rate: found.rate.map(Into::into),
        });
        Ok(Response::new(VerifyKeyResponse { key }))
    }

    async fn get_rate(&self, request: Request<GetRateRequest>) -> Result<Response<GetRateResponse>, Status> {
        let account = read_account(&request.into_inner().account_id)?;
        let rate = self.keys.rate(&account).await?.map(Into::into);
        Ok(Response::new(GetRateResponse { rate }))
    }

    async fn set_rate(&self, request: Request<SetRateRequest>) -> Result<Response<SetRateResponse>, Status> {
        let request = request.into_inner();
        let rate = request.rate.as_ref().map(rate::check).transpose();
        let (account, rate) = read_with_account(&request.account_id, rate)?;
        self.keys.set_rate(account, rate).await?;
        Ok(Response::new(SetRateResponse {}))
    }
}

fn read_account(id: &str) -> Result<AccountId, Status> {
    account::check(id).map_err(|violation| violation::to_status(&[violation]))
}

fn read_key_id(id: &str) -> Result<KeyId, KeysError> {
    KeyId::parse(id).ok_or(KeysError::NotFound)
}

fn read_name(name: &str) -> Result<String, Vec<Violation>> {
    check_name(name).map_err(|violation| vec![violation])
}

/// The account and what else was read of a request, or everything that is wrong with either.
fn read_with_account<T>(id: &str, other: Result<T, Vec<Violation>>) -> Result<(AccountId, T), Status> {
    match (account::check(id), other) {
        (Ok(account), Ok(other)) => Ok((account, other)),
        (account, other) => {
            let violations: Vec<_> = account
                .err()
                .into_iter()
                .chain(other.err().into_iter().flatten())
                .collect();
            Err(violation::to_status(&violations))
        }
    }
}

impl From<Key> for ApiKey {
    fn from(key: Key) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name,
            key_prefix: key.prefix,
            created_at: Some(timestamp(key.created_at)),
            last_used_at: key.last_used_at.map(timestamp),
            revoked_at: key.revoked_at.map(timestamp),
        }
    }
}

fn timestamp(time: DateTime<Utc>) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: time.timestamp(),
        nanos: i32::try_from(time.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

impl From<KeysError> for Status {
    fn from(error: KeysError) -> Self {
        match &error {
            KeysError::NotFound => ErrorCode::KeyNotFound.status("There is no such key"),
            KeysError::Revoked => ErrorCode::KeyRevoked.status("The key is revoked"),
            KeysError::LimitReached { max_active_keys } => ErrorCode::KeyLimitReached.status(format!(
                "The account has {max_active_keys} active keys, which is the most it may have: revoke one first"
            )),
            KeysError::Store(StoreError::Unavailable(_)) => {
                tracing::warn!(error = with_causes(&error), "the database is not available");
                ErrorCode::Unavailable.status("The keys can't be reached at present")
            }
            KeysError::Store(StoreError::Refused(_)) | KeysError::BrokenOff(_) => {
                tracing::error!(error = with_causes(&error), "a call has failed");
                ErrorCode::Internal.status("Something went wrong with the keys")
            }
        }
    }
}
