//! What the tests of the pure code share: one reminder, one instant, and short ways to say them.

#![allow(dead_code, reason = "each test file uses its own part")]

/// What a decision led to, in lines.
pub(crate) mod said;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Lease, Occurrence, Sending, State};
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::store::Claimed;
use punctual_core::user::User;
use punctual_core::zone::Zone;

/// `second` seconds into the test's world.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(crate) fn once() -> Schedule {
    Schedule::new(Rule::Once { at: at(0) })
}

pub(crate) fn every(seconds: u64) -> Schedule {
    every_from(seconds, Anchor::Start)
}

pub(crate) fn every_from(seconds: u64, anchor: Anchor) -> Schedule {
    Schedule::new(Rule::Interval { every: Duration::from_secs(seconds), anchor, origin: at(0) })
}

pub(crate) fn reminder(schedule: Schedule) -> Reminder {
    Reminder {
        id: ReminderId::new(at(0), [1; 10]),
        user: "alice".into(),
        name: None,
        message: "water the plants".into(),
        schedule,
        timezone: Zone::utc(),
        priority: Priority::Normal,
        to: vec![Address::new("webhook", "https://a.example")],
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
        metadata: Metadata::default(),
        tags: Vec::new(),
        status: ReminderStatus::Active,
        created_at: at(-60),
        updated_at: at(-60),
    }
}

pub(crate) fn occurrence(reminder: &Reminder, run: u32, due_at: Timestamp) -> Occurrence {
    Occurrence::scheduled(OccurrenceId { reminder: reminder.id, run }, due_at)
}

/// A claim of run 1, due at second 0, on its first address.
pub(crate) fn claimed(reminder: Reminder, n_addresses: usize) -> Claimed {
    let route = (0..n_addresses).map(|n| Address::new("webhook", format!("https://{n}.example"))).collect();
    Claimed {
        before: occurrence(&reminder, 1, at(0)),
        lease: 7,
        lease_until: at(15),
        wake_at: at(0),
        reminder: Arc::new(reminder),
        person: Arc::default(),
        holds_unknown: false,
        message_id: None,
        route,
        position: 0,
    }
}

/// A run that a node is sending: lease `number`, until `until`, to `to`.
pub(crate) fn processing(number: u64, until: Timestamp, to: &Address) -> State {
    State::Processing {
        lease: Lease { number, until, node: "node".into() },
        sending: Sending { to: to.clone(), since: at(0), message_id: None, readdressed: false },
    }
}

/// A retry.
pub(crate) fn retrying(retry_at: Timestamp, error: &str) -> State {
    State::PendingRetry { retry_at, error: error.to_owned(), waits_for: None }
}

/// A question that has been asked.
pub(crate) fn asked(delivered_at: Timestamp, ask_again_at: Timestamp) -> State {
    State::AwaitingAck { delivered_at, ask_again_at, waits_for: None }
}

/// A person of whom nothing is known but the name.
pub(crate) fn user(id: &str) -> User {
    User {
        id: id.into(),
        timezone: None,
        language: None,
        addresses: vec![],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    }
}
