//! Where a Telegram message can go.

use std::fmt;
use std::str::FromStr;

use punctual_core::channel::AddressRule;
use punctual_core::invalid::Invalid;
use serde_json::Value;

use crate::common::pattern::below;

/// A chat, and a topic in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) chat: Chat,
    pub(super) topic: Option<u32>,
}

/// A chat by its number or its public name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Chat {
    Id(i64),
    Name(String),
}

impl Chat {
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Id(id) => (*id).into(),
            Self::Name(_) => self.to_string().into(),
        }
    }

    /// The limit that addresses share in Telegram: all topics of a group, and a name in whatever case it is written.
    pub(super) fn bucket(&self) -> String {
        self.to_string().to_lowercase()
    }

    /// Whether it is a person's, and no group or channel.
    pub(super) fn is_person(&self) -> bool {
        matches!(self, Self::Id(1..))
    }
}

impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => write!(f, "@{name}"),
        }
    }
}

impl FromStr for Place {
    type Err = Invalid;

    fn from_str(address: &str) -> Result<Self, Invalid> {
        let wrong = || Invalid::new("address", NO_CHAT);
        let (chat, topic) = match address.split_once('/') {
            Some((chat, topic)) => (chat, Some(topic.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?)),
            None => (address, None),
        };
        let chat = match chat.strip_prefix('@') {
            Some(name) if is_name(name) => Chat::Name(name.to_owned()),
            Some(_) => return Err(wrong()),
            None => Chat::Id(id(chat).ok_or_else(wrong)?),
        };
        Ok(Self { chat, topic })
    }
}

const NO_CHAT: &str = "is no chat of Telegram; write its number, such as 123456789 for a person or -100123456789 for a group, \
                       with /7 for topic 7, or @name for a public channel";

/// The same rule for a database.
pub(super) fn rule() -> AddressRule {
    let chat = format!("-?([1-9][0-9]{{0,14}}|{})", below("4503599627370496"));
    let topic = format!(r"/\+?0*([1-9][0-9]{{0,8}}|{})", below("4294967296"));
    AddressRule::matching(&format!("(@[A-Za-z][A-Za-z0-9_]{{3,31}}|{chat})({topic})?"), NO_CHAT)
}

/// Telegram's numbers have at most 52 bits.
fn id(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    text.parse().ok().filter(|id: &i64| is_number && *id != 0 && id.unsigned_abs() < 1 << 52)
}

fn is_name(name: &str) -> bool {
    (4..=32).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let check =
            |address: &str, chat: Chat, topic| assert_eq!(address.parse(), Ok(Place { chat, topic }), "{address}");
        check("123456789", Chat::Id(123_456_789), None);
        check("-100123456789", Chat::Id(-100_123_456_789), None);
        check("-100123456789/7", Chat::Id(-100_123_456_789), Some(7));
        check("@my_channel", Chat::Name("my_channel".into()), None);
    }

    #[test]
    fn a_wrong_address_is_refused() {
        for wrong in [
            "",
            "0",
            "-0",
            "-",
            "007",
            "+49151",
            "alice",
            "@",
            "@abc",
            "@1abcd",
            "@na me",
            "@ünal",
            "1.5",
            " 1",
            "1/",
            "1/0",
            "1/x",
            "/7",
            "4503599627370496",
            "99999999999999999999",
            "@a_name_that_is_far_too_long_for_telegram",
            "--1",
        ] {
            let error = wrong.parse::<Place>().unwrap_err();
            assert!(error.to_string().starts_with("address: is no chat of Telegram; write its number"), "{wrong}");
        }
    }
}
