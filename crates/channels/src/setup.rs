//! Channels made from settings: a kind, and what that kind wants to know.

use std::sync::Arc;

use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;

use crate::common::fields::Fields;
use crate::common::links::{Door, Links};

/// The facts about the server that all channels get.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// Where people and programs reach it.
    pub public_url: Option<String>,
    /// Links that answer with one click.
    pub links: Option<Links>,
    /// Where the requests of a platform come in for the channel that is made; none while settings are only checked.
    pub door: Option<Door>,
}

impl Server {
    /// One that nobody reaches from outside.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, public_url: None, links: None, door: None }
    }
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

/// Whether messages of this kind can have links or buttons that lead to this server.
pub fn carries_links(kind: &str) -> bool {
    matches!(kind, "discord" | "email" | "nats" | "ntfy" | "rabbitmq" | "slack" | "twilio" | "webhook")
}

/// An example of an address of this kind; none where a channel needs no address.
pub fn address_example(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "discord" => "123456789012345678",
        "email" => "alice@example.org",
        "nats" | "rabbitmq" => "game.reminder_due",
        "ntfy" => "my-topic",
        "slack" => "C0123456789",
        "telegram" => "123456789",
        "twilio" | "vapi" | "whatsapp" => "+4915112345678",
        "webhook" => "https://example.org/hook",
        "webpush" => crate::webpush::ADDRESS_EXAMPLE,
        _ => return None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_kind_takes_the_address_it_is_shown_with() {
        let settings: &[(&str, &[(&str, &str)])] = &[
            ("discord", &[("token", "t0ken")]),
            ("email", &[("host", "mail.example.org"), ("from", "punctual@example.org")]),
            ("nats", &[("url", "nats://127.0.0.1:4222")]),
            ("ntfy", &[]),
            ("rabbitmq", &[("url", "amqp://127.0.0.1:5672"), ("exchange", "x")]),
            ("slack", &[("token", "xoxb-1")]),
            ("telegram", &[("token", "123456789:AAE-s3cret_token")]),
            (
                "twilio",
                &[("account_sid", "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), ("auth_token", "t"), ("from", "Punctual")],
            ),
            ("vapi", &[("api_key", "t"), ("phone_number_id", "p"), ("assistant_id", "a")]),
            ("webhook", &[]),
            ("whatsapp", &[("token", "t"), ("phone_number_id", "1")]),
        ];
        assert!(kinds().eq(settings.iter().map(|(kind, _)| *kind)), "a kind is missing here");
        for (kind, fields) in settings {
            let channel = make(kind, sample::settings(fields), &Server::new(sample::clock()));
            let channel = channel.unwrap_or_else(|invalid| panic!("{kind}: {invalid}"));
            let example = address_example(kind).unwrap();
            channel.check_address(example).unwrap_or_else(|invalid| panic!("{kind}: {invalid}"));
        }
        assert_eq!(address_example("console"), None);
    }
}
