//! The lines of a calendar entry, and the times in them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};

use super::super::recurrence::{read_date, read_stamp};
use crate::zone::Zone;

/// One line: `DTSTART;TZID=Europe/Berlin:20260302T080000`.
pub(super) struct Line<'a> {
    /// Where it stands, from 1.
    pub(super) number: usize,
    /// The name before the colon, in capitals.
    pub(super) name: String,
    params: Vec<(String, &'a str)>,
    /// The text after the colon.
    pub(super) value: &'a str,
}

/// A time as a line gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CalendarTime {
    /// Local time, in the zone of its reader.
    Floating(DateTime),
    /// Local time in a zone.
    Zoned(DateTime, Zone),
    /// An instant.
    Utc(Timestamp),
    /// A whole day.
    Day(Date),
}

/// Joins what a calendar has folded: a line that begins with a blank goes on where the one before it ended.
///
/// The number of the first of the lines that were joined goes with each.
pub(super) fn unfold(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, last))) => last.push_str(rest),
            _ => lines.push((index + 1, line.to_owned())),
        }
    }
    lines.retain(|(_, line)| !line.trim().is_empty());
    lines
}

impl<'a> Line<'a> {
    /// Reads a line. A bare rule counts as an `RRULE`.
    pub(super) fn parse(number: usize, line: &'a str) -> Result<Self, String> {
        let line = line.trim();
        let is_rule = line.split('=').next().is_some_and(|name| name.eq_ignore_ascii_case("FREQ"));
        if is_rule {
            return Ok(Self { number, name: "RRULE".into(), params: Vec::new(), value: line });
        }
        let wrong = || format!("line {number}: `{line}` is not understood; write NAME:VALUE, as in RRULE:FREQ=DAILY");
        let (head, value) = split_value(line).ok_or_else(wrong)?;
        let mut parts = head.split(';');
        let name = parts.next().unwrap_or_default().trim().to_ascii_uppercase();
        let param = |part: &'a str| {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            Ok((name.trim().to_ascii_uppercase(), value.trim().trim_matches('"')))
        };
        Ok(Self { number, name, params: parts.map(param).collect::<Result<_, String>>()?, value })
    }

    fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The times of a `DTSTART`, `RDATE` or `EXDATE`.
    pub(super) fn times(&self) -> Result<Vec<CalendarTime>, String> {
        self.value.split(',').map(|text| self.time(text.trim())).collect()
    }

    fn time(&self, text: &str) -> Result<CalendarTime, String> {
        let text = text.to_ascii_uppercase();
        // Of a period only its beginning matters to a reminder.
        let begin = text.split('/').next().unwrap_or_default();
        let wrong = || {
            let example = "write 20260302T080000, with a Z at the end for UTC, or 20260302 for a day";
            self.wrong(&format!("`{text}` is not a time; {example}"))
        };
        if let Some(date) = read_date(begin) {
            return Ok(CalendarTime::Day(date));
        }
        if let Some(utc) = begin.strip_suffix('Z') {
            let time = read_stamp(utc).and_then(|time| jiff::tz::Offset::UTC.to_timestamp(time).ok());
            return time.map(CalendarTime::Utc).ok_or_else(wrong);
        }
        let time = read_stamp(begin).ok_or_else(wrong)?;
        match self.param("TZID") {
            None => Ok(CalendarTime::Floating(time)),
            // Some programs put their own name before that of the zone: /example.org/20070129_1/Europe/Berlin.
            Some(name) => match zone_named(name) {
                Some(zone) => Ok(CalendarTime::Zoned(time, zone)),
                None => {
                    let invalid = Zone::named(name).err().map(|invalid| invalid.problem);
                    Err(self.wrong(&format!("TZID: {}", invalid.unwrap_or_default())))
                }
            },
        }
    }

    /// A problem of this line.
    pub(super) fn wrong(&self, problem: &str) -> String {
        format!("line {}: {}: {problem}", self.number, self.name)
    }
}

impl CalendarTime {
    /// The local time in `zone`; a day is its midnight.
    pub(super) fn local(&self, zone: &Zone) -> Option<DateTime> {
        match self {
            Self::Floating(time) => Some(*time),
            Self::Zoned(time, of) if of == zone => Some(*time),
            Self::Zoned(time, of) => Some(zone.rules().to_datetime(of.rules().to_timestamp(*time).ok()?)),
            Self::Utc(at) => Some(zone.rules().to_datetime(*at)),
            Self::Day(date) => Some(date.to_datetime(Time::midnight())),
        }
    }
}

/// Splits at the first colon that is not inside quotes.
fn split_value(line: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let colon = line.char_indices().find(|(_, letter)| {
        is_quoted ^= *letter == '"';
        *letter == ':' && !is_quoted
    });
    colon.map(|(at, _)| (&line[..at], line[at + 1..].trim()))
}

fn zone_named(name: &str) -> Option<Zone> {
    let slashes = name.match_indices('/').map(|(at, _)| &name[at + 1..]);
    let endings = slashes.filter(|_| name.starts_with('/'));
    std::iter::once(name).chain(endings).find_map(|name| Zone::named(name).ok())
}
