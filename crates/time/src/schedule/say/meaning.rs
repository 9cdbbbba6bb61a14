//! The meaning of a phrase, said back in words.

use jiff::Timestamp;

use super::super::Freq;
use super::super::json::clock;
use super::words::{Words, list};
use super::{date_and_time, in_letters, words_of, written};
use crate::phrase::{Lang, Meaning, Parsed};
use crate::zone::Zone;

impl Parsed {
    /// Says in the language of the text what was understood, such as `Mon 9 Mar 2026 at 09:00, Europe/Berlin`. A word with a letter amiss
    /// is said with what it was read as: `(mogen → morgen)`.
    pub fn summary(&self, zone: &Zone) -> String {
        let mut said = self.meaning.summary_in(self.lang, zone);
        for (typed, read) in &self.slips {
            said.push_str(&format!(" ({typed} → {read})"));
        }
        said
    }

    /// A reason, with what was most likely meant.
    pub fn with_suggestion(&self, reason: &str, zone: &Zone) -> String {
        match &self.suggestion {
            Some(meaning) => {
                let said = meaning.summary_in(self.lang, zone);
                let asked = in_letters(self.lang, &(words_of(self.lang).did_you_mean)("{}"));
                format!("{reason}; {}", asked.replace("{}", &said))
            }
            None => reason.to_owned(),
        }
    }
}

impl Meaning {
    /// Says it in words, such as `Mon 9 Mar 2026 at 09:00, Europe/Berlin`.
    ///
    /// The time of day is always said, because it may be one that nobody named. For none it is the reason.
    pub fn summary_in(&self, lang: Lang, zone: &Zone) -> String {
        let words = words_of(lang);
        let local = |at: Timestamp| zone.rules().to_datetime(at);
        let said = match self {
            Meaning::Instant { at, .. } => date_and_time(local(*at), words),
            Meaning::Interval { from, to, .. } => {
                let (from, to) = (local(*from), local(*to));
                if from.date() == to.date() {
                    let between = (words.between)(&clock(from.time()), &clock(to.time()));
                    format!("{} {between}", (words.day)(from.date()))
                } else {
                    (words.from_to)(&date_and_time(from, words), &date_and_time(to, words))
                }
            }
            Meaning::Duration { seconds, at } => {
                format!("{}, {}", (words.from_now)(&length(*seconds, words)), date_and_time(local(*at), words))
            }
            Meaning::Recurring(schedule) => return schedule.summary_in(lang, zone),
            Meaning::None { reason } => return reason.clone(),
        };
        written(lang, &said, Some(zone))
    }
}

/// `1 hour and 30 minutes`.
fn length(seconds: u64, words: &Words) -> String {
    let parts = [
        (Freq::Daily, seconds / 86_400),
        (Freq::Hourly, seconds / 3600 % 24),
        (Freq::Minutely, seconds / 60 % 60),
        (Freq::Secondly, seconds % 60),
    ];
    let parts = parts.into_iter().filter(|(_, n)| *n > 0).map(|(unit, n)| (words.length)(unit, n));
    list(parts, words.and)
}
