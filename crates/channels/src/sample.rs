//! A message for tests.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_core::channel::{Message, Notice};
use punctual_core::clock::Clock;
use punctual_core::event::{End, OfEvent, Offset};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::journal::{ENGINE, Kind, Placed};
use punctual_core::phrase::Lang;
use punctual_core::reminder::{AckPolicy, Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;

use crate::common::fields::Fields;
use crate::common::links::Links;
use crate::setup::Server;

/// The second attempt of the third run, one and a half seconds late, to `address`.
pub(crate) fn message(address: &str) -> Message {
    let due_at: Timestamp = "2026-03-02T07:00:00Z".parse().unwrap();
    let id = ReminderId::new(due_at, [7; 10]);
    let to = Address::new("webhook", address);
    let occurrence = OccurrenceId { reminder: id, run: 3 };
    let reminder = Reminder {
        id,
        user: "alice".into(),
        name: None,
        message: "Take your \"medicine\"".into(),
        schedule: Schedule::new(Rule::Once { at: due_at }),
        timezone: Zone::named("Europe/Berlin").unwrap(),
        priority: Priority::High,
        to: vec![to.clone()],
        only: false,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Resend,
        created_via: "api".into(),
        original_text: None,
        metadata: Metadata::from_stored(r#"{"room":7}"#.into()),
        tags: Vec::new(),
        status: ReminderStatus::Active,
        created_at: due_at,
        updated_at: due_at,
    };
    Message {
        occurrence,
        attempt: 2,
        idempotency_key: format!("{occurrence}-0a1b2c3d"),
        attempt_key: format!("{occurrence}-2-0a1b2c3d"),
        language: Lang::En,
        to,
        text: reminder.message.clone(),
        reminder: Arc::new(reminder),
        due_at,
        dated: due_at,
        sent_at: "2026-03-02T07:00:01.5Z".parse().unwrap(),
    }
}

/// A reminder of a game, an hour before it.
pub(crate) fn message_of_event(address: &str) -> Message {
    let mut message = message(address);
    let starts_at = message.due_at + jiff::SignedDuration::from_hours(1);
    change(&mut message, |reminder| {
        let offset = Offset { before_seconds: 3600, of: End::Start };
        reminder.event = Some(OfEvent { key: "game:42".into(), starts_at, ends_at: None, offset, instance: None });
        reminder.metadata = Metadata::from_stored(r#"{"game_id":42,"title":"Chess","ranked":true,"fee":1.5}"#.into());
    });
    message
}

/// The entry that the second attempt of the third run was sent, on its way to `address`.
pub(crate) fn notice(address: &str) -> Notice {
    let of = message(address);
    let entry = Placed {
        position: 812,
        at: "2026-03-02T07:00:01Z".parse().unwrap(),
        kind: Kind::Sent.to_string(),
        user: Some("alice".into()),
        reminder: Some(of.reminder.id),
        run: Some(3),
        actor: ENGINE.into(),
        via: None,
        node: Some("local".into()),
        data: Some(r#"{"channel":"telegram","attempt":2}"#.into()),
    };
    Notice { entry: Arc::new(entry), to: of.to, sent_at: of.sent_at }
}

/// Messages of every shape in every language: without an answer asked for, with one, and long ones made of `words`, with a long
/// question and no snooze.
pub(crate) fn shapes(address: &str, words: &str) -> Vec<Message> {
    let in_one = |language| {
        let plain = Message { language, ..message(address) };
        let mut asks = plain.clone();
        change(&mut asks, |reminder| reminder.ack = Some(AckPolicy::default()));
        let mut long = Message { text: words.repeat(1000), ..plain.clone() };
        change(&mut long, |reminder| {
            reminder.snooze_allowed = false;
            reminder.ack = Some(ack(&words.repeat(300)));
        });
        [plain, asks, long]
    };
    Lang::ALL.into_iter().flat_map(in_one).collect()
}

/// An answer asked for with `prompt`.
pub(crate) fn ack(prompt: &str) -> AckPolicy {
    AckPolicy { prompt: Some(prompt.into()), ..AckPolicy::default() }
}

/// Changes the reminder behind `message`.
pub(crate) fn change(message: &mut Message, change: impl FnOnce(&mut Reminder)) {
    change(Arc::make_mut(&mut message.reminder));
}

/// Settings as a person would write them.
pub(crate) fn settings(pairs: &[(&str, &str)]) -> Fields {
    Fields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

/// A server with answer links.
pub(crate) fn server() -> Server {
    Server { links: Some(Links::new("https://p.example", b"secret")), ..Server::new(clock()) }
}

/// The machine's clock: the servers that these tests talk to are real.
pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock::start())
}
