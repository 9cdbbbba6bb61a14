//! Standing queries over applications' own tables.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::Clock as _;
use punctual_core::watch::RunState;
use punctual_engine::SystemClock;

use super::style::{Style, neutral};
use super::table::{Cell, Table};
use super::when::local;
use super::{Context, Global, Said, print, print_deleted, print_json, runtime, wait_for};
use crate::config::Flags;
use crate::wire::{PageQuery, WatchRun, WatchTest};
use crate::{logging, serve};

/// How often a run that takes long is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Watches are defined in the config file, under [watches.NAME].\n\nExamples:\n  punctual watches\n  punctual watches test tasks\n  punctual watches run tasks --json"
)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List watches
    List,
    /// Show one watch and its last runs
    Show {
        /// Which
        watch: String,
    },
    /// Run a watch now, or join the run that is going
    Run {
        /// Which
        watch: String,
    },
    /// Show which rows a run would remind of, and how; nothing is written
    Test {
        /// Which
        watch: String,
    },
    /// Forget a watch that no config file defines any more
    Forget {
        /// Which
        watch: String,
    },
    /// Run watches in a process of its own, without the API
    Serve(ServeArgs),
}

#[derive(Debug, clap::Args)]
struct ServeArgs {
    /// sqlite:PATH or postgres://… [env: PUNCTUAL_DATABASE_URL] [default: a file in the data directory]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// auto, human or json [env: PUNCTUAL_LOG_FORMAT]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// error, warn, info, debug or trace [env: PUNCTUAL_LOG]
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
}

impl Args {
    /// The worker, which needs no server: it is one.
    pub(super) fn serves(&self) -> bool {
        matches!(self.command, Some(Command::Serve(_)))
    }
}

/// Runs watches until a signal comes.
pub(super) fn serve(args: &Args, global: &Global) -> anyhow::Result<()> {
    let Some(Command::Serve(args)) = &args.command else { return Ok(()) };
    let given = [("database", &args.database), ("log_format", &args.log_format), ("log", &args.log)];
    let flags: Flags = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    let config = global.config(flags)?;
    logging::start(config.log_format, &config.log);
    wait_for(runtime()?, serve::watch(config))
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => list(context).await,
        Command::Show { watch } => show(watch, context).await,
        Command::Run { watch } => run_one(watch, context).await,
        Command::Test { watch } => test(watch, context).await,
        Command::Forget { watch } => {
            context.client.forget_watch(watch).await?;
            print_deleted(watch, &format!("forgot the watch {}\n", neutral(watch)), context)
        }
        Command::Serve(_) => unreachable!("the worker needs no server"),
    }
}

async fn list(context: &Context) -> anyhow::Result<()> {
    let all = context.client.watches().await?;
    if context.json {
        return print_json(&all);
    }
    if all.watches.is_empty() {
        return print("No watches. Write [watches.NAME] into the config file to look into an application's table.\n");
    }
    let (zone, now) = (context.zone().await?, now());
    let mut table = Table::new(&["WATCH", "ROWS", "MODE", "NEXT", "LAST", "PROBLEM"]);
    for watch in &all.watches {
        let rows = watch.table.as_deref().unwrap_or("a query");
        let next = match (&watch.running, watch.next_at, watch.defined_here) {
            (Some(_), ..) => "running".to_owned(),
            (None, _, false) => "not defined here".to_owned(),
            (None, Some(at), true) => local(at, &zone, now),
            (None, None, true) => "–".to_owned(),
        };
        table.push(vec![
            Cell::new(&watch.name, Style::Cyan),
            Cell::plain(&neutral(rows)),
            Cell::plain(watch.mode.as_deref().unwrap_or("–")),
            Cell::plain(&next),
            Cell::plain(&watch.last.as_ref().map_or_else(|| "–".to_owned(), counts)),
            Cell::new(&neutral(watch.problem.as_deref().unwrap_or("–")), Style::Yellow),
        ]);
    }
    print(&table.render(context.paint))
}

async fn show(name: &str, context: &Context) -> anyhow::Result<()> {
    let watch = context.client.watch(name).await?;
    if context.json {
        return print_json(&watch);
    }
    let (zone, now) = (context.zone().await?, now());
    let rows = watch.table.as_deref().or(watch.query.as_deref()).unwrap_or_default();
    let mut said = format!(
        "{}: {} in {}\n  due within {}, again after {}\n",
        neutral(name),
        neutral(rows),
        neutral(&watch.database),
        watch.window,
        watch.again_after
    );
    if let Some(problem) = &watch.problem {
        said.push_str(&format!("  {}\n", neutral(problem)));
    }
    let mut table = Table::new(&["RUN", "BEGAN", "STATE", "SECONDS", "ROWS", "ERROR"]);
    for run in &watch.runs {
        table.push(vec![
            Cell::new(&run.run_id, Style::Cyan),
            Cell::plain(&local(run.started_at, &zone, now)),
            Cell::plain(run.state.as_str()),
            Cell::plain(&format!("{:.3}", run.seconds)),
            Cell::plain(&counts(run)),
            Cell::new(&neutral(run.error.as_deref().unwrap_or("–")), Style::Yellow),
        ]);
    }
    print(&(said + &table.render(context.paint)))
}

async fn run_one(name: &str, context: &Context) -> anyhow::Result<()> {
    let mut run = context.client.run_watch(name).await?;
    let joined = run.joined;
    let clock = SystemClock::start();
    while run.state == RunState::Running {
        clock.pause(LOOK_EVERY).await;
        run = context.client.watch_run(name, &run.run_id, &PageQuery::default()).await?;
    }
    let run = WatchRun { joined, ..run };
    match context.json {
        true => print_json(&run)?,
        false => {
            let joined = if run.joined == Some(true) { ", which was going" } else { "" };
            let error = run.error.as_deref().map(|error| format!(": {}", neutral(error))).unwrap_or_default();
            print(&format!(
                "run {}{joined}: {} in {:.3} s{error}\n  {}\n",
                run.run_id,
                run.state.as_str().replace('_', " "),
                run.seconds,
                counts(&run)
            ))?;
        }
    }
    if run.state == RunState::Done && run.failed == 0 { Ok(()) } else { Err(Said.into()) }
}

async fn test(name: &str, context: &Context) -> anyhow::Result<()> {
    let WatchTest { mode, why, warnings, n_due, is_all, rows, bad } = {
        let tested = context.client.test_watch(name).await?;
        if context.json {
            return print_json(&tested);
        }
        tested
    };
    let n_rows = match (n_due, is_all) {
        (1, true) => "1 row".to_owned(),
        (n, true) => format!("{n} rows"),
        (n, false) => format!("{n} or more rows"),
    };
    let mut said = format!("{n_rows} would be reminded of now; nothing was written.\n");
    match why {
        Some(why) => said.push_str(&format!("  {mode}: {}\n", neutral(&why))),
        None => said.push_str("  each row is marked in its own column\n"),
    }
    for warning in warnings {
        said.push_str(&format!("  {}\n", neutral(&warning)));
    }
    if !rows.is_empty() {
        let mut table = Table::new(&["KEY", "DUE", "SENT", "USER", "MESSAGE"]);
        for row in &rows {
            table.push(vec![
                Cell::new(&neutral(&row.key), Style::Cyan),
                Cell::plain(&neutral(&row.due)),
                Cell::plain(&neutral(row.sent.as_deref().unwrap_or("–"))),
                Cell::plain(&neutral(&row.user)),
                Cell::plain(&neutral(&row.message)),
            ]);
        }
        said.push_str(&table.render(context.paint));
    }
    for row in &bad {
        let field = row.field.as_deref().map(|field| format!("{field}: ")).unwrap_or_default();
        said.push_str(&format!("  {}\n", neutral(&format!("{}: {field}{}", row.key, row.problem))));
    }
    print(&said)
}

/// What became of a run's rows.
fn counts(run: &WatchRun) -> String {
    let WatchRun { seen, sent, skipped, failed, retried, .. } = run;
    format!("{seen} seen, {sent} sent, {skipped} skipped, {failed} failed, {retried} retried")
}

fn now() -> Timestamp {
    SystemClock::start().now()
}
