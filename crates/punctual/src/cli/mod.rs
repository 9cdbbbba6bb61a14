//! The command line: parse, call the server, show what it says.
//!
//! Everything but `serve`, `parse`, `next`, `answer`, `migrate`, `bench` and `completions` talks to a running server
//! through its API and has no way around it: what the command line can do, every program can do.

/// Flags that say when.
mod schedule;

/// Finding the reminder somebody means.
mod find;

/// Texts to understand, one by one or by the line.
mod texts;

/// Entries of the journal in words.
mod told;

/// Aligned columns.
mod table;

/// Colours, and texts made safe for a terminal.
mod style;

mod add;
mod answer;
mod audit;
mod change;
mod channels;
mod completions;
mod doctor;
mod events;
mod export;
mod groups;
mod import;
mod keys;
mod list;
mod mcp;
mod migrate;
mod next;
mod nodes;
mod open;
mod parse;
mod resend;
mod scopes;
mod serve;
mod settings;
mod show;
mod silence;
mod subscriptions;
mod tool_schema;
mod undo;
mod update;
mod users;
mod watches;

use std::io::{self, Write};
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use punctual_bench as bench;
use punctual_client::{Client, Failure, Unusable};
use punctual_core::zone::Zone;
use reqwest::StatusCode;

use self::style::Paint;
use crate::config::{Config, ConfigError, Flags, process_env};
use crate::local;
use crate::when;
use crate::wire::FieldProblem;

const EXAMPLES: &str = "\
Examples:
  punctual serve
  punctual add \"take my medicine in 5 minutes\" --priority high --ack \"Did you take it?\"
  punctual add \"every weekday at 7:30 walk the dog\"
  punctual add \"stand up\" --weekly weekdays --time 09:55
  punctual add \"deploy window opens\" --at 2026-03-02T08:00 --to webhook:https://example.org/hook
  punctual list
  punctual snooze \"take my medicine\" \"an hour\"
  punctual next --cron \"0 8 * * 1-5\" --tz Europe/Berlin --count 5
  punctual parse \"morgen um 8\" --tz Europe/Berlin

Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// Reminders that arrive at the moment they were asked for.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
struct Global {
    /// Settings, in TOML [env: PUNCTUAL_CONFIG] [default: ~/.config/punctual/config.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the database and the admin key are kept [env: PUNCTUAL_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// The server to talk to [env: PUNCTUAL_URL] [default: the one on this machine]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start everything: the engine and the API
    Serve(serve::Args),
    /// Ask to be reminded
    Add(add::Args),
    /// List reminders
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Show one reminder and what became of it
    Show(show::Args),
    /// Change a reminder
    Update(update::Args),
    /// Cancel reminders: nothing of them is sent any more
    #[command(visible_alias = "rm")]
    Cancel(change::Args),
    /// Undo the last cancel, within 10 minutes
    Undo(undo::Args),
    /// Send nothing until resumed
    Pause(change::Args),
    /// Go on after a pause
    Resume(change::Args),
    /// Leave out the next run
    Skip(change::Args),
    /// Put a reminder off
    Snooze(change::SnoozeArgs),
    /// Answer: done
    Ack(change::AnswerArgs),
    /// Answer: not needed
    Dismiss(change::AnswerArgs),
    /// Send now, whatever the schedule says
    Fire(change::Args),
    /// Send again what has failed
    Resend(resend::Args),
    /// The people reminders are for
    Users(users::Args),
    /// People who belong together
    Groups(groups::Args),
    /// Events of applications, whose reminders move with them
    Events(events::Args),
    /// Offsets for all events below a path
    Scopes(scopes::Args),
    /// Send nothing for a while: of a tag, a group or a user
    Silence(silence::Args),
    /// The ways to reach them
    Channels(channels::Args),
    /// What happened, and by whom
    Audit(audit::Args),
    /// The applications that are told what happens
    Subscriptions,
    /// Standing queries over applications' own tables
    Watches(watches::Args),
    /// The servers that use the same database
    Nodes,
    /// The server's settings, and where each comes from
    Settings,
    /// Keys that may use the API
    Keys(keys::Args),
    /// Write everything to a file, or all that is one person's
    Export(export::Args),
    /// Take over what another system was asked for, or an export of another server
    Import(import::Args),
    /// Compare what a server in shadow would have sent with what the other system did
    ShadowReport(import::report::Args),
    /// Say what a text says about time, without a server
    Parse(parse::Args),
    /// Say what a text answers to a reminder, without a server
    Answer(answer::Args),
    /// Say when a schedule is due, without a server
    Next(next::Args),
    /// Open the page in the browser, signed in
    Open(open::Args),
    /// Let an assistant use reminders: a server of the Model Context Protocol on standard input and output
    Mcp(mcp::Args),
    /// Print the tool `scheduler` as an assistant's API takes it
    ToolSchema(tool_schema::Args),
    /// Check that everything is in order, and say what to do if not
    Doctor(doctor::Args),
    /// Bring the database up to date without serving it
    Migrate(migrate::Args),
    /// Measure
    Bench(bench::Args),
    /// Print completions for a shell
    Completions(completions::Args),
}

/// Wrong usage: the caller must ask differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// An error that was printed already.
#[derive(Debug, thiserror::Error)]
#[error("failed")]
struct Said;

/// Runs the program with the process's own arguments.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A failure to print cannot be printed either.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Said>() => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", complaint(&error));
            let usage = error.is::<Usage>()
                || error.is::<ConfigError>()
                || matches!(error.downcast_ref(), Some(Unusable::Url(_)));
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    let Cli { global, command } = cli;
    match command {
        Command::Completions(args) => completions::run(&args),
        Command::Parse(args) => parse::run(&args, &global),
        Command::Answer(args) => answer::run(&args, &global),
        Command::Next(args) => next::run(&args, &global),
        Command::Migrate(args) => migrate::run(&args, &global),
        Command::Serve(args) => serve::run(&args, &global),
        Command::Watches(args) if args.serves() => watches::serve(&args, &global),
        Command::ToolSchema(args) => tool_schema::run(&args),
        Command::Bench(args) => wait_for(runtime()?, bench::run(args, data_dir)),
        Command::Doctor(args) => wait_for(client_runtime()?, doctor::run(&args, &global)),
        command => wait_for(client_runtime()?, remote(command, &global)),
    }
}

/// Where a server that is started without arguments keeps its data.
fn data_dir() -> anyhow::Result<PathBuf> {
    Ok(Config::of_process(None, Flags::new())?.data_dir)
}

/// The commands that talk to a server.
async fn remote(command: Command, global: &Global) -> anyhow::Result<()> {
    let context = Context::new(global)?;
    match command {
        Command::Add(args) => add::run(&args, &context).await,
        Command::List(args) => list::run(&args, &context).await,
        Command::Show(args) => show::run(&args, &context).await,
        Command::Update(args) => update::run(&args, &context).await,
        Command::Cancel(args) => change::run(&args, change::Verb::Cancel, &context).await,
        Command::Undo(args) => undo::run(&args, &context).await,
        Command::Pause(args) => change::run(&args, change::Verb::Pause, &context).await,
        Command::Resume(args) => change::run(&args, change::Verb::Resume, &context).await,
        Command::Skip(args) => change::run(&args, change::Verb::Skip, &context).await,
        Command::Ack(args) => change::answer(&args, change::Verb::Ack, &context).await,
        Command::Dismiss(args) => change::answer(&args, change::Verb::Dismiss, &context).await,
        Command::Fire(args) => change::run(&args, change::Verb::Fire, &context).await,
        Command::Snooze(args) => change::snooze(&args, &context).await,
        Command::Resend(args) => resend::run(&args, &context).await,
        Command::Users(args) => users::run(&args, &context).await,
        Command::Groups(args) => groups::run(&args, &context).await,
        Command::Events(args) => events::run(&args, &context).await,
        Command::Scopes(args) => scopes::run(&args, &context).await,
        Command::Silence(args) => silence::run(&args, &context).await,
        Command::Channels(args) => channels::run(&args, &context).await,
        Command::Audit(args) => audit::run(&args, &context).await,
        Command::Subscriptions => subscriptions::run(&context).await,
        Command::Nodes => nodes::run(&context).await,
        Command::Settings => settings::run(&context).await,
        Command::Watches(args) => watches::run(&args, &context).await,
        Command::Keys(args) => keys::run(&args, &context).await,
        Command::Open(args) => open::run(&args, &context).await,
        Command::Mcp(args) => mcp::run(&args, global, &context).await,
        Command::Export(args) => export::run(&args, &context).await,
        Command::Import(args) => import::run(&args, &context).await,
        Command::ShadowReport(args) => import::report::run(&args, &context).await,
        _ => unreachable!("the other commands need no server"),
    }
}

/// The options and the connection that all commands which talk to a server share.
struct Context {
    client: Client,
    json: bool,
    /// The zone of the server that would run here; the one that answers may have another.
    configured_zone: Zone,
    paint: Paint,
}

impl Context {
    fn new(global: &Global) -> anyhow::Result<Self> {
        let config = global.config(Flags::new())?;
        Ok(Self {
            client: local::client(global.url.as_deref(), &config)?,
            json: global.json,
            configured_zone: config.timezone,
            paint: Paint::of_stdout(),
        })
    }

    /// The zone for times that belong to no reminder and to no user: PUNCTUAL_TZ, else the server's.
    async fn zone(&self) -> anyhow::Result<Zone> {
        if let Some(zone) = asked_zone(None)? {
            return Ok(zone);
        }
        let settings = self.client.settings().await.ok();
        Ok(settings
            .and_then(|settings| Zone::named(&settings.timezone).ok())
            .unwrap_or_else(|| self.configured_zone.clone()))
    }
}

impl Global {
    /// The settings, with `flags` over them.
    fn config(&self, mut flags: Flags) -> Result<Config, ConfigError> {
        if let Some(dir) = &self.data_dir {
            flags.insert("data_dir", dir.clone());
        }
        Config::of_process(self.config.clone(), flags)
    }
}

/// Whose reminders a command is about.
#[derive(Debug, Clone, Args)]
struct User {
    /// Whose reminders [env: PUNCTUAL_USER] [default: me]
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
}

impl User {
    /// The user that was named. Without one the server knows whom the key means.
    fn named(&self) -> Option<String> {
        self.user.clone().or_else(|| process_env("PUNCTUAL_USER"))
    }
}

/// The zone that was asked for: by `--tz`, else by PUNCTUAL_TZ.
fn asked_zone(asked: Option<&str>) -> Result<Option<Zone>, Usage> {
    if let Some(name) = asked {
        return Zone::named(name).map(Some).map_err(|invalid| Usage(format!("--tz: {}", invalid.problem)));
    }
    if let Some(name) = process_env("PUNCTUAL_TZ") {
        return Zone::named(&name).map(Some).map_err(|invalid| Usage(format!("PUNCTUAL_TZ: {}", invalid.problem)));
    }
    Ok(None)
}

/// The zone where no server is asked: the one that was asked for, else the one that a server started here would have.
fn own_zone(asked: Option<&str>, global: &Global) -> anyhow::Result<Zone> {
    match asked_zone(asked)? {
        Some(zone) => Ok(zone),
        None => Ok(Config::zone_of_process(global.config.clone())?),
    }
}

/// The most fields that a complaint names, each in a line of its own.
const FIELDS_MAX: usize = 20;

/// An error's text, safe for a terminal.
fn complaint(error: &anyhow::Error) -> String {
    if let Some(ambiguous) = error.downcast_ref::<find::Ambiguous>() {
        // It has lines, and each text in them is safe already.
        return ambiguous.to_string();
    }
    let mut complaint = style::neutral(&format!("{error:#}"));
    let refused = error.downcast_ref::<Failure>().and_then(Failure::refused);
    let problem = refused.filter(|refused| refused.is_of_many()).and_then(|refused| refused.problem.as_ref());
    let errors = problem.map_or(&[][..], |problem| &problem.errors);
    for FieldProblem { field, detail, .. } in errors.iter().take(FIELDS_MAX) {
        complaint.push_str(&format!("\n  {}: {}", style::neutral(field), style::neutral(detail)));
    }
    if errors.len() > FIELDS_MAX {
        complaint.push_str(&format!("\n  and {} more", errors.len() - FIELDS_MAX));
    }
    complaint
}

/// Writes to standard output.
fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let value = serde_json::to_value(value)?;
    print(&style::neutral_json(&format!("{value:#}\n")))
}

/// Says that something was deleted: its name for programs, `said` for people.
fn print_deleted(name: &str, said: &str, context: &Context) -> anyhow::Result<()> {
    match context.json {
        true => print_json(&serde_json::json!({ "deleted": name })),
        false => print(said),
    }
}

/// What the server has under a name; none if it says that there is nothing.
fn found<T>(answer: Result<T, Failure>) -> anyhow::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.refused().is_some_and(|refused| refused.status == StatusCode::NOT_FOUND) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// For the server: all cores.
fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// Does `work` on `runtime`. It is boxed, because tokio would else have three copies of everything in it: half a megabyte of the program.
fn wait_for<T>(runtime: tokio::runtime::Runtime, work: impl Future<Output = T>) -> T {
    let work: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(work);
    runtime.block_on(work)
}

/// For one request after another.
fn client_runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    /// Refuses an argument without a flag that is called as a global option: clap would take the one for the other, and a calendar's address for
    /// the server to which the key is sent.
    fn check(command: &Command, path: &str, global: &[String]) {
        for argument in command.get_arguments().filter(|argument| argument.is_positional()) {
            assert!(!global.contains(&argument.get_id().to_string()), "{path}: {}", argument.get_id());
        }
        for below in command.get_subcommands() {
            check(below, &format!("{path} {}", below.get_name()), global);
        }
    }

    #[test]
    fn no_argument_is_called_as_an_option_of_every_command() {
        let command = Cli::command();
        let global = command.get_arguments().filter(|argument| argument.is_global_set());
        let global: Vec<String> = global.map(|argument| argument.get_id().to_string()).collect();
        assert!(global.contains(&"url".to_owned()), "{global:?}");
        check(&command, "punctual", &global);
    }
}
