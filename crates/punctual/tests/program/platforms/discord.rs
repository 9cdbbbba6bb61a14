//! Discord: buttons over its gateway and by its requests.

use punctual_testkit::platforms::discord::{Discord, Person, Pressed};
use punctual_testkit::platforms::signed::DiscordKey;
use punctual_testkit::wait::{until, until_some};
use serde_json::{Value, json};

use super::{answers, asked, connected, known, post, receives, run, second};
use crate::common::{Home, Server};

const TOKEN: &str = "bot-token";
const CHANNEL: u64 = 123_456_789_012_345_678;
const ANA: Person = Person { id: 876_543_210_987_654_321, name: "ana" };
const BOB: Person = Person { id: 876_543_210_987_654_322, name: "bob" };

fn key() -> DiscordKey {
    DiscordKey::new([7; 32])
}

fn serve(home: &Home, discord: &Discord, way: &str) -> Server {
    home.serve_with(&[
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "discord"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &discord.url()),
        ("PUNCTUAL_CHANNEL_CHAT_GATEWAY_URL", &discord.gateway_url()),
        ("PUNCTUAL_CHANNEL_CHAT_PUBLIC_KEY", &key().public_key()),
        ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", way),
    ])
}

async fn callback(discord: &Discord, press: u64) -> Value {
    until("the press is answered", async || discord.pressed(press) != Pressed::Waits).await;
    match discord.pressed(press) {
        Pressed::Answered(callback) => callback,
        pressed => panic!("{pressed:?}"),
    }
}

#[tokio::test]
async fn a_press_is_recorded_and_the_message_shows_it() {
    let (home, discord) = (Home::new(), Discord::start(TOKEN));
    let server = serve(&home, &discord, "connection");
    connected(&server).await;
    let id = asked(&server, "medicine", &CHANNEL.to_string()).await;
    let shown = discord.messages(CHANNEL).pop().unwrap();
    let callback = callback(&discord, discord.press(&shown, "Done", ANA)).await;
    assert_eq!(callback["type"], 7, "acknowledged and edited in one");
    let [answer] = answers(&server, &id).await.try_into().unwrap();
    assert_eq!((&answer["response"], &answer["channel"]), (&json!("ack"), &json!("chat")), "{answer}");
    let now = discord.message(CHANNEL, shown.id);
    assert!(now.content.ends_with("✓ Done by ana") && now.buttons.is_empty(), "{now:?}");
}

#[tokio::test]
async fn a_stranger_is_told_no_and_nobody_else_sees_it() {
    let (home, discord) = (Home::new(), Discord::start(TOKEN));
    let server = serve(&home, &discord, "connection");
    connected(&server).await;
    known(&server, "bob", &format!("dm:{}", BOB.id)).await;
    let id = asked(&server, "medicine", &format!("{CHANNEL}@{}", ANA.id)).await;
    let shown = discord.messages(CHANNEL).pop().unwrap();
    let callback = callback(&discord, discord.press(&shown, "Done", BOB)).await;
    assert_eq!((&callback["type"], &callback["data"]["flags"]), (&json!(4), &json!(64)));
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
    let unknown = Person { id: 1, name: "eve" };
    self::callback(&discord, discord.press(&shown, "Done", unknown)).await;
    let seen = until_some("the unknown is counted", async || {
        let receives = receives(&server).await;
        (receives["unknown_senders"] == 1).then_some(receives)
    })
    .await;
    assert_eq!(seen["last_unknown"][0]["address"], "dm:1", "{seen}");
}

#[tokio::test]
async fn a_signed_request_is_taken_once_and_a_forged_one_never() {
    let (home, discord) = (Home::new(), Discord::start(TOKEN));
    let server = serve(&home, &discord, "webhook");
    let (status, body) = post(&server, "", &key().sign(&json!({"type": 1}), second())).await;
    assert_eq!((status, body.as_str()), (200, r#"{"type":1}"#));
    let id = asked(&server, "medicine", &CHANNEL.to_string()).await;
    let shown = discord.messages(CHANNEL).pop().unwrap();
    let interaction = discord.interaction(&shown, "In 10 minutes", ANA);
    for forged in [DiscordKey::new([8; 32]).sign(&interaction, second()), key().sign(&interaction, second() - 301)] {
        assert_eq!(post(&server, "", &forged).await.0, 401);
    }
    let request = key().sign(&interaction, second());
    for _ in 0..2 {
        let (status, body) = post(&server, "", &request).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["type"]), (200, &json!(7)), "the second time, too, the message shows it: {body}");
        assert_eq!(answers(&server, &id).await.len(), 1);
    }
}

#[tokio::test]
async fn a_session_outlives_the_program() {
    let (home, discord) = (Home::new(), Discord::start(TOKEN));
    let server = serve(&home, &discord, "connection");
    connected(&server).await;
    let first = asked(&server, "medicine", &CHANNEL.to_string()).await;
    let second = asked(&server, "water", &CHANNEL.to_string()).await;
    let [medicine, water] = discord.messages(CHANNEL).try_into().unwrap();
    callback(&discord, discord.press(&medicine, "Done", ANA)).await;
    answers(&server, &first).await;
    drop(server);
    until("the program has gone", async || discord.sessions().0 == 0).await;
    // Nobody hears this one; the person sees that it failed.
    discord.press(&water, "Done", ANA);
    let server = serve(&home, &discord, "connection");
    assert_eq!(answers(&server, &second).await.len(), 1, "the session gave it again");
    assert_eq!(answers(&server, &first).await.len(), 1);
    assert_eq!((discord.sessions().1, discord.sessions().2), (1, 1), "one session, resumed once");
}
