//! Writing what a decision asks for: a statement for each kind of row, whatever their number.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use punctual_core::alarm::NextRun;
use punctual_core::decide::tell::{Newsworthy, People, alerts_about, groups_of, people_of, told};
use punctual_core::store::{NewReminder, StoreError};
use punctual_core::user::User;
use punctual_core::whole::Adoption;
use punctual_core::writes::{Planned, Writes, completed};
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, params};

use super::row::{broken, micros};
use super::settle::n_open;
use super::values::for_rows;
use super::{answered, event, feed, group, inbound, journal, keep, read};
use crate::columns::{
    ATTEMPT, DEAD_ADDRESS, ENTRY, GROUP, KEPT_REMINDER, KEPT_RUN, MOVED, NEW_REMINDER, OCCURRENCE, PLACED, PLANNED,
    REMINDER_FIELDS, REPORTED, RESPONSE, SILENCE, Table, Value,
};
use crate::rows;
use crate::watch::{KeptLedger, LEDGER};

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Ok(ToSqlOutput::from(rusqlite::types::Null)),
            Self::Id(id) => id.as_slice().to_sql(),
            Self::Number(number) => Ok(ToSqlOutput::from(*number)),
            Self::Flag(flag) => Ok(ToSqlOutput::from(*flag)),
            Self::Text(text) => text.as_ref().to_sql(),
            Self::At(at) => Ok(ToSqlOutput::from(micros(*at))),
        }
    }
}

/// Writes all of it; returns what must be looked at because the admins are told of it.
pub(super) fn write(db: &Connection, writes: &Writes) -> Result<Vec<NextRun>, StoreError> {
    for (key, answer) in &writes.answered {
        answered::insert(db, key, answer, writes.now)?;
    }
    for seen in &writes.seen {
        inbound::see(db, seen)?;
    }
    if let Some(place) = &writes.place {
        inbound::move_place(db, place, writes.now)?;
    }
    event::write(db, &writes.event)?;
    insert(db, &NEW_REMINDER, &writes.created, |new| &new.reminder)?;
    let firsts: Vec<Planned> = writes.created.iter().map(NewReminder::first).collect();
    insert(db, &PLANNED, &firsts, |first| first)?;
    update(db, &OCCURRENCE, &writes.occurrences)?;
    for (id, error) in &writes.set_aside {
        db.prepare_cached(
            "UPDATE occurrence SET state = 'failed', wake_at = NULL, node = NULL, at = ?, error = ?, waits_for = NULL, \
             channel = NULL, address = NULL, message_id = NULL, readdressed = 0, own_at = NULL, escalation = NULL, \
             escalate_at = NULL WHERE reminder_id = ? AND run = ?",
        )
        .map_err(broken)?
        .execute(params![micros(writes.now), error, id.reminder.as_bytes(), id.run])
        .map_err(broken)?;
    }
    // A row that is there and should not be must not stop every settle from now on.
    insert_new(db, &ATTEMPT, &writes.attempts)?;
    // What a decision has read is what is there: nobody else writes meanwhile.
    update(db, &REPORTED, &writes.reported)?;
    insert(db, &PLANNED, &writes.planned, |planned| planned)?;
    update(db, &REMINDER_FIELDS, &writes.reminders)?;
    update(db, &MOVED, &writes.moved)?;
    for (reminder, priority) in &writes.priorities {
        let sql = format!(
            "UPDATE occurrence AS o SET priority = ?1 WHERE reminder_id = ?2 AND priority <> ?1 AND {}",
            rows::OPEN
        );
        let values = params![priority.rank(), reminder.as_bytes()];
        db.prepare_cached(&sql).map_err(broken)?.execute(values).map_err(broken)?;
    }
    insert_new(db, &DEAD_ADDRESS, &writes.dead)?;
    insert(db, &RESPONSE, &writes.responses, |response| response)?;
    if !writes.uncounted.is_empty() {
        let ids = writes.uncounted.iter().map(|moved| moved.reminder);
        let n_open = ids.map(|id| Ok((id, n_open(db, id)?))).collect::<Result<_, StoreError>>()?;
        update(db, &MOVED, &completed(&writes.uncounted, &n_open, writes.now).moved)?;
    }
    insert(db, &ENTRY, &writes.entries, |entry| entry)?;
    journal::write_hours(db, writes.entries.iter().map(|entry| entry.at))?;
    tell(db, writes)
}

/// Writes what an import adopts.
pub(super) fn adopt(db: &Connection, adoption: &Adoption) -> Result<(), StoreError> {
    let Adoption { users, groups, silences, reminders, runs, ledger, feeds, history, writes } = adoption;
    for user in users {
        keep::put_user(db, user)?;
    }
    insert(db, &GROUP, groups, |group| group)?;
    for group in groups {
        feed::follow_group(db, &group.name, group.rota.as_deref(), writes.now)?;
    }
    for one in feeds {
        feed::put(db, one)?;
    }
    insert(db, &SILENCE, silences, |silence| silence)?;
    insert(db, &KEPT_REMINDER, reminders, |reminder| reminder)?;
    insert(db, &KEPT_RUN, runs, |run| run)?;
    let ledger: Vec<KeptLedger> = ledger.iter().map(KeptLedger::of).collect();
    insert(db, &LEDGER, &ledger, |row| row)?;
    insert(db, &PLACED, history, |entry| entry)?;
    journal::write_hours(db, history.iter().map(|entry| entry.at))?;
    write(db, writes).map(drop)
}

/// Tells the admins what there is to tell, and asks further people where nobody has answered.
fn tell(db: &Connection, writes: &Writes) -> Result<Vec<NextRun>, StoreError> {
    if writes.news.is_empty() && writes.unreadable.is_empty() {
        return Ok(Vec::new());
    }
    let admins = read::admins(db)?;
    let mut runs = Vec::new();
    for (id, news) in &writes.news {
        let Some(view) = read::reminder(db, id.reminder)? else { continue };
        let Some(trail) = read::occurrence(db, *id)? else { continue };
        let (occurrence, attempts, reminder) = (trail.occurrence, trail.attempts, view.reminder);
        // An owner who cannot be read has no plan.
        let escalate = known(read::user(db, &reminder.user))?.map(|user| user.escalate).unwrap_or_default();
        let waiting = read::asked_about(db, *id)?;
        runs.push(Newsworthy { news: *news, reminder, occurrence, attempts, escalate, waiting });
    }
    let groups = group::of_names(db, &groups_of(&runs))?;
    let users = people_of(&runs, &groups).iter().map(|id| known(read::user(db, id))).collect::<Result<Vec<_>, _>>()?;
    let people = People { admins, groups, users: users.into_iter().flatten().collect() };
    let alerts = alerts_about(&runs, &writes.unreadable, &people, writes.now);
    let there = read::existing(db, &alerts.looked_for())?;
    let there: Vec<_> = there.iter().map(|view| view.reminder.id).collect();
    let (writes, planned) = told(alerts, &there, writes.now);
    write(db, &writes)?;
    Ok(planned)
}

/// A user who can be read.
fn known(user: Result<Option<User>, StoreError>) -> Result<Option<User>, StoreError> {
    match user {
        Err(StoreError::Broken(_)) => Ok(None),
        user => user,
    }
}

/// Statements, made once: by table, number of columns and kind.
type Statements = HashMap<(&'static str, usize, Kind), &'static str>;
static STATEMENTS: LazyLock<Mutex<Statements>> = LazyLock::new(Mutex::default);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Insert,
    InsertNew,
    Upsert,
    Update,
}

/// The statement of this kind for a table.
fn statement<T>(table: &Table<T>, kind: Kind) -> &'static str {
    let mut statements = STATEMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    // Two lists of columns of one table differ in length.
    statements.entry((table.name, table.columns.len(), kind)).or_insert_with(|| {
        let (name, names) = (table.name, table.names(""));
        let insert = format!("INTO {name} ({names}) VALUES {{values}}");
        let made = match kind {
            Kind::Insert => format!("INSERT {insert}"),
            Kind::InsertNew => format!("INSERT {insert} ON CONFLICT DO NOTHING"),
            Kind::Upsert => {
                format!(
                    "INSERT INTO {name} AS t ({names}) VALUES {{values}} ON CONFLICT ({}) DO UPDATE SET {}",
                    table.keys(),
                    table.upserts()
                )
            }
            Kind::Update => format!(
                "WITH v ({names}) AS (VALUES {{values}}) UPDATE {name} AS t SET {} FROM v WHERE {}",
                table.sets(),
                table.same()
            ),
        };
        // A handful of texts, as long as the program runs.
        String::leak(made)
    })
}

pub(super) fn insert<R, T>(db: &Connection, table: &Table<T>, rows: &[R], of: fn(&R) -> &T) -> Result<(), StoreError> {
    run(db, table, Kind::Insert, rows, of)
}

pub(super) fn upsert<T>(db: &Connection, table: &Table<T>, rows: &[T]) -> Result<(), StoreError> {
    run(db, table, Kind::Upsert, rows, |row| row)
}

pub(super) fn insert_new<T>(db: &Connection, table: &Table<T>, rows: &[T]) -> Result<(), StoreError> {
    run(db, table, Kind::InsertNew, rows, |row| row)
}

pub(super) fn update<T>(db: &Connection, table: &Table<T>, rows: &[T]) -> Result<(), StoreError> {
    run(db, table, Kind::Update, rows, |row| row)
}

fn run<R, T>(db: &Connection, table: &Table<T>, kind: Kind, rows: &[R], of: fn(&R) -> &T) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let bind = |row: &R, values: &mut super::values::Values<'_, '_>| {
        for column in table.columns {
            values.push((column.value)(of(row)));
        }
    };
    for_rows(db, statement(table, kind), table.columns.len(), rows, bind, |_| Ok(()))
}
