//! Sessions of the page that were ended.

use jiff::Timestamp;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::row::{clean, instant, micros};

pub(super) async fn end(db: &Connection<'_>, name: &str, at: Timestamp, forgotten: Timestamp) -> Result<(), Fault> {
    db.execute(
        "insert into punctual.session_end (name, at) values ($1, $2) \
         on conflict (name) do update set at = greatest(session_end.at, excluded.at)",
        &[(&clean(name), Type::TEXT), (&micros(at), Type::TIMESTAMPTZ)],
    )
    .await?;
    db.execute("delete from punctual.session_end where at < $1", &[(&micros(forgotten), Type::TIMESTAMPTZ)]).await?;
    Ok(())
}

pub(super) async fn ended(db: &Connection<'_>, names: &[String]) -> Result<Option<Timestamp>, Fault> {
    let names: Vec<_> = names.iter().map(|name| clean(name)).collect();
    let sql = "select at from punctual.session_end where name = any($1) order by at desc limit 1";
    let rows = db.rows(sql, &[(&names, Type::TEXT_ARRAY)]).await?;
    Ok(rows.first().map(|found| instant(found, 0)).transpose()?)
}
