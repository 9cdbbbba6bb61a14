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
    /// A message whose reminder is done.
    pub is_done: &'static str,
    /// A message whose reminder was put off until `{time}`.
    pub is_snoozed: &'static str,
    /// A message whose reminder is not needed.
    pub is_dismissed: &'static str,
    /// A message whose reminder was cancelled.
    pub is_cancelled: &'static str,
    /// A message that nobody answered in time.
    pub is_unanswered: &'static str,
    /// One of these, and the `{name}` of the person who said so.
    pub by: &'static str,
    /// To a person who answers what was answered before.
    pub already_answered: &'static str,
    /// To a person who answers a cancelled reminder.
    pub already_cancelled: &'static str,
    /// To a person who answers too late.
    pub already_over: &'static str,
    /// To a person who answers a reminder of somebody else.
    pub not_yours: &'static str,
    /// To a person who wants to put off what must not be.
    pub no_snooze: &'static str,
    /// To a person who answers while the message is sent again.
    pub being_sent: &'static str,
    /// To a person who answers before anybody was asked.
    pub not_due: &'static str,
    /// To a person whose answer could not be recorded.
    pub try_again: &'static str,
}

/// The words of `lang`.
pub fn texts(lang: Lang) -> &'static Texts {
    match lang {
        Lang::Es => &Texts {
            reminder: "Recordatorio",
            done_question: "¿Hecho?",
            done: "Hecho",
            snooze: "En 10 minutos",
            dismiss: "No hace falta",
            more: "… (+{n} caracteres)",
            is_done: "✓ Hecho",
            is_snoozed: "💤 Aplazado hasta {time}",
            is_dismissed: "✗ No hace falta",
            is_cancelled: "✗ Cancelado",
            is_unanswered: "Nadie respondió a tiempo",
            by: "{what}, {name}",
            already_answered: "Este recordatorio ya tiene respuesta.",
            already_cancelled: "Este recordatorio se canceló.",
            already_over: "Este recordatorio ya terminó.",
            not_yours: "Este recordatorio es de otra persona.",
            no_snooze: "Este recordatorio no se puede aplazar.",
            being_sent: "Se está enviando ahora mismo. Vuelve a intentarlo en un momento.",
            not_due: "Todavía no es la hora.",
            try_again: "No ha funcionado. Vuelve a intentarlo en un momento.",
        },
        Lang::Fr => &Texts {
            reminder: "Rappel",
            done_question: "C'est fait ?",
            done: "C'est fait",
            snooze: "Dans 10 minutes",
            dismiss: "Pas besoin",
            more: "… (+{n} caractères)",
            is_done: "✓ C'est fait",
            is_snoozed: "💤 Reporté jusqu'à {time}",
            is_dismissed: "✗ Pas besoin",
            is_cancelled: "✗ Annulé",
            is_unanswered: "Personne n'a répondu à temps",
            by: "{what}, {name}",
            already_answered: "Ce rappel a déjà une réponse.",
            already_cancelled: "Ce rappel a été annulé.",
            already_over: "Ce rappel est terminé.",
            not_yours: "Ce rappel est pour quelqu'un d'autre.",
            no_snooze: "Ce rappel ne peut pas être reporté.",
            being_sent: "Il est en cours d'envoi. Réessaie dans un instant.",
            not_due: "Ce n'est pas encore l'heure.",
            try_again: "Cela n'a pas marché. Réessaie dans un instant.",
        },
        Lang::En => &Texts {
            reminder: "Reminder",
            done_question: "Done?",
            done: "Done",
            snooze: "In 10 minutes",
            dismiss: "Not needed",
            more: "… (+{n} characters)",
            is_done: "✓ Done",
            is_snoozed: "💤 Snoozed until {time}",
            is_dismissed: "✗ Not needed",
            is_cancelled: "✗ Cancelled",
            is_unanswered: "Nobody answered in time",
            by: "{what} by {name}",
            already_answered: "This reminder was already answered.",
            already_cancelled: "This reminder was cancelled.",
            already_over: "This reminder is over.",
            not_yours: "This reminder is for somebody else.",
            no_snooze: "This reminder cannot be put off.",
            being_sent: "It is being sent right now. Please try again in a moment.",
            not_due: "It is not due yet.",
            try_again: "That did not work. Please try again in a moment.",
        },
        Lang::De => &Texts {
            reminder: "Erinnerung",
            done_question: "Erledigt?",
            done: "Erledigt",
            snooze: "In 10 Minuten",
            dismiss: "Nicht nötig",
            more: "… (+{n} Zeichen)",
            is_done: "✓ Erledigt",
            is_snoozed: "💤 Verschoben auf {time}",
            is_dismissed: "✗ Nicht nötig",
            is_cancelled: "✗ Abgesagt",
            is_unanswered: "Niemand hat rechtzeitig geantwortet",
            by: "{what} von {name}",
            already_answered: "Diese Erinnerung wurde schon beantwortet.",
            already_cancelled: "Diese Erinnerung wurde abgesagt.",
            already_over: "Diese Erinnerung ist vorbei.",
            not_yours: "Diese Erinnerung ist für jemand anderen.",
            no_snooze: "Diese Erinnerung lässt sich nicht verschieben.",
            being_sent: "Sie wird gerade gesendet. Bitte gleich noch einmal versuchen.",
            not_due: "Sie ist noch nicht fällig.",
            try_again: "Das hat nicht geklappt. Bitte gleich noch einmal versuchen.",
        },
        Lang::Hr | Lang::Bs => &Texts {
            reminder: "Podsjetnik",
            done_question: "Gotovo?",
            done: "Gotovo",
            snooze: "Za 10 minuta",
            dismiss: "Ne treba",
            more: "… (+{n} znakova)",
            is_done: "✓ Gotovo",
            is_snoozed: "💤 Odgođeno do {time}",
            is_dismissed: "✗ Ne treba",
            is_cancelled: "✗ Otkazano",
            is_unanswered: "Nije odgovoreno na vrijeme",
            by: "{what} ({name})",
            already_answered: "Na ovaj podsjetnik je već odgovoreno.",
            already_cancelled: "Ovaj podsjetnik je otkazan.",
            already_over: "Ovaj podsjetnik je istekao.",
            not_yours: "Ovaj podsjetnik nije za tebe.",
            no_snooze: "Ovaj podsjetnik se ne može odgoditi.",
            being_sent: "Upravo se šalje. Pokušaj opet za trenutak.",
            not_due: "Još nije vrijeme.",
            try_again: "Nije uspjelo. Pokušaj opet za trenutak.",
        },
        Lang::Sr => &Texts {
            reminder: "Podsetnik",
            done_question: "Gotovo?",
            done: "Gotovo",
            snooze: "Za 10 minuta",
            dismiss: "Ne treba",
            more: "… (+{n} znakova)",
            is_done: "✓ Gotovo",
            is_snoozed: "💤 Odloženo do {time}",
            is_dismissed: "✗ Ne treba",
            is_cancelled: "✗ Otkazano",
            is_unanswered: "Nije odgovoreno na vreme",
            by: "{what} ({name})",
            already_answered: "Na ovaj podsetnik je već odgovoreno.",
            already_cancelled: "Ovaj podsetnik je otkazan.",
            already_over: "Ovaj podsetnik je istekao.",
            not_yours: "Ovaj podsetnik nije za tebe.",
            no_snooze: "Ovaj podsetnik se ne može odložiti.",
            being_sent: "Upravo se šalje. Pokušaj ponovo za trenutak.",
            not_due: "Još nije vreme.",
            try_again: "Nije uspelo. Pokušaj ponovo za trenutak.",
        },
        Lang::SrCyrl => &Texts {
            reminder: "Подсетник",
            done_question: "Готово?",
            done: "Готово",
            snooze: "За 10 минута",
            dismiss: "Не треба",
            more: "… (+{n} знакова)",
            is_done: "✓ Готово",
            is_snoozed: "💤 Одложено до {time}",
            is_dismissed: "✗ Не треба",
            is_cancelled: "✗ Отказано",
            is_unanswered: "Није одговорено на време",
            by: "{what} ({name})",
            already_answered: "На овај подсетник је већ одговорено.",
            already_cancelled: "Овај подсетник је отказан.",
            already_over: "Овај подсетник је истекао.",
            not_yours: "Овај подсетник није за тебе.",
            no_snooze: "Овај подсетник се не може одложити.",
            being_sent: "Управо се шаље. Покушај поново за тренутак.",
            not_due: "Још није време.",
            try_again: "Није успело. Покушај поново за тренутак.",
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
            assert!(texts.is_snoozed.contains("{time}"));
            assert!(texts.by.contains("{what}") && texts.by.contains("{name}"));
        }
    }
}
