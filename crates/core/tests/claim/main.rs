//! What a claim takes, ends and puts off, one row a case.
//!
//! A row says what was loaded, what the caller is told and everything that is written; [`decided`] compares.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[path = "../common/mod.rs"]
mod common;

mod cut_off;
mod ends;
mod escalated;
mod events;
mod missed;
mod sent;
mod unplanned;
mod unreadable;
mod waits;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use common::said::{check, claims, written};
use common::{at, occurrence, processing, reminder};
use jiff::Timestamp;
use punctual_core::alert::Unreadable;
use punctual_core::decide::claim::{Due, Found, Known, Locked, look};
use punctual_core::id::{OccurrenceId, SilenceId};
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::{Address, MisfirePolicy, Reminder};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::schedule::Schedule;
use punctual_core::shard::Shards;
use punctual_core::silence::{Silence, Silences, Silent};
use punctual_core::store::Claim;
use punctual_core::user::{Except, Person, QuietHours};

/// What a store has loaded when it claims.
struct Given {
    reminder: Reminder,
    /// The runs whose moment has come.
    due: Vec<Occurrence>,
    /// The runs that cannot be read.
    unreadable: Vec<u32>,
    /// The reminder cannot be read.
    is_broken: bool,
    /// The reminder is not there.
    is_gone: bool,
    person: Person,
    /// The person's addresses, or why they cannot be read.
    addresses: Result<Vec<Address>, String>,
    series: Series,
    n_open: Option<u32>,
    /// Somebody is just changing the person, so the person could not be locked.
    person_is_busy: bool,
    silences: Silences,
    /// Somebody is just changing the silences, so none could be locked.
    silences_are_busy: bool,
    /// What has changed by the time the reminder is locked.
    until_locked: fn(&mut Known),
    /// Its event is still to be planned.
    is_unplanned: bool,
    now: i64,
}

/// A row: its name, what was loaded, what the caller is told, what is written.
type Row = (&'static str, Given, &'static [&'static str], &'static [&'static str]);

/// Run 1 of a reminder for `web:a`, due at second 0, which is now.
fn given(schedule: Schedule) -> Given {
    let reminder = Reminder { to: vec![web("a")], ..reminder(schedule) };
    Given {
        due: vec![occurrence(&reminder, 1, at(0))],
        series: Series::begun(reminder.schedule.is_recurring()),
        reminder,
        unreadable: Vec::new(),
        is_broken: false,
        is_gone: false,
        person: Person::default(),
        addresses: Ok(Vec::new()),
        n_open: Some(1),
        person_is_busy: false,
        silences: Silences::default(),
        silences_are_busy: false,
        until_locked: |_| (),
        is_unplanned: false,
        now: 0,
    }
}

impl Given {
    /// The run is in this state, and has been tried once.
    fn run(mut self, state: State) -> Self {
        self.due[0].state = state;
        self.due[0].tries.attempts = 1;
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn now(self, now: i64) -> Self {
        Self { now, ..self }
    }

    /// The reminder as the store reads it.
    fn known(&self) -> Known {
        Known {
            reminder: Arc::new(self.reminder.clone()),
            progress: Progress { series: self.series, tally: Tally::default() },
            addresses: self.addresses.clone(),
            person: Arc::new(self.person.clone()),
            is_unplanned: self.is_unplanned,
        }
    }
}

fn web(address: &str) -> Address {
    Address::new("web", address)
}

/// A send to `to` that its node did not see the end of: claimed at second 0, until second 15.
fn cut_off(to: Address) -> State {
    processing(7, at(15), &to)
}

fn misfire(schedule: Schedule, policy: MisfirePolicy, within: u64) -> Given {
    given(schedule).with(|given| {
        given.reminder.misfire.policy = policy;
        given.reminder.misfire.within = Duration::from_secs(within);
    })
}

/// Quiet from second 0 for an hour.
fn quiet() -> Person {
    let time = |text: &str| text.parse().unwrap();
    let hours = QuietHours { from: time("08:00"), to: time("09:00"), except: Except::Critical, digest: false };
    Person { quiet: Some(hours), ..Person::default() }
}

fn paused() -> Person {
    Person { paused_until: Some(at(7200)), ..Person::default() }
}

/// Everybody is silent about chores from second 0 for half an hour.
fn no_chores() -> Silences {
    let silence = Silence {
        id: SilenceId::new(at(0), [1; 10]),
        user: None,
        group: None,
        tag: Some("chores".into()),
        from: at(0),
        until: at(1800),
        created_at: at(0),
        created_by: "ann".into(),
    };
    Silences::new(vec![Silent { silence, people: Vec::new() }])
}

fn claim_at(now: Timestamp) -> Claim {
    Claim {
        now,
        from: Timestamp::MIN,
        until: now,
        shards: Shards::ALL,
        limit: 3,
        node: "node".into(),
        lease_until: now + Duration::from_secs(15),
        default_channel: DefaultChannel::default(),
        only: None,
        holding: BTreeSet::from(["call".to_owned()]),
    }
}

/// Decides as a store does: look, lock, decide.
fn decided(name: &str, given: Given, told: &[&str], expect: &[&str]) {
    let claim = claim_at(at(given.now));
    let id = given.reminder.id;
    let mut known = given.known();
    let id_of = |run: u32| occurrence(&given.reminder, run, at(0)).id;
    let unreadable = given.unreadable.iter().map(|run| (id_of(*run), "no such state".to_owned())).collect();
    let due = given.due.iter().map(|occurrence| {
        let wake_at = occurrence.wake_at().unwrap();
        let lease = occurrence.state.lease().map_or(0, |lease| lease.number);
        Due { occurrence: occurrence.clone(), lease, wake_at }
    });
    let found = Found { due: due.collect(), unreadable };
    let loaded = match (given.is_gone, given.is_broken) {
        (true, _) => HashMap::new(),
        (_, true) => HashMap::from([(id, broken())]),
        _ => HashMap::from([(id, Ok(known.clone()))]),
    };
    let look = look(found, loaded, &given.silences, &claim);
    (given.until_locked)(&mut known);
    let to_lock = look.to_lock();
    let has_person = to_lock.users.contains(&known.reminder.user) && !given.person_is_busy;
    let left: Vec<Unreadable> = look.unreadable().iter().map(|(id, error)| left_of(*id, &known, error)).collect();
    let locked = Locked { known, n_open: given.n_open, has_person };
    let locked = match (to_lock.reminders.contains(&id) && !given.is_gone, given.is_broken) {
        (false, _) => HashMap::new(),
        (true, true) => HashMap::from([(id, broken())]),
        (true, false) => HashMap::from([(id, Ok(locked))]),
    };
    let silences = if given.silences_are_busy { Silences::default() } else { given.silences.clone() };
    let (told_of, writes) = look.decide(&locked, &silences, left);
    check(name, "told", &claims(&told_of, &writes), told);
    check(name, "written", &written(&writes), expect);
}

/// What a store says of a reminder that it cannot read.
fn broken<T>() -> Result<T, String> {
    Err("no such rule".to_owned())
}

/// What a store can still read of an unreadable run.
fn left_of(id: OccurrenceId, known: &Known, error: &str) -> Unreadable {
    Unreadable {
        id,
        user: known.reminder.user.clone(),
        message: known.reminder.message.clone(),
        priority: known.reminder.priority,
        created_via: known.reminder.created_via.clone(),
        due_at: at(0),
        error: error.to_owned(),
    }
}

fn check_all<const N: usize>(rows: [Row; N]) {
    for (name, given, told, expect) in rows {
        decided(name, given, told, expect);
    }
}
