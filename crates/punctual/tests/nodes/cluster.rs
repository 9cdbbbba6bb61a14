//! Nodes, their database, and what can be done to them.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use punctual_testkit::proxy::Proxy;
use punctual_testkit::servers::{Postgres, PostgresOptions};
use punctual_testkit::wait::until_blocking;
use reqwest::{Method, StatusCode};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Home, Server};

/// The same for all, so that any node can be asked anything.
const API_KEY: &str = "the-key-of-all-nodes";
/// How often something is looked at that nobody announces.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Any number of nodes on one PostgreSQL.
pub(crate) struct Cluster {
    // Nodes end before their database does, so that none of them complains.
    pub(crate) nodes: Vec<Node>,
    pub(crate) postgres: Postgres,
    pub(crate) database: String,
    pub(crate) clock: SystemClock,
}

/// One node: a process, or the place of one that was killed.
pub(crate) struct Node {
    home: Home,
    env: Vec<(String, String)>,
    server: Option<Server>,
    /// The proxy between it and the database, if there is one.
    pub(crate) proxy: Option<Proxy>,
}

impl Cluster {
    /// A database without nodes; `None` where PostgreSQL is not installed and a test may be skipped for that.
    pub(crate) fn new() -> Option<Self> {
        Self::on(Postgres::start_with(PostgresOptions::default())?)
    }

    pub(crate) fn on(postgres: Postgres) -> Option<Self> {
        let database = postgres.new_database(None);
        Some(Self { nodes: Vec::new(), postgres, database, clock: SystemClock::start() })
    }

    /// The same with `n_nodes` running.
    pub(crate) fn of(n_nodes: usize) -> Option<Self> {
        let mut cluster = Self::new()?;
        for _ in 0..n_nodes {
            cluster.add(&[]);
        }
        Some(cluster)
    }

    /// Waits until every node that runs knows of all others and hears what they change.
    pub(crate) async fn until_divided(&self) {
        let running: Vec<_> = self.nodes.iter().filter(|node| node.is_running()).collect();
        let give_up_at = self.clock.now() + Duration::from_secs(20);
        for node in &running {
            loop {
                let body = node.readiness().await;
                if body["nodes"] == running.len() && body["wake_ups"] == "listen" {
                    break;
                }
                assert!(self.clock.now() < give_up_at, "they do not find each other: {body}");
                self.clock.pause(LOOK_EVERY).await;
            }
        }
    }

    /// Adds a running node with these settings beside the usual ones; returns its place.
    pub(crate) fn add(&mut self, env: &[(&str, &str)]) -> usize {
        let url = self.postgres.url(&self.database);
        self.add_at(&url, None, env)
    }

    /// Adds one that reaches the database only through a proxy of its own.
    pub(crate) fn add_behind_proxy(&mut self, env: &[(&str, &str)]) -> usize {
        let proxy = Proxy::before(self.postgres.port());
        let url = proxy.url_for(&self.postgres.url(&self.database));
        self.add_at(&url, Some(proxy), env)
    }

    fn add_at(&mut self, url: &str, proxy: Option<Proxy>, env: &[(&str, &str)]) -> usize {
        // A receiver that is slow on purpose is waited for.
        let usual = [("PUNCTUAL_DATABASE_URL", url), ("PUNCTUAL_API_KEY", API_KEY), ("PUNCTUAL_WEBHOOK_TIMEOUT", "60")];
        let env = usual.iter().chain(env).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut node = Node { home: Home::new(), env, server: None, proxy };
        node.start();
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Runs SQL as any other client would.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.postgres.sql(&self.database, sql)
    }

    pub(crate) fn number(&self, sql: &str) -> usize {
        let text = self.sql(sql);
        text.parse().unwrap_or_else(|_| panic!("`{text}` is no number: {sql}"))
    }

    /// The reminders that this node has leases for.
    pub(crate) fn leased_by(&self, node: usize) -> Vec<String> {
        // A node's name begins with its process's id.
        let pid = self.nodes[node].server().pid();
        self.leased_by_pid(pid)
    }

    pub(crate) fn leased_by_pid(&self, pid: u32) -> Vec<String> {
        let sql = format!(
            "select reminder_id from punctual.occurrence where state = 'processing' and node like '{pid}-%' order by 1"
        );
        self.sql(&sql).lines().map(str::to_owned).collect()
    }

    /// Waits until everything has ended: nothing is left to be looked at.
    pub(crate) async fn until_settled(&self) {
        self.until("everything is settled", || {
            self.number("select count(*) from punctual.occurrence where wake_at is not null") == 0
        })
        .await;
    }

    /// Checks that every occurrence has ended in `delivered` and nothing is half-done.
    #[track_caller]
    pub(crate) fn all_delivered(&self) {
        let states = self.sql("select distinct state from punctual.occurrence");
        assert_eq!(states, "delivered");
        let open = self.number(
            "select count(*) from punctual.occurrence o where o.attempts <> (select count(*) from punctual.attempt a \
             where a.reminder_id = o.reminder_id and a.run = o.run and a.ended_at is not null)",
        );
        assert_eq!(open, 0, "attempts were left open");
    }

    /// Looks again and again; fails when it takes too long.
    pub(crate) async fn until(&self, what: &str, is_so: impl FnMut() -> bool) {
        self.within(Duration::from_secs(40), what, is_so).await;
    }

    pub(crate) async fn within(&self, span: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
        let give_up_at = self.clock.now() + span;
        while !is_so() {
            assert!(self.clock.now() < give_up_at, "it took too long until {what}");
            self.clock.pause(LOOK_EVERY).await;
        }
    }

    /// The present plus `span`, to the millisecond.
    pub(crate) fn soon(&self, span: Duration) -> Timestamp {
        Timestamp::from_millisecond((self.clock.now() + span).as_millisecond()).unwrap()
    }

    pub(crate) async fn sleep_until(&self, at: Timestamp) {
        self.clock.sleep_until(at).await;
    }
}

impl Node {
    /// Starts it; it was not running.
    pub(crate) fn start(&mut self) {
        assert!(self.server.is_none(), "it runs already");
        let env: Vec<_> = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.server = Some(self.home.serve_with(&env));
    }

    pub(crate) fn is_running(&self) -> bool {
        self.server.is_some()
    }

    #[track_caller]
    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("a node that runs")
    }

    /// Ends it with SIGKILL; returns its process's id, which stays in the leases it held.
    pub(crate) fn kill(&mut self) -> u32 {
        let pid = self.server().pid();
        self.server = None;
        pid
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) {
        self.stop_and_read_log();
    }

    /// Asks the node to stop, waits until it has, and returns what it logged.
    pub(crate) fn stop_and_read_log(&mut self) -> Vec<String> {
        let (status, log) = self.server.take().expect("a node that runs").stop();
        assert!(status.success(), "{log:#?}");
        log
    }

    /// Stops every instruction of it, as a hypervisor or a debugger would.
    pub(crate) fn pause(&self) {
        self.server().signal(Signal::STOP);
        // On a busy machine a thread goes on for a moment after the signal was sent.
        until_blocking("every thread of it stands still", || is_stopped(self.server().pid()));
    }

    /// Lets it go on.
    pub(crate) fn wake(&self) {
        self.server().signal(Signal::CONT);
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        self.server().call(method, path, body).await
    }

    /// Creates one reminder for each user and instant; returns their ids with the instants.
    pub(crate) async fn create(&self, to: &str, wanted: &[(String, Timestamp)]) -> Vec<(String, Timestamp)> {
        let reminders: Vec<Value> = wanted.iter().map(|(user, at)| a_reminder(user, &at.to_string(), to)).collect();
        let (status, body) =
            self.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": reminders }))).await;
        assert_eq!(status, 201, "{body}");
        let created = body["reminders"].as_array().unwrap().iter();
        created.zip(wanted).map(|(reminder, (_, at))| (reminder["id"].as_str().unwrap().to_owned(), *at)).collect()
    }

    /// The node's answer about its own state, whether it is ready or not.
    pub(crate) async fn readiness(&self) -> Value {
        self.call(Method::GET, "/readyz", None).await.1
    }

    /// The sum of a metric over its labels.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let server = self.server();
        let text = server.client.get(format!("{}/metrics", server.url)).send().await.unwrap().text().await.unwrap();
        let values = text.lines().filter_map(|line| {
            let (labelled, value) = line.rsplit_once(' ')?;
            let found = labelled.split('{').next()?;
            (found == name).then(|| value.parse::<f64>().ok()).flatten()
        });
        values.sum()
    }
}

/// A reminder of the smallest kind.
pub(crate) fn a_reminder(user: &str, at: &str, to: &str) -> Value {
    json!({
        "user": user,
        "message": "m",
        "schedule": { "type": "once", "at": at },
        "to": [{ "channel": "webhook", "address": to }],
    })
}

/// `n` users, all different, with instants evenly over `over` from `first` on.
pub(crate) fn spread(n: usize, first: Timestamp, over: Duration) -> Vec<(String, Timestamp)> {
    let at = |index: usize| first + Duration::from_micros((over.as_micros() as u64) * index as u64 / n.max(1) as u64);
    (0..n).map(|index| (format!("user-{index}"), at(index))).collect()
}

/// Whether every thread of a process stands still.
fn is_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.map(|thread| thread.unwrap().path().join("stat")).all(|stat| {
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        // The state stands behind the name, which is in parentheses and may hold anything.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}
