//! Which admins are told of a run of a critical reminder.
//!
//! A store loads the runs that a [`Writes`] has news of, after it has written them, and the admins; [`alerts_about`] makes the alerts;
//! the store says which of them are there already; [`told`] says what is written.

use crate::alarm::NextRun;
use crate::alert::{Alert, News, Unreadable, alerts, alerts_of_unreadable, looked_for, to_write};
use crate::id::{OccurrenceId, ReminderId};
use crate::journal::{Data, Entry, Kind, Who};
use crate::occurrence::{Attempt, Occurrence, StateKind};
use crate::reminder::Reminder;
use crate::store::{Claims, Settled};
use crate::user::User;
use crate::writes::Writes;
use jiff::Timestamp;

/// A run that there is news of.
#[derive(Debug, Clone)]
pub struct Newsworthy {
    /// What is new.
    pub news: News,
    /// Its reminder.
    pub reminder: Reminder,
    /// The run.
    pub occurrence: Occurrence,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
}

/// The alerts about some runs.
#[derive(Debug, Default)]
pub struct Alerts(Vec<About>);

/// The alerts about one run.
#[derive(Debug)]
struct About {
    id: OccurrenceId,
    /// Whose it is.
    user: String,
    news: &'static str,
    alerts: Vec<Alert>,
}

/// Makes the alerts that tell `admins`.
pub fn alerts_about(runs: &[Newsworthy], unreadable: &[Unreadable], admins: &[User], now: Timestamp) -> Alerts {
    let readable = runs.iter().map(|run| {
        let Newsworthy { news, reminder, occurrence, attempts } = run;
        let alerts = alerts(*news, reminder, occurrence, attempts, admins, now);
        About { id: occurrence.id, user: reminder.user.clone(), news: news.word(&occurrence.state), alerts }
    });
    let others = unreadable.iter().map(|run| {
        let (user, alerts) = (run.user.clone(), alerts_of_unreadable(run, admins, now));
        About { id: run.id, user, news: StateKind::Failed.as_str(), alerts }
    });
    Alerts(readable.chain(others).collect())
}

impl Alerts {
    /// The alerts whose presence decides what is written.
    pub fn looked_for(&self) -> Vec<ReminderId> {
        self.0.iter().flat_map(|about| looked_for(&about.alerts)).collect()
    }
}

/// What is written when those of [`Alerts::looked_for`] in `there` have been written before; and the runs that it plans.
pub fn told(alerts: Alerts, there: &[ReminderId], now: Timestamp) -> (Writes, Vec<NextRun>) {
    let mut writes = Writes::new(now);
    let mut planned = Vec::new();
    for About { id, user, news, alerts } in alerts.0 {
        let new = to_write(alerts, there);
        if new.is_empty() {
            continue;
        }
        let to = new.iter().map(|new| new.reminder.user.clone()).collect();
        writes.entries.push(Entry::of_engine(now, Kind::Alerted, id, Some(&user), Data::Told { news, to }));
        planned.extend(new.iter().map(|new| NextRun::of(&new.reminder, new.first_due_at)));
        writes.create(new, &Who::ENGINE);
    }
    (writes, planned)
}

impl Claims {
    /// Adds the runs of alerts, which were planned when the claim was written.
    pub fn add_alerts(&mut self, planned: Vec<NextRun>) {
        self.wakes.extend(planned.iter().map(|run| run.at));
        self.next_runs.extend(planned);
    }
}

impl Settled {
    /// Adds the runs of alerts, which were planned when the settlements were written.
    pub fn add_alerts(&mut self, planned: Vec<NextRun>) {
        self.wakes.extend(planned.iter().map(|run| run.at));
        self.next_runs.extend(planned);
    }
}
