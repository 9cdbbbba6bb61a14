//! Reminders and people for tests.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::user::User;
use punctual_core::zone::Zone;

/// An instant written as RFC 3339.
///
/// # Panics
/// If it is not one.
pub fn instant(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("`{text}` is no instant: {error}"))
}

/// Ann's reminder to water the plants, due once at `at`, sent to `phone:ann`. `number` makes its id.
pub fn once(number: u8, at: Timestamp, now: Timestamp) -> Reminder {
    reminder(number, Schedule::new(Rule::Once { at }), now)
}

/// The same, over and over, counted from `now`.
pub fn every(number: u8, span: Duration, now: Timestamp) -> Reminder {
    reminder(number, Schedule::new(Rule::Interval { every: span, anchor: Anchor::Start, origin: now }), now)
}

/// The same, with any schedule.
pub fn reminder(number: u8, schedule: Schedule, now: Timestamp) -> Reminder {
    Reminder {
        id: ReminderId::new(now, [number; 10]),
        user: "ann".into(),
        name: None,
        message: "water the plants".into(),
        schedule,
        timezone: Zone::utc(),
        priority: Priority::Normal,
        to: vec![Address::new("phone", "ann")],
        only: false,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Resend,
        created_via: "test".into(),
        original_text: None,
        metadata: Metadata::default(),
        tags: Vec::new(),
        status: ReminderStatus::Active,
        created_at: now,
        updated_at: now,
    }
}

/// A user of this id without anything.
pub fn user(id: &str, now: Timestamp) -> User {
    User {
        id: id.into(),
        timezone: None,
        language: None,
        addresses: Vec::new(),
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: now,
        updated_at: now,
    }
}
