//! Watches: standing queries over the application's own table for what is due soon.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use punctual_time::words;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::id::{ReminderId, WatchRunId, hex};
use crate::reminder::{AckPolicy, Address, OnUnknown, Priority};
use crate::schedule::Schedule;
use crate::span;
use crate::step::Step;
use crate::template::Template;
use crate::zone::Zone;

/// The field of a message that is not a column: the due date as the user's clock shows it.
pub const DUE_FIELD: &str = "due";
/// The most rows of one batch.
pub const BATCH_MAX: usize = 10_000;
/// The most characters of a column that a message or an address takes.
pub const VALUE_CHARS_MAX: usize = 4096;
/// The longest key of a row.
pub const KEY_BYTES_MAX: usize = 512;
/// How many bad rows of one run are kept; the others are only counted.
pub const BAD_MAX: u64 = 1000;

/// A watch, as the application defined it.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// Its name. A definition of the same name replaces it.
    pub name: String,
    /// The application's database, for people: without its password.
    pub database: String,
    /// Where its rows are.
    pub rows: Rows,
    /// The column that names a row.
    pub key: String,
    /// The column that says when a row is due.
    pub due: String,
    /// The column that says when its reminder was sent, if there is one.
    pub sent: Option<String>,
    /// The column that says whom to remind, if there is one.
    pub user: Option<String>,
    /// Where to send, if it is said.
    pub to: Option<To>,
    /// What to say.
    pub message: Text,
    /// When to look.
    pub schedule: Schedule,
    /// The zone of the schedule, and of times in the table that have none.
    pub zone: Zone,
    /// How far ahead a row may be due to be reminded of now.
    pub window: Duration,
    /// How long after a reminder the same row is reminded of again.
    pub again_after: Duration,
    /// How many rows are dealt with together.
    pub batch: usize,
    /// A condition in SQL that rows must meet.
    pub only: Option<String>,
    /// How its reminders are sent and answered.
    pub asks: Asks,
}

/// Where the rows of a watch are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// In a table or a view.
    Table(String),
    /// In what a SELECT gives.
    Query(String),
}

/// A text with columns in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// As it was written.
    pub written: String,
    /// As it was read.
    pub template: Template,
}

impl Text {
    /// Reads `{title} is due {due}`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let template = Template::parse(text, |field| match field.is_empty() {
            true => Err("has an empty field {}; write a column's name in it".to_owned()),
            false => Ok(field.to_owned()),
        })?;
        Ok(Self { written: text.to_owned(), template })
    }
}

/// An address with columns in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    /// The channel's name.
    pub channel: String,
    /// The place in it.
    pub address: Text,
}

/// How a watch's reminders are sent and answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asks {
    /// Their name for people; the watch's own where it is left out.
    pub name: Option<String>,
    /// How much they matter.
    pub priority: Priority,
    /// Words by which they are found.
    pub tags: Vec<String>,
    /// Whether and how an answer is asked for.
    pub ack: Option<AckPolicy>,
    /// Who is asked when nobody answers.
    pub escalate: Vec<Step>,
    /// How many times to try again.
    pub retries_max: u32,
    /// What to do when a send was cut off.
    pub on_unknown: OnUnknown,
}

impl Watch {
    /// The columns that it reads, each once: the key, the due date, and those that messages need.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = Vec::new();
        let of_to = self.to.iter().flat_map(|to| to.address.template.fields());
        let values = self.message.template.fields().chain(of_to).map(String::as_str);
        for column in self.user.as_deref().into_iter().chain(values) {
            // A column called `due` can be the due date, which has its own place.
            if column != DUE_FIELD && !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    /// When it looks next, after `at`.
    pub fn next_after(&self, at: Timestamp) -> Option<Timestamp> {
        self.schedule.next_after(&self.zone, at)
    }

    /// The definition for people, without secrets: an address may be one.
    pub fn definition(&self) -> Value {
        let (table, query) = match &self.rows {
            Rows::Table(table) => (Some(table), None),
            Rows::Query(query) => (None, Some(query)),
        };
        let Asks { name, priority, tags, ack, escalate, retries_max, on_unknown } = &self.asks;
        let ack = ack.as_ref().map(|ack| {
            json!({ "prompt": ack.prompt, "timeout": span::format(ack.timeout), "max_reminders": ack.reminders_max })
        });
        let mut definition = json!({
            "database": self.database, "table": table, "query": query, "key": self.key, "due": self.due,
            "sent": self.sent, "user": self.user, "channel": self.to.as_ref().map(|to| &to.channel),
            "message": self.message.written, "schedule": self.schedule.to_json(), "timezone": self.zone.name(),
            "window": span::format(self.window), "again_after": span::format(self.again_after), "batch": self.batch,
            "where": self.only, "reminder_name": name, "priority": priority.as_str(), "tags": tags, "ack": ack,
            "escalate": escalate, "max_retries": retries_max, "on_unknown": on_unknown.as_str(),
        });
        if let Value::Object(fields) = &mut definition {
            fields.retain(|_, value| !value.is_null());
        }
        definition
    }

    /// Tells its rows from those of another database, table or query, or with another key: what is kept of those says nothing of these.
    pub fn rows_hash(&self) -> String {
        hashed(&rows_of(&self.definition()).to_string())
    }

    /// Tells two definitions apart. Where a database is reached by another password, the watch is the same.
    pub fn hash(&self) -> String {
        let to = self.to.as_ref().map(|to| format!("\0{}", to.address.written)).unwrap_or_default();
        hashed(&format!("{}{to}", self.definition()))
    }
}

fn hashed(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    hex(&digest[..16])
}

/// What a definition says of where its rows are.
fn rows_of(definition: &Value) -> Value {
    json!(["database", "table", "query", "key"].map(|field| &definition[field]))
}

/// Whether two definitions, as they are kept, are about the same rows.
pub fn have_same_rows(one: &str, other: &str) -> bool {
    let rows = |kept: &str| serde_json::from_str(kept).ok().map(|definition| rows_of(&definition));
    rows(one) == rows(other)
}

/// A value as the application's database has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Raw {
    /// The text that the database writes for it.
    Text(String),
    /// A whole number, of a file.
    Integer(i64),
    /// Another number, of a file.
    Real(f64),
    /// Bytes, of a file.
    Bytes(Vec<u8>),
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            // Sixteen bytes are most likely a UUID.
            Self::Bytes(bytes) => match <[u8; 16]>::try_from(&bytes[..]) {
                Ok(bytes) => write!(f, "{}", uuid::Uuid::from_bytes(bytes)),
                Err(_) => f.write_str(&hex(bytes)),
            },
        }
    }
}

impl Raw {
    /// The value as a store keeps it: a letter says what it is.
    pub fn kept(&self) -> String {
        match self {
            Self::Text(text) => format!("t{text}"),
            Self::Integer(number) => format!("i{number}"),
            Self::Real(number) => format!("r{number:?}"),
            Self::Bytes(bytes) => format!("b{}", hex(bytes)),
        }
    }

    /// All values that are shown as `text`: who has read one in the journal can find it where it is kept.
    pub fn shown_as(text: &str) -> Vec<Self> {
        let kept_as = |letter: char, text: &str| Self::try_from(format!("{letter}{text}")).ok();
        let uuid = uuid::Uuid::try_parse(text).ok().map(|uuid| Self::Bytes(uuid.as_bytes().to_vec()));
        let all = [Some(Self::Text(text.to_owned())), kept_as('i', text), kept_as('r', text), kept_as('b', text), uuid];
        all.into_iter().flatten().filter(|raw| raw.to_string() == text).collect()
    }
}

impl From<Raw> for String {
    fn from(raw: Raw) -> Self {
        raw.kept()
    }
}

impl TryFrom<String> for Raw {
    type Error = String;

    fn try_from(kept: String) -> Result<Self, String> {
        let wrong = || format!("`{kept}` is no kept value");
        let mut rest = kept.chars();
        let letter = rest.next().ok_or_else(wrong)?;
        let rest = rest.as_str();
        match letter {
            't' => Ok(Self::Text(rest.to_owned())),
            'i' => rest.parse().map(Self::Integer).map_err(|_| wrong()),
            'r' => rest.parse().map(Self::Real).map_err(|_| wrong()),
            'b' => {
                let digits = rest.as_bytes().chunks(2);
                let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                digits.map(|pair| byte(pair).ok_or_else(wrong)).collect::<Result<_, _>>().map(Self::Bytes)
            }
            _ => Err(wrong()),
        }
    }
}

/// A row of the application's, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRow {
    /// Its name; nothing is NULL.
    pub key: Option<Raw>,
    /// When it is due.
    pub due: Raw,
    /// When its reminder was sent.
    pub sent: Option<Raw>,
    /// The columns of [`Watch::columns`], in their order.
    pub values: Vec<Option<String>>,
}

/// Where reading goes on: after this row, in the database's own order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// When it is due.
    pub due: Raw,
    /// Its name.
    pub key: Raw,
}

/// What a run is about to do for one row, written before it is done: when the node dies in between, the next one finishes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// [`Watch::rows_hash`] of the definition that found the row: another one cannot look it up.
    pub rows: String,
    /// The row's name.
    pub key: Raw,
    /// Its due date.
    pub due: Raw,
    /// Its `sent` before.
    pub previous: Option<Raw>,
    /// Its `sent` afterwards.
    pub mark: Raw,
    /// The reminder's id.
    #[serde(with = "id_as_text")]
    pub id: ReminderId,
    /// The reminder that was rendered.
    pub draft: Draft,
}

/// A row's reminder: all of it that the watch does not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// Whose it is.
    pub user: String,
    /// What it says.
    pub message: String,
    /// Where to, if the watch says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<Address>,
    /// The user's zone.
    pub zone: String,
    /// When it is due: at once.
    pub at: Timestamp,
    /// The row, for the receiver.
    pub metadata: serde_json::Map<String, Value>,
}

/// When a row was last reminded of, where the application has no column for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// The row's name, as it is kept.
    pub key: String,
    /// When it is due.
    pub due_at: Timestamp,
    /// How many reminders there were.
    pub n: u32,
    /// When the last was sent.
    pub sent_at: Timestamp,
}

/// A row that could not be reminded of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// Its name.
    pub key: String,
    /// The field that is wrong, if it is one.
    pub field: Option<String>,
    /// What is wrong.
    pub problem: String,
}

/// What became of a run's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows that were due and not reminded of.
    pub seen: u64,
    /// Rows whose reminder was made.
    pub sent: u64,
    /// Rows that somebody else had dealt with.
    pub skipped: u64,
    /// Bad rows.
    pub failed: u64,
    /// Tries that were made again.
    pub retried: u64,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// Some node works on it, or did until it died.
    Running,
    /// All rows were dealt with.
    Done,
    /// It ended before that; the next one goes on.
    GivenUp,
}

words!(RunState as "state" { "running" => Running, "done" => Done, "given_up" => GivenUp });

/// One run of a watch.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchRun {
    /// Its name for machines.
    pub id: WatchRunId,
    /// Of which watch.
    pub watch: String,
    /// When it began, on whichever node.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Somebody asked for it.
    pub asked: bool,
    /// How it stands.
    pub state: RunState,
    /// The node that had it last.
    pub node: String,
    /// Where reading goes on.
    pub place: Option<Place>,
    /// What became of its rows.
    pub counts: Counts,
    /// Why it was given up.
    pub error: Option<String>,
}

impl WatchRun {
    /// A run that begins now.
    pub fn new(id: WatchRunId, watch: &str, node: &str, asked: bool, now: Timestamp) -> Self {
        let (watch, node) = (watch.to_owned(), node.to_owned());
        let (state, counts) = (RunState::Running, Counts::default());
        Self { id, watch, started_at: now, ended_at: None, asked, state, node, place: None, counts, error: None }
    }

    /// How long it took, or has taken until `now`.
    pub fn seconds(&self, now: Timestamp) -> f64 {
        let until = self.ended_at.unwrap_or(now);
        (until.duration_since(self.started_at).as_secs_f64() * 1000.0).round() / 1000.0
    }
}

/// A reminder's id as JSON has it.
mod id_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::ReminderId;

    pub(super) fn serialize<S: Serializer>(id: &ReminderId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ReminderId, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}
