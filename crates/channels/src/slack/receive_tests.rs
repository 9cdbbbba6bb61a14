//! Answers from Slack: over a socket and by its requests, against a Slack on the loopback.

use jiff::Timestamp;
use punctual_core::answer::Pressed;
use punctual_core::channel::receive::{
    Call, Choice, Edit, End, Ended, Inbound, NotRead, NotTaken, Reaction, Sender, Shows, What,
};
use punctual_core::phrase::Lang;
use punctual_testkit::platforms::signed;
use punctual_testkit::platforms::slack::{Person, Pressed as Became, Shown, Slack as Platform};
use punctual_testkit::wait::{until, until_some};

use super::*;
use crate::common::buttons::data;
use crate::sample;
use crate::spec::inlet::FakeInlet;
use crate::spec::{fields, published};

const ANA: Person = Person { id: "U0123456789", name: "ana" };
const CHANNEL: &str = "C0123456789";
const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn slack_at(url: &str) -> Slack {
    let pairs = [("token", "xoxb-s3cret"), ("app_token", "xapp-s3cret"), ("signing_secret", SECRET), ("api_url", url)];
    Slack::new(&mut fields(&pairs), &sample::server()).unwrap()
}

fn start() -> (Platform, Slack, FakeInlet) {
    let platform = Platform::start();
    let slack = slack_at(&platform.url());
    (platform, slack, FakeInlet::default())
}

async fn asked(platform: &Platform, slack: &Slack, to: &str) -> (Shown, Message) {
    let mut message = sample::message(to);
    sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
    let id = slack.send(&message).await.unwrap().message_id.unwrap();
    let (channel, ts) = id.split_once('/').unwrap();
    (platform.message(channel, ts), message)
}

fn answered() -> Result<Reaction, NotTaken> {
    Ok(Reaction::Answered { verb: Verb::Ack, until: None, edit: None, language: Lang::En })
}

fn no() -> Result<Reaction, NotTaken> {
    Ok(Reaction::NotYours { language: Lang::En })
}

/// Runs `test` while the channel keeps its connection.
async fn connected(slack: &Slack, inlet: &FakeInlet, test: impl Future<Output = ()>) {
    tokio::select! {
        ended = slack.connect(None, inlet) => panic!("{ended:?}"),
        () = test => {}
    }
}

#[tokio::test]
async fn a_press_is_handed_over_and_then_acknowledged() {
    let (platform, slack, inlet) = start();
    let (shown, message) = asked(&platform, &slack, CHANNEL).await;
    inlet.then(answered()).then(no());
    connected(&slack, &inlet, async {
        inlet.wait_connected().await;
        let press = platform.press(&shown, "Done", ANA);
        until("the press is acknowledged", async || platform.pressed(&press) == Became::Acked).await;
        let [inbound] = inlet.take_all().try_into().unwrap();
        let pressed = Pressed::new(Verb::Ack, message.occurrence);
        assert_eq!(inbound.what, What::Press { pressed, message_id: Some(format!("{CHANNEL}/{}", shown.ts)) });
        let from = Sender {
            person: vec![ANA.id.into(), format!("{CHANNEL}@{}", ANA.id), format!("#general@{}", ANA.id)],
            chat: vec![CHANNEL.into(), "#general".into()],
            is_group: true,
            name: "ana".into(),
        };
        assert_eq!(inbound.from, Some(from));
        assert_eq!(inbound.id.unwrap().id, format!("press {press}"));
        assert!(platform.told(&press).is_empty(), "the message itself shows it");
        let press = platform.press(&shown, "Done", ANA);
        let told = until_some("the person is told", async || platform.told(&press).pop()).await;
        assert_eq!(
            told,
            json!({"response_type": "ephemeral", "replace_original": false, "text": "This reminder is for somebody else."})
        );
    })
    .await;
}

#[tokio::test]
async fn a_press_that_was_not_taken_is_not_acknowledged() {
    let (platform, slack, inlet) = start();
    let (shown, _) = asked(&platform, &slack, CHANNEL).await;
    inlet.then(Err(NotTaken::Unavailable)).then(Err(NotTaken::LeaseLost));
    let test = async {
        inlet.wait_connected().await;
        let press = platform.press(&shown, "Done", ANA);
        inlet.wait_for(1).await;
        platform.press(&shown, "Done", ANA);
        press
    };
    let (ended, press) = tokio::join!(slack.connect(None, &inlet), test);
    assert_eq!(ended, Ended::Replaced);
    until("the socket is closed", async || platform.links().0 == 0).await;
    assert_eq!(platform.pressed(&press), Became::Failed);
}

#[tokio::test]
async fn an_event_comes_again_until_it_is_acknowledged_and_words_are_answered_below() {
    let (platform, slack, inlet) = start();
    let (shown, message) = asked(&platform, &slack, ANA.id).await;
    assert!(shown.channel.starts_with('D'));
    platform.write(&shown.channel, ANA, "popio &amp; sam", Some(&shown));
    inlet.then(Err(NotTaken::LeaseLost));
    assert_eq!(slack.connect(None, &inlet).await, Ended::Replaced);
    let first = inlet.take_all();
    let pressed = Pressed::new(Verb::Ack, message.occurrence);
    let choices = vec![Choice { label: "first".into(), pressed }, Choice { label: "second".into(), pressed }];
    inlet.then(Ok(Reaction::Say { text: "Which <one>?".into(), choices, is_taken: false }));
    connected(&slack, &inlet, async {
        assert_eq!(inlet.wait_for(1).await, first, "the same event");
        let reply_to = Some(format!("{}/{}", shown.channel, shown.ts));
        assert_eq!(first[0].what, What::Words { text: "popio & sam".into(), reply_to, about: None });
        let from = first[0].from.as_ref().unwrap();
        assert!(!from.is_group && first[0].at.is_some());
        assert_eq!(from.person, [ANA.id, &shown.channel], "their own messages are an address of theirs");
        until("it is acknowledged", async || platform.unconfirmed() == 0).await;
        let said = until_some("the bot has said something", async || platform.messages(&shown.channel).pop()).await;
        let said = if said.ts == shown.ts {
            until_some("the bot has said more", async || platform.messages(&shown.channel).into_iter().nth(1)).await
        } else {
            said
        };
        assert_eq!(said.text, "Which &lt;one&gt;?");
        let value = data(Pressed::new(Verb::Ack, message.occurrence));
        assert_eq!(said.buttons, [("first".into(), value.clone()), ("second".into(), value)]);
    })
    .await;
    let posted = platform.take_asked().into_iter().rfind(|asked| asked.call.ends_with("chat.postMessage")).unwrap();
    assert_eq!(posted.body["thread_ts"], shown.ts);
    super::tests::facts().check("postMessage", &posted.body);
}

#[tokio::test]
async fn a_channels_words_are_heard_where_the_bot_is_called() {
    let (platform, slack, inlet) = start();
    connected(&slack, &inlet, async {
        platform.write(CHANNEL, ANA, "<@U0BOT00000> gotovo", None);
        let [inbound] = inlet.wait_for(1).await.try_into().unwrap();
        assert_eq!(inbound.what, What::Words { text: "gotovo".into(), reply_to: None, about: None });
    })
    .await;
    let event = |event: Value| json!({"type": "event_callback", "event_id": "Ev1", "event": event});
    for other in [
        json!({"type": "message", "channel_type": "channel", "user": "U1", "text": "x", "channel": "C1", "ts": "1.1"}),
        json!({"type": "message", "channel_type": "im", "user": "U1", "bot_id": "B1", "text": "x", "channel": "D1"}),
        json!({"type": "message", "channel_type": "im", "subtype": "message_changed", "channel": "D1"}),
        json!({"type": "reaction_added", "user": "U1"}),
        json!({"type": "app_mention", "user": "U1", "text": " <@UBOT> ", "channel": "C1", "ts": "1.1"}),
    ] {
        assert_eq!(receive::words(&event(other.clone())), Ok(None), "{other}");
    }
}

#[tokio::test]
async fn the_next_socket_is_open_before_the_old_one_closes() {
    let (platform, slack, inlet) = start();
    let (shown, _) = asked(&platform, &slack, CHANNEL).await;
    connected(&slack, &inlet, async {
        inlet.wait_connected().await;
        platform.disconnect("refresh_requested");
        until("the next is open", async || platform.links() == (2, 2)).await;
        platform.close_oldest();
        until("the old one is closed", async || platform.links() == (1, 2)).await;
        inlet.then(answered());
        let press = platform.press(&shown, "Done", ANA);
        until("a press on the new one is taken", async || platform.pressed(&press) == Became::Acked).await;
        // A warning without the end, twice.
        platform.disconnect("warning");
        platform.disconnect("warning");
        until("one more is open", async || platform.links() == (2, 3)).await;
    })
    .await;
}

#[tokio::test]
async fn what_ends_a_connection_is_named_by_what_to_do_next() {
    let (platform, slack, inlet) = start();
    for (error, expect) in [
        ("invalid_auth", "Refused"),
        ("not_allowed_token_type", "Refused"),
        ("missing_scope", "Refused"),
        ("internal_error", "Broken"),
        ("ratelimited", "Wait"),
    ] {
        platform.fail_next("apps.connections.open", json!({"ok": false, "error": error}));
        let ended = format!("{:?}", slack.connect(None, &inlet).await);
        assert!(ended.starts_with(expect) && !ended.contains("s3cret"), "{error}: {ended}");
    }
    for url in ["http://127.0.0.1:1/s3cret", "ws://127.0.0.1:1/s3cret", "ws://[s3cret"] {
        platform.fail_next("apps.connections.open", json!({"ok": true, "url": url}));
        let ended = format!("{:?}", slack.connect(None, &inlet).await);
        assert!(ended.starts_with("Broken") && !ended.contains("s3cret"), "{url}: {ended}");
    }
    for (reason, expect) in [("link_disabled", "Refused"), ("too_many_websockets", "Wait(30s)")] {
        let inlet = FakeInlet::default();
        let test = async {
            inlet.wait_connected().await;
            platform.disconnect(reason);
        };
        let (ended, ()) = tokio::join!(slack.connect(None, &inlet), test);
        assert!(format!("{ended:?}").starts_with(expect), "{reason}: {ended:?}");
        until("the socket is closed", async || platform.links().0 == 0).await;
    }
    let inlet = FakeInlet::default();
    let closed = async {
        inlet.wait_connected().await;
        platform.close_oldest();
    };
    let (ended, ()) = tokio::join!(slack.connect(None, &inlet), closed);
    assert_eq!(ended, Ended::Broken("Slack closed the connection".into()));
}

fn read(slack: &Slack, request: &signed::Signed, now: i64) -> Result<Vec<Inbound>, NotRead> {
    let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let call = Call { is_get: false, path_and_query: "/v1/inbound/slack", headers: &headers, body: &request.body };
    slack.read(&call, Timestamp::from_second(now).unwrap())
}

#[tokio::test]
async fn a_signed_request_is_read_and_no_other() {
    let (platform, slack, _) = start();
    let (shown, message) = asked(&platform, &slack, CHANNEL).await;
    let payload = platform.payload(&shown, "Not needed", ANA);
    let request = signed::slack_press(SECRET, 1_000_000, &payload);
    let [inbound] = read(&slack, &request, 1_000_300).unwrap().try_into().unwrap();
    let pressed = Pressed::new(Verb::Dismiss, message.occurrence);
    assert_eq!(inbound.what, What::Press { pressed, message_id: Some(format!("{CHANNEL}/{}", shown.ts)) });
    slack.react(&inbound, &no().unwrap()).await.unwrap();
    assert_eq!(platform.told(payload["trigger_id"].as_str().unwrap()).len(), 1);

    assert_eq!(read(&slack, &request, 1_000_301), Err(NotRead::Stale));
    assert_eq!(read(&slack, &signed::slack_press("another", 1_000_000, &payload), 1_000_000), Err(NotRead::Forged));
    let mut tampered = request.clone();
    tampered.body.push(b' ');
    assert_eq!(read(&slack, &tampered, 1_000_000), Err(NotRead::Forged));
    let event = json!({"type": "url_verification", "challenge": "3eZbrw1aB"});
    let Err(NotRead::Answer(reply)) = read(&slack, &signed::slack_event(SECRET, 7, &event), 7) else { panic!() };
    assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"challenge":"3eZbrw1aB"}"#));
    let event = json!({"type": "event_callback", "event_id": "Ev1", "event": {
        "type": "message", "channel_type": "im", "user": "U1", "text": "done", "channel": "D1", "ts": "1.1"}});
    assert_eq!(read(&slack, &signed::slack_event(SECRET, 7, &event), 7).unwrap().len(), 1);
    let malformed = read(&slack, &signed::slack(SECRET, 7, "{", "application/json"), 7);
    assert!(matches!(malformed, Err(NotRead::Malformed(_))), "{malformed:?}");
    let command = signed::slack(SECRET, 7, "command=%2Fx&text=y", "application/x-www-form-urlencoded");
    assert_eq!(read(&slack, &command, 7), Ok(Vec::new()));
}

#[test]
fn the_published_examples_are_read() {
    for file in ["slack/sample.block_actions.json", "slack/sample.BlockActionPayload.masked.json"] {
        let Some(payload) = published(file) else { continue };
        assert_eq!(receive::press(&payload, "https://slack.com/api"), Ok(None), "{file}: none of our buttons");
    }
    let Some(mut payload) = published("slack/sample.block_actions.json") else { return };
    payload["actions"][0]["value"] = data(Pressed::new(Verb::Ack, sample::message("").occurrence)).into();
    let inbound = receive::press(&payload, "https://slack.com/api").unwrap().unwrap();
    assert_eq!(inbound.from.unwrap().person[0], "W111");
    assert_eq!(inbound.handle.0, r#"{"Response":"https://hooks.slack.com/actions/T111/111/random-value"}"#);
    payload["response_url"] = "https://evil.example/actions/T111/111/random-value".into();
    let inbound = receive::press(&payload, "https://slack.com/api").unwrap().unwrap();
    assert_eq!(inbound.handle.0, "", "only Slack is told anything");
}

#[tokio::test]
async fn an_answered_message_shows_it_and_has_no_buttons() {
    let (platform, slack, _) = start();
    let (shown, mut message) = asked(&platform, &slack, &format!("{CHANNEL}@{}", ANA.id)).await;
    message.text = "<!channel> *x*".into();
    let edit = Edit {
        message,
        message_id: format!("{CHANNEL}/{}", shown.ts),
        shows: Shows { end: End::Done, by: Some("<!here> Ana".into()) },
    };
    platform.take_asked();
    slack.edits().unwrap().edit(&edit).await.unwrap();
    let now = platform.message(CHANNEL, &shown.ts);
    assert_eq!(now.text, "⏰ Reminder: &lt;!channel&gt; *x*\n✓ Done by &lt;!here&gt; Ana");
    assert_eq!((now.buttons.len(), now.n_edits), (0, 1));
    let [asked] = platform.take_asked().try_into().unwrap();
    assert_eq!(asked.call, "POST /chat.update");
    super::tests::facts().check("update", &asked.body);
    let gone = Edit { message_id: format!("{CHANNEL}/1.1"), ..edit.clone() };
    assert_eq!(slack.edits().unwrap().edit(&gone).await, Ok(()), "a deleted message is no error");
    platform.fail_next("chat.update", json!({"ok": false, "error": "invalid_auth"}));
    assert!(matches!(slack.edits().unwrap().edit(&edit).await, Err(SendError::Unavailable(_))));
}

#[test]
fn the_way_follows_from_the_secrets() {
    let way = |pairs: &[(&str, &str)]| {
        Slack::new(&mut fields(pairs), &sample::server()).map(|slack| slack.receives().map(Receive::way))
    };
    assert_eq!(way(&[("token", "xoxb")]), Ok(None));
    assert_eq!(way(&[("app_token", "xapp"), ("signing_secret", "s")]), Ok(Some(Way::Connection)));
    assert_eq!(way(&[("signing_secret", "s")]), Ok(Some(Way::Webhook)));
    assert_eq!(way(&[("app_token", "xapp"), ("receive", "off")]), Ok(None));
    for (receive, needed) in [("connection", "app_token"), ("webhook", "signing_secret")] {
        let wrong = way(&[("receive", receive)]).unwrap_err();
        assert!(wrong.field == "receive" && wrong.problem.contains(needed), "{wrong}");
    }
}
