//! The words for a person who wrote something, in their language.

mod words;

use jiff::Timestamp;

use self::words::{Words, words};
use crate::alert::short;
use crate::phrase::Lang;
use crate::zone::Zone;

/// One thing that is said back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// It is done.
    Done,
    /// It is done, and nobody had answered in time.
    DoneLate,
    /// It is put off.
    Snoozed {
        /// Until then.
        until: Timestamp,
    },
    /// It is not needed.
    Dismissed,
    /// It was done before.
    WasDone {
        /// When.
        at: Timestamp,
        /// By whom, where that is somebody else.
        by: Option<String>,
    },
    /// It was not needed before.
    WasNotNeeded,
    /// Its reminder was cancelled before.
    WasCancelled,
    /// It has ended, and cannot be put off any more.
    IsOver,
    /// It must not be put off.
    CannotSnooze {
        /// When it is asked about again.
        again_at: Option<Timestamp>,
    },
    /// It cannot be put off until then.
    BadTime,
    /// Several may be meant: which?
    Which,
    /// It is just being sent.
    Busy,
    /// A reminder was made.
    Made {
        /// When it is due, in words.
        summary: String,
    },
    /// A reminder was asked for without a time.
    NoTime,
    /// A reminder was asked for at a time at which nobody can be reminded.
    NoReminder {
        /// Why.
        why: String,
    },
    /// A reminder was asked for without a word of what about.
    OnlyWhen,
    /// What comes next.
    Listed,
    /// Nothing is to come.
    NothingToCome,
    /// A reminder was cancelled.
    Cancelled,
    /// One of several may be meant to be cancelled: which?
    CancelWhich,
    /// No reminder says this.
    NoSuch {
        /// What was looked for.
        what: String,
    },
}

/// Says `line` about a reminder with this message, to somebody in `zone`.
pub fn say(line: &Line, message: &str, lang: Lang, zone: &Zone, now: Timestamp) -> String {
    let words = words(lang);
    let message = format!("{}{}{}", words.quotes[0], short(message), words.quotes[1]);
    let time = |at: &Timestamp| time(*at, words, zone, now);
    let with = |template: &str, name: &str, value: &str| template.replace(&format!("{{{name}}}"), value);
    // The message is filled in last: it may say anything, also what looks like a place to be filled.
    let text = match line {
        Line::Done => words.done.to_owned(),
        Line::DoneLate => words.done_late.to_owned(),
        Line::Snoozed { until } => with(words.snoozed, "time", &time(until)),
        Line::Dismissed => words.dismissed.to_owned(),
        Line::WasDone { at, by: None } => with(words.was_done, "time", &time(at)),
        Line::WasDone { at, by: Some(by) } => with(&with(words.was_done_by, "time", &time(at)), "who", &short(by)),
        Line::WasNotNeeded => words.was_not_needed.to_owned(),
        Line::WasCancelled => words.was_cancelled.to_owned(),
        Line::IsOver => words.is_over.to_owned(),
        Line::CannotSnooze { again_at: None } => words.cannot_snooze.to_owned(),
        Line::CannotSnooze { again_at: Some(at) } => {
            format!("{}. {}", words.cannot_snooze, with(words.again, "time", &time(at)))
        }
        Line::BadTime => words.bad_time.to_owned(),
        Line::Which => words.which.to_owned(),
        Line::Busy => words.busy.to_owned(),
        Line::Made { summary } => with(words.made, "summary", summary),
        Line::NoTime => words.no_time.to_owned(),
        Line::NoReminder { why } => with(words.no_reminder, "why", why),
        Line::OnlyWhen => words.only_when.to_owned(),
        Line::Listed => words.listed.to_owned(),
        Line::NothingToCome => words.nothing.to_owned(),
        Line::Cancelled => words.cancelled.to_owned(),
        Line::CancelWhich => words.cancel_which.to_owned(),
        Line::NoSuch { what } => {
            let what = format!("{}{}{}", words.quotes[0], short(what), words.quotes[1]);
            return with(words.no_such, "what", &what);
        }
    };
    with(&text, "message", &message)
}

/// The label of a button that cancels a reminder.
pub fn cancel_label(lang: Lang) -> &'static str {
    words(lang).cancel_label
}

/// The label of a button that means a reminder with this message, and when it is due or was said.
pub fn label(message: &str, at: Option<Timestamp>, lang: Lang, zone: &Zone, now: Timestamp) -> String {
    match at {
        Some(at) => format!("{} {}", time(at, words(lang), zone, now), short(message)),
        None => short(message),
    }
}

/// An instant as people say it: `08:05`, on another day with its name, and further away with its date.
fn time(at: Timestamp, words: &Words, zone: &Zone, now: Timestamp) -> String {
    let (there, here) = (at.to_zoned(zone.rules().clone()), now.to_zoned(zone.rules().clone()));
    let clock = there.strftime("%H:%M").to_string();
    let days = (there.date() - here.date()).get_days();
    if days == 0 {
        return clock;
    }
    let day = match days {
        1..=6 => words.days[there.weekday().to_monday_zero_offset().unsigned_abs() as usize].to_owned(),
        _ => there.strftime(words.date).to_string(),
    };
    format!("{day} {clock}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line in every language, at 08:00 on a Monday in Zagreb.
    #[test]
    fn every_line_is_said_in_every_language() {
        let zone = Zone::named("Europe/Zagreb").unwrap();
        let now: Timestamp = "2026-03-02T07:00:00Z".parse().unwrap();
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let lines = [
            Line::Done,
            Line::DoneLate,
            Line::Snoozed { until: at("2026-03-02T07:05:00Z") },
            Line::Snoozed { until: at("2026-03-03T08:00:00Z") },
            Line::Snoozed { until: at("2026-05-03T08:00:00Z") },
            Line::Dismissed,
            Line::WasDone { at: at("2026-03-02T06:58:00Z"), by: None },
            Line::WasDone { at: at("2026-03-01T06:58:00Z"), by: Some("bob".into()) },
            Line::WasNotNeeded,
            Line::WasCancelled,
            Line::IsOver,
            Line::CannotSnooze { again_at: None },
            Line::CannotSnooze { again_at: Some(at("2026-03-02T07:10:00Z")) },
            Line::BadTime,
            Line::Which,
            Line::Busy,
            Line::Made { summary: "08:05".into() },
            Line::NoTime,
            Line::NoReminder { why: "…".into() },
            Line::OnlyWhen,
            Line::Listed,
            Line::NothingToCome,
            Line::Cancelled,
            Line::CancelWhich,
            Line::NoSuch { what: "mom".into() },
        ];
        let mut all = String::new();
        for lang in [Lang::En, Lang::De, Lang::Hr, Lang::Sr, Lang::SrCyrl] {
            for line in &lines {
                let said = say(line, "call mom", lang, &zone, now);
                assert!(!said.contains(['{', '}']), "{lang}: {said}");
                all.push_str(&format!("{lang}: {said}\n"));
            }
        }
        assert_eq!(all, include_str!("say/lines.txt"), "the lines have changed; if they should, change lines.txt");
    }

    #[test]
    fn a_message_is_never_taken_for_a_place_to_be_filled() {
        let (zone, now) = (Zone::utc(), Timestamp::UNIX_EPOCH);
        let line = Line::Snoozed { until: now };
        assert_eq!(say(&line, "{time} {message}", Lang::En, &zone, now), "⏰ Put off until 00:00: “{time} {message}”");
        assert!(say(&Line::NoSuch { what: "{message}".into() }, "", Lang::En, &zone, now).contains("{message}"));
    }
}
