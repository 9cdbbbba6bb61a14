//! The words that a language has to bring along: one table is one language.

use jiff::civil::{Date, Weekday};

use super::super::{Freq, Weekdays};

/// The words of one language. Where words change with a number, a gender or a case, the table has a function.
pub(super) struct Words {
    /// Between the last two of a list: ` and `.
    pub(super) and: &'static str,
    /// Between two rules that both hold.
    pub(super) also: &'static str,
    /// `2 hours`.
    pub(super) length: fn(Freq, u64) -> String,
    /// `every 3 days`; with 1, `every day`.
    pub(super) every: fn(Freq, u64) -> String,
    /// `every weekday`, for Monday to Friday.
    pub(super) every_workday: &'static str,
    /// `every Monday and Friday`.
    pub(super) every_one_of: fn(Weekdays) -> String,
    /// `on Monday and Friday`, after `every 2 weeks` or `except`.
    pub(super) on_days: fn(Weekdays) -> String,
    /// `on the 2nd Tuesday and last Friday`, counted from the end when negative.
    pub(super) on_nth: fn(&[(i16, Counted)]) -> String,
    /// `on the 1st, 15th and last day`: days of the month, counted from the end when negative.
    pub(super) on_month_days: fn(&[i8]) -> String,
    /// `on the 31st (or last day)`, for months that are shorter.
    pub(super) on_day_or_last: fn(i8) -> String,
    /// `of every month`, after days.
    pub(super) of_every_month: &'static str,
    /// `of the month`, after `every 3 months` and days.
    pub(super) of_the_month: &'static str,
    /// `4 and 15 July`.
    pub(super) dates: fn(&[i8], i8) -> String,
    /// The word before a date: `on `.
    pub(super) on_date: &'static str,
    /// `in July and August`.
    pub(super) in_months: fn(&[i8]) -> String,
    /// `in week 20 and 21`.
    pub(super) in_weeks: fn(&str) -> String,
    /// `on day 100 of the year`.
    pub(super) on_year_days: fn(&str) -> String,
    /// `in the hours 9 and 10`.
    pub(super) in_hours: fn(&str) -> String,
    /// `only the 1st and last of them`.
    pub(super) only_the: fn(&[i16]) -> String,
    /// The word before the limits of a rule: `only `.
    pub(super) only: &'static str,
    /// `at 08:00 and 12:00`.
    pub(super) at: fn(&str) -> String,
    /// `at 32 times`, before `from 09:00 to 16:45`.
    pub(super) at_many: fn(usize) -> String,
    /// `from 09:00 to 16:45`.
    pub(super) between: fn(&str, &str) -> String,
    /// `once on Mon 2 Mar 2026 at 08:00`.
    pub(super) once: fn(&str) -> String,
    /// `2 hours after each answer`.
    pub(super) after_answer: fn(&str) -> String,
    /// `2 hours from now`.
    pub(super) from_now: fn(&str) -> String,
    /// `Mon 2 Mar 2026`, the day of a moment.
    pub(super) day: fn(Date) -> String,
    /// `2 March 2026`.
    pub(super) date: fn(Date) -> String,
    /// `starting Mon 2 Mar 2026 at 08:00`.
    pub(super) from: fn(&str) -> String,
    /// `until Mon 2 Mar 2026 at 08:00`.
    pub(super) until: fn(&str) -> String,
    /// `from 24 December 2026 to 6 January 2027`.
    pub(super) from_to: fn(&str, &str) -> String,
    /// `did you mean Mon 2 Mar 2026 at 08:00?`
    pub(super) did_you_mean: fn(&str) -> String,
    /// `5 times`.
    pub(super) times: fn(u32) -> String,
    /// `except on Saturday and Sunday`.
    pub(super) except: fn(&str) -> String,
}

/// The things that are counted in a month or a year.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Counted {
    Day,
    /// Monday to Friday.
    Workday,
    /// Saturday or Sunday.
    WeekendDay,
    Weekday(Weekday),
}

/// `Monday, Tuesday and Friday`, where `and` is the word between the last two.
pub(super) fn list(items: impl IntoIterator<Item = impl Into<String>>, and: &str) -> String {
    let mut items: Vec<String> = items.into_iter().map(Into::into).collect();
    match items.pop() {
        Some(last) if !items.is_empty() => format!("{}{and}{last}", items.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// The words for `days`, of seven with Monday's first.
pub(super) fn names(days: Weekdays, words: [&'static str; 7]) -> impl Iterator<Item = &'static str> {
    days.iter().map(move |day| name(day, words))
}

/// The word for `day`, of seven with Monday's first.
pub(super) fn name(day: Weekday, words: [&'static str; 7]) -> &'static str {
    words[usize::from(day.to_monday_zero_offset().unsigned_abs())]
}

/// The word for `month`, of twelve with January's first.
pub(super) fn month(month: i8, words: [&'static str; 12]) -> &'static str {
    words[usize::from(month.clamp(1, 12).unsigned_abs()) - 1]
}
