//! Addresses that are known to be dead.

use punctual_core::reminder::Address;
use punctual_core::store::{DeadAddress, StoreError};
use rusqlite::{Connection, params};

use super::read::collect;
use super::row::{broken, get, instant, micros};

pub(super) fn dead_addresses(
    db: &Connection,
    after: Option<&Address>,
    limit: usize,
) -> Result<Vec<DeadAddress>, StoreError> {
    let (channel, address) = after.map_or(("", ""), |after| (&after.channel, &after.address));
    let sql = "SELECT channel, address, since, reason FROM dead_address \
        WHERE (channel, address) > (?, ?) ORDER BY channel, address LIMIT ?";
    collect(db, sql, params![channel, address, limit], |found| {
        Ok(DeadAddress {
            address: Address { channel: get(found, 0)?, address: get(found, 1)? },
            since: instant(get(found, 2)?)?,
            reason: get(found, 3)?,
        })
    })
}

pub(super) fn mark_dead(db: &Connection, dead: &DeadAddress) -> Result<(), StoreError> {
    let Address { channel, address } = &dead.address;
    db.prepare_cached(
        "INSERT INTO dead_address (channel, address, since, reason) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    )
    .map_err(broken)?
    .execute(params![channel, address, micros(dead.since), dead.reason])
    .map_err(broken)?;
    Ok(())
}

pub(super) fn revive(db: &Connection, Address { channel, address }: &Address) -> Result<bool, StoreError> {
    let n_revived = db
        .prepare_cached("DELETE FROM dead_address WHERE channel = ? AND address = ?")
        .map_err(broken)?
        .execute([channel, address])
        .map_err(broken)?;
    Ok(n_revived > 0)
}
