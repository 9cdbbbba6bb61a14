//! The text that is encrypted for a browser: what its service worker makes a notification of (`crates/web/assets/sw.js`).
//!
//! Links are written without the server's address. The service worker puts its own before them, so a push never makes a browser call
//! anybody else.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use punctual_core::answer::Verb;
use punctual_core::channel::Message;
use punctual_core::channel::receive::Edit;
use punctual_core::reminder::Priority;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::encrypt::PLAIN_BYTES_MAX;
use crate::common::buttons::{Button, buttons};
use crate::common::fit::{Unit, fit};
use crate::common::links::Links;
use crate::common::reactions::line;
use crate::common::template::{Template, plain};
use crate::common::texts::texts;
use crate::common::whole::{ended, whole};

/// A title is one line.
const TITLE_CHARS_MAX: usize = 100;
/// The characters of a topic (RFC 8030, section 5.4).
const TOPIC_CHARS: usize = 32;

/// A notification, as the service worker reads it.
#[derive(Debug, Serialize)]
struct Payload<'a> {
    title: &'a str,
    body: &'a str,
    /// A notification with the same tag takes the place of the one before.
    tag: &'a str,
    lang: String,
    /// When it was due, in milliseconds of Unix time.
    at: i64,
    /// Whether it stays until the person does something about it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stays: bool,
    /// Whether it only shows that nothing is asked any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
    /// The page to open.
    open: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Action>,
    /// The words for a press that did not get through.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<&'static str>,
    /// The words for a press that came too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    over: Option<&'static str>,
}

/// A button.
#[derive(Debug, Serialize)]
struct Action {
    action: &'static str,
    title: &'static str,
    /// The link that answers.
    link: String,
    /// The words after it was pressed.
    said: &'static str,
}

/// The text of `message`, of at most [`PLAIN_BYTES_MAX`] bytes. A message that is too long is cut, and its buttons stay.
pub(super) fn of(message: &Message, links: Option<&Links>) -> String {
    let actions = || match links {
        Some(links) => buttons(message).into_iter().map(|button| action(button, message, links)).collect(),
        None => Vec::new(),
    };
    written(message, |template, max, count| whole(template, message, "", max, count), false, actions)
}

/// The text that lets the notification of `edit` show what became of its run.
pub(super) fn of_edit(edit: &Edit) -> String {
    let line = line(edit);
    let body = |template: &Template, max: usize, count: &dyn Fn(&str) -> usize| {
        ended(template, &edit.message, "", max, count, &line)
    };
    written(&edit.message, body, true, Vec::new)
}

/// The name under which a push service keeps one message of several: a later one takes the place of one that the browser has not got yet.
/// A reminder that is asked about again, or was answered meanwhile, is the same.
pub(super) fn topic(message: &Message) -> String {
    let key = match message.reminder.ack {
        Some(_) => message.occurrence.idempotency_key(&message.to, 0),
        // It may be several reminders in one message, whose key says so.
        None => message.idempotency_key.clone(),
    };
    let mut topic = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(key));
    topic.truncate(TOPIC_CHARS);
    topic
}

fn written(
    message: &Message,
    body: impl Fn(&Template, usize, &dyn Fn(&str) -> usize) -> String,
    ended: bool,
    actions: impl Fn() -> Vec<Action>,
) -> String {
    let words = texts(message.language);
    let title = message.reminder.name.as_deref().unwrap_or(words.reminder).replace(['\r', '\n'], " ");
    let title = fit(&title, TITLE_CHARS_MAX, Unit::Chars, message.language, str::to_owned);
    let tag = topic(message);
    let payload = |body: &str| {
        let actions = actions();
        let asks = !actions.is_empty();
        let payload = Payload {
            title: &title,
            body,
            tag: &tag,
            lang: message.language.to_string(),
            at: message.due_at.as_millisecond(),
            stays: !ended && message.reminder.priority == Priority::Critical,
            ended,
            open: format!("reminders/{}", message.reminder.id),
            actions,
            again: asks.then_some(words.try_again),
            over: asks.then_some(words.already_answered),
        };
        serde_json::to_string(&payload).expect("texts and numbers are always JSON")
    };
    // What stands around the text is counted before, so that the question gets its share of what is left.
    let around = payload("").len();
    let count = |said: &str| payload(said).len() - around;
    payload(&body(&Template::fixed("{message}", plain), PLAIN_BYTES_MAX - around, &count))
}

fn action(button: Button, message: &Message, links: &Links) -> Action {
    let words = texts(message.language);
    let said = match button.verb {
        Verb::Ack => words.is_done,
        Verb::Snooze => words.snooze,
        Verb::Dismiss => words.is_dismissed,
    };
    let link = format!("a/{}", links.token(button.verb, message.occurrence));
    Action { action: button.verb.as_str(), title: button.label, link, said }
}
