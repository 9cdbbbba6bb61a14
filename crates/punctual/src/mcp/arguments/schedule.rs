//! When a reminder is due: as an object, as the same fields beside the others, or in words.

use jiff::Timestamp;
use punctual_core::invalid::Invalid;
use serde_json::{Map, Value};

use super::names::{Fields, canonical};
use super::{When, coerce, days, in_a_while};

/// The fields that only schedules have.
const FLAT: &[&str] = &[
    "type",
    "at",
    "in",
    "when",
    "date",
    "time",
    "days",
    "every",
    "interval_ms",
    "interval_seconds",
    "interval_minutes",
    "interval_hours",
    "expr",
    "ical",
    "rules",
    "dates",
    "anchor",
    "origin",
    "starts_at",
    "ends_at",
    "count",
    "except",
];

/// When the call says, if it does.
pub(super) fn read(fields: &mut Fields) -> Result<Option<When>, Invalid> {
    let mut flat = Map::new();
    for name in FLAT {
        if let Some(value) = fields.any(name) {
            flat.insert((*name).to_owned(), value);
        }
    }
    let nested = match fields.any("schedule") {
        Some(Value::Object(nested)) => nested,
        Some(Value::String(words)) => match (kind(&words), cron(&words)) {
            // A type beside its fields: {"schedule":"daily","time":"08:00"}.
            (Some(_), _) if !flat.is_empty() && !flat.contains_key("type") => {
                Map::from_iter([("type".to_owned(), words.into())])
            }
            (_, Some(expr)) => Map::from_iter([("type".to_owned(), "cron".into()), ("expr".to_owned(), expr.into())]),
            _ if flat.is_empty() => return Ok(Some(When::Words(words))),
            _ => {
                let problem = "is said in words, and other fields say when as well; leave the one or the other out";
                return Err(Invalid::new("schedule", problem));
            }
        },
        None => Map::new(),
        Some(other) => {
            let example = r#"write an object such as {"type":"daily","time":"08:00"}"#;
            return Err(Invalid::new("schedule", format!("is {}; {example}", coerce::kind(&other))));
        }
    };
    if nested.is_empty() && flat.is_empty() {
        return Ok(None);
    }
    let is_nested = !nested.is_empty();
    let outer = |invalid: Invalid| if is_nested { invalid.within("schedule") } else { invalid };
    let mut given = Given::of(nested, flat).map_err(outer)?;
    // The words of a smart schedule may stand beside the message.
    if given.kind().is_some_and(|word| kind(&word) == Some("smart"))
        && !given.0.contains_key("text")
        && fields.has("text")
    {
        let text = fields.text("text")?.unwrap_or_default();
        given.0.insert("text".to_owned(), text.into());
    }
    given.when().map(Some).map_err(outer)
}

/// The type that `word` names.
fn kind(word: &str) -> Option<&'static str> {
    Some(match word.trim().to_lowercase().replace(['-', ' '], "_").as_str() {
        "once" | "one_time" | "onetime" | "one_off" | "single" | "at" | "datetime" | "date" => "once",
        "interval" | "every" | "repeat" | "repeating" | "periodic" => "interval",
        "daily" | "day" | "every_day" | "everyday" => "daily",
        "weekly" | "week" | "every_week" => "weekly",
        "cron" | "cron_expression" => "cron",
        "smart" | "natural" | "natural_language" | "words" => "smart",
        "rrule" | "ical" | "icalendar" => "rrule",
        _ => return None,
    })
}

/// `words`, if they look like a cron expression.
fn cron(words: &str) -> Option<String> {
    let fields: Vec<&str> = words.split_whitespace().collect();
    let is_field = |field: &&str| {
        field.bytes().all(|b| b.is_ascii_alphanumeric() || b"*/,-?#".contains(&b))
            && field.contains(|c: char| c.is_ascii_digit() || c == '*')
            || ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"].iter().any(|day| field.to_uppercase().starts_with(day))
    };
    let is_cron = (5..=6).contains(&fields.len()) && fields.iter().all(is_field) && words.contains('*');
    (is_cron || words.trim().starts_with('@')).then(|| words.trim().to_owned())
}

/// The fields of a schedule under their own names.
struct Given(Map<String, Value>);

impl Given {
    fn of(nested: Map<String, Value>, flat: Map<String, Value>) -> Result<Self, Invalid> {
        let mut this = Self(Map::new());
        for (name, value) in nested.into_iter().chain(flat) {
            if coerce::is_nothing(&value) {
                continue;
            }
            let name = canonical(&name).map_or(name.as_str(), |name| name).to_owned();
            match this.0.get(&name) {
                Some(known) if *known != value => {
                    return Err(Invalid::new(name, "is said twice and differently; leave one of them out"));
                }
                _ => drop(this.0.insert(name, value)),
            }
        }
        Ok(this)
    }

    fn kind(&self) -> Option<String> {
        self.0.get("type")?.as_str().map(str::to_owned)
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        self.0.remove(name).map(|value| coerce::text(name, value)).transpose()
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn when(mut self) -> Result<When, Invalid> {
        if let Some(words) = self.text("when")? {
            if self.0.is_empty() {
                return Ok(When::Words(words));
            }
            return Err(Invalid::new(
                "when",
                "says in words what other fields say as well; leave the one or the other out",
            ));
        }
        self.span()?;
        if let Some(span) = self.text("in")? {
            if self.0.contains_key("at") {
                return Err(Invalid::new("in", "says the same as `at`; leave one of them out"));
            }
            self.put("at", in_a_while(&span));
        }
        if let Some(days) = self.0.remove("days") {
            self.put("days", days::read(days)?);
        }
        if let Some(value) = self.0.remove("count") {
            self.put("count", coerce::number("count", &value)?);
        }
        if let Some(value) = self.0.remove("except") {
            self.put("except", coerce::texts("except", value)?);
        }
        let kind = self.resolve_kind()?;
        match kind.as_str() {
            "once" => self.once()?,
            "daily" | "weekly" => self.clock()?,
            _ => {}
        }
        // A time on some days.
        let is_daily_on_days = kind == "daily" && self.0.contains_key("days");
        self.put("type", if is_daily_on_days { "weekly".to_owned() } else { kind });
        Ok(When::Schedule(Value::Object(self.0)))
    }

    /// The type: as it is named, or as the fields tell it where they can mean only one.
    fn resolve_kind(&mut self) -> Result<String, Invalid> {
        let has = |this: &Self, name: &str| this.0.contains_key(name);
        if let Some(word) = self.text("type")? {
            return Ok(match word.trim().to_lowercase().as_str() {
                "hourly" if !has(self, "every") => {
                    self.put("every", "1h");
                    "interval".to_owned()
                }
                "weekdays" | "workdays" | "weekends" if !has(self, "days") => {
                    self.put("days", vec![word.trim().to_lowercase()]);
                    "weekly".to_owned()
                }
                "monthly" | "yearly" | "annually" | "quarterly" => {
                    let problem = format!(
                        "`{word}` is no type; say it in words, such as {{\"type\":\"smart\",\"text\":\"every month on the 1st at 8\"}}"
                    );
                    return Err(Invalid::new("type", problem));
                }
                // The API says what is wrong with a word that is no type.
                other => kind(other).map_or_else(|| word.trim().to_owned(), str::to_owned),
            });
        }
        let kind = if has(self, "expr") {
            "cron"
        } else if has(self, "every") {
            "interval"
        } else if has(self, "ical") {
            "rrule"
        } else if has(self, "at") || has(self, "date") {
            "once"
        } else if has(self, "days") && has(self, "time") {
            "weekly"
        } else if has(self, "rules") || has(self, "text") {
            "smart"
        } else if let Some(time) = self.0.get("time").map(|time| coerce::text("time", time.clone())) {
            let time = time?;
            let problem = format!(
                "is missing: say \"type\":\"once\" for the next {time}, or \"type\":\"daily\" for {time} on every day"
            );
            return Err(Invalid::new("type", problem));
        } else {
            let problem = "is missing; say once, interval, daily, weekly, cron or smart";
            return Err(Invalid::new("type", problem));
        };
        Ok(kind.to_owned())
    }

    /// An interval whose unit is in the name of its field.
    fn span(&mut self) -> Result<(), Invalid> {
        for (name, unit) in
            [("interval_ms", "ms"), ("interval_seconds", "s"), ("interval_minutes", "m"), ("interval_hours", "h")]
        {
            if let Some(value) = self.0.remove(name) {
                let number = coerce::number(name, &value)?;
                self.put("every", format!("{number}{unit}"));
            }
        }
        if let Some(every) = self.text("every")? {
            // `every 2 hours` is a span with a word before it.
            let span = every.trim().strip_prefix("every ").unwrap_or(&every).trim().to_owned();
            self.put("every", span);
        }
        Ok(())
    }

    /// A time of day as text. A number with a fraction could mean two: 8.3 is what is left of 8.30.
    fn time(&mut self, name: &str) -> Result<Option<String>, Invalid> {
        let number = self.0.get(name).and_then(Value::as_f64);
        match number {
            Some(number) if number.fract() != 0.0 => {
                let problem = format!(
                    "is the number {number}, which could mean several times; write it as text, such as \"08:30\""
                );
                Err(Invalid::new(name, problem))
            }
            // `8.0` is eight o'clock.
            Some(number) if (0.0..24.0).contains(&number) => {
                self.0.remove(name);
                Ok(Some(number.to_string()))
            }
            _ => self.text(name),
        }
    }

    /// A day and a time of day become one instant.
    fn once(&mut self) -> Result<(), Invalid> {
        // Also seconds or milliseconds since 1970.
        let at = self.time("at")?.map(|at| since_1970(at.trim()).unwrap_or(at));
        let (date, time) = (self.text("date")?, self.time("time")?.map(|time| clock(&time)));
        // The API would take it for a day: 8.5 is the eighth of May.
        if let Some(half) = time.as_deref().filter(|time| is_half_a_minute(time)) {
            let problem = format!("`{half}` is no time of day; write both digits of the minute, such as \"08:30\"");
            return Err(Invalid::new("time", problem));
        }
        let is_date = |text: &str| text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let at = match (at, date, time) {
            (Some(at), None, Some(time)) if is_date(at.trim()) => format!("{} {time}", at.trim()),
            (Some(at), None, None) => at,
            (None, Some(date), Some(time)) if is_date(date.trim()) => format!("{} {time}", date.trim()),
            (None, Some(date), Some(time)) => format!("{date} at {time}"),
            (None, Some(date), None) => date,
            (None, None, Some(time)) => time,
            (None, None, None) => return Ok(()),
            (Some(_), _, _) => {
                return Err(Invalid::new(
                    "at",
                    "says when, and so do `date` or `time`; leave the one or the other out",
                ));
            }
        };
        self.put("at", at);
        Ok(())
    }

    /// The time of day of a rule, which may also be called `at`.
    fn clock(&mut self) -> Result<(), Invalid> {
        let at = self.time("at")?;
        let time = match (self.time("time")?, at) {
            (Some(time), None) | (None, Some(time)) => time,
            (Some(time), Some(at)) if clock(&time) == clock(&at) => time,
            (Some(_), Some(_)) => {
                return Err(Invalid::new("at", "says another time than `time`; leave one of them out"));
            }
            (None, None) => return Ok(()),
        };
        self.put("time", clock(&time));
        Ok(())
    }
}

/// A time of day as `HH:MM`, if `text` is one in another shape: `8`, `8am`, `8:30 pm`, `8.30`, `8 Uhr`.
fn clock(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    let lower =
        lower.trim_start_matches("at ").trim_start_matches("um ").trim_end_matches("uhr").trim_end_matches('h').trim();
    let (digits, half) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(digits), _) => (digits.trim(), Some(0)),
        (_, Some(digits)) => (digits.trim(), Some(12)),
        _ => (lower, None),
    };
    let (hour, minute) = digits.split_once([':', '.']).unwrap_or((digits, "00"));
    // What is left of a minute with one digit says two times, so the API is to refuse it.
    if minute.len() != 2 {
        return text.to_owned();
    }
    let (Ok(hour), Ok(minute)) = (hour.parse::<u8>(), minute.parse::<u8>()) else { return text.to_owned() };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return text.to_owned(),
        None => hour,
    };
    if hour < 24 && minute < 60 { format!("{hour:02}:{minute:02}") } else { text.to_owned() }
}

/// Whether a time of day in digits has a minute that is not of two.
fn is_half_a_minute(time: &str) -> bool {
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    time.trim()
        .split_once([':', '.'])
        .is_some_and(|(hour, minute)| is_digits(hour) && is_digits(minute) && minute.len() != 2)
}

/// The instant that a number of seconds or milliseconds since 1970 means; a small number is no such thing.
fn since_1970(text: &str) -> Option<String> {
    let number: i64 = text.parse().ok()?;
    let at = match number {
        1_000_000_000..=99_999_999_999 => Timestamp::from_second(number),
        1_000_000_000_000..=99_999_999_999_999 => Timestamp::from_millisecond(number),
        _ => return None,
    };
    at.ok().map(|at| at.to_string())
}
