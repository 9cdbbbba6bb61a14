//! Saying what a text says about time, without a server.

use anyhow::anyhow;
use jiff::Timestamp;
use punctual_core::phrase::{self, Meaning, Parsed};
use punctual_core::steps::Steps;

use super::style::{neutral, neutral_json};
use super::texts::{Speaker, Texts};
use super::{Global, print, when};
use crate::understood::{exact, runs, understood};

const EXAMPLES: &str = "\
Examples:
  punctual parse \"remind me tomorrow at 8 to call mom\"
  punctual parse \"morgen um 8\" --lang de --now 2026-03-01T10:00:00+01:00 --tz Europe/Berlin --json
  punctual parse \"radnim danom u 8, vikendom u 10\" --tz Europe/Zagreb
  punctual parse --batch phrases.jsonl

Exit codes: 0 understood, 1 no time in it, 2 wrong usage.
With --json or --batch, no time is an answer as well ({\"kind\":\"none\",\"reason\"}), and the code is 0.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    texts: Texts,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<()> {
    let parse = |text: &str, speaker: &Speaker| phrase::parse(text, speaker.lang, &speaker.zone, speaker.now);
    let understood = |text: &str, speaker: &Speaker| {
        understood(parse(text, speaker), &speaker.zone, speaker.now, &Steps::of_request(1))
    };
    if let Some(file) = &args.texts.batch {
        return args.texts.answer_each(file, global, understood);
    }
    let speaker = args.texts.speaker(global)?;
    let text = args.texts.text();
    if global.json {
        return print(&neutral_json(&format!("{}\n", serde_json::to_string_pretty(&understood(&text, &speaker))?)));
    }
    let parsed = parse(&text, &speaker);
    match &parsed.meaning {
        Meaning::None { reason } => Err(anyhow!("{}", parsed.with_suggestion(reason, &speaker.zone))),
        _ => print(&shown(&parsed, &speaker)),
    }
}

/// What was understood, when that is, and what else the text says.
fn shown(parsed: &Parsed, speaker: &Speaker) -> String {
    let instants: Vec<Timestamp> = match &parsed.meaning {
        Meaning::Instant { at, .. } | Meaning::Duration { at, .. } => vec![*at],
        Meaning::Interval { from, to, .. } => vec![*from, *to],
        Meaning::Recurring(schedule) => runs(schedule, &speaker.zone, speaker.now, &Steps::of_request(1)).collect(),
        Meaning::None { .. } => Vec::new(),
    };
    let mut text = format!("{}\n", parsed.summary(&speaker.zone));
    for at in instants {
        text.push_str(&format!("{}  {}\n", exact(at, &speaker.zone), when::relative(at, speaker.now)));
    }
    for other in &parsed.alternatives {
        text.push_str(&format!("or: {}\n", other.summary_in(parsed.lang, &speaker.zone)));
    }
    if !parsed.rest.is_empty() {
        text.push_str(&format!("rest: {}\n", neutral(&parsed.rest)));
    }
    if speaker.lang.is_none() {
        text.push_str(&format!("language: {}\n", parsed.lang));
    }
    text
}

#[cfg(test)]
mod tests {
    use punctual_core::phrase::Lang;
    use punctual_core::zone::Zone;

    use super::*;

    #[test]
    fn a_phrase_is_shown_with_its_time_and_its_rest() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let speaker = Speaker { lang: Some(Lang::En), zone, now: "2026-03-01T10:00:00+01:00".parse().unwrap() };
        for (text, expect) in [
            (
                "remind me tomorrow at 8 to call mom",
                "Mon 2 Mar 2026 at 08:00, Europe/Berlin\n2026-03-02T08:00:00+01:00  in 22 h\n\
                 or: Mon 2 Mar 2026 at 20:00, Europe/Berlin\nrest: call mom\n",
            ),
            (
                "every day at 8 for 2 days",
                "every day at 08:00, until Tue 3 Mar 2026 at 10:00, Europe/Berlin\n2026-03-02T08:00:00+01:00  in 22 h\n\
                 2026-03-03T08:00:00+01:00  in 2 days\n\
                 or: every day at 20:00, until Tue 3 Mar 2026 at 10:00, Europe/Berlin\n",
            ),
        ] {
            let parsed = phrase::parse(text, speaker.lang, &speaker.zone, speaker.now);
            assert_eq!(shown(&parsed, &speaker), expect);
        }
    }
}
