//! Rows to types and back.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{Kept, Occurrence, State, StateKind, Tries};
use punctual_core::reminder::{AckPolicy, Address, Metadata, Misfire, Reminder};
use punctual_core::schedule::Schedule;
use punctual_core::store::StoreError;
use punctual_core::user::{Person, QuietHours};
use punctual_core::wake::Series;
use punctual_core::zone::Zone;
use rusqlite::Row;

/// The columns [`reminder`] reads, in its order.
pub(super) const REMINDER: &str = "r.id, r.user, r.name, r.message, r.schedule, r.timezone, r.priority, r.route, \
    r.ack_timeout, r.ack_prompt, r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, \
    r.on_unknown, r.created_via, r.original_text, r.metadata, r.status, r.created_at, r.updated_at, r.only_to";
/// How many those are.
pub(super) const N_REMINDER: usize = 23;

/// The columns [`occurrence`] reads, in its order.
pub(super) const OCCURRENCE: &str = "o.reminder_id, o.run, o.due_at, o.state, o.wake_at, o.lease, o.at, o.error, \
    o.attempts, o.rounds, o.position, o.refused, o.asks, o.reached, o.at_once, o.made_for";
/// How many those are.
pub(super) const N_OCCURRENCE: usize = 16;

/// Microseconds since 1970, rounded up, so that nothing is due before it was asked for.
pub(super) fn micros(at: Timestamp) -> i64 {
    // Before 1970, cutting off the rest is rounding up already.
    at.as_microsecond() + i64::from(at.subsec_nanosecond() % 1000 > 0)
}

pub(super) fn instant(micros: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_microsecond(micros).map_err(impossible)
}

/// A value in the file that this program would never have written.
pub(super) fn impossible(error: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(format!("a row cannot be read: {error}"))
}

/// Names a failure by whether trying later may help.
pub(super) fn broken(error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            StoreError::Unavailable("the disk is full; free some space and it goes on by itself".into())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Unavailable("the file is locked by another program".into())
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::OutOfMemory) => {
            StoreError::Unavailable(error.to_string())
        }
        _ => StoreError::Broken(error.to_string()),
    }
}

pub(super) fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(broken)
}

fn text<'r>(row: &'r Row<'_>, index: usize) -> Result<&'r str, StoreError> {
    row.get_ref(index).map_err(broken)?.as_str().map_err(impossible)
}

pub(super) fn word<T: std::str::FromStr>(row: &Row<'_>, index: usize) -> Result<T, StoreError>
where
    T::Err: std::fmt::Display,
{
    text(row, index)?.parse().map_err(impossible)
}

pub(super) fn optional_instant(row: &Row<'_>, index: usize) -> Result<Option<Timestamp>, StoreError> {
    get::<Option<i64>>(row, index)?.map(instant).transpose()
}

pub(super) fn reminder_id(row: &Row<'_>, index: usize) -> Result<ReminderId, StoreError> {
    get::<[u8; 16]>(row, index).map(ReminderId::from_bytes)
}

/// Reads [`REMINDER`], whose first column is at `first`.
pub(super) fn reminder(row: &Row<'_>, first: usize) -> Result<Reminder, StoreError> {
    let at = |offset: usize| first + offset;
    let ack_timeout: Option<u64> = get(row, at(8))?;
    let ack = match ack_timeout {
        None => None,
        Some(millis) => Some(AckPolicy {
            prompt: get(row, at(9))?,
            timeout: Duration::from_millis(millis),
            reminders_max: get(row, at(10))?,
        }),
    };
    Ok(Reminder {
        id: reminder_id(row, at(0))?,
        user: get(row, at(1))?,
        name: get(row, at(2))?,
        message: get(row, at(3))?,
        schedule: Schedule::from_stored(text(row, at(4))?).map_err(impossible)?,
        timezone: Zone::named(text(row, at(5))?).map_err(impossible)?,
        priority: punctual_core::reminder::Priority::from_rank(get(row, at(6))?),
        only: get(row, at(22))?,
        to: addresses(get::<Option<String>>(row, at(7))?.as_deref())?,
        ack,
        snooze_allowed: get(row, at(11))?,
        retries_max: get(row, at(12))?,
        misfire: Misfire { policy: word(row, at(13))?, within: Duration::from_millis(get(row, at(14))?) },
        on_unknown: word(row, at(15))?,
        created_via: get(row, at(16))?,
        original_text: get(row, at(17))?,
        metadata: Metadata::from_stored(get(row, at(18))?),
        status: word(row, at(19))?,
        created_at: instant(get(row, at(20))?)?,
        updated_at: instant(get(row, at(21))?)?,
    })
}

/// Reads a JSON list of addresses; none is an empty list.
pub(super) fn addresses(json: Option<&str>) -> Result<Vec<Address>, StoreError> {
    json.map_or(Ok(Vec::new()), |json| serde_json::from_str(json).map_err(impossible))
}

/// Reads [`OCCURRENCE`], whose first column is at `first`; returns the lease number and the moment beside it.
pub(super) fn occurrence(row: &Row<'_>, first: usize) -> Result<(Occurrence, u64, Option<Timestamp>), StoreError> {
    let at = |offset: usize| first + offset;
    let id = OccurrenceId { reminder: reminder_id(row, at(0))?, run: get(row, at(1))? };
    let due_at = instant(get(row, at(2))?)?;
    let wake_at = optional_instant(row, at(4))?;
    let lease: u64 = get(row, at(5))?;
    let kept = Kept {
        lease,
        wake_at,
        reached_at: optional_instant(row, at(6))?.unwrap_or(due_at),
        note: get::<Option<String>>(row, at(7))?.unwrap_or_default(),
    };
    let state = State::from_kept(word::<StateKind>(row, at(3))?, kept)
        .ok_or_else(|| impossible("an open occurrence has no moment"))?;
    let tries = Tries {
        attempts: get(row, at(8))?,
        rounds: get(row, at(9))?,
        position: get(row, at(10))?,
        refused: get::<i64>(row, at(11))? as u64,
        asks: get(row, at(12))?,
        reached: get(row, at(13))?,
    };
    let made_for = optional_instant(row, at(15))?.unwrap_or(due_at);
    Ok((Occurrence { id, due_at, made_for, state, tries, at_once: get(row, at(14))? }, lease, wake_at))
}

/// The columns [`person`] reads, in its order.
pub(super) const PERSON: &str =
    "u.timezone, u.language, u.quiet_from, u.quiet_to, u.quiet_except, u.quiet_digest, u.paused_until";
/// How many those are.
pub(super) const N_PERSON: usize = 7;

/// Reads [`PERSON`], whose first column is at `first`; one who is not known has nothing.
pub(super) fn person(row: &Row<'_>, first: usize) -> Result<Person, StoreError> {
    let at = |offset: usize| first + offset;
    let time = |index: usize| -> Result<Option<jiff::civil::Time>, StoreError> {
        get::<Option<String>>(row, index)?.map(|text| text.parse()).transpose().map_err(impossible)
    };
    let quiet = match (time(at(2))?, time(at(3))?) {
        (Some(from), Some(to)) => {
            let except: Option<String> = get(row, at(4))?;
            let except = except.map(|word| word.parse()).transpose().map_err(impossible)?.unwrap_or_default();
            Some(QuietHours { from, to, except, digest: get::<Option<bool>>(row, at(5))?.unwrap_or_default() })
        }
        _ => None,
    };
    let timezone: Option<String> = get(row, at(0))?;
    let language: Option<String> = get(row, at(1))?;
    Ok(Person {
        language: language.and_then(|tag| tag.parse().ok()),
        timezone: timezone.map(|name| Zone::named(&name)).transpose().map_err(impossible)?,
        quiet,
        paused_until: optional_instant(row, at(6))?,
    })
}

/// The same for `user`, of whom nothing is taken to be known when it cannot be read: that must not keep from them what is for
/// them.
pub(super) fn person_of(user: &str, row: &Row<'_>, first: usize) -> Person {
    person(row, first).unwrap_or_else(|error| {
        tracing::error!(user, %error, "a user cannot be read; they are reached as if they had no zone, quiet hours or pause");
        Person::default()
    })
}

/// Reads `last_run, carried_by, planned`, the first of which is at `first`.
pub(super) fn series(row: &Row<'_>, first: usize) -> Result<Series, StoreError> {
    Ok(Series { last_run: get(row, first)?, carried_by: get(row, first + 1)?, planned: get(row, first + 2)? })
}
