//! Every text, in every language: one row a text, one file a page. A row without all languages does not compile.
//!
//! `{name}` stands for a value, and `{n|reminder|reminders}` for the form that goes with the number `n`: two forms in English and German,
//! three in Croatian and Serbian (1, 2 to 4, 5 and more).

/// A text in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) en: &'static str,
    pub(crate) de: &'static str,
    pub(crate) hr: &'static str,
    pub(crate) sr: &'static str,
}

/// Rows of texts: `NAME: "English", "German", "Croatian", "Serbian";`.
macro_rules! texts {
    ($($name:ident: $en:literal, $de:literal, $hr:literal, $sr:literal;)*) => {
        $(pub(crate) const $name: $crate::texts::Text = $crate::texts::Text { en: $en, de: $de, hr: $hr, sr: $sr };)*
        /// All of this file, for the test that reads them.
        #[cfg(test)]
        pub(super) const ALL_ROWS: &[(&str, $crate::texts::Text)] = &[$((stringify!($name), $name)),*];
    };
}

pub(crate) mod browser;
pub(crate) mod channels;
pub(crate) mod events;
pub(crate) mod forms;
pub(crate) mod frame;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod people;
pub(crate) mod reminder;
pub(crate) mod reminders;
pub(crate) mod scopes;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod states;
pub(crate) mod time;
pub(crate) mod today;
pub(crate) mod trouble;
pub(crate) mod watches;

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(&'static str, &'static [(&'static str, Text)])> {
        vec![
            ("browser", browser::ALL_ROWS),
            ("channels", channels::ALL_ROWS),
            ("events", events::ALL_ROWS),
            ("forms", forms::ALL_ROWS),
            ("frame", frame::ALL_ROWS),
            ("groups", groups::ALL_ROWS),
            ("health", health::ALL_ROWS),
            ("keys", keys::ALL_ROWS),
            ("people", people::ALL_ROWS),
            ("reminder", reminder::ALL_ROWS),
            ("reminders", reminders::ALL_ROWS),
            ("scopes", scopes::ALL_ROWS),
            ("settings", settings::ALL_ROWS),
            ("sign_in", sign_in::ALL_ROWS),
            ("states", states::ALL_ROWS),
            ("time", time::ALL_ROWS),
            ("today", today::ALL_ROWS),
            ("trouble", trouble::ALL_ROWS),
            ("watches", watches::ALL_ROWS),
        ]
    }

    /// The names of the values in a text, and how many forms each choice has.
    fn values(text: &str) -> Vec<(String, usize)> {
        let inside = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(inside, _)| inside);
        let mut values: Vec<(String, usize)> = inside
            .map(|inside| {
                let mut parts = inside.split('|');
                (parts.next().unwrap_or_default().to_owned(), parts.count())
            })
            .collect();
        values.sort();
        values.dedup_by(|a, b| a.0 == b.0 && a.1 == b.1);
        values
    }

    #[test]
    fn every_language_says_every_value_and_has_its_forms() {
        for (file, texts) in all() {
            for (name, text) in texts {
                let at = format!("{file}::{name}");
                for (lang, said, forms) in
                    [("en", text.en, 2), ("de", text.de, 2), ("hr", text.hr, 3), ("sr", text.sr, 3)]
                {
                    assert!(!said.trim().is_empty(), "{at} says nothing in {lang}");
                    let names = |text: &str| {
                        let mut names: Vec<String> = values(text).into_iter().map(|(name, _)| name).collect();
                        names.dedup();
                        names
                    };
                    assert_eq!(names(text.en), names(said), "{at} in {lang}");
                    for (value, n_forms) in values(said) {
                        assert!(n_forms == 0 || n_forms == forms, "{at} in {lang}: {value} has {n_forms} forms");
                    }
                }
            }
        }
    }
}
