//! Keeping leases, and ending those of a node that died.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_core::id::OccurrenceId;
use punctual_core::store::StoreError;
use tokio_postgres::types::Type;

use super::batch::{BEGIN_BY_KEY, BEGIN_IN_ORDER, Ids};
use super::fault::Fault;
use super::pipeline::all3;
use super::pool::{Connection, Param};
use super::row::{self, clean, get, impossible, int, micros, uuid};

pub(super) async fn renew(
    db: &Connection<'_>,
    leases: &[(OccurrenceId, u64)],
    until: Timestamp,
) -> Result<Vec<(OccurrenceId, u64)>, Fault> {
    let mut sorted = leases.to_vec();
    sorted.sort_unstable();
    let ids: Ids = sorted.iter().map(|(id, _)| *id).collect();
    let numbers: Vec<i64> = sorted.iter().map(|(_, lease)| *lease as i64).collect();
    let until = micros(until);
    let params = [
        (&ids.reminders as &(dyn tokio_postgres::types::ToSql + Sync), Type::UUID_ARRAY),
        (&ids.runs, Type::INT4_ARRAY),
        (&numbers, Type::INT8_ARRAY),
        (&until, Type::TIMESTAMPTZ),
    ];
    // A lease never lasts longer than a minute from now, whatever the node's clock shows.
    let renewed = db.rows(
        "update punctual.occurrence o set wake_at = least($4, statement_timestamp() + interval '1 minute') from unnest($1, $2, $3) as v (reminder_id, run, lease) \
         where o.reminder_id = v.reminder_id and o.run = v.run and o.lease = v.lease and o.state = 'processing' \
         returning o.reminder_id, o.run, o.lease",
        &params,
    );
    let ((), rows, ()) = all3(db.begin(BEGIN_BY_KEY), renewed, db.commit()).await?;
    let kept = |row: &tokio_postgres::Row| {
        Ok((row::occurrence_id(row, 0)?, u64::try_from(get::<i64>(row, 2)?).map_err(impossible)?))
    };
    let kept = rows.iter().map(kept).collect::<Result<HashSet<_>, StoreError>>()?;
    Ok(leases.iter().filter(|lease| !kept.contains(lease)).copied().collect())
}

/// Writes the platform's own id on an attempt that is under way.
pub(super) async fn write_message_id(
    db: &Connection<'_>,
    id: OccurrenceId,
    lease: u64,
    attempt: u32,
    message_id: &str,
) -> Result<bool, Fault> {
    let (reminder, run, attempt, lease) = (uuid(id.reminder), int(id.run), int(attempt), lease as i64);
    let message_id = clean(message_id);
    let params: [Param<'_>; 5] = [
        (&reminder, Type::UUID),
        (&run, Type::INT4),
        (&attempt, Type::INT4),
        (&lease, Type::INT8),
        (&message_id, Type::TEXT),
    ];
    let written = db.execute(
        "update punctual.occurrence set message_id = $5 where reminder_id = $1 and run = $2 and attempts = $3 \
         and lease = $4 and state = 'processing'",
        &params,
    );
    let ((), n_written, ()) = all3(db.begin(BEGIN_BY_KEY), written, db.commit()).await?;
    Ok(n_written > 0)
}

/// Makes what the node had leased due for a look now. A lease that has run out is due for a look anyway, and none lasts longer than a
/// minute: so this reads what is to come within a minute, and needs no index that every claim and every settle would pay for.
pub(super) async fn rescue(db: &Connection<'_>, node: &str, now: Timestamp) -> Result<usize, Fault> {
    let now = micros(now);
    let params: [Param<'_>; 2] = [(&node, Type::TEXT), (&now, Type::TIMESTAMPTZ)];
    let rescued = db.execute(
        "update punctual.occurrence set wake_at = $2 where node = $1 and priority in (0, 1, 2, 3) \
         and wake_at > least($2, statement_timestamp()) \
         and wake_at <= least($2, statement_timestamp()) + interval '1 minute'",
        &params,
    );
    let ((), n_rescued, ()) = all3(db.begin(BEGIN_IN_ORDER), rescued, db.commit()).await?;
    Ok(usize::try_from(n_rescued).unwrap_or(usize::MAX))
}
