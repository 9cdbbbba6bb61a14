//! A schedule in words.
//!
//! What is said is what was understood, not what was typed: that is how somebody sees that a phrase was taken otherwise.
//! Every language is one table of words.

mod bs;
mod de;
mod en;
mod hr;
mod moment;
mod rule;
mod slavic;
mod sr;
mod words;

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};

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
    }
}

/// What is said, in the letters of the language, and the zone as everybody writes it.
fn written(lang: Lang, said: &str, zone: Option<&Zone>) -> String {
    let said = if lang == Lang::SrCyrl { sr::cyrillic(said) } else { said.to_owned() };
    match zone {
        Some(zone) => format!("{said}, {zone}"),
        None => said,
    }
}

fn rule_words(rule: &Rule, zone: &Zone, words: &Words) -> String {
    match rule {
        Rule::Once { at } => (words.once)(&moment(zone.rules().to_datetime(*at), words)),
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
    let dates = list(smart.dates.iter().map(|date| moment(*date, words)), words.and);
    let dates = (!dates.is_empty()).then(|| format!("{}{dates}", words.on_date));
    rules.chain(dates).collect::<Vec<_>>().join(words.also)
}

/// What is left out, each kind by itself: `except on Sunday, except in July`.
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
fn moment(time: DateTime, words: &Words) -> String {
    format!("{} {}", (words.day)(time.date()), (words.at)(&clock(time.time())))
}

/// The same without the clock where it is what a bare day means.
fn bound(time: DateTime, bare: Time, words: &Words) -> String {
    if time.time() == bare { (words.day)(time.date()) } else { moment(time, words) }
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

    fn check(stored: &str, expect: &str) {
        let zone = Zone::named("Europe/Berlin").unwrap();
        assert_eq!(Schedule::from_stored(stored).unwrap().summary(&zone), expect);
    }

    #[test]
    fn a_summary_is_plain_english() {
        check(r#"{"type":"once","at":"2026-03-02T07:00:00Z"}"#, "once on Mon 2 Mar 2026 at 08:00, Europe/Berlin");
        check(r#"{"type":"interval","every":"120m","origin":"2026-03-02T07:00:00Z"}"#, "every 2h");
        check(
            r#"{"type":"interval","every":"2h","anchor":"ack","origin":"2026-03-02T07:00:00Z"}"#,
            "2h after each answer",
        );
        check(r#"{"type":"daily","time":"08:00"}"#, "every day at 08:00, Europe/Berlin");
        check(r#"{"type":"weekly","time":"07:30","days":["weekdays"]}"#, "every weekday at 07:30, Europe/Berlin");
        check(r#"{"type":"weekly","time":"09:00","days":["wed","mon"]}"#, "every Mon, Wed at 09:00, Europe/Berlin");
        check(r#"{"type":"cron","expr":"0 8 * * 1-5"}"#, "cron `0 8 * * 1-5`, Europe/Berlin");
    }

    #[test]
    fn bounds_come_last() {
        check(
            r#"{"type":"daily","time":"08:00","count":5,"starts_at":"2026-03-02T07:00:00Z","ends_at":"2026-07-01T06:30:00Z"}"#,
            "every day at 08:00, Europe/Berlin, from Mon 2 Mar 2026 at 08:00, until Wed 1 Jul 2026 at 08:30, 5 times",
        );
    }

    fn check_rule(rule: &str, expect: &str) {
        let stored = format!(r#"{{"type":"smart","rules":["{rule}"],"anchor":"2026-03-02T08:00:00"}}"#);
        check(&stored, &format!("{expect}, Europe/Berlin"));
    }

    #[test]
    fn a_rule_is_described_by_what_it_does() {
        for (rule, words) in [
            ("FREQ=DAILY", "every day at 08:00"),
            ("FREQ=DAILY;INTERVAL=3;BYDAY=MO,TU", "every 3 days only on Mon, Tue at 08:00"),
            ("FREQ=WEEKLY", "every Mon at 08:00"),
            ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=7;BYMINUTE=30", "every weekday at 07:30"),
            ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "every 2 weeks on Mon, Fri at 08:00"),
            ("FREQ=DAILY;BYHOUR=8,20", "every day at 08:00, 20:00"),
            ("FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9", "on the last day of every month at 09:00"),
            (
                "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1,15,-2",
                "on the 1st, the 15th, the 2nd last day of every 3 months at 08:00",
            ),
            ("FREQ=MONTHLY;BYDAY=2TU", "on the 2nd Tue of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=-1FR", "on the last Fri of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "on the last weekday of every month at 08:00"),
            ("FREQ=MONTHLY", "on the 2nd of every month at 08:00"),
            ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "on the 13th of every month only on Fri at 08:00"),
            ("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=4;BYHOUR=9", "every year on 4 July at 09:00"),
            ("FREQ=YEARLY", "every year on 2 March at 08:00"),
            ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=4TH", "every 4 years on the 4th Thu of November at 08:00"),
            ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", "every year on the last day of February at 08:00"),
            ("FREQ=YEARLY;BYWEEKNO=20", "every year only on Mon in week 20 at 08:00"),
            ("FREQ=YEARLY;BYYEARDAY=100", "every year on day 100 of the year at 08:00"),
            ("FREQ=HOURLY;INTERVAL=2", "every 2 hours"),
            ("FREQ=HOURLY;BYMINUTE=15,45;BYHOUR=9,10", "every hour in the hours 9, 10 at :15, :45"),
            ("FREQ=MINUTELY;INTERVAL=15", "every 15 minutes"),
            ("FREQ=DAILY;BYHOUR=9,10,11,12;BYMINUTE=0,30", "every day at 8 times from 09:00 to 12:30"),
            ("FREQ=DAILY;UNTIL=20260401T080000", "every day at 08:00 until Wed 1 Apr 2026 at 08:00"),
        ] {
            check_rule(rule, words);
        }
    }

    #[test]
    fn rules_are_joined_and_exceptions_are_said() {
        check(
            r#"{"type":"smart","text":"workdays at 8, weekends at 10","anchor":"2026-03-02T08:00:00","rules":[
                "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR","FREQ=WEEKLY;BYDAY=SA,SU;BYHOUR=10"]}"#,
            "every weekday at 08:00 and every Sat, Sun at 10:00, Europe/Berlin",
        );
        check(
            r#"{"type":"daily","time":"08:00","except":["weekend","july","2026-12-25","2026-12-24T08:00"]}"#,
            "every day at 08:00, except Sat, Sun, July, 25 December 2026, 24 December 2026 at 08:00, Europe/Berlin",
        );
        check(
            r#"{"type":"interval","every":"2h","origin":"2026-03-02T07:00:00Z","except":["2026-12-24/2027-01-06"]}"#,
            "every 2h, except 24 December 2026–6 January 2027, Europe/Berlin",
        );
    }
}
