//! Shows the journal.

use std::time::Duration;

use jiff::Timestamp;
use punctual_client::Failure;
use punctual_core::clock::Clock;
use punctual_core::id::ReminderId;
use punctual_core::journal::ENGINE;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde_json::Value;

use super::find::find;
use super::style::{Style, neutral, neutral_json, of_status};
use super::{Context, print, when};
use crate::wire::{Entry, JournalQuery, StreamEnd, StreamQuery};

/// The most a server lists at once.
const LIMIT_MAX: usize = 500;
/// How long to wait before a stream that was cut off is opened again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this user's [default: everybody's]
    #[arg(long, short, value_name = "USER")]
    user: Option<String>,
    /// Only about this reminder: its id, the end of it, or its name
    #[arg(long, short, value_name = "REMINDER")]
    reminder: Option<String>,
    /// Only about reminders that have this tag now
    #[arg(long, short, value_name = "TAG")]
    tag: Option<String>,
    /// Only of these kinds, such as reminder.sent,reminder.failed
    #[arg(long, short, value_name = "KINDS")]
    kind: Option<String>,
    /// Only by this actor, such as engine or "key app"
    #[arg(long, value_name = "ACTOR", conflicts_with = "follow")]
    actor: Option<String>,
    /// Only from then on: a day, from its beginning, or a time
    #[arg(long, value_name = "WHEN", conflicts_with = "follow")]
    from: Option<String>,
    /// Only until then: a day, to its end, or a time
    #[arg(long, value_name = "WHEN", conflicts_with = "follow")]
    to: Option<String>,
    /// How many of the latest; with --json all there are, oldest first, unless this is given
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "follow", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Show what happens from now on, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// With --follow: begin after this position
    #[arg(long, value_name = "ID", requires = "follow")]
    after: Option<i64>,
}

/// How many are shown to people who do not say.
const SHOWN: usize = 50;

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let reminder = match &args.reminder {
        // A reminder that was removed still has entries.
        Some(text) => match text.parse::<ReminderId>() {
            Ok(id) => Some(id.to_string()),
            Err(_) => Some(find(&context.client, text, args.user.as_deref()).await?.id),
        },
        None => None,
    };
    if args.follow {
        return follow(args, reminder, context).await;
    }
    let query = JournalQuery {
        user: args.user.clone(),
        reminder,
        tag: args.tag.clone(),
        kind: args.kind.clone(),
        actor: args.actor.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        ..JournalQuery::default()
    };
    match (context.json, args.limit) {
        (true, None) => export(query, context).await,
        (is_json, limit) => latest(query, limit.map_or(SHOWN, |n| n as usize), is_json, context).await,
    }
}

/// Prints everything as JSON lines, oldest first.
async fn export(query: JournalQuery, context: &Context) -> anyhow::Result<()> {
    let mut query = JournalQuery { limit: Some(LIMIT_MAX), ..query };
    loop {
        let page = context.client.journal(&query).await?;
        let mut lines = String::new();
        for entry in &page.entries {
            lines.push_str(&json_line(entry)?);
        }
        print(&lines)?;
        if page.next_cursor.is_none() {
            return Ok(());
        }
        query.cursor = page.next_cursor;
    }
}

/// Prints the latest `n`, the last one last.
async fn latest(query: JournalQuery, n: usize, is_json: bool, context: &Context) -> anyhow::Result<()> {
    let mut query = JournalQuery { order: Some("newest".into()), ..query };
    let mut entries = Vec::new();
    loop {
        query.limit = Some((n - entries.len()).min(LIMIT_MAX));
        let page = context.client.journal(&query).await?;
        entries.extend(page.entries);
        if page.next_cursor.is_none() || entries.len() >= n {
            break;
        }
        query.cursor = page.next_cursor;
    }
    entries.reverse();
    if is_json {
        return print(&entries.iter().map(json_line).collect::<Result<String, _>>()?);
    }
    if entries.is_empty() {
        return print("No such entries.\n");
    }
    let (zone, now) = (context.zone().await?, SystemClock::read());
    print(&entries.iter().map(|entry| line(entry, &zone, now, context)).collect::<String>())
}

/// Prints what happens, until the program is ended.
async fn follow(args: &Args, reminder: Option<String>, context: &Context) -> anyhow::Result<()> {
    let clock = SystemClock::start();
    let query = StreamQuery {
        user: args.user.clone(),
        reminder,
        tag: args.tag.clone(),
        kind: args.kind.clone(),
        after: args.after,
    };
    let zone = context.zone().await?;
    let mut last_id = None;
    // The first time, a server that cannot be reached is an error; later it is waited for.
    let mut has_begun = false;
    loop {
        let ended = match context.client.stream(&query, last_id).await {
            Ok(mut stream) => {
                has_begun = true;
                let ended = loop {
                    match stream.next().await {
                        Ok(Some(event)) if event.name == "end" => {
                            let end: StreamEnd = serde_json::from_str(&event.data)?;
                            last_id = Some(end.resume_after);
                            break Some(end.detail);
                        }
                        Ok(Some(event)) => {
                            let entry: Entry = serde_json::from_str(&event.data)?;
                            print(&match context.json {
                                true => json_line(&entry)?,
                                false => line(&entry, &zone, SystemClock::read(), context),
                            })?;
                        }
                        Ok(None) => break None,
                        Err(failure) => break Some(failure.to_string()),
                    }
                };
                last_id = stream.last_id().or(last_id);
                ended
            }
            Err(failure) if has_begun && passes(&failure) => Some(failure.to_string()),
            Err(failure) => return Err(failure.into()),
        };
        let why = ended.unwrap_or_else(|| "the stream was cut off".into());
        eprintln!("{}; going on", neutral(&why));
        clock.pause(AGAIN_AFTER).await;
    }
}

/// Whether a failure may be over in a moment: the server, or its database, is just not there.
fn passes(failure: &Failure) -> bool {
    matches!(failure, Failure::Unreachable(_))
        || failure.refused().is_some_and(|refused| refused.status.is_server_error())
}

fn json_line(entry: &Entry) -> anyhow::Result<String> {
    Ok(neutral_json(&format!("{}\n", serde_json::to_string(entry)?)).into_owned())
}

/// An entry for people, such as `Mon 2 Mar 08:00:01  reminder.sent  alice  9c1f2a3b run 3  channel=telegram attempt=1`.
fn line(entry: &Entry, zone: &Zone, now: Timestamp, context: &Context) -> String {
    let last = entry.kind.rsplit('.').next().unwrap_or_default();
    let kind = context.paint.with(of_status(last), &neutral(&entry.kind));
    let mut parts = vec![context.paint.with(Style::Dim, &when::local(entry.at, zone, now)), kind];
    parts.extend(entry.user.as_deref().map(neutral));
    if let Some(id) = &entry.reminder_id {
        let short = id.parse::<ReminderId>().map_or_else(|_| id.clone(), |id| id.short());
        let run = entry.occurrence_id.as_deref().and_then(|run| run.strip_prefix(id.as_str())?.strip_prefix('-'));
        parts.push(neutral(&run.map_or_else(|| short.clone(), |run| format!("{short} run {run}"))));
    }
    if entry.actor != ENGINE {
        let via = entry.via.as_deref().map(|via| format!(" via {via}")).unwrap_or_default();
        parts.push(neutral(&format!("by {}{via}", entry.actor)));
    }
    parts.extend(data(entry));
    format!("{}\n", parts.join("  "))
}

/// What else there is to know about an entry, as `name=value`.
pub(super) fn data(entry: &Entry) -> Option<String> {
    let Value::Object(fields) = serde_json::from_str(entry.data.as_ref()?.get()).ok()? else { return None };
    let pair = |(name, value): (&String, &Value)| match value {
        Value::String(text) if !text.contains(' ') => format!("{name}={text}"),
        value => format!("{name}={value}"),
    };
    // The key's id is for machines; its name stands before.
    let pairs: Vec<String> = fields.iter().filter(|(name, _)| *name != "key").map(pair).collect();
    (!pairs.is_empty()).then(|| neutral(&pairs.join(" ")))
}
