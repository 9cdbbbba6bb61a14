//! The tables of watches: their columns and their rows, once for every store.

use punctual_core::id::{ReminderId, WatchRunId};
use punctual_core::store::StoreError;
use punctual_core::watch::{BadRow, Counts, Intent, LedgerRow, Place, WatchRun};

use crate::columns::{Column, Kind, Table, Value, columns};
use crate::rows::{Fields, Reader, impossible};

/// A run under its lease.
pub(crate) struct LeasedRun {
    pub(crate) run: WatchRun,
    pub(crate) lease: u64,
}

/// A new run.
pub(crate) static RUN: Table<LeasedRun> = Table {
    name: "watch_run",
    n_keys: 1,
    columns: columns! {
        "id" Id: r => r.run.id.as_bytes(),
        "watch" Text: r => r.run.watch.as_str(),
        "started_at" At: r => r.run.started_at,
        "ended_at" At: r => r.run.ended_at,
        "asked" Flag: r => r.run.asked,
        "state" Text: r => r.run.state.as_str(),
        "node" Text: r => r.run.node.as_str(),
        "place" Text: r => r.run.place.as_ref().map(place),
        "seen" Big: r => r.run.counts.seen,
        "sent" Big: r => r.run.counts.sent,
        "skipped" Big: r => r.run.counts.skipped,
        "failed" Big: r => r.run.counts.failed,
        "retried" Big: r => r.run.counts.retried,
        "error" Text: r => r.run.error.as_deref(),
        "lease" Big: r => r.lease,
    },
};

/// The columns that [`run`] reads, of a table called `r`.
pub(crate) const RUN_COLUMNS: &str = "r.id, r.watch, r.started_at, r.ended_at, r.asked, r.state, r.node, r.place, r.seen, r.sent, \
    r.skipped, r.failed, r.retried, r.error, r.lease";

/// Reads [`RUN_COLUMNS`].
pub(crate) fn run<F: Fields>(from: &mut Reader<'_, F>) -> Result<LeasedRun, StoreError> {
    let run = WatchRun {
        id: WatchRunId::from_bytes(*from.id()?.as_bytes()),
        watch: from.owned()?,
        started_at: from.at()?,
        ended_at: from.maybe_at()?,
        asked: from.flag()?,
        state: from.word()?,
        node: from.owned()?,
        place: from.maybe_text()?.map(serde_json::from_str).transpose().map_err(impossible)?,
        counts: Counts {
            seen: count(from)?,
            sent: count(from)?,
            skipped: count(from)?,
            failed: count(from)?,
            retried: count(from)?,
        },
        error: from.maybe_owned()?,
    };
    Ok(LeasedRun { run, lease: count(from)? })
}

fn count<F: Fields>(from: &mut Reader<'_, F>) -> Result<u64, StoreError> {
    u64::try_from(from.number()?).map_err(impossible)
}

/// Where reading goes on, as it is kept.
pub(crate) fn place(place: &Place) -> String {
    // Two texts always are JSON.
    serde_json::to_string(place).unwrap_or_default()
}

/// A kept intent.
pub(crate) struct KeptIntent {
    pub(crate) watch: String,
    pub(crate) run: WatchRunId,
    pub(crate) intent: Intent,
    pub(crate) made_at: jiff::Timestamp,
}

/// What a run is about to do.
pub(crate) static INTENT: Table<KeptIntent> = Table {
    name: "watch_intent",
    n_keys: 2,
    columns: columns! {
        "watch" Text: i => i.watch.as_str(),
        "key" Text: i => i.intent.key.kept(),
        "reminder_id" Id: i => i.intent.id.as_bytes(),
        "user_id" Text: i => i.intent.draft.user.as_str(),
        "intent" Text: i => serde_json::to_string(&i.intent).unwrap_or_default(),
        "run" Id: i => i.run.as_bytes(),
        "made_at" At: i => i.made_at,
    },
};

/// Reads an intent.
pub(crate) fn intent(text: &str) -> Result<Intent, StoreError> {
    serde_json::from_str(text).map_err(impossible)
}

/// A bad row of a run.
pub(crate) struct KeptBad {
    pub(crate) run: WatchRunId,
    pub(crate) number: u64,
    pub(crate) bad: BadRow,
}

/// Rows that could not be reminded of.
pub(crate) static BAD: Table<KeptBad> = Table {
    name: "watch_bad",
    n_keys: 2,
    columns: columns! {
        "run" Id: b => b.run.as_bytes(),
        "number" Big: b => b.number,
        "key" Text: b => b.bad.key.as_str(),
        "field" Text: b => b.bad.field.as_deref(),
        "problem" Text: b => b.bad.problem.as_str(),
    },
};

/// Reads run, number, key, field and problem.
pub(crate) fn bad<F: Fields>(row: &F) -> Result<KeptBad, StoreError> {
    let mut from = Reader::new(row, 0);
    let run = WatchRunId::from_bytes(*from.id()?.as_bytes());
    let number = count(&mut from)?;
    let bad = BadRow { key: from.owned()?, field: from.maybe_owned()?, problem: from.owned()? };
    Ok(KeptBad { run, number, bad })
}

/// A row of a watch's ledger.
pub(crate) struct KeptLedger {
    pub(crate) watch: String,
    pub(crate) row: LedgerRow,
}

/// When rows were last reminded of.
pub(crate) static LEDGER: Table<KeptLedger> = Table {
    name: "watch_ledger",
    n_keys: 2,
    columns: columns! {
        "watch" Text: l => l.watch.as_str(),
        "key" Text: l => l.row.key.as_str(),
        "due_at" At: l => l.row.due_at,
        "n" Int: l => l.row.n,
        "sent_at" At: l => l.row.sent_at,
    },
};

impl KeptLedger {
    /// A row of this watch's.
    pub(crate) fn of((watch, row): &(String, LedgerRow)) -> Self {
        Self { watch: watch.clone(), row: row.clone() }
    }
}

/// Reads key, due date, number and when it was sent.
pub(crate) fn ledger<F: Fields>(row: &F) -> Result<LedgerRow, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok(LedgerRow { key: from.owned()?, due_at: from.at()?, n: from.count()?, sent_at: from.at()? })
}

/// The ids of reminders that a run is to make.
pub(crate) fn ids(rows: &punctual_core::store::FinishRows) -> Vec<ReminderId> {
    rows.created.iter().map(|(new, _)| new.reminder.id).collect()
}
