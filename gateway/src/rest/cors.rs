//! Which web pages may ask from a browser. Credentials are headers that a page has to have, never cookies, so that any
//! page may ask unless it is configured otherwise.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PATCH, DELETE");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, traceparent, x-api-key, x-request-id",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "idempotency-replayed, ratelimit, ratelimit-policy, retry-after, x-ratelimit-limit, x-ratelimit-remaining, \
     x-ratelimit-reset, x-request-id",
);
const MAX_AGE_SECONDS: u64 = 7_200;

/// The origins that may ask.
#[derive(Debug)]
pub enum Cors {
    /// All.
    Any,
    /// These.
    Some(Vec<HeaderValue>),
}

impl Cors {
    /// `*`, or origins such as `https://app.example.com`; the error names the one that is none.
    pub fn new(origins: &[String]) -> Result<Self, String> {
        if origins.iter().any(|origin| origin == "*") {
            return Ok(Self::Any);
        }
        let parse = |origin: &String| {
            let is_origin = origin
                .split_once("://")
                .is_some_and(|(_, host)| !host.is_empty() && !host.contains('/'));
            HeaderValue::from_str(origin)
                .ok()
                .filter(|_| is_origin)
                .ok_or_else(|| format!("{origin:?} is no origin, such as https://app.example.com"))
        };
        origins
            .iter()
            .map(parse)
            .collect::<Result<_, _>>()
            .map(Self::Some)
    }

    /// Whether a browser asks beforehand if it may ask.
    #[must_use]
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Answers a preflight.
    pub fn write_preflight(&self, headers: &mut HeaderMap) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECONDS.into());
    }

    /// Tells a browser whether the page of this origin may read the response.
    pub fn write(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        match self {
            Self::Any => {
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            }
            Self::Some(origins) => {
                headers.append(VARY, HeaderValue::from_static("origin"));
                let Some(origin) = origin.filter(|origin| origins.contains(origin)) else {
                    return;
                };
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            }
        }
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_origins() {
        assert!(matches!(Cors::new(&["*".to_owned()]), Ok(Cors::Any)));
        assert!(
            Cors::new(&[
                "https://app.example.com".to_owned(),
                "http://localhost:3000".to_owned()
            ])
            .is_ok()
        );
        for origin in [
            "app.example.com",
            "https://",
            "https://app.example.com/",
            "https://\n",
        ] {
            assert!(Cors::new(&[origin.to_owned()]).is_err(), "{origin:?}");
        }
    }

    #[test]
    fn a_page_of_another_origin_may_not_read() {
        let cors = Cors::new(&["https://app.example.com".to_owned()]).unwrap();
        let told = |origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            cors.write(origin.map(HeaderValue::from_static).as_ref(), &mut headers);
            assert_eq!(headers["vary"], "origin");
            headers.get(ACCESS_CONTROL_ALLOW_ORIGIN).cloned()
        };
        assert_eq!(
            told(Some("https://app.example.com")).unwrap(),
            "https://app.example.com"
        );
        assert_eq!(told(Some("https://evil.example.com")), None);
        assert_eq!(told(None), None);
    }
}
