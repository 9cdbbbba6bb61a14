//! Lines that stand alone, as JSON.
//!
//! A line is an object that says what it is, with the columns of its row by their names, so that both stores and every later version speak of the
//! same things by the same words. A column that is empty, or says no, is left out. JSON in a column stands in the line as JSON, and is read
//! back as it was written, letter by letter.

use std::collections::HashMap;
use std::fmt::Write;

use jiff::Timestamp;
use punctual_core::clock::kept_micros;
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Address;
use punctual_core::store::{DeadAddress, StoreError};
use punctual_core::whole::{KeptReminder, Line, LineKind, Whole, WholeEvent, WholeRun};
use punctual_core::writes::{EndedAttempt, Link};
use serde_json::value::RawValue;

use crate::columns::{self, Table, Value};
use crate::journal;
use crate::rows::{self, Fields, Reader, impossible};
use crate::watch::{KeptLedger, LEDGER, ledger};

/// The columns whose text is JSON.
const JSON: [&str; 14] = [
    "schedule",
    "route",
    "tags",
    "metadata",
    "escalate",
    "addresses",
    "users",
    "groups",
    "data",
    "asked",
    "repeats",
    "offsets",
    "event",
    "settings",
];

/// Columns that a nested row has from the row that it stands in.
const NAMES: [&str; 2] = ["reminder_id", "run"];

/// Columns of an event that say how far planning it has come.
const PLANNING: [&str; 6] = ["removed", "asked_at", "planned", "plan_at", "planned_until", "error"];

/// Writes a line, without the end of one.
pub fn to_json(line: &Line) -> String {
    let mut object = Object::new();
    object.text("line", line.kind().as_str());
    match line {
        Line::Entry(entry) => {
            object.value("position", &Value::Number(entry.position));
            let mut own = entry.clone();
            own.data = entry.own_data();
            object.row(&columns::PLACED, &own, &[]);
        }
        Line::User(user) => object.row(&columns::USER, user, &[]),
        Line::Group(group) => object.row(&columns::GROUP, group, &[]),
        Line::Silence(silence) => object.row(&columns::SILENCE, silence, &[]),
        Line::DeadAddress(dead) => object.row(&columns::DEAD_ADDRESS, dead, &[]),
        Line::Scope(scope) => object.row(&columns::SCOPE, scope, &[]),
        Line::Event(whole) => {
            object.row(&columns::EVENT, &whole.event, &PLANNING);
            let link = |link: &Link| {
                let mut object = Object::new();
                object.row(&columns::LINK, link, &[]);
                object.end()
            };
            object.raw("links", &list(&whole.links, link));
        }
        Line::Ledger(watch, row) => {
            let kept = KeptLedger { watch: watch.clone(), row: row.clone() };
            object.row(&LEDGER, &kept, &[]);
        }
        Line::Calendar(feed) => object.row(&columns::FOLLOWED, feed, &[]),
        Line::Gone(kind, key) => {
            object.text("of", kind.as_str());
            object.text("key", key);
        }
        Line::Reminder(whole) => {
            // Borrowed columns are made of one row.
            let kept = KeptReminder { reminder: whole.reminder.clone(), progress: whole.progress };
            object.row(&columns::KEPT_REMINDER, &kept, &[]);
            object.raw("runs", &runs(&whole.runs));
        }
        Line::Runs(id, these) => {
            object.text("reminder_id", &id.to_string());
            object.raw("runs", &runs(these));
        }
    }
    object.end()
}

fn runs(runs: &[WholeRun]) -> String {
    list(runs, |run| {
        let mut object = Object::new();
        object.value("run", &Value::from(run.occurrence.id.run));
        object.row(&columns::OCCURRENCE, &run.occurrence, &["reminder_id", "run", "lease"]);
        object.value("lease", &Value::from(run.lease));
        object.value("asked", &Value::from(run.occurrence.state.asked()));
        if !run.attempts.is_empty() {
            let id = run.occurrence.id;
            object.raw(
                "attempt",
                &list(&run.attempts, |attempt| {
                    let mut object = Object::new();
                    let ended = EndedAttempt { occurrence: id, attempt: attempt.clone() };
                    object.row(&columns::ATTEMPT, &ended, &NAMES);
                    object.end()
                }),
            );
        }
        if !run.responses.is_empty() {
            object.raw(
                "response",
                &list(&run.responses, |response| {
                    let mut object = Object::new();
                    object.row(&columns::RESPONSE, response, &NAMES);
                    object.end()
                }),
            );
        }
        object.end()
    })
}

fn list<T>(items: &[T], one: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(one).collect();
    format!("[{}]", items.join(","))
}

/// An object that is being written.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn raw(&mut self, name: &str, json: &str) {
        let comma = if self.0.len() > 1 { "," } else { "" };
        // A String takes everything.
        let _ = write!(self.0, "{comma}\"{name}\":{json}");
    }

    fn text(&mut self, name: &str, text: &str) {
        // A text always is JSON.
        self.raw(name, &serde_json::to_string(text).unwrap_or_default());
    }

    fn value(&mut self, name: &str, value: &Value<'_>) {
        match value {
            Value::Null | Value::Flag(false) => {}
            Value::Flag(true) => self.raw(name, "true"),
            Value::Number(number) => self.raw(name, &number.to_string()),
            Value::Id(id) => self.text(name, &ReminderId::from_bytes(**id).to_string()),
            Value::At(at) => {
                let kept = Timestamp::from_microsecond(kept_micros(*at)).unwrap_or(*at);
                self.text(name, &kept.to_string());
            }
            Value::Text(text) if JSON.contains(&name) && is_plain_json(text) => self.raw(name, text),
            Value::Text(text) => self.text(name, text),
        }
    }

    fn row<T>(&mut self, table: &Table<T>, row: &T, but: &[&str]) {
        for column in table.columns.iter().filter(|column| !but.contains(&column.name)) {
            self.value(column.name, &(column.value)(row));
        }
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Whether a text is an object or a list that fits into a line as it is.
fn is_plain_json(text: &str) -> bool {
    (text.starts_with('{') || text.starts_with('['))
        && !text.contains(['\n', '\r'])
        && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Reads a line. What is wrong with it is said by field.
pub fn from_json(json: &str) -> Result<Line, Invalid> {
    let object = fields(json, "line")?;
    let kind: LineKind = object.text("line")?.ok_or_else(|| Invalid::new("line", "is missing"))?.parse()?;
    let line = match kind {
        LineKind::Entry => {
            let names: Vec<&str> = ["position", "node"].into_iter().chain(names(journal::ENTRY)).collect();
            Line::Entry(read(&object, &names, |row| journal::placed(row))?)
        }
        LineKind::User => Line::User(read(&object, &names(rows::USER), |row| rows::user(row))?),
        LineKind::Group => Line::Group(read(&object, &names(rows::GROUP), |row| rows::group(row))?),
        LineKind::Silence => Line::Silence(read(&object, &names(rows::SILENCE), |row| rows::silence(row))?),
        LineKind::DeadAddress => Line::DeadAddress(read(&object, &["channel", "address", "since", "reason"], |row| {
            let mut from = Reader::new(row, 0);
            let address = Address::new(from.owned()?, from.owned()?);
            Ok(DeadAddress { address, since: from.at()?, reason: from.owned()? })
        })?),
        LineKind::Reminder => {
            let names: Vec<&str> = names(rows::REMINDER).into_iter().chain(names(rows::PROGRESS)).collect();
            let (reminder, progress) = read(&object, &names, |row| {
                let mut from = Reader::new(row, 0);
                Ok((rows::reminder(&mut from)?, rows::progress(&mut from)?))
            })?;
            let runs = read_runs(&object, reminder.id)?;
            Line::Reminder(Box::new(Whole { reminder, progress, runs, more_below: None }))
        }
        LineKind::Scope => Line::Scope(read(&object, &names(rows::SCOPE), |row| rows::scope(row))?),
        LineKind::Event => {
            let event = read(&object, &names(rows::EVENT), |row| rows::event(row)?.event.map_err(StoreError::Broken))?;
            let mut links = Vec::new();
            for (index, json) in object.list("links")?.into_iter().enumerate() {
                let link = fields(json.get(), "link")
                    .and_then(|object| read(&object, &names(rows::LINK), |row| rows::link(row)));
                links.push(link.map_err(|invalid| invalid.within(&format!("links[{index}]")))?);
            }
            Line::Event(Box::new(WholeEvent { event, links }))
        }
        LineKind::Ledger => {
            let watch = object.text("watch")?.ok_or_else(|| Invalid::new("watch", "is missing"))?;
            Line::Ledger(watch, read(&object, &["key", "due_at", "n", "sent_at"], |row| ledger(row))?)
        }
        LineKind::Calendar => {
            let columns = columns::FOLLOWED.names("");
            Line::Calendar(read(&object, &names(&columns), |row| rows::followed(row))?)
        }
        LineKind::Gone => {
            let missing = |field: &'static str| move || Invalid::new(field, "is missing");
            let of = object.text("of")?.ok_or_else(missing("of"))?;
            Line::Gone(of.parse()?, object.text("key")?.ok_or_else(missing("key"))?)
        }
        LineKind::Runs => {
            let id = object.text("reminder_id")?.unwrap_or_default();
            let id = id.parse().map_err(|_| Invalid::new("reminder_id", format!("`{id}` is no id")))?;
            Line::Runs(id, read_runs(&object, id)?)
        }
    };
    line.validate()?;
    Ok(line)
}

/// The names of columns in a list of them, as a SELECT has it.
fn names(columns: &str) -> Vec<&str> {
    columns
        .split(',')
        .map(|column| column.trim())
        .map(|column| column.split_once('.').map_or(column, |(_, name)| name))
        .collect()
}

fn read_runs(of: &Given<'_>, reminder: ReminderId) -> Result<Vec<WholeRun>, Invalid> {
    let mut runs = Vec::new();
    for (index, json) in of.list("runs")?.into_iter().enumerate() {
        let within = |invalid: Invalid| invalid.within(&format!("runs[{index}]"));
        runs.push(read_run(json, reminder).map_err(within)?);
    }
    Ok(runs)
}

fn read_run(json: &RawValue, reminder: ReminderId) -> Result<WholeRun, Invalid> {
    let mut object = fields(json.get(), "run")?;
    object.named = Some((reminder, None));
    let due = read(&object, &names(rows::OCCURRENCE), |row| rows::due(&mut Reader::new(row, 0)))?;
    let id = due.occurrence.id;
    let (mut attempts, mut responses) = (Vec::new(), Vec::new());
    for (index, json) in object.list("attempt")?.into_iter().enumerate() {
        let of_run = fields(json.get(), "attempt")?;
        let attempt = read(&of_run, &names(rows::ATTEMPT), |row| rows::attempt(&mut Reader::new(row, 0)));
        attempts.push(attempt.map_err(|invalid| invalid.within(&format!("attempt[{index}]")))?);
    }
    for (index, json) in object.list("response")?.into_iter().enumerate() {
        let mut of_run = fields(json.get(), "response")?;
        of_run.named = Some((id.reminder, Some(id.run)));
        let response = read(&of_run, &names(rows::RESPONSE), |row| rows::response(&mut Reader::new(row, 0)));
        responses.push(response.map_err(|invalid| invalid.within(&format!("response[{index}]")))?);
    }
    Ok(WholeRun { occurrence: due.occurrence, lease: due.lease, attempts, responses })
}

/// An object that is being read.
struct Given<'a> {
    fields: HashMap<&'a str, &'a RawValue>,
    /// The reminder and the run that it is about, where the row that it stands in says so.
    named: Option<(ReminderId, Option<u32>)>,
}

fn fields<'a>(json: &'a str, what: &str) -> Result<Given<'a>, Invalid> {
    let fields =
        serde_json::from_str(json).map_err(|error| Invalid::new(what, format!("is no JSON object: {error}")))?;
    Ok(Given { fields, named: None })
}

impl<'a> Given<'a> {
    fn text(&self, name: &str) -> Result<Option<String>, Invalid> {
        let Some(raw) = self.fields.get(name) else { return Ok(None) };
        serde_json::from_str(raw.get()).map(Some).map_err(|_| Invalid::new(name, "must be a text"))
    }

    fn list(&self, name: &str) -> Result<Vec<&'a RawValue>, Invalid> {
        let Some(raw) = self.fields.get(name) else { return Ok(Vec::new()) };
        let raw: &'a RawValue = raw;
        serde_json::from_str(raw.get()).map_err(|_| Invalid::new(name, "must be a list"))
    }

    fn cell(&self, name: &str) -> Result<Cell, Invalid> {
        match (name, self.named) {
            ("reminder_id", Some((id, _))) => return Ok(Cell::Text(id.to_string())),
            ("run", Some((_, Some(run)))) => return Ok(Cell::Number(i64::from(run))),
            _ => {}
        }
        let Some(raw) = self.fields.get(name) else { return Ok(Cell::Null) };
        let text = raw.get();
        let cell = match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Cell::Text).ok(),
            Some(b'{' | b'[') => Some(Cell::Text(text.to_owned())),
            Some(b'n') => Some(Cell::Null),
            Some(b't') => Some(Cell::Flag(true)),
            Some(b'f') => Some(Cell::Flag(false)),
            _ => text.parse().map(Cell::Number).ok(),
        };
        cell.ok_or_else(|| Invalid::new(name, format!("`{text}` is neither a text nor a whole number")))
    }
}

/// Reads the columns of these names with `of`, as they are read from a table.
fn read<T>(object: &Given<'_>, names: &[&str], of: impl Fn(&Cells<'_>) -> Result<T, StoreError>) -> Result<T, Invalid> {
    let cells = names.iter().map(|name| object.cell(name)).collect::<Result<Vec<_>, _>>()?;
    of(&Cells { names, cells }).map_err(|error| {
        let StoreError::Broken(why) = &error else { return Invalid::new("line", error.to_string()) };
        let why = why.strip_prefix("a row cannot be read: ").unwrap_or(why);
        // A column that lacks its value is named by its number.
        let number = why.strip_prefix("column ").and_then(|rest| rest.strip_suffix(" has no value"));
        match number
            .and_then(|number| number.parse::<usize>().ok())
            .and_then(|number| names.get(number.wrapping_sub(1)))
        {
            Some(name) => Invalid::new(*name, "is missing"),
            None => Invalid::new("line", why.to_owned()),
        }
    })
}

enum Cell {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
}

/// A row that came as JSON.
struct Cells<'a> {
    names: &'a [&'a str],
    cells: Vec<Cell>,
}

impl Cells<'_> {
    fn wrong(&self, index: usize, what: &str) -> StoreError {
        impossible(format!("`{}` must be {what}", self.names.get(index).copied().unwrap_or_default()))
    }
}

impl Fields for Cells<'_> {
    fn number(&self, index: usize) -> Result<Option<i64>, StoreError> {
        match &self.cells[index] {
            Cell::Null => Ok(None),
            Cell::Number(number) => Ok(Some(*number)),
            Cell::Flag(_) | Cell::Text(_) => Err(self.wrong(index, "a number")),
        }
    }

    fn text(&self, index: usize) -> Result<Option<&str>, StoreError> {
        match &self.cells[index] {
            Cell::Null => Ok(None),
            Cell::Text(text) => Ok(Some(text)),
            Cell::Flag(_) | Cell::Number(_) => Err(self.wrong(index, "a text")),
        }
    }

    fn instant(&self, index: usize) -> Result<Option<Timestamp>, StoreError> {
        let wrong = |_| self.wrong(index, "an instant such as 2026-03-02T08:00:00Z");
        self.text(index)?.map(str::parse).transpose().map_err(wrong)
    }

    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError> {
        match &self.cells[index] {
            Cell::Null => Ok(None),
            Cell::Flag(flag) => Ok(Some(*flag)),
            Cell::Number(_) | Cell::Text(_) => Err(self.wrong(index, "true or false")),
        }
    }

    fn maybe_id(&self, index: usize) -> Result<Option<ReminderId>, StoreError> {
        self.text(index)?.map(str::parse).transpose().map_err(|_| self.wrong(index, "an id"))
    }
}

/// The fields in which two lines about the same thing differ, each with what it says here and there. What no two stores share is left
/// aside: positions, and whether an import has brought an entry.
pub fn differences(one: &Line, other: &Line) -> Vec<(String, String, String)> {
    let (one, other) = (to_json(one), to_json(other));
    let (Ok(one), Ok(other)) = (serde_json::from_str(&one), serde_json::from_str(&other)) else { return Vec::new() };
    let mut found = Vec::new();
    compare("", &one, &other, &mut found);
    found
}

fn compare(at: &str, one: &serde_json::Value, other: &serde_json::Value, found: &mut Vec<(String, String, String)>) {
    use serde_json::Value as Json;
    match (one, other) {
        (Json::Object(one), Json::Object(other)) => {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names.into_iter().filter(|name| at.is_empty().then_some("position") != Some(name.as_str())) {
                let place = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                compare(&place, one.get(name).unwrap_or(&Json::Null), other.get(name).unwrap_or(&Json::Null), found);
            }
        }
        (Json::Array(one), Json::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{at}[{index}]"), one, other, found);
            }
        }
        (one, other) if one == other => {}
        (one, other) => found.push((at.to_owned(), one.to_string(), other.to_string())),
    }
}
