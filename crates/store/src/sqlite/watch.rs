//! Standing queries over an application's own table, their runs and what they have reminded of.
//!
//! Only one process has the file, so a node that asks for a run that has not ended gets it: the node that had it before is gone.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::watch::{Definition, Going, Loaded, begun, defined, ended, finished, forgotten, version_of};
use punctual_core::id::{ReminderId, WatchRunId};
use punctual_core::journal::Who;
use punctual_core::store::{
    BeginRun, Begun, DefineWatch, Defined, EndRun, FinishRows, INTENTS_MAX, KnownWatch, RunLease, StoreError, Watches,
};
use punctual_core::watch::{BadRow, Counts, Intent, LedgerRow, WatchRun};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::read::collect;
use super::row::{broken, get, instant, micros};
use super::values::for_rows;
use super::worker::Urgency;
use super::write::{insert, insert_new, write};
use crate::rows::Reader;
use crate::watch::{self, BAD, INTENT, KeptBad, KeptIntent, KeptLedger, LEDGER, LeasedRun, RUN, RUN_COLUMNS};

#[async_trait]
impl Watches for SqliteStore {
    async fn define_watch(&self, new: DefineWatch) -> Result<Defined, StoreError> {
        self.write(Urgency::Normal, move |db| define(db, &new)).await
    }

    async fn watches(&self) -> Result<Vec<KnownWatch>, StoreError> {
        self.read(all).await
    }

    async fn forget_watch(&self, name: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.write(Urgency::Normal, move |db| forget(db, &name, who, now)).await
    }

    async fn begin_run(&self, begin: BeginRun) -> Result<Begun, StoreError> {
        self.write(Urgency::Normal, move |db| begin_run(db, &begin)).await
    }

    async fn keep_run(&self, lease: RunLease) -> Result<bool, StoreError> {
        // Nobody else can take it, so there is nothing to write.
        self.read(move |db| is_kept(db, lease)).await
    }

    async fn leave_run(&self, _lease: RunLease) -> Result<(), StoreError> {
        // Whoever asks for it next gets it.
        Ok(())
    }

    async fn intend(
        &self,
        lease: RunLease,
        watch: &str,
        intents: Vec<Intent>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let watch = watch.to_owned();
        self.write(Urgency::Bulk, move |db| {
            fence(db, lease)?;
            let kept = |intent| KeptIntent { watch: watch.clone(), run: lease.run, intent, made_at: now };
            insert_new(db, &INTENT, &intents.into_iter().map(kept).collect::<Vec<_>>())
        })
        .await
    }

    async fn intents(&self, watch: &str) -> Result<Vec<Intent>, StoreError> {
        let watch = watch.to_owned();
        self.read(move |db| {
            let sql = "SELECT intent FROM watch_intent WHERE watch = ? ORDER BY key LIMIT ?";
            collect(db, sql, params![watch, INTENTS_MAX], |row| watch::intent(&get::<String>(row, 0)?))
        })
        .await
    }

    async fn finish_rows(&self, rows: FinishRows) -> Result<(), StoreError> {
        self.write(Urgency::Bulk, move |db| finish(db, rows)).await
    }

    async fn end_run(&self, end: EndRun) -> Result<(), StoreError> {
        self.write(Urgency::Normal, move |db| {
            fence(db, end.lease)?;
            update_run(db, end.lease, &end.counts)?;
            db.prepare_cached("UPDATE watch_run SET state = ?2, ended_at = ?3, error = ?4 WHERE id = ?1")
                .map_err(broken)?
                .execute(params![end.lease.run.as_bytes(), end.state.as_str(), micros(end.now), end.error])
                .map_err(broken)?;
            write(db, &ended(&end)).map(drop)
        })
        .await
    }

    async fn watch_run(&self, id: WatchRunId) -> Result<Option<WatchRun>, StoreError> {
        self.read(move |db| Ok(runs(db, "r.id = ?1", "", [id.as_bytes()])?.pop().map(|found| found.run))).await
    }

    async fn watch_runs(&self, watch: &str, limit: usize) -> Result<Vec<WatchRun>, StoreError> {
        let watch = watch.to_owned();
        self.read(move |db| {
            let found = runs(db, "r.watch = ?1", "ORDER BY r.started_at DESC LIMIT ?2", params![watch, limit])?;
            Ok(found.into_iter().map(|found| found.run).collect())
        })
        .await
    }

    async fn bad_rows(&self, run: WatchRunId, after: u64, limit: usize) -> Result<Vec<(u64, BadRow)>, StoreError> {
        self.read(move |db| {
            let sql = "SELECT run, number, key, field, problem FROM watch_bad WHERE run = ? AND number > ? ORDER BY number LIMIT ?";
            collect(db, sql, params![run.as_bytes(), after, limit], |row| {
                watch::bad(row).map(|kept| (kept.number, kept.bad))
            })
        })
        .await
    }

    async fn ledger_of(&self, watch: &str, keys: Vec<String>) -> Result<Vec<LedgerRow>, StoreError> {
        let watch = watch.to_owned();
        self.read(move |db| {
            let mut found = Vec::new();
            let sql = "SELECT l.key, l.due_at, l.n, l.sent_at FROM (SELECT column1 AS watch, column2 AS key FROM (VALUES {values})) v \
                       CROSS JOIN watch_ledger l ON l.watch = v.watch AND l.key = v.key";
            let bind = |key: &String, values: &mut super::values::Values<'_, '_>| {
                values.push(&watch);
                values.push(key);
            };
            for_rows(db, sql, 2, &keys, bind, |row| {
                found.push(watch::ledger(row)?);
                Ok(())
            })?;
            Ok(found)
        })
        .await
    }

    async fn prune_watches(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        self.write(Urgency::Normal, move |db| prune(db, before, limit)).await
    }
}

fn define(db: &Connection, new: &DefineWatch) -> Result<Defined, StoreError> {
    let kept: Option<(String, String)> = db
        .prepare_cached("SELECT hash, definition FROM watch WHERE name = ?")
        .map_err(broken)?
        .query_row([&new.name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(broken)?;
    let kept = kept.as_ref().map(|(hash, definition)| (hash.as_str(), definition.as_str()));
    let Definition { what, clears_ledger, writes } = defined(kept, new);
    if what != Defined::Same {
        db.prepare_cached(
            "INSERT INTO watch (name, hash, definition, defined_at, next_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE \
             SET hash = excluded.hash, definition = excluded.definition, defined_at = excluded.defined_at, next_at = excluded.next_at",
        )
        .map_err(broken)?
        .execute(params![new.name, new.hash, new.definition, micros(new.now), new.next_at.map(micros)])
        .map_err(broken)?;
    }
    if clears_ledger {
        db.prepare_cached("DELETE FROM watch_ledger WHERE watch = ?")
            .map_err(broken)?
            .execute([&new.name])
            .map_err(broken)?;
    }
    write(db, &writes)?;
    Ok(what)
}

fn all(db: &Connection) -> Result<Vec<KnownWatch>, StoreError> {
    let sql = "SELECT name, hash, definition, defined_at, next_at FROM watch ORDER BY name";
    let mut found = collect(db, sql, [], |row| {
        let mut from = Reader::new(row, 0);
        Ok(KnownWatch {
            name: from.owned()?,
            hash: from.owned()?,
            definition: from.owned()?,
            defined_at: from.at()?,
            next_at: from.maybe_at()?,
            going: None,
            last: None,
        })
    })?;
    for known in &mut found {
        known.going = going(db, &known.name)?.map(|found| found.run);
        let last = "r.watch = ?1 AND r.state <> 'running'";
        known.last = runs(db, last, "ORDER BY r.started_at DESC LIMIT 1", [&known.name])?.pop().map(|found| found.run);
    }
    Ok(found)
}

fn forget(db: &Connection, name: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
    let delete = |sql: &str| db.prepare_cached(sql).map_err(broken)?.execute([name]).map_err(broken);
    let mut found = db.prepare_cached("SELECT hash FROM watch WHERE name = ?").map_err(broken)?;
    let Some(hash) = found.query_row([name], |row| row.get::<_, String>(0)).optional().map_err(broken)? else {
        return Ok(false);
    };
    who.expects.check(|| Some(version_of(&hash)))?;
    delete("DELETE FROM watch WHERE name = ?")?;
    delete("DELETE FROM watch_bad WHERE run IN (SELECT id FROM watch_run WHERE watch = ?)")?;
    for table in ["watch_run", "watch_intent", "watch_ledger"] {
        delete(&format!("DELETE FROM {table} WHERE watch = ?"))?;
    }
    write(db, &forgotten(name, who, now))?;
    Ok(true)
}

fn begin_run(db: &Connection, begin: &BeginRun) -> Result<Begun, StoreError> {
    let watch = db
        .prepare_cached("SELECT hash, next_at FROM watch WHERE name = ?")
        .map_err(broken)?
        .query_row([&begin.watch], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?)))
        .optional()
        .map_err(broken)?;
    let loaded = match watch {
        None => None,
        Some((hash, next_at)) => {
            let going =
                going(db, &begin.watch)?.map(|found| Going { run: found.run, lease: found.lease, is_left: true });
            Some(Loaded { hash, next_at: next_at.map(instant).transpose()?, going })
        }
    };
    let begun = begun(loaded, begin);
    if let Begun::Taken(taken) = &begun {
        let (run, lease) = (taken.run.clone(), taken.lease.number);
        if taken.is_new {
            insert(db, &RUN, &[LeasedRun { run, lease }], |row| row)?;
            db.prepare_cached("UPDATE watch SET next_at = ?2 WHERE name = ?1")
                .map_err(broken)?
                .execute(params![begin.watch, begin.next_at.map(micros)])
                .map_err(broken)?;
        } else {
            db.prepare_cached("UPDATE watch_run SET lease = ?2, node = ?3 WHERE id = ?1")
                .map_err(broken)?
                .execute(params![run.id.as_bytes(), lease, run.node])
                .map_err(broken)?;
        }
    }
    Ok(begun)
}

fn going(db: &Connection, watch: &str) -> Result<Option<LeasedRun>, StoreError> {
    Ok(runs(db, "r.watch = ?1 AND r.state = 'running'", "", [watch])?.pop())
}

fn runs(
    db: &Connection,
    wheres: &str,
    rest: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<LeasedRun>, StoreError> {
    let sql = format!("SELECT {RUN_COLUMNS} FROM watch_run r WHERE {wheres} {rest}");
    collect(db, &sql, params, |row| watch::run(&mut Reader::new(row, 0)))
}

fn is_kept(db: &Connection, lease: RunLease) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM watch_run WHERE id = ? AND lease = ? AND state = 'running'";
    db.prepare_cached(sql).map_err(broken)?.exists(params![lease.run.as_bytes(), lease.number]).map_err(broken)
}

fn fence(db: &Connection, lease: RunLease) -> Result<(), StoreError> {
    if is_kept(db, lease)? { Ok(()) } else { Err(StoreError::LeaseLost) }
}

fn update_run(db: &Connection, lease: RunLease, counts: &Counts) -> Result<(), StoreError> {
    let Counts { seen, sent, skipped, failed, retried } = counts;
    db.prepare_cached(
        "UPDATE watch_run SET seen = ?2, sent = ?3, skipped = ?4, failed = ?5, retried = ?6 WHERE id = ?1",
    )
    .map_err(broken)?
    .execute(params![lease.run.as_bytes(), seen, sent, skipped, failed, retried])
    .map_err(broken)?;
    Ok(())
}

fn finish(db: &Connection, rows: FinishRows) -> Result<(), StoreError> {
    fence(db, rows.lease)?;
    let there = existing(db, &watch::ids(&rows))?;
    write(db, &finished(&rows, &there))?;
    let FinishRows { lease, watch, done, ledger, bad, place, counts, .. } = rows;
    {
        let mut delete = db.prepare_cached("DELETE FROM watch_intent WHERE watch = ? AND key = ?").map_err(broken)?;
        for key in &done {
            delete.execute([&watch as &dyn ToSql, key]).map_err(broken)?;
        }
    }
    let bad = bad.into_iter().map(|(number, bad)| KeptBad { run: lease.run, number, bad });
    insert_new(db, &BAD, &bad.collect::<Vec<_>>())?;
    let ledger: Vec<_> = ledger.into_iter().map(|row| KeptLedger { watch: watch.clone(), row }).collect();
    {
        let mut delete = db.prepare_cached("DELETE FROM watch_ledger WHERE watch = ? AND key = ?").map_err(broken)?;
        for kept in &ledger {
            delete.execute([&kept.watch, &kept.row.key]).map_err(broken)?;
        }
    }
    insert(db, &LEDGER, &ledger, |row| row)?;
    if let Some(place) = &place {
        db.prepare_cached("UPDATE watch_run SET place = ?2 WHERE id = ?1")
            .map_err(broken)?
            .execute(params![lease.run.as_bytes(), watch::place(place)])
            .map_err(broken)?;
    }
    update_run(db, lease, &counts)
}

/// Those of these reminders that are there.
fn existing(db: &Connection, ids: &[ReminderId]) -> Result<Vec<ReminderId>, StoreError> {
    let mut statement = db.prepare_cached("SELECT 1 FROM reminder WHERE id = ?").map_err(broken)?;
    let mut there = Vec::new();
    for id in ids {
        if statement.exists([id.as_bytes()]).map_err(broken)? {
            there.push(*id);
        }
    }
    Ok(there)
}

fn prune(db: &Connection, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let old = "SELECT id FROM watch_run WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2";
    let delete =
        |sql: &str| db.prepare_cached(sql).map_err(broken)?.execute(params![micros(before), limit]).map_err(broken);
    delete(&format!("DELETE FROM watch_bad WHERE run IN ({old})"))?;
    let n_runs = delete(&format!("DELETE FROM watch_run WHERE id IN ({old})"))?;
    let n_rows = delete(
        "DELETE FROM watch_ledger WHERE (watch, key) IN (SELECT watch, key FROM watch_ledger WHERE due_at < ?1 ORDER BY due_at LIMIT ?2)",
    )?;
    Ok(n_runs.max(n_rows))
}
