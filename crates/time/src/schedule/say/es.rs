//! Spanish.

use super::super::Freq;
use super::words::{Counted, Words, list, month, name, names};

const DAYS: [&str; 7] = ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"];
const SHORT_DAYS: [&str; 7] = DAYS;
const MONTHS: [&str; 12] = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
];
const AND: &str = " y ";

pub(super) const WORDS: Words = Words {
    and: AND,
    also: AND,
    length: |unit, n| if n == 1 { format!("1 {}", word(unit).0) } else { format!("{n} {}", word(unit).1) },
    every: |unit, n| if n == 1 { format!("cada {}", word(unit).0) } else { format!("cada {n} {}", word(unit).1) },
    every_workday: "cada día laborable",
    every_one_of: |days| format!("cada {}", list(names(days, DAYS), AND)),
    on_days: |days| format!("el {}", list(names(days, DAYS), AND)),
    on_nth: |nths| {
        let nth = |(n, what): &(i16, Counted)| nth(*n, counted(*what));
        format!("el {}", list(nths.iter().map(nth), AND))
    },
    on_month_days: |days| {
        let day =
            |day: &i8| if *day > 0 { format!("el día {day}") } else { format!("el {}", nth((*day).into(), "día")) };
        list(days.iter().map(day), AND)
    },
    on_day_or_last: |day| format!("el día {day} (o el último día)"),
    of_every_month: "de cada mes",
    of_the_month: "del mes",
    dates: |days, of| format!("{} de {}", list(days.iter().map(i8::to_string), AND), month(of, MONTHS)),
    on_date: "el ",
    in_months: |months| format!("en {}", list(months.iter().map(|of| month(*of, MONTHS)), AND)),
    in_weeks: |weeks| format!("en la semana {weeks}"),
    on_year_days: |days| format!("el día {days} del año"),
    in_hours: |hours| format!("en las horas {hours}"),
    only_the: |places| format!("solo el {} de ellos", list(places.iter().map(i16::to_string), AND)),
    only: "solo ",
    at: |times| format!("a las {times}"),
    at_many: |n| format!("{n} veces"),
    between: |first, last| format!("de {first} a {last}"),
    once: |moment| format!("una vez el {moment}"),
    after_answer: |length| format!("{length} después de cada respuesta"),
    from_now: |length| format!("en {length}"),
    day: |date| format!("{} {}", name(date.weekday(), SHORT_DAYS), (WORDS.date)(date)),
    date: |date| format!("{} de {} de {}", date.day(), month(date.month(), MONTHS), date.year()),
    from: |moment| format!("a partir de {moment}"),
    until: |moment| format!("hasta {moment}"),
    from_to: |from, to| format!("desde {from} hasta {to}"),
    did_you_mean: |said| format!("¿quizás {said}?"),
    times: |n| if n == 1 { "solo 1 vez".into() } else { format!("{n} veces") },
    except: |what| format!("excepto {what}"),
};

fn word(unit: Freq) -> (&'static str, &'static str) {
    match unit {
        Freq::Secondly => ("segundo", "segundos"),
        Freq::Minutely => ("minuto", "minutos"),
        Freq::Hourly => ("hora", "horas"),
        Freq::Daily => ("día", "días"),
        Freq::Weekly => ("semana", "semanas"),
        Freq::Monthly => ("mes", "meses"),
        Freq::Yearly => ("año", "años"),
    }
}

fn counted(what: Counted) -> &'static str {
    match what {
        Counted::Day => "día",
        Counted::Workday => "día laborable",
        Counted::WeekendDay => "día del fin de semana",
        Counted::Weekday(day) => name(day, DAYS),
    }
}

/// `2º martes`, `último día`, `penúltimo viernes`.
fn nth(n: i16, what: &str) -> String {
    match n {
        -1 => format!("último {what}"),
        -2 => format!("penúltimo {what}"),
        ..-2 => format!("{}º último {what}", n.unsigned_abs()),
        _ => format!("{n}º {what}"),
    }
}
