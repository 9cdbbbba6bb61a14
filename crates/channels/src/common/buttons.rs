//! The buttons under a message, and what they send back.

use jiff::Timestamp;
pub use punctual_core::answer::{Pressed, Verb};
use punctual_core::channel::Message;

use super::texts::texts;

/// One button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The answer that it gives.
    pub verb: Verb,
    /// Its label, at most 20 characters.
    pub label: &'static str,
    /// The value that the platform sends back when it is pressed, at most 64 bytes.
    pub data: String,
}

/// The buttons under `message`: none where no answer is wanted.
pub fn buttons(message: &Message) -> Vec<Button> {
    if message.reminder.ack.is_none() {
        return Vec::new();
    }
    let texts = texts(message.language);
    [(Verb::Ack, texts.done), (Verb::Snooze, texts.snooze), (Verb::Dismiss, texts.dismiss)]
        .into_iter()
        .filter(|(verb, _)| *verb != Verb::Snooze || message.reminder.snooze_allowed)
        .map(|(verb, label)| Button { verb, label, data: data(Pressed::new(verb, message.occurrence)) })
        .collect()
}

/// The question under `message`, if an answer is wanted: its prompt, else "Done?".
pub fn question(message: &Message) -> Option<String> {
    let ack = message.reminder.ack.as_ref()?;
    Some(ack.prompt.clone().unwrap_or_else(|| texts(message.language).done_question.to_owned()))
}

/// The value that a button sends back: `punctual:VERB:RUN`, or `pn:@SECONDS:RUN` for a snooze until an instant. Telegram takes 64 bytes and no
/// more, and a run's name has up to 47.
pub fn data(Pressed { verb, occurrence, until }: Pressed) -> String {
    match until {
        Some(until) => format!("pn:@{}:{occurrence}", until.as_second()),
        None => format!("punctual:{}:{occurrence}", verb.as_str()),
    }
}

/// The button that was pressed, if `data` is of a button of ours.
pub fn pressed(data: &str) -> Option<Pressed> {
    if let Some((until, occurrence)) = data.strip_prefix("pn:@").and_then(|data| data.split_once(':')) {
        let until = Timestamp::from_second(until.parse().ok()?).ok()?;
        return Some(Pressed { verb: Verb::Snooze, occurrence: occurrence.parse().ok()?, until: Some(until) });
    }
    let (verb, occurrence) = data.strip_prefix("punctual:")?.split_once(':')?;
    Some(Pressed::new(verb.parse().ok()?, occurrence.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_buttons_value_is_understood_and_fits() {
        let mut occurrence = sample::message("").occurrence;
        occurrence.run = u32::MAX;
        for verb in [Verb::Ack, Verb::Snooze, Verb::Dismiss] {
            let data = data(Pressed::new(verb, occurrence));
            assert!(data.len() <= 64, "{data}");
            assert_eq!(pressed(&data), Some(Pressed::new(verb, occurrence)));
        }
        // The last second that has ten digits.
        let until = Timestamp::from_second(9_999_999_999).ok();
        let snooze = Pressed { until, ..Pressed::new(Verb::Snooze, occurrence) };
        let value = data(snooze);
        assert!(value.len() <= 64, "{value}");
        assert_eq!(pressed(&value), Some(snooze));
        let bare = occurrence.to_string();
        let others =
            ["", "punctual:", "punctual:ack:", "punctual:eat:x", "other:ack:x", "punctual:ack:1-2", "pn:@", "pn:@5"];
        let made = ["pn:5:", "pn:@:", "pn:@x:", "pn:@99999999999999999:", "pn:@-999999999999:"]
            .map(|it| format!("{it}{bare}"));
        for other in others.into_iter().chain(made.iter().map(String::as_str)) {
            assert_eq!(pressed(other), None, "{other}");
        }
    }

    #[test]
    fn buttons_are_there_when_an_answer_is_wanted() {
        let mut message = sample::message("");
        assert_eq!((buttons(&message), question(&message)), (Vec::new(), None));
        sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
        assert_eq!(buttons(&message).len(), 3);
        assert_eq!(question(&message).as_deref(), Some("Done?"));
        sample::change(&mut message, |reminder| {
            reminder.snooze_allowed = false;
            reminder.ack = Some(sample::ack("Taken?"));
        });
        let verbs: Vec<_> = buttons(&message).iter().map(|button| button.verb).collect();
        assert_eq!(verbs, [Verb::Ack, Verb::Dismiss]);
        assert_eq!(question(&message).as_deref(), Some("Taken?"));
    }
}
