//! A secret that can be used but is never printed.

use std::fmt;

use super::redact::redact;

/// A bot's token, a password, or a URL that has one in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes the secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the platform that it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with the secret blotted out, for what a platform answers may repeat what it was called with.
    pub fn redact(&self, text: &str) -> String {
        redact(text, [self.expose()])
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}
