//! Moving a file of punctual's own into a PostgreSQL database.
//!
//! Reminders go page by page, each page in one transaction with everything that belongs to it. A reminder that is there already
//! is left alone with all it has: since it was copied it may have been delivered, changed and pruned, and the file's older word
//! about it would bring back what is over. So it can be stopped at any moment and begun anew, and what was copied stays as it is.

mod column;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use punctual_core::clock::Machine;
use punctual_core::store::StoreError;
use rusqlite::params;
use rusqlite::types::Value;

use self::column::Columns;
use self::table::{
    ANSWERED, ATTEMPT, CALENDAR_KEY, DEAD_ADDRESS, EVENT, EVENT_REMINDER, FEED, GROUP, JOURNAL, KEY, OCCURRENCE,
    REMINDER, RESPONSE, SCOPE, SEEN, SESSION_END, SHIFT, SILENCE, Table, USER, WATCH, WATCH_BAD, WATCH_INTENT,
    WATCH_LEDGER, WATCH_RUN,
};
use super::fault::Fault;
use super::migrate;
use super::open::{self, OpenError};
use super::pool::{Connection, Pool, Urgency};
use super::row::get;
use crate::sqlite::{self, Export};

/// How many reminders are copied in one transaction.
const REMINDERS: usize = 500;
/// How many rows are written by one statement.
const ROWS: usize = 5000;

/// All tables, in the order in which they are shown.
const TABLES: &[&Table] = &[
    &REMINDER,
    &OCCURRENCE,
    &ATTEMPT,
    &RESPONSE,
    &JOURNAL,
    &USER,
    &GROUP,
    &CALENDAR_KEY,
    &FEED,
    &SHIFT,
    &SILENCE,
    &DEAD_ADDRESS,
    &KEY,
    &SESSION_END,
    &ANSWERED,
    &SEEN,
    &SCOPE,
    &EVENT,
    &EVENT_REMINDER,
    &WATCH,
    &WATCH_RUN,
    &WATCH_INTENT,
    &WATCH_BAD,
    &WATCH_LEDGER,
];

/// A copy that is under way.
pub struct Adoption {
    file: Export,
    pool: Pool,
    now: Timestamp,
    phase: Phase,
    /// Where the phase's last page ended.
    after: Option<Value>,
    copied: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The table at this place of [`PLAINS`].
    Plain(usize),
    Reminders,
    Journal,
    Done,
}

/// Those that are copied row by row, in order.
const PLAINS: &[&Table] = &[
    &USER,
    &GROUP,
    &SILENCE,
    &DEAD_ADDRESS,
    &KEY,
    &SESSION_END,
    &ANSWERED,
    &SEEN,
    &SCOPE,
    &EVENT,
    &EVENT_REMINDER,
    &WATCH,
    &WATCH_RUN,
    &WATCH_INTENT,
    &WATCH_BAD,
    &WATCH_LEDGER,
    &CALENDAR_KEY,
    &FEED,
    &SHIFT,
];

/// How many rows a table has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableCount {
    /// Which.
    pub table: &'static str,
    /// In the file.
    pub in_file: u64,
    /// In the database.
    pub in_database: u64,
    /// How many of these were copied by this run.
    pub copied: u64,
}

/// Why nothing more was copied.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] sqlite::OpenError),
    /// The file was made by an earlier version.
    #[error(
        "{path} has schema version {found}; bring it to {known} first, with punctual migrate --database sqlite:{path}"
    )]
    TooOld {
        /// The file.
        path: String,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] OpenError),
    /// The database cannot be reached now. Trying again may help.
    #[error("{0}")]
    Lost(String),
    /// All else.
    #[error("{0}")]
    Failed(String),
}

impl From<Fault> for AdoptError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Lost(why) | Fault::RolledBack(why) => Self::Lost(format!("the connection was lost: {why}")),
            Fault::Blocked(why) | Fault::Store(StoreError::Unavailable(why)) => Self::Lost(why),
            Fault::Store(error) => Self::Failed(error.to_string()),
        }
    }
}

impl Adoption {
    /// Opens both. The file stays locked as long as this lives, so that no server changes it meanwhile; with `to_look` a server
    /// may have it open, and nothing can be copied.
    pub fn open(path: &Path, url: &str, to_look: bool, machine: &Machine) -> Result<Self, AdoptError> {
        let file = Export::open(path, !to_look)?;
        let (found, known) = (file.version(), sqlite::schema_known());
        if found < known {
            return Err(AdoptError::TooOld { path: path.display().to_string(), found, known });
        }
        let (pool, now) = (open::pool(url, machine)?, machine.clock.now());
        Ok(Self { file, pool, now, phase: Phase::Plain(0), after: None, copied: BTreeMap::new() })
    }

    /// The database, without its password.
    pub fn database(&self) -> String {
        self.pool.url().to_string()
    }

    /// Makes the database's tables if there are none.
    pub async fn prepare(&self) -> Result<(), AdoptError> {
        migrate::up(&self.pool).await?;
        Ok(())
    }

    /// How many rows there are on both sides.
    pub async fn counts(&self) -> Result<Vec<TableCount>, AdoptError> {
        let db = self.pool.get(Urgency::Normal).await?;
        let result = self.count(&db).await;
        db.end(result).await.map_err(|(fault, _)| AdoptError::from(fault))
    }

    async fn count(&self, db: &Connection<'_>) -> Result<Vec<TableCount>, Fault> {
        let is_new = migrate::version(db).await? == 0;
        let mut counts = Vec::new();
        for table in TABLES {
            let in_database: i64 = match is_new {
                true => 0,
                false => {
                    let rows = db.rows(&format!("select count(*) from punctual.{}", table.into), &[]).await?;
                    rows.first().map_or(Ok(0), |row| get(row, 0))?
                }
            };
            counts.push(TableCount {
                table: table.name,
                in_file: self.file.count(table.name)?,
                in_database: u64::try_from(in_database).unwrap_or(0),
                copied: self.copied.get(table.name).copied().unwrap_or(0),
            });
        }
        Ok(counts)
    }

    /// Copies one page; returns how many of the file's reminders it was about, and nothing when all is done. After a failure
    /// it can be called again.
    pub async fn step(&mut self) -> Result<Option<usize>, AdoptError> {
        let db = self.pool.get(Urgency::Normal).await?;
        let result = match self.phase {
            Phase::Done => return Ok(None),
            Phase::Plain(index) => copy_plain(&db, &self.file, PLAINS[index], self.after.as_ref()).await,
            Phase::Reminders => copy_reminders(&db, &self.file, self.after.as_ref(), self.now).await,
            Phase::Journal => copy_journal(&db, &self.file, self.after.as_ref()).await,
        };
        let page = db.end(result).await.map_err(|(fault, _)| AdoptError::from(fault))?;
        for (table, n) in page.copied {
            *self.copied.entry(table).or_default() += n;
        }
        let n_reminders = if self.phase == Phase::Reminders { page.n_read } else { 0 };
        match page.last {
            Some(last) => self.after = Some(last),
            None => {
                self.after = None;
                self.phase = match self.phase {
                    Phase::Plain(index) if index + 1 < PLAINS.len() => Phase::Plain(index + 1),
                    Phase::Plain(_) => Phase::Reminders,
                    Phase::Reminders => Phase::Journal,
                    Phase::Journal | Phase::Done => Phase::Done,
                };
            }
        }
        Ok(Some(n_reminders))
    }

    /// Tells the servers of the database, if there are any, that there is something new.
    pub async fn announce(&self) -> Result<(), AdoptError> {
        let db = self.pool.get(Urgency::Normal).await?;
        let result = db.rows("select pg_notify('punctual', 'look')", &[]).await;
        db.end(result).await.map_err(|(fault, _)| AdoptError::from(fault))?;
        Ok(())
    }
}

/// What a page led to.
struct Page {
    n_read: usize,
    copied: Vec<(&'static str, u64)>,
    /// The key of its last row; none when it is the last page.
    last: Option<Value>,
}

/// Its own session's reminders are not announced one by one: nodes that listen are told once, at the end.
const BEGIN: &str = "begin; set local idle_in_transaction_session_timeout = 60000; set local punctual.quiet = 'on'";

async fn copy_plain(
    db: &Connection<'_>,
    file: &Export,
    table: &'static Table,
    after: Option<&Value>,
) -> Result<Page, Fault> {
    let (columns, last) = read(file, table, after, ROWS)?;
    let n_read = columns.len();
    let n = insert(db, table, &columns).await?;
    if table.name == USER.name {
        // Those of users who were there already are left as they are.
        db.execute(
            "insert into punctual.user_address (channel, address, user_id) select a ->> 'channel', coalesce(a ->> 'address', ''), u.id \
             from punctual.app_user u, jsonb_array_elements(u.addresses::jsonb) a on conflict do nothing",
            &[],
        )
        .await?;
    }
    Ok(Page { n_read, copied: vec![(table.name, n)], last: last.filter(|_| n_read == ROWS) })
}

async fn copy_reminders(
    db: &Connection<'_>,
    file: &Export,
    after: Option<&Value>,
    now: Timestamp,
) -> Result<Page, Fault> {
    let (mut columns, last) = read(file, &REMINDER, after, REMINDERS)?;
    let n_read = columns.len();
    let Some((first_id, last_id)) = columns.key_range() else {
        return Ok(Page { n_read, copied: Vec::new(), last: None });
    };
    db.begin(BEGIN).await?;
    let new = insert_new(db, &columns).await?;
    columns.clear();
    let mut copied = vec![(REMINDER.name, new.len() as u64)];
    if !new.is_empty() {
        for table in [&OCCURRENCE, &ATTEMPT, &RESPONSE] {
            let mut n_copied = 0;
            let mut statement = file.prepare(&table.select(now))?;
            let mut rows = statement.query(params![first_id, last_id]).map_err(unreadable)?;
            loop {
                let mut columns = Columns::new(table);
                let mut is_over = true;
                while let Some(row) = rows.next().map_err(unreadable)? {
                    if columns.push(row, &new)? && columns.len() == ROWS {
                        is_over = false;
                        break;
                    }
                }
                n_copied += insert(db, table, &columns).await?;
                if is_over {
                    break;
                }
            }
            copied.push((table.name, n_copied));
        }
    }
    db.commit().await?;
    Ok(Page { n_read, copied, last: last.filter(|_| n_read == REMINDERS) })
}

/// Entries have a place of their own in every database, so those that are there are known by what they say. A page is one write.
async fn copy_journal(db: &Connection<'_>, file: &Export, after: Option<&Value>) -> Result<Page, Fault> {
    let (columns, last) = read(file, &JOURNAL, after, ROWS)?;
    let n_read = columns.len();
    if n_read == 0 {
        return Ok(Page { n_read, copied: Vec::new(), last: None });
    }
    let names: Vec<&str> = (JOURNAL.columns)().iter().map(|column| column.into).collect();
    let (names, params) = (names.join(", "), (1..=names.len()).map(|n| format!("${n}")).collect::<Vec<_>>().join(", "));
    let same = "a.at = v.at and a.kind = v.kind and a.run is not distinct from v.run and a.user_id is not distinct from v.user_id \
        and a.actor is not distinct from v.actor and a.data is not distinct from v.data";
    let sql = format!(
        "with v as (select * from unnest({params}) with ordinality as v ({names}, item)), new as (select * from v where case \
         when v.reminder_id is null then not exists (select from punctual.journal a where a.reminder_id is null and {same}) \
         else not exists (select from punctual.journal a where a.reminder_id = v.reminder_id and {same}) end), \
         w as (insert into punctual.journal_write (n) select count(*) from new having count(*) > 0 returning write) \
         insert into punctual.journal (write, item, {names}) \
         select w.write, row_number() over (order by item) - 1, {names} from new, w"
    );
    let n = db.execute(&sql, &columns.params()).await?;
    Ok(Page { n_read, copied: vec![(JOURNAL.name, n)], last: last.filter(|_| n_read == ROWS) })
}

/// The next rows of a table, and the key of the last of them.
fn read(
    file: &Export,
    table: &'static Table,
    after: Option<&Value>,
    limit: usize,
) -> Result<(Columns, Option<Value>), Fault> {
    let mut columns = Columns::new(table);
    let mut statement = file.prepare(&table.page(after.is_some()))?;
    let mut rows = statement.query(params![after, limit]).map_err(unreadable)?;
    let n_columns = (table.columns)().len();
    let mut last = None;
    while let Some(row) = rows.next().map_err(unreadable)? {
        // The key.
        last = Some(row.get(n_columns).map_err(unreadable)?);
        columns.push_all(row)?;
    }
    Ok((columns, last))
}

fn unreadable(error: rusqlite::Error) -> Fault {
    Fault::Store(StoreError::Broken(format!("the file cannot be read: {error}")))
}

async fn insert(db: &Connection<'_>, table: &Table, columns: &Columns) -> Result<u64, Fault> {
    if columns.len() == 0 {
        return Ok(0);
    }
    db.execute(&table.insert(), &columns.params()).await
}

/// Writes reminders that are not there; returns which.
async fn insert_new(db: &Connection<'_>, columns: &Columns) -> Result<std::collections::HashSet<[u8; 16]>, Fault> {
    let sql = format!("{} returning id", REMINDER.insert());
    let rows = db.rows(&sql, &columns.params()).await?;
    let id = |row: &tokio_postgres::Row| get::<uuid::Uuid>(row, 0).map(uuid::Uuid::into_bytes);
    Ok(rows.iter().map(id).collect::<Result<_, _>>()?)
}
