//! The reminders and the history behind the page.
//!
//! Reminders are created as the engine creates them. Their past is written in SQL: ten million entries one by one would take an hour. Each
//! reminder comes every thirty days and has been sent as often as the journal has room for; the runs of the last day are there as well.

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Random;
use punctual_core::reminder::Address;
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::store::{NewReminder, Store};
use punctual_engine::{SystemClock, SystemRandom, machine};
use punctual_store::postgres::Session;
use rusqlite::Connection;

use crate::place::{Place, pending, progress};
use crate::rig::{self, Wanted, plus};
use crate::search::{self, message, planted};

/// Among how many users the reminders are divided; the first is `me`.
const USERS: usize = 100;
/// The first of them is due then, long after the bench is over.
const DUE_AFTER: SignedDuration = SignedDuration::from_hours(2);
/// Over how long they are due, and were sent.
const OVER: SignedDuration = SignedDuration::from_hours(24 * 30);
/// What the journal says of a run that was sent.
const SENT: &str = r#"{"channel":"console","attempt":1}"#;
/// How many entries are written in one statement.
const BATCH: usize = 500_000;

/// Makes the reminders and their history, unless an earlier bench has left them there.
pub(super) async fn fill(store: &Arc<dyn Store>, rows: usize, entries: usize, place: &Place) -> anyhow::Result<()> {
    // Search adds one that marks the database as a bench's.
    if pending(&**store).await? > rows {
        return Ok(());
    }
    ensure!(pending(&**store).await? == 0, "the database holds other reminders; name another");
    store.prepare_search().await?;
    let planted = planted(rows);
    let made = |number: usize, now: Timestamp| -> NewReminder {
        let user = match number % USERS {
            0 => "me".to_owned(),
            other => format!("user-{other}"),
        };
        let share = OVER.as_millis() as i64 / rows as i64 * number as i64;
        let due_at = plus(plus(now, DUE_AFTER), SignedDuration::from_millis(share));
        let mut new = rig::new_reminder(Wanted { user, due_at, to: Vec::<Address>::new() }, SystemRandom.ten(), now);
        new.reminder.message = message(number, &planted);
        new.reminder.schedule =
            Schedule::new(Rule::Interval { every: OVER.unsigned_abs(), anchor: Anchor::default(), origin: due_at });
        new
    };
    search::fill(&**store, rows, place, &made).await?;
    // Each was created with an entry.
    let n_more = entries.saturating_sub(rows + 1);
    let past = Past { rows, n: n_more, until: SystemClock::read() };
    match place.file() {
        Some(file) => past.into_file(&Connection::open(file)?)?,
        None => past.into_postgres(&Session::open(&place.url(), &machine()).await?).await?,
    }
    // The index has come to the end of the journal: it is as a server has it that has nothing to do.
    store.place().await?;
    store.take_duty("search", "bench", SystemClock::read()).await?;
    Ok(())
}

/// Entries that say that a reminder was sent, evenly over the time until now.
struct Past {
    rows: usize,
    n: usize,
    until: Timestamp,
}

impl Past {
    fn begin_micros(&self) -> i64 {
        plus(self.until, -OVER).as_microsecond()
    }

    /// The instant of entry `n` in SQL, in microseconds.
    fn at(&self) -> String {
        format!("({} + n * {})", self.begin_micros(), OVER.as_micros() as i64 / self.n.max(1) as i64)
    }

    /// The day before, in microseconds: its runs are there too.
    fn day_micros(&self) -> i64 {
        plus(self.until, SignedDuration::from_hours(-24)).as_microsecond()
    }

    /// The highest number of a run; the one to come is the first.
    fn last_run(&self) -> usize {
        1 + self.n.div_ceil(self.rows)
    }

    fn into_file(self, db: &Connection) -> anyhow::Result<()> {
        let index: String =
            db.query_row("select sql from sqlite_master where name = 'journal_reminder'", [], |row| row.get(0))?;
        // An index over entries in no order is made much faster at once than entry by entry. The entries that are there tell of today:
        // they come after these.
        db.execute_batch(
            "pragma synchronous = off; pragma cache_size = -400000; drop index journal_reminder;
             create temp table today as select * from journal; delete from journal; delete from journal_hour",
        )?;
        let (n, rows, at) = (self.n, self.rows, self.at());
        let bar = progress(n, "history");
        for from in (0..n).step_by(BATCH) {
            let to = n.min(from + BATCH);
            db.execute_batch(&format!(
                "insert into journal (number, at, kind, reminder_id, run, user_id, data) \
                 with recursive s(n) as (select {from} union all select n + 1 from s where n + 1 < {to}) \
                 select 1 + n, {at}, 'reminder.sent', r.id, 2 + n / {rows}, r.user_id, '{SENT}' \
                 from s join reminder r on r.rowid = 1 + n % {rows}"
            ))?;
            bar.inc((to - from) as u64);
        }
        bar.finish_and_clear();
        db.execute_batch(&format!(
            "insert into journal select number + {n}, at, kind, reminder_id, run, user_id, actor, via, data from today;
             {index};
             insert into journal_hour (hour, first) select at / 3600000000, min(number) from journal group by 1;
             create temp table day as select number, at, reminder_id, run from journal where number <= {n} and at >= {day};
             insert into occurrence (reminder_id, run, due_at, state, at, priority, shard, lease, attempts, asks, reached) \
               select d.reminder_id, d.run, d.at - 900, 'delivered', d.at, 1, o.shard, 1, 1, 1, 1 from day d \
               join occurrence o on o.reminder_id = d.reminder_id and o.run = 1;
             insert into attempt (reminder_id, run, number, channel, address, status, started_at, ended_at) \
               select reminder_id, run, 1, 'console', '', 'sent', at - 600, at from day;
             update reminder set last_run = {last}, total_runs = {last} - 1, last_status = 'delivered', last_run_at = {until} where {last} > 1;
             pragma wal_checkpoint(truncate)",
            day = self.day_micros(),
            last = self.last_run(),
            until = self.until.as_microsecond(),
        ))
        .context("the history cannot be written")
    }

    async fn into_postgres(self, session: &Session) -> anyhow::Result<()> {
        let run = async |sql: String| session.run(&sql, &[]).await.map(drop);
        let (n, rows, at) = (self.n, self.rows, self.at());
        let at = format!("(timestamptz 'epoch' + {at} * interval '1 microsecond')");
        for sql in [
            // The entries that are there are placed, and tell of today: they come after these.
            "select punctual.place_writes(true)",
            "create table bench_today as select * from punctual.journal_place where first > 0",
            "delete from punctual.journal_place where first > 0",
            "create table bench_row as select row_number() over (order by id) - 1 as k, id, user_id from punctual.reminder",
            "create unique index on bench_row (k)",
            "analyze bench_row",
            "drop index punctual.journal_reminder",
        ] {
            run(sql.to_owned()).await?;
        }
        let bar = progress(n, "history");
        for from in (0..n).step_by(BATCH) {
            let to = n.min(from + BATCH);
            // A write a thousand entries, as batches have it. No transaction is as old as theirs says, so no pass looks for them again.
            run(format!(
                "with w as (insert into punctual.journal_write (n, xact) select least(1000, {to} - f), '0'::xid8 \
                     from generate_series({from}, {to} - 1, 1000) f returning write, n), \
                 numbered as (select write, n as size, {from} + (row_number() over (order by write) - 1) * 1000 as f from w), \
                 placed as (insert into punctual.journal_place (first, write, n, placed_at) \
                     select 1 + f, write, size, (select {at} from (select f + size - 1 as n) last) from numbered) \
                 insert into punctual.journal (write, item, at, kind, reminder_id, run, user_id, data) \
                 select w.write, n - w.f, {at}, 'reminder.sent', r.id, 2 + n / {rows}, r.user_id, '{SENT}' \
                 from numbered w cross join lateral generate_series(w.f, w.f + w.size - 1) n join bench_row r on r.k = n % {rows}"
            ))
            .await?;
            bar.inc((to - from) as u64);
        }
        bar.finish_and_clear();
        let (day, last) = (self.day_micros(), self.last_run());
        for sql in [
            format!("insert into punctual.journal_place select first + {n}, write, n, placed_at, snapshot from bench_today"),
            "create index journal_reminder on punctual.journal (reminder_id) where reminder_id is not null".to_owned(),
            format!(
                "create table bench_day as select write, item, at, reminder_id, run from punctual.journal \
                 where at >= timestamptz 'epoch' + {day} * interval '1 microsecond' and kind = 'reminder.sent'"
            ),
            "insert into punctual.occurrence (reminder_id, run, due_at, state, at, priority, shard, lease, attempts, asks, reached) \
             select d.reminder_id, d.run, d.at - interval '900 microseconds', 'delivered', d.at, 1, o.shard, 1, 1, 1, 1 \
             from bench_day d join punctual.occurrence o on o.reminder_id = d.reminder_id and o.run = 1"
                .to_owned(),
            "insert into punctual.attempt (reminder_id, run, number, channel, address, status, started_at, ended_at) \
             select reminder_id, run, 1, 'console', '', 'sent', at - interval '600 microseconds', at \
             from bench_day"
                .to_owned(),
            format!(
                "update punctual.reminder set last_run = {last}, total_runs = {last} - 1, last_status = 'delivered', \
                 last_run_at = now() where {last} > 1"
            ),
            "drop table bench_row, bench_day, bench_today".to_owned(),
            "vacuum analyze".to_owned(),
        ] {
            run(sql).await?;
        }
        Ok(())
    }
}
