//! A whole message: a template, and the question under it.

use punctual_core::channel::Message;

use super::buttons::question;
use super::fit::fit_with;
use super::template::Template;

/// The part of a message that its question may take: the rest is for the reminder's own text.
const QUESTION_SHARE: usize = 4;

/// The text of `message`, at most `max` long as `count` counts: the template, and below it the question where an answer is wanted.
///
/// A text that is too long is shortened visibly. Where the template around it is too long already, the text goes without it.
pub(crate) fn whole(
    template: &Template,
    message: &Message,
    mention: &str,
    max: usize,
    count: impl Fn(&str) -> usize,
) -> String {
    whole_with(template, message, mention, max, count, |said, question| format!("{said}\n{question}"))
}

/// The text of `message` after it was answered: the template, and below it `line` in place of the question.
pub(crate) fn ended(
    template: &Template,
    message: &Message,
    mention: &str,
    max: usize,
    count: impl Fn(&str) -> usize,
    line: &str,
) -> String {
    under(template, message, mention, max, count, Some(line.to_owned()), |said, line| format!("{said}\n{line}"))
}

/// The same where the question does not stand on a line of its own: `join` puts it behind what is said.
pub(crate) fn whole_with(
    template: &Template,
    message: &Message,
    mention: &str,
    max: usize,
    count: impl Fn(&str) -> usize,
    join: impl Fn(&str, &str) -> String,
) -> String {
    under(template, message, mention, max, count, question_under(template, message), join)
}

/// The text of `message` with `line`, which `join` puts behind it.
fn under(
    template: &Template,
    message: &Message,
    mention: &str,
    max: usize,
    count: impl Fn(&str) -> usize,
    line: Option<String>,
    join: impl Fn(&str, &str) -> String,
) -> String {
    let fits = |said: &String| count(said) <= max;
    let lang = message.language;
    let line = line.map(|line| {
        let short = |said: &String| count(said) <= max / QUESTION_SHARE;
        fit_with(&line, lang, short, |line| template.escape(line))
    });
    let asking = |said: String| match &line {
        Some(line) => join(&said, line),
        None => said,
    };
    if !says_nothing(template, message, mention) {
        let render = |text: &str| asking(template.render_with(message, mention, text));
        let said = fit_with(&message.text, lang, fits, render);
        if fits(&said) {
            return said;
        }
    }
    fit_with(&message.text, lang, fits, |text| asking(template.escape(text)))
}

/// Whether all that the template names is empty: an empty message reminds of nothing.
pub(crate) fn says_nothing(template: &Template, message: &Message, mention: &str) -> bool {
    template.render(message, mention).is_empty()
}

/// The question, unless the template asks it by itself or the message is the question.
pub(crate) fn question_under(template: &Template, message: &Message) -> Option<String> {
    let asked = template.names("prompt") && message.reminder.ack.as_ref().is_some_and(|ack| ack.prompt.is_some());
    question(message).filter(|question| !asked && *question != message.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::fit::Unit;
    use crate::common::template::plain;
    use crate::sample;

    fn said(template: &str, message: &Message, max: usize) -> String {
        let template = Template::parse(template, plain).unwrap();
        whole(&template, message, "@a", max, |text| Unit::Chars.count(text))
    }

    #[test]
    fn the_question_stands_under_the_message_and_once() {
        let mut message = sample::message("");
        assert_eq!(said("{mention} {message}", &message, 100), "@a Take your \"medicine\"");
        sample::change(&mut message, |reminder| reminder.ack = Some(Default::default()));
        assert_eq!(said("{message}", &message, 100), "Take your \"medicine\"\nDone?");
        assert_eq!(said("{message} {prompt}", &message, 100), "Take your \"medicine\"\nDone?");
        sample::change(&mut message, |reminder| reminder.ack = Some(sample::ack("Taken?")));
        assert_eq!(said("{message} {prompt}", &message, 100), "Take your \"medicine\" Taken?");
        assert_eq!(said("{name}", &message, 100), "Take your \"medicine\"\nTaken?", "a question alone is no message");
        message.text = "Taken?".into();
        assert_eq!(said("{message}", &message, 100), "Taken?");
    }

    #[test]
    fn a_text_fits_whichever_part_of_it_is_long() {
        let mut message = sample::message("");
        sample::change(&mut message, |reminder| {
            reminder.ack = Some(sample::ack(&"really? ".repeat(100)));
            reminder.name = Some("n".repeat(500));
        });
        message.text = "pills ".repeat(200);
        for template in ["{message}", "{name}: {message}", "{name}"] {
            let said = said(template, &message, 200);
            assert!(Unit::Chars.count(&said) <= 200, "{template}: {said}");
            assert!(said.contains("pills") && said.contains("really?"), "{template}: {said}");
        }
        sample::change(&mut message, |reminder| (reminder.ack, reminder.name) = (None, None));
        message.text = "pills".into();
        assert_eq!(said("{name}", &message, 200), "pills", "an empty message is none");
    }
}
