//! Requests that work: a test sends each of them to a real server.

use serde_json::{Value, json};

use super::Operation;

/// Adds the example of an operation's request.
pub(super) fn complete(operation: &mut Operation<'_>) {
    let value = of(&operation.id);
    if !value.is_null() {
        operation.described["requestBody"]["content"]["application/json"]["example"] = value;
    }
    let parameters = operation.described.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let example = match (operation.path, parameter["name"].as_str().unwrap_or_default()) {
            (path, "id") if path.starts_with("/v1/users/") => "alice",
            ("/v1/groups/{name}", "name") => "on-call",
            (path, "name") if path.starts_with("/v1/channels/") => "console",
            (path, "name") if path.starts_with("/v1/users/") => "work",
            (path, "key") if path.starts_with("/v1/events/") => "game:42",
            (_, "at") => "20300310T180000",
            (_, "path") => "guild:1",
            (_, "verb") => "pause",
            _ => continue,
        };
        parameter["example"] = example.into();
    }
}

/// A body that works, of the operation with this id.
fn of(id: &str) -> Value {
    match id {
        "create_reminder" => {
            json!({ "user": "alice", "text": "take my medicine tomorrow at 8", "lang": "en", "priority": "high" })
        }
        "create_reminders" => json!({ "reminders": [
            { "user": "alice", "message": "stand up", "schedule": { "type": "weekly", "time": "09:55", "days": ["weekdays"] } },
            { "user": "bob", "message": "water the plants", "schedule": { "type": "interval", "every": "3d" } },
        ] }),
        "update_reminder" => json!({ "message": "take the blue pill", "priority": "critical" }),
        "command_reminder" => json!({}),
        "resend" => json!({ "since": "2h", "count_only": true }),
        "import" => json!({ "source": "old@bot", "items": [
            { "key": "17", "reminder": { "user": "alice", "message": "tea", "schedule": { "type": "daily", "time": "17:00" } } },
        ] }),
        "import_lines" => json!({ "lines": [], "check": true }),
        "import_calendar" => json!({ "user": "alice", "dry_run": true, "ical":
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:a\nSUMMARY:Tea\nDTSTART:20400101T100000Z\nEND:VEVENT\nEND:VCALENDAR" }),
        "parse" => json!({ "text": "every weekday at 7:30", "lang": "en", "tz": "Europe/Berlin" }),
        "put_user" => json!({
            "timezone": "Europe/Berlin", "language": "de", "addresses": [{ "channel": "console", "address": "" }],
            "quiet_hours": { "from": "22:00", "to": "07:00" },
        }),
        "erase_user" => json!({ "confirm": "alice" }),
        "put_calendar" => json!({ "url": "https://calendar.example.org/work.ics", "every": "1h" }),
        "inbound" => json!({ "user": "alice", "text": "5 more minutes" }),
        "put_group" => json!({ "users": ["alice", "bob"], "mode": "in_order" }),
        "put_event" => json!({
            "starts_at": "2030-03-10T18:00:00Z", "offsets": [60, 15], "users": ["alice", "bob"], "message": "Game in {minutes} min",
            "rrule": "FREQ=WEEKLY;COUNT=4", "timezone": "UTC",
        }),
        "put_events" => json!({ "events": [
            { "key": "call:7", "starts_at": "2030-03-11T09:00:00Z", "offsets": ["10m"], "users": ["alice"], "message": "Call" },
        ] }),
        "put_instance" => json!({ "starts_at": "2030-03-10T19:00:00Z" }),
        "put_scope" => json!({ "offsets": [60, "PT15M"] }),
        "create_silence" => json!({ "user": "alice", "until": "3d" }),
        "create_key" => {
            json!({ "name": "the bot of team A", "user": "alice", "scopes": ["read", "write"], "expires_at": "90d" })
        }
        "rotate_key" => json!({ "overlap": "1h" }),
        "test_channel" => json!({ "message": "This is a test." }),
        "revive_address" => json!({ "address": "https://example.org/hook" }),
        _ => Value::Null,
    }
}
