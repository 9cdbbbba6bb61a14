//! Texts with `{fields}` of a reminder in them.
//!
//! A field that is empty leaves nothing. A template is checked when it is read, so that a misspelt field is an error at the start and not in a
//! message.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::channel::Message;
use punctual_core::event::OfEvent;
use punctual_core::span;
use punctual_core::template::{self, Part};

use super::texts::texts;
/// Makes a value harmless in a platform's markup.
pub type Escape = fn(&str) -> String;

/// The fields that a template may name, beside `metadata.NAME`.
pub const FIELDS: &[&str] = &[
    "word",
    "message",
    "prompt",
    "user",
    "name",
    "due",
    "date",
    "late",
    "priority",
    "channel",
    "address",
    "mention",
    "run",
    "reminder_id",
    "occurrence_id",
    "event.key",
    "event.minutes",
    "event.starts_at",
];

/// A text with fields of a reminder in it.
#[derive(Debug, Clone)]
pub struct Template {
    text: template::Template,
    escape: Escape,
}

/// One part of a template for one message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// Text of the template itself.
    Text(String),
    /// Where the person is called.
    Mention,
    /// The value of a field.
    Value(String),
}

impl Template {
    /// Reads a template; `{{` and `}}` are braces.
    pub fn parse(text: &str, escape: Escape) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("is empty; write a text such as {message}".into());
        }
        let known = |name: &str| {
            if FIELDS.contains(&name) || name.strip_prefix("metadata.").is_some_and(|key| !key.is_empty()) {
                return Ok(name.to_owned());
            }
            Err(format!("has the unknown field {{{name}}}; known are {} and metadata.NAME", FIELDS.join(", ")))
        };
        template::Template::parse(text, known).map(|text| Self { text, escape })
    }

    /// A template that is part of the program.
    pub(crate) fn fixed(text: &str, escape: Escape) -> Self {
        Self::parse(text, escape).expect("a template of ours names only known fields")
    }

    /// Whether the field called `name` stands in it.
    pub fn names(&self, name: &str) -> bool {
        self.text.fields().any(|field| field == name)
    }

    /// `text` made harmless as its values are.
    pub fn escape(&self, text: &str) -> String {
        (self.escape)(text)
    }

    /// The parts one by one, for a platform that takes a message in pieces. Nothing is escaped.
    pub(crate) fn pieces(&self, message: &Message, text: &str) -> Vec<Piece> {
        let piece = |part: &Part<String>| match part {
            Part::Text(text) => Piece::Text(text.clone()),
            Part::Field(name) if name == "mention" => Piece::Mention,
            Part::Field(name) if name == "message" => Piece::Value(text.to_owned()),
            Part::Field(name) => Piece::Value(field(name, message)),
        };
        self.text.parts().iter().map(piece).collect()
    }

    /// The text with each field as `value` says it.
    pub(crate) fn fill(&self, value: impl Fn(&str) -> String) -> String {
        self.text.fill(|name| (self.escape)(&value(name)))
    }

    /// The text for one message. `mention` is how the platform calls the person, and is not escaped.
    pub fn render(&self, message: &Message, mention: &str) -> String {
        self.render_with(message, mention, &message.text)
    }

    /// The same with another text in place of the message, such as a shorter one.
    pub fn render_with(&self, message: &Message, mention: &str, text: &str) -> String {
        let out = self.text.fill(|name| match name.as_str() {
            "mention" => mention.to_owned(),
            "message" => (self.escape)(text),
            name => (self.escape)(&field(name, message)),
        });
        // An empty field at an edge leaves its space behind.
        out.trim().to_owned()
    }
}

fn field(name: &str, message: &Message) -> String {
    let reminder = &*message.reminder;
    let local = |at: Timestamp| at.to_zoned(reminder.timezone.rules().clone());
    let event = |said: &dyn Fn(&OfEvent) -> String| reminder.event.as_ref().map(said).unwrap_or_default();
    match name {
        "word" => texts(message.language).reminder.to_owned(),
        "prompt" => reminder.ack.as_ref().and_then(|ack| ack.prompt.clone()).unwrap_or_default(),
        "user" => reminder.user.clone(),
        "name" => reminder.name.clone().unwrap_or_default(),
        "due" => local(message.due_at).strftime("%H:%M").to_string(),
        "date" => local(message.due_at).strftime("%Y-%m-%d").to_string(),
        "late" => match Duration::try_from_secs_f64(message.late_seconds()) {
            Ok(late) if late >= Duration::from_secs(60) => span::rough(late).to_string(),
            _ => String::new(),
        },
        "priority" => reminder.priority.to_string(),
        "channel" => message.to.channel.clone(),
        "address" => message.to.address.clone(),
        "run" => message.occurrence.run.to_string(),
        "reminder_id" => reminder.id.to_string(),
        "occurrence_id" => message.occurrence.to_string(),
        "event.key" => event(&|event| event.key.clone()),
        "event.minutes" => event(&|event| event.offset.number().to_string()),
        "event.starts_at" => event(&|event| local(event.starts_at).strftime("%Y-%m-%d %H:%M").to_string()),
        _ => name
            .strip_prefix("metadata.")
            .map(|key| template::said(&reminder.metadata.to_value()[key]))
            .unwrap_or_default(),
    }
}

/// For platforms without markup.
pub fn plain(text: &str) -> String {
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[track_caller]
    fn check(template: &str, expect: &str) {
        let template = Template::parse(template, plain).unwrap();
        assert_eq!(template.render(&sample::message("#general"), "@alice"), expect);
    }

    #[test]
    fn fields_are_filled_in() {
        check("{mention} ⏰ Reminder: {message}", "@alice ⏰ Reminder: Take your \"medicine\"");
        check("{word}!", "Reminder!");
        check("{user}/{priority}/{run}/{address}", "alice/high/3/#general");
        check("{date} {due} {late}|{name}|", "2026-03-02 08:00 ||");
        check("room {metadata.room}{metadata.nothing}", "room 7");
        check("{{literal}} {message} {name}", "{literal} Take your \"medicine\"");
    }

    #[test]
    fn a_reminder_of_an_event_has_its_fields_and_others_leave_nothing() {
        let template = Template::parse("{event.key} {event.minutes} {event.starts_at}|", plain).unwrap();
        let said = |message: &Message| template.render(message, "");
        assert_eq!(said(&sample::message_of_event("")), "game:42 60 2026-03-02 09:00|");
        assert_eq!(said(&sample::message("")), "|");
    }

    #[test]
    fn a_wrong_template_is_refused_when_it_is_read() {
        let wrong = |text: &str| Template::parse(text, plain).unwrap_err();
        assert!(wrong("{mesage}").starts_with("has the unknown field {mesage}; known are word, message, "));
        assert!(wrong("{metadata.}").starts_with("has the unknown field"));
        assert_eq!(wrong("a } b"), "has a single { or }; write {{ or }} for a brace");
        assert_eq!(wrong("a { b"), "has a single { or }; write {{ or }} for a brace");
        assert_eq!(wrong(" "), "is empty; write a text such as {message}");
    }

    #[test]
    fn values_are_escaped_and_the_template_is_not() {
        let loud = |text: &str| text.to_uppercase();
        let template = Template::parse("<b>{message}</b> {mention}", loud).unwrap();
        let said = template.render(&sample::message(""), "<@1>");
        assert_eq!(said, "<b>TAKE YOUR \"MEDICINE\"</b> <@1>");
    }
}
