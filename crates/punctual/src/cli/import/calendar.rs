//! Taking over a calendar: a file with events and to-dos (RFC 5545).

use std::path::Path;

use anyhow::Context as _;

use super::Args;
use crate::cli::style::Style;
use crate::cli::table::{Cell, Table};
use crate::cli::{Context, Usage, print, print_json, when};
use crate::config::process_env;
use crate::wire::{CalendarImportInput, OffsetInput};
use punctual_engine::SystemClock;

/// Whether a source is a calendar: a file that says so in its name or in its first line.
pub(super) fn is_one(source: &str) -> bool {
    if source.contains("://") || source.starts_with("sqlite:") {
        return false;
    }
    let is_named = Path::new(source).extension().is_some_and(|end| end.eq_ignore_ascii_case("ics"));
    let begins = || {
        use std::io::Read as _;
        let mut first = [0; 64];
        let n_read = std::fs::File::open(source).and_then(|mut file| file.read(&mut first)).unwrap_or(0);
        String::from_utf8_lossy(&first[..n_read])
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with("BEGIN:VCALENDAR")
    };
    is_named || begins()
}

pub(super) async fn run(args: &Args, file: &str, context: &Context) -> anyhow::Result<()> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {file}"))?;
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let user = args.user.clone().or_else(|| process_env("PUNCTUAL_USER")).unwrap_or_else(|| "me".into());
    if user.contains('{') {
        return Err(Usage("--user: a calendar is one user's; write their name".into()).into());
    }
    let offsets: Vec<OffsetInput> = args.offset.iter().map(|offset| OffsetInput(offset.as_str().into())).collect();
    let input = CalendarImportInput {
        user: Some(user.clone()),
        name: args.source.name.clone().or(stem),
        ical: Some(String::from_utf8_lossy(&bytes).into_owned()),
        alarms: None,
        offsets: Some(offsets).filter(|offsets| !offsets.is_empty()),
        dry_run: Some(!args.apply),
    };
    let taken = context.client.import_calendar(&input).await?;
    if context.json {
        return print_json(&taken);
    }
    let (now, zone) = (SystemClock::read(), context.zone().await?);
    let mut table = Table::new(&["STARTS", "TITLE", "REPEATS", "OUTCOME"]);
    for item in &taken.items {
        let outcome =
            item.problem.as_ref().map_or_else(|| item.outcome.clone(), |why| format!("{}: {why}", item.outcome));
        table.push(vec![
            Cell::plain(&when::labelled(item.starts_at, &zone, now)),
            Cell::new(&item.title, Style::Cyan),
            Cell::plain(if item.repeats { "yes" } else { "–" }),
            Cell::plain(&outcome),
        ]);
    }
    print(&table.render(context.paint))?;
    for problem in &taken.problems {
        print(&format!("left out: {problem}\n"))?;
    }
    let n_items = taken.items.len();
    let (over, did) =
        (taken.over, if args.apply { "became events" } else { "would become events; --apply writes them" });
    print(&format!("{n_items} items of {user}'s {did}; {over} are done or over\n"))
}
