//! Reminders with all that belongs to them, once for every store.

use std::collections::{BTreeMap, HashMap};

use punctual_core::decide::claim::Due;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::Attempt;
use punctual_core::reminder::Reminder;
use punctual_core::rules::course::Progress;
use punctual_core::store::{Response, StoreError, WholeQuery, Wholly};
use punctual_core::whole::{PAGE_RUNS_MAX, Whole, WholeRun};

use crate::rows::{self, Fields, Reader};

/// The reminders of a page, before their runs are read.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) reminders: BTreeMap<ReminderId, (Reminder, Progress)>,
    unreadable: Vec<(ReminderId, String)>,
    last: Option<ReminderId>,
    n_runs: usize,
    is_full: bool,
}

impl Found {
    /// Adds a row of [`rows::REMINDER`] and [`rows::PROGRESS`], unless the page is full.
    pub(crate) fn add<F: Fields>(&mut self, row: &F, query: &WholeQuery) -> Result<(), StoreError> {
        if self.is_full {
            return Ok(());
        }
        let mut from = Reader::new(row, 0);
        let id = Reader::new(row, 0).id()?;
        self.last = Some(id);
        match rows::reminder(&mut from).and_then(|reminder| Ok((reminder, rows::progress(&mut from)?))) {
            Ok((reminder, progress)) => {
                self.n_runs += (progress.series.last_run as usize).min(query.runs_max);
                self.reminders.insert(id, (reminder, progress));
            }
            Err(error) => self.unreadable.push((id, error.to_string())),
        }
        self.is_full = self.n_runs >= PAGE_RUNS_MAX;
        Ok(())
    }

    /// The page, when these are the runs of its reminders, and of those in `more` there are others below that run.
    pub(crate) fn page(mut self, runs: Vec<WholeRun>, more: &HashMap<ReminderId, u32>) -> Wholly {
        let mut by_reminder: HashMap<ReminderId, Vec<WholeRun>> = HashMap::new();
        for run in runs {
            by_reminder.entry(run.occurrence.id.reminder).or_default().push(run);
        }
        let mut wholes = Vec::with_capacity(self.reminders.len());
        for (id, (reminder, progress)) in std::mem::take(&mut self.reminders) {
            let runs = by_reminder.remove(&id).unwrap_or_default();
            wholes.push(Whole { reminder, progress, runs, more_below: more.get(&id).copied() });
        }
        Wholly { wholes, unreadable: self.unreadable, last: self.last }
    }

    /// Leaves out a reminder with a run that cannot be read.
    pub(crate) fn set_aside(&mut self, id: ReminderId, error: &StoreError) {
        if self.reminders.remove(&id).is_some() {
            self.unreadable.push((id, error.to_string()));
        }
    }
}

/// Runs with their attempts and answers, in the order of their names.
pub(crate) fn put_together(
    due: Vec<Due>,
    attempts: Vec<(OccurrenceId, Attempt)>,
    responses: Vec<Response>,
) -> Vec<WholeRun> {
    let mut runs: BTreeMap<OccurrenceId, WholeRun> = BTreeMap::new();
    for Due { occurrence, lease, .. } in due {
        let (attempts, responses) = (Vec::new(), Vec::new());
        runs.insert(occurrence.id, WholeRun { occurrence, lease, attempts, responses });
    }
    for (id, attempt) in attempts {
        if let Some(run) = runs.get_mut(&id) {
            run.attempts.push(attempt);
        }
    }
    for response in responses {
        if let Some(run) = runs.get_mut(&response.occurrence) {
            run.responses.push(response);
        }
    }
    runs.into_values().collect()
}
