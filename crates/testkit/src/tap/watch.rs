//! Standing queries over an application's own table, their runs and what they have reminded of.

use async_trait::async_trait;
use jiff::Timestamp;
use punctual_core::id::WatchRunId;
use punctual_core::journal::Who;
use punctual_core::store::{
    BeginRun, Begun, DefineWatch, Defined, EndRun, FinishRows, KnownWatch, RunLease, StoreError, Watches,
};
use punctual_core::watch::{BadRow, Intent, LedgerRow, WatchRun};

use super::{Tap, Tapped};

#[async_trait]
impl<T: Tap> Watches for Tapped<T> {
    async fn define_watch(&self, new: DefineWatch) -> Result<Defined, StoreError> {
        pass!(self, "define_watch", self.store.define_watch(new))
    }

    async fn watches(&self) -> Result<Vec<KnownWatch>, StoreError> {
        pass!(self, "watches", self.store.watches())
    }

    async fn forget_watch(&self, name: &str, who: Who, now: Timestamp) -> Result<bool, StoreError> {
        pass!(self, "forget_watch", self.store.forget_watch(name, who, now))
    }

    async fn begin_run(&self, begin: BeginRun) -> Result<Begun, StoreError> {
        pass!(self, "begin_run", self.store.begin_run(begin))
    }

    async fn keep_run(&self, lease: RunLease) -> Result<bool, StoreError> {
        pass!(self, "keep_run", self.store.keep_run(lease))
    }

    async fn leave_run(&self, lease: RunLease) -> Result<(), StoreError> {
        pass!(self, "leave_run", self.store.leave_run(lease))
    }

    async fn intend(
        &self,
        lease: RunLease,
        watch: &str,
        intents: Vec<Intent>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        pass!(self, "intend", self.tap.intend(&self.store, lease, watch, intents, now))
    }

    async fn intents(&self, watch: &str) -> Result<Vec<Intent>, StoreError> {
        pass!(self, "intents", self.store.intents(watch))
    }

    async fn finish_rows(&self, rows: FinishRows) -> Result<(), StoreError> {
        pass!(self, "finish_rows", self.store.finish_rows(rows))
    }

    async fn end_run(&self, end: EndRun) -> Result<(), StoreError> {
        pass!(self, "end_run", self.store.end_run(end))
    }

    async fn watch_run(&self, id: WatchRunId) -> Result<Option<WatchRun>, StoreError> {
        pass!(self, "watch_run", self.store.watch_run(id))
    }

    async fn watch_runs(&self, watch: &str, limit: usize) -> Result<Vec<WatchRun>, StoreError> {
        pass!(self, "watch_runs", self.store.watch_runs(watch, limit))
    }

    async fn bad_rows(&self, run: WatchRunId, after: u64, limit: usize) -> Result<Vec<(u64, BadRow)>, StoreError> {
        pass!(self, "bad_rows", self.store.bad_rows(run, after, limit))
    }

    async fn ledger_of(&self, watch: &str, keys: Vec<String>) -> Result<Vec<LedgerRow>, StoreError> {
        pass!(self, "ledger_of", self.store.ledger_of(watch, keys))
    }

    async fn prune_watches(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        pass!(self, "prune_watches", self.store.prune_watches(before, limit))
    }
}
