//! A schedule as users write it, and what is wrong with it when it cannot be understood.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::exceptions::EXCEPTIONS_MAX;
use super::ical;
use super::instant::{parse_clock, parse_instant_within};
use super::json::parse_day;
use super::smart::WORDS_BYTES_MAX;
use super::{Anchor, CronExpr, Exceptions, Recurrence, Rule, Schedule, Smart, Weekdays};
use crate::invalid::{Fault, Faults, Invalid};
use crate::phrase;
use crate::span;
use crate::steps::{Steps, TOO_MUCH};
use crate::zone::Zone;

/// How far in the past a `once` may lie and still be accepted: a request takes a while to arrive.
const PAST_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// Each type and the fields it has beside `type` and the bounds.
const TYPES: [(&str, &[&str]); 7] = [
    ("once", &["at"]),
    ("interval", &["every", "anchor", "origin"]),
    ("daily", &["time"]),
    ("weekly", &["time", "days"]),
    ("cron", &["expr"]),
    ("smart", &["text", "rules", "anchor", "dates"]),
    ("rrule", &["ical"]),
];
const BOUNDS: [&str; 4] = ["starts_at", "ends_at", "count", "except"];

impl Schedule {
    /// Reads what a user wrote, with local times in `zone` and spans counted from `now`.
    ///
    /// The schedule is valid when this succeeds. Otherwise the error names the field, without the name of whatever
    /// the schedule is part of, and says what would be right.
    pub fn from_input(value: &Value, zone: &Zone, now: Timestamp) -> Result<Self, Invalid> {
        Self::from_input_within(value, zone, now, &Steps::of_request(1))
    }

    /// The same as a part of a request that has so many steps left. A schedule that takes more is refused.
    pub fn from_input_within(value: &Value, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Self, Invalid> {
        match Self::read(value, zone, now, steps) {
            // A phrase or a search that was cut short has no reason of its own worth telling.
            Err(invalid) if steps.are_spent() && !invalid.problem.contains(TOO_MUCH) => {
                Err(Invalid::new(invalid.field, TOO_MUCH))
            }
            read => read,
        }
    }

    fn read(value: &Value, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Self, Invalid> {
        let Value::Object(fields) = value else {
            let example = r#"write an object such as {"type":"daily","time":"08:00"}"#;
            return Err(Invalid::missing("type", example));
        };
        let input = Input { fields, zone, now, steps };
        let kind = input.kind()?;
        let mut faults = Faults::default();
        faults.note(input.refuse_unknown(kind));
        let schedule = faults.note(input.schedule(kind));
        if schedule.is_none() {
            input.check_bounds(&mut faults);
        }
        faults.finish()?;
        // Without one, something was noted.
        let schedule = schedule.ok_or_else(|| Invalid::new("type", "cannot be read"))?;
        let field = match kind {
            _ if !schedule.except.is_empty() && kind != "rrule" => "except",
            "smart" if input.value("rules").is_none() => "text",
            "smart" => "rules",
            "rrule" => "ical",
            "cron" => "expr",
            other => other,
        };
        schedule.admit(zone, now, steps).map_err(|problem| Invalid::new(field, problem))?;
        Ok(schedule)
    }
}

struct Input<'a> {
    fields: &'a Map<String, Value>,
    zone: &'a Zone,
    now: Timestamp,
    steps: &'a Steps,
}

impl<'a> Input<'a> {
    fn schedule(&self, kind: &str) -> Result<Schedule, Invalid> {
        let (input, zone, now) = (self, self.zone, self.now);
        let rule = match kind {
            "once" => Rule::Once { at: input.at()? },
            "interval" => {
                let mut faults = Faults::default();
                let every = input
                    .need("every", "2h")
                    .and_then(|text| span::parse(text).map_err(|problem| Invalid::new("every", problem)));
                let anchor = input.text("anchor", "start").and_then(|word| word.map(str::parse::<Anchor>).transpose());
                let (every, anchor) = (faults.note(every), faults.note(anchor).flatten().unwrap_or_default());
                let origin = faults.note(input.instant("origin")).flatten().unwrap_or(now);
                faults.finish()?;
                let every = every.ok_or_else(|| Invalid::new("every", "cannot be read"))?;
                Rule::Interval { every, anchor, origin }
            }
            "daily" => Rule::Daily { time: input.time()? },
            "weekly" => {
                let mut faults = Faults::default();
                let (time, days) = (faults.note(input.time()), faults.note(input.days()));
                faults.finish()?;
                let (time, days) = time.zip(days).ok_or_else(|| Invalid::new("time", "cannot be read"))?;
                Rule::Weekly { time, days }
            }
            "cron" => Rule::Cron(CronExpr::parse(input.need("expr", "0 8 * * 1-5")?)?),
            "rrule" => {
                return input.bounded(ical::read(input.need("ical", "RRULE:FREQ=DAILY")?, zone, now, input.steps)?);
            }
            _ if input.value("rules").is_some() => Rule::Smart(input.smart()?),
            _ => return input.bounded(input.said()?),
        };
        input.bounded(Schedule::new(rule))
    }

    fn kind(&self) -> Result<&'static str, Invalid> {
        let word = self.need("type", "once")?;
        TYPES.iter().map(|(kind, _)| *kind).find(|kind| *kind == word).ok_or_else(|| {
            let kinds = TYPES.map(|(kind, _)| kind);
            Invalid::new("type", format!("`{word}` is not a type; {}", suggest(word, &kinds)))
        })
    }

    fn refuse_unknown(&self, kind: &str) -> Result<(), Invalid> {
        let own = TYPES.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, own)| *own);
        // A bound on a `once` gets its own answer from `validate`, so here it counts as known.
        let known = |field: &str| field == "type" || own.contains(&field) || BOUNDS.contains(&field);
        let mut faults = Faults::default();
        for field in self.fields.keys().filter(|field| !known(field)) {
            let offered = match kind {
                "once" => own.to_vec(),
                _ => own.iter().copied().chain(BOUNDS).collect(),
            };
            let hint = suggest(field, &offered);
            faults.add(Invalid::new(field, format!("is not a field of a {kind} schedule; {hint}")).of(Fault::Unknown));
            if faults.is_full() {
                break;
            }
        }
        faults.finish()
    }

    /// Notes what is wrong with the bounds of a schedule whose rule cannot be read.
    fn check_bounds(&self, faults: &mut Faults) {
        faults.note(self.instant("starts_at"));
        faults.note(self.instant("ends_at"));
        faults.note(self.count());
        faults.note(self.except());
    }

    /// A field's value; `null` is as good as absent.
    fn value(&self, field: &str) -> Option<&'a Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    fn text(&self, field: &str, example: &str) -> Result<Option<&'a str>, Invalid> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                let problem = format!("is {}; write text such as \"{example}\"", kind_of(other));
                Err(Invalid::new(field, problem).of(Fault::WrongType))
            }
        }
    }

    fn need(&self, field: &str, example: &str) -> Result<&'a str, Invalid> {
        let missing = || Invalid::missing(field, &format!("write \"{field}\":\"{example}\""));
        self.text(field, example)?.ok_or_else(missing)
    }

    fn instant(&self, field: &str) -> Result<Option<Timestamp>, Invalid> {
        let Some(text) = self.text(field, "2026-03-02T08:00:00+01:00")? else {
            return Ok(None);
        };
        parse_instant_within(text, self.zone, self.now, self.steps)
            .map(Some)
            .map_err(|problem| Invalid::new(field, problem))
    }

    /// The schedule with the bounds that were given beside it. A bound that it has itself holds unless it is said anew;
    /// exceptions are added.
    fn bounded(&self, mut schedule: Schedule) -> Result<Schedule, Invalid> {
        let mut faults = Faults::default();
        if let Some(starts_at) = faults.note(self.instant("starts_at")).flatten() {
            schedule.starts_at = Some(starts_at);
            // An interval that would be counted from its creation is counted from its start instead, unless an origin was given.
            if let Rule::Interval { origin, .. } = &mut schedule.rule
                && self.value("origin").is_none()
            {
                *origin = starts_at;
            }
        }
        if let Some(ends_at) = faults.note(self.instant("ends_at")).flatten() {
            faults.note(self.refuse_past("ends_at", ends_at));
            schedule.ends_at = Some(ends_at);
        }
        schedule.count = faults.note(self.count()).flatten().or(schedule.count);
        schedule.except.extend(faults.note(self.except()).unwrap_or_default());
        if faults.is_empty() {
            faults.note(schedule.validate_within(self.steps));
        }
        faults.finish()?;
        Ok(schedule)
    }

    /// A schedule that is said in words.
    fn said(&self) -> Result<Schedule, Invalid> {
        let text = self.need("text", "workdays at 8")?;
        if text.len() > WORDS_BYTES_MAX {
            return Err(Invalid::new("text", format!("is longer than {WORDS_BYTES_MAX} bytes")));
        }
        phrase::series_within(text, None, self.zone, self.now, self.steps)
            .map_err(|reason| Invalid::new("text", format!("`{text}` is not understood: {reason}")))
    }

    /// A smart schedule by its rules.
    fn smart(&self) -> Result<Smart, Invalid> {
        let mut faults = Faults::default();
        let text = faults.note(self.text("text", "workdays at 8")).flatten().unwrap_or_default();
        let mut rules = Vec::new();
        for (field, rule) in self.list("rules", "FREQ=DAILY;BYHOUR=8;BYMINUTE=0", &mut faults) {
            rules.extend(faults.note(rule.parse::<Recurrence>().map_err(|problem| Invalid::new(field, problem))));
        }
        let anchor = self.text("anchor", "2026-03-02T08:00:00");
        let anchor = faults.note(anchor.and_then(|text| text.map(|text| local_time("anchor", text)).transpose()));
        let anchor = anchor.flatten().unwrap_or_else(|| self.zone.rules().to_datetime(self.now));
        let mut smart = Smart::new(text, rules, anchor);
        for (field, date) in self.list("dates", "2026-03-02T08:00:00", &mut faults) {
            smart.dates.extend(faults.note(local_time(&field, date)));
        }
        faults.finish()?;
        smart.dates.sort_unstable();
        smart.dates.dedup();
        Ok(smart)
    }

    fn except(&self) -> Result<Exceptions, Invalid> {
        let (mut except, mut faults) = (Exceptions::default(), Faults::default());
        let words = self.list("except", "2026-12-25", &mut faults);
        if words.len() > EXCEPTIONS_MAX {
            return Err(Invalid::new("except", format!("has more than {EXCEPTIONS_MAX} entries")));
        }
        for (field, word) in words {
            faults.note(except.read(word).map_err(|problem| Invalid::new(field, problem)));
        }
        faults.finish()?;
        Ok(except)
    }

    /// Texts, or a single one, each with the name of its place. Those that are no texts are noted.
    fn list(&self, field: &str, example: &str, faults: &mut Faults) -> Vec<(String, &'a str)> {
        match self.value(field) {
            None => Vec::new(),
            Some(Value::String(text)) => vec![(field.to_owned(), text)],
            Some(Value::Array(items)) => {
                let item = |(index, item): (usize, &'a Value)| {
                    let place = format!("{field}[{index}]");
                    let problem =
                        || Invalid::new(&place, format!("is {}; write text such as \"{example}\"", kind_of(item)));
                    let text = faults.note(item.as_str().ok_or_else(problem));
                    text.map(|text| (place, text))
                };
                items.iter().enumerate().filter_map(item).collect()
            }
            Some(other) => {
                let problem = format!("is {}; write \"{field}\":[\"{example}\"]", kind_of(other));
                faults.add(Invalid::new(field, problem));
                Vec::new()
            }
        }
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
            None => Err(Invalid::missing("days", example)),
            Some(Value::String(word)) => day("days", &Value::String(word.clone())),
            Some(Value::Array(words)) => {
                let (mut days, mut faults) = (Weekdays::NONE, Faults::default());
                for (index, word) in words.iter().enumerate() {
                    days = days.union(faults.note(day(&format!("days[{index}]"), word)).unwrap_or(Weekdays::NONE));
                }
                faults.finish()?;
                Ok(days)
            }
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

fn local_time(field: &str, text: &str) -> Result<DateTime, Invalid> {
    let is_local = text.contains(':') && !text.contains('[') && text.parse::<Timestamp>().is_err();
    let time = text.trim().parse::<DateTime>().ok().filter(|_| is_local);
    let problem = || Invalid::new(field, format!("`{text}` is not a local date and time; write 2026-03-02T08:00:00"));
    time.map(super::local::whole_second).ok_or_else(problem)
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
pub(super) fn suggest(word: &str, known: &[&str]) -> String {
    let word = word.to_lowercase();
    let score = |known: &str| strsim::jaro_winkler(&word, &known.to_lowercase());
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
    fn a_schedule_as_users_write_it_becomes_canonical() {
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
    fn a_schedule_that_was_answered_can_be_sent_back() {
        let stored = json!({"type": "interval", "every": "2h", "anchor": "start",
            "origin": "2025-01-01T00:00:00Z"});
        check(stored.clone(), stored);
        let stored = json!({"type": "smart", "text": "mondays at 8", "anchor": "2026-03-02T08:00:00",
            "rules": ["FREQ=WEEKLY;BYDAY=MO;BYHOUR=8;BYMINUTE=0"], "dates": ["2026-05-01T09:00:00"],
            "except": ["july"], "ends_at": "2027-01-01T00:00:00Z"});
        check(stored.clone(), stored);
    }

    #[test]
    fn a_smart_schedule_may_be_given_by_its_rules() {
        check(
            json!({"type": "smart", "rules": "rrule:freq=daily;byhour=9,8", "except": "Weekends"}),
            json!({"type": "smart", "rules": ["FREQ=DAILY;BYHOUR=8,9"], "anchor": "2026-03-01T10:00:00",
                "except": ["weekend"]}),
        );
        let smart = |field: &str, value: Value| {
            let mut input = json!({"type": "smart", "rules": ["FREQ=DAILY"], "anchor": "2026-03-02T08:00"});
            input[field] = value;
            input
        };
        check_refused(smart("rules", json!([])), "rules", "is empty");
        check_refused(smart("rules", json!(["FREQ=DAILY", "FREQ=X"])), "rules[1]", "FREQ: `X`");
        check_refused(smart("rules", json!(["FREQ=DAILY;COUNT=3"])), "rules[0]", "write `count` beside the rules");
        check_refused(smart("rules", json!(["FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30"])), "rules[0]", "is never due");
        check_refused(smart("rules", json!(vec!["FREQ=DAILY"; 51])), "rules", "more than 50");
        check_refused(smart("rules", json!([1])), "rules[0]", "is a number");
        check_refused(smart("anchor", json!("2026-03-02")), "anchor", "write 2026-03-02T08:00:00");
        check_refused(smart("anchor", json!("2026-03-02T08:00Z")), "anchor", "is not a local date and time");
        check_refused(smart("dates", json!(["x"])), "dates[0]", "is not a local date and time");
        check_refused(smart("ical", json!("x")), "ical", "is not a field of a smart schedule");
        check_refused(json!({"type": "smart"}), "text", "is missing");
    }

    #[test]
    fn bounds_beside_a_calendar_entry_add_to_it() {
        check(
            json!({"type": "rrule", "ical": "DTSTART:20260302T080000\nRRULE:FREQ=DAILY;COUNT=9\nEXDATE;VALUE=DATE:20260304",
                "except": ["sun"], "starts_at": "2026-03-03T00:00"}),
            json!({"type": "smart", "rules": ["FREQ=DAILY"], "anchor": "2026-03-02T08:00:00",
                "starts_at": "2026-03-02T23:00:00Z", "ends_at": "2026-03-10T07:00:00Z", "except": ["sun", "2026-03-04"]}),
        );
    }

    #[test]
    fn everything_that_is_wrong_with_a_schedule_is_named() {
        for (input, fields) in [
            (json!({"type": "weekly", "time": "25:00", "days": ["mon", "x", 5]}), &["time", "days[1]", "days[2]"][..]),
            (json!({"type": "interval", "every": "x", "anchor": "y", "origin": "z"}), &["every", "anchor", "origin"]),
            (
                json!({"type": "smart", "rules": ["FREQ=X", 1], "anchor": "x", "dates": ["y", "z"]}),
                &["rules[1]", "rules[0]", "anchor", "dates[0]", "dates[1]"],
            ),
            (json!({"type": "daily", "time": "08:00", "except": ["x y", 5]}), &["except[1]", "except[0]"]),
        ] {
            let error = read(&input).expect_err(&input.to_string());
            let found: Vec<String> = error.each().map(|one| one.field).collect();
            assert_eq!(found, fields, "{input}");
        }
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
        check_refused(json!({"type": "smart", "text": "qwrtz"}), "text", "`qwrtz` is not understood");
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
