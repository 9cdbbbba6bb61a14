//! Reminders by message: made, listed and cancelled by writing to a bot.

use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Home, Receiver, Server};

const BOT: [(&str, &str); 3] = [
    ("PUNCTUAL_CHANNEL_BOT_KIND", "webhook"),
    ("PUNCTUAL_CHANNEL_BOT_ALLOW_PRIVATE", "true"),
    ("PUNCTUAL_CHANNEL_BOT_COMMANDS", "true"),
];

async fn say(server: &Server, address: &str, text: &str) -> Value {
    let body = json!({ "channel": "bot", "address": address, "text": text });
    let (status, heard) = server.call(Method::POST, "/v1/inbound", Some(body)).await;
    assert_eq!(status, 200, "{text}: {heard}");
    heard
}

async fn ann(server: &Server, receiver: &Receiver, language: &str) {
    let entry = json!({ "timezone": "Europe/Zagreb", "language": language,
        "addresses": [{ "channel": "bot", "address": receiver.url }] });
    let (status, body) = server.call(Method::PUT, "/v1/users/ann", Some(entry)).await;
    assert!(status.is_success(), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_is_made_in_the_chat_and_sent_there() {
    let home = Home::new();
    let server = home.serve_with(&BOT);
    let mut receiver = Receiver::listen().await;
    ann(&server, &receiver, "en").await;
    let heard = say(&server, &receiver.url, "Remind me in 1 second to drink water").await;
    assert_eq!(heard["handled"], true, "{heard}");
    let made = &heard["reminder"];
    assert_eq!((&made["user"], &made["message"]), (&json!("ann"), &json!("drink water")), "{heard}");
    assert_eq!((&made["created_via"], &made["timezone"]), (&json!("chat"), &json!("Europe/Zagreb")));
    assert_eq!(made["original_text"], "Remind me in 1 second to drink water");
    assert_eq!(made["to"], json!([{ "channel": "bot", "address": receiver.url }]));
    assert!(heard["say"].as_str().unwrap().starts_with("✓ I will remind you: “drink water”, "), "{heard}");
    let cancel = &heard["choices"][0];
    assert_eq!((&cancel["label"], &cancel["reminder_id"]), (&json!("Cancel"), &made["id"]), "{heard}");
    assert_eq!(cancel["data"], format!("punctual:dismiss:{}-0", made["id"].as_str().unwrap()));
    assert_eq!(receiver.next().await.1["data"]["message"], "drink water");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_is_listed_and_cancelled_by_its_words() {
    let home = Home::new();
    let server = home.serve_with(&BOT);
    let receiver = Receiver::listen().await;
    ann(&server, &receiver, "hr").await;
    let here = receiver.url.as_str();
    assert_eq!(say(&server, here, "popis").await["say"], "Ništa ne slijedi.");
    for text in [
        "podsjeti me za 2 sata da nazovem mamu",
        "remind me in 1 hour to call the bank",
        "podsjeti me sutra u 8 da nazovem tatu",
    ] {
        assert_eq!(say(&server, here, text).await["reminder"]["user"], "ann", "{text}");
    }
    let listed = say(&server, here, "moji podsjetnici").await;
    let lines: Vec<&str> = listed["say"].as_str().unwrap().lines().collect();
    assert_eq!((lines[0], lines.len()), ("Slijedi:", 4), "{listed}");
    assert!(lines[1].ends_with("call the bank") && lines[3].contains("tatu"), "the soonest first: {listed}");
    assert_eq!(listed["choices"].as_array().unwrap().len(), 3);

    let which = say(&server, here, "otkaži nazovem").await;
    assert_eq!((&which["refused"], which["choices"].as_array().unwrap().len()), (&json!("ambiguous"), 2), "{which}");
    let none = say(&server, here, "otkaži zubara").await;
    assert_eq!(none["say"], "Nijedan podsjetnik ne sadrži „zubara”.");
    let done = say(&server, here, "cancel the bank").await;
    assert!(done["say"].as_str().unwrap().starts_with("✓ Otkazano: „call the bank”"), "{done}");
    assert_eq!(server.get("/v1/reminders?user=ann&status=cancelled").await["reminders"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_that_is_not_understood_is_told_why_and_talk_is_left_alone() {
    let home = Home::new();
    let server = home.serve_with(&BOT);
    let receiver = Receiver::listen().await;
    ann(&server, &receiver, "en").await;
    let here = receiver.url.as_str();
    for (text, words) in [
        ("remind me to call mom", "I found no time in that."),
        ("remind me yesterday at 8 to call mom", "I cannot remind you then: "),
        ("remind me in 5 minutes", "Say also what to remind you of."),
    ] {
        let heard = say(&server, here, text).await;
        assert!(heard["say"].as_str().is_some_and(|say| say.starts_with(words)), "{text}: {heard}");
    }
    for text in ["call mom tomorrow at 8", "what a day"] {
        assert_eq!(say(&server, here, text).await, json!({ "handled": false }), "{text}");
    }
    let stranger = say(&server, "https://elsewhere.example/x", "remind me in 5 minutes to drink").await;
    assert_eq!(stranger, json!({ "handled": false }), "nobody knows whose it would be");
    let elsewhere = json!({ "user": "ann", "channel": "webhook", "text": "remind me in 5 minutes to drink" });
    let (_, heard) = server.call(Method::POST, "/v1/inbound", Some(elsewhere)).await;
    assert_eq!(heard, json!({ "handled": false }), "that channel takes no commands");
    assert_eq!(server.get("/v1/reminders").await["reminders"], json!([]));
}
