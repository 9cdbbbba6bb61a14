//! French.

use super::super::Freq;
use super::words::{Counted, Words, list, month, name, names};

const DAYS: [&str; 7] = ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"];
const MONTHS: [&str; 12] = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
];
const AND: &str = " et ";

pub(super) const WORDS: Words = Words {
    and: AND,
    also: AND,
    length: |unit, n| if n == 1 { format!("1 {}", word(unit).0) } else { format!("{n} {}", word(unit).1) },
    every: |unit, n| match (unit, n) {
        (_, 1) => format!("chaque {}", word(unit).0),
        (Freq::Secondly | Freq::Minutely | Freq::Hourly | Freq::Weekly, n) => {
            format!("toutes les {n} {}", word(unit).1)
        }
        (_, n) => format!("tous les {n} {}", word(unit).1),
    },
    every_workday: "chaque jour ouvré",
    every_one_of: |days| format!("chaque {}", list(names(days, DAYS), AND)),
    on_days: |days| format!("le {}", list(names(days, DAYS), AND)),
    on_nth: |nths| {
        let nth = |(n, what): &(i16, Counted)| nth(*n, counted(*what));
        format!("le {}", list(nths.iter().map(nth), AND))
    },
    on_month_days: |days| {
        let day = |day: &i8| if *day > 0 { format!("le {day}") } else { format!("le {}", nth((*day).into(), "jour")) };
        list(days.iter().map(day), AND)
    },
    on_day_or_last: |day| format!("le {day} (ou le dernier jour)"),
    of_every_month: "de chaque mois",
    of_the_month: "du mois",
    dates: |days, of| format!("{} {}", list(days.iter().map(i8::to_string), AND), month(of, MONTHS)),
    on_date: "le ",
    in_months: |months| format!("en {}", list(months.iter().map(|of| month(*of, MONTHS)), AND)),
    in_weeks: |weeks| format!("en semaine {weeks}"),
    on_year_days: |days| format!("le jour {days} de l'année"),
    in_hours: |hours| format!("aux heures {hours}"),
    only_the: |places| format!("seulement le {} d'entre eux", list(places.iter().map(i16::to_string), AND)),
    only: "seulement ",
    at: |times| format!("à {times}"),
    at_many: |n| format!("{n} fois"),
    between: |first, last| format!("de {first} à {last}"),
    once: |moment| format!("une fois le {moment}"),
    after_answer: |length| format!("{length} après chaque réponse"),
    from_now: |length| format!("dans {length}"),
    day: |date| format!("{} {}", name(date.weekday(), DAYS), (WORDS.date)(date)),
    date: |date| format!("{} {} {}", date.day(), month(date.month(), MONTHS), date.year()),
    from: |moment| format!("à partir du {moment}"),
    until: |moment| format!("jusqu'au {moment}"),
    from_to: |from, to| format!("du {from} au {to}"),
    did_you_mean: |said| format!("peut-être {said} ?"),
    times: |n| format!("{n} fois"),
    except: |what| format!("sauf {what}"),
};

fn word(unit: Freq) -> (&'static str, &'static str) {
    match unit {
        Freq::Secondly => ("seconde", "secondes"),
        Freq::Minutely => ("minute", "minutes"),
        Freq::Hourly => ("heure", "heures"),
        Freq::Daily => ("jour", "jours"),
        Freq::Weekly => ("semaine", "semaines"),
        Freq::Monthly => ("mois", "mois"),
        Freq::Yearly => ("année", "ans"),
    }
}

fn counted(what: Counted) -> &'static str {
    match what {
        Counted::Day => "jour",
        Counted::Workday => "jour ouvré",
        Counted::WeekendDay => "jour du week-end",
        Counted::Weekday(day) => name(day, DAYS),
    }
}

/// `2e mardi`, `dernier jour`.
fn nth(n: i16, what: &str) -> String {
    match n {
        -1 => format!("dernier {what}"),
        ..-1 => format!("{}e dernier {what}", n.unsigned_abs()),
        1 => format!("1er {what}"),
        _ => format!("{n}e {what}"),
    }
}
