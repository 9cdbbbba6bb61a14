//! Where a Discord message can go.

use punctual_core::channel::AddressRule;
use punctual_core::invalid::Invalid;
use reqwest::Url;

use crate::common::pattern::{any_case, below, origin};
use crate::common::token::Token;

const FORMS: &str = "write CHANNEL_ID, CHANNEL_ID@USER_ID, dm:USER_ID or a webhook's URL; \
                     Discord shows ids with `Copy ID` when its developer mode is on";
/// Where Discord's own webhook URLs point.
const HOSTS: &[&str] = &["discord.com", "discordapp.com"];

/// A place in Discord.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A channel, and who is called there.
    Channel { channel: u64, user: Option<u64> },
    /// The person's own messages.
    Dm { user: u64 },
    /// A webhook of a channel, and a thread in it.
    Webhook { id: u64, token: Token, thread: Option<u64> },
}

impl Place {
    /// The limit that addresses share in Discord: a channel, whichever user is called there, or a webhook, however its URL is written.
    pub(super) fn bucket(&self) -> String {
        match self {
            Self::Channel { channel, .. } => channel.to_string(),
            Self::Dm { user } => format!("dm:{user}"),
            Self::Webhook { id, .. } => format!("webhook:{id}"),
        }
    }

    /// Reads an address, and says what would be right. The address is not repeated, because a webhook's URL is a secret.
    pub(super) fn parse(address: &str, api_url: &str) -> Result<Self, Invalid> {
        let wrong = |problem: &str| Invalid::new("address", format!("{problem}; {FORMS}"));
        let id =
            |text: &str| snowflake(text).ok_or_else(|| wrong("has something else where an id of Discord should be"));
        if address.contains("://") {
            return webhook(address, api_url).ok_or_else(|| wrong("is no webhook's URL of Discord"));
        }
        if let Some(user) = address.strip_prefix("dm:") {
            return Ok(Self::Dm { user: id(user)? });
        }
        match address.split_once('@') {
            Some((channel, user)) => Ok(Self::Channel { channel: id(channel)?, user: Some(id(user)?) }),
            None => Ok(Self::Channel { channel: id(address)?, user: None }),
        }
    }
}

/// An id of Discord: a number of 15 to 20 digits, since they count milliseconds since 2015.
fn snowflake(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_number && (15..=20).contains(&text.len()))
}

/// The same rule for a database. Without a token only webhooks can be called.
pub(super) fn rule(api_url: &str, has_token: bool) -> AddressRule {
    let id = format!("([1-9][0-9]{{14,18}}|{})", below("18446744073709551616"));
    let hosts: Vec<_> = HOSTS.iter().map(|host| any_case(host)).collect();
    let discords = format!(
        "{}://({}|{})?({})(:443)?/api(/v[^/?#]*)?",
        any_case("https"),
        any_case("ptb."),
        any_case("canary."),
        hosts.join("|")
    );
    let ours = Url::parse(api_url).ok().filter(|url| !HOSTS.contains(&url.host_str().unwrap_or_default()));
    let ours = ours.map(|url| format!("|{}(/[^/?#]+)*", origin(&url))).unwrap_or_default();
    let other = "(?!thread_id([=&#]|$))[^&#]*";
    let query = format!(r"\?({other}(&{other})*|({other}&)*thread_id={id}(&[^#]*)?)");
    let webhook = format!(r"({discords}{ours})/webhooks/{id}/[A-Za-z0-9._-]+/?({query})?(#.*)?");
    match has_token {
        true => AddressRule::matching(
            &format!("{id}(@{id})?|dm:{id}|{webhook}"),
            format!("is no place in Discord; {FORMS}"),
        ),
        false => AddressRule::matching(&webhook, super::NO_TOKEN),
    }
}

fn webhook(address: &str, api_url: &str) -> Option<Place> {
    let url = Url::parse(address).ok()?;
    let host = url.host_str()?;
    let is_ours = Url::parse(api_url).is_ok_and(|api| api.origin() == url.origin());
    let is_discords = url.scheme() == "https"
        && url.port().is_none()
        && HOSTS.iter().any(|known| {
            host == *known || host.strip_suffix(known).is_some_and(|sub| matches!(sub, "ptb." | "canary."))
        });
    if !(is_ours || is_discords) || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let mut parts: Vec<&str> = url.path_segments()?.collect();
    if parts.last() == Some(&"") {
        parts.pop();
    }
    let [before @ .., "webhooks", id, token] = parts.as_slice() else { return None };
    let is_api = match before {
        ["api"] => true,
        ["api", version] => version.starts_with('v'),
        _ => !is_discords,
    };
    let is_token =
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let thread = match url.query_pairs().find(|(name, _)| name == "thread_id") {
        Some((_, thread)) => Some(snowflake(&thread)?),
        None => None,
    };
    let id = snowflake(id).filter(|_| is_api && is_token)?;
    Some(Place::Webhook { id, token: Token::new(*token), thread })
}

#[cfg(test)]
mod tests {
    use super::*;

    const API: &str = "https://discord.com/api/v10";
    const ID: u64 = 123_456_789_012_345_678;

    #[track_caller]
    fn check(address: &str, expect: Place) {
        assert_eq!(Place::parse(address, API).unwrap(), expect, "{address}");
    }

    #[test]
    fn every_form_is_read() {
        check("123456789012345678", Place::Channel { channel: ID, user: None });
        check("123456789012345678@123456789012345678", Place::Channel { channel: ID, user: Some(ID) });
        check("dm:123456789012345678", Place::Dm { user: ID });
        let hook = |thread| Place::Webhook { id: ID, token: Token::new("tok-en_1"), thread };
        for host in ["discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com"] {
            check(&format!("https://{host}/api/webhooks/123456789012345678/tok-en_1"), hook(None));
        }
        check("https://discord.com/api/v9/webhooks/123456789012345678/tok-en_1/", hook(None));
        check(
            "https://discord.com/api/webhooks/123456789012345678/tok-en_1?thread_id=123456789012345678",
            hook(Some(ID)),
        );
        let own = "http://127.0.0.1:5000/api/webhooks/123456789012345678/tok-en_1";
        assert_eq!(Place::parse(own, "http://127.0.0.1:5000").unwrap(), hook(None));
    }

    #[test]
    fn a_wrong_address_is_refused_and_not_repeated() {
        for wrong in [
            "",
            "general",
            "#general",
            "12345",
            "0123456789012345678",
            "+12345678901234567",
            "123456789012345678901234",
            "99999999999999999999",
            "123456789012345678@",
            "@123456789012345678",
            "123456789012345678@alice",
            "123456789012345678@123456789012345678@1",
            "dm:",
            "dm:alice",
            "dm:123456789012345678@123456789012345678",
            " 123456789012345678",
            "https://discord.com/api/webhooks/123456789012345678",
            "https://discord.com/api/webhooks/123456789012345678/",
            "https://discord.com/api/webhooks/123456789012345678/s3cret/github",
            "https://discord.com/api/webhooks/alice/s3cret",
            "https://discord.com/webhooks/123456789012345678/s3cret",
            "https://discord.com/api/webhooks/123456789012345678/s3cret?thread_id=x",
            "https://discord.com:444/api/webhooks/123456789012345678/s3cret",
            "http://discord.com/api/webhooks/123456789012345678/s3cret",
            "https://evil.example/api/webhooks/123456789012345678/s3cret",
            "https://evildiscord.com/api/webhooks/123456789012345678/s3cret",
            "https://discord.com.evil.example/api/webhooks/123456789012345678/s3cret",
            "https://discord.com@evil.example/api/webhooks/123456789012345678/s3cret",
            "https://u:s3cret@discord.com/api/webhooks/123456789012345678/s3cret",
            "https://discord.com/api/webhooks/123456789012345678/..%2f",
            "://",
        ] {
            let error = Place::parse(wrong, API).unwrap_err();
            assert_eq!(error.field, "address", "{wrong}");
            assert!(
                error.problem.contains("write CHANNEL_ID") && !error.problem.contains("s3cret"),
                "{wrong}: {error}"
            );
        }
    }
}
