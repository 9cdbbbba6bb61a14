//! Which rows of an application are reminded of, and what a node that takes over does with what another had begun.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::instant;
use crate::clock::later;
use crate::id::{ReminderId, WatchRunId};
use crate::reminder::{Address, Metadata, Misfire, Reminder, ReminderStatus};
use crate::schedule::{Rule, Schedule};
use crate::store::NewReminder;
use crate::watch::{BadRow, DUE_FIELD, Draft, Intent, KEY_BYTES_MAX, LedgerRow, Raw, SourceRow, Watch};
use crate::zone::Zone;

/// The door of a watch's reminders.
pub const VIA: &str = "watch";

/// A row that is to be reminded of now.
#[derive(Debug, Clone, PartialEq)]
pub struct DueRow {
    /// Its name.
    pub key: Raw,
    /// Its due date as the database has it,
    pub due: Raw,
    /// and as an instant.
    pub due_at: Timestamp,
    /// When its reminder was sent, as the database has it.
    pub previous: Option<Raw>,
    /// How many reminders the ledger knows; none where the application has a column.
    pub n_before: Option<u32>,
    /// Whom to remind.
    pub user: String,
    /// Its other columns.
    pub values: Vec<Option<String>>,
}

/// Whether a row is to be reminded of now; `None`: not now.
///
/// A database compares dates in texts only roughly, so that it may give rows outside the window: the decision is made here.
/// `known` is what our own ledger says of the row. It counts together with the application's column: a database that may only be read for a
/// while is no reason to remind of a row once more. `keeps_ledger`: the next reminder is written down there.
pub fn due_row(
    watch: &Watch,
    row: SourceRow,
    known: Option<&LedgerRow>,
    keeps_ledger: bool,
    now: Timestamp,
) -> Result<Option<DueRow>, BadRow> {
    let SourceRow { key, due, sent, values } = row;
    let Some(key) = key else { return Err(bad("", Some(&watch.key), "is NULL; a row needs a name of its own")) };
    let shown = key.to_string();
    let wrong = |field: &str, problem: String| bad(&shown, Some(field), problem);
    if shown.len() > KEY_BYTES_MAX {
        let shown: String = shown.chars().take(64).collect();
        return Err(bad(&format!("{shown}…"), Some(&watch.key), format!("is longer than {KEY_BYTES_MAX} bytes")));
    }
    let due_at = read(&due, &watch.zone).map_err(|problem| wrong(&watch.due, problem))?;
    if due_at < now || due_at > later(now, watch.window) {
        return Ok(None);
    }
    let marked_at = match (&sent, &watch.sent) {
        (Some(sent), Some(column)) => match read(sent, &watch.zone) {
            Ok(at) => Some(at),
            // A column that cannot be marked may hold anything.
            Err(_) if keeps_ledger => None,
            Err(problem) => return Err(wrong(column, problem)),
        },
        _ => None,
    };
    let sent_at = marked_at.max(known.map(|row| row.sent_at));
    if sent_at.is_some_and(|sent_at| later(sent_at, watch.again_after) > now) {
        return Ok(None);
    }
    let user = match &watch.user {
        None => format!("{VIA}:{}", watch.name),
        Some(column) => {
            let index = watch.columns().iter().position(|name| name == column);
            let user = index.and_then(|index| values.get(index)).and_then(Option::as_deref).map(str::trim);
            match user {
                None | Some("") => return Err(wrong(column, "is empty; it says whom to remind".into())),
                Some(user) => user.to_owned(),
            }
        }
    };
    let (previous, n_before) = match keeps_ledger {
        true => (None, Some(known.map_or(0, |row| row.n))),
        false => (sent, None),
    };
    Ok(Some(DueRow { key, due, due_at, previous, n_before, user, values }))
}

/// The reminder of one of these `rows` ([`Watch::rows_hash`]), for a user in `zone`. Its mark is the instant of the run, in the form that suits the column.
pub fn intent(watch: &Watch, rows: &str, row: DueRow, zone: &Zone, form: Form, run: (WatchRunId, Timestamp)) -> Intent {
    let (run, at) = run;
    let columns = watch.columns();
    let value = |field: &str| {
        let index = columns.iter().position(|name| *name == field)?;
        row.values.get(index)?.as_deref()
    };
    let due = row.due_at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%d %H:%M").to_string();
    let said = |field: &String| match field.as_str() {
        DUE_FIELD => due.clone(),
        field => value(field).unwrap_or_default().to_owned(),
    };
    let message = watch.message.template.fill(said);
    let to = watch.to.as_ref().map(|to| {
        let is_url = to.address.written.contains("://");
        let address = to.address.template.fill(|field| match is_url {
            true => percent_encoded(&said(field)),
            false => said(field),
        });
        Address::new(to.channel.clone(), address)
    });
    let mut metadata = Map::new();
    for field in watch.message.template.fields().filter(|field| *field != DUE_FIELD) {
        metadata.insert(field.clone(), value(field).map_or(Value::Null, Value::from));
    }
    let about = json!({
        "name": watch.name, "key": row.key.to_string(), "due": row.due_at.to_string(), "run": run.to_string(),
    });
    metadata.insert(VIA.to_owned(), about);
    let id = id(&watch.name, &row.key, row.due_at, &previous_of(&row));
    let mark = mark(form, &watch.zone, row.previous.as_ref(), &row.due, at);
    let draft = Draft { user: row.user, message, to, zone: zone.name().to_owned(), at, metadata };
    Intent { rows: rows.to_owned(), key: row.key, due: row.due, previous: row.previous, mark, id, draft }
}

/// What tells this reminder of a row from an earlier one.
fn previous_of(row: &DueRow) -> String {
    match (&row.previous, row.n_before) {
        (_, Some(n)) => format!("number {n}"),
        (Some(previous), None) => previous.kept(),
        (None, None) => String::new(),
    }
}

/// The id of a row's reminder: the same whenever and on whichever node it is made, and another one after it was sent.
pub fn id(watch: &str, key: &Raw, due_at: Timestamp, previous: &str) -> ReminderId {
    ReminderId::imported(&format!("{VIA} {watch}"), &format!("{}\0{due_at}\0{previous}", key.kept()), due_at)
}

/// The reminder that was rendered, as it is written.
pub fn reminder(watch: &Watch, intent: &Intent) -> NewReminder {
    let Draft { user, message, to, zone, at, metadata } = &intent.draft;
    let asks = &watch.asks;
    let reminder = Reminder {
        id: intent.id,
        user: user.clone(),
        name: Some(asks.name.clone().unwrap_or_else(|| watch.name.clone())),
        message: message.clone(),
        schedule: Schedule::new(Rule::Once { at: *at }),
        timezone: Zone::named(zone).unwrap_or_else(|_| watch.zone.clone()),
        priority: asks.priority,
        to: to.iter().cloned().collect(),
        only: false,
        ack: asks.ack.clone(),
        escalate: asks.escalate.clone(),
        escalates: None,
        snooze_allowed: true,
        retries_max: asks.retries_max,
        misfire: Misfire::default(),
        on_unknown: asks.on_unknown,
        created_via: VIA.into(),
        original_text: None,
        metadata: Metadata::new(metadata),
        tags: asks.tags.clone(),
        event: None,
        status: ReminderStatus::Active,
        created_at: *at,
        updated_at: *at,
    };
    NewReminder { reminder, first_due_at: *at }
}

/// The form of the instants in a `sent` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An instant, with so many digits of a second.
    Instant(u8),
    /// A time without a zone, with so many digits of a second.
    Local(u8),
    /// A number, which the database writes as text.
    NumberText,
    /// A number.
    Number,
    /// A text.
    Text,
    /// Like the row's own dates.
    Like,
}

/// What is written into a `sent` column: `at` in the form of the column, and of the dates that stand in the row.
pub fn mark(form: Form, zone: &Zone, previous: Option<&Raw>, due: &Raw, at: Timestamp) -> Raw {
    let sample = previous.unwrap_or(due);
    let number = || {
        let is_millis = instant::is_millis(&sample.to_string());
        if is_millis { at.as_millisecond() } else { at.as_second() }
    };
    match form {
        Form::Instant(digits) => Raw::Text(format!("{}+00", civil(&TimeZone::UTC, at, digits, ' '))),
        Form::Local(digits) => Raw::Text(civil(zone.rules(), at, digits, ' ')),
        Form::NumberText => Raw::Text(number().to_string()),
        Form::Number => Raw::Integer(number()),
        Form::Text => Raw::Text(text_like(&sample.to_string(), zone, at)),
        Form::Like => match sample {
            Raw::Integer(_) | Raw::Real(_) => Raw::Integer(number()),
            Raw::Text(_) | Raw::Bytes(_) => Raw::Text(text_like(&sample.to_string(), zone, at)),
        },
    }
}

/// `at` written as `sample` is: with a blank or a T, with or without parts of a second and an offset.
fn text_like(sample: &str, zone: &Zone, at: Timestamp) -> String {
    let is_time =
        sample.len() > 10 && sample.is_char_boundary(11) && sample.get(..10).is_some_and(|day| day.contains('-'));
    if !is_time {
        return civil(&TimeZone::UTC, at, 0, 'T') + "Z";
    }
    let (separator, time) = (if sample[10..].starts_with('T') { 'T' } else { ' ' }, &sample[11..]);
    let digits = if time.contains('.') { 6 } else { 0 };
    let offset = match () {
        () if time.ends_with('Z') => "Z",
        () if time.ends_with(" UTC") => " UTC",
        () => match time.rfind(['+', '-']).map(|at| time.len() - at) {
            Some(6) => "+00:00",
            Some(5) => "+0000",
            Some(_) => "+00",
            None => return civil(zone.rules(), at, digits, separator),
        },
    };
    civil(&TimeZone::UTC, at, digits, separator) + offset
}

/// A time of day in `zone`, with so many digits of a second.
fn civil(zone: &TimeZone, at: Timestamp, digits: u8, separator: char) -> String {
    let local: DateTime = zone.to_datetime(at);
    let text = local.strftime(&format!("%Y-%m-%d{separator}%H:%M:%S")).to_string();
    let micros = local.subsec_nanosecond() / 1000;
    let fraction = format!("{micros:06}");
    // As a database writes it: without zeros at the end.
    match fraction[..usize::from(digits.min(6))].trim_end_matches('0') {
        "" => text,
        fraction => format!("{text}.{fraction}"),
    }
}

/// What a row's `sent` is now.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The row is gone.
    Gone,
    /// The row is there, with this `sent`.
    Sent(Option<Raw>),
}

/// What is done with an intent that another node, or an earlier try, has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The row is still to be marked.
    Set,
    /// The row was marked: its reminder is made.
    Create,
    /// The application has changed the row since: there is nothing to do.
    Drop,
}

/// What is done with an intent when its row says this.
pub fn resume(intent: &Intent, found: &Found, zone: &Zone) -> Step {
    match found {
        Found::Gone => Step::Drop,
        Found::Sent(sent) if *sent == intent.previous => Step::Set,
        Found::Sent(None) => Step::Drop,
        Found::Sent(Some(sent)) => {
            // A column may write the same instant in another way than it was given.
            let is_same = match (read(sent, zone), read(&intent.mark, zone)) {
                (Ok(sent), Ok(mark)) => sent == mark,
                _ => *sent == intent.mark,
            };
            if is_same { Step::Create } else { Step::Drop }
        }
    }
}

fn read(raw: &Raw, zone: &Zone) -> Result<Timestamp, String> {
    instant::read_or_midnight(&raw.to_string(), zone)
}

/// A row that cannot be reminded of.
pub fn bad(key: &str, field: Option<&str>, problem: impl Into<String>) -> BadRow {
    BadRow { key: key.to_owned(), field: field.map(str::to_owned), problem: problem.into() }
}

/// A value inside a URL, in which it must not change the path.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
