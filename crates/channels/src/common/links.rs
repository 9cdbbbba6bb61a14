//! Links that answer a reminder with one click.
//!
//! A person who has the link may give that one answer to that one run, and nothing else: the link carries its own proof.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use punctual_core::id::OccurrenceId;
use sha2::Sha256;

use super::buttons::Verb;
use super::token::Token;

/// How much of the proof is kept: 128 bits cannot be guessed, and the link stays short.
const PROOF_BYTES: usize = 16;

/// Makes links, and knows its own again.
#[derive(Clone)]
pub struct Links {
    base: String,
    keyed: Hmac<Sha256>,
}

impl Links {
    /// Links to the server at `base`, proved with `secret`.
    pub fn new(base: &str, secret: &[u8]) -> Self {
        let keyed = Hmac::new_from_slice(secret).expect("a key for HMAC may have any length");
        Self { base: base.trim_end_matches('/').to_owned(), keyed }
    }

    /// Where people reach the server.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The link that answers `verb` to `occurrence`.
    pub fn link(&self, verb: Verb, occurrence: OccurrenceId) -> String {
        format!("{}/a/{}", self.base, self.token(verb, occurrence))
    }

    /// The token that stands in the link.
    pub fn token(&self, verb: Verb, occurrence: OccurrenceId) -> String {
        let said = format!("{}.{occurrence}", verb.as_str());
        let proof = self.prove(&said).finalize().into_bytes();
        format!("{said}.{}", BASE64_URL_SAFE_NO_PAD.encode(&proof[..PROOF_BYTES]))
    }

    /// The run and the answer of a token, if it is one of ours.
    pub fn read(&self, token: &str) -> Option<(Verb, OccurrenceId)> {
        let (said, proof) = token.rsplit_once('.')?;
        let proof = BASE64_URL_SAFE_NO_PAD.decode(proof).ok().filter(|proof| proof.len() == PROOF_BYTES)?;
        // Takes the same time whatever is wrong.
        self.prove(said).verify_truncated_left(&proof).ok()?;
        let (verb, occurrence) = said.split_once('.')?;
        Some((verb.parse().ok()?, occurrence.parse().ok()?))
    }

    /// The address of a user's calendar, which was changed `generation` times.
    pub fn calendar(&self, user: &str, generation: u64) -> String {
        let said = format!("{}.{generation}", BASE64_URL_SAFE_NO_PAD.encode(user));
        let proof = self.prove_calendar(&said).finalize().into_bytes();
        format!("{}/calendar/{said}.{}.ics", self.base, BASE64_URL_SAFE_NO_PAD.encode(&proof[..PROOF_BYTES]))
    }

    /// The user of a calendar and how often its address was changed, by the last part of an address, if it is one of ours. Whether it is
    /// the latest is for the caller to see.
    pub fn read_calendar(&self, file: &str) -> Option<(String, u64)> {
        let (said, proof) = file.strip_suffix(".ics").unwrap_or(file).rsplit_once('.')?;
        let proof = BASE64_URL_SAFE_NO_PAD.decode(proof).ok().filter(|proof| proof.len() == PROOF_BYTES)?;
        self.prove_calendar(said).verify_truncated_left(&proof).ok()?;
        let (user, generation) = said.split_once('.')?;
        let user = BASE64_URL_SAFE_NO_PAD.decode(user).ok()?;
        Some((String::from_utf8(user).ok()?, generation.parse().ok()?))
    }

    fn prove_calendar(&self, said: &str) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(b"punctual calendar ");
        mac.update(said.as_bytes());
        mac
    }

    /// Where a platform's requests for the channel `name` come in. Its secret is the same on every node, and another for every channel.
    pub fn door(&self, name: &str) -> Door {
        let mut mac = self.keyed.clone();
        mac.update(b"punctual inbound ");
        mac.update(name.as_bytes());
        let secret = BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        Door { url: format!("{}/v1/inbound/{name}", self.base), secret: Token::new(secret) }
    }

    /// A secret of its own for another purpose: the same on every node, and it tells nothing about those of the links.
    pub fn secret_for(&self, purpose: &str) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        mac.update(b"punctual secret ");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }

    fn prove(&self, said: &str) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(b"punctual answer ");
        mac.update(said.as_bytes());
        mac
    }
}

/// Where a platform's requests for one channel come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// Its address.
    pub url: String,
    /// A text that only the platform and this server know: letters, digits, `-` and `_`.
    pub secret: Token,
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("base", &self.base).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn only_an_unchanged_link_is_known_again() {
        let links = Links::new("https://p.example/", b"secret");
        let occurrence = sample::message("").occurrence;
        let token = links.token(Verb::Snooze, occurrence);
        assert_eq!(links.link(Verb::Snooze, occurrence), format!("https://p.example/a/{token}"));
        assert_eq!(links.read(&token), Some((Verb::Snooze, occurrence)));
        let other = links.token(Verb::Ack, occurrence);
        let (proof, stolen) = (token.rsplit('.').next().unwrap(), other.rsplit_once('.').unwrap().0);
        for forged in [format!("{stolen}.{proof}"), token.replace("snooze", "ack"), format!("{token}A"), String::new()]
        {
            assert_eq!(links.read(&forged), None, "{forged}");
        }
        assert_eq!(Links::new("https://p.example", b"another").read(&token), None);
        assert!(!format!("{links:?}").contains("secret"));
    }

    #[test]
    fn only_the_whole_address_of_a_calendar_is_known_again() {
        let links = Links::new("https://p.example/", b"secret");
        let address = links.calendar("ann/ä", 7);
        let file = address.strip_prefix("https://p.example/calendar/").unwrap();
        assert!(file.ends_with(".ics") && !file.contains('/'), "{file}");
        assert_eq!(links.read_calendar(file), Some(("ann/ä".to_owned(), 7)));
        let (other, older) = (links.calendar("bob", 7), links.calendar("ann/ä", 6));
        let proof = file.rsplit('.').nth(1).unwrap();
        let stolen = other.replace(other.rsplit('.').nth(1).unwrap(), proof);
        for forged in [stolen.rsplit('/').next().unwrap(), &file.replace(".7.", ".8."), "", "a.b.c.ics"] {
            assert_eq!(links.read_calendar(forged), None, "{forged}");
        }
        assert_ne!(address, older);
        assert_eq!(Links::new("https://p.example", b"another").read_calendar(file), None);
    }

    #[test]
    fn every_channel_has_a_door_with_a_secret_of_its_own() {
        let links = Links::new("https://p.example/", b"secret");
        let door = links.door("family");
        assert_eq!(door.url, "https://p.example/v1/inbound/family");
        assert_eq!(door, Links::new("https://p.example", b"secret").door("family"));
        assert_ne!(door.secret, links.door("work").secret);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        assert!(door.secret.expose().len() == 43 && door.secret.expose().chars().all(is_plain));
    }
}
