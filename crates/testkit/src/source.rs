//! An application's table in memory, with its own delays and failures: what watches look into.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::clock::Clock;
use punctual_core::rules::instant;
use punctual_core::rules::watch::{Form, Found};
use punctual_core::schedule::{Anchor, Rule, Schedule};
use punctual_core::source::{Bounds, Mark, Mode, Source, SourceError, Standing};
use punctual_core::watch::{Asks, Place, Raw, Rows, SourceRow, Text, Watch};
use punctual_core::zone::Zone;

use crate::clock::ManualClock;

/// Every call takes so long before its effect, and as long after it.
pub const HALF: Duration = Duration::from_millis(1);

/// A row of the application's.
#[derive(Debug, Clone)]
pub struct TaskRow {
    /// When it is due.
    pub due: Timestamp,
    /// When it was reminded of.
    pub sent: Option<Timestamp>,
    /// Whom to remind.
    pub owner: Option<String>,
}

/// Where a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fails {
    /// Before its effect.
    Before,
    /// After its effect: the answer is lost.
    After,
}

/// An application's table. Clones are the same table.
#[derive(Clone)]
pub struct Tasks {
    clock: ManualClock,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    rows: BTreeMap<i64, TaskRow>,
    n_calls: usize,
    fails: Option<(usize, Fails)>,
    /// Rows that cannot be marked.
    refused: Vec<i64>,
    /// Rows that share their key with another.
    doubled: Vec<i64>,
    /// No call is answered any more.
    stalls: bool,
    has_ledger: bool,
    /// The next statement that marks rows loses its connection, and goes on in the server until then.
    hangs_until: Option<Timestamp>,
    /// A statement that goes on although nobody waits for it, and when it ends. It has its rows locked.
    hanging: Option<(Timestamp, Vec<Mark>)>,
}

impl Inner {
    fn set(&mut self, mark: &Mark) -> bool {
        let Some(row) = self.rows.get_mut(&key_of(&mark.key)) else { return false };
        let is_same = raw(row.due) == mark.due && row.sent.map(raw) == mark.previous;
        if is_same {
            row.sent = instant::read(&mark.mark.to_string(), &Zone::utc()).ok();
        }
        is_same
    }

    /// Ends the statement that goes on, if it is time.
    fn end_hanging(&mut self, now: Timestamp) {
        if let Some((_, marks)) = self.hanging.take_if(|(until, _)| *until <= now) {
            for mark in &marks {
                self.set(mark);
            }
        }
    }
}

impl Tasks {
    /// `n` tasks of ann's that are due in an hour.
    pub fn new(clock: &ManualClock, n: i64) -> Self {
        let due = clock.now() + Duration::from_secs(3600);
        let row = |key| (key, TaskRow { due, sent: None, owner: Some("ann".into()) });
        let inner = Inner { rows: (1..=n).map(row).collect(), ..Inner::default() };
        Self { clock: clock.clone(), inner: Arc::new(Mutex::new(inner)) }
    }

    /// A watch over it, which looks every minute.
    ///
    /// # Panics
    /// Never.
    pub fn watch(batch: usize) -> Watch {
        let every = Duration::from_secs(60);
        Watch {
            name: "tasks".into(),
            database: "memory".into(),
            rows: Rows::Table("tasks".into()),
            key: "id".into(),
            due: "due_date".into(),
            sent: Some("reminder_sent_at".into()),
            user: Some("owner".into()),
            to: None,
            message: Text::parse("it is due {due}").expect("a template"),
            schedule: Schedule::new(Rule::Interval { every, anchor: Anchor::Start, origin: Timestamp::UNIX_EPOCH }),
            zone: Zone::utc(),
            window: Duration::from_secs(86_400),
            again_after: Duration::from_secs(86_400),
            batch,
            only: None,
            asks: Asks { retries_max: 3, ..Asks::default() },
        }
    }

    /// Lets the call of this number fail, counted from 1.
    pub fn fail(&self, call: usize, fails: Fails) {
        self.lock().fails = Some((call, fails));
    }

    /// Refuses to mark this row.
    pub fn refuse(&self, key: i64) {
        self.lock().refused.push(key);
    }

    /// Lets another row have the same key: nothing can be looked up together with it.
    pub fn double(&self, key: i64) {
        self.lock().doubled.push(key);
    }

    /// Lets no call be answered any more.
    pub fn stall(&self) {
        self.lock().stalls = true;
    }

    /// Says that nothing can be marked.
    pub fn only_read(&self) {
        self.lock().has_ledger = true;
    }

    /// Says that rows can be marked again.
    pub fn may_be_written(&self) {
        self.lock().has_ledger = false;
    }

    /// Lets the next statement that marks rows lose its connection; the server goes on with it until then.
    pub fn hang(&self, until: Timestamp) {
        self.lock().hangs_until = Some(until);
    }

    /// Changes a row as the application would; `None` removes it.
    pub fn change(&self, key: i64, change: impl FnOnce(&mut TaskRow) -> Option<()>) {
        let mut inner = self.lock();
        if let Some(row) = inner.rows.get_mut(&key)
            && change(row).is_none()
        {
            inner.rows.remove(&key);
        }
    }

    /// Its rows.
    pub fn rows(&self) -> BTreeMap<i64, TaskRow> {
        self.lock().rows.clone()
    }

    /// How many calls there were.
    pub fn n_calls(&self) -> usize {
        self.lock().n_calls
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call: it takes its time, and fails where it is to fail.
    async fn call<T>(
        &self,
        effect: impl FnOnce(&mut Inner) -> Result<T, SourceError> + Send,
    ) -> Result<T, SourceError> {
        self.clock.pause(HALF).await;
        if self.lock().stalls {
            std::future::pending::<()>().await;
        }
        let lost = || SourceError::Lost("the connection is gone".into());
        let (answer, fails) = {
            let mut inner = self.lock();
            inner.n_calls += 1;
            inner.end_hanging(self.clock.now());
            let n_calls = inner.n_calls;
            let fails = inner.fails.filter(|(call, _)| *call == n_calls).map(|(_, fails)| fails);
            if fails == Some(Fails::Before) {
                return Err(lost());
            }
            (effect(&mut inner), fails)
        };
        self.clock.pause(HALF).await;
        if fails == Some(Fails::After) { Err(lost()) } else { answer }
    }
}

fn raw(at: Timestamp) -> Raw {
    Raw::Text(at.to_string())
}

fn key_of(raw: &Raw) -> i64 {
    raw.to_string().parse().unwrap_or(-1)
}

#[async_trait]
impl Source for Tasks {
    async fn check(&self) -> Result<Standing, SourceError> {
        self.call(|inner| {
            let ledger = Mode::Ledger("it may only be read".into());
            let mode = if inner.has_ledger { ledger } else { Mode::Column(Form::Instant(6)) };
            Ok(Standing { mode, warnings: Vec::new() })
        })
        .await
    }

    async fn read(&self, bounds: Bounds, after: Option<&Place>, limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        let after = after.map(|place| (place.due.to_string(), key_of(&place.key)));
        self.call(|inner| {
            let mut rows: Vec<_> = inner.rows.iter().map(|(key, row)| ((row.due.to_string(), *key), row)).collect();
            rows.sort_by(|(a, _), (b, _)| a.cmp(b));
            let is_due = |row: &TaskRow| row.due >= bounds.from && row.due <= bounds.until;
            let is_unsent =
                |row: &TaskRow| bounds.sent_before.is_none_or(|before| row.sent.is_none_or(|at| at <= before));
            let wanted = rows.into_iter().filter(|(_, row)| is_due(row) && is_unsent(row));
            let wanted = wanted.filter(|(place, _)| after.as_ref().is_none_or(|after| place > after));
            let row = |((_, key), row): ((String, i64), &TaskRow)| SourceRow {
                key: Some(Raw::Integer(key)),
                due: raw(row.due),
                sent: row.sent.map(raw),
                values: vec![row.owner.clone()],
            };
            Ok(wanted.take(limit).map(row).collect())
        })
        .await
    }

    async fn nameless(&self, _bounds: Bounds, _limit: usize) -> Result<Vec<SourceRow>, SourceError> {
        Ok(Vec::new())
    }

    async fn set_sent(&self, marks: &[Mark]) -> Result<Vec<bool>, SourceError> {
        self.call(|inner| {
            if marks.iter().any(|mark| inner.refused.contains(&key_of(&mark.key))) {
                return Err(SourceError::Refused("a trigger says no".into()));
            }
            if let Some(until) = inner.hangs_until.take() {
                inner.hanging = Some((until, marks.to_vec()));
                return Err(SourceError::Lost("the connection is gone".into()));
            }
            let is_locked = |mark: &Mark| {
                inner.hanging.as_ref().is_some_and(|(_, hanging)| hanging.iter().any(|other| other.key == mark.key))
            };
            if marks.iter().any(is_locked) {
                return Err(SourceError::Busy("another has the row locked".into()));
            }
            Ok(marks.iter().map(|mark| inner.set(mark)).collect())
        })
        .await
    }

    async fn sent_of(&self, keys: &[Raw]) -> Result<Vec<Found>, SourceError> {
        self.call(|inner| {
            if keys.iter().any(|key| inner.doubled.contains(&key_of(key))) {
                return Err(SourceError::Refused("`id` is not unique".into()));
            }
            let found = |key: &Raw| match inner.rows.get(&key_of(key)) {
                Some(row) => Found::Sent(row.sent.map(raw)),
                None => Found::Gone,
            };
            Ok(keys.iter().map(found).collect())
        })
        .await
    }
}
