//! Answers from Telegram: by polling and by its webhook, against a Telegram on the loopback.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::answer::{Pressed, Verb};
use punctual_core::channel::receive::{
    Call, Choice, Edit, End, Ended, EventId, Inbound, NotRead, NotTaken, Place, Reaction, Reply, Sender, Shows, What,
};
use punctual_core::phrase::Lang;
use punctual_testkit::platforms::signed;
use punctual_testkit::platforms::telegram::{Person, Shown, Telegram as Platform};
use punctual_testkit::wait::{until, until_some};

use super::*;
use crate::common::buttons::data;
use crate::common::links::Links;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::inlet::FakeInlet;
use crate::spec::{close, fields};

const TOKEN: &str = "123456789:AAE-s3cret_token";
const ANA: Person = Person { id: 5, name: "Ana" };
const GROUP: i64 = -100_777;

fn telegram_at(url: &str, more: &[(&str, &str)]) -> Telegram {
    let mut pairs = vec![("token", TOKEN), ("api_url", url), ("poll_timeout", "1s")];
    pairs.extend(more);
    let links = Links::new("https://p.example", b"secret");
    let server = server_of(&links);
    Telegram::new(&mut fields(&pairs), &server).unwrap()
}

fn server_of(links: &Links) -> Server {
    Server { door: Some(links.door("telegram")), links: Some(links.clone()), ..Server::new(sample::clock()) }
}

fn start() -> (Platform, Telegram) {
    let server = Platform::start(TOKEN);
    let telegram = telegram_at(&server.url(), &[]);
    (server, telegram)
}

/// A message that asks for an answer, as the server shows it, and the message itself.
async fn asked(server: &Platform, telegram: &Telegram, chat: i64) -> (Shown, Message) {
    let mut message = sample::message(&chat.to_string());
    sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
    telegram.send(&message).await.unwrap();
    (server.messages(chat).pop().unwrap(), message)
}

fn answered(verb: Verb) -> Result<Reaction, NotTaken> {
    Ok(Reaction::Answered { verb, until: None, edit: None, language: Lang::En })
}

fn facts() -> Facts {
    Facts::of("telegram", close)
}

/// Every request that is not a message is what Telegram publishes.
#[track_caller]
fn check_asked(server: &Platform) {
    for asked in server.take_asked() {
        facts().check(&asked.call, &asked.body);
    }
}

#[tokio::test]
async fn a_press_is_handed_over_answered_and_confirmed() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    inlet.then(answered(Verb::Ack));
    let (shown, message) = asked(&server, &telegram, ANA.id).await;
    let test = async {
        inlet.wait_connected().await;
        let query = server.press(&shown, "Done", ANA);
        let notice = until_some("the press is answered", async || server.answered(&query)).await;
        assert_eq!((&notice["text"], &notice["show_alert"]), (&json!("✓ Done"), &json!(false)));
        until("the update is confirmed", async || server.unconfirmed() == 0).await;
        assert_eq!(
            inlet.take_all(),
            [Inbound {
                what: What::Press {
                    pressed: Pressed::new(Verb::Ack, message.occurrence),
                    message_id: Some(format!("5/{}", shown.id)),
                },
                from: Some(Sender {
                    person: vec!["5".into()],
                    chat: vec!["5".into()],
                    is_group: false,
                    name: "Ana".into()
                }),
                id: Some(EventId { id: format!("query {query}"), remember_for: Duration::from_secs(25 * 3600) }),
                place: Some("2".into()),
                at: None,
                handle: punctual_core::channel::receive::Handle(format!(r#"{{"Query":"{query}"}}"#)),
            }]
        );
    };
    tokio::select! {
        ended = telegram.connect(None, &inlet) => panic!("{ended:?}"),
        () = test => {}
    }
    check_asked(&server);
}

#[tokio::test]
async fn words_are_handed_over_with_the_run_that_they_reply_to() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    let (shown, message) = asked(&server, &telegram, GROUP).await;
    let pressed = Pressed::new(Verb::Ack, message.occurrence);
    let choices = vec![Choice { label: "the <first>".into(), pressed }];
    inlet.then(Ok(Reaction::Say { text: "Which & why?".into(), choices, is_taken: false }));
    let test = async {
        server.write(GROUP, ANA, "popio sam", Some(&shown));
        let [inbound] = inlet.wait_for(1).await.try_into().unwrap();
        let expect = What::Words {
            text: "popio sam".into(),
            reply_to: Some(format!("{GROUP}/{}", shown.id)),
            about: Some(message.occurrence),
        };
        assert_eq!(inbound.what, expect);
        assert!(inbound.at.is_some(), "it is known when they were written");
        let from = inbound.from.unwrap();
        assert_eq!((from.person, from.chat, from.is_group), (vec!["5".into()], vec![GROUP.to_string()], true));
        let said = until_some("the bot has said something", async || server.messages(GROUP).into_iter().nth(1)).await;
        assert_eq!(said.text, "Which &amp; why?");
        assert_eq!(said.buttons, [("the <first>".into(), data(Pressed::new(Verb::Ack, message.occurrence)))]);
    };
    tokio::select! {
        ended = telegram.connect(None, &inlet) => panic!("{ended:?}"),
        () = test => {}
    }
    check_asked(&server);
}

#[test]
fn what_people_reply_to_each_other_in_a_group_is_no_word_to_us() {
    let read = |kind: &str, is_bot: bool| {
        let chat = json!({"id": 5, "type": kind});
        let quoted = json!({"message_id": 1, "chat": chat, "from": {"id": 6, "is_bot": is_bot}});
        let from = json!({"id": 5, "is_bot": false, "first_name": "Ana"});
        let message =
            json!({"message_id": 2, "date": 7, "chat": chat, "from": from, "text": "done", "reply_to_message": quoted});
        receive::read(&json!({"update_id": 1, "message": message})).unwrap().map(|inbound| inbound.what)
    };
    let words = |reply_to: Option<&str>| {
        Some(What::Words { text: "done".into(), reply_to: reply_to.map(str::to_owned), about: None })
    };
    assert_eq!(read("supergroup", false), None);
    assert_eq!(read("supergroup", true), words(Some("5/1")));
    assert_eq!(read("private", false), words(None), "there they speak to us, whatever they quote");
}

#[tokio::test]
async fn an_update_that_was_not_taken_comes_again() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    let (shown, _) = asked(&server, &telegram, ANA.id).await;
    server.press(&shown, "Done", ANA);
    server.press(&shown, "Not needed", ANA);
    inlet.then(answered(Verb::Ack)).then(Err(NotTaken::Unavailable));
    assert!(matches!(telegram.connect(None, &inlet).await, Ended::Broken(_)));
    assert_eq!((inlet.take_all().len(), server.unconfirmed()), (2, 2), "neither was confirmed");
    // The first was committed with its place, so it is not asked for again.
    let place = Place { text: "2".into(), at: telegram.clock.now() };
    inlet.then(Err(NotTaken::LeaseLost));
    assert_eq!(telegram.connect(Some(place), &inlet).await, Ended::Replaced);
    let [second] = inlet.take_all().try_into().unwrap();
    assert_eq!((second.place.as_deref(), server.unconfirmed()), (Some("3"), 1));
}

#[tokio::test]
async fn a_place_older_than_six_days_is_not_used() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    let (shown, _) = asked(&server, &telegram, ANA.id).await;
    // After a week without updates their numbers begin anew, here with lower ones.
    server.press(&shown, "Done", ANA);
    let old = Place { text: "900".into(), at: telegram.clock.now() - SignedDuration::from_hours(6 * 24 + 1) };
    inlet.then(Err(NotTaken::LeaseLost));
    assert_eq!(telegram.connect(Some(old), &inlet).await, Ended::Replaced);
    assert_eq!(inlet.take_all().len(), 1);
    let fresh = Place { text: "900".into(), at: telegram.clock.now() - SignedDuration::from_hours(6 * 24 - 1) };
    let test = until("the bot polls", async || server.polls().0 >= 3);
    tokio::select! {
        ended = telegram.connect(Some(fresh), &inlet) => panic!("{ended:?}"),
        () = test => {}
    }
    assert!(inlet.take_all().is_empty(), "a fresh place is where it goes on");
}

#[tokio::test]
async fn the_older_of_two_polls_gives_way_and_in_the_end_leaves_the_bot_to_the_other() {
    let (server, telegram) = start();
    let other = telegram_at(&server.url(), &[]);
    let inlet = FakeInlet::default();
    for n in 1..=10 {
        let (first, second) = (FakeInlet::default(), FakeInlet::default());
        let ended = {
            let connecting = telegram.connect(None, &first);
            let meanwhile = async {
                first.wait_connected().await;
                other.connect(None, &second).await
            };
            tokio::select! {
                ended = connecting => ended,
                ended = meanwhile => panic!("{ended:?}"),
            }
        };
        match ended {
            Ended::Replaced => assert!(n < 10),
            Ended::Refused(said) => {
                assert!(n == 10 && said.contains("another program polls this bot"), "{n}: {said}");
            }
            ended => panic!("{ended:?}"),
        }
    }
    // A poll that lasts shows that the other has gone.
    let n_polls = server.polls().0;
    tokio::select! {
        ended = telegram.connect(None, &inlet) => panic!("{ended:?}"),
        () = until("a poll has lasted", async || server.polls().0 >= n_polls + 3) => {}
    }
    assert_eq!(format!("{:?}", telegram.conflicts), "Conflicts(0)");
}

#[tokio::test]
async fn a_webhook_of_ours_is_removed_and_anothers_is_not() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    server.set_webhook("https://other.example/s3cret/path");
    let Ended::Refused(said) = telegram.connect(None, &inlet).await else { panic!("it took the bot") };
    assert!(said.contains("https://other.example;") && !said.contains("s3cret"), "{said}");
    server.set_webhook("https://p.example/v1/inbound/telegram");
    tokio::select! {
        ended = telegram.connect(None, &inlet) => panic!("{ended:?}"),
        () = inlet.wait_connected() => {}
    }
    assert_eq!(server.webhook(), None);
    check_asked(&server);
}

#[tokio::test]
async fn what_ends_a_connection_is_named_by_what_to_do_next() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    let error = |code: u16, words: &str| json!({"ok": false, "error_code": code, "description": words});
    for (status, body, expect) in [
        (401, error(401, "Unauthorized"), "Refused"),
        (404, error(404, "Not Found"), "Refused"),
        (500, error(500, "Internal Platform Error"), "Broken"),
        (502, json!("bad gateway"), "Broken"),
        (200, json!({"ok": true, "result": true}), "Broken"),
        (200, json!({"ok": true, "result": [{"message": {}}]}), "Broken"),
    ] {
        server.fail_next("getUpdates", status, body);
        let ended = format!("{:?}", telegram.connect(None, &inlet).await);
        assert!(ended.starts_with(expect) && !ended.contains("s3cret"), "{status}: {ended}");
    }
    let mut slow = error(429, "Too Many Requests: retry after 7");
    slow["parameters"] = json!({"retry_after": 7});
    server.fail_next("getUpdates", 429, slow);
    assert_eq!(telegram.connect(None, &inlet).await, Ended::Wait(Duration::from_secs(7)));
    let nowhere = telegram_at("http://127.0.0.1:1", &[]);
    assert!(matches!(nowhere.connect(None, &inlet).await, Ended::Broken(_)));
}

#[tokio::test]
async fn an_update_that_cannot_be_read_is_passed_over() {
    let (server, telegram) = start();
    let inlet = FakeInlet::default();
    let broken = json!({"ok": true, "result": [
        {"update_id": 7, "callback_query": "what"},
        {"update_id": 8, "message": {"message_id": 1, "chat": {"id": 5, "type": "private"}, "photo": []}},
        {"update_id": 9, "edited_message": {}},
        {"update_id": 10, "callback_query": {"id": "q", "from": {"id": 5}, "data": "another:button"}},
        {"update_id": 11, "message": {"message_id": 2, "from": {"id": 9, "is_bot": true}, "text": "beep",
            "chat": {"id": 5, "type": "private"}}},
    ]});
    server.fail_next("getUpdates", 200, broken);
    tokio::select! {
        ended = telegram.connect(None, &inlet) => panic!("{ended:?}"),
        () = until("it goes on", async || server.polls().0 >= 2) => {}
    }
    assert!(inlet.take_all().is_empty());
    let offsets: Vec<_> = server.take_asked().iter().map(|asked| asked.body["offset"].clone()).collect();
    assert_eq!(offsets[1], 12);
}

fn call<'a>(headers: &'a [(&'a str, &'a [u8])], body: &'a [u8]) -> Call<'a> {
    Call { is_get: false, path_and_query: "/v1/inbound/telegram", headers, body }
}

#[tokio::test]
async fn a_webhook_with_the_secret_is_read_and_answered_in_its_reply() {
    let (server, telegram) = start();
    telegram.register().await.unwrap();
    let webhook = server.webhook().unwrap();
    assert_eq!(webhook.url, "https://p.example/v1/inbound/telegram");
    let (shown, message) = asked(&server, &telegram, ANA.id).await;
    server.press(&shown, "In 10 minutes", ANA);
    let request = signed::telegram(&webhook.secret, &server.updates()[0]);
    let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let [inbound] = telegram.read(&call(&headers, &request.body), Timestamp::UNIX_EPOCH).unwrap().try_into().unwrap();
    let pressed = Pressed::new(Verb::Snooze, message.occurrence);
    assert_eq!(inbound.what, What::Press { pressed, message_id: Some(format!("5/{}", shown.id)) });
    assert_eq!(inbound.place, None);
    let reply = telegram.reply(&[(inbound.clone(), Reaction::NotYours { language: Lang::De })]);
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!((reply.status, body["method"].as_str()), (200, Some("answerCallbackQuery")));
    assert_eq!(
        (&body["text"], &body["show_alert"]),
        (&json!("Diese Erinnerung ist für jemand anderen."), &json!(true))
    );
    let mut said = body;
    said.as_object_mut().unwrap().remove("method");
    facts().check("answerCallbackQuery", &said);
    assert_eq!(telegram.reply(&[]), Reply::empty(200));

    let wrong: Vec<(&str, &[u8])> = vec![("x-telegram-bot-api-secret-token", b"guess")];
    for headers in [wrong, Vec::new()] {
        assert_eq!(telegram.read(&call(&headers, &request.body), Timestamp::UNIX_EPOCH), Err(NotRead::Forged));
    }
    let malformed = telegram.read(&call(&headers, b"{"), Timestamp::UNIX_EPOCH);
    assert!(matches!(malformed, Err(NotRead::Malformed(_))), "{malformed:?}");
    check_asked(&server);
}

#[tokio::test]
async fn a_webhook_that_telegram_refuses_is_the_operators_to_mend() {
    let (server, telegram) = start();
    let words = "Bad Request: bad webhook: An HTTPS URL must be provided for webhook";
    server.fail_next("setWebhook", 400, json!({"ok": false, "error_code": 400, "description": words}));
    let Err(Ended::Refused(said)) = telegram.register().await else { panic!("it was taken") };
    assert!(said.contains("An HTTPS URL must be provided"), "{said}");
}

#[tokio::test]
async fn an_answered_message_shows_it_and_has_no_buttons() {
    let (server, telegram) = start();
    let (shown, mut message) = asked(&server, &telegram, GROUP).await;
    message.text = "Take <b>".into();
    let edit = Edit {
        message: message.clone(),
        message_id: format!("{GROUP}/{}", shown.id),
        shows: Shows { end: End::Done, by: Some("<Ana> @everyone".into()) },
    };
    let edits = telegram.edits().unwrap();
    for n in 0..2 {
        assert_eq!(edits.edit(&edit).await, Ok(()), "the second time it shows it already");
        let now = server.message(GROUP, shown.id);
        assert_eq!(now.text, "⏰ <b>Reminder:</b> Take &lt;b&gt;\n✓ Done by &lt;Ana&gt; @\u{2060}everyone");
        assert_eq!((now.buttons.len(), now.n_edits), (0, 1), "{n}");
    }
    check_asked(&server);
    let gone = Edit { message_id: "5/4711".into(), ..edit.clone() };
    assert_eq!(edits.edit(&gone).await, Ok(()), "a deleted message is no error");
    let foreign = Edit { message_id: "what".into(), ..edit.clone() };
    assert!(matches!(edits.edit(&foreign).await, Err(SendError::Refused(_))));
    let slow = json!({"ok": false, "error_code": 429, "description": "slow", "parameters": {"retry_after": 3}});
    server.fail_next("editMessageText", 429, slow);
    let throttled = edits.edit(&edit).await;
    assert!(matches!(throttled, Err(SendError::Throttled { wait, .. }) if wait == Duration::from_secs(3)));
}

#[test]
fn the_way_is_set() {
    let way = |pairs: &[(&str, &str)]| telegram_at("http://127.0.0.1:1", pairs).receives().map(Receive::way);
    assert_eq!(way(&[]), Some(Way::Connection));
    assert_eq!(way(&[("receive", "webhook")]), Some(Way::Webhook));
    assert_eq!(way(&[("receive", "off")]), None);
    for (name, value) in [("receive", "yes"), ("poll_timeout", "51s"), ("poll_timeout", "500ms")] {
        let wrong = Telegram::new(&mut fields(&[("token", TOKEN), (name, value)]), &sample::server()).unwrap_err();
        assert_eq!(wrong.field, name, "{wrong}");
    }
}

/// A rehearsal beside the old bot must not take its updates away.
#[test]
fn a_rehearsal_hears_and_changes_nothing() {
    let shadow = crate::Shadow::before(Arc::new(telegram_at("http://127.0.0.1:1", &[])), |_| {});
    assert!(shadow.receives().is_none() && shadow.edits().is_none());
}
