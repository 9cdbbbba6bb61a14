//! Time as people say it: `tomorrow at 8`, `jeden Werktag um 7:30`, `za sat i po`.

mod lang;

use jiff::Timestamp;

pub use lang::Lang;

use crate::schedule::Schedule;
use crate::zone::Zone;

/// What a text says about time.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What was understood.
    pub meaning: Meaning,
    /// The text without the time phrase.
    pub rest: String,
    /// The language it was understood in.
    pub lang: Lang,
}

/// What was understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// One instant, known as exactly as `grain` says.
    Instant {
        /// The instant.
        at: Timestamp,
        /// How exactly it was said.
        grain: Grain,
    },
    /// A stretch of time.
    Interval {
        /// Its beginning.
        from: Timestamp,
        /// Its end.
        to: Timestamp,
    },
    /// A length of time, such as `20 minutes`, that is not said to begin anywhere.
    Duration {
        /// The length.
        seconds: u64,
    },
    /// Something that comes again and again.
    Recurring(Box<Schedule>),
    /// Nothing that can be relied on, and why.
    None {
        /// A sentence for the person who wrote it.
        reason: String,
    },
}

/// How exactly an instant was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// To the second.
    Second,
    /// To the minute.
    Minute,
    /// To the hour.
    Hour,
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// Three months.
    Quarter,
    /// A year.
    Year,
}

/// Works out what `text` says about time, for somebody in `zone` at `now`. Without `lang` the language is worked out too.
pub fn parse(text: &str, lang: Option<Lang>, _zone: &Zone, _now: Timestamp) -> Parsed {
    let reason = "no time was found in it".into();
    Parsed { meaning: Meaning::None { reason }, rest: text.to_owned(), lang: lang.unwrap_or(Lang::En) }
}
