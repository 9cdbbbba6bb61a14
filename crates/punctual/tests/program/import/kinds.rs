//! The other kinds of tables.

use serde_json::{Value, json};

use super::There;
use crate::common::{Home, Server};

fn import(home: &Home, there: &There, more: &[&str]) -> Value {
    let url = there.url();
    let ran = home.run(&[&["import", &url, "--apply", "--json"], more].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err))
}

/// The imported reminder of this key.
async fn imported(server: &Server, key: &str) -> Value {
    let page = server.get("/v1/reminders?limit=500").await;
    let list = page["reminders"].as_array().unwrap();
    let found = list.iter().find(|reminder| reminder["metadata"]["imported"]["id"] == key);
    found.unwrap_or_else(|| panic!("{key} is not in {page:#}")).clone()
}

fn fates(done: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = done["by_state"].as_array().unwrap().iter();
    rows.map(|row| {
        (
            text(&row["state"]),
            format!("{} {}", text(&row["fate"]), text(&row["why"])).trim().to_owned(),
            row["rows"].as_u64().unwrap(),
        )
    })
    .collect()
}

fn owned(fates: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    fates.iter().map(|(state, fate, n)| ((*state).to_owned(), (*fate).to_owned(), *n)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_of_events_become_single_reminders() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        let (uuid, boolean) =
            if there.is_postgres() { ("uuid", "boolean default false") } else { ("text", "boolean default 0") };
        there.sql(&format!(
            "create table game_sessions (id {uuid} primary key); \
             create table notification_schedule (id {uuid} primary key, game_id {uuid} not null references game_sessions (id) \
             on delete cascade, reminder_minutes integer not null, notification_time timestamp not null, sent {boolean}, \
             created_at timestamp default current_timestamp, unique (game_id, reminder_minutes))"
        ));
        let game = "00000000-0000-4000-8000-0000000000aa";
        let id = |n: u8| format!("00000000-0000-4000-8000-0000000000{n:02x}");
        let time = |seconds: &str| match there.is_postgres() {
            // As the application writes it: UTC, without saying so.
            true => format!("({seconds} at time zone 'UTC')"),
            false => seconds.to_owned(),
        };
        let yes = if there.is_postgres() { "true" } else { "1" };
        there.sql(&format!("insert into game_sessions values ('{game}')"));
        for (n, minutes, at, sent) in [
            (1, 60, "{+3600}", "false"),
            (2, 15, "{+6300}", "false"),
            (3, 1440, "{-80000}", yes),
            (4, 90, "{-600}", "false"),
        ] {
            let sent = if sent == "false" && !there.is_postgres() { "0" } else { sent };
            let (id, at) = (id(n), time(at));
            there.sql(&format!(
                "insert into notification_schedule (id, game_id, reminder_minutes, notification_time, sent) values \
                 ('{id}', '{game}', {minutes}, {at}, {sent})"
            ));
        }
        let server = home.serve();
        let done = import(&home, &there, &["--message", "Game in {reminder_minutes} min", "--user", "guild-1"]);
        assert_eq!(done["source"]["kind"], "notification_schedule");
        assert_eq!(
            fates(&done),
            owned(&[
                ("not sent", "created", 2),
                ("not sent", "left_out overdue; --overdue deliver takes it", 1),
                ("sent", "left_out sent there", 1),
            ])
        );
        let first = imported(&server, &id(1)).await;
        assert_eq!((&first["message"], &first["user"]), (&json!("Game in 60 min"), &json!("guild-1")));
        assert_eq!(first["metadata"]["imported"]["columns"], json!({ "game_id": game, "reminder_minutes": "60" }));
        let in_seconds = seconds_until(&first["next_run_at"]);
        assert!((3500..=3600).contains(&in_seconds), "{in_seconds}");
        assert_eq!(import(&home, &there, &["--user", "guild-1"])["created"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn phone_calls_keep_the_attempts_they_have_left() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        there.sql(
            "create table scheduled_jobs (id integer primary key, phone_number varchar, message text, \
             date_time_utc timestamp, status varchar, attempt_count integer default 0, max_attempts integer default 3, \
             next_retry_at timestamp, last_error text, idempotency_key varchar(64) unique, vapi_call_id varchar(100))",
        );
        let values = [
            "(1, '+491', 'pills', {+3600}, 'scheduled', 0, 3, null, null, null, null)",
            "(2, '+492', 'pills', {-300}, 'pending_retry', 1, 3, {+60}, 'busy', '2-1-a3f8c2b1', null)",
            "(3, '+493', 'pills', {-300}, 'processing', 1, 3, null, null, '3-1-a3f8c2b1', null)",
            "(4, '+494', 'pills', {-300}, 'completed', 1, 3, null, null, '4-1-a3f8c2b1', 'call-4')",
            "(5, '+495', 'pills', {-300}, 'failed', 3, 3, null, 'no answer', '5-3-a3f8c2b1', null)",
            "(6, '+496', 'pills', {+300}, 'pending_retry', 3, 3, {+60}, 'odd', null, null)",
        ];
        there.sql(&format!("insert into scheduled_jobs values {}", values.join(", ")));
        let server = home.serve();
        let done = import(&home, &there, &["--to", "webhook:http://127.0.0.1:1/call?to={phone_number}"]);
        assert_eq!(done["source"]["kind"], "calls");
        assert_eq!(
            fates(&done),
            owned(&[
                ("pending_retry", "created", 1),
                ("scheduled", "created", 1),
                ("completed", "left_out completed there", 1),
                ("failed", "left_out failed there", 1),
                ("processing", "left_out being processed there; look whether the call was made", 1),
                ("pending_retry", "refused attempt_count", 1),
            ])
        );
        let (fresh, retried) = (imported(&server, "1").await, imported(&server, "2").await);
        assert_eq!(
            (&fresh["user"], &fresh["max_retries"], &fresh["on_unknown"]),
            (&json!("+491"), &json!(2), &json!("hold"))
        );
        assert_eq!(fresh["to"][0]["address"], "http://127.0.0.1:1/call?to=%2B491");
        assert_eq!(retried["max_retries"], 1);
        assert_eq!(retried["metadata"]["imported"]["columns"]["last_error"], "busy");
        let in_seconds = seconds_until(&retried["next_run_at"]);
        assert!((0..=60).contains(&in_seconds), "{in_seconds}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistants_jobs_go_on_at_their_next_run() {
    let home = Home::new();
    for there in There::each(&home) {
        let home = Home::new();
        let (datetime, no, yes) =
            if there.is_postgres() { ("timestamp", "false", "true") } else { ("datetime", "0", "1") };
        there.sql(&format!(
            "create table users (id text primary key); create table scheduled_jobs (id text primary key, \
             user_id text not null references users (id), name text not null, \
             schedule_type text not null check (schedule_type in ('once', 'interval', 'daily', 'weekly', 'cron', 'smart')), \
             run_at {datetime}, interval_ms integer, time_of_day text, days_of_week text, \
             timezone text default 'Europe/Berlin', cron_expr text, message text not null, channel text, \
             priority text default 'normal' check (priority in ('low', 'normal', 'high', 'critical')), \
             require_ack boolean default {no}, ack_prompt text, snooze_allowed boolean default {yes}, \
             max_retries integer default 3, enabled boolean default {yes}, next_run_at {datetime} not null, \
             last_run_at {datetime}, last_status text, consecutive_errors integer default 0, total_runs integer default 0, \
             created_at {datetime} default current_timestamp, created_via text, original_text text); \
             insert into users values ('ann')"
        ));
        let utc = |instant: &str| {
            if there.is_postgres() { format!("({instant} at time zone 'UTC')") } else { instant.to_owned() }
        };
        let add = |id: &str, columns: &str, values: String| {
            there.sql(&format!(
                "insert into scheduled_jobs (id, user_id, name, message, schedule_type{columns}) \
                 values ('{id}', 'ann', 'job {id}', 'do {id}', {values})"
            ));
        };
        let soon = utc("{+600}");
        add(
            "once",
            ", run_at, next_run_at, priority, require_ack, ack_prompt",
            format!("'once', {soon}, {soon}, 'high', {yes}, 'Done?'"),
        );
        add(
            "done",
            ", run_at, next_run_at, last_status, total_runs",
            format!("'once', {0}, {0}, 'completed', 1", utc("{-600}")),
        );
        add("interval", ", interval_ms, next_run_at, total_runs", format!("'interval', 7200000, {soon}, 41"));
        add("daily", ", time_of_day, next_run_at, max_retries", format!("'daily', '08:00', {}, 7", utc("{-60}")));
        add(
            "weekly",
            ", time_of_day, days_of_week, timezone, next_run_at, created_via",
            format!("'weekly', '07:30', '1,2,3,4,5', 'America/New_York', {}, 'chat'", utc("{-60}")),
        );
        add("cron", ", cron_expr, next_run_at, enabled", format!("'cron', '0 8 * * 1-5', {}, {no}", utc("{-60}")));
        add(
            "smart",
            ", original_text, next_run_at",
            format!("'smart', 'workdays at 8, weekends at 10', {}", utc("{-60}")),
        );
        // Its next run is three days away: what lies before has run already, or was skipped.
        add("later", ", time_of_day, next_run_at", format!("'daily', '08:00', {}", utc("{+259200}")));
        add("bad-cron", ", cron_expr, next_run_at", format!("'cron', '61 * * * *', {}", utc("{-60}")));
        add(
            "bad-zone",
            ", time_of_day, timezone, next_run_at",
            format!("'daily', '08:00', 'Europe/Berln', {}", utc("{-60}")),
        );

        let server = home.serve();
        let done = import(&home, &there, &["--table", "scheduled_jobs"]);
        assert_eq!(done["source"]["kind"], "scheduled_jobs");
        assert_eq!(
            fates(&done),
            owned(&[
                ("enabled", "created", 6),
                ("disabled", "created_paused", 1),
                ("enabled", "left_out completed there", 1),
                ("enabled", "refused schedule.expr", 1),
                ("enabled", "refused timezone", 1),
            ])
        );
        let problems: Vec<_> = done["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| (problem["key"].as_str().unwrap(), problem["column"].as_str().unwrap()))
            .collect();
        assert!(
            problems.contains(&("bad-cron", "cron_expr")) && problems.contains(&("bad-zone", "timezone")),
            "{done}"
        );

        let once = imported(&server, "once").await;
        assert_eq!(
            (&once["priority"], &once["require_ack"], &once["ack_prompt"]),
            (&json!("high"), &json!(true), &json!("Done?"))
        );
        assert_eq!((&once["name"], &once["timezone"]), (&json!("job once"), &json!("Europe/Berlin")));
        assert!((500..=600).contains(&seconds_until(&once["next_run_at"])));
        let interval = imported(&server, "interval").await;
        assert!((500..=600).contains(&seconds_until(&interval["next_run_at"])), "{interval}");
        assert_eq!(interval["schedule"]["every"], "2h");
        assert_eq!(interval["metadata"]["imported"]["columns"]["total_runs"], "41");
        let daily = imported(&server, "daily").await;
        assert_eq!(
            (&daily["schedule"], &daily["max_retries"]),
            (&json!({ "type": "daily", "time": "08:00" }), &json!(7))
        );
        let weekly = imported(&server, "weekly").await;
        assert_eq!(weekly["summary"], "every weekday at 07:30, America/New_York");
        assert_eq!(weekly["created_via"], "chat");
        let cron = imported(&server, "cron").await;
        assert_eq!((&cron["status"], &cron["next_run_at"]), (&json!("paused"), &Value::Null));
        assert_eq!(imported(&server, "smart").await["schedule"]["type"], "smart");
        let later = imported(&server, "later").await;
        assert!(seconds_until(&later["next_run_at"]) > 259_000, "{later}");

        let again = import(&home, &there, &["--table", "scheduled_jobs"]);
        assert_eq!(
            (again["created"].as_u64(), again["exists"].as_u64(), again["differs"].as_u64()),
            (Some(0), Some(7), Some(0)),
            "{again}"
        );
    }
}

fn seconds_until(instant: &Value) -> i64 {
    let at: jiff::Timestamp = instant.as_str().unwrap().parse().unwrap();
    at.as_second() - punctual_engine::SystemClock::read().as_second()
}
