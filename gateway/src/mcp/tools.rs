//! Which operations are tools, and how a tool's arguments become a request: both by the OpenAPI document, so that a filter
//! that is added to it is a filter that models know.

use std::sync::Arc;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Uri};
use proto::billing::v1::Operation;
use rmcp::model::{Tool as Description, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::credits::{Credits, IDEMPOTENCY_KEY as IDEMPOTENCY_KEY_HEADER, MAX_KEY_CHARS};
use crate::rest::BASE_PATH;
use crate::rest::openapi;

/// An operation that is a tool: one that is sent a body, and paid for.
struct Offer {
    name: &'static str,
    title: &'static str,
    /// Its id in the OpenAPI document.
    operation: &'static str,
    /// What credits are taken for.
    charge: Operation,
}

/// The tools.
const TOOLS: [Offer; 2] = [
    Offer {
        name: "search_people",
        title: "Search people",
        operation: "searchPeople",
        charge: Operation::SearchPeople,
    },
    Offer {
        name: "search_companies",
        title: "Search companies",
        operation: "searchCompanies",
        charge: Operation::SearchCompanies,
    },
];

/// The argument that holds what a call may cost.
const MAX_CREDITS: &str = "maxCredits";

/// The argument by which a repeated call is known.
const IDEMPOTENCY_KEY: &str = "idempotencyKey";

/// All tools, in their order.
pub(super) struct Tools(Vec<Tool>);

/// An operation as a tool.
pub(super) struct Tool {
    /// As a client is told of it.
    pub(super) described: Description,
    address: Uri,
    /// Credits that a call costs.
    cost: i64,
}

impl Tools {
    /// The tools as the OpenAPI document describes them; one that it does not describe is none (held by a test).
    pub(super) fn of_document(credits: &Credits) -> Self {
        let document = serde_json::from_slice(openapi::document()).unwrap_or_default();
        let tools = TOOLS
            .iter()
            .filter_map(|offer| Tool::new(offer, credits.cost(offer.charge), &document));
        Self(tools.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.0.iter().find(|tool| tool.described.name == name)
    }

    pub(super) fn described(&self) -> Vec<Description> {
        self.0.iter().map(|tool| tool.described.clone()).collect()
    }
}

impl Tool {
    fn new(offer: &Offer, cost: i64, document: &Value) -> Option<Self> {
        let (path, operation) = find(document, offer.operation)?;
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let mut schema = inlined(body, document).as_object()?.clone();
        let properties = schema.get_mut("properties")?.as_object_mut()?;
        let budget = json!({
            "type": "integer", "minimum": 0,
            "description": format!("Most credits that this call may cost, as the user allows. It costs {cost}; with less \
                                    allowed nothing is searched."),
        });
        let repeat = json!({
            "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARS,
            "description": "Names this search: the same one again, with the same key within 24 hours, costs nothing.",
        });
        properties.insert(MAX_CREDITS.to_owned(), budget);
        properties.insert(IDEMPOTENCY_KEY.to_owned(), repeat);
        schema.insert("required".to_owned(), json!([MAX_CREDITS]));
        let does = operation["description"].as_str().unwrap_or_default();
        let description = format!("{does} Costs {}, whatever it finds.", in_words(cost));
        let annotations = ToolAnnotations::with_title(offer.title)
            .read_only(false)
            .destructive(false)
            .idempotent(false)
            .open_world(false);
        let described = Description::new_with_raw(offer.name, Some(description.into()), Arc::new(schema));
        Some(Self {
            described: described.with_title(offer.title).with_annotations(annotations),
            address: format!("{BASE_PATH}{path}").parse().ok()?,
            cost,
        })
    }

    /// The request of a call, or why there is none. What only a tool knows is taken out of the arguments.
    pub(super) fn request(&self, mut arguments: Map<String, Value>) -> Result<Request<Body>, Value> {
        self.check_budget(arguments.remove(MAX_CREDITS).as_ref())?;
        let idempotency_key = arguments.remove(IDEMPOTENCY_KEY);
        let mut request = Request::new(Body::from(Value::Object(arguments).to_string()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = idempotency_key {
            let value = key.as_str().and_then(|key| HeaderValue::from_str(key).ok());
            let value =
                value.ok_or_else(|| self.refusal(&format!("{IDEMPOTENCY_KEY} is not printable ASCII")))?;
            headers.insert(IDEMPOTENCY_KEY_HEADER, value);
        }
        Ok(request)
    }

    /// Refuses what would cost more than it may.
    fn check_budget(&self, given: Option<&Value>) -> Result<(), Value> {
        let cost = self.cost;
        let why = match given.map(|given| given.as_i64().filter(|budget| *budget >= 0)) {
            Some(Some(budget)) if budget >= cost => return Ok(()),
            Some(Some(budget)) => format!(
                "this call costs {}, and {MAX_CREDITS} is {budget}: nothing was searched",
                in_words(cost)
            ),
            Some(None) => format!("{MAX_CREDITS} is no whole number from 0"),
            None => {
                format!("{MAX_CREDITS} is missing: say how many credits this call may cost; it costs {cost}")
            }
        };
        Err(self.refusal(&why))
    }

    /// A call that never became a request, in the shape of the operations' own refusals.
    fn refusal(&self, why: &str) -> Value {
        json!({
            "success": false, "code": "VALIDATION_ERROR", "message": why,
            "credits": {"cost": 0, "wouldCost": self.cost},
        })
    }
}

/// The operation of this id, with its path.
fn find<'a>(document: &'a Value, id: &str) -> Option<(&'a str, &'a Value)> {
    let paths = document["paths"].as_object()?;
    paths.iter().find_map(|(path, methods)| {
        let operation = &methods["post"];
        (operation["operationId"] == id).then_some((path.as_str(), operation))
    })
}

/// How many credits, in words.
fn in_words(number: i64) -> String {
    format!("{number} credit{}", if number == 1 { "" } else { "s" })
}

/// A schema without references: a tool's schema stands by itself.
fn inlined(schema: &Value, document: &Value) -> Value {
    let reference = schema["$ref"].as_str();
    let place = reference.and_then(|reference| reference.strip_prefix('#'));
    match place.and_then(|place| document.pointer(place)).unwrap_or(schema) {
        Value::Object(object) => {
            let inlined = |(name, value): (&String, &Value)| (name.clone(), inlined(value, document));
            object.iter().map(inlined).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, document)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offer_is_an_operation_that_the_document_describes() {
        let document: Value = serde_json::from_slice(openapi::document()).unwrap();
        for offer in &TOOLS {
            let tool = Tool::new(offer, 1, &document);
            assert!(tool.is_some(), "{} is no operation", offer.operation);
            let (_, operation) = find(&document, offer.operation).unwrap();
            let is_charged = !operation["responses"]["402"].is_null();
            assert!(is_charged, "{}", offer.operation);
        }
    }

    #[test]
    fn references_are_written_out() {
        let document = json!({"a": {"b": {"type": "string"}}});
        let schema = json!({"items": [{"$ref": "#/a/b"}], "x": {"$ref": "#/a"}});
        let expected = json!({"items": [{"type": "string"}], "x": {"b": {"type": "string"}}});
        assert_eq!(inlined(&schema, &document), expected);
    }
}
