use serde_json::Value;

use super::*;
use crate::spec::published;

/// The vectors of a published file; none, and a word why, where it is not here.
fn vectors(file: &str) -> Vec<Value> {
    let list = |document: Value| document["vectors"].as_array().unwrap().clone();
    published(&format!("signatures/{file}.json")).map(list).unwrap_or_default()
}

/// Every test of a wycheproof file with its group.
fn wycheproof(file: &str) -> Vec<(Value, Value)> {
    let Some(document) = published(&format!("signatures/wycheproof_{file}_test.json")) else { return Vec::new() };
    let groups = document["testGroups"].as_array().unwrap();
    let all: Vec<_> = groups
        .iter()
        .flat_map(|group| group["tests"].as_array().unwrap().iter().map(|test| (group.clone(), test.clone())))
        .collect();
    assert_eq!(all.len() as u64, document["numberOfTests"].as_u64().unwrap());
    all
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn bytes(value: &Value, name: &str) -> Vec<u8> {
    let hex = text(value, name);
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

const FIVE_MINUTES: Duration = Duration::from_secs(300);

#[test]
fn slack_after_its_vectors() {
    for vector in vectors("slack") {
        let now = at(vector["now"].as_i64().unwrap());
        let (secret, timestamp) = (text(&vector, "signing_secret"), text(&vector, "timestamp"));
        let body = text(&vector, "body").as_bytes();
        let right = slack(secret, timestamp, body, text(&vector, "signature"), now, FIVE_MINUTES);
        assert_eq!(right, vector["valid"].as_bool().unwrap(), "{}", vector["name"]);
    }
}

#[test]
fn meta_after_its_vectors() {
    for vector in vectors("meta_x_hub_signature_256") {
        let right = meta(text(&vector, "secret").as_bytes(), text(&vector, "body").as_bytes(), text(&vector, "header"));
        assert_eq!(right, vector["valid"].as_bool().unwrap(), "{vector}");
    }
}

#[test]
fn twilio_after_its_vectors() {
    for vector in vectors("twilio") {
        let fields: Vec<(String, String)> = serde_json::from_value(vector["params"].clone()).unwrap();
        let body = match vector["json_body"].as_str() {
            Some(json) => TwilioBody::Raw(json.as_bytes()),
            None => TwilioBody::Form(&fields),
        };
        let (token, url, signature) = (text(&vector, "auth_token"), text(&vector, "url"), text(&vector, "signature"));
        assert!(twilio(token, url, body, signature), "{}", vector["name"]);
        assert!(!twilio("12346", url, body, signature), "{}", vector["name"]);
        assert!(!twilio(token, &url.replace("foo=1", "foo=2"), body, signature), "{}", vector["name"]);
        assert!(!twilio(token, url, TwilioBody::Raw(b"{}"), signature), "{}", vector["name"]);
        let more = [fields.clone(), vec![("Extra".into(), "1".into())]].concat();
        assert!(!twilio(token, url, TwilioBody::Form(&more), signature), "{}", vector["name"]);
    }
}

#[test]
fn ed25519_after_wycheproof() {
    for (group, test) in wycheproof("ed25519") {
        let key = bytes(&group["publicKey"], "pk");
        let right = ed25519(&key, &bytes(&test, "msg"), &bytes(&test, "sig"));
        assert_eq!(right, test["result"] == "valid", "{test}");
    }
}

#[test]
fn hmac_after_wycheproof() {
    for (file, algorithm) in [("hmac_sha256", hmac::HMAC_SHA256), ("hmac_sha1", hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY)] {
        for (group, test) in wycheproof(file) {
            let (key, message, tag) = (bytes(&test, "key"), bytes(&test, "msg"), bytes(&test, "tag"));
            let is_whole = group["tagSize"].as_u64().unwrap() as usize == algorithm.digest_algorithm().output_len() * 8;
            let valid = test["result"] == "valid";
            // A tag that was cut short is never taken, right as it may be.
            assert_eq!(mac(algorithm, &key, &[&message], &tag), valid && is_whole, "{test}");
            let signed = hmac::sign(&hmac::Key::new(algorithm, &key), &message);
            assert_eq!(signed.as_ref().starts_with(&tag), valid, "{test}");
        }
    }
}

#[test]
fn meta_is_hmac_sha256_for_any_key_and_body() {
    for (_, test) in wycheproof("hmac_sha256").iter().filter(|(group, _)| group["tagSize"] == 256) {
        let header = format!("sha256={}", text(test, "tag"));
        assert_eq!(meta(&bytes(test, "key"), &bytes(test, "msg"), &header), test["result"] == "valid", "{test}");
    }
}

/// A key pair of our own, for Discord publishes no vector.
#[test]
fn discord_takes_what_its_key_signed_and_nothing_else() {
    use ring::signature::{Ed25519KeyPair, KeyPair};
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let key = hex(pair.public_key().as_ref());
    let (timestamp, body) = ("1772434800", br#"{"type":1}"#.as_slice());
    let signature = hex(pair.sign(&[timestamp.as_bytes(), body].concat()).as_ref());
    let now = at(1_772_434_800);

    assert!(discord(&key, timestamp, body, &signature, now, FIVE_MINUTES));
    assert!(discord(&key.to_uppercase(), timestamp, body, &signature.to_uppercase(), now, FIVE_MINUTES));
    for seconds in [-300, 300] {
        assert!(discord(&key, timestamp, body, &signature, at(1_772_434_800 + seconds), FIVE_MINUTES));
        assert!(!discord(
            &key,
            timestamp,
            body,
            &signature,
            at(1_772_434_800 + seconds + seconds.signum()),
            FIVE_MINUTES
        ));
    }
    assert!(!discord(&key, "1772434801", body, &signature, now, FIVE_MINUTES));
    assert!(!discord(&key, timestamp, br#"{"type":2}"#, &signature, now, FIVE_MINUTES));
    for wrong in ["", "zz", "äöü", &signature[..126], &format!("{signature}00"), &"0".repeat(1 << 20)] {
        assert!(!discord(&key, timestamp, body, wrong, now, FIVE_MINUTES));
        assert!(!discord(wrong, timestamp, body, &signature, now, FIVE_MINUTES));
    }
    // The border between time and body is signed too: moving it leaves no number for a time.
    let moved = [b"5", body].concat();
    let shifted = hex(pair.sign(&[b"1772434800".as_slice(), &moved].concat()).as_ref());
    assert!(!discord(&key, "17724348005", body, &shifted, now, FIVE_MINUTES));
}

#[test]
fn nonsense_is_never_right() {
    let now = at(1_531_420_618);
    for wrong in ["", "v0=", "v1=00", "v0=zz", "sha256=", "sha256=0", "sha1=00", "ä"] {
        assert!(!slack("secret", "1531420618", b"", wrong, now, FIVE_MINUTES), "{wrong}");
        assert!(!meta(b"secret", b"", wrong), "{wrong}");
        assert!(!twilio("token", "https://example.org", TwilioBody::Form(&[]), wrong), "{wrong}");
        assert!(!twilio("token", wrong, TwilioBody::Form(&[]), "RSOYDt4T1cUTdK1PDd93/VVr8B8="), "{wrong}");
    }
    for time in ["", "soon", "1531420618.5", "99999999999999999999", "-9223372036854775808"] {
        assert!(!slack("secret", time, b"", &format!("v0={}", "0".repeat(64)), now, FIVE_MINUTES), "{time}");
    }
}
