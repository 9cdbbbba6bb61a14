//! What channels share: their settings, the words around a message, fitting it to a platform, and speaking HTTP.

/// A channel's settings, read one by one, with an error for what is wrong or unknown.
pub mod fields;

/// A secret that can be used but is never printed.
pub mod token;

/// Texts with `{fields}` of a reminder in them.
pub mod template;

/// The words that are said beside a message, in every language.
pub mod texts;

/// Making a message short enough, visibly.
pub mod fit;

/// The buttons under a message, and what they send back.
pub mod buttons;

/// Links that answer a reminder with one click.
pub mod links;

/// Phone numbers.
pub(crate) mod phone;

/// Requests to a platform.
pub(crate) mod http;
