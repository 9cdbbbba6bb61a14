//! How fast a page of a long list is shown.

use std::sync::Arc;

use jiff::SignedDuration;
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use serde_json::{Value, json};

use super::Common;
use super::http::{Connection, request};
use super::place::{self, Place};
use super::report::{Report, Table, count, milliseconds};
use super::server::Server;
use super::summary::Summary;

/// The sum and the number of the spans that the server has measured itself.
const SECONDS_SUM: &str = "punctual_http_request_seconds_sum";
const SECONDS_COUNT: &str = "punctual_http_request_seconds_count";
const SECONDS_BUCKET: &str = "punctual_http_request_seconds_bucket";
const ROUTE: &str = "method=\"GET\",route=\"/v1/reminders\"";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many reminders there are
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    rows: usize,
    /// How many a page has
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// How often each list is asked for
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// One list.
struct Measured {
    name: &'static str,
    /// As the client sees it.
    seen: Summary,
    /// The mean in the server.
    within: SignedDuration,
    /// The bound of the server's own histogram below which 99 of 100 were.
    p99_within: f64,
    n_shown: usize,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    let n_rows = place::fill(&*place.open().await?, args.rows).await?;
    // Making the index of texts would go on beside the measurement.
    let config = place.dir().join("bench.toml");
    std::fs::write(&config, "search = false\n")?;
    let config = config.to_str().ok_or_else(|| anyhow::anyhow!("the directory's name is no text"))?;
    let server = Server::start_with(&place, &["--config", config], &*clock).await?;
    let limit = args.limit;
    let next = server.get(&format!("/v1/reminders?limit={limit}")).await?["next_cursor"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let lists = [
        ("the first page", format!("/v1/reminders?limit={limit}")),
        ("the next page", format!("/v1/reminders?limit={limit}&cursor={next}")),
        ("one user's", format!("/v1/reminders?limit={limit}&user=user-7")),
        ("those that are active", format!("/v1/reminders?limit={limit}&status=active")),
        ("those that have ended: none", format!("/v1/reminders?limit={limit}&status=completed")),
        ("one user's, by a day", format!("/v1/reminders?limit={limit}&user=user-7&from=today&to=today")),
    ];
    let mut all = Vec::new();
    for (name, path) in lists {
        all.push(measure(&server, name, &path, args.rounds).await?);
    }
    server.stop(&*clock).await?;

    let mut report = Report::new("list", format!("list: a page of {limit} among {} reminders", count(n_rows)));
    let header = ["", "in the server", "p99 there"].into_iter().chain(Summary::COLUMNS).chain(["shown"]);
    let mut table = Table::new(header);
    for one in &all {
        let p99_within = format!("≤ {} ms", one.p99_within * 1e3);
        let mut row = vec![one.name.to_owned(), milliseconds(one.within), p99_within];
        row.extend(one.seen.cells());
        row.push(count(one.n_shown));
        table.row(row);
    }
    report.table(table);
    report.note("In the server: the mean from a request's head to the head of its answer, and a bound that 99 of 100 keep, as its metrics have them. The rest is as the client sees it.");
    report.note(place.note());
    report.field("rows", n_rows);
    report.field("page", limit);
    report.field("lists", all.iter().map(Measured::json).collect::<Vec<Value>>());
    Ok(report)
}

async fn measure(server: &Server, name: &'static str, path: &str, n_rounds: u16) -> anyhow::Result<Measured> {
    let mut connection = Connection::open(server.address).await?;
    let asked = request("GET", path, Some(&server.key), b"");
    let body: Value = serde_json::from_str(&connection.exchange(&asked).await?.text()?)?;
    let buckets_before = server.buckets(SECONDS_BUCKET, ROUTE).await?;
    let before = (server.metric_with(SECONDS_SUM, ROUTE).await?, server.metric_with(SECONDS_COUNT, ROUTE).await?);
    let mut seen = Vec::with_capacity(n_rounds.into());
    for _ in 0..n_rounds {
        let begun_at = SystemClock::read();
        connection.exchange(&asked).await?.text()?;
        seen.push(SystemClock::read().duration_since(begun_at));
    }
    let after = (server.metric_with(SECONDS_SUM, ROUTE).await?, server.metric_with(SECONDS_COUNT, ROUTE).await?);
    let within = SignedDuration::from_secs_f64((after.0 - before.0) / (after.1 - before.1).max(1.0));
    let buckets = server.buckets(SECONDS_BUCKET, ROUTE).await?;
    let n_before =
        |bound: f64| buckets_before.iter().find(|(known, _)| *known == bound).map_or(0.0, |(_, count)| *count);
    let keeps_it = |(bound, count): &&(f64, f64)| count - n_before(*bound) >= 0.99 * (after.1 - before.1);
    let p99_within = buckets.iter().find(keeps_it).map_or(f64::INFINITY, |(bound, _)| *bound);
    let n_shown = body["reminders"].as_array().map_or(0, Vec::len);
    Ok(Measured { name, seen: Summary::of(seen), within, p99_within, n_shown })
}

impl Measured {
    fn json(&self) -> Value {
        let mut json = self.seen.json();
        json["list"] = json!(self.name);
        json["in_server_ms"] = json!(self.within.as_secs_f64() * 1e3);
        json["in_server_p99_at_most_ms"] = json!(self.p99_within * 1e3);
        json["shown"] = json!(self.n_shown);
        json
    }
}
