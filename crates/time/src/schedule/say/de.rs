//! German.

use super::super::Freq;
use super::words::{Counted, Words, list, month, name, names};

const DAYS: [&str; 7] = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"];
const SHORT_DAYS: [&str; 7] = ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"];
const MONTHS: [&str; 12] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];
const AND: &str = " und ";

pub(super) const WORDS: Words = Words {
    and: AND,
    also: AND,
    length: |unit, n| match n {
        1 => format!("1 {}", one(unit).1),
        n => format!("{n} {}", many(unit)),
    },
    every: |unit, n| match n {
        1 => format!("{} {}", one(unit).0, one(unit).1),
        n => format!("alle {n} {}", many(unit)),
    },
    every_workday: "jeden Werktag",
    every_one_of: |days| format!("jeden {}", list(names(days, DAYS), AND)),
    on_days: |days| format!("am {}", list(names(days, DAYS), AND)),
    on_nth: |nths| {
        let nth = |(n, what): &(i16, Counted)| format!("{} {}", ordinal(*n), counted(*what));
        format!("am {}", list(nths.iter().map(nth), AND))
    },
    on_month_days: |days| {
        let day = |day: &i8| match *day {
            1.. => ordinal((*day).into()),
            _ => format!("{} Tag", ordinal((*day).into())),
        };
        format!("am {}", list(days.iter().map(day), AND))
    },
    on_day_or_last: |day| format!("am {day}. (oder letzten Tag)"),
    of_every_month: "jedes Monats",
    of_the_month: "des Monats",
    dates: |days, of| {
        let days = list(days.iter().map(|day| format!("{day}.")), AND);
        format!("{days} {}", month(of, MONTHS))
    },
    on_date: "am ",
    in_months: |months| format!("im {}", list(months.iter().map(|of| month(*of, MONTHS)), AND)),
    in_weeks: |weeks| format!("in Kalenderwoche {weeks}"),
    on_year_days: |days| format!("an Tag {days} des Jahres"),
    in_hours: |hours| format!("in den Stunden {hours}"),
    only_the: |places| format!("nur am {} davon", list(places.iter().map(|place| ordinal(*place)), AND)),
    only: "nur ",
    at: |times| format!("um {times} Uhr"),
    at_many: |n| format!("{n}-mal"),
    between: |first, last| format!("von {first} bis {last} Uhr"),
    once: |moment| format!("einmalig am {moment}"),
    after_answer: |length| format!("{length} nach jeder Antwort"),
    from_now: |length| format!("{length} ab jetzt"),
    day: |date| format!("{} {}", name(date.weekday(), SHORT_DAYS), (WORDS.date)(date)),
    date: |date| format!("{}. {} {}", date.day(), month(date.month(), MONTHS), date.year()),
    from: |moment| format!("ab {moment}"),
    until: |moment| format!("bis {moment}"),
    from_to: |from, to| format!("von {from} bis {to}"),
    did_you_mean: |said| format!("meintest du {said}?"),
    times: |n| match n {
        1 => "nur einmal".into(),
        n => format!("{n}-mal"),
    },
    except: |what| format!("außer {what}"),
};

/// `jede` and `Stunde`.
fn one(unit: Freq) -> (&'static str, &'static str) {
    match unit {
        Freq::Secondly => ("jede", "Sekunde"),
        Freq::Minutely => ("jede", "Minute"),
        Freq::Hourly => ("jede", "Stunde"),
        Freq::Daily => ("jeden", "Tag"),
        Freq::Weekly => ("jede", "Woche"),
        Freq::Monthly => ("jeden", "Monat"),
        Freq::Yearly => ("jedes", "Jahr"),
    }
}

fn many(unit: Freq) -> &'static str {
    match unit {
        Freq::Secondly => "Sekunden",
        Freq::Minutely => "Minuten",
        Freq::Hourly => "Stunden",
        Freq::Daily => "Tage",
        Freq::Weekly => "Wochen",
        Freq::Monthly => "Monate",
        Freq::Yearly => "Jahre",
    }
}

fn counted(what: Counted) -> &'static str {
    match what {
        Counted::Day => "Tag",
        Counted::Workday => "Werktag",
        Counted::WeekendDay => "Tag am Wochenende",
        Counted::Weekday(day) => name(day, DAYS),
    }
}

/// After `am`: `2.`, `letzten`, `vorletzten`.
fn ordinal(n: i16) -> String {
    let word = match n {
        -1 => "letzten",
        -2 => "vorletzten",
        -3 => "drittletzten",
        -4 => "viertletzten",
        -5 => "fünftletzten",
        ..-5 => return format!("{}.-letzten", n.unsigned_abs()),
        _ => return format!("{n}."),
    };
    word.into()
}
