//! Setting the reminders that other programs write in the store itself.
//!
//! A program that calls `punctual.remind` in its own transaction tells nodes only of what is due soon. The audit trail names every
//! such reminder, so each node that sets an alarm reads the newest entries of it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::store::{AuditQuery, StoreError};

use super::Alarms;
use crate::instant::minus;
use crate::node::Node;
use crate::peers::Peers;

/// How often the trail is read.
const EVERY: Duration = Duration::from_secs(2);
/// Entries are numbered before they are committed, so what is this old is read again: a transaction may just have ended. The
/// reminders of a transaction that was open for longer are set when everything is set again.
const OPEN_FOR: Duration = Duration::from_secs(60);
/// How many entries are read at once.
const PAGE: usize = 500;
/// After so many pages the rest is left until everything is set again.
const PAGES_MAX: usize = 20;
/// The actor of a program that writes in SQL begins with this in the audit trail.
const IN_SQL: &str = "sql:";

/// How far the trail has been read.
#[derive(Default)]
struct ReadSoFar {
    /// The newest entry at each of the latest readings.
    newest: VecDeque<(Timestamp, i64)>,
    /// Entries after the oldest of these that have been acted on.
    known: BTreeSet<i64>,
}

/// Sets the alarms of reminders that other programs make, for as long as the engine runs. A store that is not shared has no other writers.
pub(crate) async fn follow(node: Node, alarms: Arc<Alarms>, peers: Arc<Peers>) {
    if alarms.alarm().is_none() || !peers.is_shared() {
        return;
    }
    let mut trail = ReadSoFar::default();
    loop {
        if let Err(error) = follow_once(&node, &alarms, &mut trail).await {
            node.health.failed(&error);
        }
        if !node.pause(EVERY).await {
            return;
        }
    }
}

async fn follow_once(node: &Node, alarms: &Alarms, trail: &mut ReadSoFar) -> Result<(), StoreError> {
    let now = node.now();
    let since = trail.since(now);
    let mut changed: BTreeSet<ReminderId> = BTreeSet::new();
    let (mut newest, mut before) = (None, None);
    let mut numbers = Vec::new();
    for _ in 0..PAGES_MAX {
        let page = node.store.audit(AuditQuery { reminder: None, before, limit: PAGE }).await?;
        newest = newest.or(page.first().map(|entry| entry.number));
        before = page.last().map(|entry| entry.number);
        for entry in page.iter().filter(|entry| entry.actor.starts_with(IN_SQL)) {
            if Some(entry.number) > since && !trail.known.contains(&entry.number) {
                changed.insert(entry.reminder);
                numbers.push(entry.number);
            }
        }
        // Entries from before the start are set with everything else.
        if since.is_none() || page.len() < PAGE || before <= since {
            break;
        }
    }
    set(node, alarms, changed.into_iter().collect()).await?;
    trail.known.extend(numbers);
    trail.newest.push_back((now, newest.unwrap_or(0)));
    Ok(())
}

/// Sets what is left to come of these reminders. One that cannot be read stops no other.
async fn set(node: &Node, alarms: &Alarms, ids: Vec<ReminderId>) -> Result<(), StoreError> {
    let views = match node.store.existing(ids.clone()).await {
        Err(StoreError::Broken(_)) if ids.len() > 1 => {
            for id in ids {
                Box::pin(set(node, alarms, vec![id])).await?;
            }
            return Ok(());
        }
        Err(StoreError::Broken(error)) => {
            tracing::warn!(reminder = ?ids.first(), %error, "a reminder made in SQL cannot be read, and is not set in the alarm");
            return Ok(());
        }
        views => views?,
    };
    for view in &views {
        alarms.changed(view);
    }
    Ok(())
}

impl ReadSoFar {
    /// The entry after which the trail is read, and forgets what is older.
    fn since(&mut self, now: Timestamp) -> Option<i64> {
        let open_since = minus(now, OPEN_FOR);
        // A clock that was set back must not make this grow.
        let n_max = (OPEN_FOR.as_secs() / EVERY.as_secs()) as usize;
        while self.newest.get(1).is_some_and(|(at, _)| *at <= open_since) || self.newest.len() > n_max {
            self.newest.pop_front();
        }
        let since = self.newest.front().map(|(_, number)| *number);
        self.known = self.known.split_off(&since.map_or(i64::MIN, |since| since.saturating_add(1)));
        since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_of_the_trail_is_read_again() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut trail = ReadSoFar::default();
        assert_eq!(trail.since(at(0)), None);
        for second in [0, 10, 20] {
            trail.newest.push_back((at(second), second * 100));
        }
        trail.known.extend([500, 1500]);
        assert_eq!(trail.since(at(60)), Some(0));
        assert_eq!(trail.since(at(69)), Some(0));
        assert_eq!((trail.since(at(70)), trail.known.len()), (Some(1000), 1), "older ones are forgotten");
        let n_max = (OPEN_FOR.as_secs() / EVERY.as_secs()) as i64;
        for number in 0..=n_max {
            trail.newest.push_back((at(0), number));
        }
        trail.since(at(0));
        assert_eq!(trail.newest.len() as i64, n_max, "also where the clock stands still");
    }
}
