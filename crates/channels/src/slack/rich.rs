//! A message as Slack's rich text: pieces that are shown letter by letter, so that no text can call or format.
//!
//! In a template `*…*` is bold; everything else is as it stands.

use punctual_core::channel::Message;
use serde_json::{Value, json};

use crate::common::fit::{Unit, fit_with};
use crate::common::template::{Piece, Template};
use crate::common::whole::question_under;

/// The longest text. Slack publishes 3000 for a section of text and nothing for rich text, so the same is kept.
pub(super) const TEXT_UNITS_MAX: usize = 3000;
/// The part of it that the question, or the answer in its place, may take.
const QUESTION_UNITS_MAX: usize = TEXT_UNITS_MAX / 4;

/// The text of `message`, shortened visibly where it is too long.
pub(super) fn said(template: &Template, message: &Message) -> Vec<Piece> {
    with(template, message, question_under(template, message))
}

/// The same after it was answered: with `line` in place of the question.
pub(super) fn ended(template: &Template, message: &Message, line: &str) -> Vec<Piece> {
    with(template, message, Some(line.to_owned()))
}

fn with(template: &Template, message: &Message, line: Option<String>) -> Vec<Piece> {
    let fits = |pieces: &Vec<Piece>| n_units(pieces) <= TEXT_UNITS_MAX;
    let line = line.map(|line| {
        let short = |line: &String| Unit::Utf16.count(line) <= QUESTION_UNITS_MAX;
        Piece::Value(fit_with(&line, message.language, short, |line| format!("\n{line}")))
    });
    let under = |mut pieces: Vec<Piece>| {
        pieces.extend(line.clone());
        pieces
    };
    let said = fit_with(&message.text, message.language, fits, |text| under(template.pieces(message, text)));
    let is_empty = |piece: &Piece| matches!(piece, Piece::Value(text) | Piece::Text(text) if text.trim().is_empty());
    if fits(&said) && !said.iter().all(is_empty) {
        return said;
    }
    // All but the text is too long or there is nothing: the text goes without the template.
    fit_with(&message.text, message.language, fits, |text| under(vec![Piece::Value(text.to_owned())]))
}

/// The block that shows it, calling the user `called`.
pub(super) fn block(pieces: &[Piece], called: Option<&str>) -> Value {
    let mut elements: Vec<Value> = Vec::new();
    let mut bold = false;
    for piece in pieces {
        match piece {
            Piece::Mention => elements.extend(called.map(|user| json!({"type": "user", "user_id": user}))),
            Piece::Value(value) => push_value(&mut elements, value, bold),
            Piece::Text(text) => {
                for (n, part) in text.split('*').enumerate() {
                    bold ^= n > 0;
                    // An empty field at the beginning leaves a space behind, which is dropped.
                    let part = if elements.is_empty() { part.trim_start() } else { part };
                    push_text(&mut elements, part, bold);
                }
            }
        }
    }
    json!({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]})
}

/// The same as one plain text, for notifications. Even there `<!channel>` would call, so what begins that is escaped.
pub(super) fn fallback(pieces: &[Piece]) -> String {
    let said: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.replace('*', ""),
            Piece::Value(text) => text.clone(),
            Piece::Mention => String::new(),
        })
        .collect();
    said.trim().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Slack does not say what it counts; these units are never fewer than characters.
fn n_units(pieces: &[Piece]) -> usize {
    let count = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Value(text) => Unit::Utf16.count(text),
        Piece::Mention => 0,
    };
    pieces.iter().map(count).sum()
}

/// A value with its links as links: rich text finds none by itself.
fn push_value(elements: &mut Vec<Value>, mut text: &str, bold: bool) {
    while let Some((at, url)) = first_url(text) {
        push_text(elements, &text[..at], bold);
        elements.push(json!({"type": "link", "url": url}));
        text = &text[at + url.len()..];
    }
    push_text(elements, text, bold);
}

fn push_text(elements: &mut Vec<Value>, text: &str, bold: bool) {
    if text.is_empty() {
        return;
    }
    let mut element = json!({"type": "text", "text": text});
    if bold {
        element["style"] = json!({"bold": true});
    }
    elements.push(element);
}

/// The first link in `text` and where it stands. A full stop or bracket at its end belongs to the sentence.
fn first_url(text: &str) -> Option<(usize, &str)> {
    let begins = ["http://", "https://"].iter().filter_map(|scheme| text.find(scheme)).min()?;
    let rest = &text[begins..];
    let url = &rest
        [..rest.find(|character: char| character.is_whitespace() || "<>\"".contains(character)).unwrap_or(rest.len())];
    let url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'']);
    // Only the scheme is no link, and what comes after may have one.
    if url.len() <= "https://".len() {
        let next = begins + "http".len();
        return first_url(&text[next..]).map(|(at, url)| (next + at, url));
    }
    Some((begins, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(pieces: &[Piece], called: Option<&str>) -> Value {
        block(pieces, called)["elements"][0]["elements"].clone()
    }

    fn value(text: &str) -> Piece {
        Piece::Value(text.into())
    }

    #[test]
    fn only_the_template_is_bold() {
        let pieces = [
            Piece::Mention,
            Piece::Text(" ⏰ *".into()),
            value("Word"),
            Piece::Text(":* ".into()),
            value("*a* <!here>"),
        ];
        let rest = |first: Value| {
            json!([first, {"type": "text", "text": "Word", "style": {"bold": true}},
                {"type": "text", "text": ":", "style": {"bold": true}}, {"type": "text", "text": " "},
                {"type": "text", "text": "*a* <!here>"}])
        };
        assert_eq!(elements(&pieces, None), rest(json!({"type": "text", "text": "⏰ "})));
        let called = elements(&pieces, Some("U1"));
        assert_eq!(called[0], json!({"type": "user", "user_id": "U1"}));
        assert_eq!(called[1], json!({"type": "text", "text": " ⏰ "}));
        assert_eq!(fallback(&pieces), "⏰ Word: *a* &lt;!here&gt;");
    }

    #[test]
    fn links_are_links() {
        let said = elements(&[value("see https://a.example/x_y?z=1. (http://b.example) http:// https://")], None);
        let link = |url: &str| json!({"type": "link", "url": url});
        let text = |text: &str| json!({"type": "text", "text": text});
        let expect = json!([
            text("see "),
            link("https://a.example/x_y?z=1"),
            text(". ("),
            link("http://b.example"),
            text(") http:// https://")
        ]);
        assert_eq!(said, expect);
    }
}
