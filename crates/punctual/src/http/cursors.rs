//! Cursors that say nothing to whoever holds them.
//!
//! A cursor names the last item that its page has looked at. A key that is bound to channels is not shown every item, so its cursors are sealed:
//! they lead on, and tell nobody the id or the instant of what belongs to others. Every node opens what another has sealed.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::App;
use super::auth::Caller;

/// How much of the proof is kept. It is also what makes the seal of each place another.
const PROOF_BYTES: usize = 16;

/// Seals cursors, and opens them.
pub(super) struct Cursors {
    keyed: Hmac<Sha256>,
}

impl Cursors {
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        Self { keyed: Hmac::new_from_slice(secret).expect("a key for HMAC may have any length") }
    }

    fn seal(&self, place: &str) -> String {
        let mut bytes = self.proof(place.as_bytes()).to_vec();
        bytes.extend_from_slice(place.as_bytes());
        self.turn(&mut bytes);
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place in a cursor that was sealed with the same secret.
    fn open(&self, cursor: &str) -> Option<String> {
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok().filter(|bytes| bytes.len() > PROOF_BYTES)?;
        self.turn(&mut bytes);
        let (proof, place) = bytes.split_at(PROOF_BYTES);
        (*proof == self.proof(place)).then(|| String::from_utf8(place.to_vec()).ok())?
    }

    fn proof(&self, place: &[u8]) -> [u8; PROOF_BYTES] {
        let mut proof = [0; PROOF_BYTES];
        let whole: [u8; 32] = self.mac(b"proof", place);
        proof.copy_from_slice(&whole[..PROOF_BYTES]);
        proof
    }

    /// Makes what comes after the proof unreadable, or readable again.
    fn turn(&self, bytes: &mut [u8]) {
        let (proof, place) = bytes.split_at_mut(PROOF_BYTES);
        for (n, chunk) in place.chunks_mut(32).enumerate() {
            let mask = self.mac(&[b'm', u8::try_from(n).unwrap_or(u8::MAX)], proof);
            chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        }
    }

    fn mac(&self, purpose: &[u8], said: &[u8]) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        mac.update(purpose);
        mac.update(said);
        mac.finalize().into_bytes().into()
    }
}

impl App {
    /// The cursor for the page after `place`.
    pub(super) fn cursor(&self, caller: &Caller, place: String) -> String {
        if caller.channels().is_empty() { place } else { self.cursors.seal(&place) }
    }

    /// The place that a cursor names. One from before the key was bound is not sealed.
    pub(super) fn place(&self, caller: &Caller, cursor: &str) -> String {
        let opened = (!caller.channels().is_empty()).then(|| self.cursors.open(cursor)).flatten();
        opened.unwrap_or_else(|| cursor.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_cursor_is_opened_where_the_secret_is_the_same_and_shows_nothing() {
        let (cursors, others) = (Cursors::new(&[1; 32]), Cursors::new(&[2; 32]));
        for place in
            ["7", "01a1ed09-aa54-7ee2-b266-989fa8bb1be9", "1772438400000000_01a1ed09-aa54-7ee2-b266-989fa8bb1be9-12"]
        {
            let sealed = cursors.seal(place);
            assert_eq!(cursors.open(&sealed).as_deref(), Some(place));
            assert_eq!(Cursors::new(&[1; 32]).open(&sealed).as_deref(), Some(place), "another node opens it");
            assert_eq!(others.open(&sealed), None);
            assert_eq!(cursors.open(place), None);
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(&sealed).unwrap();
            assert!(!bytes.windows(place.len()).any(|window| window == place.as_bytes()), "{sealed}");
            for wrong in [&sealed[1..], &format!("{sealed}AAAA"), "", "?"] {
                assert_eq!(cursors.open(wrong), None, "{wrong}");
            }
        }
        assert_ne!(cursors.seal("7")[..8], cursors.seal("8")[..8], "neighbours look nothing alike");
    }
}
