//! When a reminder that was written in SQL, in an application's own transaction, is first due.
//!
//! SQL checks what it can and writes the schedule down as it was asked for. The claim of the run reads here what it means: zones, cron
//! expressions, calendar rules and phrases are core's business alone.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::invalid::Invalid;
use crate::schedule::Schedule;
use crate::zone::Zone;

/// Reads `asked` for a reminder made at `made_at`; returns its schedule, and when it is first due.
///
/// `asked` is JSON as the HTTP API takes a schedule; one of type `phrase` is a series or an instant in words. Everything is counted
/// from `made_at`: a node that comes late plans what it would have planned then, and the misfire policy sees to the rest.
pub fn first(asked: &str, zone: &Zone, made_at: Timestamp) -> Result<(Schedule, Timestamp), Invalid> {
    let asked: Value = serde_json::from_str(asked).map_err(|error| Invalid::new("schedule", error.to_string()))?;
    let schedule = read(&asked, zone, made_at).map_err(|invalid| invalid.within("schedule"))?;
    match schedule.first_after(zone, made_at) {
        Some(due_at) => Ok((schedule, due_at)),
        None => Err(Invalid::new("schedule", "is never due: every instant of it has passed")),
    }
}

fn read(asked: &Value, zone: &Zone, made_at: Timestamp) -> Result<Schedule, Invalid> {
    if asked["type"] != "phrase" {
        return Schedule::from_input(asked, zone, made_at);
    }
    let mut series = asked.clone();
    series["type"] = json!("smart");
    Schedule::from_input(&series, zone, made_at).or_else(|invalid| {
        let mut once = asked.clone();
        if let Value::Object(fields) = &mut once {
            let text = fields.remove("text");
            fields.insert("type".into(), json!("once"));
            fields.insert("at".into(), text.unwrap_or(Value::Null));
        }
        // Words that are neither are answered as a series: a phrase of one instant is the simpler of the two.
        Schedule::from_input(&once, zone, made_at).map_err(|_| invalid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_AT: &str = "2026-03-27T09:00:00Z";

    fn read(asked: &Value) -> Result<(Schedule, Timestamp), Invalid> {
        first(&asked.to_string(), &Zone::named("Europe/Berlin").unwrap(), MADE_AT.parse().unwrap())
    }

    #[test]
    fn the_first_run_is_counted_from_when_the_reminder_was_made() {
        for (asked, kind, due_at) in [
            (json!({"type": "daily", "time": "08:05:00"}), "daily", "2026-03-28T07:05:00Z"),
            // Clocks in Berlin show no 02:30 on the 29th.
            (json!({"type": "weekly", "time": "02:30:00", "days": ["sun"]}), "weekly", "2026-03-29T01:30:00Z"),
            (json!({"type": "interval", "every": "5400000000us"}), "interval", "2026-03-27T10:30:00Z"),
            (json!({"type": "cron", "expr": "0 8 * * 1-5"}), "cron", "2026-03-30T06:00:00Z"),
            (
                json!({"type": "rrule", "ical": "DTSTART:20260401T080000\nRRULE:FREQ=DAILY"}),
                "smart",
                "2026-04-01T06:00:00Z",
            ),
            (json!({"type": "phrase", "text": "workdays at 8"}), "weekly", "2026-03-30T06:00:00Z"),
            (json!({"type": "phrase", "text": "tomorrow at 8"}), "once", "2026-03-28T07:00:00Z"),
            (
                json!({"type": "daily", "time": "08:00", "starts_at": "2026-04-10T00:00:00Z", "count": 2}),
                "daily",
                "2026-04-10T06:00:00Z",
            ),
        ] {
            let (schedule, due) = read(&asked).unwrap_or_else(|error| panic!("{asked}: {error}"));
            assert_eq!((schedule.rule.kind(), due), (kind, due_at.parse().unwrap()), "{asked}");
        }
    }

    #[test]
    fn a_schedule_that_core_cannot_read_is_an_error_that_names_its_field() {
        for (asked, field) in [
            (json!({"type": "cron", "expr": "61 * * * *"}), "schedule.expr"),
            (json!({"type": "rrule", "ical": "RRULE:FREQ=X"}), "schedule.ical"),
            (json!({"type": "phrase", "text": "qwrtz"}), "schedule.text"),
            (json!({"type": "daily", "time": "08:00", "ends_at": "2026-03-27T10:00:00Z"}), "schedule"),
            (json!("x"), "schedule.type"),
        ] {
            assert_eq!(read(&asked).unwrap_err().field, field, "{asked}");
        }
        let invalid = first("{", &Zone::utc(), MADE_AT.parse().unwrap()).unwrap_err();
        assert_eq!(invalid.field, "schedule");
    }
}
