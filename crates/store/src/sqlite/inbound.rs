//! Answers from the platforms: whose an address is, which events were taken, and how far each connection was read.

use jiff::Timestamp;
use punctual_core::channel::receive::Place;
use punctual_core::decide::report::reported;
use punctual_core::id::OccurrenceId;
use punctual_core::store::{HeldConnection, PlaceMove, Question, Report, Reported, Seen, StoreError};
use punctual_core::user::User;
use rusqlite::{Connection, ErrorCode, params, params_from_iter};

use super::change;
use super::read::{self, collect};
use super::row::{broken, get, micros};
use super::write::write;
use crate::rows::{self, Reader};

pub(super) fn question(db: &Connection, run: OccurrenceId) -> Result<Option<Question>, StoreError> {
    let Some(trail) = read::occurrence(db, run)? else { return Ok(None) };
    let Some(view) = read::reminder(db, run.reminder)? else { return Ok(None) };
    let user = match read::user(db, &view.reminder.user) {
        Err(StoreError::Broken(_)) => None,
        user => user?,
    };
    Ok(Some(Question { reminder: view.reminder, trail, user }))
}

pub(super) fn users_at(db: &Connection, channel: &str, addresses: &[String]) -> Result<Vec<User>, StoreError> {
    let holes = vec!["?"; addresses.len()].join(", ");
    let sql = format!(
        "SELECT {} FROM user u WHERE u.id IN (SELECT user_id FROM user_address WHERE channel = ? AND address IN ({holes})) \
         ORDER BY u.id",
        rows::USER
    );
    let values = std::iter::once(channel).chain(addresses.iter().map(String::as_str));
    let users = collect(db, &sql, params_from_iter(values), |found| Ok(rows::user(found).ok()))?;
    Ok(users.into_iter().flatten().collect())
}

/// Writes what a platform says about a message; returns when to look at its run again.
pub(super) fn report(
    db: &Connection,
    report: &Report,
    now: Timestamp,
) -> Result<(Reported, Vec<Timestamp>), StoreError> {
    let run = report.run;
    let Some(loaded) = change::load(db, run.reminder, Some(run.run))? else {
        return Ok((Reported::Nothing, Vec::new()));
    };
    let (said, writes) = reported(loaded, &read::attempts(db, run)?, report, now);
    let mut wakes: Vec<Timestamp> = writes.wakes().collect();
    wakes.extend(write(db, &writes)?.into_iter().map(|run| run.at));
    Ok((said, wakes))
}

/// Remembers an event; [`StoreError::Seen`] if it was taken before.
pub(super) fn see(db: &Connection, seen: &Seen) -> Result<(), StoreError> {
    let inserted = db
        .prepare_cached("INSERT INTO seen (channel, id, until) VALUES (?, ?, ?)")
        .map_err(broken)?
        .execute(params![seen.channel, seen.id, micros(seen.until)]);
    match inserted {
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Err(StoreError::Seen),
        other => other.map(drop).map_err(broken),
    }
}

/// Moves a place; [`StoreError::LeaseLost`] if another node has the connection now.
pub(super) fn move_place(db: &Connection, place: &PlaceMove, now: Timestamp) -> Result<(), StoreError> {
    let n_moved = db
        .prepare_cached("UPDATE inbound SET place = ?3, place_at = ?4 WHERE channel = ?1 AND lease = ?2")
        .map_err(broken)?
        .execute(params![place.channel, place.lease, place.text, micros(now)])
        .map_err(broken)?;
    if n_moved == 0 { Err(StoreError::LeaseLost) } else { Ok(()) }
}

/// Takes the connections of `channels`: no other process uses this file.
pub(super) fn hold(db: &Connection, node: &str, channels: &[String]) -> Result<Vec<HeldConnection>, StoreError> {
    for channel in channels {
        db.prepare_cached(
            "INSERT INTO inbound (channel, node, lease) VALUES (?1, ?2, 1) ON CONFLICT (channel) DO UPDATE \
             SET node = excluded.node, lease = lease + 1 WHERE node <> excluded.node",
        )
        .map_err(broken)?
        .execute(params![channel, node])
        .map_err(broken)?;
    }
    collect(db, "SELECT channel, node, lease, place, place_at FROM inbound ORDER BY channel", [], |found| {
        let place: Option<String> = get(found, 3)?;
        let place = place.zip(Reader::new(found, 4).maybe_at()?).map(|(text, at)| Place { text, at });
        Ok(HeldConnection { channel: get(found, 0)?, node: get(found, 1)?, lease: get(found, 2)?, place })
    })
}

/// Forgets events of which no copy would be taken any more.
pub(super) fn forget_seen(db: &Connection, now: Timestamp) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM seen WHERE until < ?").map_err(broken)?.execute([micros(now)]).map_err(broken)?;
    Ok(())
}
