//! Bodies of requests, as they come from the network.
//!
//! - Nothing makes a reader panic, and a refusal has a bounded size whatever is refused.
//! - A query that is accepted says what the body says, property by property: nothing is left out, nothing made up. The
//!   body is read for that by `serde_json` alone, which knows nothing of ours.
//! - It keeps every rule of the message, survives protobuf, and written out as a body again it is the same query.

use gateway::body::{key_body, search_body};
use gateway::error::{ApiError, MAX_ISSUES, MAX_MESSAGE_CHARS};
use prost::Message as _;
use proto::key::MAX_NAME_CHARACTERS;
use proto::search::v1::{SearchQuery, Sort, SortDirection, SortField};
use proto::search_properties::{Kind, PROPERTIES};
use proto::search_query::{RecordKind, check, sort_names};
use proto::violation::{Violation, ViolationCode};
use serde_json::{Map, Value, json};

/// Tries a body with every operation that has one.
///
/// # Panics
/// If a property does not hold.
pub fn holds(body: &[u8]) {
    search(body, RecordKind::Company);
    search(body, RecordKind::Person);
    key(body);
}

fn search(body: &[u8], kind: RecordKind) {
    let query = match search_body::parse(body, kind) {
        Ok(query) => query,
        Err(violations) => return refused(body, violations),
    };
    assert_eq!(check(&query, kind), []);
    assert_eq!(
        SearchQuery::decode(query.encode_to_vec().as_slice()).as_ref(),
        Ok(&query)
    );
    let written = written(&query, kind);
    assert_eq!(
        search_body::parse(written.to_string().as_bytes(), kind).as_ref(),
        Ok(&query)
    );
    let said: Value = serde_json::from_slice(body).expect("what is accepted is JSON");
    assert!(same(Some(&said), Some(&written)), "{said} was read as {written}");
}

/// A refusal tells something, and not without end.
fn refused(body: &[u8], violations: Vec<Violation>) {
    assert!(!violations.is_empty());
    let is_json = serde_json::from_slice::<Value>(body).is_ok();
    for violation in &violations {
        // It may be nested more deeply than we read, and well-formed.
        let is_syntax =
            violation.code == ViolationCode::InvalidJson && !violation.message.contains("nesting");
        assert!(!is_json || !is_syntax, "{violation}");
    }
    let told = ApiError::invalid(violations).body(String::new());
    assert!(told.message.chars().count() <= MAX_MESSAGE_CHARS);
    assert!(told.issues.len() <= MAX_ISSUES);
    for issue in &told.issues {
        // The whole of it, path and hint and all, is shorter than a text may be.
        let bytes = json!(issue).to_string().len();
        assert!(bytes <= MAX_MESSAGE_CHARS, "{issue:?}");
    }
}

/// The bodies of the key operations: both read a name in the same way.
fn key(body: &[u8]) {
    let (created, renamed) = (key_body::parse_create(body), key_body::parse_rename(body));
    match (&created, &renamed) {
        (Ok(Some(created)), Ok(renamed)) => assert_eq!(created, renamed),
        (Ok(None) | Err(_), Err(_)) => {}
        _ => panic!("{created:?} and {renamed:?}"),
    }
    if let Ok(name) = renamed {
        assert!((1..=MAX_NAME_CHARACTERS).contains(&name.chars().count()));
        assert!(!name.contains(char::is_control));
        assert_eq!(name, name.trim());
        let said: Value = serde_json::from_slice(body).expect("what is accepted is JSON");
        assert_eq!(said["name"].as_str().map(str::trim), Some(name.as_str()));
    } else if let Err(violations) = renamed {
        refused(body, violations);
    }
    if let Err(violations) = created {
        refused(body, violations);
    }
}

/// Whether a body's value and what was read of it are the same. A blank choice or an empty list is as good as none, and
/// a number is what it is, however it is spelt.
fn same(said: Option<&Value>, read: Option<&Value>) -> bool {
    match (said, read) {
        (Some(Value::String(said)), None) => said.trim().is_empty(),
        (Some(Value::Array(said)), None) => said.is_empty(),
        (Some(Value::Number(said)), Some(Value::Number(read))) => said.as_f64() == read.as_f64(),
        (Some(Value::Object(said)), Some(Value::Object(read))) => said
            .keys()
            .chain(read.keys())
            .all(|name| same(said.get(name), read.get(name))),
        (said, read) => said == read,
    }
}

/// The body that asks for this.
fn written(query: &SearchQuery, kind: RecordKind) -> Value {
    let mut query = query.clone();
    let body = PROPERTIES.iter().filter_map(|property| {
        let value = match &property.kind {
            Kind::Text(text) => some_text((text.slot)(&mut query)),
            Kind::Date(slot) => some_text(slot(&mut query)),
            Kind::Texts(slot) => some_list(slot(&mut query)),
            Kind::Fields => some_list(&query.fields),
            Kind::Choice(slot, words) => {
                let chosen = *slot(&mut query);
                let word = words.iter().find(|(_, number)| *number == chosen);
                word.map(|(word, _)| json!(word))
            }
            Kind::Integer { slot, .. } => slot(&mut query).map(Value::from),
            // An empty one in the message is the start.
            Kind::Cursor => query.cursor.as_ref().map(|cursor| match cursor.as_str() {
                "" => Value::Null,
                cursor => cursor.into(),
            }),
            Kind::Sort => query.sort.map(|sort| written_sort(sort, kind)),
        };
        Some((property.name.to_owned(), value?))
    });
    body.collect::<Map<_, _>>().into()
}

fn some_text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!(text))
}

fn some_list(items: &[String]) -> Option<Value> {
    (!items.is_empty()).then(|| json!(items))
}

fn written_sort(sort: Sort, kind: RecordKind) -> Value {
    let mut written = Map::new();
    if sort.field() != SortField::Unspecified {
        let named = sort_names(kind).iter().find(|(_, field)| *field == sort.field());
        let (name, _) = named.expect("only names that there are are accepted");
        written.insert("field".to_owned(), json!(name));
    }
    match sort.direction() {
        SortDirection::Unspecified => {}
        SortDirection::Asc => {
            written.insert("dir".to_owned(), json!("asc"));
        }
        SortDirection::Desc => {
            written.insert("dir".to_owned(), json!("desc"));
        }
    }
    written.into()
}
