//! Signing after Standard Webhooks, so that a receiver can tell our requests from forged ones.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use punctual_core::invalid::Invalid;
use sha2::Sha256;

/// A written secret begins with this.
const PREFIX: &str = "whsec_";
/// The shortest secret in bytes. The standard recommends 24. Anything shorter could be guessed from a single signed request.
pub const BYTES_MIN: usize = 16;
/// The longest secret in bytes, after the standard. A longer one is a mistake, such as a whole key file.
pub const BYTES_MAX: usize = 64;

/// The secret by which punctual signs and a receiver verifies.
///
/// It is written as `whsec_` and base64, such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`. It can be used but
/// not read: nothing here prints it.
#[derive(Clone)]
pub struct Secret {
    /// The key already mixed in, which saves half of the hashing for a small body.
    keyed: Hmac<Sha256>,
}

impl Secret {
    /// Takes the secret's own bytes, [`BYTES_MIN`] to [`BYTES_MAX`] of them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Invalid> {
        if !(BYTES_MIN..=BYTES_MAX).contains(&bytes.len()) {
            let n_bytes = bytes.len();
            let problem = format!("is {n_bytes} bytes; a signing secret has {BYTES_MIN} to {BYTES_MAX}");
            return Err(Invalid::new("secret", problem));
        }
        Ok(Self { keyed: keyed(bytes) })
    }

    /// The value of `webhook-signature` for one request.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut mac = self.keyed.clone();
        mac.update(id.as_bytes());
        mac.update(b".");
        mac.update(timestamp.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        let mut signature = String::with_capacity(48);
        signature.push_str("v1,");
        BASE64_STANDARD.encode_string(mac.finalize().into_bytes(), &mut signature);
        signature
    }
}

impl FromStr for Secret {
    type Err = Invalid;

    /// Reads base64, with `whsec_` before it or without.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        // The text itself stays out of the message: it may be nearly right.
        let text = text.trim();
        let bytes = BASE64_STANDARD.decode(text.strip_prefix(PREFIX).unwrap_or(text)).map_err(|_| {
            let right = format!("write whsec_ and then base64 of {BYTES_MIN} to {BYTES_MAX} random bytes");
            Invalid::new("secret", format!("is no signing secret; {right}"))
        })?;
        Self::from_bytes(&bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

fn keyed(bytes: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(bytes).expect("a key for HMAC may have any length")
}

#[cfg(test)]
mod tests {
    use punctual_testkit::report;
    use serde_json::Value;

    use super::*;
    use crate::spec::facts::Facts;
    use crate::spec::published;

    /// Our own vectors, and those of a published file where it is here.
    fn rows(ours: &str, file: &str, theirs: impl Fn(&Value) -> Vec<Value>) -> Vec<Value> {
        let rows = Facts::of("signatures", |_| ()).at(&format!("/{ours}")).as_array().unwrap().clone();
        let theirs = published(file).map(|document| theirs(&document)).unwrap_or_default();
        if !theirs.is_empty() {
            report::ran(&format!("{} rows of {file} agree ({ours})", theirs.len()));
        }
        rows.into_iter().chain(theirs).collect()
    }

    fn list(document: &Value, key: &str) -> Vec<Value> {
        document[key].as_array().unwrap().clone()
    }

    #[test]
    fn the_published_example_verifies() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, br#"{"test": 2432232314}"#),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn every_standard_webhooks_vector_agrees() {
        for row in rows("webhook", "standard-webhooks/vectors.json", |all| list(all, "symmetric")) {
            let text = |key: &str| row[key].as_str().unwrap();
            let payload = match row["payload"].as_str() {
                Some(payload) => payload.to_owned(),
                None => {
                    let count = row["payload_repeat"]["count"].as_u64().unwrap() as usize;
                    row["payload_repeat"]["char"].as_str().unwrap().repeat(count)
                }
            };
            let secret: Secret = text("secret").parse().unwrap();
            let timestamp = text("webhook_timestamp").parse().unwrap();
            let ours = secret.sign(text("webhook_id"), timestamp, payload.as_bytes());
            let matches = text("webhook_signature").split(' ').any(|theirs| theirs == ours);
            assert_eq!(matches, row["valid"], "{}", row["name"]);
        }
    }

    #[test]
    fn every_hmac_vector_agrees() {
        let hex = |text: &Value| -> Vec<u8> {
            let digits = text.as_str().unwrap().as_bytes();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            digits.chunks(2).map(byte).collect()
        };
        let tests = |all: &Value| list(all, "testGroups").iter().flat_map(|group| list(group, "tests")).collect();
        for row in rows("hmac_sha256", "signatures/wycheproof_hmac_sha256_test.json", tests) {
            let mut mac = keyed(&hex(&row["key"]));
            mac.update(&hex(&row["msg"]));
            let (ours, tag) = (mac.finalize().into_bytes(), hex(&row["tag"]));
            let valid = row["result"] == "valid" || row["valid"] == true;
            assert_eq!(ours[..tag.len()] == tag, valid, "{row}");
        }
    }

    #[test]
    fn a_secret_that_is_none_is_refused_without_being_repeated() {
        for wrong in
            ["", "whsec_", "w", "whsec_%", "whsec_wronglength", "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqf", "c2hvcnQ="]
        {
            let error = wrong.parse::<Secret>().unwrap_err();
            assert_eq!(error.field, "secret");
            assert!(wrong.len() < 5 || !error.to_string().contains(wrong), "{error}");
        }
        for row in rows("secret_format", "standard-webhooks/vectors.json", |all| list(all, "secret_format")) {
            let text = row["secret"].as_str().unwrap();
            // Keys of the asymmetric scheme are valid there and none of ours.
            let expect = row["valid"] == true && text.starts_with(PREFIX);
            assert_eq!(text.parse::<Secret>().is_ok(), expect, "{text}");
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(redacted)");
    }
}
