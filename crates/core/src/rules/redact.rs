//! Taking a person out of what others have of them.
//!
//! A record keeps its place and its shape; only the values go that name the person, or that they said.

use serde_json::Value;

use super::{alert, escalate};
use crate::decide::family;
use crate::journal::Placed;
use crate::reminder::{Metadata, Reminder};
use crate::step::Target;
use crate::store::{Response, Said};

/// What stands where a person's name stood.
pub const ERASED: &str = "erased";

/// The fields of a person's own entries that hold words: what they said and are called, and what was said about their messages.
const WORDS: [&str; 5] = ["text", "name", "error", "detail", "outcome"];

/// Takes `person` out of an entry of the journal; returns whether something was changed.
pub fn entry(entry: &mut Placed, person: &str) -> bool {
    let before = entry.clone();
    let is_theirs = entry.user.as_deref() == Some(person);
    if is_theirs {
        entry.user = Some(ERASED.to_owned());
    }
    if names(&entry.actor, person) {
        entry.actor = ERASED.to_owned();
    }
    if let Some(data) = &entry.data {
        entry.data = Some(json(data, person, if is_theirs { &WORDS } else { &[] }));
    }
    *entry != before
}

/// Takes `person` out of a reminder of somebody else's; returns whether something was changed.
pub fn reminder(reminder: &mut Reminder, person: &str) -> bool {
    let before = reminder.clone();
    reminder.escalate.retain(|step| !matches!(&step.to, Target::User(user) if user == person));
    let about = reminder.metadata.to_value();
    let is_made_here = [alert::VIA, escalate::VIA, family::VIA].contains(&reminder.created_via.as_str());
    if is_made_here && about["about"]["user"] == person {
        // It says what their reminder says, and that it is theirs.
        reminder.message = ERASED.to_owned();
        reminder.name = None;
        reminder.metadata = Metadata::default();
        if let Some(ack) = &mut reminder.ack {
            ack.prompt = None;
        }
    }
    *reminder != before
}

/// Takes `person` out of an answer to somebody else's reminder; returns whether something was changed.
pub fn response(response: &mut Response, person: &str) -> bool {
    let before = response.clone();
    if response.user.as_deref() == Some(person) {
        response.user = Some(ERASED.to_owned());
        response.said = Said { channel: response.said.channel.take(), ..Said::default() };
    }
    if names(&response.actor, person) {
        response.actor = ERASED.to_owned();
    }
    *response != before
}

/// Whether a text names a person: as a word of its own.
fn names(text: &str, person: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(person).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        !before.chars().next_back().is_some_and(is_word) && !after.chars().next().is_some_and(is_word)
    })
}

/// JSON in which every text that is the person's name is another, and so is what stands in these `fields`. What is not to be changed stays as it
/// is written.
fn json(text: &str, person: &str, fields: &[&str]) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return if names(text, person) { format!("\"{ERASED}\"") } else { text.to_owned() };
    };
    match replace(&mut value, person, fields) {
        true => value.to_string(),
        false => text.to_owned(),
    }
}

fn replace(value: &mut Value, person: &str, fields: &[&str]) -> bool {
    match value {
        Value::String(text) if text == person => {
            *text = ERASED.to_owned();
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |changed, item| replace(item, person, fields) | changed),
        Value::Object(map) => {
            let mut changed = false;
            // Whatever has the person's name beside it is called by them.
            let is_theirs = map.values().any(|value| value == person);
            for (name, value) in map.iter_mut() {
                if value.is_string() && (fields.contains(&name.as_str()) || is_theirs && name == "name") {
                    *value = Value::String(ERASED.to_owned());
                    changed = true;
                } else {
                    changed |= replace(value, person, fields);
                }
            }
            changed
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_person_goes_and_the_rest_stays_as_it_is_written() {
        for (text, fields, expect) in [
            (r#"{"b":1.0,"a":"annabel"}"#, &[][..], r#"{"b":1.0,"a":"annabel"}"#),
            (r#"{"to":["ann","bob"]}"#, &[], r#"{"to":["erased","bob"]}"#),
            (r#"{"by_user":"ann","did":"ack"}"#, &[], r#"{"by_user":"erased","did":"ack"}"#),
            (r#"{"user":"ann","name":"Ann's phone"}"#, &[], r#"{"name":"erased","user":"erased"}"#),
            (r#"{"text":"took it","minutes":5}"#, &WORDS, r#"{"minutes":5,"text":"erased"}"#),
        ] {
            let (found, expect): (Value, Value) =
                (serde_json::from_str(&json(text, "ann", fields)).unwrap(), serde_json::from_str(expect).unwrap());
            assert_eq!(found, expect, "{text}");
        }
        assert_eq!(json(r#"{"b":1.0,"a":"x"}"#, "ann", &[]), r#"{"b":1.0,"a":"x"}"#, "letter by letter");
    }

    #[test]
    fn a_name_is_a_word_of_its_own() {
        for (text, is_named) in
            [("ann", true), ("key ann", true), ("key ann's phone", true), ("key annabel", false), ("joann", false)]
        {
            assert_eq!(names(text, "ann"), is_named, "{text}");
        }
    }
}
