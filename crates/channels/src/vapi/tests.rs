use std::collections::BTreeSet;

use punctual_core::phrase::Lang;
use punctual_testkit::report;

use super::*;
use crate::common::texts;
use crate::sample;
use crate::spec::facts::{Facts, texts};
use crate::spec::{Platform, close, published};

const TO: &str = "+4915112345678";
const ID: &str = "7d1c9e0e-8a3f-4c55-9d0c-0a1b2c3d4e5f";
const SPEC: &str = "vapi/openapi.call.slim.json";

fn settings(url: &str, more: &[(&str, &str)]) -> Fields {
    let needed = [("api_url", url), ("api_key", "s3cret"), ("assistant_id", "a-1"), ("phone_number_id", "p-1")];
    sample::settings(&[&needed[..], more].concat())
}

fn channel(url: &str, more: &[(&str, &str)]) -> Arc<dyn Channel> {
    let mut fields = settings(url, more);
    let channel = make(&mut fields, &sample::server()).unwrap();
    fields.finish().unwrap();
    channel
}

fn taken() -> Value {
    let now = "2026-03-02T07:00:02.000Z";
    json!({"id": ID, "orgId": "o-1", "createdAt": now, "updatedAt": now, "type": "outboundPhoneCall", "status": "queued"})
}

fn call(status: &str, more: Value) -> Value {
    let mut call = taken();
    call["status"] = json!(status);
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

/// Vapi's specification leaves other members open; we send none.
fn facts() -> Facts {
    Facts::of("vapi", close)
}

#[test]
fn the_facts_are_what_vapi_publishes() {
    facts().agree();
}

#[tokio::test]
async fn a_call_is_what_vapi_publishes() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[]);
    platform.then(201, taken());
    let mut message = sample::message(TO);
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Did you take it?")));
    assert_eq!(channel.send(&message).await, Ok(Receipt { pending: true, ..Receipt::of(ID) }));
    let request = platform.take().remove(0);
    assert_eq!((request.method.as_str(), request.uri.path()), ("POST", "/call"));
    assert_eq!(request.header("authorization"), "Bearer s3cret");
    let body = request.json();
    assert_eq!((&body["assistantId"], &body["phoneNumberId"]), (&json!("a-1"), &json!("p-1")));
    assert_eq!(body["customer"], json!({"number": TO}));
    let overrides = &body["assistantOverrides"];
    assert_eq!(overrides["firstMessage"], "{{ first_words }}");
    assert_eq!(overrides["variableValues"]["first_words"], "Reminder: Take your \"medicine\". Did you take it?");
    assert_eq!(overrides["variableValues"]["message"], "Take your \"medicine\"");
    assert_eq!(overrides["metadata"]["punctual_idempotency_key"], message.idempotency_key);
    assert_eq!(overrides["metadata"]["punctual_attempt_key"], message.attempt_key);
    facts().check("CreateCall", &body);
    let detection = &overrides["voicemailDetection"];
    assert_eq!(*detection, json!({"provider": "vapi"}));
    facts().check("VoicemailDetection", detection);
    let as_the_assistant_is_set = super::tests::channel(&url, &[("voicemail_detection", "false")]);
    platform.then(201, taken());
    as_the_assistant_is_set.send(&message).await.unwrap();
    assert_eq!(platform.take().remove(0).json()["assistantOverrides"].get("voicemailDetection"), None);
    facts().check("Call", &taken());
    assert!(channel.holds_unknown() && channel.digest_max().is_none());
    assert_eq!((channel.limits().concurrency, channel.receiver(TO)), (10, url));
}

#[tokio::test]
async fn every_shape_of_call_is_what_vapi_publishes() {
    let (platform, url) = Platform::start().await;
    for lang in Lang::ALL {
        for (name, ack) in [(None, None), (Some("pills"), Some(Default::default()))] {
            let mut message = sample::message(TO);
            message.language = lang;
            message.text = format!("{{{{ customer.number }}}} {}", "😀".repeat(2000));
            sample::change(&mut message, |reminder| (reminder.name, reminder.ack) = (name.map(str::to_owned), ack));
            platform.then(201, taken());
            channel(&url, &[]).send(&message).await.unwrap();
            let body = platform.take().remove(0).json();
            facts().check("CreateCall", &body);
            let said = body["assistantOverrides"]["variableValues"]["first_words"].as_str().unwrap();
            assert!(said.starts_with(&format!("{}: {{{{ customer.number", texts::texts(lang).reminder)), "{said}");
            assert!(said.chars().count() <= SAID_CHARS_MAX && said.contains("… (+"), "{said}");
            assert_eq!(body["assistantOverrides"]["firstMessage"], "{{ first_words }}");
        }
    }
    platform.then(201, taken());
    channel(&url, &[("template", "Hello {user}, {message}!")]).send(&sample::message(TO)).await.unwrap();
    let said = &platform.take().remove(0).json()["assistantOverrides"]["variableValues"]["first_words"];
    assert_eq!(said, "Hello alice, Take your \"medicine\"!");
}

#[tokio::test]
async fn with_any_template_the_question_is_asked_once_and_a_text_is_said() {
    let (platform, url) = Platform::start().await;
    let said = async |template: &str, prompt: &str| {
        let mut message = sample::message(TO);
        sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack(prompt)));
        platform.then(201, taken());
        channel(&url, &[("template", template)]).send(&message).await.unwrap();
        let body = platform.take().remove(0).json();
        body["assistantOverrides"]["variableValues"]["first_words"].as_str().unwrap().to_owned()
    };
    assert_eq!(said("Hello, {message}!", "Taken?").await, "Hello, Take your \"medicine\"! Taken?");
    assert_eq!(said("{message}: {prompt}", "Taken?").await, "Take your \"medicine\": Taken?");
    assert_eq!(said("{name}", "Taken?").await, "Take your \"medicine\". Taken?");
    let long = said("{message}", &"Really? ".repeat(256)).await;
    assert!(long.chars().count() <= SAID_CHARS_MAX && long.starts_with("Take your") && long.contains("… (+"), "{long}");
}

fn class(failed: &SendError) -> &'static str {
    assert!(!failed.to_string().contains("s3cret"), "{failed}");
    match failed {
        SendError::Throttled { .. } => "throttled",
        SendError::Unavailable(_) => "unavailable",
        SendError::Refused(_) => "refused",
        SendError::Gone(_) => "gone",
        SendError::Unknown(_) => "unknown",
    }
}

#[tokio::test]
async fn every_answer_has_a_class() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[]);
    let body = |status: u16, message: Value| json!({"message": message, "error": "Bad Request", "statusCode": status});
    let e164 = "customer.number must be a valid phone number in the E.164 format";
    for (status, message, expect) in [
        (400, json!([e164]), "refused"),
        (400, json!("something else s3cret"), "refused"),
        (400, json!("Over Concurrency Limit. Upgrade your plan."), "throttled"),
        (400, json!("Wallet Balance is 0. Purchase More Credits."), "unavailable"),
        (400, json!("Numbers Bought On Vapi Have A Daily Outbound Call Limit."), "unavailable"),
        (400, json!(["assistantId must be a UUID"]), "unavailable"),
        (400, json!(["phoneNumberId must be a UUID"]), "unavailable"),
        (401, json!("Invalid Key"), "unavailable"),
        (402, json!("No credits"), "unavailable"),
        (403, json!("Forbidden"), "unavailable"),
        (404, json!("Cannot POST /call"), "unavailable"),
        (422, json!("Unprocessable"), "refused"),
        (429, json!("Too Many Requests"), "throttled"),
        // It may be calling.
        (500, json!("Internal s3cret"), "unknown"),
        (502, Value::Null, "unknown"),
        (504, Value::Null, "unknown"),
        (503, Value::Null, "unavailable"),
    ] {
        platform.then(status, body(status, message.clone()));
        let failed = channel.send(&sample::message(TO)).await.unwrap_err();
        assert_eq!(class(&failed), expect, "{status} {message}: {failed}");
    }
    platform.then_with(429, &[("retry-after", "3")], json!({}));
    let failed = channel.send(&sample::message(TO)).await.unwrap_err();
    assert_eq!(failed, SendError::Throttled { wait: Duration::from_secs(3), whom: Whom::Receiver });
    platform.then(201, json!({"results": []}));
    assert_eq!(class(&channel.send(&sample::message(TO)).await.unwrap_err()), "unknown");
    let nobody = super::tests::channel("http://127.0.0.1:1", &[]);
    assert_eq!(class(&nobody.send(&sample::message(TO)).await.unwrap_err()), "unavailable");
    assert_eq!(nobody.follow(ID).await, Ok(Followed::AskAgain(TALKS_EVERY)));
}

#[tokio::test]
async fn a_call_is_followed_to_its_end() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[]);
    let follow = async |status: u16, body: Value| {
        platform.then(status, body);
        let followed = channel.follow(ID).await;
        let request = platform.take().remove(0);
        assert_eq!((request.method.as_str(), request.uri.path()), ("GET", format!("/call/{ID}").as_str()));
        assert_eq!(request.header("authorization"), "Bearer s3cret");
        followed
    };
    for status in facts().list("statuses").into_iter().chain(["brand-new"]) {
        let followed = follow(200, call(status, json!({}))).await;
        match status {
            "scheduled" | "queued" | "ringing" => assert_eq!(followed, Ok(Followed::AskAgain(RINGS_EVERY))),
            "in-progress" | "forwarding" => assert_eq!(followed, Ok(Followed::AskAgain(TALKS_EVERY))),
            // An end without a reason says nothing about the person.
            "ended" | "not-found" | "deletion-failed" | "brand-new" => {
                assert_eq!(class(&followed.unwrap_err()), "unknown", "{status}");
            }
            new => panic!("{new} is new: decide what it means"),
        }
    }
    let ended = |reason: &str| call("ended", json!({"endedReason": reason}));
    assert_eq!(follow(200, ended("customer-ended-call")).await, Ok(Followed::Reached));
    let missed = follow(200, ended("customer-did-not-answer")).await.unwrap_err();
    assert_eq!(missed, SendError::Unavailable("the call ended: customer-did-not-answer".into()));
    assert_eq!(class(&follow(200, ended("silence-timed-out")).await.unwrap_err()), "unavailable");
    let talked = json!({"endedReason": "silence-timed-out", "messages": [{"role": "bot"}, {"role": "user"}]});
    assert_eq!(follow(200, call("ended", talked)).await, Ok(Followed::Reached));
    // A fault in the middle of a call says nothing about what was heard before it.
    let fault = "pipeline-error-openai-llm-failed";
    assert_eq!(class(&follow(200, ended(fault)).await.unwrap_err()), "unavailable");
    let talked = json!({"endedReason": fault, "messages": [{"role": "bot"}, {"role": "user"}]});
    assert_eq!(follow(200, call("ended", talked)).await, Ok(Followed::Reached));
    let why = json!({"endedReason": "twilio-reported-customer-misdialed", "endedMessage": "no\nsuch number"});
    let refused = follow(200, call("ended", why)).await.unwrap_err();
    let said = "the call ended: twilio-reported-customer-misdialed (no such number)";
    assert_eq!(refused, SendError::Refused(said.into()));
    assert_eq!(class(&follow(200, ended("brand-new")).await.unwrap_err()), "unknown");
    // The question failed, which says nothing about the call.
    for status in [401, 403, 404, 408, 429, 500, 502, 503] {
        assert_eq!(
            follow(status, json!({"message": "no s3cret call"})).await,
            Ok(Followed::AskAgain(WAIT)),
            "{status}"
        );
    }
    assert_eq!(follow(200, json!("a portal")).await, Ok(Followed::AskAgain(WAIT)));
    for bad in ["", "../x", "a?b"] {
        assert_eq!(class(&channel.follow(bad).await.unwrap_err()), "unknown");
    }
}

#[test]
fn the_reasons_that_we_name_are_decided_on_purpose() {
    let facts = facts();
    for (group, expect) in [
        ("heard", Ended::Heard),
        ("heard_if_talked", Ended::HeardIfTalked),
        ("not_heard", Ended::NotHeard),
        ("never", Ended::Never),
    ] {
        for reason in texts(facts.at(&format!("/reasons/{group}"))) {
            assert_eq!(reason::ended(reason), Some(expect), "{reason}");
        }
    }
    assert_eq!(reason::ended("brand-new"), None);
    assert_eq!(reason::ended(""), None);
}

#[test]
fn every_reason_is_decided_on_purpose() {
    let Some(document) = published(SPEC) else { return };
    let reasons = document["components"]["schemas"]["Call"]["properties"]["endedReason"]["enum"].as_array().unwrap();
    let reasons: BTreeSet<&str> = reasons.iter().map(|reason| reason.as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 595);
    let decide = |reason| reason::ended(reason).unwrap_or_else(|| panic!("{reason} is new: decide what it means"));
    let decided: Vec<_> = reasons.into_iter().map(|reason| (decide(reason), reason)).collect();
    // A reason with `error` in it does not count as heard, except in a transfer, which comes after the first words.
    for (ended, reason) in &decided {
        assert!(*ended != Ended::Heard || !reason.contains("error") || reason.contains("transfer"), "{reason}");
    }
    let n = |wanted: Ended| decided.iter().filter(|(ended, _)| *ended == wanted).count();
    assert_eq!([Ended::Heard, Ended::HeardIfTalked, Ended::NotHeard, Ended::Never].map(n), [19, 532, 38, 6]);
    let facts = facts();
    for reason in facts.at("/reasons").as_object().unwrap().values().flat_map(texts) {
        assert!(decided.iter().any(|(_, theirs)| *theirs == reason), "Vapi has no reason {reason}");
    }
    report::ran(&format!("{} reasons of {SPEC} are decided", decided.len()));
}

#[test]
fn settings_that_cannot_be_right_are_refused() {
    let wrong = |pairs: &[(&str, &str)]| {
        make(&mut sample::settings(pairs), &sample::server()).map(|_| ()).unwrap_err().to_string()
    };
    assert!(wrong(&[]).starts_with("api_key: is missing; write the private key from the dashboard"));
    assert!(wrong(&[("api_key", "a\nb")]).starts_with("api_key: has a space or a line break within"));
    assert!(wrong(&[("api_key", "x")]).starts_with("assistant_id: is missing"));
    assert!(wrong(&[("api_key", "x"), ("assistant_id", "a")]).starts_with("phone_number_id: is missing"));
    assert!(wrong(&[("api_url", "vapi.ai")]).starts_with("api_url: is no http"));
    let channel = channel("https://api.vapi.ai", &[("concurrency", "2"), ("timeout", "5s")]);
    assert_eq!(channel.limits().concurrency, 2);
    channel.check_address(TO).unwrap();
    assert!(channel.check_address("alice").is_err());
}
