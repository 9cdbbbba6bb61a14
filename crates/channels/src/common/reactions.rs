//! The words for a person who answered, and the line under a message that was answered.

use jiff::{Timestamp, Zoned};
use punctual_core::answer::Verb;
use punctual_core::channel::receive::{Choice, Edit, End, NotNow, Reaction};
use punctual_core::occurrence::StateKind;

use super::texts::{Texts, texts};

/// Words for one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said<'a> {
    /// The words; nothing in them is escaped.
    pub(crate) text: String,
    /// Buttons under them.
    pub(crate) choices: &'a [Choice],
    /// Whether the answer was not taken, so that the person should notice the words.
    pub(crate) is_no: bool,
}

/// The words for a reaction; none where nothing is to be said. An instant of today is said without its date.
pub(crate) fn said(reaction: &Reaction, now: Timestamp) -> Option<Said<'_>> {
    let yes = |text: String| Some(Said { text, choices: &[], is_no: false });
    let no = |text: &str| Some(Said { text: text.to_owned(), choices: &[], is_no: true });
    match reaction {
        Reaction::Answered { verb, until, language, .. } => yes(match (verb, until) {
            (Verb::Ack, _) => texts(*language).is_done.to_owned(),
            (Verb::Snooze, Some(until)) => snoozed(texts(*language), until, now),
            (Verb::Snooze, None) => texts(*language).snooze.to_owned(),
            (Verb::Dismiss, _) => texts(*language).is_dismissed.to_owned(),
        }),
        Reaction::Already { state, language, .. } => {
            let texts = texts(*language);
            no(match state {
                Some(StateKind::Cancelled) => texts.already_cancelled,
                // A run that is not there any more was forgotten after its end.
                None | Some(StateKind::Unanswered | StateKind::Failed | StateKind::Missed) => texts.already_over,
                Some(_) => texts.already_answered,
            })
        }
        Reaction::NotYours { language } => no(texts(*language).not_yours),
        Reaction::NotNow { why, language } => no(match why {
            NotNow::SnoozeNotAllowed => texts(*language).no_snooze,
            NotNow::BeingSent => texts(*language).being_sent,
            NotNow::NotAsked => texts(*language).not_due,
        }),
        Reaction::Say { text, choices, .. } => Some(Said { text: text.clone(), choices, is_no: false }),
        Reaction::Nothing => None,
    }
}

/// Whether a reaction only says that an answer was recorded.
pub(crate) fn is_confirmation(reaction: &Reaction) -> bool {
    matches!(reaction, Reaction::Answered { .. } | Reaction::Say { is_taken: true, .. })
}

/// The line that stands under a message after its run was answered or has ended.
pub(crate) fn line(edit: &Edit) -> String {
    let texts = texts(edit.message.language);
    let what = match &edit.shows.end {
        End::Done => texts.is_done.to_owned(),
        End::Snoozed(until) => snoozed(texts, until, edit.message.sent_at),
        End::NotNeeded => texts.is_dismissed.to_owned(),
        End::Cancelled => texts.is_cancelled.to_owned(),
        End::Unanswered => texts.is_unanswered.to_owned(),
    };
    match &edit.shows.by {
        // The name goes in last: it may have braces of its own.
        Some(name) => texts.by.replace("{what}", &what).replace("{name}", name),
        None => what,
    }
}

fn snoozed(texts: &Texts, until: &Zoned, now: Timestamp) -> String {
    let is_today = now.to_zoned(until.time_zone().clone()).date() == until.date();
    let time = until.strftime(if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string();
    texts.is_snoozed.replace("{time}", &time)
}

#[cfg(test)]
mod tests {
    use punctual_core::channel::receive::Shows;
    use punctual_core::phrase::Lang;

    use super::*;
    use crate::sample;

    fn until(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    #[test]
    fn every_reaction_has_words_in_every_language() {
        let now = sample::message("").sent_at;
        for language in Lang::ALL {
            let verbs = [Verb::Ack, Verb::Snooze, Verb::Dismiss].into_iter();
            let mut all: Vec<Reaction> =
                verbs.map(|verb| Reaction::Answered { verb, until: None, edit: None, language }).collect();
            for state in [StateKind::Completed, StateKind::Cancelled, StateKind::Unanswered] {
                all.push(Reaction::Already { state: Some(state), edit: None, language });
            }
            all.push(Reaction::NotYours { language });
            for why in [NotNow::SnoozeNotAllowed, NotNow::BeingSent, NotNow::NotAsked] {
                all.push(Reaction::NotNow { why, language });
            }
            let mut words: Vec<String> = all.iter().map(|reaction| said(reaction, now).unwrap().text).collect();
            // Telegram shows no more than 200 in a notice.
            assert!(words.iter().all(|text| !text.contains('{') && (1..=200).contains(&text.chars().count())));
            words.sort();
            words.dedup();
            assert_eq!(words.len(), all.len(), "each says something else: {words:?}");
        }
        assert_eq!(said(&Reaction::Nothing, now), None);
    }

    #[test]
    fn an_instant_of_today_is_said_without_its_date() {
        let now = sample::message("").sent_at;
        let language = Lang::En;
        let text = |at: &str| {
            let reaction = Reaction::Answered { verb: Verb::Snooze, until: Some(until(at)), edit: None, language };
            said(&reaction, now).unwrap().text
        };
        assert_eq!(text("2026-03-02T08:10:00+01:00[Europe/Berlin]"), "💤 Snoozed until 08:10");
        assert_eq!(text("2026-03-03T09:00:00+01:00[Europe/Berlin]"), "💤 Snoozed until 2026-03-03 09:00");
    }

    #[test]
    fn a_message_shows_what_became_of_it_and_by_whom() {
        let edit = |end, by: Option<&str>, language| {
            let mut message = sample::message("");
            message.language = language;
            line(&Edit { message, message_id: "1".into(), shows: Shows { end, by: by.map(str::to_owned) } })
        };
        assert_eq!(edit(End::Done, None, Lang::En), "✓ Done");
        assert_eq!(edit(End::Done, Some("Ana {what} {name}"), Lang::De), "✓ Erledigt von Ana {what} {name}");
        let later = until("2026-03-02T08:10:00+01:00[Europe/Berlin]");
        assert_eq!(edit(End::Snoozed(later), Some("Ana"), Lang::Hr), "💤 Odgođeno do 08:10 (Ana)");
        assert_eq!(edit(End::NotNeeded, None, Lang::SrCyrl), "✗ Не треба");
        assert_eq!(edit(End::Cancelled, None, Lang::Sr), "✗ Otkazano");
        assert_eq!(edit(End::Unanswered, None, Lang::Bs), "Nije odgovoreno na vrijeme");
    }
}
