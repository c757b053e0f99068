//! The reference at `/docs`: one page, the guides beside it and what shows both, all of it in this binary
//! (`gateway/docs/README.md`).
//!
//! What could go wrong, and what is done about it:
//! - The page runs a script of others on the origin of the API: a policy ([`policy`]) lets it ask this gateway and nobody
//!   else, and run no text as code. No credential is kept by the browser for this origin, so there is none to take.
//! - The script is large: it is kept compressed, and unpacked once if a client ever asks for it as it is. Its version is in
//!   its address, so that browsers keep it; all else is asked for anew, and answered 304 as long as it is the same.

use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proto::error_code::ErrorCode;
use sha2::{Digest as _, Sha256};

use super::Gateway;
use crate::error::ApiError;

/// Where the page is; all that it is made of is below.
pub const PATH: &str = "/docs";

const PAGE: &str = include_str!("../../docs/page.html");

/// Version of Scalar, which is in the address of its script.
const SCALAR_VERSION: &str = include_str!("../../docs/scalar/VERSION").trim_ascii();

/// The script of Scalar, compressed.
const SCALAR: &[u8] = include_bytes!("../../docs/scalar/scalar.js.gz");

/// The same as it is.
static SCALAR_UNPACKED: LazyLock<Option<Bytes>> = LazyLock::new(|| {
    let mut script = Vec::new();
    let unpacked = GzDecoder::new(SCALAR).read_to_end(&mut script);
    unpacked.ok().map(|_| Bytes::from(script))
});

/// A file that is served as it is.
#[derive(Clone, Copy)]
struct File {
    /// Below [`PATH`].
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

/// A guide.
const fn guide(path: &'static str, text: &'static str) -> File {
    File {
        path,
        media_type: "text/markdown; charset=utf-8",
        text,
    }
}

const FILES: [File; 12] = [
    File {
        path: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("../../docs/page.js"),
    },
    File {
        path: "/page.css",
        media_type: "text/css; charset=utf-8",
        text: include_str!("../../docs/page.css"),
    },
    File {
        path: "/icon.svg",
        media_type: "image/svg+xml",
        text: include_str!("../../docs/icon.svg"),
    },
    guide(
        "/guides/authentication.md",
        include_str!("../../docs/guides/authentication.md"),
    ),
    guide("/guides/filters.md", include_str!("../../docs/guides/filters.md")),
    guide("/guides/places.md", include_str!("../../docs/guides/places.md")),
    guide(
        "/guides/suggestions.md",
        include_str!("../../docs/guides/suggestions.md"),
    ),
    guide("/guides/paging.md", include_str!("../../docs/guides/paging.md")),
    guide("/guides/credits.md", include_str!("../../docs/guides/credits.md")),
    guide("/guides/limits.md", include_str!("../../docs/guides/limits.md")),
    guide("/guides/errors.md", include_str!("../../docs/guides/errors.md")),
    guide(
        "/guides/changelog.md",
        include_str!("../../docs/guides/changelog.md"),
    ),
];

/// Kept, and asked for anew each time.
const REVALIDATED: HeaderValue = HeaderValue::from_static("no-cache");

/// Kept for a year without a question.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// The paths of the reference, and the ways to it.
pub fn router() -> Router<Arc<Gateway>> {
    let mut router = Router::new()
        .route("/", get(to_page))
        .route(&format!("{PATH}/"), get(to_page))
        .route(PATH, get(page))
        .route(&scalar_path(), get(scalar));
    for file in FILES {
        let tag = tag(file.text.as_bytes());
        let serve = move |headers: HeaderMap| async move { serve(&file, &tag, &headers) };
        router = router.route(&format!("{PATH}{}", file.path), get(serve));
    }
    router
}

/// The guides: what each is called, and where it is.
pub fn guides() -> impl Iterator<Item = (&'static str, String)> {
    FILES.iter().filter_map(|file| {
        let title = file.text.lines().next()?.strip_prefix("# ")?;
        Some((title, format!("{PATH}{}", file.path)))
    })
}

fn scalar_path() -> String {
    format!("{PATH}/scalar-{SCALAR_VERSION}.js")
}

async fn to_page() -> Redirect {
    Redirect::temporary(PATH)
}

/// The page itself, which is another one each time: its policy holds a word that is good for this once.
async fn page(State(gateway): State<Arc<Gateway>>) -> Response {
    let mut random = [0; 16];
    gateway.ambient.fill(&mut random);
    let nonce = format!("{:032x}", u128::from_be_bytes(random));
    let text = PAGE
        .replace("{nonce}", &nonce)
        .replace("{scalar}", &scalar_path());
    let Ok(policy) = HeaderValue::from_str(&policy(&nonce)) else {
        return ApiError::new(ErrorCode::Internal).into_response();
    };
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, NOSNIFF),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (
            CROSS_ORIGIN_OPENER_POLICY,
            HeaderValue::from_static("same-origin"),
        ),
    ];
    (headers, text).into_response()
}

/// What the page may do. Attributes may style, since what Scalar writes into them can't be foretold: they can neither run
/// anything nor ask anybody.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
         style-src-elem 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

fn serve(file: &File, tag: &HeaderValue, asked: &HeaderMap) -> Response {
    let media_type = HeaderValue::from_static(file.media_type);
    let text = Bytes::from_static(file.text.as_bytes());
    answer(tag, REVALIDATED, media_type, text, asked)
}

async fn scalar(asked: HeaderMap) -> Response {
    let media_type = HeaderValue::from_static("text/javascript; charset=utf-8");
    let mut response = if takes_gzip(&asked) {
        let tag = format!("\"{SCALAR_VERSION}-gzip\"");
        let mut response = versioned(&tag, media_type, Bytes::from_static(SCALAR), &asked);
        response
            .headers_mut()
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response
    } else if let Some(script) = &*SCALAR_UNPACKED {
        versioned(
            &format!("\"{SCALAR_VERSION}\""),
            media_type,
            script.clone(),
            &asked,
        )
    } else {
        return ApiError::new(ErrorCode::Internal).into_response();
    };
    response
        .headers_mut()
        .append(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn versioned(tag: &str, media_type: HeaderValue, body: Bytes, asked: &HeaderMap) -> Response {
    HeaderValue::from_str(tag).map_or_else(
        |_| ApiError::new(ErrorCode::Internal).into_response(),
        |tag| answer(&tag, KEPT, media_type, body, asked),
    )
}

/// The body, or that it is still the same.
fn answer(
    tag: &HeaderValue,
    lifetime: HeaderValue,
    media_type: HeaderValue,
    body: Bytes,
    asked: &HeaderMap,
) -> Response {
    let headers = [
        (ETAG, tag.clone()),
        (CACHE_CONTROL, lifetime),
        (X_CONTENT_TYPE_OPTIONS, NOSNIFF),
    ];
    if is_known(tag, asked) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(CONTENT_TYPE, media_type)], body).into_response()
}

/// Tells one text from another.
fn tag(text: &[u8]) -> HeaderValue {
    let hash: [u8; 32] = Sha256::digest(text).into();
    let (start, _) = hash.split_at(16);
    let number = start
        .iter()
        .fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    // Digits in quotes are a header's value.
    HeaderValue::from_str(&format!("\"{number:032x}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the client says that it has what has this tag.
fn is_known(tag: &HeaderValue, asked: &HeaderMap) -> bool {
    listed(asked, &IF_NONE_MATCH).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// Whether the client can unpack what is compressed by gzip.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let weight = |name: &str| {
        listed(asked, &ACCEPT_ENCODING).find_map(|coding| {
            let (coding, parameters) = coding.split_once(';').unwrap_or((coding, "q=1"));
            coding.trim().eq_ignore_ascii_case(name).then(|| {
                parameters
                    .trim()
                    .trim_start_matches("q=")
                    .parse()
                    .unwrap_or(0.0_f32)
            })
        })
    };
    weight("gzip")
        .or_else(|| weight("*"))
        .is_some_and(|weight| weight > 0.0)
}

/// The members of a header that is a list.
fn listed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

#[cfg(test)]
mod tests;
