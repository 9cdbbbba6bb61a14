//! `bench notify`: what it costs writers in plain SQL that the nodes are told.
//!
//! NOTIFY takes a lock of the whole database at commit, so commits that notify go through one by one. That is why a
//! notification is one per statement, why it is left out where no node could care, and why the nodes' own statements are
//! quiet. Here many writers each commit one small reminder after the other, due so soon that the nodes must be told: once so,
//! once quiet, once without the trigger at all, and once far in the future.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Machine, Random};
use punctual_core::id::ReminderId;
use punctual_core::shard::shard_of;
use punctual_engine::{SystemClock, SystemRandom, machine};
use punctual_store::postgres::Session;
use serde_json::json;

use super::Common;
use super::place::Place;
use super::report::{Report, Table, per_second, rate};
use super::rig::{MESSAGE, plus};
use super::summary::Summary;

/// The user whose reminders these are, followed by a number.
const USER: &str = "bench-notify-";
/// One reminder and its first run, as a client in plain SQL would write them: one statement, one commit.
const INSERT: &str = "with new as (insert into punctual.reminder (id, user_id, message, schedule, timezone, priority, \
     ack_reminders_max, snooze_allowed, retries_max, misfire, misfire_within, on_unknown, created_via, metadata, status, \
     created_at, updated_at, last_run, planned) values ($1::uuid, $2, $3, $4, 'UTC', 1, 0, true, 3, 'latest', 86400000, \
     'resend', 'bench', '{}', 'active', now(), now(), 1, 1) returning id) \
     insert into punctual.occurrence (reminder_id, run, due_at, wake_at, priority, shard, state) \
     select id, 1, $5::timestamptz, $5::timestamptz, 1, $6::smallint, 'scheduled' from new";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many writers commit at once
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    writers: u16,
    /// How many sessions listen meanwhile, as nodes do
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=64))]
    listeners: u16,
    /// For how many seconds each is measured
    #[arg(long, default_value_t = 5, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
}

/// What the writers write, and how.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    field: &'static str,
    /// Run by each writer before it begins.
    before: &'static str,
    has_trigger: bool,
    due_in: SignedDuration,
}

/// So soon that every node must be told; far enough that none of it is due before it is removed.
const SOON: SignedDuration = SignedDuration::from_secs(50);
const LATER: SignedDuration = SignedDuration::from_hours(24 * 30);
const WAYS: [Way; 4] = [
    Way { name: "due soon, told", field: "told", before: "set punctual.quiet = off", has_trigger: true, due_in: SOON },
    Way { name: "due soon, quiet", field: "quiet", before: "set punctual.quiet = on", has_trigger: true, due_in: SOON },
    Way {
        name: "due in a month, nothing to tell",
        field: "later",
        before: "set punctual.quiet = off",
        has_trigger: true,
        due_in: LATER,
    },
    Way { name: "without the trigger", field: "no_trigger", before: "select", has_trigger: false, due_in: SOON },
];

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    ensure!(common.options.database.is_some(), "notify is about PostgreSQL: --database postgres://…");
    let machine = machine();
    let place = Place::new(common)?;
    // Refuses a database that is not the bench's, and makes the schema.
    drop(place.open().await?);
    let admin = Session::open(&place.url(), &machine).await?;
    let nodes = admin.texts("select name from punctual.node where seen_at > now() - interval '5 seconds'").await?;
    ensure!(nodes.is_empty(), "a node serves this database and would deliver what is written here");
    let triggers = admin
        .texts(
            "select tgname::text from pg_trigger where tgrelid = 'punctual.occurrence'::regclass and not tgisinternal",
        )
        .await?;
    let mut listeners = Vec::new();
    for _ in 0..args.listeners {
        let session = Session::open(&place.url(), &machine).await?;
        session.run("listen punctual", &[]).await?;
        listeners.push(session);
    }

    let title = format!(
        "notify: {} writers, each commits one reminder after the other in plain SQL; {} sessions listen",
        args.writers, args.listeners
    );
    let mut report = Report::new("notify", title);
    let mut table = Table::new(["", "commits", "a commit: p50", "p90", "p99", "max"]);
    for way in WAYS {
        clean(&admin).await?;
        let switch = if way.has_trigger { "enable" } else { "disable" };
        admin.run(&format!("alter table punctual.occurrence {switch} trigger user"), &[]).await?;
        let measured = measure(args, way, &place, &machine).await;
        // The database is put back as it was, whether the measuring worked or not.
        admin.run("alter table punctual.occurrence enable trigger user", &[]).await?;
        let (n_commits, took) = measured?;
        let per = rate(n_commits, SignedDuration::from_secs(args.seconds.into()));
        table.row([way.name.to_owned(), per_second(per)].into_iter().chain(took.cells()));
        report.field(way.field, json!({ "commits_per_second": per, "commit": took.json() }));
    }
    clean(&admin).await?;
    report.table(table);
    match triggers.is_empty() {
        true => report.note("This schema has no trigger that tells: all ways are the same."),
        false => report.note(format!("The trigger: {}.", triggers.join(", "))),
    }
    report.note(place.note());
    report.field("writers", args.writers);
    report.field("listeners", args.listeners);
    report.field("trigger", triggers.first().cloned());
    Ok(report)
}

/// Removes the reminders that were written here, so that no node ever delivers them.
async fn clean(admin: &Session) -> anyhow::Result<()> {
    for (table, id) in [("occurrence", "reminder_id"), ("reminder", "id")] {
        let sql = format!(
            "delete from punctual.{table} where {id} in (select id from punctual.reminder where user_id like '{USER}%')"
        );
        admin.run(&sql, &[]).await?;
    }
    Ok(())
}

/// Lets all writers commit for the time; returns how many commits there were and how long each took.
async fn measure(args: &Args, way: Way, place: &Place, machine: &Machine) -> anyhow::Result<(usize, Summary)> {
    let mut sessions = Vec::new();
    for _ in 0..args.writers {
        let session = Session::open(&place.url(), machine).await?;
        session.run(way.before, &[]).await?;
        sessions.push(session);
    }
    let end_at = plus(machine.clock.now(), SignedDuration::from_secs(args.seconds.into()));
    let n_users = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> =
        sessions.into_iter().map(|session| tokio::spawn(write(session, way, end_at, Arc::clone(&n_users)))).collect();
    let mut all = Vec::new();
    for writer in writers {
        all.extend(writer.await.context("a writer panicked")??);
    }
    Ok((all.len(), Summary::of(all)))
}

async fn write(
    session: Session,
    way: Way,
    end_at: Timestamp,
    n_users: Arc<AtomicUsize>,
) -> anyhow::Result<Vec<SignedDuration>> {
    let mut took = Vec::new();
    let mut now = SystemClock::read();
    while now < end_at {
        let user = format!("{USER}{}", n_users.fetch_add(1, Ordering::Relaxed));
        let id = ReminderId::new(now, SystemRandom.ten()).to_string();
        let due_at = plus(now, way.due_in).to_string();
        let schedule = json!({ "type": "once", "at": due_at }).to_string();
        let shard = shard_of(&user).to_string();
        let n_written = session.run(INSERT, &[&id, &user, MESSAGE, &schedule, &due_at, &shard]).await?;
        ensure!(n_written == 1, "a reminder was not written");
        let then = SystemClock::read();
        took.push(then.duration_since(now));
        now = then;
    }
    Ok(took)
}
