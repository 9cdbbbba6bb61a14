//! A reminder asked for in a sentence.

use jiff::Timestamp;
use punctual_core::habits::Habits;
use punctual_core::invalid::Invalid;
use punctual_core::phrase::Lang;
use punctual_core::schedule::Schedule;
use punctual_core::sentence::{self, NotUnderstood};
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

use super::reminder::schedule;
use crate::http::problem::Problem;
use crate::understood::understood;
use crate::wire::{ReminderInput, Understood};

/// What a sentence asks for.
pub(super) struct Said {
    pub(super) schedule: Schedule,
    pub(super) message: String,
    pub(super) understood: Understood,
}

/// The language, zone and time in which a sentence is meant, and how many steps understanding it may take.
pub(in crate::http) struct Speaker<'a> {
    pub(in crate::http) lang: Option<Lang>,
    pub(in crate::http) zone: &'a Zone,
    pub(in crate::http) now: Timestamp,
    pub(in crate::http) habits: Habits,
    pub(in crate::http) steps: &'a Steps,
}

/// Reads `text`. Fields of `input` that say the same are taken from it; one that says something else is refused.
pub(super) fn read(text: &str, input: &mut ReminderInput, speaker: &Speaker<'_>) -> Result<Said, Problem> {
    let Speaker { lang, zone, now, habits, steps } = *speaker;
    if input.original_text.as_deref().is_some_and(|original| original != text) {
        return Err(
            Invalid::new("original_text", "contradicts `text`, which is kept as the original; leave it out").into()
        );
    }
    let given = input.schedule.take().map(|given| schedule(given, zone, now, steps)).transpose()?;
    let said = match sentence::read_for(text, lang, zone, now, habits, steps) {
        Ok(said) => said,
        Err(NotUnderstood::NoTime(_)) if given.is_some() => {
            let problem = "says no time, and `schedule` does; send the words as `message`";
            return Err(Invalid::new("text", problem).into());
        }
        Err(error @ (NotUnderstood::NoTime(_) | NotUnderstood::Unclear(_))) => {
            return Err(Problem::not_understood(error.in_field("text")));
        }
        Err(error @ NotUnderstood::NoReminder(_)) => return Err(error.in_field("text").into()),
    };
    let summary = || said.parsed.summary(zone);
    if given.is_some_and(|given| given != said.schedule) {
        let problem = format!("contradicts `text`, which says: {}; leave one of them out", summary());
        return Err(Invalid::new("schedule", problem).into());
    }
    let message = match (input.message.take(), said.message()) {
        (Some(given), Some(message)) if given != message => {
            let problem = format!("contradicts `text`, which says `{message}`; leave one of them out");
            return Err(Invalid::new("message", problem).into());
        }
        (Some(message), _) => message,
        (None, Some(message)) => message.to_owned(),
        (None, None) => {
            let problem = format!("say also what to be reminded of; the text says only when: {}", summary());
            return Err(Invalid::new("text", problem).into());
        }
    };
    input.original_text = Some(text.to_owned());
    Ok(Said { schedule: said.schedule, message, understood: understood(said.parsed, zone, now, steps) })
}
