//! A schedule in words.
//!
//! What is said is what was understood, not what was typed: that is how somebody sees that a phrase was taken otherwise.
//! Every language is one table of words.

mod en;
mod rule;
mod words;

use jiff::Timestamp;
use jiff::civil::DateTime;

use self::rule::{class, list, month_name, names};
use self::words::Words;
use super::json::clock;
use super::{Anchor, Exceptions, Rule, Schedule, Smart};
use crate::phrase::Lang;
use crate::zone::Zone;

impl Schedule {
    /// Says in English when it is due, such as `every weekday at 07:30, Europe/Berlin`.
    pub fn summary(&self, zone: &Zone) -> String {
        self.summary_in(Lang::En, zone)
    }

    /// Says in words when it is due, such as `every weekday at 07:30, Europe/Berlin`.
    pub fn summary_in(&self, lang: Lang, zone: &Zone) -> String {
        let words = words_of(lang);
        let moment = |at: Timestamp| (words.moment)(zone.rules().to_datetime(at));
        let mut parts = vec![match &self.rule {
            Rule::Once { at } => (words.once)(&moment(*at)),
            Rule::Interval { every, anchor: Anchor::Start, .. } => (words.each_span)(*every),
            Rule::Interval { every, anchor: Anchor::Ack, .. } => (words.after_answer)(*every),
            Rule::Daily { time } => {
                format!("{} {}", (words.every_one_of)(words.day), (words.at)(&clock(*time)))
            }
            Rule::Weekly { time, days } => {
                format!("{} {}", (words.every_one_of)(&class(*days, words)), (words.at)(&clock(*time)))
            }
            Rule::Cron(expr) => format!("cron `{expr}`"),
            Rule::Smart(smart) => smart_words(smart, words),
        }];
        if !self.except.is_empty() {
            parts.push((words.except)(&except_words(&self.except, words)));
        }
        // Elapsed time is the same everywhere, but the dates beside it are not.
        if !matches!(self.rule, Rule::Interval { .. }) || !self.except.is_empty() {
            parts.push(zone.to_string());
        }
        parts.extend(self.starts_at.map(|at| (words.from)(&moment(at))));
        parts.extend(self.ends_at.map(|at| (words.until)(&moment(at))));
        parts.extend(self.count.map(|count| (words.times)(count)));
        parts.join(", ")
    }
}

/// The table of a language.
fn words_of(lang: Lang) -> &'static Words {
    match lang {
        // Those that have no table yet are answered in English.
        Lang::En | Lang::De | Lang::Hr | Lang::Sr | Lang::SrCyrl | Lang::Bs => &en::WORDS,
    }
}

fn smart_words(smart: &Smart, words: &Words) -> String {
    let rules = smart.rules.iter().map(|rule| rule::rule(rule, smart.anchor, words));
    let dates: Vec<String> = smart.dates.iter().map(|date| (words.moment)(*date)).collect();
    let dates = (!dates.is_empty()).then(|| (words.on)(&list(dates)));
    rules.chain(dates).collect::<Vec<_>>().join(words.and)
}

fn except_words(except: &Exceptions, words: &Words) -> String {
    let date = |date: jiff::civil::Date| {
        format!("{} {}", (words.date)(date.day(), month_name(date.month(), words)), date.year())
    };
    let time = |time: &DateTime| format!("{} {}", date(time.date()), (words.at)(&clock(time.time())));
    let days = (!except.weekdays.is_empty()).then(|| names(except.weekdays, words));
    let months = except.months.iter().map(|month| month_name(month, words).to_owned());
    let ranges = except.ranges.iter().map(|(first, last)| format!("{}–{}", date(*first), date(*last)));
    let dates = except.dates.iter().map(|day| date(*day));
    list(days.into_iter().chain(months).chain(dates).chain(except.times.iter().map(time)).chain(ranges))
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
