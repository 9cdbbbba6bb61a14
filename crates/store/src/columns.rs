//! The columns of the tables that decisions write: their names, and how a value is bound, once for every store.
//!
//! A store makes its statements of these lists: how many rows go into one statement, and how, is its own business. What is read back
//! stands beside it in [`super::rows`].

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_core::event::{Event, OfEvent, Repeats, Slot};
use punctual_core::feed::Feed;
use punctual_core::group::Group;
use punctual_core::id::ReminderId;
use punctual_core::journal::{ENGINE, Entry, Placed};
use punctual_core::model::offset;
use punctual_core::occurrence::{Escalation, Occurrence};
use punctual_core::reminder::{Address, Reminder};
use punctual_core::rules::course::Series;
use punctual_core::scope::{Path, Scope};
use punctual_core::silence::Silence;
use punctual_core::step;
use punctual_core::store::{DeadAddress, Response};
use punctual_core::user::User;
use punctual_core::whole::{KeptReminder, KeptRun};
use punctual_core::writes::{EndedAttempt, Link, Marked, Moved, Planned, Stands};
use punctual_core::zone::Zone;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A reminder's id.
    Id,
    /// A number of at most two bytes.
    Small,
    /// A number of at most four bytes.
    Int,
    /// A number of at most eight bytes.
    Big,
    /// Yes or no.
    Flag,
    /// Words.
    Text,
    /// An instant.
    At,
}

/// What stands in a column.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// Nothing.
    Null,
    /// A reminder's id.
    Id(&'a [u8; 16]),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// Words.
    Text(Cow<'a, str>),
    /// An instant.
    At(Timestamp),
}

/// One column of rows made of `T`.
pub(crate) struct Column<T> {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) kind: Kind,
    /// Its value in a row.
    pub(crate) value: for<'a> fn(&'a T) -> Value<'a>,
    /// What an UPDATE sets it to, where that is not just the new value: `t` is the old row, `v` the new one.
    pub(crate) set: Option<&'static str>,
}

/// A table and the columns that one kind of statement writes. The first `n_keys` name a row.
pub(crate) struct Table<T: 'static> {
    /// Its name.
    pub(crate) name: &'static str,
    /// How many of its columns name a row.
    pub(crate) n_keys: usize,
    /// Its columns, those that name a row first.
    pub(crate) columns: &'static [Column<T>],
}

impl<T> Table<T> {
    /// The names of the columns, `before` before each.
    pub(crate) fn names(&self, before: &str) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| format!("{before}{}", column.name)).collect();
        names.join(", ")
    }

    /// What an UPDATE sets, from rows named `v`.
    pub(crate) fn sets(&self) -> String {
        let set = |column: &Column<T>| match column.set {
            Some(set) => format!("{} = {set}", column.name),
            None => format!("{0} = v.{0}", column.name),
        };
        let sets: Vec<String> = self.columns[self.n_keys..].iter().map(set).collect();
        sets.join(", ")
    }

    /// What an upsert sets where the row `t` is there already.
    pub(crate) fn upserts(&self) -> String {
        self.sets().replace("v.", "excluded.")
    }

    /// The names of the columns that name a row.
    pub(crate) fn keys(&self) -> String {
        let keys: Vec<&str> = self.columns[..self.n_keys].iter().map(|column| column.name).collect();
        keys.join(", ")
    }

    /// The condition that the old row `t` is the one named by the new row `v`.
    pub(crate) fn same(&self) -> String {
        let same = |column: &Column<T>| format!("t.{0} = v.{0}", column.name);
        let keys: Vec<String> = self.columns[..self.n_keys].iter().map(same).collect();
        keys.join(" and ")
    }
}

macro_rules! columns {
    ($($name:literal $kind:ident $(= $set:tt)?: $row:pat => $value:expr,)+) => {
        &[$(Column {
            name: $name,
            kind: Kind::$kind,
            value: |$row| Value::from($value),
            set: columns!(@set $($set)?),
        },)+]
    };
    (@set) => { None };
    (@set $set:tt) => { Some($set) };
}
pub(crate) use columns;

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value<'_> {
    /// Bit for bit: a set of addresses uses all of them, and a lease number never comes near.
    fn from(number: u64) -> Self {
        Self::Number(number as i64)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<u8> for Value<'_> {
    fn from(number: u8) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(at: Timestamp) -> Self {
        Self::At(at)
    }
}

impl<'a> From<&'a [u8; 16]> for Value<'a> {
    fn from(id: &'a [u8; 16]) -> Self {
        Self::Id(id)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Whole milliseconds; a span too long to be one was refused when the reminder was validated.
fn millis(span: std::time::Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// A reminder's own addresses as JSON; none is nothing.
fn route(to: &[Address]) -> Option<String> {
    // A list of two texts each always is JSON.
    (!to.is_empty()).then(|| serde_json::to_string(to).unwrap_or_default())
}

/// Texts as JSON.
fn list(texts: &[String]) -> String {
    // A list of texts always is JSON.
    serde_json::to_string(texts).unwrap_or_default()
}

/// Tags or groups as JSON; none is nothing.
fn tags(tags: &[String]) -> Option<String> {
    (!tags.is_empty()).then(|| list(tags))
}

/// The columns of a reminder, `$reminder` of a row, and `$more` of the same row.
macro_rules! reminder_columns {
    ($row:ident => $reminder:expr; $($more:tt)*) => {
        columns! {
            "id" Id: $row => $reminder.id.as_bytes(),
            "name" Text: $row => $reminder.name.as_deref(),
            "message" Text: $row => $reminder.message.as_str(),
            "schedule" Text: $row => $reminder.schedule.to_json().to_string(),
            "timezone" Text: $row => $reminder.timezone.name(),
            "priority" Small: $row => $reminder.priority.rank(),
            "route" Text: $row => route(&$reminder.to),
            "only_to" Flag: $row => $reminder.only,
            "ack_timeout" Big: $row => $reminder.ack.as_ref().map(|ack| millis(ack.timeout)),
            "ack_prompt" Text: $row => $reminder.ack.as_ref().and_then(|ack| ack.prompt.as_deref()),
            "ack_reminders_max" Int: $row => $reminder.ack.as_ref().map_or(0, |ack| ack.reminders_max),
            "escalate" Text: $row => step::to_stored(&$reminder.escalate),
            "snooze_allowed" Flag: $row => $reminder.snooze_allowed,
            "retries_max" Int: $row => $reminder.retries_max,
            "misfire" Text: $row => $reminder.misfire.policy.as_str(),
            "misfire_within" Big: $row => millis($reminder.misfire.within),
            "on_unknown" Text: $row => $reminder.on_unknown.as_str(),
            "metadata" Text: $row => $reminder.metadata.as_str(),
            "tags" Text: $row => tags(&$reminder.tags),
            "event" Text: $row => $reminder.event.as_ref().map(OfEvent::to_stored),
            "user_id" Text: $row => $reminder.user.as_str(),
            "created_via" Text: $row => $reminder.created_via.as_str(),
            "original_text" Text: $row => $reminder.original_text.as_deref(),
            "escalates_run" Int: $row => $reminder.escalates.map(|run| run.run),
            "escalates_id" Id: $row => $reminder.escalates.as_ref().map(|run| run.reminder.as_bytes()),
            "status" Text: $row => $reminder.status.as_str(),
            "created_at" At: $row => $reminder.created_at,
            "updated_at" At: $row => $reminder.updated_at,
            $($more)*
        }
    };
}

/// A new reminder's columns: its id, what a command can change, and what stays or moves by itself.
const REMINDER: &[Column<Reminder>] = reminder_columns! { r => r;
    "last_run" Int: r => Series::begun(r.schedule.is_recurring()).last_run,
    "carried_by" Int: r => Series::begun(r.schedule.is_recurring()).carried_by,
    "planned" Big: r => Series::begun(r.schedule.is_recurring()).planned,
};

/// A reminder that an import writes, with how far it has come.
pub(crate) static KEPT_REMINDER: Table<KeptReminder> = Table {
    name: "reminder",
    n_keys: 1,
    columns: reminder_columns! { k => k.reminder;
        "last_run" Int: k => k.progress.series.last_run,
        "carried_by" Int: k => k.progress.series.carried_by,
        "planned" Big: k => k.progress.series.planned,
        "last_run_at" At: k => k.progress.tally.last_run_at,
        "last_status" Text: k => k.progress.tally.last_status.as_ref().map(|kind| kind.as_str()),
        "total_runs" Int: k => k.progress.tally.total_runs,
        "consecutive_errors" Int: k => k.progress.tally.consecutive_errors,
    },
};

/// How many of them, the id among them, are fields that a command can change.
const N_FIELDS: usize = 20;

/// All that a new reminder has.
pub(crate) static NEW_REMINDER: Table<Reminder> = Table { name: "reminder", n_keys: 1, columns: REMINDER };

/// A reminder's fields that a command can change.
pub(crate) static REMINDER_FIELDS: Table<Reminder> =
    Table { name: "reminder", n_keys: 1, columns: REMINDER.split_at(N_FIELDS).0 };

/// When that was asked for which an event is to be planned for: now, or before if it was not planned since.
macro_rules! asked_at {
    ($event:literal, $now:literal) => {
        concat!(
            "case when ",
            $event,
            "planned or ",
            $event,
            "asked_at is null then ",
            $now,
            " else ",
            $event,
            "asked_at end"
        )
    };
}
const ASKED_AT: &str = asked_at!("t.", "v.asked_at");

/// What marks an event to be planned at `$1`, as an UPDATE sets it; [`MARKED`] says the same of events by their keys, [`EVENT`] of those that
/// somebody has put, and `functions/marked.sql` of those that SQL has changed.
pub(crate) const MARK: &str = concat!("planned = false, plan_at = $1, asked_at = ", asked_at!("", "$1"));

/// An event as somebody put it. It is to be planned.
pub(crate) static EVENT: Table<Event> = Table {
    name: "event",
    n_keys: 1,
    columns: columns! {
        "key" Text: e => e.key.as_str(),
        "starts_at" At: e => e.starts_at,
        "ends_at" At: e => e.ends_at,
        "repeats" Text: e => e.repeats.as_ref().map(Repeats::to_stored),
        "offsets" Text: e => e.offsets.as_deref().map(offset::to_stored),
        "scope" Text: e => e.scope.as_ref().map(Path::as_str),
        "users" Text: e => list(&e.users),
        "groups" Text: e => tags(&e.groups),
        "name" Text: e => e.name.as_deref(),
        "message" Text: e => e.message.as_str(),
        "timezone" Text: e => e.timezone.as_ref().map(|zone| zone.name()),
        "priority" Small: e => e.priority.rank(),
        "route" Text: e => route(&e.to),
        "only_to" Flag: e => e.only,
        "ack_timeout" Big: e => e.ack.as_ref().map(|ack| millis(ack.timeout)),
        "ack_prompt" Text: e => e.ack.as_ref().and_then(|ack| ack.prompt.as_deref()),
        "ack_reminders_max" Int: e => e.ack.as_ref().map_or(0, |ack| ack.reminders_max),
        "escalate" Text: e => step::to_stored(&e.escalate),
        "snooze_allowed" Flag: e => e.snooze_allowed,
        "retries_max" Int: e => e.retries_max,
        "misfire" Text: e => e.misfire.policy.as_str(),
        "misfire_within" Big: e => millis(e.misfire.within),
        "on_unknown" Text: e => e.on_unknown.as_str(),
        "metadata" Text: e => e.metadata.as_str(),
        "tags" Text: e => tags(&e.tags),
        "source" Text: e => e.source.as_deref(),
        "created_at" At: e => e.created_at,
        "updated_at" At: e => e.updated_at,
        "removed" Flag: _e => false,
        "asked_at" At = ASKED_AT: e => e.updated_at,
        "planned" Flag: _e => false,
        "plan_at" At: e => e.updated_at,
        "planned_until" At: _e => None::<Timestamp>,
        "error" Text: _e => None::<&str>,
    },
};

/// An event that is to be planned, though nothing about it was changed.
pub(crate) static MARKED: Table<Marked> = Table {
    name: "event",
    n_keys: 1,
    columns: columns! {
        "key" Text: m => m.key.as_str(),
        "asked_at" At = ASKED_AT: m => m.at,
        "planned" Flag: _m => false,
        "plan_at" At: m => m.at,
    },
};

/// How far planning an event has come.
pub(crate) static STANDS: Table<Stands> = Table {
    name: "event",
    n_keys: 1,
    columns: columns! {
        "key" Text: s => s.key.as_str(),
        "removed" Flag: s => s.removed,
        "planned" Flag: s => s.planned,
        "plan_at" At: s => s.plan_at,
        "planned_until" At: s => s.planned_until,
        "error" Text: s => s.error.as_deref(),
    },
};

/// A slot with its reminder.
pub(crate) static LINK: Table<Link> = Table {
    name: "event_reminder",
    n_keys: 4,
    columns: columns! {
        "event_key" Text: l => l.slot.event.as_str(),
        "instance" Text: l => l.slot.instance.as_str(),
        "offset_word" Text: l => l.slot.offset.word(),
        "user_id" Text: l => l.slot.user.as_str(),
        "due_at" At: l => l.due_at,
        "reminder_id" Id: l => l.reminder.as_bytes(),
    },
};

/// A slot, by its name.
pub(crate) static SLOT: Table<Slot> = Table {
    name: "event_reminder",
    n_keys: 4,
    columns: columns! {
        "event_key" Text: s => s.event.as_str(),
        "instance" Text: s => s.instance.as_str(),
        "offset_word" Text: s => s.offset.word(),
        "user_id" Text: s => s.user.as_str(),
    },
};

/// A scope.
pub(crate) static SCOPE: Table<Scope> = Table {
    name: "scope",
    n_keys: 1,
    columns: columns! {
        "path" Text: s => s.path.as_str(),
        "offsets" Text: s => offset::to_stored(&s.offsets),
        "updated_at" At: s => s.updated_at,
    },
};

/// How far a reminder has come.
pub(crate) static MOVED: Table<Moved> = Table {
    name: "reminder",
    n_keys: 1,
    columns: columns! {
        "id" Id: m => m.reminder.as_bytes(),
        "status" Text: m => m.status.as_str(),
        "updated_at" At = "coalesce(v.updated_at, t.updated_at)": m => m.changed_at,
        "last_run" Int: m => m.progress.series.last_run,
        "carried_by" Int: m => m.progress.series.carried_by,
        "planned" Big: m => m.progress.series.planned,
        "last_run_at" At: m => m.progress.tally.last_run_at,
        "last_status" Text: m => m.progress.tally.last_status.as_ref().map(|kind| kind.as_str()),
        "total_runs" Int: m => m.progress.tally.total_runs,
        "consecutive_errors" Int: m => m.progress.tally.consecutive_errors,
    },
};

/// The columns of a run, `$run` of a row, and `$more` of the same row.
macro_rules! run_columns {
    ($row:ident => $run:expr; $($more:tt)*) => {
        columns! {
            "reminder_id" Id: $row => $run.id.reminder.as_bytes(),
            "run" Int: $row => $run.id.run,
            "due_at" At: $row => $run.due_at,
            "made_for" At: $row => $run.moved_from(),
            "state" Text: $row => $run.state.kind().as_str(),
            "wake_at" At: $row => $run.wake_at(),
            "own_at" At: $row => $run.own_at(),
            "escalation" Text: $row => $run.escalation.map(|escalation| escalation.kind().as_str()),
            "escalate_at" At: $row => $run.escalation.map(Escalation::kept_at),
            "at" At: $row => $run.state.kept_at(),
            "error" Text: $row => $run.state.error(),
            "waits_for" Text: $row => $run.state.waits_for().as_ref().map(|why| why.as_str()),
            "node" Text: $row => $run.state.lease().map(|lease| &*lease.node),
            "channel" Text: $row => $run.state.sending().map(|sending| sending.to.channel.as_str()),
            "address" Text: $row => $run.state.sending().map(|sending| sending.to.address.as_str()),
            "message_id" Text: $row => $run.state.sending().and_then(|sending| sending.message_id.as_deref()),
            "readdressed" Flag: $row => $run.state.sending().is_some_and(|sending| sending.readdressed),
            "attempts" Int: $row => $run.tries.attempts,
            "rounds" Int: $row => $run.tries.rounds,
            "position" Int: $row => $run.tries.position,
            "refused" Big: $row => $run.tries.refused,
            "asks" Int: $row => $run.tries.asks,
            "reached" Int: $row => $run.tries.reached,
            "at_once" Flag: $row => $run.at_once,
            $($more)*
        }
    };
}

/// A run that has changed. The number of its last lease stays when it has none: a node that still believes in it is refused.
pub(crate) static OCCURRENCE: Table<Occurrence> = Table {
    name: "occurrence",
    n_keys: 2,
    columns: run_columns! { o => o;
        "lease" Big = "coalesce(v.lease, t.lease)": o => o.state.lease().map(|lease| lease.number),
    },
};

/// A run that an import writes.
pub(crate) static KEPT_RUN: Table<KeptRun> = Table {
    name: "occurrence",
    n_keys: 2,
    columns: run_columns! { k => k.occurrence;
        "lease" Big: k => k.lease,
        "asked" Text: k => k.occurrence.state.asked(),
        "priority" Small: k => k.priority.rank(),
        "shard" Small: k => k.shard,
    },
};

/// A new run.
pub(crate) static PLANNED: Table<Planned> = Table {
    name: "occurrence",
    n_keys: 2,
    columns: columns! {
        "reminder_id" Id: p => p.occurrence.id.reminder.as_bytes(),
        "run" Int: p => p.occurrence.id.run,
        "due_at" At: p => p.occurrence.due_at,
        "state" Text: p => p.occurrence.state.kind().as_str(),
        "wake_at" At: p => p.occurrence.wake_at(),
        "at" At: p => p.occurrence.state.kept_at(),
        "at_once" Flag: p => p.occurrence.at_once,
        "priority" Small: p => p.priority.rank(),
        "shard" Small: p => p.shard,
    },
};

/// An attempt that has ended.
pub(crate) static ATTEMPT: Table<EndedAttempt> = Table {
    name: "attempt",
    n_keys: 3,
    columns: columns! {
        "reminder_id" Id: a => a.occurrence.reminder.as_bytes(),
        "run" Int: a => a.occurrence.run,
        "number" Int: a => a.attempt.number,
        "channel" Text: a => a.attempt.channel.as_str(),
        "address" Text: a => a.attempt.address.as_str(),
        "status" Text: a => a.attempt.status.as_str(),
        "started_at" At: a => a.attempt.started_at,
        "ended_at" At: a => a.attempt.ended_at,
        "error" Text: a => a.attempt.error.as_deref(),
        "message_id" Text: a => a.attempt.message_id.as_deref(),
        "key" Text: a => a.attempt.key.as_deref(),
    },
};

/// An address that its platform calls dead.
pub(crate) static DEAD_ADDRESS: Table<DeadAddress> = Table {
    name: "dead_address",
    n_keys: 2,
    columns: columns! {
        "channel" Text: d => d.address.channel.as_str(),
        "address" Text: d => d.address.address.as_str(),
        "since" At: d => d.since,
        "reason" Text: d => d.reason.as_str(),
    },
};

/// What platforms have told of attempts.
pub(crate) static REPORTED: Table<EndedAttempt> = Table {
    name: "attempt",
    n_keys: 3,
    columns: columns! {
        "reminder_id" Id: e => e.occurrence.reminder.as_bytes(),
        "run" Int: e => e.occurrence.run,
        "number" Int: e => e.attempt.number,
        "status" Text: e => e.attempt.status.as_str(),
        "error" Text: e => e.attempt.error.as_deref(),
    },
};

/// What a person answered.
pub(crate) static RESPONSE: Table<Response> = Table {
    name: "response",
    n_keys: 0,
    columns: columns! {
        "reminder_id" Id: r => r.occurrence.reminder.as_bytes(),
        "run" Int: r => r.occurrence.run,
        "kind" Text: r => r.verb.as_str(),
        "at" At: r => r.at,
        "actor" Text: r => r.actor.as_str(),
        "until" At: r => r.until,
        "snooze_minutes" Int: r => r.snooze_minutes,
        "user_id" Text: r => r.user.as_deref(),
        "text" Text: r => r.said.text.as_deref(),
        "channel" Text: r => r.said.channel.as_deref(),
        "name" Text: r => r.said.name.as_deref(),
    },
};

/// Something that happened.
pub(crate) static ENTRY: Table<Entry> = Table {
    name: "journal",
    n_keys: 0,
    columns: columns! {
        "at" At: e => e.at,
        "reminder_id" Id: e => e.reminder.as_ref().map(ReminderId::as_bytes),
        "run" Int: e => e.run,
        "kind" Text: e => e.kind.as_str(),
        "user_id" Text: e => e.user.as_deref(),
        "actor" Text: e => e.who.actor.as_deref(),
        "via" Text: e => e.who.via.as_deref(),
        "data" Text: e => e.data_json(),
    },
};

/// Something that happened elsewhere.
pub(crate) static PLACED: Table<Placed> = Table {
    name: "journal",
    n_keys: 0,
    columns: columns! {
        "at" At: e => e.at,
        "reminder_id" Id: e => e.reminder.as_ref().map(ReminderId::as_bytes),
        "run" Int: e => e.run,
        "kind" Text: e => e.kind.as_str(),
        "user_id" Text: e => e.user.as_deref(),
        "actor" Text: e => (e.actor != ENGINE).then_some(e.actor.as_str()),
        "via" Text: e => e.via.as_deref(),
        "data" Text: e => e.data.as_deref(),
    },
};

/// A person.
pub(crate) static USER: Table<User> = Table {
    name: "user",
    n_keys: 1,
    columns: columns! {
        "id" Text: u => u.id.as_str(),
        "timezone" Text: u => u.timezone.as_ref().map(Zone::name),
        "language" Text: u => u.language.as_deref(),
        // A list of two texts each always is JSON.
        "addresses" Text: u => serde_json::to_string(&u.addresses).unwrap_or_default(),
        "quiet_from" Text: u => u.quiet_hours.map(|quiet| quiet.from.to_string()),
        "quiet_to" Text: u => u.quiet_hours.map(|quiet| quiet.to.to_string()),
        "quiet_except" Text: u => u.quiet_hours.map(|quiet| quiet.except.as_str()),
        "quiet_digest" Flag: u => u.quiet_hours.is_some_and(|quiet| quiet.digest),
        "paused_until" At: u => u.paused_until,
        "escalate" Text: u => step::to_stored(&u.escalate),
        "habits" Text: u => u.habits.to_stored(),
        "admin" Flag: u => u.admin,
        "created_at" At: u => u.created_at,
        "updated_at" At: u => u.updated_at,
    },
};

/// People who belong together.
pub(crate) static GROUP: Table<Group> = Table {
    name: "user_group",
    n_keys: 1,
    columns: columns! {
        "name" Text: g => g.name.as_str(),
        "mode" Text: g => g.mode.as_str(),
        // A list of texts always is JSON.
        "users" Text: g => serde_json::to_string(&g.users).unwrap_or_default(),
        "rota" Text: g => g.rota.as_deref(),
        "created_at" At: g => g.created_at,
        "updated_at" At: g => g.updated_at,
    },
};

/// A calendar that a user follows, without how far reading it has come.
pub(crate) static FOLLOWED: Table<Feed> = Table {
    name: "feed",
    n_keys: 2,
    columns: columns! {
        "owner" Text: f => f.key.owner.as_str(),
        "name" Text: f => f.key.name.as_str(),
        "source" Text: f => f.source.as_str(),
        "settings" Text: f => f.settings.to_stored(),
        "every" Big: f => f.every.as_secs(),
        "created_at" At: f => f.created_at,
    },
};

/// What of a followed calendar could not be read.
pub(crate) static FEED_PROBLEMS: Table<Feed> = Table {
    name: "feed",
    n_keys: 3,
    columns: columns! {
        "kind" Text: f => f.key.kind.as_str(),
        "owner" Text: f => f.key.owner.as_str(),
        "name" Text: f => f.key.name.as_str(),
        "problem" Text: f => f.problem.as_deref(),
        "problems" Text: f => (!f.problems.is_empty()).then(|| serde_json::to_string(&f.problems).unwrap_or_default()),
    },
};

/// A silence.
pub(crate) static SILENCE: Table<Silence> = Table {
    name: "silence",
    n_keys: 1,
    columns: columns! {
        "id" Id: s => s.id.as_bytes(),
        "user_id" Text: s => s.user.as_deref(),
        "group_name" Text: s => s.group.as_deref(),
        "tag" Text: s => s.tag.as_deref(),
        "from_at" At: s => s.from,
        "until_at" At: s => s.until,
        "created_at" At: s => s.created_at,
        "created_by" Text: s => s.created_by.as_str(),
    },
};
