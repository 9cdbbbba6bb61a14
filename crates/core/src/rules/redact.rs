//! Taking a person out of what others have of them.
//!
//! A record keeps its place and its shape; only the values go that name the person, or that they said.

use serde_json::Value;

use super::{alert, escalate};
use crate::decide::family;
use crate::feed::{Feed, imported_prefix};
use crate::journal::Placed;
use crate::reminder::{Metadata, Reminder};
use crate::scope::escaped;
use crate::step::Target;
use crate::store::{Response, Said};
use crate::watch::BadRow;

/// What stands where a person's name stood.
pub const ERASED: &str = "erased";

/// The fields of a person's own entries that hold words: what they said, what they and their calendars are called, and what was said about
/// their messages and calendars.
const WORDS: [&str; 7] = ["text", "name", "error", "detail", "outcome", "calendar", "problems"];
/// The fields in which a person's name may stand within a longer text: the keys of their calendars' events, the scope of their defaults,
/// what a rota says, and an application's rows that a watch could not remind of.
const NAMING: [&str; 6] = ["event", "scope", "error", "detail", "problems", "bad"];

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

/// Takes `person` out of an application's row that a watch could not remind of; returns whether something was changed.
pub fn bad_row(bad: &mut BadRow, person: &str) -> bool {
    let (key, problem) = (without(&bad.key, person), without(&bad.problem, person));
    let is_changed = key.is_some() || problem.is_some();
    bad.key = key.unwrap_or(std::mem::take(&mut bad.key));
    bad.problem = problem.unwrap_or(std::mem::take(&mut bad.problem));
    is_changed
}

/// Takes `person` out of what could not be read of a group's rota; returns whether something was changed.
pub fn feed(feed: &mut Feed, person: &str) -> bool {
    let mut is_changed = false;
    for problem in feed.problem.iter_mut().chain(&mut feed.problems) {
        if let Some(left) = without(problem, person) {
            *problem = left;
            is_changed = true;
        }
    }
    is_changed
}

/// Whether a text names a person: as a word of its own.
fn names(text: &str, person: &str) -> bool {
    places(text, person).next().is_some()
}

/// Where a text names a person.
fn places<'a>(text: &'a str, person: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(person).filter(move |(at, found)| {
        let (before, after) = (&text[..*at], &text[at + found.len()..]);
        !before.chars().next_back().is_some_and(is_word) && !after.chars().next().is_some_and(is_word)
    })
}

/// JSON in which every text that is the person's name is another, and so is what stands in these `fields`. What is not to be changed stays as it
/// is written.
fn json(text: &str, person: &str, fields: &[&str]) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return if names(text, person) { format!("\"{ERASED}\"") } else { text.to_owned() };
    };
    match replace(&mut value, person, fields, Goes::Name) {
        true => value.to_string(),
        false => text.to_owned(),
    }
}

/// What goes of a text.
#[derive(Clone, Copy, PartialEq)]
enum Goes {
    /// All of it, if it is the person's name.
    Name,
    /// The person's name, also within it.
    Within,
    /// All of it.
    All,
}

fn replace(value: &mut Value, person: &str, fields: &[&str], goes: Goes) -> bool {
    match value {
        Value::String(text) => {
            let left = match goes {
                Goes::All => Some(ERASED.to_owned()),
                Goes::Within => without(text, person),
                Goes::Name => (text == person).then(|| ERASED.to_owned()),
            };
            let is_changed = left.as_ref().is_some_and(|left| left != text);
            *text = left.unwrap_or(std::mem::take(text));
            is_changed
        }
        Value::Array(items) => {
            items.iter_mut().fold(false, |changed, item| replace(item, person, fields, goes) | changed)
        }
        Value::Object(map) => {
            let mut changed = false;
            // Whatever has the person's name beside it is called by them.
            let is_theirs = map.values().any(|value| value == person);
            for (name, value) in map.iter_mut() {
                let goes = match name.as_str() {
                    name if fields.contains(&name) || is_theirs && name == "name" => Goes::All,
                    name if NAMING.contains(&name) => Goes::Within,
                    _ => Goes::Name,
                };
                changed |= replace(value, person, fields, goes);
            }
            changed
        }
        _ => false,
    }
}

/// The text with another word where a person is named in it; none if they are not. The key of an event that follows a calendar of theirs goes as
/// a whole: it may have the event's title.
fn without(text: &str, person: &str) -> Option<String> {
    if text.starts_with(&format!("calendar:{person}/")) || text.starts_with(&imported_prefix(person)) {
        return Some(ERASED.to_owned());
    }
    // In a scope's path a slash and a percent sign are escaped.
    let escaped = escaped(person);
    let named = [person, escaped.as_str()].into_iter().find(|name| names(text, name))?;
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, found)) = places(rest, named).next() {
        left.push_str(&rest[..at]);
        left.push_str(ERASED);
        rest = &rest[at + found.len()..];
    }
    left.push_str(rest);
    Some(left)
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
            (r#"{"event":"calendar:ann/work:20260301T080000 Dentist"}"#, &[], r#"{"event":"erased"}"#),
            (r#"{"event":"ics:ann/home:u1","new":true}"#, &[], r#"{"event":"erased","new":true}"#),
            (r#"{"event":"match/ann/bob"}"#, &[], r#"{"event":"match/erased/bob"}"#),
            (r#"{"event":"match/joann"}"#, &[], r#"{"event":"match/joann"}"#),
            (r#"{"scope":"user:ann","offsets":[15]}"#, &[], r#"{"offsets":[15],"scope":"user:erased"}"#),
            (
                r#"{"problems":["`ann and bob` names ann and bob"]}"#,
                &[],
                r#"{"problems":["`erased and bob` names erased and bob"]}"#,
            ),
            (
                r#"{"calendar":"therapy","problems":["u: DTSTART: is missing"]}"#,
                &WORDS,
                r#"{"calendar":"erased","problems":["erased"]}"#,
            ),
            (
                r#"{"watch":"tasks","bad":["ann: due: `ann` is no date","joann: due: is empty"]}"#,
                &[],
                r#"{"watch":"tasks","bad":["erased: due: `erased` is no date","joann: due: is empty"]}"#,
            ),
            (r#"{"did":"ann said","channel":"ann-2"}"#, &[], r#"{"did":"ann said","channel":"ann-2"}"#),
        ] {
            let (found, expect): (Value, Value) =
                (serde_json::from_str(&json(text, "ann", fields)).unwrap(), serde_json::from_str(expect).unwrap());
            assert_eq!(found, expect, "{text}");
        }
        assert_eq!(json(r#"{"b":1.0,"a":"x"}"#, "ann", &[]), r#"{"b":1.0,"a":"x"}"#, "letter by letter");
        assert_eq!(json(r#"{"scope":"user:a%2Fb/x"}"#, "a/b", &[]), r#"{"scope":"user:erased/x"}"#);
        assert_eq!(json(r#"{"event":"ics:a%2Fb/home:u1"}"#, "a/b", &[]), r#"{"event":"erased"}"#);
        assert_eq!(json(r#"{"event":"ics:a%2Fb/home:u1"}"#, "a", &[]), r#"{"event":"ics:erased%2Fb/home:u1"}"#);
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
