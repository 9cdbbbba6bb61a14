//! One table of cases for every door: a request's body, and the arguments that say the same in SQL.

use serde_json::{Value, json};

/// When reminders are due in cases that are not about time.
pub(super) const AT: &str = "2099-03-02 08:00:00+01";

/// A reminder that differs from a plain one, as a request and in SQL.
pub(super) struct Case {
    /// The body of the request.
    pub(super) body: Value,
    /// The arguments of `punctual.remind`, each with its value in SQL.
    pub(super) arguments: Vec<(String, String)>,
    /// It is about when the reminder is due.
    pub(super) is_about_time: bool,
    /// Only core can check it: SQL accepts it, and the node that claims the run plans it, or fails it with the reason.
    pub(super) is_for_core: bool,
}

impl Case {
    fn new(body: Value, arguments: &[(&str, String)]) -> Self {
        let is_about_time = body.get("schedule").is_some();
        let mut whole = json!({
            "user": "ann", "message": "hello", "schedule": { "type": "once", "at": "2099-03-02T08:00:00+01:00" },
        });
        for (field, value) in body.as_object().unwrap() {
            whole[field] = value.clone();
        }
        let mut all: Vec<(String, String)> = Vec::new();
        for (name, value) in [("user_id", "ann"), ("message", "hello"), ("at", AT)] {
            let is_given = arguments.iter().any(|(given, _)| *given == name) || name == "at" && is_about_time;
            if !is_given {
                all.push((name.to_owned(), text(value)));
            }
        }
        all.extend(arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Self { body: whole, arguments: all, is_about_time, is_for_core: false }
    }

    /// The arguments of `punctual.remind`.
    pub(super) fn remind(&self) -> String {
        joined(self.arguments.iter().map(|(name, value)| (name.as_str(), value.clone())))
    }

    /// The arguments of `punctual.put_event` for an event that reminds at the same instant; none where an event has no such argument.
    pub(super) fn put_event(&self, key: &str) -> Option<String> {
        let has_other = |(name, _): &(String, String)| ["original_text", "created_via"].contains(&name.as_str());
        if self.is_about_time || self.arguments.iter().any(has_other) {
            return None;
        }
        let own = self.arguments.iter().map(|(name, value)| match name.as_str() {
            "user_id" => ("users", format!("array[{value}]")),
            "at" => ("starts_at", value.clone()),
            name => (name, value.clone()),
        });
        Some(joined([("key", text(key)), ("offsets", "'{0}'".to_owned())].into_iter().chain(own)))
    }
}

fn joined<'a>(arguments: impl Iterator<Item = (&'a str, String)>) -> String {
    let quoted = |name: &str| if ["to", "only"].contains(&name) { format!("\"{name}\"") } else { name.to_owned() };
    arguments.map(|(name, value)| format!("{} => {value}", quoted(name))).collect::<Vec<_>>().join(", ")
}

/// A text in SQL.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// All cases.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new(json!({}), &[])];
    words(&mut cases);
    numbers(&mut cases);
    structures(&mut cases);
    times(&mut cases);
    for_core(&mut cases);
    cases
}

fn words(cases: &mut Vec<Case>) {
    let mut add = |field: &str, argument: &str, value: &str| {
        cases.push(Case::new(json!({ field: value }), &[(argument, text(value))]));
    };
    // Lengths are counted in bytes.
    for (field, argument, max) in [
        ("user", "user_id", 256),
        ("message", "message", 65536),
        ("name", "name", 256),
        ("original_text", "original_text", 65536),
        ("created_via", "created_via", 64),
    ] {
        for text in [String::new(), "x".repeat(max), "x".repeat(max + 1), "ä".repeat(max / 2), "ä".repeat(max / 2 + 1)]
        {
            add(field, argument, &text);
        }
    }
    for (field, words) in [
        ("message", &[" \t", "\u{2003}\u{a0}", "\u{200b}", "\u{1}", "'", "\"\\", "😀"][..]),
        ("priority", &["low", "normal", "high", "critical", "urgent", "High", ""]),
        ("on_unknown", &["auto", "resend", "hold", "drop"]),
        ("misfire", &["latest", "all", "skip", "none"]),
        ("created_via", &["alert", "Alert", "api"]),
        ("timezone", &["Europe/Berlin", "europe/berlin", "UTC", "utc", "Etc/GMT+5", "CET", "+02:00", "-09", "+18:59"]),
        ("timezone", &["+19:00", "+2", "+02:60", "+0200", "Berlin", "Europe/Berln", "", " UTC", "FOO+3", "Factory1"]),
    ] {
        for word in words {
            add(field, field, word);
        }
    }
}

fn numbers(cases: &mut Vec<Case>) {
    let mut add = |body: Value, arguments: &[(&str, String)]| cases.push(Case::new(body, arguments));
    for n in [0, 3, 100, 101, -1] {
        add(json!({ "max_retries": n }), &[("max_retries", n.to_string())]);
    }
    for (required, n) in [(true, 0), (true, 1000), (true, 1001), (true, -1), (false, 1001), (false, -1)] {
        add(
            json!({ "require_ack": required, "max_ack_reminders": n }),
            &[("require_ack", required.to_string()), ("max_ack_reminders", n.to_string())],
        );
    }
    for (span, interval) in [
        ("1s", "1 second"),
        ("999ms", "999 milliseconds"),
        ("366d", "366 days"),
        ("8784h1s", "8784:00:01"),
        ("0s", "0"),
        ("-1m", "-1 minute"),
    ] {
        for required in [true, false] {
            add(
                json!({ "require_ack": required, "ack_timeout": span }),
                &[("require_ack", required.to_string()), ("ack_timeout", text(interval))],
            );
        }
    }
    for prompt in [String::new(), "ok?".into(), "x".repeat(2048), "x".repeat(2049)] {
        add(json!({ "ack_prompt": prompt }), &[("ack_prompt", text(&prompt))]);
        add(
            json!({ "ack_prompt": prompt, "require_ack": false }),
            &[("require_ack", "false".into()), ("ack_prompt", text(&prompt))],
        );
    }
    add(json!({ "snooze_allowed": false }), &[("snooze_allowed", "false".into())]);
}

fn structures(cases: &mut Vec<Case>) {
    for tags in [
        json!(["chores"]),
        json!([" Home ", "chores", "HOME", "two words"]),
        json!([]),
        json!([""]),
        json!(["a", " \t"]),
        json!(["a,b"]),
        json!(["a\nb"]),
        json!(["a\u{85}b"]),
        json!(["x".repeat(64), "ä".repeat(32)]),
        json!(["x".repeat(65)]),
        json!((0..16).map(|n| n.to_string()).collect::<Vec<_>>()),
        json!((0..17).map(|n| n.to_string()).collect::<Vec<_>>()),
    ] {
        let words =
            tags.as_array().unwrap().iter().map(|tag| text(tag.as_str().unwrap())).collect::<Vec<_>>().join(", ");
        cases.push(Case::new(json!({ "tags": tags }), &[("tags", format!("array[{words}]::text[]"))]));
    }
    for escalate in [
        json!([{ "after": "5m", "to": "ann" }, { "after": "1h 30 min", "to": "ann" }]),
        json!([]),
        json!([{ "after": "5m", "to": "nobody-at-all" }]),
        json!([{ "after": "5m", "to": "group:none" }]),
        json!([{ "after": "5m", "to": "" }]),
        json!([{ "after": "5", "to": "ann" }]),
        json!([{ "after": "0s", "to": "ann" }]),
        json!([{ "after": "367d", "to": "ann" }]),
        json!([{ "after": "5m", "to": "ann" }, { "after": "4m", "to": "ann" }]),
        json!([{ "after": "5m" }]),
        json!([{ "after": "5m", "to": "ann", "at": 1 }]),
        json!((0..17).map(|_| json!({ "after": "5m", "to": "ann" })).collect::<Vec<_>>()),
        json!({ "after": "5m", "to": "ann" }),
    ] {
        cases.push(Case::new(json!({ "escalate": escalate }), &[("escalate", text(&escalate.to_string()))]));
    }
    let plan = json!([{ "after": "5m", "to": "ann" }]);
    let sql = [("require_ack", "false".into()), ("escalate", text(&plan.to_string()))];
    cases.push(Case::new(json!({ "require_ack": false, "escalate": plan }), &sql));
    let mut add = |field: &str, value: Value| {
        cases.push(Case::new(json!({ field: value }), &[(field, text(&value.to_string()))]));
    };
    for misfire in [
        json!({ "policy": "all", "within": "1h30m" }),
        json!({ "within": "2 hours" }),
        json!({ "within": "1.5d 3 Min 5ms" }),
        json!({ "within": "0s" }),
        json!({ "within": "5" }),
        json!({ "within": "-5m" }),
        json!({ "within": "5 mo" }),
        json!({ "within": "1..5h" }),
        json!({ "within": "" }),
        json!({ "within": "soon" }),
        json!({ "within": 5 }),
        json!({ "policy": "newest" }),
        json!({ "policy": null, "within": null }),
        json!({ "polcy": "all" }),
        json!({}),
    ] {
        add("misfire", misfire);
    }
    let nested =
        |depth: usize| serde_json::from_str::<Value>(&("{\"a\":".repeat(depth) + "1" + &"}".repeat(depth))).unwrap();
    for metadata in [
        json!({}),
        json!({ "z": [1, { "ž": null }], "a": { "b": "c\n\"" }, "A": -1.5 }),
        nested(126),
        json!([1]),
        json!("x"),
        json!(5),
        json!(null),
        json!({ "a": "x".repeat(65528) }),
        json!({ "a": "x".repeat(65529) }),
    ] {
        add("metadata", metadata);
    }
    for to in [
        json!([]),
        json!(null),
        json!(["console"]),
        json!(["console:a:b", { "channel": "console" }, { "channel": "console", "address": null }]),
        json!(["http://example.org/hook", "webhook:HTTPS://u:p@Example.org:8080/x?y#z"]),
        json!(["webhook:http://[::1]:9000/", "webhook:http://127.0.0.1/", "webhook:http://a:/"]),
        json!(["webhook:http:///example.org"]),
        json!(vec!["console"; 32]),
        json!(vec!["console"; 33]),
        json!([format!("console:{}", "x".repeat(256))]),
        json!([format!("console:{}", "x".repeat(257))]),
        json!([format!("webhook:https://example.org/{}", "x".repeat(2028))]),
        json!([format!("webhook:https://example.org/{}", "x".repeat(2029))]),
        json!("console"),
        json!({}),
        json!([5]),
        json!([null]),
        json!([""]),
        json!([":x"]),
        json!(["pigeon:x"]),
        json!([{ "address": "x" }]),
        json!([{ "channel": "" }]),
        json!([{ "channel": 5 }]),
        json!([{ "channel": "console", "address": 5 }]),
        json!([{ "channel": "console", "adress": "x" }]),
        json!(["webhook"]),
        json!(["webhook:example.org"]),
        json!(["webhook:ftp://example.org"]),
        json!(["webhook:http:example.org"]),
        json!(["webhook:https://"]),
        json!(["webhook:https:///"]),
        json!(["webhook:https://exa mple.org"]),
        json!(["webhook:https://example.org/\u{2003}"]),
        json!(["webhook:https://example.org/\u{85}"]),
        json!(["webhook:https://example.org:65535"]),
        json!(["webhook:https://example.org:65536"]),
        json!(["webhook:https://example.org:0"]),
        json!(["webhook:https://example.org:x"]),
        json!(["webhook:https://[::1"]),
        json!(["webhook:https://[::g]/"]),
        json!(["webhook:https://exa<mple.org"]),
        json!(["webhook:https://1.2.3.256"]),
        json!(["webhook:https://1.2.3.4.5"]),
        json!(["webhook:https://bücher.example/ö"]),
    ] {
        add("to", to);
    }
}

fn times(cases: &mut Vec<Case>) {
    let mut add = |schedule: Value, arguments: &[(&str, &str)]| {
        let arguments: Vec<_> = arguments.iter().map(|(name, value)| (*name, text(value))).collect();
        cases.push(Case::new(json!({ "schedule": schedule }), &arguments));
    };
    add(json!(null), &[]);
    add(json!({ "type": "once", "at": "2020-01-01T00:00:00Z" }), &[("at", "2020-01-01 00:00:00+00")]);
    add(json!({ "type": "once", "at": "9999-12-30T22:00:00Z" }), &[("at", "9999-12-30 22:00:00+00")]);
    add(
        json!({ "type": "once", "at": "2099-01-01T00:00:00Z", "count": 2 }),
        &[("at", "2099-01-01 00:00+00"), ("count", "2")],
    );
    for (span, interval) in [
        ("1s", "1 second"),
        ("999ms", "999 milliseconds"),
        ("90m", "90 minutes"),
        ("2w", "14 days"),
        ("3653d", "3653 days"),
        ("3654d", "3654 days"),
        ("-5m", "-5 minutes"),
        ("0s", "0"),
    ] {
        add(json!({ "type": "interval", "every": span }), &[("every", interval)]);
    }
    let hourly = |field: &str, value: Value| json!({ "type": "interval", "every": "1h", field: value });
    let mut counted = hourly("count", json!(3));
    counted["anchor"] = json!("ack");
    add(counted, &[("every", "1 hour"), ("anchor", "ack"), ("count", "3")]);
    add(hourly("anchor", json!("end")), &[("every", "1 hour"), ("anchor", "end")]);
    add(hourly("count", json!(0)), &[("every", "1 hour"), ("count", "0")]);
    for (bound, at) in [
        ("starts_at", "2099-01-01T00:00:00Z"),
        ("ends_at", "2099-02-01T00:00:00Z"),
        ("ends_at", "2020-01-01T00:00:00Z"),
    ] {
        add(json!({ "type": "daily", "time": "08:00", bound: at }), &[("daily", "08:00"), (bound, at)]);
        add(json!({ "type": "interval", "every": "7h", bound: at }), &[("every", "7 hours"), (bound, at)]);
    }
    let (later, sooner) = ("2099-01-02T00:00:00Z", "2099-01-01T00:00:00Z");
    add(
        json!({ "type": "daily", "time": "08:00", "starts_at": later, "ends_at": sooner }),
        &[("daily", "08:00"), ("starts_at", later), ("ends_at", sooner)],
    );
    for days in [
        json!(["mon"]),
        json!(["Monday", " thu ", "WEEKEND"]),
        json!(["workdays"]),
        json!(["weekdays", "weekend"]),
        json!(["mon", "funday"]),
        json!([]),
    ] {
        let names: Vec<&str> = days.as_array().unwrap().iter().map(|day| day.as_str().unwrap()).collect();
        let weekly = format!("{{{}}}", names.join(","));
        add(
            json!({ "type": "weekly", "time": "7:30", "days": days }),
            &[("weekly", weekly.as_str()), ("at_time", "7:30")],
        );
    }
}

/// Cases that only core can check: docs/sql.md lists the same.
fn for_core(cases: &mut Vec<Case>) {
    let mut add = |schedule: Value, arguments: &[(&str, &str)]| {
        let arguments: Vec<_> = arguments.iter().map(|(name, value)| (*name, text(value))).collect();
        let case = Case::new(json!({ "schedule": schedule }), &arguments);
        cases.push(Case { is_for_core: true, ..case });
    };
    for expr in ["0 8 * * 1-5", "@daily", "61 * * * *", "* * *", "0 0 30 2 *"] {
        add(json!({ "type": "cron", "expr": expr }), &[("cron", expr)]);
    }
    for ical in ["DTSTART:20990401T080000\nRRULE:FREQ=WEEKLY;BYDAY=MO", "RRULE:FREQ=X", "x"] {
        add(json!({ "type": "rrule", "ical": ical }), &[("rrule", ical)]);
    }
    for phrase in ["workdays at 8, weekends at 10", "every other monday at 7:30", "qwrtz", "every day at 25:00"] {
        add(json!({ "type": "smart", "text": phrase }), &[("phrase", phrase)]);
    }
    add(json!({ "type": "once", "at": "tomorrow at 8" }), &[("phrase", "tomorrow at 8")]);
    // The first run would come after the end.
    let ends_at = "2099-01-01T07:00:00Z";
    add(
        json!({ "type": "daily", "time": "08:00", "starts_at": "2099-01-01T00:00:00Z", "ends_at": ends_at }),
        &[("daily", "08:00"), ("starts_at", "2099-01-01T00:00:00Z"), ("ends_at", ends_at)],
    );
}
