//! What a language has to bring along: one table of words is one language.

use std::time::Duration;

use super::super::Freq;

/// The words of one language. Where a word changes with a number or a case, the table has a function.
///
/// Lists are handed over joined by commas.
pub(super) struct Words {
    /// The weekdays, Monday first, as in `every Mon, Wed`.
    pub(super) days: [&'static str; 7],
    /// The months, as in `4 July`.
    pub(super) months: [&'static str; 12],
    /// What Monday to Friday are called, as in `every weekday`.
    pub(super) workday: &'static str,
    /// What Saturday and Sunday are called, as in `the first weekend day`.
    pub(super) weekend_day: &'static str,
    /// What any day is called, as in `the last day`.
    pub(super) day: &'static str,
    /// `every 3 days`; with 1, `every day`.
    pub(super) every: fn(Freq, u32) -> String,
    /// `of every 3 months`; with 1, `of every month`.
    pub(super) of_every: fn(Freq, u32) -> String,
    /// `every Mon, Wed`.
    pub(super) every_one_of: fn(&str) -> String,
    /// `on Mon, Fri`, `on the last day`, `on 4 July`.
    pub(super) on: fn(&str) -> String,
    /// `only on Mon, Fri`, for what narrows a rule down.
    pub(super) only_on: fn(&str) -> String,
    /// `the 2nd Tue`, `the last day`, counted from the end when negative.
    pub(super) the_nth: fn(i16, &str) -> String,
    /// `the 15th`, a day of the month.
    pub(super) the_day: fn(i8) -> String,
    /// `4 July`.
    pub(super) date: fn(i8, &str) -> String,
    /// `of July, August`, after a day.
    pub(super) of_months: fn(&str) -> String,
    /// `in July, August`.
    pub(super) in_months: fn(&str) -> String,
    /// `in week 20, 21`.
    pub(super) in_weeks: fn(&str) -> String,
    /// `on day 100 of the year`.
    pub(super) on_year_days: fn(&str) -> String,
    /// `in the hours 9, 10`.
    pub(super) in_hours: fn(&str) -> String,
    /// `only the 1st, last of them`.
    pub(super) only_the: fn(&[i16]) -> String,
    /// `at 08:00, 12:00`.
    pub(super) at: fn(&str) -> String,
    /// `at 32 times from 09:00 to 16:45`.
    pub(super) at_many: fn(usize, &str, &str) -> String,
    /// Between two rules that both hold.
    pub(super) and: &'static str,
    /// `once on Mon 2 Mar 2026 at 08:00`.
    pub(super) once: fn(&str) -> String,
    /// `every 2h`.
    pub(super) each_span: fn(Duration) -> String,
    /// `2h after each answer`.
    pub(super) after_answer: fn(Duration) -> String,
    /// `Mon 2 Mar 2026 at 08:00`: a moment by its weekday, date and clock.
    pub(super) moment: fn(jiff::civil::DateTime) -> String,
    /// `from Mon 2 Mar 2026 at 08:00`.
    pub(super) from: fn(&str) -> String,
    /// `until Mon 2 Mar 2026 at 08:00`.
    pub(super) until: fn(&str) -> String,
    /// `5 times`.
    pub(super) times: fn(u32) -> String,
    /// `except Sat, Sun`.
    pub(super) except: fn(&str) -> String,
}
