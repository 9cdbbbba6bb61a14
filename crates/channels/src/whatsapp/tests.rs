//! The channel against a local server and Meta's own specification.

use super::*;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, Request, class, fields};
use punctual_core::phrase::Lang;

const TO: &str = "+4915112345678";
const TOKEN: &str = "EAAs3cret";

fn whatsapp_with(more: &[(&str, &str)], base: &str) -> Whatsapp {
    let mut pairs = vec![("token", TOKEN), ("phone_number_id", "106540352242922"), ("api_url", base)];
    pairs.extend(more);
    Whatsapp::new(&mut fields(&pairs), &sample::server()).unwrap()
}

async fn start(more: &[(&str, &str)]) -> (Platform, Whatsapp) {
    let (platform, base) = Platform::start().await;
    (platform, whatsapp_with(more, &base))
}

fn taken() -> Value {
    json!({"messaging_product": "whatsapp", "contacts": [{"input": TO, "wa_id": "4915112345678"}],
        "messages": [{"id": "wamid.X", "message_status": "accepted"}]})
}

fn error(code: u64, message: &str) -> Value {
    json!({"error": {"message": format!("(#{code}) {message}"), "type": "OAuthException", "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": message}, "fbtrace_id": "A"}})
}

/// The specification's own examples have an index "0", which its pattern (of footnotes, it seems) refuses.
fn mend_index(document: &mut Value) {
    for component in ["TemplateComponent", "ButtonComponent"] {
        let schema = &mut document["components"]["schemas"][component];
        *schema = serde_json::from_str(&schema.to_string().replace("^[2-6, 11-14]$", "^[0-9]$")).unwrap();
    }
}

/// Whether a request is what Meta's specification takes.
#[track_caller]
fn check(request: &Request) {
    assert_eq!(request.method, "POST");
    assert_eq!(request.uri, "/v23.0/106540352242922/messages");
    assert_eq!(request.header("authorization"), "Bearer EAAs3cret");
    let (body, facts) = (request.json(), facts());
    assert!(body["biz_opaque_callback_data"].is_string());
    match body["type"].as_str().unwrap() {
        "text" => facts.check("TextMessage", &body),
        "interactive" => facts.check("InteractiveMessage", &body),
        "template" => {
            facts.check("TemplateMessage", &body);
            for component in body["template"]["components"].as_array().unwrap() {
                let (whole, part) = match component["type"].as_str().unwrap() {
                    "body" => ("BodyComponent", "TextParameter"),
                    "button" => ("ButtonComponent", "ButtonPayloadParameter"),
                    other => panic!("{other}"),
                };
                facts.check(whole, component);
                facts.check(part, &component["parameters"][0]);
            }
        }
        other => panic!("{other}"),
    }
}

fn facts() -> Facts {
    Facts::of("whatsapp", mend_index)
}

#[test]
fn the_facts_are_what_meta_publishes() {
    facts().agree();
}

#[tokio::test]
async fn every_request_is_what_meta_publishes() {
    for more in [
        &[("mode", "session")] as &[_],
        &[("template_name", "reminder_1")],
        &[("template_name", "r"), ("template_buttons", "true")],
    ] {
        let (platform, whatsapp) = start(more).await;
        for message in sample::shapes(TO, "💊\n\t    pills ") {
            platform.then(200, taken());
            assert_eq!(whatsapp.send(&message).await, Ok(Receipt::of("wamid.X")));
            let [request] = platform.take().try_into().unwrap();
            check(&request);
            let body = request.json();
            let said = |value: &Value, max: usize| {
                value.as_str().is_none_or(|text| (1..=max).contains(&Unit::Utf16.count(text)))
            };
            assert!(said(&body["text"]["body"], 4096) && said(&body["interactive"]["body"]["text"], 1024));
            let parameter = &body["template"]["components"][0]["parameters"][0]["text"];
            assert!(said(parameter, 900));
            let parameter = parameter.as_str().unwrap_or_default();
            assert!(!parameter.contains(['\n', '\t']) && !parameter.contains("    "), "{parameter}");
        }
    }
}

#[tokio::test]
async fn only_a_message_with_an_id_that_goes_out_now_is_sent() {
    let (platform, whatsapp) = start(&[]).await;
    let facts = facts();
    for status in facts.list("statuses") {
        let mut answer = taken();
        answer["messages"][0]["message_status"] = status.into();
        platform.then(200, answer);
        let expect = match status {
            "accepted" => "sent",
            "held_for_quality_assessment" => "unknown",
            "paused" => "unavailable",
            new => panic!("{new} is new: decide what it means"),
        };
        assert_eq!(class(&whatsapp.send(&sample::message(TO)).await), expect, "{status}");
    }
    for (answer, expect) in [
        (json!({"messages": [{"id": "wamid.X"}]}), "sent"),
        (json!({"messages": [{"id": "wamid.X", "message_status": "brand-new"}]}), "unknown"),
        (json!({"messages": []}), "unknown"),
        (json!("<html>Welcome to our network EAAs3cret</html>"), "unknown"),
    ] {
        platform.then(200, answer);
        let sent = whatsapp.send(&sample::message(TO)).await;
        assert_eq!(class(&sent), expect, "{sent:?}");
        assert!(!format!("{sent:?}").contains("s3cret"), "{sent:?}");
    }
}

#[tokio::test]
async fn requests_in_full() {
    let (platform, whatsapp) = start(&[]).await;
    let mut message = sample::message(TO);
    platform.then(200, taken());
    whatsapp.send(&message).await.unwrap();
    let key = message.idempotency_key.clone();
    let id = message.occurrence;
    let frame = |more: Value| {
        let mut all = json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": TO,
            "biz_opaque_callback_data": key});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let text = json!({"preview_url": false, "body": "⏰ *Reminder:* Take your \"medicine\""});
    assert_eq!(platform.take()[0].json(), frame(json!({"type": "text", "text": text})));

    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Taken?")));
    message.language = Lang::Hr;
    platform.then(200, taken());
    whatsapp.send(&message).await.unwrap();
    let reply = |verb: &str, title: &str| json!({"type": "reply", "reply": {"id": format!("punctual:{verb}:{id}"), "title": title}});
    let (ack, snooze, dismiss) =
        (reply("ack", "Gotovo"), reply("snooze", "Za 10 minuta"), reply("dismiss", "Ne treba"));
    let interactive = |buttons: Value| {
        json!({"type": "interactive", "interactive": {"type": "button", "action": {"buttons": buttons},
            "body": {"text": "⏰ *Podsjetnik:* Take your \"medicine\"\nTaken?"}}})
    };
    assert_eq!(platform.take()[0].json(), frame(interactive(json!([ack, snooze, dismiss]))));
    sample::change(&mut message, |reminder| reminder.snooze_allowed = false);
    platform.then(200, taken());
    whatsapp.send(&message).await.unwrap();
    assert_eq!(platform.take()[0].json(), frame(interactive(json!([ack, dismiss]))));

    let settings = [("template_name", "reminder"), ("template_buttons", "true"), ("template_language", "*=en_US")];
    let (platform, whatsapp) = start(&settings).await;
    message.text = "Take\nyour\t\tmedicine".into();
    platform.then(200, taken());
    whatsapp.send(&message).await.unwrap();
    let button = |index: &str, verb: &str| {
        json!({"type": "button", "sub_type": "quick_reply", "index": index,
            "parameters": [{"type": "payload", "payload": format!("punctual:{verb}:{id}")}]})
    };
    let components = json!([
        {"type": "body", "parameters": [{"type": "text", "text": "Take your medicine Taken?"}]},
        button("0", "ack"), button("2", "dismiss")]);
    let template =
        json!({"name": "reminder", "language": {"policy": "deterministic", "code": "en_US"}, "components": components});
    assert_eq!(platform.take()[0].json(), frame(json!({"type": "template", "template": template})));
}

#[tokio::test]
async fn when_the_session_is_over_the_template_goes_at_once() {
    let closed = || {
        error(131_047, "Message failed to send because more than 24 hours have passed since the customer last replied")
    };
    let (platform, whatsapp) = start(&[("template_name", "reminder"), ("mode", "auto")]).await;
    platform.then(400, closed()).then(200, taken());
    assert_eq!(whatsapp.send(&sample::message(TO)).await, Ok(Receipt::of("wamid.X")));
    let requests = platform.take();
    requests.iter().for_each(check);
    let types: Vec<_> = requests.iter().map(|request| request.json()["type"].clone()).collect();
    assert_eq!(types, ["text", "template"]);
    platform.then(400, closed()).then(400, error(132_001, "Template name does not exist in the translation"));
    assert_eq!(class(&whatsapp.send(&sample::message(TO)).await), "refused");

    let (platform, whatsapp) = start(&[]).await;
    platform.then(400, closed());
    let Err(SendError::Refused(said)) = whatsapp.send(&sample::message(TO)).await else { panic!() };
    assert!(
        said.starts_with(
            "the person has not written for 24 hours, so WhatsApp takes only a template; set template_name: "
        ),
        "{said}"
    );
    assert_eq!(platform.take().len(), 1);
}

#[tokio::test]
async fn a_length_at_the_limit_is_left_alone_and_one_more_is_cut_visibly() {
    let (platform, whatsapp) = start(&[]).await;
    let frame = Unit::Utf16.count("⏰ *Reminder:* ");
    for (with_buttons, max) in [(false, 4096), (true, 1024)] {
        for (more, is_cut) in [(0, false), (1, true)] {
            let mut message = sample::message(TO);
            let mut room = max - frame;
            if with_buttons {
                sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
                room -= "\nDone?".len();
            }
            message.text = format!("{}{}", "😀".repeat(room / 2), "x".repeat(room % 2 + more));
            platform.then(200, taken());
            whatsapp.send(&message).await.unwrap();
            let body = platform.take()[0].json();
            let said = if with_buttons { &body["interactive"]["body"]["text"] } else { &body["text"]["body"] };
            let said = said.as_str().unwrap();
            assert_eq!(said.contains(" characters)"), is_cut);
            let n_units = Unit::Utf16.count(said);
            assert!(n_units <= max && n_units > max - 30, "{n_units} of {max}");
        }
    }
}

#[tokio::test]
async fn every_documented_error_has_its_meaning() {
    let (platform, whatsapp) = start(&[]).await;
    let rows: &[(u16, u64, &str)] = &[
        (400, 131_056, "throttled 6s, address"),
        (429, 130_429, "throttled 5s, receiver"),
        (400, 4, "throttled 60s, receiver"),
        (400, 80_007, "throttled 60s, receiver"),
        (400, 131_048, "throttled 900s, receiver"),
        (400, 131_026, "refused"),
        (400, 131_030, "refused"),
        (400, 131_021, "refused"),
        (400, 131_008, "refused"),
        (400, 131_009, "refused"),
        (400, 131_049, "refused"),
        (400, 131_051, "refused"),
        (400, 130_472, "refused"),
        (403, 130_497, "refused"),
        (400, 100, "refused"),
        (400, 132_000, "refused"),
        (404, 132_001, "refused"),
        (400, 132_005, "refused"),
        (400, 132_007, "refused"),
        (400, 132_012, "refused"),
        (400, 132_016, "refused"),
        (400, 132_015, "unavailable"),
        (401, 0, "unavailable"),
        (401, 190, "unavailable"),
        (403, 3, "unavailable"),
        (403, 10, "unavailable"),
        (403, 200, "unavailable"),
        (403, 131_005, "unavailable"),
        (403, 368, "unavailable"),
        (403, 131_031, "unavailable"),
        (400, 131_042, "unavailable"),
        (500, 131_045, "unavailable"),
        (400, 133_010, "unavailable"),
        (400, 33, "unavailable"),
        (500, 1, "unavailable"),
        (503, 2, "unavailable"),
        (500, 131_000, "unavailable"),
        (500, 131_016, "unavailable"),
        (500, 131_057, "unavailable"),
        (400, 999_999, "refused"),
        (500, 999_999, "unavailable"),
    ];
    for (status, code, expect) in rows {
        platform.then(*status, error(*code, "why"));
        let sent = whatsapp.send(&sample::message(TO)).await;
        assert_eq!(class(&sent), *expect, "{code}: {sent:?}");
    }
    platform.then_with(429, &[("retry-after", "17")], error(130_429, "slow"));
    assert_eq!(class(&whatsapp.send(&sample::message(TO)).await), "throttled 17s, receiver");
    platform.then(502, json!("<html>"));
    assert_eq!(class(&whatsapp.send(&sample::message(TO)).await), "unavailable");
    platform.then(400, error(131_026, "Not on WhatsApp"));
    let Err(SendError::Refused(said)) = whatsapp.send(&sample::message(TO)).await else { panic!() };
    assert_eq!(said, "WhatsApp answered 131026: (#131026) Not on WhatsApp (Not on WhatsApp)");
}

#[tokio::test]
async fn the_token_is_never_shown() {
    let (platform, whatsapp) = start(&[]).await;
    assert!(!format!("{whatsapp:?}").contains("s3cret"));
    for status in [400, 401, 500] {
        for body in
            [error(190, "Bad token EAAs3cret"), error(100, "EAAs3cret"), json!("EAAs3cret"), error(7, "EAAs3cret")]
        {
            platform.then(status, body);
            let sent = whatsapp.send(&sample::message(TO)).await;
            assert!(sent.is_err() && !format!("{sent:?}").contains("s3cret"), "{sent:?}");
        }
    }
    let sent = whatsapp_with(&[], "http://127.0.0.1:1").send(&sample::message(TO)).await;
    assert_eq!(class(&sent), "unavailable");
}

#[test]
fn addresses_are_checked() {
    let whatsapp = whatsapp_with(&[], "https://graph.facebook.com");
    for right in [TO, "+12025550123", "+1234567", "+123456789012345"] {
        assert_eq!(whatsapp.check_address(right), Ok(()), "{right}");
    }
    for wrong in [
        "",
        "+",
        "4915112345678",
        "004915112345678",
        "+0151",
        "+123456",
        "+1234567890123456",
        "+49 151 12345678",
        "+49x15112345",
        "alice",
        "+٤٩١٥١١٢٣",
    ] {
        let error = whatsapp.check_address(wrong).unwrap_err().to_string();
        assert!(error.starts_with("address: is no phone number: write +"), "{wrong}: {error}");
    }
}

#[test]
fn settings_are_read_and_wrong_ones_are_named() {
    let whatsapp = whatsapp_with(&[("api_version", "v24.0")], "https://graph.facebook.com");
    assert_eq!(whatsapp.url, "https://graph.facebook.com/v24.0/106540352242922/messages");
    let expect = Limits { concurrency: 64, rate: Some(Rate::per_second(80)), address_rate: Some(Rate::per_minute(10)) };
    assert_eq!(whatsapp.limits(), expect);
    assert_eq!(
        (whatsapp.kind(), whatsapp.receiver(TO), whatsapp.digest_max().is_some()),
        ("whatsapp", "whatsapp".into(), true)
    );
    let mode = |more: &[(&str, &str)]| whatsapp_with(more, "https://graph.facebook.com").mode;
    let name = ("template_name", "reminder");
    assert_eq!((mode(&[]), mode(&[name])), (Mode::Session, Mode::Template));
    assert_eq!((mode(&[name, ("mode", "session")]), mode(&[name, ("mode", "auto")])), (Mode::Session, Mode::Auto));
    for (field, more) in [
        ("template_name", ("mode", "auto")),
        ("template_name", ("mode", "template")),
        ("template_name", ("template_name", "Not A Name")),
        ("mode", ("mode", "guess")),
        ("template_language", ("template_language", "klingon=tlh")),
        ("template_buttons", ("template_buttons", "maybe")),
        ("api_version", ("api_version", "23/../x")),
        ("phone_number_id", ("phone_number_id", "+49151")),
        ("token", ("token", "a\nb")),
    ] {
        let mut pairs = vec![("token", TOKEN), ("phone_number_id", "1")];
        pairs.retain(|(name, _)| *name != more.0);
        pairs.push(more);
        assert_eq!(Whatsapp::new(&mut fields(&pairs), &sample::server()).unwrap_err().field, field, "{more:?}");
    }
    let error = crate::setup::make("whatsapp", fields(&[("token", "x")]), &Server::new(sample::clock())).err().unwrap();
    assert_eq!(
        error.to_string(),
        "phone_number_id: is missing; write the id of the number that sends, not the number itself"
    );
}

#[test]
fn the_check_itself_would_notice() {
    let facts = facts();
    let takes = |message: &Value| facts.takes("InteractiveMessage", message);
    let message = |title: &str, n_buttons: usize| {
        let button = json!({"type": "reply", "reply": {"id": "1", "title": title}});
        json!({"messaging_product": "whatsapp", "to": TO, "type": "interactive", "interactive": {"type": "button",
            "body": {"text": "x"}, "action": {"buttons": vec![button; n_buttons]}}})
    };
    assert!(takes(&message("Done", 3)));
    assert!(!takes(&message("Done", 4)) && !takes(&message("21 letters are too ma", 1)));
    let mut wrong = message("Done", 1);
    wrong["more"] = 1.into();
    assert!(!takes(&wrong));
}
