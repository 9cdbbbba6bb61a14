//! The words that are said beside a message, in every language.

use punctual_core::phrase::Lang;

/// The words of one language.
#[derive(Debug, PartialEq, Eq)]
pub struct Texts {
    /// The word that stands before a message.
    pub reminder: &'static str,
    /// Asks for an answer where there is no prompt.
    pub done_question: &'static str,
    /// The button for "done".
    pub done: &'static str,
    /// The button for "later".
    pub snooze: &'static str,
    /// The button for "not needed".
    pub dismiss: &'static str,
    /// The mark where a text was cut; `{n}` is how many characters are missing.
    pub more: &'static str,
}

/// The words of `lang`.
pub fn texts(lang: Lang) -> &'static Texts {
    match lang {
        Lang::En => &Texts {
            reminder: "Reminder",
            done_question: "Done?",
            done: "Done",
            snooze: "In 10 minutes",
            dismiss: "Not needed",
            more: "… (+{n} characters)",
        },
        Lang::De => &Texts {
            reminder: "Erinnerung",
            done_question: "Erledigt?",
            done: "Erledigt",
            snooze: "In 10 Minuten",
            dismiss: "Nicht nötig",
            more: "… (+{n} Zeichen)",
        },
        Lang::Hr | Lang::Bs => &Texts {
            reminder: "Podsjetnik",
            done_question: "Gotovo?",
            done: "Gotovo",
            snooze: "Za 10 minuta",
            dismiss: "Ne treba",
            more: "… (+{n} znakova)",
        },
        Lang::Sr => &Texts {
            reminder: "Podsetnik",
            done_question: "Gotovo?",
            done: "Gotovo",
            snooze: "Za 10 minuta",
            dismiss: "Ne treba",
            more: "… (+{n} znakova)",
        },
        Lang::SrCyrl => &Texts {
            reminder: "Подсетник",
            done_question: "Готово?",
            done: "Готово",
            snooze: "За 10 минута",
            dismiss: "Не треба",
            more: "… (+{n} знакова)",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_fits_the_smallest_button() {
        for lang in Lang::ALL {
            let texts = texts(lang);
            for label in [texts.done, texts.snooze, texts.dismiss] {
                // WhatsApp's buttons have 20 characters.
                assert!(!label.is_empty() && label.chars().count() <= 20, "{lang}: {label}");
            }
            assert!(texts.more.contains("{n}"));
        }
    }
}
