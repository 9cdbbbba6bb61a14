//! Dead addresses, and who can be reached, judged in SQL as over HTTP.

use punctual_testkit::servers::Postgres;
use reqwest::Method;
use serde_json::json;

use super::Sql;
use crate::common::Home;
use crate::event::planned;

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_address_is_refused_in_sql_as_over_http() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    home.run(&["migrate", "--database", &url]).ok();
    let dead = "https://example.org/dead";
    postgres.sql(
        &database,
        &format!(
            "insert into punctual.dead_address values ('webhook', '{dead}', '2026-01-02 03:04:05+00', 'gone: 410')"
        ),
    );
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let sql = Sql::new(&postgres, &database);
    for (to, is_dead) in [(json!([dead]), true), (json!(["https://example.org/alive"]), false)] {
        let body = json!({ "message": "m", "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" }, "to": to });
        let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
        assert_eq!(status == 422, is_dead, "{answer}");
        let arguments = format!("user_id => 'ann', message => 'm', at => '2099-01-01', \"to\" => $to${to}$to$");
        let by_sql = sql.call("remind", &arguments);
        assert_eq!(by_sql == Err("to[0].address".to_owned()), is_dead, "{by_sql:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_and_http_judge_alike_who_can_receive_a_reminder() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    let server = home.serve_unchosen_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let (dead, live) = ("https://example.org/dead", "https://example.org/live");
    let sql = Sql::new(&postgres, &database);
    sql.run(&format!(
        "insert into punctual.dead_address values ('webhook', '{dead}', '2026-01-02 03:04:05+00', '410')"
    ));
    // A node that starts knows of it.
    drop(server);
    let server = home.serve_unchosen_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    for (user, address) in [("reached", live), ("lost", dead)] {
        let addresses = json!({ "addresses": [format!("webhook:{address}")] });
        assert!(server.call(Method::PUT, &format!("/v1/users/{user}"), Some(addresses)).await.0.is_success());
    }
    for (user, to, only, refused) in [
        ("nobody", json!([]), false, Some("to")),
        ("nobody", json!([live]), false, None),
        ("nobody", json!([dead]), false, Some("to[0].address")),
        ("nobody", json!([live, dead]), true, None),
        ("lost", json!([]), false, Some("to")),
        ("lost", json!([dead]), false, Some("to[0].address")),
        ("reached", json!([]), false, None),
        ("reached", json!([dead]), false, None),
        ("reached", json!([dead]), true, Some("to[0].address")),
        ("reached", json!([]), true, Some("only")),
        ("me", json!([]), false, None),
    ] {
        let case = format!("{user} {to} only: {only}");
        let body = json!({
            "user": user, "message": "m", "to": to, "only": only,
            "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" },
        });
        let (_, answer) = server.call(Method::POST, "/v1/reminders", Some(body)).await;
        assert_eq!(answer["field"].as_str(), refused, "{case}: {answer}");
        let arguments = format!(
            "user_id => '{user}', message => 'm', at => '2099-01-01', \"to\" => $to${to}$to$, \"only\" => {only}"
        );
        let by_sql = sql.call("remind", &arguments);
        assert_eq!(by_sql.as_ref().err().map(String::as_str), refused, "{case}: {by_sql:?}");
        if let Ok(id) = by_sql {
            let made = server.get(&format!("/v1/reminders/{id}")).await;
            assert_eq!((&made["only"], &made["to"]), (&answer["only"], &answer["to"]), "{case}");
            let is_warned = postgres.log().contains("WARNING:  to[") && to.to_string().contains(dead);
            assert_eq!(answer["warnings"].is_array(), is_warned, "{case}: {answer}");
        }
    }
    let event = |key: &str, more: &str| {
        sql.call("put_event", &format!("'{key}', '2099-01-01', '{{5}}', message => 'm', {more}"))
    };
    let only = format!("\"to\" => '[\"{live}\"]', \"only\" => true");
    assert_eq!(event("a", "users => '{reached,nobody}'"), Err("users".to_owned()));
    let is_new = |is_new: bool| Ok(is_new.to_string());
    assert_eq!(event("b", "users => '{reached,me}'"), is_new(true));
    assert_eq!(event("c", &only), is_new(true), "the event itself is the user");
    assert_eq!(event("d", &format!("users => '{{reached}}', {only}")), is_new(true));
    planned(&server, "c").await;
    planned(&server, "d").await;
    let kept = "select string_agg(r.only_to::text, ' ' order by e.event_key) from punctual.reminder r \
                join punctual.event_reminder e on e.reminder_id = r.id where e.event_key in ('c', 'd')";
    assert_eq!(sql.run(kept), "true true");
    assert_eq!(event("d", "users => '{reached}'"), is_new(false), "and changed");
    planned(&server, "d").await;
    assert_eq!(sql.run(kept), "true false");
    let grants = "select has_function_privilege('punctual_client', p.oid, 'execute')::text || \
                  has_function_privilege('public', p.oid, 'execute')::text from pg_proc p \
                  where p.pronamespace = 'punctual'::regnamespace and p.proname in ('remind', 'put_event') and p.pronargs > 1";
    assert_eq!(sql.run(grants), "truefalse\ntruefalse", "whoever could call them still can");
}
