//! Who is asking: an API key on the searches, a session token on the keys. Neither counts for the other.

pub mod api_key;
pub mod client_address;
pub mod jwks;
pub mod key_changes;
pub mod session;
pub mod unknown_keys;

use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The credentials of all `Authorization` headers, without the scheme `Bearer` (in any case) and spaces around; none in
/// place of one that is of another scheme or no text.
fn bearer_credentials(headers: &HeaderMap) -> impl Iterator<Item = Option<&str>> {
    headers.get_all(AUTHORIZATION).iter().map(|value| {
        let (scheme, credential) = value.to_str().ok()?.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
    })
}
