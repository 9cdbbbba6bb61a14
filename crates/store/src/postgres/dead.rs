//! Addresses that are known to be dead.

use punctual_core::reminder::Address;
use punctual_core::store::DeadAddress;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::read::each;
use super::row::{clean, get, instant, micros};

pub(super) async fn dead_addresses(
    db: &Connection<'_>,
    after: Option<&Address>,
    limit: usize,
) -> Result<Vec<DeadAddress>, Fault> {
    let (channel, address) = after.map_or(("", ""), |after| (&after.channel, &after.address));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db
        .rows(
            "select channel, address, since, reason from punctual.dead_address where (channel, address) > ($1, $2) \
             order by channel, address limit $3",
            &[(&clean(channel), Type::TEXT), (&clean(address), Type::TEXT), (&limit, Type::INT8)],
        )
        .await?;
    each(&rows, |found| {
        Ok(DeadAddress {
            address: Address { channel: get(found, 0)?, address: get(found, 1)? },
            since: instant(found, 2)?,
            reason: get(found, 3)?,
        })
    })
}

pub(super) async fn mark_dead(db: &Connection<'_>, dead: &DeadAddress) -> Result<(), Fault> {
    db.execute(
        "insert into punctual.dead_address (channel, address, since, reason) values ($1, $2, $3, $4) on conflict do nothing",
        &[
            (&clean(&dead.address.channel), Type::TEXT),
            (&clean(&dead.address.address), Type::TEXT),
            (&micros(dead.since), Type::TIMESTAMPTZ),
            (&clean(&dead.reason), Type::TEXT),
        ],
    )
    .await?;
    Ok(())
}

pub(super) async fn revive(db: &Connection<'_>, address: &Address) -> Result<bool, Fault> {
    let n_revived = db
        .execute(
            "delete from punctual.dead_address where channel = $1 and address = $2",
            &[(&clean(&address.channel), Type::TEXT), (&clean(&address.address), Type::TEXT)],
        )
        .await?;
    Ok(n_revived > 0)
}
