//! Entries of the journal about a run, in words.

use jiff::Timestamp;
use punctual_core::journal::{ENGINE, Kind};
use punctual_core::zone::Zone;
use serde_json::Value;

use super::style::neutral;
use super::{audit, when};
use crate::wire::Entry;

/// What an entry says, for the story of its run. `None`: the run's attempts or answers say it.
pub(super) fn told(entry: &Entry, zone: &Zone, now: Timestamp) -> Option<String> {
    let data: Value = entry.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default();
    let text = |field: &str| data[field].as_str().map(neutral).unwrap_or_default();
    let list = |field: &str| {
        let words = data[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(neutral).collect::<Vec<_>>().join(", ")
    };
    let by = match entry.actor.as_str() {
        ENGINE => String::new(),
        actor => format!(" by {}", neutral(actor)),
    };
    Some(match entry.kind.parse::<Kind>() {
        Ok(Kind::Sent | Kind::AttemptFailed | Kind::Acknowledged | Kind::Snoozed | Kind::Dismissed) => return None,
        Ok(Kind::Failed) if !data["attempt"].is_null() => return None,
        Ok(Kind::Failed) => format!("failed: {}", text("error")),
        Ok(Kind::Waiting) => {
            let until = data["until"].as_str().and_then(|at| at.parse().ok()).map(|at| when::local(at, zone, now));
            let why = match data["why"].as_str() {
                Some("quiet") => "quiet hours".to_owned(),
                Some("paused") => "a pause".to_owned(),
                Some("silenced") => "a silence".to_owned(),
                _ => text("why"),
            };
            format!("waits until {}: {why}", until.unwrap_or_else(|| text("until")))
        }
        Ok(Kind::Alerted) => format!("alert: made for {}", list("to")),
        Ok(Kind::Missed) => match data["runs"].as_u64() {
            Some(runs) if runs > 1 => format!("missed, with {} more", runs - 1),
            _ => "missed".to_owned(),
        },
        Ok(Kind::Changed) => {
            let fields = list("fields");
            let fields = if fields.is_empty() { fields } else { format!(": {fields}") };
            format!("{}{by}{fields}", text("did"))
        }
        Ok(Kind::Escalated) => {
            let to = data["to"].as_array().into_iter().flatten().filter_map(|to| to["user"].as_str());
            let to = to.map(neutral).collect::<Vec<_>>().join(", ");
            let to = if to.is_empty() { "nobody".to_owned() } else { to };
            let unknown = data["unknown"].as_array().into_iter().flatten().filter_map(Value::as_str).map(neutral);
            // A group that there is says why nobody of it is asked.
            let (there, gone): (Vec<_>, Vec<_>) = unknown.partition(|target| target.contains(": "));
            let gone = if gone.is_empty() { String::new() } else { format!("; there is no {}", gone.join(", ")) };
            let there: String = there.iter().map(|target| format!("; {target}")).collect();
            format!("escalated to {to}{gone}{there}")
        }
        // Another who was asked has answered, put it off or cancelled it.
        Ok(Kind::Cancelled) if !data["did"].is_null() => format!("withdrawn: {} by {}", text("did"), text("by_user")),
        Ok(Kind::Cancelled) => format!("cancelled{by}"),
        Ok(Kind::Unanswered) => "unanswered".to_owned(),
        // A kind that is about no run, or that a newer server has.
        _ => {
            let word = neutral(entry.kind.strip_prefix("reminder.").unwrap_or(&entry.kind));
            format!("{word}{by}{}", audit::data(entry).map(|data| format!(": {data}")).unwrap_or_default())
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, actor: &str, data: Value, expect: Option<&str>) {
        let (at, zone) = ("2026-03-02T06:00:00Z".parse().unwrap(), Zone::named("Europe/Berlin").unwrap());
        let entry = Entry {
            id: 1,
            at,
            kind: kind.into(),
            user: None,
            reminder_id: None,
            occurrence_id: None,
            actor: actor.into(),
            via: None,
            node: None,
            data: serde_json::value::to_raw_value(&data).ok(),
        };
        assert_eq!(told(&entry, &zone, at).as_deref(), expect, "{kind}");
    }

    #[test]
    fn an_entry_is_said_in_words_unless_the_trail_says_it() {
        check("reminder.sent", "engine", json!({ "channel": "phone", "attempt": 1 }), None);
        check("reminder.failed", "engine", json!({ "channel": "phone", "attempt": 3, "error": "502" }), None);
        check("reminder.failed", "engine", json!({ "error": "it cannot be read" }), Some("failed: it cannot be read"));
        let until = json!({ "why": "quiet", "until": "2026-03-02T07:00:00Z", "from": "2026-03-02T05:00:00Z" });
        check("reminder.waiting", "engine", until, Some("waits until Mon 2 Mar 08:00: quiet hours"));
        check(
            "reminder.alerted",
            "engine",
            json!({ "news": "trouble", "to": ["root", "eve"] }),
            Some("alert: made for root, eve"),
        );
        check("reminder.missed", "engine", json!({ "runs": 3 }), Some("missed, with 2 more"));
        check("reminder.missed", "engine", json!({ "runs": 1 }), Some("missed"));
        check(
            "reminder.changed",
            "key app",
            json!({ "did": "update", "fields": ["message", "to"] }),
            Some("update by key app: message, to"),
        );
        check("reminder.changed", "ann", json!({ "did": "skip" }), Some("skip by ann"));
        check("reminder.cancelled", "ann", json!({ "runs": [1] }), Some("cancelled by ann"));
        let withdrawn = json!({ "did": "ack", "by_user": "bob" });
        check("reminder.cancelled", "key app", withdrawn, Some("withdrawn: ack by bob"));
        let to = json!([{ "user": "bob", "due_at": "2026-03-02T06:05:00Z", "reminder_id": "1" }, { "user": "eve" }]);
        check("reminder.escalated", "engine", json!({ "why": "failed", "to": to }), Some("escalated to bob, eve"));
        let nobody = json!({ "why": "unanswered", "to": [], "unknown": ["group:oc"] });
        check("reminder.escalated", "engine", nobody, Some("escalated to nobody; there is no group:oc"));
        let some =
            json!({ "to": [{ "user": "bob" }], "unknown": ["group:oc: nobody is on duty", "group:x", "group:y"] });
        let said = "escalated to bob; there is no group:x, group:y; group:oc: nobody is on duty";
        check("reminder.escalated", "engine", some, Some(said));
        check("reminder.unanswered", "engine", Value::Null, Some("unanswered"));
        check("reminder.sung", "engine", json!({ "tune": "x y" }), Some("sung: tune=\"x y\""));
        check("reminder.waiting", "engine", json!({ "why": "a\u{1b}[2J" }), Some("waits until : a�[2J"));
    }
}
