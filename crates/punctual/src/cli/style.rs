//! Colours, and texts made safe for a terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use punctual_core::terminal;

/// Colours, or none: only on a terminal and without NO_COLOR.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    on: bool,
}

impl Paint {
    pub(super) fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: io::stdout().is_terminal() && !refused && !dumb }
    }

    pub(super) fn none() -> Self {
        Self { on: false }
    }

    pub(super) fn with(self, code: Style, text: &str) -> String {
        match code {
            Style::Plain => text.to_owned(),
            _ if !self.on => text.to_owned(),
            _ => format!("\x1b[{}m{text}\x1b[0m", code as u8),
        }
    }
}

/// How a text is set off. The number is the terminal's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain = 0,
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Cyan = 36,
}

/// The style of a status or state.
pub(super) fn of_status(status: &str) -> Style {
    match status {
        "active" | "delivered" | "completed" | "sent" => Style::Green,
        "paused" | "pending_retry" | "awaiting_ack" | "snoozed" | "waiting" | "processing" | "unknown" => Style::Yellow,
        "failed" | "last failed" | "unanswered" | "missed" | "refused" => Style::Red,
        "cancelled" | "dismissed" => Style::Dim,
        _ => Style::Plain,
    }
}

/// `text` on one line, with every character that a terminal could take for a command made visible.
pub(super) fn neutral(text: &str) -> String {
    let mut neutral = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\t' => neutral.push(' '),
            c => terminal::show(c, &mut neutral),
        }
    }
    neutral
}

/// JSON that means the same, with every character escaped that a terminal could take for a command. JSON itself escapes only
/// a part of them.
pub(super) fn neutral_json(text: &str) -> Cow<'_, str> {
    let is_command = |c: char| c != '\n' && terminal::is_command(c);
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut neutral = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_command(c) => neutral.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => neutral.push(c),
        }
    }
    Cow::Owned(neutral)
}

/// How many columns `text` takes, nearly: East Asian characters and emoji take two, marks take
/// none.
pub(super) fn width(text: &str) -> usize {
    let mut is_joined = false;
    let columns = text.chars().map(|c| {
        // A joiner ties the next character to the one before: they are drawn as one.
        let columns = if is_joined { 0 } else { char_width(c) };
        is_joined = c == JOINER;
        columns
    });
    columns.sum()
}

const JOINER: char = '\u{200d}';

fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0x1f3fb..=0x1f3ff => 0,
        0x1100..=0x115f
        | 0x231a..=0x231b
        | 0x23e9..=0x23ec
        | 0x23f0
        | 0x23f3
        | 0x2614..=0x2615
        | 0x2648..=0x2653
        | 0x26a1
        | 0x26bd..=0x26be
        | 0x26d4
        | 0x2705
        | 0x270a..=0x270b
        | 0x2728
        | 0x274c
        | 0x274e
        | 0x2753..=0x2755
        | 0x2757
        | 0x2795..=0x2797
        | 0x2b50
        | 0x2b55
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f7e0..=0x1f7eb
        | 0x1f900..=0x1f9ff
        | 0x1fa70..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// `text` cut to `max` columns, with an ellipsis where it was cut.
pub(super) fn shorten(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut left = max.saturating_sub(1);
    let mut short = String::new();
    for c in text.chars() {
        let Some(rest) = left.checked_sub(char_width(c)) else { break };
        left = rest;
        short.push(c);
    }
    short.push('…');
    short
}

/// `text` in at most `lines_max` lines of `max` columns, broken between words where that is possible, with an ellipsis where it was cut.
pub(super) fn wrap(text: &str, max: usize, lines_max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        match line.is_empty() {
            true => line.push_str(word),
            false if width(line) + 1 + width(word) <= max => {
                line.push(' ');
                line.push_str(word);
            }
            false => lines.push(word.to_owned()),
        }
        // A word that is wider than a line is broken, as are languages that do not separate words.
        while let Some(rest) = lines.last_mut().and_then(|line| split_off(line, max)) {
            lines.push(rest);
        }
    }
    if lines.len() > lines_max {
        let rest = lines.split_off(lines_max - 1).join(" ");
        lines.push(shorten(&rest, max));
    }
    lines
}

/// Cuts `line` after `max` columns and returns the rest.
fn split_off(line: &mut String, max: usize) -> Option<String> {
    let mut columns = 0;
    let mut cut = None;
    for (at, c) in line.char_indices() {
        columns += char_width(c);
        if columns > max.max(2) {
            cut = Some(at);
            break;
        }
    }
    cut.map(|at| line.split_off(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_between_words() {
        let check = |text: &str, max, expect: &[&str]| assert_eq!(wrap(text, max, 3), expect, "{text}");
        check("water the plants", 20, &["water the plants"]);
        check("water the plants", 10, &["water the", "plants"]);
        check("https://example.org/x and so on", 12, &["https://exam", "ple.org/x", "and so on"]);
        check("薬を飲む時間です", 7, &["薬を飲", "む時間", "です"]);
        check("one two three four five", 5, &["one", "two", "thre…"]);
        check("", 5, &[""]);
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!((width("abc"), width("薬"), width("⏰薬💊"), width("e\u{301}")), (3, 2, 6, 1));
        assert_eq!((width("🪴"), width("👩\u{200d}⚕\u{fe0f}"), width("👍🏽"), width("🇩🇪")), (2, 2, 2, 2));
        assert_eq!(shorten("medicine", 5), "medi…");
        assert_eq!(shorten("薬を飲む", 5), "薬を…");
        assert_eq!(shorten("short", 5), "short");
    }

    #[test]
    fn a_text_cannot_command_the_terminal() {
        assert_eq!(neutral("a\x1b[2Jb\nc\u{9b}d "), "a�[2Jb c�d");
        assert_eq!(neutral("\u{202e}drow: שלום"), "<U+202E>drow: שלום");
        let json = serde_json::json!({ "a": "\x1b\u{9b}\x7f\u{202e}ש" });
        let shown = format!("{json:#}");
        assert_eq!(neutral_json(&shown), "{\n  \"a\": \"\\u001b\\u009b\\u007f\\u202eש\"\n}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&neutral_json(&shown)).unwrap(), json);
    }
}
