//! Where a Slack message can go.

use punctual_core::channel::AddressRule;
use punctual_core::invalid::Invalid;
use reqwest::Url;

use crate::common::pattern::{any_case, beyond_ascii, origin};
use crate::common::token::Token;

const FORMS: &str = "write a channel's id such as C0123456789, C0123456789@U0123456789 to call that user, a user's id, #name \
                     or an incoming webhook's URL";
const HOSTS: &[&str] = &["hooks.slack.com", "hooks.slack-gov.com"];
/// The longest name of a channel.
const NAME_CHARS_MAX: usize = 80;

/// A place in Slack.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A channel or a person by id, or a channel by name, and who is called there.
    Channel { channel: String, user: Option<String> },
    /// An incoming webhook: its URL, which workspace's and which one it is, and the part of the URL that is a secret.
    Webhook { url: String, name: String, secret: Token },
}

impl Place {
    /// The limit that addresses share in Slack: a channel, whichever user is called there, or a webhook.
    pub(super) fn bucket(&self) -> &str {
        match self {
            Self::Channel { channel, .. } => channel,
            Self::Webhook { name, .. } => name,
        }
    }

    /// Reads an address, and says what would be right. The address is not repeated, because a webhook's URL is a secret.
    pub(super) fn parse(address: &str, api_url: &str) -> Result<Self, Invalid> {
        let wrong = |problem: &str| Invalid::new("address", format!("{problem}; {FORMS}"));
        if address.contains("://") {
            return webhook(address, api_url).ok_or_else(|| wrong("is no incoming webhook's URL of Slack"));
        }
        let (channel, user) = match address.split_once('@') {
            Some((channel, user)) => (channel, Some(user)),
            None => (address, None),
        };
        // A person is alone in their own messages, so no user is called there.
        let places: &[char] = if user.is_some() { &['C', 'G'] } else { &['C', 'G', 'D', 'U', 'W'] };
        if !is_id(channel, places) && !is_name(channel) {
            return Err(wrong("is no place in Slack"));
        }
        if user.is_some_and(|user| !is_id(user, &['U', 'W'])) {
            return Err(wrong("has something else after the @ than a user's id"));
        }
        Ok(Self::Channel { channel: channel.to_owned(), user: user.map(str::to_owned) })
    }
}

fn is_id(text: &str, kinds: &[char]) -> bool {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    text.starts_with(kinds) && (8..=24).contains(&text.len()) && text.bytes().all(is_part)
}

/// Lowercase, without spaces, such as `#general`.
fn is_name(text: &str) -> bool {
    let is_part =
        |character: char| character.is_alphanumeric() && !character.is_uppercase() || "-_".contains(character);
    text.strip_prefix('#')
        .is_some_and(|name| (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && name.chars().all(is_part))
}

/// The same rule for a database. Without a token only webhooks can be called.
pub(super) fn rule(api_url: &str, has_token: bool) -> AddressRule {
    let letters = beyond_ascii(|character| character.is_alphanumeric() && !character.is_uppercase());
    let name = format!("#[a-z0-9_{letters}-]{{1,{NAME_CHARS_MAX}}}");
    let place = format!("[CGDUW][A-Z0-9]{{7,23}}|{name}|([CG][A-Z0-9]{{7,23}}|{name})@[UW][A-Z0-9]{{7,23}}");
    let hosts: Vec<_> = HOSTS.iter().map(|host| any_case(host)).collect();
    let slacks = format!("{}://({})(:443)?", any_case("https"), hosts.join("|"));
    let ours = Url::parse(api_url).map(|url| format!("|{}", origin(&url))).unwrap_or_default();
    let webhook = format!("({slacks}{ours})/services(/[A-Za-z0-9]+){{3}}(#.*)?");
    match has_token {
        true => AddressRule::matching(&format!("{place}|{webhook}"), format!("is no place in Slack; {FORMS}")),
        false => AddressRule::matching(&webhook, super::NO_TOKEN),
    }
}

fn webhook(address: &str, api_url: &str) -> Option<Place> {
    let url = Url::parse(address).ok()?;
    let is_ours = Url::parse(api_url).is_ok_and(|api| api.origin() == url.origin());
    let is_slacks = url.scheme() == "https" && url.port().is_none() && HOSTS.contains(&url.host_str()?);
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let parts: Vec<&str> = url.path_segments()?.collect();
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match parts.as_slice() {
        ["services", team, hook, secret] if is_part(team) && is_part(hook) && is_part(secret) => {
            let (name, secret) = (format!("{team}/{hook}"), Token::new(*secret));
            ((is_ours || is_slacks) && is_plain).then(|| Place::Webhook { url: url.to_string(), name, secret })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: &str = "https://slack.com/api";

    #[test]
    fn every_form_is_read() {
        let channel =
            |channel: &str, user: Option<&str>| Place::Channel { channel: channel.into(), user: user.map(Into::into) };
        let hook = "https://hooks.slack.com/services/T01/B02/s3cret";
        for (address, expect) in [
            ("C0123456789", channel("C0123456789", None)),
            ("C0123456789@U0123456789", channel("C0123456789", Some("U0123456789"))),
            ("U0123456789", channel("U0123456789", None)),
            ("D0123456789", channel("D0123456789", None)),
            ("#general", channel("#general", None)),
            ("#büro-2@W0123456789", channel("#büro-2", Some("W0123456789"))),
            (hook, Place::Webhook { url: hook.into(), name: "T01/B02".into(), secret: Token::new("s3cret") }),
        ] {
            assert_eq!(Place::parse(address, API), Ok(expect), "{address}");
        }
    }

    #[test]
    fn a_wrong_address_is_refused_and_not_repeated() {
        for wrong in [
            "",
            "general",
            "#",
            "#General",
            "#a b",
            &format!("#{}", "a".repeat(81)),
            "c0123456789",
            "C01",
            "X0123456789",
            "C0123456789@",
            "C0123456789@alice",
            "U0123456789@U0123456789",
            "@U0123456789",
            "<#C0123456789>",
            "https://hooks.slack.com/services/T01/B02",
            "https://hooks.slack.com/services/T01/B02/s3cret?x=1",
            "https://hooks.slack.com/services/T01/B02/s3cret/more",
            "https://hooks.slack.com/workflows/T01/B02/s3cret",
            "http://hooks.slack.com/services/T01/B02/s3cret",
            "https://hooks.slack.com:444/services/T01/B02/s3cret",
            "https://hooks.slack.com.evil.example/services/T01/B02/s3cret",
            "https://u:s3cret@hooks.slack.com/services/T01/B02/s3cret",
        ] {
            let error = Place::parse(wrong, API).unwrap_err();
            assert!(error.field == "address" && error.problem.ends_with(FORMS), "{wrong}: {error}");
            assert!(!error.problem.contains("s3cret"), "{error}");
        }
    }
}
