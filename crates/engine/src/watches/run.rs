//! A run, from its first row to its last.

use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::within;
use punctual_core::journal::{Data, WatchEnded};
use punctual_core::source::{Bounds, Mode, SourceError, Standing};
use punctual_core::store::{EndRun, RUN_FOR, RunLease, StoreError, TakenRun};
use punctual_core::watch::{BadRow, RunState, WatchRun};

use super::{Watcher, place_after};
use crate::instant::{minus, plus, signed};
use crate::metrics::{WatchRowLabels, WatchRunLabels};
use crate::node::lock;

/// The waits before a connection is tried again; after the last the run is given up.
pub(super) const WAITS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// How often a run is kept.
const KEEP_EVERY: Duration = Duration::from_secs(1);
/// How much earlier than the store this node takes a run to be another's.
const EARLIER: Duration = Duration::from_secs(1);
/// How long a stop waits for the batch under way.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// How many bad rows are said in the log and in the journal.
const BAD_SAID_MAX: usize = 20;

/// How the work on a run ended.
pub(super) enum Over {
    /// The run has ended.
    Ended(Box<WatchRun>),
    /// The run is another node's, or the store failed.
    Lost,
    /// This node stops; the run was given back.
    Left,
}

/// Why a run stops before its last row.
pub(super) enum Stopped {
    /// The application's database is gone, or refuses.
    GivenUp(String),
    /// The store failed, or the run is another's.
    Lost,
    /// This node stops.
    Left,
}

/// The work on one run.
pub(super) struct Run<'w> {
    pub(super) watcher: &'w Watcher,
    pub(super) lease: RunLease,
    pub(super) run: WatchRun,
    /// The instant of this work: what is due from then on, and the mark of its rows.
    pub(super) at: Timestamp,
    pub(super) spent: Spent,
    /// The first bad rows.
    bad: Vec<BadRow>,
    is_new: bool,
}

/// How long it took.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pub(super) reading: Duration,
    pub(super) marking: Duration,
    pub(super) writing: Duration,
}

impl<'w> Run<'w> {
    pub(super) fn new(watcher: &'w Watcher, taken: TakenRun) -> Self {
        let TakenRun { run, lease, is_new } = taken;
        let at = if is_new { run.started_at } else { watcher.now() };
        Self { watcher, lease, run, at, spent: Spent::default(), bad: Vec::new(), is_new }
    }

    /// Works until the run has ended, or is another's.
    pub(super) async fn go(&mut self) -> Over {
        let node = &self.watcher.node;
        let (watch, run, asked) = (&self.run.watch, self.run.id, self.run.asked);
        match self.is_new {
            true => tracing::info!(%watch, %run, asked, "watch run begins"),
            false => tracing::info!(%watch, %run, asked, sent = self.run.counts.sent, "watch run goes on here"),
        }
        let (watcher, lease) = (self.watcher, self.lease);
        let stopped = async {
            node.stopped().await;
            node.clock.pause(STOP_GRACE).await;
        };
        let worked = tokio::select! { biased;
            () = kept(watcher, lease) => Err(Stopped::Lost),
            worked = self.work() => worked,
            () = stopped => Err(Stopped::Left),
        };
        let (state, error) = match worked {
            Ok(()) => (RunState::Done, None),
            Err(Stopped::GivenUp(error)) => (RunState::GivenUp, Some(error)),
            Err(Stopped::Lost) => {
                tracing::warn!(watch = %self.run.watch, run = %self.run.id, "watch run is another node's, or the store failed");
                return Over::Lost;
            }
            Err(Stopped::Left) => {
                if let Err(error) = watcher.node.store.leave_run(lease).await {
                    tracing::debug!(%error, "a run could not be given back; it ends by itself");
                }
                return Over::Left;
            }
        };
        match self.end(state, error).await {
            Ok(()) => Over::Ended(Box::new(self.run.clone())),
            Err(error) => {
                watcher.node.health.failed(&error);
                Over::Lost
            }
        }
    }

    async fn work(&mut self) -> Result<(), Stopped> {
        let source = self.watcher.source.clone();
        let standing = match retried!(self, source.check()) {
            Ok(standing) => standing,
            Err(stopped) => {
                if let Stopped::GivenUp(why) = &stopped {
                    lock(&self.watcher.here).problem = Some(why.clone());
                }
                return Err(stopped);
            }
        };
        self.stands(&standing);
        self.finish_left(&standing.mode).await?;
        let watch = self.watcher.watch.clone();
        let bounds = Bounds {
            from: self.at,
            until: plus(self.at, signed(watch.window)),
            sent_before: matches!(standing.mode, Mode::Column(_)).then(|| minus(self.at, watch.again_after)),
        };
        let mut place = self.run.place.clone();
        loop {
            if self.watcher.node.stopping() {
                return Err(Stopped::Left);
            }
            let begun = self.watcher.node.clock.run_for();
            let mut rows = match place {
                None => retried!(self, source.nameless(bounds, watch.batch))?,
                Some(_) => Vec::new(),
            };
            let page = retried!(self, source.read(bounds, place.as_ref(), watch.batch))?;
            let next = place_after(&page, watch.batch);
            rows.extend(page);
            self.spent.reading += self.watcher.node.clock.run_for().saturating_sub(begun);
            self.batch(&standing.mode, rows, next.clone()).await?;
            if next.is_none() || next == place {
                return Ok(());
            }
            place = next;
        }
    }

    /// Says how the table stands, where it stands otherwise than before.
    fn stands(&self, standing: &Standing) {
        let mut here = lock(&self.watcher.here);
        here.problem = None;
        if here.standing.as_ref() == Some(standing) {
            return;
        }
        let watch = &self.run.watch;
        if let (Mode::Ledger(why), Some(sent)) = (&standing.mode, &self.watcher.watch.sent) {
            tracing::warn!(%watch, %sent, %why, "it cannot mark rows, and keeps its own ledger instead");
        }
        for warning in &standing.warnings {
            tracing::warn!(%watch, "{warning}");
        }
        here.standing = Some(standing.clone());
    }

    /// Counts a bad row, and says it if it is among the first.
    pub(super) fn bad(&mut self, bad: &BadRow) {
        self.run.counts.failed += 1;
        if self.bad.len() < BAD_SAID_MAX {
            let (watch, run) = (&self.run.watch, self.run.id);
            tracing::warn!(%watch, %run, key = %bad.key, field = bad.field, problem = %bad.problem, "a row cannot be reminded of");
            self.bad.push(bad.clone());
        }
    }

    async fn end(&mut self, state: RunState, error: Option<String>) -> Result<(), StoreError> {
        let node = &self.watcher.node;
        let now = self.watcher.now();
        (self.run.state, self.run.error, self.run.ended_at) = (state, error.clone(), Some(now));
        let (counts, seconds) = (self.run.counts, self.run.seconds(now));
        let rounded = |span: Duration| (span.as_secs_f64() * 1000.0).round() / 1000.0;
        let shown = |bad: &BadRow| match &bad.field {
            Some(field) => format!("{}: {field}: {}", bad.key, bad.problem),
            None => format!("{}: {}", bad.key, bad.problem),
        };
        let ended = WatchEnded {
            watch: self.run.watch.clone(),
            run: self.run.id.to_string(),
            asked: self.run.asked,
            state: state.as_str(),
            seen: counts.seen,
            sent: counts.sent,
            skipped: counts.skipped,
            failed: counts.failed,
            retried: counts.retried,
            seconds,
            reading_seconds: rounded(self.spent.reading),
            marking_seconds: rounded(self.spent.marking),
            writing_seconds: rounded(self.spent.writing),
            taken_over: self.lease.number.saturating_sub(1),
            bad: self.bad.iter().map(shown).collect(),
            error: error.clone(),
        };
        let end = EndRun { lease: self.lease, state, error, counts, data: Data::WatchRun(Box::new(ended)), now };
        node.store.end_run(end).await?;
        node.journal.written();
        let punctual_core::watch::Counts { seen, sent, skipped, failed, retried } = counts;
        let (watch, run) = (&self.run.watch, self.run.id);
        let error = self.run.error.as_deref();
        tracing::info!(%watch, %run, %state, seen, sent, skipped, failed, retried, seconds, error, "watch run ends");
        node.metrics.watch_runs.get_or_create(&WatchRunLabels { watch: watch.clone(), state: state.as_str() }).inc();
        node.metrics.watch_run_seconds.observe(seconds);
        for (outcome, n) in [("sent", sent), ("skipped", skipped), ("failed", failed)] {
            let labels = WatchRowLabels { watch: watch.clone(), outcome };
            node.metrics.watch_rows.get_or_create(&labels).inc_by(n);
        }
        Ok(())
    }

    /// A failure of the store, for a run that cannot go on.
    pub(super) fn failed(&self, error: &StoreError) -> Stopped {
        if !matches!(error, StoreError::LeaseLost) {
            self.watcher.node.health.failed(error);
        }
        Stopped::Lost
    }

    /// Waits before the next try; `None`: there is none.
    pub(super) async fn wait_again(&mut self, n_tried: usize) -> Option<()> {
        let wait = *WAITS.get(n_tried)?;
        self.run.counts.retried += 1;
        self.watcher.node.clock.pause(wait).await;
        Some(())
    }
}

/// Ends when the run is not this node's any more.
async fn kept(watcher: &Watcher, lease: RunLease) {
    let node = &watcher.node;
    if !watcher.peers.is_shared() {
        return std::future::pending().await;
    }
    let mut kept_at = node.clock.run_for();
    loop {
        node.clock.pause(KEEP_EVERY).await;
        let asked_at = node.clock.run_for();
        let left = (kept_at + RUN_FOR.saturating_sub(EARLIER)).saturating_sub(asked_at);
        match within(&*node.clock, left.max(Duration::from_millis(100)), node.store.keep_run(lease)).await {
            Some(Ok(true)) => kept_at = asked_at,
            Some(Ok(false)) => return,
            Some(Err(error)) => node.health.failed(&error),
            None => {}
        }
        if node.clock.run_for() > kept_at + RUN_FOR.saturating_sub(EARLIER) {
            return;
        }
    }
}

/// Whether trying again may help.
pub(super) fn may_help(error: &SourceError) -> bool {
    matches!(error, SourceError::Lost(_) | SourceError::Busy(_))
}
