//! Who sends a push (RFC 8292): the server signs for each push service that it is the one for which the browser subscribed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use punctual_core::clock::Random;
use punctual_core::invalid::Invalid;
use serde_json::json;

use super::encrypt::draw_secret;

/// How long a proof is good for. A push service refuses one that is good for more than a day.
const GOOD_FOR: Duration = Duration::from_secs(12 * 3600);
/// A proof is used again for as long as it is good for another of these.
pub(super) const USED_WHILE: Duration = Duration::from_secs(6 * 3600);

/// The key pair of this server. Browsers subscribe with its public half; a subscription takes messages that are signed with the private half
/// alone. So it must stay the same for as long as the subscriptions are to last.
#[derive(Clone)]
pub struct VapidKey {
    secret: SigningKey,
    public: String,
}

impl VapidKey {
    /// The private half of a new key, as [`FromStr`] reads it.
    pub fn make(random: &dyn Random) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(draw_secret(random).to_bytes())
    }

    /// The public half, as a browser's `applicationServerKey` takes it: 65 bytes in base64url.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The header `authorization` for a push service, which `origin` names.
    pub(super) fn proof(&self, origin: &str, contact: Option<&str>, now: Timestamp) -> Proof {
        let until = now.as_second() + GOOD_FOR.as_secs() as i64;
        let mut claims = json!({ "aud": origin, "exp": until });
        if let Some(contact) = contact {
            claims["sub"] = contact.into();
        }
        let encode = |json: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let said = format!("{}.{}", encode(json!({ "typ": "JWT", "alg": "ES256" })), encode(claims));
        let signature: Signature = self.secret.sign(said.as_bytes());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes());
        Proof { header: format!("vapid t={said}.{signature}, k={}", self.public), until }
    }
}

/// A proof for one push service.
#[derive(Clone)]
pub(super) struct Proof {
    /// The header `authorization`.
    pub(super) header: String,
    /// The second of Unix time at which it ends.
    until: i64,
}

impl Proof {
    /// Whether it can be used again.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let left = self.until - now.as_second();
        (USED_WHILE.as_secs() as i64..=GOOD_FOR.as_secs() as i64).contains(&left)
    }
}

impl FromStr for VapidKey {
    type Err = Invalid;

    /// Reads the private half: 32 bytes in base64url, as other tools for web push write it too. The problem does not repeat it.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = || {
            let problem = "is no private key of P-256: write its 32 bytes in base64url, which are 43 characters";
            Invalid::new("webpush_key", problem)
        };
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).map_err(|_| wrong())?;
        let secret = SigningKey::from_slice(&bytes).map_err(|_| wrong())?;
        let public = BASE64_URL_SAFE_NO_PAD.encode(secret.verifying_key().to_sec1_point(false));
        Ok(Self { secret, public })
    }
}

impl fmt::Debug for VapidKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VapidKey").field("public", &self.public).finish_non_exhaustive()
    }
}

/// Refuses a contact that push services refuse.
pub fn check_contact(contact: &str) -> Result<(), Invalid> {
    let is_mail = contact.strip_prefix("mailto:").is_some_and(|mail| mail.contains('@'));
    let is_page = contact.starts_with("https://") && reqwest::Url::parse(contact).is_ok();
    if (is_mail || is_page) && contact.chars().all(|character| character.is_ascii_graphic()) {
        return Ok(());
    }
    let problem =
        "is neither a mail address nor a page; write one such as mailto:admin@example.org or https://example.org";
    Err(Invalid::new("webpush_contact", problem))
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::VerifyingKey;
    use p256::ecdsa::signature::Verifier;
    use serde_json::Value;

    use super::*;
    use crate::sample;

    fn bytes(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn the_example_of_rfc_8292_is_a_proof_that_we_would_make() {
        // Section 2.4: the signature is not ours to repeat, but the key in it verifies it, as ours is verified.
        let said = "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0";
        let signature = "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA";
        let public = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs";
        let key = VerifyingKey::from_sec1_bytes(&bytes(public)).unwrap();
        key.verify(said.as_bytes(), &Signature::from_slice(&bytes(signature)).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&bytes(said.split_once('.').unwrap().1)).unwrap();
        assert_eq!(
            claims,
            json!({"aud": "https://push.example.net", "exp": 1_453_523_768, "sub": "mailto:push@example.com"})
        );
    }

    #[test]
    fn a_proof_names_the_push_service_its_end_and_a_contact() {
        let key: VapidKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw".parse().unwrap();
        let now = sample::message("").sent_at;
        let proof = key.proof("https://push.example", Some("mailto:a@example.org"), now);
        let (token, public) = proof.header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, key.public());
        let (said, signature) = token.rsplit_once('.').unwrap();
        let verifying = VerifyingKey::from_sec1_bytes(&bytes(public)).unwrap();
        verifying.verify(said.as_bytes(), &Signature::from_slice(&bytes(signature)).unwrap()).unwrap();
        let (header, claims) = said.split_once('.').unwrap();
        let [header, claims] = [header, claims].map(|json| serde_json::from_slice::<Value>(&bytes(json)).unwrap());
        assert_eq!(header, json!({"typ": "JWT", "alg": "ES256"}));
        let until = now.as_second() + 43_200;
        assert_eq!(claims, json!({"aud": "https://push.example", "exp": until, "sub": "mailto:a@example.org"}));
        let at = |hours: i64| now + jiff::SignedDuration::from_hours(hours);
        assert!(proof.is_fresh(now) && proof.is_fresh(at(6)) && !proof.is_fresh(at(7)));
        assert!(!proof.is_fresh(at(-1)), "the clock was set back: it would be good for more than it may be");
        assert!(!key.proof("https://push.example", None, now).header.contains("sub"));
    }

    #[test]
    fn a_key_is_read_again_and_never_shown() {
        struct Sevens;
        impl Random for Sevens {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(7);
            }
        }
        let text = VapidKey::make(&Sevens);
        let key: VapidKey = text.parse().unwrap();
        assert_eq!((text.len(), key.public().len()), (43, 87));
        let shown = format!("{key:?}");
        assert!(shown.contains(key.public()) && !shown.contains(&text) && !shown.contains("secret"), "{shown}");
        for wrong in ["", "x", "s3cret-key", &"A".repeat(43), &"_".repeat(43), &text[1..]] {
            let refused = wrong.parse::<VapidKey>().unwrap_err();
            assert!(refused.problem.starts_with("is no private key of P-256"), "{refused}");
            assert!(wrong.is_empty() || wrong.len() < 3 || !refused.to_string().contains(wrong));
        }
    }

    #[test]
    fn a_contact_is_a_mail_address_or_a_page() {
        for right in ["mailto:admin@example.org", "https://example.org/contact"] {
            assert_eq!(check_contact(right), Ok(()), "{right}");
        }
        for wrong in
            ["", "admin@example.org", "mailto:", "mailto:admin", "http://example.org", "https://", "mailto:a b@c"]
        {
            assert!(check_contact(wrong).is_err(), "{wrong}");
        }
    }
}
