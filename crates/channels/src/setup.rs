//! Channels made from settings: a kind, and what that kind wants to know.

use std::sync::Arc;

use punctual_core::channel::Channel;
use punctual_core::invalid::Invalid;

use crate::common::fields::Fields;
use crate::common::links::Links;

/// What all channels are told about the server.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// Where people and programs reach it.
    pub public_url: Option<String>,
    /// Links that answer with one click.
    pub links: Option<Links>,
}

/// Makes a channel of one kind. It reads what it knows of the fields.
type Make = fn(&mut Fields, &Server) -> Result<Arc<dyn Channel>, Invalid>;

/// The kinds that are made from settings.
const KINDS: &[(&str, Make)] = &[
    ("discord", crate::discord::make),
    ("email", crate::email::make),
    ("nats", crate::nats::make),
    ("ntfy", crate::ntfy::make),
    ("rabbitmq", crate::rabbitmq::make),
    ("slack", crate::slack::make),
    ("telegram", crate::telegram::make),
    ("twilio", crate::twilio::make),
    ("vapi", crate::vapi::make),
    ("webhook", crate::webhook::make),
    ("whatsapp", crate::whatsapp::make),
];

/// The kinds that there are.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(kind, _)| *kind)
}

/// Makes a channel of `kind`. No connection is made and nothing is sent.
pub fn make(kind: &str, mut fields: Fields, server: &Server) -> Result<Arc<dyn Channel>, Invalid> {
    let Some((_, make)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        let known = kinds().collect::<Vec<_>>().join(", ");
        return Err(Invalid::new("kind", format!("`{kind}` is no kind of channel; known are {known}")));
    };
    let channel = make(&mut fields, server)?;
    fields.finish()?;
    Ok(channel)
}
