//! Listing reminders.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_core::reminder::Priority;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;

use super::style::{Style, of_status};
use super::table::{Cell, Table, line_width};
use super::{Context, User, find, print, print_json, when};
use crate::wire::{Reminder, ReminderQuery, Reminders};

/// The most a server lists at once.
const LIMIT_MAX: usize = 500;
/// The columns that a message has at least, where a line has a width: enough to read it by.
const MESSAGE_WIDTH: usize = 32;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only those whose name or message has these words, or parts of them
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only active, paused, completed or cancelled ones, or those whose last run failed, was missed or stayed unanswered:
    /// failed, missed, unanswered [default: what is still to come]
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Also those that are over
    #[arg(long, short, conflicts_with = "status")]
    all: bool,
    /// Only those whose last run failed: --status failed
    #[arg(long, conflicts_with_all = ["status", "all"])]
    failed: bool,
    /// Everybody's
    #[arg(long, conflicts_with = "user")]
    everybody: bool,
    /// Only those due next from then on: a day, from its beginning, or a time, such as today, 2026-11-16 or "monday at 8"
    #[arg(long, value_name = "WHEN")]
    from: Option<String>,
    /// Only those due next until then: a day, to its end, or a time
    #[arg(long, value_name = "WHEN")]
    to: Option<String>,
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those that go by this channel, or whose last attempt did
    #[arg(long, value_name = "CHANNEL", conflicts_with = "words")]
    channel: Option<String>,
    /// How many at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    #[command(flatten)]
    user: User,
}

impl Args {
    /// Whether not everything that is to come was asked for.
    fn is_narrow(&self) -> bool {
        let Self { words, status, all, failed, from, to, tag, channel, .. } = self;
        let named = [status, from, to, tag, channel].into_iter().any(Option::is_some);
        named || *all || *failed || !words.is_empty()
    }
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    // The server lists the newest first and people want to see the soonest, so as many are read as it gives.
    let user = args.user.named().filter(|_| !args.everybody);
    let query = ReminderQuery {
        mine: (user.is_none() && !args.everybody).then_some(true),
        user,
        status: args.status.clone().or(args.failed.then(|| "failed".to_owned())),
        from: args.from.clone(),
        to: args.to.clone(),
        tag: args.tag.clone(),
        channel: args.channel.clone(),
        q: Some(args.words.join(" ")).filter(|words| !words.is_empty()),
        ..ReminderQuery::default()
    };

    let page = match query.status.is_some() || args.all {
        true => read(context, query).await?,
        // Reminders that are still to come are active or paused.
        false => {
            let of = |status: &str| ReminderQuery { status: Some(status.to_owned()), ..query.clone() };
            let mut page = read(context, of("active")).await?;
            let paused = read(context, of("paused")).await?;
            page.reminders.extend(paused.reminders);
            page.next_cursor = page.next_cursor.or(paused.next_cursor);
            page.indexing = page.indexing.or(paused.indexing);
            page
        }
    };
    if context.json {
        return print_json(&page);
    }
    print(&render(page, args, context))
}

/// Reads up to [`LIMIT_MAX`] reminders: the server ends a page sooner where they are large.
async fn read(context: &Context, query: ReminderQuery) -> anyhow::Result<Reminders<'static>> {
    let mut query = ReminderQuery { limit: Some(LIMIT_MAX), ..query };
    let mut whole = context.client.reminders(&query).await?;
    while whole.next_cursor.is_some() {
        let n_left = LIMIT_MAX.saturating_sub(whole.reminders.len());
        if n_left == 0 {
            break;
        }
        (query.limit, query.cursor) = (Some(n_left), whole.next_cursor);
        let page = context.client.reminders(&query).await?;
        whole.reminders.extend(page.reminders);
        whole.next_cursor = page.next_cursor;
    }
    Ok(whole)
}

fn render(page: Reminders<'_>, args: &Args, context: &Context) -> String {
    let Reminders { mut reminders, next_cursor, indexing, .. } = page;
    let not_found_yet = match indexing {
        Some(1) => "The index is one entry behind: what was made last may be missing.\n".to_owned(),
        Some(n) => format!("The index is {n} entries behind: what was made lately may be missing.\n"),
        None => String::new(),
    };
    if reminders.is_empty() {
        return match args.is_narrow() {
            true => format!("No such reminders.\n{not_found_yet}"),
            false => "Nothing to come. Ask for something:  punctual add \"drink a glass of water\" --in 1m\n".into(),
        };
    }
    // The reminder that comes first stands first; those that come no more stand last.
    reminders.sort_by_key(|reminder| (reminder.next_run_at.is_none(), reminder.next_run_at));
    let n_more = reminders.len().saturating_sub(usize::from(args.limit));
    reminders.truncate(usize::from(args.limit));
    let mut text = table(&reminders, args.everybody).render(context.paint);
    if next_cursor.is_some() {
        text.push_str(&format!(
            "There are more than {LIMIT_MAX}, and these are the first of the newest; --from and --to narrow it down.\n"
        ));
    } else if n_more > 0 {
        text.push_str(&format!("There are {n_more} more; --limit shows up to {LIMIT_MAX}.\n"));
    }
    text.push_str(&not_found_yet);
    text
}

/// The reminders as a list shows them, and whose they are if `users` asks for that.
pub(super) fn table(reminders: &[Reminder<'_>], users: bool) -> Table {
    Rows { reminders, usual: usual_zone(reminders), users, now: SystemClock::read() }.table()
}

/// The reminders of a list, ready to be laid out.
struct Rows<'a> {
    reminders: &'a [Reminder<'a>],
    usual: Zone,
    /// Whether to say whose they are.
    users: bool,
    now: Timestamp,
}

/// How much is said of each reminder beside its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// One line each.
    Wide,
    /// The rule stands below the message.
    Narrow,
    /// Nor is it said how far away the next run is.
    Narrowest,
}

impl Rows<'_> {
    /// The widest table that leaves room for messages where lines have a width.
    fn table(&self) -> Table {
        let layouts = [Layout::Wide, Layout::Narrow, Layout::Narrowest];
        let tables = layouts.map(|layout| self.laid_out(layout));
        let fits = |table: &Table| line_width().is_none_or(|max| table.has_room(max, MESSAGE_WIDTH));
        let [wide, narrow, narrowest] = tables;
        if fits(&wide) {
            wide
        } else if fits(&narrow) {
            narrow
        } else {
            narrowest
        }
    }

    fn laid_out(&self, layout: Layout) -> Table {
        let next = format!("NEXT ({})", self.usual.name());
        let mut header = vec!["ID"];
        header.extend(self.users.then_some("USER"));
        header.push(&next);
        header.extend((layout != Layout::Narrowest).then_some(""));
        header.extend((layout == Layout::Wide).then_some("SCHEDULE"));
        header.extend(["STATUS", "MESSAGE"]);
        let mut table = Table::new(&header).wrapping();
        self.reminders.iter().for_each(|reminder| table.push(self.row(reminder, layout)));
        table
    }

    fn row(&self, reminder: &Reminder<'_>, layout: Layout) -> Vec<Cell> {
        let next = reminder.next_run_at;
        let local = next.map_or_else(|| "–".into(), |at| local(at, reminder, &self.usual, self.now));
        let status = status(reminder);
        let message = match &reminder.name {
            Some(name) => format!("{name}: {}", reminder.message),
            None => reminder.message.to_string(),
        };
        let urgent = if reminder.priority == Priority::Critical { Style::Red } else { Style::Plain };
        let mut message = Cell::new(&message, urgent);
        let mut row = vec![Cell::new(&find::short_id(reminder), Style::Cyan)];
        row.extend(self.users.then(|| Cell::plain(&reminder.user)));
        row.push(Cell::plain(&local));
        if layout != Layout::Narrowest {
            let relative = next.map(|at| when::relative(at, self.now)).unwrap_or_default();
            row.push(Cell::new(&relative, Style::Bold));
        }
        match (layout, rule(reminder)) {
            (Layout::Wide, rule) => row.push(Cell::new(rule.unwrap_or("once"), Style::Dim)),
            // The next run says which zone it is.
            (_, Some(rule)) => {
                let zone = format!(", {}", reminder.timezone);
                message = message.with_below(rule.strip_suffix(&zone).unwrap_or(rule));
            }
            (_, None) => {}
        }
        row.extend([Cell::new(status, of_status(status)), message]);
        row
    }
}

/// The word that says most about where a reminder stands.
fn status<'a>(reminder: &'a Reminder<'_>) -> &'a str {
    let last = reminder.last_status.as_ref().map_or("", |last| last.as_str());
    let next = reminder.next_run_at;
    match reminder.status.as_str() {
        // One that is active with nothing planned waits for something, and one that is over may not have arrived: its last run
        // says so.
        "active" if next.is_none() && !last.is_empty() => last,
        "active" if reminder.snoozed_until.is_some() && reminder.snoozed_until == next => "snoozed",
        "active" if last == "failed" => "last failed",
        "completed" if matches!(last, "failed" | "missed" | "unanswered" | "dismissed") => last,
        status => status,
    }
}

/// The zone that most of these are meant in: it stands in the header, and beside a time only where that is another.
fn usual_zone(reminders: &[Reminder<'_>]) -> Zone {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reminder in reminders {
        *counts.entry(&reminder.timezone).or_default() += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, count)| *count);
    usual.and_then(|(name, _)| Zone::named(name).ok()).unwrap_or_else(Zone::utc)
}

/// A time of `reminder` in its own zone, which is named where it is not the `usual` one.
fn local(at: Timestamp, reminder: &Reminder<'_>, usual: &Zone, now: Timestamp) -> String {
    match reminder.timezone == usual.name() {
        true => when::local(at, usual, now),
        false => when::labelled(at, &when::zone_of(reminder), now),
    }
}

/// The rule in words; a single instant is its own next run already.
fn rule<'a>(reminder: &'a Reminder<'_>) -> Option<&'a str> {
    Some(reminder.summary.as_str()).filter(|_| !reminder.schedule.is_once())
}
