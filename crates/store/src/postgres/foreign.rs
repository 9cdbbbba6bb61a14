//! Another system's PostgreSQL, read and never written.
//!
//! Every statement is in a transaction that the server itself keeps from writing. Nothing is prepared and no session remembers
//! anything, so that a PgBouncer may stand before it, too.

use std::error::Error;

use punctual_core::clock::Machine;
use punctual_core::store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type, accepts};

use super::fault::Fault;
use super::open::{self, OpenError};
use super::pipeline::all3;
use super::pool::{Param, Pool, Retry, Urgency};
use super::row::get;
use crate::foreign::{ForeignError, ForeignKey, ForeignPage, ForeignRow, ForeignTable, KeyValue, quoted};

/// Instants as text, in UTC and in one order of their parts, whatever the role or the database prefers.
const BEGIN: &str = "begin isolation level repeatable read, read only; set local timezone = 'UTC'; \
    set local datestyle = 'ISO, YMD'; set local bytea_output = 'hex'";

/// How often a page is asked for again on a new connection before the caller is told.
const TRIES_MAX: usize = 3;

pub(crate) struct Foreign {
    pool: Pool,
}

impl Foreign {
    pub(crate) async fn open(url: &str, machine: &Machine) -> Result<Self, ForeignError> {
        let this = Self {
            pool: open::pool(url, machine).map_err(|error| match error {
                OpenError::Url(why) => ForeignError::Url(format!("the URL cannot be used: {why}")),
                other => ForeignError::Url(other.to_string()),
            })?,
        };
        this.rows("select 1", &[]).await?;
        Ok(this)
    }

    pub(crate) fn shown(&self) -> String {
        self.pool.url().to_string()
    }

    pub(crate) fn name(&self) -> String {
        let shown = self.shown();
        shown.rsplit_once('/').map_or_else(String::new, |(_, name)| name.to_owned())
    }

    pub(crate) async fn tables(&self) -> Result<Vec<String>, ForeignError> {
        let sql = "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                   where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema') \
                   and n.nspname not like 'pg\\_toast%' order by 1";
        let rows = self.rows(sql, &[]).await?;
        rows.iter().map(|row| self.value(row, 0)).collect()
    }

    pub(crate) async fn table(&self, name: &str) -> Result<Option<ForeignTable>, ForeignError> {
        let sql = "select c.oid::regclass::text, c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod) \
                   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
                   where c.oid = to_regclass($1) and c.relkind in ('r', 'p', 'v', 'm', 'f') order by a.attnum";
        let name = quoted_parts(name);
        let rows = self.rows(sql, &[(&name, Type::TEXT)]).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let (sql, name) = (self.value(first, 0)?, self.value(first, 1)?);
        let (mut columns, mut types) = (Vec::new(), Vec::new());
        for row in &rows {
            columns.push(self.value(row, 2)?);
            types.push(self.value(row, 3)?);
        }
        Ok(Some(ForeignTable { name, sql, columns, types }))
    }

    pub(crate) async fn count(&self, table: &ForeignTable) -> Result<u64, ForeignError> {
        let rows = self.rows(&format!("select count(*) from {}", table.sql), &[]).await?;
        let n: i64 = rows.first().map_or(Ok(0), |row| get(row, 0)).map_err(|error| self.refused(&error.into()))?;
        Ok(u64::try_from(n).unwrap_or(0))
    }

    pub(crate) async fn page(&self, page: ForeignPage<'_>) -> Result<Vec<ForeignRow>, ForeignError> {
        // With its table's name: `order by "id"` alone would mean the text that is selected, and 10 come before 9.
        let key = format!("t.{}", quoted(page.key));
        let after = match page.after {
            Some(ForeignKey(KeyValue::Text(text))) => Some(text.as_str()),
            _ => None,
        };
        let of_key = page.table.columns.iter().position(|name| name == page.key);
        let kind = of_key.map_or("text", |index| page.table.types[index].as_str());
        let columns: Vec<String> = page.table.columns.iter().map(|name| format!("t.{}::text", quoted(name))).collect();
        let wheres = match after {
            // As the column's own type, so that its index is used and its order is the one that counts.
            Some(_) => format!("where {key} > $1::text::{kind}"),
            None => "where $1::text is null".to_owned(),
        };
        let sql = format!(
            "select {key}::text, {} from {} t {wheres} order by {key} limit $2",
            columns.join(", "),
            page.table.sql
        );
        let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
        let rows = self.rows(&sql, &[(&after, Type::TEXT), (&limit, Type::INT8)]).await?;
        rows.iter().map(|row| self.row(row, columns.len())).collect()
    }

    fn row(&self, row: &Row, n_columns: usize) -> Result<ForeignRow, ForeignError> {
        let key: Option<String> = get(row, 0).map_err(|error| self.refused(&error.into()))?;
        // A database without an encoding (SQL_ASCII) holds texts that are not UTF-8.
        let text = |index| get::<Option<Lossy>>(row, index).map(|text| text.map(|Lossy(text)| text));
        let values = (1..=n_columns)
            .map(|index| text(index).map_err(|error| self.refused(&error.into())))
            .collect::<Result<_, _>>()?;
        Ok(ForeignRow { key: ForeignKey(KeyValue::Text(key.unwrap_or_default())), values })
    }

    fn value(&self, row: &Row, index: usize) -> Result<String, ForeignError> {
        get(row, index).map_err(|error| self.refused(&error.into()))
    }

    /// Runs one statement that only reads; again on a new connection if the old one is gone.
    async fn rows(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, ForeignError> {
        let mut n_tried = 0;
        loop {
            let db = self.pool.get(Urgency::Normal).await.map_err(|fault| self.refused(&fault))?;
            let result = all3(db.begin(BEGIN), db.rows(sql, params), db.commit()).await;
            n_tried += 1;
            match db.end(result).await {
                Ok(((), rows, ())) => return Ok(rows),
                Err((_, Retry::Safe | Retry::SafeForReads)) if n_tried < TRIES_MAX => {}
                Err((fault, _)) => return Err(self.refused(&fault)),
            }
        }
    }

    fn refused(&self, fault: &Fault) -> ForeignError {
        let name = self.shown();
        match fault {
            Fault::RolledBack(why) | Fault::Blocked(why) | Fault::Lost(why) => {
                ForeignError::Lost { name, why: why.clone() }
            }
            Fault::Store(StoreError::Unavailable(why)) => ForeignError::Lost { name, why: why.clone() },
            Fault::Store(error) => ForeignError::Refused { name, why: error.to_string().replace("database: ", "") },
        }
    }
}

/// A text, with a mark in place of what is not UTF-8.
pub(super) struct Lossy(pub(super) String);

impl<'a> FromSql<'a> for Lossy {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(String::from_utf8_lossy(raw).into_owned()))
    }

    accepts!(TEXT);
}

/// `schema.table` with each part quoted, so that a name is taken as it is written.
pub(super) fn quoted_parts(name: &str) -> String {
    if name.contains('"') {
        return name.to_owned();
    }
    name.split('.').map(quoted).collect::<Vec<_>>().join(".")
}
