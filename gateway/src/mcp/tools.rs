//! Which operations are tools, and how a tool's arguments become a request: both by the OpenAPI document, so that a filter
//! that is added to it is a filter that models know.

use std::sync::Arc;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use proto::billing::v1::Operation;
use rmcp::model::{Tool as Description, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::credits::{Credits, IDEMPOTENCY_KEY as IDEMPOTENCY_KEY_HEADER, MAX_KEY_CHARS};
use crate::rest::BASE_PATH;
use crate::rest::openapi;

/// An operation that is a tool.
struct Offer {
    name: &'static str,
    title: &'static str,
    /// Its id in the OpenAPI document.
    operation: &'static str,
    /// What credits are taken for, if any are.
    charge: Option<Operation>,
}

/// The tools.
const TOOLS: [Offer; 2] = [
    Offer {
        name: "search_people",
        title: "Search people",
        operation: "searchPeople",
        charge: Some(Operation::SearchPeople),
    },
    Offer {
        name: "search_companies",
        title: "Search companies",
        operation: "searchCompanies",
        charge: Some(Operation::SearchCompanies),
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
    method: Method,
    /// Path, with `{names}` of parameters in it.
    path: String,
    /// Names of arguments that stand in the query, or in the path.
    parameters: Vec<String>,
    has_body: bool,
    /// Credits that a call costs; none if it is free.
    cost: Option<i64>,
}

impl Tools {
    /// The tools as the OpenAPI document describes them; one that it does not describe is none (held by a test).
    pub(super) fn of_document(credits: &Credits) -> Self {
        let document = serde_json::from_slice(openapi::document()).unwrap_or_default();
        let tools = TOOLS.iter().filter_map(|offer| {
            let cost = offer.charge.map_or(0, |charge| credits.cost(charge));
            Tool::new(offer, cost, &document)
        });
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
        let (path, method, operation) = find(document, offer.operation)?;
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut parameters = Vec::new();
        for parameter in array(&operation["parameters"]) {
            let parameter = resolve(parameter, document);
            let (Some(name), Some("query" | "path")) = (parameter["name"].as_str(), parameter["in"].as_str())
            else {
                continue;
            };
            let mut schema = inlined(&parameter["schema"], document);
            schema["description"] = parameter["description"].clone();
            properties.insert(name.to_owned(), schema);
            parameters.push(name.to_owned());
            if parameter["required"] == true {
                required.push(name.to_owned());
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        if let Value::Object(of_body) = &inlined(body, document)["properties"] {
            properties.extend(of_body.clone());
        }
        let price = if offer.charge.is_some() {
            format!("Costs {}, whatever it finds.", in_words(cost))
        } else {
            "Costs nothing.".to_owned()
        };
        let does = operation["description"].as_str().unwrap_or_default();
        let description = format!("{does} {price}");
        if offer.charge.is_some() {
            let budget = json!({
                "type": "integer", "minimum": 0,
                "description": format!("Most credits that this call may cost, as the user allows. It costs {cost}; with \
                                        less allowed nothing is searched."),
            });
            let repeat = json!({
                "type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARS,
                "description": "Names this search: the same one again, with the same key within 24 hours, costs nothing.",
            });
            properties.insert(MAX_CREDITS.to_owned(), budget);
            properties.insert(IDEMPOTENCY_KEY.to_owned(), repeat);
            required.push(MAX_CREDITS.to_owned());
        }
        let schema = json!({
            "type": "object", "additionalProperties": false, "properties": properties, "required": required,
        });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let annotations = ToolAnnotations::with_title(offer.title)
            .read_only(offer.charge.is_none())
            .destructive(false)
            .idempotent(offer.charge.is_none())
            .open_world(false);
        let described = Description::new_with_raw(offer.name, Some(description.into()), Arc::new(schema));
        Some(Self {
            described: described.with_title(offer.title).with_annotations(annotations),
            method,
            path: format!("{BASE_PATH}{path}"),
            parameters,
            has_body: !body.is_null(),
            cost: offer.charge.is_some().then_some(cost),
        })
    }

    /// The request of a call, or why there is none.
    pub(super) fn request(&self, mut arguments: Map<String, Value>) -> Result<Request<Body>, Value> {
        let idempotency_key = self.take_budget(&mut arguments)?;
        let mut path = self.path.clone();
        let mut query = Vec::new();
        for name in &self.parameters {
            let Some(value) = arguments.remove(name) else {
                continue;
            };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value = encoded(&value).to_string();
            let place = format!("{{{name}}}");
            if path.contains(&place) {
                path = path.replace(&place, &value);
            } else {
                query.push(format!("{name}={value}"));
            }
        }
        if !self.has_body {
            // What an operation without a body does not know is refused like what it knows: by itself.
            query.extend(arguments.keys().map(|name| format!("{}=", encoded(name))));
            arguments.clear();
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let body = if self.has_body {
            Body::from(Value::Object(arguments).to_string())
        } else {
            Body::empty()
        };
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = path
            .parse()
            .map_err(|_| refusal("the arguments are too long", None))?;
        let headers = request.headers_mut();
        if self.has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(key) = idempotency_key {
            headers.insert(IDEMPOTENCY_KEY_HEADER, key);
        }
        Ok(request)
    }

    /// Takes out what an operation does not know. Refuses what would cost more than it may.
    fn take_budget(&self, arguments: &mut Map<String, Value>) -> Result<Option<HeaderValue>, Value> {
        let Some(cost) = self.cost else {
            return Ok(None);
        };
        match arguments.remove(MAX_CREDITS).as_ref().map(budget) {
            None => {
                let why = format!(
                    "{MAX_CREDITS} is missing: say how many credits this call may cost; it costs {cost}"
                );
                return Err(refusal(&why, Some(cost)));
            }
            Some(None) => {
                return Err(refusal(
                    &format!("{MAX_CREDITS} is no whole number from 0"),
                    Some(cost),
                ));
            }
            Some(Some(budget)) if budget < cost => {
                let why = format!(
                    "this call costs {}, and {MAX_CREDITS} is {budget}: nothing was searched",
                    in_words(cost)
                );
                return Err(refusal(&why, Some(cost)));
            }
            Some(Some(_)) => {}
        }
        let key = arguments.remove(IDEMPOTENCY_KEY);
        let key = key.map(|key| key.as_str().and_then(|key| HeaderValue::from_str(key).ok()));
        key.map(|key| {
            key.ok_or_else(|| refusal(&format!("{IDEMPOTENCY_KEY} is not printable ASCII"), Some(cost)))
        })
        .transpose()
    }
}

/// A call that never became a request, in the shape of the operations' own refusals.
fn refusal(why: &str, cost: Option<i64>) -> Value {
    let mut refusal = json!({"success": false, "code": "VALIDATION_ERROR", "message": why});
    if let Some(cost) = cost {
        refusal["credits"] = json!({"cost": 0, "wouldCost": cost});
    }
    refusal
}

/// The operation of this id, with its path and method.
fn find<'a>(document: &'a Value, id: &str) -> Option<(&'a str, Method, &'a Value)> {
    let paths = document["paths"].as_object()?;
    paths.iter().find_map(|(path, methods)| {
        let (method, operation) = methods
            .as_object()?
            .iter()
            .find(|(_, operation)| operation["operationId"] == id)?;
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
        Some((path.as_str(), method, operation))
    })
}

/// How many credits, in words.
fn in_words(number: i64) -> String {
    format!("{number} credit{}", if number == 1 { "" } else { "s" })
}

/// A budget: a whole number from 0.
fn budget(value: &Value) -> Option<i64> {
    value.as_i64().filter(|budget| *budget >= 0)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What a reference refers to; anything else is itself.
fn resolve<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    let reference = value["$ref"].as_str();
    let place = reference.and_then(|reference| reference.strip_prefix('#'));
    place.and_then(|place| document.pointer(place)).unwrap_or(value)
}

/// A schema without references: a tool's schema stands by itself.
fn inlined(schema: &Value, document: &Value) -> Value {
    match resolve(schema, document) {
        Value::Object(object) => {
            let inlined = |(name, value): (&String, &Value)| (name.clone(), inlined(value, document));
            object.iter().map(inlined).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, document)).collect(),
        other => other.clone(),
    }
}

/// As it stands in a path or a query.
fn encoded(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offer_is_an_operation_that_the_document_describes() {
        let document: Value = serde_json::from_slice(openapi::document()).unwrap();
        for offer in &TOOLS {
            let tool = Tool::new(offer, 1, &document);
            let tool = tool.unwrap_or_else(|| panic!("{} is no operation", offer.operation));
            assert_eq!(tool.cost.is_some(), offer.charge.is_some());
            let (_, _, operation) = find(&document, offer.operation).unwrap();
            let is_charged = !operation["responses"]["402"].is_null();
            assert_eq!(is_charged, offer.charge.is_some(), "{}", offer.operation);
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
