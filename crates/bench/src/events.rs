//! How fast events are taken in and moved, and how soon their reminders follow.
//!
//! A server of its own holds events under one scope. They are written in one batch, their scope is changed, and single events are moved: over HTTP,
//! and on PostgreSQL also in plain SQL. A move has taken effect when the reminder's run is at its new instant.

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_engine::{SystemClock, machine};
use punctual_store::postgres::Session;
use serde_json::{Value, json};

use super::Common;
use super::http::{Connection, request};
use super::place::Place;
use super::report::{Report, Table, count, per_second, rate};
use super::rig::{self, plus};
use super::server::Server;
use super::summary::Summary;

/// When the events start: long after.
const START_AFTER: SignedDuration = SignedDuration::from_hours(24 * 30);
/// The path that all of them are below.
const SCOPE: &str = "bench:events";
/// How long to wait for an effect.
const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// How long to wait before a look for an effect is repeated.
const LOOK_EVERY: SignedDuration = SignedDuration::from_micros(500);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many events there are
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    count: u16,
    /// How many of them are moved, one after the other
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    moves: u16,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    // Refuses a database that is not the bench's.
    drop(place.open().await?);
    let server = Server::start(&place, &*clock).await?;
    let http = Http { connection: Connection::open(server.address).await?, key: server.key.clone() };
    let measured = measure(args, &place, http, &*clock).await;
    server.stop(&*clock).await?;
    measured
}

async fn measure(args: &Args, place: &Place, mut http: Http, clock: &dyn Clock) -> anyhow::Result<Report> {
    let n = usize::from(args.count);
    let start = plus(rig::soon(SignedDuration::ZERO), START_AFTER);
    let mut all = Table::new(["", "events", "took", "rate"]);
    let mut report = Report::new("events", format!("events: {} below one scope, two reminders each", count(n)));
    let mut row = |report: &mut Report, field: &str, name: &str, took: SignedDuration| {
        let seconds = took.as_secs_f64();
        all.row([name.to_owned(), count(n), format!("{seconds:.2} s"), per_second(rate(n, took))]);
        report.field(field, json!({ "seconds": seconds, "events": n }));
    };

    http.put(&format!("/v1/scopes/{SCOPE}"), &json!({ "offsets": [60, 15] })).await?;
    let batch = |start: Timestamp| {
        let events: Vec<Value> = (0..n).map(|number| event(&key("http", number), start)).collect();
        json!({ "events": events }).to_string()
    };
    row(
        &mut report,
        "new",
        "written over HTTP in one batch, and planned",
        http.post("/v1/events/batch", &batch(start)).await?,
    );
    row(&mut report, "same", "the same again", http.post("/v1/events/batch", &batch(start)).await?);
    let later = plus(start, SignedDuration::from_hours(1));
    row(&mut report, "moved", "moved in one batch", http.post("/v1/events/batch", &batch(later)).await?);
    let took = http.put(&format!("/v1/scopes/{SCOPE}"), &json!({ "offsets": [30] })).await?;
    row(&mut report, "scope", "their scope changed: one reminder instead of two", took);

    let mut moves = Table::new(["one event moved"].into_iter().chain(Summary::COLUMNS));
    let by_http = moves_over_http(args, &mut http, later).await?;
    moves.row(["over HTTP, until the answer shows it".to_owned()].into_iter().chain(by_http.cells()));
    report.field("moves_over_http", by_http.json());
    if place.file().is_none() {
        let session = Session::open(&place.url(), &machine()).await?;
        let took = upserts_in_sql(n, &session, start, clock).await?;
        row(&mut report, "sql", "written in SQL in one transaction, and planned", took);
        let took = upserts_in_sql(n, &session, later, clock).await?;
        row(&mut report, "sql_moved", "moved in SQL in one transaction, and planned", took);
        let (commits, effects) = moves_in_sql(args, &session, later, clock).await?;
        moves.row(["in SQL, the commit itself".to_owned()].into_iter().chain(commits.cells()));
        moves.row(["in SQL, from the commit until the run is there".to_owned()].into_iter().chain(effects.cells()));
        report.field("commits_in_sql", commits.json());
        report.field("moves_in_sql", effects.json());
    }
    report.table(all);
    report.table(moves);
    report.note(place.note());
    Ok(report)
}

fn key(door: &str, number: usize) -> String {
    format!("bench:{door}:{number}")
}

fn event(key: &str, start: Timestamp) -> Value {
    json!({
        "key": key,
        "starts_at": start,
        "scope": format!("{SCOPE}/channel:1"),
        "message": "{title} in {minutes} min",
        "users": [format!("user:{key}")],
        "to": ["console"],
        "metadata": { "title": "Chess" },
    })
}

/// A connection to the server.
struct Http {
    connection: Connection,
    key: String,
}

impl Http {
    async fn put(&mut self, path: &str, body: &Value) -> anyhow::Result<SignedDuration> {
        self.send("PUT", path, &body.to_string()).await.map(|(took, _)| took)
    }

    async fn post(&mut self, path: &str, body: &str) -> anyhow::Result<SignedDuration> {
        self.send("POST", path, body).await.map(|(took, _)| took)
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<(SignedDuration, Value)> {
        let request = request(method, path, Some(&self.key), body.as_bytes());
        let begun_at = SystemClock::read();
        let answer = self.connection.exchange(&request).await?;
        let took = SystemClock::read().duration_since(begun_at);
        let is_right = matches!(answer.status, 200 | 201);
        ensure!(
            is_right,
            "{method} {path} was answered with {}: {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        );
        Ok((took, serde_json::from_slice(&answer.body)?))
    }
}

async fn moves_over_http(args: &Args, http: &mut Http, start: Timestamp) -> anyhow::Result<Summary> {
    let mut took = Vec::new();
    for number in 0..usize::from(args.moves.min(args.count)) {
        let start = plus(start, SignedDuration::from_hours(1 + i64::try_from(number)?));
        let key = key("http", number);
        let mut body = event(&key, start);
        body.as_object_mut().context("an object")?.remove("key");
        let (one, answer) = http.send("PUT", &format!("/v1/events/{key}"), &body.to_string()).await?;
        let due_at: Timestamp =
            answer["reminders"][0]["due_at"].as_str().context("the answer has no reminder")?.parse()?;
        ensure!(due_at == plus(start, SignedDuration::from_mins(-30)), "{key} is reminded of at {due_at}");
        took.push(one);
    }
    Ok(Summary::of(took))
}

/// A call of the function; `key` is an expression of SQL.
fn call(key: &str, start: Timestamp) -> String {
    format!(
        "punctual.put_event({key}, '{start}', scope => '{SCOPE}/channel:2', message => '{{title}} in {{minutes}} min', \
         users => array['user:' || {key}], \"to\" => '[\"console\"]', metadata => '{{\"title\":\"Chess\"}}')"
    )
}

/// One statement, as an application that has its events in a table writes it.
async fn upserts_in_sql(
    n: usize,
    session: &Session,
    start: Timestamp,
    clock: &dyn Clock,
) -> anyhow::Result<SignedDuration> {
    let all = format!("perform {} from generate_series(1, {n}) as n", call("('bench:sql:' || n - 1)", start));
    let begun_at = SystemClock::read();
    session.run(&format!("do $bench$ begin {all}; end $bench$"), &[]).await?;
    let unplanned = "select key from punctual.event where key like 'bench:sql:%' and not planned limit 1";
    wait_until(session, unplanned, |found| found.is_empty(), clock).await?;
    Ok(SystemClock::read().duration_since(begun_at))
}

async fn moves_in_sql(
    args: &Args,
    session: &Session,
    start: Timestamp,
    clock: &dyn Clock,
) -> anyhow::Result<(Summary, Summary)> {
    let (mut commits, mut effects) = (Vec::new(), Vec::new());
    for number in 0..usize::from(args.moves.min(args.count)) {
        let start = plus(start, SignedDuration::from_hours(1 + i64::try_from(number)?));
        let key = key("sql", number);
        let begun_at = SystemClock::read();
        let moved = format!("perform {}", call(&format!("'{key}'"), start));
        session.run(&format!("do $bench$ begin {moved}; end $bench$"), &[]).await?;
        let committed_at = SystemClock::read();
        let due_at = plus(start, SignedDuration::from_mins(-30));
        let there = format!(
            "select 'there' from punctual.event_reminder l join punctual.occurrence o on o.reminder_id = l.reminder_id \
             where l.event_key = '{key}' and o.due_at = '{due_at}' and o.state = 'scheduled'"
        );
        wait_until(session, &there, |found| !found.is_empty(), clock).await?;
        commits.push(committed_at.duration_since(begun_at));
        effects.push(SystemClock::read().duration_since(committed_at));
    }
    Ok((Summary::of(commits), Summary::of(effects)))
}

async fn wait_until(
    session: &Session,
    sql: &str,
    is_there: fn(&[String]) -> bool,
    clock: &dyn Clock,
) -> anyhow::Result<()> {
    let give_up_at = plus(SystemClock::read(), GIVE_UP_AFTER);
    while !is_there(&session.texts(sql).await?) {
        ensure!(SystemClock::read() < give_up_at, "it took too long: {sql}");
        clock.sleep_until(plus(clock.now(), LOOK_EVERY)).await;
    }
    Ok(())
}
