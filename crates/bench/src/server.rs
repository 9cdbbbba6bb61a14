//! The server in a process of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_core::clock::Clock;
use serde_json::Value;

use super::child::Child;
use super::http::{Connection, request};
use super::place::Place;
use super::proc::Stat;

/// Where a server keeps the admin's key, in its data directory.
const ADMIN_KEY_FILE: &str = "admin.key";

/// A running `punctual serve`.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) key: String,
    /// From before it was started until it said that it listens.
    pub(super) ready_after: SignedDuration,
    child: Child,
}

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) now: u64,
    pub(super) peak: u64,
}

impl Server {
    /// Starts it on the database at `place`, on a free port.
    pub(super) async fn start(place: &Place, clock: &dyn Clock) -> anyhow::Result<Self> {
        Self::start_with(place, &[], clock).await
    }

    /// Starts it with further arguments.
    pub(super) async fn start_with(place: &Place, further: &[&str], clock: &dyn Clock) -> anyhow::Result<Self> {
        Self::start_in(place.dir(), &place.url(), further, clock).await
    }

    /// Starts it with a data directory of its own.
    pub(super) async fn start_in(
        dir: &Path,
        database: &str,
        further: &[&str],
        clock: &dyn Clock,
    ) -> anyhow::Result<Self> {
        let data_dir = dir.to_str().context("the directory's name is no text")?;
        let arguments = [
            "serve",
            "--data-dir",
            data_dir,
            "--database",
            database,
            "--listen",
            "127.0.0.1:0",
            "--log",
            "info",
            "--log-format",
            "human",
        ];
        let arguments = [&arguments[..], further].concat();
        let (child, ready) = Child::start(&arguments, "listening on http://", clock).await?;
        let address = ready.rest.parse().with_context(|| format!("`{}` is no address", ready.rest))?;
        let key = std::fs::read_to_string(dir.join(ADMIN_KEY_FILE)).context("the server made no key")?;
        Ok(Self { address, key: key.trim().to_owned(), ready_after: ready.after, child })
    }

    pub(super) async fn stop(self, clock: &dyn Clock) -> anyhow::Result<()> {
        self.child.stop(clock).await
    }

    /// Its memory.
    pub(super) fn memory(&self) -> anyhow::Result<Memory> {
        Memory::read(&self.proc())
    }

    /// How much processor time it has used.
    pub(super) fn cpu(&self) -> anyhow::Result<SignedDuration> {
        Ok(Stat::read(&self.proc())?.cpu())
    }

    /// How many queries it has run, as it says itself.
    pub(super) async fn queries(&self) -> anyhow::Result<u64> {
        let n_queries = self.metric("punctual_queries_total").await?;
        ensure!(n_queries > 0.0, "there is no punctual_queries_total in its metrics");
        Ok(n_queries as u64)
    }

    /// One of its metrics, summed over its labels; 0 when nothing has been counted yet.
    pub(super) async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        self.metric_with(name, "").await
    }

    /// The same, of those whose labels contain `label`.
    pub(super) async fn metric_with(&self, name: &str, label: &str) -> anyhow::Result<f64> {
        let mut connection = Connection::open(self.address).await?;
        let text = connection.exchange(&request("GET", "/metrics", Some(&self.key), b"")).await?.text()?;
        let values = text.lines().filter_map(|line| {
            let (labelled, value) = line.rsplit_once(' ')?;
            (labelled.split('{').next() == Some(name) && labelled.contains(label)).then(|| value.parse::<f64>().ok())?
        });
        Ok(values.sum())
    }

    /// The buckets of one of its histograms, added up over those whose labels contain `label`: the upper bound of each, and how many are not above it.
    pub(super) async fn buckets(&self, name: &str, label: &str) -> anyhow::Result<Vec<(f64, f64)>> {
        let mut connection = Connection::open(self.address).await?;
        let text = connection.exchange(&request("GET", "/metrics", Some(&self.key), b"")).await?.text()?;
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for (labelled, value) in text.lines().filter_map(|line| line.rsplit_once(' ')) {
            let is_meant = labelled.split('{').next() == Some(name) && labelled.contains(label);
            let bound = labelled.split("le=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
            if let (true, Some(bound), Ok(count)) = (is_meant, bound, value.parse::<f64>()) {
                match buckets.iter_mut().find(|(known, _)| *known == bound) {
                    Some((_, sum)) => *sum += count,
                    None => buckets.push((bound, count)),
                }
            }
        }
        Ok(buckets)
    }

    /// Its answer to a GET.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let mut connection = Connection::open(self.address).await?;
        Ok(serde_json::from_slice(&connection.exchange(&request("GET", path, Some(&self.key), b"")).await?.body)?)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn proc(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.child.id()))
    }
}

impl Memory {
    /// Reads `status` in `dir`, such as `/proc/1` or `/proc/self`.
    pub(super) fn read(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("status");
        let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            kilobytes.map(|kilobytes| kilobytes * 1024).with_context(|| format!("there is no {name} in its status"))
        };
        Ok(Self { now: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
    }

    /// In megabytes, as people say them.
    pub(super) fn megabytes(bytes: u64) -> f64 {
        bytes as f64 / 1e6
    }
}
