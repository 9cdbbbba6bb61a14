//! An application's PostgreSQL, in which a watch looks.
//!
//! Nothing is prepared and no session remembers anything, so that a PgBouncer may stand before it. No statement waits long for a lock, and the
//! server itself ends what takes too long.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::clock::{Machine, within};
use punctual_core::rules::watch::{Found, mark};
use punctual_core::source::{Bounds, Mark, Mode, Source, SourceError, Standing};
use punctual_core::store::StoreError;
use punctual_core::watch::{Place, Raw, Rows, SourceRow, Watch};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::foreign::{Lossy, quoted_parts};
use super::open;
use super::pipeline::all3;
use super::pool::{Param, Pool, Retry, Urgency};
use super::row::{clean, get};
use crate::foreign::quoted;
use crate::watched::{Kind, VALUE_CHARS_MAX, in_brackets, is_due, is_unsent};

/// Instants as text, in UTC and in one order of their parts, whatever the role or the database prefers; and no lock and no statement that the
/// application would have to wait for.
const SETTINGS: &str = "set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local bytea_output = 'hex'; \
    set local extra_float_digits = 1; set local lock_timeout = '2s'; set local statement_timeout = '60s'; \
    set local idle_in_transaction_session_timeout = '5s'";
/// Rows are found by their keys, one by one, whatever the statistics say.
const BY_KEY: &str =
    "; set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off";
/// A server that says nothing for so long is gone.
const ANSWERED_WITHIN: Duration = Duration::from_secs(70);
/// How often a statement is tried again at once, on a new connection.
const TRIES_MAX: usize = 3;
/// A table with more rows than this needs an index on its due date.
const ROWS_MANY: f64 = 100_000.0;

/// The rows of one watch.
pub(crate) struct Watched {
    pool: Pool,
    watch: Arc<Watch>,
    shape: Mutex<Option<Arc<Shape>>>,
}

/// The types of a watch's columns.
#[derive(Debug)]
struct Shape {
    /// Where the rows are, in SQL.
    from: String,
    key_type: String,
    due: Kind,
    due_type: String,
    sent: Option<(Kind, String)>,
    /// Rows can be found by key.
    is_keyed: bool,
    /// No key is null.
    is_named: bool,
}

impl Watched {
    pub(crate) fn new(url: &str, watch: Arc<Watch>, machine: &Machine) -> Result<Self, String> {
        let pool = open::pool(url, machine).map_err(|error| error.to_string())?;
        Ok(Self { pool, watch, shape: Mutex::default() })
    }

    /// The types of the columns, as of the last check.
    async fn shape(&self) -> Result<Arc<Shape>, SourceError> {
        let known = self.shape.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some(shape) => Ok(shape),
            None => Ok(self.look().await?.0),
        }
    }

    /// Looks at the table; returns its shape, and why `sent` cannot be written, if that can be seen.
    async fn look(&self) -> Result<(Arc<Shape>, Vec<String>, Option<String>), SourceError> {
        let (shape, warnings, why) = match &self.watch.rows {
            Rows::Table(name) => self.look_at_table(name).await?,
            Rows::Query(query) => (self.look_at_query(query).await?, Vec::new(), None),
        };
        let shape = Arc::new(shape);
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner) = Some(shape.clone());
        Ok((shape, warnings, why))
    }

    async fn look_at_table(&self, name: &str) -> Result<(Shape, Vec<String>, Option<String>), SourceError> {
        let sql = "select c.oid::regclass::text, a.attname::text, format_type(a.atttypid, a.atttypmod), c.reltuples::float8, \
                   exists (select from pg_index i where i.indrelid = c.oid and i.indkey[0] = a.attnum), \
                   has_column_privilege(c.oid, a.attnum, 'update'), \
                   pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on', a.attnotnull \
                   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
                   where c.oid = to_regclass($1) and c.relkind in ('r', 'p', 'v', 'm', 'f') order by a.attnum";
        let quoted_name = quoted_parts(name);
        let rows = self.read_rows(sql, &[(&quoted_name, Type::TEXT)], "").await?;
        let mut columns: Vec<Column> = Vec::with_capacity(rows.len());
        for row in &rows {
            columns.push(Column {
                name: value(row, 1)?,
                kind: value(row, 2)?,
                n_rows: value(row, 3)?,
                is_indexed: value(row, 4)?,
                may_update: value(row, 5)?,
                is_set: value(row, 7)?,
            });
        }
        let Some(first) = rows.first() else {
            return Err(SourceError::Refused(format!("there is no table `{name}`, or it may not be seen")));
        };
        let (from, is_read_only): (String, bool) = (value(first, 0)?, value(first, 6)?);
        let find = |wanted: &str| {
            columns.iter().find(|column| column.name == wanted).ok_or_else(|| {
                let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                SourceError::Refused(format!("`{name}` has no column `{wanted}`; there are {}", names.join(", ")))
            })
        };
        for column in self.watch.columns() {
            find(column)?;
        }
        let (key, due) = (find(&self.watch.key)?, find(&self.watch.due)?);
        let sent = self.watch.sent.as_deref().map(find).transpose()?;
        let mut warnings = Vec::new();
        if !due.is_indexed && due.n_rows > ROWS_MANY {
            warnings.push(format!(
                "`{}` has no index, and `{name}` about {:.0} rows: every batch reads all of them",
                due.name, due.n_rows
            ));
        }
        let why = match sent {
            Some(_) if is_read_only => Some("the database is read-only".to_owned()),
            Some(sent) if !sent.may_update => Some(format!("this role may not write `{}`", sent.name)),
            _ => None,
        };
        let sent = sent.map(|sent| Ok((kind_of(&sent.name, &sent.kind)?, sent.kind.clone()))).transpose()?;
        let shape = Shape {
            from,
            key_type: cast_type(&key.kind),
            due: kind_of(&due.name, &due.kind)?,
            due_type: due.kind.clone(),
            sent,
            is_keyed: key.is_indexed,
            is_named: key.is_set,
        };
        Ok((shape, warnings, why))
    }

    async fn look_at_query(&self, query: &str) -> Result<Shape, SourceError> {
        let from = in_brackets(query.trim().trim_end_matches(';'));
        let columns = [self.watch.key.as_str(), self.watch.due.as_str()];
        let all: Vec<&str> =
            columns.into_iter().chain(self.watch.sent.as_deref()).chain(self.watch.columns()).collect();
        let types: Vec<String> = all.iter().map(|column| format!("pg_typeof(t.{})::text", quoted(column))).collect();
        // No row is read; a type is known without one.
        let sql = format!("select {} from (select) one left join {from} t on false", types.join(", "));
        let rows = self.read_rows(&sql, &[], "").await?;
        let Some(row) = rows.first() else { return Err(SourceError::Refused("the query has no columns".into())) };
        let (key_type, due_type): (String, String) = (value(row, 0)?, value(row, 1)?);
        let sent: Option<String> = self.watch.sent.is_some().then(|| value(row, 2)).transpose()?;
        let sent = sent.map(|kind| Ok((kind_of("sent", &kind)?, kind))).transpose()?;
        let due = kind_of(&self.watch.due, &due_type)?;
        Ok(Shape { from, key_type: cast_type(&key_type), due, due_type, sent, is_keyed: false, is_named: false })
    }

    /// The first rows that are due within the bounds and are so.
    async fn due_rows(
        &self,
        shape: &Shape,
        bounds: &Bounds,
        more: &[String],
        params: &[Param<'_>],
        limit: usize,
    ) -> Result<Vec<SourceRow>, SourceError> {
        let watch = &self.watch;
        let (key, due) = (format!("t.{}", quoted(&watch.key)), format!("t.{}", quoted(&watch.due)));
        let sent = watch.sent.as_ref().map(|sent| format!("t.{}", quoted(sent)));
        let mut wheres = vec![is_due(&due, &collated(&due), shape.due, bounds, &watch.zone)];
        if let (Some(before), Some(sent), Some((kind, _))) = (bounds.sent_before, &sent, &shape.sent) {
            wheres.push(is_unsent(sent, &collated(sent), *kind, before, &watch.zone));
        }
        wheres.extend(watch.only.iter().map(|only| in_brackets(only)));
        wheres.extend(more.iter().cloned());
        let values =
            watch.columns().into_iter().map(|name| format!("left(t.{}::text, {VALUE_CHARS_MAX})", quoted(name)));
        let sent = sent.map_or_else(|| "null::text".to_owned(), |sent| format!("{sent}::text"));
        let columns: Vec<String> =
            [format!("{key}::text"), format!("{due}::text"), sent].into_iter().chain(values).collect();
        let sql = format!(
            "select {} from {} t where {} order by {due}, {key} limit {limit}",
            columns.join(", "),
            shape.from,
            wheres.join(" and ")
        );
        let rows = self.read_rows(&sql, params, "").await?;
        rows.iter().map(|row| source_row(row, columns.len())).collect()
    }

    /// Marks a row in a transaction that is undone: a trigger may change the mark, or refuse it. `None`: it works.
    async fn try_mark(&self, shape: &Shape, now: Timestamp) -> Result<Option<String>, SourceError> {
        let (Some(sent), Some((kind, sent_type))) = (&self.watch.sent, &shape.sent) else { return Ok(None) };
        let Some(form) = kind.form() else {
            return Ok(Some(format!("`{sent}` is of type {sent_type}, which cannot hold an instant")));
        };
        let (key, sent, from) = (quoted(&self.watch.key), quoted(sent), &shape.from);
        let wanted = mark(form, &self.watch.zone, None, &Raw::Text(String::new()), now).to_string();
        let sql = format!(
            "update {from} t set {sent} = $1::text::{sent_type} where t.{key} = (select k.{key} from {from} k limit 1) \
             returning t.{sent}::text"
        );
        let tried = self.tried(&format!("begin; {SETTINGS}"), &sql, &[(&wanted, Type::TEXT)], End::Undo, false).await;
        match tried {
            Ok(rows) => {
                let written: Option<Option<String>> = rows.first().map(|row| value(row, 0)).transpose()?;
                let is_kept = |written: &Option<String>| {
                    let read = |text: &str| punctual_core::rules::instant::read(text, &self.watch.zone).ok();
                    written.as_deref().and_then(read) == read(&wanted)
                };
                let is_changed = written.is_some_and(|written| !is_kept(&written));
                Ok(is_changed.then(|| format!("a trigger changes what is written into {sent}")))
            }
            // It is tried when it counts.
            Err(SourceError::Busy(_)) => Ok(None),
            Err(SourceError::Refused(why)) => Ok(Some(why)),
            Err(lost) => Err(lost),
        }
    }

    /// Runs one statement that only reads.
    async fn read_rows(&self, sql: &str, params: &[Param<'_>], settings: &str) -> Result<Vec<Row>, SourceError> {
        self.tried(&format!("begin read only; {SETTINGS}{settings}"), sql, params, End::Keep, true).await
    }

    /// Runs one statement in a transaction; again on a new connection if the old one was gone before.
    async fn tried(
        &self,
        begin: &str,
        sql: &str,
        params: &[Param<'_>],
        end: End,
        reads: bool,
    ) -> Result<Vec<Row>, SourceError> {
        let work = async {
            let mut n_tried = 0;
            loop {
                let db = self.pool.get(Urgency::Patient).await.map_err(|fault| said(&fault))?;
                let ended = async {
                    match end {
                        End::Keep => db.commit().await,
                        End::Undo => db.rollback().await,
                    }
                };
                let result = all3(db.begin(begin), db.rows(sql, params), ended).await;
                n_tried += 1;
                match db.end(result).await {
                    Ok(((), rows, ())) => return Ok(rows),
                    Err((Fault::Lost(_), retry))
                        if n_tried < TRIES_MAX && (retry == Retry::Safe || (reads && retry == Retry::SafeForReads)) => {
                    }
                    Err((fault, _)) => return Err(said(&fault)),
                }
            }
        };
        let clock = self.pool.machine().clock.clone();
        match within(&*clock, ANSWERED_WITHIN, work).await {
            Some(result) => result,
            None => Err(SourceError::Lost("the server does not answer".into())),
        }
    }
}

/// How a transaction ends.
#[derive(Clone, Copy)]
enum End {
    Keep,
    Undo,
}

struct Column {
    name: String,
    kind: String,
    n_rows: f64,
    is_indexed: bool,
    may_update: bool,
    is_set: bool,
}

#[async_trait]
impl Source for Watched {
    async fn check(&self) -> Result<Standing, SourceError> {
        let (shape, warnings, why) = self.look().await?;
        let mode = match (&shape.sent, &self.watch.rows, why) {
            (None, ..) => Mode::Ledger("the watch names no `sent`".into()),
            (Some(_), Rows::Query(_), _) => Mode::Ledger("a query cannot be written to".into()),
            (Some(_), Rows::Table(_), Some(why)) => Mode::Ledger(why),
            (Some((kind, _)), Rows::Table(_), None) => {
                match self.try_mark(&shape, self.pool.machine().clock.now()).await? {
                    Some(why) => Mode::Ledger(why),
                    None => match kind.form() {
                        Some(form) => Mode::Column(form),
                        None => Mode::Ledger("it cannot hold an instant".into()),
                    },
                }
            }
        };
        Ok(Standing { mode, warnings })
    }

    async fn read(&self, bounds: Bounds, after: Option<&Place>, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        let shape = self.shape().await?;
        let (key, due) = (format!("t.{}", quoted(&self.watch.key)), format!("t.{}", quoted(&self.watch.due)));
        let place = after.map(|place| (place.due.to_string(), place.key.to_string()));
        let (after_due, after_key) = place.unzip();
        let is_after = match after {
            Some(_) => {
                format!("({due}, {key}) > ($1::text::{}, $2::text::{})", cast_type(&shape.due_type), shape.key_type)
            }
            None => "coalesce($1::text, $2::text) is null".to_owned(),
        };
        let params: [Param<'_>; 2] = [(&after_due, Type::TEXT), (&after_key, Type::TEXT)];
        self.due_rows(&shape, &bounds, &[format!("{key} is not null"), is_after], &params, limit).await
    }

    async fn nameless(&self, bounds: Bounds, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        let shape = self.shape().await?;
        if shape.is_named {
            return Ok(Vec::new());
        }
        let is_nameless = format!("t.{} is null", quoted(&self.watch.key));
        self.due_rows(&shape, &bounds, &[is_nameless], &[], limit).await
    }

    async fn set_sent(&self, marks: &[Mark]) -> Result<Vec<bool>, SourceError> {
        let shape = self.shape().await?;
        let (Some(sent), Some((_, sent_type))) = (&self.watch.sent, &shape.sent) else {
            return Err(SourceError::Refused("the watch names no `sent`".into()));
        };
        let (key, due, sent) = (quoted(&self.watch.key), quoted(&self.watch.due), quoted(sent));
        let sql = format!(
            "update {} t set {sent} = v.mark::{sent_type} from unnest($1::text[], $2::text[], $3::text[], $4::text[]) \
             as v (key, due, previous, mark) where t.{key} = v.key::{} and t.{due}::text = v.due \
             and t.{sent}::text is not distinct from v.previous returning v.key",
            shape.from, shape.key_type
        );
        let keys: Vec<String> = marks.iter().map(|mark| mark.key.to_string()).collect();
        let dues: Vec<String> = marks.iter().map(|mark| mark.due.to_string()).collect();
        let previous: Vec<Option<String>> =
            marks.iter().map(|mark| mark.previous.as_ref().map(Raw::to_string)).collect();
        let new: Vec<String> = marks.iter().map(|mark| mark.mark.to_string()).collect();
        let params: [Param<'_>; 4] = [
            (&keys, Type::TEXT_ARRAY),
            (&dues, Type::TEXT_ARRAY),
            (&previous, Type::TEXT_ARRAY),
            (&new, Type::TEXT_ARRAY),
        ];
        let by_key = if shape.is_keyed { BY_KEY } else { "" };
        let rows = self.tried(&format!("begin; {SETTINGS}{by_key}"), &sql, &params, End::Keep, false).await?;
        let set: Vec<String> = rows.iter().map(|row| value(row, 0)).collect::<Result<_, _>>()?;
        let set: std::collections::HashSet<String> = set.into_iter().collect();
        Ok(keys.iter().map(|key| set.contains(key)).collect())
    }

    async fn sent_of(&self, keys: &[Raw]) -> Result<Vec<Found>, SourceError> {
        let shape = self.shape().await?;
        let Some(sent) = &self.watch.sent else { return Ok(vec![Found::Gone; keys.len()]) };
        let (key, sent) = (quoted(&self.watch.key), quoted(sent));
        let sql = format!(
            "select t.{key} is not null, t.{sent}::text from unnest($1::text[]) with ordinality as v (key, n) \
             left join {} t on t.{key} = v.key::{} order by v.n",
            shape.from, shape.key_type
        );
        let keys: Vec<String> = keys.iter().map(Raw::to_string).collect();
        let by_key = if shape.is_keyed { BY_KEY } else { "" };
        let rows = self.read_rows(&sql, &[(&keys, Type::TEXT_ARRAY)], by_key).await?;
        if rows.len() != keys.len() {
            return Err(SourceError::Refused(format!("`{}` is not unique", self.watch.key)));
        }
        let found = |row: &Row| match value::<bool>(row, 0)? {
            true => Ok(Found::Sent(value::<Option<String>>(row, 1)?.map(Raw::Text))),
            false => Ok(Found::Gone),
        };
        rows.iter().map(found).collect()
    }
}

fn source_row(row: &Row, n_columns: usize) -> Result<SourceRow, SourceError> {
    // A database without an encoding (SQL_ASCII) holds texts that are not UTF-8.
    let text = |index| value::<Option<Lossy>>(row, index).map(|text| text.map(|Lossy(text)| text));
    let due = text(1)?.unwrap_or_default();
    Ok(SourceRow {
        key: text(0)?.map(Raw::Text),
        due: Raw::Text(due),
        sent: text(2)?.map(Raw::Text),
        values: (3..n_columns)
            .map(|index| Ok(text(index)?.map(|text| clean(&text).into_owned())))
            .collect::<Result<_, _>>()?,
    })
}

/// A column of texts, compared byte by byte.
fn collated(column: &str) -> String {
    format!("{column} collate \"C\"")
}

/// A type without its length: a key must not be cut to fit.
fn cast_type(kind: &str) -> String {
    match kind {
        kind if kind.starts_with("character(") || kind == "character" => "bpchar".into(),
        kind if kind.starts_with("character varying") => "text".into(),
        kind => kind.to_owned(),
    }
}

/// What a column of this type holds.
fn kind_of(column: &str, kind: &str) -> Result<Kind, SourceError> {
    let digits =
        kind.split_once('(').and_then(|(_, rest)| rest.split_once(')')).and_then(|(digits, _)| digits.parse().ok());
    let digits = digits.unwrap_or(6);
    match kind {
        "date" => Ok(Kind::Day),
        kind if kind.starts_with("timestamp") && kind.ends_with("with time zone") => Ok(Kind::Instant(digits)),
        kind if kind.starts_with("timestamp") => Ok(Kind::Local(digits)),
        "text" | "character" => Ok(Kind::Text),
        kind if kind.starts_with("character") => Ok(Kind::Text),
        "bigint" | "integer" | "double precision" | "numeric" => Ok(Kind::Number),
        kind if kind.starts_with("numeric") => Ok(Kind::Number),
        other => Err(SourceError::Refused(format!(
            "`{column}` is of type {other}; it must be a timestamp, a date, a text or a number of seconds since 1970"
        ))),
    }
}

fn value<'r, T: tokio_postgres::types::FromSql<'r>>(row: &'r Row, index: usize) -> Result<T, SourceError> {
    get(row, index).map_err(|error| SourceError::Refused(error.to_string()))
}

fn said(fault: &Fault) -> SourceError {
    match fault {
        Fault::RolledBack(why) | Fault::Blocked(why) => SourceError::Busy(why.clone()),
        Fault::Lost(why) | Fault::Store(StoreError::Unavailable(why)) => SourceError::Lost(why.clone()),
        Fault::Store(error) => SourceError::Refused(error.to_string().replace("database: ", "")),
    }
}
