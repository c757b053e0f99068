//! The environment of the process: the one place that reads it.

/// The value of a variable; none if it is not set or blank.
#[expect(
    clippy::disallowed_methods,
    reason = "a tool of one command reads the variables of its user, no settings of a process"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
