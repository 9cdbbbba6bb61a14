//! Taking over what another system was asked for, or moving to another database.

/// The tables that are understood, and how one is told from another.
mod kind;

/// A row by the names its kind has for the columns.
mod row;

/// Texts with columns in them.
mod template;

/// Turns a row into a reminder.
mod map;

mod calls;
mod jobs;
mod notification_schedule;
mod v2_reminders;

/// Another system's table, found and understood.
pub(super) mod source;

/// Reading it page by page, and handing it to a server.
mod take;

/// Taking over a calendar.
mod calendar;

/// Moving a file of punctual's own to PostgreSQL.
mod own;

/// An export of another server.
mod lines;

/// Which lines of an export count.
mod outline;

/// How far it is.
pub(super) mod progress;

/// The sends of the other system.
mod theirs;

/// The sends of two systems, side by side.
mod compare;

/// The report: the sends of a server in shadow beside those of the other system.
pub(super) mod report;

/// How many rows became what.
pub(super) mod tally;

use punctual_engine::SystemClock;
use serde_json::json;

use self::map::Wishes;
use self::progress::Progress;
use self::source::{Source, SourceArgs};
use self::tally::{Fate, thousands};
use self::template::Template;
use super::style::neutral;
use super::{Context, Said, Usage, print, print_json};
use crate::config::process_env;

const EXAMPLES: &str = "\
Without --apply nothing is written: it says what would become of every row.

Examples:
  punctual import postgres://bot@db.example/bot
  punctual import postgres://bot@db.example/bot --to 'webhook:https://bot.example/say/{channel_id}' --apply
  punctual import sqlite:/srv/skynet.db --table scheduled_jobs --user 'skynet:{user_id}' --apply
  punctual import sqlite:calls.db --kind calls --map due_at=when_utc --message 'Call {phone}' --apply
  punctual import holidays.ics --user alice --apply
  punctual import sqlite:/srv/punctual.db --database postgres://punctual@db.example/punctual --apply
  punctual import everything.jsonl --apply
  punctual import everything.jsonl --check";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Write; without it nothing is changed
    #[arg(long)]
    apply: bool,
    /// Whose the reminders are, with the row's columns in braces [default: {user_id}]
    #[arg(long, value_name = "TEMPLATE")]
    user: Option<String>,
    /// What stands before every user's name
    #[arg(long, value_name = "TEXT")]
    user_prefix: Option<String>,
    /// Where to send them, such as 'webhook:https://example.org/{channel_id}'; in order of preference [default: the
    /// user's own addresses]
    #[arg(long, value_name = "CHANNEL:ADDRESS")]
    to: Vec<String>,
    /// What they say [default: the table's message]
    #[arg(long, value_name = "TEMPLATE")]
    message: Option<String>,
    /// What to do with what is overdue there: skip or deliver, of an export missed or deliver. The other system may have
    /// sent it [default: skip, or missed]
    #[arg(long, value_name = "POLICY")]
    overdue: Option<String>,
    /// Compare an export with what is here, line by line; nothing is written
    #[arg(long, conflicts_with = "apply")]
    check: bool,
    /// Cancel here what has ended or gone there since it was imported, and change here what has changed
    #[arg(long)]
    follow: bool,
    /// Of a calendar: when to remind of items that say nothing about it, such as 60; may be given several times
    #[arg(long, value_name = "OFFSET", allow_hyphen_values = true)]
    offset: Vec<String>,
    /// Where to move a file of punctual's own: postgres://… [env: PUNCTUAL_DATABASE_URL]. Needs no server
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let url = args.source.url()?;
    if calendar::is_one(&url) {
        return calendar::run(args, &url, context).await;
    }
    if let Some(path) = lines::file(&url) {
        return lines::run(&path, args, context).await;
    }
    if args.check {
        return Err(Usage("--check: is for an export, a file of lines that punctual export has written".into()).into());
    }
    if let Some(path) = own::file(&url)? {
        let into = args.database.clone().or_else(|| process_env("PUNCTUAL_DATABASE_URL"));
        return own::run(path, into.as_deref(), args.apply, context).await;
    }
    if args.database.is_some() {
        return Err(
            Usage("--database: is for moving a file of punctual's own; other tables go to a server".into()).into()
        );
    }
    let source = args.source.open().await?;
    let wishes = args.wishes(&source)?;
    // A caller without a key, or without a server, learns it before anything is read.
    let stats = context.client.stats().await?;
    let n_rows = source.database.count(&source.table).await?;
    let way = take::Way { applies: args.apply, follows: args.follow };
    let mut progress = Progress::begin(if args.apply { "importing" } else { "looking" }, n_rows);
    let taken = take::all(&source, &wishes, &way, context, &mut progress).await;
    let seconds = progress.end();
    let tally = taken?;

    if context.json {
        let mut body = tally.json(args.apply);
        body["source"] = json!({
            "name": source.name, "database": source.database.shown(), "table": source.table.name, "kind": source.kind.name,
        });
        body["dry_run"] = (!args.apply).into();
        body["seconds"] = seconds.into();
        print_json(&body)?;
    } else {
        let from = neutral(&format!("{} of {}", source.table.name, source.database.shown()));
        print(&format!("{from}, read as {}: {} rows\n\n", source.kind.name, thousands(tally.n_rows)))?;
        print(&tally.render(args.apply, context.paint))?;
        print(&format!("\n{}\n", closing(&tally, args, seconds, stats.shadow)))?;
    }
    if tally.total(Fate::Refused) > 0 { Err(Said.into()) } else { Ok(()) }
}

/// The summary: what was done, and what to do next.
fn closing(tally: &tally::Tally, args: &Args, seconds: f64, shadow: bool) -> String {
    let n = tally.n_created();
    let mut lines = vec![match (args.apply, n) {
        (true, 0) => format!("Nothing was created: everything that can be is here already. ({seconds:.1} s)"),
        (true, 1) => format!("1 reminder was created in {seconds:.1} s."),
        (true, n) => format!("{} reminders were created in {seconds:.1} s.", thousands(n)),
        (false, 0) => "Nothing would be created.".to_owned(),
        (false, n) => format!("Nothing was written. With --apply {} would be created.", thousands(n)),
    }];
    let n_refused = tally.total(Fate::Refused);
    if n_refused > 0 {
        lines.push(format!("{} cannot be imported; see above.", thousands(n_refused)));
    }
    let n_behind = tally.total(Fate::StillActive) + tally.total(Fate::Gone) + tally.total(Fate::Differs);
    if n_behind > 0 && !args.follow {
        let n = thousands(n_behind);
        lines.push(format!("{n} ended, went or changed there since they were imported; --follow does the same here."));
    }
    if shadow && args.apply {
        lines.push("The server is in shadow mode: it sends nothing.".to_owned());
    }
    lines.join("\n")
}

impl Args {
    fn wishes(&self, source: &Source) -> Result<Wishes, Usage> {
        let layout = &source.layout;
        let user = match &self.user {
            Some(text) => text.clone(),
            None => usual(source, source.kind.users, "--user")?.to_owned(),
        };
        let prefix = self.user_prefix.as_deref().unwrap_or_default().replace('{', "{{").replace('}', "}}");
        let message = match &self.message {
            Some(text) => text.as_str(),
            None => usual(source, source.kind.messages, "--message")?,
        };
        let to = self.to.iter().map(|text| Template::parse(text, "--to", layout)).collect::<Result<_, _>>()?;
        Ok(Wishes {
            user: Template::parse(&format!("{prefix}{user}"), "--user", layout)?,
            to,
            message: Template::parse(message, "--message", layout)?,
            takes_overdue: match self.overdue.as_deref() {
                None | Some("skip") => false,
                Some("deliver") => true,
                Some(other) => return Err(Usage(format!("--overdue: `{other}` is not one of skip, deliver"))),
            },
            now: SystemClock::read(),
        })
    }
}

/// The first template whose columns the table has.
fn usual(source: &Source, templates: &'static [&'static str], flag: &str) -> Result<&'static str, Usage> {
    let fits = |text: &&&str| Template::parse(text, flag, &source.layout).is_ok();
    templates.iter().find(fits).copied().ok_or_else(|| {
        let columns = source.layout.columns.join(", ");
        Usage(format!("{} has no column for it: say it with {flag}; there are {columns}", source.table.name))
    })
}
