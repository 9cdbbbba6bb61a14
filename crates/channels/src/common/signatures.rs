//! Whether a request really comes from the platform it says it comes from.
//!
//! Each function takes what the platform signed as it arrived, the signature, and where the platform signs a time, the time now and
//! how far it may be off. They answer yes or no and nothing else, in the same time whatever is wrong: a forger learns nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use reqwest::Url;
use ring::{digest, hmac, signature};

/// Discord: Ed25519 over the timestamp and the body, in `X-Signature-Ed25519` and `X-Signature-Timestamp`, both as they arrived.
/// The key is the application's public key, in hexadecimal.
pub fn discord(
    public_key: &str,
    timestamp: &str,
    body: &[u8],
    signature: &str,
    now: Timestamp,
    tolerance: Duration,
) -> bool {
    let (Some(key), Some(signature)) = (from_hex(public_key), from_hex(signature)) else { return false };
    let signed = [timestamp.as_bytes(), body].concat();
    is_near(timestamp, now, tolerance) && ed25519(&key, &signed, &signature)
}

/// Telegram: the secret that it was told, repeated in `X-Telegram-Bot-Api-Secret-Token`. It signs nothing.
pub fn telegram(secret: &str, header: &str) -> bool {
    same(secret, header)
}

/// Whether a text is the secret.
pub fn same(secret: &str, text: &str) -> bool {
    // Digests are compared, because comparing the texts would take longer the more of the secret is right.
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, secret.as_bytes());
    !secret.is_empty() && hmac::verify(&key, text.as_bytes(), tag.as_ref()).is_ok()
}

/// Slack: `v0=` and HMAC-SHA256 in hexadecimal over `v0:TIMESTAMP:BODY`, in `X-Slack-Signature` and `X-Slack-Request-Timestamp`.
pub fn slack(
    signing_secret: &str,
    timestamp: &str,
    body: &[u8],
    signature: &str,
    now: Timestamp,
    tolerance: Duration,
) -> bool {
    let Some(tag) = signature.strip_prefix("v0=").and_then(from_hex) else { return false };
    let parts = [b"v0:", timestamp.as_bytes(), b":", body];
    is_near(timestamp, now, tolerance) && mac(hmac::HMAC_SHA256, signing_secret.as_bytes(), &parts, &tag)
}

/// Meta (WhatsApp): `sha256=` and HMAC-SHA256 in hexadecimal over the body, in `X-Hub-Signature-256`. It signs no time.
pub fn meta(app_secret: &[u8], body: &[u8], signature: &str) -> bool {
    let Some(tag) = signature.strip_prefix("sha256=").and_then(from_hex) else { return false };
    mac(hmac::HMAC_SHA256, app_secret, &[body], &tag)
}

/// What Twilio sent.
#[derive(Debug, Clone, Copy)]
pub enum TwilioBody<'a> {
    /// The fields of a form, in any order.
    Form(&'a [(String, String)]),
    /// Anything else, such as JSON; its digest stands in the URL as `bodySHA256`.
    Raw(&'a [u8]),
}

/// Twilio: HMAC-SHA1 in base64 over the URL and the sorted fields, in `X-Twilio-Signature`. `url` is the one that Twilio was given,
/// not the one behind a proxy; whether Twilio wrote its port is not to be known, so both are tried. It signs no time.
pub fn twilio(auth_token: &str, url: &str, body: TwilioBody<'_>, signature: &str) -> bool {
    let Ok(tag) = BASE64_STANDARD.decode(signature) else { return false };
    let Ok(parsed) = Url::parse(url) else { return false };
    let signed_fields = match body {
        TwilioBody::Form(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort();
            // Twilio counts a field that is given twice with the same value once.
            fields.dedup();
            fields.iter().flat_map(|(name, value)| [name.as_str(), value]).collect()
        }
        TwilioBody::Raw(raw) => {
            let claimed = parsed.query_pairs().find(|(name, _)| name == "bodySHA256");
            let claimed = claimed.and_then(|(_, digest)| from_hex(&digest));
            if claimed.as_deref() != Some(digest::digest(&digest::SHA256, raw).as_ref()) {
                return false;
            }
            String::new()
        }
    };
    // No early end, so that the time does not tell which of them it was.
    with_and_without_port(url, &parsed).iter().fold(false, |found, url| {
        let parts = [url.as_bytes(), signed_fields.as_bytes()];
        mac(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, auth_token.as_bytes(), &parts, &tag) | found
    })
}

/// `url` as it is, without its port, and with the port that its scheme means. Cut as text: writing it anew could change what was
/// signed.
fn with_and_without_port(url: &str, parsed: &Url) -> Vec<String> {
    let mut all = vec![url.to_owned()];
    let Some((scheme, rest)) = url.split_once("://") else { return all };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some((host, _)) => all.push(format!("{scheme}://{host}{path}")),
        None => {
            let port = parsed.port_or_known_default().unwrap_or_default();
            all.push(format!("{scheme}://{authority}:{port}{path}"));
        }
    }
    all
}

/// Whether a time in seconds is at most `tolerance` before or after now.
fn is_near(timestamp: &str, now: Timestamp, tolerance: Duration) -> bool {
    let Ok(signed_at) = timestamp.parse::<i64>() else { return false };
    now.as_second().abs_diff(signed_at) <= tolerance.as_secs()
}

fn mac(algorithm: hmac::Algorithm, key: &[u8], parts: &[&[u8]], tag: &[u8]) -> bool {
    hmac::verify(&hmac::Key::new(algorithm, key), &parts.concat(), tag).is_ok()
}

fn ed25519(key: &[u8], signed: &[u8], tag: &[u8]) -> bool {
    signature::UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, tag).is_ok()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    // Signatures and keys are short; a longer text is neither.
    if text.len() > 128 || !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
