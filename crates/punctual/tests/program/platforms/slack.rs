//! Slack: buttons over its socket and by its requests.

use punctual_testkit::platforms::signed;
use punctual_testkit::platforms::slack::{Person, Pressed, Slack};
use punctual_testkit::wait::{until, until_some};

use super::{answers, asked, connected, known, post, receives, run, second};
use crate::common::{Home, Server};

const ANA: Person = Person { id: "U0123456789", name: "ana" };
const BOB: Person = Person { id: "U0987654321", name: "bob" };
const CHANNEL: &str = "C0123456789";
const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

fn serve(home: &Home, slack: &Slack, way: &str) -> Server {
    home.serve_with(&[
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "slack"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", "xoxb-1"),
        ("PUNCTUAL_CHANNEL_CHAT_APP_TOKEN", "xapp-1"),
        ("PUNCTUAL_CHANNEL_CHAT_SIGNING_SECRET", SECRET),
        ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", way),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &slack.url()),
    ])
}

#[tokio::test]
async fn a_press_is_recorded_and_the_message_shows_it() {
    let (home, slack) = (Home::new(), Slack::start());
    let server = serve(&home, &slack, "connection");
    connected(&server).await;
    let id = asked(&server, "medicine", CHANNEL).await;
    let shown = slack.messages(CHANNEL).pop().unwrap();
    let press = slack.press(&shown, "Done", ANA);
    until("the press is acknowledged", async || slack.pressed(&press) != Pressed::Waits).await;
    assert_eq!(slack.pressed(&press), Pressed::Acked);
    let [answer] = answers(&server, &id).await.try_into().unwrap();
    assert_eq!((&answer["response"], &answer["channel"]), (&"ack".into(), &"chat".into()), "{answer}");
    let now = until_some("the message shows it", async || {
        Some(slack.message(CHANNEL, &shown.ts)).filter(|now| now.n_edits > 0)
    })
    .await;
    assert!(now.text.ends_with("✓ Done by ana") && now.buttons.is_empty(), "{now:?}");
    assert_eq!(receives(&server).await["answers"], 1);
}

#[tokio::test]
async fn a_stranger_is_told_no() {
    let (home, slack) = (Home::new(), Slack::start());
    let server = serve(&home, &slack, "connection");
    connected(&server).await;
    known(&server, "bob", BOB.id).await;
    let id = asked(&server, "medicine", ANA.id).await;
    let shown = slack.messages("D0123456789").pop().unwrap();
    let press = slack.press(&shown, "Done", BOB);
    let told = until_some("bob is told", async || slack.told(&press).pop()).await;
    assert_eq!(
        (&told["response_type"], &told["text"]),
        (&"ephemeral".into(), &"This reminder is for somebody else.".into())
    );
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
    assert_eq!(slack.message("D0123456789", &shown.ts).n_edits, 0);
}

#[tokio::test]
async fn a_signed_request_is_taken_once_and_a_forged_one_never() {
    let (home, slack) = (Home::new(), Slack::start());
    let server = serve(&home, &slack, "webhook");
    let id = asked(&server, "medicine", CHANNEL).await;
    let shown = slack.messages(CHANNEL).pop().unwrap();
    let payload = slack.payload(&shown, "In 10 minutes", ANA);
    let mut tampered = signed::slack_press(SECRET, second(), &payload);
    tampered.body.push(b'x');
    for forged in [
        tampered,
        signed::slack_press("another secret", second(), &payload),
        signed::slack_press(SECRET, second() - 301, &payload),
    ] {
        assert_eq!(post(&server, "", &forged).await, (401, String::new()));
    }
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
    let request = signed::slack_press(SECRET, second(), &payload);
    assert_eq!(post(&server, "", &request).await.0, 200);
    assert_eq!(answers(&server, &id).await.len(), 1);
    // A copy would put it off again.
    assert_eq!(post(&server, "", &request).await.0, 200);
    assert_eq!(answers(&server, &id).await.len(), 1);
    assert_eq!(receives(&server).await["forged"], 3);
}
