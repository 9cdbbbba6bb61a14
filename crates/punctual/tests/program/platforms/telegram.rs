//! Telegram: buttons and words by polling, and by its webhook.

use punctual_testkit::platforms::signed;
use punctual_testkit::platforms::telegram::{Person, Telegram};
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::{until, until_some};

use super::{answers, asked, connected, known, post, receives, run, second};
use crate::common::{Home, Server};
use crate::openapi::Description;

const TOKEN: &str = "123456789:AAE-token_of_tests";
const ANA: Person = Person { id: 5, name: "Ana" };
const BOB: Person = Person { id: 6, name: "Bob" };

/// A group's chat.
const GROUP: i64 = -77;

fn serve(home: &Home, telegram: &Telegram, way: &str) -> Server {
    serve_with(home, telegram, way, "false")
}

fn serve_with(home: &Home, telegram: &Telegram, way: &str, commands: &str) -> Server {
    home.serve_with(&[
        ("PUNCTUAL_CHANNEL_CHAT_COMMANDS", commands),
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &telegram.url()),
        ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", way),
    ])
}

#[tokio::test]
async fn a_press_is_recorded_and_the_message_shows_it() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve(&home, &telegram, "connection");
    connected(&server).await;
    let id = asked(&server, "medicine", "5").await;
    let shown = telegram.messages(5).pop().unwrap();
    let query = telegram.press(&shown, "Done", ANA);
    let notice = until_some("the press is answered", async || telegram.answered(&query)).await;
    assert_eq!(notice["text"], "✓ Done");
    let [answer] = answers(&server, &id).await.try_into().unwrap();
    assert_eq!((&answer["response"], &answer["channel"]), (&"ack".into(), &"chat".into()), "{answer}");
    until("the message shows it", async || telegram.message(5, shown.id).n_edits == 1).await;
    let now = telegram.message(5, shown.id);
    assert!(now.text.contains("✓ Done") && now.buttons.is_empty(), "{now:?}");
    until("the update is confirmed", async || telegram.unconfirmed() == 0).await;
}

#[tokio::test]
async fn words_answer_too() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve(&home, &telegram, "connection");
    connected(&server).await;
    known(&server, "ann", "5").await;
    let id = asked(&server, "medicine", "5").await;
    telegram.write(5, ANA, "popio sam", None);
    let [answer] = answers(&server, &id).await.try_into().unwrap();
    assert_eq!((&answer["response"], &answer["response_text"]), (&"ack".into(), &"popio sam".into()), "{answer}");
}

/// "5 more minutes" with two reminders that wait: the bot asks which, and its buttons know the five minutes.
#[tokio::test]
async fn the_button_that_says_which_reminder_keeps_the_time_that_was_said() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve(&home, &telegram, "connection");
    connected(&server).await;
    known(&server, "ann", "5").await;
    let (medicine, plants) = (asked(&server, "medicine", "5").await, asked(&server, "plants", "5").await);
    let said_after = second();
    telegram.write(5, ANA, "5 more minutes", None);
    let question = until_some("the bot asks which", async || telegram.messages(5).into_iter().nth(2)).await;
    let said_before = second();
    assert_eq!(question.text, "Which one do you mean?");
    let button = |word: &str| question.buttons.iter().find(|(label, _)| label.ends_with(word)).unwrap();
    let (label, data) = button("medicine");
    assert!(data.starts_with("pn:@") && data.ends_with(&medicine) && data.len() <= 64, "{data}");
    let query = telegram.press(&question, label, ANA);
    let notice = until_some("the press is answered", async || telegram.answered(&query)).await;
    assert!(notice["text"].as_str().unwrap().starts_with("💤 Snoozed until "), "{notice}");
    let [answer] = answers(&server, &medicine).await.try_into().unwrap();
    assert_eq!(answer["response"], "snooze", "{answer}");
    let due_at: jiff::Timestamp = run(&server, &medicine).await["due_at"].as_str().unwrap().parse().unwrap();
    assert!((said_after + 300..=said_before + 301).contains(&due_at.as_second()), "{due_at}");
    assert_eq!(run(&server, &plants).await["state"], "awaiting_ack");
}

#[tokio::test]
async fn a_stranger_is_told_no() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve(&home, &telegram, "connection");
    connected(&server).await;
    known(&server, "bob", "6").await;
    let id = asked(&server, "medicine", "5").await;
    let shown = telegram.messages(5).pop().unwrap();
    let query = telegram.press(&shown, "Done", BOB);
    let notice = until_some("bob is told", async || telegram.answered(&query)).await;
    assert_eq!((&notice["text"], &notice["show_alert"]), (&"This reminder is for somebody else.".into(), &true.into()));
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
}

#[tokio::test]
async fn an_update_that_comes_twice_is_taken_once_and_a_forged_one_never() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve(&home, &telegram, "webhook");
    let webhook = until_some("the webhook is set", async || telegram.webhook()).await;
    assert!(webhook.url.ends_with("/v1/inbound/chat"), "{webhook:?}");
    let id = asked(&server, "medicine", "5").await;
    let shown = telegram.messages(5).pop().unwrap();
    telegram.press(&shown, "In 10 minutes", ANA);
    let update = telegram.updates().remove(0);
    assert_eq!(post(&server, "", &signed::telegram("guess", &update)).await, (401, String::new()));
    assert_eq!(run(&server, &id).await["state"], "awaiting_ack");
    for _ in 0..2 {
        let (status, body) = post(&server, "", &signed::telegram(&webhook.secret, &update)).await;
        assert_eq!(status, 200);
        assert!(body.contains(r#""method":"answerCallbackQuery""#), "the reply answers the press: {body}");
        assert_eq!(answers(&server, &id).await.len(), 1);
    }
    assert_eq!(receives(&server).await["forged"], 1);
}

/// The platform gives an update again that could not be recorded; whoever looks at its log reads why.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_cannot_be_recorded_is_to_be_sent_again() {
    let Some(mut postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = home.serve_with(&[
        ("PUNCTUAL_DATABASE_URL", &url),
        ("PUNCTUAL_CHANNEL_CHAT_KIND", "telegram"),
        ("PUNCTUAL_CHANNEL_CHAT_TOKEN", TOKEN),
        ("PUNCTUAL_CHANNEL_CHAT_API_URL", &telegram.url()),
        ("PUNCTUAL_CHANNEL_CHAT_RECEIVE", "webhook"),
    ]);
    let mut description = Description::of(&server).await;
    let webhook = until_some("the webhook is set", async || telegram.webhook()).await;
    let id = asked(&server, "medicine", "5").await;
    let shown = telegram.messages(5).pop().unwrap();
    telegram.press(&shown, "Done", ANA);
    let update = telegram.updates().remove(0);
    postgres.stop_immediately();
    let (status, said) = post(&server, "", &signed::telegram(&webhook.secret, &update)).await;
    let problem = serde_json::from_str(&said).unwrap_or_default();
    description.check("/v1/inbound/{channel}", "post", status, &problem);
    assert_eq!((status, &problem["code"]), (503, &"unavailable".into()), "{said}");
    let (status, problem) = server.call(reqwest::Method::GET, &format!("/v1/occurrences/{id}"), None).await;
    assert_eq!(status, 503, "whether a run is there is not known: {problem}");
    postgres.start_again();
    until("it is taken", async || post(&server, "", &signed::telegram(&webhook.secret, &update)).await.0 == 200).await;
    assert_eq!(answers(&server, &id).await.len(), 1);
}

#[tokio::test]
async fn somebody_in_a_group_answers_for_the_group_and_sees_nobodys_reminders() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve_with(&home, &telegram, "connection", "true");
    connected(&server).await;
    known(&server, "ann", &GROUP.to_string()).await;
    let id = asked(&server, "the bins", &GROUP.to_string()).await;
    telegram.write(GROUP, BOB, "list", None);
    telegram.write(GROUP, BOB, "cancel the bins", None);
    telegram.write(GROUP, BOB, "done", None);
    let [answer] = answers(&server, &id).await.try_into().unwrap();
    assert_eq!((&answer["response"], &answer["user_id"]), (&"ack".into(), &serde_json::Value::Null), "{answer}");
    let said = until_some("bob is told", async || telegram.messages(GROUP).into_iter().nth(1)).await;
    assert!(said.text.starts_with("✓ Done"), "{said:?}");
    assert_eq!(telegram.messages(GROUP).len(), 2, "{:?}", telegram.messages(GROUP));
}

#[tokio::test]
async fn a_message_that_comes_twice_makes_one_reminder_and_one_of_nobody_is_counted() {
    let (home, telegram) = (Home::new(), Telegram::start(TOKEN));
    let server = serve_with(&home, &telegram, "webhook", "true");
    let webhook = until_some("the webhook is set", async || telegram.webhook()).await;
    known(&server, "ann", "5").await;
    telegram.write(5, ANA, "remind me in 2 hours to drink water", None);
    let update = telegram.updates().remove(0);
    let (status, body) = post(&server, "", &signed::telegram(&webhook.secret, &update)).await;
    assert!(status == 200 && body.contains("drink water"), "{status}: {body}");
    assert_eq!(post(&server, "", &signed::telegram(&webhook.secret, &update)).await, (200, String::new()));
    assert_eq!(server.get("/v1/reminders?user=ann").await["reminders"].as_array().unwrap().len(), 1);
    for text in ["done", "list", "what a day"] {
        telegram.delivered(&telegram.updates().remove(0));
        telegram.write(6, BOB, text, None);
        let update = telegram.updates().remove(0);
        assert_eq!(
            post(&server, "", &signed::telegram(&webhook.secret, &update)).await,
            (200, String::new()),
            "{text}"
        );
    }
    let receives = receives(&server).await;
    assert_eq!((&receives["unknown_senders"], &receives["last_unknown"][0]["address"]), (&2.into(), &"6".into()));
}
