//! Creates that wait share a transaction.
//!
//! Each commit waits for the disk. While a few are being made, new callers wait, and the next commit takes all of them: sixty
//! callers that create at once pay for a handful of commits.

use std::sync::{Arc, Mutex};

use punctual_core::store::{Create, StoreError};
use tokio::sync::{Semaphore, oneshot};

use super::{PostgresStore, create, lock};

/// Transactions under way at once. More would make smaller groups.
const AT_ONCE_MAX: usize = 3;
/// The most reminders in a group; what is larger goes by itself.
const REMINDERS_MAX: usize = 1024;

pub(super) struct SharedCommits {
    waiting: Mutex<Vec<Waiting>>,
    turns: Semaphore,
}

struct Waiting {
    create: Arc<Create>,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl SharedCommits {
    pub(super) fn new() -> Self {
        Self { waiting: Mutex::default(), turns: Semaphore::new(AT_ONCE_MAX) }
    }

    /// The next group.
    fn take(&self) -> Vec<Waiting> {
        let mut waiting = lock(&self.waiting);
        let mut n_reminders = 0;
        let mut fits = |waiting: &Waiting| {
            n_reminders += waiting.create.reminders.len();
            n_reminders <= REMINDERS_MAX
        };
        let n_taken = waiting.iter().map_while(|one| fits(one).then_some(())).count();
        waiting.drain(..n_taken).collect()
    }
}

impl PostgresStore {
    /// Writes `create`, together with whatever waits beside it.
    pub(super) async fn create_shared(&self, create: Create) -> Result<(), StoreError> {
        if create.reminders.len() > REMINDERS_MAX / 4 {
            return self.write_new(&create.writes(), false).await;
        }
        let create = Arc::new(create);
        let (answer, mut answered) = oneshot::channel();
        lock(&self.shared_commits.waiting).push(Waiting { create: Arc::clone(&create), answer });
        while answered.is_empty() {
            let Ok(_turn) = self.shared_commits.turns.acquire().await else { break };
            let group = self.shared_commits.take();
            if group.is_empty() {
                break;
            }
            self.create_group(group).await;
        }
        match (&mut answered).await {
            Ok(result) => result,
            // Whoever had it went away in the middle. Its ids make it safe to repeat.
            Err(_) => self.write_new(&Arc::unwrap_or_clone(create).writes(), true).await,
        }
    }

    async fn create_group(&self, group: Vec<Waiting>) {
        let creates = group.iter().map(|waiting| Create::clone(&waiting.create)).collect();
        let Some(writes) = create::together(creates) else { return };
        let together = self.write_new(&writes, false).await;
        let results = match together {
            Err(StoreError::KeyUsed | StoreError::Broken(_)) if group.len() > 1 => {
                // One of them cannot be written, and must not stop the others.
                let mut results = Vec::with_capacity(group.len());
                for waiting in &group {
                    results.push(self.write_new(&Create::clone(&waiting.create).writes(), false).await);
                }
                results
            }
            together => vec![together; group.len()],
        };
        for (waiting, result) in group.into_iter().zip(results) {
            // Who no longer waits need not know.
            let _ = waiting.answer.send(result);
        }
    }
}
