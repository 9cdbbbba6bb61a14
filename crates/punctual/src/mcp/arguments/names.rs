//! Names of fields, and other names for them.

use punctual_core::invalid::Invalid;
use serde_json::{Map, Value};

use super::coerce;
use crate::config::keys::nearest;

/// Each field with the other names that models give it. Names of the earlier design (`job_id`, `run_at`, `time_of_day`, …) are among them.
const NAMES: &[(&str, &[&str])] = &[
    ("action", &["operation", "command", "op", "method"]),
    ("user", &["user_id", "owner", "for_user"]),
    ("job_id", &["id", "reminder_id", "reminder", "job_name", "target", "which", "uuid", "occurrence_id"]),
    ("name", &["label"]),
    ("text", &["sentence", "utterance", "request"]),
    ("message", &["content", "body", "what", "task", "title", "description", "note", "reminder_text"]),
    ("lang", &["language", "locale"]),
    ("timezone", &["tz", "time_zone", "zone"]),
    ("priority", &["importance", "urgency"]),
    (
        "require_ack",
        &["requires_ack", "ack_required", "needs_ack", "require_acknowledgment", "require_acknowledgement"],
    ),
    ("ack_prompt", &["prompt", "question", "ack_question"]),
    ("ack_timeout", &[]),
    ("max_ack_reminders", &[]),
    ("snooze_allowed", &["allow_snooze"]),
    ("max_retries", &["retries"]),
    ("only", &[]),
    ("to", &["addresses", "recipients"]),
    ("channel", &[]),
    ("address", &[]),
    ("tags", &["tag", "labels"]),
    ("metadata", &["meta"]),
    ("escalate", &["escalation"]),
    ("misfire", &[]),
    ("on_unknown", &[]),
    ("original_text", &["original"]),
    ("paused", &["pause"]),
    ("enabled", &["active"]),
    ("snooze_minutes", &["minutes", "mins", "snooze_for", "duration", "duration_minutes", "delay"]),
    ("until", &["snooze_until", "till"]),
    ("run", &["run_number"]),
    ("status", &["state"]),
    ("q", &["query", "search", "contains", "filter"]),
    ("from", &["since"]),
    ("limit", &["max", "max_results"]),
    ("cursor", &["next_cursor", "page"]),
    // When.
    ("schedule", &["timing", "recurrence", "recurring", "repeat"]),
    ("type", &["schedule_type", "kind", "frequency", "freq"]),
    ("at", &["run_at", "datetime", "date_time", "due", "due_at", "remind_at", "run_date", "timestamp"]),
    ("in", &[]),
    ("when", &["time_expression", "phrase"]),
    ("date", &["day_of_month"]),
    ("time", &["time_of_day", "hour"]),
    ("days", &["days_of_week", "day_of_week", "weekdays", "weekday", "day"]),
    ("every", &["interval"]),
    ("interval_ms", &["every_ms", "interval_milliseconds"]),
    ("interval_seconds", &["every_seconds", "interval_s"]),
    ("interval_minutes", &["every_minutes", "interval_min"]),
    ("interval_hours", &["every_hours", "interval_h"]),
    ("expr", &["cron", "cron_expr", "cron_expression", "expression"]),
    ("ical", &["rrule"]),
    ("rules", &[]),
    ("dates", &[]),
    ("anchor", &[]),
    ("origin", &[]),
    ("starts_at", &["start", "starts", "start_at", "start_date"]),
    ("ends_at", &["end", "ends", "end_at", "end_date"]),
    ("count", &["times", "repetitions", "occurrences"]),
    ("except", &["exceptions", "excluding"]),
];

/// Objects into which a model may put all the rest.
const WRAPPERS: &[&str] = &["job", "params", "parameters", "arguments", "args", "input", "data", "payload", "reminder"];

/// The fields of a call under their own names. A field is taken out when it is read, so that the rest is what nobody wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn of(arguments: Map<String, Value>) -> Result<Self, Invalid> {
        let mut this = Self::default();
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for (name, value) in arguments {
            if !WRAPPERS.contains(&snake(&name).as_str()) {
                outer.push((name, value));
                continue;
            }
            match coerce::unpacked(value) {
                Value::Object(object) => inner.extend(object),
                value => outer.push((name, value)),
            }
        }
        // A field's own name goes before other names for it, so that the other name is the one to leave out.
        outer.sort_by_key(|(name, _)| canonical(name) != Some(name));
        for (name, value) in outer.into_iter().chain(inner) {
            this.put(&name, value)?;
        }
        Ok(this)
    }

    fn put(&mut self, given: &str, value: Value) -> Result<(), Invalid> {
        if coerce::is_nothing(&value) {
            return Ok(());
        }
        let name = canonical(given).ok_or_else(|| unknown(given))?;
        match self.0.get(name) {
            None => drop(self.0.insert(name.to_owned(), value)),
            Some(known) if *known == value => {}
            Some(_) => {
                let problem = format!("is said twice, as `{name}` and as `{given}`; leave one of them out");
                return Err(Invalid::new(given, problem));
            }
        }
        Ok(())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A field of any kind. A list or an object may also have been written as text.
    pub(super) fn any(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).map(coerce::unpacked)
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        // Words in braces are words.
        self.0.remove(name).map(|value| coerce::text(name, value)).transpose()
    }

    pub(super) fn truth(&mut self, name: &str) -> Result<Option<bool>, Invalid> {
        self.any(name).map(|value| coerce::truth(name, &value)).transpose()
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u32>, Invalid> {
        self.any(name).map(|value| coerce::number(name, &value)).transpose()
    }

    pub(super) fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Invalid> {
        self.any(name).map(|value| coerce::texts(name, value)).transpose()
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Invalid> {
        self.any(name).map(|value| coerce::object(name, value)).transpose()
    }

    /// Refuses what nobody wanted. A field that is off or zero was only filled in.
    pub(super) fn refuse_rest(self, action: &str) -> Result<(), Invalid> {
        let is_off = |value: &Value| match value {
            Value::Bool(truth) => !truth,
            Value::Number(number) => number.as_f64() == Some(0.0),
            _ => false,
        };
        match self.0.into_iter().find(|(_, value)| !is_off(value)) {
            None => Ok(()),
            Some((name, _)) => Err(Invalid::new(name, format!("is not used by `{action}`; leave it out"))),
        }
    }
}

/// The field that is meant by `given`.
pub(super) fn canonical(given: &str) -> Option<&'static str> {
    let given = snake(given);
    NAMES.iter().find(|(name, others)| *name == given || others.contains(&given.as_str())).map(|(name, _)| *name)
}

fn unknown(given: &str) -> Invalid {
    let known = || NAMES.iter().map(|(name, _)| *name);
    let hint = match nearest(&snake(given), known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "the tool's schema names the fields there are".to_owned(),
    };
    Invalid::new(given, format!("is no field; {hint}"))
}

/// `requireAck` and `require-ack` as `require_ack`.
fn snake(given: &str) -> String {
    let mut snake = String::with_capacity(given.len());
    let mut before: Option<char> = None;
    for c in given.trim().chars() {
        match c {
            '-' | ' ' | '.' => snake.push('_'),
            c if c.is_ascii_uppercase() => {
                if before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit()) {
                    snake.push('_');
                }
                snake.push(c.to_ascii_lowercase());
            }
            c => snake.push(c),
        }
        before = Some(c);
    }
    snake
}
