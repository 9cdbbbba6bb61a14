//! Flags that say when.

use serde_json::{Map, Value, json};

use super::Usage;
use crate::wire::Schedule;

/// When it is due.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct When {
    /// Once, after a span such as 5m, 2h or 1d
    #[arg(long = "in", value_name = "SPAN", group = "when", allow_hyphen_values = true)]
    after: Option<String>,
    /// Once, at a time such as 08:00 or 2026-03-02T08:00
    #[arg(long, value_name = "TIME", group = "when")]
    at: Option<String>,
    /// Again and again, such as every 2h
    #[arg(long, value_name = "SPAN", group = "when")]
    every: Option<String>,
    /// Every day at --time
    #[arg(long, requires = "time", group = "when")]
    daily: bool,
    /// On these days at --time, such as weekdays or mon,thu
    #[arg(long, value_name = "DAYS", requires = "time", group = "when", value_delimiter = ',')]
    weekly: Vec<String>,
    /// By a cron expression, such as "0 8 * * 1-5"
    #[arg(long, value_name = "EXPR", group = "when")]
    cron: Option<String>,
    /// In words, such as "workdays at 8, weekends at 10"
    #[arg(long, value_name = "WORDS", group = "when")]
    smart: Option<String>,
    /// By the lines of a calendar entry (RFC 5545), such as "RRULE:FREQ=MONTHLY;BYDAY=-1FR"; \n separates lines
    #[arg(long, value_name = "TEXT", group = "when")]
    rrule: Option<String>,
    /// The time of day for --daily and --weekly
    #[arg(long, value_name = "HH:MM", requires = "when")]
    time: Option<String>,
    /// Count --every from the start or from the last answer
    #[arg(long, value_name = "start|ack", requires = "every")]
    anchor: Option<String>,
    /// Nothing before this
    #[arg(long, value_name = "TIME", requires = "when")]
    starts: Option<String>,
    /// Nothing after this
    #[arg(long, value_name = "TIME", requires = "when")]
    until: Option<String>,
    /// Not on these: weekends, sat, july, 2026-12-25, 2026-12-24T08:00, 2026-12-24/2027-01-06
    #[arg(long, value_name = "WHEN", requires = "when", value_delimiter = ',')]
    except: Vec<String>,
}

/// The error when no option says when.
pub(super) const NO_TIME: &str = "say when: --in 5m, --at 08:00, --every 2h, --daily --time 08:00, \
     --weekly weekdays --time 09:55, --cron \"0 8 * * 1-5\" or --smart \"workdays at 8\"; or end the text with \"in 5 minutes\"";

impl When {
    /// The schedule as the API takes it. `count` is how many runs there are at most.
    pub(super) fn schedule(&self, count: Option<u32>) -> Result<Option<Schedule>, Usage> {
        let Some(Value::Object(mut schedule)) = self.rule() else { return Ok(None) };
        if self.time.is_some() && !self.daily && self.weekly.is_empty() {
            return Err(Usage("--time goes with --daily or --weekly".into()));
        }
        let bounds = [("starts_at", &self.starts), ("ends_at", &self.until), ("anchor", &self.anchor)];
        for (field, value) in bounds {
            if let Some(value) = value {
                schedule.insert(field.into(), value.clone().into());
            }
        }
        if !self.except.is_empty() {
            schedule.insert("except".into(), json!(self.except));
        }
        if let Some(count) = count {
            schedule.insert("count".into(), count.into());
        }
        Ok(Some(Schedule(Value::Object(schedule))))
    }

    fn rule(&self) -> Option<Value> {
        if let Some(span) = &self.after {
            return Some(once(span));
        }
        if let Some(at) = &self.at {
            return Some(json!({ "type": "once", "at": at }));
        }
        if let Some(every) = &self.every {
            return Some(json!({ "type": "interval", "every": every }));
        }
        if let Some(expr) = &self.cron {
            return Some(json!({ "type": "cron", "expr": expr }));
        }
        if let Some(text) = &self.smart {
            return Some(json!({ "type": "smart", "text": text }));
        }
        if let Some(text) = &self.rrule {
            // A shell makes it hard to type a line break.
            return Some(json!({ "type": "rrule", "ical": text.replace("\\n", "\n") }));
        }
        if self.daily {
            return Some(json!({ "type": "daily", "time": self.time }));
        }
        let days: Vec<&str> = self.weekly.iter().map(|day| day.trim()).filter(|day| !day.is_empty()).collect();
        (!days.is_empty()).then(|| json!({ "type": "weekly", "time": self.time, "days": days }))
    }
}

/// The schedule of something that is due once, after `span`.
pub(super) fn once(span: &str) -> Value {
    let span = span.trim();
    // Always with the word, so that it can only mean a span.
    let at = if span.starts_with("in ") { span.to_owned() } else { format!("in {span}") };
    Value::Object(Map::from_iter([("type".to_owned(), "once".into()), ("at".to_owned(), at.into())]))
}
