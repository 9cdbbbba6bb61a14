//! The world: it lets time pass, chooses who runs next, and does what goes wrong.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_core::store::{AuditQuery, ReminderQuery, Store};
use punctual_store::sqlite::{Options as StoreOptions, SqliteStore};

use super::check::{Evidence, Row};
use super::ledger::{FaultKind, Ledger};
use super::load::Load;
use super::options::Options;
use super::process::{Process, Surroundings};
use crate::clock::ManualClock;
use crate::executor::{Executor, Group};
use crate::random::SeededRandom;

/// The world's begin. A Saturday, so that the clocks change in Berlin within the first night.
const BEGIN: &str = "2026-03-28T20:00:00Z";
/// Polls without time passing that nothing but an endless loop needs.
const POLLS_AT_ONE_INSTANT_MAX: u64 = 200_000;
/// How long the world is watched when everything must have settled.
const WATCHED_FOR: SignedDuration = SignedDuration::from_mins(30);

/// Runs a world from its begin to its end. Fails with a sentence if the world itself cannot go on.
pub(super) fn run(seed: u64, options: &Options) -> Result<Evidence, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("sim.db");
    let mut world = World::new(seed, options, &path)?;
    world.busy()?;
    world.calm_down()?;
    let quiet = if options.is_punctual() { WATCHED_FOR } else { options.settles_within() + WATCHED_FOR };
    world.pass(quiet)?;
    world.stop()?;
    world.close()?;
    world.evidence(&path)
}

struct World<'a> {
    around: Surroundings,
    path: &'a Path,
    scheduler: SeededRandom,
    trouble: SeededRandom,
    load: Load,
    processes: Vec<Process>,
    store: Option<Arc<dyn Store>>,
    last_group: Group,
    restart_at: Option<SignedDuration>,
    wish_at: SignedDuration,
    polls_at_one_instant: u64,
    n_polls: u64,
    n_crashes: u32,
    n_jumps: u32,
    quiet_since: SignedDuration,
    begin: Timestamp,
}

impl<'a> World<'a> {
    fn new(seed: u64, options: &Options, path: &'a Path) -> Result<Self, String> {
        let begin: Timestamp = BEGIN.parse().map_err(|error: jiff::Error| error.to_string())?;
        let clock = ManualClock::at(begin);
        let ledger = Ledger::new(clock.clone());
        let around = Surroundings {
            options: options.clone(),
            seed,
            clock: clock.clone(),
            executor: Executor::default(),
            ledger: ledger.clone(),
            weather: Arc::new(SeededRandom::stream(seed, "weather")),
            receivers: Arc::new(SeededRandom::stream(seed, "receivers")),
            store_failing: Arc::default(),
            receiver_faults: Arc::default(),
        };
        around.store_failing.store(options.store_fails, Ordering::Relaxed);
        around.receiver_faults.certain.store(options.receivers_fail, Ordering::Relaxed);
        around.receiver_faults.uncertain.store(options.receivers_hang, Ordering::Relaxed);
        let random = Arc::new(SeededRandom::stream(seed, "load"));
        let mut world = Self {
            around,
            path,
            scheduler: SeededRandom::stream(seed, "scheduler"),
            trouble: SeededRandom::stream(seed, "trouble"),
            load: Load { clock, random, ledger, people: options.people },
            processes: Vec::new(),
            store: None,
            last_group: 0,
            restart_at: None,
            wish_at: SignedDuration::ZERO,
            polls_at_one_instant: 0,
            n_polls: 0,
            n_crashes: 0,
            n_jumps: 0,
            quiet_since: SignedDuration::ZERO,
            begin,
        };
        world.start()?;
        Ok(world)
    }

    /// Opens the store and starts the engines on it.
    fn start(&mut self) -> Result<(), String> {
        let options = StoreOptions { inline: true, durable: false };
        let store =
            SqliteStore::open(self.path, options).map_err(|error| format!("the store does not open: {error}"))?;
        let store: Arc<dyn Store> = Arc::new(store);
        let n_engines = self.around.options.n_engines;
        for _ in 0..n_engines {
            self.last_group += 1;
            let process = Process::start(&self.around, self.last_group, store.clone(), n_engines == 1);
            self.processes.push(process);
        }
        self.store = Some(store);
        self.restart_at = None;
        Ok(())
    }

    /// Users are active and things go wrong.
    fn busy(&mut self) -> Result<(), String> {
        while self.elapsed() < self.around.options.busy_for {
            self.trouble();
            if self.restart_at.is_some_and(|at| at <= self.elapsed()) {
                self.start()?;
            }
            self.thaw_due();
            if self.wish_at <= self.elapsed() {
                self.fulfil_a_wish();
            }
            let next = [Some(self.wish_at), self.restart_at, self.next_thaw(), Some(self.around.options.busy_for)];
            self.step(next.into_iter().flatten().min())?;
        }
        Ok(())
    }

    /// Everything works from now on.
    fn calm_down(&mut self) -> Result<(), String> {
        self.around.store_failing.store(false, Ordering::Relaxed);
        self.around.receiver_faults.certain.store(false, Ordering::Relaxed);
        self.around.receiver_faults.uncertain.store(false, Ordering::Relaxed);
        self.quiet_since = self.elapsed();
        for process in &mut self.processes {
            process.frozen_until = None;
            self.around.executor.thaw(process.group);
        }
        if self.processes.is_empty() { self.start() } else { Ok(()) }
    }

    /// Lets `span` pass.
    fn pass(&mut self, span: SignedDuration) -> Result<(), String> {
        let until = self.elapsed() + span;
        while self.elapsed() < until {
            self.step(Some(until))?;
        }
        Ok(())
    }

    /// Stops every engine in order.
    fn stop(&mut self) -> Result<(), String> {
        for process in &self.processes {
            let stopped = Arc::new(Mutex::new(false));
            if !process.stop(&self.around.executor, stopped.clone()) {
                return Err("an engine never came up".into());
            }
            let until = self.around.clock.elapsed() + SignedDuration::from_mins(5);
            while !*stopped.lock().unwrap_or_else(PoisonError::into_inner) {
                if self.around.clock.elapsed() >= until {
                    return Err("an engine did not stop within five minutes".into());
                }
                step(&self.around, &self.scheduler, Some(until), &mut self.polls_at_one_instant)?;
            }
        }
        Ok(())
    }

    /// Ends every process and the store with it.
    fn close(&mut self) -> Result<(), String> {
        for process in std::mem::take(&mut self.processes) {
            self.around.executor.kill(process.group);
        }
        let store = self.store.take().map(|store| Arc::downgrade(&store));
        if store.is_some_and(|store| store.upgrade().is_some()) {
            return Err("something keeps the store open after its process has died".into());
        }
        Ok(())
    }

    /// One poll, or if nobody can go on, the passing of time until somebody can, or until `limit`.
    fn step(&mut self, limit: Option<SignedDuration>) -> Result<(), String> {
        self.n_polls += 1;
        step(&self.around, &self.scheduler, limit, &mut self.polls_at_one_instant)
    }

    fn fulfil_a_wish(&mut self) {
        let pause = if self.load.random.one_in(4) { 0 } else { self.load.random.between(0, 24_000) };
        self.wish_at = self.elapsed() + SignedDuration::from_millis(pause);
        let Some(process) = self.processes.get(self.load.random.below(2) as usize % self.processes.len().max(1)) else {
            return;
        };
        let wish = self.load.wish();
        let now = self.around.clock.now();
        let task = Load::fulfil(self.around.ledger.clone(), process.engine.clone(), wish, now);
        self.around.executor.spawn(process.group, Box::pin(task));
    }

    /// Does what goes wrong between two polls, if anything.
    fn trouble(&mut self) {
        let options = &self.around.options;
        if options.crashes && self.n_crashes < 6 && !self.processes.is_empty() && self.trouble.one_in(700) {
            self.crash();
        } else if options.jumps && self.n_jumps < 3 && self.trouble.one_in(1500) {
            self.n_jumps += 1;
            // Never off by more than half an hour, so a jump is an hour at most.
            let off = SignedDuration::from_millis(self.trouble.between(-1_800_000, 1_800_000));
            self.around.ledger.fault(FaultKind::Jump, None);
            self.around.clock.set(self.begin + self.elapsed() + off);
        } else if let Some(n) = options.stalls
            && !self.processes.is_empty()
            && self.trouble.one_in(n)
        {
            let index = self.trouble.below(self.processes.len() as u64) as usize;
            let process = &mut self.processes[index];
            self.around.ledger.fault(FaultKind::Stall, Some(process.group));
            self.around.executor.freeze(process.group);
            let span = SignedDuration::from_millis(self.trouble.between(100, 60_000));
            process.frozen_until = Some(self.around.clock.elapsed() + span);
        }
    }

    /// Kills every process at this very poll; they come back at once or after a while.
    fn crash(&mut self) {
        self.n_crashes += 1;
        for process in std::mem::take(&mut self.processes) {
            self.around.ledger.fault(FaultKind::Crash, Some(process.group));
            self.around.executor.kill(process.group);
        }
        self.store = None;
        let down_for = if self.trouble.one_in(2) { 0 } else { self.trouble.between(0, 200_000) };
        self.restart_at = Some(self.elapsed() + SignedDuration::from_millis(down_for));
    }

    fn thaw_due(&mut self) {
        let now = self.elapsed();
        for process in &mut self.processes {
            if process.frozen_until.is_some_and(|until| until <= now) {
                process.frozen_until = None;
                self.around.executor.thaw(process.group);
                // It stood still until now, so whatever it does wrong next is excused from here on.
                self.around.ledger.fault(FaultKind::Stall, Some(process.group));
            }
        }
    }

    fn next_thaw(&self) -> Option<SignedDuration> {
        self.processes.iter().filter_map(|process| process.frozen_until).min()
    }

    fn elapsed(&self) -> SignedDuration {
        self.around.clock.elapsed()
    }

    /// Reads everything through a store that nobody else uses.
    fn evidence(self, path: &Path) -> Result<Evidence, String> {
        let store = SqliteStore::open(path, StoreOptions { inline: true, durable: false })
            .map_err(|error| format!("the store does not open again: {error}"))?;
        let rows = read(&store).now_or_never().ok_or("an inline store answers at once")?;
        let hash = self.around.ledger.hash();
        Ok(Evidence {
            rows: rows.map_err(|error| error.to_string())?,
            now: self.around.clock.now(),
            elapsed: self.around.clock.elapsed(),
            quiet_since: self.quiet_since,
            ledger: self.around.ledger,
            options: self.around.options,
            n_polls: self.n_polls,
            hash,
        })
    }
}

fn step(
    around: &Surroundings,
    scheduler: &SeededRandom,
    limit: Option<SignedDuration>,
    polls_at_one_instant: &mut u64,
) -> Result<(), String> {
    if let Some(polled) = around.executor.step(|n| scheduler.below(n as u64) as usize) {
        around.ledger.trace(polled);
        *polls_at_one_instant += 1;
        if *polls_at_one_instant > POLLS_AT_ONE_INSTANT_MAX {
            return Err(format!("an endless loop: no time passes, and task {polled:?} goes on and on"));
        }
        return Ok(());
    }
    *polls_at_one_instant = 0;
    let clock = &around.clock;
    let to_limit = limit.map(|limit| limit - clock.elapsed());
    let span = [clock.until_next(), to_limit].into_iter().flatten().min().ok_or("nobody waits for anything")?;
    clock.advance(span.max(SignedDuration::ZERO));
    Ok(())
}

async fn read(store: &SqliteStore) -> Result<Vec<Row>, punctual_core::store::StoreError> {
    let mut rows = Vec::new();
    let everything = ReminderQuery { limit: usize::MAX >> 1, ..ReminderQuery::default() };
    for view in store.reminders(everything).await? {
        let id = view.reminder.id;
        let mut trails = store.occurrences(id, None, usize::MAX >> 1).await?;
        trails.reverse();
        let query = AuditQuery { reminder: Some(id), before: None, limit: usize::MAX >> 1 };
        rows.push(Row { view, trails, audit: store.audit(query).await? });
    }
    Ok(rows)
}
