//! An export of one server, imported by another.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use jiff::Timestamp;
use punctual_engine::SystemClock;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::{until, until_blocking};
use reqwest::Method;
use serde_json::{Value, json};

use super::own::lived_in;
use crate::common::{Home, Kept, Server};

/// The lines of an export, without those that frame it and without what no two databases share.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.retain(|line| !["header", "page", "end"].contains(&line["line"].as_str().unwrap()));
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("position");
    }
    lines
}

/// How many lines there are of each kind.
fn kinds(lines: &[Value]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for line in lines {
        *kinds.entry(line["line"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    kinds
}

async fn fill(server: &Server, n: usize) {
    for first in (0..n).step_by(10_000) {
        let one = |n: usize| json!({ "message": format!("n {n}"), "schedule": { "type": "once", "at": "9d" } });
        let batch: Vec<Value> = (first..n.min(first + 10_000)).map(one).collect();
        let (status, _) = server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": batch }))).await;
        assert_eq!(status, 201);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_the_same_there_and_back() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let (first, second, third) = (Home::new(), Home::new(), Home::new());
    lived_in(&first).await;
    let file = |home: &Home| home.path().join("all.jsonl");
    let text = |home: &Home| file(home).display().to_string();

    let from = first.serve();
    first.run(&["export", "--output", &text(&first)]).ok();
    assert!(from.stop().0.success());
    let there = lines(&file(&first));
    let counts = kinds(&there);
    assert_eq!(counts["reminder"], 2005);
    assert!(counts["entry"] > 2005 && counts["user"] == 1, "{counts:?}");

    // Into PostgreSQL: nothing is written without --apply, and the second time nothing is new.
    let postgres_server = second.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let looked = second.run(&["import", &text(&first), "--json"]).json();
    assert_eq!((&looked["new"]["reminder"], &looked["dry_run"]), (&json!(2005), &json!(true)), "{looked}");
    assert_eq!(second.run(&["import", &text(&first), "--check"]).code, Some(1));
    let taken = second.run(&["import", &text(&first), "--apply", "--json"]).json();
    assert_eq!((&taken["new"]["reminder"], &taken["missed"]), (&json!(2005), &json!(0)), "{taken}");
    let again = second.run(&["import", &text(&first), "--apply", "--json"]).json();
    assert_eq!((&again["here"]["reminder"], again["new"].get("entry")), (&json!(2005), None), "{again}");
    let checked = second.run(&["import", &text(&first), "--check"]).ok();
    assert!(checked.contains("Nothing differs"), "{checked}");
    second.run(&["export", "--output", &text(&second)]).ok();
    assert!(postgres_server.stop().0.success());

    // And from there into a file again.
    let _back = third.serve();
    third.run(&["import", &text(&second), "--apply"]).ok();
    third.run(&["import", &text(&first), "--check"]).ok();
    third.run(&["export", "--output", &text(&third)]).ok();
    let (middle, back) = (lines(&file(&second)), lines(&file(&third)));
    assert_eq!(kinds(&middle), counts);
    assert_eq!(kinds(&back), counts);
    for ((one, two), three) in there.iter().zip(&middle).zip(&back) {
        assert_eq!(one, two);
        assert_eq!(two, three);
    }

    // What is changed here is seen, and is not undone.
    let id = there.iter().find(|line| line["message"] == "stand up").unwrap()["id"].as_str().unwrap();
    _back.call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
    let ran = third.run(&["import", &text(&first), "--check"]);
    assert!(ran.code == Some(1) && ran.out.contains(&format!("reminder {id}: status")), "{}", ran.out);
    third.run(&["import", &text(&first), "--apply"]).ok();
    assert_eq!(_back.get(&format!("/v1/reminders/{id}")).await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_export_and_a_killed_import_go_on() {
    let (from, into) = (Home::new(), Home::new());
    let server = from.serve();
    fill(&server, 40_000).await;
    let file = from.path().join("all.jsonl");
    let path = file.display().to_string();
    let spawn =
        |home: &Home, args: &[&str]| home.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();

    let mut killed = spawn(&from, &["export", "--output", &path, "--history", "none"]);
    until_blocking("a page is written", || {
        assert!(killed.try_wait().unwrap().is_none(), "it was over before it could be killed");
        std::fs::metadata(&file).is_ok_and(|file| file.len() > 0)
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.ends_with("}\n") || !text.lines().last().unwrap().contains("\"end\""), "it was cut off");
    // A line that is half written is cut off, too.
    std::fs::write(&file, format!("{text}{{\"line\":\"reminder\",\"id")).unwrap();
    let said = from.run(&["export", "--output", &path, "--history", "none", "--json"]).json();
    assert_eq!(said["lines"]["reminder"], 40_000, "{said}");
    let mut ids: Vec<String> = lines(&file).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 40_000, "each once");

    // What has changed since is added to a file that is whole.
    server.create(json!({ "message": "new", "schedule": { "type": "once", "at": "9d" } })).await;
    let said = from.run(&["export", "--output", &path, "--history", "none", "--json"]).json();
    assert_eq!(said["lines"]["reminder"], 40_001, "{said}");
    from.run(&["export", "--output", &path]).fails(2, &["--output", "--history none"]);

    let there = into.serve();
    let n_there = || -> u64 {
        let stats = into.run(&["list", "--json", "--limit", "1"]).out;
        u64::from(stats.contains("\"id\""))
    };
    let mut killed = spawn(&into, &["import", &path, "--apply"]);
    until_blocking("something is imported", || {
        assert!(killed.try_wait().unwrap().is_none(), "it was over before it could be killed");
        n_there() > 0
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    let rest = into.run(&["import", &path, "--apply", "--json"]).json();
    let (new, here) = (rest["new"]["reminder"].as_u64().unwrap(), rest["here"]["reminder"].as_u64().unwrap());
    assert!(new > 0 && here > 0 && new + here == 40_001, "{rest}");
    into.run(&["import", &path, "--check"]).ok();
    assert_eq!(there.get("/v1/stats").await["pending"], 40_001);
}

/// A calendar with an appointment of ann's, and one that says that she is on duty.
fn write_calendars(folder: &Path) {
    let now = SystemClock::read().as_second();
    let at = |hours: i64| Timestamp::from_second(now + hours * 3600).unwrap().strftime("%Y%m%dT%H%M%SZ").to_string();
    let calendar = |title: &str, from: i64, until: i64| {
        let times = format!("DTSTART:{}\r\nDTEND:{}", at(from), at(until));
        format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:u1\r\nSUMMARY:{title}\r\n{times}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        )
    };
    std::fs::write(folder.join("own.ics"), calendar("Dentist", 50, 51)).unwrap();
    std::fs::write(folder.join("oncall.ics"), calendar("ann", -1, 99)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn calendars_go_along_and_what_is_gone_does_not_come_back() {
    for kept in Kept::everywhere() {
        let (from, into) = (Home::new(), Home::new());
        write_calendars(from.path());
        let folder = from.path().to_str().unwrap();
        let server = from.serve_with(&[("PUNCTUAL_CALENDAR_FILES", folder)]);
        let put = async |path: &str, body: Value| {
            let (status, said) = server.call(Method::PUT, path, Some(body)).await;
            assert!(status.is_success(), "{path}: {said}");
        };
        for user in ["ann", "bob"] {
            put(&format!("/v1/users/{user}"), json!({ "timezone": "UTC" })).await;
        }
        put("/v1/groups/duty", json!({ "rota": "file:oncall.ics" })).await;
        put("/v1/groups/old", json!({ "users": ["bob"] })).await;
        put("/v1/scopes/guild:1", json!({ "offsets": [60] })).await;
        put("/v1/users/ann/calendars/work", json!({ "url": "file:own.ics", "offsets": [15] })).await;
        put("/v1/users/ann/calendars/old", json!({ "url": "file:own.ics", "offsets": [] })).await;
        let game =
            json!({ "starts_at": "2099-01-01T08:00:00Z", "offsets": [60], "message": "chess", "users": ["ann"] });
        put("/v1/events/game", game).await;
        let active = "/v1/reminders?user=ann&status=active";
        let n_active = async |server: &Server| server.get(active).await["reminders"].as_array().unwrap().len();
        until("all is planned", async || n_active(&server).await == 2).await;
        let file = from.path().join("all.jsonl");
        let path = file.display().to_string();
        from.run(&["export", "--output", &path, "--history", "none"]).ok();
        let gone =
            ["/v1/users/bob", "/v1/groups/old", "/v1/scopes/guild:1", "/v1/users/ann/calendars/old", "/v1/events/game"];
        for path in gone {
            assert!(server.call(Method::DELETE, path, None).await.0.is_success(), "{path}");
        }
        from.run(&["export", "--output", &path, "--history", "none"]).ok();
        assert_eq!(kinds(&lines(&file))["gone"], 6, "these, and the event of the calendar");
        assert!(server.stop().0.success());

        let mut env = kept.env();
        env.push(("PUNCTUAL_CALENDAR_FILES", folder));
        let there = into.serve_with(&env);
        into.run(&["import", &path, "--apply"]).ok();
        for path in gone.iter().filter(|path| !path.contains("calendars")) {
            assert_eq!(there.call(Method::GET, path, None).await.0, 404, "{path}");
        }
        let calendars = there.get("/v1/users/ann/calendars").await["calendars"].as_array().unwrap().clone();
        assert_eq!(calendars.iter().map(|one| &one["source"]).collect::<Vec<_>>(), ["file:own.ics"]);
        until("the rota is read", async || there.get("/v1/groups/duty").await["on_duty"] == json!(["ann"])).await;
        let checked = into.run(&["import", &path, "--check"]).ok();
        assert!(checked.contains("Nothing differs"), "{checked}");
        // They are found by their words, although no entry says that they were made; and reading the calendar makes nothing twice.
        let found = there.get("/v1/reminders?q=dentist").await;
        assert_eq!(found["reminders"].as_array().unwrap().len(), 1, "{found}");
        assert!(there.call(Method::POST, "/v1/users/ann/calendars/work/read", None).await.0.is_success());
        let read_at = async || there.get("/v1/users/ann/calendars").await["calendars"][0]["read_at"].clone();
        until("it is read", async || read_at().await.is_string()).await;
        assert_eq!(n_active(&there).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn series_scopes_groups_and_calendars_are_the_same_out_of_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let url = postgres.url(&postgres.new_database(None));
    let (from, into) = (Home::new(), Home::new());
    write_calendars(from.path());
    let folder = from.path().to_str().unwrap();
    let server = from.serve_with(&[("PUNCTUAL_CALENDAR_FILES", folder), ("PUNCTUAL_DATABASE_URL", &url)]);
    let start = SystemClock::read().as_second() / 60 * 60 + 86_400;
    let at = |hours: i64| Timestamp::from_second(start + hours * 3600).unwrap();
    let name = |hours: i64| at(hours).strftime("%Y%m%dT%H%M%S").to_string();
    let moved = json!({ "starts_at": at(49).to_string(), "message": "later" });
    let puts = [
        ("/v1/users/ann".to_owned(), json!({ "timezone": "Europe/Berlin" })),
        ("/v1/groups/team".to_owned(), json!({ "users": ["ann", "bob"] })),
        ("/v1/groups/duty".to_owned(), json!({ "rota": "file:oncall.ics" })),
        ("/v1/scopes/guild:1".to_owned(), json!({ "offsets": [60, "end+5m"] })),
        ("/v1/users/ann/calendars/work".to_owned(), json!({ "url": "file:own.ics", "offsets": [15] })),
        (
            "/v1/events/standup".to_owned(),
            json!({ "starts_at": at(0), "ends_at": at(1), "timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=4", "scope": "guild:1/channel:2",
                "groups": ["team"], "message": "{key}" }),
        ),
        (format!("/v1/events/standup/instances/{}", name(48)), moved),
    ];
    for (path, body) in puts {
        let (status, said) = server.call(Method::PUT, &path, Some(body)).await;
        assert!(status.is_success(), "{path}: {said}");
    }
    let cancelled = format!("/v1/events/standup/instances/{}", name(24));
    assert_eq!(server.call(Method::DELETE, &cancelled, None).await.0, 204);
    let active = "/v1/reminders?status=active&limit=500";
    let n_active = async |server: &Server| server.get(active).await["reminders"].as_array().unwrap().len();
    // Three instances, for two people, at two offsets; and one appointment.
    until("all is planned", async || n_active(&server).await == 13).await;
    let event = server.get("/v1/events/standup").await;
    let path = |home: &Home| home.path().join("all.jsonl");
    from.run(&["export", "--output", path(&from).to_str().unwrap()]).ok();
    assert!(server.stop().0.success());

    let there = into.serve_with(&[("PUNCTUAL_CALENDAR_FILES", folder)]);
    into.run(&["import", path(&from).to_str().unwrap(), "--apply"]).ok();
    let checked = into.run(&["import", path(&from).to_str().unwrap(), "--check"]).ok();
    assert!(checked.contains("Nothing differs"), "{checked}");
    let shown = async || there.get("/v1/events/standup").await;
    until("it is planned there", async || shown().await["planned"] == true).await;
    assert_eq!(shown().await, event, "with its instances and its reminders");
    assert_eq!(n_active(&there).await, 13, "nothing is made twice");
    into.run(&["export", "--output", path(&into).to_str().unwrap()]).ok();
    let of_kind = |home: &Home| {
        let kinds = ["reminder", "event", "scope", "group", "user"];
        let mut lines = lines(&path(home));
        lines.retain(|line| kinds.contains(&line["line"].as_str().unwrap()));
        lines.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of_kind(&from), of_kind(&into));
    assert_eq!(kinds(&lines(&path(&from)))["calendar"], kinds(&lines(&path(&into)))["calendar"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_gets_their_own_and_nothing_else() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_CALENDAR_FILES", home.path().to_str().unwrap())]);
    for user in ["ann", "bob"] {
        server.call(Method::PUT, &format!("/v1/users/{user}"), Some(json!({ "timezone": "UTC" }))).await;
        server
            .create(
                json!({ "user": user, "message": format!("{user}'s own"), "schedule": { "type": "once", "at": "9d" } }),
            )
            .await;
    }
    write_calendars(home.path());
    for (path, body) in [
        ("/v1/groups/both", json!({ "users": ["ann", "bob"], "rota": "file:oncall.ics" })),
        ("/v1/users/ann/calendars/work", json!({ "url": "file:own.ics", "offsets": [] })),
        ("/v1/users/bob/calendars/bobs", json!({ "url": "file:own.ics", "offsets": [] })),
        ("/v1/groups/team", json!({ "users": ["bob", "ann"] })),
        ("/v1/groups/others", json!({ "users": ["bob"] })),
        ("/v1/scopes/user:ann", json!({ "offsets": [30] })),
        ("/v1/scopes/user:ann/work", json!({ "offsets": [5] })),
        ("/v1/scopes/user:bob", json!({ "offsets": [30] })),
        ("/v1/scopes/guild:1", json!({ "offsets": [30] })),
        (
            "/v1/events/standup",
            json!({ "starts_at": "2099-01-01T08:00:00Z", "offsets": [60], "message": "m", "groups": ["team"] }),
        ),
        (
            "/v1/events/theirs",
            json!({ "starts_at": "2099-01-01T08:00:00Z", "offsets": [60], "message": "m", "groups": ["others"] }),
        ),
    ] {
        let (status, said) = server.call(Method::PUT, path, Some(body)).await;
        assert!(status.is_success(), "{said}");
    }
    until("it is read", async || server.get("/v1/users/ann/calendars").await["calendars"][0]["read_at"].is_string())
        .await;
    let path = home.path().join("ann.jsonl");
    home.run(&["export", "--user", "ann", "--output", &path.display().to_string()]).ok();
    let own = lines(&path);
    assert!(own.iter().all(|line| !line.to_string().contains("bob")), "{own:#?}");
    let mut of = kinds(&own);
    assert!(of.remove("entry") >= Some(4), "{own:#?}");
    let expect = [("user", 1), ("reminder", 2), ("group", 2), ("event", 2), ("calendar", 1), ("scope", 2)];
    assert_eq!(of, expect.map(|(kind, n)| (kind.to_owned(), n)).into());
    let group = own.iter().find(|line| line["line"] == "group").unwrap();
    assert_eq!((&group["users"], &group["rota"]), (&json!(["ann"]), &Value::Null), "a rota's address may be a secret");
    let head: Value = serde_json::from_str(std::fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!((&head["format"], &head["user"]), (&json!(1), &json!("ann")));

    let (_, key) = server.call(Method::POST, "/v1/keys", Some(json!({ "name": "phone", "user": "ann" }))).await;
    let bound = |method, path: &'static str, body| server.call_with(key["key"].as_str().unwrap(), method, path, body);
    let (status, page) = bound(Method::GET, "/v1/export", None).await;
    assert!(status.is_success() && !page.to_string().contains("bob"), "{page}");
    assert_eq!(bound(Method::GET, "/v1/export?user=bob", None).await.0, 403);
    assert_eq!(bound(Method::POST, "/v1/import/lines", Some(json!({ "lines": [] }))).await.0, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mistake_is_answered_with_what_would_be_right() {
    let home = Home::new();
    let server = home.serve();
    server.call(Method::PUT, "/v1/users/ann", Some(json!({ "timezone": "UTC" }))).await;
    let path = home.path().join("all.jsonl");
    let text = path.display().to_string();
    let other = home.path().join("notes.txt");
    std::fs::write(&other, "my own notes\n").unwrap();
    let other = other.display().to_string();
    home.run(&["export", "--output", &text]).ok();
    let whole = std::fs::read_to_string(&path).unwrap();
    for (args, code, words) in [
        (&["export", "--output", &other][..], 2, &["notes.txt is there and is no export"][..]),
        (&["export", "--user", "ann", "--output", &text], 2, &["--output", "an export of everybody"]),
        (&["export", "--history", "soon"], 1, &["history", "all, none, or a time such as 90d"]),
        (&["import", &text, "--overdue", "skip"], 2, &["--overdue", "missed, deliver"]),
        (&["import", "sqlite:/none.db", "--check"], 2, &["--check", "an export"]),
    ] {
        home.run(args).fails(code, words);
    }
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "my own notes\n", "nothing else is touched");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);

    // A line that is wrong stops no other.
    let broken = whole.replace("\"timezone\":\"UTC\"", "\"timezone\":\"Mars\"");
    std::fs::write(&path, broken).unwrap();
    server.call(Method::DELETE, "/v1/users/ann", None).await;
    let ran = home.run(&["import", &text, "--apply"]);
    assert!(
        ran.code == Some(1) && ran.out.contains("Mars") && ran.out.contains("1 lines cannot be taken"),
        "{}",
        ran.out
    );
    std::fs::write(&path, whole.replace("\"format\":1", "\"format\":2")).unwrap();
    home.run(&["import", &text, "--apply"]).fails(2, &["format 2", "reads 1"]);
}
