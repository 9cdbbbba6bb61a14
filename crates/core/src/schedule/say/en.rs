//! English.

use super::super::Freq;
use super::super::json::clock;
use super::words::Words;
use crate::span;

pub(super) const WORDS: Words = Words {
    days: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    months: [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    workday: "weekday",
    weekend_day: "weekend day",
    day: "day",
    every: |freq, n| match n {
        1 => format!("every {}", unit(freq)),
        n => format!("every {n} {}s", unit(freq)),
    },
    of_every: |freq, n| match n {
        1 => format!("of every {}", unit(freq)),
        n => format!("of every {n} {}s", unit(freq)),
    },
    every_one_of: |days| format!("every {days}"),
    on: |what| format!("on {what}"),
    only_on: |what| format!("only on {what}"),
    the_nth: |nth, what| format!("the {} {what}", ordinal(nth)),
    the_day: |day| format!("the {}", ordinal(day.into())),
    date: |day, month| format!("{day} {month}"),
    of_months: |months| format!("of {months}"),
    in_months: |months| format!("in {months}"),
    in_weeks: |weeks| format!("in week {weeks}"),
    on_year_days: |days| format!("on day {days} of the year"),
    in_hours: |hours| format!("in the hours {hours}"),
    only_the: |places| {
        let places: Vec<String> = places.iter().map(|place| ordinal(*place)).collect();
        format!("only the {} of them", places.join(", "))
    },
    at: |times| format!("at {times}"),
    at_many: |n, first, last| format!("at {n} times from {first} to {last}"),
    and: " and ",
    once: |moment| format!("once on {moment}"),
    each_span: |every| format!("every {}", span::format(every)),
    after_answer: |every| format!("{} after each answer", span::format(every)),
    moment: |time| format!("{} at {}", time.strftime("%a %-d %b %Y"), clock(time.time())),
    from: |moment| format!("from {moment}"),
    until: |moment| format!("until {moment}"),
    times: |n| match n {
        1 => "1 time".into(),
        n => format!("{n} times"),
    },
    except: |what| format!("except {what}"),
};

fn unit(freq: Freq) -> &'static str {
    match freq {
        Freq::Secondly => "second",
        Freq::Minutely => "minute",
        Freq::Hourly => "hour",
        Freq::Daily => "day",
        Freq::Weekly => "week",
        Freq::Monthly => "month",
        Freq::Yearly => "year",
    }
}

/// `1st`, `22nd`, `last`, `2nd last`.
fn ordinal(n: i16) -> String {
    let ending = match (n.unsigned_abs() % 10, n.unsigned_abs() % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    match n {
        -1 => "last".into(),
        ..-1 => format!("{}{ending} last", n.unsigned_abs()),
        _ => format!("{n}{ending}"),
    }
}
