//! Limits of platforms that the nodes keep to together.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Rate;
use punctual_core::store::Throttle;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::read::each;
use super::row::{self, get};
use super::tell::CHANNEL;

/// Takes a turn under every limit, or none and how long each has to be waited for.
pub(super) async fn take(db: &Connection<'_>, limits: &[(String, Rate)]) -> Result<Vec<Duration>, Fault> {
    let names: Vec<&str> = limits.iter().map(|(name, _)| name.as_str()).collect();
    let counts: Vec<i32> = limits.iter().map(|(_, rate)| i32::try_from(rate.n).unwrap_or(i32::MAX)).collect();
    let spans: Vec<i64> = limits.iter().map(|(_, rate)| micros(rate.per)).collect();
    let sql = "select punctual.take_turns($1, $2, $3)";
    let arguments: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 3] =
        [(&names, Type::TEXT_ARRAY), (&counts, Type::INT4_ARRAY), (&spans, Type::INT8_ARRAY)];
    let rows = db.rows(sql, &arguments).await?;
    let waits: Vec<i64> = rows.first().map_or(Ok(Vec::new()), |row| row.try_get(0))?;
    Ok(waits.into_iter().map(|wait| Duration::from_micros(u64::try_from(wait).unwrap_or(0))).collect())
}

/// More throttles than this are not kept: each node is then asked to wait by itself.
const THROTTLES_MAX: i64 = 10_000;
/// One reading takes no more than this: the newest throttles.
const READ_MAX: i64 = 1000;

/// Tells every node of a wait that was asked for.
pub(super) async fn tell_throttle(db: &Connection<'_>, throttle: &Throttle) -> Result<(), Fault> {
    let wait = micros(throttle.wait.min(Throttle::wait_max(throttle.is_address)));
    let sql = format!(
        "with ended as (delete from punctual.throttle where (channel, is_address, name) in (select channel, is_address, name \
         from punctual.throttle where until < clock_timestamp() limit {READ_MAX} for update skip locked)), \
         told as (insert into punctual.throttle as h (channel, is_address, name, until, told_at) \
         select $1, $2, $3, clock_timestamp() + $4 * interval '1 microsecond', clock_timestamp() \
         where (select count(*) from punctual.throttle) < {THROTTLES_MAX} \
         on conflict (channel, is_address, name) do update set until = greatest(h.until, excluded.until), \
         told_at = excluded.told_at returning 1) \
         select pg_notify('{CHANNEL}', 'throttle') from told"
    );
    let params: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 4] = [
        (&throttle.channel, Type::TEXT),
        (&throttle.is_address, Type::BOOL),
        (&throttle.name, Type::TEXT),
        (&wait, Type::INT8),
    ];
    db.rows(&sql, &params).await?;
    Ok(())
}

/// The throttles that were told after `since` and have not ended.
pub(super) async fn throttles(db: &Connection<'_>, since: Option<Timestamp>) -> Result<Vec<Throttle>, Fault> {
    let sql = format!(
        "select channel, is_address, name, ceil(extract(epoch from until - clock_timestamp()) * 1000000)::bigint \
         from punctual.throttle where until > clock_timestamp() and told_at > coalesce($1, '-infinity') \
         order by told_at desc limit {READ_MAX}"
    );
    let rows = db.rows(&sql, &[(&since.map(row::micros), Type::TIMESTAMPTZ)]).await?;
    each(&rows, |found| {
        let (is_address, left): (bool, i64) = (get(found, 1)?, get(found, 3)?);
        let wait = Duration::from_micros(u64::try_from(left).unwrap_or(0)).min(Throttle::wait_max(is_address));
        Ok(Throttle { channel: get(found, 0)?, name: get(found, 2)?, is_address, wait })
    })
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
