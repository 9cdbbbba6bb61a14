//! A node plans the reminders that were made in SQL, also those from before it started.

use punctual_testkit::servers::Postgres;
use serde_json::Value;

use super::Sql;
use crate::common::{Home, Server, soon};

/// What became of a reminder made in SQL once a node has planned it; `Err` is why it failed.
pub(super) async fn planned(server: &Server, id: &str) -> Result<Value, String> {
    soon(async {
        loop {
            let made = server.get(&format!("/v1/reminders/{id}")).await;
            if !made["next_run_at"].is_null() {
                return Ok(made);
            }
            let runs = server.get(&format!("/v1/reminders/{id}/occurrences")).await;
            let run = &runs["occurrences"][0];
            if run["state"] == "failed" {
                return Err(run["error"].as_str().unwrap_or_default().to_owned());
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_made_in_sql_while_no_node_runs_is_planned_by_the_next_one() {
    let Some(postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    let (home, url) = (Home::new(), postgres.url(&database));
    home.run(&["migrate", "--database", &url]).ok();
    let sql = Sql::new(&postgres, &database);
    let asked = |arguments: &str| sql.call("remind", &format!("'me', 'x', {arguments}")).unwrap();
    let (good, bad) = (asked("cron => '0 8 * * *'"), asked("cron => '0 8 * *'"));
    let server = home.serve_with(&[("PUNCTUAL_DATABASE_URL", &url)]);
    let made = planned(&server, &good).await.unwrap();
    assert_eq!(made["schedule"]["expr"], "0 8 * * *");
    let why = planned(&server, &bad).await.unwrap_err();
    assert!(why.starts_with("schedule.expr: "), "{why}");
}
