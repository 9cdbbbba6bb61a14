//! The typed client, as a program of somebody else's uses it.

use punctual_client::http::HeaderValue;
use punctual_client::wire::{
    AddressInput, Answer, Batch, Entry, ParseInput, ReminderInput, ReminderQuery, StreamQuery, Understood, UserQuery,
};
use punctual_client::{Client, Failure, IDEMPOTENCY_KEY};

use crate::common::{Home, NOWHERE, Receiver, Server, soon};

fn client(server: &Server) -> Client {
    Client::new(&server.url, Some(&server.key)).unwrap()
}

fn sentence(text: &str) -> ReminderInput {
    ReminderInput { text: Some(text.into()), ..ReminderInput::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentence_becomes_a_reminder_that_is_followed_and_answered() {
    let home = Home::new();
    let server = home.serve();
    let mut receiver = Receiver::listen().await;
    let client = client(&server);
    let understood =
        soon(client.parse(&ParseInput { text: Some("in 5 minutes".into()), ..ParseInput::default() })).await;
    assert!(matches!(understood.unwrap(), Understood::Instant { .. }));

    let hook = AddressInput { channel: Some("webhook".into()), address: Some(receiver.url.clone()) };
    let asked =
        ReminderInput { to: Some(vec![hook]), require_ack: Some(true), ..sentence("take my medicine in 2 hours") };
    let once = client.with(IDEMPOTENCY_KEY, HeaderValue::from_static("1"));
    let reminder = soon(once.create(&asked)).await.unwrap();
    assert_eq!(soon(once.create(&asked)).await.unwrap().id, reminder.id, "the same request is one reminder");
    assert_eq!(reminder.message, "take my medicine");

    let of_it = StreamQuery { reminder: Some(reminder.id.clone()), after: Some(0), ..StreamQuery::default() };
    let mut stream = soon(client.stream(&of_it, None)).await.unwrap();
    let nobody = UserQuery::default();
    soon(client.command(&reminder.id, "fire", &nobody)).await.unwrap();
    receiver.next().await;
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|kind| kind != "reminder.sent") {
        let event = soon(stream.next()).await.unwrap().expect("the stream goes on");
        let entry: Entry = serde_json::from_str(&event.data).unwrap();
        assert_eq!((entry.kind.as_str(), Some(entry.id)), (event.name.as_str(), stream.last_id()));
        kinds.push(entry.kind);
    }
    assert_eq!(kinds[0], "reminder.created");

    // Another connection goes on where this one was.
    let seen = stream.last_id();
    drop(stream);
    let said = Answer { text: Some("done".into()), ..Answer::default() };
    soon(client.answer(&reminder.id, "ack", &nobody, &said)).await.unwrap();
    let mut stream = soon(client.stream(&of_it, seen)).await.unwrap();
    assert_eq!(soon(stream.next()).await.unwrap().expect("there is more").name, "reminder.acknowledged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_field_and_an_absent_server_is_said_to_be_absent() {
    let home = Home::new();
    let server = home.serve();
    let failure = soon(client(&server).create(&sentence("no time in here"))).await.unwrap_err();
    let refused = failure.refused().expect("the server refused it");
    assert_eq!((refused.status.as_u16(), refused.field()), (422, Some("text")), "{refused}");

    let batch = Batch { reminders: vec![sentence("tea in 1 hour"), sentence("no time in here")] };
    let failure = soon(client(&server).create_batch(&batch)).await.unwrap_err();
    let problem = failure.refused().and_then(|refused| refused.problem.as_ref()).expect("the server says why");
    assert_eq!(problem.index, Some(1));
    let none = soon(client(&server).reminders(&ReminderQuery::default())).await.unwrap();
    assert!(none.reminders.is_empty(), "a batch is made whole or not at all");

    let stranger = Client::new(&server.url, Some("no key")).unwrap();
    let failure = soon(stranger.stats()).await.unwrap_err();
    assert_eq!(failure.refused().map(|refused| refused.status.as_u16()), Some(401), "{failure}");
    assert!(!failure.to_string().contains("no key"), "a key is in no error: {failure}");

    let nobody = Client::new(NOWHERE, None).unwrap();
    let failure = soon(nobody.alive()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Unreachable(words) if words.contains(NOWHERE)), "{failure}");
    assert!(failure.is_passing());
    assert!(Client::new("not a server", None).is_err());
}
