//! Saying when a schedule is due, without a server.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

use anyhow::Context as _;
use jiff::Timestamp;
use punctual_core::invalid::Invalid;
use punctual_core::schedule::{Schedule, parse_instant};
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use serde_json::{Map, Value, json};

use super::schedule::When;
use super::{Global, Usage, own_zone, print, print_json, when};

const COUNT_DEFAULT: u64 = 5;
/// The most instants of one schedule.
const COUNT_MAX: u64 = 100_000;

const EXAMPLES: &str = "\
Examples:
  punctual next --cron \"0 8 * * 1-5\" --tz Europe/Berlin --from 2026-03-27T00:00:00Z --count 5 --json
  punctual next --weekly mon,thu --time 07:30
  punctual next --rrule \"RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0\" --except 2026-12-25
  punctual next --daily --time 08:00 --except weekends --ical
  punctual next --batch schedules.jsonl    # a line: {\"schedule\":{…},\"tz\",\"from\",\"count\"}";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    when: When,
    /// The zone its local times are meant in [env: PUNCTUAL_TZ] [default: the `timezone` setting]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,
    /// Begin after this [default: now]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// How many to say
    #[arg(long, short = 'n', value_name = "N", default_value_t = COUNT_DEFAULT)]
    count: u64,
    /// Say it as the lines of a calendar entry (RFC 5545) instead
    #[arg(long, conflicts_with = "batch")]
    ical: bool,
    /// Answer each line of this file, or of standard input (-), on a line of its own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["when", "tz", "from"])]
    batch: Option<String>,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    if let Some(file) = &args.batch {
        return batch(file, args.count);
    }
    let zone = own_zone(args.tz.as_deref(), global)?;
    let now = SystemClock::read();
    let from = match &args.from {
        Some(text) => parse_instant(text, &zone, now).map_err(|problem| Usage(format!("--from: {problem}")))?,
        None => now,
    };
    let Some(input) = args.when.schedule(None)? else {
        return Err(Usage(format!(
            "{}, or --batch FILE",
            super::schedule::NO_TIME.split(';').next().unwrap_or_default()
        ))
        .into());
    };
    let schedule =
        Schedule::from_input(&input.0, &zone, from).map_err(|invalid| Usage(format!("schedule.{invalid}")))?;
    if args.ical {
        let lines = schedule.to_ical(&zone, from).map_err(|reason| Usage(format!("--ical: {reason}")))?;
        return print(&format!("{lines}\n"));
    }
    let instants = instants(&schedule, &zone, from, args.count);
    if global.json {
        let next: Vec<String> = instants.iter().map(|at| when::exact(*at, &zone)).collect();
        return print_json(&json!({ "next": next, "summary": schedule.summary(&zone), "tz": zone.name() }));
    }
    if instants.is_empty() {
        return print(&format!("{}: never after {}\n", schedule.summary(&zone), when::exact(from, &zone)));
    }
    let lines: Vec<String> =
        instants.iter().map(|at| format!("{}  {}\n", when::exact(*at, &zone), when::relative(*at, now))).collect();
    print(&format!("{}\n{}", schedule.summary(&zone), lines.concat()))
}

/// The first `count` instants strictly after `from`, or fewer if the schedule ends.
fn instants(schedule: &Schedule, zone: &Zone, from: Timestamp, count: u64) -> Vec<Timestamp> {
    let count = count.min(COUNT_MAX).min(schedule.count.map_or(u64::MAX, u64::from));
    let next = |after: &Timestamp| schedule.next_after(zone, *after);
    std::iter::successors(next(&from), next).take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
}

fn batch(file: &str, count: u64) -> anyhow::Result<()> {
    let reader: Box<dyn BufRead> = match file {
        "-" => Box::new(io::stdin().lock()),
        path => Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot read {path}"))?)),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let now = SystemClock::read();
    for line in reader.split(b'\n') {
        let line = line.with_context(|| format!("cannot read {file}"))?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = match answer(&line, count, now) {
            Ok(next) => json!({ "next": next }),
            Err(invalid) => json!({ "error": invalid.to_string() }),
        };
        writeln!(out, "{answer}")?;
    }
    out.flush()?;
    Ok(())
}

/// What one line asks for.
fn answer(line: &[u8], count: u64, now: Timestamp) -> Result<Vec<String>, Invalid> {
    let line: Map<String, Value> =
        serde_json::from_slice(line).map_err(|error| Invalid::new("line", error.to_string()))?;
    let known = ["schedule", "tz", "from", "count"];
    if let Some(name) = line.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(Invalid::new(name, format!("is not a known field; known are {}", known.join(", "))));
    }
    let text = |field: &str| match line.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(Invalid::new(field, format!("must be text, not {other}"))),
    };
    let zone = match text("tz")? {
        Some(name) => Zone::named(name).map_err(|invalid| Invalid::new("tz", invalid.problem))?,
        None => Zone::utc(),
    };
    let from = match text("from")? {
        Some(text) => parse_instant(text, &zone, now).map_err(|problem| Invalid::new("from", problem))?,
        None => now,
    };
    let count = match line.get("count") {
        None | Some(Value::Null) => count,
        Some(value) => {
            value.as_u64().ok_or_else(|| Invalid::new("count", format!("{value} is not a number from 0 up")))?
        }
    };
    let input = line.get("schedule").unwrap_or(&Value::Null);
    let schedule = Schedule::from_input(input, &zone, from).map_err(|invalid| invalid.within("schedule"))?;
    Ok(instants(&schedule, &zone, from, count).into_iter().map(|at| when::exact(at, &zone)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_answered_with_instants_or_with_what_is_wrong() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let next = answer(
            br#"{"schedule":{"type":"cron","expr":"0 8 * * 1-5"},"tz":"Europe/Berlin","from":"2026-03-27T00:00:00Z","count":2}"#,
            5,
            now,
        );
        assert_eq!(next.unwrap(), ["2026-03-27T08:00:00+01:00", "2026-03-30T08:00:00+02:00"]);
        for (line, words) in [
            ("{", "line:"),
            (r#"{"schedule":{"type":"cron","expr":"0 8 * *"}}"#, "schedule.expr"),
            (r#"{"schedule":{"type":"daily","time":"08:00"},"tz":"Europe/Berln"}"#, "Europe/Berlin"),
            (r#"{"schedul":{}}"#, "schedul: is not a known field"),
            (r#"{"schedule":{"type":"daily","time":"08:00"},"count":-1}"#, "count:"),
        ] {
            let error = answer(line.as_bytes(), 5, now).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
