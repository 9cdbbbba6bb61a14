use std::collections::BTreeMap;

use punctual_core::phrase::Lang;
use reqwest::Url;
use serde_json::{Value, json};

use super::*;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, Request, close};

const ACCOUNT: &str = "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const SERVICE: &str = "MGaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const SID: &str = "SMaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const TO: &str = "+4915112345678";

fn settings(url: &str, more: &[(&str, &str)]) -> Fields {
    sample::settings(&[&[("api_url", url), ("account_sid", ACCOUNT), ("auth_token", "s3cret")], more].concat())
}

fn channel(url: &str, more: &[(&str, &str)]) -> Arc<dyn Channel> {
    let mut fields = settings(url, more);
    let channel = make(&mut fields, &sample::server()).unwrap();
    fields.finish().unwrap();
    channel
}

fn wrong(more: &[(&str, &str)]) -> String {
    make(&mut settings("https://api.twilio.com", more), &sample::server()).map(|_| ()).unwrap_err().to_string()
}

fn pairs(request: &Request) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("form:?{}", std::str::from_utf8(&request.body).unwrap())).unwrap();
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

fn facts() -> Facts {
    Facts::of("twilio", close)
}

/// Checks a form against what Twilio publishes, and what it says only in words.
#[track_caller]
fn check_form(pairs: &BTreeMap<String, String>) {
    let facts = facts();
    let mut form = serde_json::Map::new();
    for (name, value) in pairs {
        let is_number = facts.at("/shapes/CreateMessage/properties")[name]["type"] == "integer";
        form.insert(name.clone(), if is_number { json!(value.parse::<i64>().unwrap()) } else { json!(value) });
    }
    facts.check("CreateMessage", &Value::Object(form));
    assert!(pairs.contains_key("From") ^ pairs.contains_key("MessagingServiceSid"), "one sender: {pairs:?}");
    assert!(pairs["Body"].encode_utf16().count() <= facts.number("body_units"));
}

#[test]
fn the_facts_are_what_twilio_publishes() {
    assert_eq!(facts().number("body_units"), BODY_MAX);
    facts().agree();
}

#[test]
fn the_check_itself_would_notice() {
    let right = json!({"To": TO, "From": "X", "Body": "x", "ValidityPeriod": 600});
    assert!(facts().takes("CreateMessage", &right));
    for (name, value) in [("to", json!(TO)), ("Body", json!("")), ("ValidityPeriod", json!(36_001)), ("To", json!(1))] {
        let mut wrong = right.clone();
        wrong[name] = value;
        assert!(!facts().takes("CreateMessage", &wrong), "{wrong}");
    }
}

fn taken() -> Value {
    json!({"account_sid": ACCOUNT, "sid": SID, "status": "queued", "error_code": null, "error_message": null, "to": TO})
}

#[tokio::test]
async fn an_sms_is_what_twilio_publishes() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("from", "+14155552345")]);
    platform.then(201, taken());
    let receipt = channel.send(&sample::message(TO)).await.unwrap();
    assert_eq!(receipt, Receipt { pending: true, ..Receipt::of(SID) });
    let request = platform.take().remove(0);
    assert_eq!(request.method.as_str(), "POST");
    assert_eq!(request.uri.path(), format!("/2010-04-01/Accounts/{ACCOUNT}/Messages.json"));
    assert_eq!(request.header("content-type"), "application/x-www-form-urlencoded");
    assert!(request.header("authorization").starts_with("Basic QUNhYWFh"));
    let expect = [("Body", "Take your \"medicine\""), ("From", "+14155552345"), ("To", TO), ("ValidityPeriod", "600")];
    assert_eq!(pairs(&request), expect.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    check_form(&pairs(&request));
    assert!(channel.holds_unknown() && channel.digest_max().is_some());
    assert_eq!((channel.limits().rate, channel.receiver(TO)), (Some(Rate::per_second(1)), url));
}

#[tokio::test]
async fn every_shape_of_sms_is_what_twilio_publishes() {
    let (platform, url) = Platform::start().await;
    let service = [
        ("messaging_service_sid", SERVICE),
        ("valid_for", "10h"),
        ("status_callback", "https://example.org/twilio"),
        ("template", "{user}: {message}"),
    ];
    for more in [&[("from", "PILLS")][..], &[("from", "12345"), ("valid_for", "1s"), ("answer_link", "no")], &service] {
        for lang in Lang::ALL {
            let mut message = sample::message(TO);
            message.language = lang;
            sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
            platform.then(201, taken());
            channel(&url, more).send(&message).await.unwrap();
            let pairs = pairs(&platform.take().remove(0));
            check_form(&pairs);
            assert!(pairs["Body"].contains("\n") && pairs["Body"].contains('?'), "asks: {pairs:?}");
            assert_eq!(pairs["Body"].contains("https://p.example/a/ack."), more.len() != 3, "{pairs:?}");
        }
    }
}

#[tokio::test]
async fn long_texts_fit_and_say_what_is_missing() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("from", "+14155552345")]);
    let sent = async |text: String| {
        let mut message = sample::message(TO);
        message.text = text;
        platform.then(201, taken());
        channel.send(&message).await.unwrap();
        pairs(&platform.take().remove(0))["Body"].clone()
    };
    let exact = "😀".repeat(BODY_MAX / 2);
    assert_eq!(sent(exact.clone()).await, exact);
    let cut = sent(format!("{exact}!")).await;
    assert!(cut.encode_utf16().count() <= BODY_MAX && cut.contains("… (+"), "{cut}");
}

#[tokio::test]
async fn with_any_template_the_question_is_asked_once_and_fits() {
    let (platform, url) = Platform::start().await;
    let sent = async |template: &str, text: &str, prompt: &str| {
        let mut message = sample::message(TO);
        message.text = text.into();
        sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack(prompt)));
        platform.then(201, taken());
        channel(&url, &[("from", "PILLS"), ("template", template)]).send(&message).await.unwrap();
        let pairs = pairs(&platform.take().remove(0));
        check_form(&pairs);
        let link = sample::server().links.unwrap().link(Verb::Ack, message.occurrence);
        pairs["Body"].strip_suffix(&format!(" {link}")).unwrap().to_owned()
    };
    assert_eq!(sent("{message}", "pills", "Taken?").await, "pills\nTaken?");
    assert_eq!(sent("{message} {prompt}", "pills", "Taken?").await, "pills Taken?");
    assert_eq!(sent("{name}", "pills", "Taken?").await, "pills\nTaken?", "an empty text is none");
    assert_eq!(sent("{message}", "Taken?", "Taken?").await, "Taken?");
    for text in ["pills", &"pills ".repeat(500)] {
        let said = sent("{message}", text, &"Really? ".repeat(256)).await;
        assert!(said.starts_with("pills") && said.contains("Really?") && said.contains("… (+"), "{said}");
    }
}

#[tokio::test]
async fn every_code_has_a_class() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("from", "+14155552345")]);
    let rows: &[(u16, u64, &str)] = &[
        (400, 21_211, "gone"),
        (400, 21_614, "gone"),
        (400, 21_635, "gone"),
        (400, 21_265, "gone"),
        (400, 21_610, "refused"),
        (403, 21_408, "refused"),
        (400, 21_608, "refused"),
        (400, 21_612, "refused"),
        (400, 21_268, "refused"),
        (400, 21_602, "refused"),
        (400, 21_617, "refused"),
        (400, 99_999, "refused"),
        (429, 20_429, "throttled"),
        (429, 21_611, "throttled"),
        (429, 99_999, "throttled"),
        (429, 63_038, "unavailable"),
        (401, 20_003, "unavailable"),
        (403, 20_005, "unavailable"),
        (404, 20_404, "unavailable"),
        (400, 21_606, "unavailable"),
        (400, 21_212, "unavailable"),
        (400, 21_603, "unavailable"),
        (400, 21_659, "unavailable"),
        (400, 21_660, "unavailable"),
        (400, 21_703, "unavailable"),
        // It may have been taken.
        (500, 20_500, "unknown"),
        (500, 30_008, "unknown"),
        (502, 99_999, "unknown"),
        (504, 99_999, "unknown"),
        (503, 20_503, "unavailable"),
        (503, 99_999, "unavailable"),
    ];
    for (status, code, expect) in rows {
        platform.then(
            *status,
            json!({"code": code, "message": "no s3cret", "more_info": "https://www.twilio.com/docs", "status": status}),
        );
        let failed = channel.send(&sample::message(TO)).await.unwrap_err();
        check_class(&failed, expect, *code);
    }
    platform.then_with(
        429,
        &[("retry-after", "7")],
        json!({"code": 20429, "message": "Too Many Requests", "status": 429}),
    );
    let failed = channel.send(&sample::message(TO)).await.unwrap_err();
    assert_eq!(failed, SendError::Throttled { wait: Duration::from_secs(7), whom: Whom::Receiver });
    platform.then(201, json!("what?"));
    assert!(matches!(channel.send(&sample::message(TO)).await, Err(SendError::Unknown(_))));
    let nobody = super::tests::channel("http://127.0.0.1:1", &[("from", "X")]);
    assert!(matches!(nobody.send(&sample::message(TO)).await, Err(SendError::Unavailable(_))));
}

#[track_caller]
fn check_class(failed: &SendError, expect: &str, code: u64) {
    let class = match failed {
        SendError::Throttled { .. } => "throttled",
        SendError::Unavailable(_) => "unavailable",
        SendError::Refused(_) => "refused",
        SendError::Gone(_) => "gone",
        SendError::Unknown(_) => "unknown",
    };
    assert_eq!(class, expect, "{code}: {failed}");
    let said = failed.to_string();
    assert!(!said.contains("s3cret"), "{said}");
    assert!(class == "throttled" || said.contains(&code.to_string()), "{said}");
}

#[tokio::test]
async fn twilio_is_asked_what_became_of_an_sms() {
    let (platform, url) = Platform::start().await;
    let channel = channel(&url, &[("from", "+14155552345")]);
    let facts = facts();
    for status in facts.list("statuses") {
        platform.then(200, json!({"sid": SID, "status": status, "error_code": null, "error_message": null}));
        let followed = channel.follow(SID).await;
        let request = platform.take().remove(0);
        assert_eq!(request.uri.path(), format!("/2010-04-01/Accounts/{ACCOUNT}/Messages/{SID}.json"));
        match status {
            "sent" | "delivered" | "read" | "partially_delivered" => assert_eq!(followed, Ok(Followed::Reached)),
            "failed" | "undelivered" | "canceled" => assert!(matches!(followed, Err(SendError::Unavailable(_)))),
            "queued" | "sending" | "accepted" | "scheduled" | "receiving" | "received" => {
                assert_eq!(followed, Ok(Followed::AskAgain(ASK_EVERY)));
            }
            new => panic!("{new} is new: decide what it means"),
        }
    }
    for (code, expect) in [
        (30_003, "unavailable"),
        (30_004, "refused"),
        (30_005, "gone"),
        (30_006, "gone"),
        (30_007, "refused"),
        (30_008, "unavailable"),
        (30_034, "unavailable"),
        (30_036, "unavailable"),
        (30_001, "throttled"),
    ] {
        platform.then(200, json!({"sid": SID, "status": "undelivered", "error_code": code, "error_message": "s3cret"}));
        check_class(&channel.follow(SID).await.unwrap_err(), expect, code);
    }
    // The question failed, which says nothing about the message.
    for status in [401, 403, 404, 408, 410, 429, 500, 502, 503] {
        platform.then(status, json!({"code": 20404, "message": "not found", "status": status}));
        assert_eq!(channel.follow(SID).await, Ok(Followed::AskAgain(WAIT)), "{status}");
    }
    platform.then(200, json!("a portal"));
    assert_eq!(channel.follow(SID).await, Ok(Followed::AskAgain(ASK_EVERY)));
    assert!(matches!(channel.follow("../x").await, Err(SendError::Unknown(_))));
    let unheard = super::tests::channel(&url, &[("from", "X"), ("follow", "false")]);
    platform.then(201, taken());
    assert_eq!(unheard.send(&sample::message(TO)).await, Ok(Receipt::of(SID)));
}

#[test]
fn settings_that_cannot_be_right_are_refused() {
    assert!(wrong(&[]).starts_with("from: is missing; write your Twilio number"));
    assert!(
        wrong(&[("from", "+14155552345"), ("messaging_service_sid", SERVICE)]).starts_with("from: is given, and so")
    );
    assert!(wrong(&[("messaging_service_sid", "MG1")]).starts_with("messaging_service_sid: is none: write MG and 32"));
    for from in ["", "+1 415", "longer-than-eleven", "a\nb", "ÄPFEL"] {
        assert!(wrong(&[("from", from)]).starts_with("from: is no sender"), "{from}");
    }
    for span in ["11h", "500ms"] {
        assert_eq!(wrong(&[("from", "X"), ("valid_for", span)]), "valid_for: must be from 1s to 10h, such as 10m");
    }
    assert!(wrong(&[("from", "X"), ("status_callback", "here")]).starts_with("status_callback: is no http"));
    let missing = make(&mut sample::settings(&[("account_sid", ACCOUNT)]), &sample::server()).map(|_| ()).unwrap_err();
    assert!(missing.to_string().starts_with("auth_token: is missing; write the token"), "{missing}");
    let missing = make(&mut sample::settings(&[]), &sample::server()).map(|_| ()).unwrap_err();
    assert!(missing.to_string().starts_with("account_sid: is missing; the console"), "{missing}");
    let channel = channel("https://api.twilio.com", &[("from", "X")]);
    channel.check_address(TO).unwrap();
    assert!(channel.check_address("0151 12345678").is_err());
}
