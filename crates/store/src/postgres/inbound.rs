//! Answers from the platforms: whose an address is, which events were taken, and how far each connection was read.

use jiff::Timestamp;
use punctual_core::channel::receive::Place;
use punctual_core::decide::report::reported;
use punctual_core::id::OccurrenceId;
use punctual_core::shard::Shards;
use punctual_core::store::{HeldConnection, PlaceMove, Question, Report, Reported, Seen, StoreError};
use punctual_core::user::User;
use tokio_postgres::types::Type;

use super::batch::BY_KEY;
use super::change;
use super::fault::Fault;
use super::keep;
use super::node::LIVES_FOR;
use super::pool::{Connection, Param};
use super::read::{self, each};
use super::row::{clean, get, impossible, micros, optional_instant, uuid};
use super::write::commit;
use crate::rows::{self, Reader};

pub(super) async fn question(db: &Connection<'_>, run: OccurrenceId) -> Result<Option<Question>, Fault> {
    let Some(trail) = read::occurrence(db, run).await? else { return Ok(None) };
    let id = uuid(run.reminder);
    let param: [Param<'_>; 1] = [(&id, Type::UUID)];
    let reminder = format!("select {} from punctual.reminder r where r.id = $1", rows::REMINDER);
    let user = format!(
        "select {} from punctual.app_user u where u.id = (select r.user_id from punctual.reminder r where r.id = $1)",
        rows::USER
    );
    let (reminders, users) = super::pipeline::both(db.rows(&reminder, &param), db.rows(&user, &param)).await?;
    let Some(reminder) = reminders.first() else { return Ok(None) };
    let reminder = rows::reminder(&mut Reader::new(reminder, 0))?;
    Ok(Some(Question { reminder, trail, user: users.first().and_then(|row| rows::user(row).ok()) }))
}

pub(super) async fn users_at(db: &Connection<'_>, channel: &str, addresses: &[String]) -> Result<Vec<User>, Fault> {
    let addresses: Vec<_> = addresses.iter().map(|address| clean(address)).collect();
    let sql = format!(
        "{} where u.id in (select user_id from punctual.user_address where channel = $1 and address = any ($2)) order by u.id",
        keep::select_user()
    );
    let rows = db.rows(&sql, &[(&clean(channel), Type::TEXT), (&addresses, Type::TEXT_ARRAY)]).await?;
    Ok(rows.iter().filter_map(|row| rows::user(row).ok()).collect())
}

/// Writes what a platform says about a message; returns when to look at its run again.
pub(super) async fn report(
    db: &Connection<'_>,
    own: Shards,
    report: &Report,
    now: Timestamp,
) -> Result<(Reported, Vec<Timestamp>), Fault> {
    let run = report.run;
    let Some(loaded) = change::load(db, run.reminder, Some(run.run)).await? else {
        db.rollback().await?;
        return Ok((Reported::Nothing, Vec::new()));
    };
    let (said, writes) = reported(loaded, &read::attempts(db, run).await?, report, now);
    let mut wakes: Vec<Timestamp> = writes.wakes().collect();
    db.batch(BY_KEY).await?;
    wakes.extend(commit(db, own, &writes).await?.into_iter().map(|run| run.at));
    Ok((said, wakes))
}

/// Remembers events; fails with [`StoreError::Seen`] if one was taken before.
pub(super) async fn see(db: &Connection<'_>, seen: &[Seen]) -> Result<(), Fault> {
    let channels: Vec<&str> = seen.iter().map(|seen| seen.channel.as_str()).collect();
    let ids: Vec<&[u8]> = seen.iter().map(|seen| seen.id.as_slice()).collect();
    let until: Vec<_> = seen.iter().map(|seen| micros(seen.until)).collect();
    db.execute(
        "insert into punctual.seen (channel, id, until) select * from unnest($1, $2, $3)",
        &[(&channels, Type::TEXT_ARRAY), (&ids, Type::BYTEA_ARRAY), (&until, Type::TIMESTAMPTZ_ARRAY)],
    )
    .await?;
    Ok(())
}

/// Moves a place; fails with [`StoreError::LeaseLost`] if another node has the connection now. So it must be answered before the
/// commit is sent.
pub(super) async fn move_place(db: &Connection<'_>, place: &PlaceMove, now: Timestamp) -> Result<(), Fault> {
    let lease = i64::try_from(place.lease).map_err(impossible)?;
    let n_moved = db
        .execute(
            "update punctual.inbound set place = $3, place_at = $4 where channel = $1 and lease = $2",
            &[
                (&place.channel, Type::TEXT),
                (&lease, Type::INT8),
                (&clean(&place.text), Type::TEXT),
                (&micros(now), Type::TIMESTAMPTZ),
            ],
        )
        .await?;
    if n_moved == 0 { Err(StoreError::LeaseLost.into()) } else { Ok(()) }
}

/// Takes those connections of `channels` that no living node has, and lets go of its others; returns who has which. A node that is not
/// seen to live takes none. A row stays, because its number must never begin anew.
pub(super) async fn hold(db: &Connection<'_>, node: &str, channels: &[String]) -> Result<Vec<HeldConnection>, Fault> {
    let (node, lives) = (clean(node), |name: &str| {
        format!(
            "exists (select from punctual.node n where n.name = {name} and n.seen_at > clock_timestamp() - {LIVES_FOR})"
        )
    });
    let take = format!(
        "insert into punctual.inbound as i (channel, node, lease) select c, $1, 1 from unnest($2) as c where {} order by c \
         on conflict (channel) do update set node = excluded.node, lease = i.lease + 1 \
         where i.node <> excluded.node and not {}",
        lives("$1"),
        lives("i.node")
    );
    let let_go = "update punctual.inbound set node = '' where node = $1 and not channel = any ($2)";
    let of_node: [Param<'_>; 2] = [(&node, Type::TEXT), (&channels, Type::TEXT_ARRAY)];
    let all = "select channel, node, lease, place, place_at from punctual.inbound order by channel";
    let (_, _, rows) =
        super::pipeline::all3(db.execute(&take, &of_node), db.execute(let_go, &of_node), db.rows(all, &[])).await?;
    each(&rows, |found| {
        let place: Option<String> = get(found, 3)?;
        let place = place.zip(optional_instant(found, 4)?).map(|(text, at)| Place { text, at });
        let lease = u64::try_from(get::<i64>(found, 2)?).map_err(impossible)?;
        Ok(HeldConnection { channel: get(found, 0)?, node: get(found, 1)?, lease, place })
    })
}
