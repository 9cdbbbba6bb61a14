//! Work that one node does at a time. The database's clock judges when it is another's turn, and the lease's number who may write.

use punctual_core::store::{DUTY_FOR, Duty, KeptDuty, KnownDuty};
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::journal::HEAD;
use super::pool::Connection;
use super::read::each;
use super::row::clean;
use crate::journal::known_duty;
use crate::rows::Reader;

fn until() -> String {
    format!("clock_timestamp() + interval '{} seconds'", DUTY_FOR.as_secs())
}

pub(super) async fn take(db: &Connection<'_>, name: &str, node: &str) -> Result<Option<Duty>, Fault> {
    let sql = format!(
        "insert into punctual.duty as d (name, position, lease, node, until) values ($1, ({HEAD}), 1, $2, {}) \
         on conflict (name) do update set lease = d.lease + 1, node = excluded.node, until = excluded.until \
         where d.until is null or d.until < clock_timestamp() or d.node = excluded.node \
         returning d.lease, d.position, d.note",
        until()
    );
    let rows = db.rows(&sql, &[(&clean(name), Type::TEXT), (&clean(node), Type::TEXT)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let mut from = Reader::new(row, 0);
    Ok(Some(Duty { lease: from.number()? as u64, position: from.number()?, note: from.maybe_owned()? }))
}

pub(super) async fn keep(db: &Connection<'_>, kept: &KeptDuty) -> Result<bool, Fault> {
    let sql = format!(
        "update punctual.duty set position = $3, note = $4, until = {} where name = $1 and lease = $2",
        until()
    );
    let note = kept.note.as_deref().map(clean);
    let params = [
        (&clean(&kept.name) as _, Type::TEXT),
        (&(kept.lease as i64) as _, Type::INT8),
        (&kept.position as _, Type::INT8),
        (&note as _, Type::TEXT),
    ];
    Ok(db.execute(&sql, &params).await? > 0)
}

pub(super) async fn leave(db: &Connection<'_>, name: &str, lease: u64) -> Result<(), Fault> {
    let sql = "update punctual.duty set until = null where name = $1 and lease = $2";
    db.execute(sql, &[(&clean(name), Type::TEXT), (&(lease as i64), Type::INT8)]).await?;
    Ok(())
}

pub(super) async fn all(db: &Connection<'_>) -> Result<Vec<KnownDuty>, Fault> {
    let sql = "select d.name, case when d.until > clock_timestamp() then d.node end, d.position, d.note \
               from punctual.duty d order by d.name collate \"C\"";
    each(&db.rows(sql, &[]).await?, known_duty)
}
