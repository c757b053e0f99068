//! A text that must not be shown.

use std::fmt;

use subtle::ConstantTimeEq as _;

/// A secret text: Debug shows that there is one, nothing shows what it is but [`Secret::expose`].
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes the text into custody.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that uses it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is the same text, told in a time that depends on the lengths alone.
    #[must_use]
    pub fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}
