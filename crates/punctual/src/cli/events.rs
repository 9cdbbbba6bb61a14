//! Events of applications.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use anyhow::Context as _;
use jiff::Timestamp;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde_json::{Map, Value, json};

use super::add::Details;
use super::style::Style;
use super::table::{Cell, Table};
use super::{Context, Usage, asked_zone, print, print_deleted, print_json, when};
use crate::wire::{Event, EventBatch, EventInput, EventQuery, InstanceInput, OffsetInput};

const EXAMPLES: &str = "\
Examples:
  punctual events put game:42 --at 2026-03-10T18:00 --offset 60 --offset 15 --user ann --user bob --message \"Chess in {minutes} min\"
  punctual events put standup --at \"monday at 9:55\" --rrule \"FREQ=WEEKLY;BYDAY=MO,WE\" --offset 5 --group team --message \"{key} at {starts_at}\"
  punctual events move game:42 2026-03-10T19:00
  punctual events move standup --instance 20260309T095500 2026-03-09T11:00
  punctual events remove game:42
  punctual events import games.jsonl";

/// How many events the server gives at once.
const PAGE: usize = 500;
/// How many events of a file are written in one transaction.
const IMPORTED_AT_ONCE: usize = 1000;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List events
    List(ListArgs),
    /// Show one event and its reminders
    Show {
        /// Which
        key: String,
    },
    /// Write or replace an event: what is not said is not kept, but for changed instances of a series
    Put(Box<PutArgs>),
    /// Move an event, or one instance of a series
    Move {
        /// Which
        key: String,
        /// The original local start of the instance that moves alone, such as 20260310T180000
        #[arg(long, value_name = "AT")]
        instance: Option<String>,
        /// With --instance: all later ones move by as much
        #[arg(long, requires = "instance")]
        following: bool,
        /// When it starts now, in the event's zone, else the server's
        #[arg(required = true, value_name = "WHEN")]
        to: Vec<String>,
    },
    /// Remove an event, or cancel one instance of a series: their reminders are withdrawn
    Remove {
        /// Which
        key: String,
        /// The original local start of the instance that does not take place
        #[arg(long, value_name = "AT")]
        instance: Option<String>,
    },
    /// Write the events of a file, or of standard input (-): one on each line, as the API takes them, with its key
    Import {
        /// JSON lines
        file: String,
    },
}

#[derive(Debug, Default, clap::Args)]
struct ListArgs {
    /// Only those at this path or below it
    #[arg(long, value_name = "PATH")]
    scope: Option<String>,
    /// Only those that name this user, or a group that they belong to
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only those that start from then on
    #[arg(long, value_name = "WHEN")]
    from: Option<String>,
    /// Only those that start until then
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// How many at most [default: all]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

#[derive(Debug, clap::Args)]
struct PutArgs {
    /// The application's name for it, such as game:42
    key: String,
    /// When it starts, in its zone, else the server's
    #[arg(long, value_name = "WHEN")]
    at: String,
    /// When it ends
    #[arg(long, value_name = "WHEN")]
    end: Option<String>,
    /// When people are reminded, such as 60 (minutes before), 1d, -30 (minutes after) or end+10m; may be given several times. Empty: never.
    /// Without it the nearest scope's count
    #[arg(long = "offset", value_name = "OFFSET", allow_hyphen_values = true)]
    offsets: Vec<String>,
    /// Where it stands, such as guild:1/channel:2
    #[arg(long, value_name = "PATH")]
    scope: Option<String>,
    /// Whom to remind; may be given several times
    #[arg(long = "user", value_name = "USER")]
    users: Vec<String>,
    /// Groups whose members are reminded; may be given several times
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// What to say, with {minutes}, {starts_at}, {ends_at}, {key} and fields of --metadata
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// How it repeats, such as FREQ=WEEKLY;BYDAY=TU
    #[arg(long, value_name = "RULE")]
    rrule: Option<String>,
    /// The application's own fields, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    #[command(flatten)]
    details: Details,
}

impl PutArgs {
    fn input(&self) -> Result<EventInput, Usage> {
        let reminder = self.details.input()?;
        let list = |given: &[String]| (!given.is_empty()).then(|| given.to_vec());
        let offset = |text: &String| OffsetInput(Value::String(text.clone()));
        let metadata = |text: &String| -> Result<Map<String, Value>, Usage> {
            let wrong = |problem| Usage(format!("--metadata: is no JSON object: {problem}"));
            serde_json::from_str(text).map_err(wrong)
        };
        Ok(EventInput {
            starts_at: Some(self.at.clone()),
            ends_at: self.end.clone(),
            offsets: (!self.offsets.is_empty())
                .then(|| self.offsets.iter().filter(|text| !text.is_empty()).map(offset).collect()),
            scope: self.scope.clone(),
            users: list(&self.users),
            groups: list(&self.groups),
            to: reminder.to,
            only: reminder.only,
            message: Some(self.message.clone()),
            name: reminder.name.flatten(),
            timezone: asked_zone(self.details.tz.as_deref())?.map(|zone| zone.name().to_owned()),
            rrule: self.rrule.clone(),
            priority: reminder.priority,
            require_ack: reminder.require_ack,
            ack_prompt: reminder.ack_prompt.flatten(),
            ack_timeout: reminder.ack_timeout,
            escalate: reminder.escalate,
            max_retries: reminder.max_retries,
            misfire: reminder.misfire,
            metadata: self.metadata.as_ref().map(metadata).transpose()?,
            tags: reminder.tags,
            ..EventInput::default()
        })
    }
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let client = &context.client;
    match args.command.as_ref().unwrap_or(&Command::List(ListArgs::default())) {
        Command::List(args) => list(args, context).await,
        Command::Show { key } => shown(&client.event(key).await?, context).await,
        Command::Put(args) => shown(&client.put_event(&args.key, &args.input()?).await?, context).await,
        Command::Move { key, instance: Some(at), following, to } => {
            let following = following.then_some(true);
            let input = InstanceInput { starts_at: Some(to.join(" ")), following, ..InstanceInput::default() };
            shown(&client.put_instance(key, at, &input).await?, context).await
        }
        Command::Move { key, instance: None, to, .. } => {
            let moved = moved(client.event(key).await?, to.join(" "), context).await?;
            shown(&client.put_event(key, &moved).await?, context).await
        }
        Command::Remove { key, instance: None } => {
            client.delete_event(key).await?;
            print_deleted(key, &format!("removed the event {key}; its reminders are withdrawn\n"), context)
        }
        Command::Remove { key, instance: Some(at) } => {
            client.delete_instance(key, at).await?;
            print_deleted(at, &format!("cancelled {at} of {key}; its reminders are withdrawn\n"), context)
        }
        Command::Import { file } => import(file, context).await,
    }
}

/// The event with another start, and an end as much later.
async fn moved(event: Event, to: String, context: &Context) -> anyhow::Result<EventInput> {
    let zone = zone_of(&event, context).await?;
    let wrong = |problem| Usage(format!("WHEN: {problem}"));
    let starts_at = punctual_core::schedule::parse_instant(&to, &zone, SystemClock::read()).map_err(wrong)?;
    let ends_at = event.ends_at.map(|ends_at| starts_at + ends_at.duration_since(event.starts_at));
    let input = EventInput::from(event);
    Ok(EventInput { starts_at: Some(starts_at.to_string()), ends_at: ends_at.map(|at| at.to_string()), ..input })
}

async fn list(args: &ListArgs, context: &Context) -> anyhow::Result<()> {
    let n_max = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut query = EventQuery {
        scope: args.scope.clone(),
        user: args.user.clone(),
        from: args.from.clone(),
        to: args.until.clone(),
        limit: Some(n_max.min(PAGE)),
        cursor: None,
    };
    let mut page = context.client.events(&query).await?;
    while page.next_cursor.is_some() && page.events.len() < n_max {
        query.limit = Some((n_max - page.events.len()).min(PAGE));
        query.cursor = page.next_cursor.take();
        let next = context.client.events(&query).await?;
        page.events.extend(next.events);
        page.next_cursor = next.next_cursor;
    }
    if context.json {
        return print_json(&page);
    }
    if page.events.is_empty() {
        return print(
            "No events. Write one:  punctual events put game:42 --at 2026-03-10T18:00 --offset 60 --user ann --message \"Game\"\n",
        );
    }
    let (zone, now) = (context.zone().await?, SystemClock::read());
    let mut table = Table::new(&["EVENT", "STARTS", "OFFSETS", "SCOPE", "PEOPLE", "MESSAGE"]);
    for event in &page.events {
        table.push(row(event, &zone, now));
    }
    let rest = if page.next_cursor.is_some() { "There are more; --limit shows more of them.\n" } else { "" };
    print(&format!("{}{rest}", table.render(context.paint)))
}

/// When it starts next: a series may begin after its `starts_at`, and goes on. One that is over says when it began.
fn next_start(event: &Event) -> Timestamp {
    event.next.first().copied().unwrap_or(event.starts_at)
}

fn row(event: &Event, zone: &Zone, now: Timestamp) -> Vec<Cell> {
    let repeats = if event.rrule.is_some() { " ↻" } else { "" };
    vec![
        Cell::new(&event.key, Style::Cyan),
        Cell::plain(&format!("{}{repeats}", when::local(next_start(event), zone, now))),
        Cell::plain(&event.offsets.as_deref().map_or_else(|| "scope's".into(), offsets)),
        Cell::plain(event.scope.as_deref().unwrap_or("-")),
        Cell::plain(&people(event)),
        Cell::plain(&event.message),
    ]
}

async fn shown(event: &Event, context: &Context) -> anyhow::Result<()> {
    if context.json {
        return print_json(event);
    }
    let (zone, now) = (zone_of(event, context).await?, SystemClock::read());
    let mut text = format!(
        "{}  {}\n",
        context.paint.with(Style::Cyan, &super::style::neutral(&event.key)),
        when::both(next_start(event), &zone, now)
    );
    let mut line = |name: &str, value: &str| text.push_str(&format!("  {name:<9} {}\n", super::style::neutral(value)));
    line("message", &event.message);
    line("people", &people(event));
    line("offsets", &event.offsets.as_deref().map_or_else(|| "those of the nearest scope".into(), offsets));
    event.scope.iter().for_each(|scope| line("scope", scope));
    event.rrule.iter().for_each(|rule| line("repeats", &rule.replace('\n', " ")));
    event.instances.iter().for_each(|instance| line("instance", &different(instance, &zone, now)));
    event
        .dropped_instances
        .iter()
        .for_each(|at| line("dropped", &format!("{at}: the series has no such instance any more")));
    if !event.next.is_empty() {
        line("next", &event.next.iter().map(|at| when::local(*at, &zone, now)).collect::<Vec<_>>().join(", "));
    }
    event.error.iter().for_each(|error| line("error", error));
    if event.planned == Some(false) {
        line("planned", "not yet; a node plans its reminders in a moment");
    }
    print(&text)?;
    let reminders = event.reminders.as_deref().unwrap_or_default();
    if reminders.is_empty() {
        return print("  no reminders\n");
    }
    let mut table = Table::new(&["DUE", "MINUTES", "USER", "STATE", "REMINDER"]);
    for planned in reminders {
        let of = planned.of.as_ref().map(|of| format!(" of the {of}")).unwrap_or_default();
        table.push(vec![
            Cell::plain(&when::local(planned.due_at, &zone, now)),
            Cell::plain(&format!("{}{of}", planned.offset_minutes)),
            Cell::plain(&planned.user),
            Cell::plain(planned.state.as_ref().map_or("-", |state| state.as_str())),
            Cell::new(&planned.reminder_id, Style::Dim),
        ]);
    }
    print(&table.render(context.paint))
}

fn different(instance: &crate::wire::Instance, zone: &Zone, now: Timestamp) -> String {
    let following = if instance.following { " and later ones" } else { "" };
    let what = match (instance.cancelled, instance.starts_at) {
        (true, _) => "cancelled".to_owned(),
        (false, Some(at)) => format!("starts {}", when::local(at, zone, now)),
        (false, None) => "changed".to_owned(),
    };
    format!("{}{following}: {what}", instance.at)
}

/// Whom an event reminds.
fn people(event: &Event) -> String {
    let groups = event.groups.iter().map(|group| format!("group:{group}"));
    let names: Vec<String> = event.users.iter().cloned().chain(groups).collect();
    match names.is_empty() {
        true => format!("event:{}", event.key),
        false => names.join(", "),
    }
}

fn offsets(given: &[Value]) -> String {
    match given.is_empty() {
        true => "none".into(),
        false => given.iter().map(punctual_core::template::said).collect::<Vec<_>>().join(", "),
    }
}

/// The zone an event's local times are meant in: its own, else the one that was asked for or the server's.
async fn zone_of(event: &Event, context: &Context) -> anyhow::Result<Zone> {
    match event.timezone.as_deref().map(Zone::named) {
        Some(Ok(zone)) => Ok(zone),
        _ => context.zone().await,
    }
}

async fn import(file: &str, context: &Context) -> anyhow::Result<()> {
    let opened = || File::open(file).with_context(|| format!("cannot read {file}"));
    let lines: Box<dyn BufRead> = match file {
        "-" => Box::new(BufReader::new(io::stdin())),
        _ => Box::new(BufReader::new(opened()?)),
    };
    let (mut put, mut events) = (0, Vec::new());
    for (index, line) in lines.lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {file}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |error| Usage(format!("{file}, line {}: is no event: {error}", index + 1));
        let event: EventInput = serde_json::from_str(&line).map_err(wrong)?;
        events.push(event);
        if events.len() == IMPORTED_AT_ONCE {
            put += put_all(std::mem::take(&mut events), put, context).await?;
        }
    }
    if !events.is_empty() {
        put += put_all(events, put, context).await?;
    }
    match context.json {
        true => print_json(&json!({ "put": put })),
        false => print(&format!("wrote {put} events\n")),
    }
}

/// Writes some events of a file, in one transaction; `before` were written by others.
async fn put_all(events: Vec<EventInput>, before: usize, context: &Context) -> anyhow::Result<usize> {
    let put = context.client.put_events(&EventBatch { events }).await;
    Ok(put.with_context(|| format!("after {before} events were written"))?.put)
}
