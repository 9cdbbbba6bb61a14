use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use punctual_core::channel::receive::{End, Shows};
use punctual_core::clock::Random;
use punctual_core::phrase::Lang;
use punctual_testkit::platforms::webpush;
use punctual_testkit::{judges, report};
use serde_json::{Value, json};

use super::*;
use crate::common::buttons::Verb;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, Request, class};

/// The browser of RFC 8291, section 5.
const THEIR_PRIVATE: &str = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
const OWN_PRIVATE: &str = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";

/// Draws other bytes each time.
struct Counting(std::sync::atomic::AtomicU8);

impl Random for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed).max(1));
    }
}

fn config() -> Config {
    Config {
        key: OWN_PRIVATE.parse().unwrap(),
        contact: Some("mailto:admin@example.org".into()),
        allow_private: true,
        links: sample::server().links,
        machine: Machine { clock: sample::clock(), random: std::sync::Arc::new(Counting(1.into())) },
    }
}

fn channel() -> Webpush {
    Webpush::new(config()).unwrap()
}

/// The browser of RFC 8291 at a push service of ours.
fn browser(base: &str) -> String {
    ADDRESS_EXAMPLE.replace("https://push.example.net", base)
}

fn asking(address: &str) -> Message {
    let mut message = sample::message(address);
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Did you take it?")));
    message
}

fn bytes(text: &str) -> Vec<u8> {
    BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// What the browser reads.
fn opened(body: &[u8]) -> Value {
    let (p256dh, auth) = ADDRESS_EXAMPLE.split_once("#p256dh=").unwrap().1.split_once("&auth=").unwrap();
    assert_eq!(p256dh.len(), 87);
    webpush::opened(body, &bytes(THEIR_PRIVATE), &bytes(auth)).unwrap()
}

fn facts() -> Facts {
    Facts::of("webpush", |_| ())
}

/// Fails unless a request is what a push service takes; returns what the browser reads.
#[track_caller]
fn check_request(request: &Request) -> Value {
    assert_eq!((request.method.as_str(), request.uri.path()), ("POST", "/abc"));
    let headers: serde_json::Map<String, Value> = ["ttl", "urgency", "topic", "content-encoding", "authorization"]
        .into_iter()
        .map(|name| (name.to_owned(), request.header(name).into()))
        .collect();
    facts().check("headers", &headers.into());
    assert!(request.body.len() <= facts().number("body_bytes"), "{} bytes", request.body.len());
    let payload = opened(&request.body);
    facts().check("payload", &payload);
    payload
}

#[tokio::test]
async fn a_push_is_what_the_standards_say_and_the_browser_reads_it() {
    let (platform, base) = Platform::start().await;
    let message = asking(&browser(&base));
    platform.then_with(201, &[("location", "https://push.example.net/message/1")], json!(null));
    let receipt = channel().send(&message).await.unwrap();
    let request = platform.take().remove(0);
    let payload = check_request(&request);
    assert_eq!((request.header("ttl"), request.header("urgency")), ("86400", "high"));
    assert_eq!((receipt, &payload["tag"]), (Receipt::of(request.header("topic")), &json!(request.header("topic"))));
    assert_eq!(payload["title"], "Reminder");
    assert_eq!(payload["body"], "Take your \"medicine\"\nDid you take it?");
    assert_eq!(payload["at"], message.due_at.as_millisecond());
    assert_eq!(payload["open"], format!("reminders/{}", message.reminder.id));
    let token = config().links.unwrap().token(Verb::Snooze, message.occurrence);
    assert_eq!(
        payload["actions"][1],
        json!({"action": "snooze", "title": "In 10 minutes", "link": format!("a/{token}"), "said": "In 10 minutes"})
    );
    assert_eq!(payload["actions"].as_array().unwrap().len(), 3);
    assert!(!request.uri.to_string().contains("auth") && !format!("{:?}", request.headers).contains("BTBZ"));
}

#[tokio::test]
async fn every_shape_of_message_fits_and_keeps_its_buttons() {
    let (platform, base) = Platform::start().await;
    let channel = channel();
    for words in ["take the pills ", "\"quoted\"\n\\ ", "узми лекове ", "😀"] {
        for mut message in sample::shapes(&browser(&base), words) {
            sample::change(&mut message, |reminder| reminder.name = Some(words.repeat(30)));
            platform.then(201, json!(null));
            channel.send(&message).await.unwrap();
            let payload = check_request(&platform.take().remove(0));
            let n_buttons = payload["actions"].as_array().map_or(0, Vec::len);
            let n_expected =
                message.reminder.ack.as_ref().map_or(0, |_| 2 + usize::from(message.reminder.snooze_allowed));
            assert_eq!(n_buttons, n_expected, "{words}");
            let body = payload["body"].as_str().unwrap();
            let is_cut = message.text.len() > 3000;
            assert_eq!(body.contains("(+"), is_cut, "{body}");
        }
    }
}

#[tokio::test]
async fn the_priority_says_how_urgent_a_push_is_and_whether_it_stays() {
    let (platform, base) = Platform::start().await;
    for (priority, urgency, stays) in [
        (Priority::Low, "low", json!(null)),
        (Priority::Normal, "normal", json!(null)),
        (Priority::High, "high", json!(null)),
        (Priority::Critical, "high", json!(true)),
    ] {
        let mut message = sample::message(&browser(&base));
        sample::change(&mut message, |reminder| reminder.priority = priority);
        channel().send(&message).await.unwrap();
        let request = platform.take().remove(0);
        assert_eq!((request.header("urgency"), &check_request(&request)["stays"]), (urgency, &stays), "{priority}");
    }
}

#[tokio::test]
async fn a_message_that_is_sent_again_has_the_same_topic_and_other_keys() {
    let (platform, base) = Platform::start().await;
    let channel = channel();
    let sent = async |message: &Message| {
        channel.send(message).await.unwrap();
        let request = platform.take().remove(0);
        (request.header("topic").to_owned(), request.body[..86].to_vec())
    };
    let message = asking(&browser(&base));
    let (topic, keys) = sent(&message).await;
    let (again, others) = sent(&Message { attempt: 3, ..message.clone() }).await;
    assert_eq!(topic, again);
    assert_ne!(keys, others, "each message has a salt and a key of its own");
    let asked_again =
        Message { idempotency_key: message.occurrence.idempotency_key(&message.to, 1), ..message.clone() };
    assert_eq!(sent(&asked_again).await.0, topic, "asking again takes the place of the first question");
    let mut other = message.clone();
    other.occurrence.run += 1;
    assert_ne!(sent(&other).await.0, topic);
    // Several reminders in one message are no later state of the first of them.
    let plain = sample::message(&browser(&base));
    let digest = Message { idempotency_key: format!("{}-d0a1b2c3d", plain.idempotency_key), ..plain.clone() };
    assert_ne!(sent(&plain).await.0, sent(&digest).await.0);
}

#[tokio::test]
async fn a_notification_shows_the_answer_under_the_same_tag() {
    let (platform, base) = Platform::start().await;
    let (channel, message) = (channel(), asking(&browser(&base)));
    channel.send(&message).await.unwrap();
    let shows = Shows { end: End::Done, by: Some("Ana".into()) };
    let edit = Edit { message: message.clone(), message_id: payload::topic(&message), shows };
    channel.edits().unwrap().edit(&edit).await.unwrap();
    let [asked, ended] = platform.take().try_into().unwrap();
    assert_eq!(asked.header("topic"), ended.header("topic"));
    assert_eq!(ended.header("urgency"), "normal");
    let (asked, ended) = (check_request(&asked), check_request(&ended));
    assert_eq!(asked["tag"], ended["tag"]);
    assert_eq!(ended["body"], "Take your \"medicine\"\n✓ Done by Ana");
    assert_eq!((&ended["ended"], &ended["actions"]), (&json!(true), &json!(null)));
    platform.then(410, json!(null));
    assert_eq!(channel.edits().unwrap().edit(&edit).await, Ok(()), "a browser that is gone shows nothing");
}

#[tokio::test]
async fn every_answer_of_a_push_service_has_its_meaning() {
    let (platform, base) = Platform::start().await;
    let (channel, facts) = (channel(), facts());
    let mut n_checked = 0;
    for expect in ["sent", "gone", "refused", "unavailable", "throttled 5s, shared"] {
        let pointer = format!("/statuses/{}", expect.split(' ').next().unwrap());
        for status in facts.at(&pointer).as_array().unwrap() {
            platform.then(status.as_u64().unwrap() as u16, json!("no"));
            let said = channel.send(&sample::message(&browser(&base))).await;
            assert_eq!(class(&said), expect, "{status}: {said:?}");
            n_checked += 1;
        }
    }
    assert!(n_checked > 12, "{n_checked}");
    for status in [429, 503] {
        platform.then_with(status, &[("retry-after", "90")], json!("slow down"));
        let said = channel.send(&sample::message(&browser(&base))).await;
        assert_eq!(class(&said), "throttled 90s, shared", "{status}");
    }
    let nobody = channel.send(&sample::message(&browser("http://127.0.0.1:1"))).await;
    assert_eq!(class(&nobody), "unavailable", "{nobody:?}");
}

#[tokio::test]
async fn the_words_of_a_push_service_are_told_without_the_endpoint() {
    let (platform, base) = Platform::start().await;
    let address = browser(&base).replace("/abc#", "/wpush/v2/s3cret-endpoint#");
    platform.then(403, json!("no key for s3cret-endpoint at /wpush/v2/s3cret-endpoint"));
    let said = channel().send(&sample::message(&address)).await.unwrap_err();
    let expect = format!("{base} answered 403 Forbidden: \"no key for … at …\"");
    assert_eq!(said, SendError::Refused(expect));
}

#[tokio::test]
async fn a_private_address_is_called_only_where_it_is_allowed() {
    let (platform, base) = Platform::start().await;
    let closed = Webpush::new(Config { allow_private: false, ..config() }).unwrap();
    let refused = closed.send(&sample::message(&browser(&base))).await.unwrap_err();
    assert!(matches!(&refused, SendError::Refused(why) if why.contains("by https alone")), "{refused}");
    assert!(closed.check_address(&browser(&base)).is_err());
    assert!(channel().check_address(&browser(&base)).is_ok());
    // A name that leads home is noticed when it is looked up.
    let guard = Guard { allow_private: false, setting: "webpush_allow_private = true" };
    let http = Http::guarded(TIMEOUT, guard).unwrap();
    let said = http.ask(http.post(&base.replace("127.0.0.1", "localhost")), "X").await.unwrap_err();
    let expect = "localhost is a private address; set webpush_allow_private = true to allow it";
    assert_eq!(said, SendError::Refused(expect.into()));
    assert_eq!(platform.take().len(), 0);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (platform, base) = Platform::start().await;
    platform.then_with(307, &[("location", &format!("{base}/elsewhere"))], json!(null));
    assert_eq!(class(&channel().send(&sample::message(&browser(&base))).await), "unavailable");
    assert_eq!(platform.take().len(), 1);
}

#[tokio::test]
async fn a_proof_is_used_again_and_made_anew_for_another_push_service() {
    let (platform, base) = Platform::start().await;
    let channel = channel();
    for base in [&base, &base, &base.replace("127.0.0.1", "localhost")] {
        channel.send(&sample::message(&browser(base))).await.unwrap();
    }
    let proofs: Vec<String> =
        platform.take().iter().map(|request| request.header("authorization").to_owned()).collect();
    assert_eq!(proofs[0], proofs[1]);
    assert_ne!(proofs[0], proofs[2]);
    let shown = format!("{:?}", channel.proof("https://push.example"));
    assert_eq!(shown, "Sensitive", "it is never printed");
}

#[test]
fn settings_that_cannot_be_right_are_refused() {
    let wrong = Webpush::new(Config { contact: Some("me".into()), ..config() }).err().unwrap();
    assert_eq!(wrong.field, "webpush_contact");
    let channel = channel();
    assert_eq!(channel.receiver(ADDRESS_EXAMPLE), "https://push.example.net");
    assert_eq!(channel.receiver("s3cret"), "invalid");
}

/// `http_ece` decrypts and `cryptography` verifies, from PyPI: what other servers and push services use.
#[tokio::test]
async fn strangers_software_decrypts_a_push_and_verifies_its_proof() {
    let Some(programs) = judges::programs("web push in pywebpush's own libraries") else { return };
    let (platform, base) = Platform::start().await;
    let channel = channel();
    let mut n_read = 0;
    for message in sample::shapes(&browser(&base), "узми лекове ") {
        channel.send(&message).await.unwrap();
        let request = platform.take().remove(0);
        let asked = json!({
            "private": THEIR_PRIVATE, "auth": "BTBZMqHH6r4Tts7J_aSIgg",
            "body": BASE64_URL_SAFE_NO_PAD.encode(&request.body), "authorization": request.header("authorization"),
        });
        let read = tokio::task::spawn_blocking({
            let programs = programs.clone();
            move || judges::ask_webpush(&programs, &asked.to_string())
        });
        let read: Value = serde_json::from_str(&read.await.unwrap()).unwrap();
        assert_eq!(read["payload"], opened(&request.body));
        assert_eq!((&read["aud"], &read["sub"]), (&json!(base), &json!("mailto:admin@example.org")));
        assert!((1..=86_400).contains(&read["good_for"].as_i64().unwrap()), "{read}");
        n_read += 1;
    }
    assert_eq!(n_read, 3 * Lang::ALL.len());
    report::ran(&format!("{n_read} pushes were decrypted by http_ece and verified by py_vapid"));
}
