//! One table of cases for every door: an event as a request's body, and whom it reminds when.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// When events start in cases that are not about the present.
pub(super) const START: &str = "2099-06-01T18:00:00Z";
/// The groups that there are, with their users.
pub(super) const GROUPS: [(&str, &[&str]); 2] = [("oc", &["ann", "bob"]), ("night", &["zoe"])];

/// The scopes that there are: the path, how it is written in an address, and the offsets.
pub(super) fn scopes() -> [(&'static str, &'static str, Value); 6] {
    [
        ("guild:1", "guild:1", json!([60])),
        ("guild:1/channel:2", "guild:1/channel:2", json!([30, 0])),
        ("guild:10", "guild:10", json!([5])),
        ("guild:1/channel:22", "guild%3A1/channel%3A22", json!(["end+5m", 7])),
        ("a%2Fb/50%25", "a%2Fb/50%25", json!(["PT90S"])),
        ("quiet", "quiet", json!([])),
    ]
}

/// An event, and what becomes of it.
pub(super) struct Case {
    /// The body of the request.
    pub(super) body: Map<String, Value>,
    /// Whom it reminds, and how many seconds before its start; or the field that is refused.
    pub(super) expect: Result<Vec<(String, i64)>, &'static str>,
    /// What its first reminder says; `KEY` stands for its key.
    pub(super) says: Option<&'static str>,
    /// SQL cannot see what is wrong with it: a node finds it.
    pub(super) is_for_core: bool,
}

impl Case {
    /// When it starts.
    pub(super) fn starts_at(&self) -> Timestamp {
        self.body["starts_at"].as_str().unwrap_or(START).parse().unwrap_or_else(|_| START.parse().unwrap())
    }

    /// The arguments of `punctual.put_event`.
    pub(super) fn sql(&self, key: &str) -> String {
        let texts = |value: &Value| {
            let items = value.as_array().unwrap().iter().map(|item| quoted(item.as_str().unwrap()));
            format!("array[{}]::text[]", items.collect::<Vec<_>>().join(", "))
        };
        let argument = |(name, value): (&String, &Value)| {
            let (name, value) = match (name.as_str(), value) {
                ("offsets", value) => ("offset_list", format!("{}::jsonb", quoted(&value.to_string()))),
                ("users" | "groups" | "tags", value) => (name.as_str(), texts(value)),
                ("to", value) => ("\"to\"", quoted(&value.to_string())),
                ("only", value) => ("\"only\"", value.to_string()),
                ("metadata" | "escalate", value) => (name.as_str(), quoted(&value.to_string())),
                (name, Value::String(text)) => (name, quoted(text)),
                (name, value) => (name, value.to_string()),
            };
            format!("{name} => {value}")
        };
        // Only what has a default can be left out.
        let is_own = |name: &str| name != "instances";
        let given = self.body.iter().filter(|(name, value)| is_own(name) && (!value.is_null() || *name == "starts_at"));
        let own = given.map(argument);
        std::iter::once(format!("key => {}", quoted(key))).chain(own).collect::<Vec<_>>().join(", ")
    }

    /// The arguments of `punctual.put_instance` for each instance that something is different about.
    pub(super) fn sql_instances(&self, key: &str) -> Vec<String> {
        let argument = |(name, value): (&String, &Value)| match (name.as_str(), value) {
            ("offsets", value) => format!("offset_list => {}", quoted(&value.to_string())),
            ("metadata", value) => format!("metadata => {}", quoted(&value.to_string())),
            (name, Value::String(text)) => format!("{name} => {}", quoted(text)),
            (name, value) => format!("{name} => {value}"),
        };
        let one = |instance: &Map<String, Value>| {
            let own = instance.iter().map(argument);
            std::iter::once(format!("key => {}", quoted(key))).chain(own).collect::<Vec<_>>().join(", ")
        };
        self.instances().map(one).collect()
    }

    /// The arguments of `punctual events move` and `remove` for each instance; `None` where the command line has no such option.
    pub(super) fn cli_instances(&self, key: &str) -> Option<Vec<Vec<String>>> {
        let one = |instance: &Map<String, Value>| {
            let text = |name: &str| instance.get(name).and_then(Value::as_str);
            let of = [key, "--instance", text("at")?].map(str::to_owned);
            let own: Vec<&str> = instance.keys().map(String::as_str).filter(|name| *name != "at").collect();
            match own[..] {
                ["cancelled"] => Some([&["events", "remove"].map(str::to_owned)[..], &of].concat()),
                ["starts_at"] | ["following", "starts_at"] => {
                    let following = (own.len() > 1).then(|| "--following".to_owned());
                    let to = text("starts_at")?.to_owned();
                    let command = ["events", "move"].map(str::to_owned).into_iter().chain(of);
                    Some(command.chain(following).chain([to]).collect())
                }
                _ => None,
            }
        };
        self.instances().map(one).collect()
    }

    fn instances(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.body.get("instances").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
    }

    /// The arguments of `punctual events put`; none where the command line has no such option, or always gives one.
    pub(super) fn cli(&self, key: &str) -> Option<Vec<String>> {
        let mut arguments = vec!["events".to_owned(), "put".to_owned()];
        let mut push = |option: &str, value: String| arguments.push(format!("{option}={value}"));
        for (name, value) in &self.body {
            match (name.as_str(), value) {
                (_, Value::Null) | ("instances", _) => {}
                ("offsets", Value::Array(offsets)) if offsets.is_empty() => push("--offset", String::new()),
                ("offsets", Value::Array(offsets)) => {
                    for offset in offsets {
                        push("--offset", offset_word(offset)?);
                    }
                }
                ("users" | "groups" | "tags", Value::Array(items)) if !items.is_empty() => {
                    let option = format!("--{}", name.trim_end_matches('s'));
                    items.iter().for_each(|item| push(&option, item.as_str().unwrap().to_owned()));
                }
                ("to", Value::Array(items)) if !items.is_empty() => {
                    items.iter().for_each(|item| push("--to", item.as_str().unwrap().to_owned()));
                }
                ("metadata", value) => push("--metadata", value.to_string()),
                ("starts_at" | "ends_at" | "timezone" | "ack_prompt", Value::String(text)) => {
                    let option = match name.as_str() {
                        "starts_at" => "--at",
                        "ends_at" => "--end",
                        "timezone" => "--tz",
                        _ => "--ack",
                    };
                    push(option, text.clone());
                }
                ("message" | "scope" | "rrule" | "name" | "priority", Value::String(text)) => {
                    push(&format!("--{name}"), text.clone());
                }
                _ => return None,
            }
        }
        let has = |name: &str| self.body.get(name).is_some_and(|value| !value.is_null());
        arguments.push(key.to_owned());
        (has("starts_at") && has("message")).then_some(arguments)
    }
}

/// An offset as the command line writes it.
fn offset_word(offset: &Value) -> Option<String> {
    let by =
        |of: &str, sign: &str| (offset[of] == "end").then(|| Some(format!("end{sign}{}", offset["by"].as_str()?)))?;
    match offset {
        // An empty one says that there are none.
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) if number.is_i64() => Some(number.to_string()),
        Value::Object(_) => by("after", "+").or_else(|| by("before", "-")),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// All cases; `now` is the present.
pub(super) fn cases(now: Timestamp) -> Vec<Case> {
    let mut cases = Vec::new();
    offsets(&mut cases);
    inherited(&mut cases);
    people(&mut cases);
    messages(&mut cases);
    times(&mut cases, now);
    instances(&mut cases, now);
    bounds(&mut cases);
    cases
}

/// A plain event of ann's with these fields instead.
fn body(fields: Value) -> Map<String, Value> {
    let mut body = json!({ "starts_at": START, "message": "x", "users": ["ann"], "offsets": [60] });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body.as_object().unwrap().clone()
}

fn add(cases: &mut Vec<Case>, fields: Value, expect: Result<&[(&str, i64)], &'static str>) {
    let expect = expect.map(|slots| slots.iter().map(|(user, before)| ((*user).to_owned(), *before)).collect());
    cases.push(Case { body: body(fields), expect, says: None, is_for_core: false });
}

/// An event of ann's, who is reminded so many seconds before it.
fn ann(cases: &mut Vec<Case>, fields: Value, befores: &[i64]) {
    let slots: Vec<(&str, i64)> = befores.iter().map(|before| ("ann", *before)).collect();
    add(cases, fields, Ok(&slots));
}

fn refused(cases: &mut Vec<Case>, fields: Value, field: &'static str) {
    add(cases, fields, Err(field));
}

fn offsets(cases: &mut Vec<Case>) {
    let ends = "2099-06-01T19:00:00Z";
    for (given, befores) in [
        (json!([60, 15]), &[3600, 900][..]),
        (json!([60, "PT1H", "1h", { "before": "start", "by": "60m" }]), &[3600]),
        (json!([0]), &[0]),
        (json!([-30]), &[-1800]),
        (json!(["-30m", "-PT30M", { "after": "start", "by": "30m" }]), &[-1800]),
        (json!(["1d", "P1W", "P1DT2H", "1h 30 min"]), &[604_800, 93_600, 86_400, 5400]),
        (json!(["90s", "PT90S", 1.5]), &[90]),
        (json!(["60"]), &[3600]),
        (json!([527_040]), &[31_622_400]),
        (json!([]), &[]),
    ] {
        ann(cases, json!({ "offsets": given }), befores);
    }
    for (given, befores) in [
        (json!([-30, { "after": "end", "by": "10m" }]), &[-1800, -4200][..]),
        (json!([{ "before": "end", "by": "PT5M" }, "end-5m"]), &[-3300]),
        (json!(["end", "end+0s"]), &[-3600]),
    ] {
        ann(cases, json!({ "offsets": given, "ends_at": ends }), befores);
    }
    for wrong in [
        json!(["soon"]),
        json!([""]),
        json!(["P1M"]),
        json!(["P1Y"]),
        json!(["P"]),
        json!(["PT"]),
        json!(["PT0.5S"]),
        json!(["500ms"]),
        json!([0.001]),
        json!([527_041]),
        json!([-527_041]),
        json!(["367d"]),
        json!(["ende"]),
        json!([null]),
        json!([true]),
        json!([[60]]),
        json!([{}]),
        json!([{ "after": "end" }]),
        json!([{ "after": "end", "by": 10 }]),
        json!([{ "before": "start", "by": "10" }]),
        json!([{ "after": "middle", "by": "1m" }]),
        json!([{ "after": "end", "before": "start", "by": "1m" }]),
        json!([{ "after": "start", "by": "1m", "x": 1 }]),
        json!((0..33).collect::<Vec<_>>()),
        json!(60),
        json!({ "after": "start", "by": "1m" }),
        // It has no end.
        json!([{ "after": "end", "by": "10m" }]),
    ] {
        refused(cases, json!({ "offsets": wrong }), "offsets");
    }
    ann(cases, json!({ "offsets": (0..32).collect::<Vec<_>>() }), &(0..32).map(|n| n * 60).collect::<Vec<_>>());
}

fn inherited(cases: &mut Vec<Case>) {
    for (scope, befores) in [
        ("guild:1/channel:2", &[1800, 0][..]),
        ("guild:1/channel:2/thread:3", &[1800, 0]),
        ("guild:1/channel:3", &[3600]),
        ("guild:1", &[3600]),
        ("guild:10/channel:2", &[300]),
        ("guild:2", &[]),
        ("guild:1%2Fchannel:2", &[]),
        ("a%2fb/50%25", &[90]),
        ("a/b", &[]),
        // What counts from the end is left out, because the event has none.
        ("guild:1/channel:22", &[420]),
        ("quiet/room", &[]),
    ] {
        ann(cases, json!({ "offsets": null, "scope": scope }), befores);
    }
    let ends = json!({ "offsets": null, "scope": "guild:1/channel:22", "ends_at": "2099-06-01T18:10:00Z" });
    ann(cases, ends, &[420, -900]);
    ann(cases, json!({ "offsets": null }), &[]);
    ann(cases, json!({ "offsets": [], "scope": "guild:1" }), &[]);
    ann(cases, json!({ "offsets": [15], "scope": "guild:1" }), &[900]);
    let long = ["x"; 8].join("/");
    ann(cases, json!({ "scope": long }), &[3600]);
    for wrong in ["", "/a", "a/", "a//b", "50%", "a%20b", "a%2", "1/2/3/4/5/6/7/8/9", &"x".repeat(257)] {
        refused(cases, json!({ "scope": wrong }), "scope");
    }
}

fn people(cases: &mut Vec<Case>) {
    add(cases, json!({ "users": ["ann", "bob"] }), Ok(&[("ann", 3600), ("bob", 3600)]));
    add(cases, json!({ "users": ["ann", "ann"] }), Ok(&[("ann", 3600)]));
    add(cases, json!({ "users": null, "groups": ["oc"] }), Ok(&[("ann", 3600), ("bob", 3600)]));
    add(cases, json!({ "groups": ["oc", "night", "oc"] }), Ok(&[("ann", 3600), ("bob", 3600), ("zoe", 3600)]));
    // The event itself is the user: the key stands for it.
    add(cases, json!({ "users": null, "to": ["console"] }), Ok(&[("event:KEY", 3600)]));
    add(cases, json!({ "users": null, "to": ["console"], "only": true }), Ok(&[("event:KEY", 3600)]));
    refused(cases, json!({ "users": null }), "users");
    refused(cases, json!({ "users": [] }), "users");
    refused(cases, json!({ "users": ["ann", ""] }), "users");
    refused(cases, json!({ "users": ["x".repeat(257)] }), "users");
    refused(cases, json!({ "groups": ["none"] }), "groups");
    refused(cases, json!({ "groups": (0..17).map(|n| format!("g{n}")).collect::<Vec<_>>() }), "groups");
    refused(cases, json!({ "to": ["pigeon:x"] }), "to");
    refused(cases, json!({ "to": ["webhook:x"] }), "to");
    refused(cases, json!({ "only": true }), "only");
}

fn messages(cases: &mut Vec<Case>) {
    let metadata = json!({ "title": "Chess", "game_id": 42, "ranked": true, "fee": 1.5, "list": [1], "nothing": null, "key": "forged" });
    for (message, says) in [
        ("Game in {minutes} min", "Game in 60 min"),
        ("{title} ({game_id}, {ranked}, {fee})", "Chess (42, true, 1.5)"),
        ("{key} at {starts_at}", "KEY at 2099-06-01 20:00"),
        ("{starts_at}–{ends_at}", "2099-06-01 20:00–2099-06-01 21:00"),
        ("{{title}} is { title }", "{title} is Chess"),
        ("ä {title} €", "ä Chess €"),
    ] {
        let fields = json!({ "message": message, "metadata": metadata, "timezone": "Europe/Berlin", "ends_at": "2099-06-01T19:00:00Z" });
        ann(cases, fields, &[3600]);
        cases.last_mut().unwrap().says = Some(says);
    }
    for wrong in ["{titel}", "{", "}", "a {title", "{}", "{list}", "{nothing}", "", " "] {
        refused(cases, json!({ "message": wrong, "metadata": metadata }), "message");
    }
    refused(cases, json!({ "message": null }), "message");
    refused(cases, json!({ "message": "x".repeat(65_537) }), "message");
    refused(cases, json!({ "metadata": [1] }), "metadata");
    refused(cases, json!({ "name": "" }), "name");
    refused(cases, json!({ "priority": "urgent" }), "priority");
    refused(cases, json!({ "timezone": "Mars" }), "timezone");
    refused(cases, json!({ "tags": ["a,b"] }), "tags");
    refused(cases, json!({ "max_retries": 101 }), "max_retries");
    ann(
        cases,
        json!({ "tags": ["Games", "games"], "priority": "high", "name": "chess", "ack_prompt": "coming?" }),
        &[3600],
    );
}

fn times(cases: &mut Vec<Case>, now: Timestamp) {
    let at = |minutes: i64| (now + SignedDuration::from_mins(minutes)).to_string();
    // Only what lies ahead.
    ann(cases, json!({ "starts_at": at(30), "offsets": [60, 15] }), &[900]);
    ann(cases, json!({ "starts_at": at(-30), "offsets": [60, 0, -60] }), &[-3600]);
    ann(cases, json!({ "starts_at": at(-90), "offsets": [60, 0] }), &[]);
    refused(cases, json!({ "starts_at": null }), "starts_at");
    refused(cases, json!({ "ends_at": "2099-06-01T17:59:59Z" }), "ends_at");
    ann(cases, json!({ "ends_at": START }), &[3600]);
    // A series: instances within about a week, by rule, by date and without some.
    let day = 86_400;
    let tomorrow = at(24 * 60);
    ann(cases, json!({ "starts_at": tomorrow, "rrule": "FREQ=DAILY;COUNT=3" }), &[3600, 3600 - day, 3600 - 2 * day]);
    ann(
        cases,
        json!({ "starts_at": tomorrow, "rrule": "RRULE:FREQ=DAILY;INTERVAL=2;COUNT=3" }),
        &[3600, 3600 - 2 * day, 3600 - 4 * day],
    );
    ann(cases, json!({ "rrule": "FREQ=WEEKLY" }), &[3600]);
    for (rule, is_seen) in [("FREQ=NEVER", false), ("DTSTART:20990601T180000\nRRULE:FREQ=DAILY", false), ("", true)] {
        refused(cases, json!({ "rrule": rule }), "rrule");
        cases.last_mut().unwrap().is_for_core = !is_seen;
    }
}

/// A series of three instances, an hour after each other.
fn instances(cases: &mut Vec<Case>, now: Timestamp) {
    let start = now + SignedDuration::from_hours(24);
    let at = |minutes: i64| start + SignedDuration::from_mins(minutes);
    let name = |minutes: i64| at(minutes).strftime("%Y%m%dT%H%M%S").to_string();
    let moved = |minutes: i64, to: i64| json!({ "at": name(minutes), "starts_at": at(to).to_string() });
    let following =
        |minutes: i64, to: i64| json!({ "following": true, "at": name(minutes), "starts_at": at(to).to_string() });
    let off = |minutes: i64| json!({ "at": name(minutes), "cancelled": true });
    let hourly = |instances: Value| json!({ "starts_at": start.to_string(), "timezone": "UTC", "rrule": "FREQ=HOURLY;COUNT=3", "instances": instances });
    for (given, befores) in [
        (json!([]), &[3600, 0, -3600][..]),
        (json!([off(60)]), &[3600, -3600]),
        (json!([off(0), off(120)]), &[0]),
        (json!([moved(60, 90)]), &[3600, -1800, -3600]),
        (json!([following(60, 90)]), &[3600, -1800, -5400]),
        (json!([following(60, 90), off(120)]), &[3600, -1800]),
        (json!([{ "at": name(60), "offsets": [30, 15] }]), &[3600, -1800, -2700, -3600]),
        (json!([{ "at": name(60), "message": "y" }]), &[3600, 0, -3600]),
    ] {
        ann(cases, hourly(given), befores);
    }
    for wrong in [off(30), off(180), off(-60), off(24 * 60), moved(61, 90), following(90, 100)] {
        refused(cases, hourly(json!([wrong])), "instances");
        cases.last_mut().unwrap().is_for_core = true;
    }
}

fn bounds(cases: &mut Vec<Case>) {
    let users = |n: usize| (0..n).map(|n| format!("u{n}")).collect::<Vec<_>>();
    refused(cases, json!({ "users": users(10_001), "offsets": [] }), "users");
    refused(cases, json!({ "users": users(700), "offsets": (0..32).collect::<Vec<_>>() }), "offsets");
    refused(
        cases,
        json!({ "groups": vec!["oc"; 1], "users": users(2000), "offsets": (0..10).collect::<Vec<_>>() }),
        "offsets",
    );
}
