//! Takes secrets out of texts before they are shown.
//!
//! A platform may repeat what it was called with, as it stands or in Base64: `Authorization: Basic …` is a login in
//! Base64, and mail servers show the lines of a login. Base64 writes three bytes as four characters, so a secret
//! inside something longer looks different for each of the three places at which it may begin. All three are looked for.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// In place of a secret.
const BLOT: &str = "…";
/// A shorter secret has Base64 forms so short that they would be found in texts that do not hold it.
const ENCODED_BYTES_MIN: usize = 4;

/// `text` with every one of the `secrets` blotted out, as it stands and in Base64.
pub(crate) fn redact<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let mut secrets: Vec<&str> = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
    // Longest first, so that none is left half.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let plain = secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, BLOT));
    let encoded = secrets.iter().filter(|secret| secret.len() >= ENCODED_BYTES_MIN).flat_map(|secret| forms(secret));
    encoded.fold(plain, |text, form| without_runs_of(&text, &form))
}

/// The characters that stand for `secret` alone wherever it is in a Base64 text, in both alphabets.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = Vec::with_capacity(6);
    for before in 0..3 {
        let bytes = [&[0; 2][..before], secret.as_bytes()].concat();
        // A character has six bits: those of the first ones belong to what stands before, and those of the last may belong
        // to what follows.
        let from = (before * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for text in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            forms.push(text[from..to].to_owned());
        }
    }
    forms.dedup();
    forms
}

/// `text` without the Base64 texts that have `form` in them. The whole of such a text goes, for its ends hold a part of the
/// secret, too.
fn without_runs_of(text: &str, form: &str) -> String {
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(form) {
        let begin = rest[..at]
            .rfind(|c| !is_base64(c))
            .map_or(0, |before| before + rest[before..].chars().next().map_or(1, char::len_utf8));
        let end = rest[at..].find(|c| !is_base64(c)).map_or(rest.len(), |length| at + length);
        told.push_str(&rest[..begin]);
        told.push_str(BLOT);
        rest = &rest[end..];
    }
    told + rest
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    #[test]
    fn a_secret_is_known_in_base64_wherever_it_stands() {
        for secret in ["s3cret", "pass-word?>", "ünïcode", "four"] {
            for before in ["", "a", "ab", "user:", "\0alice\0", "{\"token\":\""] {
                for after in ["", "x", "\"}", ":more text"] {
                    let whole = format!("{before}{secret}{after}");
                    for encoded in [
                        STANDARD.encode(&whole),
                        STANDARD_NO_PAD.encode(&whole),
                        URL_SAFE.encode(&whole),
                        URL_SAFE_NO_PAD.encode(&whole),
                    ] {
                        let said = redact(&format!("Basic {encoded}, no"), [secret]);
                        assert_eq!(said, "Basic …, no", "{whole}");
                        assert_eq!(redact(&encoded, [secret]), "…", "{whole}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let text = format!("no {} here, and no s3 cret; c2Vj", STANDARD.encode("user:another word"));
        assert_eq!(redact(&text, ["s3cret", "", "abc"]), text);
        assert_eq!(redact("abc é c2VjcmV0 é s3cret", ["s3cret"]), "abc é c2VjcmV0 é …");
        // A short one is taken out as it stands, and not looked for in Base64.
        assert_eq!(redact("abc YWJj", ["abc"]), "… YWJj");
        assert_eq!(redact("long-and-longer", ["long", "long-and-longer"]), "…");
    }
}
