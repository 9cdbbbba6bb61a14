//! Requests and answers of the API, as types that the server and its clients share.
//!
//! What a field means is decided by the server, so these types hold words and instants, and nothing is checked here but its kind. An answer
//! may come from a newer server: fields that are not known here are left out, and words that are not known are kept as they came ([`Word`]).

/// Words of fixed lists.
mod word;

/// Texts that may also be written another way.
mod either;

/// How the types describe themselves where their shape does not say it.
#[cfg(feature = "openapi")]
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

/// The nodes that live.
mod node;

/// How late sends were.
mod lateness;

/// What a person wrote.
mod said;

/// What narrows a call down.
mod query;

/// Watches: standing queries over applications' own tables.
mod watch;

pub use calendar::{Calendar, CalendarImportInput, CalendarImported, CalendarImportedItem, CalendarInput, Calendars};
pub use channel::{
    Channel, Channels, DeadAddress, DeadAddresses, Gate, Outcomes, Receives, Revive, Revived, Test, Tested,
    UnknownSender,
};
pub use either::{AddressInput, MisfireInput, OffsetInput, Span};
pub use event::{
    Event, EventBatch, EventInput, EventQuery, Events, EventsPut, Instance, InstanceInput, OfEvent, Planned,
};
pub use group::{Group, GroupInput, Groups};
pub use import::{Import, ImportInput, ImportItem, ImportOutcome, Imported, ImportedItem, ImportedRun, Send, Sends};
pub use journal::{Entry, Journal, JournalQuery, StreamEnd, StreamQuery, Subscription, Subscriptions};
pub use key::{Caller, Key, KeyInput, Keys, ReplacedSecret, RotateInput, SignInLink};
pub use lateness::{Late, LateCount, LatePart, Lateness, LatenessQuery};
pub use lines::{Adopt, AdoptInput, Adopted, Differs, ExportPage, ExportQuery, RefusedLine, Unreadable};
pub use node::{Node, Nodes};
pub use occurrence::{Attempt, DueQuery, DueRun, DueRuns, Occurrence, Occurrences, Response};
pub use problem::{CODES, FieldProblem, Problem, is_described};
pub use query::{PageQuery, ReminderQuery, SendsQuery, UserQuery};
pub use reminder::{
    Answer, Batch, Command, Created, Misfire, Reminder, ReminderInput, Reminders, Schedule, Total, Warning,
};
pub use resend::{ResendInput, Resent};
pub use said::{Choice, Heard, InboundInput};
pub use scope::{Scope, ScopeInput, ScopeQuery, Scopes};
pub use server::{
    Alive, Database, JournalState, LinkAnswer, Ready, Setting, Settings, SettingsQuery, Stats, StatsQuery,
};
pub use silence::{Silence, SilenceInput, SilenceQuery, Silences};
pub use step::{Escalated, Escalation, NextAsked, Step, StepInput};
pub use understood::{ParseInput, Reading, Understood};
pub use user::{
    CalendarAddress, EraseInput, Erased, Habits, HabitsInput, QuietHours, QuietHoursInput, User, UserInput, Users,
};
pub use watch::{BadRow, RunQuery, TestedRow, Watch, WatchRun, WatchTest, Watches};
pub use word::{
    AttemptStatus, GroupMode, MisfirePolicy, NodeState, OccurrenceState, OnUnknown, Priority, QuietExcept,
    ReminderStatus, RunState, SendOutcome, WaitingFor, Word,
};
