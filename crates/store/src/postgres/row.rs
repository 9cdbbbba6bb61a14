//! Rows as values, and back.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use bytes::BytesMut;
use jiff::Timestamp;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Kept, Occurrence, State, StateKind, Tries};
use punctual_core::reminder::{AckPolicy, Address, Metadata, Misfire, OnUnknown, Priority, Reminder};
use punctual_core::schedule::Schedule;
use punctual_core::store::StoreError;
use punctual_core::user::{Person, QuietHours};
use punctual_core::wake::Series;
use punctual_core::zone::Zone;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

/// The columns [`reminder`] reads, in its order.
pub(super) const REMINDER: &str = "r.id, r.user_id, r.name, r.message, r.schedule, r.timezone, r.priority, r.route, \
    r.ack_timeout, r.ack_prompt, r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, \
    r.on_unknown, r.created_via, r.original_text, r.metadata, r.status, r.created_at, r.updated_at, r.on_unknown_auto, \
    r.only_to";
/// How many those are.
pub(super) const N_REMINDER: usize = 24;

/// The columns [`series`] reads, in its order.
pub(super) const SERIES: &str = "r.last_run, r.carried_by, r.planned";

/// The columns [`occurrence`] reads, in its order.
pub(super) const OCCURRENCE: &str = "o.reminder_id, o.run, o.due_at, o.state, o.wake_at, o.lease, o.at, o.error, \
    o.attempts, o.rounds, o.position, o.refused, o.asks, o.reached, o.at_once, o.made_for";

/// Microseconds from 1970 to 2000, where PostgreSQL counts from.
const EPOCH: i64 = 946_684_800_000_000;
/// The first instant PostgreSQL knows, in its microseconds: 4713 BC.
const FIRST: i64 = -211_813_488_000_000_000;

/// An instant in whole microseconds, which is what PostgreSQL keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At(i64);

/// Rounds up, so that nothing is due before it was asked for.
pub(super) fn micros(at: Timestamp) -> At {
    // Before 1970, cutting off the rest is rounding up already.
    At(at.as_microsecond() + i64::from(at.subsec_nanosecond() % 1000 > 0))
}

impl At {
    /// Microseconds since 1970.
    pub(super) fn number(self) -> i64 {
        self.0
    }

    /// Microseconds since 1970, as a file keeps them.
    pub(super) fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    fn instant(self) -> Timestamp {
        // The last instant there is was rounded up, too; and PostgreSQL knows more years than jiff.
        let end = if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_microsecond(self.0).unwrap_or(end)
    }
}

impl ToSql for At {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let since_2000 = self.0 - EPOCH;
        // i64::MIN is how PostgreSQL writes -infinity, which is as good as any instant before its first.
        let sent = if since_2000 < FIRST { i64::MIN } else { since_2000 };
        sent.to_sql(&Type::INT8, out)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for At {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(i64::from_sql(&Type::INT8, raw)?.saturating_add(EPOCH)))
    }

    accepts!(TIMESTAMPTZ);
}

/// A value in the database that this program would never have written.
pub(super) fn impossible(error: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(format!("a row cannot be read: {error}"))
}

pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, index: usize) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| impossible(super::url::chain(&error)))
}

/// A count as the database keeps it. None of them comes near the limit in a lifetime.
pub(super) fn int(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

pub(super) fn count(row: &Row, index: usize) -> Result<u32, StoreError> {
    u32::try_from(get::<i32>(row, index)?).map_err(impossible)
}

/// Whole milliseconds; a span too long to be one was refused when the reminder was validated.
pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

fn span(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// A text from outside without the one character that PostgreSQL cannot keep: a receiver's odd answer must not make its
/// result unwritable.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

pub(super) fn uuid(id: ReminderId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn reminder_id(row: &Row, index: usize) -> Result<ReminderId, StoreError> {
    get::<Uuid>(row, index).map(|id| ReminderId::from_bytes(id.into_bytes()))
}

pub(super) fn occurrence_id(row: &Row, first: usize) -> Result<OccurrenceId, StoreError> {
    Ok(OccurrenceId { reminder: reminder_id(row, first)?, run: count(row, first + 1)? })
}

pub(super) fn word<T: std::str::FromStr>(row: &Row, index: usize) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    get::<&str>(row, index)?.parse().map_err(impossible)
}

pub(super) fn instant(row: &Row, index: usize) -> Result<Timestamp, StoreError> {
    get::<At>(row, index).map(At::instant)
}

pub(super) fn optional_instant(row: &Row, index: usize) -> Result<Option<Timestamp>, StoreError> {
    Ok(get::<Option<At>>(row, index)?.map(At::instant))
}

/// Reads [`REMINDER`], whose first column is at `first`.
pub(super) fn reminder(row: &Row, first: usize) -> Result<Reminder, StoreError> {
    let at = |offset: usize| first + offset;
    let ack = match get::<Option<i64>>(row, at(8))? {
        None => None,
        Some(millis) => {
            Some(AckPolicy { prompt: get(row, at(9))?, timeout: span(millis), reminders_max: count(row, at(10))? })
        }
    };
    // A rank that does not fit is unknown, and an unknown one is the highest.
    let rank = u8::try_from(get::<i16>(row, at(6))?).unwrap_or(u8::MAX);
    Ok(Reminder {
        id: reminder_id(row, at(0))?,
        user: get(row, at(1))?,
        name: get(row, at(2))?,
        message: get(row, at(3))?,
        schedule: Schedule::from_stored(get(row, at(4))?).map_err(impossible)?,
        timezone: Zone::named(get(row, at(5))?).map_err(impossible)?,
        priority: Priority::from_rank(rank),
        only: get(row, at(23))?,
        to: addresses(get(row, at(7))?)?,
        ack,
        snooze_allowed: get(row, at(11))?,
        retries_max: count(row, at(12))?,
        misfire: Misfire { policy: word(row, at(13))?, within: span(get(row, at(14))?) },
        on_unknown: match word(row, at(15))? {
            OnUnknown::Resend if get(row, at(22))? => OnUnknown::Auto,
            said => said,
        },
        created_via: get(row, at(16))?,
        original_text: get(row, at(17))?,
        metadata: Metadata::from_stored(get(row, at(18))?),
        status: word(row, at(19))?,
        created_at: instant(row, at(20))?,
        updated_at: instant(row, at(21))?,
    })
}

/// What is kept of `on_unknown`: the word, which every version knows, and whether it stands for `auto`.
pub(super) fn on_unknown(reminder: &Reminder) -> (&'static str, bool) {
    match reminder.on_unknown {
        OnUnknown::Auto => (OnUnknown::Resend.as_str(), true),
        said => (said.as_str(), false),
    }
}

/// The columns [`person`] reads, in its order.
pub(super) const PERSON: &str =
    "u.timezone, u.language, u.quiet_from, u.quiet_to, u.quiet_except, u.quiet_digest, u.paused_until";
/// How many those are.
pub(super) const N_PERSON: usize = 7;

/// Reads [`PERSON`], whose first column is at `first`; one who is not known has nothing.
pub(super) fn person(row: &Row, first: usize) -> Result<Person, StoreError> {
    let at = |offset: usize| first + offset;
    let time = |index: usize| -> Result<Option<jiff::civil::Time>, StoreError> {
        get::<Option<&str>>(row, index)?.map(str::parse).transpose().map_err(impossible)
    };
    let quiet = match (time(at(2))?, time(at(3))?) {
        (Some(from), Some(to)) => {
            let except: Option<&str> = get(row, at(4))?;
            let except = except.map(str::parse).transpose().map_err(impossible)?.unwrap_or_default();
            Some(QuietHours { from, to, except, digest: get::<Option<bool>>(row, at(5))?.unwrap_or_default() })
        }
        _ => None,
    };
    Ok(Person {
        language: get::<Option<&str>>(row, at(1))?.and_then(|tag| tag.parse().ok()),
        timezone: get::<Option<&str>>(row, at(0))?.map(Zone::named).transpose().map_err(impossible)?,
        quiet,
        paused_until: optional_instant(row, at(6))?,
    })
}

/// The same for `user`, of whom nothing is taken to be known when it cannot be read: that must not keep from them what is for
/// them.
pub(super) fn person_of(user: &str, row: &Row, first: usize) -> Person {
    person(row, first).unwrap_or_else(|error| {
        tracing::error!(user, %error, "a user cannot be read; they are reached as if they had no zone, quiet hours or pause");
        Person::default()
    })
}

/// Reads a JSON list of addresses; none is an empty list.
pub(super) fn addresses(json: Option<&str>) -> Result<Vec<Address>, StoreError> {
    json.map_or(Ok(Vec::new()), |json| serde_json::from_str(json).map_err(impossible))
}

/// Writes what [`addresses`] reads.
pub(super) fn route(reminder: &Reminder) -> Result<Option<String>, StoreError> {
    if reminder.to.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(&reminder.to).map(Some).map_err(impossible)
}

/// Reads [`OCCURRENCE`], whose first column is at `first`; returns the lease number and the moment beside it.
pub(super) fn occurrence(row: &Row, first: usize) -> Result<(Occurrence, u64, Option<Timestamp>), StoreError> {
    let at = |offset: usize| first + offset;
    let id = occurrence_id(row, at(0))?;
    let due_at = instant(row, at(2))?;
    let wake_at = optional_instant(row, at(4))?;
    let lease = u64::try_from(get::<i64>(row, at(5))?).map_err(impossible)?;
    let kept = Kept {
        lease,
        wake_at,
        reached_at: optional_instant(row, at(6))?.unwrap_or(due_at),
        note: get::<Option<String>>(row, at(7))?.unwrap_or_default(),
    };
    let state = State::from_kept(word::<StateKind>(row, at(3))?, kept)
        .ok_or_else(|| impossible("an open occurrence has no moment"))?;
    let tries = Tries {
        attempts: count(row, at(8))?,
        rounds: count(row, at(9))?,
        position: count(row, at(10))?,
        refused: get::<i64>(row, at(11))? as u64,
        asks: count(row, at(12))?,
        reached: count(row, at(13))?,
    };
    let made_for = optional_instant(row, at(15))?.unwrap_or(due_at);
    Ok((Occurrence { id, due_at, made_for, state, tries, at_once: get(row, at(14))? }, lease, wake_at))
}

/// Reads [`SERIES`], whose first column is at `first`.
pub(super) fn series(row: &Row, first: usize) -> Result<Series, StoreError> {
    let carried_by = get::<Option<i32>>(row, first + 1)?.map(u32::try_from).transpose().map_err(impossible)?;
    let planned = u32::try_from(get::<i64>(row, first + 2)?).unwrap_or(u32::MAX);
    Ok(Series { last_run: count(row, first)?, carried_by, planned })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_time_can_be_written_and_read() {
        for at in [Timestamp::MIN, Timestamp::MAX, Timestamp::UNIX_EPOCH] {
            let mut out = BytesMut::new();
            micros(at).to_sql(&Type::TIMESTAMPTZ, &mut out).unwrap();
            assert_eq!(At::from_sql(&Type::TIMESTAMPTZ, &out).unwrap().instant(), at);
        }
    }
}
