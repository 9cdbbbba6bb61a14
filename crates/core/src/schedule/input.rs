//! A schedule as users write it, and what is wrong with it when it cannot be understood.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::instant::{parse_clock, parse_instant};
use super::json::parse_day;
use super::{Anchor, CronExpr, Rule, Schedule, Weekdays};
use crate::invalid::Invalid;
use crate::span;
use crate::zone::Zone;

/// How far in the past a `once` may lie and still be accepted: a request takes a while to arrive.
const PAST_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// Each type and the fields it has beside `type` and the bounds.
const TYPES: [(&str, &[&str]); 6] = [
    ("once", &["at"]),
    ("interval", &["every", "anchor", "origin"]),
    ("daily", &["time"]),
    ("weekly", &["time", "days"]),
    ("cron", &["expr"]),
    ("smart", &["text"]),
];
const BOUNDS: [&str; 3] = ["starts_at", "ends_at", "count"];

impl Schedule {
    /// Reads what a user wrote, with local times in `zone` and spans counted from `now`.
    ///
    /// The schedule is valid when this succeeds. Otherwise the error names the field, without the name of whatever
    /// the schedule is part of, and says what would be right.
    pub fn from_input(value: &Value, zone: &Zone, now: Timestamp) -> Result<Self, Invalid> {
        let Value::Object(fields) = value else {
            let example = r#"write an object such as {"type":"daily","time":"08:00"}"#;
            return Err(Invalid::new("type", format!("is missing; {example}")));
        };
        let input = Input { fields, zone, now };
        let kind = input.kind()?;
        input.refuse_unknown(kind)?;
        let starts_at = input.instant("starts_at")?;
        let rule = match kind {
            "once" => Rule::Once { at: input.at()? },
            "interval" => Rule::Interval {
                every: span::parse(input.need("every", "2h")?).map_err(|problem| Invalid::new("every", problem))?,
                anchor: match input.text("anchor", "start")? {
                    Some(word) => word.parse()?,
                    None => Anchor::default(),
                },
                origin: input.instant("origin")?.or(starts_at).unwrap_or(now),
            },
            "daily" => Rule::Daily { time: input.time()? },
            "weekly" => Rule::Weekly { time: input.time()?, days: input.days()? },
            "cron" => Rule::Cron(CronExpr::parse(input.need("expr", "0 8 * * 1-5")?)?),
            _ => Rule::Smart { text: input.need("text", "workdays at 8")?.to_owned() },
        };
        let ends_at = input.instant("ends_at")?;
        if let Some(ends_at) = ends_at {
            input.refuse_past("ends_at", ends_at)?;
        }
        let schedule = Self { rule, starts_at, ends_at, count: input.count()? };
        schedule.validate()?;
        Ok(schedule)
    }
}

struct Input<'a> {
    fields: &'a Map<String, Value>,
    zone: &'a Zone,
    now: Timestamp,
}

impl<'a> Input<'a> {
    fn kind(&self) -> Result<&'static str, Invalid> {
        let word = self.need("type", "once")?;
        if word == "rrule" {
            let problem = "rrule schedules are not available yet; use daily, weekly or cron";
            return Err(Invalid::new("type", problem));
        }
        TYPES.iter().map(|(kind, _)| *kind).find(|kind| *kind == word).ok_or_else(|| {
            let kinds = TYPES.map(|(kind, _)| kind);
            Invalid::new("type", format!("`{word}` is not a type; {}", suggest(word, &kinds)))
        })
    }

    fn refuse_unknown(&self, kind: &str) -> Result<(), Invalid> {
        let own = TYPES.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, own)| *own);
        // A bound on a `once` gets its own answer from `validate`, so here it counts as known.
        let known = |field: &str| field == "type" || own.contains(&field) || BOUNDS.contains(&field);
        match self.fields.keys().find(|field| !known(field)) {
            None => Ok(()),
            Some(field) => {
                let offered = match kind {
                    "once" => own.to_vec(),
                    _ => own.iter().copied().chain(BOUNDS).collect(),
                };
                let hint = suggest(field, &offered);
                Err(Invalid::new(field, format!("is not a field of a {kind} schedule; {hint}")))
            }
        }
    }

    /// A field's value; `null` is as good as absent.
    fn value(&self, field: &str) -> Option<&'a Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    fn text(&self, field: &str, example: &str) -> Result<Option<&'a str>, Invalid> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Invalid::new(field, format!("is {}; write text such as \"{example}\"", kind_of(other)))),
        }
    }

    fn need(&self, field: &str, example: &str) -> Result<&'a str, Invalid> {
        let missing = || Invalid::new(field, format!("is missing; write \"{field}\":\"{example}\""));
        self.text(field, example)?.ok_or_else(missing)
    }

    fn instant(&self, field: &str) -> Result<Option<Timestamp>, Invalid> {
        let Some(text) = self.text(field, "2026-03-02T08:00:00+01:00")? else {
            return Ok(None);
        };
        parse_instant(text, self.zone, self.now).map(Some).map_err(|problem| Invalid::new(field, problem))
    }

    fn at(&self) -> Result<Timestamp, Invalid> {
        self.need("at", "5m")?;
        let at = self.instant("at")?.unwrap_or(self.now);
        self.refuse_past("at", at)?;
        Ok(at)
    }

    fn refuse_past(&self, field: &str, at: Timestamp) -> Result<(), Invalid> {
        if self.now.duration_since(at) <= PAST_GRACE {
            return Ok(());
        }
        let now = self.now.to_zoned(self.zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        Err(Invalid::new(field, format!("is in the past (now is {now})")))
    }

    fn time(&self) -> Result<jiff::civil::Time, Invalid> {
        parse_clock(self.need("time", "08:00")?).map_err(|problem| Invalid::new("time", problem))
    }

    fn days(&self) -> Result<Weekdays, Invalid> {
        let example = r#"write "days":["mon","thu"] or ["weekdays"]"#;
        match self.value("days") {
            None => Err(Invalid::new("days", format!("is missing; {example}"))),
            Some(Value::String(word)) => day("days", &Value::String(word.clone())),
            Some(Value::Array(words)) => words
                .iter()
                .enumerate()
                .try_fold(Weekdays::NONE, |days, (index, word)| Ok(days.union(day(&format!("days[{index}]"), word)?))),
            Some(other) => Err(Invalid::new("days", format!("is {}; {example}", kind_of(other)))),
        }
    }

    fn count(&self) -> Result<Option<u32>, Invalid> {
        let Some(value) = self.value("count") else {
            return Ok(None);
        };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        match count.filter(|count| *count > 0) {
            Some(count) => Ok(Some(count)),
            None => Err(Invalid::new("count", format!("`{value}` is not a number from 1 up"))),
        }
    }
}

fn day(field: &str, value: &Value) -> Result<Weekdays, Invalid> {
    let Value::String(word) = value else {
        let problem = match value {
            // 1 is Monday to some and Sunday to others.
            Value::Number(number) => format!("`{number}` is a number; write a name such as mon"),
            other => format!("is {}; write a name such as mon", kind_of(other)),
        };
        return Err(Invalid::new(field, problem));
    };
    parse_day(word).ok_or_else(|| {
        let known = [
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "weekdays",
            "weekend",
            "daily",
        ];
        Invalid::new(field, format!("`{word}` is not a day; {}", suggest(word, &known)))
    })
}

/// Offers the nearest valid word, or all of them when none is near.
fn suggest(word: &str, known: &[&str]) -> String {
    let word = word.to_lowercase();
    let score = |known: &str| strsim::jaro_winkler(&word, known);
    match known.iter().max_by(|a, b| score(a).total_cmp(&score(b))) {
        Some(best) if score(best) > 0.75 => format!("did you mean `{best}`?"),
        _ => format!("use {}", known.join(", ")),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(input: &Value) -> Result<Schedule, Invalid> {
        let now = "2026-03-01T10:00:00+01:00".parse().unwrap();
        Schedule::from_input(input, &Zone::named("Europe/Berlin").unwrap(), now)
    }

    fn check(input: Value, stored: Value) {
        assert_eq!(read(&input).map(|schedule| schedule.to_json()), Ok(stored), "{input}");
    }

    fn check_refused(input: Value, field: &str, part: &str) {
        let error = read(&input).expect_err(&input.to_string());
        assert_eq!(error.field, field, "{input}: {error}");
        assert!(error.problem.contains(part), "{input}: {error}");
    }

    #[test]
    fn what_users_write_becomes_canonical() {
        let once = json!({"type": "once", "at": "2026-03-02T07:00:00Z"});
        check(json!({"type": "once", "at": "2026-03-02T08:00:00+01:00"}), once.clone());
        check(json!({"type": "once", "at": "2026-03-02 08:00"}), once.clone());
        check(json!({"type": "once", "at": "08:00"}), once.clone());
        check(json!({"type": "once", "at": "22h", "count": null}), once);
        check(
            json!({"type": "interval", "every": "120 min"}),
            json!({"type": "interval", "every": "2h", "anchor": "start",
                "origin": "2026-03-01T09:00:00Z"}),
        );
        check(
            json!({"type": "interval", "every": "2h", "anchor": "ack", "starts_at": "12:00"}),
            json!({"type": "interval", "every": "2h", "anchor": "ack",
                "origin": "2026-03-01T11:00:00Z", "starts_at": "2026-03-01T11:00:00Z"}),
        );
        check(
            json!({"type": "weekly", "time": "7:30", "days": ["Monday", "WEEKEND"], "count": 5}),
            json!({"type": "weekly", "time": "07:30", "days": ["mon", "sat", "sun"], "count": 5}),
        );
        check(
            json!({"type": "weekly", "time": "7:30", "days": "weekdays"}),
            json!({"type": "weekly", "time": "07:30", "days": ["weekdays"]}),
        );
        check(
            json!({"type": "cron", "expr": " 0 8 * * 1-5 ", "ends_at": "4w"}),
            json!({"type": "cron", "expr": "0 8 * * 1-5", "ends_at": "2026-03-29T09:00:00Z"}),
        );
    }

    #[test]
    fn what_was_answered_can_be_sent_back() {
        let stored = json!({"type": "interval", "every": "2h", "anchor": "start",
            "origin": "2025-01-01T00:00:00Z"});
        check(stored.clone(), stored);
    }

    #[test]
    fn a_once_that_is_only_just_past_is_accepted() {
        let at = json!({"type": "once", "at": "2026-03-01T09:59:00+01:00"});
        assert!(read(&at).is_ok());
        let at = json!({"type": "once", "at": "2026-03-01T09:58:59+01:00"});
        check_refused(at, "at", "is in the past (now is 2026-03-01T10:00:00+01:00)");
    }

    #[test]
    fn an_error_names_the_field_and_says_what_would_be_right() {
        check_refused(json!("daily"), "type", "write an object");
        check_refused(json!({"at": "5m"}), "type", "is missing");
        check_refused(json!({"type": "dayly", "time": "08:00"}), "type", "did you mean `daily`?");
        check_refused(json!({"type": "zzz"}), "type", "use once, interval, daily");
        check_refused(json!({"type": 5}), "type", "is a number");
        check_refused(json!({"type": "smart", "text": "x"}), "type", "not available yet");
        check_refused(json!({"type": "rrule", "ical": "x"}), "type", "not available yet");
        check_refused(json!({"type": "once"}), "at", "is missing; write \"at\":\"5m\"");
        check_refused(json!({"type": "once", "at": 5}), "at", "is a number; write text");
        check_refused(json!({"type": "once", "at": "5"}), "at", "`5` has no unit");
        check_refused(json!({"type": "once", "at": "5m", "count": 2}), "count", "is for recurring");
        check_refused(json!({"type": "daily", "tme": "08:00"}), "tme", "did you mean `time`?");
        check_refused(json!({"type": "daily", "at": "08:00"}), "at", "a field of a daily schedule");
        check_refused(json!({"type": "daily", "time": "8"}), "time", "is not a time of day");
        check_refused(json!({"type": "interval", "every": "500ms"}), "every", "shortest");
        check_refused(json!({"type": "interval", "every": "1000w"}), "every", "longest");
        check_refused(json!({"type": "interval", "every": "1h", "anchor": "x"}), "anchor", "start, ack");
        let weekly = |days: Value| json!({"type": "weekly", "time": "08:00", "days": days});
        check_refused(weekly(json!(["mon", "tusday"])), "days[1]", "did you mean `tuesday`?");
        check_refused(weekly(json!(["mon", 2])), "days[1]", "`2` is a number; write a name");
        check_refused(weekly(json!([])), "days", "is empty");
        check_refused(weekly(json!(null)), "days", "is missing");
        check_refused(json!({"type": "cron", "expr": "61 * * * *"}), "expr", "minute: `61`");
        let daily = |field: &str, value: Value| json!({"type": "daily", "time": "08:00", field: value});
        check_refused(daily("count", json!(0)), "count", "from 1 up");
        check_refused(daily("count", json!(-1)), "count", "from 1 up");
        check_refused(daily("ends_at", json!("2020-01-01T00:00Z")), "ends_at", "in the past");
        let backwards = json!({"type": "daily", "time": "08:00", "starts_at": "2d", "ends_at": "1d"});
        check_refused(backwards, "ends_at", "must be after starts_at");
    }
}
