//! An application that has subscribed is told of every entry that it wants, in order for each reminder, and not again once that is
//! written down.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use punctual_core::id::ReminderId;
use punctual_core::journal::Placed;
use punctual_engine::Subscription;

use super::Evidence;
use crate::sim::ledger::{Book, Fault};
use crate::sim::listener::Told;

/// A node that lives and sees its store writes within this how far it has come.
const WRITTEN_WITHIN: SignedDuration = SignedDuration::from_secs(5);
/// A node that starts has taken the subscription within this. Until then the subscription has not begun.
const BEGUN_WITHIN: SignedDuration = SignedDuration::from_secs(1);
/// A node whose trouble began longer ago than this has lost the duty.
const DUTY_LOST_AFTER: SignedDuration = SignedDuration::from_secs(10);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    if !evidence.options.subscribed {
        return Vec::new();
    }
    let mut found = Vec::new();
    let book = evidence.ledger.read();
    missing(evidence, &book.told, &mut found);
    disordered(evidence, &book.told, &mut found);
    if !evidence.options.tight && !evidence.options.receivers_hang {
        // Elsewhere an entry that waits for a place holds back how far the others are written down.
        repeated(&book, &mut found);
    }
    found
}

fn is_wanted(entry: &&Placed) -> bool {
    Subscription::RESULTS.iter().any(|kind| kind.as_str() == entry.kind)
}

/// Every entry is told, from the first one that was: a subscription begins with the journal's end when a node first takes it.
fn missing(evidence: &Evidence, told: &[Told], found: &mut Vec<String>) {
    let known: BTreeSet<i64> = told.iter().map(|told| told.position).collect();
    let first = known.first().copied();
    let punctual = evidence.journal.first().filter(|_| evidence.options.is_punctual());
    let begun_at = punctual.map(|entry| entry.at + BEGUN_WITHIN);
    let is_due = |entry: &&Placed| {
        first.is_some_and(|first| entry.position >= first) || begun_at.is_some_and(|begun_at| entry.at >= begun_at)
    };
    let due = evidence.journal.iter().filter(is_wanted).filter(is_due);
    let due = due.filter(|entry| entry.position <= evidence.head_before_the_end);
    let missing = due.filter(|entry| !known.contains(&entry.position));
    found.extend(missing.map(|entry| format!("the application was not told of {} ({})", entry.position, entry.kind)));
}

/// When an entry is told for the first time, all earlier ones of its reminder have been.
fn disordered(evidence: &Evidence, told: &[Told], found: &mut Vec<String>) {
    let mut last: BTreeMap<Option<ReminderId>, i64> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for one in told.iter().filter(|one| known.insert(one.position)) {
        let last = last.entry(one.reminder).or_insert(one.position);
        if one.position < *last {
            found.push(format!("the application was told of {} after {last}, of one reminder", one.position));
        }
        *last = one.position.max(*last);
    }
    let strange = known.iter().filter(|position| !evidence.journal.iter().any(|entry| entry.position == **position));
    found.extend(strange.map(|position| format!("the application was told of {position}, which nobody wrote")));
}

/// What a node has told and had the time to write down is not told again.
fn repeated(book: &Book, found: &mut Vec<String>) {
    let mut first: BTreeMap<i64, &Told> = BTreeMap::new();
    for one in &book.told {
        let before = *first.entry(one.position).or_insert(one);
        let since = one.taken.elapsed - before.taken.elapsed;
        let is_near = |fault: &Fault| {
            let after = fault.moment.elapsed - before.taken.elapsed;
            let own = fault.group.is_none_or(|group| group == before.from);
            own && -DUTY_LOST_AFTER < after && after < WRITTEN_WITHIN
        };
        if since > WRITTEN_WITHIN && !book.faults.iter().any(is_near) {
            found.push(format!(
                "the application was told of {} at {} and again at {}",
                one.position, before.taken.at, one.taken.at
            ));
        }
    }
}
