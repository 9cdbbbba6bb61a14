//! Listing reminders.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde_json::Value;

use super::style::{Style, of_status};
use super::table::{Cell, Table};
use super::{Context, User, find, print, print_json, when};

/// The most a server lists at once.
const LIMIT_MAX: u16 = 500;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only active, paused, completed or cancelled ones [default: what is still to come]
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Also those that are over
    #[arg(long, short, conflicts_with = "status")]
    all: bool,
    /// Everybody's
    #[arg(long, conflicts_with = "user")]
    everybody: bool,
    /// Only those due next at or after this
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only those due next before this
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// How many at most
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    #[command(flatten)]
    user: User,
}

pub(super) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    // The server lists the newest first and people want to see the soonest, so as many are read as it gives.
    let mut query = vec![("limit", LIMIT_MAX.to_string())];
    match (args.user.named(), args.everybody) {
        (_, true) => {}
        (Some(user), false) => query.push(("user", user)),
        (None, false) => query.push(("mine", "true".into())),
    }
    let filters = [("status", &args.status), ("from", &args.from), ("to", &args.to)];
    query.extend(filters.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));

    let page = match args.status.is_some() || args.all {
        true => context.client.get("/v1/reminders", &query).await?,
        // What is still to come is what is active or paused.
        false => {
            let of = |status: &str| query.iter().cloned().chain([("status", status.to_owned())]).collect::<Vec<_>>();
            let mut page = context.client.get("/v1/reminders", &of("active")).await?;
            let mut paused = context.client.get("/v1/reminders", &of("paused")).await?;
            if let (Some(active), Some(paused)) = (page["reminders"].as_array_mut(), paused["reminders"].as_array_mut())
            {
                active.append(paused);
            }
            if page["next_cursor"].is_null() {
                page["next_cursor"] = paused["next_cursor"].take();
            }
            page
        }
    };
    if context.json {
        return print_json(&page);
    }
    print(&render(&page, args, context))
}

fn render(page: &Value, args: &Args, context: &Context) -> String {
    let mut reminders: Vec<&Value> = page["reminders"].as_array().map(|list| list.iter().collect()).unwrap_or_default();
    if reminders.is_empty() {
        return match args.status.is_some() || args.all || args.from.is_some() || args.to.is_some() {
            true => "No such reminders.\n".into(),
            false => "Nothing to come. Ask for something:  punctual add \"drink a glass of water\" --in 1m\n".into(),
        };
    }
    // What comes first stands first; what comes no more stands last.
    reminders.sort_by_key(|reminder| {
        let next = when::instant(reminder, "next_run_at");
        (next.is_none(), next)
    });
    let n_more = reminders.len().saturating_sub(usize::from(args.limit));
    reminders.truncate(usize::from(args.limit));
    let now = SystemClock::read();
    let usual = usual_zone(&reminders);
    let next = format!("NEXT ({})", usual.name());
    let mut header = vec!["ID", &next, "", "SCHEDULE", "STATUS", "MESSAGE"];
    if args.everybody {
        header.insert(1, "USER");
    }
    let mut table = Table::new(&header);
    for reminder in reminders {
        let next = when::instant(reminder, "next_run_at");
        // One that is active with nothing planned waits for something, and one that is over may not have arrived: its last
        // run says so.
        let last = reminder["last_status"].as_str().unwrap_or_default();
        let status = match reminder["status"].as_str().unwrap_or_default() {
            "active" if next.is_none() && !last.is_empty() => last,
            "completed" if matches!(last, "failed" | "missed" | "unanswered" | "dismissed") => last,
            status => status,
        };
        let text = |field: &str| reminder[field].as_str().unwrap_or_default();
        let message = match reminder["name"].as_str() {
            Some(name) => format!("{name}: {}", text("message")),
            None => text("message").to_owned(),
        };
        let urgent = if text("priority") == "critical" { Style::Red } else { Style::Plain };
        let mut row = vec![
            Cell::new(&find::short_id(reminder), Style::Cyan),
            Cell::plain(&next.map(|at| local(at, reminder, &usual, now)).unwrap_or_else(|| "–".into())),
            Cell::new(&next.map(|at| when::relative(at, now)).unwrap_or_default(), Style::Bold),
            Cell::new(&rule(reminder), Style::Dim),
            Cell::new(status, of_status(status)),
            Cell::new(&message, urgent),
        ];
        if args.everybody {
            row.insert(1, Cell::plain(text("user")));
        }
        table.push(row);
    }
    let mut text = table.render(context.paint);
    if page["next_cursor"].is_string() {
        text.push_str(&format!(
            "There are more than {LIMIT_MAX}, and these are the first of the newest; --from and --to narrow it down.\n"
        ));
    } else if n_more > 0 {
        text.push_str(&format!("There are {n_more} more; --limit shows up to {LIMIT_MAX}.\n"));
    }
    text
}

/// The zone that most of these are meant in: it stands in the header, and beside a time only where that is another.
fn usual_zone(reminders: &[&Value]) -> Zone {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in reminders.iter().filter_map(|reminder| reminder["timezone"].as_str()) {
        *counts.entry(name).or_default() += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, count)| *count);
    usual.and_then(|(name, _)| Zone::named(name).ok()).unwrap_or_else(Zone::utc)
}

/// A time of `reminder` in its own zone, which is named where it is not the `usual` one.
fn local(at: Timestamp, reminder: &Value, usual: &Zone, now: Timestamp) -> String {
    match when::zone_of(reminder).filter(|zone| zone.name() != usual.name()) {
        Some(zone) => when::labelled(at, &zone, now),
        None => when::local(at, usual, now),
    }
}

/// The rule in words; a single instant stands under NEXT already.
fn rule(reminder: &Value) -> String {
    if reminder["schedule"]["type"] == "once" {
        return "once".into();
    }
    reminder["summary"].as_str().unwrap_or_default().to_owned()
}
