//! What a person asks a bot to do: `remind me tomorrow at 8 to call mom`, `list`, `cancel call mom`.
//!
//! A reminder needs the words that ask for one, because `call mom tomorrow at 8` may be talk. So these are looked for in every language;
//! what is to be done when is read elsewhere ([`crate::sentence`]).

/// Something that a person asks a bot to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Make a reminder of the whole sentence.
    Remind,
    /// Say what comes next.
    List,
    /// Cancel a reminder.
    Cancel {
        /// Words of the reminder that is meant; none if nobody said.
        what: Option<String>,
    },
}

/// The longest text that can be a command, in bytes.
pub const COMMAND_MAX: usize = 500;

/// Words before a command that say nothing.
const POLITE: &[&str] = &[
    "please",
    "hey",
    "hi",
    "hello",
    "can you",
    "could you",
    "will you",
    "would you",
    "bitte",
    "hallo",
    "molim te",
    "molim",
    "hej",
    "ej",
    "можеш ли",
    "молим те",
    "молим",
    "хеј",
];

/// Words with which people ask for a reminder.
const REMIND: &[&str] = &[
    "/remind",
    "remind me",
    "don't let me forget",
    "dont let me forget",
    "do not let me forget",
    "set a reminder",
    "create a reminder",
    "add a reminder",
    "make a reminder",
    "wake me up",
    "erinnere mich",
    "erinner mich",
    "weck mich",
    "wecke mich",
    "podsjeti me",
    "podsjetite me",
    "podseti me",
    "podsetite me",
    "probudi me",
    "подсети ме",
    "подсетите ме",
    "пробуди ме",
];

/// Whole texts that ask what comes next.
const LIST: &[&str] = &[
    "/list",
    "list",
    "reminders",
    "my reminders",
    "list reminders",
    "list my reminders",
    "show my reminders",
    "what's next",
    "whats next",
    "liste",
    "erinnerungen",
    "meine erinnerungen",
    "zeig meine erinnerungen",
    "zeige meine erinnerungen",
    "popis",
    "lista",
    "spisak",
    "podsjetnici",
    "moji podsjetnici",
    "podsetnici",
    "moji podsetnici",
    "листа",
    "списак",
    "подсетници",
    "моји подсетници",
];

/// Words with which people cancel.
const CANCEL: &[&str] = &[
    "/cancel",
    "cancel",
    "delete",
    "lösche",
    "storniere",
    "absagen",
    "otkaži",
    "otkazi",
    "obriši",
    "obrisi",
    "откажи",
    "обриши",
];

/// Words between these and what is meant.
const FILLER: &[&str] = &[
    "the",
    "my",
    "reminder",
    "to",
    "about",
    "for",
    "die",
    "meine",
    "erinnerung",
    "an",
    "zu",
    "podsjetnik",
    "podsetnik",
    "za",
    "na",
    "da",
    "подсетник",
    "за",
    "на",
    "да",
];

/// What `text` asks a bot to do, if it asks for anything.
pub fn command(text: &str) -> Option<Command> {
    if text.len() > COMMAND_MAX {
        return None;
    }
    let lower = text.trim().to_lowercase().replace('’', "'");
    let mut rest = lower.as_str();
    while let Some(after) = POLITE.iter().find_map(|word| after_words(rest, word)) {
        rest = after;
    }
    let whole = rest.trim_end_matches(['.', '!', '?', ' ']);
    if LIST.contains(&whole) {
        return Some(Command::List);
    }
    if REMIND.iter().any(|words| after_words(rest, words).is_some()) {
        return Some(Command::Remind);
    }
    let mut what = CANCEL.iter().find_map(|words| after_words(whole, words))?;
    while let Some(after) = FILLER.iter().find_map(|word| after_words(what, word)) {
        what = after;
    }
    Some(Command::Cancel { what: Some(what.to_owned()).filter(|what| !what.is_empty()) })
}

/// What comes after `words` at the beginning of `text`, if they end there as words do.
fn after_words<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(words)?;
    let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '\'');
    ends.then(|| rest.trim_start_matches([' ', ',', ':', '!', '.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancel(what: &str) -> Option<Command> {
        Some(Command::Cancel { what: Some(what.to_owned()).filter(|what| !what.is_empty()) })
    }

    #[test]
    fn commands_are_understood_in_every_language() {
        for text in [
            "remind me tomorrow at 8 to call mom",
            "Please, remind me in 5 minutes",
            "can you remind me to drink water every 2 hours",
            "Don’t let me forget to call mom at 8",
            "set a reminder for friday at 9",
            "/remind in 5 minutes tea",
            "Erinnere mich morgen um 8 daran, Mama anzurufen",
            "bitte weck mich um 7",
            "podsjeti me sutra u 8 da nazovem mamu",
            "Molim te, podseti me za sat vremena",
            "подсети ме сутра у 8 да позовем маму",
        ] {
            assert_eq!(command(text), Some(Command::Remind), "{text}");
        }
        for text in [
            "list",
            "/list",
            "My reminders?",
            "what's next?",
            "meine Erinnerungen",
            "popis",
            "moji podsjetnici",
            "подсетници",
        ] {
            assert_eq!(command(text), Some(Command::List), "{text}");
        }
        for (text, what) in [
            ("cancel", ""),
            ("/cancel", ""),
            ("cancel call mom", "call mom"),
            ("Cancel the reminder to call mom!", "call mom"),
            ("please delete my reminder about tea", "tea"),
            ("lösche die Erinnerung an Tee", "tee"),
            ("otkaži podsjetnik za lijek", "lijek"),
            ("откажи подсетник за лек", "лек"),
        ] {
            assert_eq!(command(text), cancel(what), "{text}");
        }
    }

    #[test]
    fn talk_is_left_alone() {
        for text in [
            "call mom tomorrow at 8",
            "that will remind me",
            "he reminds me of you",
            "remind men of it",
            "listen to this",
            "the list is long",
            "canceled flights are annoying",
            "cancellation policy",
            "",
            "please",
            "erinnern macht spaß",
        ] {
            assert_eq!(command(text), None, "{text}");
        }
        assert_eq!(command(&format!("remind me {}", "x".repeat(COMMAND_MAX))), None, "a story");
    }
}
