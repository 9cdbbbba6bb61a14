//! The channel against a local server and Telegram's own specification.

use super::*;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::{Platform, class, close, fields};
use punctual_core::phrase::Lang;

const TOKEN: &str = "123456789:AAE-s3cret_token";
const CHAT: &str = "123456789";

fn telegram_with(more: &[(&str, &str)], base: &str) -> Telegram {
    let mut pairs = vec![("token", TOKEN), ("api_url", base)];
    pairs.extend(more);
    Telegram::new(&mut fields(&pairs), &sample::server()).unwrap()
}

async fn start() -> (Platform, Telegram) {
    let (platform, base) = Platform::start().await;
    platform.usually(taken(5, 42));
    (platform, telegram_with(&[], &base))
}

fn taken(chat: i64, id: i64) -> Value {
    json!({"ok": true, "result": {"message_id": id, "date": 1, "chat": {"id": chat, "type": "private"}}})
}

fn error(code: u16, description: &str) -> Value {
    json!({"ok": false, "error_code": code, "description": description})
}

fn facts() -> Facts {
    Facts::of("telegram", close)
}

#[track_caller]
fn check_body(body: &Value) {
    let text = body["text"].as_str().unwrap();
    assert!((1..=TEXT_UNITS_MAX).contains(&markup::units(text)), "{}", markup::units(text));
    for row in body["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten() {
        for button in row.as_array().unwrap() {
            assert!((1..=64).contains(&button["callback_data"].as_str().unwrap().len()));
        }
    }
    facts().check("sendMessage", body);
}

#[track_caller]
fn check_answer(body: &Value) {
    facts().check("failed", body);
}

#[tokio::test]
async fn every_request_is_what_telegram_publishes() {
    let (platform, telegram) = start().await;
    for address in [CHAT, "-100123456789", "-100123456789/7", "@my_channel"] {
        for message in sample::shapes(address, "&💊 <b>@everyone</b> ") {
            platform.then(200, taken(5, 42));
            assert_eq!(telegram.send(&message).await, Ok(Receipt::of("5/42")));
            let [request] = platform.take().try_into().unwrap();
            assert_eq!(request.uri, "/bot123456789:AAE-s3cret_token/sendMessage");
            check_body(&request.json());
        }
    }
}

#[tokio::test]
async fn a_request_in_full() {
    let (platform, telegram) = start().await;
    let mut message = sample::message("-100123456789/7");
    message.text = "<b>@alice & co</b>".into();
    sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Taken & gone?")));
    telegram.send(&message).await.unwrap();
    let id = message.occurrence;
    let button = |label: &str, verb: &str| json!([{"text": label, "callback_data": format!("punctual:{verb}:{id}")}]);
    assert_eq!(
        platform.take()[0].json(),
        json!({
            "chat_id": -100_123_456_789_i64,
            "message_thread_id": 7,
            "text": "⏰ <b>Reminder:</b> &lt;b&gt;@\u{2060}alice &amp; co&lt;/b&gt;\nTaken &amp; gone?",
            "parse_mode": "HTML",
            "link_preview_options": {"is_disabled": true},
            "reply_markup": {"inline_keyboard": [
                button("Done", "ack"), button("In 10 minutes", "snooze"), button("Not needed", "dismiss")]},
        })
    );
    message.to.address = "@my_channel".into();
    sample::change(&mut message, |reminder| reminder.snooze_allowed = false);
    telegram.send(&message).await.unwrap();
    let body = platform.take()[0].json();
    assert_eq!(body["chat_id"], "@my_channel");
    assert_eq!(
        body["reply_markup"]["inline_keyboard"],
        json!([button("Done", "ack"), button("Not needed", "dismiss")])
    );
    sample::change(&mut message, |reminder| reminder.ack = None);
    message.language = Lang::SrCyrl;
    message.text = "лек".into();
    telegram.send(&message).await.unwrap();
    let body = platform.take()[0].json();
    assert_eq!((body["text"].as_str(), body.get("reply_markup")), (Some("⏰ <b>Подсетник:</b> лек"), None));
}

#[tokio::test]
async fn a_length_at_the_limit_is_left_alone_and_one_more_is_cut_visibly() {
    let (platform, telegram) = start().await;
    // Telegram counts the characters that are seen: an escaped & is one, an emoji two.
    let frame = markup::units("⏰ <b>Reminder:</b> ");
    for (text, is_cut) in [
        ("&".repeat(4096 - frame), false),
        ("&".repeat(4096 - frame + 1), true),
        (format!("{}{}", "😀".repeat((4096 - frame) / 2), "x".repeat((4096 - frame) % 2)), false),
        (format!("{}x{}", "😀".repeat((4096 - frame) / 2), "x".repeat((4096 - frame) % 2)), true),
    ] {
        let mut message = sample::message(CHAT);
        message.text = text;
        telegram.send(&message).await.unwrap();
        let body = platform.take()[0].json();
        let text = body["text"].as_str().unwrap();
        assert_eq!(text.contains(" characters)"), is_cut);
        assert!((4060..=4096).contains(&markup::units(text)), "{}", markup::units(text));
        check_body(&body);
    }
}

#[tokio::test]
async fn a_group_that_moved_is_followed_and_remembered() {
    let (platform, telegram) = start().await;
    let mut moved = error(400, "Bad Request: group chat was upgraded to a supergroup chat");
    moved["parameters"] = json!({"migrate_to_chat_id": -100_777});
    check_answer(&moved);
    platform.then(400, moved.clone()).then(200, taken(-100_777, 9));
    let message = sample::message("-5555");
    assert_eq!(telegram.send(&message).await, Ok(Receipt::of("-100777/9")), "the receipt tells where it is now");
    platform.then(200, taken(-100_777, 10));
    assert_eq!(telegram.send(&message).await, Ok(Receipt::of("-100777/10")));
    let chats: Vec<_> = platform.take().iter().map(|request| request.json()["chat_id"].as_i64().unwrap()).collect();
    assert_eq!(chats, [-5555, -100_777, -100_777]);
    platform.then(400, moved.clone()).then(400, moved);
    assert_eq!(class(&telegram.send(&message).await), "unavailable", "it does not go round in circles");
    assert_eq!(platform.take().len(), 2);
}

#[tokio::test]
async fn every_documented_error_has_its_meaning() {
    let (platform, telegram) = start().await;
    let rows: &[(u16, &str, &str)] = &[
        (403, "Forbidden: bot was blocked by the user", "gone"),
        (403, "Forbidden: user is deactivated", "gone"),
        (403, "Forbidden: bot was kicked from the group chat", "gone"),
        (403, "Forbidden: bot was kicked from the supergroup chat", "gone"),
        (403, "Forbidden: bot was kicked from the channel chat", "gone"),
        (403, "Forbidden: the group chat was deleted", "gone"),
        (400, "Bad Request: chat not found", "refused"),
        (400, "Bad Request: group chat was deactivated", "gone"),
        (403, "Forbidden: bot can't initiate conversation with a user", "refused"),
        (403, "Forbidden: bot can't send messages to bots", "refused"),
        (403, "Forbidden: bot is not a member of the channel chat", "refused"),
        (400, "Bad Request: not enough rights to send text messages to the chat", "refused"),
        (400, "Bad Request: message is too long", "refused"),
        (400, "Bad Request: message text is empty", "refused"),
        (400, "Bad Request: message thread not found", "refused"),
        (400, "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 0", "refused"),
        (413, "Request Entity Too Large", "refused"),
        (401, "Unauthorized", "unavailable"),
        (404, "Not Found", "unavailable"),
        (500, "Internal Server Error", "unavailable"),
        (502, "Bad Gateway", "unavailable"),
    ];
    for (code, description, expect) in rows {
        let body = error(*code, description);
        check_answer(&body);
        platform.then(*code, body);
        let sent = telegram.send(&sample::message(CHAT)).await;
        assert_eq!(class(&sent), *expect, "{description}: {sent:?}");
    }
    let slow = |seconds: Value| {
        let mut body = error(429, "Too Many Requests: retry after 35");
        body["parameters"] = json!({"retry_after": seconds});
        body
    };
    check_answer(&slow(35.into()));
    for (body, expect) in [
        (slow(35.into()), "throttled 35s, address"),
        (slow(0.into()), "throttled 1s, address"),
        (slow(1_000_000.into()), "throttled 86400s, address"),
        (slow("x".into()), "throttled 5s, address"),
        (Value::Null, "throttled 5s, address"),
    ] {
        platform.then(429, body);
        assert_eq!(class(&telegram.send(&sample::message(CHAT)).await), expect);
    }
    platform.then(502, json!("<html>"));
    assert_eq!(class(&telegram.send(&sample::message(CHAT)).await), "unavailable");
    for body in [json!("<html>a portal</html>"), json!({}), Value::Null] {
        platform.then(200, body);
        assert_eq!(class(&telegram.send(&sample::message(CHAT)).await), "unknown");
    }
    platform.then(200, json!({"ok": true}));
    assert_eq!(telegram.send(&sample::message(CHAT)).await, Ok(Receipt::default()), "taken is taken");
    platform.then(401, error(401, "Unauthorized"));
    let Err(SendError::Unavailable(said)) = telegram.send(&sample::message(CHAT)).await else { panic!() };
    assert_eq!(said, "the token is not accepted; check the channel's token: Telegram answered 401: Unauthorized");
}

#[tokio::test]
async fn when_many_chats_are_throttled_all_wait() {
    let (platform, telegram) = start().await;
    let mut slow = error(429, "Too Many Requests: retry after 3");
    slow["parameters"] = json!({"retry_after": 3});
    for chat in 1..=9 {
        platform.then(429, slow.clone());
        assert_eq!(class(&telegram.send(&sample::message(&chat.to_string())).await), "throttled 3s, address");
    }
    platform.then(429, slow);
    assert_eq!(class(&telegram.send(&sample::message("10")).await), "throttled 3s, receiver");
}

#[tokio::test]
async fn topics_of_one_group_wait_together() {
    let (platform, telegram) = start().await;
    for topic in 1..=12 {
        platform.then(429, error(429, "Too Many Requests: retry after 5"));
        let sent = telegram.send(&sample::message(&format!("-100123456789/{topic}"))).await;
        assert_eq!(class(&sent), "throttled 5s, address");
    }
}

#[test]
fn a_chat_has_one_limit_and_a_group_a_smaller_one() {
    let telegram = telegram_with(&[], "https://api.telegram.org");
    let bucket = |name: &str, rate| Bucket { name: name.into(), rate: Some(rate) };
    let (person, group) = (Rate::per_second(1), Rate::per_minute(20));
    for (address, expect) in [
        (CHAT, bucket(CHAT, person)),
        ("-100123456789", bucket("-100123456789", group)),
        ("-100123456789/7", bucket("-100123456789", group)),
        ("-100123456789/8", bucket("-100123456789", group)),
        ("@My_Channel", bucket("@my_channel", group)),
        ("@my_channel", bucket("@my_channel", group)),
        ("nonsense", bucket("invalid", person)),
    ] {
        assert_eq!(telegram.bucket(address), expect, "{address}");
    }
    for (text, rate) in [("2/s", Some(Rate::per_second(2))), ("none", None)] {
        let telegram = telegram_with(&[("address_rate", text)], "https://api.telegram.org");
        for address in [CHAT, "-100123456789", "@my_channel"] {
            assert_eq!(telegram.bucket(address).rate, rate, "{address}");
        }
    }
}

#[tokio::test]
async fn the_token_is_never_shown() {
    let (platform, telegram) = start().await;
    assert!(!format!("{telegram:?}").contains("s3cret"));
    for status in [400, 401, 403, 404, 500] {
        platform.then(status, error(status, &format!("no such path /bot{TOKEN}/sendMessage")));
        let sent = telegram.send(&sample::message(CHAT)).await;
        assert!(sent.is_err() && !format!("{sent:?}").contains("s3cret"), "{sent:?}");
        platform.then(status, json!(format!("/bot{TOKEN}/sendMessage")));
        let sent = telegram.send(&sample::message(CHAT)).await;
        assert!(sent.is_err() && !format!("{sent:?}").contains("s3cret"), "{sent:?}");
    }
    let sent = telegram_with(&[], "http://127.0.0.1:1").send(&sample::message(CHAT)).await;
    assert_eq!(class(&sent), "unavailable");
    assert!(!format!("{sent:?}").contains("s3cret"), "{sent:?}");
    for wrong in ["s3cret", "123:s3cret/../..", "bot123:s3cret_token", ":s3cret_token", "123:s3cr"] {
        let error = Telegram::new(&mut fields(&[("token", wrong)]), &sample::server()).unwrap_err().to_string();
        assert_eq!(error, "token: is no bot's token; @BotFather gives one such as 123456789:AAE…");
    }
}

#[test]
fn settings_are_read_and_wrong_ones_are_named() {
    let telegram = telegram_with(&[("address_rate", "20/min")], "http://localhost:8081/");
    assert_eq!(telegram.api_url, "http://localhost:8081");
    let expect = Limits { concurrency: 64, rate: Some(Rate::per_second(30)), address_rate: Some(Rate::per_minute(20)) };
    assert_eq!(telegram.limits(), expect);
    let told =
        (telegram.kind(), telegram.receiver(CHAT), telegram.digest_max().is_some(), telegram.check_address(CHAT));
    assert_eq!(told, ("telegram", "telegram".to_owned(), true, Ok(())));
    assert!(telegram.check_address("alice").is_err());
    let error = crate::setup::make("telegram", fields(&[]), &Server::new(sample::clock())).err().unwrap();
    let expect = "token: is missing; write the bot's token, which @BotFather gives, or token_file and a path";
    assert_eq!(error.to_string(), expect);
}

#[test]
fn the_facts_are_what_telegram_publishes() {
    let facts = facts();
    facts.check("taken", &taken(5, 42));
    assert_eq!((facts.number("text_units"), facts.number("callback_bytes")), (TEXT_UNITS_MAX, 64));
    facts.agree();
}

#[test]
fn the_check_itself_would_notice() {
    let facts = facts();
    assert!(facts.takes("sendMessage", &json!({"chat_id": 1, "text": "x"})));
    for wrong in [
        json!({"chat_id": 1}),
        json!({"chat_id": 1.5, "text": "x"}),
        json!({"chat_id": 1, "text": "x", "disable_web_page_preview": true}),
        json!({"chat_id": 1, "text": "x", "reply_markup": {"inline_keyboard": [[{"callback_data": "no text"}]]}}),
    ] {
        assert!(!facts.takes("sendMessage", &wrong), "{wrong}");
    }
}
