//! Requests signed as the platforms sign theirs: the other half of `channels/src/common/signatures.rs`, written for itself so that
//! a mistake in one is noticed by the other.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use ring::{digest, hmac};

/// Headers and body of a request to `POST /v1/inbound/{channel}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The headers that prove it, and its content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Telegram repeats the secret that the webhook was set with.
pub fn telegram(secret: &str, update: &serde_json::Value) -> Signed {
    let headers = vec![("content-type", "application/json".into()), ("x-telegram-bot-api-secret-token", secret.into())];
    Signed { headers, body: update.to_string().into_bytes() }
}

/// Discord signs the time and the body with its own key.
pub struct DiscordKey(Ed25519KeyPair);

impl DiscordKey {
    /// The key that grows out of `seed`.
    pub fn new(seed: [u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed has 32 bytes"))
    }

    /// What the setting `public_key` is.
    pub fn public_key(&self) -> String {
        hex(self.0.public_key().as_ref())
    }

    /// An interaction, signed at a second.
    pub fn sign(&self, interaction: &serde_json::Value, second: i64) -> Signed {
        let (body, timestamp) = (interaction.to_string().into_bytes(), second.to_string());
        let signature = self.0.sign(&[timestamp.as_bytes(), &body].concat());
        let headers = vec![
            ("content-type", "application/json".into()),
            ("x-signature-ed25519", hex(signature.as_ref())),
            ("x-signature-timestamp", timestamp),
        ];
        Signed { headers, body }
    }
}

/// Slack signs the time and the body; a press is a form with one field.
pub fn slack(signing_secret: &str, second: i64, body: &str, content_type: &str) -> Signed {
    let text = format!("v0:{second}:{body}");
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, signing_secret.as_bytes()), text.as_bytes());
    let headers = vec![
        ("content-type", content_type.into()),
        ("x-slack-signature", format!("v0={}", hex(tag.as_ref()))),
        ("x-slack-request-timestamp", second.to_string()),
    ];
    Signed { headers, body: body.into() }
}

/// A press in Slack.
pub fn slack_press(signing_secret: &str, second: i64, payload: &serde_json::Value) -> Signed {
    slack(signing_secret, second, &form(&[("payload", &payload.to_string())]), FORM)
}

/// An event in Slack.
pub fn slack_event(signing_secret: &str, second: i64, event: &serde_json::Value) -> Signed {
    slack(signing_secret, second, &event.to_string(), "application/json")
}

/// Meta signs the body.
pub fn whatsapp(app_secret: &str, notification: &serde_json::Value) -> Signed {
    let body = notification.to_string();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, app_secret.as_bytes()), body.as_bytes());
    let headers = vec![
        ("content-type", "application/json".into()),
        ("x-hub-signature-256", format!("sha256={}", hex(tag.as_ref()))),
    ];
    Signed { headers, body: body.into() }
}

/// Twilio signs the URL and the fields, sorted.
pub fn twilio(auth_token: &str, url: &str, fields: &[(&str, &str)]) -> Signed {
    let mut sorted = fields.to_vec();
    sorted.sort_unstable();
    let text = sorted.iter().fold(url.to_owned(), |text, (name, value)| text + name + value);
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, auth_token.as_bytes());
    let tag = hmac::sign(&key, text.as_bytes());
    let headers = vec![("content-type", FORM.into()), ("x-twilio-signature", BASE64_STANDARD.encode(tag.as_ref()))];
    Signed { headers, body: form(fields).into() }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Pairs as an HTML form writes them: everything but letters and digits as `%XX`.
pub fn form(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| -> String {
        let byte = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

/// A number that no two events share, such as a message's SID.
pub fn id_of(text: &str) -> String {
    hex(&digest::digest(&digest::SHA256, text.as_bytes()).as_ref()[..16])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
