//! Addresses that are known to be dead.

use punctual_core::reminder::Address;
use punctual_core::store::DeadAddress;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::read::each;
use super::row::{clean, get, instant};

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

pub(super) async fn revive(db: &Connection<'_>, address: &Address) -> Result<bool, Fault> {
    let n_revived = db
        .execute(
            "delete from punctual.dead_address where channel = $1 and address = $2",
            &[(&clean(&address.channel), Type::TEXT), (&clean(&address.address), Type::TEXT)],
        )
        .await?;
    Ok(n_revived > 0)
}
