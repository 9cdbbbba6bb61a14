//! The report: the sends of a server in shadow beside those of the other system.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use punctual_core::schedule::parse_instant;
use punctual_core::span;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use super::compare::{Alone, Compared, Our, Period, Side, compare, percentile};
use super::progress::Progress;
use super::source::SourceArgs;
use super::tally::thousands;
use super::theirs::{self, Theirs};
use crate::cli::style::{Style, neutral};
use crate::cli::table::{Cell, Table};
use crate::cli::{Context, Said, Usage, print, print_json};
use crate::wire::{ImportedRun, SendsQuery};

/// A send of just now may not be written down yet: so much of the end is left out, unless --to says otherwise.
const NOT_YET: SignedDuration = SignedDuration::from_secs(60);
/// Sends near the ends of the period may have their other half outside.
const MARGIN: SignedDuration = SignedDuration::from_hours(1);
/// How many examples of each kind are shown.
const EXAMPLES_SHOWN: usize = 5;

const EXAMPLES: &str = "\
SOURCE may also be a file FILE.jsonl with a line {\"id\",\"sent_at\"} for each send; then --name says which import it is.

Exit codes: 0 nothing was sent by the other system alone, 1 something was, 2 wrong usage.

Examples:
  punctual shadow-report postgres://bot@db.example/bot
  punctual shadow-report postgres://bot@db.example/bot --from 2026-03-02T00:00Z --tolerance 5s --json
  punctual shadow-report sends.jsonl --name v2_reminders@bot";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Only sends from then on [default: when the first was imported]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only sends before that [default: a minute ago]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// How far apart two sends may be and still count as at the same time
    #[arg(long, value_name = "SPAN", default_value = "2s")]
    tolerance: String,
}

pub(in crate::cli) async fn run(args: &Args, context: &Context) -> anyhow::Result<()> {
    let tolerance = span::parse(&args.tolerance).map_err(|problem| Usage(format!("--tolerance: {problem}")))?;
    let tolerance = SignedDuration::try_from(tolerance).unwrap_or(SignedDuration::MAX);
    let now = SystemClock::read();
    let zone = context.zone().await?;
    let instant = |flag: &str, text: &Option<String>| match text {
        Some(text) => parse_instant(text, &zone, now).map(Some).map_err(|p| Usage(format!("{flag}: {p}"))),
        None => Ok(None),
    };
    let (from, to) = (instant("--from", &args.from)?, instant("--to", &args.to)?);
    let to = to.unwrap_or(now - NOT_YET);

    let url = args.source.url()?;
    // Asked first: a caller without a server or a key learns it before a large table is read.
    context.client.stats().await?;
    let (name, mut theirs) = match url.ends_with(".jsonl") {
        true => {
            let missing = || Usage("--name: say which import the file is about, such as v2_reminders@bot".into());
            let name = args.source.name.clone().ok_or_else(missing)?;
            (name, theirs::of_lines(Path::new(&url))?)
        }
        false => {
            let source = args.source.open().await?;
            let n_rows = source.database.count(&source.table).await?;
            let mut progress = Progress::begin("reading", n_rows);
            let read = theirs::of_table(&source, &mut progress).await;
            progress.end();
            (source.name.clone(), read?)
        }
    };
    let first = ours(&name, from, to, &mut theirs, context).await?;
    let Some(from) = from.or(first) else {
        return Err(anyhow::anyhow!(
            "nothing was imported from {name}; import it first, or say with --name what it was imported as"
        ));
    };
    if from >= to {
        return Err(Usage(format!("the time from {from} to {to} is empty; name a later --to")).into());
    }
    let period = Period { from, to, tolerance };
    let compared = compare(&theirs.sides, period);
    if context.json {
        print_json(&as_json(&compared, &name, period))?;
    } else {
        print(&render(&compared, &theirs, &name, period, args, context))?;
    }
    if compared.only_theirs.is_empty() { Ok(()) } else { Err(Said.into()) }
}

/// Adds our side; returns when the first was imported.
async fn ours(
    name: &str,
    from: Option<Timestamp>,
    to: Timestamp,
    theirs: &mut Theirs,
    context: &Context,
) -> anyhow::Result<Option<Timestamp>> {
    let mut query = SendsQuery {
        source: name.to_owned(),
        from: from.map(|from| from.saturating_sub(MARGIN).unwrap_or(from).to_string()),
        to: Some(to.saturating_add(MARGIN).unwrap_or(to).to_string()),
        limit: Some(500),
        cursor: None,
    };
    let mut first: Option<Timestamp> = None;
    loop {
        let page = context.client.sends(&query).await?;
        for reminder in page.reminders {
            let imported_at = reminder.imported_at.as_deref().and_then(|at| at.parse().ok());
            first = first.into_iter().chain(imported_at).min();
            let runs: Vec<Our> = reminder.runs.into_iter().map(run_of).collect();
            let unmentioned = theirs.unmentioned.map(str::to_owned);
            let side = theirs
                .sides
                .entry(reminder.key)
                .or_insert_with(|| Side { state_there: unmentioned, ..Side::default() });
            side.recurs |= runs.len() > 1;
            side.ours = Some(runs);
        }
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return Ok(first),
        }
    }
}

fn run_of(run: ImportedRun) -> Our {
    Our { due_at: run.due_at, sent_at: run.sent_at, state: run.state.as_str().to_owned() }
}

fn render(compared: &Compared, theirs: &Theirs, name: &str, period: Period, args: &Args, context: &Context) -> String {
    let mut text = format!("{}, from {:.0} to {:.0}\n\n", neutral(name), period.from, period.to);
    let mut table = Table::new(&["SENDS", "BY"]);
    let mut row = |n: u64, what: &str, style: Style| {
        table.push(vec![Cell::plain(&thousands(n)), Cell::new(what, if n > 0 { style } else { Style::Plain })]);
    };
    row(compared.n_within, &format!("both, within {}", args.tolerance), Style::Green);
    row(compared.n_earlier, "both, ours earlier", Style::Yellow);
    row(compared.n_later, "both, ours later", Style::Yellow);
    if compared.n_untimed > 0 {
        row(compared.n_untimed, "both; when it was sent there is not recorded", Style::Plain);
    }
    row(compared.only_ours.len() as u64, "ours only", Style::Yellow);
    row(compared.only_theirs.len() as u64, "theirs only", Style::Red);
    text.push_str(&table.render(context.paint));
    if let (Some(p50), Some(p99), Some(least), Some(most)) =
        (percentile(&compared.lags, 0.5), percentile(&compared.lags, 0.99), compared.lags.first(), compared.lags.last())
    {
        let [p50, p99, least, most] = [p50, p99, *least, *most].map(seconds);
        text.push_str(&format!("\nTheirs after ours, in seconds: p50 {p50}, p99 {p99}, from {least} to {most}\n"));
    }
    for (what, list) in [("Theirs only", &compared.only_theirs), ("Ours only", &compared.only_ours)] {
        text.push_str(&listed(what, list));
    }
    if !compared.apart.is_empty() {
        text.push_str("\nFurthest apart:\n");
    }
    for (key, at, lag) in furthest(compared).into_iter().take(EXAMPLES_SHOWN) {
        text.push_str(&format!("  {}, sent there at {at}: {} s after ours\n", neutral(key), seconds(*lag)));
    }
    if let Some((n, first)) = &theirs.unreadable {
        text.push_str(&format!("\n{} rows could not be read; the first: {}\n", thousands(*n), neutral(first)));
    }
    let closing = match compared.only_theirs.is_empty() {
        true => "Nothing was sent by the other system alone.",
        false => "The other system sent what this one would not have.",
    };
    text.push_str(&format!("\n{closing}\n"));
    text
}

fn listed(what: &str, list: &[Alone]) -> String {
    let mut text = String::new();
    if !list.is_empty() {
        text.push_str(&format!("\n{what}:\n"));
    }
    for alone in list.iter().take(EXAMPLES_SHOWN) {
        text.push_str(&format!("  {}, at {}: {}\n", neutral(&alone.key), alone.at, neutral(&alone.why)));
    }
    if list.len() > EXAMPLES_SHOWN {
        text.push_str(&format!("  … and {} more\n", thousands((list.len() - EXAMPLES_SHOWN) as u64)));
    }
    text
}

fn furthest(compared: &Compared) -> Vec<&(String, Timestamp, SignedDuration)> {
    let mut apart: Vec<_> = compared.apart.iter().collect();
    apart.sort_by_key(|(_, _, lag)| std::cmp::Reverse(lag.abs()));
    apart
}

fn seconds(span: SignedDuration) -> String {
    format!("{:.3}", span.as_secs_f64())
}

fn as_json(compared: &Compared, name: &str, period: Period) -> Value {
    const LISTED_MAX: usize = 1000;
    let alone = |list: &[Alone]| {
        let one = |alone: &Alone| json!({ "id": alone.key, "at": alone.at.to_string(), "why": alone.why });
        json!({ "count": list.len(), "sends": list.iter().take(LISTED_MAX).map(one).collect::<Vec<_>>() })
    };
    let lag = |share| percentile(&compared.lags, share).map(|lag| lag.as_secs_f64());
    let apart = furthest(compared).into_iter().take(LISTED_MAX);
    let apart: Vec<Value> = apart
        .map(|(key, at, lag)| json!({ "id": key, "sent_at": at.to_string(), "lag_seconds": lag.as_secs_f64() }))
        .collect();
    json!({
        "source": name,
        "from": period.from.to_string(),
        "to": period.to.to_string(),
        "tolerance_seconds": period.tolerance.as_secs_f64(),
        "within": compared.n_within,
        "ours_earlier": compared.n_earlier,
        "ours_later": compared.n_later,
        "untimed": compared.n_untimed,
        "lag_seconds": { "p50": lag(0.5), "p99": lag(0.99), "min": lag(0.0), "max": lag(1.0) },
        "apart": apart,
        "only_ours": alone(&compared.only_ours),
        "only_theirs": alone(&compared.only_theirs),
    })
}
