//! A run told as sentences: who sent it where, what the platform said, who answered, who was asked next.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_client::escaped;
use punctual_client::known::{AttemptStatus, StateKind};
use punctual_client::wire::{Attempt, Entry, Occurrence, Reminder, Response, Word};
use serde_json::Value;

use crate::manner::Manner;
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
    let lines = lines(m, run);
    let raw = v.href(&format!("/runs/{}/raw", escaped(&run.id)));
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
            details id=(format!("raw-{}", run.run_number)) { summary { (m.t(t::RAW)) } div data-from=(raw) { a.button href=(raw) { (m.t(t::RAW)) } } }
        }
    }
}

fn lines(m: &Manner, run: &Occurrence) -> Vec<Line> {
    let mut lines: Vec<Line> = run.attempts.iter().map(|attempt| of_attempt(m, run, attempt)).collect();
    lines.extend(run.responses.iter().map(|response| of_response(m, response)));
    lines.extend(run.audit.iter().filter_map(|entry| of_entry(m, entry)));
    if lines.is_empty() && run.state == StateKind::Missed {
        lines.extend(run.at.map(|at| line(at, "✕", "bad", m.t(t::STORY_MISSED).into_owned())));
    }
    lines.sort_by_key(|line| line.at);
    lines
}

fn line(at: Timestamp, mark: &'static str, class: &'static str, text: String) -> Line {
    Line { at, mark, class, text, notes: Vec::new() }
}

fn of_attempt(m: &Manner, run: &Occurrence, attempt: &Attempt) -> Line {
    let place = match attempt.address.as_str() {
        "" => attempt.channel.clone(),
        address => format!("{} ({address})", attempt.channel),
    };
    let place = ("channel", place.as_str());
    let (mark, class, became) = match &attempt.status {
        Word::Known(AttemptStatus::Sent) => ("✓", "good", m.say(t::STORY_TOOK, &[place])),
        Word::Known(AttemptStatus::Sending) => ("➤", "", m.say(t::STORY_SENDING, &[place])),
        other => {
            let why = attempt.error.as_deref().unwrap_or(other.as_str()).trim_end_matches('.');
            ("✕", "bad", m.say(t::STORY_FAILED, &[place, ("why", why)]))
        }
    };
    // A person who was reached before and is asked once more has not answered.
    let was_reached = |before: &Attempt| before.number < attempt.number && before.status == AttemptStatus::Sent;
    let again = run.attempts.iter().any(was_reached).then(|| m.t(t::STORY_REASKED).into_owned());
    // The journal has an entry of each attempt, by the node that made it.
    let is_its = |entry: &&Entry| {
        entry.at >= attempt.started_at
            && matches!(entry.kind.as_str(), "reminder.sent" | "attempt.failed" | "reminder.failed")
    };
    let node = run.audit.iter().filter(is_its).min_by_key(|entry| entry.at).and_then(|entry| entry.node.as_deref());
    let claimed = node.map(|node| m.say(t::STORY_CLAIMED, &[("node", node)]));
    let sentences: Vec<String> = again.into_iter().chain(claimed).chain([became]).collect();
    let mut told = line(attempt.started_at, mark, class, sentences.join(" "));
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
    told
}

fn of_response(m: &Manner, response: &Response) -> Line {
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
fn of_entry(m: &Manner, entry: &Entry) -> Option<Line> {
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

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use punctual_time::zone::Zone;
    use serde_json::{Value, json};

    use super::*;

    /// The story of a run with these attempts, answers and entries, a sentence a line.
    fn story(fields: Value) -> Vec<String> {
        let mut run = json!({ "id": "run", "reminder_id": "1", "run_number": 1, "due_at": "2026-11-18T08:00:00Z", "state": "completed",
            "at": null, "attempts": [], "responses": [], "audit": [] });
        run.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let stranger = Manner::of_stranger(&HeaderMap::new());
        let m = stranger.at(Zone::utc(), "2026-11-18T12:00:00Z".parse().unwrap());
        lines(&m, &serde_json::from_value(run).unwrap()).into_iter().map(|line| line.text).collect()
    }

    fn attempt(number: u32, channel: &str, address: &str, error: Option<&str>) -> Value {
        json!({ "number": number, "channel": channel, "address": address, "status": if error.is_some() { "failed" } else { "sent" },
            "started_at": format!("2026-11-18T08:0{number}:00Z"), "ended_at": format!("2026-11-18T08:0{number}:01Z"), "error": error,
            "message_id": null, "idempotency_key": "k" })
    }

    fn entry(kind: &str, minute: u32, node: Option<&str>, data: Value) -> Value {
        json!({ "id": minute, "occurrence_id": null, "at": format!("2026-11-18T08:0{minute}:02Z"), "kind": kind, "actor": "engine", "via": null, "node": node,
            "reminder_id": "1", "user": "me", "data": data })
    }

    #[test]
    fn a_run_is_told_by_who_claimed_it_where_it_went_and_who_was_asked_again() {
        let told = story(json!({
            "attempts": [attempt(1, "webhook", "http://a.example/x", Some("answered 500.")), attempt(2, "console", "", None), attempt(3, "console", "", None)],
            "audit": [
                entry("attempt.failed", 1, Some("node-a"), json!({})),
                entry("reminder.sent", 2, Some("node-b"), json!({})),
                entry("reminder.escalated", 4, None, json!({ "to": [{ "user": "ana" }, { "user": "marko" }] })),
            ],
            "responses": [{ "response": "ack", "at": "2026-11-18T08:05:00Z", "by": "page", "user_id": "ana", "response_text": null, "channel": null }],
        }));
        assert_eq!(
            told,
            [
                "Claimed by node-a. Not sent to webhook (http://a.example/x): answered 500.",
                "Claimed by node-b. Sent to console.",
                "Nobody had answered, so it was asked again. Sent to console.",
                "Nobody answered, so ana, marko was asked.",
                "ana said done.",
            ]
        );
    }

    #[test]
    fn a_run_that_was_missed_says_so() {
        let told = story(json!({ "state": "missed", "at": "2026-11-18T09:00:00Z" }));
        assert_eq!(told, ["Its moment passed, and it was left out."]);
    }
}
