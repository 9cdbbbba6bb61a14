//! Standing queries over an application's own table, their runs and what they have reminded of.
//!
//! The database's clock judges when a run is left, and the lease's number who may write for it. Every write begins with the run's own row, so
//! a node that takes a run over waits until what is being written for it is there.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::decide::watch::{Definition, Going, Loaded, begun, defined, ended, finished, forgotten, version_of};
use punctual_core::id::{ReminderId, WatchRunId};
use punctual_core::journal::Who;
use punctual_core::shard::Shards;
use punctual_core::store::{
    BeginRun, Begun, DefineWatch, Defined, EndRun, FinishRows, INTENTS_MAX, KnownWatch, RUN_FOR, RunLease, StoreError,
    Watches,
};
use punctual_core::watch::{BadRow, Counts, Intent, LedgerRow, Place, WatchRun};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::PostgresStore;
use super::batch::BEGIN;
use super::fault::Fault;
use super::pipeline::{Statement, all, all3, both};
use super::pool::{Connection, Param};
use super::read::each;
use super::row::{clean, get, micros, reminder_id, uuid};
use super::write::{insert, insert_new, put, write};
use crate::rows::Reader;
use crate::watch::{self, BAD, INTENT, KeptBad, KeptIntent, KeptLedger, LEDGER, LeasedRun, RUN, RUN_COLUMNS};

#[async_trait]
impl Watches for PostgresStore {
    async fn define_watch(&self, new: DefineWatch) -> Result<Defined, StoreError> {
        // The same definition twice is one.
        on!(self, Normal, reads: true, db => define(&db, &new))
    }

    async fn watches(&self) -> Result<Vec<KnownWatch>, StoreError> {
        on!(self, Normal, reads: true, db => all_watches(&db))
    }

    async fn forget_watch(&self, name: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        on!(self, Normal, reads: false, db => forget(&db, name, &who, now))
    }

    async fn begin_run(&self, begin: BeginRun) -> Result<Begun, StoreError> {
        on!(self, Normal, reads: false, db => begin_run(&db, &begin))
    }

    async fn keep_run(&self, lease: RunLease) -> Result<bool, StoreError> {
        on!(self, Urgent, reads: true, db => keep(&db, lease, "until = {until}"))
    }

    async fn leave_run(&self, lease: RunLease) -> Result<(), StoreError> {
        on!(self, Normal, reads: true, db => keep(&db, lease, "until = null")).map(drop)
    }

    async fn intend(
        &self,
        lease: RunLease,
        watch: &str,
        intents: Vec<Intent>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let kept = |intent| KeptIntent { watch: watch.to_owned(), run: lease.run, intent, made_at: now };
        let intents: Vec<_> = intents.into_iter().map(kept).collect();
        // An intent that is there stays.
        on!(self, Normal, reads: true, db => intend(&db, lease, &intents))
    }

    async fn intents(&self, watch: &str) -> Result<Vec<Intent>, StoreError> {
        on!(self, Normal, reads: true, db => intents(&db, watch))
    }

    async fn finish_rows(&self, rows: FinishRows) -> Result<(), StoreError> {
        let kept = |row: &LedgerRow| KeptLedger { watch: rows.watch.clone(), row: row.clone() };
        let ledger: Vec<_> = rows.ledger.iter().map(kept).collect();
        let kept = |(number, bad): &(u64, BadRow)| KeptBad { run: rows.lease.run, number: *number, bad: bad.clone() };
        let bad: Vec<_> = rows.bad.iter().map(kept).collect();
        // Reminders that are there are not made again.
        on!(self, Normal, reads: true, db => finish(&db, self.own(), &rows, &ledger, &bad))
    }

    async fn end_run(&self, end: EndRun) -> Result<(), StoreError> {
        on!(self, Normal, reads: false, db => end_run(&db, &end))
    }

    async fn watch_run(&self, id: WatchRunId) -> Result<Option<WatchRun>, StoreError> {
        let id = run_uuid(id);
        let found = on!(self, Normal, reads: true, db => runs(&db, "r.id = $1", &[(&id, Type::UUID)]))?;
        Ok(found.into_iter().next().map(|found| found.run))
    }

    async fn watch_runs(&self, watch: &str, limit: usize) -> Result<Vec<WatchRun>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let wheres = "r.watch = $1 order by r.started_at desc limit $2";
        let found =
            on!(self, Normal, reads: true, db => runs(&db, wheres, &[(&watch, Type::TEXT), (&limit, Type::INT8)]))?;
        Ok(found.into_iter().map(|found| found.run).collect())
    }

    async fn bad_rows(&self, run: WatchRunId, after: u64, limit: usize) -> Result<Vec<(u64, BadRow)>, StoreError> {
        on!(self, Normal, reads: true, db => bad_rows(&db, run, after, limit))
    }

    async fn ledger_of(&self, watch: &str, keys: Vec<String>) -> Result<Vec<LedgerRow>, StoreError> {
        on!(self, Normal, reads: true, db => ledger_of(&db, watch, &keys))
    }

    async fn prune_watches(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        on!(self, Normal, reads: true, db => prune(&db, before, limit))
    }
}

fn until() -> String {
    format!("clock_timestamp() + interval '{} milliseconds'", RUN_FOR.as_millis())
}

fn run_uuid(id: WatchRunId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

async fn define(db: &Connection<'_>, new: &DefineWatch) -> Result<Defined, Fault> {
    let name: Param<'_> = (&new.name, Type::TEXT);
    let kept = "select hash, definition from punctual.watch where name = $1 for update";
    let ((), rows) = both(db.begin(BEGIN), db.rows(kept, std::slice::from_ref(&name))).await?;
    let kept = rows.first().map(|row| Ok::<_, Fault>((get(row, 0)?, get(row, 1)?))).transpose()?;
    let Definition { what, clears_ledger, writes } = defined(kept, new);
    if what == Defined::Same {
        db.rollback().await?;
        return Ok(what);
    }
    let sql = match what {
        Defined::New => {
            "insert into punctual.watch (name, hash, definition, defined_at, next_at) values ($1, $2, $3, $4, $5) on conflict do nothing"
        }
        _ => "update punctual.watch set hash = $2, definition = $3, defined_at = $4, next_at = $5 where name = $1",
    };
    let (now, next_at) = (micros(new.now), new.next_at.map(micros));
    let params: [Param<'_>; 5] = [
        name,
        (&new.hash, Type::TEXT),
        (&new.definition, Type::TEXT),
        (&now, Type::TIMESTAMPTZ),
        (&next_at, Type::TIMESTAMPTZ),
    ];
    if db.execute(sql, &params).await? == 0 {
        // Another node has defined it meanwhile: this one looks again.
        return Err(Fault::RolledBack("another node defines the watch".into()));
    }
    if clears_ledger {
        db.execute("delete from punctual.watch_ledger where watch = $1", &params[..1]).await?;
    }
    both(write(db, Shards::ALL, &writes), db.commit()).await?;
    Ok(what)
}

async fn all_watches(db: &Connection<'_>) -> Result<Vec<KnownWatch>, Fault> {
    let last = "r.id in (select (select l.id from punctual.watch_run l where l.watch = w.name and l.state <> 'running' \
                order by l.started_at desc limit 1) from punctual.watch w)";
    let (rows, going, last) = all3(
        db.rows("select name, hash, definition, defined_at, next_at from punctual.watch order by name", &[]),
        runs(db, "r.state = 'running'", &[]),
        runs(db, last, &[]),
    )
    .await?;
    let of = |runs: &[LeasedRun], name: &str| {
        runs.iter().find(|found| found.run.watch == name).map(|found| found.run.clone())
    };
    each(&rows, |row| {
        let mut from = Reader::new(row, 0);
        let name = from.owned()?;
        Ok(KnownWatch {
            hash: from.owned()?,
            definition: from.owned()?,
            defined_at: from.at()?,
            next_at: from.maybe_at()?,
            going: of(&going, &name),
            last: of(&last, &name),
            name,
        })
    })
}

async fn forget(db: &Connection<'_>, name: &str, who: &Who, now: Timestamp) -> Result<bool, Fault> {
    let param: [Param<'_>; 1] = [(&name, Type::TEXT)];
    let delete = "delete from punctual.watch where name = $1 returning hash";
    let ((), gone) = both(db.begin(BEGIN), db.rows(delete, &param)).await?;
    let Some(gone) = gone.first() else {
        db.rollback().await?;
        return Ok(false);
    };
    let hash: String = get(gone, 0)?;
    who.expects.check(|| Some(version_of(&hash)))?;
    let bad = "delete from punctual.watch_bad where run in (select id from punctual.watch_run where watch = $1)";
    db.execute(bad, &param).await?;
    for table in ["watch_run", "watch_intent", "watch_ledger"] {
        db.execute(&format!("delete from punctual.{table} where watch = $1"), &param).await?;
    }
    both(write(db, Shards::ALL, &forgotten(name, who.clone(), now)), db.commit()).await?;
    Ok(true)
}

async fn begin_run(db: &Connection<'_>, begin: &BeginRun) -> Result<Begun, Fault> {
    let param: [Param<'_>; 1] = [(&begin.watch, Type::TEXT)];
    // The watch's row makes those who ask at once take turns; the run's row waits for what is being written for it.
    let watch = "select hash, next_at from punctual.watch where name = $1 for update";
    let run = format!(
        "select {RUN_COLUMNS}, r.until is null or r.until < clock_timestamp() from punctual.watch_run r \
         where r.watch = $1 and r.state = 'running' for update"
    );
    let ((), watches, rows) = all3(db.begin(BEGIN), db.rows(watch, &param), db.rows(&run, &param)).await?;
    let going = |row: &Row| {
        let mut from = Reader::new(row, 0);
        let LeasedRun { run, lease } = watch::run(&mut from)?;
        Ok::<_, StoreError>(Going { run, lease, is_left: from.flag()? })
    };
    let going = rows.first().map(going).transpose()?;
    let loaded = |row: &Row| {
        let mut from = Reader::new(row, 0);
        Ok::<_, StoreError>(Loaded { hash: from.owned()?, next_at: from.maybe_at()?, going: going.clone() })
    };
    let begun = begun(watches.first().map(loaded).transpose()?, begin);
    let Begun::Taken(taken) = &begun else {
        db.rollback().await?;
        return Ok(begun);
    };
    let lease = i64::try_from(taken.lease.number).unwrap_or(i64::MAX);
    let (id, node) = (run_uuid(taken.run.id), clean(&begin.node));
    let take = format!("update punctual.watch_run set lease = $2, node = $3, until = {} where id = $1", until());
    let params: [Param<'_>; 3] = [(&id, Type::UUID), (&lease, Type::INT8), (&node, Type::TEXT)];
    if taken.is_new {
        let row = LeasedRun { run: taken.run.clone(), lease: taken.lease.number };
        let (next_at, sql) = (begin.next_at.map(micros), insert(&RUN));
        let next = "update punctual.watch set next_at = $2 where name = $1";
        let next_params: [Param<'_>; 2] = [(&begin.watch, Type::TEXT), (&next_at, Type::TIMESTAMPTZ)];
        let mut pipeline: Vec<Statement<'_>> = Vec::new();
        put(&mut pipeline, db, &sql, &RUN, vec![&row]);
        pipeline.push(Box::pin(async { db.execute(next, &next_params).await.map(drop) }));
        pipeline.push(Box::pin(async { db.execute(&take, &params).await.map(drop) }));
        pipeline.push(Box::pin(db.commit()));
        all(pipeline).await?;
    } else {
        both(db.execute(&take, &params), db.commit()).await?;
    }
    Ok(begun)
}

async fn runs(db: &Connection<'_>, wheres: &str, params: &[Param<'_>]) -> Result<Vec<LeasedRun>, Fault> {
    let sql = format!("select {RUN_COLUMNS} from punctual.watch_run r where {wheres}");
    each(&db.rows(&sql, params).await?, |row| watch::run(&mut Reader::new(row, 0)))
}

/// Sets something of a run, for whoever has it; `{until}` is how long they have it from now on.
async fn keep(db: &Connection<'_>, lease: RunLease, sets: &str) -> Result<bool, Fault> {
    let sql = format!(
        "update punctual.watch_run set {} where id = $1 and lease = $2 and state = 'running'",
        sets.replace("{until}", &until())
    );
    let (id, number) = (run_uuid(lease.run), i64::try_from(lease.number).unwrap_or(i64::MAX));
    Ok(db.execute(&sql, &[(&id, Type::UUID), (&number, Type::INT8)]).await? > 0)
}

/// Begins to write for a run: nobody takes it over until that is committed.
async fn fence(db: &Connection<'_>, lease: RunLease, counts: Option<(&Counts, Option<&Place>)>) -> Result<(), Fault> {
    let mut sets = "until = {until}".to_owned();
    if let Some((Counts { seen, sent, skipped, failed, retried }, _)) = counts {
        sets.push_str(&format!(
            ", seen = {seen}, sent = {sent}, skipped = {skipped}, failed = {failed}, retried = {retried}"
        ));
    }
    if !keep(db, lease, &sets).await? {
        return Err(StoreError::LeaseLost.into());
    }
    if let Some((_, Some(place))) = counts {
        let (id, place) = (run_uuid(lease.run), watch::place(place));
        let place = clean(&place);
        let sql = "update punctual.watch_run set place = $2 where id = $1";
        db.execute(sql, &[(&id, Type::UUID), (&place, Type::TEXT)]).await?;
    }
    Ok(())
}

async fn intend(db: &Connection<'_>, lease: RunLease, intents: &[KeptIntent]) -> Result<(), Fault> {
    both(db.begin(BEGIN), fence(db, lease, None)).await?;
    let sql = insert_new(&INTENT);
    let mut pipeline: Vec<Statement<'_>> = Vec::new();
    put(&mut pipeline, db, &sql, &INTENT, intents.iter().collect());
    pipeline.push(Box::pin(db.commit()));
    all(pipeline).await
}

async fn intents(db: &Connection<'_>, watch: &str) -> Result<Vec<Intent>, Fault> {
    let sql = format!("select intent from punctual.watch_intent where watch = $1 order by key limit {INTENTS_MAX}");
    each(&db.rows(&sql, &[(&watch, Type::TEXT)]).await?, |row| watch::intent(get(row, 0)?))
}

async fn finish(
    db: &Connection<'_>,
    own: Shards,
    rows: &FinishRows,
    ledger: &[KeptLedger],
    bad: &[KeptBad],
) -> Result<(), Fault> {
    let ids: Vec<Uuid> = watch::ids(rows).into_iter().map(uuid).collect();
    let there = "select r.id from punctual.reminder r where r.id = any($1)";
    let place = rows.place.as_ref();
    let ids_param: [Param<'_>; 1] = [(&ids, Type::UUID_ARRAY)];
    let ((), ()) = both(db.begin(BEGIN), fence(db, rows.lease, Some((&rows.counts, place)))).await?;
    let there: Vec<ReminderId> = each(&db.rows(there, &ids_param).await?, |row| reminder_id(row, 0))?;
    let writes = finished(rows, &there);
    let insert_bad = insert_new(&BAD);
    let upsert = format!(
        "{} on conflict (watch, key) do update set due_at = excluded.due_at, n = excluded.n, sent_at = excluded.sent_at",
        insert(&LEDGER)
    );
    let done = "delete from punctual.watch_intent where watch = $1 and key = any($2)";
    let done_params: [Param<'_>; 2] = [(&rows.watch, Type::TEXT), (&rows.done, Type::TEXT_ARRAY)];
    let mut pipeline: Vec<Statement<'_>> = vec![Box::pin(write(db, own, &writes))];
    if !rows.done.is_empty() {
        pipeline.push(Box::pin(async { db.execute(done, &done_params).await.map(drop) }));
    }
    put(&mut pipeline, db, &insert_bad, &BAD, bad.iter().collect());
    put(&mut pipeline, db, &upsert, &LEDGER, ledger.iter().collect());
    pipeline.push(Box::pin(db.commit()));
    all(pipeline).await
}

async fn end_run(db: &Connection<'_>, end: &EndRun) -> Result<(), Fault> {
    both(db.begin(BEGIN), fence(db, end.lease, Some((&end.counts, None)))).await?;
    let sql = "update punctual.watch_run set state = $2, ended_at = $3, error = $4, until = null where id = $1";
    let (id, state, now) = (run_uuid(end.lease.run), end.state.as_str(), micros(end.now));
    let error = end.error.as_deref().map(clean);
    let params: [Param<'_>; 4] =
        [(&id, Type::UUID), (&state, Type::TEXT), (&now, Type::TIMESTAMPTZ), (&error, Type::TEXT)];
    all3(db.execute(sql, &params), write(db, Shards::ALL, &ended(end)), db.commit()).await?;
    Ok(())
}

async fn bad_rows(db: &Connection<'_>, run: WatchRunId, after: u64, limit: usize) -> Result<Vec<(u64, BadRow)>, Fault> {
    let sql = "select run, number, key, field, problem from punctual.watch_bad where run = $1 and number > $2 order by number limit $3";
    let (id, after) = (run_uuid(run), i64::try_from(after).unwrap_or(i64::MAX));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let params: [Param<'_>; 3] = [(&id, Type::UUID), (&after, Type::INT8), (&limit, Type::INT8)];
    each(&db.rows(sql, &params).await?, |row| watch::bad(row).map(|kept| (kept.number, kept.bad)))
}

async fn ledger_of(db: &Connection<'_>, watch: &str, keys: &[String]) -> Result<Vec<LedgerRow>, Fault> {
    let sql = "select key, due_at, n, sent_at from punctual.watch_ledger where watch = $1 and key = any($2)";
    each(&db.rows(sql, &[(&watch, Type::TEXT), (&keys, Type::TEXT_ARRAY)]).await?, watch::ledger)
}

async fn prune(db: &Connection<'_>, before: Timestamp, limit: usize) -> Result<usize, Fault> {
    let (before, limit) = (micros(before), i64::try_from(limit).unwrap_or(i64::MAX));
    let params: [Param<'_>; 2] = [(&before, Type::TIMESTAMPTZ), (&limit, Type::INT8)];
    let old = "select id from punctual.watch_run where ended_at < $1 order by ended_at limit $2";
    let runs = format!(
        "with gone as (delete from punctual.watch_run where id in ({old}) returning id), \
         bad as (delete from punctual.watch_bad where run in (select id from gone)) select count(*) from gone"
    );
    let rows = db.rows(&runs, &params).await?;
    let n_runs: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
    let ledger = "delete from punctual.watch_ledger where (watch, key) in \
                  (select watch, key from punctual.watch_ledger where due_at < $1 order by due_at limit $2)";
    let n_rows = db.execute(ledger, &params).await?;
    Ok(usize::try_from(n_runs).unwrap_or(0).max(usize::try_from(n_rows).unwrap_or(0)))
}
