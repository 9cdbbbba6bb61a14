//! People who belong together.

use punctual_core::group::Group;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::read::each;
use super::row::{clean, impossible, micros};
use crate::rows;

pub(super) async fn put(db: &Connection<'_>, group: &Group) -> Result<(), Fault> {
    let users = serde_json::to_string(&group.users).map_err(impossible)?;
    db.execute(
        "insert into punctual.user_group (name, mode, users, created_at, updated_at) values ($1, $2, $3, $4, $5) \
         on conflict (name) do update set mode = excluded.mode, users = excluded.users, updated_at = excluded.updated_at",
        &[
            (&group.name, Type::TEXT),
            (&group.mode.as_str(), Type::TEXT),
            (&users, Type::TEXT),
            (&micros(group.created_at), Type::TIMESTAMPTZ),
            (&micros(group.updated_at), Type::TIMESTAMPTZ),
        ],
    )
    .await?;
    Ok(())
}

/// Those of `names` that there are.
pub(super) async fn of_names(db: &Connection<'_>, names: &[String]) -> Result<Vec<Group>, Fault> {
    let names: Vec<_> = names.iter().map(|name| clean(name)).collect();
    let sql = format!("select {} from punctual.user_group g where g.name = any ($1)", rows::GROUP);
    each(&db.rows(&sql, &[(&names, Type::TEXT_ARRAY)]).await?, rows::group)
}

pub(super) async fn groups(db: &Connection<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Group>, Fault> {
    let sql = format!("select {} from punctual.user_group g where g.name > $1 order by g.name limit $2", rows::GROUP);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.rows(&sql, &[(&clean(after.unwrap_or("")), Type::TEXT), (&limit, Type::INT8)]).await?;
    each(&rows, rows::group)
}
