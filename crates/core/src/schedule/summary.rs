//! A schedule in plain English.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::Weekday;

use super::json::clock;
use super::{Anchor, Rule, Schedule, Weekdays};
use crate::span;
use crate::zone::Zone;

impl Schedule {
    /// Says in words when it is due, such as `every weekday at 07:30, Europe/Berlin`.
    pub fn summary(&self, zone: &Zone) -> String {
        let mut words = match &self.rule {
            Rule::Once { at } => format!("once on {}, {zone}", moment(*at, zone)),
            Rule::Interval { every, anchor: Anchor::Start, .. } => {
                format!("every {}", span::format(*every))
            }
            Rule::Interval { every, anchor: Anchor::Ack, .. } => {
                format!("{} after each answer", span::format(*every))
            }
            Rule::Daily { time } => format!("every day at {}, {zone}", clock(*time)),
            Rule::Weekly { time, days } => {
                format!("every {} at {}, {zone}", day_names(*days), clock(*time))
            }
            Rule::Cron(expr) => format!("cron `{expr}`, {zone}"),
            Rule::Smart { text } => format!("{text}, {zone}"),
        };
        // Writing to a string cannot fail.
        if let Some(starts_at) = self.starts_at {
            let _ = write!(words, ", from {}", moment(starts_at, zone));
        }
        if let Some(ends_at) = self.ends_at {
            let _ = write!(words, ", until {}", moment(ends_at, zone));
        }
        match self.count {
            None => {}
            Some(1) => words.push_str(", 1 time"),
            Some(count) => {
                let _ = write!(words, ", {count} times");
            }
        }
        words
    }
}

fn moment(at: Timestamp, zone: &Zone) -> String {
    let local = zone.rules().to_datetime(at);
    format!("{} at {}", local.strftime("%a %-d %b %Y"), clock(local.time()))
}

fn day_names(days: Weekdays) -> String {
    match days {
        Weekdays::ALL => "day".into(),
        Weekdays::WEEKDAYS => "weekday".into(),
        days => days.iter().map(day_name).collect::<Vec<_>>().join(", "),
    }
}

fn day_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
        Weekday::Sunday => "Sun",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stored: &str, expect: &str) {
        let zone = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(Schedule::from_stored(stored).unwrap().summary(&zone), expect);
    }

    #[test]
    fn a_summary_is_plain_english() {
        check(r#"{"type":"once","at":"2026-03-02T07:00:00Z"}"#, "once on Mon 2 Mar 2026 at 08:00, Europe/Berlin");
        check(r#"{"type":"interval","every":"120m","origin":"2026-03-02T07:00:00Z"}"#, "every 2h");
        check(
            r#"{"type":"interval","every":"2h","anchor":"ack","origin":"2026-03-02T07:00:00Z"}"#,
            "2h after each answer",
        );
        check(r#"{"type":"daily","time":"08:00"}"#, "every day at 08:00, Europe/Berlin");
        check(r#"{"type":"weekly","time":"07:30","days":["weekdays"]}"#, "every weekday at 07:30, Europe/Berlin");
        check(r#"{"type":"weekly","time":"09:00","days":["wed","mon"]}"#, "every Mon, Wed at 09:00, Europe/Berlin");
        check(r#"{"type":"cron","expr":"0 8 * * 1-5"}"#, "cron `0 8 * * 1-5`, Europe/Berlin");
    }

    #[test]
    fn bounds_come_last() {
        check(
            r#"{"type":"daily","time":"08:00","count":5,"starts_at":"2026-03-02T07:00:00Z","ends_at":"2026-07-01T06:30:00Z"}"#,
            "every day at 08:00, Europe/Berlin, from Mon 2 Mar 2026 at 08:00, until Wed 1 Jul 2026 at 08:30, 5 times",
        );
    }
}
