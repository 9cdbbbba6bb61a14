//! Several nodes run one watch, and some of them die in the middle of it.

use std::time::Duration;

use punctual_core::clock::Clock;
use serde_json::json;

use crate::cluster::Cluster;
use crate::sizes;

/// A run that its node has left is taken over within this.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(5);

/// The run of the watch: how many rows have their reminder, and the process that has it.
fn running(cluster: &Cluster) -> Option<(usize, u32)> {
    let row = cluster.sql("select sent, node from punctual.watch_run where state = 'running'");
    let (sent, node) = row.split_once('|')?;
    Some((sent.parse().ok()?, node.split_once('-')?.0.parse().ok()?))
}

/// Waits until a run has come so far; returns the process that has it.
async fn until_sent(cluster: &Cluster, n_sent: usize) -> u32 {
    let mut pid = 0;
    cluster
        .until("the run has come so far", || match running(cluster) {
            Some((sent, by)) if sent >= n_sent => {
                pid = by;
                true
            }
            _ => false,
        })
        .await;
    pid
}

/// Waits until another process than `before` has the run; returns how long that took.
async fn until_taken_over(cluster: &Cluster, before: u32) -> Duration {
    let begun = cluster.clock.run_for();
    cluster
        .until("another node has the run", || {
            let node = cluster.sql("select node from punctual.watch_run order by started_at desc limit 1");
            !node.starts_with(&format!("{before}-"))
        })
        .await;
    cluster.clock.run_for() - begun
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_has_one_reminder_although_nodes_are_killed_and_stopped_in_the_middle() {
    let sizes::Watched { n_rows, n_due } = sizes::watched();
    let Some(mut cluster) = Cluster::new() else { return };
    let app = cluster.postgres.new_database(None);
    cluster.postgres.sql(
        &app,
        &format!(
            "create table tasks (id bigint primary key, title text, owner text, due_date timestamptz, reminder_sent_at timestamptz); \
             insert into tasks select n, 'Task ' || n, 'user-' || n % 50, \
             now() + case when n % ({n_rows} / {n_due}) = 0 then interval '2 hours' else interval '20 days' end, null \
             from generate_series(1, {n_rows}) n; create index on tasks (due_date); analyze tasks"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    let batch = n_due / 20;
    let watch = format!(
        "[watches.tasks]\ndatabase = '{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nsent = 'reminder_sent_at'\nuser = 'owner'\n\
         message = '{{title}}'\nevery = '300d'\nbatch = {batch}\n",
        cluster.postgres.url(&app)
    );
    std::fs::write(&file, watch).unwrap();
    let env = [("PUNCTUAL_CONFIG", file.to_str().unwrap())];
    for _ in 0..3 {
        cluster.add(&env);
    }
    cluster.until_divided().await;
    let place = |cluster: &Cluster, pid: u32| {
        cluster.nodes.iter().position(|node| node.is_running() && node.server().pid() == pid).unwrap()
    };

    let began = cluster.clock.run_for();
    let (status, going) = cluster.nodes[0].call(reqwest::Method::POST, "/v1/watches/tasks/run?wait=0", None).await;
    assert_eq!(status, 202, "{going}");
    // The node that has the run is killed in its third batch.
    let first = until_sent(&cluster, 2 * batch).await;
    let node = place(&cluster, first);
    assert_eq!(cluster.nodes[node].kill(), first);
    let taken_over = until_taken_over(&cluster, first).await;
    println!("killed: taken over after {:.3} s", taken_over.as_secs_f64());
    assert!(taken_over <= TAKEN_OVER_WITHIN, "{taken_over:?}");

    // The next one is stopped, and wakes when the third has gone on.
    let second = until_sent(&cluster, 5 * batch).await;
    let stopped = place(&cluster, second);
    cluster.nodes[stopped].pause();
    let taken_over = until_taken_over(&cluster, second).await;
    println!("stopped: taken over after {:.3} s", taken_over.as_secs_f64());
    assert!(taken_over <= TAKEN_OVER_WITHIN, "{taken_over:?}");
    cluster.nodes[stopped].wake();
    cluster
        .until("the run has ended", || {
            cluster.sql("select count(*) from punctual.watch_run where state = 'done'") == "1"
        })
        .await;
    println!(
        "{n_due} of {n_rows} rows, with a kill and a stop: {:.3} s",
        (cluster.clock.run_for() - began).as_secs_f64()
    );

    let made = cluster.sql(
        "select count(*), count(distinct (metadata::json)->'watch'->>'key') from punctual.reminder where created_via = 'watch'",
    );
    assert_eq!(made, format!("{n_due}|{n_due}"), "one reminder a row");
    let marked = cluster.postgres.sql(
        &app,
        "select count(*) from tasks where reminder_sent_at is not null and due_date < now() + interval '1 day'",
    );
    assert_eq!(marked, n_due.to_string(), "and every row is marked");
    assert_eq!(cluster.number("select count(*) from punctual.watch_intent"), 0, "nothing is left half done");

    // The journal tells it, and another run finds nothing.
    let other = cluster.nodes.iter().position(|node| node.is_running()).unwrap();
    let (_, audit) = cluster.nodes[other].call(reqwest::Method::GET, "/v1/audit?kind=watch.run", None).await;
    let data = &audit["entries"][0]["data"];
    println!("{data}");
    assert_eq!((&data["run"], &data["state"]), (&going["run_id"], &json!("done")));
    assert_eq!(data["sent"].as_u64().unwrap() + data["skipped"].as_u64().unwrap(), data["seen"].as_u64().unwrap());
    assert!(data["taken_over"].as_u64().unwrap() >= 2, "{data}");
    let (_, again) = cluster.nodes[other].call(reqwest::Method::POST, "/v1/watches/tasks/run", None).await;
    assert_eq!((&again["seen"], &again["sent"]), (&json!(0), &json!(0)), "{again}");
    cluster.until_settled().await;
    cluster.all_delivered();
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_run_a_watch_once_at_its_time_and_answer_for_each_others_runs() {
    let Some(mut cluster) = Cluster::new() else { return };
    let app = cluster.postgres.new_database(None);
    cluster.postgres.sql(
        &app,
        "create table tasks (id text primary key, owner text, due_date timestamptz, reminder_sent_at timestamptz); \
         insert into tasks select 'task ' || n, 'ann', now() + interval '1 hour', null from generate_series(1, 60) n",
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    let watch = format!(
        "[watches.tasks]\ndatabase = '{}'\ntable = 'tasks'\nkey = 'id'\ndue = 'due_date'\nsent = 'reminder_sent_at'\nuser = 'owner'\n\
         message = '{{id}}'\nevery = '2s'\nbatch = 7\n",
        cluster.postgres.url(&app)
    );
    std::fs::write(&file, watch).unwrap();
    for _ in 0..3 {
        cluster.add(&[("PUNCTUAL_CONFIG", file.to_str().unwrap())]);
    }
    cluster
        .until("it has run three times", || {
            cluster.number("select count(*) from punctual.watch_run where state = 'done'") >= 3
        })
        .await;
    // Of two runs, the second begins at a later time of the schedule.
    let close = cluster.number(
        "select count(*) from punctual.watch_run a join punctual.watch_run b on a.id <> b.id \
         and extract(epoch from a.started_at)::bigint / 2 = extract(epoch from b.started_at)::bigint / 2",
    );
    assert_eq!(close, 0, "one run each time, whoever does it");
    let made = cluster.sql(
        "select count(*), count(distinct (metadata::json)->'watch'->>'key') from punctual.reminder where created_via = 'watch'",
    );
    assert_eq!(made, "60|60");
}
