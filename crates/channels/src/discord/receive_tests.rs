//! Answers from Discord: over the gateway and by its requests, against a Discord on the loopback.

use jiff::SignedDuration;
use punctual_core::answer::Pressed;
use punctual_core::channel::receive::{
    Call, Choice, Edit, End, Ended, Inbound, NotRead, NotTaken, Place as Since, Reaction, Sender, Shows, What,
};
use punctual_core::phrase::Lang;
use punctual_testkit::platforms::discord::{BOT, Discord as Platform, Person, Pressed as Became, Shown};
use punctual_testkit::platforms::signed::{DiscordKey, Signed};
use punctual_testkit::wait::{until, until_some};

use super::*;
use crate::common::buttons::data;
use crate::sample;
use crate::spec::facts::Facts;
use crate::spec::inlet::FakeInlet;
use crate::spec::{close, fields, published};

const TOKEN: &str = "bot-s3cret";
const CHANNEL: u64 = 123_456_789_012_345_678;
const ANA: Person = Person { id: 876_543_210_987_654_321, name: "ana" };

fn key() -> DiscordKey {
    DiscordKey::new([7; 32])
}

fn discord_at(url: &str, gateway_url: &str, more: &[(&str, &str)]) -> Discord {
    let key = key().public_key();
    let mut pairs = vec![("token", TOKEN), ("api_url", url), ("gateway_url", gateway_url), ("public_key", &key)];
    pairs.extend(more);
    Discord::new(&mut fields(&pairs), &sample::server()).unwrap()
}

fn start() -> (Platform, Discord, FakeInlet) {
    let platform = Platform::start(TOKEN);
    let discord = discord_at(&platform.url(), &platform.gateway_url(), &[]);
    (platform, discord, FakeInlet::default())
}

async fn asked(platform: &Platform, discord: &Discord, to: &str) -> (Shown, Message) {
    let mut message = sample::message(to);
    sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
    let id = discord.send(&message).await.unwrap().message_id.unwrap();
    let (channel, id) = id.split_once('/').unwrap();
    (platform.message(channel.parse().unwrap(), id.parse().unwrap()), message)
}

fn edit(shown: &Shown, message: &Message) -> Edit {
    let message_id = format!("{}/{}", shown.channel, shown.id);
    Edit { message: message.clone(), message_id, shows: Shows { end: End::Done, by: Some("@everyone".into()) } }
}

fn answered(edit: Option<Edit>) -> Result<Reaction, NotTaken> {
    Ok(Reaction::Answered { verb: Verb::Ack, until: None, edit: edit.map(Box::new), language: Lang::En })
}

async fn connected(discord: &Discord, inlet: &FakeInlet, test: impl Future<Output = ()>) {
    tokio::select! {
        ended = discord.connect(None, inlet) => panic!("{ended:?}"),
        () = test => {}
    }
}

fn facts() -> Facts {
    Facts::of("discord", close)
}

#[track_caller]
fn check_callback(callback: &Value) {
    facts().check(if callback["type"] == 4 { "CreateCallback" } else { "UpdateCallback" }, callback);
    if callback["type"] == 7 {
        facts().check("MessageEdit", &callback["data"]);
    }
}

#[tokio::test]
async fn a_press_is_handed_over_and_its_callback_edits_the_message() {
    let (platform, discord, inlet) = start();
    let (shown, message) = asked(&platform, &discord, &CHANNEL.to_string()).await;
    inlet.then(answered(Some(edit(&shown, &message)))).then(Ok(Reaction::NotYours { language: Lang::En }));
    connected(&discord, &inlet, async {
        inlet.wait_connected().await;
        let press = platform.press(&shown, "Done", ANA);
        until("the press is answered", async || platform.pressed(press) != Became::Waits).await;
        let Became::Answered(callback) = platform.pressed(press) else { panic!("it failed") };
        assert_eq!(callback["type"], 7);
        check_callback(&callback);
        let now = platform.message(CHANNEL, shown.id);
        assert_eq!(now.content, "⏰ **Reminder:** Take your \"medicine\"\n✓ Done by @\u{200b}everyone");
        assert_eq!((now.buttons.len(), now.n_edits), (0, 1));
        let [inbound] = inlet.take_all().try_into().unwrap();
        let pressed = Pressed::new(Verb::Ack, message.occurrence);
        assert_eq!(inbound.what, What::Press { pressed, message_id: Some(format!("{CHANNEL}/{}", shown.id)) });
        let from = Sender {
            person: vec![format!("dm:{}", ANA.id), format!("{CHANNEL}@{}", ANA.id)],
            chat: vec![CHANNEL.to_string()],
            is_group: true,
            name: "ana".into(),
        };
        assert_eq!(inbound.from, Some(from));
        assert_eq!(inbound.id.unwrap().id, format!("interaction {press}"));
        assert!(inbound.place.unwrap().contains(r#""seq":2"#));

        let (other, _) = asked(&platform, &discord, &CHANNEL.to_string()).await;
        let press = platform.press(&other, "Done", ANA);
        until("the wrong person is told", async || platform.pressed(press) != Became::Waits).await;
        let Became::Answered(callback) = platform.pressed(press) else { panic!("it failed") };
        check_callback(&callback);
        let data = &callback["data"];
        assert_eq!((&data["content"], &data["flags"]), (&json!("This reminder is for somebody else."), &json!(64)));
        assert_eq!(platform.message(CHANNEL, other.id), other, "nothing changed there");
    })
    .await;
}

#[tokio::test]
async fn a_session_goes_on_after_the_last_event_that_was_handed_over() {
    let (platform, discord, inlet) = start();
    let (shown, _) = asked(&platform, &discord, &format!("dm:{}", ANA.id)).await;
    let (first, second) = {
        inlet.then(answered(None)).then(Err(NotTaken::Unavailable));
        let test = async {
            inlet.wait_connected().await;
            (platform.press(&shown, "Done", ANA), platform.press(&shown, "Not needed", ANA))
        };
        let (ended, presses) = tokio::join!(discord.connect(None, &inlet), test);
        assert!(matches!(ended, Ended::Broken(_)), "{ended:?}");
        presses
    };
    let place = inlet.take_all()[0].place.clone().unwrap();
    // Another node, which knows only what was committed.
    let other = discord_at(&platform.url(), &platform.gateway_url(), &[]);
    for (again, place) in [(&other, Some(Since { text: place, at: other.clock.now() })), (&discord, None)] {
        let inlet = FakeInlet::default();
        inlet.then(Err(NotTaken::LeaseLost));
        assert_eq!(again.connect(place, &inlet).await, Ended::Replaced);
        let [inbound] = inlet.take_all().try_into().unwrap();
        assert_eq!(inbound.id.unwrap().id, format!("interaction {second}"), "and not {first}");
        until("the client has gone", async || platform.sessions().0 == 0).await;
    }
    assert_eq!((platform.sessions().1, platform.sessions().2), (1, 2), "one session, resumed twice");
}

#[tokio::test]
async fn a_later_session_of_another_node_wins() {
    let (_, discord, _) = start();
    let now = discord.clock.now();
    let known =
        |session: &str, seq: u64| format!(r#"{{"session":"{session}","resume_url":null,"bot":"1","seq":{seq}}}"#);
    let since = |session: &str, seq, at| Some(Since { text: known(session, seq), at });
    let chosen = |place| format!("{:?}", discord.gateway.known(place));
    assert_eq!(chosen(None), "None");
    assert!(chosen(since("theirs", 7, now)).contains("theirs"));
    discord.gateway.set(serde_json::from_str(&known("ours", 5)).ok(), now);
    assert!(chosen(None).contains("ours"));
    assert!(chosen(since("ours", 9, now)).contains("seq: 9"));
    assert!(chosen(since("ours", 3, now)).contains("seq: 5"));
    let second = SignedDuration::from_secs(1);
    assert!(chosen(since("theirs", 1, now + second)).contains("theirs"));
    assert!(chosen(since("theirs", 1, now - second)).contains("ours"));
}

#[tokio::test]
async fn what_ends_a_connection_is_named_by_what_to_do_next() {
    let (platform, discord, _) = start();
    for (code, expect) in [(4004, "Refused"), (4014, "Refused"), (4000, "Broken"), (1001, "Broken"), (4009, "Broken")] {
        let inlet = FakeInlet::default();
        let test = async {
            inlet.wait_connected().await;
            platform.close(code);
        };
        let (ended, ()) = tokio::join!(discord.connect(None, &inlet), test);
        let ended = format!("{ended:?}");
        assert!(ended.starts_with(expect) && ended.contains(&code.to_string()), "{code}: {ended}");
        // A session that is not to be resumed would need five seconds for the next.
        if matches!(code, 4004 | 4014) {
            continue;
        }
        let is_kept = discord.gateway.known(None).is_some();
        assert_eq!(is_kept, code != 4009, "{code}");
    }
    let nowhere = discord_at("http://127.0.0.1:1", "ws://127.0.0.1:1", &[]);
    let ended = format!("{:?}", nowhere.connect(None, &FakeInlet::default()).await);
    assert!(ended.starts_with("Broken(\"no connection to Discord: "), "{ended}");
}

#[tokio::test]
async fn a_connection_that_is_dead_or_unwanted_ends_and_is_resumed() {
    let (platform, discord, _) = start();
    type End = fn(&Platform);
    let ends: [(End, &str); 3] = [
        (|platform| platform.reconnect(), "Discord asks to connect anew"),
        (|platform| platform.set_deaf(true), "1006"),
        (|platform| platform.close(4000), "4000"),
    ];
    for (end, expect) in ends {
        let inlet = FakeInlet::default();
        let test = async {
            inlet.wait_connected().await;
            end(&platform);
        };
        let (ended, ()) = tokio::join!(discord.connect(None, &inlet), test);
        assert!(matches!(&ended, Ended::Broken(said) if said.contains(expect)), "{expect}: {ended:?}");
        platform.set_deaf(false);
    }
    let inlet = FakeInlet::default();
    connected(&discord, &inlet, inlet.wait_connected()).await;
    assert_eq!((platform.sessions().1, platform.sessions().2), (1, 3), "one session, resumed three times");
    platform.forget_sessions();
    let forgotten = discord.gateway.known(None).unwrap().session;
    let ended = discord.connect(None, &FakeInlet::default()).await;
    assert_eq!(ended, Ended::Broken("Discord has forgotten the session".into()));
    assert_eq!(discord.gateway.known(None), None);
    // Also where the store still names it: else it would be resumed in vain for ever.
    let inlet = FakeInlet::default();
    let stored = r#"{"session":"SESSION","resume_url":null,"bot":"1","seq":9}"#.replace("SESSION", &forgotten);
    let place = Some(Since { text: stored, at: discord.clock.now() });
    assert_eq!(discord.gateway.known(place), None);
    connected(&discord, &inlet, inlet.wait_connected()).await;
    assert_eq!(platform.sessions().1, 1, "a new one has begun");
}

#[tokio::test]
async fn words_are_heard_in_direct_messages_and_where_the_bot_is_called() {
    let (platform, discord, inlet) = start();
    let (shown, message) = asked(&platform, &discord, &format!("dm:{}", ANA.id)).await;
    let pressed = Pressed::new(Verb::Ack, message.occurrence);
    inlet.then(Ok(Reaction::Say {
        text: "Which *one*?".into(),
        choices: vec![Choice { label: "first".into(), pressed }],
        is_taken: false,
    }));
    connected(&discord, &inlet, async {
        inlet.wait_connected().await;
        platform.write(CHANNEL, ANA, "not to you", None);
        platform.write(shown.channel, ANA, "popio sam", Some(&shown));
        platform.write(CHANNEL, ANA, &format!("<@{BOT}> gotovo"), None);
        let [first, second] = inlet.wait_for(2).await.try_into().unwrap();
        let reply_to = Some(format!("{}/{}", shown.channel, shown.id));
        let about = Some(message.occurrence);
        assert_eq!(first.what, What::Words { text: "popio sam".into(), reply_to, about });
        let person = vec![format!("dm:{}", ANA.id), shown.channel.to_string()];
        assert_eq!(first.from.as_ref().unwrap().person, person, "their own messages are an address of theirs");
        assert!(!first.from.as_ref().unwrap().is_group && second.from.as_ref().unwrap().is_group);
        assert_eq!(second.what, What::Words { text: "gotovo".into(), reply_to: None, about: None });
        let said =
            until_some("the bot has said something", async || platform.messages(shown.channel).into_iter().nth(1))
                .await;
        assert_eq!(said.content, r"Which \*one\*?");
        assert_eq!(said.buttons, [("first".into(), data(Pressed::new(Verb::Ack, message.occurrence)))]);
    })
    .await;
}

fn read(discord: &Discord, request: &Signed, now: i64) -> Result<Vec<Inbound>, NotRead> {
    let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let call = Call { is_get: false, path_and_query: "/v1/inbound/discord", headers: &headers, body: &request.body };
    discord.read(&call, Timestamp::from_second(now).unwrap())
}

#[tokio::test]
async fn a_signed_request_is_read_and_no_other() {
    let (platform, discord, _) = start();
    let (shown, message) = asked(&platform, &discord, &CHANNEL.to_string()).await;
    let interaction = platform.interaction(&shown, "In 10 minutes", ANA);
    let request = key().sign(&interaction, 1_000_000);
    let [inbound] = read(&discord, &request, 1_000_300).unwrap().try_into().unwrap();
    let pressed = Pressed::new(Verb::Snooze, message.occurrence);
    assert!(matches!(&inbound.what, What::Press { pressed: read, .. } if *read == pressed));
    let reply = discord.reply(&[(inbound, answered(Some(edit(&shown, &message))).unwrap())]);
    check_callback(&serde_json::from_str(&reply.body).unwrap());
    assert_eq!(read(&discord, &request, 1_000_301), Err(NotRead::Stale));
    assert_eq!(read(&discord, &DiscordKey::new([8; 32]).sign(&interaction, 7), 7), Err(NotRead::Forged));
    let mut tampered = request.clone();
    tampered.body.push(b' ');
    assert_eq!(read(&discord, &tampered, 1_000_000), Err(NotRead::Forged));
    let Err(NotRead::Answer(reply)) = read(&discord, &key().sign(&json!({"type": 1}), 7), 7) else { panic!() };
    assert_eq!(reply.body, r#"{"type":1}"#);
    let malformed = read(&discord, &key().sign(&json!([]), 7), 7);
    assert!(matches!(malformed, Err(NotRead::Malformed(_))), "{malformed:?}");
    let Some(samples) = published("discord/sample.interactions.json") else { return };
    for name in ["APPLICATION_COMMAND", "MESSAGE_COMPONENT"] {
        assert_eq!(read(&discord, &key().sign(&samples[name], 7), 7), Ok(Vec::new()), "{name}");
    }
    assert!(matches!(read(&discord, &key().sign(&samples["PING"], 7), 7), Err(NotRead::Answer(_))));
}

#[tokio::test]
async fn a_message_is_edited_by_the_bot_or_by_its_webhook() {
    let (platform, discord, _) = start();
    let (shown, message) = asked(&platform, &discord, &format!("{CHANNEL}@{}", ANA.id)).await;
    platform.take_asked();
    let edits = discord.edits().unwrap();
    edits.edit(&edit(&shown, &message)).await.unwrap();
    let [asked] = platform.take_asked().try_into().unwrap();
    assert_eq!(asked.call, format!("PATCH /channels/{CHANNEL}/messages/{}", shown.id));
    facts().check("MessageEdit", &asked.body);
    assert!(asked.body["content"].as_str().unwrap().starts_with(&format!("<@{}> ⏰", ANA.id)));

    let mut by_hook = message.clone();
    by_hook.to.address = format!("{}/webhooks/{CHANNEL}/hook-s3cret", platform.url());
    let id = discord.send(&by_hook).await.unwrap().message_id.unwrap();
    platform.take_asked();
    let hooked = Edit { message: by_hook, message_id: id.clone(), ..edit(&shown, &message) };
    edits.edit(&hooked).await.unwrap();
    let [asked] = platform.take_asked().try_into().unwrap();
    let number = id.split_once('/').unwrap().1;
    assert_eq!(asked.call, format!("PATCH /webhooks/{CHANNEL}/hook-s3cret/messages/{number}"));

    let gone = Edit { message_id: format!("{CHANNEL}/4711"), ..edit(&shown, &message) };
    assert_eq!(edits.edit(&gone).await, Ok(()), "a deleted message is no error");
    let old = Edit { message_id: "4711".into(), ..gone };
    assert!(matches!(edits.edit(&old).await, Err(SendError::Refused(_))));
}

#[test]
fn the_way_follows_from_the_secrets() {
    let way = |pairs: &[(&str, &str)]| {
        Discord::new(&mut fields(pairs), &sample::server()).map(|discord| discord.receives().map(Receive::way))
    };
    let key = key().public_key();
    assert_eq!(way(&[]), Ok(None));
    assert_eq!(way(&[("token", "t")]), Ok(Some(Way::Connection)));
    assert_eq!(way(&[("token", "t"), ("api_url", "http://127.0.0.1:1")]), Ok(None), "its gateway is not known");
    assert_eq!(way(&[("public_key", &key), ("receive", "webhook")]), Ok(Some(Way::Webhook)));
    assert_eq!(way(&[("token", "t"), ("receive", "off")]), Ok(None));
    for (receive, needed) in [("connection", "token"), ("webhook", "public_key")] {
        let wrong = way(&[("receive", receive)]).unwrap_err();
        assert!(wrong.field == "receive" && wrong.problem.contains(needed), "{wrong}");
    }
    for (name, value) in [("public_key", "abc"), ("gateway_url", "https://gateway.discord.gg")] {
        assert_eq!(way(&[(name, value)]).unwrap_err().field, name);
    }
}
