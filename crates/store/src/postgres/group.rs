//! People who belong together.

use jiff::Timestamp;
use punctual_core::decide::group::group_changed;
use punctual_core::group::Group;
use punctual_core::journal::Who;
use punctual_core::shard::Shards;
use tokio_postgres::types::Type;

use super::batch::BEGIN_BY_KEY;
use super::fault::Fault;
use super::pipeline::both;
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, impossible, micros};
use super::write::write;
use super::{event, feed, keep, person};
use crate::rows;

/// Writes or replaces a group; returns when runs of users who have left it must be looked at again.
pub(super) async fn put(db: &Connection<'_>, own: Shards, group: &Group, who: Who) -> Result<Vec<Timestamp>, Fault> {
    let ((), before) = both(db.begin(BEGIN_BY_KEY), for_update(db, &group.name)).await?;
    who.expects.check(|| before.as_ref().map(Group::version))?;
    let users = serde_json::to_string(&group.users).map_err(impossible)?;
    db.execute(
        "insert into punctual.user_group (name, mode, users, created_at, updated_at, rota) values ($1, $2, $3, $4, $5, $6) \
         on conflict (name) do update set mode = excluded.mode, users = excluded.users, rota = excluded.rota, \
         updated_at = excluded.updated_at",
        &[
            (&group.name, Type::TEXT),
            (&group.mode.as_str(), Type::TEXT),
            (&users, Type::TEXT),
            (&micros(group.created_at), Type::TIMESTAMPTZ),
            (&micros(group.updated_at), Type::TIMESTAMPTZ),
            (&group.rota, Type::TEXT),
        ],
    )
    .await?;
    keep::must_be_new(db, &who, "punctual.user_group where name = $1", &[(&group.name, Type::TEXT)]).await?;
    changed(db, own, &group.name, before.as_ref(), Some(group), who, group.updated_at).await
}

/// Removes a group. `None`: there was none.
pub(super) async fn delete(
    db: &Connection<'_>,
    own: Shards,
    name: &str,
    who: Who,
    now: Timestamp,
) -> Result<Option<Vec<Timestamp>>, Fault> {
    let ((), before) = both(db.begin(BEGIN_BY_KEY), for_update(db, name)).await?;
    let Some(before) = before else {
        db.rollback().await?;
        return Ok(None);
    };
    who.expects.check(|| Some(before.version()))?;
    keep::delete(db, "delete from punctual.user_group where name = $1", name).await?;
    changed(db, own, name, Some(&before), None, who, now).await.map(Some)
}

/// One group, which nobody else changes before the transaction ends.
async fn for_update(db: &Connection<'_>, name: &str) -> Result<Option<Group>, Fault> {
    let sql = format!("select {} from punctual.user_group g where g.name = $1 for update", rows::GROUP);
    Ok(each(&db.rows(&sql, &[(&clean(name), Type::TEXT)]).await?, rows::group)?.pop())
}

/// What follows from a group that was written or removed, and commits; returns when runs must be looked at again.
async fn changed(
    db: &Connection<'_>,
    own: Shards,
    name: &str,
    before: Option<&Group>,
    after: Option<&Group>,
    who: Who,
    now: Timestamp,
) -> Result<Vec<Timestamp>, Fault> {
    feed::follow_group(db, name, after.and_then(|after| after.rota.as_deref()), now).await?;
    let silence = "select from punctual.silence where group_name = $1 and until_at > $2 limit 1";
    let of_group: [Param<'_>; 2] = [(&name, Type::TEXT), (&micros(now), Type::TIMESTAMPTZ)];
    let is_silent = !db.rows(silence, &of_group).await?.is_empty();
    let (users, writes) = group_changed(name, before, after, is_silent, who, now);
    write(db, own, &writes).await?;
    event::mark_group(db, name, now).await?;
    let mut wakes = Vec::new();
    for (user, difference) in users {
        wakes.extend(person::follow(db, own, &user, difference, now).await?);
    }
    db.commit().await?;
    Ok(wakes)
}

/// Those of `names` that there are.
pub(super) async fn of_names(db: &Connection<'_>, names: &[String]) -> Result<Vec<Group>, Fault> {
    let names: Vec<_> = names.iter().map(|name| clean(name)).collect();
    let sql = format!("select {} from punctual.user_group g where g.name = any ($1)", rows::GROUP);
    let found = each(&db.rows(&sql, &[(&names, Type::TEXT_ARRAY)]).await?, rows::group)?;
    with_shifts(db, found).await
}

/// The same with those on duty, where a calendar says who is.
async fn with_shifts(db: &Connection<'_>, mut groups: Vec<Group>) -> Result<Vec<Group>, Fault> {
    let names: Vec<String> =
        groups.iter().filter(|group| group.rota.is_some()).map(|group| group.name.clone()).collect();
    if !names.is_empty() {
        let sql = format!(
            "select {} from punctual.rota_shift s where s.group_name = any ($1) order by s.group_name, s.number",
            rows::SHIFT
        );
        let shifts = each(&db.rows(&sql, &[(&names, Type::TEXT_ARRAY)]).await?, rows::shift)?;
        rows::with_shifts(&mut groups, shifts);
    }
    Ok(groups)
}

pub(super) async fn groups(db: &Connection<'_>, after: Option<&str>, limit: usize) -> Result<Vec<Group>, Fault> {
    let sql = format!("select {} from punctual.user_group g where g.name > $1 order by g.name limit $2", rows::GROUP);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.rows(&sql, &[(&clean(after.unwrap_or("")), Type::TEXT), (&limit, Type::INT8)]).await?;
    with_shifts(db, each(&rows, rows::group)?).await
}
