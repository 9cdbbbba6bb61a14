//! Answers and delivery reports from WhatsApp: requests signed as Meta signs them.

use jiff::Timestamp;
use punctual_core::answer::Pressed;
use punctual_core::channel::receive::{Became, Call, Choice, Inbound, NotRead, Reaction, Sender, What};
use punctual_core::phrase::Lang;
use punctual_testkit::platforms::signed;
use punctual_testkit::report;

use super::*;
use crate::common::buttons::data;
use crate::sample;
use crate::spec::{Platform, fields, published};

const SECRET: &str = "app-s3cret";
const NUMBER: &str = "106540352242922";

fn whatsapp_at(url: &str, more: &[(&str, &str)]) -> Whatsapp {
    let mut pairs = vec![
        ("token", "EAAs3cret"),
        ("phone_number_id", NUMBER),
        ("api_url", url),
        ("app_secret", SECRET),
        ("verify_token", "our-token"),
    ];
    pairs.extend(more);
    Whatsapp::new(&mut fields(&pairs), &sample::server()).unwrap()
}

fn whatsapp() -> Whatsapp {
    whatsapp_at("http://127.0.0.1:1", &[])
}

fn notification(number: &str, value: Value) -> Value {
    let mut value = value;
    value["metadata"] = json!({"display_phone_number": "15550783881", "phone_number_id": number});
    value["contacts"] = json!([{"profile": {"name": "Ana"}, "wa_id": "4915112345678"}]);
    json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"value": value, "field": "messages"}]}]})
}

fn message(kind: Value) -> Value {
    let mut message = json!({"from": "4915112345678", "id": "wamid.1", "timestamp": "1749416383"});
    message.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
    json!({"messages": [message]})
}

fn read(whatsapp: &Whatsapp, notification: &Value) -> Result<Vec<Inbound>, NotRead> {
    read_signed(whatsapp, &signed::whatsapp(SECRET, notification))
}

fn read_signed(whatsapp: &Whatsapp, request: &signed::Signed) -> Result<Vec<Inbound>, NotRead> {
    let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let call = Call { is_get: false, path_and_query: "/v1/inbound/whatsapp", headers: &headers, body: &request.body };
    whatsapp.read(&call, Timestamp::UNIX_EPOCH)
}

#[test]
fn a_press_is_read_whichever_button_it_was() {
    let occurrence = sample::message("").occurrence;
    let value = data(Pressed::new(Verb::Snooze, occurrence));
    for kind in [
        json!({"type": "interactive", "interactive": {"type": "button_reply", "button_reply": {"id": value, "title": "x"}}}),
        json!({"type": "interactive", "interactive": {"type": "list_reply", "list_reply": {"id": value, "title": "x"}}}),
        json!({"type": "button", "button": {"payload": value, "text": "x"}}),
    ] {
        let mut kind = kind;
        kind["context"] = json!({"from": "15550783881", "id": "wamid.0"});
        let [inbound] = read(&whatsapp(), &notification(NUMBER, message(kind))).unwrap().try_into().unwrap();
        let pressed = Pressed::new(Verb::Snooze, occurrence);
        assert_eq!(inbound.what, What::Press { pressed, message_id: Some("wamid.0".into()) });
        let person = vec!["+4915112345678".to_owned()];
        let from = Sender { chat: person.clone(), person, is_group: false, name: "Ana".into() };
        assert_eq!(inbound.from, Some(from));
        assert_eq!(inbound.at, Timestamp::from_second(1_749_416_383).ok());
        assert_eq!(inbound.id.unwrap().id, "message wamid.1");
    }
}

#[test]
fn words_are_read_and_other_kinds_are_not() {
    let text = message(json!({"type": "text", "text": {"body": "popio sam"}, "context": {"id": "wamid.0"}}));
    let [inbound] = read(&whatsapp(), &notification(NUMBER, text.clone())).unwrap().try_into().unwrap();
    let expect = What::Words { text: "popio sam".into(), reply_to: Some("wamid.0".into()), about: None };
    assert_eq!(inbound.what, expect);
    assert_eq!(read(&whatsapp(), &notification("4711", text)), Ok(Vec::new()), "another number's");
    let other = message(json!({"type": "button", "button": {"payload": "another program's", "text": "x"}}));
    assert_eq!(read(&whatsapp(), &notification(NUMBER, other)), Ok(Vec::new()));
}

#[test]
fn a_report_moves_its_message() {
    let occurrence = sample::message("").occurrence;
    let key = sample::message("").idempotency_key;
    let status = |status: &str, errors: Value| {
        let status = json!({"id": "wamid.1", "status": status, "timestamp": "1", "recipient_id": "4915112345678",
            "biz_opaque_callback_data": key, "errors": errors});
        read(&whatsapp(), &notification(NUMBER, json!({"statuses": [status]}))).unwrap()
    };
    let report = |became| Inbound::new(What::Report { occurrence, message_id: "wamid.1".into(), became }, None);
    assert_eq!(status("sent", Value::Null), []);
    for word in ["delivered", "read"] {
        assert_eq!(status(word, Value::Null), [report(Became::Delivered)]);
    }
    for (code, expect) in [
        (131_047, "refused"),
        (131_026, "refused"),
        (131_049, "refused"),
        (130_472, "refused"),
        (131_000, "unavailable"),
        (131_048, "unavailable"),
        (4711, "unavailable"),
    ] {
        let errors = json!([{"code": code, "title": "Oops", "error_data": {"details": "because"}}]);
        let [Inbound { what: What::Report { became: Became::Failed(error), .. }, .. }] = &status("failed", errors)[..]
        else {
            panic!("{code}")
        };
        assert_eq!(crate::spec::class(&Err(error.clone())), expect, "{code}");
        let said = format!("WhatsApp took it, then reported {code}: Oops (because)");
        assert!(error.to_string().contains(&said), "{error}");
    }
    let foreign = json!({"id": "wamid.1", "status": "delivered", "biz_opaque_callback_data": "another's"});
    assert_eq!(read(&whatsapp(), &notification(NUMBER, json!({"statuses": [foreign]}))), Ok(Vec::new()));
}

#[test]
fn only_a_signed_request_is_read() {
    let text = notification(NUMBER, message(json!({"type": "text", "text": {"body": "done"}})));
    let request = signed::whatsapp(SECRET, &text);
    assert_eq!(read_signed(&whatsapp(), &request).unwrap().len(), 1);
    assert_eq!(read_signed(&whatsapp(), &signed::whatsapp("another", &text)), Err(NotRead::Forged));
    let mut tampered = request.clone();
    tampered.body.push(b' ');
    assert_eq!(read_signed(&whatsapp(), &tampered), Err(NotRead::Forged));
    let unsigned = signed::Signed { headers: Vec::new(), ..request };
    assert_eq!(read_signed(&whatsapp(), &unsigned), Err(NotRead::Forged));
    assert!(read(&whatsapp(), &json!([])).is_ok_and(|all| all.is_empty()));
}

#[test]
fn a_challenge_is_answered_to_one_who_knows_the_token() {
    let ask = |query: &str| {
        let path = format!("/v1/inbound/whatsapp?{query}");
        whatsapp().read(&Call { is_get: true, path_and_query: &path, headers: &[], body: b"" }, Timestamp::UNIX_EPOCH)
    };
    let right = "hub.mode=subscribe&hub.verify_token=our-token&hub.challenge=1158201444";
    let Err(NotRead::Answer(reply)) = ask(right) else { panic!("it was not answered") };
    assert_eq!((reply.status, reply.body.as_str()), (200, "1158201444"));
    for wrong in [
        "",
        "hub.mode=subscribe&hub.verify_token=guess&hub.challenge=1",
        "hub.mode=unsubscribe&hub.verify_token=our-token&hub.challenge=1",
        "hub.mode=subscribe&hub.verify_token=our-token&hub.challenge=%3Cscript%3E",
    ] {
        assert_eq!(ask(wrong), Err(NotRead::Forged), "{wrong}");
    }
}

#[tokio::test]
async fn a_person_is_told_as_a_reply_to_their_message() {
    let (platform, url) = Platform::start().await;
    platform.usually(json!({"messages": [{"id": "wamid.2"}]}));
    let (chatty, quiet) = (whatsapp_at(&url, &[]), whatsapp_at(&url, &[("confirm", "false")]));
    let text = notification(NUMBER, message(json!({"type": "text", "text": {"body": "done"}})));
    let [inbound] = read(&chatty, &text).unwrap().try_into().unwrap();
    let done = Reaction::Answered { verb: Verb::Ack, until: None, edit: None, language: Lang::De };
    quiet.react(&inbound, &done).await.unwrap();
    let said = Reaction::Say { text: "✓ Erledigt".into(), choices: Vec::new(), is_taken: true };
    quiet.react(&inbound, &said).await.unwrap();
    chatty.react(&inbound, &Reaction::Nothing).await.unwrap();
    assert!(platform.take().is_empty());
    chatty.react(&inbound, &done).await.unwrap();
    let expect = json!({
        "messaging_product": "whatsapp", "recipient_type": "individual", "to": "+4915112345678", "type": "text",
        "context": {"message_id": "wamid.1"}, "text": {"preview_url": false, "body": "✓ Erledigt"},
    });
    assert_eq!(platform.take()[0].json(), expect);
    quiet.react(&inbound, &Reaction::NotYours { language: Lang::De }).await.unwrap();
    assert_eq!(platform.take().len(), 1, "a no is always told");
    let pressed = Pressed::new(Verb::Ack, sample::message("").occurrence);
    for (n, kind) in [(3, "button"), (4, "list")] {
        let choices = vec![Choice { label: "a label that is longer than a button".into(), pressed }; n];
        quiet.react(&inbound, &Reaction::Say { text: "Which?".into(), choices, is_taken: false }).await.unwrap();
        let body = platform.take()[0].json();
        assert_eq!(body["interactive"]["type"], kind, "{body}");
    }
}

#[test]
fn every_published_notification_is_read_without_an_error() {
    let mut n_read = 0;
    for file in ["whatsapp/examples.inbound_webhooks.json", "whatsapp/examples.inbound_webhooks.pywa.json"] {
        let Some(examples) = published(file) else { continue };
        let mut all = vec![&examples];
        while let Some(value) = all.pop() {
            if value["object"] != "whatsapp_business_account" {
                all.extend(value.as_object().into_iter().flat_map(|map| map.values()));
                continue;
            }
            let number = value["entry"][0]["changes"][0]["value"]["metadata"]["phone_number_id"].as_str().unwrap_or("");
            n_read += receive::read(value, number).len();
            assert!(read(&whatsapp(), value).is_ok());
        }
    }
    if n_read > 0 {
        assert!(n_read >= 5, "{n_read}");
        report::ran(&format!("{n_read} answers in the notifications that Meta and pywa publish"));
    }
}

#[test]
fn the_way_is_set() {
    let way = |pairs: &[(&str, &str)]| {
        let mut all = vec![("token", "t"), ("phone_number_id", "1")];
        all.extend(pairs);
        Whatsapp::new(&mut fields(&all), &sample::server()).map(|whatsapp| whatsapp.receives().map(Receive::way))
    };
    assert_eq!(way(&[]), Ok(None));
    assert_eq!(way(&[("app_secret", "s")]), Ok(Some(Way::Webhook)));
    assert_eq!(way(&[("app_secret", "s"), ("receive", "off")]), Ok(None));
    for receive in ["connection", "webhook", "maybe"] {
        assert_eq!(way(&[("receive", receive)]).unwrap_err().field, "receive");
    }
}
