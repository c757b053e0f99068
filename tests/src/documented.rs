//! Every answer that a test sees is held against the OpenAPI document: status, headers, media type, body. What the document
//! does not tell fails the test, be it a status, a header or a property.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Headers of HTTP itself and of what browsers ask for, which mean the same everywhere.
const STANDARD_HEADERS: [&str; 7] = [
    "access-control-expose-headers",
    "connection",
    "content-length",
    "content-type",
    "date",
    "transfer-encoding",
    "vary",
];

/// Refusals by which a request has not reached an operation: its head is bad, or nothing is at its address.
const OF_NO_OPERATION: [u16; 2] = [400, 404];

/// What was asked, and what was answered.
pub(crate) struct Exchange<'a> {
    /// In capitals.
    pub(crate) method: &'a str,
    /// With the version prefix, without the query.
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a [u8],
}

/// The document of this build, and what has been made of it.
struct Document {
    root: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

static OTHER_VERSION: AtomicBool = AtomicBool::new(false);

/// From here on answers are another version's, whose document is not this one's.
pub fn expect_another_version() {
    OTHER_VERSION.store(true, Ordering::Relaxed);
}

/// Holds an answer against the document, which the gateway at this base address serves.
///
/// # Panics
/// If it is not as the document says.
pub(crate) fn hold(base: &str, exchange: &Exchange<'_>) {
    static DOCUMENT: OnceLock<Document> = OnceLock::new();
    if OTHER_VERSION.load(Ordering::Relaxed) {
        return;
    }
    let problem = DOCUMENT.get_or_init(|| Document::fetch(base)).problem(exchange);
    if let Some(problem) = problem {
        let Exchange {
            method,
            path,
            status,
            body,
            ..
        } = exchange;
        let body = String::from_utf8_lossy(body);
        panic!("not as documented: {method} {path} is answered {status}, {problem}: {body:.2000}");
    }
}

impl Document {
    fn fetch(base: &str) -> Self {
        let answer = reqwest::blocking::get(format!("{base}/openapi.json"));
        let mut root: Value = answer
            .and_then(reqwest::blocking::Response::json)
            .expect("the gateway tells of itself");
        close(&mut root);
        Self {
            root,
            validators: Mutex::default(),
        }
    }

    /// What is not as it says.
    fn problem(&self, exchange: &Exchange<'_>) -> Option<String> {
        let prefix = self.root["servers"][0]["url"].as_str()?;
        let path = exchange.path.strip_prefix(prefix)?;
        let Some(item) = self.item(path) else {
            return (!OF_NO_OPERATION.contains(&exchange.status)).then(|| "and is no path".to_owned());
        };
        let method = match exchange.method {
            "HEAD" => "get".to_owned(),
            method => method.to_lowercase(),
        };
        // A method that the address does not know is refused by all operations at it alike.
        let operation = item.get(&method).or_else(|| item.values().next())?;
        let response = self.resolved(&operation["responses"][exchange.status.to_string()]);
        if response.is_null() {
            return Some("a status that it does not have".to_owned());
        }
        self.problem_of_headers(response, exchange)
            .or_else(|| self.problem_of_body(response, exchange))
    }

    /// The operations at a path.
    fn item(&self, path: &str) -> Option<&Map<String, Value>> {
        let matches = |template: &str| {
            let (steps, known) = (path.split('/'), template.split('/'));
            // No address has an empty step, nor one that leads elsewhere.
            let is_same = |(step, known): (&str, &str)| {
                step == known || (known.starts_with('{') && !["", ".", ".."].contains(&step))
            };
            steps.clone().count() == known.clone().count() && steps.zip(known).all(is_same)
        };
        let paths = self.root["paths"].as_object()?;
        let (_, item) = paths.iter().find(|(template, _)| matches(template))?;
        item.as_object()
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let reference = value["$ref"].as_str();
        let place = reference.and_then(|reference| reference.strip_prefix('#'));
        place.map_or(value, |place| self.root.pointer(place).unwrap_or(&Value::Null))
    }

    fn problem_of_headers(&self, response: &Value, exchange: &Exchange<'_>) -> Option<String> {
        let none = Map::new();
        let told = response["headers"].as_object().unwrap_or(&none);
        let is_told = |name: &&str| told.keys().any(|told| told.eq_ignore_ascii_case(name));
        let names = exchange.headers.iter().map(|(name, _)| *name);
        let unknown = names
            .filter(|name| !STANDARD_HEADERS.contains(name))
            .find(|name| !is_told(name));
        if let Some(unknown) = unknown {
            return Some(format!("with the header {unknown}, which it does not have"));
        }
        for (name, header) in told {
            let header = self.resolved(header);
            let mut values = exchange
                .headers
                .iter()
                .filter(|(got, _)| got.eq_ignore_ascii_case(name));
            let Some((_, value)) = values.next() else {
                if header["required"] == true {
                    return Some(format!("without the header {name}"));
                }
                continue;
            };
            let value = match header["schema"]["type"].as_str() {
                Some("integer") => serde_json::from_str(value).unwrap_or(Value::Null),
                _ => json!(value),
            };
            if let Some(problem) = self.mismatch(&header["schema"], &value) {
                return Some(format!("with the header {name}: {problem}"));
            }
        }
        None
    }

    fn problem_of_body(&self, response: &Value, exchange: &Exchange<'_>) -> Option<String> {
        if exchange.method == "HEAD" {
            return None;
        }
        let header = exchange.headers.iter().find(|(name, _)| *name == "content-type");
        let media_type = header.map_or("", |(_, value)| *value);
        let content = &response["content"][media_type];
        if content.is_null() {
            return Some(format!(
                "of the media type {media_type:?}, which it does not have"
            ));
        }
        let body: Value = match serde_json::from_slice(exchange.body) {
            Ok(body) => body,
            Err(error) => return Some(error.to_string()),
        };
        self.mismatch(&content["schema"], &body)
    }

    /// Where a value is not as its schema says.
    fn mismatch(&self, schema: &Value, value: &Value) -> Option<String> {
        let validator = self.validator(schema);
        let error = validator.iter_errors(value).next()?;
        Some(format!("{}: {error:.500}", error.instance_path()))
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let made = || {
            let mut root = schema.clone();
            root["components"] = self.root["components"].clone();
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            Arc::new(options.build(&root).expect("a schema is one"))
        };
        // What another test's panic leaves behind is whole.
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(validators.entry(schema.to_string()).or_insert_with(made))
    }
}

/// Objects hold what is told of them, and nothing more: clients let pass what they do not know, tests do not.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("properties").is_some_and(Value::is_object) {
                object.entry("additionalProperties").or_insert(false.into());
            }
            object.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let mut root = json!({
            "servers": [{"url": "/v1"}],
            "paths": {"/things/{id}": {"get": {"responses": {"200": {
                "headers": {"X-Id": {"required": true, "schema": {"type": "integer", "maximum": 9}}},
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
            }}}}},
            "components": {"schemas": {"Thing": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        });
        close(&mut root);
        Document {
            root,
            validators: Mutex::default(),
        }
    }

    fn problem(change: impl FnOnce(&mut Exchange<'_>)) -> String {
        let mut exchange = Exchange {
            method: "GET",
            path: "/v1/things/7",
            status: 200,
            headers: vec![("x-id", "7"), ("content-type", "application/json"), ("date", "x")],
            body: br#"{"a": "b"}"#,
        };
        change(&mut exchange);
        document().problem(&exchange).unwrap_or_default()
    }

    #[test]
    fn what_is_documented_passes_and_nothing_else() {
        assert_eq!(problem(|_| {}), "");
        assert_eq!(problem(|exchange| exchange.method = "HEAD"), "");
        assert_eq!(problem(|exchange| exchange.path = "/elsewhere"), "");
        assert!(problem(|exchange| exchange.path = "/v1/things").contains("no path"));
        assert!(problem(|exchange| exchange.status = 418).contains("status"));
        assert!(problem(|exchange| exchange.headers.push(("x-more", "1"))).contains("x-more"));
        assert!(problem(|exchange| exchange.headers[0].0 = "age").contains("age"));
        assert!(problem(|exchange| exchange.headers[0].1 = "10").contains("X-Id"));
        assert!(problem(|exchange| exchange.headers[1].1 = "text/html").contains("text/html"));
        assert!(problem(|exchange| exchange.headers.truncate(0)).contains("without"));
        assert!(problem(|exchange| exchange.body = br#"{"a": 1}"#).contains("/a"));
        assert!(problem(|exchange| exchange.body = br#"{"b": 1}"#).contains('b'));
        assert!(problem(|exchange| exchange.body = b"").contains("EOF"));
    }
}
