//! Flights whose instant has not come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::flight::Flight;
use crate::node::lock;

/// Flights whose instant has not come, in the order of their instants.
#[derive(Default)]
pub(super) struct Early {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Default)]
struct Queue {
    by_instant: BTreeMap<(Timestamp, u64), Arc<Flight>>,
    last_number: u64,
}

impl Queue {
    fn first(&self) -> Option<Timestamp> {
        self.by_instant.first_key_value().map(|((at, _), _)| *at)
    }
}

impl Early {
    pub(super) fn add(&self, flights: impl IntoIterator<Item = Arc<Flight>>) {
        let mut queue = lock(&self.queue);
        let before = queue.first();
        for flight in flights {
            queue.last_number += 1;
            let key = (flight.instant(), queue.last_number);
            queue.by_instant.insert(key, flight);
        }
        let first = queue.first();
        drop(queue);
        if first != before {
            self.changed.notify_one();
        }
    }

    /// The first instant.
    pub(super) fn first(&self) -> Option<Timestamp> {
        lock(&self.queue).first()
    }

    /// Waits until the first instant is another one.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes the flights whose instant has come.
    pub(super) fn take_due(&self, now: Timestamp) -> Vec<Arc<Flight>> {
        let mut queue = lock(&self.queue);
        let mut due = Vec::new();
        while let Some(entry) = queue.by_instant.first_entry() {
            if entry.key().0 > now {
                break;
            }
            due.push(entry.remove());
        }
        due
    }
}
