//! A run told as sentences: who sent it where, what the platform said, who answered, who was asked next.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_client::known::{AttemptStatus, StateKind};
use punctual_client::wire::{Attempt, Entry, Occurrence, Reminder, Response, Word};
use serde_json::Value;

use crate::parts;
use crate::texts::{Text, reminder as t, states};
use crate::viewer::Viewer;

/// One sentence of a story.
struct Line {
    at: Timestamp,
    mark: &'static str,
    class: &'static str,
    text: String,
    /// What else there is to know.
    notes: Vec<String>,
}

pub(super) fn story(v: &Viewer, reminder: &Reminder<'_>, run: &Occurrence) -> Markup {
    let m = &v.m;
    let shape = parts::of_run(m, &run.state);
    let lines = lines(v, run);
    let raw = serde_json::to_value(run).map(|value| format!("{value:#}")).unwrap_or_default();
    html! {
        section id=(format!("run-{}", run.run_number)) {
            h2 {
                (m.say(t::RUN, &[("n", &m.number(run.run_number.into()))])) " · " (parts::with_zone(m, run.due_at, &reminder.timezone))
                " · " (parts::state(&shape))
            }
            ol.story {
                @for line in &lines {
                    li.(line.class) data-mark=(line.mark) {
                        time datetime=(line.at) title=(m.whole(line.at)) { (m.exact(line.at)) } " " (line.text)
                        @if !line.notes.is_empty() { small { (line.notes.join(" · ")) } }
                    }
                }
                @if let Some(at) = run.ask_again_at {
                    li.wait data-mark="?" { (m.say(t::STORY_ASKED_AGAIN, &[("when", &m.instant(at))])) }
                }
            }
            details id=(format!("raw-{}", run.run_number)) { summary { (m.t(t::RAW)) } pre tabindex="0" { code { (raw) } } }
        }
    }
}

fn lines(v: &Viewer, run: &Occurrence) -> Vec<Line> {
    let mut lines: Vec<Line> = run.attempts.iter().map(|attempt| of_attempt(v, run, attempt)).collect();
    lines.extend(run.responses.iter().map(|response| of_response(v, response)));
    lines.extend(run.audit.iter().filter_map(|entry| of_entry(v, entry)));
    if lines.is_empty() && run.state == StateKind::Missed {
        lines.extend(run.at.map(|at| line(at, "✕", "bad", v.m.t(t::STORY_MISSED).into_owned())));
    }
    lines.sort_by_key(|line| line.at);
    lines
}

fn line(at: Timestamp, mark: &'static str, class: &'static str, text: String) -> Line {
    Line { at, mark, class, text, notes: Vec::new() }
}

fn of_attempt(v: &Viewer, run: &Occurrence, attempt: &Attempt) -> Line {
    let m = &v.m;
    let channel = ("channel", attempt.channel.as_str());
    let mut told = match &attempt.status {
        Word::Known(AttemptStatus::Sent) => line(attempt.started_at, "✓", "good", m.say(t::STORY_TOOK, &[channel])),
        Word::Known(AttemptStatus::Sending) => line(attempt.started_at, "➤", "", m.say(t::STORY_SENDING, &[channel])),
        other => {
            let why = attempt.error.as_deref().unwrap_or(other.as_str());
            line(attempt.started_at, "✕", "bad", m.say(t::STORY_FAILED, &[channel, ("why", why)]))
        }
    };
    told.notes.push(m.say(t::STORY_ATTEMPT, &[("n", &m.number(attempt.number.into()))]));
    if attempt.number == 1 {
        told.notes.push(parts::lateness(m, run.due_at, attempt.started_at));
    }
    if let Some(ended_at) = attempt.ended_at {
        let ms = (ended_at.as_nanosecond() - attempt.started_at.as_nanosecond()) as f64 / 1e6;
        told.notes.push(m.millis(ms.max(0.0)));
    }
    told.notes.extend(attempt.message_id.as_deref().map(|id| m.say(t::STORY_ID, &[("id", id)])));
    if attempt.digest {
        told.notes.push(m.t(t::STORY_DIGEST).into_owned());
    }
    let node = run.audit.iter().find(|entry| entry.kind.starts_with("reminder.sent") || entry.kind.ends_with("failed"));
    told.notes.extend(node.and_then(|entry| entry.node.as_deref()).map(|node| m.say(t::STORY_NODE, &[("node", node)])));
    told
}

fn of_response(v: &Viewer, response: &Response) -> Line {
    let m = &v.m;
    let who = response.name.as_deref().or(response.user_id.as_deref()).unwrap_or(&response.by);
    let until = response.until.map(|until| m.instant(until)).unwrap_or_default();
    let (mark, class, text): (_, _, Text) = match response.response.as_str() {
        "snooze" => ("☾", "wait", t::STORY_SNOOZE),
        "dismiss" => ("–", "", t::STORY_DISMISS),
        _ => ("✓", "good", t::STORY_ACK),
    };
    let mut told = line(response.at, mark, class, m.say(text, &[("who", who), ("when", &until)]));
    told.notes.extend(response.response_text.as_deref().map(|words| m.say(t::STORY_WORDS, &[("words", words)])));
    let by = response.channel.as_deref().unwrap_or(&response.by);
    if by != who {
        told.notes.push(m.say(t::STORY_BY, &[("by", by)]));
    }
    told
}

/// What the journal says beside attempts and answers, which tell themselves.
fn of_entry(v: &Viewer, entry: &Entry) -> Option<Line> {
    let m = &v.m;
    let data: Value = entry.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
    let word = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    let when = |name: &str| word(name).parse().map(|at| m.instant(at)).unwrap_or_default();
    Some(match entry.kind.as_str() {
        "reminder.escalated" => {
            let to: Vec<&str> =
                data["to"].as_array().into_iter().flatten().filter_map(|to| to["user"].as_str()).collect();
            line(entry.at, "↗", "wait", m.say(t::STORY_ESCALATED, &[("who", &to.join(", "))]))
        }
        "reminder.unanswered" => line(entry.at, "!", "bad", m.t(t::STORY_UNANSWERED).into_owned()),
        "reminder.missed" => line(entry.at, "✕", "bad", m.t(t::STORY_MISSED).into_owned()),
        "reminder.failed" => line(entry.at, "✕", "bad", m.t(t::STORY_GIVEN_UP).into_owned()),
        "reminder.alerted" => line(entry.at, "!", "", m.t(t::STORY_ALERTED).into_owned()),
        "reminder.waiting" => {
            let why = match word("why").as_str() {
                "quiet" => states::QUIET,
                "paused" => states::WHY_PAUSED,
                "silenced" => states::SILENCED,
                _ => states::EVENT,
            };
            line(entry.at, "☾", "wait", m.say(t::STORY_WAITING, &[("when", &when("until")), ("why", &m.t(why))]))
        }
        _ => return None,
    })
}

/// Something that was done to the reminder itself.
pub(super) fn entry(v: &Viewer, entry: &Entry) -> Markup {
    let m = &v.m;
    let data: Value = entry.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
    let did = data["did"].as_str().unwrap_or_else(|| entry.kind.split_once('.').map_or("", |(_, did)| did));
    let said = match did {
        "created" | "create" => t::DID_CREATE,
        "changed" | "update" => t::DID_UPDATE,
        "cancelled" | "cancel" => t::DID_CANCEL,
        "pause" => t::DID_PAUSE,
        "resume" => t::DID_RESUME,
        "skip" => t::DID_SKIP,
        "fire" => t::DID_FIRE,
        "undo" => t::DID_UNDO,
        _ => t::DID_OTHER,
    };
    let did = m.say(said, &[("did", did)]);
    let fields: Vec<&str> = data["fields"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html! {
        li data-mark="·" {
            time datetime=(entry.at) title=(m.whole(entry.at)) { (m.instant(entry.at)) } " "
            (m.say(t::STORY_CHANGED, &[("actor", &entry.actor), ("did", &did)]))
            @if !fields.is_empty() || entry.via.is_some() {
                small { (fields.join(", ")) @if let Some(via) = &entry.via { " " (m.say(t::STORY_BY, &[("by", via)])) } }
            }
        }
    }
}
