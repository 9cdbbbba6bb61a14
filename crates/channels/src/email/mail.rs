//! What stands in a mail.

use lettre::Address;
use lettre::message::header::{self, Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use punctual_core::channel::{Message, SendError};
use punctual_core::reminder::Priority;

use crate::common::buttons::buttons;
use crate::common::fit::{Unit, fit};
use crate::common::links::Links;
use crate::common::template::Template;
use crate::common::texts::texts;
use crate::common::whole::{question_under, says_nothing};
use crate::email::words::{Named, Subject};

/// How long a subject may be: more is not shown anywhere.
const SUBJECT_CHARS_MAX: usize = 120;

/// Writes mails.
#[derive(Debug)]
pub(super) struct Composer {
    pub(super) from: Mailbox,
    pub(super) reply_to: Option<Mailbox>,
    pub(super) subject: Option<Template>,
    pub(super) template: Template,
    pub(super) links: Option<Links>,
}

/// A link and what stands on it.
struct Answer {
    label: &'static str,
    url: String,
}

impl Composer {
    /// The mail for `message`, ready to be sent. The same message makes the same bytes.
    pub(super) fn compose(&self, message: &Message, to: &Address) -> Result<String, SendError> {
        let said = match says_nothing(&self.template, message, "") {
            true => message.text.clone(),
            false => self.template.render(message, ""),
        };
        let said = said.replace("\r\n", "\n").replace('\r', "\n");
        let question = question_under(&self.template, message).map(|text| one_line(&text));
        let answers = self.answers(message);
        let parts = MultiPart::alternative()
            .boundary(format!("punctual-{}", message.idempotency_key))
            .singlepart(SinglePart::plain(text(&said, question.as_deref(), &answers)))
            .singlepart(SinglePart::html(html(message, &said, question.as_deref(), &answers)));
        let mut builder = lettre::Message::builder()
            .from(self.from.clone())
            .header(Named::<header::From>::new(&self.from))
            .to(Mailbox::new(None, to.clone()))
            .header(Subject(self.subject(message)))
            // A mail that is sent again is the same mail.
            .date(message.dated.into())
            .message_id(Some(self.message_id(message)))
            .header(AutoSubmitted)
            .header(ContentLanguage(message.language.tag().to_owned()));
        if let Some(reply_to) = &self.reply_to {
            builder = builder.header(Named::<header::ReplyTo>::new(reply_to));
        }
        if message.reminder.priority >= Priority::High {
            builder = builder.header(Importance);
        }
        let mail = builder.multipart(parts);
        let unmade = |why: String| SendError::Refused(format!("no mail can be made of it: {why}"));
        let mail = mail.map_err(|error| unmade(error.to_string()))?.formatted();
        String::from_utf8(mail).map_err(|error| unmade(error.to_string()))
    }

    /// The same for every attempt, so that a mailbox can tell that it is the same mail.
    pub(super) fn message_id(&self, message: &Message) -> String {
        format!("<{}@{}>", message.idempotency_key, self.from.email.domain())
    }

    fn subject(&self, message: &Message) -> String {
        let fitted = |text: &str, render: &dyn Fn(&str) -> String| {
            fit(&one_line(text), SUBJECT_CHARS_MAX, Unit::Chars, message.language, render)
        };
        match self.subject.as_ref().filter(|template| !says_nothing(template, message, "")) {
            Some(template) => fitted(&template.render(message, ""), &str::to_owned),
            None => fitted(&message.text, &|text| format!("{}: {text}", texts(message.language).reminder)),
        }
    }

    fn answers(&self, message: &Message) -> Vec<Answer> {
        let Some(links) = &self.links else { return Vec::new() };
        let answer = |button: crate::common::buttons::Button| Answer {
            label: button.label,
            url: links.link(button.verb, message.occurrence),
        };
        buttons(message).into_iter().map(answer).collect()
    }
}

/// A header is one line; what breaks it would begin another header.
fn one_line(text: &str) -> String {
    text.split(|character: char| character.is_control()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn text(said: &str, question: Option<&str>, answers: &[Answer]) -> String {
    let mut parts = vec![said.to_owned()];
    parts.extend(question.map(str::to_owned));
    if !answers.is_empty() {
        let lines: Vec<_> = answers.iter().map(|answer| format!("{}: {}", answer.label, answer.url)).collect();
        parts.push(lines.join("\n"));
    }
    // Mail ends its lines with both; lettre leaves them as they are.
    parts.join("\n\n").replace('\n', "\r\n") + "\r\n"
}

fn html(message: &Message, said: &str, question: Option<&str>, answers: &[Answer]) -> String {
    let paragraph = |text: &str| format!("<p>{}</p>\r\n", escape(text).replace('\n', "<br>\r\n"));
    let mut body = paragraph(said);
    body.extend(question.map(paragraph));
    if !answers.is_empty() {
        let style = "display:inline-block;margin:0 8px 8px 0;padding:10px 16px;border:1px solid #767676;border-radius:6px;\
                     text-decoration:none";
        let links: Vec<_> = answers
            .iter()
            .map(|answer| format!("<a href=\"{}\" style=\"{style}\">{}</a>", escape(&answer.url), escape(answer.label)))
            .collect();
        body.push_str(&format!("<p>{}</p>\r\n", links.join("\r\n")));
    }
    format!(
        "<!doctype html>\r\n<html lang=\"{}\">\r\n<head><meta charset=\"utf-8\"></head>\r\n\
         <body style=\"font-family:sans-serif;font-size:16px\">\r\n{body}</body>\r\n</html>\r\n",
        message.language.tag()
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Keeps answering machines from answering (RFC 3834).
#[derive(Clone)]
struct AutoSubmitted;
/// For readers that speak.
#[derive(Clone)]
struct ContentLanguage(String);
/// Shown by most mail programs.
#[derive(Clone)]
struct Importance;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

impl Header for ContentLanguage {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Content-Language")
    }

    fn parse(tag: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self(tag.to_owned()))
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), self.0.clone())
    }
}

impl Header for Importance {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Importance")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "high".into())
    }
}
