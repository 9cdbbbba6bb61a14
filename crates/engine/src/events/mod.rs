//! Planning the reminders of events.
//!
//! An event that was written on this node is planned in the same transaction. What others write, what a changed scope or group concerns, and series
//! whose next instances come near are planned here: a store says when the next event must be looked at, and hints wake the planner before that.
//! Any number of nodes plan side by side; a store steps around what another is just planning.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::clock::within;
use punctual_core::journal::Who;
use punctual_core::store::{ByPlanner, PLANNED_AT_ONCE, PlannedEvent, PlannedEvents, StoreError};
use tokio::sync::Notify;

use crate::alarm::Alarms;
use crate::leases::Leases;
use crate::log::Kind;
use crate::node::Node;
use crate::peers::Peers;
use crate::timer::Timer;

/// So many transactions plan at once on a node.
pub(crate) const PASSES: usize = 2;
/// How often a command looks again for a run that it can take back from its sender.
const TAKE_BACK_TRIES: u32 = 20;
/// How long it waits in between.
const TAKE_BACK_AGAIN_AFTER: Duration = Duration::from_millis(5);
/// How long to wait where others are just planning what is due, or an application has it locked. It doubles each time, and an application that
/// keeps its transaction open costs a node no more than two looks a second.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(1);
/// How often a node looks that does not hear what others change.
const DEAF_EVERY: Duration = Duration::from_secs(1);
/// How long to wait after the store failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(500);
/// How long a command waits until the events that it concerns are planned. What is left then is planned all the same.
const CATCH_UP_MAX: Duration = Duration::from_secs(10);

/// Plans the reminders of events.
pub(crate) struct Planner {
    pub(crate) node: Node,
    pub(crate) timer: Arc<Timer>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) alarms: Arc<Alarms>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) nudged: Notify,
}

impl Planner {
    /// Has the planner look now.
    pub(crate) fn nudge(&self) {
        self.nudged.notify_one();
    }

    pub(crate) async fn run(self: Arc<Self>) {
        let mut elsewhere = LOOK_AGAIN_AFTER;
        while !self.node.stopping() {
            let next = self.pass().await;
            let look_again = elsewhere;
            elsewhere = match next {
                Ok(Next::Elsewhere) => (elsewhere * 2).min(LOOK_AGAIN_MAX),
                _ => LOOK_AGAIN_AFTER,
            };
            let wait = match next {
                Ok(Next::At(next_at)) => self.wait_until(next_at),
                // Another task can begin with the rest.
                Ok(Next::Now) => {
                    self.nudge();
                    continue;
                }
                Ok(Next::Elsewhere) => look_again,
                Err(error) => {
                    self.node.health.failed(&error);
                    PAUSE_AFTER_FAILURE
                }
            };
            tokio::select! { biased;
                () = self.node.stopped() => return,
                () = self.nudged.notified() => {}
                () = self.node.clock.pause(wait) => {}
            }
        }
    }

    /// How long to wait for the next event: the safety sweep's interval at most.
    fn wait_until(&self, next_at: Timestamp) -> Duration {
        let is_deaf = self.peers.is_shared() && !self.peers.hears();
        let max = if is_deaf { DEAF_EVERY } else { self.node.settings.fallback_interval };
        Duration::try_from(next_at.duration_since(self.node.now())).unwrap_or_default().min(max)
    }

    /// Plans the events whose moment has come, in one transaction; says what comes next.
    async fn pass(&self) -> Result<Next, StoreError> {
        let planned = self.node.store.plan_events(None, self.by(Who::ENGINE)).await?;
        let (next_at, n_events) = (planned.next_at.unwrap_or(Timestamp::MAX), planned.events.len());
        self.finish(planned, &Who::ENGINE).await?;
        Ok(match next_at <= self.node.now() {
            true if n_events == 0 => Next::Elsewhere,
            true => Next::Now,
            false if n_events >= PLANNED_AT_ONCE => Next::Now,
            false => Next::At(next_at),
        })
    }

    /// Plans until nothing is left to do, though not for long.
    pub(crate) async fn catch_up(&self) -> Result<(), StoreError> {
        // Others help.
        self.nudge();
        let passes = async {
            let mut elsewhere = LOOK_AGAIN_AFTER;
            loop {
                match self.pass().await? {
                    Next::Now => elsewhere = LOOK_AGAIN_AFTER,
                    Next::Elsewhere => {
                        self.node.clock.pause(elsewhere).await;
                        elsewhere = (elsewhere * 2).min(LOOK_AGAIN_MAX);
                    }
                    Next::At(_) => return Ok(()),
                }
            }
        };
        within(&*self.node.clock, CATCH_UP_MAX, passes).await.unwrap_or(Ok(()))
    }

    /// Who has events planned now, for `who`.
    pub(crate) fn by(&self, who: Who) -> ByPlanner {
        ByPlanner { who, zone: self.node.settings.timezone.clone(), now: self.node.now() }
    }

    /// Lets everybody know what was planned. Where a run is about to be sent that must change, its sender is asked for it back, and its event is
    /// planned again; where the send has begun, the event is looked at when that has ended. Returns whether something is left to plan.
    pub(crate) async fn finish(&self, planned: PlannedEvents, who: &Who) -> Result<bool, StoreError> {
        let mut is_left = planned.is_unfinished;
        let mut busy = self.took(planned);
        let mut n_tries = 0_u32;
        while !busy.reminders.is_empty() && n_tries < TAKE_BACK_TRIES {
            let Busy { keys, reminders } = busy;
            // The claimer's answer may be on its way; and another node's flight may have begun meanwhile.
            let back_at = self.leases.stop(&reminders).await;
            if reminders.iter().all(|id| self.leases.flights.has_begun(*id)) {
                self.timer.wake_at(back_at);
                break;
            }
            if n_tries.is_power_of_two() && self.peers.is_shared() {
                for id in &reminders {
                    if let Err(error) = self.node.store.recall(*id).await {
                        tracing::debug!(%error, "could not ask for it back");
                    }
                }
            }
            if n_tries > 0 {
                self.node.clock.pause(TAKE_BACK_AGAIN_AFTER).await;
            }
            n_tries += 1;
            let again = self.node.store.plan_events(Some(keys), self.by(who.clone())).await;
            // Only now, so that the timer is in no hurry to claim it again before it is planned.
            self.timer.wake_at(back_at);
            let again = again?;
            is_left |= again.is_unfinished;
            busy = self.took(again);
        }
        Ok(is_left)
    }

    /// Lets everybody know what a command has planned, and goes on with what it has left. The planner does not look by itself at what was left
    /// here.
    pub(crate) async fn finish_all(&self, planned: PlannedEvents, who: &Who) -> Result<(), StoreError> {
        match self.finish(planned, who).await? {
            true => self.catch_up().await,
            false => Ok(()),
        }
    }

    /// Plans an event that a command has marked.
    pub(crate) async fn plan(&self, key: String, who: &Who) -> Result<(), StoreError> {
        // Should it fail here, the planner comes to it.
        self.nudge();
        let planned = self.node.store.plan_events(Some(vec![key]), self.by(who.clone())).await?;
        self.finish_all(planned, who).await
    }

    /// Lets everybody know what was planned; returns what must change and is being sent.
    fn took(&self, planned: PlannedEvents) -> Busy {
        let PlannedEvents { events, wakes, next_runs, busy, is_unfinished: _, next_at: _ } = planned;
        self.timer.wake_at(wakes);
        self.alarms.planned(next_runs);
        if events.iter().any(PlannedEvent::is_told) {
            self.node.journal.written();
        }
        for event in &events {
            self.say(event);
        }
        let keys = events.into_iter().filter(|event| event.is_unfinished).map(|event| event.key).collect();
        Busy { keys, reminders: busy }
    }

    fn say(&self, event: &PlannedEvent) {
        let PlannedEvent { key, n_planned, n_made, n_moved, n_withdrawn, n_missed, .. } = event;
        if let Some(error) = &event.error {
            tracing::warn!(%key, %error, "an event cannot be planned; its reminders stay as they are");
        } else if event.is_told() && self.node.says(Kind::Planned) {
            let (planned, made, moved, withdrawn, missed) = (n_planned, n_made, n_moved, n_withdrawn, n_missed);
            tracing::info!(%key, planned, made, moved, withdrawn, missed, "event planned");
        }
    }
}

/// What a planner does next.
enum Next {
    /// There is more to do at once.
    Now,
    /// Others have what is due.
    Elsewhere,
    /// Nothing is due before then.
    At(Timestamp),
}

/// Events that are not finished, because reminders of theirs are being sent.
struct Busy {
    keys: Vec<String>,
    reminders: Vec<punctual_core::id::ReminderId>,
}
