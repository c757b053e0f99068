//! Why a command ended without having done what it was told.

use std::time::Duration;
use std::{fmt, io};

use serde_json::Value;

/// A failure, with all that its reader needs: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A variable of the environment is missing.
    #[error("{}", unset(.0))]
    Unset(&'static str),
    /// The command can't be meant so, in words.
    #[error("{0}")]
    Usage(String),
    /// A file can't be read.
    #[error("{path}: {error} ({hint})")]
    File {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// The output can't be written.
    #[error("can't write the output: {0}")]
    Output(io::Error),
    /// The public interface refused.
    #[error("{0}")]
    Rest(Box<Refusal>),
    /// The public interface can't be reached, or its answer was lost.
    #[error("{message}")]
    Unreachable {
        /// What, and what to do.
        message: String,
        /// Whether the request can't have arrived.
        before_it_was_sent: bool,
    },
    /// It ended before its end, and goes on where it ended when it is run again.
    #[error("{why}\n  {kept}: run the same command again to go on")]
    Incomplete {
        /// Why it ended.
        why: Box<Failure>,
        /// What is there already.
        kept: String,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Refused(String),
}

impl Failure {
    /// Exit status of the process: 2 where the call was wrong, 3 where it goes on when run again, 1 where it was refused or
    /// failed; 0 where nobody reads on, which is no fault.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Unset(_) | Self::Usage(_) => 2,
            Self::Incomplete { .. } => 3,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            _ => 1,
        }
    }
}

/// An answer of the public interface that is none of success.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// HTTP status.
    pub(crate) status: u16,
    /// Its body.
    pub(crate) body: Value,
    /// How long to wait, if it tells.
    pub(crate) retry_after: Option<Duration>,
}

/// What to do about a variable that is not set.
fn unset(name: &str) -> String {
    match name {
        "API_KEY" => "there is no API key: run `dsctl login`, or set API_KEY or API_KEY_FILE (eval \"$(./dev env)\" does)"
            .to_owned(),
        "BASE_URL" => "there is no address: run `dsctl login --base-url https://HOST/api/v1`, or set BASE_URL (eval \
                       \"$(./dev env)\" does)"
            .to_owned(),
        _ => format!("{name} is not set: run eval \"$(./dev env)\""),
    }
}

impl Refusal {
    /// What its reader can do about it, where the answer does not tell itself.
    pub(crate) fn remedy(&self) -> Option<String> {
        let wait = || {
            self.retry_after
                .map(|wait| format!("try again in {} s", wait.as_secs()))
        };
        match (self.status, self.body.get("code").and_then(Value::as_str)) {
            (401, Some("INVALID_API_KEY")) => Some(
                "the key comes from --profile, --api-key-file, API_KEY, API_KEY_FILE or `dsctl login`, the first of them that \
                 is there; `dsctl keys create` makes one"
                    .to_owned(),
            ),
            (401, Some("INVALID_TOKEN")) => {
                Some("JWT holds the session's token: sign in again, or run eval \"$(./dev env)\"".to_owned())
            }
            (402, _) => Some("top up the account, or ask an operator: dsctl credits grant".to_owned()),
            (429, _) => wait().map(|wait| format!("{wait}; search --all waits by itself")),
            (503, _) => wait(),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |property: &str| self.body.get(property).and_then(Value::as_str).unwrap_or("?");
        write!(f, "{} {}: {}", self.status, text("code"), text("message"))?;
        for issue in self
            .body
            .get("issues")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            f.write_str("\n  ")?;
            let path = issue
                .get("path")
                .and_then(Value::as_array)
                .map(|path| path_of(path))
                .unwrap_or_default();
            if !path.is_empty() {
                write!(f, "{path}: ")?;
            }
            f.write_str(issue.get("message").and_then(Value::as_str).unwrap_or("?"))?;
            if let Some(hint) = issue.get("hint").and_then(Value::as_str) {
                write!(f, " ({hint})")?;
            }
        }
        if let Some(remedy) = self.remedy() {
            write!(f, "\n  {remedy}")?;
        }
        if let Some(id) = self.body.get("requestId").and_then(Value::as_str) {
            write!(f, "\n  request {id}")?;
        }
        Ok(())
    }
}

/// `jobTitles[3]`, `sort.field`, as violations write it.
fn path_of(path: &[Value]) -> String {
    let segments = path.iter().map(|segment| match segment.as_str() {
        Some(name) => format!(".{name}"),
        None => format!("[{segment}]"),
    });
    segments.collect::<String>().trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_tells_every_issue_in_a_line() {
        let refusal = Refusal {
            status: 400,
            body: json!({"code": "VALIDATION_ERROR", "message": "3 problems", "requestId": "r-1", "issues": [
                {"path": ["jobTitles", 3], "code": "too_long", "message": "has 201 characters"},
                {"path": ["sort", "field"], "code": "invalid_format", "message": "is unknown", "hint": "did you mean name?"},
                {"path": [], "code": "invalid_json", "message": "ends early"},
            ]}),
            retry_after: None,
        };
        assert_eq!(
            refusal.to_string(),
            "400 VALIDATION_ERROR: 3 problems\n  jobTitles[3]: has 201 characters\n  \
             sort.field: is unknown (did you mean name?)\n  ends early\n  request r-1"
        );
    }

    #[test]
    fn what_can_be_mended_is_told_with_how() {
        for (status, code, remedy) in [
            (401, "INVALID_API_KEY", "dsctl login"),
            (401, "INVALID_TOKEN", "JWT"),
            (402, "INSUFFICIENT_CREDITS", "top up"),
            (429, "RATE_LIMIT_EXCEEDED", "try again in 7 s"),
            (503, "UNAVAILABLE", "try again in 7 s"),
        ] {
            let refusal = Refusal {
                status,
                body: json!({"code": code, "message": "no"}),
                retry_after: Some(Duration::from_secs(7)),
            };
            assert!(refusal.to_string().contains(remedy), "{refusal}");
        }
        for (variable, remedy) in [
            ("API_KEY", "dsctl login"),
            ("BASE_URL", "--base-url"),
            ("JWT", "./dev env"),
        ] {
            let failure = Failure::Unset(variable).to_string();
            assert!(failure.contains(remedy), "{failure}");
        }
    }

    #[test]
    fn exit_statuses_are_those_of_the_contract() {
        for (failure, status) in [
            (Failure::Unset("JWT"), 2),
            (Failure::Usage(String::new()), 2),
            (
                Failure::Incomplete {
                    why: Box::new(Failure::Refused(String::new())),
                    kept: String::new(),
                },
                3,
            ),
            (Failure::Refused(String::new()), 1),
            (Failure::Output(io::ErrorKind::BrokenPipe.into()), 0),
            (Failure::Output(io::ErrorKind::StorageFull.into()), 1),
        ] {
            assert_eq!(failure.exit_status(), status, "{failure}");
        }
    }
}
