//! Why a command ended without having done what it was told.

use std::{fmt, io};

use serde_json::Value;

/// A failure, with all that its reader needs: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A variable of the environment is missing.
    #[error("{0} is not set: run eval \"$(./dev env)\"")]
    Unset(&'static str),
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
    /// Anything else, in words.
    #[error("{0}")]
    Refused(String),
}

impl Failure {
    /// Exit status of the process: 2 where the call was wrong, 1 where it was refused or failed; 0 where nobody reads
    /// on, which is no fault.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Unset(_) => 2,
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
        };
        assert_eq!(
            refusal.to_string(),
            "400 VALIDATION_ERROR: 3 problems\n  jobTitles[3]: has 201 characters\n  \
             sort.field: is unknown (did you mean name?)\n  ends early\n  request r-1"
        );
    }

    #[test]
    fn exit_statuses_are_those_of_the_contract() {
        for (failure, status) in [
            (Failure::Unset("JWT"), 2),
            (Failure::Refused(String::new()), 1),
            (Failure::Output(io::ErrorKind::BrokenPipe.into()), 0),
            (Failure::Output(io::ErrorKind::StorageFull.into()), 1),
        ] {
            assert_eq!(failure.exit_status(), status, "{failure}");
        }
    }
}
