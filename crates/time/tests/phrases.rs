//! Phrases that people write, and their meanings: the project's own examples, a file for each language family.
//!
//! A line is what `punctual parse` is asked and answers: `text`, `now`, `tz`, and `kind` with `at`, `from` and `to`, `next`
//! (as many as are given), `seconds`, `rest`, and of none the `suggestion`. `detect` is false where the same words mean something else in
//! another language.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use jiff::Timestamp;
use punctual_time::phrase::{Lang, Meaning, parse};
use punctual_time::zone::Zone;
use serde_json::Value;

fn check(file: &str, lang: Option<Lang>) {
    let mut wrong = Vec::new();
    for line in file.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = case["text"].as_str().unwrap();
        let lang = case["lang"].as_str().map(|tag| tag.parse().unwrap()).or(lang);
        // Without a hint the language is worked out, and the meaning must be the same, unless only the language tells.
        let hints = if case["detect"] == false { vec![lang] } else { vec![lang, None] };
        for lang in hints {
            let problems = problems(&case, text, lang);
            wrong.extend(problems.into_iter().map(|problem| format!("{text} ({lang:?}): {problem}")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn problems(case: &Value, text: &str, lang: Option<Lang>) -> Vec<String> {
    let zone = Zone::named(case["tz"].as_str().unwrap()).unwrap();
    let now: Timestamp = case["now"].as_str().unwrap().parse().unwrap();
    let parsed = parse(text, lang, &zone, now);
    let iso = |at: Timestamp| at.to_zoned(zone.rules().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let mut problems = Vec::new();
    let mut compare = |field: &str, got: &str| {
        if let Some(want) = case[field].as_str()
            && want != got
        {
            problems.push(format!("{field} is {got}, not {want}"));
        }
    };
    match &parsed.meaning {
        Meaning::Instant { at, .. } => {
            compare("kind", "instant");
            compare("at", &iso(*at));
        }
        Meaning::Interval { from, to, .. } => {
            compare("kind", "interval");
            compare("from", &iso(*from));
            compare("to", &iso(*to));
        }
        Meaning::Duration { seconds, .. } => {
            compare("kind", "duration");
            if case["seconds"].as_u64().is_some_and(|want| want != *seconds) {
                problems.push(format!("it is {seconds} seconds, not {}", case["seconds"]));
            }
        }
        Meaning::Recurring(schedule) => {
            compare("kind", "recurring");
            let want: Vec<&str> = case["next"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let next = |at: &Timestamp| schedule.next_after(&zone, *at);
            let got: Vec<String> = std::iter::successors(next(&now), next).take(want.len()).map(iso).collect();
            if want != got {
                problems.push(format!("next is {got:?}, not {want:?}"));
            }
        }
        Meaning::None { reason } => {
            if case["kind"] != "none" {
                problems.push(format!("none: {reason}"));
            }
            let offered = parsed.suggestion.as_ref().map(|meaning| meaning.summary_in(parsed.lang, &zone));
            if case["suggestion"].is_string() && case["suggestion"].as_str() != offered.as_deref() {
                problems.push(format!("the suggestion is {offered:?}, not {}", case["suggestion"]));
            }
        }
    }
    if let Some(rest) = case["rest"].as_str()
        && case["kind"] != "none"
        && rest != parsed.rest
    {
        problems.push(format!("rest is `{}`, not `{rest}`", parsed.rest));
    }
    problems
}

#[test]
fn english() {
    check(include_str!("phrases/en.jsonl"), Some(Lang::En));
}

#[test]
fn german() {
    check(include_str!("phrases/de.jsonl"), Some(Lang::De));
}

#[test]
fn croatian_serbian_and_bosnian() {
    check(include_str!("phrases/slavic.jsonl"), None);
}
