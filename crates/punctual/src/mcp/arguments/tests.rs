//! What models write, and what is understood.

use serde_json::json;

use super::*;

fn understood(arguments: Value) -> Result<Asked, Invalid> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    read(arguments, None)
}

/// All of `ways` ask for the same.
#[track_caller]
fn check(ways: Vec<Value>, expect: Call) {
    for arguments in ways {
        let asked = understood(arguments.clone());
        assert_eq!(asked.map(|asked| asked.call), Ok(expect.clone()), "{arguments}");
    }
}

#[track_caller]
fn check_refused(arguments: Value, field: &str, words: &str) {
    let invalid = understood(arguments.clone()).expect_err(&arguments.to_string());
    assert_eq!(invalid.field, field, "{arguments}: {invalid}");
    assert!(invalid.problem.contains(words), "{arguments}: {invalid}");
}

fn added(fields: Value, schedule: Value) -> Call {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    Call::Add(New { fields, text: None, when: Some(When::Schedule(schedule)) })
}

/// The schedule of an `add` with these fields.
#[track_caller]
fn check_when(arguments: Value, schedule: Value) {
    let mut call = json!({ "action": "add", "message": "m" });
    for (name, value) in arguments.as_object().unwrap() {
        call[name] = value.clone();
    }
    check(vec![call], added(json!({ "message": "m" }), schedule));
}

#[test]
fn flat_and_nested_arguments_and_texts_mean_the_same() {
    check(
        vec![
            json!({ "action": "add", "message": "Pills", "priority": "high", "require_ack": true, "schedule": { "type": "once", "at": "5m" } }),
            json!({ "action": "add", "message": "Pills", "priority": "high", "require_ack": true, "type": "once", "at": "5m" }),
            json!({ "action": "add", "message": "Pills", "priority": "HIGH", "require_ack": "true", "at": "5m" }),
            json!({ "action": "ADD", "content": "Pills", "priority": "high", "requireAck": "yes", "schedule": "{\"type\":\"once\",\"at\":\"5m\"}" }),
            json!({ "action": "create", "job": { "message": "Pills", "priority": "high", "require_ack": 1, "schedule": { "schedule_type": "one-time", "run_at": "5m" } } }),
            json!({ "operation": "add", "arguments": "{\"message\":\"Pills\",\"priority\":\"high\",\"requireAck\":true,\"at\":\"5m\"}" }),
            json!({ "action": "add", "message": "Pills", "priority": "high", "require_ack": true, "at": "5m",
                "text": null, "schedule": {}, "tags": [], "name": "", "every": "null", "snooze_minutes": 0 }),
        ],
        added(
            json!({ "message": "Pills", "priority": "high", "require_ack": true }),
            json!({ "type": "once", "at": "5m" }),
        ),
    );
    check(
        vec![
            json!({ "action": "add", "message": "Up", "schedule": { "type": "weekly", "time": "07:30", "days": ["mon", "wed"] } }),
            json!({ "action": "add", "message": "Up", "type": "weekly", "time": "7:30", "days": [1, 3] }),
            json!({ "action": "add", "message": "Up", "schedule_type": "weekly", "time_of_day": "7:30 am", "days_of_week": "1,3" }),
            json!({ "action": "add", "message": "Up", "time": "07:30", "days": "[\"1\", \"3\"]" }),
            json!({ "action": "add", "message": "Up", "schedule": { "type": "daily", "at": "07:30" }, "days": "Mon and Wed" }),
            json!({ "action": "add", "message": "Up", "schedule": "weekly", "time": "07:30", "days": ["mon", "wed"] }),
        ],
        added(json!({ "message": "Up" }), json!({ "type": "weekly", "time": "07:30", "days": ["mon", "wed"] })),
    );
}

#[test]
fn a_schedule_is_understood_in_many_shapes() {
    check_when(json!({ "type": "daily", "time": 8 }), json!({ "type": "daily", "time": "08:00" }));
    check_when(json!({ "type": "daily", "time": 8.0 }), json!({ "type": "daily", "time": "08:00" }));
    check_when(json!({ "type": "daily", "time": "8.30" }), json!({ "type": "daily", "time": "08:30" }));
    check_when(json!({ "type": "daily", "time": "8:30:15" }), json!({ "type": "daily", "time": "8:30:15" }));
    // Half a minute's digits are no minute: the API refuses them.
    for time in ["8.5", "8:3", "8.3 pm", "8:005"] {
        check_when(json!({ "type": "daily", "time": time }), json!({ "type": "daily", "time": time }));
        check_when(
            json!({ "type": "weekly", "at": time, "days": "mon" }),
            json!({ "type": "weekly", "time": time, "days": ["mon"] }),
        );
    }
    check_when(json!({ "type": "daily", "time": "8pm" }), json!({ "type": "daily", "time": "20:00" }));
    check_when(json!({ "type": "daily", "time": "12am" }), json!({ "type": "daily", "time": "00:00" }));
    check_when(json!({ "type": "daily", "time": "noonish" }), json!({ "type": "daily", "time": "noonish" }));
    check_when(json!({ "every": "2h" }), json!({ "type": "interval", "every": "2h" }));
    check_when(json!({ "every": "every 2 hours" }), json!({ "type": "interval", "every": "2 hours" }));
    check_when(json!({ "interval_ms": "7200000" }), json!({ "type": "interval", "every": "7200000ms" }));
    check_when(json!({ "every_minutes": 30 }), json!({ "type": "interval", "every": "30m" }));
    check_when(json!({ "type": "hourly" }), json!({ "type": "interval", "every": "1h" }));
    check_when(json!({ "cron": "0 8 * * 1-5" }), json!({ "type": "cron", "expr": "0 8 * * 1-5" }));
    check_when(json!({ "schedule": "0 8 * * 1-5" }), json!({ "type": "cron", "expr": "0 8 * * 1-5" }));
    check_when(json!({ "type": "once", "time": "08:00" }), json!({ "type": "once", "at": "08:00" }));
    check_when(json!({ "date": "2026-03-02", "time": "8" }), json!({ "type": "once", "at": "2026-03-02 08:00" }));
    check_when(json!({ "date": "tomorrow", "time": "8" }), json!({ "type": "once", "at": "tomorrow at 08:00" }));
    check_when(json!({ "at": 1_772_438_400 }), json!({ "type": "once", "at": "2026-03-02T08:00:00Z" }));
    check_when(json!({ "at": "1772438400000" }), json!({ "type": "once", "at": "2026-03-02T08:00:00Z" }));
    check_when(json!({ "in": "5 minutes" }), json!({ "type": "once", "at": "in 5 minutes" }));
    check_when(
        json!({ "type": "weekly", "time": "08:00", "days": "mon-fri", "count": "5" }),
        json!({ "type": "weekly", "time": "08:00", "days": ["mon", "tue", "wed", "thu", "fri"], "count": 5 }),
    );
    check_when(
        json!({ "type": "weekdays", "time": "08:00" }),
        json!({ "type": "weekly", "time": "08:00", "days": ["weekdays"] }),
    );
    check_when(
        json!({ "type": "smart", "text": "workdays at 8, weekends at 10" }),
        json!({ "type": "smart", "text": "workdays at 8, weekends at 10" }),
    );
    let words = |fields: Value| {
        json!({ "action": "add", "message": "m" })
            .as_object()
            .unwrap()
            .clone()
            .into_iter()
            .chain(fields.as_object().unwrap().clone())
            .collect::<Map<_, _>>()
    };
    for fields in [
        json!({ "when": "tomorrow at 8" }),
        json!({ "schedule": "tomorrow at 8" }),
        json!({ "schedule": { "when": "tomorrow at 8" } }),
    ] {
        let Call::Add(new) = read(words(fields.clone()), None).unwrap().call else { panic!("{fields}") };
        assert_eq!(new.when, Some(When::Words("tomorrow at 8".into())), "{fields}");
    }
}

#[test]
fn days_by_number_count_from_monday() {
    let check = |days: Value, expect: &[&str]| {
        assert_eq!(days::read(days.clone()), Ok(expect.iter().map(|day| (*day).to_owned()).collect()), "{days}")
    };
    check(json!([1, 2, 3, 4, 5]), &["mon", "tue", "wed", "thu", "fri"]);
    check(json!(["6", 7]), &["sat", "sun"]);
    check(json!([0, 6]), &["sun", "sat"]);
    check(json!("1-5"), &["mon", "tue", "wed", "thu", "fri"]);
    check(json!("fri-mon"), &["fri", "sat", "sun", "mon"]);
    check(json!("Monday, Thursday"), &["monday", "thursday"]);
    check(json!("weekdays"), &["weekdays"]);
    check(json!(3), &["wed"]);
    assert!(days::read(json!([8])).is_err());
    assert!(
        days::read(json!([0, 1, 2, 3, 4])).unwrap_err().problem.contains("different days"),
        "it could mean two things"
    );
}

#[test]
fn a_sentence_is_an_alternative_to_a_schedule() {
    let text = |call: Value| match understood(call).unwrap().call {
        Call::Add(new) => new,
        call => panic!("{call:?}"),
    };
    let new = text(json!({ "action": "add", "text": "call mom tomorrow at 8" }));
    assert_eq!((new.text.as_deref(), new.when), (Some("call mom tomorrow at 8"), None));
    // With the time said elsewhere, the words are the message.
    let new = text(json!({ "action": "add", "text": "call mom", "at": "5m" }));
    assert_eq!((new.text, new.fields), (None, json!({ "message": "call mom" }).as_object().unwrap().clone()));
    // With all three, the sentence is what the person said.
    let new = text(json!({ "action": "add", "text": "remind me in 5 min", "message": "Call!", "at": "5m" }));
    let expect = json!({ "message": "Call!", "original_text": "remind me in 5 min" });
    assert_eq!((new.text, Value::Object(new.fields)), (None, expect));
    // A text that looks like an object is a text.
    let new = text(json!({ "action": "add", "message": "{\"a\":1}", "at": "5m" }));
    assert_eq!(new.fields["message"], "{\"a\":1}");
}

#[test]
fn a_reminder_is_named_in_many_ways() {
    for name in ["id", "job_id", "jobId", "reminder_id", "reminder", "name", "message", "query"] {
        check(vec![json!({ "action": "remove", name: "pills" })], Call::Remove { which: "pills".into() });
    }
    let snoozed = |which: Option<&str>, answer: Value| Call::Answer {
        verb: Verb::Snooze,
        which: which.map(Into::into),
        answer: answer.as_object().unwrap().clone(),
    };
    for minutes in [json!(10), json!("10"), json!(10.0)] {
        let call = json!({ "action": "snooze", "job_id": "pills", "snooze_minutes": minutes });
        check(vec![call], snoozed(Some("pills"), json!({ "minutes": 10 })));
    }
    check(
        vec![
            json!({ "action": "snooze", "id": "pills", "snooze_minutes": "an hour" }),
            json!({ "action": "postpone", "id": "pills", "until": "an hour" }),
        ],
        snoozed(Some("pills"), json!({ "until": "an hour" })),
    );
    check(
        vec![
            json!({ "action": "snooze", "id": "pills", "in": "2 hours" }),
            json!({ "action": "snooze", "id": "pills", "in": "in 2 hours" }),
        ],
        snoozed(Some("pills"), json!({ "until": "in 2 hours" })),
    );
    check(
        vec![
            json!({ "action": "snooze", "id": "pills", "interval_minutes": "120" }),
            json!({ "action": "snooze", "id": "pills", "every_hours": 2 }),
        ],
        snoozed(Some("pills"), json!({ "minutes": 120 })),
    );
    check_refused(
        json!({ "action": "snooze", "id": "pills", "minutes": 5, "in": "2 hours" }),
        "in",
        "leave `snooze_minutes` out",
    );
    check(vec![json!({ "action": "snooze" })], snoozed(None, json!({})));
    let ack = Call::Answer { verb: Verb::Ack, which: None, answer: Map::new() };
    check(vec![json!({ "action": "ack" }), json!({ "action": "done", "id": "" })], ack);
    let Call::Update { which, change, paused } =
        understood(json!({ "action": "update", "id": "pills", "name": "new", "enabled": "false" })).unwrap().call
    else {
        panic!("it is an update")
    };
    assert_eq!((which.as_str(), change.fields["name"].as_str(), paused), ("pills", Some("new"), Some(true)));
}

#[test]
fn a_list_takes_words_days_and_limits() {
    let list = |call: Value| match understood(call).unwrap().call {
        Call::List(list) => list,
        call => panic!("{call:?}"),
    };
    let today = list(json!({ "action": "list", "when": "today", "limit": "5" }));
    assert_eq!((today.from.as_deref(), today.to.as_deref(), today.limit), (Some("today"), Some("today"), Some(5)));
    let found = list(json!({ "action": "search", "query": "pills", "status": "Active", "tag": "health" }));
    assert_eq!((found.words.as_deref(), found.status.as_deref()), (Some("pills"), Some("active")));
    assert_eq!(found.tag.as_deref(), Some("health"));
}

#[test]
fn a_call_that_cannot_be_meant_is_told_how_to_be_mended() {
    check_refused(json!({}), "action", "add, list, update, remove, snooze, ack, dismiss");
    check_refused(json!({ "action": "ad" }), "action", "did you mean `add`?");
    check_refused(json!({ "action": "add" }), "text", "write a sentence");
    check_refused(json!({ "action": "add", "message": "m" }), "schedule", "say when");
    check_refused(json!({ "action": "add", "at": "5m" }), "message", "say what");
    check_refused(json!({ "action": "add", "message": "m", "time": "08:00" }), "type", "\"type\":\"daily\"");
    check_refused(
        json!({ "action": "add", "message": "m", "schedule": { "type": "monthly" } }),
        "schedule.type",
        "in words",
    );
    check_refused(json!({ "action": "add", "message": "m", "schedule": 5 }), "schedule", "is a number");
    for (number, schedule) in [
        ("8.5", json!({ "type": "daily", "time": 8.5 })),
        ("8.3", json!({ "type": "weekly", "at": 8.30, "days": "mon" })),
        ("8.5", json!({ "type": "once", "time": 8.5 })),
        ("8.5", json!({ "type": "once", "at": 8.5 })),
    ] {
        let field = if schedule["at"].is_number() { "schedule.at" } else { "schedule.time" };
        let words = format!("the number {number}, which could mean several times; write it as text, such as \"08:30\"");
        check_refused(json!({ "action": "add", "message": "m", "schedule": schedule }), field, &words);
    }
    for fields in [json!({ "type": "once", "time": "8.5" }), json!({ "date": "2026-03-02", "time": "8:3" })] {
        let mut call = json!({ "action": "add", "message": "m" });
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        check_refused(call, "time", "write both digits of the minute");
    }
    check_refused(
        json!({ "action": "add", "message": "m", "at": "5m", "require_ack": "maybe" }),
        "require_ack",
        "true or false",
    );
    check_refused(
        json!({ "action": "add", "message": "m", "at": "5m", "max_retries": "many" }),
        "max_retries",
        "whole number",
    );
    check_refused(
        json!({ "action": "add", "message": "m", "at": "5m", "priorty": "high" }),
        "priorty",
        "did you mean `priority`?",
    );
    check_refused(json!({ "action": "add", "message": "m", "at": "5m", "content": "n" }), "content", "is said twice");
    check_refused(
        json!({ "action": "add", "message": "m", "at": "5m", "schedule": { "at": "6m" } }),
        "schedule.at",
        "said twice",
    );
    check_refused(
        json!({ "action": "add", "message": "m", "at": "5m", "snooze_minutes": 5 }),
        "snooze_minutes",
        "not used by `add`",
    );
    check_refused(
        json!({ "action": "add", "message": "m", "at": "5m", "channel": "telegram" }),
        "channel",
        "names no address",
    );
    check_refused(json!({ "action": "remove" }), "job_id", "a part of its message");
    check_refused(json!({ "action": "update", "id": "x" }), "job_id", "what to change");
    check_refused(json!({ "action": "snooze", "id": "x", "minutes": -5 }), "snooze_minutes", "whole number");
}
