//! How fast a watch reminds of an application's rows, and how much memory that takes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::{Clock, Machine};
use punctual_engine::machine;
use punctual_store::postgres::Session;
use rusqlite::Connection as File;
use serde_json::Value;

use super::Common;
use super::http::{Connection, request};
use super::place::Place;
use super::report::{Report, Table, count, per_second, rate};
use super::rig::plus;
use super::server::{Memory, Server};

/// The application's table.
const TABLE: &str = "punctual_bench_tasks";
/// The rows that are due are due after this.
const DUE_AFTER: SignedDuration = SignedDuration::from_hours(2);
/// The others are due after this.
const OTHERS_AFTER: SignedDuration = SignedDuration::from_hours(24 * 20);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many rows the application's table has
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// How many of them are due
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    due: u32,
    /// How many rows are dealt with together
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    /// Leave out the index on the due date
    #[arg(long)]
    no_index: bool,
}

/// The application's database: a file, or the PostgreSQL of the bench.
enum App {
    File(PathBuf),
    Postgres(String, Session),
}

impl App {
    async fn of(place: &Place, machine: &Machine) -> anyhow::Result<Self> {
        match place.file() {
            Some(_) => Ok(Self::File(place.dir().join("app.db"))),
            None => Ok(Self::Postgres(place.url(), Session::open(&place.url(), machine).await?)),
        }
    }

    fn url(&self) -> String {
        match self {
            Self::File(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url, _) => url.clone(),
        }
    }

    async fn run(&self, sql: &str) -> anyhow::Result<()> {
        match self {
            Self::File(path) => File::open(path)?.execute_batch(sql)?,
            Self::Postgres(_, session) => drop(session.run(sql, &[]).await?),
        }
        Ok(())
    }

    async fn number(&self, sql: &str) -> anyhow::Result<u64> {
        let text = match self {
            Self::File(path) => File::open(path)?.query_row(sql, [], |row| row.get::<_, i64>(0))?.to_string(),
            Self::Postgres(_, session) => {
                let found = session.texts(&format!("select ({sql})::text")).await?;
                found.into_iter().next().context("nothing was found")?
            }
        };
        Ok(text.parse()?)
    }

    /// Makes the table; every so many rows one is due.
    async fn fill(&self, args: &Args, now: Timestamp) -> anyhow::Result<()> {
        let (rows, each) = (args.rows, (args.rows / args.due).max(1));
        let (due, later) = (plus(now, DUE_AFTER), plus(now, OTHERS_AFTER));
        let columns = "id bigint primary key, title text, owner text";
        let row = format!(
            "n, 'Task number ' || n, 'user-' || n % 1000, case when n % {each} = 0 then '{due}' else '{later}' end"
        );
        self.run(&format!("drop table if exists {TABLE}")).await?;
        match self {
            Self::File(_) => {
                self.run(&format!(
                    "pragma journal_mode = wal; create table {TABLE} ({columns}, due_date text, reminder_sent_at text)"
                ))
                .await?;
                self.run(&format!(
                    "insert into {TABLE} with recursive s(n) as (select 1 union all select n + 1 from s where n < {rows}) select {row}, null from s"
                ))
                .await?;
            }
            Self::Postgres(..) => {
                self.run(&format!(
                    "create table {TABLE} ({columns}, due_date timestamptz, reminder_sent_at timestamptz)"
                ))
                .await?;
                let row = row.replace("end", "end::timestamptz");
                self.run(&format!("insert into {TABLE} select {row}, null from generate_series(1, {rows}) n")).await?;
            }
        }
        if !args.no_index {
            self.run(&format!("create index {TABLE}_due on {TABLE} (due_date)")).await?;
        }
        if matches!(self, Self::Postgres(..)) {
            self.run(&format!("vacuum analyze {TABLE}")).await?;
        }
        Ok(())
    }

    /// What the least program would do: read what is due, and mark it, in one statement each.
    async fn limit(&self, clock: &dyn Clock, now: Timestamp) -> anyhow::Result<(Duration, Duration)> {
        let until = plus(now, SignedDuration::from_hours(24));
        let is_due = format!("due_date >= '{now}' and due_date <= '{until}' and reminder_sent_at is null");
        let begun = clock.run_for();
        let n = self
            .number(&format!(
                "select count(*) from (select id, title, owner from {TABLE} where {is_due} order by due_date, id) t"
            ))
            .await?;
        ensure!(n > 0, "nothing is due");
        let read = clock.run_for() - begun;
        let begun = clock.run_for();
        self.run(&format!("update {TABLE} set reminder_sent_at = '{now}' where {is_due}")).await?;
        let marked = clock.run_for() - begun;
        self.run(&format!("update {TABLE} set reminder_sent_at = null where reminder_sent_at is not null")).await?;
        if matches!(self, Self::Postgres(..)) {
            self.run(&format!("vacuum {TABLE}")).await?;
        }
        Ok((read, marked))
    }
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let machine = machine();
    let clock = machine.clock.clone();
    let place = Place::new(common)?;
    // A bench must not mix its reminders with somebody's own.
    drop(place.open().await?);
    let app = App::of(&place, &machine).await?;
    app.fill(args, clock.now()).await?;
    let n_due =
        app.number(&format!("select count(*) from {TABLE} where id % {} = 0", (args.rows / args.due).max(1))).await?;
    let (read, marked) = app.limit(&*clock, clock.now()).await?;

    let file = place.dir().join("watch.toml");
    let config = format!(
        "[watches.bench]\ndatabase = \"{}\"\ntable = \"{TABLE}\"\nkey = \"id\"\ndue = \"due_date\"\nsent = \"reminder_sent_at\"\nuser = \"owner\"\n\
         message = \"{{title}} is due {{due}}\"\nevery = \"300d\"\nbatch = {}\n",
        app.url(),
        args.batch
    );
    std::fs::write(&file, format!("default_channel = \"console\"\n{config}"))
        .context("cannot write the config file")?;
    let file = file.to_str().context("the directory's name is no text")?;
    // Nothing is sent: the run is measured, and not what comes after it.
    let server = Server::start_with(&place, &["--config", file, "--shadow"], &*clock).await?;
    let before = server.memory()?;
    let mut connection = Connection::open(server.address).await?;
    let begun = clock.run_for();
    let asked = request("POST", "/v1/watches/bench/run", Some(&server.key), b"");
    let run: Value = serde_json::from_slice(&connection.exchange(&asked).await?.body)?;
    let took = clock.run_for() - begun;
    let after = server.memory()?;
    ensure!(run["state"] == "done", "the run did not end well: {run}");
    let journal = server.get("/v1/audit?kind=watch.run&limit=1").await?;
    let parts = &journal["entries"][0]["data"];
    let n_marked = app.number(&format!("select count(*) from {TABLE} where reminder_sent_at is not null")).await?;
    let (seen, sent) = (run["seen"].as_u64().unwrap_or(0), run["sent"].as_u64().unwrap_or(0));
    let again: Value = serde_json::from_slice(&connection.exchange(&asked).await?.body)?;
    let again = again["sent"].as_u64().unwrap_or(u64::MAX);
    server.stop(&*clock).await?;
    ensure!(
        seen == n_due && sent == n_due && n_marked == n_due,
        "of {n_due} rows, {seen} were seen, {sent} sent, {n_marked} marked"
    );
    ensure!(again == 0, "a second run reminded of {again} rows again");

    let seconds = |part: &str| format!("{:.3} s", parts[part].as_f64().unwrap_or(f64::NAN));
    let title = format!(
        "watch: {} of {} rows are due, batches of {}",
        count(n_due as usize),
        count(args.rows as usize),
        count(args.batch as usize)
    );
    let mut report = Report::new("watch", title);
    let mut table = Table::new(["", "seconds", "rows/s"]);
    let speed = |span: Duration| {
        per_second(rate(n_due as usize, SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)))
    };
    table.row(["the run".to_owned(), format!("{:.3} s", took.as_secs_f64()), speed(took)]);
    table.row(["  reading".to_owned(), seconds("reading_seconds"), String::new()]);
    table.row(["  marking".to_owned(), seconds("marking_seconds"), String::new()]);
    table.row(["  intents and reminders".to_owned(), seconds("writing_seconds"), String::new()]);
    table.row(["limit: one SELECT".to_owned(), format!("{:.3} s", read.as_secs_f64()), speed(read)]);
    table.row(["limit: one UPDATE".to_owned(), format!("{:.3} s", marked.as_secs_f64()), speed(marked)]);
    report.table(table);
    report.note(format!(
        "Memory of the server: {:.1} MB before, at most {:.1} MB.",
        Memory::megabytes(before.now),
        Memory::megabytes(after.peak)
    ));
    report.note("Each row was reminded of and marked once; a second run found none.");
    report.note(place.note());
    report.field("rows", args.rows);
    report.field("due", n_due);
    report.field("seconds", took.as_secs_f64());
    for part in ["reading_seconds", "marking_seconds", "writing_seconds"] {
        report.field(part, parts[part].clone());
    }
    report.field("limit_select_seconds", read.as_secs_f64());
    report.field("limit_update_seconds", marked.as_secs_f64());
    report.field("memory_before_mb", Memory::megabytes(before.now));
    report.field("memory_peak_mb", Memory::megabytes(after.peak));
    Ok(report)
}
