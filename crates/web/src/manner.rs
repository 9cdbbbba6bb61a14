//! Numbers, dates and instants in the manner of the viewer.

use std::borrow::Cow;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use punctual_client::wire;
use punctual_time::phrase::Lang;
use punctual_time::schedule::Schedule;
use punctual_time::zone::Zone;

use crate::texts::{Text, time as t};

/// How somebody reads: their language, their zone, and the present.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    pub(crate) lang: Lang,
    pub(crate) zone: Zone,
    pub(crate) now: Timestamp,
    /// Whether noon is 12:00 pm, and the month comes before the day.
    is_american: bool,
}

impl Manner {
    /// Of a viewer: as their own entry says, else as the browser says, else as the server does.
    pub(crate) fn of(
        user: Option<&wire::User>,
        settings: &wire::Settings,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Self {
        let zone = user.and_then(|user| user.timezone.as_deref()).unwrap_or(&settings.timezone);
        let zone = Zone::named(zone).unwrap_or_else(|_| Zone::utc());
        let own: Option<Lang> = user.and_then(|user| user.language.as_deref()).and_then(|tag| tag.parse().ok());
        let lang = own.or_else(|| accepted(headers)).or_else(|| settings.language.parse().ok()).unwrap_or(Lang::En);
        let lang = written(lang);
        Self { lang, zone, now, is_american: lang == Lang::En && is_american(headers) }
    }

    /// Of somebody who has not signed in.
    pub(crate) fn of_stranger(headers: &HeaderMap) -> Self {
        let lang = written(accepted(headers).unwrap_or(Lang::En));
        let is_american = lang == Lang::En && is_american(headers);
        Self { lang, zone: Zone::utc(), now: Timestamp::UNIX_EPOCH, is_american }
    }

    /// The same reader in this zone at this time.
    #[cfg(test)]
    pub(crate) fn at(self, zone: Zone, now: Timestamp) -> Self {
        Self { zone, now, ..self }
    }

    /// The tag of the language, for `lang`.
    pub(crate) fn tag(&self) -> &'static str {
        self.lang.tag()
    }

    /// A text in their language.
    pub(crate) fn t(&self, text: Text) -> Cow<'static, str> {
        let said = match self.lang {
            Lang::De => text.de,
            Lang::Hr | Lang::Bs => text.hr,
            Lang::Sr | Lang::SrCyrl => text.sr,
            _ => text.en,
        };
        if self.lang == Lang::SrCyrl { Cow::Owned(cyrillic(said)) } else { Cow::Borrowed(said) }
    }

    /// A text with values. The number that chooses a form is said with its digits.
    pub(crate) fn say(&self, text: Text, values: &[(&str, &str)]) -> String {
        let said = self.t(text);
        let mut out = String::with_capacity(said.len() + 16);
        let mut rest = &*said;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((inside, after)) = after.split_once('}') else { break };
            rest = after;
            let mut parts = inside.split('|');
            let name = parts.next().unwrap_or_default();
            let value = values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
            let forms: Vec<&str> = parts.collect();
            match forms.is_empty() {
                true => out.push_str(value),
                false => out.push_str(forms.get(self.form(value)).or(forms.last()).unwrap_or(&"")),
            }
        }
        out.push_str(rest);
        out
    }

    /// Which form goes with a number, by its digits.
    fn form(&self, digits: &str) -> usize {
        let n: u64 = digits.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
        match self.lang {
            Lang::Hr | Lang::Bs | Lang::Sr | Lang::SrCyrl => match (n % 10, n % 100) {
                (1, hundred) if hundred != 11 => 0,
                (2..=4, hundred) if !(12..=14).contains(&hundred) => 1,
                _ => 2,
            },
            _ => usize::from(n != 1),
        }
    }

    /// `1,284`, `1.284`.
    pub(crate) fn number(&self, n: u64) -> String {
        let digits = n.to_string();
        let mut out = String::with_capacity(digits.len() + 4);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                out.push(if self.says_comma() { '.' } else { ',' });
            }
            out.push(digit);
        }
        out
    }

    /// `0.3`, `0,3`, with so many digits after the point.
    pub(crate) fn decimal(&self, n: f64, digits: usize) -> String {
        let said = format!("{n:.digits$}");
        if self.says_comma() { said.replace('.', ",") } else { said }
    }

    fn says_comma(&self) -> bool {
        !matches!(self.lang, Lang::En)
    }

    /// A span in milliseconds, as exactly as it matters: `0.3 ms`, `41 ms`, `1.2 s`, `4 min`.
    pub(crate) fn millis(&self, ms: f64) -> String {
        match ms {
            ms if ms < 9.95 => format!("{} ms", self.decimal(ms, 1)),
            ms if ms < 999.5 => format!("{} ms", self.decimal(ms, 0)),
            ms if ms < 59_950.0 => format!("{} s", self.decimal(ms / 1000.0, 1)),
            ms => self.span((ms / 1000.0) as i64),
        }
    }

    /// A span in its two largest units: `13 min`, `2 h 5 min`, `3 d`.
    pub(crate) fn span(&self, seconds: i64) -> String {
        let seconds = seconds.max(0);
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        let unit = |n: i64, unit: Text| format!("{n} {}", self.t(unit));
        let both = |first: String, n: i64, second: Text| match n {
            0 => first,
            n => format!("{first} {}", unit(n, second)),
        };
        match (days, hours, minutes) {
            (0, 0, 0) => unit(seconds, t::SECOND),
            (0, 0, minutes) => unit(minutes, t::MINUTE),
            (0, hours @ 0..6, minutes) => both(unit(hours, t::HOUR), minutes, t::MINUTE),
            (0, hours, minutes) => unit(hours + i64::from(minutes >= 30), t::HOUR),
            (days @ 0..3, hours, _) => both(unit(days, t::DAY), hours, t::HOUR),
            (days, ..) => unit(days, t::DAY),
        }
    }

    /// `in 13 min` or `13 min ago`.
    pub(crate) fn relative(&self, at: Timestamp) -> String {
        let seconds = at.as_second() - self.now.as_second();
        match seconds {
            -1..=1 => self.t(t::NOW).into_owned(),
            2.. => self.say(t::IN, &[("span", &self.span(seconds))]),
            _ => self.say(t::AGO, &[("span", &self.span(-seconds))]),
        }
    }

    pub(crate) fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.rules().clone())
    }

    /// Today, where the viewer is.
    pub(crate) fn today(&self) -> Date {
        self.local(self.now).date()
    }

    /// When a day begins, where the viewer is.
    pub(crate) fn begins(&self, day: Date) -> Timestamp {
        day.to_zoned(self.zone.rules().clone()).map_or(self.now, |begins| begins.timestamp())
    }

    /// `20:05`, or `8:05 pm`.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        self.time_in(at, self.zone.rules())
    }

    pub(crate) fn time_in(&self, at: Timestamp, zone: &TimeZone) -> String {
        let at = at.to_zoned(zone.clone());
        self.clock(at.hour(), at.minute())
    }

    /// An hour and a minute, as a clock shows them: `20:05`, or `8:05 pm`.
    pub(crate) fn clock(&self, hour: i8, minute: i8) -> String {
        if !self.is_american {
            return format!("{hour:02}:{minute:02}");
        }
        let (of_half, half) = (hour.rem_euclid(12), if hour < 12 { "am" } else { "pm" });
        format!("{}:{minute:02} {half}", if of_half == 0 { 12 } else { of_half })
    }

    /// `20:05:00.212`: for what is told by the millisecond.
    pub(crate) fn exact(&self, at: Timestamp) -> String {
        let at = self.local(at);
        let millis = at.subsec_nanosecond() / 1_000_000;
        format!(
            "{:02}:{:02}:{:02}{}{millis:03}",
            at.hour(),
            at.minute(),
            at.second(),
            if self.says_comma() { ',' } else { '.' }
        )
    }

    /// `Sun 15 Nov`, with the year where it is another.
    pub(crate) fn date(&self, day: Date) -> String {
        let (weekday, month) = (self.short_weekday(day), self.short_month(day));
        let year = if day.year() == self.today().year() { String::new() } else { format!(" {}", day.year()) };
        match self.lang {
            Lang::En if self.is_american => format!("{weekday}, {month} {}{}", day.day(), year.replace(' ', ", ")),
            Lang::En => format!("{weekday} {} {month}{year}", day.day()),
            Lang::De => format!("{weekday}., {}. {month}{year}", day.day()),
            _ => format!("{weekday} {}. {month}{year}", day.day()),
        }
    }

    /// `Sunday 15 November`, with the year where it is another.
    pub(crate) fn long_date(&self, day: Date) -> String {
        let (weekday, month) = (self.weekday(day), self.month(day));
        let year = if day.year() == self.today().year() { String::new() } else { format!(" {}", day.year()) };
        match self.lang {
            Lang::En if self.is_american => format!("{weekday}, {month} {}{}", day.day(), year.replace(' ', ", ")),
            Lang::En => format!("{weekday} {} {month}{year}", day.day()),
            Lang::De => format!("{weekday}, {}. {month}{year}", day.day()),
            _ => {
                format!("{weekday}, {}. {month}{}", day.day(), if year.is_empty() { year } else { format!("{year}.") })
            }
        }
    }

    /// `Today`, `Tomorrow`, `Yesterday`, or the date.
    pub(crate) fn day(&self, day: Date) -> String {
        let days = self.today().until(day).map_or(99, |span| span.get_days());
        match days {
            0 => self.t(t::TODAY).into_owned(),
            1 => self.t(t::TOMORROW).into_owned(),
            -1 => self.t(t::YESTERDAY).into_owned(),
            _ => self.long_date(day),
        }
    }

    /// A schedule in the viewer's words; the API says it in those of the reminder's user. Its zone is left out where that is the viewer's own.
    pub(crate) fn schedule(&self, reminder: &wire::Reminder<'_>) -> String {
        self.rule(&reminder.schedule, &reminder.timezone, &reminder.summary)
    }

    /// A schedule with local times in `zone`, which the API says as `summary`.
    fn rule(&self, schedule: &wire::Schedule, zone: &str, summary: &str) -> String {
        let schedule = Schedule::from_stored(&schedule.0.to_string()).ok().zip(Zone::named(zone).ok());
        let own = schedule.map(|(schedule, zone)| schedule.summary_in(self.lang, &zone));
        let summary = own.unwrap_or_else(|| summary.to_owned());
        let ending = summary.strip_suffix(self.zone.name()).and_then(|rest| rest.strip_suffix(", "));
        ending.map(str::to_owned).unwrap_or(summary)
    }

    /// What a text can mean, in the viewer's words; the API says it in those of the text. Local times are in `zone`.
    pub(crate) fn reading(&self, reading: &wire::Reading, zone: &str) -> String {
        let said = |at: &Option<String>| at.as_deref()?.parse::<Timestamp>().ok().map(|at| self.instant(at));
        match (said(&reading.at), said(&reading.from), said(&reading.to), &reading.schedule) {
            (Some(at), ..) => at,
            (None, Some(from), Some(to), _) => format!("{from} – {to}"),
            (.., Some(schedule)) => self.rule(schedule, zone, &reading.summary),
            _ => reading.summary.clone(),
        }
    }

    /// `20:05` today, else `Sun 15 Nov 20:05`.
    pub(crate) fn instant(&self, at: Timestamp) -> String {
        let day = self.local(at).date();
        if day == self.today() { self.time(at) } else { format!("{} {}", self.date(day), self.time(at)) }
    }

    /// Everything about an instant, with the zone.
    pub(crate) fn whole(&self, at: Timestamp) -> String {
        let day = self.local(at).date();
        format!("{} {} {}", self.long_date(day), self.exact(at), self.zone.name())
    }

    fn weekday(&self, day: Date) -> String {
        nth(&self.t(t::WEEKDAYS), day.weekday().to_monday_zero_offset())
    }

    pub(crate) fn short_weekday(&self, day: Date) -> String {
        nth(&self.t(t::SHORT_WEEKDAYS), day.weekday().to_monday_zero_offset())
    }

    fn month(&self, day: Date) -> String {
        nth(&self.t(t::MONTHS), day.month() - 1)
    }

    pub(crate) fn short_month(&self, day: Date) -> String {
        nth(&self.t(t::SHORT_MONTHS), day.month() - 1)
    }
}

fn nth(words: &str, index: i8) -> String {
    words.split(' ').nth(usize::try_from(index).unwrap_or(0)).unwrap_or_default().to_owned()
}

/// The language in which texts are written for somebody with this one.
fn written(lang: Lang) -> Lang {
    if is_written(lang) { lang } else { Lang::En }
}

/// Whether the page has texts in a language. It has none in Spanish and French yet.
fn is_written(lang: Lang) -> bool {
    !matches!(lang, Lang::Es | Lang::Fr)
}

/// The first language of the browser that there are texts in.
fn accepted(headers: &HeaderMap) -> Option<Lang> {
    let all = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    let tags = all.split(',').map(|tag| tag.split(';').next().unwrap_or_default().trim());
    tags.take(20).find_map(|tag| {
        let lang: Option<Lang> = tag.parse().ok();
        let short = || tag.split('-').next().and_then(|short| short.parse().ok());
        lang.or_else(short).filter(|lang| is_written(*lang))
    })
}

fn is_american(headers: &HeaderMap) -> bool {
    let all = headers.get(ACCEPT_LANGUAGE).and_then(|all| all.to_str().ok()).unwrap_or_default();
    all.get(..5).is_some_and(|first| first.eq_ignore_ascii_case("en-us"))
}

/// Text that a person must type, and names of others, keep their own alphabet.
const KEPT: &[&str] = &[
    "punctual", "open", "bob", "telegram", "discord", "slack", "whatsapp", "ntfy", "console", "webhook", "web", "push",
    "iphone", "https", "url", "api", "json", "utc", "mcp", "cli", "sms", "toml", "ctrl", "p50", "p90", "p99",
];

/// Whether a word of a text is typed as it stands: a rule, a path, an address, a zone, a length of time.
fn is_typed(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let has_mark = bare.contains(['=', '/', ':', '_', '@', '+', '`', '*']) || bare.contains("://");
    let is_length = bare.starts_with(|c: char| c.is_ascii_digit()) && bare.ends_with(|c: char| c.is_ascii_alphabetic());
    let is_file = bare.rsplit_once('.').is_some_and(|(_, end)| end.starts_with(|c: char| c.is_ascii_alphabetic()));
    let first = bare.split(['-', '\'']).next().unwrap_or_default().to_lowercase();
    has_mark || is_length || is_file || KEPT.contains(&first.as_str())
}

/// Serbian in Cyrillic letters. What stands in braces up to the first bar is a name and stays, and so does what somebody is to type.
fn cyrillic(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    // A place for a value may have spaces in its forms, so words are told apart outside of braces alone.
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest.find(|c: char| c == '{' || c.is_whitespace()) {
            Some(0) if rest.starts_with('{') => rest.find('}').map_or(rest.len(), |end| end + 1),
            Some(0) => rest.chars().next().map_or(rest.len(), char::len_utf8),
            Some(end) => end,
            None => rest.len(),
        };
        let (word, after) = rest.split_at(end);
        match word {
            // The unit of hours is no word.
            "h" => out.push('ч'),
            word if !word.starts_with('{') && is_typed(word) => out.push_str(word),
            word => out.push_str(&in_cyrillic(word)),
        }
        rest = after;
    }
    out
}

fn in_cyrillic(text: &str) -> String {
    const LETTERS: [(&str, &str); 33] = [
        ("lj", "љ"),
        ("nj", "њ"),
        ("dž", "џ"),
        ("a", "а"),
        ("b", "б"),
        ("v", "в"),
        ("g", "г"),
        ("d", "д"),
        ("đ", "ђ"),
        ("e", "е"),
        ("ž", "ж"),
        ("z", "з"),
        ("i", "и"),
        ("j", "ј"),
        ("k", "к"),
        ("l", "л"),
        ("m", "м"),
        ("n", "н"),
        ("o", "о"),
        ("p", "п"),
        ("r", "р"),
        ("s", "с"),
        ("t", "т"),
        ("ć", "ћ"),
        ("u", "у"),
        ("f", "ф"),
        ("h", "х"),
        ("c", "ц"),
        ("č", "ч"),
        ("š", "ш"),
        ("w", "в"),
        ("x", "кс"),
        ("y", "ј"),
    ];
    let mut out = String::with_capacity(text.len() * 2);
    let (mut rest, mut is_name) = (text, false);
    'next: while let Some(first) = rest.chars().next() {
        match first {
            '{' => is_name = true,
            '|' | '}' => is_name = false,
            _ => {}
        }
        if !is_name {
            for (latin, letter) in LETTERS {
                let Some(head) = rest.get(..latin.len()) else { continue };
                if head.to_lowercase() == latin {
                    let is_upper = head.chars().next().is_some_and(char::is_uppercase);
                    if is_upper {
                        out.extend(letter.chars().flat_map(char::to_uppercase))
                    } else {
                        out.push_str(letter)
                    }
                    rest = &rest[latin.len()..];
                    continue 'next;
                }
            }
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn manner(lang: &str) -> Manner {
        let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::from_str(lang).unwrap())]);
        let now = "2026-11-15T19:17:00Z".parse().unwrap();
        Manner { zone: Zone::named("Europe/Zagreb").unwrap(), now, ..Manner::of_stranger(&headers) }
    }

    #[test]
    fn everybody_reads_numbers_and_dates_in_their_own_manner() {
        let at: Timestamp = "2026-11-16T19:05:00.2125Z".parse().unwrap();
        for (lang, number, decimal, date, instant, relative) in [
            ("en-GB", "1,284", "0.3", "Monday 16 November", "Mon 16 Nov 20:05", "in 24 h"),
            ("en-US,en;q=0.5", "1,284", "0.3", "Monday, November 16", "Mon, Nov 16 8:05 pm", "in 24 h"),
            ("fr, de;q=0.8", "1.284", "0,3", "Montag, 16. November", "Mo., 16. Nov 20:05", "in 24 Std."),
            ("hr", "1.284", "0,3", "ponedjeljak, 16. studenoga", "pon 16. stu 20:05", "za 24 h"),
            ("sr-Latn", "1.284", "0,3", "ponedeljak, 16. novembar", "pon 16. nov 20:05", "za 24 h"),
            ("sr-Cyrl", "1.284", "0,3", "понедељак, 16. новембар", "пон 16. нов 20:05", "за 24 ч"),
        ] {
            let m = manner(lang);
            let said =
                (m.number(1284), m.decimal(0.31, 1), m.long_date(m.local(at).date()), m.instant(at), m.relative(at));
            let expect: [&str; 5] = [number, decimal, date, instant, relative];
            assert_eq!([said.0, said.1, said.2, said.3, said.4], expect, "{lang}");
        }
    }

    #[test]
    fn a_schedule_is_said_in_the_words_of_the_viewer() {
        let reminder =
            crate::pages::reminder_of(serde_json::json!({ "schedule": { "type": "daily", "time": "09:00" } }));
        let utc = |lang: &str| manner(lang).at(Zone::utc(), Timestamp::UNIX_EPOCH).schedule(&reminder);
        assert_eq!(utc("en-GB"), "every day at 09:00");
        assert_eq!(utc("de"), "jeden Tag um 09:00 Uhr");
        assert_eq!(manner("en-GB").schedule(&reminder), "every day at 09:00, UTC");
    }

    #[test]
    fn what_words_can_mean_is_said_in_the_words_of_the_viewer() {
        let m = |lang: &str| manner(lang).at(Zone::utc(), "2026-11-16T19:05:00Z".parse().unwrap());
        let at = |at: &str| Some(at.to_owned());
        let weekly = serde_json::json!({ "type": "weekly", "time": "06:00", "days": ["fri"] });
        let reading = |at, from, to, schedule| wire::Reading { at, from, to, schedule, summary: "said".into() };
        for (reading, lang, expect) in [
            (reading(at("2026-11-20T07:00:00+01:00"), None, None, None), "en-GB", "Fri 20 Nov 06:00"),
            (reading(at("2026-11-20T07:00:00+01:00"), None, None, None), "de", "Fr., 20. Nov 06:00"),
            (reading(None, at("2026-11-16T20:00:00Z"), at("2026-11-16T22:00:00Z"), None), "en-GB", "20:00 – 22:00"),
            (reading(None, None, None, Some(wire::Schedule(weekly))), "de", "jeden Freitag um 06:00 Uhr"),
            (reading(None, None, None, None), "de", "said"),
        ] {
            assert_eq!(m(lang).reading(&reading, "UTC"), expect);
        }
    }

    #[test]
    fn only_english_has_the_clock_of_america() {
        let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, HeaderValue::from_static("en-US,de;q=0.9"))]);
        let settings = serde_json::json!({ "timezone": "UTC", "language": "en", "version": "1", "settings": [] });
        let user = |language: &str| {
            serde_json::from_value(serde_json::json!({ "id": "me", "timezone": null, "language": language, "addresses": [], "quiet_hours": null,
                "paused_until": null, "admin": false, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z" }))
            .unwrap()
        };
        let at: Timestamp = "2026-11-16T19:05:00Z".parse().unwrap();
        for (language, expect) in [("en", "7:05 pm"), ("de", "19:05"), ("hr", "19:05"), ("sr", "19:05")] {
            let m = Manner::of(Some(&user(language)), &serde_json::from_value(settings.clone()).unwrap(), &headers, at);
            assert_eq!(m.time(at), expect, "{language}");
        }
    }

    #[test]
    fn what_somebody_types_stays_in_its_letters() {
        for (text, expect) in [
            ("Pravilo kao FREQ=WEEKLY;BYDAY=TU. Prazno: jednom.", "Правило као FREQ=WEEKLY;BYDAY=TU. Празно: једном."),
            ("na primer guild:1/channel:2.", "на пример guild:1/channel:2."),
            (
                "Adresa https://example.org/a, zona Europe/Belgrade",
                "Адреса https://example.org/a, зона Europe/Belgrade",
            ),
            ("Na primer 10m bob", "На пример 10m bob"),
            ("Još {n} {n|dan|dana|dana}", "Још {n} {n|дан|дана|дана}"),
            ("upišite punctual open", "упишите punctual open"),
        ] {
            assert_eq!(cyrillic(text), expect);
        }
    }

    #[test]
    fn a_number_chooses_the_form_that_goes_with_it() {
        const TEXT: Text = Text {
            en: "{n} {n|run|runs}",
            de: "{n} {n|Lauf|Läufe}",
            hr: "{n} {n|put|puta|puta}",
            sr: "{n} {n|dan|dana|dana}",
        };
        for (lang, n, expect) in [
            ("en", "1", "1 run"),
            ("en", "1,001", "1,001 runs"),
            ("de", "2", "2 Läufe"),
            ("hr", "21", "21 put"),
            ("hr", "3", "3 puta"),
            ("sr", "11", "11 dana"),
        ] {
            assert_eq!(manner(lang).say(TEXT, &[("n", n)]), expect, "{lang} {n}");
        }
    }

    #[test]
    fn spans_are_said_as_exactly_as_it_matters() {
        let m = manner("en");
        for (seconds, expect) in [
            (0, "0 s"),
            (59, "59 s"),
            (780, "13 min"),
            (7500, "2 h 5 min"),
            (39_000, "11 h"),
            (180_000, "2 d 2 h"),
            (864_000, "10 d"),
        ] {
            assert_eq!(m.span(seconds), expect);
        }
        for (ms, expect) in [(0.31, "0.3 ms"), (41.2, "41 ms"), (1234.0, "1.2 s"), (240_000.0, "4 min")] {
            assert_eq!(m.millis(ms), expect);
        }
    }
}
