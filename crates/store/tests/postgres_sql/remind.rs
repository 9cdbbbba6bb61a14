//! Reminders made in SQL are the reminders a node would have made.

use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::AddressRule;
use punctual_core::id::ReminderId;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{AckPolicy, Address, Metadata, Misfire, MisfirePolicy, OnUnknown, Priority, Reminder};
use punctual_core::schedule::Schedule;
use punctual_core::shard::Shards;
use punctual_core::store::{Claim, Create, NewReminder, Store};
use punctual_core::zone::Zone;
use punctual_store::postgres::{PostgresStore, Published, PublishedChannel};
use punctual_testkit::servers::Postgres;
use serde_json::{Value, json};
use std::time::Duration;

use crate::client::{Listener, database};

/// Arguments, the schedule as the API would take it, and what else differs from a plain reminder of Ann's.
type Case = (&'static str, Value, fn(&mut Reminder));

fn cases() -> Vec<Case> {
    let zoned = |r: &mut Reminder| r.timezone = Zone::named("Europe/Berlin").unwrap();
    vec![
        ("at => '2099-03-02 08:00:00+01'", json!({"type": "once", "at": "2099-03-02T07:00:00Z"}), |_| {}),
        ("at => '2099-03-02 08:00:00.25+00'", json!({"type": "once", "at": "2099-03-02T08:00:00.25Z"}), |_| {}),
        ("at => '9999-12-30 22:00:00+00'", json!({"type": "once", "at": "9999-12-30T22:00:00Z"}), |_| {}),
        ("every => '90 minutes'", json!({"type": "interval", "every": "1h30m"}), |_| {}),
        ("every => '2 weeks'", json!({"type": "interval", "every": "2w"}), |_| {}),
        (
            "every => '1 day 00:00:01.5015', count => 7",
            json!({"type": "interval", "every": "1d 1s 501500us", "count": 7}),
            |_| {},
        ),
        (
            "every => '2 hours', anchor => 'ack', starts_at => '2099-01-01 00:00:00+00'",
            json!({"type": "interval", "every": "2h", "anchor": "ack", "starts_at": "2099-01-01T00:00:00Z"}),
            |_| {},
        ),
        (
            "every => '1 hour', starts_at => '2020-01-01 00:17:00+00', ends_at => '2099-01-01 00:00:00+00'",
            json!({"type": "interval", "every": "1h", "starts_at": "2020-01-01T00:17:00Z", "ends_at": "2099-01-01T00:00:00Z"}),
            |_| {},
        ),
        ("daily => '8:05', timezone => 'europe/berlin'", json!({"type": "daily", "time": "08:05"}), zoned),
        ("daily => '23:59:59'", json!({"type": "daily", "time": "23:59:59"}), |_| {}),
        (
            "daily => '02:30', starts_at => '2099-03-29 00:00:00+00', timezone => 'Europe/Berlin'",
            json!({"type": "daily", "time": "02:30", "starts_at": "2099-03-29T00:00:00Z"}),
            zoned,
        ),
        (
            "weekly => '{Monday, \" SAT \", sun}', at_time => '07:30', timezone => '+05:45', count => 3",
            json!({"type": "weekly", "time": "07:30", "days": ["mon", "weekend"], "count": 3}),
            |r| r.timezone = Zone::named("+05:45").unwrap(),
        ),
        (
            "weekly => '{weekdays}', at_time => '07:30'",
            json!({"type": "weekly", "time": "07:30", "days": ["workdays"]}),
            |_| {},
        ),
        (
            "weekly => '{weekend,daily}', at_time => '0:00'",
            json!({"type": "weekly", "time": "00:00", "days": "daily"}),
            |_| {},
        ),
        (
            r#"at => '2099-03-02 08:00:00+01', name => 'pills', priority => 'critical', timezone => '-02',
               "to" => '[{"channel": "webhook", "address": "https://u:p@example.org/ö?a=\"b\""}, {"channel": "console"},
                 "console:a:b", "https://example.org:8080", {"address": null, "channel": "console"}]',
               require_ack => true, ack_prompt => E'Did you?\n"yes" \u0001', ack_timeout => '1 day 00:00:00.0019',
               max_ack_reminders => 0, snooze_allowed => false, max_retries => 0,
               misfire => '{"policy": "all", "within": "1.5h 3s"}', on_unknown => 'hold', original_text => '',
               metadata => '{"b": [1, {"x": null, "aa": 2.5}], "aa": "\u017e", "B": true, "a": {}}', created_via => 'chat'"#,
            json!({"type": "once", "at": "2099-03-02T07:00:00Z"}),
            |r| {
                r.name = Some("pills".into());
                r.priority = Priority::Critical;
                r.timezone = Zone::named("-02").unwrap();
                r.to = vec![
                    Address::new("webhook", "https://u:p@example.org/ö?a=\"b\""),
                    Address::new("console", ""),
                    Address::new("console", "a:b"),
                    Address::new("webhook", "https://example.org:8080"),
                    Address::new("console", ""),
                ];
                // Stores keep milliseconds.
                let timeout = Duration::from_millis(86_400_001);
                r.ack = Some(AckPolicy { prompt: Some("Did you?\n\"yes\" \u{1}".into()), timeout, reminders_max: 0 });
                r.snooze_allowed = false;
                r.retries_max = 0;
                r.misfire = Misfire { policy: MisfirePolicy::All, within: Duration::from_secs(5403) };
                r.on_unknown = OnUnknown::Hold;
                r.original_text = Some(String::new());
                let metadata = json!({"b": [1, {"x": null, "aa": 2.5}], "aa": "ž", "B": true, "a": {}});
                r.metadata = Metadata::new(metadata.as_object().unwrap());
                r.created_via = "chat".into();
            },
        ),
        (
            "at => '2099-01-01 00:00+00', on_unknown => 'resend'",
            json!({"type": "once", "at": "2099-01-01T00:00:00Z"}),
            |r| r.on_unknown = OnUnknown::Resend,
        ),
        (
            "at => '2099-01-01 00:00+00', on_unknown => 'auto'",
            json!({"type": "once", "at": "2099-01-01T00:00:00Z"}),
            |_| {},
        ),
        // A prompt asks for an answer; all that is about answers counts for nothing without one.
        (
            "at => '2099-01-01 00:00+00', ack_prompt => 'ok?'",
            json!({"type": "once", "at": "2099-01-01T00:00:00Z"}),
            |r| {
                r.ack = Some(AckPolicy { prompt: Some("ok?".into()), ..AckPolicy::default() });
            },
        ),
        (
            "at => '2099-01-01 00:00+00', require_ack => false, ack_prompt => '', ack_timeout => '5 minutes', \
             max_ack_reminders => 1000, \"to\" => '[]', misfire => 'skip', metadata => 'null'",
            json!({"type": "once", "at": "2099-01-01T00:00:00Z"}),
            |r| r.misfire.policy = MisfirePolicy::Skip,
        ),
    ]
}

/// A claim of one reminder's runs.
pub(crate) fn claim(id: ReminderId, now: Timestamp) -> Claim {
    Claim {
        now,
        from: Timestamp::MIN,
        until: now,
        shards: Shards::ALL,
        limit: 10,
        node: "n".into(),
        lease_until: now + SignedDuration::from_secs(15),
        default_channel: DefaultChannel::chosen(Address::new("console", "")),
        only: Some(vec![id]),
        holding: Default::default(),
    }
}

/// A plain reminder of Ann's, made at `now`.
fn plain(id: ReminderId, schedule: Schedule, now: Timestamp) -> Reminder {
    let mut reminder = punctual_testkit::sample::reminder(0, schedule, now);
    (reminder.id, reminder.to, reminder.created_via) = (id, Vec::new(), "sql".into());
    reminder.on_unknown = OnUnknown::Auto;
    reminder
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_made_in_sql_is_the_one_a_node_would_have_made() {
    let Some(server) = Postgres::start() else { return };
    let (by_sql, a) = database(&server).await;
    let (by_store, b) = database(&server).await;
    for (arguments, schedule, change) in cases() {
        let call = format!("select punctual.remind(user_id => 'ann', message => 'water the plants', {arguments})");
        let id: ReminderId = server.sql(&a, &call).parse().expect("an id");
        let now = by_sql.reminder(id).await.unwrap().expect("it is there").reminder.created_at;
        if schedule["type"] != "once" {
            // A node works out when it is first due.
            let claims = by_sql.claim(claim(id, now)).await.unwrap();
            assert_eq!((claims.n_taken, claims.to_send.len(), claims.wakes.len()), (1, 0, 1), "{arguments}");
        }
        let found = by_sql.reminder(id).await.unwrap().expect("it is there");
        assert_eq!(id.as_bytes()[6] >> 4, 7, "an id that sorts by creation");
        assert_eq!(id.as_bytes()[..6], now.as_millisecond().to_be_bytes()[2..]);
        // The schedule that the API would have read, at that very moment.
        let mut expect = plain(id, Schedule::new(punctual_core::schedule::Rule::Once { at: now }), now);
        change(&mut expect);
        expect.schedule = Schedule::from_input(&schedule, &expect.timezone, now).expect("it is a schedule");
        assert_eq!(expect.validate(), Ok(()), "{arguments}");
        let first_due_at = expect.schedule.first_after(&expect.timezone, now).expect("it is due");
        assert_eq!(found.reminder, expect, "{arguments}");
        assert_eq!(found.next_run_at, Some(first_due_at), "{arguments}");
        let new = NewReminder { reminder: expect, first_due_at };
        let create = Create { reminders: vec![new], who: "sql:punctual".into(), answered: None, now };
        by_store.create(create).await.unwrap();
        for table in ["reminder t where id", "occurrence t where reminder_id", "journal t where reminder_id"] {
            let row = format!("select to_jsonb(t) - 'write' - 'item' - 'via' - 'asked' from punctual.{table} = '{id}'");
            assert_eq!(server.sql(&a, &row), server.sql(&b, &row), "{arguments}: {table}");
        }
    }
    for counted in ["reminder", "occurrence", "journal"] {
        let count = format!("select count(*) from punctual.{counted}");
        assert_eq!(server.sql(&a, &count), cases().len().to_string(), "{counted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_said_comes_from_the_user_and_from_what_nodes_published() {
    let Some(server) = Postgres::start() else { return };
    let (store, name) = database(&server).await;
    let made = |user: &str| {
        let id = server.sql(&name, &format!("select punctual.remind('{user}', 'x', at => '2099-01-01 00:00+00')"));
        server.sql(&name, &format!("select timezone || ' ' || retries_max from punctual.reminder where id = '{id}'"))
    };
    assert_eq!(made("ann"), "UTC 3");
    let published = Published {
        channels: vec![channel("webhook", "webhook"), channel("log", "console")],
        timezone: Zone::named("Europe/Zagreb").unwrap(),
        retries_max: 5,
        webhook_allow_private: false,
        default_is_chosen: true,
    };
    store.publish(&published).await.unwrap();
    assert_eq!(made("ann"), "Europe/Zagreb 5");
    let user = "insert into punctual.app_user (id, timezone, addresses, admin, created_at, updated_at) \
                values ('bob', 'Asia/Tokyo', '[]', false, now(), now())";
    server.sql(&name, user);
    assert_eq!(made("bob"), "Asia/Tokyo 5");
    assert_eq!(
        server.sql(&name, "select string_agg(name || '=' || kind, ' ' order by name) from punctual.channel"),
        "log=console webhook=webhook"
    );

    // The same again writes nothing; another node's word replaces it.
    let rows = "select string_agg(xmin::text, ' ' order by name) from punctual.setting";
    let before = server.sql(&name, rows);
    store.publish(&published).await.unwrap();
    assert_eq!(server.sql(&name, rows), before);
    let other = Published { channels: vec![channel("log", "webhook")], webhook_allow_private: true, ..published };
    store.publish(&other).await.unwrap();
    assert_eq!(server.sql(&name, "select string_agg(name || '=' || kind, ' ') from punctual.channel"), "log=webhook");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_lives_and_dies_with_the_callers_transaction() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = database(&server).await;
    let mut listener = Listener::connect(&server.url(&name)).await;
    let near = "select punctual.remind('ann', 'x', at => now() + interval '1 minute')";
    listener.client.batch_execute(&format!("begin; {near}; rollback")).await.unwrap();
    assert_eq!(listener.told().await, Vec::<String>::new());
    let rows = "select (select count(*) from punctual.reminder) + (select count(*) from punctual.occurrence) \
                + (select count(*) from punctual.journal)";
    assert_eq!(server.sql(&name, rows), "0");
    // One that is wrong takes nothing with it but its own statement's work.
    listener.client.batch_execute("begin; savepoint s").await.unwrap();
    listener.client.batch_execute("select punctual.remind('ann', '', at => now())").await.unwrap_err();
    listener.client.batch_execute(&format!("rollback to s; {near}; commit")).await.unwrap();
    let told = listener.told().await;
    assert!(
        matches!(&told[..], [one] if one.starts_with("wake 73:") && one.ends_with(&due(&server, &name))),
        "{told:?}"
    );
    listener.client.batch_execute("select punctual.remind('ann', 'x', at => now() + interval '1 hour')").await.unwrap();
    assert_eq!(listener.told().await, Vec::<String>::new());
    assert_eq!(server.sql(&name, rows), "6");
    // Very many in one statement become a handful of notifications.
    let many =
        "select punctual.remind('u' || n, 'x', at => now() + n * interval '1 second') from generate_series(1, 100) n";
    listener.client.batch_execute(many).await.unwrap();
    let told = listener.told().await;
    assert_eq!((told.len(), told.last().map(String::as_str)), (51, Some("look")));
}

fn due(server: &Postgres, name: &str) -> String {
    server.sql(name, "select (extract(epoch from due_at) * 1000000)::bigint from punctual.occurrence")
}

/// Arguments beside `user_id` and `message`, the column that is named, and words of the message or the hint.
const REFUSED: &[(&str, &str, &str)] = &[
    ("", "at", "is missing"),
    ("at => now(), every => '1 hour'", "at", "one way too many"),
    ("cron => '0 8 * * *', phrase => 'daily at 8'", "at", "one way too many"),
    ("cron => ''", "cron", "is empty"),
    ("cron => repeat('x', 513)", "cron", "at most 512"),
    ("phrase => ''", "phrase", "is empty"),
    ("phrase => repeat('x', 2001)", "phrase", "at most 2000"),
    ("rrule => ''", "rrule", "is empty"),
    ("cron => '0 8 * * *', count => 0", "count", "from 1 up"),
    ("at => now() - interval '62 seconds'", "at", "in the past"),
    ("at => 'infinity'", "at", "further away"),
    ("at => '-infinity'", "at", "further away"),
    ("at => '9999-12-30 22:00:01+00'", "at", "further away"),
    ("at => now(), count => 3", "count", "recurring"),
    ("at => now(), starts_at => now()", "starts_at", "recurring"),
    ("at => now(), ends_at => now()", "ends_at", "recurring"),
    ("at => now(), anchor => 'ack'", "anchor", "intervals"),
    ("at => now(), at_time => '8:00'", "at_time", "weekly"),
    ("every => '1 month'", "every", "months or years"),
    ("every => '1 year'", "every", "months or years"),
    ("every => '999 milliseconds'", "every", "shortest"),
    ("every => '3654 days'", "every", "longest"),
    ("every => '-1 hour'", "every", "negative"),
    ("every => '1 hour', anchor => 'end'", "anchor", "start, ack"),
    ("every => '1 hour', count => 0", "count", "from 1 up"),
    ("every => '1 hour', ends_at => now() - interval '2 minutes'", "ends_at", "in the past"),
    (
        "every => '1 hour', starts_at => now() + interval '2 days', ends_at => now() + interval '1 day'",
        "ends_at",
        "after starts_at",
    ),
    ("daily => '24:00'", "daily", "not a time of day"),
    ("daily => '08:00:00.5'", "daily", "not a time of day"),
    ("weekly => '{mon}'", "at_time", "is missing"),
    ("weekly => '{}', at_time => '8:00'", "weekly", "is empty"),
    ("weekly => '{mon,funday}', at_time => '8:00'", "weekly[1]", "`funday` is not a day"),
    ("weekly => array[null], at_time => '8:00'", "weekly[0]", "not a day"),
    ("AT, user_id => null", "user_id", "is missing"),
    ("AT, user_id => ''", "user_id", "is empty"),
    ("AT, user_id => repeat('\u{e4}', 129)", "user_id", "258 bytes long; at most 256"),
    ("AT, message => null", "message", "is missing"),
    ("AT, message => ''", "message", "is empty"),
    ("AT, message => E' \\n\\u00a0\\u3000'", "message", "is empty"),
    ("AT, message => repeat('x', 65537)", "message", "at most 65536"),
    ("AT, name => ''", "name", "is empty"),
    ("AT, name => repeat('x', 257)", "name", "at most 256"),
    ("AT, timezone => 'Europe/Berln'", "timezone", "Europe/Berlin"),
    ("AT, timezone => 'berlin'", "timezone", "Did you mean Europe/Berlin?"),
    ("AT, timezone => ''", "timezone", "such as Europe/Berlin"),
    ("AT, timezone => '+19:00'", "timezone", "unknown"),
    ("AT, timezone => '+05:60'", "timezone", "unknown"),
    ("AT, timezone => '+0545'", "timezone", "unknown"),
    ("AT, timezone => 'FOO+3'", "timezone", "unknown"),
    ("AT, priority => 'urgent'", "priority", "low, normal, high, critical"),
    ("AT, priority => 'High'", "priority", "low, normal"),
    ("AT, on_unknown => 'drop'", "on_unknown", "auto, resend, hold"),
    ("AT, max_retries => 101", "max_retries", "0 to 100"),
    ("AT, max_retries => -1", "max_retries", "0 to 100"),
    ("AT, require_ack => true, ack_prompt => ''", "ack_prompt", "is empty"),
    ("AT, ack_prompt => repeat('x', 2049)", "ack_prompt", "at most 2048"),
    ("AT, require_ack => true, ack_timeout => '999 ms'", "ack_timeout", "between 1 second and 366 days"),
    ("AT, require_ack => true, ack_timeout => '366 days 1 second'", "ack_timeout", "366 days"),
    ("AT, ack_timeout => '1 month'", "ack_timeout", "months"),
    ("AT, ack_timeout => '-1 minute'", "ack_timeout", "negative"),
    ("AT, require_ack => true, max_ack_reminders => 1001", "max_ack_reminders", "at most 1000"),
    ("AT, require_ack => false, ack_prompt => repeat('x', 2049)", "ack_prompt", "at most 2048"),
    ("AT, require_ack => false, ack_timeout => '0'", "ack_timeout", "between 1 second"),
    ("AT, max_ack_reminders => 1001", "max_ack_reminders", "at most 1000"),
    ("AT, max_ack_reminders => -1", "max_ack_reminders", "from 0 up"),
    ("AT, misfire => 'newest'", "misfire", "latest, all, skip"),
    ("AT, misfire => '{\"policy\": \"newest\"}'", "misfire.policy", "latest, all, skip"),
    ("AT, misfire => '{\"polcy\": \"all\"}'", "misfire.polcy", "policy and within"),
    ("AT, misfire => '{\"within\": 5}'", "misfire.within", "must be text"),
    ("AT, misfire => '{\"within\": \"5\"}'", "misfire.within", "not a span"),
    ("AT, misfire => '{\"within\": \"1h30\"}'", "misfire.within", "not a span"),
    ("AT, misfire => '{\"within\": \"99999999999999999999999w\"}'", "misfire.within", "too long"),
    ("AT, misfire => '{no'", "misfire", "no JSON"),
    ("AT, original_text => repeat('x', 65537)", "original_text", "at most 65536"),
    ("AT, created_via => ''", "created_via", "is empty"),
    ("AT, created_via => repeat('x', 65)", "created_via", "at most 64"),
    ("AT, metadata => '[1]'", "metadata", "must be an object"),
    ("AT, metadata => '\"x\"'", "metadata", "must be an object"),
    ("AT, metadata => jsonb_build_object('a', repeat('x', 65530))", "metadata", "larger than 65536"),
    ("AT, metadata => '{\"a\": 1e309}'", "metadata", "out of range"),
    ("AT, metadata => (repeat('{\"a\":', 127) || '1' || repeat('}', 127))::jsonb", "metadata", "126 deep"),
    ("AT, created_via => 'alert'", "created_via", "its own alerts"),
    ("AT, \"to\" => '\"console\"'", "to", "must be a list"),
    ("AT, \"to\" => '[5]'", "to[0]", "must be an object"),
    ("AT, \"to\" => '[\":x\"]'", "to[0]", "names no channel"),
    ("AT, \"to\" => '[\"console\", {\"address\": \"x\"}]'", "to[1].channel", "is missing"),
    ("AT, \"to\" => '[{\"channel\": \"\"}]'", "to[0].channel", "is empty"),
    ("AT, \"to\" => '[{\"channel\": 5}]'", "to[0].channel", "must be text"),
    ("AT, \"to\" => '[{\"channel\": \"console\", \"adress\": \"x\"}]'", "to[0].adress", "channel and address"),
    ("AT, \"to\" => '[\"pigeon:x\"]'", "to[0].channel", "Known are console, log, webhook"),
    ("AT, \"to\" => (select jsonb_agg('console'::text) from generate_series(1, 33))", "to", "has 33 addresses"),
    ("AT, \"to\" => jsonb_build_array('console:' || repeat('x', 257))", "to[0].address", "at most 256"),
    ("AT, \"to\" => jsonb_build_array('log:' || repeat('x', 2049))", "to[0].address", "at most 2048"),
    ("AT, \"to\" => '[\"webhook:\"]'", "to[0].address", "https://example.org/hook"),
    ("AT, \"to\" => '[\"webhook:hush.example/hook\"]'", "to[0].address", "begins with http"),
    ("AT, \"to\" => '[\"webhook:http:hush.example\"]'", "to[0].address", "begins with http"),
    ("AT, \"to\" => '[\"webhook:https://\"]'", "to[0].address", "host"),
    ("AT, \"to\" => '[\"webhook:https://hu sh.example\"]'", "to[0].address", "a space"),
    ("AT, \"to\" => '[\"webhook:https://hush.example/\\n\"]'", "to[0].address", "control character"),
    ("AT, \"to\" => '[\"webhook:https://hush.example:99999/\"]'", "to[0].address", "port"),
    ("AT, \"to\" => '[\"webhook:https://hush.example:0/\"]'", "to[0].address", "port 0"),
    ("AT, \"to\" => '[\"webhook:https://hush.example:x/\"]'", "to[0].address", "port"),
    ("AT, \"to\" => '[\"webhook:https://[::1\"]'", "to[0].address", "host"),
    ("AT, \"to\" => '[\"webhook:https://1.2.3.256/\"]'", "to[0].address", "host that cannot be"),
    ("AT, \"to\" => '[\"webhook:http://127.0.0.1:9000/hook\"]'", "to[0].address", "private address"),
    ("AT, \"to\" => '[\"webhook:http://hush@127.0.0.1\"]'", "to[0].address", "private address"),
    ("AT, \"to\" => '[\"webhook:http://[::1]:80/\"]'", "to[0].address", "private address"),
    ("AT, \"to\" => '[\"webhook:http://localhost:80/\"]'", "to[0].address", "private address"),
    ("AT, \"to\" => '[\"webhook:http://192.168.7.1/\"]'", "to[0].address", "private address"),
];

const ACCEPTED: &[&str] = &[
    "at => now()",
    "at => now() - interval '50 seconds'",
    "every => '1 second'",
    "every => '3653 days'",
    "weekly => '{ mon ,Weekends}', at_time => '8:00'",
    "AT, user_id => repeat('\u{e4}', 128), message => repeat('x', 65536), name => repeat('x', 256)",
    "AT, message => '\u{2764}'",
    "AT, timezone => '+18:59'",
    "AT, timezone => 'ETC/gmt+3'",
    "AT, metadata => (repeat('{\"a\":', 126) || '1' || repeat('}', 126))::jsonb",
    "AT, metadata => jsonb_build_object('a', repeat('x', 65528))",
    "AT, max_retries => 100, require_ack => true, ack_timeout => '366 days', max_ack_reminders => 1000",
    "AT, \"to\" => (select jsonb_agg('console'::text) from generate_series(1, 32))",
    "AT, \"to\" => '[\"webhook:HTTPS://user:word@Example.org:8080/hook?x=1#y\", \"http://[2606:4700::1]/\", \"http://8.8.8.8\"]'",
    "AT, \"to\" => 'null', misfire => '{\"policy\": null, \"within\": \"0s\"}'",
];

fn channel(name: &str, kind: &str) -> PublishedChannel {
    let rule = match kind {
        "webhook" => AddressRule::Url { allow_private: false },
        "console" => AddressRule::anything(256),
        _ => AddressRule::anything(2048),
    };
    PublishedChannel { name: name.into(), kind: kind.into(), rule }
}

async fn with_channels(server: &Postgres) -> (PostgresStore, String) {
    let (store, name) = database(server).await;
    let kinds = [("webhook", "webhook"), ("console", "console"), ("log", "closure")];
    let channels = kinds.map(|(name, kind)| channel(name, kind)).to_vec();
    let timezone = Zone::utc();
    store
        .publish(&Published {
            channels,
            timezone,
            retries_max: 3,
            webhook_allow_private: false,
            default_is_chosen: true,
        })
        .await
        .unwrap();
    (store, name)
}

fn call(arguments: &str) -> String {
    let mut arguments = arguments.replace("AT", "at => now() + interval '1 hour'");
    for (name, value) in [("user_id", "ann"), ("message", "x")] {
        if !arguments.contains(&format!("{name} =>")) {
            arguments = format!("{name} => '{value}'{}{arguments}", if arguments.is_empty() { "" } else { ", " });
        }
    }
    format!("select punctual.remind({arguments})")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_argument_is_an_error_that_names_it_and_says_what_would_be_right() {
    let Some(server) = Postgres::start() else { return };
    let (_store, name) = with_channels(&server).await;
    let client = Listener::connect(&server.url(&name)).await.client;
    for (arguments, column, words) in REFUSED {
        let error = client.batch_execute(&call(arguments)).await.expect_err(arguments);
        let error = error.as_db_error().unwrap_or_else(|| panic!("{arguments}: {error}"));
        let said = format!("{} {}", error.message(), error.hint().unwrap_or_default());
        assert_eq!(error.code().code(), "22023", "{arguments}: {said}");
        assert_eq!(error.column(), Some(*column), "{arguments}: {said}");
        assert!(said.starts_with(&format!("{column}: ")) && said.contains(words), "{arguments}: {said}");
        assert!(!format!("{error:?}").contains("hush"), "an address may be a secret: {error:?}");
    }
    assert_eq!(server.sql(&name, "select count(*) from punctual.reminder"), "0");
    for arguments in ACCEPTED {
        client.batch_execute(&call(arguments)).await.unwrap_or_else(|error| panic!("{arguments}: {error:?}"));
    }
    // An address of a channel that no node has published is not refused; private addresses are for nodes to judge.
    server.sql(&name, "delete from punctual.channel; delete from punctual.setting");
    let to = "AT, \"to\" => '[\"pigeon:x\", \"webhook:http://localhost:9000/hook\"]'";
    client.batch_execute(&call(to)).await.unwrap();
    client.batch_execute(&call("AT, \"to\" => '[\"webhook:x\"]'")).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_transaction_may_still_say_now() {
    let Some(server) = Postgres::start() else { return };
    let (store, name) = database(&server).await;
    let client = Listener::connect(&server.url(&name)).await.client;
    client.batch_execute("begin; select pg_sleep(1.1)").await.unwrap();
    let row =
        client.query_one("select punctual.remind('ann', 'x', at => now() - interval '59 seconds')::text", &[]).await;
    let id: ReminderId = row.unwrap().get::<_, &str>(0).parse().unwrap();
    client.batch_execute("commit").await.unwrap();
    let made = store.reminder(id).await.unwrap().unwrap();
    let late = made.reminder.created_at.duration_since(made.next_run_at.unwrap());
    assert!(late > SignedDuration::from_secs(60), "it was made when it was made: {late}");
}
