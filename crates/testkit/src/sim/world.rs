//! The world: it lets time pass, chooses who runs next, and does what goes wrong.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_core::group::{self, Mode};
use punctual_core::journal::{Placed, Who};
use punctual_core::store::{JournalQuery, ReminderQuery, Start, Store, StoreError};
use punctual_store::sqlite::{Options as StoreOptions, SqliteStore};

use super::check::{Evidence, Row};
use super::ledger::{FaultKind, Ledger};
use super::load::{GROUP, GROUP_NAME, Load};
use super::options::Options;
use super::presses::Presses;
use super::process::{Process, Surroundings};
use super::reader::Reader;
use crate::clock::ManualClock;
use crate::executor::{Executor, Group};
use crate::memory::MemoryStore;
use crate::random::SeededRandom;

/// The world's begin. A Saturday, so that the clocks change in Berlin within the first night.
const BEGIN: &str = "2026-03-28T20:00:00Z";
/// Polls without time passing that nothing but an endless loop needs.
const POLLS_AT_ONE_INSTANT_MAX: u64 = 200_000;
/// How long the world is watched when everything must have settled.
const WATCHED_FOR: SignedDuration = SignedDuration::from_mins(30);
/// The same for many nodes, which look every second.
const WATCHED_FOR_MANY: SignedDuration = SignedDuration::from_mins(10);

/// What is written this long before the end has been read.
const READ_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// Runs a world from its begin to its end. Fails with a sentence if the world itself cannot go on.
pub(super) fn run(seed: u64, options: &Options) -> Result<Evidence, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut world = World::new(seed, options, folder.path().join("sim.db"))?;
    world.busy()?;
    world.calm_down()?;
    let watched_for = if options.n_nodes == 1 { WATCHED_FOR } else { WATCHED_FOR_MANY };
    let quiet = if options.is_punctual() { watched_for } else { options.settles_within() + watched_for };
    world.pass(quiet - READ_WITHIN)?;
    world.read_head()?;
    world.pass(READ_WITHIN)?;
    world.stop()?;
    world.close()?;
    world.evidence()
}

struct World {
    around: Surroundings,
    base: Base,
    scheduler: SeededRandom,
    trouble: SeededRandom,
    load: Load,
    reader: Reader,
    /// How far the journal had come a little before the end.
    head_before_the_end: i64,
    /// Where a node is, or will be again.
    places: Vec<Place>,
    last_group: Group,
    wish_at: SignedDuration,
    polls_at_one_instant: u64,
    n_polls: u64,
    n_crashes: u32,
    n_jumps: u32,
    quiet_since: SignedDuration,
    stopping_since: SignedDuration,
    begin: Timestamp,
}

/// The store that the nodes live on.
enum Base {
    /// A file that one process at a time may open.
    File(PathBuf),
    /// A database for all.
    Memory(MemoryStore),
}

/// A machine, with or without a running process.
#[derive(Default)]
struct Place {
    process: Option<Process>,
    /// The process's store.
    store: Option<Arc<dyn Store>>,
    /// When a process starts here.
    start_at: Option<SignedDuration>,
    /// Whether the process that is being stopped has stopped.
    stopped: Option<Arc<Mutex<bool>>>,
}

impl Base {
    fn connect(&self) -> Result<Arc<dyn Store>, String> {
        match self {
            Self::File(path) => {
                let store = SqliteStore::open(path, StoreOptions { inline: true, durable: false })
                    .map_err(|error| format!("the store does not open: {error}"))?;
                Ok(Arc::new(store))
            }
            Self::Memory(database) => Ok(Arc::new(database.connect())),
        }
    }
}

impl World {
    fn new(seed: u64, options: &Options, path: PathBuf) -> Result<Self, String> {
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
            store_failing: Arc::new(options.store_fails.into()),
            deaf: Arc::new(options.deaf.into()),
            receiver_faults: Arc::default(),
            presses: options
                .presses
                .then(|| Presses::new(clock.clone(), SeededRandom::stream(seed, "presses"), ledger.clone())),
        };
        around.receiver_faults.certain.store(options.receivers_fail, Ordering::Relaxed);
        around.receiver_faults.uncertain.store(options.receivers_hang, Ordering::Relaxed);
        let base = match options.n_nodes {
            1 => Base::File(path),
            _ => Base::Memory(MemoryStore::new(Arc::new(clock.clone()))),
        };
        let random = Arc::new(SeededRandom::stream(seed, "load"));
        let reader = Reader::new(seed, ledger.clone());
        let channels: &[&str] = if options.calls { &["phone", "mail", "call"] } else { &["phone", "mail"] };
        let mut world = Self {
            around,
            base,
            scheduler: SeededRandom::stream(seed, "scheduler"),
            trouble: SeededRandom::stream(seed, "trouble"),
            load: Load {
                clock,
                random,
                last_moment: SeededRandom::stream(seed, "last moment"),
                silences: SeededRandom::stream(seed, "silences"),
                second_thoughts: SeededRandom::stream(seed, "second thoughts"),
                ledger,
                people: options.people,
                questions: options.questions,
                channels,
                last_moments: BTreeMap::new(),
            },
            reader,
            head_before_the_end: 0,
            places: (0..options.n_nodes).map(|_| Place::default()).collect(),
            last_group: 0,
            wish_at: SignedDuration::ZERO,
            polls_at_one_instant: 0,
            n_polls: 0,
            n_crashes: 0,
            n_jumps: 0,
            quiet_since: SignedDuration::ZERO,
            stopping_since: SignedDuration::ZERO,
            begin,
        };
        (0..world.places.len()).try_for_each(|index| world.start(index))?;
        let group = group::Group {
            name: GROUP_NAME.to_owned(),
            mode: Mode::All,
            users: GROUP.map(str::to_owned).to_vec(),
            rota: None,
            shifts: vec![],
            created_at: begin,
            updated_at: begin,
        };
        let store = world.places[0].store.as_ref().ok_or("there is no store")?;
        let put = store.put_group(group, Who::ENGINE).now_or_never().ok_or("a simulated store answers at once")?;
        put.map_err(|error| error.to_string())?;
        Ok(world)
    }

    /// Connects to the store and starts a process on it.
    fn start(&mut self, index: usize) -> Result<(), String> {
        let store = self.base.connect()?;
        self.last_group += 1;
        let process = Process::start(&self.around, self.last_group, store.clone());
        self.places[index] = Place { process: Some(process), store: Some(store), ..Place::default() };
        Ok(())
    }

    /// Starts a process wherever it is time.
    fn start_due(&mut self) -> Result<(), String> {
        let now = self.elapsed();
        let is_due = |place: &Place| place.start_at.is_some_and(|at| at <= now);
        let due: Vec<usize> = (0..self.places.len()).filter(|index| is_due(&self.places[*index])).collect();
        due.into_iter().try_for_each(|index| self.start(index))
    }

    fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.places.iter_mut().filter_map(|place| place.process.as_mut())
    }

    /// Users are active and things go wrong.
    fn busy(&mut self) -> Result<(), String> {
        while self.elapsed() < self.around.options.busy_for {
            self.trouble();
            self.end_stops();
            self.start_due()?;
            self.mend_due();
            let now = self.around.clock.now();
            let last_moment =
                self.load.last_moments.first_key_value().map(|(at, _)| self.elapsed() + (at.duration_since(now)));
            let wish_at = last_moment.map_or(self.wish_at, |at| at.min(self.wish_at));
            if wish_at <= self.elapsed() {
                self.fulfil_a_wish();
            }
            if self.reader.moves_at <= self.elapsed() {
                let span = SignedDuration::from_millis(self.reader.random.between(10, 60_000));
                self.reader.moves_at = self.elapsed() + span;
                let chosen = self.reader.random.below(self.places.len() as u64) as usize;
                self.read_through(chosen);
            }
            let starts = self.places.iter().filter_map(|place| place.start_at);
            let processes = self.places.iter().filter_map(|place| place.process.as_ref());
            let mends = processes.flat_map(|process| [process.frozen_until, process.cut_until]).flatten();
            let next = starts.chain(mends).chain([wish_at, self.reader.moves_at, self.around.options.busy_for]).min();
            self.step(next)?;
        }
        Ok(())
    }

    /// Everything works from now on.
    fn calm_down(&mut self) -> Result<(), String> {
        self.around.store_failing.store(false, Ordering::Relaxed);
        self.around.deaf.store(false, Ordering::Relaxed);
        self.around.receiver_faults.certain.store(false, Ordering::Relaxed);
        self.around.receiver_faults.uncertain.store(false, Ordering::Relaxed);
        self.quiet_since = self.elapsed();
        let executor = self.around.executor.clone();
        for process in self.processes() {
            process.frozen_until = None;
            executor.thaw(process.group);
            process.cut_until = None;
            process.cut_off.store(false, Ordering::Relaxed);
        }
        for index in 0..self.places.len() {
            if let Some(stopped) = self.places[index].stopped.take() {
                self.wait_for(&stopped)?;
                self.end(index, Some(SignedDuration::ZERO));
            }
            if self.places[index].process.is_none() {
                self.start(index)?;
            }
        }
        // From here on the reader stays where they are.
        let until = self.elapsed() + SignedDuration::from_mins(2);
        while !self.read_through(0) && self.elapsed() < until {
            self.step(Some(until))?;
        }
        Ok(())
    }

    /// Lets the reader read on through the node at this place; returns whether there is one.
    fn read_through(&mut self, index: usize) -> bool {
        let Some(process) = self.places[index].process.as_ref().filter(|process| process.is_up()) else { return false };
        let reading = self.reader.read_through(process.engine.clone());
        self.around.executor.spawn(process.group, Box::pin(reading));
        true
    }

    /// Reads how far the journal has come.
    fn read_head(&mut self) -> Result<(), String> {
        let store = self.places.iter().find_map(|place| place.store.clone()).ok_or("no node is left")?;
        let head = store.place().now_or_never().ok_or("a simulated store answers at once")?;
        self.head_before_the_end = head.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Lets `span` pass.
    fn pass(&mut self, span: SignedDuration) -> Result<(), String> {
        let until = self.elapsed() + span;
        while self.elapsed() < until {
            self.step(Some(until))?;
        }
        Ok(())
    }

    /// Stops every engine in order, one after the other.
    fn stop(&mut self) -> Result<(), String> {
        self.stopping_since = self.elapsed();
        for index in 0..self.places.len() {
            let stopped = Arc::new(Mutex::new(false));
            let process = self.places[index].process.as_ref();
            if !process.is_some_and(|process| process.stop(&self.around.executor, stopped.clone())) {
                return Err("an engine never came up".into());
            }
            self.wait_for(&stopped)?;
        }
        Ok(())
    }

    fn wait_for(&mut self, stopped: &Mutex<bool>) -> Result<(), String> {
        let until = self.elapsed() + SignedDuration::from_mins(5);
        while !*stopped.lock().unwrap_or_else(PoisonError::into_inner) {
            if self.elapsed() >= until {
                return Err("an engine did not stop within five minutes".into());
            }
            self.step(Some(until))?;
        }
        Ok(())
    }

    /// Ends every process and its store with it.
    fn close(&mut self) -> Result<(), String> {
        for place in std::mem::take(&mut self.places) {
            if let Some(process) = place.process {
                self.around.executor.kill(process.group);
            }
            let store = place.store.map(|store| Arc::downgrade(&store));
            if store.is_some_and(|store| store.upgrade().is_some()) {
                return Err("something keeps the store open after its process has died".into());
            }
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
        let chosen = self.load.random.below(self.places.len() as u64) as usize;
        // A node that has not seen the store's clock yet has no open door.
        let is_open = |process: &&Process| self.around.options.n_nodes == 1 || process.is_up();
        let Some(process) = self.places[chosen].process.as_ref().filter(is_open) else {
            // The last moment passes with nobody to talk to.
            let now = self.around.clock.now();
            self.load.last_moments.retain(|at, _| *at > now);
            return;
        };
        let wish = self.load.wish();
        let now = self.around.clock.now();
        let task = Load::fulfil(self.around.ledger.clone(), process.engine.clone(), wish, now);
        self.around.executor.spawn(process.group, Box::pin(task));
    }

    /// Does what goes wrong between two polls, if anything.
    fn trouble(&mut self) {
        let options = self.around.options.clone();
        // Many nodes are polled more often in the same time.
        let seldom = |n: u64| n * if options.n_nodes == 1 { 1 } else { u64::from(options.n_nodes) * 2 };
        let n_crashes_max = if options.n_nodes == 1 { 6 } else { 12 };
        let index = if options.n_nodes == 1 { 0 } else { self.trouble.below(self.places.len() as u64) as usize };
        let has_process = self.places[index].process.is_some();
        if options.crashes && self.n_crashes < n_crashes_max && has_process && self.trouble.one_in(seldom(700)) {
            self.n_crashes += 1;
            let down_for = if self.trouble.one_in(2) { 0 } else { self.trouble.between(0, 200_000) };
            self.fault(FaultKind::Crash, index);
            self.end(index, Some(SignedDuration::from_millis(down_for)));
        } else if options.jumps && self.n_jumps < 3 && self.trouble.one_in(1500) {
            self.n_jumps += 1;
            // Never off by more than half an hour, so a jump is an hour at most.
            let off = SignedDuration::from_millis(self.trouble.between(-1_800_000, 1_800_000));
            self.around.ledger.fault(FaultKind::Jump, None);
            self.around.clock.set(self.begin + self.elapsed() + off);
        } else if let Some(n) = options.stalls
            && has_process
            && self.trouble.one_in(seldom(n))
        {
            self.fault(FaultKind::Stall, index);
            let span = SignedDuration::from_millis(self.trouble.between(100, 60_000));
            let (executor, until) = (&self.around.executor, self.around.clock.elapsed() + span);
            if let Some(process) = &mut self.places[index].process {
                executor.freeze(process.group);
                process.frozen_until = Some(until);
            }
        } else if options.cuts && has_process && self.trouble.one_in(seldom(1000)) {
            self.fault(FaultKind::Cut, index);
            let span = SignedDuration::from_millis(self.trouble.between(100, 60_000));
            let until = self.elapsed() + span;
            if let Some(process) = &mut self.places[index].process {
                process.cut_off.store(true, Ordering::Relaxed);
                process.cut_until = Some(until);
            }
        } else if options.stops && has_process && self.trouble.one_in(seldom(1500)) {
            let stopped = Arc::new(Mutex::new(false));
            let place = &self.places[index];
            let process = place.process.as_ref().filter(|_| place.stopped.is_none());
            if process.is_some_and(|process| process.stop(&self.around.executor, stopped.clone())) {
                self.fault(FaultKind::Stop, index);
                self.places[index].stopped = Some(stopped);
            }
        }
    }

    fn fault(&self, kind: FaultKind, index: usize) {
        self.around.ledger.fault(kind, self.places[index].process.as_ref().map(|process| process.group));
    }

    /// Ends a process at this very poll; another starts in its place after a while.
    fn end(&mut self, index: usize, down_for: Option<SignedDuration>) {
        let start_at = down_for.map(|span| self.elapsed() + span);
        let place = std::mem::replace(&mut self.places[index], Place { start_at, ..Place::default() });
        if let Some(process) = place.process {
            self.around.executor.kill(process.group);
        }
    }

    /// Ends the processes that have stopped; others start in their places.
    fn end_stops(&mut self) {
        for index in 0..self.places.len() {
            let stopped = self.places[index].stopped.as_ref();
            if stopped.is_some_and(|stopped| *stopped.lock().unwrap_or_else(PoisonError::into_inner)) {
                let down_for = self.trouble.between(0, 60_000);
                self.end(index, Some(SignedDuration::from_millis(down_for)));
            }
        }
    }

    /// Ends stalls and cuts that are over.
    fn mend_due(&mut self) {
        let now = self.elapsed();
        let (executor, ledger) = (self.around.executor.clone(), self.around.ledger.clone());
        for process in self.processes() {
            // It stood still until now, so whatever it does wrong next is excused from here on.
            if process.frozen_until.take_if(|until| *until <= now).is_some() {
                executor.thaw(process.group);
                ledger.fault(FaultKind::Stall, Some(process.group));
            }
            if process.cut_until.take_if(|until| *until <= now).is_some() {
                process.cut_off.store(false, Ordering::Relaxed);
                ledger.fault(FaultKind::Cut, Some(process.group));
            }
        }
    }

    fn elapsed(&self) -> SignedDuration {
        self.around.clock.elapsed()
    }

    /// Reads everything through a store that nobody else uses.
    fn evidence(self) -> Result<Evidence, String> {
        let store = self.base.connect()?;
        let read = read(&*store).now_or_never().ok_or("a simulated store answers at once")?;
        let (rows, journal) = read.map_err(|error| error.to_string())?;
        let hash = self.around.ledger.hash();
        Ok(Evidence {
            rows,
            journal,
            head_before_the_end: self.head_before_the_end,
            now: self.around.clock.now(),
            elapsed: self.around.clock.elapsed(),
            quiet_since: self.quiet_since,
            stopping_since: self.stopping_since,
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

/// Every reminder, and the whole journal.
async fn read(store: &dyn Store) -> Result<(Vec<Row>, Vec<Placed>), StoreError> {
    store.place().await?;
    let mut rows = Vec::new();
    let everything = ReminderQuery { limit: usize::MAX >> 1, ..ReminderQuery::default() };
    for view in store.reminders(everything).await? {
        let id = view.reminder.id;
        let mut trails = store.occurrences(id, None, usize::MAX >> 1).await?;
        trails.reverse();
        let query = JournalQuery { reminder: Some(id), ..JournalQuery::new(Start::OLDEST, usize::MAX >> 1) };
        rows.push(Row { view, trails, entries: store.journal(query).await?.entries });
    }
    let journal = store.journal(JournalQuery::new(Start::OLDEST, usize::MAX >> 1)).await?;
    Ok((rows, journal.entries))
}
