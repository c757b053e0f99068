//! Which operations are tools, and how a tool's arguments become a request: both by the OpenAPI document, so that a filter
//! that is added to it is a filter that models know.

use std::sync::Arc;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request};
use proto::billing::v1::Operation;
use proto::credits::MAX_IDEMPOTENCY_KEY_CHARS;
use rmcp::model::{Tool as Description, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::credits::{Credits, IDEMPOTENCY_KEY as IDEMPOTENCY_KEY_HEADER};
use crate::rest::BASE_PATH;
use crate::rest::openapi;

/// An operation that is a tool.
struct Offer {
    name: &'static str,
    title: &'static str,
    /// Its id in the OpenAPI document.
    operation: &'static str,
    /// What credits are taken for; nothing for an operation that is free.
    charge: Option<Operation>,
}

/// The tools.
const TOOLS: [Offer; 8] = [
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
    Offer {
        name: "count_people",
        title: "Count people",
        operation: "countPeople",
        charge: None,
    },
    Offer {
        name: "count_companies",
        title: "Count companies",
        operation: "countCompanies",
        charge: None,
    },
    Offer {
        name: "explain_people_search",
        title: "Explain a search for people",
        operation: "explainPeople",
        charge: None,
    },
    Offer {
        name: "explain_companies_search",
        title: "Explain a search for companies",
        operation: "explainCompanies",
        charge: None,
    },
    Offer {
        name: "get_credits",
        title: "Balance and ledger",
        operation: "getCredits",
        charge: None,
    },
    Offer {
        name: "suggest",
        title: "Suggest values",
        operation: "suggest",
        charge: None,
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
    /// The operation's path, below [`BASE_PATH`], with its parameters in braces.
    path: String,
    method: Method,
    /// Names of the parameters in its path.
    in_path: Vec<String>,
    /// Whether its arguments are a body; else they are a query string.
    has_body: bool,
    /// Credits that a call costs; none if it is free.
    cost: Option<i64>,
}

impl Tools {
    /// The tools as the OpenAPI document describes them; one that it does not describe is none (held by a test).
    pub(super) fn of_document(credits: &Credits) -> Self {
        let document = serde_json::from_slice(openapi::document()).unwrap_or_default();
        let tools = TOOLS.iter().filter_map(|offer| {
            let cost = offer.charge.map(|charge| credits.cost(charge));
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
    fn new(offer: &Offer, cost: Option<i64>, document: &Value) -> Option<Self> {
        let (path, method, operation) = find(document, offer.operation)?;
        let operation = inlined(operation, document);
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let has_body = body.is_object();
        let mut schema = match body.as_object() {
            Some(body) => body.clone(),
            None => Map::from_iter([
                ("type".to_owned(), json!("object")),
                ("additionalProperties".to_owned(), json!(false)),
                ("properties".to_owned(), json!({})),
            ]),
        };
        let mut required = Vec::new();
        let mut in_path = Vec::new();
        let properties = schema.get_mut("properties")?.as_object_mut()?;
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default();
            match parameter["in"].as_str() {
                Some("path") => in_path.push(name.to_owned()),
                Some("query") => {}
                _ => continue,
            }
            let mut property = parameter["schema"].clone();
            property["description"] = parameter["description"].clone();
            properties.insert(name.to_owned(), property);
            if parameter["required"] == true {
                required.push(name.to_owned());
            }
        }
        if let Some(cost) = cost {
            let budget = json!({
                "type": "integer", "minimum": 0,
                "description": format!("Most credits that this call may cost, as the user allows. It costs {cost}; with \
                                        less allowed nothing is searched."),
            });
            let repeat = json!({
                "type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY_CHARS,
                "description": "Names this search: the same one again, with the same key within 24 hours, costs nothing.",
            });
            properties.insert(MAX_CREDITS.to_owned(), budget);
            properties.insert(IDEMPOTENCY_KEY.to_owned(), repeat);
            required.push(MAX_CREDITS.to_owned());
        }
        schema.insert("required".to_owned(), json!(required));
        let does = operation["description"].as_str().unwrap_or_default();
        let costs = match cost {
            Some(cost) => format!("Costs {}, whatever it finds.", in_words(cost)),
            None => "Costs nothing.".to_owned(),
        };
        let annotations = ToolAnnotations::with_title(offer.title)
            .read_only(cost.is_none())
            .destructive(false)
            .idempotent(cost.is_none())
            .open_world(false);
        let description = format!("{does} {costs}");
        let described = Description::new_with_raw(offer.name, Some(description.into()), Arc::new(schema));
        Some(Self {
            described: described.with_title(offer.title).with_annotations(annotations),
            path: path.to_owned(),
            method,
            in_path,
            has_body,
            cost,
        })
    }

    /// The request of a call, or why there is none. What only a tool knows is taken out of the arguments.
    pub(super) fn request(&self, mut arguments: Map<String, Value>) -> Result<Request<Body>, Value> {
        let mut idempotency_key = None;
        if let Some(cost) = self.cost {
            self.check_budget(cost, arguments.remove(MAX_CREDITS).as_ref())?;
            idempotency_key = arguments.remove(IDEMPOTENCY_KEY);
        }
        let mut path = format!("{BASE_PATH}{}", self.path);
        for name in &self.in_path {
            let value = arguments.remove(name).as_ref().map(text).unwrap_or_default();
            let encoded: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
            path = path.replace(&format!("{{{name}}}"), &encoded);
        }
        let body = if self.has_body {
            Body::from(Value::Object(arguments).to_string())
        } else {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(arguments.iter().map(|(name, value)| (name, text(value))));
            path = format!("{path}?{}", query.finish());
            Body::empty()
        };
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = path
            .parse()
            .map_err(|_| self.refusal("the arguments are too long"))?;
        let headers = request.headers_mut();
        if self.has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(key) = idempotency_key {
            let value = key.as_str().and_then(|key| HeaderValue::from_str(key).ok());
            let value =
                value.ok_or_else(|| self.refusal(&format!("{IDEMPOTENCY_KEY} is not printable ASCII")))?;
            headers.insert(IDEMPOTENCY_KEY_HEADER, value);
        }
        Ok(request)
    }

    /// Refuses what would cost more than it may.
    fn check_budget(&self, cost: i64, given: Option<&Value>) -> Result<(), Value> {
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
            "credits": {"cost": 0, "wouldCost": self.cost.unwrap_or(0)},
        })
    }
}

/// An argument as a parameter: a text as it is.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The operation of this id, with its path and its method.
fn find<'a>(document: &'a Value, id: &str) -> Option<(&'a str, Method, &'a Value)> {
    let paths = document["paths"].as_object()?;
    paths.iter().find_map(|(path, methods)| {
        let mut methods = methods.as_object()?.iter();
        let (method, operation) = methods.find(|(_, operation)| operation["operationId"] == id)?;
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
        Some((path.as_str(), method, operation))
    })
}

/// How many credits, in words.
fn in_words(number: i64) -> String {
    format!("{number} credit{}", if number == 1 { "" } else { "s" })
}

/// A schema without references: a tool's schema stands by itself. What stands beside a reference is said of this place.
fn inlined(schema: &Value, document: &Value) -> Value {
    let reference = schema["$ref"].as_str();
    let place = reference.and_then(|reference| reference.strip_prefix('#'));
    let referred = place.and_then(|place| document.pointer(place));
    match schema {
        Value::Object(object) => {
            let own = object
                .iter()
                .filter(|(name, _)| referred.is_none() || *name != "$ref");
            let mut schema = match referred.map(|referred| inlined(referred, document)) {
                Some(Value::Object(referred)) => referred,
                _ => Map::new(),
            };
            schema.extend(own.map(|(name, value)| (name.clone(), inlined(value, document))));
            schema.into()
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, document)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        serde_json::from_slice(openapi::document()).unwrap()
    }

    #[test]
    fn every_offer_is_an_operation_that_the_document_describes() {
        let document = document();
        for offer in &TOOLS {
            let cost = offer.charge.map(|_| 1);
            assert!(
                Tool::new(offer, cost, &document).is_some(),
                "{} is no operation",
                offer.operation
            );
            let (_, _, operation) = find(&document, offer.operation).unwrap();
            let is_charged = !operation["responses"]["402"].is_null();
            assert_eq!(is_charged, offer.charge.is_some(), "{}", offer.operation);
        }
    }

    #[test]
    fn every_operation_on_business_data_is_a_tool() {
        let document = document();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let is_rated = !operation["responses"]["429"].is_null();
                let is_offered = TOOLS
                    .iter()
                    .any(|offer| operation["operationId"] == offer.operation);
                assert_eq!(is_rated, is_offered, "{}", operation["operationId"]);
            }
        }
    }

    #[test]
    fn arguments_without_a_body_are_a_query_string() {
        let offer = TOOLS
            .iter()
            .find(|offer| offer.operation == "getCredits")
            .unwrap();
        let tool = Tool::new(offer, None, &document()).unwrap();
        let arguments = json!({"limit": 10, "cursor": "a b&c"});
        let request = tool.request(arguments.as_object().unwrap().clone()).unwrap();
        assert_eq!(request.method(), Method::GET);
        let address = request.uri().to_string();
        assert!(address.starts_with("/api/v1/credits?"), "{address}");
        assert!(
            address.contains("limit=10") && address.contains("cursor=a+b%26c"),
            "{address}"
        );
    }

    #[test]
    fn references_are_written_out() {
        let document = json!({"a": {"b": {"type": "string", "title": "b"}}});
        let schema = json!({"items": [{"$ref": "#/a/b", "title": "c"}], "x": {"$ref": "#/a"}});
        let expected = json!({
            "items": [{"type": "string", "title": "c"}], "x": {"b": {"type": "string", "title": "b"}},
        });
        assert_eq!(inlined(&schema, &document), expected);
    }
}
