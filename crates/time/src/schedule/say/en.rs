//! English.

use super::super::Freq;
use super::words::{Counted, Words, list, month, name, names};

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
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
];
const AND: &str = " and ";

pub(super) const WORDS: Words = Words {
    and: AND,
    also: AND,
    length: |unit, n| match n {
        1 => format!("1 {}", word(unit)),
        n => format!("{n} {}s", word(unit)),
    },
    every: |unit, n| match n {
        1 => format!("every {}", word(unit)),
        n => format!("every {n} {}s", word(unit)),
    },
    every_workday: "every weekday",
    every_one_of: |days| format!("every {}", list(names(days, DAYS), AND)),
    on_days: |days| format!("on {}", list(names(days, DAYS), AND)),
    on_nth: |nths| {
        let nth = |(n, what): &(i16, Counted)| format!("{} {}", ordinal(*n), counted(*what));
        format!("on the {}", list(nths.iter().map(nth), AND))
    },
    on_month_days: |days| {
        let day = |day: &i8| match *day {
            1.. => ordinal((*day).into()),
            _ => format!("{} day", ordinal((*day).into())),
        };
        format!("on the {}", list(days.iter().map(day), AND))
    },
    on_day_or_last: |day| format!("on the {} (or last day)", ordinal(day.into())),
    of_every_month: "of every month",
    of_the_month: "of the month",
    dates: |days, of| format!("{} {}", list(days.iter().map(i8::to_string), AND), month(of, MONTHS)),
    on_date: "on ",
    in_months: |months| format!("in {}", list(months.iter().map(|of| month(*of, MONTHS)), AND)),
    in_weeks: |weeks| format!("in week {weeks}"),
    on_year_days: |days| format!("on day {days} of the year"),
    in_hours: |hours| format!("in the hours {hours}"),
    only_the: |places| format!("only the {} of them", list(places.iter().map(|place| ordinal(*place)), AND)),
    only: "only ",
    at: |times| format!("at {times}"),
    at_many: |n| format!("at {n} times"),
    between: |first, last| format!("from {first} to {last}"),
    once: |moment| format!("once on {moment}"),
    after_answer: |length| format!("{length} after each answer"),
    from_now: |length| format!("{length} from now"),
    day: |date| date.strftime("%a %-d %b %Y").to_string(),
    date: |date| format!("{} {} {}", date.day(), month(date.month(), MONTHS), date.year()),
    from: |moment| format!("starting {moment}"),
    until: |moment| format!("until {moment}"),
    from_to: |from, to| format!("from {from} to {to}"),
    did_you_mean: |said| format!("did you mean {said}?"),
    times: |n| match n {
        1 => "once".into(),
        n => format!("{n} times"),
    },
    except: |what| format!("except {what}"),
};

fn word(unit: Freq) -> &'static str {
    match unit {
        Freq::Secondly => "second",
        Freq::Minutely => "minute",
        Freq::Hourly => "hour",
        Freq::Daily => "day",
        Freq::Weekly => "week",
        Freq::Monthly => "month",
        Freq::Yearly => "year",
    }
}

fn counted(what: Counted) -> &'static str {
    match what {
        Counted::Day => "day",
        Counted::Workday => "weekday",
        Counted::WeekendDay => "weekend day",
        Counted::Weekday(day) => name(day, DAYS),
    }
}

/// `1st`, `22nd`, `last`, `2nd to last`.
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
        ..-1 => format!("{}{ending} to last", n.unsigned_abs()),
        _ => format!("{n}{ending}"),
    }
}
