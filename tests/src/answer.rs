//! What the gateway answered.

use reqwest::blocking::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::documented::{self, Exchange};

/// An answer with a JSON body.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body; null if there was none.
    pub body: Value,
}

impl Answer {
    /// Sends a request, and holds the answer against the OpenAPI document.
    ///
    /// # Panics
    /// If it is not answered, or not as documented; or if the body is neither empty nor JSON: no answer of ours is.
    #[must_use]
    pub fn of(request: RequestBuilder) -> Self {
        let (client, request) = request.build_split();
        let request = request.expect("a request can be made");
        let (method, address) = (request.method().clone(), request.url().clone());
        let response = client.execute(request).expect("the gateway answers");
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.text().expect("the body is UTF-8 and arrives");
        let shown = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().expect("a header is ASCII")));
        documented::hold(
            &format!("{}/api/v1", address.origin().ascii_serialization()),
            &Exchange {
                method: method.as_str(),
                path: address.path(),
                status,
                headers: shown.collect(),
                body: text.as_bytes(),
            },
        );
        let body = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{status}: {error}: {text}"))
        };
        Self {
            status,
            headers,
            body,
        }
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A header's value as a number.
    ///
    /// # Panics
    /// If it is missing or none.
    #[must_use]
    pub fn number(&self, name: &str) -> i64 {
        let text = self
            .header(name)
            .unwrap_or_else(|| panic!("{name} is missing: {self:?}"));
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no integer: {text}"))
    }

    /// The same answer, if it has this status.
    ///
    /// # Panics
    /// If it has not.
    #[must_use]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }

    /// The answer, if it is an error of this status and code in the shape of the contract.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub fn refused(self, status: u16, code: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.body["success"], false, "{:#}", answer.body);
        assert_eq!(answer.body["code"], code, "{:#}", answer.body);
        assert!(
            answer.body["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{:#}",
            answer.body
        );
        assert_eq!(
            answer.body["requestId"].as_str(),
            answer.header("x-request-id"),
            "{:#}",
            answer.body
        );
        assert_eq!(answer.header("content-type"), Some("application/json"));
        answer
    }

    /// The validation problems as `path code`, such as `jobTitles[3] too_long`, in their order.
    ///
    /// # Panics
    /// If this is no validation error.
    #[must_use]
    pub fn issues(self) -> Vec<String> {
        let answer = self.refused(400, "VALIDATION_ERROR");
        let issues = answer.body["issues"]
            .as_array()
            .expect("a validation error has issues");
        issues
            .iter()
            .map(|issue| {
                assert!(
                    issue["message"].as_str().is_some_and(|text| !text.is_empty()),
                    "{issue}"
                );
                let path = issue["path"].as_array().expect("an issue has a path");
                let place: String = path
                    .iter()
                    .enumerate()
                    .map(|(depth, step)| match step {
                        Value::Number(index) => format!("[{index}]"),
                        step => {
                            let name = step.as_str().expect("a step is a name or a number");
                            format!("{}{name}", if depth == 0 { "" } else { "." })
                        }
                    })
                    .collect();
                let code = issue["code"].as_str().expect("an issue has a code");
                format!("{place} {code}").trim_start().to_owned()
            })
            .collect()
    }

    /// The rows of a search that was answered.
    ///
    /// # Panics
    /// If it was refused.
    #[must_use]
    pub fn rows(&self) -> &[Value] {
        assert_eq!(self.status, 200, "{:#}", self.body);
        self.body["data"]["rows"].as_array().expect("an answer has rows")
    }

    /// One property of each row, in order.
    #[must_use]
    pub fn column(&self, name: &str) -> Vec<Value> {
        self.rows().iter().map(|row| row[name].clone()).collect()
    }

    /// The names (companies) or full names (people) of the rows, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let name = |row: &Value| {
            let name = row
                .get("name")
                .or_else(|| row.get("fullName"))
                .and_then(Value::as_str);
            name.expect("a row has a name").to_owned()
        };
        let mut names: Vec<String> = self.rows().iter().map(name).collect();
        names.sort();
        names
    }

    /// `data.total`.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.body["data"]["total"]
            .as_i64()
            .unwrap_or_else(|| panic!("no total: {:#}", self.body))
    }
}
