//! One recurrence rule of RFC 5545: `FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0`.
//!
//! A rule names local times, counted from an anchor (the calendar's `DTSTART`). The anchor gives what the rule leaves
//! out: the time of day, the weekday of a weekly rule, the day of a monthly one, and which weeks, months or hours an
//! `INTERVAL` leaves out. A local time before the anchor is not in the set, and an anchor that does not match its own
//! rule is not in the set either: the implementations that we compare with agree on that.
//!
//! Where the RFC forbids a combination, its natural reading is taken: `BYWEEKNO`, `BYYEARDAY` and `BYMONTHDAY` limit the
//! rules that they cannot expand. A number before a weekday (`2MO`) has no natural reading but in a month or a year, and
//! is refused elsewhere.

mod calendar;
mod days;
mod expand;
mod parse;
mod shape;
mod write;

use jiff::civil::{DateTime, Weekday};

pub(super) use parse::{Limit, parse_limited, read_date, read_stamp};
pub(super) use write::stamp;

/// How often a rule comes round, before its parts say more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Freq {
    /// Every second.
    Secondly,
    /// Every minute.
    Minutely,
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every year.
    Yearly,
}

/// A weekday in a rule: each of them, or the nth of its month or year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NthDay {
    /// Which one, from 1; from the end, from -1. `None`: each.
    pub nth: Option<i8>,
    /// The weekday.
    pub day: Weekday,
}

impl NthDay {
    /// Each such day.
    pub fn each(day: Weekday) -> Self {
        Self { nth: None, day }
    }

    /// The nth such day of the month or year; -1 is the last.
    pub fn nth(nth: i8, day: Weekday) -> Self {
        Self { nth: Some(nth), day }
    }
}

/// One rule. Empty lists say nothing; [`Recurrence::default`] is every day at the anchor's time.
#[derive(Clone, PartialEq, Eq)]
pub struct Recurrence {
    /// How often it comes round.
    pub freq: Freq,
    /// Each, every second, every third, counted from the anchor; at least 1.
    pub interval: u32,
    /// Months, 1 to 12.
    pub by_month: Vec<i8>,
    /// Weeks of the year, 1 to 53; from the end, -1 to -53.
    pub by_week_no: Vec<i8>,
    /// Days of the year, 1 to 366; from the end, -1 to -366.
    pub by_year_day: Vec<i16>,
    /// Days of the month, 1 to 31; from the end, -1 to -31.
    pub by_month_day: Vec<i8>,
    /// Weekdays.
    pub by_day: Vec<NthDay>,
    /// Hours, 0 to 23.
    pub by_hour: Vec<i8>,
    /// Minutes, 0 to 59.
    pub by_minute: Vec<i8>,
    /// Seconds, 0 to 59.
    pub by_second: Vec<i8>,
    /// Which of the times that one year, month, … has, from 1; from the end, from -1.
    pub by_set_pos: Vec<i16>,
    /// The day on which weeks begin.
    pub week_start: Weekday,
    /// The last local time that may be in the set.
    pub until: Option<DateTime>,
}

impl Default for Recurrence {
    fn default() -> Self {
        Self::new(Freq::Daily)
    }
}

impl Recurrence {
    /// A rule that comes round as often as `freq` says, at what the anchor says.
    pub fn new(freq: Freq) -> Self {
        Self {
            freq,
            interval: 1,
            by_month: Vec::new(),
            by_week_no: Vec::new(),
            by_year_day: Vec::new(),
            by_month_day: Vec::new(),
            by_day: Vec::new(),
            by_hour: Vec::new(),
            by_minute: Vec::new(),
            by_second: Vec::new(),
            by_set_pos: Vec::new(),
            week_start: Weekday::Monday,
            until: None,
        }
    }

    /// The same rule at this time of day.
    #[must_use]
    pub fn at(mut self, time: jiff::civil::Time) -> Self {
        self.by_hour = vec![time.hour()];
        self.by_minute = vec![time.minute()];
        self.by_second = vec![time.second()];
        self
    }

    /// The same rule with every list in order and nothing in it twice.
    #[must_use]
    pub fn normal(mut self) -> Self {
        fn sort<T: Ord>(list: &mut Vec<T>) {
            list.sort_unstable();
            list.dedup();
        }
        sort(&mut self.by_month);
        sort(&mut self.by_week_no);
        sort(&mut self.by_year_day);
        sort(&mut self.by_month_day);
        sort(&mut self.by_hour);
        sort(&mut self.by_minute);
        sort(&mut self.by_second);
        sort(&mut self.by_set_pos);
        self.by_day.sort_unstable_by_key(|day| (day.nth, day.day.to_monday_zero_offset()));
        self.by_day.dedup();
        self.until = self.until.map(super::local::whole_second);
        self
    }
}
