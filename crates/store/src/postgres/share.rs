//! Secrets that nodes share, and the hashes of their admin keys.

use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;
use super::row::{get, impossible};

/// An admin key that no node has used for this long is forgotten.
pub(super) const ADMIN_KEY_KEPT_FOR: &str = "interval '1 day'";

/// The secret of this name: what is kept, else `seed`, which is then kept. With `wins`, `seed` whatever is kept.
pub(super) async fn secret(db: &Connection<'_>, name: &str, seed: &str, wins: bool) -> Result<String, Fault> {
    // The update that changes nothing locks the row, so that it is returned also when another node has just written it.
    let rows = db
        .rows(
            "insert into punctual.secret as s (name, value) values ($1, $2) on conflict (name) do update \
             set value = case when $3 then excluded.value else s.value end, \
             made_at = case when $3 and s.value <> excluded.value then excluded.made_at else s.made_at end \
             returning value",
            &[(&name, Type::TEXT), (&seed, Type::TEXT), (&wins, Type::BOOL)],
        )
        .await?;
    let row = rows.first().ok_or_else(|| impossible("a secret was not kept"))?;
    Ok(get(row, 0)?)
}

/// Lets an admin key that `node` uses work on every node. With `alone`, those that no living node uses stop working.
pub(super) async fn admin_key(db: &Connection<'_>, hash: &[u8; 32], node: &str, alone: bool) -> Result<(), Fault> {
    let sql = format!(
        "with used as (insert into punctual.admin_key (hash, node, used_at) values ($1, $2, clock_timestamp()) \
         on conflict (hash) do update set node = excluded.node, used_at = excluded.used_at) \
         delete from punctual.admin_key a where a.hash <> $1 and (a.used_at < clock_timestamp() - {ADMIN_KEY_KEPT_FOR} \
         or $3 and not exists (select from punctual.node n where n.name = a.node and n.seen_at > clock_timestamp() - {}))",
        super::node::LIVES_FOR
    );
    db.execute(&sql, &[(&hash.as_slice(), Type::BYTEA), (&node, Type::TEXT), (&alone, Type::BOOL)]).await?;
    Ok(())
}
