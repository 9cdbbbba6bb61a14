//! Encryption of a message for one browser (RFC 8291): the push service carries it and cannot read it.
//!
//! Every message has a key pair and a salt of its own. Their randomness is handed in, which is why the key agreement is `p256`'s: ring draws its
//! keys by itself, so that the example of the RFC could not be followed to its end.

use hmac::{Hmac, KeyInit, Mac};
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{PublicKey, SecretKey};
use punctual_core::clock::Random;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use sha2::Sha256;

/// The longest text that fits into the one record of 4096 bytes which every push service must take (RFC 8291, section 4).
pub(super) const PLAIN_BYTES_MAX: usize = 3993;
/// How long a record may be; a message is one record.
const RECORD_BYTES: u32 = 4096;
/// Ends the last record (RFC 8188, section 2).
const LAST: u8 = 2;
/// A point of the curve, uncompressed.
pub(super) const POINT_BYTES: usize = 65;

/// The keys of a browser's subscription.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// The browser's half of the key agreement.
    pub(super) p256dh: PublicKey,
    /// A secret that the browser has told this server alone.
    pub(super) auth: [u8; 16],
}

/// The key pair and the salt of one message.
pub(super) struct Fresh {
    secret: SecretKey,
    salt: [u8; 16],
}

impl Fresh {
    pub(super) fn draw(random: &dyn Random) -> Self {
        let mut salt = [0; 16];
        random.fill(&mut salt);
        Self { secret: draw_secret(random), salt }
    }
}

/// A private key. One draw in four billion is no key, and another is drawn.
pub(super) fn draw_secret(random: &dyn Random) -> SecretKey {
    loop {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        if let Ok(secret) = SecretKey::from_slice(&bytes) {
            return secret;
        }
    }
}

/// `plain`, of at most [`PLAIN_BYTES_MAX`] bytes, as the body of a push with the content encoding `aes128gcm`.
pub(super) fn encrypt(plain: &[u8], to: &Keys, Fresh { secret, salt }: &Fresh) -> Vec<u8> {
    let (own, theirs) = (point(&secret.public_key()), point(&to.p256dh));
    let agreed = secret.diffie_hellman(&to.p256dh);
    let info = [&b"WebPush: info\0"[..], &theirs, &own].concat();
    let keying = derive(&to.auth, agreed.raw_secret_bytes(), &info);
    let key = derive(salt, &keying, b"Content-Encoding: aes128gcm\0");
    let nonce = derive(salt, &keying, b"Content-Encoding: nonce\0");

    let mut sealed = [plain, &[LAST]].concat();
    let key = UnboundKey::new(&AES_128_GCM, &key[..16]).expect("the key has the length of the cipher's");
    let nonce = Nonce::try_assume_unique_for_key(&nonce[..12]).expect("the nonce has the cipher's length");
    LessSafeKey::new(key)
        .seal_in_place_append_tag(nonce, Aad::empty(), &mut sealed)
        .expect("a record is far shorter than what the cipher takes");

    let header = [&salt[..], &RECORD_BYTES.to_be_bytes(), &[POINT_BYTES as u8], &own].concat();
    [header, sealed].concat()
}

/// A public key as it is written in a message.
fn point(key: &PublicKey) -> [u8; POINT_BYTES] {
    key.to_sec1_point(false).as_bytes().try_into().expect("a point that is not compressed has 65 bytes")
}

/// HKDF with SHA-256 for up to 32 bytes: its two steps, one after the other.
fn derive(salt: &[u8], keying: &[u8], info: &[u8]) -> [u8; 32] {
    let extracted = mac(salt, &[keying]);
    mac(&extracted, &[info, &[1]])
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key for HMAC may have any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;

    use super::*;

    /// The example of RFC 8291, section 5, with the values of its appendix A.
    const PLAIN: &str = "When I grow up, I want to be a watermelon";
    const OWN_PRIVATE: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
    const OWN_PUBLIC: &str = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
    const THEIR_PRIVATE: &str = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
    const THEIR_PUBLIC: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const SALT: &str = "DGv6ra1nlYgDCS1FRnbzlw";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";
    const AGREED: &str = "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs";
    const KEYING: &str = "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg";
    const KEY: &str = "oIhVW04MRdy2XN9CiKLxTg";
    const NONCE: &str = "4h_95klXJ5E_qnoN";
    const BODY: &str = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w\
                        EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";

    fn bytes(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    fn example() -> (Keys, Fresh) {
        let keys = Keys {
            p256dh: PublicKey::from_sec1_bytes(&bytes(THEIR_PUBLIC)).unwrap(),
            auth: bytes(AUTH).try_into().unwrap(),
        };
        let fresh = Fresh {
            secret: SecretKey::from_slice(&bytes(OWN_PRIVATE)).unwrap(),
            salt: bytes(SALT).try_into().unwrap(),
        };
        (keys, fresh)
    }

    #[test]
    fn the_example_of_rfc_8291_is_encrypted_as_it_says() {
        let (keys, fresh) = example();
        assert_eq!(text(&encrypt(PLAIN.as_bytes(), &keys, &fresh)), BODY);
    }

    #[test]
    fn the_steps_of_appendix_a_have_the_values_it_says() {
        let (keys, fresh) = example();
        assert_eq!(text(&point(&fresh.secret.public_key())), OWN_PUBLIC);
        let theirs = SecretKey::from_slice(&bytes(THEIR_PRIVATE)).unwrap();
        assert_eq!(text(&point(&theirs.public_key())), THEIR_PUBLIC);
        let agreed = fresh.secret.diffie_hellman(&keys.p256dh);
        assert_eq!(text(agreed.raw_secret_bytes()), AGREED);
        let both = theirs.diffie_hellman(&fresh.secret.public_key());
        assert_eq!(text(both.raw_secret_bytes()), AGREED);
        let info = [&b"WebPush: info\0"[..], &bytes(THEIR_PUBLIC), &bytes(OWN_PUBLIC)].concat();
        assert_eq!(text(&derive(&keys.auth, &bytes(AGREED), &info)), KEYING);
        assert_eq!(text(&derive(&bytes(SALT), &bytes(KEYING), b"Content-Encoding: aes128gcm\0")[..16]), KEY);
        assert_eq!(text(&derive(&bytes(SALT), &bytes(KEYING), b"Content-Encoding: nonce\0")[..12]), NONCE);
    }

    #[test]
    fn the_longest_text_fills_a_body_of_4096_bytes() {
        let (keys, fresh) = example();
        assert_eq!(encrypt(&[b'x'; PLAIN_BYTES_MAX], &keys, &fresh).len(), RECORD_BYTES as usize);
    }

    #[test]
    fn a_draw_that_is_no_key_is_followed_by_another() {
        struct Draws(std::sync::Mutex<Vec<u8>>);
        impl Random for Draws {
            fn fill(&self, bytes: &mut [u8]) {
                bytes.fill(self.0.lock().unwrap().pop().unwrap());
            }
        }
        // All zeros, and a number beyond the order of the curve.
        let secret = draw_secret(&Draws(vec![7, 0xff, 0].into()));
        assert_eq!(secret.to_bytes().as_slice(), [7; 32]);
    }
}
