//! How late sends were, by node and stretch.

use jiff::Timestamp;
use punctual_core::model::lateness::Stretch;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, micros};
use crate::rows::{self, Reader};

/// Writes each over what the same run of its node has written before. They are few: mostly one.
pub(super) async fn put(db: &Connection<'_>, stretches: &[Stretch]) -> Result<(), Fault> {
    let sql = "insert into punctual.lateness (at, node, since, late_max, counts, failed, given_up, waiting) \
        values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (at, node, since) do update set late_max = excluded.late_max, \
        counts = excluded.counts, failed = excluded.failed, given_up = excluded.given_up, waiting = excluded.waiting";
    for stretch in stretches {
        let [late_max, failed, given_up, waiting] = rows::numbers_of(stretch);
        let (at, since, node) = (micros(stretch.at), micros(stretch.since), clean(&stretch.node));
        let counts = stretch.late.to_string();
        let params: [Param<'_>; 8] = [
            (&at, Type::TIMESTAMPTZ),
            (&node, Type::TEXT),
            (&since, Type::TIMESTAMPTZ),
            (&late_max, Type::INT8),
            (&counts, Type::TEXT),
            (&failed, Type::INT8),
            (&given_up, Type::INT8),
            (&waiting, Type::INT8),
        ];
        db.execute(sql, &params).await?;
    }
    Ok(())
}

pub(super) async fn read(db: &Connection<'_>, from: Timestamp, to: Timestamp) -> Result<Vec<Stretch>, Fault> {
    let sql = format!(
        "select {} from punctual.lateness l where l.at >= $1 and l.at < $2 order by l.at, l.node, l.since",
        rows::STRETCH
    );
    let (from, to) = (micros(from), micros(to));
    let params: [Param<'_>; 2] = [(&from, Type::TIMESTAMPTZ), (&to, Type::TIMESTAMPTZ)];
    each(&db.rows(&sql, &params).await?, |found| rows::stretch(&mut Reader::new(found, 0)))
}

pub(super) async fn prune(db: &Connection<'_>, before: Timestamp) -> Result<(), Fault> {
    db.execute("delete from punctual.lateness where at < $1", &[(&micros(before), Type::TIMESTAMPTZ)]).await?;
    Ok(())
}
