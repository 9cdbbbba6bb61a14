//! One batch of rows, from reading to reminders.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use punctual_core::rules::watch::{DueRow, Form, Found, Step, bad, due_row, intent, reminder, resume};
use punctual_core::source::{Mark, Mode, SourceError};
use punctual_core::store::{FinishRows, NewReminder, ReminderView};
use punctual_core::watch::{BAD_MAX, BadRow, Intent, LedgerRow, Place, SourceRow};
use punctual_core::zone::Zone;

use super::Watcher;
use super::run::{Run, Stopped};
use crate::Engine;

/// So many busy rows in a row, and the rest of the batch is not tried in this round: the whole table is locked.
const BUSY_MAX: usize = 20;
/// What is said of a row that cannot be looked up any more.
const ELSEWHERE: &str =
    "was left half done, and the watch has other rows since: whether it was marked cannot be looked up";

/// What became of rows that were to be marked.
#[derive(Default)]
pub(super) struct Marked {
    /// Their reminders are made.
    created: Vec<Intent>,
    /// Somebody else has dealt with them.
    skipped: Vec<Intent>,
    /// They could not be marked.
    failed: Vec<(Intent, String)>,
    /// Another program has them locked, maybe a statement of a node that is gone: it may still mark them. Their intents stay.
    left: Vec<Intent>,
}

impl Marked {
    fn add(&mut self, other: Self) {
        let Self { created, skipped, failed, left } = other;
        self.created.extend(created);
        self.skipped.extend(skipped);
        self.failed.extend(failed);
        self.left.extend(left);
    }
}

/// Rows that are to be reminded of, and those that cannot be.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) intents: Vec<Intent>,
    /// When each is due, and how many reminders there were before, where the ledger says.
    pub(super) ledger: Vec<LedgerRow>,
    pub(super) bad: Vec<BadRow>,
}

impl Watcher {
    /// Which of `rows` are reminded of at `at`, and how.
    pub(super) async fn candidates(
        &self,
        mode: &Mode,
        rows: Vec<SourceRow>,
        run: (punctual_core::id::WatchRunId, Timestamp),
    ) -> Result<Candidates, punctual_core::store::StoreError> {
        let (watch, store) = (&self.watch, &self.node.store);
        let mut found = Candidates::default();
        let mut n_of: BTreeMap<String, usize> = BTreeMap::new();
        for key in rows.iter().filter_map(|row| row.key.as_ref()) {
            *n_of.entry(key.kept()).or_default() += 1;
        }
        let known = store.ledger_of(&watch.name, n_of.keys().cloned().collect()).await?;
        let ledger: BTreeMap<String, LedgerRow> = known.into_iter().map(|row| (row.key.clone(), row)).collect();
        let keeps_ledger = matches!(mode, Mode::Ledger(_));
        let mut due: Vec<DueRow> = Vec::new();
        for row in rows {
            let key = row.key.as_ref().map(|key| key.kept());
            let known = key.as_ref().and_then(|key| ledger.get(key));
            match due_row(watch, row, known, keeps_ledger, run.1) {
                Ok(None) => {}
                Ok(Some(row)) if key.is_some_and(|key| n_of.get(&key).is_some_and(|n| *n > 1)) => {
                    found.bad.push(bad(&row.key.to_string(), Some(&watch.key), "is not unique"));
                }
                Ok(Some(row)) => due.push(row),
                Err(bad) => found.bad.push(bad),
            }
        }
        let zones = self.zones_of(&due).await?;
        let form = match mode {
            Mode::Column(form) => *form,
            Mode::Ledger(_) => Form::Text,
        };
        let mut intents: Vec<(Intent, Option<LedgerRow>)> = Vec::with_capacity(due.len());
        for row in due {
            let zone = zones.get(&row.user).unwrap_or(&watch.zone);
            let next = row.n_before.map(|n| LedgerRow {
                key: row.key.kept(),
                due_at: row.due_at,
                n: n.saturating_add(1),
                sent_at: run.1,
            });
            intents.push((intent(watch, &self.rows_hash, row, zone, form, run), next));
        }
        let Some(engine) = self.engine() else { return Ok(found) };
        let reminders: Vec<_> = intents.iter().map(|(intent, _)| reminder(watch, intent).reminder).collect();
        let checked = engine.check(&reminders, run.1).await?;
        for ((intent, next), checked) in intents.into_iter().zip(checked) {
            match checked {
                Ok(_) => {
                    found.intents.push(intent);
                    found.ledger.extend(next);
                }
                Err(invalid) => found.bad.push(bad(&intent.key.to_string(), Some(&invalid.field), invalid.problem)),
            }
        }
        Ok(found)
    }

    /// The zones of the users who have one.
    async fn zones_of(&self, rows: &[DueRow]) -> Result<BTreeMap<String, Zone>, punctual_core::store::StoreError> {
        if self.watch.user.is_none() || rows.is_empty() {
            return Ok(BTreeMap::new());
        }
        let users: BTreeSet<&String> = rows.iter().map(|row| &row.user).collect();
        let users = self.node.store.users_of(users.into_iter().cloned().collect()).await?;
        Ok(users.into_iter().filter_map(|user| Some((user.id, user.timezone?))).collect())
    }

    pub(super) fn engine(&self) -> Option<Engine> {
        self.engine.get()?.upgrade().map(|parts| Engine { parts })
    }
}

impl Run<'_> {
    /// Reminds of a batch of rows; afterwards reading goes on after `place`.
    pub(super) async fn batch(
        &mut self,
        mode: &Mode,
        rows: Vec<SourceRow>,
        place: Option<Place>,
    ) -> Result<(), Stopped> {
        let run = (self.run.id, self.at);
        let found = self.watcher.candidates(mode, rows, run).await.map_err(|error| self.failed(&error))?;
        self.run.counts.seen += (found.intents.len() + found.bad.len()) as u64;
        let marked = match mode {
            Mode::Ledger(_) => Marked { created: found.intents, ..Marked::default() },
            Mode::Column(_) if found.intents.is_empty() => Marked::default(),
            Mode::Column(_) => {
                self.intend(&found.intents).await?;
                self.mark(found.intents).await?
            }
        };
        self.finish(marked, found.ledger, found.bad, place).await
    }

    /// Finishes what an earlier run, or the node that had this one before, has left.
    pub(super) async fn finish_left(&mut self, mode: &Mode) -> Result<(), Stopped> {
        loop {
            let (store, watch) = (self.watcher.node.store.clone(), self.run.watch.clone());
            let left = store.intents(&watch).await.map_err(|error| self.failed(&error))?;
            if left.is_empty() {
                return Ok(());
            }
            tracing::info!(%watch, run = %self.run.id, n_left = left.len(), "finishing rows that were left half done");
            let batch = self.watcher.watch.batch;
            for some in left.chunks(batch) {
                self.run.counts.seen += some.len() as u64;
                let is_here = |intent: &Intent| intent.rows == self.watcher.rows_hash;
                let (here, elsewhere): (Vec<_>, Vec<_>) = some.iter().cloned().partition(is_here);
                let mut marked = self.resume(here, matches!(mode, Mode::Column(_)), 0).await?;
                marked.failed.extend(elsewhere.into_iter().map(|intent| (intent, ELSEWHERE.to_owned())));
                self.finish(marked, Vec::new(), Vec::new(), None).await?;
            }
        }
    }

    async fn intend(&mut self, intents: &[Intent]) -> Result<(), Stopped> {
        let node = &self.watcher.node;
        let begun = node.clock.run_for();
        let written = node.store.intend(self.lease, &self.run.watch, intents.to_vec(), node.now()).await;
        self.spent.writing += node.clock.run_for().saturating_sub(begun);
        written.map_err(|error| self.failed(&error))
    }

    /// Marks rows whose intents were written a moment ago: nobody else knows their marks, so a row that is not marked is somebody else's.
    async fn mark(&mut self, intents: Vec<Intent>) -> Result<Marked, Stopped> {
        let begun = self.watcher.node.clock.run_for();
        let marks: Vec<Mark> = intents.iter().map(mark_of).collect();
        let marked = match self.watcher.source.set_sent(&marks).await {
            Ok(set) => Ok(divided(intents, &set)),
            // It may have been done.
            Err(SourceError::Lost(_)) => {
                self.wait_again(0).await;
                self.resume(intents, true, 1).await
            }
            Err(SourceError::Refused(_) | SourceError::Busy(_)) => self.row_by_row(intents).await,
        };
        self.spent.marking += self.watcher.node.clock.run_for().saturating_sub(begun);
        marked
    }

    /// Marks each row by itself: one that cannot be marked does not stop the others.
    async fn row_by_row(&mut self, intents: Vec<Intent>) -> Result<Marked, Stopped> {
        let mut marked = Marked::default();
        let mut left = intents;
        let mut n_tried = 0;
        loop {
            let mut busy: Vec<(Intent, String)> = Vec::new();
            let mut n_in_a_row = 0;
            for intent in left {
                if n_in_a_row >= BUSY_MAX {
                    busy.push((intent, "another program has the row locked".into()));
                    continue;
                }
                match self.watcher.source.set_sent(&[mark_of(&intent)]).await {
                    Ok(set) if set.first() == Some(&true) => marked.created.push(intent),
                    Ok(_) => marked.skipped.push(intent),
                    Err(SourceError::Refused(why)) => marked.failed.push((intent, why)),
                    Err(SourceError::Busy(why)) => {
                        n_in_a_row += 1;
                        busy.push((intent, why));
                        continue;
                    }
                    Err(SourceError::Lost(_)) => {
                        marked.add(self.resume(vec![intent], true, 0).await?);
                    }
                }
                n_in_a_row = 0;
            }
            if busy.is_empty() || self.wait_again(n_tried).await.is_none() {
                marked.failed.extend(busy);
                return Ok(marked);
            }
            n_tried += 1;
            left = busy.into_iter().map(|(intent, _)| intent).collect();
        }
    }

    /// Goes on with rows of which it is not known whether they were marked: their `sent` says it. So many times it was tried before.
    async fn resume(&mut self, intents: Vec<Intent>, may_mark: bool, n_tried: usize) -> Result<Marked, Stopped> {
        let zone = self.watcher.watch.zone.clone();
        let mut marked = Marked::default();
        let found = self.look_up(intents, n_tried, &mut marked).await?;
        let mut unmarked = Vec::new();
        for (intent, found) in found {
            match resume(&intent, &found, &zone) {
                Step::Create => marked.created.push(intent),
                Step::Set if may_mark => unmarked.push(intent),
                Step::Set | Step::Drop => marked.skipped.push(intent),
            }
        }
        if unmarked.is_empty() {
            return Ok(marked);
        }
        let not_set = self.mark_again(unmarked, &mut marked).await?;
        // The node that had the run before may have woken and marked them: then the mark is the intent's own.
        for (intent, found) in self.look_up(not_set, 0, &mut marked).await? {
            match resume(&intent, &found, &zone) {
                Step::Create => marked.created.push(intent),
                Step::Set | Step::Drop => marked.skipped.push(intent),
            }
        }
        Ok(marked)
    }

    /// What `sent` is now, of each of these rows. Where they are refused together, each is looked up by itself: one that cannot be, because its
    /// key is not unique or of another type than the column, fails and stops no other.
    async fn look_up(
        &mut self,
        intents: Vec<Intent>,
        n_tried: usize,
        marked: &mut Marked,
    ) -> Result<Vec<(Intent, Found)>, Stopped> {
        if intents.is_empty() {
            return Ok(Vec::new());
        }
        if let Ok(found) = self.sent_of(&intents, n_tried).await? {
            return Ok(intents.into_iter().zip(found).collect());
        }
        let mut all = Vec::with_capacity(intents.len());
        for intent in intents {
            match self.sent_of(std::slice::from_ref(&intent), 0).await? {
                Ok(found) => all.extend(found.into_iter().next().map(|found| (intent, found))),
                Err(why) => marked.failed.push((intent, why)),
            }
        }
        Ok(all)
    }

    /// What `sent` is now, of these rows together; the inner error says why they are refused.
    async fn sent_of(&mut self, intents: &[Intent], n_tried: usize) -> Result<Result<Vec<Found>, String>, Stopped> {
        let (source, mut n_tried) = (self.watcher.source.clone(), n_tried);
        let keys: Vec<_> = intents.iter().map(|intent| intent.key.clone()).collect();
        loop {
            match source.sent_of(&keys).await {
                Ok(found) => return Ok(Ok(found)),
                Err(SourceError::Refused(why)) => return Ok(Err(why)),
                Err(_) if self.wait_again(n_tried).await.is_some() => n_tried += 1,
                Err(error) => return Err(Stopped::GivenUp(error.to_string())),
            }
        }
    }

    /// Marks rows that an earlier try may be marking still; returns those that were not as they were.
    ///
    /// A row that stays locked is left with its intent: what holds the lock may be the statement of a node that is gone, and end with the mark.
    async fn mark_again(&mut self, intents: Vec<Intent>, marked: &mut Marked) -> Result<Vec<Intent>, Stopped> {
        let source = self.watcher.source.clone();
        let marks: Vec<Mark> = intents.iter().map(mark_of).collect();
        let mut n_tried = 0;
        loop {
            match source.set_sent(&marks).await {
                Ok(set) => {
                    let divided = divided(intents, &set);
                    marked.created.extend(divided.created);
                    return Ok(divided.skipped);
                }
                Err(SourceError::Refused(_)) => break,
                Err(error) => match (self.wait_again(n_tried).await, error) {
                    (Some(()), _) => n_tried += 1,
                    (None, SourceError::Busy(_)) => break,
                    (None, error) => return Err(Stopped::GivenUp(error.to_string())),
                },
            }
        }
        let (mut not_set, mut n_in_a_row) = (Vec::new(), 0);
        for intent in intents {
            if n_in_a_row >= BUSY_MAX {
                marked.left.push(intent);
                continue;
            }
            match source.set_sent(&[mark_of(&intent)]).await {
                Ok(set) if set.first() == Some(&true) => marked.created.push(intent),
                Ok(_) => not_set.push(intent),
                Err(SourceError::Refused(why)) => marked.failed.push((intent, why)),
                Err(SourceError::Busy(_)) => {
                    n_in_a_row += 1;
                    marked.left.push(intent);
                    continue;
                }
                Err(SourceError::Lost(why)) => return Err(Stopped::GivenUp(why)),
            }
            n_in_a_row = 0;
        }
        Ok(not_set)
    }

    /// Writes what became of rows. The run ends with those that stay half done: the next one goes on with them.
    async fn finish(
        &mut self,
        marked: Marked,
        ledger: Vec<LedgerRow>,
        bad_rows: Vec<BadRow>,
        place: Option<Place>,
    ) -> Result<(), Stopped> {
        let Marked { created, skipped, failed, left } = marked;
        let watch = self.watcher.watch.clone();
        let all = created.iter().chain(&skipped).chain(failed.iter().map(|(intent, _)| intent));
        let done: Vec<String> = all.map(|intent| intent.key.kept()).collect();
        let first_bad = self.run.counts.failed;
        let failed = failed.into_iter().map(|(intent, why)| bad(&intent.key.to_string(), watch.sent.as_deref(), why));
        let bad_rows: Vec<BadRow> = bad_rows.into_iter().chain(failed).collect();
        bad_rows.iter().for_each(|bad| self.bad(bad));
        let numbered = bad_rows.into_iter().zip(first_bad + 1..=BAD_MAX).map(|(bad, number)| (number, bad)).collect();
        self.run.counts.sent += created.len() as u64;
        self.run.counts.skipped += skipped.len() as u64;
        if place.is_some() {
            self.run.place.clone_from(&place);
        }
        let made = |intent: &Intent| (reminder(&watch, intent), intent.key.to_string());
        let created: Vec<(NewReminder, String)> = created.iter().map(made).collect();
        let node = &self.watcher.node;
        let begun = node.clock.run_for();
        let rows = FinishRows {
            lease: self.lease,
            watch: watch.name.clone(),
            created: created.clone(),
            done,
            ledger,
            bad: numbered,
            place,
            counts: self.run.counts,
            now: node.now(),
        };
        let written = node.store.finish_rows(rows).await;
        self.spent.writing += node.clock.run_for().saturating_sub(begun);
        if let Some(engine) = self.watcher.engine() {
            // Also when the store went away while it was committing: it may be written, and too many moments do no harm.
            engine.parts.timer.wake_at(created.iter().map(|(new, _)| new.first_due_at));
            if written.is_ok() {
                node.journal.written();
                let view =
                    |(new, _): &(NewReminder, String)| ReminderView::fresh(new.reminder.clone(), new.first_due_at);
                engine.parts.alarms.created(&created.iter().map(view).collect::<Vec<_>>());
            }
        }
        written.map_err(|error| self.failed(&error))?;
        match left.len() {
            0 => Ok(()),
            n => Err(Stopped::GivenUp(format!(
                "another program has {n} rows locked that are half done; the next run goes on"
            ))),
        }
    }
}

fn mark_of(intent: &Intent) -> Mark {
    let Intent { key, due, previous, mark, .. } = intent.clone();
    Mark { key, due, previous, mark }
}

/// Those that were marked, and those that were not.
fn divided(intents: Vec<Intent>, set: &[bool]) -> Marked {
    let mut marked = Marked::default();
    for (intent, is_set) in intents.into_iter().zip(set) {
        if *is_set { marked.created.push(intent) } else { marked.skipped.push(intent) }
    }
    marked
}
