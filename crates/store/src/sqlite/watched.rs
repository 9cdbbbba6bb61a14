//! An application's own file, in which a watch looks.
//!
//! One thread has one connection. Each run opens the file anew, because an application may have replaced it. The rows of a run are found in one
//! scan and put into a temporary table of the connection, page after page is read from there: dates in texts have no index that could be
//! used for every form.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::rules::instant;
use punctual_core::rules::watch::{Form, Found, mark};
use punctual_core::source::{Bounds, Mark, Mode, Source, SourceError, Standing};
use punctual_core::watch::{Place, Raw, Rows, SourceRow, Watch};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use tokio::sync::oneshot;

use crate::foreign::quoted;
use crate::watched::{Kind, VALUE_CHARS_MAX, in_brackets, is_due, is_unsent};

/// How long another program's lock is waited for.
const BUSY_WITHIN: Duration = Duration::from_secs(2);

type Job = Box<dyn FnOnce(&mut File) + Send>;

/// The rows of one watch.
pub(crate) struct Watched {
    jobs: mpsc::Sender<Job>,
}

/// The file, while it is open.
struct File {
    path: PathBuf,
    watch: Arc<Watch>,
    db: Option<Connection>,
    /// The bounds whose rows the temporary table has.
    found: Option<Bounds>,
}

impl Watched {
    pub(crate) fn new(path: &Path, watch: Arc<Watch>) -> Self {
        let (jobs, waiting) = mpsc::channel::<Job>();
        let mut file = File { path: path.to_owned(), watch, db: None, found: None };
        // It ends when the last sender does.
        std::thread::spawn(move || {
            while let Ok(job) = waiting.recv() {
                job(&mut file);
            }
        });
        Self { jobs }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut File) -> Result<T, SourceError> + Send + 'static,
    ) -> Result<T, SourceError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |file| {
            // Who no longer waits need not know.
            let _ = answer.send(work(file));
        });
        let ended = || SourceError::Lost("the thread that reads the file has ended".into());
        self.jobs.send(job).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

#[async_trait]
impl Source for Watched {
    async fn check(&self) -> Result<Standing, SourceError> {
        self.run(File::check).await
    }

    async fn read(&self, bounds: Bounds, after: Option<&Place>, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        let after = after.cloned();
        self.run(move |file| file.read(bounds, after.as_ref(), limit)).await
    }

    async fn nameless(&self, bounds: Bounds, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        self.run(move |file| {
            file.find(bounds)?;
            file.found_rows("k IS NULL", None, limit)
        })
        .await
    }

    async fn set_sent(&self, marks: &[Mark]) -> Result<Vec<bool>, SourceError> {
        let marks = marks.to_vec();
        self.run(move |file| file.set_sent(&marks)).await
    }

    async fn sent_of(&self, keys: &[Raw]) -> Result<Vec<Found>, SourceError> {
        let keys = keys.to_vec();
        self.run(move |file| file.sent_of(&keys)).await
    }
}

impl File {
    /// The connection, which is opened if there is none.
    fn db(&mut self) -> Result<&Connection, SourceError> {
        if self.db.is_none() {
            // SQLite's own words for it are `unable to open database file`, whatever is wrong.
            let path = &self.path;
            std::fs::File::open(path).map_err(|error| SourceError::Lost(format!("{}: {error}", path.display())))?;
            let access = match (&self.watch.sent, &self.watch.rows) {
                (Some(_), Rows::Table(_)) => OpenFlags::SQLITE_OPEN_READ_WRITE,
                _ => OpenFlags::SQLITE_OPEN_READ_ONLY,
            };
            let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(said)?;
            db.busy_timeout(BUSY_WITHIN).map_err(said)?;
            self.found = None;
            self.db = Some(db);
        }
        self.db.as_ref().ok_or_else(|| SourceError::Lost("the file is not open".into()))
    }

    fn from(&self) -> String {
        match &self.watch.rows {
            Rows::Table(name) => quoted(name),
            Rows::Query(query) => in_brackets(query.trim().trim_end_matches(';')),
        }
    }

    fn check(&mut self) -> Result<Standing, SourceError> {
        self.db = None;
        let (watch, from) = (self.watch.clone(), self.from());
        let db = self.db()?;
        let names: Vec<String> = {
            let statement = db.prepare(&format!("SELECT * FROM {from} t LIMIT 0")).map_err(said)?;
            statement.column_names().map(str::to_owned).collect()
        };
        let wanted = [watch.key.as_str(), watch.due.as_str()];
        for column in wanted.into_iter().chain(watch.sent.as_deref()).chain(watch.columns()) {
            if !names.iter().any(|name| name.eq_ignore_ascii_case(column)) {
                let there = names.join(", ");
                return Err(SourceError::Refused(format!("{from} has no column `{column}`; there are {there}")));
            }
        }
        let mode = match (&watch.sent, &watch.rows) {
            (None, _) => Mode::Ledger("the watch names no `sent`".into()),
            (Some(_), Rows::Query(_)) => Mode::Ledger("a query cannot be written to".into()),
            (Some(sent), Rows::Table(table)) => {
                let form = form_of(db, table, sent).map_err(said)?;
                match try_mark(db, &watch, sent, form) {
                    Ok(None) | Err(SourceError::Busy(_)) => Mode::Column(form),
                    Ok(Some(why)) | Err(SourceError::Refused(why)) => Mode::Ledger(why),
                    Err(lost) => return Err(lost),
                }
            }
        };
        Ok(Standing { mode, warnings: Vec::new() })
    }

    fn read(&mut self, bounds: Bounds, after: Option<&Place>, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        if self.found != Some(bounds) {
            self.find(bounds)?;
        }
        let wheres = if after.is_some() { "k IS NOT NULL AND (d, k) > (?1, ?2)" } else { "k IS NOT NULL" };
        let rows = self.found_rows(wheres, after, limit)?;
        if rows.len() < limit {
            // The last page: the table takes no more room.
            self.db()?.execute_batch("DROP TABLE IF EXISTS temp.punctual_due").map_err(said)?;
            self.found = None;
        }
        Ok(rows)
    }

    /// The first of the rows that were found and are so.
    fn found_rows(&mut self, wheres: &str, after: Option<&Place>, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        let n_values = self.watch.columns().len();
        let sql = format!("SELECT * FROM temp.punctual_due WHERE {wheres} ORDER BY d, k LIMIT ?3");
        let (due, key) = (after.map(|place| Bound(&place.due)), after.map(|place| Bound(&place.key)));
        let mut statement = self.db()?.prepare_cached(&sql).map_err(said)?;
        let rows = statement.query_map(params![due, key, limit], |row| {
            let text = |index| row.get_ref(index).map(|value| raw(value).map(|value| value.to_string()));
            Ok(SourceRow {
                key: raw(row.get_ref(0)?),
                due: raw(row.get_ref(1)?).unwrap_or(Raw::Text(String::new())),
                sent: raw(row.get_ref(2)?),
                values: (3..3 + n_values).map(text).collect::<Result<_, _>>()?,
            })
        });
        rows.and_then(Iterator::collect).map_err(said)
    }

    /// Finds the rows within the bounds, in one scan.
    fn find(&mut self, bounds: Bounds) -> Result<(), SourceError> {
        let (watch, from) = (self.watch.clone(), self.from());
        let (key, due) = (format!("t.{}", quoted(&watch.key)), format!("t.{}", quoted(&watch.due)));
        let sent = watch.sent.as_ref().map(|sent| format!("t.{}", quoted(sent)));
        let mut wheres = vec![is_due(&due, &due, Kind::Any, &bounds, &watch.zone)];
        if let (Some(before), Some(sent)) = (bounds.sent_before, &sent) {
            wheres.push(is_unsent(sent, sent, Kind::Any, before, &watch.zone));
        }
        wheres.extend(watch.only.iter().map(|only| in_brackets(only)));
        let values = watch.columns().into_iter().enumerate();
        let values =
            values.map(|(index, name)| format!("substr(t.{}, 1, {VALUE_CHARS_MAX}) AS v{index}", quoted(name)));
        let sent = sent.unwrap_or_else(|| "NULL".to_owned());
        let columns: Vec<String> =
            [format!("{key} AS k"), format!("{due} AS d"), format!("{sent} AS s")].into_iter().chain(values).collect();
        let sql = format!(
            "DROP TABLE IF EXISTS temp.punctual_due; CREATE TEMP TABLE punctual_due AS SELECT {} FROM {from} t WHERE {}; \
             CREATE INDEX temp.punctual_due_order ON punctual_due (d, k)",
            columns.join(", "),
            wheres.join(" AND ")
        );
        self.db()?.execute_batch(&sql).map_err(said)?;
        self.found = Some(bounds);
        Ok(())
    }

    fn set_sent(&mut self, marks: &[Mark]) -> Result<Vec<bool>, SourceError> {
        let watch = self.watch.clone();
        let (Some(sent), from) = (&watch.sent, self.from()) else {
            return Err(SourceError::Refused("the watch names no `sent`".into()));
        };
        let (key, due, sent) = (quoted(&watch.key), quoted(&watch.due), quoted(sent));
        let sql = format!("UPDATE {from} SET {sent} = ?1 WHERE {key} = ?2 AND {due} IS ?3 AND {sent} IS ?4");
        let db = self.db()?;
        db.execute_batch("BEGIN IMMEDIATE").map_err(said)?;
        let work = || {
            let mut statement = db.prepare_cached(&sql)?;
            let mut set = Vec::with_capacity(marks.len());
            for Mark { key, due, previous, mark } in marks {
                let previous = previous.as_ref().map(Bound);
                set.push(statement.execute(params![Bound(mark), Bound(key), Bound(due), previous])? > 0);
            }
            db.execute_batch("COMMIT")?;
            Ok(set)
        };
        work().map_err(|error: rusqlite::Error| {
            // It may have been undone already.
            let _ = db.execute_batch("ROLLBACK");
            said(error)
        })
    }

    fn sent_of(&mut self, keys: &[Raw]) -> Result<Vec<Found>, SourceError> {
        let watch = self.watch.clone();
        let Some(sent) = &watch.sent else { return Ok(vec![Found::Gone; keys.len()]) };
        let sql = format!("SELECT {} FROM {} WHERE {} = ?1", quoted(sent), self.from(), quoted(&watch.key));
        let db = self.db()?;
        let mut statement = db.prepare_cached(&sql).map_err(said)?;
        let mut found = |key: &Raw| {
            let sent = statement.query_row([Bound(key)], |row| Ok(raw(row.get_ref(0)?))).optional().map_err(said)?;
            Ok(sent.map_or(Found::Gone, Found::Sent))
        };
        keys.iter().map(&mut found).collect()
    }
}

/// The form of what is written into `sent`, by the type that its table declares.
fn form_of(db: &Connection, table: &str, sent: &str) -> rusqlite::Result<Form> {
    let mut kind = String::new();
    db.pragma(None, "table_xinfo", table, |row| {
        if row.get::<_, String>("name")?.eq_ignore_ascii_case(sent) {
            kind = row.get::<_, String>("type")?.to_uppercase();
        }
        Ok(())
    })?;
    Ok(match &kind {
        kind if kind.contains("INT") => Form::Number,
        kind if ["CHAR", "CLOB", "TEXT"].iter().any(|word| kind.contains(word)) => Form::Text,
        kind if ["REAL", "FLOA", "DOUB"].iter().any(|word| kind.contains(word)) => Form::Number,
        _ => Form::Like,
    })
}

/// Marks a row in a transaction that is undone: a trigger may change the mark, or refuse it. `None`: it works.
fn try_mark(db: &Connection, watch: &Watch, sent: &str, form: Form) -> Result<Option<String>, SourceError> {
    if db.is_readonly("main").map_err(said)? {
        return Ok(Some("the file may not be written".into()));
    }
    let Rows::Table(table) = &watch.rows else { return Ok(None) };
    let (table, key, sent) = (quoted(table), quoted(&watch.key), quoted(sent));
    let wanted = mark(form, &watch.zone, None, &Raw::Text(String::new()), Timestamp::UNIX_EPOCH);
    db.execute_batch("BEGIN IMMEDIATE").map_err(said)?;
    let set = format!("UPDATE {table} SET {sent} = ?1 WHERE {key} = ?2");
    let work = || -> rusqlite::Result<Option<bool>> {
        let first = db.query_row(&format!("SELECT {key} FROM {table} LIMIT 1"), [], |row| Ok(raw(row.get_ref(0)?)));
        let Some(Some(first)) = first.optional()? else { return Ok(None) };
        db.execute(&set, params![Bound(&wanted), Bound(&first)])?;
        let sql = format!("SELECT {sent} FROM {table} WHERE {key} = ?1");
        let written = db.query_row(&sql, [Bound(&first)], |row| Ok(raw(row.get_ref(0)?)))?;
        let read = |raw: &Raw| instant::read(&raw.to_string(), &watch.zone).ok();
        Ok(Some(written.as_ref().and_then(read) == read(&wanted)))
    };
    let tried = work();
    // It may have been undone already.
    let _ = db.execute_batch("ROLLBACK");
    match tried.map_err(said)? {
        Some(false) => Ok(Some(format!("a trigger changes what is written into {sent}"))),
        Some(true) | None => Ok(None),
    }
}

/// A value for a statement.
struct Bound<'a>(&'a Raw);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Raw::Text(text) => ValueRef::Text(text.as_bytes()),
            Raw::Integer(number) => ValueRef::Integer(*number),
            Raw::Real(number) => ValueRef::Real(*number),
            Raw::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn raw(value: ValueRef<'_>) -> Option<Raw> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(Raw::Integer(number)),
        ValueRef::Real(number) => Some(Raw::Real(number)),
        ValueRef::Text(bytes) => Some(Raw::Text(String::from_utf8_lossy(bytes).into_owned())),
        ValueRef::Blob(bytes) => Some(Raw::Bytes(bytes.to_owned())),
    }
}

fn said(error: rusqlite::Error) -> SourceError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            SourceError::Busy("another program has the file locked".into())
        }
        Some(ErrorCode::ReadOnly) => SourceError::Refused("the file may not be written".into()),
        Some(ErrorCode::NotADatabase) => SourceError::Refused("it is not an SQLite file".into()),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::DiskFull) => {
            SourceError::Lost(error.to_string())
        }
        _ => SourceError::Refused(error.to_string()),
    }
}
