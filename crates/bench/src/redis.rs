//! How late timers in Redis ring among many, beside what Redis does by itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use punctual_redis::{Expired, Timers};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::report::{Report, Table, count, per_second, rate};
use super::rig::{self, plus};
use super::summary::Summary;
use super::{Common, limit};

/// How many keys are set in one call.
const BATCH: usize = 10_000;
/// How long before the first instant everything is in place.
const AHEAD: SignedDuration = SignedDuration::from_secs(2);
/// How long after the last instant to wait for timers that have not rung.
const WAIT_MAX: SignedDuration = SignedDuration::from_secs(10);
/// How long to wait for Redis at the begin.
const CONNECT_WITHIN: SignedDuration = SignedDuration::from_secs(10);
/// Others are due from then on, over a few days.
const OTHERS_FROM: SignedDuration = SignedDuration::from_hours(24);

const OURS: &str = "bench";
const PLAIN: &str = "plain";
const OTHERS: &str = "other";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many other keys are in Redis, due long after
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    keys: usize,
    /// How many timers are measured
    #[arg(long, default_value_t = 4_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// Over how long they are due, such as 20s
    #[arg(long, default_value = "20s", value_name = "SPAN", value_parser = span)]
    over: Duration,
}

fn span(text: &str) -> Result<Duration, String> {
    let span = punctual_core::span::parse(text)?;
    if span < Duration::from_secs(1) || span > Duration::from_secs(600) {
        return Err("must be between 1s and 10m".into());
    }
    Ok(span)
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let Some(url) = &common.options.redis else {
        bail!("say where with --redis redis://127.0.0.1:6379/0: an empty database")
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let n = args.count as usize;
    let over = SignedDuration::try_from(args.over)?;
    let (ours, plain) = (Arc::new(Heard::new(OURS, n)), Arc::new(Heard::new(PLAIN, n)));
    let timers = Timers::open(url)?.clock(clock.clone()).on(ours.clone()).on(plain.clone()).start();
    let mut redis = Client::connect(&timers, url, &*clock).await?;

    let begun_at = clock.now();
    fill(&timers, args.keys, &*clock).await?;
    let fill_rate = rate(args.keys, clock.now().duration_since(begun_at));
    let alone = limit::timer(rig::instants(rig::soon(AHEAD), n, over)).await?;

    let instants = rig::instants(rig::soon(AHEAD), n, over);
    let entry = |(index, at): (usize, &Timestamp)| (index.to_string(), "bench".to_owned(), *at);
    timers.set_all(OURS, instants.iter().enumerate().map(entry).collect()).await?;
    ours.all(&*clock, plus(instants[n - 1], WAIT_MAX)).await;
    let touched = ours.against(&instants);

    let instants = rig::instants(rig::soon(AHEAD), n, over);
    redis.set_plain(&instants).await?;
    plain.all(&*clock, plus(instants[n - 1], WAIT_MAX)).await;
    let left_alone = plain.against(&instants);
    let version = redis.version().await?;
    if !common.options.keep {
        redis.empty().await?;
    }

    let title = format!(
        "redis: {} timers over {} s among {} others; lateness from due to the handler's call",
        count(n),
        args.over.as_secs(),
        count(args.keys)
    );
    let mut report = Report::new("redis", title);
    let mut table = Table::new([""].into_iter().chain(Summary::COLUMNS).chain(["early", "heard"]));
    table.row(row("punctual's Redis timer", &touched, n));
    table.row(row("plain expiry events", &left_alone, n));
    let mut limit = vec!["plain timer: the limit".to_owned()];
    limit.extend(alone.cells());
    table.row(limit);
    report.table(table);
    report.note(format!(
        "What had not come {} s after the last instant was not waited for; the percentiles are of what came.",
        WAIT_MAX.as_secs()
    ));
    if args.keys > 0 {
        report.note(format!("The others were set at {}. Redis {version}.", per_second(fill_rate)));
        report.field("set_per_second", fill_rate);
    }
    report.field("keys", args.keys);
    report.field("count", n);
    report.field("over_seconds", args.over.as_secs());
    report.field("punctual", fields(&touched, n));
    report.field("plain_expiry", fields(&left_alone, n));
    report.field("limit", alone.json());
    Ok(report)
}

fn row(name: &str, late: &Summary, n: usize) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(late.cells());
    row.extend([count(late.n_negative()), share(late.len(), n)]);
    row
}

fn share(heard: usize, n: usize) -> String {
    format!("{:.1} %", heard as f64 * 100.0 / n as f64)
}

fn fields(late: &Summary, n: usize) -> Value {
    let mut fields = late.json();
    fields["early"] = json!(late.n_negative());
    fields["heard"] = json!(late.len());
    fields["share"] = json!(late.len() as f64 / n as f64);
    fields
}

async fn fill(timers: &Timers, n: usize, clock: &dyn Clock) -> anyhow::Result<()> {
    let first = plus(clock.now(), OTHERS_FROM);
    for begin in (0..n).step_by(BATCH) {
        let timer = |index: usize| {
            let at = plus(first, SignedDuration::from_millis(i64::try_from(index % 400_000_000).unwrap_or(0)));
            (index.to_string(), "bench".to_owned(), at)
        };
        timers.set_all(OTHERS, (begin..n.min(begin + BATCH)).map(timer).collect()).await?;
    }
    Ok(())
}

/// When each timer was heard.
struct Heard {
    prefix: &'static str,
    at: Mutex<Vec<Option<Timestamp>>>,
    n_left: AtomicUsize,
    done: Notify,
}

impl Heard {
    fn new(prefix: &'static str, n: usize) -> Self {
        Self { prefix, at: Mutex::new(vec![None; n]), n_left: AtomicUsize::new(n), done: Notify::new() }
    }

    /// Waits until all have been heard, or until `give_up_at`.
    async fn all(&self, clock: &dyn Clock, give_up_at: Timestamp) {
        while self.n_left.load(Ordering::Acquire) > 0 {
            tokio::select! {
                () = self.done.notified() => {}
                () = clock.sleep_until(give_up_at) => return,
            }
        }
    }

    fn against(&self, instants: &[Timestamp]) -> Summary {
        let heard = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let late = heard.iter().zip(instants).filter_map(|(at, due)| Some((*at)?.duration_since(*due)));
        Summary::of(late.collect())
    }
}

#[async_trait]
impl Expired for Heard {
    fn prefix(&self) -> &str {
        self.prefix
    }

    async fn expired(&self, id: &str) {
        let now = SystemClock::read();
        let mut heard = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = id.parse::<usize>().ok().and_then(|index| heard.get_mut(index)) else { return };
        if slot.replace(now).is_none() && self.n_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.notify_one();
        }
    }
}

/// A connection beside the timers', for what they would not do.
struct Client(redis::aio::MultiplexedConnection);

impl Client {
    /// Connects, and refuses a database that is somebody's.
    async fn connect(timers: &Timers, url: &str, clock: &dyn Clock) -> anyhow::Result<Self> {
        let give_up_at = plus(clock.now(), CONNECT_WITHIN);
        while let Some(problem) = timers.status().problem {
            ensure!(clock.now() < give_up_at, "redis: {problem}");
            clock.pause(Duration::from_millis(20)).await;
        }
        let mut connection = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
        let n_keys: usize = redis::cmd("DBSIZE").query_async(&mut connection).await?;
        // The timers' own marker and beat are there already.
        ensure!(n_keys <= 3, "the database holds {} keys; name an empty one, because it is emptied afterwards", n_keys);
        Ok(Self(connection))
    }

    /// Sets keys as an application would that leaves everything else to Redis.
    async fn set_plain(&mut self, instants: &[Timestamp]) -> anyhow::Result<()> {
        for (batch, some) in instants.chunks(BATCH).enumerate() {
            let mut pipe = redis::pipe();
            for (index, at) in some.iter().enumerate() {
                let key = format!("{PLAIN}:{}", batch * BATCH + index);
                pipe.cmd("SET").arg(key).arg("bench").arg("PXAT").arg(at.as_millisecond()).ignore();
            }
            pipe.exec_async(&mut self.0).await?;
        }
        Ok(())
    }

    async fn version(&mut self) -> anyhow::Result<String> {
        let info: String = redis::cmd("INFO").arg("server").query_async(&mut self.0).await?;
        let version = info.lines().find_map(|line| line.trim().strip_prefix("redis_version:"));
        Ok(version.unwrap_or("of unknown version").to_owned())
    }

    async fn empty(&mut self) -> anyhow::Result<()> {
        redis::cmd("FLUSHDB").arg("ASYNC").exec_async(&mut self.0).await.context("the database cannot be emptied")
    }
}
