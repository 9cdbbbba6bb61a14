//! The canonical JSON of a schedule, as stores keep it and the API shows it.
//!
//! Reading it happens for every claimed reminder, so it is one flat struct that borrows from the text.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time, Weekday};
use serde::{Deserialize, Serialize};

use super::instant::parse_clock;
use super::{Anchor, CronExpr, Exceptions, Rule, Schedule, Smart, Weekdays};
use crate::{span, words};

words!(Anchor as "anchor" { "start" => Start, "ack" => Ack });

#[derive(Default, Serialize, Deserialize)]
struct Stored<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    every: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    anchor: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Timestamp>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    time: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    days: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    expr: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    rules: Option<Vec<Cow<'a, str>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dates: Option<Vec<DateTime>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    except: Option<Vec<Cow<'a, str>>>,
}

impl Schedule {
    /// The canonical JSON: instants in UTC, spans and times in their shortest form.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.stored()).expect("strings and numbers are always JSON")
    }

    /// Reads what [`Schedule::to_json`] wrote.
    pub fn from_stored(json: &str) -> Result<Self, String> {
        let stored: Stored<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        stored.schedule().map_err(|problem| format!("stored {} schedule: {problem}", stored.kind))
    }

    fn stored(&self) -> Stored<'_> {
        let bounds = Stored {
            kind: Cow::Borrowed(self.rule.kind()),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            count: self.count,
            except: (!self.except.is_empty()).then(|| self.except.words().into_iter().map(Cow::Owned).collect()),
            ..Stored::default()
        };
        match &self.rule {
            Rule::Once { at } => Stored { at: Some(*at), ..bounds },
            Rule::Interval { every, anchor, origin } => Stored {
                every: Some(span::format(*every).into()),
                anchor: Some(anchor.as_str().into()),
                origin: Some(*origin),
                ..bounds
            },
            Rule::Daily { time } => Stored { time: Some(clock(*time).into()), ..bounds },
            Rule::Weekly { time, days } => Stored {
                time: Some(clock(*time).into()),
                days: Some(day_words(*days).into_iter().map(Cow::Borrowed).collect()),
                ..bounds
            },
            Rule::Cron(expr) => Stored { expr: Some(expr.as_str().into()), ..bounds },
            Rule::Smart(smart) => Stored {
                text: (!smart.text.is_empty()).then(|| smart.text.as_str().into()),
                rules: Some(smart.rules.iter().map(|rule| rule.to_string().into()).collect()),
                anchor: Some(smart.anchor.to_string().into()),
                dates: (!smart.dates.is_empty()).then(|| smart.dates.clone()),
                ..bounds
            },
        }
    }
}

impl Stored<'_> {
    fn schedule(&self) -> Result<Schedule, String> {
        let mut except = Exceptions::default();
        for word in self.except.iter().flatten() {
            except.read(word)?;
        }
        except.normalize();
        let (starts_at, ends_at) = (self.starts_at, self.ends_at);
        Ok(Schedule { rule: self.rule()?, starts_at, ends_at, count: self.count, except })
    }

    fn rule(&self) -> Result<Rule, String> {
        Ok(match self.kind.as_ref() {
            "once" => Rule::Once { at: need("at", &self.at)? },
            "interval" => Rule::Interval {
                every: span::parse(&need("every", &self.every)?)?,
                anchor: match &self.anchor {
                    Some(word) => word.parse().map_err(|error| format!("{error}"))?,
                    None => Anchor::default(),
                },
                origin: need("origin", &self.origin)?,
            },
            "daily" => Rule::Daily { time: parse_clock(&need("time", &self.time)?)? },
            "weekly" => Rule::Weekly {
                time: parse_clock(&need("time", &self.time)?)?,
                days: need("days", &self.days)?.iter().try_fold(Weekdays::NONE, |days, word| {
                    let day = parse_day(word).ok_or_else(|| format!("unknown day `{word}`"))?;
                    Ok::<_, String>(days.union(day))
                })?,
            },
            "cron" => Rule::Cron(CronExpr::parse(&need("expr", &self.expr)?).map_err(|error| error.to_string())?),
            "smart" => Rule::Smart(self.smart()?),
            kind => return Err(format!("unknown type `{kind}`")),
        })
    }
}

impl Stored<'_> {
    fn smart(&self) -> Result<Smart, String> {
        let rules = need("rules", &self.rules)?.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
        let anchor = need("anchor", &self.anchor)?;
        let anchor = anchor.parse().map_err(|_| format!("`{anchor}` is not a local date and time"))?;
        let text = self.text.clone().unwrap_or_default();
        Ok(Smart { dates: self.dates.clone().unwrap_or_default(), ..Smart::new(text, rules, anchor) })
    }
}

impl Rule {
    /// The word for its type: `once`, `interval`, `daily`, `weekly`, `cron` or `smart`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Once { .. } => "once",
            Self::Interval { .. } => "interval",
            Self::Daily { .. } => "daily",
            Self::Weekly { .. } => "weekly",
            Self::Cron(_) => "cron",
            Self::Smart(_) => "smart",
        }
    }
}

fn need<T: Clone>(field: &str, value: &Option<T>) -> Result<T, String> {
    value.clone().ok_or_else(|| format!("`{field}` is missing"))
}

/// A time of day, without its seconds when they are zero.
pub(super) fn clock(time: Time) -> String {
    match time.second() {
        0 => format!("{:02}:{:02}", time.hour(), time.minute()),
        second => format!("{:02}:{:02}:{second:02}", time.hour(), time.minute()),
    }
}

/// The day or days that a word means, in any case.
pub(super) fn parse_day(word: &str) -> Option<Weekdays> {
    let one = |day| Some(Weekdays::NONE.with(day));
    match word.trim().to_ascii_lowercase().as_str() {
        "mon" | "monday" => one(Weekday::Monday),
        "tue" | "tues" | "tuesday" => one(Weekday::Tuesday),
        "wed" | "wednesday" => one(Weekday::Wednesday),
        "thu" | "thur" | "thurs" | "thursday" => one(Weekday::Thursday),
        "fri" | "friday" => one(Weekday::Friday),
        "sat" | "saturday" => one(Weekday::Saturday),
        "sun" | "sunday" => one(Weekday::Sunday),
        "weekday" | "weekdays" | "workday" | "workdays" => Some(Weekdays::WEEKDAYS),
        "weekend" | "weekends" => Some(Weekdays::WEEKEND),
        "daily" | "everyday" => Some(Weekdays::ALL),
        _ => None,
    }
}

pub(super) fn day_words(days: Weekdays) -> Vec<&'static str> {
    match days {
        Weekdays::ALL => vec!["daily"],
        Weekdays::WEEKDAYS => vec!["weekdays"],
        Weekdays::WEEKEND => vec!["weekend"],
        days => days.iter().map(day_word).collect(),
    }
}

fn day_word(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "mon",
        Weekday::Tuesday => "tue",
        Weekday::Wednesday => "wed",
        Weekday::Thursday => "thu",
        Weekday::Friday => "fri",
        Weekday::Saturday => "sat",
        Weekday::Sunday => "sun",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(stored: serde_json::Value) {
        let schedule = Schedule::from_stored(&stored.to_string()).unwrap();
        assert_eq!(schedule.to_json(), stored);
    }

    #[test]
    fn the_canonical_form_reads_back_as_itself() {
        check(json!({"type": "once", "at": "2026-03-02T07:00:00.123456789Z"}));
        check(json!({"type": "interval", "every": "2h", "anchor": "ack",
            "origin": "2026-03-02T07:00:00Z", "count": 5}));
        check(json!({"type": "daily", "time": "08:00", "starts_at": "2026-03-02T07:00:00Z",
            "ends_at": "2027-03-02T07:00:00Z"}));
        check(json!({"type": "daily", "time": "08:00:30"}));
        check(json!({"type": "weekly", "time": "07:30", "days": ["weekdays"]}));
        check(json!({"type": "weekly", "time": "07:30", "days": ["weekend"]}));
        check(json!({"type": "weekly", "time": "07:30", "days": ["mon", "sun"]}));
        check(json!({"type": "cron", "expr": "0 8 * * 1-5"}));
        check(json!({"type": "smart", "text": "mondays at \"8\"", "anchor": "2026-03-02T08:00:00",
            "rules": ["FREQ=WEEKLY;UNTIL=20271231T235959;BYDAY=MO;BYHOUR=8;BYMINUTE=0"]}));
        check(json!({"type": "smart", "anchor": "2026-03-02T08:00:00", "rules": ["FREQ=DAILY;INTERVAL=3"],
            "dates": ["2026-05-01T09:00:00"], "except": ["weekend", "july", "2026-12-25", "2026-12-24T08:00",
            "2026-12-24/2027-01-06"]}));
    }

    #[test]
    fn a_damaged_row_is_an_error_that_says_where() {
        for (text, part) in [
            ("", "EOF"),
            ("{}", "type"),
            (r#"{"type":"often"}"#, "unknown type `often`"),
            (r#"{"type":"daily"}"#, "stored daily schedule: `time` is missing"),
            (r#"{"type":"weekly","time":"08:00","days":["x"]}"#, "unknown day `x`"),
        ] {
            let error = Schedule::from_stored(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
