//! Requests and answers of the API, as types that the server and its clients share.
//!
//! An answer is written and read by serde. A request is read by [`read`], which names the field that is wrong. What a field means is decided
//! behind the door, so these types hold words and instants, and nothing is checked here but its kind.

/// Requests read with errors that say where.
pub(crate) mod read;

/// Words of fixed lists.
mod word;

/// Texts that may also be written another way.
mod either;

/// How the types describe themselves where their shape does not say it.
mod schema;

/// Reminders.
mod reminder;

/// Runs of reminders.
mod occurrence;

/// Who is asked next when a person does not answer.
mod step;

/// What happened: the journal.
mod journal;

/// What a text says about time.
mod understood;

/// What went wrong.
mod problem;

/// The people reminders are for.
mod user;

/// People who belong together.
mod group;

/// Sending again what has failed.
mod resend;

/// Events of applications.
mod event;

/// Offsets for all events below a path.
mod scope;

/// Stretches of time in which some reminders are not sent.
mod silence;

/// Keys of the API.
mod key;

/// Ways to reach people.
mod calendar;
mod channel;

/// What another system was asked for.
mod import;

/// Lines that stand alone: everything out and in.
mod lines;

/// The server itself.
mod server;

/// What a person wrote.
mod said;

/// What narrows a call down.
mod query;

/// Watches: standing queries over applications' own tables.
mod watch;

pub(crate) use calendar::{
    Calendar, CalendarImportInput, CalendarImported, CalendarImportedItem, CalendarInput, Calendars,
};
pub(crate) use channel::{
    Channel, Channels, DeadAddress, DeadAddresses, Gate, Receives, Revive, Revived, Test, Tested, UnknownSender,
};
pub(crate) use either::{AddressInput, MisfireInput, OffsetInput, Span};
pub(crate) use event::{
    Event, EventBatch, EventInput, EventQuery, Events, EventsPut, Instance, InstanceInput, OfEvent, Planned,
};
pub(crate) use group::{Group, GroupInput, Groups};
pub(crate) use import::{
    Import, ImportInput, ImportItem, ImportOutcome, Imported, ImportedItem, ImportedRun, Send, Sends,
};
pub(crate) use journal::{Entry, Journal, JournalQuery, StreamEnd, StreamQuery, Subscription, Subscriptions};
pub(crate) use key::{Key, KeyInput, Keys};
pub(crate) use lines::{Adopt, AdoptInput, Adopted, Differs, ExportPage, ExportQuery, RefusedLine, Unreadable};
pub(crate) use occurrence::{Attempt, Occurrence, Occurrences, Response};
pub(crate) use problem::{CODES, FieldProblem, Problem, is_described};
pub(crate) use query::{PageQuery, ReminderQuery, SendsQuery, UserQuery};
pub(crate) use reminder::{
    Answer, Batch, Command, Created, Misfire, Reminder, ReminderInput, Reminders, Schedule, Warning,
};
pub(crate) use resend::{ResendInput, Resent};
pub(crate) use said::{Choice, Heard, InboundInput};
pub(crate) use scope::{Scope, ScopeInput, ScopeQuery, Scopes};
pub(crate) use server::{Alive, LinkAnswer, Ready, Settings, Stats};
pub(crate) use silence::{Silence, SilenceInput, SilenceQuery, Silences};
pub(crate) use step::{Escalated, Escalation, Step, StepInput};
pub(crate) use understood::{ParseInput, Understood, exact, runs};
pub(crate) use user::{CalendarAddress, EraseInput, Erased, QuietHours, QuietHoursInput, User, UserInput, Users};
pub(crate) use watch::{BadRow, RunQuery, TestedRow, Watch, WatchRun, WatchTest, Watches};
pub(crate) use word::Word;
