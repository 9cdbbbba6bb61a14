//! The journal: everything that happened, an entry each.
//!
//! A decision returns the [`Entry`]s of what it decided, and they are written in its transaction. An entry gets its position in the
//! journal after that commit ([`Placed`]), so positions are the order in which things were committed.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_time::words;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::decide::calendar::Changes;
use crate::id::{OccurrenceId, ReminderId};
use crate::model::version::Expects;
use crate::occurrence::{Attempt, AttemptStatus, Why};
use crate::store::{NewReminder, Response};

/// The actor of what the engine does by itself.
pub const ENGINE: &str = "engine";

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A reminder was made.
    Created,
    /// Somebody changed, paused, resumed, skipped or fired it.
    Changed,
    /// Somebody cancelled it.
    Cancelled,
    /// A message was sent.
    Sent,
    /// A run was given up.
    Failed,
    /// An attempt failed, and the run goes on.
    AttemptFailed,
    /// A run was left out because its instant had passed.
    Missed,
    /// A run waits because its person must not be disturbed.
    Waiting,
    /// A person said: done.
    Acknowledged,
    /// A person said: later.
    Snoozed,
    /// A person said: not needed.
    Dismissed,
    /// A person never answered.
    Unanswered,
    /// The next person was asked, because nobody had answered.
    Escalated,
    /// The admins were told of a critical reminder.
    Alerted,
    /// A person's entry was written or removed.
    UserChanged,
    /// A person was removed everywhere.
    UserErased,
    /// A group was written or removed.
    GroupChanged,
    /// Reminders were silenced for a while.
    SilenceCreated,
    /// Somebody ended a silence.
    SilenceDeleted,
    /// A key was made.
    KeyCreated,
    /// A key was removed.
    KeyDeleted,
    /// A key got another secret.
    KeyRotated,
    /// A calendar that is read was put or removed.
    CalendarChanged,
    /// A calendar was read, and was another than before.
    CalendarRead,
    /// A calendar could not be read.
    CalendarFailed,
    /// Somebody tried a channel.
    ChannelTest,
    /// Somebody signed in to the page or out of it, or could not.
    SignIn,
    /// An event was written, changed or removed.
    EventChanged,
    /// An event's reminders were planned.
    EventPlanned,
    /// A watch looked at its rows.
    WatchRun,
    /// A watch was defined, replaced or removed.
    WatchChanged,
    /// An event cannot be planned.
    EventFailed,
    /// A scope was written or removed.
    ScopeChanged,
}

words!(Kind as "kind" {
    "reminder.created" => Created, "reminder.changed" => Changed, "reminder.cancelled" => Cancelled,
    "reminder.sent" => Sent, "reminder.failed" => Failed, "attempt.failed" => AttemptFailed, "reminder.missed" => Missed,
    "reminder.waiting" => Waiting, "reminder.acknowledged" => Acknowledged, "reminder.snoozed" => Snoozed,
    "reminder.dismissed" => Dismissed, "reminder.unanswered" => Unanswered, "reminder.escalated" => Escalated,
    "reminder.alerted" => Alerted, "user.changed" => UserChanged, "user.erased" => UserErased, "group.changed" => GroupChanged,
    "silence.created" => SilenceCreated, "silence.deleted" => SilenceDeleted, "key.created" => KeyCreated, "key.deleted" => KeyDeleted,
    "key.rotated" => KeyRotated,
    "calendar.changed" => CalendarChanged, "calendar.read" => CalendarRead, "calendar.failed" => CalendarFailed,
    "channel.test" => ChannelTest, "sign_in" => SignIn, "event.changed" => EventChanged, "event.planned" => EventPlanned,
    "event.failed" => EventFailed, "scope.changed" => ScopeChanged, "watch.run" => WatchRun, "watch.changed" => WatchChanged,
});

/// Who did something, or asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// By name; `None` is the engine.
    pub actor: Option<Arc<str>>,
    /// The id of the key that they used.
    pub key: Option<Arc<str>>,
    /// Through which door.
    pub via: Option<Arc<str>>,
    /// What they take to be there before they change it: a condition of the change, and nothing that the journal keeps.
    pub expects: Expects,
}

impl Who {
    /// The engine.
    pub const ENGINE: Self = Self { actor: None, key: None, via: None, expects: Expects::Anything };

    /// The name by which people know them.
    pub fn name(&self) -> &str {
        self.actor.as_deref().unwrap_or(ENGINE)
    }

    /// The same, through this door.
    #[must_use]
    pub fn via(&self, door: &str) -> Self {
        Self { via: Some(door.into()), ..self.clone() }
    }
}

impl From<&str> for Who {
    fn from(actor: &str) -> Self {
        Self { actor: Some(actor.into()), key: None, via: None, expects: Expects::Anything }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: Kind,
    /// By whom.
    pub who: Who,
    /// Whose it is: a key that is bound to a user sees that user's entries and no others.
    pub user: Option<String>,
    /// About which reminder.
    pub reminder: Option<ReminderId>,
    /// About which run of it.
    pub run: Option<u32>,
    /// What else there is to know. No address: it may be a secret.
    pub data: Data,
}

impl Entry {
    /// Something that the engine did to a run of `user`'s.
    pub(crate) fn of_engine(at: Timestamp, kind: Kind, id: OccurrenceId, user: Option<&str>, data: Data) -> Self {
        let (user, reminder, run) = (user.map(str::to_owned), Some(id.reminder), Some(id.run));
        Self { at, kind, who: Who::ENGINE, user, reminder, run, data }
    }

    /// Somebody tried `channel` for `user`, and this became of it.
    pub fn channel_test(at: Timestamp, who: Who, user: &str, channel: &str, outcome: String) -> Self {
        let data = Data::Test { channel: channel.to_owned(), outcome };
        Self { at, kind: Kind::ChannelTest, who, user: Some(user.to_owned()), reminder: None, run: None, data }
    }

    /// Somebody signed in to the page or out of it: `did` says which, `with` what they showed. One whose key is not known is nobody.
    pub fn sign_in(at: Timestamp, who: Who, user: Option<&str>, did: &'static str, with: Option<&'static str>) -> Self {
        let (kind, data) = (Kind::SignIn, Data::SignIn { did, with });
        Self { at, kind, who, user: user.map(str::to_owned), reminder: None, run: None, data }
    }

    /// The data as a store keeps it: a JSON object, with the id of the key that was used; `None` where there is nothing to know.
    pub fn data_json(&self) -> Option<String> {
        // These types have no map and no number that JSON could not say.
        let data = match &self.data {
            Data::None => None,
            data => serde_json::to_string(data).ok(),
        };
        let Some(key) = &self.who.key else { return data };
        let key = serde_json::to_string(&**key).unwrap_or_default();
        Some(match data {
            None => format!("{{\"key\":{key}}}"),
            Some(data) => format!("{{\"key\":{key},{}", &data[1..]),
        })
    }
}

/// What there is to know about an entry besides what every entry has.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Data {
    /// Nothing.
    #[default]
    None,
    /// Somebody came to the page, or left it.
    SignIn {
        /// `in`, `out`, `out_everywhere` or `refused`.
        did: &'static str,
        /// What they showed: `key` or `link`.
        #[serde(skip_serializing_if = "Option::is_none")]
        with: Option<&'static str>,
    },
    /// A command.
    Did {
        /// Its verb.
        did: &'static str,
        /// The fields that have another value now.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        fields: Vec<&'static str>,
    },
    /// The runs that a cancel ended.
    Ended(Ended),
    /// An attempt that has ended.
    Attempt {
        /// Where to.
        channel: String,
        /// Which try of the run.
        attempt: u32,
        /// What became of it, where it was not just sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// When the run goes on.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_instant")]
        next_at: Option<Timestamp>,
        /// The key of the message that it went out in together with others.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// A run that ended without an attempt.
    Failed {
        /// Why.
        error: String,
    },
    /// A person's answer.
    Answer {
        /// In their own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Where they gave it.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        /// By how many minutes it was put off.
        #[serde(skip_serializing_if = "Option::is_none")]
        minutes: Option<u32>,
        /// Until when.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_instant")]
        until: Option<Timestamp>,
        /// Who answered, if it was a user.
        #[serde(skip_serializing_if = "Option::is_none")]
        by_user: Option<String>,
        /// What they call themselves there.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Runs that were missed together, of which the entry names the first.
    Missed {
        /// How many.
        runs: u64,
    },
    /// A run that was put off.
    Wait {
        /// Why its person must not be disturbed.
        #[serde(serialize_with = "word")]
        why: Why,
        /// Until when.
        until: Timestamp,
        /// When it was due.
        from: Timestamp,
        /// Runs of the series until then are left out.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        series_waits: bool,
    },
    /// Admins who were told.
    Told {
        /// What they were told.
        news: &'static str,
        /// Who they are.
        to: Vec<String>,
    },
    /// Further people who are asked because nobody answered.
    Escalated {
        /// `unanswered`, or `failed`.
        why: &'static str,
        /// Who they are, in order.
        to: Vec<AskedNext>,
        /// The groups that there are not, and those of which nobody is asked, with the reason after a colon.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        unknown: Vec<String>,
    },
    /// A question that ended because of what another of those who were asked did.
    Withdrawn {
        /// What they did, as a verb.
        did: &'static str,
        /// Who.
        by_user: String,
    },
    /// A person's entry that was written.
    Fields {
        /// The fields that have another value now.
        fields: Vec<&'static str>,
    },
    /// A person's entry that was removed.
    Deleted {
        /// Yes.
        deleted: bool,
    },
    /// A person who was removed everywhere.
    Erased {
        /// How many reminders they had.
        reminders: u64,
        /// How many records of others they stood in.
        records: u64,
    },
    /// A group.
    Group {
        /// Its name.
        group: String,
        /// Its users; none of one that was removed.
        users: Vec<String>,
        /// It was removed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        deleted: bool,
    },
    /// A silence.
    Silence {
        /// Its id.
        silence: String,
        /// Only for the users of this group.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Only for reminders with this tag.
        #[serde(skip_serializing_if = "Option::is_none")]
        tag: Option<String>,
        /// When it begins.
        #[serde(serialize_with = "instant")]
        from: Timestamp,
        /// When it ends, or was to end.
        #[serde(serialize_with = "instant")]
        until: Timestamp,
    },
    /// An event that was written, changed or removed.
    Event {
        /// Its key.
        event: String,
        /// When it starts.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_instant")]
        starts_at: Option<Timestamp>,
        /// When it was to start before.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_instant")]
        was: Option<Timestamp>,
        /// It was not there before.
        #[serde(rename = "new", skip_serializing_if = "std::ops::Not::not")]
        is_new: bool,
        /// The instance of a series that was changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        instance: Option<String>,
        /// The instances that the series does not have any more, and that something was different about.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
        /// It was removed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        deleted: bool,
    },
    /// An event whose reminders were planned.
    EventPlanned {
        /// Its key.
        event: String,
        /// When it starts; none once it was removed.
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "maybe_instant")]
        starts_at: Option<Timestamp>,
        /// Reminders that are to come.
        planned: u32,
        /// Reminders that were made.
        #[serde(skip_serializing_if = "is_zero")]
        made: u32,
        /// Reminders that were changed or moved.
        #[serde(skip_serializing_if = "is_zero")]
        moved: u32,
        /// Reminders that were withdrawn.
        #[serde(skip_serializing_if = "is_zero")]
        withdrawn: u32,
        /// Instances that passed while nobody could plan them.
        #[serde(skip_serializing_if = "is_zero")]
        missed: u32,
    },
    /// An event that cannot be planned.
    EventFailed {
        /// Its key.
        event: String,
        /// Why.
        error: String,
    },
    /// A scope.
    Scope {
        /// Its path.
        scope: String,
        /// Its offsets.
        offsets: Vec<serde_json::Value>,
        /// How many events are planned anew because of it.
        events: u64,
        /// It was removed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        deleted: bool,
    },
    /// A key.
    Key {
        /// Its name for machines.
        id: String,
        /// Its name for people.
        name: String,
        /// The only user it sees.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// The only channels it sends by and sees.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        channels: Vec<String>,
        /// What it may do.
        scopes: Vec<&'static str>,
        /// Until when the secret before a rotation works.
        #[serde(skip_serializing_if = "Option::is_none")]
        replaced_until: Option<Timestamp>,
    },
    /// A calendar that is read.
    Calendar {
        /// What its owner calls it, or `group:NAME` of a rota.
        calendar: String,
        /// It was removed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        deleted: bool,
        /// How many of its items are new, changed and gone.
        #[serde(flatten)]
        changes: Option<Changes>,
        /// What of it could not be read.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
        /// Why it could not be read at all.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A trial of a channel.
    Test {
        /// Which channel.
        channel: String,
        /// What became of it.
        outcome: String,
    },
    /// A reminder of an application's row.
    Watched {
        /// Which watch.
        watch: String,
        /// The row's key.
        row: String,
        /// Which run of the watch.
        watch_run: String,
    },
    /// A watch that was defined or removed.
    Watch {
        /// Which.
        watch: String,
        /// `defined`, `replaced` or `forgotten`.
        did: &'static str,
    },
    /// A run of a watch that has ended.
    WatchRun(Box<WatchEnded>),
}

/// A run of a watch that has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WatchEnded {
    /// Which watch.
    pub watch: String,
    /// Which run.
    pub run: String,
    /// Somebody asked for it.
    pub asked: bool,
    /// How it ended.
    pub state: &'static str,
    /// Rows that were due and not reminded of.
    pub seen: u64,
    /// Rows whose reminder was made.
    pub sent: u64,
    /// Rows that somebody else had dealt with.
    pub skipped: u64,
    /// Bad rows.
    pub failed: u64,
    /// Tries that were made again.
    pub retried: u64,
    /// How long it took, on whichever nodes.
    pub seconds: f64,
    /// How long the last node read the application's rows,
    pub reading_seconds: f64,
    /// marked them,
    pub marking_seconds: f64,
    /// and wrote their reminders.
    pub writing_seconds: f64,
    /// How often another node took it over.
    #[serde(skip_serializing_if = "is_zero")]
    pub taken_over: u64,
    /// The first bad rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<String>,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero<N: PartialEq + From<u8>>(number: &N) -> bool {
    *number == N::from(0)
}

/// What a cancel ended: all that an undo needs to know beside the runs themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The runs, by number.
    pub runs: Vec<u32>,
    /// The run of them that carried the series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_by: Option<u32>,
    /// The reminder was paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// A run of it was still to be planned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unplanned: bool,
}

impl Ended {
    /// Reads the data of an entry of [`Kind::Cancelled`]; `None` for one that is not about a whole reminder.
    pub fn read(data: Option<&str>) -> Option<Self> {
        serde_json::from_str(data?).ok()
    }
}

/// An instant in microseconds, as every store keeps it.
fn instant<S: serde::Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(*at).serialize(to)
}

fn maybe_instant<S: serde::Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => instant(at, to),
        None => to.serialize_none(),
    }
}

/// Somebody who is asked in another's place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskedNext {
    /// Who.
    pub user: String,
    /// When.
    #[serde(serialize_with = "instant")]
    pub due_at: Timestamp,
    /// Their own reminder.
    pub reminder_id: String,
}

impl From<&NewReminder> for AskedNext {
    fn from(new: &NewReminder) -> Self {
        let NewReminder { reminder, first_due_at } = new;
        Self { user: reminder.user.clone(), due_at: *first_due_at, reminder_id: reminder.id.to_string() }
    }
}

fn word<S: serde::Serializer>(why: &Why, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(why.as_str())
}

impl Data {
    /// An attempt that has ended; its run goes on at `next_at`.
    pub(crate) fn of_attempt(attempt: &Attempt, next_at: Option<Timestamp>) -> Self {
        let is_sent = attempt.status == AttemptStatus::Sent;
        Self::Attempt {
            channel: attempt.channel.clone(),
            attempt: attempt.number,
            status: (!is_sent).then(|| attempt.status.as_str()),
            error: attempt.error.clone(),
            next_at: next_at.filter(|_| !is_sent),
            digest: attempt.key.clone(),
        }
    }

    /// What a person answered.
    pub(crate) fn of_answer(response: &Response) -> Self {
        Self::Answer {
            text: response.said.text.clone(),
            channel: response.said.channel.clone(),
            minutes: response.snooze_minutes,
            until: response.until,
            by_user: response.user.clone(),
            name: response.said.name.clone(),
        }
    }
}

/// An entry that has its place in the journal, as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its position: entries rise in the order of their commits.
    pub position: i64,
    /// When it happened.
    pub at: Timestamp,
    /// What it is about: a [`Kind`], or a word that a later version of this program wrote.
    pub kind: String,
    /// By whom: [`ENGINE`], or a name.
    pub actor: String,
    /// Through which door.
    pub via: Option<String>,
    /// Which node wrote it.
    pub node: Option<String>,
    /// Whose it is.
    pub user: Option<String>,
    /// About which reminder.
    pub reminder: Option<ReminderId>,
    /// About which run of it.
    pub run: Option<u32>,
    /// What else there is to know: a JSON object.
    pub data: Option<String>,
}

impl Placed {
    /// The run that it is about.
    pub fn occurrence(&self) -> Option<OccurrenceId> {
        Some(OccurrenceId { reminder: self.reminder?, run: self.run? })
    }

    /// Whether fields of the reminder or the person have another value since: `fields` of [`Data::Did`] and [`Data::Fields`].
    pub fn has_changed_fields(&self) -> bool {
        #[derive(Deserialize)]
        struct Changed {
            fields: Vec<IgnoredAny>,
        }
        let changed = self.data.as_deref().and_then(|data| serde_json::from_str::<Changed>(data).ok());
        changed.is_some_and(|changed| !changed.fields.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_changes_fields_if_its_data_names_some_and_not_if_somebody_said_the_word() {
        for (data, expect) in [
            (None, false),
            (Some(r#"{"did":"update","fields":["message"]}"#), true),
            (Some(r#"{"key":"key_1","did":"update","fields":["tags","message"]}"#), true),
            (Some(r#"{"did":"update","fields":[]}"#), false),
            (Some(r#"{"text":"fields","channel":"phone"}"#), false),
            (Some(r#"{"name":"fields","fields":"message"}"#), false),
            (Some(r#"{"about":{"fields":["message"]}}"#), false),
        ] {
            let entry = Placed {
                position: 1,
                at: Timestamp::UNIX_EPOCH,
                kind: Kind::Changed.as_str().to_owned(),
                actor: "ann".to_owned(),
                via: None,
                node: None,
                user: None,
                reminder: None,
                run: None,
                data: data.map(str::to_owned),
            };
            assert_eq!(entry.has_changed_fields(), expect, "{data:?}");
        }
    }

    #[test]
    fn the_key_that_was_used_stands_in_the_data() {
        let key = Who { key: Some("key_1\"".into()), ..Who::from("key ann") };
        let (text, channel, minutes, until) = (None, None, None, Timestamp::from_nanosecond(1999).ok());
        let answer = Data::Answer { text, channel, minutes, until, by_user: Some("ann".into()), name: None };
        for (who, data, expect) in [
            (Who::ENGINE, Data::None, None),
            (Who::ENGINE, Data::Missed { runs: 3 }, Some(r#"{"runs":3}"#)),
            (Who::ENGINE, answer, Some(r#"{"until":"1970-01-01T00:00:00.000001Z","by_user":"ann"}"#)),
            (key.clone(), Data::None, Some(r#"{"key":"key_1\""}"#)),
            (key, Data::Did { did: "pause", fields: vec![] }, Some(r#"{"key":"key_1\"","did":"pause"}"#)),
        ] {
            let (kind, at) = (Kind::Changed, Timestamp::UNIX_EPOCH);
            let entry = Entry { at, kind, who, user: None, reminder: None, run: None, data };
            assert_eq!(entry.data_json().as_deref(), expect);
        }
    }
}
