//! Placing what is committed, reading the journal, and removing what is old of it.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use jiff::{SignedDuration, Timestamp};
use punctual_core::id::ReminderId;
use punctual_core::store::{JournalPage, JournalQuery, Start};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::batch::BEGIN_READ_IN_ORDER;
use super::fault::Fault;
use super::pipeline::{all3, both};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, get, impossible, micros, reminder_id, uuid};
use crate::columns::Value;
use crate::journal::{ENTRY, page, placed, stretch, wanted};
use crate::rows::Reader;

/// The last position there is.
pub(super) const HEAD: &str = "select p.first + p.n - 1 from punctual.journal_place p order by p.first desc limit 1";
/// How far the clock of a node may have been ahead of the database's when it wrote an entry.
const AHEAD_MAX: SignedDuration = SignedDuration::from_mins(1);

/// Places what is committed, also when another node is just at it.
pub(super) async fn place(db: &Connection<'_>) -> Result<i64, Fault> {
    let rows = db.rows("select punctual.place_writes(true)", &[]).await?;
    let head: Option<i64> = rows.first().map_or(Ok(None), |row| get(row, 0))?;
    Ok(head.ok_or_else(|| impossible("the journal has no end"))?)
}

pub(super) async fn journal(db: &Connection<'_>, query: &JournalQuery) -> Result<JournalPage, Fault> {
    let begin = format!("{BEGIN_READ_IN_ORDER}; set local enable_hashjoin = off; set local enable_mergejoin = off");
    // An entry is placed after it happened, so the time of its place says where to begin.
    let since = query.from.map(|from| micros(from.checked_sub(AHEAD_MAX).unwrap_or(Timestamp::MIN)));
    let ends = format!(
        "select (select greatest(p.first, 1) from punctual.journal_place p order by p.first limit 1), ({HEAD}), \
         (select p.first from punctual.journal_place p where p.placed_at >= $1 order by p.placed_at limit 1)"
    );
    let params: [Param<'_>; 1] = [(&since, Type::TIMESTAMPTZ)];
    let ((), rows) = both(db.begin(&begin), db.rows(&ends, &params)).await?;
    let row = rows.first().ok_or_else(|| impossible("the journal has no ends"))?;
    let mut ends = Reader::new(row, 0);
    let (first, head, since) = (ends.number()?, ends.number()?, ends.maybe_number()?);
    let oldest = if query.from.is_some() { since.unwrap_or(head + 1).max(first) } else { first };
    let stretch @ (from, to) = stretch(query, oldest, head);
    let (conditions, values) = wanted(query, '$', "punctual.reminder_tag");
    let order = match query.start {
        Start::After(_) => "asc",
        Start::Before(_) => "desc",
    };
    let joined = match query.reminder {
        Some(_) => format!(
            "punctual.journal j join punctual.journal_place p on p.write = j.write \
             left join punctual.journal_write w on w.write = j.write where p.first + j.item between {from} and {to}"
        ),
        None => format!(
            "punctual.journal_place p join punctual.journal j on j.write = p.write and j.item >= {from} - p.first \
             and j.item <= {to} - p.first left join punctual.journal_write w on w.write = p.write \
             where p.first >= (select q.first from punctual.journal_place q where q.first <= {from} order by q.first desc limit 1) \
             and p.first <= {to}"
        ),
    };
    let sql = format!(
        "select p.first + j.item, w.node, {ENTRY} from {joined}{conditions} order by p.first {order}, j.item {order} limit {}",
        query.limit
    );
    let params: Vec<Param<'_>> = values.iter().map(|value| (value as _, type_of(value))).collect();
    let (rows, ()) = both(db.rows(&sql, &params), db.commit()).await?;
    let entries = each(&rows, placed)?;
    Ok(page(query, entries, stretch, oldest, (first, head)))
}

/// Those of these reminders that have the tag.
pub(super) async fn tagged(db: &Connection<'_>, tag: &str, reminders: &[ReminderId]) -> Result<Vec<ReminderId>, Fault> {
    let ids: Vec<Uuid> = reminders.iter().copied().map(uuid).collect();
    let sql = "select t.reminder_id from punctual.reminder_tag t where t.tag = $1 and t.reminder_id = any ($2)";
    let rows = db.rows(sql, &[(&clean(tag), Type::TEXT), (&ids, Type::UUID_ARRAY)]).await?;
    each(&rows, |row| reminder_id(row, 0))
}

/// Removes places from before `before`, with their entries, the oldest first, and never the last.
pub(super) async fn prune(db: &Connection<'_>, before: Timestamp, limit: usize) -> Result<usize, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let params: [Param<'_>; 2] = [(&micros(before), Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let gone = db.rows(
        "with old as (select p.first from punctual.journal_place p where p.placed_at < $1 \
           and p.first < (select max(q.first) from punctual.journal_place q) order by p.placed_at limit $2 for update skip locked), \
         gone as (delete from punctual.journal_place p using old where p.first = old.first returning p.write), \
         headers as (delete from punctual.journal_write w using gone where w.write = gone.write), \
         entries as (delete from punctual.journal j using gone where j.write = gone.write) \
         select count(*) from gone",
        &params,
    );
    let begin = "begin; set local jit = off; set local enable_seqscan = off; set local enable_hashjoin = off; \
                 set local enable_mergejoin = off";
    let ((), rows, ()) = all3(db.begin(begin), gone, db.commit()).await?;
    let n_gone: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
    Ok(usize::try_from(n_gone).unwrap_or(0))
}

fn type_of(value: &Value<'_>) -> Type {
    match value {
        Value::Null | Value::Text(_) => Type::TEXT,
        Value::Id(_) => Type::UUID,
        Value::Number(_) => Type::INT8,
        Value::Flag(_) => Type::BOOL,
        Value::At(_) => Type::TIMESTAMPTZ,
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Id(id) => out.put_slice(*id),
            Self::Number(number) => out.put_i64(*number),
            Self::Flag(flag) => out.put_u8(u8::from(*flag)),
            Self::Text(text) => out.put_slice(clean(text).as_bytes()),
            Self::At(at) => out.put_i64(micros(*at).sent()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
