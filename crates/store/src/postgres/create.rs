//! Writing new reminders: everything of everybody who waits, in one round trip.

use punctual_core::shard::Shards;
use punctual_core::store::Create;
use punctual_core::writes::Writes;

use super::batch::BEGIN;
use super::fault::Fault;
use super::pipeline::all3;
use super::pool::Connection;
use super::write::write;

/// The writes of all `creates`. They were asked for within moments of each other; for the trail they happen together.
pub(super) fn together(creates: Vec<Create>) -> Option<Writes> {
    let mut writes = Writes::new(creates.iter().map(|create| create.now).max()?);
    for create in creates {
        writes.answered.extend(create.answered);
        writes.create(create.reminders, &create.who);
    }
    Some(writes)
}

pub(super) async fn create(db: &Connection<'_>, own: Shards, writes: &Writes) -> Result<(), Fault> {
    // All of it is sent before the first answer is read. If one fails, the server undoes the rest when it comes to COMMIT.
    all3(db.begin(BEGIN), write(db, own, writes), db.commit()).await?;
    Ok(())
}
