//! Measurements: `punctual bench`.
//!
//! A bench is a real run: the real clock, the real file with every commit on the disk, real sockets. Lateness is
//! measured where the receiver sees it. Beside every number stands the limit, measured in the same run: what this
//! machine can do at all, without a scheduler and without a database.
//!
//! A workload runs an engine in this process, or starts this program again as `punctual serve` and talks to it over HTTP.
//! It never calls the program's own code: the program depends on this crate.

/// How late, when reminders are spread over time.
mod spread;

/// How fast, when all are due at one instant.
mod burst;

/// How fast reminders are taken in.
mod create;

/// How long a create takes while others fire.
mod steady;

/// How fast a page of a long list is shown.
mod list;

/// What idle and slow connections cost.
mod connections;

/// How fast events are taken in and moved.
mod events;
/// How fast reminders are found by words in their text.
mod search;

/// How fast the web page is, and what open pages cost.
mod page;

/// How late, beside receivers in trouble.
mod trouble;

/// How much memory, while many wait to be tried again.
mod retry;

/// How much work a reminder makes, for the database and for the node.
mod cost;

/// How long a restart takes, and how much memory.
mod start;

/// What it costs to wait.
mod idle;

/// Whether anything is lost when the server is killed.
mod crash;

/// What others notice when a node is killed.
mod failover;

/// The cost, for writers in SQL, of telling the nodes.
mod notify;

/// How soon everybody who streams the journal sees an entry.
mod stream;

/// How soon and how fast answers are taken.
mod inbound;

/// How fast everything goes out, and in.
mod export;
/// How fast a watch reminds of an application's rows.
mod watch;

/// How late timers in Redis ring.
mod redis;

/// How fast a message broker takes messages.
mod broker;

/// How fast mails go out.
mod email;

/// How fast phrases are understood.
mod phrases;

/// The limits of the machine, measured without punctual.
mod limit;

/// Where the messages arrive.
mod sink;

/// The program that messages arrive at.
mod receiver;

/// A platform whose people answer.
mod telegram;

/// The server in a process of its own.
mod server;

/// Any number of servers on one database.
mod nodes;

/// Other processes, ended when they are no longer needed.
mod child;

/// Processor time and written bytes, as the system counts them.
mod proc;

/// Many requests over kept connections.
mod load;

/// The least of HTTP, so that the client costs less than what it measures.
mod http;

/// Where the database lies, and what is in it.
mod place;

/// The tools of a measurement: reminders, and an engine in this process.
mod rig;

/// Many measurements in a few numbers.
mod summary;

/// The report that is printed.
mod report;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    workload: Workload,
    #[command(flatten)]
    options: Options,
}

/// Options of every workload.
#[derive(Debug, clap::Args)]
struct Options {
    /// A PostgreSQL database to measure on, empty or filled by an earlier bench; what is written stays in it
    #[arg(long, global = true, value_name = "URL")]
    database: Option<String>,
    /// A Redis to measure with
    #[arg(long, global = true, value_name = "URL")]
    redis: Option<String>,
    /// Where the database goes; one that was kept there is used again [default: beside the data directory]
    #[arg(long, global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Leave the database there
    #[arg(long, global = true)]
    keep: bool,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

/// Finds the server's data directory.
pub type DataDir = fn() -> anyhow::Result<PathBuf>;

/// What every workload is given.
struct Common {
    options: Options,
    data_dir: DataDir,
}

#[derive(Debug, Subcommand)]
enum Workload {
    /// Lateness of reminders that are due one after the other
    Spread(spread::Args),
    /// How fast reminders go out that are due at one instant
    Burst(burst::Args),
    /// How fast reminders are taken in: one by one, and in batches
    Create(create::Args),
    /// How long a create takes at a steady rate, while as many reminders fire
    Steady(steady::Args),
    /// How fast a page of a long list is shown
    List(list::Args),
    /// What idle connections and WebSockets cost, and what others notice of slow ones
    Connections(connections::Args),
    /// How fast events are taken in, moved and planned anew, and how soon a move takes effect
    Events(events::Args),
    /// How fast reminders are found by words in their text
    Search(search::Args),
    /// How fast every web page is with a long history behind it, how soon it shows what happens, and what open pages cost
    Page(page::Args),
    /// Commits, rows, log and processor time of one reminder, at a steady rate
    Cost(cost::Args),
    /// Time and memory of a restart
    Start(start::Args),
    /// Queries and processor time while nothing is due
    Idle(idle::Args),
    /// Kill the server under load, again and again, and see that nothing is lost
    Crash(crash::Args),
    /// Kill one of several nodes, and see how late what it left behind is
    Failover(failover::Args),
    /// Commits of many writers in plain SQL, with and without telling the nodes
    Notify(notify::Args),
    /// How soon an entry of the journal reaches everybody who streams it, and what a stream costs
    Stream(stream::Args),
    /// How soon a press on a button is recorded, and how many answers are taken in a second
    Inbound(inbound::Args),
    /// How fast everything is exported, and imported into an SQLite file
    Export(export::Args),
    /// How fast a watch reminds of an application's rows, beside plain SQL
    #[command(alias = "watches")]
    Watch(watch::Args),
    /// Lateness of timers in Redis, beside plain expiry events
    Redis(redis::Args),
    /// How fast RabbitMQ confirms messages
    Rabbitmq(broker::Args),
    /// How fast NATS JetStream acknowledges messages
    Nats(broker::Args),
    /// How fast mails go out to a server, over kept connections
    Email(email::Args),
    /// How fast phrases such as `tomorrow at 8` are understood
    Phrases(phrases::Args),
    /// Lateness beside receivers that hang, throttle and fail
    Trouble(trouble::Args),
    /// Memory while many deliveries wait to be tried again
    Retry(retry::Args),
    /// Take messages until standard input ends; used by the other workloads
    #[command(hide = true)]
    Receiver(receiver::Args),
}

/// How messages go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Channel {
    /// To a function of the same process.
    InProcess,
    /// By HTTP to another process.
    Webhook,
}

impl Channel {
    fn as_str(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Webhook => "webhook",
        }
    }
}

/// Measures, and prints what it found. `data_dir` is asked only when the database goes beside the server's data.
pub async fn run(args: Args, data_dir: DataDir) -> anyhow::Result<()> {
    let Args { workload, options } = args;
    let json = options.json;
    let common = Common { options, data_dir };
    // However the measuring ends, the processes that it has started end with it: they are dropped here.
    let report = tokio::select! {
        report = measure(&workload, &common) => report?,
        signal = interrupted() => anyhow::bail!("{signal}: nothing was measured"),
    };
    if let Some(report) = report {
        let text = if json { format!("{:#}\n", report.json()) } else { report.text() };
        io::stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(())
}

async fn measure(workload: &Workload, common: &Common) -> anyhow::Result<Option<report::Report>> {
    match workload {
        Workload::Spread(args) => spread::run(args, common).await.map(Some),
        Workload::Burst(args) => burst::run(args, common).await.map(Some),
        Workload::Create(args) => create::run(args, common).await.map(Some),
        Workload::Steady(args) => steady::run(args, common).await.map(Some),
        Workload::List(args) => list::run(args, common).await.map(Some),
        Workload::Connections(args) => connections::run(args, common).await.map(Some),
        Workload::Events(args) => events::run(args, common).await.map(Some),
        Workload::Search(args) => search::run(args, common).await.map(Some),
        Workload::Page(args) => page::run(args, common).await.map(Some),
        Workload::Cost(args) => cost::run(args, common).await.map(Some),
        Workload::Start(args) => start::run(args, common).await.map(Some),
        Workload::Idle(args) => idle::run(args, common).await.map(Some),
        Workload::Crash(args) => crash::run(args, common).await.map(Some),
        Workload::Failover(args) => failover::run(args, common).await.map(Some),
        Workload::Notify(args) => notify::run(args, common).await.map(Some),
        Workload::Stream(args) => stream::run(args, common).await.map(Some),
        Workload::Inbound(args) => inbound::run(args, common).await.map(Some),
        Workload::Export(args) => export::run(args, common).await.map(Some),
        Workload::Watch(args) => watch::run(args, common).await.map(Some),
        Workload::Redis(args) => redis::run(args, common).await.map(Some),
        Workload::Rabbitmq(args) => broker::rabbitmq(args).await.map(Some),
        Workload::Nats(args) => broker::nats(args).await.map(Some),
        Workload::Email(args) => email::run(args).await.map(Some),
        Workload::Phrases(args) => phrases::run(args).map(Some),
        Workload::Trouble(args) => trouble::run(args, common).await.map(Some),
        Workload::Retry(args) => retry::run(args, common).await.map(Some),
        Workload::Receiver(args) => receiver::run(args).await.map(|()| None),
    }
}

#[cfg(unix)]
async fn interrupted() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "Ctrl-C",
    }
}

#[cfg(not(unix))]
async fn interrupted() -> &'static str {
    // Without signals there is nothing to wait for.
    let _ = tokio::signal::ctrl_c().await;
    "Ctrl-C"
}

#[cfg(test)]
mod tests {
    use clap::{Command, Subcommand};

    use super::Workload;

    #[test]
    fn the_documentation_shows_a_command_for_every_bench() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bench.md")).unwrap();
        let shown = |name: &str| {
            let command = format!("punctual bench {name}");
            text.lines().any(|line| line.strip_prefix(&command).is_some_and(|rest| rest.starts_with(' ')))
        };
        let bench = Workload::augment_subcommands(Command::new("bench"));
        let shown_to_users = bench.get_subcommands().filter(|command| !command.is_hide_set());
        let missing: Vec<&str> = shown_to_users.map(Command::get_name).filter(|name| !shown(name)).collect();
        assert!(missing.is_empty(), "docs/bench.md lacks {missing:?}");
    }
}
