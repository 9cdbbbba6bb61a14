//! The sends of the other system, read from its table or its log.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use punctual_store::foreign::{ForeignKey, ForeignPage};
use serde_json::Value;

use super::compare::{Side, Their};
use super::progress::Progress;
use super::row::Row;
use super::source::Source;
use super::take;
use punctual_core::rules::instant;

/// How many rows of the attempts' table are read at once.
const PAGE: usize = 5000;

/// The sends there, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Theirs {
    pub(super) sides: BTreeMap<String, Side>,
    /// Rows that could not be understood: how many, and what is wrong with the first.
    pub(super) unreadable: Option<(u64, String)>,
    /// What to say about a reminder that it does not mention.
    pub(super) unmentioned: Option<&'static str>,
}

/// Reads a table.
pub(super) async fn of_table(source: &Source, progress: &mut Progress) -> anyhow::Result<Theirs> {
    let clock = SystemClock::start();
    let mut theirs = Theirs::default();
    let attempts = attempts(source).await?;
    let mut after: Option<ForeignKey> = None;
    loop {
        let rows = take::page(source, after.as_ref(), &clock, progress).await?;
        let n_rows = rows.len();
        after = rows.last().map(|row| row.key.clone());
        for row in &rows {
            let row = Row::new(&source.layout, &row.values);
            let key = row.text("id").unwrap_or_default();
            let mut side = Side {
                state_there: Some(format!("is {} there", take::state_of(&row))),
                recurs: recurs(&row),
                ..Side::default()
            };
            match (source.kind.sent)(&row) {
                // Where every attempt is recorded, the row's own word about its last one is not needed.
                Ok(_) if attempts.is_some() => {}
                Ok(sent) if sent.was_sent => {
                    let at = sent.sent_at.or(sent.due_at);
                    side.theirs.extend(at.map(|at| Their { at, is_exact: sent.sent_at.is_some() }));
                }
                Ok(_) => {}
                Err(bad) => {
                    let (n, _) = theirs
                        .unreadable
                        .get_or_insert_with(|| (0, format!("row {key}: {}: {}", bad.column, bad.problem)));
                    *n += 1;
                }
            }
            theirs.sides.insert(key.to_owned(), side);
        }
        progress.advance(n_rows);
        if n_rows < take::PAGE {
            break;
        }
    }
    for (key, their) in attempts.into_iter().flatten() {
        theirs.sides.entry(key).or_default().theirs.push(their);
    }
    Ok(theirs)
}

fn recurs(row: &Row<'_>) -> bool {
    row.text("schedule_type").is_some_and(|kind| kind != "once")
}

/// The sends that worked, by job, from a table `delivery_attempts` beside the jobs; none when there is no such table.
async fn attempts(source: &Source) -> anyhow::Result<Option<Vec<(String, Their)>>> {
    if !source.layout.has("schedule_type") {
        return Ok(None);
    }
    let Some(table) = source.database.table("delivery_attempts").await? else { return Ok(None) };
    let place = |name: &str| table.columns.iter().position(|column| column == name);
    let (Some(job), Some(run), Some(status), Some(sent), Some(_)) =
        (place("job_id"), place("run_number"), place("status"), place("sent_at"), place("id"))
    else {
        return Ok(None);
    };
    let delivered = place("delivered_at");
    // The first send that worked of each run.
    let mut firsts: BTreeMap<(String, String), Timestamp> = BTreeMap::new();
    let mut after: Option<ForeignKey> = None;
    loop {
        let page = ForeignPage { table: &table, key: "id", after: after.as_ref(), limit: PAGE };
        let rows = source.database.page(page).await?;
        for row in &rows {
            let value = |index: usize| row.values.get(index).and_then(Option::as_deref);
            if !matches!(value(status), Some("sent" | "delivered" | "acked")) {
                continue;
            }
            let at = value(sent).or_else(|| delivered.and_then(value));
            let at = at.and_then(|text| instant::read(text, source.layout.zone()).ok());
            let (Some(at), Some(job), Some(run)) = (at, value(job), value(run)) else { continue };
            let first = firsts.entry((job.to_owned(), run.to_owned())).or_insert(at);
            *first = (*first).min(at);
        }
        if rows.len() < PAGE {
            break;
        }
        after = rows.last().map(|row| row.key.clone());
    }
    Ok(Some(firsts.into_iter().map(|((job, _), at)| (job, Their { at, is_exact: true })).collect()))
}

/// Reads a file with a line `{"id","sent_at"}` for each send.
pub(super) fn of_lines(path: &Path) -> anyhow::Result<Theirs> {
    let shown = path.display();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {shown}"))?;
    let mut sides: BTreeMap<String, Side> = BTreeMap::new();
    for (index, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {shown}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |what: &str| {
            anyhow!("{shown}, line {}: {what}; write {{\"id\":\"7\",\"sent_at\":\"2026-03-02T08:00:00Z\"}}", index + 1)
        };
        let value: Value = serde_json::from_str(&line).map_err(|_| wrong("is no JSON"))?;
        let text = |field: &str| match &value[field] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let key = text("id").ok_or_else(|| wrong("has no id"))?;
        let sent_at = text("sent_at").ok_or_else(|| wrong("has no sent_at"))?;
        let at = instant::read(&sent_at, &Zone::utc()).map_err(|problem| wrong(&format!("sent_at: {problem}")))?;
        let side = sides.entry(key).or_default();
        side.theirs.push(Their { at, is_exact: true });
        side.state_there = Some("was sent there at another time".into());
        side.recurs = side.theirs.len() > 1;
    }
    Ok(Theirs { sides, unreadable: None, unmentioned: Some("is not in the file") })
}
