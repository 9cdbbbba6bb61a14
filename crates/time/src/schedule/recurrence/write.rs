//! A rule as RFC 5545 text.

use std::fmt::{self, Write as _};

use jiff::civil::{DateTime, Weekday};

use super::{Freq, NthDay, Recurrence};

impl fmt::Display for Recurrence {
    /// Writes the rule as it stands: put it in normal form first where texts are to be compared.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FREQ={}", self.freq.word())?;
        if self.interval > 1 {
            write!(f, ";INTERVAL={}", self.interval)?;
        }
        if let Some(until) = self.until {
            write!(f, ";UNTIL={}", stamp(until))?;
        }
        list(f, "BYMONTH", &self.by_month)?;
        list(f, "BYWEEKNO", &self.by_week_no)?;
        list(f, "BYYEARDAY", &self.by_year_day)?;
        list(f, "BYMONTHDAY", &self.by_month_day)?;
        list(f, "BYDAY", &self.by_day)?;
        list(f, "BYHOUR", &self.by_hour)?;
        list(f, "BYMINUTE", &self.by_minute)?;
        list(f, "BYSECOND", &self.by_second)?;
        list(f, "BYSETPOS", &self.by_set_pos)?;
        if self.week_start != Weekday::Monday {
            write!(f, ";WKST={}", code(self.week_start))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recurrence({self})")
    }
}

impl fmt::Display for NthDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(nth) = self.nth {
            write!(f, "{nth}")?;
        }
        f.write_str(code(self.day))
    }
}

impl Freq {
    /// The word for it in a rule, such as `WEEKLY`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Secondly => "SECONDLY",
            Self::Minutely => "MINUTELY",
            Self::Hourly => "HOURLY",
            Self::Daily => "DAILY",
            Self::Weekly => "WEEKLY",
            Self::Monthly => "MONTHLY",
            Self::Yearly => "YEARLY",
        }
    }
}

/// A local time as calendars write it: `20260302T080000`.
pub(in super::super) fn stamp(time: DateTime) -> String {
    let (date, clock) = (time.date(), time.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}", clock.hour(), clock.minute(), clock.second())
}

/// The two letters of a weekday.
pub(super) fn code(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, name: &str, values: &[T]) -> fmt::Result {
    for (index, value) in values.iter().enumerate() {
        match index {
            0 => write!(f, ";{name}={value}")?,
            _ => {
                f.write_char(',')?;
                write!(f, "{value}")?;
            }
        }
    }
    Ok(())
}
