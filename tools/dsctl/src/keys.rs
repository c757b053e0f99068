//! `dsctl keys`: the API keys of the session's account, through the public interface.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use crate::connection::{Connection, Secret};
use crate::failure::Failure;
use crate::output::{Output, cell, table};

/// What to do with keys. The account is that of the session in JWT.
#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// All keys, newest first
    List,
    /// Makes a key; its secret is shown this once
    Create {
        /// What to call it
        #[arg(long)]
        name: Option<String>,
    },
    /// Renames a key
    Rename {
        /// The key
        id: String,
        /// What to call it
        #[arg(long)]
        name: String,
    },
    /// Revokes a key for good
    Revoke {
        /// The key
        id: String,
    },
    /// Gives a key a new secret, shown this once; the old one stops
    Regenerate {
        /// The key
        id: String,
    },
}

impl Keys {
    /// Does it.
    pub(crate) async fn run(&self, connection: &Connection, output: Output) -> Result<(), Failure> {
        let (method, path, body) = match self {
            Self::List => (Method::GET, "/keys".to_owned(), None),
            Self::Create { name: None } => (Method::POST, "/keys".to_owned(), None),
            Self::Create { name: Some(name) } => {
                (Method::POST, "/keys".to_owned(), Some(json!({ "name": name })))
            }
            Self::Rename { id, name } => (Method::PATCH, key(id), Some(json!({ "name": name }))),
            Self::Revoke { id } => (Method::DELETE, key(id), None),
            Self::Regenerate { id } => (Method::POST, format!("{}/regenerate", key(id)), None),
        };
        let jwt = Secret::Jwt.read()?;
        let send = |request: reqwest::RequestBuilder| {
            let request = request.bearer_auth(jwt.trim());
            match &body {
                Some(body) => request.json(body),
                None => request,
            }
        };
        let answer = connection.rest(method, &path, send).await?;
        output.show(&answer, || human(&answer))
    }
}

/// Address of a key. An id with other characters than ids have is no id: it is sent so that it can't lead elsewhere.
fn key(id: &str) -> String {
    let harmless = |character: char| {
        if character.is_ascii_alphanumeric() {
            character
        } else {
            '-'
        }
    };
    format!("/keys/{}", id.chars().map(harmless).collect::<String>())
}

fn human(answer: &Value) -> String {
    let columns = ["id", "name", "keyPrefix", "active", "createdAt", "lastUsedAt"];
    let row = |key: &Value| {
        columns
            .iter()
            .map(|column| cell(key.get(column)))
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = match answer.get("keys").and_then(Value::as_array) {
        Some(keys) => keys.iter().map(row).collect(),
        None => answer.get("key").map(row).into_iter().collect(),
    };
    let table = table(&columns, &rows);
    match answer.get("secret").and_then(Value::as_str) {
        Some(secret) => format!("{table}\nsecret: {secret}\nKeep it: it is shown this once."),
        None => table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_never_leads_to_another_address() {
        assert_eq!(
            key("0198b0c4-7a1e-7000-8000-000000000000"),
            "/keys/0198b0c4-7a1e-7000-8000-000000000000"
        );
        assert_eq!(key("../people?x#y/%2F"), "/keys/---people-x-y--2F");
    }

    #[test]
    fn a_secret_is_shown_with_its_key() {
        let text = human(&json!({"key": {"id": "1", "name": "n", "active": true}, "secret": "dsk_x"}));
        assert!(text.contains("secret: dsk_x") && text.contains("true"), "{text}");
    }
}
