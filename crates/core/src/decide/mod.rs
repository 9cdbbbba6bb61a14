//! The decisions, each a pure function of what was loaded. It returns what to tell the caller and what is written.

/// What is written when reminders are created.
pub mod create;

/// What a command changes: cancel, pause, snooze, ack and their kin.
pub mod change;

/// What a person's answer changes.
mod answer;

/// What new values for a reminder's fields change.
mod update;

/// What goes on when a cancel is undone.
pub mod undo;

/// Which runs that failed are sent again.
pub mod resend;

/// What an answer means for the others who were asked.
pub mod family;

/// What a claim takes, ends and puts off.
pub mod claim;

/// What an attempt's result means for its occurrence.
pub mod attempt;

/// What the ends of leases change.
pub mod settle;

/// What a platform's report about a message changes.
pub mod report;

/// What changes for a person's open runs when the person changes.
pub mod person;

/// What is written when something about calendars changes.
pub mod calendar;

/// What is written when groups are changed.
pub mod group;

/// What becomes of an event's reminders when the event changes.
pub mod event;

/// What changes for runs that wait when a silence is ended.
pub mod silence;

/// Which run a person means who answers in words.
pub mod inbound;

/// What is written of lines that come from another store.
pub mod adopt;

/// What is written when keys are made and removed.
pub mod key;

/// Which admins are told of a run of a critical reminder.
pub mod tell;

pub use self::attempt::{decide, not_tried, postpone, postpone_in_trouble, sent_under, withdraw};

/// Who has a run of a watch, and what its rows become.
pub mod watch;
