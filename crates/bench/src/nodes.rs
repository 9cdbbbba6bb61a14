//! Any number of servers on one database.

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use serde_json::{Value, json};

use super::http::{Connection, request};
use super::place::{Place, make_private_dir};
use super::rig::{MESSAGE, plus};
use super::server::Server;

/// How many reminders are created in one request.
const BATCH: usize = 1_000;
/// How long they may take to find each other.
const DIVIDE_MAX: SignedDuration = SignedDuration::from_secs(20);
/// How often something is looked at that nobody announces.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_millis(10);

/// Servers that know of each other.
pub(super) struct Nodes {
    pub(super) servers: Vec<Server>,
    settings: String,
    n_started: usize,
}

/// A reminder that was asked for.
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) due_at: Timestamp,
}

impl Nodes {
    /// Starts `n_nodes` on the database at `place`, and returns when each knows of all others and hears what they change.
    pub(super) async fn start(place: &Place, n_nodes: usize, clock: &dyn Clock) -> anyhow::Result<Self> {
        let settings = place.dir().join("nodes.toml");
        std::fs::write(&settings, "webhook_allow_private = true\n")?;
        let settings = settings.to_str().context("the directory's name is no text")?.to_owned();
        let mut nodes = Self { servers: Vec::new(), settings, n_started: 0 };
        for _ in 0..n_nodes {
            nodes.add(place, clock).await?;
        }
        nodes.divided(clock).await?;
        Ok(nodes)
    }

    /// Starts one more.
    pub(super) async fn add(&mut self, place: &Place, clock: &dyn Clock) -> anyhow::Result<()> {
        self.n_started += 1;
        let dir = place.dir().join(format!("node-{}", self.n_started));
        make_private_dir(&dir)?;
        let further = ["--config", self.settings.as_str()];
        self.servers.push(Server::start_in(&dir, &place.url(), &further, clock).await?);
        Ok(())
    }

    /// Waits until each knows of exactly these.
    pub(super) async fn divided(&self, clock: &dyn Clock) -> anyhow::Result<()> {
        let give_up_at = plus(clock.now(), DIVIDE_MAX);
        for server in &self.servers {
            loop {
                let said = server.get("/readyz").await?;
                if said["nodes"] == self.servers.len() && said["wake_ups"] == "listen" {
                    break;
                }
                ensure!(
                    clock.now() < give_up_at,
                    "the nodes do not find each other, or others serve this database as well: {said}"
                );
                clock.sleep_until(plus(clock.now(), LOOK_AGAIN)).await;
            }
        }
        Ok(())
    }

    /// Creates one reminder for each instant over HTTP, each user's own, turn about on all nodes.
    pub(super) async fn create(&self, to: &str, instants: &[Timestamp]) -> anyhow::Result<Vec<Asked>> {
        let mut asked = Vec::with_capacity(instants.len());
        for (batch, some) in instants.chunks(BATCH).enumerate() {
            let reminder = |(index, due_at): (usize, &Timestamp)| {
                json!({
                    "user": format!("bench-{}", batch * BATCH + index),
                    "message": MESSAGE,
                    "schedule": { "type": "once", "at": due_at },
                    "to": [{ "channel": "webhook", "address": to }],
                })
            };
            let reminders: Vec<Value> = some.iter().enumerate().map(reminder).collect();
            let body = serde_json::to_vec(&json!({ "reminders": reminders }))?;
            let server = &self.servers[batch % self.servers.len()];
            let mut connection = Connection::open(server.address).await?;
            let answer = connection.exchange(&request("POST", "/v1/reminders/batch", Some(&server.key), &body)).await?;
            let created: Value = serde_json::from_str(&answer.text()?)?;
            for (reminder, due_at) in created["reminders"].as_array().into_iter().flatten().zip(some) {
                let id = reminder["id"].as_str().context("a reminder was created without an id")?.to_owned();
                asked.push(Asked { id, due_at: *due_at });
            }
        }
        ensure!(asked.len() == instants.len(), "only {} of {} were created", asked.len(), instants.len());
        Ok(asked)
    }

    /// How many messages each node has sent so far.
    pub(super) async fn attempts(&self) -> anyhow::Result<Vec<usize>> {
        let mut attempts = Vec::new();
        for server in &self.servers {
            attempts.push(server.metric("punctual_attempts_total").await? as usize);
        }
        Ok(attempts)
    }

    /// Waits until no node has anything under way; returns when that was.
    pub(super) async fn settled(&self, clock: &dyn Clock, give_up_at: Timestamp) -> anyhow::Result<Timestamp> {
        for server in &self.servers {
            while server.metric("punctual_in_flight").await? > 0.0 {
                ensure!(clock.now() < give_up_at, "some results were not written down in time");
                clock.sleep_until(plus(clock.now(), LOOK_AGAIN)).await;
            }
        }
        Ok(clock.now())
    }

    pub(super) async fn stop(self, clock: &dyn Clock) -> anyhow::Result<()> {
        for server in self.servers {
            server.stop(clock).await?;
        }
        Ok(())
    }
}
