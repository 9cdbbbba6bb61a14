//! How fast the web page is with a long history behind it, how soon it shows what happens, and what open pages cost.

/// The reminders and the history behind the page.
mod history;

/// Somebody who has signed in and asks for pages.
mod visitor;

/// Open pages, and what they are told.
mod open;

use std::sync::Arc;

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use self::open::{OpenPages, Ran, Round, Whose};
use self::visitor::Visitor;
use super::place::Place;
use super::report::{Report, Table, count};
use super::server::{Memory, Server};
use super::sink::Sink;
use super::summary::Summary;
use super::{Channel, Common};

/// How long after the last instant to wait for messages that have not come.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(30);
/// The word that nearly half of the messages have: the slowest search there is.
const COMMON_WORD: &str = "water";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders there are
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// How many entries the journal has
    #[arg(long, default_value_t = 10_000_000, value_name = "N")]
    entries: u32,
    /// How often each page is asked for
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// How many pages of different people are open; 0 leaves the spread reminders out
    #[arg(long, default_value_t = 500, value_name = "N", value_parser = clap::value_parser!(u16).range(..=2000))]
    open: u16,
    /// How many reminders are due beside them
    #[arg(long, default_value_t = 4_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// Over how many seconds they are due
    #[arg(long, default_value_t = 20, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=600))]
    over: u32,
}

/// How one page answered.
struct Measured {
    path: String,
    first_byte: Summary,
    /// The page alone, and with its stylesheet and script.
    bytes: usize,
    bytes_in_all: usize,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let store = place.open().await?;
    history::fill(&store, args.rows as usize, args.entries as usize, &place).await?;
    drop(store);
    let settings = place.dir().join("page.toml");
    std::fs::write(&settings, "webhook_allow_private = true\ndefault_channel = \"console\"\n")?;
    let settings = settings.to_str().context("the directory's name is no text")?.to_owned();
    let server = Server::start_with(&place, &["--config", &settings], &*clock).await?;

    let mut visitor = Visitor::sign_in(server.address, &server.key).await?;
    let pages = visit(&mut visitor, args.rounds).await?;
    let mut sink = Sink::open(Channel::Webhook, &*clock).await?;
    let mut rounds = Vec::new();
    let mut seen = None;
    if args.open > 0 {
        let round = |of| Round { of, n_users: args.open.into(), count: args.count as usize, over_seconds: args.over };
        rounds.push(("no page is open", round(Whose::Others).run(&server, &mut sink, &*clock).await?));
        let pages = OpenPages::open(&server, args.open.into(), Arc::clone(&clock)).await?;
        rounds.push(("pages of others are open", round(Whose::Others).run(&server, &mut sink, &*clock).await?));
        let open = round(Whose::Readers).run(&server, &mut sink, &*clock).await?;
        seen = Some(pages.seen_after(&open, args.count as usize, &*clock).await?);
        rounds.push(("each changes an open page", open));
        drop(pages);
        rounds.push(("no page is open any more", round(Whose::Others).run(&server, &mut sink, &*clock).await?));
    }
    let memory = server.memory()?;
    server.stop(&*clock).await?;
    report(args, &pages, &rounds, seen.as_ref(), memory, &place)
}

/// Asks for every page that the rail leads to, one reminder, another's day and two searches, each so many times.
async fn visit(visitor: &mut Visitor, rounds: u16) -> anyhow::Result<Vec<Measured>> {
    let first = visitor.get("/").await?;
    let mut paths = first.linked("data-go=");
    ensure!(!paths.is_empty(), "the first page leads nowhere: {}", first.text());
    let list = visitor.get("/reminders").await?;
    let mut links = list.links().into_iter().chain(first.links());
    let one = links.find(|link| is_reminder(link)).context("no reminder is shown on /reminders or today")?;
    paths.extend([
        one,
        format!("/reminders?q={COMMON_WORD}"),
        "/reminders?q=umbrella".to_owned(),
        "/?user=user-1".to_owned(),
    ]);
    let mut measured = Vec::new();
    for path in paths {
        let mut first_byte = Vec::new();
        let mut last = None;
        for _ in 0..rounds {
            let visit = visitor.get(&path).await?;
            ensure!(visit.status == 200, "{path} answered {}: {}", visit.status, visit.text());
            first_byte.push(visit.first_byte);
            last = Some(visit);
        }
        let last = last.context("a page is asked for at least once")?;
        let mut bytes_in_all = last.body.len();
        for asset in last.assets() {
            bytes_in_all += visitor.get(&asset).await?.body.len();
        }
        let (first_byte, bytes) = (Summary::of(first_byte), last.body.len());
        // A reminder has another name in every run.
        let path = if is_reminder(&path) { "/reminders/ID".to_owned() } else { path };
        measured.push(Measured { path, first_byte, bytes, bytes_in_all });
    }
    Ok(measured)
}

/// Whether a path is that of one reminder: 36 letters of a UUID.
fn is_reminder(path: &str) -> bool {
    let id = path.strip_prefix("/reminders/").map(|rest| rest.split(['?', '#']).next().unwrap_or(rest));
    id.is_some_and(|id| id.len() == 36 && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-'))
}

fn report(
    args: &Args,
    pages: &[Measured],
    rounds: &[(&str, Ran)],
    seen: Option<&Summary>,
    memory: Memory,
    place: &Place,
) -> anyhow::Result<Report> {
    let title = format!(
        "page: {} reminders and {} entries of the journal behind it; from the request to the first byte",
        count(args.rows as usize),
        count(args.entries as usize)
    );
    let mut report = Report::new("page", title);
    let mut table = Table::new([""].into_iter().chain(Summary::COLUMNS).chain(["bytes", "with css and js"]));
    for page in pages {
        let sizes = [count(page.bytes), count(page.bytes_in_all)];
        table.row([page.path.clone()].into_iter().chain(page.first_byte.cells()).chain(sizes));
    }
    report.table(table);
    let mut table = Table::new([""].into_iter().chain(Summary::COLUMNS).chain(["early", "received", "twice"]));
    for (name, ran) in rounds {
        let received = &ran.received;
        let counts = [received.late.n_negative(), received.n_received, received.n_again].map(count);
        table.row([(*name).to_owned()].into_iter().chain(received.late.cells()).chain(counts));
    }
    if let Some(seen) = seen {
        table.row(["from the send until an open page shows it".to_owned()].into_iter().chain(seen.cells()));
    }
    if !rounds.is_empty() {
        report.table(table);
        report.note(format!(
            "Below: {} reminders over {} s by webhook, lateness where they are received; {} pages of as many people.",
            count(args.count as usize),
            args.over,
            count(args.open.into())
        ));
    }
    report.note(format!("Memory of the server: at most {:.1} MB.", Memory::megabytes(memory.peak)));
    report.note(place.note());
    report.field("rows", args.rows);
    report.field("entries", args.entries);
    let page = |page: &Measured| -> Value {
        json!({ "path": page.path, "first_byte": page.first_byte.json(), "bytes": page.bytes, "bytes_in_all": page.bytes_in_all })
    };
    report.field("pages", pages.iter().map(page).collect::<Vec<_>>());
    let round = |(name, ran): &(&str, Ran)| json!({ "round": name, "late": ran.received.late.json() });
    report.field("spread", rounds.iter().map(round).collect::<Vec<_>>());
    report.field("seen_after_send", seen.map(Summary::json));
    report.field("memory_peak_mb", Memory::megabytes(memory.peak));
    let is_whole = |(_, ran): &(&str, Ran)| {
        let received = &ran.received;
        received.n_received == args.count as usize && received.n_again == 0 && received.late.n_negative() == 0
    };
    ensure!(rounds.iter().all(is_whole), "a guarantee was broken:\n{}", report.text());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_told_from_other_pages() {
        assert!(is_reminder("/reminders/01a1ed88-71a6-7c18-8d4c-ffa7e9ff3824"));
        assert!(is_reminder("/reminders/01a1ed88-71a6-7c18-8d4c-ffa7e9ff3824?user=me"));
        assert!(!is_reminder("/reminders?q=a"));
        assert!(!is_reminder("/reminders/export"));
    }
}
