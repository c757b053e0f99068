//! How the reference is served, and that the guides say what the code says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use axum::body::Body;
use http::header::{ALLOW, CONTENT_LENGTH, LOCATION};
use http::{Method, Request};
use proto::credits::MAX_IDEMPOTENCY_KEY_CHARS;
use proto::key::MAX_NAME_CHARACTERS;
use proto::search_properties::PROPERTIES;
use proto::search_query::{
    DEFAULT_LIMIT, MAX_ITEM_CHARS, MAX_ITEMS, MAX_LIMIT, MAX_PAGED_RECORDS, MAX_TERMS, MAX_TEXT_CHARS,
    RecordKind, field_names, sort_names,
};
use proto::violation;

use super::*;
use crate::rest::router as whole_router;
use crate::rest::tests::{Answer, ask, gateway, send};

async fn get_with(path: &str, headers: &[(HeaderName, &str)]) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    send(&whole_router(gateway()), request.body(Body::empty()).unwrap()).await
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// What stands between these.
fn between<'a>(text: &'a str, before: &'a str, after: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before)
        .skip(1)
        .filter_map(move |rest| rest.split(after).next())
}

fn guide(name: &str) -> &'static str {
    let path = format!("/guides/{name}.md");
    FILES.iter().find(|file| file.path == path).unwrap().text
}

/// What stands in backticks in the cells of a table, line by line; the table is the one below this heading.
fn quoted_below(guide: &'static str, heading: &str) -> Vec<Vec<Vec<&'static str>>> {
    let (_, below) = guide.split_once(heading).unwrap();
    let lines = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.split('`').skip(1).step_by(2).collect())
            .collect()
    })
    .collect()
}

#[tokio::test]
async fn the_page_has_a_policy_that_names_this_one_response() {
    let mut nonces = BTreeSet::new();
    for _ in 0..3 {
        let answer = ask(Method::GET, "/docs").await;
        assert_eq!(
            (answer.status, answer.headers[CONTENT_TYPE].to_str().unwrap()),
            (StatusCode::OK, "text/html; charset=utf-8")
        );
        assert_eq!(answer.headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(answer.headers[REFERRER_POLICY], "no-referrer");
        assert_eq!(answer.headers[CACHE_CONTROL], "no-store");
        let policy = answer.headers[CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap()
            .to_owned();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.split("; ").any(|had| had == rule), "{rule}: {policy}");
        }
        let inline: Vec<&str> = policy
            .split("; ")
            .filter(|rule| rule.contains("unsafe"))
            .collect();
        assert_eq!(inline, ["style-src-attr 'unsafe-inline'"]);
        let nonce = between(&policy, "'nonce-", "'").next().unwrap();
        assert_eq!(nonce.len(), 32);
        assert!(text(&answer).contains(nonce));
        nonces.insert(nonce.to_owned());
    }
    assert_eq!(nonces.len(), 3);
}

#[tokio::test]
async fn all_that_the_page_names_is_served_as_what_it_is() {
    let page = text(&ask(Method::GET, "/docs").await);
    assert!(!page.contains('{'), "nothing is left to fill in");
    assert!(!page.contains("://"), "nothing is of another origin");
    assert!(
        !page.contains("<style") && !page.contains("<script>"),
        "nothing is inline"
    );
    let addresses: BTreeSet<&str> = between(&page, "href=\"", "\"")
        .chain(between(&page, "src=\"", "\""))
        .collect();
    assert!(addresses.len() > 10, "{addresses:?}");
    for address in addresses {
        let answer = ask(Method::GET, address).await;
        assert_eq!(answer.status, StatusCode::OK, "{address}");
        let media_type = match address.rsplit('.').next().unwrap() {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "md" => "text/markdown; charset=utf-8",
            _ => "application/json",
        };
        assert_eq!(answer.headers[CONTENT_TYPE], media_type, "{address}");
        let head = ask(Method::HEAD, address).await;
        assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0), "{address}");
        assert_eq!(
            head.headers[CONTENT_LENGTH],
            answer.body.len().to_string(),
            "{address}"
        );
        if address.starts_with(PATH) {
            assert_eq!(answer.headers[X_CONTENT_TYPE_OPTIONS], "nosniff", "{address}");
            let refused = ask(Method::POST, address).await;
            refused.is_error(ErrorCode::MethodNotAllowed);
            assert_eq!(refused.headers[ALLOW], "GET,HEAD", "{address}");
        }
    }
}

#[tokio::test]
async fn every_guide_is_in_the_page_and_has_one_title() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides");
    let written: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| format!("/guides/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    let served: BTreeSet<String> = FILES
        .iter()
        .filter(|file| file.path.starts_with("/guides/"))
        .map(|file| file.path.to_owned())
        .collect();
    assert_eq!(written, served);
    for path in served {
        assert!(PAGE.contains(&format!("\"{PATH}{path}\"")), "{path}");
        let text = FILES.iter().find(|file| file.path == path).unwrap().text;
        let titles = text.lines().filter(|line| line.starts_with("# ")).count();
        assert_eq!(titles, 1, "{path}");
    }
}

#[tokio::test]
async fn what_is_the_same_is_not_sent_again() {
    for path in ["/docs/page.js", "/docs/guides/errors.md", &scalar_path()] {
        let first = ask(Method::GET, path).await;
        let tag = first.headers[ETAG].to_str().unwrap().to_owned();
        for known in [
            tag.clone(),
            format!("W/{tag}"),
            format!("\"other\", {tag}"),
            "*".to_owned(),
        ] {
            let again = get_with(path, &[(IF_NONE_MATCH, &known)]).await;
            assert_eq!(
                (again.status, again.body.len()),
                (StatusCode::NOT_MODIFIED, 0),
                "{path} {known}"
            );
            assert_eq!(again.headers[ETAG], *tag);
            assert_eq!(again.headers[CACHE_CONTROL], first.headers[CACHE_CONTROL]);
        }
        let other = get_with(path, &[(IF_NONE_MATCH, "\"other\"")]).await;
        assert_eq!((other.status, &other.body), (StatusCode::OK, &first.body));
    }
}

#[tokio::test]
async fn the_script_is_the_one_of_its_version_packed_or_not() {
    let (path, mut tags) = (scalar_path(), BTreeSet::new());
    for (accepted, is_packed) in [
        ("gzip, deflate, br", true),
        ("br;q=1.0, GZIP;q=0.8", true),
        ("*", true),
        ("identity", false),
        ("gzip;q=0", false),
        ("", false),
    ] {
        let answer = get_with(&path, &[(ACCEPT_ENCODING, accepted)]).await;
        assert_eq!(
            answer.headers.contains_key(CONTENT_ENCODING),
            is_packed,
            "{accepted}"
        );
        assert!(
            answer
                .headers
                .get_all(VARY)
                .iter()
                .any(|name| name == "accept-encoding")
        );
        assert_eq!(answer.headers[CACHE_CONTROL], KEPT);
        tags.insert(answer.headers[ETAG].to_str().unwrap().to_owned());
        let mut script = Vec::new();
        if is_packed {
            GzDecoder::new(&answer.body[..]).read_to_end(&mut script).unwrap();
        } else {
            script = answer.body;
        }
        let hash = Sha256::digest(&script);
        let hash = hash
            .iter()
            .fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
        assert_eq!(
            hash,
            include_str!("../../../docs/scalar/SHA256").trim(),
            "{accepted}"
        );
    }
    assert_eq!(tags.len(), 2, "a tag tells the forms apart");
    assert!(
        include_str!("../../../docs/scalar/LICENSES").contains(SCALAR_VERSION),
        "its licences are beside it"
    );
}

#[tokio::test]
async fn who_comes_to_the_door_is_led_to_the_page() {
    for path in ["/", "/docs/"] {
        let answer = ask(Method::GET, path).await;
        assert_eq!(
            (answer.status, answer.headers[LOCATION].to_str().unwrap()),
            (StatusCode::TEMPORARY_REDIRECT, "/docs")
        );
    }
    ask(Method::POST, "/").await.is_error(ErrorCode::MethodNotAllowed);
    for path in [
        "/docs/page.html",
        "/docs/guides/",
        "/docs/guides/x.md",
        "/docs/scalar.js",
        "/docs/page.js/",
    ] {
        ask(Method::GET, path).await.is_error(ErrorCode::NotFound);
    }
}

#[test]
fn the_guide_lists_every_error_in_the_order_of_the_table() {
    let told: Vec<(u16, &str)> = guide("errors")
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | `"))
        .filter_map(|(status, rest)| Some((status.parse().ok()?, rest.split('`').next()?)))
        .collect();
    let public = proto::error_code::ALL
        .into_iter()
        .filter(|code| *code != ErrorCode::GrantIdReused);
    let known: Vec<(u16, &str)> = public.map(|code| (code.http_status(), code.as_str())).collect();
    assert_eq!(told, known);
    let issues: Vec<&str> = quoted_below(guide("errors"), "## Issues")
        .iter()
        .map(|row| row[0][0])
        .collect();
    let known: Vec<&str> = violation::ALL_CODES
        .into_iter()
        .map(violation::ViolationCode::as_str)
        .collect();
    assert_eq!(issues, known);
}

#[test]
fn the_guide_lists_every_order_and_every_field() {
    for (row, kind) in [RecordKind::Company, RecordKind::Person].into_iter().enumerate() {
        let orders: Vec<&str> = sort_names(kind).iter().map(|(name, _)| *name).collect();
        assert_eq!(quoted_below(guide("paging"), "## Sorting")[row][1], orders);
        assert_eq!(
            quoted_below(guide("paging"), "## Fields")[row][1],
            field_names(kind)
        );
    }
}

#[test]
fn the_guide_shows_every_filter_at_work() {
    let shown: BTreeSet<&str> = quoted_below(guide("filters"), "## What matches")
        .iter()
        .filter_map(|row| row[0].first().copied())
        .collect();
    let filters = PROPERTIES.iter().filter(|property| property.is_filter());
    let filters: BTreeSet<&str> = filters
        .map(|property| property.name)
        .filter(|name| *name != "location")
        .collect();
    assert_eq!(
        shown, filters,
        "each filter has a line in filters.md, but for location, which has a guide of its own"
    );
}

#[test]
fn the_guides_tell_the_limits_that_hold() {
    let thousands = |number: usize| {
        let digits = number.to_string();
        if digits.len() > 3 {
            let (before, after) = digits.split_at(digits.len() - 3);
            format!("{before},{after}")
        } else {
            digits
        }
    };
    let paged = thousands(usize::try_from(MAX_PAGED_RECORDS).unwrap());
    for line in [
        "| body of a request | 1 MiB |".to_owned(),
        format!("| `limit` | 1 to {MAX_LIMIT} |"),
        format!("| `page` × `limit` | {paged} |"),
        format!(
            "| a text filter | {} characters, {MAX_TERMS} terms |",
            thousands(MAX_TEXT_CHARS)
        ),
        format!("| a list | {MAX_ITEMS} items of {MAX_ITEM_CHARS} characters |"),
        format!("| `Idempotency-Key` | {MAX_IDEMPOTENCY_KEY_CHARS} characters |"),
        format!("| name of a key | {MAX_NAME_CHARACTERS} characters |"),
        format!(
            "| headers of a request | {}, of {} KiB together |",
            crate::server::MAX_HEADERS,
            crate::server::MAX_HEAD_BYTES / 1024
        ),
    ] {
        assert!(guide("limits").contains(&line), "{line}");
    }
    let limit = format!("`limit` is 1 to {MAX_LIMIT}, by default {DEFAULT_LIMIT}");
    assert!(guide("paging").contains(&limit), "{limit}");
    assert!(guide("paging").contains(&format!("the first {paged} records")));
}
