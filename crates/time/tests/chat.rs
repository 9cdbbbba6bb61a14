//! Messages that people write to a bot that reminds them: answers, commands, and talk that is neither. A file for each language.
//!
//! A line says what is expected, a bar, and the text. Expected are an answer (`ack`, `dismiss`, `snooze`, or `snooze 5` with its minutes), a
//! command (`list`, `cancel`, `cancel tea` with what is meant, `remind`, or `remind tea` with the message), or `-`: neither an answer nor a
//! command. A line that begins with `~` counts only where the person's language is known, because the words mean something else, or
//! nothing, in another.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use jiff::Timestamp;
use punctual_time::phrase::{Command, Lang, answer, command};
use punctual_time::sentence;
use punctual_time::steps::Steps;
use punctual_time::zone::Zone;

/// So many lines that mean something a language has at least, and so many that mean nothing.
const MEANT_MIN: usize = 60;
const TALK_MIN: usize = 30;

/// A Monday, half past ten in the morning in Berlin.
fn now() -> Timestamp {
    "2026-03-02T10:30:00+01:00".parse().unwrap()
}

fn zone() -> Zone {
    Zone::named("Europe/Berlin").unwrap()
}

/// The answer in `text`.
fn answered(text: &str, lang: Option<Lang>) -> Option<String> {
    let answer = answer(text, lang, &zone(), now())?;
    Some(answer.minutes(now()).map_or(answer.word().into(), |minutes| format!("{} {minutes}", answer.word())))
}

/// The command in `text`, with the message of a reminder that is to be made.
fn commanded(text: &str, lang: Option<Lang>) -> Option<String> {
    Some(match command(text)? {
        Command::List => "list".into(),
        Command::Cancel { what } => format!("cancel {}", what.unwrap_or_default()).trim_end().to_owned(),
        Command::Remind { sentence } => {
            let sentence = sentence::read(&sentence, lang, &zone(), now(), &Steps::of_request(1));
            let message = sentence.ok().and_then(|sentence| sentence.message().map(str::to_owned));
            format!("remind {}", message.unwrap_or_default()).trim_end().to_owned()
        }
    })
}

fn problem(expected: &str, text: &str, lang: Option<Lang>) -> Option<String> {
    let (answered, commanded) = (answered(text, lang), commanded(text, lang));
    let is_command = ["list", "cancel", "remind"].iter().any(|word| expected.split(' ').next() == Some(word));
    let got = match (expected, is_command) {
        ("-", _) => answered.or(commanded),
        (_, true) => commanded,
        (_, false) => answered,
    };
    let got = got.unwrap_or_else(|| "-".into());
    // A reminder whose message is not named may say anything.
    let is_right = got == expected || expected == "remind" && got.starts_with("remind");
    (!is_right).then(|| format!("{text} ({lang:?}): {got}, not {expected}"))
}

#[track_caller]
fn check(table: &str, lang: Lang) {
    let (mut wrong, mut n_meant, mut n_talk) = (Vec::new(), 0, 0);
    for line in table.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (expected, text) = line.split_once('|').unwrap_or_else(|| panic!("a line without a bar: {line}"));
        let (expected, text) = (expected.trim(), text.trim());
        let alone = expected.strip_prefix('~').map(str::trim);
        let expected = alone.unwrap_or(expected);
        *(if expected == "-" { &mut n_talk } else { &mut n_meant }) += 1;
        let hints: &[Option<Lang>] = if alone.is_some() { &[Some(lang)] } else { &[Some(lang), None] };
        wrong.extend(hints.iter().filter_map(|lang| problem(expected, text, *lang)));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(n_meant >= MEANT_MIN && n_talk >= TALK_MIN, "{n_meant} lines mean something, {n_talk} nothing");
}

#[test]
fn english() {
    check(include_str!("chat/en.txt"), Lang::En);
}

#[test]
fn german() {
    check(include_str!("chat/de.txt"), Lang::De);
}

#[test]
fn croatian() {
    check(include_str!("chat/hr.txt"), Lang::Hr);
}

#[test]
fn serbian() {
    check(include_str!("chat/sr.txt"), Lang::Sr);
}

#[test]
fn serbian_in_cyrillic() {
    check(include_str!("chat/sr-Cyrl.txt"), Lang::SrCyrl);
}
