//! Reading a rule, and what is wrong with one that cannot be read.

use std::ops::RangeInclusive;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Weekday};

use super::super::input::suggest;
use super::write::code;
use super::{Freq, NthDay, Recurrence};

/// The longest rule that is read.
const RULE_BYTES_MAX: usize = 4096;

/// Where a rule ends, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Limit {
    /// It does not.
    None,
    /// After so many times, counted from the anchor.
    Count(u32),
    /// With this local time.
    Until(DateTime),
    /// With this time in UTC.
    UntilUtc(DateTime),
}

impl FromStr for Recurrence {
    type Err = String;

    /// Reads a rule such as `FREQ=WEEKLY;BYDAY=MO,FR`, with or without `RRULE:` before it.
    ///
    /// `COUNT` is refused, because it depends on the anchor, and so is an `UNTIL` in UTC, which depends on the zone; a
    /// whole calendar entry may have both.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut rule, limit) = parse_limited(text)?;
        match limit {
            Limit::None => {}
            Limit::Until(until) => rule.until = Some(until),
            Limit::UntilUtc(_) => return Err("UNTIL: is in UTC; write it in local time, without the Z".into()),
            Limit::Count(_) => return Err("COUNT: cannot be used here; write `count` beside the rules".into()),
        }
        Ok(rule)
    }
}

/// Reads a rule and where it ends. The error begins with the part that is wrong and says what would be right.
pub(in super::super) fn parse_limited(text: &str) -> Result<(Recurrence, Limit), String> {
    if text.len() > RULE_BYTES_MAX {
        return Err(format!("is longer than {RULE_BYTES_MAX} bytes"));
    }
    let upper = text.trim().to_ascii_uppercase();
    let parts = upper.strip_prefix("RRULE:").unwrap_or(&upper);
    let mut rule = Recurrence::default();
    let mut limit = Limit::None;
    let mut seen: Vec<&str> = Vec::new();
    // One `;` too many at the end is common and harmless.
    for part in parts.split(';').filter(|part| !part.trim().is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no `=`; write NAME=VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        if seen.contains(&name) {
            return Err(format!("{name}: is there twice"));
        }
        seen.push(name);
        let wrong = |problem: String| format!("{name}: {problem}");
        match name {
            "FREQ" => rule.freq = freq(value).map_err(wrong)?,
            "INTERVAL" => rule.interval = positive(value).map_err(wrong)?,
            "COUNT" => limit = Limit::Count(positive(value).map_err(wrong)?),
            "UNTIL" => limit = until(value).map_err(wrong)?,
            "BYMONTH" => rule.by_month = numbers(value, 1..=12, false).map_err(wrong)?,
            "BYWEEKNO" => rule.by_week_no = numbers(value, 1..=53, true).map_err(wrong)?,
            "BYYEARDAY" => rule.by_year_day = numbers(value, 1..=366, true).map_err(wrong)?,
            "BYMONTHDAY" => rule.by_month_day = numbers(value, 1..=31, true).map_err(wrong)?,
            "BYDAY" => rule.by_day = value.split(',').map(day).collect::<Result<_, _>>().map_err(wrong)?,
            "BYHOUR" => rule.by_hour = numbers(value, 0..=23, false).map_err(wrong)?,
            "BYMINUTE" => rule.by_minute = numbers(value, 0..=59, false).map_err(wrong)?,
            // 60 is a leap second, which clocks that have none read as 59.
            "BYSECOND" => {
                let seconds: Vec<i8> = numbers(value, 0..=60, false).map_err(wrong)?;
                rule.by_second = seconds.into_iter().map(|second| second.min(59)).collect();
            }
            "BYSETPOS" => rule.by_set_pos = numbers(value, 1..=366, true).map_err(wrong)?,
            "WKST" => rule.week_start = weekday(value).map_err(wrong)?,
            _ => return Err(unknown_part(name)),
        }
    }
    if !seen.contains(&"FREQ") {
        return Err("FREQ: is missing; write FREQ=DAILY, WEEKLY, MONTHLY or YEARLY".into());
    }
    if seen.contains(&"COUNT") && seen.contains(&"UNTIL") {
        return Err("COUNT: cannot stand beside UNTIL; write one of them".into());
    }
    rule.check()?;
    Ok((rule.normal(), limit))
}

impl Recurrence {
    /// Checks what the types cannot. The error begins with the part that is wrong.
    pub(in super::super) fn check(&self) -> Result<(), String> {
        if self.interval == 0 {
            return Err("INTERVAL: `0` is not a number from 1 up".into());
        }
        if let Some(day) = self.by_day.iter().find(|day| day.nth.is_some()) {
            if self.freq < Freq::Monthly {
                return Err(format!("BYDAY: `{day}` has a number, which only MONTHLY and YEARLY rules may have"));
            }
            if !self.by_week_no.is_empty() {
                return Err(format!("BYDAY: `{day}` has a number, which cannot stand beside BYWEEKNO"));
            }
        }
        let has_parts = !(self.by_month.is_empty()
            && self.by_week_no.is_empty()
            && self.by_year_day.is_empty()
            && self.by_month_day.is_empty()
            && self.by_day.is_empty()
            && self.by_hour.is_empty()
            && self.by_minute.is_empty()
            && self.by_second.is_empty());
        if !self.by_set_pos.is_empty() && !has_parts {
            return Err("BYSETPOS: needs another part to pick from, such as BYDAY".into());
        }
        // These can only be wrong in rules that were put together by hand.
        in_range("BYMONTH", &self.by_month, 1..=12, false)?;
        in_range("BYWEEKNO", &self.by_week_no, 1..=53, true)?;
        in_range("BYYEARDAY", &self.by_year_day, 1..=366, true)?;
        in_range("BYMONTHDAY", &self.by_month_day, 1..=31, true)?;
        in_range("BYHOUR", &self.by_hour, 0..=23, false)?;
        in_range("BYMINUTE", &self.by_minute, 0..=59, false)?;
        in_range("BYSECOND", &self.by_second, 0..=59, false)?;
        in_range("BYSETPOS", &self.by_set_pos, 1..=366, true)?;
        let nths: Vec<i8> = self.by_day.iter().filter_map(|day| day.nth).collect();
        in_range("BYDAY", &nths, 1..=53, true)
    }
}

fn in_range<T: Copy + Into<i64>>(
    part: &str,
    values: &[T],
    range: RangeInclusive<i64>,
    signed: bool,
) -> Result<(), String> {
    let wrong = |value: &T| !is_within((*value).into(), &range, signed);
    match values.iter().find(|value| wrong(value)) {
        None => Ok(()),
        Some(value) => Err(format!("{part}: {}", outside(&(*value).into().to_string(), &range, signed))),
    }
}

fn is_within(value: i64, range: &RangeInclusive<i64>, signed: bool) -> bool {
    range.contains(&value) || signed && range.contains(&-value)
}

fn outside(value: &str, range: &RangeInclusive<i64>, signed: bool) -> String {
    let (first, last) = (range.start(), range.end());
    match signed {
        true => format!("`{value}` is outside {first} to {last} and -{first} to -{last}"),
        false => format!("`{value}` is outside {first} to {last}"),
    }
}

/// A list of numbers in `range`; if `signed`, also their negatives.
fn numbers<T: TryFrom<i64>>(list: &str, range: RangeInclusive<i64>, signed: bool) -> Result<Vec<T>, String> {
    let read = |item: &str| {
        let item = item.trim();
        let value: i64 = match item.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit()) {
            true => item.parse().map_err(|_| not_a_number(item, &range)),
            false => Err(not_a_number(item, &range)),
        }?;
        let value = Some(value).filter(|value| is_within(*value, &range, signed));
        value.and_then(|value| T::try_from(value).ok()).ok_or_else(|| outside(item, &range, signed))
    };
    list.split(',').map(read).collect()
}

fn not_a_number(item: &str, range: &RangeInclusive<i64>) -> String {
    match item {
        "" => format!("a value is missing; write numbers from {} to {}", range.start(), range.end()),
        item => format!("`{item}` is not a number from {} to {}", range.start(), range.end()),
    }
}

fn positive(value: &str) -> Result<u32, String> {
    let is_number = value.bytes().all(|b| b.is_ascii_digit());
    let number = value.parse().ok().filter(|number| is_number && *number > 0);
    number.ok_or_else(|| format!("`{value}` is not a number from 1 up"))
}

fn freq(value: &str) -> Result<Freq, String> {
    let all = [Freq::Secondly, Freq::Minutely, Freq::Hourly, Freq::Daily, Freq::Weekly, Freq::Monthly, Freq::Yearly];
    let words = all.map(Freq::word).join(", ");
    all.into_iter()
        .find(|freq| freq.word() == value)
        .ok_or_else(|| format!("`{value}` is not a frequency; write {words}"))
}

/// `MO`, `2MO`, `-1FR`.
fn day(item: &str) -> Result<NthDay, String> {
    let item = item.trim();
    let name = item.trim_start_matches(['+', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let (number, day) = (&item[..item.len() - name.len()], weekday(name)?);
    if number.is_empty() {
        return Ok(NthDay::each(day));
    }
    let nth = number.parse::<i8>().ok().filter(|nth| (1..=53).contains(&nth.unsigned_abs()));
    nth.map(|nth| NthDay::nth(nth, day))
        .ok_or_else(|| format!("`{item}` is not understood; the number before a day is 1 to 53 or -1 to -53"))
}

fn weekday(word: &str) -> Result<Weekday, String> {
    let all = (0..7).filter_map(|day| Weekday::from_monday_zero_offset(day).ok());
    all.into_iter()
        .find(|day| code(*day) == word)
        .ok_or_else(|| format!("`{word}` is not a weekday; write MO, TU, WE, TH, FR, SA or SU"))
}

fn until(value: &str) -> Result<Limit, String> {
    let example = "write it as 20261231T235959Z";
    let wrong = || format!("`{value}` is not a time; {example}");
    if value.len() == 8 {
        // A date as the end means that whole day.
        let date = read_date(value).ok_or_else(wrong)?;
        return Ok(Limit::Until(date.at(23, 59, 59, 0)));
    }
    match value.strip_suffix('Z') {
        Some(value) => read_stamp(value).map(Limit::UntilUtc).ok_or_else(wrong),
        None => read_stamp(value).map(Limit::Until).ok_or_else(wrong),
    }
}

/// Reads `20260302`.
pub(in super::super) fn read_date(text: &str) -> Option<Date> {
    if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Date::new(text[..4].parse().ok()?, text[4..6].parse().ok()?, text[6..].parse().ok()?).ok()
}

/// Reads `20260302T080000`.
pub(in super::super) fn read_stamp(text: &str) -> Option<DateTime> {
    let (date, time) = text.split_once('T')?;
    if time.len() != 6 || !time.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let second: i8 = time[4..].parse().ok()?;
    let time = jiff::civil::Time::new(time[..2].parse().ok()?, time[2..4].parse().ok()?, second.min(59), 0).ok()?;
    Some(read_date(date)?.to_datetime(time))
}

fn unknown_part(name: &str) -> String {
    let known = [
        "FREQ",
        "INTERVAL",
        "COUNT",
        "UNTIL",
        "BYMONTH",
        "BYWEEKNO",
        "BYYEARDAY",
        "BYMONTHDAY",
        "BYDAY",
        "BYHOUR",
        "BYMINUTE",
        "BYSECOND",
        "BYSETPOS",
        "WKST",
    ];
    match name {
        "BYEASTER" | "RSCALE" | "SKIP" => format!("{name}: is an extension that is not supported"),
        name => format!("`{name}` is not a part of a rule; {}", suggest(name, &known)),
    }
}
