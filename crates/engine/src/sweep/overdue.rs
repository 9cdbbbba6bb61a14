//! Looks for overdue runs, of which there should be none.
//!
//! A healthy engine finds nothing here, so every find is counted and said aloud. It is the last net under the timer: it reads the
//! store afresh and forgets what the timer believed. One find may be a bad moment; more than a few a day are an alert.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::{StoreError, UpcomingQuery};

use crate::flight::Flights;
use crate::instant::minus;
use crate::node::Node;
use crate::timer::Timer;

/// More finds than this within a day raise the alert.
const FINDS_MAX: usize = 5;
/// The most that are counted in one sweep.
const COUNT_MAX: usize = 1000;
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The finds of the last day.
#[derive(Default)]
struct Finds(VecDeque<(Timestamp, usize)>);

impl Finds {
    fn add(&mut self, n: usize, now: Timestamp) {
        self.0.push_back((now, n));
    }

    fn within_a_day(&mut self, now: Timestamp) -> usize {
        self.0.retain(|(at, _)| now.duration_since(*at).abs() < DAY);
        self.0.iter().map(|(_, n)| n).sum()
    }
}

/// The last net under the timer.
pub(crate) struct Sweep {
    pub(crate) node: Node,
    pub(crate) timer: Arc<Timer>,
    pub(crate) flights: Arc<Flights>,
}

impl Sweep {
    pub(crate) async fn run(self) {
        let mut finds = Finds::default();
        while self.node.pause(self.node.settings.fallback_interval).await {
            if let Err(error) = self.run_once(&mut finds).await {
                self.node.health.failed(&error);
            }
            self.judge(&mut finds);
        }
    }

    /// Raises the alert, or ends it.
    fn judge(&self, finds: &mut Finds) {
        let n_finds = finds.within_a_day(self.node.now());
        let is_alert = n_finds > FINDS_MAX;
        let was_alert = self.node.metrics.fallback_alert.set(i64::from(is_alert)) > 0;
        if is_alert && !was_alert {
            tracing::error!(
                n_finds,
                "alert: the safety sweep found more than {FINDS_MAX} overdue reminders within a day; \
                 look at the clock, the database and the load of this machine"
            );
        } else if was_alert && !is_alert {
            tracing::info!("the safety sweep has found next to nothing for a day: the alert is over");
        }
    }

    async fn run_once(&self, finds: &mut Finds) -> Result<(), StoreError> {
        let Self { node, timer, .. } = self;
        let is_known = timer.has_backlog() || self.flights.len() > 0;
        let grace_ends = minus(node.now(), node.settings.fallback_grace);
        let overdue = UpcomingQuery { from: grace_ends, until: Timestamp::MAX, shards: Shards::ALL, limit: 0 };
        let upcoming = node.store.upcoming(overdue).await?;
        if let Some(since) = upcoming.overdue_since
            && !is_known
        {
            let all = UpcomingQuery { from: Timestamp::MIN, until: grace_ends, shards: Shards::ALL, limit: COUNT_MAX };
            let n_found = node.store.upcoming(all).await?.instants.len().max(1);
            finds.add(n_found, node.now());
            self.node.metrics.fallback_found.inc_by(n_found as u64);
            tracing::warn!(%since, n_found, "the safety sweep found something overdue that the timer had missed");
            timer.find();
        }
        timer.reset();
        node.store.forget_answered(node.now()).await
    }
}
