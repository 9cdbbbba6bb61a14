//! A schedule in words.
//!
//! A summary says what was understood, not what was typed: so a person sees when a phrase was taken otherwise.
//! Every language is one table of words.

mod bs;
mod de;
mod en;
mod es;
mod fr;
mod hr;
mod meaning;
mod rule;
mod slavic;
mod sr;
mod words;

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};

use self::rule::{every_one_of, together};
use self::words::{Words, list};
use super::json::clock;
use super::{Anchor, Exceptions, Freq, Rule, Schedule, Smart};
use crate::phrase::Lang;
use crate::zone::Zone;

/// The last second of a day: `until Friday` takes Friday in.
const END_OF_DAY: Time = Time::constant(23, 59, 59, 0);

impl Schedule {
    /// Says in English when it is due, such as `every weekday at 07:30, Europe/Berlin`.
    pub fn summary(&self, zone: &Zone) -> String {
        self.summary_in(Lang::En, zone)
    }

    /// Says in words when it is due, such as `jeden Werktag um 07:30 Uhr, Europe/Berlin`.
    pub fn summary_in(&self, lang: Lang, zone: &Zone) -> String {
        let words = words_of(lang);
        let local = |at: Timestamp| zone.rules().to_datetime(at);
        let mut parts = vec![rule_words(&self.rule, zone, words)];
        parts.extend(except_words(&self.except, words));
        parts.extend(self.starts_at.map(|at| (words.from)(&bound(local(at), Time::midnight(), words))));
        parts.extend(self.ends_at.map(|at| (words.until)(&bound(local(at), END_OF_DAY, words))));
        parts.extend(self.count.map(|count| (words.times)(count)));
        let said = parts.join(", ");
        // Elapsed time is the same everywhere, but the dates beside it are not.
        let is_elapsed = matches!(self.rule, Rule::Interval { .. }) && parts.len() == 1;
        written(lang, &said, (!is_elapsed).then_some(zone))
    }
}

/// The table of a language.
fn words_of(lang: Lang) -> &'static Words {
    match lang {
        Lang::En => &en::WORDS,
        Lang::De => &de::WORDS,
        Lang::Hr => &hr::WORDS,
        Lang::Sr | Lang::SrCyrl => &sr::WORDS,
        Lang::Bs => &bs::WORDS,
        Lang::Es => &es::WORDS,
        Lang::Fr => &fr::WORDS,
    }
}

/// A day with its weekday, in the words of a language.
pub(crate) fn day_in(lang: Lang, date: Date) -> String {
    (words_of(lang).day)(date)
}

/// A sentence in the letters of its language.
pub(crate) fn in_letters(lang: Lang, said: &str) -> String {
    written(lang, said, None)
}

/// A sentence in the letters of its language, and the zone as everybody writes it.
fn written(lang: Lang, said: &str, zone: Option<&Zone>) -> String {
    let said = match lang {
        // A program's name stays as it is.
        Lang::SrCyrl => sr::cyrillic(said).replacen("црон `", "cron `", 1),
        _ => said.to_owned(),
    };
    match zone {
        Some(zone) => format!("{said}, {zone}"),
        None => said,
    }
}

fn rule_words(rule: &Rule, zone: &Zone, words: &Words) -> String {
    match rule {
        Rule::Once { at } => (words.once)(&date_and_time(zone.rules().to_datetime(*at), words)),
        Rule::Interval { every, anchor: Anchor::Start, .. } => elapsed(*every, words.every),
        Rule::Interval { every, anchor: Anchor::Ack, .. } => (words.after_answer)(&elapsed(*every, words.length)),
        Rule::Daily { time } => format!("{} {}", (words.every)(Freq::Daily, 1), (words.at)(&clock(*time))),
        Rule::Weekly { time, days } => format!("{} {}", every_one_of(*days, words), (words.at)(&clock(*time))),
        Rule::Cron(expr) => format!("cron `{expr}`"),
        Rule::Smart(smart) => smart_words(smart, words),
    }
}

fn smart_words(smart: &Smart, words: &Words) -> String {
    let rules = together(&smart.rules, smart.anchor).into_iter().map(|rule| rule.words(words));
    let dates = list(smart.dates.iter().map(|date| date_and_time(*date, words)), words.and);
    let dates = (!dates.is_empty()).then(|| format!("{}{dates}", words.on_date));
    rules.chain(dates).collect::<Vec<_>>().join(words.also)
}

/// The exceptions, each kind by itself: `except on Sunday, except in July`.
fn except_words(except: &Exceptions, words: &Words) -> Vec<String> {
    let days = (!except.weekdays.is_empty()).then(|| (words.on_days)(except.weekdays));
    let months: Vec<i8> = except.months.iter().collect();
    let months = (!months.is_empty()).then(|| (words.in_months)(&months));
    let time = |time: &DateTime| format!("{} {}", (words.date)(time.date()), (words.at)(&clock(time.time())));
    let dates = except.dates.iter().map(|date| (words.date)(*date)).chain(except.times.iter().map(time));
    let dates = list(dates, words.and);
    let dates = (!dates.is_empty()).then(|| format!("{}{dates}", words.on_date));
    let range = |(first, last): &(_, _)| (words.from_to)(&(words.date)(*first), &(words.date)(*last));
    let ranges = list(except.ranges.iter().map(range), words.and);
    let ranges = (!ranges.is_empty()).then_some(ranges);
    [days, months, dates, ranges].into_iter().flatten().map(|what| (words.except)(&what)).collect()
}

/// `Mon 2 Mar 2026 at 08:00`: a moment by its weekday, date and clock.
fn date_and_time(time: DateTime, words: &Words) -> String {
    format!("{} {}", (words.day)(time.date()), (words.at)(&clock(time.time())))
}

/// The same without the clock where it is what a bare day means.
fn bound(time: DateTime, bare: Time, words: &Words) -> String {
    if time.time() == bare { (words.day)(time.date()) } else { date_and_time(time, words) }
}

/// A span in the biggest unit that says it whole. Days are not elapsed time: those have 23 hours at times, or 25.
fn elapsed(span: Duration, say: fn(Freq, u64) -> String) -> String {
    let seconds = span.as_secs();
    match seconds {
        // Decimals take the form of many.
        _ if span.subsec_nanos() > 0 => say(Freq::Secondly, 5).replacen('5', &span.as_secs_f64().to_string(), 1),
        _ if seconds.is_multiple_of(3600) => say(Freq::Hourly, seconds / 3600),
        _ if seconds.is_multiple_of(60) => say(Freq::Minutely, seconds / 60),
        _ => say(Freq::Secondly, seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrase::Meaning;

    fn check(stored: &str, expect: &str) {
        check_in(Lang::En, stored, expect);
    }

    fn check_in(lang: Lang, stored: &str, expect: &str) {
        let zone = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(Schedule::from_stored(stored).unwrap().summary_in(lang, &zone), expect);
    }

    #[test]
    fn a_summary_is_plain_english() {
        check(r#"{"type":"once","at":"2026-03-02T07:00:00Z"}"#, "once on Mon 2 Mar 2026 at 08:00, Europe/Berlin");
        check(r#"{"type":"interval","every":"120m","origin":"2026-03-02T07:00:00Z"}"#, "every 2 hours");
        check(r#"{"type":"interval","every":"1h30m","origin":"2026-03-02T07:00:00Z"}"#, "every 90 minutes");
        check(r#"{"type":"interval","every":"1500ms","origin":"2026-03-02T07:00:00Z"}"#, "every 1.5 seconds");
        check(
            r#"{"type":"interval","every":"2h","anchor":"ack","origin":"2026-03-02T07:00:00Z"}"#,
            "2 hours after each answer",
        );
        check(r#"{"type":"daily","time":"08:00"}"#, "every day at 08:00, Europe/Berlin");
        check(r#"{"type":"weekly","time":"07:30","days":["weekdays"]}"#, "every weekday at 07:30, Europe/Berlin");
        check(
            r#"{"type":"weekly","time":"09:00","days":["wed","mon"]}"#,
            "every Monday and Wednesday at 09:00, Europe/Berlin",
        );
        check(r#"{"type":"cron","expr":"0 8 * * 1-5"}"#, "cron `0 8 * * 1-5`, Europe/Berlin");
    }

    #[test]
    fn bounds_come_last() {
        check(
            r#"{"type":"daily","time":"08:00","count":5,"starts_at":"2026-03-02T07:00:00Z","ends_at":"2026-07-01T06:30:00Z"}"#,
            "every day at 08:00, starting Mon 2 Mar 2026 at 08:00, until Wed 1 Jul 2026 at 08:30, 5 times, Europe/Berlin",
        );
        check(
            r#"{"type":"daily","time":"08:00","starts_at":"2026-03-01T23:00:00Z","ends_at":"2026-07-01T21:59:59Z"}"#,
            "every day at 08:00, starting Mon 2 Mar 2026, until Wed 1 Jul 2026, Europe/Berlin",
        );
    }

    fn smart(rules: &[&str]) -> String {
        let rules = rules.iter().map(|rule| format!("\"{rule}\"")).collect::<Vec<_>>().join(",");
        format!(r#"{{"type":"smart","rules":[{rules}],"anchor":"2026-03-02T08:00:00"}}"#)
    }

    #[test]
    fn a_rule_is_described_by_what_it_does() {
        for (rule, words) in [
            ("FREQ=DAILY", "every day at 08:00"),
            ("FREQ=DAILY;INTERVAL=3;BYDAY=MO,TU", "every 3 days only on Monday and Tuesday at 08:00"),
            ("FREQ=WEEKLY", "every Monday at 08:00"),
            ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=7;BYMINUTE=30", "every weekday at 07:30"),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "every 2 weeks on Monday and Friday at 08:00"),
            ("FREQ=DAILY;BYHOUR=8,20", "every day at 08:00 and 20:00"),
            ("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9", "on the last day of every month at 09:00"),
            (
                "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1,15,-2",
                "every 3 months on the 1st, 15th and 2nd to last day of the month at 08:00",
            ),
            ("FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1", "on the 30th (or last day) of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=2TU", "on the 2nd Tuesday of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=2TU,-1FR", "on the 2nd Tuesday and last Friday of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "on the last weekday of every month at 08:00"),
            (
                "FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=-1;BYHOUR=8,20",
                "every month only on Saturday and Sunday only the last of them at 08:00 and 20:00",
            ),
            ("FREQ=MONTHLY", "on the 2nd of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "on the 13th of every month only on Friday at 08:00"),
            ("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=4,15;BYHOUR=9", "every year on 4 and 15 July at 09:00"),
            ("FREQ=YEARLY;BYMONTH=1,7;BYMONTHDAY=4", "every year on 4 January and 4 July at 08:00"),
            ("FREQ=YEARLY", "every year on 2 March at 08:00"),
            ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=4TH", "every 4 years on the 4th Thursday in November at 08:00"),
            ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", "every year on the last day in February at 08:00"),
            ("FREQ=YEARLY;BYWEEKNO=20", "every year only on Monday in week 20 at 08:00"),
            ("FREQ=YEARLY;BYYEARDAY=100", "every year on day 100 of the year at 08:00"),
            ("FREQ=HOURLY;INTERVAL=2", "every 2 hours"),
            ("FREQ=HOURLY;BYMINUTE=15,45;BYHOUR=9,10", "every hour in the hours 9 and 10 at :15 and :45"),
            ("FREQ=MINUTELY;INTERVAL=15", "every 15 minutes"),
            ("FREQ=DAILY;BYHOUR=9,10,11,12;BYMINUTE=0,30", "every 30 minutes from 09:00 to 12:30"),
            ("FREQ=DAILY;UNTIL=20260401T080000", "every day at 08:00 until Wed 1 Apr 2026 at 08:00"),
        ] {
            check(&smart(&[rule]), &format!("{words}, Europe/Berlin"));
        }
    }

    #[test]
    fn rules_are_joined_and_exceptions_are_said() {
        check(
            &smart(&["FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=10"]),
            "every weekday at 08:00 and every Saturday and Sunday at 10:00, Europe/Berlin",
        );
        check(
            &smart(&["FREQ=DAILY;BYHOUR=8,20", "FREQ=DAILY;BYHOUR=9;BYMINUTE=30"]),
            "every day at 08:00, 09:30 and 20:00, Europe/Berlin",
        );
        check(
            r#"{"type":"daily","time":"08:00","except":["weekend","july","2026-12-25","2026-12-24T08:00"]}"#,
            "every day at 08:00, except on Saturday and Sunday, except in July, \
             except on 25 December 2026 and 24 December 2026 at 08:00, Europe/Berlin",
        );
        check(
            r#"{"type":"interval","every":"2h","origin":"2026-03-02T07:00:00Z","except":["2026-12-24/2027-01-06"]}"#,
            "every 2 hours, except from 24 December 2026 to 6 January 2027, Europe/Berlin",
        );
    }

    #[test]
    fn german_has_its_cases() {
        let check = |stored: &str, expect: &str| check_in(Lang::De, stored, &format!("{expect}, Europe/Berlin"));
        check(
            r#"{"type":"daily","time":"08:00","count":5,"ends_at":"2026-07-01T06:30:00Z","except":["july"]}"#,
            "jeden Tag um 08:00 Uhr, außer im Juli, bis Mi 1. Juli 2026 um 08:30 Uhr, 5-mal",
        );
        check(r#"{"type":"once","at":"2026-03-02T07:00:00Z"}"#, "einmalig am Mo 2. März 2026 um 08:00 Uhr");
        for (rule, words) in [
            ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=7;BYMINUTE=30", "jeden Werktag um 07:30 Uhr"),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "alle 2 Wochen am Montag und Freitag um 08:00 Uhr"),
            ("FREQ=MONTHLY;BYMONTHDAY=1,15,-1", "am 1., 15. und letzten Tag jedes Monats um 08:00 Uhr"),
            ("FREQ=MONTHLY;INTERVAL=3;BYDAY=-2FR", "alle 3 Monate am vorletzten Freitag des Monats um 08:00 Uhr"),
            ("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=4", "jedes Jahr am 4. Juli um 08:00 Uhr"),
            ("FREQ=HOURLY", "jede Stunde"),
        ] {
            check(&smart(&[rule]), words);
        }
    }

    #[test]
    fn slavic_words_follow_their_numbers_and_genders() {
        let check = |rule: &str, hr: &str, cyrillic: &str| {
            check_in(Lang::Hr, &smart(&[rule]), &format!("{hr}, Europe/Berlin"));
            check_in(Lang::SrCyrl, &smart(&[rule]), &format!("{cyrillic}, Europe/Berlin"));
        };
        check("FREQ=DAILY;INTERVAL=3", "svaka 3 dana u 08:00", "свака 3 дана у 08:00");
        check("FREQ=DAILY;INTERVAL=5", "svakih 5 dana u 08:00", "сваких 5 дана у 08:00");
        check("FREQ=MINUTELY;INTERVAL=2", "svake 2 minute", "свака 2 минута");
        check("FREQ=MINUTELY;INTERVAL=21", "svakih 21 minutu", "сваких 21 минут");
        check("FREQ=HOURLY;INTERVAL=12", "svakih 12 sati", "сваких 12 сати");
        check("FREQ=WEEKLY;BYDAY=WE", "svake srijede u 08:00", "сваке среде у 08:00");
        check("FREQ=WEEKLY;BYDAY=SU", "svake nedjelje u 08:00", "недељом у 08:00");
        check(
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE",
            "svaka 2 tjedna ponedjeljkom i srijedom u 08:00",
            "сваке 2 недеље понедељком и средом у 08:00",
        );
        check(
            "FREQ=MONTHLY;BYMONTHDAY=1,15",
            "1. i 15. dan svakog mjeseca u 08:00",
            "1. и 15. дан сваког месеца у 08:00",
        );
        check(
            "FREQ=MONTHLY;BYDAY=-1SA",
            "posljednju subotu svakog mjeseca u 08:00",
            "последњу суботу сваког месеца у 08:00",
        );
        check("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=4", "svake godine 4. srpnja u 08:00", "сваке године 4. јула у 08:00");
        check_in(Lang::SrCyrl, r#"{"type":"cron","expr":"0 8 * * MON-FRI"}"#, "cron `0 8 * * MON-FRI`, Europe/Berlin");
    }

    fn parsed(lang: Lang, meaning: Meaning) -> String {
        meaning.summary_in(lang, &Zone::named("Europe/Berlin").unwrap())
    }

    #[test]
    fn the_meaning_of_a_phrase_is_said_in_its_language() {
        use crate::phrase::Grain;
        let at: Timestamp = "2026-03-09T08:00:00Z".parse().unwrap();
        let to: Timestamp = "2026-03-09T10:30:00Z".parse().unwrap();
        let instant = Meaning::Instant { at, grain: Grain::Day, within: None };
        let interval = Meaning::Interval { from: at, to, grain: Grain::Hour };
        let length = Meaning::Duration { seconds: 5400, at: to };
        assert_eq!(parsed(Lang::En, instant.clone()), "Mon 9 Mar 2026 at 09:00, Europe/Berlin");
        assert_eq!(parsed(Lang::De, instant.clone()), "Mo 9. März 2026 um 09:00 Uhr, Europe/Berlin");
        assert_eq!(parsed(Lang::SrCyrl, instant), "пон 9. марта 2026. у 09:00, Europe/Berlin");
        assert_eq!(parsed(Lang::En, interval.clone()), "Mon 9 Mar 2026 from 09:00 to 11:30, Europe/Berlin");
        assert_eq!(parsed(Lang::Hr, interval), "pon 9. ožujka 2026. od 09:00 do 11:30, Europe/Berlin");
        let said = "1 hour and 30 minutes from now, Mon 9 Mar 2026 at 11:30, Europe/Berlin";
        assert_eq!(parsed(Lang::En, length.clone()), said);
        assert_eq!(parsed(Lang::Bs, length), "za 1 sat i 30 minuta, pon 9. marta 2026. u 11:30, Europe/Berlin");
    }
}
