//! Who has a run of a watch, and what its rows become.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::id::ReminderId;
use crate::journal::{Data, Entry, Kind, Who};
use crate::model::version::Version;
use crate::shard::shard_of;
use crate::store::{BeginRun, Begun, DefineWatch, Defined, EndRun, FinishRows, RunLease, TakenRun};
use crate::watch::{WatchRun, have_same_rows};
use crate::writes::Writes;

/// A watch as a store has loaded it for a run.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Its definition.
    pub hash: String,
    /// When it runs next.
    pub next_at: Option<Timestamp>,
    /// The run that has not ended, if there is one.
    pub going: Option<Going>,
}

/// A run that has not ended.
#[derive(Debug, Clone)]
pub struct Going {
    /// The run.
    pub run: WatchRun,
    /// Which time it was taken.
    pub lease: u64,
    /// Nobody has kept it: its node has died.
    pub is_left: bool,
}

/// Who does the run. Where it is the node that asks, the store writes the run as [`TakenRun`] has it: a new one with the next instant of its
/// schedule, or the old one with its new lease.
pub fn begun(loaded: Option<Loaded>, begin: &BeginRun) -> Begun {
    let Some(Loaded { hash, next_at, going }) = loaded else { return Begun::Replaced };
    if hash != begin.hash {
        return Begun::Replaced;
    }
    match going {
        Some(Going { run, is_left: false, .. }) => Begun::Going(Box::new(run)),
        Some(Going { mut run, lease, is_left: true }) => {
            run.node.clone_from(&begin.node);
            let lease = RunLease { run: run.id, number: lease + 1 };
            Begun::Taken(Box::new(TakenRun { run, lease, is_new: false }))
        }
        None if begin.asked || next_at.is_some_and(|at| at <= begin.now) => {
            let run = WatchRun::new(begin.id, &begin.watch, &begin.node, begin.asked, begin.now);
            let lease = RunLease { run: run.id, number: 1 };
            Begun::Taken(Box::new(TakenRun { run, lease, is_new: true }))
        }
        None => Begun::NotDue(next_at),
    }
}

/// What a definition changes.
#[derive(Debug)]
pub struct Definition {
    /// What it is.
    pub what: Defined,
    /// What the ledger says is about other rows, and goes.
    pub clears_ledger: bool,
    /// What is written besides.
    pub writes: Writes,
}

/// What a definition changes; `kept` is the hash and the definition of the one of its name.
pub fn defined(kept: Option<(&str, &str)>, new: &DefineWatch) -> Definition {
    let mut writes = Writes::new(new.now);
    let (what, clears_ledger) = match kept {
        Some((hash, _)) if *hash == new.hash => {
            return Definition { what: Defined::Same, clears_ledger: false, writes };
        }
        Some((_, definition)) => (Defined::Replaced, !have_same_rows(definition, &new.definition)),
        None => (Defined::New, false),
    };
    let data = Data::Watch { watch: new.name.clone(), did: if what == Defined::New { "defined" } else { "replaced" } };
    writes.entries.push(entry(new.now, Kind::WatchChanged, Who::ENGINE, data));
    Definition { what, clears_ledger, writes }
}

/// The version of a watch whose definition has this hash.
pub fn version_of(hash: &str) -> Version {
    Version::of(&hash)
}

/// A watch that somebody removed.
pub fn forgotten(name: &str, who: Who, now: Timestamp) -> Writes {
    let data = Data::Watch { watch: name.to_owned(), did: "forgotten" };
    Writes { entries: vec![entry(now, Kind::WatchChanged, who, data)], ..Writes::new(now) }
}

/// The reminders of rows that have none yet: `existing` are those that are there, because an earlier try was written after all.
pub fn finished(rows: &FinishRows, existing: &[ReminderId]) -> Writes {
    let mut writes = Writes::new(rows.now);
    let existing: HashSet<&ReminderId> = existing.iter().collect();
    for (new, row) in &rows.created {
        let reminder = &new.reminder;
        if existing.contains(&reminder.id) {
            continue;
        }
        writes.entries.push(Entry {
            at: rows.now,
            kind: Kind::Created,
            who: Who::ENGINE.via(&reminder.created_via),
            user: Some(reminder.user.clone()),
            reminder: Some(reminder.id),
            run: None,
            data: Data::Watched { watch: rows.watch.clone(), row: row.clone(), watch_run: rows.lease.run.to_string() },
        });
        let wake_at = new.first_run().wake_at();
        writes.moments.extend(wake_at.map(|at| (shard_of(&reminder.user), at)));
        writes.created.push(new.clone());
    }
    writes
}

/// The entry of a run that has ended.
pub fn ended(end: &EndRun) -> Writes {
    let entries = vec![entry(end.now, Kind::WatchRun, Who::ENGINE, end.data.clone())];
    Writes { entries, ..Writes::new(end.now) }
}

fn entry(at: Timestamp, kind: Kind, who: Who, data: Data) -> Entry {
    Entry { at, kind, who, user: None, reminder: None, run: None, data }
}
