//! Small rules, each written once.

/// Who is meant by what a calendar says about duty.
pub mod rota;

/// When a reminder that was written in SQL is first due.
pub mod first;

/// What happens when an occurrence's moment comes, or has passed unnoticed.
pub mod wake;

/// Which runs were missed while nothing ran, and which of them are delivered late.
pub mod misfire;

/// When a person must not be disturbed.
pub mod quiet;

/// Where a reminder goes, and whether anybody can receive it.
pub mod reach;

/// Who may answer a run by a button under its message.
pub mod sender;

/// Presses that come too late to mean anything.
pub mod stale;

/// Wait, go another way, or fail: how a run goes on that was not delivered.
pub mod route;

/// How long to wait before trying again.
pub mod retry;

/// An attempt that was cut off.
pub mod cut_off;

/// How far a reminder has come: which run comes next, and when it is over.
pub mod course;

/// When further people are asked because nobody answers, and who.
pub mod escalate;

/// Which reminders an event should have.
pub mod event;

/// Telling the admins what a critical reminder did not lead to.
pub mod alert;

/// What is said back to a person who wrote something.
pub mod say;

/// The text by which a reminder is found.
pub mod search;

/// Puts runs that waited through quiet hours into one message.
pub mod digest;

/// Instants as other systems' databases write them.
pub mod instant;
/// Taking a person out of what others have of them.
pub mod redact;
/// Which rows of an application are reminded of, and what a node that takes over does with what another had begun.
pub mod watch;
