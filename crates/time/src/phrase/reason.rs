//! Why a text has no meaning, in the language of the text.
//!
//! A reason has a key. Every table says it in its own words, under `says <key>` among its settings; `{}` stands for what the reason is about.

use jiff::civil::Date;

use super::language::Language;
use crate::schedule::{day_in, in_letters};

/// Why something that was said is no time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Why {
    key: &'static str,
    about: About,
}

/// The thing that a reason is about.
#[derive(Debug, Clone, PartialEq)]
enum About {
    Nothing,
    /// Words of the text, or a number.
    Words(String),
    Date(Date),
}

impl Why {
    /// The words of somebody were not understood.
    pub(super) const NOT_UNDERSTOOD: &'static str = "not understood";
    /// The text has no time.
    pub(super) const NO_TIME: &'static str = "no time";

    pub(super) const fn of(key: &'static str) -> Self {
        Self { key, about: About::Nothing }
    }

    pub(super) fn about(key: &'static str, words: impl Into<String>) -> Self {
        Self { key, about: About::Words(words.into()) }
    }

    pub(super) fn date(key: &'static str, date: Date) -> Self {
        Self { key, about: About::Date(date) }
    }

    pub(super) fn is(&self, key: &str) -> bool {
        self.key == key
    }
}

impl Language {
    /// A reason in the words of the language.
    pub(super) fn says(&self, why: &Why) -> String {
        let words = || in_letters(self.lang, self.table.setting(&format!("says {}", why.key), why.key));
        match &why.about {
            About::Nothing => words(),
            About::Words(about) => words().replace("{}", about),
            About::Date(date) => words().replace("{}", &in_letters(self.lang, &day_in(self.lang, *date))),
        }
    }
}

/// All keys. A test sees to it that every language says each of them.
#[cfg(test)]
const KEYS: [&str; 35] = [
    Why::NO_TIME,
    Why::NOT_UNDERSTOOD,
    "several times",
    "no hours",
    "one time",
    "besides",
    "no such date",
    "no such time",
    "before what",
    "before",
    "ends first",
    "together",
    "belongs",
    "tangled",
    "no such week",
    "whole stretch",
    "which month",
    "no month",
    "year over",
    "no such day",
    "never that weekday",
    "other weekday",
    "after which day",
    "no interval",
    "never",
    "zone of series",
    "week once",
    "which weekday",
    "hours on days",
    "moving feast",
    "only days",
    "left out",
    "not so many",
    "too long",
    "too far",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrase::Lang;

    #[test]
    fn every_language_says_every_reason_in_its_own_words() {
        let en = Language::of(Lang::En);
        // The languages that are never worked out say that they have to be said.
        for lang in [Lang::Es, Lang::Fr] {
            assert!(Language::of(lang).says(&Why::of("other language")).contains(lang.tag()), "{lang}");
        }
        for lang in Lang::ALL {
            let language = Language::of(lang);
            for key in KEYS.into_iter().chain(["in the past", "has begun"]) {
                let said = language.says(&Why::of(key));
                assert_ne!(said, key, "{lang} has no words for `{key}`");
                let is_own = lang == Lang::En || said != en.says(&Why::of(key));
                assert!(is_own, "{lang} says `{key}` in English");
                let marks = |said: &str| said.matches("{}").count();
                assert_eq!(marks(&said), marks(&en.says(&Why::of(key))), "{lang}: {said}");
            }
        }
    }
}
