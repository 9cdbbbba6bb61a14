//! Croatian, Serbian and Bosnian share how words change with numbers, genders and cases. Their words are in the
//! tables of each.

use jiff::civil::{Date, Weekday};

use super::super::{Freq, Weekdays};
use super::words::{Counted, Words, list, month, name, names};

/// A language of this family.
pub(super) trait Slavic {
    /// Its words.
    const FORMS: Forms;
}

/// The words of one language in the forms that are needed.
pub(super) struct Forms {
    /// `svakog ponedjeljka`.
    pub(super) every_day_of: [&'static str; 7],
    /// `ponedjeljkom`.
    pub(super) on_days: [&'static str; 7],
    /// `prvi ponedjeljak`, `prvu srijedu`.
    pub(super) days: [&'static str; 7],
    /// `pon`.
    pub(super) short_days: [&'static str; 7],
    /// `4. srpnja`.
    pub(super) months: [&'static str; 12],
    /// `u srpnju`.
    pub(super) in_months: [&'static str; 12],
    pub(super) second: Noun,
    pub(super) minute: Noun,
    pub(super) hour: Noun,
    pub(super) day: Noun,
    pub(super) week: Noun,
    pub(super) month: Noun,
    pub(super) year: Noun,
    /// `posljednji` and `posljednju`.
    pub(super) last: [&'static str; 2],
    /// `pretposljednji` and `pretposljednju`.
    pub(super) before_last: [&'static str; 2],
    /// `svakog mjeseca`.
    pub(super) of_every_month: &'static str,
    /// `u mjesecu`.
    pub(super) of_the_month: &'static str,
    /// `u tjednu`, before a number.
    pub(super) in_week: &'static str,
    /// `nakon svakog odgovora`.
    pub(super) after_answer: &'static str,
}

/// A unit of time in the forms that a number asks for.
pub(super) struct Noun {
    /// `svaki sat`.
    pub(super) every: &'static str,
    /// 1, 21: `sat`.
    pub(super) one: &'static str,
    /// 2 to 4, 22 to 24: `sata`.
    pub(super) few: &'static str,
    /// All others: `sati`.
    pub(super) many: &'static str,
    pub(super) is_feminine: bool,
}

/// The table of a language.
pub(super) const fn words<S: Slavic>() -> Words {
    Words {
        and: " i ",
        also: ", a ",
        length: |unit, n| format!("{n} {}", form(noun::<S>(unit), n)),
        every: every::<S>,
        every_workday: "radnim danom",
        every_one_of: every_one_of::<S>,
        on_days: |days| list(names(days, S::FORMS.on_days), " i "),
        on_nth: |nths| list(nths.iter().map(|(n, what)| nth::<S>(*n, *what)), " i "),
        on_month_days: on_month_days::<S>,
        on_day_or_last: |day| format!("{day}. (ili {}) dan", S::FORMS.last[0]),
        of_every_month: S::FORMS.of_every_month,
        of_the_month: S::FORMS.of_the_month,
        dates: |days, of| {
            let days = list(days.iter().map(|day| format!("{day}.")), " i ");
            format!("{days} {}", month(of, S::FORMS.months))
        },
        on_date: "",
        in_months: |months| format!("u {}", list(months.iter().map(|of| month(*of, S::FORMS.in_months)), " i ")),
        in_weeks: |weeks| format!("{} {weeks}", S::FORMS.in_week),
        on_year_days: |days| format!("na dan {days} u godini"),
        in_hours: |hours| format!("u satima {hours}"),
        only_the: |places| {
            let places = places.iter().map(|place| ordinal::<S>(*place, 0));
            format!("samo {} od njih", list(places, " i "))
        },
        only: "samo ",
        at: |times| format!("u {times}"),
        at_many: |n| format!("{n} {}", runs(n)),
        between: |first, last| format!("od {first} do {last}"),
        once: |moment| format!("jednom, {moment}"),
        after_answer: |length| format!("{length} {}", S::FORMS.after_answer),
        from_now: |length| format!("za {length}"),
        day: |date| format!("{} {}", name(date.weekday(), S::FORMS.short_days), dated::<S>(date)),
        date: dated::<S>,
        from: |moment| format!("od {moment}"),
        until: |moment| format!("do {moment}"),
        from_to: |from, to| format!("od {from} do {to}"),
        did_you_mean: |said| format!("možda {said}?"),
        times: |n| format!("{n} {}", runs(usize::try_from(n).unwrap_or(0))),
        except: |what| format!("osim {what}"),
    }
}

fn noun<S: Slavic>(unit: Freq) -> Noun {
    match unit {
        Freq::Secondly => S::FORMS.second,
        Freq::Minutely => S::FORMS.minute,
        Freq::Hourly => S::FORMS.hour,
        Freq::Daily => S::FORMS.day,
        Freq::Weekly => S::FORMS.week,
        Freq::Monthly => S::FORMS.month,
        Freq::Yearly => S::FORMS.year,
    }
}

/// `1 sat`, `2 sata`, `5 sati`, `11 sati`, `21 sat`.
fn form(noun: Noun, n: u64) -> &'static str {
    match (n % 10, n % 100) {
        (_, 11..=14) => noun.many,
        (1, _) => noun.one,
        (2..=4, _) => noun.few,
        _ => noun.many,
    }
}

/// `1 put`, `2 puta`, `21 put`.
fn runs(n: usize) -> &'static str {
    if n % 10 == 1 && n % 100 != 11 { "put" } else { "puta" }
}

/// `svaki sat`, `svaka 2 sata`, `svake 2 minute`, `svakih 5 sati`.
fn every<S: Slavic>(unit: Freq, n: u64) -> String {
    let noun = noun::<S>(unit);
    if n == 1 {
        return noun.every.into();
    }
    let every = match (n % 10, n % 100) {
        (2..=4, 12..=14) => "svakih",
        (2..=4, _) if noun.is_feminine => "svake",
        (2..=4, _) => "svaka",
        _ => "svakih",
    };
    format!("{every} {n} {}", form(noun, n))
}

/// `svakog ponedjeljka`, but `ponedjeljkom i srijedom`: one word cannot agree with both genders.
fn every_one_of<S: Slavic>(days: Weekdays) -> String {
    let mut each = days.iter();
    match (each.next(), each.next()) {
        (Some(day), None) => name(day, S::FORMS.every_day_of).into(),
        _ => list(names(days, S::FORMS.on_days), " i "),
    }
}

/// `2. utorak`, `posljednju srijedu`, `3. petak od kraja`.
fn nth<S: Slavic>(n: i16, what: Counted) -> String {
    let (noun, gender) = match what {
        Counted::Day => ("dan", 0),
        Counted::Workday => ("radni dan", 0),
        Counted::WeekendDay => ("dan vikenda", 0),
        Counted::Weekday(day) => (name(day, S::FORMS.days), gender(day)),
    };
    match n {
        ..-2 => format!("{}. {noun} od kraja", n.unsigned_abs()),
        _ => format!("{} {noun}", ordinal::<S>(n, gender)),
    }
}

fn ordinal<S: Slavic>(n: i16, gender: usize) -> String {
    match n {
        -1 => S::FORMS.last[gender].into(),
        -2 => S::FORMS.before_last[gender].into(),
        ..-2 => format!("{}. od kraja", n.unsigned_abs()),
        _ => format!("{n}."),
    }
}

/// Wednesday, Saturday and Sunday are feminine.
fn gender(day: Weekday) -> usize {
    usize::from(matches!(day, Weekday::Wednesday | Weekday::Saturday | Weekday::Sunday))
}

/// `1. i 15. dan`, `1. i posljednji dan`; `1. dan i 3. dan od kraja`.
fn on_month_days<S: Slavic>(days: &[i8]) -> String {
    if days.iter().any(|day| *day < -2) {
        return list(days.iter().map(|day| nth::<S>((*day).into(), Counted::Day)), " i ");
    }
    format!("{} dan", list(days.iter().map(|day| ordinal::<S>((*day).into(), 0)), " i "))
}

/// `2. ožujka 2026.`
fn dated<S: Slavic>(date: Date) -> String {
    format!("{}. {} {}.", date.day(), month(date.month(), S::FORMS.months), date.year())
}
