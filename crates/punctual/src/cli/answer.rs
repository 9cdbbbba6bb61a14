//! Saying what a text answers to a reminder, without a server.

use anyhow::anyhow;
use punctual_core::phrase::{self, Answer};
use serde::Serialize;

use super::texts::{Speaker, Texts};
use super::{Global, print, when};
use crate::understood::exact;

const EXAMPLES: &str = "\
Examples:
  punctual answer \"5 more minutes\" --lang en --json
  punctual answer \"hab ich\"
  punctual answer \"ne treba\" --lang hr
  punctual answer --batch answers.jsonl

Exit codes: 0 an answer, 1 not an answer, 2 wrong usage.
With --json or --batch, what is no answer is {\"response\":null}, and the code is 0.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    texts: Texts,
}

/// An answer as JSON.
#[derive(Debug, Serialize)]
struct Answered {
    /// `ack`, `snooze`, `dismiss`, or null for what is no answer.
    response: Option<&'static str>,
    /// How long to wait, if a snooze says.
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<u32>,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    let answer = |text: &str, speaker: &Speaker| phrase::answer(text, speaker.lang, &speaker.zone, speaker.now);
    let answered = |text: &str, speaker: &Speaker| {
        let answer = answer(text, speaker);
        Answered { response: answer.map(Answer::word), minutes: answer.and_then(|answer| answer.minutes(speaker.now)) }
    };
    if let Some(file) = &args.texts.batch {
        return args.texts.answer_each(file, global, answered);
    }
    let speaker = args.texts.speaker(global)?;
    let text = args.texts.text();
    if global.json {
        return print(&format!("{}\n", serde_json::to_string_pretty(&answered(&text, &speaker))?));
    }
    match answer(&text, &speaker) {
        Some(answer) => print(&shown(answer, &speaker)),
        None => Err(anyhow!("that is no answer; say whether it is done, needs more time, or is not needed")),
    }
}

/// The answer, and until when it puts a reminder off.
fn shown(answer: Answer, speaker: &Speaker) -> String {
    match answer {
        Answer::Snooze { until: Some(until) } => {
            format!("snooze until {}  {}\n", exact(until, &speaker.zone), when::relative(until, speaker.now))
        }
        answer => format!("{}\n", answer.word()),
    }
}
