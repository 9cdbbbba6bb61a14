//! Standing queries over an application's own table, their runs and what they have reminded of.

use punctual_core::decide::watch::{Definition, Going, Loaded, begun, defined, ended, finished, forgotten, version_of};
use punctual_core::id::WatchRunId;
use punctual_core::watch::{BadRow, Intent, LedgerRow, RunState, WatchRun};

use super::*;

/// What is kept of watches.
#[derive(Default)]
pub(super) struct WatchTables {
    watches: BTreeMap<String, Kept>,
    runs: BTreeMap<WatchRunId, KeptRun>,
    pub(super) intents: BTreeMap<(String, String), Intent>,
    pub(super) bad: BTreeMap<(WatchRunId, u64), BadRow>,
    pub(super) ledger: BTreeMap<(String, String), LedgerRow>,
}

struct Kept {
    hash: String,
    definition: String,
    defined_at: Timestamp,
    next_at: Option<Timestamp>,
}

struct KeptRun {
    run: WatchRun,
    lease: u64,
    until: Option<Timestamp>,
}

impl Tables {
    fn define_watch(&mut self, new: DefineWatch) -> Done<Defined> {
        let kept = self.watch.watches.get(&new.name).map(|kept| (kept.hash.as_str(), kept.definition.as_str()));
        let Definition { what, clears_ledger, writes } = defined(kept, &new);
        if clears_ledger {
            self.watch.ledger.retain(|(watch, _), _| *watch != new.name);
        }
        if what != Defined::Same {
            let DefineWatch { name, hash, definition, next_at, now } = new;
            self.watch.watches.insert(name, Kept { hash, definition, defined_at: now, next_at });
        }
        self.write(writes)?;
        Ok(what)
    }

    fn known_watches(&self) -> Vec<KnownWatch> {
        let known = |(name, kept): (&String, &Kept)| KnownWatch {
            name: name.clone(),
            hash: kept.hash.clone(),
            definition: kept.definition.clone(),
            defined_at: kept.defined_at,
            next_at: kept.next_at,
            going: self.going(name).map(|going| going.run.clone()),
            last: self.runs_of_watch(name).into_iter().find(|run| run.state != RunState::Running),
        };
        self.watch.watches.iter().map(known).collect()
    }

    fn forget_watch(&mut self, name: &str, who: Who, now: Timestamp) -> Done<bool> {
        let Some(kept) = self.watch.watches.get(name) else { return Ok(false) };
        who.expects.check(|| Some(version_of(&kept.hash)))?;
        self.watch.watches.remove(name);
        let runs = &mut self.watch.runs;
        let gone: BTreeSet<WatchRunId> =
            runs.extract_if(.., |_, kept| kept.run.watch == name).map(|(id, _)| id).collect();
        self.watch.bad.retain(|(run, _), _| !gone.contains(run));
        self.watch.intents.retain(|(watch, _), _| watch != name);
        self.watch.ledger.retain(|(watch, _), _| watch != name);
        self.write(forgotten(name, who, now))?;
        Ok(true)
    }

    fn going(&self, watch: &str) -> Option<&KeptRun> {
        self.watch.runs.values().find(|kept| kept.run.watch == watch && kept.run.state == RunState::Running)
    }

    /// Newest first.
    fn runs_of_watch(&self, watch: &str) -> Vec<WatchRun> {
        let of_watch = self.watch.runs.values().filter(|kept| kept.run.watch == watch);
        let mut runs: Vec<WatchRun> = of_watch.map(|kept| kept.run.clone()).collect();
        runs.sort_by_key(|run| Reverse(run.started_at));
        runs
    }

    fn begin_run(&mut self, begin: &BeginRun) -> Begun {
        let is_left = |kept: &KeptRun| kept.until.is_none_or(|until| until < self.now);
        let going = self.going(&begin.watch);
        let going = going.map(|kept| Going { run: kept.run.clone(), lease: kept.lease, is_left: is_left(kept) });
        let kept = self.watch.watches.get(&begin.watch);
        let begun = begun(kept.map(|kept| Loaded { hash: kept.hash.clone(), next_at: kept.next_at, going }), begin);
        if let Begun::Taken(taken) = &begun {
            let until = Some(self.run_until());
            let kept = KeptRun { run: taken.run.clone(), lease: taken.lease.number, until };
            self.watch.runs.insert(taken.run.id, kept);
            if taken.is_new {
                self.watch.watches.entry(begin.watch.clone()).and_modify(|kept| kept.next_at = begin.next_at);
            }
        }
        begun
    }

    fn run_until(&self) -> Timestamp {
        self.now + RUN_FOR
    }

    /// The run, for whoever has it.
    fn leased(&mut self, lease: RunLease) -> Option<&mut KeptRun> {
        let kept = self.watch.runs.get_mut(&lease.run)?;
        (kept.lease == lease.number && kept.run.state == RunState::Running).then_some(kept)
    }

    fn keep_run(&mut self, lease: RunLease, until: Option<Timestamp>) -> bool {
        self.leased(lease).map(|kept| kept.until = until).is_some()
    }

    fn fence(&mut self, lease: RunLease) -> Done<&mut KeptRun> {
        let until = Some(self.run_until());
        let kept = self.leased(lease).ok_or(StoreError::LeaseLost)?;
        kept.until = until;
        Ok(kept)
    }

    fn intend(&mut self, lease: RunLease, watch: &str, intents: Vec<Intent>) -> Done<()> {
        self.fence(lease)?;
        for intent in intents {
            self.watch.intents.entry((watch.to_owned(), intent.key.kept())).or_insert(intent);
        }
        Ok(())
    }

    fn finish_rows(&mut self, rows: FinishRows) -> Done<()> {
        let kept = self.fence(rows.lease)?;
        kept.run.counts = rows.counts;
        if let Some(place) = &rows.place {
            kept.run.place = Some(place.clone());
        }
        let ids = rows.created.iter().map(|(new, _)| new.reminder.id);
        let there: Vec<ReminderId> = ids.filter(|id| self.reminders.contains_key(id)).collect();
        self.write(finished(&rows, &there))?;
        let FinishRows { lease, watch, done, ledger, bad, .. } = rows;
        for key in done {
            self.watch.intents.remove(&(watch.clone(), key));
        }
        for (number, bad) in bad {
            self.watch.bad.entry((lease.run, number)).or_insert(bad);
        }
        self.watch.ledger.extend(ledger.into_iter().map(|row| ((watch.clone(), row.key.clone()), row)));
        Ok(())
    }

    fn end_run(&mut self, end: EndRun) -> Done<()> {
        let kept = self.fence(end.lease)?;
        kept.until = None;
        (kept.run.counts, kept.run.state, kept.run.ended_at) = (end.counts, end.state, Some(end.now));
        kept.run.error.clone_from(&end.error);
        self.write(ended(&end)).map(drop)
    }

    fn prune_watches(&mut self, before: Timestamp, limit: usize) -> usize {
        let is_old = |kept: &KeptRun| kept.run.ended_at.is_some_and(|at| at < before);
        let old: Vec<WatchRunId> =
            self.watch.runs.iter().filter(|(_, kept)| is_old(kept)).map(|(id, _)| *id).take(limit).collect();
        self.watch.runs.retain(|id, _| !old.contains(id));
        self.watch.bad.retain(|(run, _), _| !old.contains(run));
        let rows: Vec<_> = self
            .watch
            .ledger
            .iter()
            .filter(|(_, row)| row.due_at < before)
            .map(|(key, _)| key.clone())
            .take(limit)
            .collect();
        rows.iter().for_each(|key| drop(self.watch.ledger.remove(key)));
        old.len().max(rows.len())
    }
}

/// Makes the part of a store of what each method does with the locked tables.
macro_rules! watches {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty { |$tables:ident| $work:expr })+) => {
        #[async_trait]
        impl Watches for MemoryStore {
            $(async fn $name(&self, $($argument: $type),*) -> Done<$answer> {
                let $tables = &mut *self.lock();
                Ok($work)
            })+
        }
    };
}

watches! {
    fn define_watch(new: DefineWatch) -> Defined { |t| t.define_watch(new)? }
    fn watches() -> Vec<KnownWatch> { |t| t.known_watches() }
    fn forget_watch(name: &str, who: Who, now: Timestamp) -> bool { |t| t.forget_watch(name, who, now)? }
    fn begin_run(begin: BeginRun) -> Begun { |t| t.begin_run(&begin) }
    fn keep_run(lease: RunLease) -> bool { |t| {
        let until = Some(t.run_until());
        t.keep_run(lease, until)
    } }
    fn leave_run(lease: RunLease) -> () { |t| {
        t.keep_run(lease, None);
    } }
    fn intend(lease: RunLease, watch: &str, intents: Vec<Intent>, _now: Timestamp) -> () { |t| t.intend(lease, watch, intents)? }
    fn intents(watch: &str) -> Vec<Intent> { |t| {
        let of_watch = t.watch.intents.iter().filter(|((kept, _), _)| kept == watch);
        of_watch.map(|(_, intent)| intent.clone()).take(INTENTS_MAX).collect()
    } }
    fn finish_rows(rows: FinishRows) -> () { |t| t.finish_rows(rows)? }
    fn end_run(end: EndRun) -> () { |t| t.end_run(end)? }
    fn watch_run(id: WatchRunId) -> Option<WatchRun> { |t| t.watch.runs.get(&id).map(|kept| kept.run.clone()) }
    fn watch_runs(watch: &str, limit: usize) -> Vec<WatchRun> { |t| {
        let mut runs = t.runs_of_watch(watch);
        runs.truncate(limit);
        runs
    } }
    fn bad_rows(run: WatchRunId, after: u64, limit: usize) -> Vec<(u64, BadRow)> { |t| {
        let of_run = t.watch.bad.range((run, after + 1)..=(run, u64::MAX)).take(limit);
        of_run.map(|((_, number), bad)| (*number, bad.clone())).collect()
    } }
    fn ledger_of(watch: &str, keys: Vec<String>) -> Vec<LedgerRow> { |t| {
        keys.into_iter().filter_map(|key| t.watch.ledger.get(&(watch.to_owned(), key)).cloned()).collect()
    } }
    fn prune_watches(before: Timestamp, limit: usize) -> usize { |t| t.prune_watches(before, limit) }
}
