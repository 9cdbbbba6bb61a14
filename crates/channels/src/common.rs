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

/// A whole message: a template, and the question under it.
pub(crate) mod whole;

/// The buttons under a message, and what they send back.
pub mod buttons;

/// Links that answer a reminder with one click.
pub mod links;

/// Which addresses that users choose may be called.
pub(crate) mod guard;

/// Which servers are trusted.
pub(crate) mod trust;

/// Regular expressions for addresses.
pub(crate) mod pattern;

/// Phone numbers.
pub(crate) mod phone;

/// Something that is made when it is needed, such as a connection, and by one alone.
pub(crate) mod link;

/// A map that forgets its oldest entries.
pub(crate) mod kept;

/// Telling a platform that throttles one address from one that throttles all.
pub(crate) mod waiting;

/// What is said to a person who answered, and what an answered message shows.
pub(crate) mod reactions;

/// How a channel hears what people answer: the setting `receive`.
pub(crate) mod receiving;

/// Small jobs beside a main one.
pub(crate) mod beside;

/// Whether a request really comes from the platform it says it comes from.
pub mod signatures;

/// Requests to a platform.
pub(crate) mod http;

/// Takes secrets out of texts before they are shown.
pub(crate) mod redact;

/// A platform's words, made short and safe enough to be shown.
pub(crate) mod quote;

/// How long a receiver asks to wait.
pub(crate) mod retry_after;

/// What it means when a request ends without an answer.
pub(crate) mod failure;
