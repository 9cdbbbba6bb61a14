//! A user's coming reminders as a calendar, as others read it.

use std::collections::BTreeSet;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use punctual_testkit::wait::until;
use punctual_testkit::{judges, report};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::common::{Home, Kept, Server, soon};

/// The path of an address that a server gave.
fn path(address: &str) -> String {
    address[address.find("/calendar/").unwrap()..].to_owned()
}

async fn address(server: &Server, user: &str) -> String {
    path(server.get(&format!("/v1/users/{user}/calendar")).await["calendar_url"].as_str().unwrap())
}

/// The status, the ETag and the text, as a program without a key gets them.
async fn fetch(server: &Server, path: &str, etag: Option<&str>) -> (StatusCode, String, String) {
    let request = server.request(Method::GET, path);
    let request = if let Some(etag) = etag { request.header("if-none-match", etag) } else { request };
    let response = soon(request.send()).await.unwrap();
    let etag = response.headers().get("etag").map_or("", |value| value.to_str().unwrap()).to_owned();
    (response.status(), etag, soon(response.text()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_calendar_stays_as_it_is_until_something_changes_and_its_address_can_be_changed() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        server.call(Method::PUT, "/v1/users/alice", Some(json!({ "timezone": "Europe/Berlin" }))).await;
        let daily = json!({
            "user": "alice", "message": "Take your medicine; both, please\nwith water", "name": "medicine", "require_ack": true,
            "schedule": { "type": "daily", "time": "08:00" }, "to": [{ "channel": "console" }], "tags": ["health"],
        });
        server.create(daily).await;
        let secret = address(&server, "alice").await;
        assert_eq!(path(server.get("/v1/users/alice").await["calendar_url"].as_str().unwrap()), secret);

        let (status, etag, text) = fetch(&server, &secret, None).await;
        assert_eq!(status, 200);
        for words in [
            "BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\n",
            "DTSTART;TZID=Europe/Berlin:",
            "RRULE:FREQ=DAILY\r\n",
            "SUMMARY:medicine\r\n",
            "Take your medicine\\; both\\, please\\nwith water",
            "CATEGORIES:health\r\n",
            "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:PT0S\r\n",
            "BEGIN:VTODO\r\n",
            "STATUS:NEEDS-ACTION\r\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert_eq!(fetch(&server, &secret, Some(&etag)).await.0, 304);
        assert_eq!(fetch(&server, &secret, Some(&format!("\"other\", W/{etag}"))).await.0, 304);
        let (_, _, events) = fetch(&server, &format!("{secret}?only=events&alarms=off"), None).await;
        assert!(events.contains("BEGIN:VEVENT") && !events.contains("VTODO") && !events.contains("VALARM"), "{events}");
        let (_, _, todos) = fetch(&server, &format!("{secret}?only=todos"), None).await;
        assert!(!todos.contains("BEGIN:VEVENT") && todos.contains("BEGIN:VTODO"), "{todos}");
        assert_eq!(fetch(&server, &format!("{secret}?only=cats"), None).await.0, 400);

        // Another's reminder changes nothing; one of hers does, at once or within a second.
        let other = json!({ "user": "bob", "message": "hush", "schedule": { "type": "once", "at": "1h" }, "to": [{ "channel": "console" }] });
        server.create(other.clone()).await;
        let mut hers = other;
        (hers["user"], hers["message"]) = (json!("alice"), json!("Call mom"));
        server.create(hers).await;
        until("the calendar has the new one", async || {
            fetch(&server, &secret, None).await.2.contains("SUMMARY:Call mom")
        })
        .await;
        let (status, changed, text) = fetch(&server, &secret, Some(&etag)).await;
        assert!((status.as_u16(), changed != etag, text.contains("hush")) == (200, true, false), "{status} {text}");

        // A new address, and the old one leads nowhere.
        let (_, renewed) = server.call(Method::POST, "/v1/users/alice/calendar", None).await;
        let renewed = path(renewed["calendar_url"].as_str().unwrap());
        assert_eq!(fetch(&server, &secret, None).await.0, 404);
        assert_eq!(fetch(&server, &renewed, None).await.0, 200);
        let audit = server.get("/v1/audit?kind=user.changed&user=alice").await;
        let entries = audit["entries"].as_array().unwrap();
        assert!(entries.iter().any(|entry| entry["data"]["fields"] == json!(["calendar_url"])), "{audit}");
        let forged = renewed.replace(".ics", "A.ics");
        let (status, _, problem) = fetch(&server, &forged, None).await;
        assert_eq!(status, 404);
        assert!(!problem.contains(&forged["/calendar/".len()..]), "the address is not repeated: {problem}");

        let (_, lines) = server.stop();
        let proof = |path: &str| path.rsplit('.').nth(1).unwrap().to_owned();
        for line in &lines {
            assert!(
                !line.contains(&proof(&secret)) && !line.contains(&proof(&renewed)),
                "the log has the secret: {line}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_bound_to_a_user_sees_that_users_calendar_alone() {
    let home = Home::new();
    let server = home.serve();
    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "bobs", "user": "bob" }))).await;
    let bobs = key["key"].as_str().unwrap();
    assert_eq!(server.call_with(bobs, Method::GET, "/v1/users/bob/calendar", None).await.0, 200);
    for method in [Method::GET, Method::POST] {
        assert_eq!(server.call_with(bobs, method, "/v1/users/alice/calendar", None).await.0, 404);
    }
    let shown = home.run(&["users", "calendar", "bob"]).ok();
    let renewed = home.run(&["users", "calendar", "bob", "--new"]).ok();
    assert!(shown.contains("/calendar/") && renewed.trim().ends_with(".ics") && shown != renewed, "{shown} {renewed}");
    assert_eq!(path(renewed.trim()), address(&server, "bob").await);
}

/// Reminders of every kind, in several zones.
fn kinds() -> Vec<Value> {
    let zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"];
    let schedules = [
        json!({ "type": "once", "at": "3d" }),
        json!({ "type": "interval", "every": "36h" }),
        json!({ "type": "daily", "time": "08:00" }),
        json!({ "type": "weekly", "time": "07:30", "days": ["weekdays"] }),
        json!({ "type": "cron", "expr": "0 9 L * *" }),
        json!({ "type": "smart", "text": "workdays at 8, weekends at 10" }),
    ];
    let one = |zone: &str, (index, schedule): (usize, &Value)| json!({ "user": "alice", "message": format!("{zone} {index}"), "timezone": zone, "schedule": schedule, "to": [{ "channel": "console" }] });
    zones.iter().flat_map(|zone| schedules.iter().enumerate().map(|each| one(zone, each))).collect()
}

/// Two readers that are not ours see the runs that the server says come next.
#[tokio::test(flavor = "multi_thread")]
async fn others_read_the_calendar_as_we_mean_it() {
    let Some(programs) = judges::judges() else { return };
    let home = Home::new();
    let server = home.serve();
    let body = json!({ "reminders": kinds() });
    let (status, made) = server.call(Method::POST, "/v1/reminders/batch", Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let (_, _, text) = fetch(&server, &address(&server, "alice").await, None).await;
    let made: Vec<&Value> = made["reminders"].as_array().unwrap().iter().collect();
    let now: Timestamp = made[0]["created_at"].as_str().unwrap().parse().unwrap();
    let until = now + SignedDuration::from_hours(40 * 24);

    // recurring-ical-events: the first run of each is the one that is due next.
    let answer = judges::ask(&programs, &["runs", &now.to_string(), &until.to_string()], &text);
    let runs: Vec<Value> = answer.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for reminder in &made {
        let id = reminder["id"].as_str().unwrap();
        let mut own: Vec<Timestamp> = runs
            .iter()
            .filter(|run| run["uid"].as_str().unwrap().starts_with(id))
            .map(|run| run["at"].as_str().unwrap().parse().unwrap())
            .collect();
        own.sort();
        let next: Timestamp = reminder["next_run_at"].as_str().unwrap().parse().unwrap();
        let late = own.first().map(|first| first.duration_since(next));
        assert!(late.is_some_and(|late| !late.is_negative() && late.as_secs() < 1), "{reminder}: {own:?}");
    }

    // khal, which is another program with another idea of zones: the same days and times, by the clock in Berlin.
    let file = home.path().join("alice.ics");
    std::fs::write(&file, &text).unwrap();
    let config = home.path().join("khal.conf");
    let folder = home.path().join("khal");
    std::fs::create_dir_all(folder.join("alice")).unwrap();
    let settings = format!(
        "[calendars]\n[[alice]]\npath = {}/alice\n[sqlite]\npath = {}/cache.db\n[locale]\nlocal_timezone = Europe/Berlin\n\
         default_timezone = Europe/Berlin\ntimeformat = %H:%M\ndateformat = %Y-%m-%d\nlongdateformat = %Y-%m-%d\n\
         datetimeformat = %Y-%m-%d %H:%M\nlongdatetimeformat = %Y-%m-%d %H:%M\n",
        folder.display(),
        folder.display()
    );
    std::fs::write(&config, settings).unwrap();
    let khal = |args: &[&str]| {
        let output = Command::new(programs.join("khal"))
            .arg("-c")
            .arg(&config)
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        assert!(output.status.success(), "khal {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    khal(&["import", "--batch", "-a", "alice", file.to_str().unwrap()]);
    let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let days = (now.to_zoned(berlin.clone()).date(), until.to_zoned(berlin.clone()).date());
    let listed = khal(&[
        "list",
        "--day-format",
        "",
        "--format",
        "{start-date} {start-time} {title}",
        &days.0.to_string(),
        &days.1.to_string(),
    ]);
    let theirs: BTreeSet<String> =
        listed.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let title = |uid: &Value| {
        let reminder = made.iter().find(|reminder| uid.as_str().unwrap().starts_with(reminder["id"].as_str().unwrap()));
        reminder.unwrap()["message"].as_str().unwrap().to_owned()
    };
    let last = days.1.to_zoned(berlin.clone()).unwrap().timestamp();
    let ours: BTreeSet<String> = runs
        .iter()
        .map(|run| (run["at"].as_str().unwrap().parse::<Timestamp>().unwrap(), title(&run["uid"])))
        .filter(|(at, _)| *at < last)
        .map(|(at, title)| format!("{} {title}", at.to_zoned(berlin.clone()).strftime("%Y-%m-%d %H:%M")))
        .collect();
    let missing: Vec<&String> = ours.difference(&theirs).take(10).collect();
    let is_later = |line: &&String| {
        ours.last().is_none_or(|last| *line <= last) && ours.first().is_none_or(|first| *line >= first)
    };
    let more: Vec<&String> = theirs.difference(&ours).filter(is_later).take(10).collect();
    assert!(missing.is_empty() && more.is_empty(), "khal misses {missing:#?} and has {more:#?}\n{listed}");
    report::ran(&format!(
        "{} runs of {} reminders are the same in recurring-ical-events and khal",
        ours.len(),
        made.len()
    ));
}
