use serde_json::Value;

use super::*;
use punctual_testkit::report;

use crate::spec::facts::Facts;
use crate::spec::published;

/// Our own vectors under `name`, and those of a published file where it is here.
fn vectors(name: &str, file: &str) -> Vec<Value> {
    let file = format!("signatures/{file}.json");
    let list = |document: Value| document["vectors"].as_array().unwrap().clone();
    with_ours(name, &file, published(&file).map(list).unwrap_or_default())
}

/// Our own vectors under `name`, and every test of a wycheproof file with what its group says beside it.
fn wycheproof(name: &str) -> Vec<Value> {
    let file = format!("signatures/wycheproof_{name}_test.json");
    let tests = |document: Value| {
        let mut all = Vec::new();
        for group in document["testGroups"].as_array().unwrap() {
            for test in group["tests"].as_array().unwrap() {
                let mut test = test.clone();
                test["pk"] = group["publicKey"]["pk"].clone();
                test["valid"] = (test["result"] == "valid").into();
                all.push(test);
            }
        }
        assert_eq!(all.len() as u64, document["numberOfTests"].as_u64().unwrap());
        all
    };
    with_ours(name, &file, published(&file).map(tests).unwrap_or_default())
}

fn with_ours(name: &str, file: &str, theirs: Vec<Value>) -> Vec<Value> {
    if !theirs.is_empty() {
        report::ran(&format!("{} vectors of {file} agree", theirs.len()));
    }
    let ours = Facts::of("signatures", |_| ()).at(&format!("/{name}")).as_array().unwrap().clone();
    ours.into_iter().chain(theirs).collect()
}

fn is_valid(vector: &Value) -> bool {
    vector["valid"].as_bool().unwrap()
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
fn slack_signatures_are_judged_as_the_vectors_say() {
    for vector in vectors("slack", "slack") {
        let now = at(vector["now"].as_i64().unwrap());
        let (secret, timestamp) = (text(&vector, "signing_secret"), text(&vector, "timestamp"));
        let body = text(&vector, "body").as_bytes();
        let right = slack(secret, timestamp, body, text(&vector, "signature"), now, FIVE_MINUTES);
        assert_eq!(right, is_valid(&vector), "{}", vector["name"]);
    }
}

#[test]
fn meta_signatures_are_judged_as_the_vectors_say() {
    for vector in vectors("meta", "meta_x_hub_signature_256") {
        let right = meta(text(&vector, "secret").as_bytes(), text(&vector, "body").as_bytes(), text(&vector, "header"));
        assert_eq!(right, is_valid(&vector), "{vector}");
    }
}

#[test]
fn twilio_signatures_are_judged_as_the_vectors_say() {
    for vector in vectors("twilio", "twilio") {
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
fn ed25519_signatures_are_judged_as_the_vectors_say() {
    for test in wycheproof("ed25519") {
        let right = ed25519(&bytes(&test, "pk"), &bytes(&test, "msg"), &bytes(&test, "sig"));
        assert_eq!(right, is_valid(&test), "{test}");
    }
}

#[test]
fn hmac_tags_are_judged_as_the_vectors_say() {
    for (file, algorithm) in [("hmac_sha256", hmac::HMAC_SHA256), ("hmac_sha1", hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY)] {
        for test in wycheproof(file) {
            let (key, message, tag) = (bytes(&test, "key"), bytes(&test, "msg"), bytes(&test, "tag"));
            let is_whole = tag.len() == algorithm.digest_algorithm().output_len();
            let valid = is_valid(&test);
            // A tag that was cut short is never taken, right as it may be.
            assert_eq!(mac(algorithm, &key, &[&message], &tag), valid && is_whole, "{test}");
            let signed = hmac::sign(&hmac::Key::new(algorithm, &key), &message);
            assert_eq!(signed.as_ref().starts_with(&tag), valid, "{test}");
        }
    }
}

#[test]
fn meta_is_hmac_sha256_for_any_key_and_body() {
    for test in wycheproof("hmac_sha256").iter().filter(|test| text(test, "tag").len() == 64) {
        let header = format!("sha256={}", text(test, "tag"));
        assert_eq!(meta(&bytes(test, "key"), &bytes(test, "msg"), &header), is_valid(test), "{test}");
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
