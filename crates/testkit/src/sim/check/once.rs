//! One key for one message, and no repeats without a reason.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use punctual_core::change::Change;
use punctual_core::id::ReminderId;

use super::Evidence;
use crate::sim::ledger::{Answer, Book, Command, FaultKind, Sent};

/// So long a node that is stopped waits for the answers to its sends.
const STOP_GRACE: SignedDuration = SignedDuration::from_secs(10);
/// So long any node waits for an answer.
const SEND_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    let mut by_key: BTreeMap<&str, Vec<&Sent>> = BTreeMap::new();
    for sent in &book.sends {
        by_key.entry(&sent.message.idempotency_key).or_default().push(sent);
    }
    for (key, sends) in by_key {
        for pair in sends.windows(2) {
            if let Some(what) = repeated(&book, pair[0], pair[1]) {
                found.push(format!("{key} {what}"));
            }
        }
        if sends.iter().any(|sent| sent.message.occurrence != sends[0].message.occurrence) {
            found.push(format!("{key} stands for two occurrences"));
        }
    }
    found.extend(keys(evidence, &commands, &book));
    found
}

/// Says what is wrong with sending `second` after `first`, which had the same key.
fn repeated(book: &Book, first: &Sent, second: &Sent) -> Option<String> {
    let what = match first.answered {
        Some((_, Answer::NotTaken | Answer::Unknown)) => return None,
        Some((answered, Answer::Taken)) if answered < second.begun => "was taken, and sent again",
        _ => "was sent again while it was on its way",
    };
    let id = first.message.occurrence.reminder;
    let is_resent = book.commands.iter().any(|command| {
        let is_between = command.begun > first.begun && command.begun < second.begun;
        command.reminder == id && matches!(command.change, Change::Resend(_)) && is_between
    });
    if first.id_written.is_some_and(|written| written < second.begun) && !is_resent {
        // A node that takes over can ask the platform, so there is no excuse.
        return Some(format!("could be asked about, and {what}: at {} and {}", first.begun.at, second.begun.at));
    }
    let is_open = first.answered.is_none_or(|(answered, _)| answered > second.begun);
    let has_waited = |since: SignedDuration, span| is_open && second.begun.elapsed - since >= span;
    // A sender that died or stood still cannot know; nor can one whose store failed or whose clock was set. One that is stopped waits
    // for a while.
    let excused = book.faults.iter().any(|fault| {
        let between = fault.moment > first.begun && fault.moment < second.begun;
        let own = fault.group.is_none_or(|group| group == first.from);
        between && own && (fault.kind != FaultKind::Stop || has_waited(fault.moment.elapsed, STOP_GRACE))
    });
    let timed_out = has_waited(first.begun.elapsed, SEND_TIMEOUT);
    (!excused && !timed_out).then(|| format!("{what}: at {} and {}", first.begun.at, second.begun.at))
}

/// A new key means a new message, so there are only as many as there were reasons to speak. Somebody who was asked in another's place puts it
/// off for both of them.
fn keys(evidence: &Evidence, commands: &BTreeMap<ReminderId, Vec<Command>>, book: &Book) -> Vec<String> {
    let mut keys: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for sent in &book.sends {
        let message = &sent.message;
        keys.entry((message.occurrence, &message.to)).or_default().insert(&message.idempotency_key);
    }
    let mut found = Vec::new();
    for ((occurrence, to), keys) in keys {
        let Some(row) = evidence.rows.iter().find(|row| row.view.reminder.id == occurrence.reminder) else { continue };
        let asks = row.view.reminder.ack.as_ref().map_or(1, |ack| ack.reminders_max as usize + 1);
        let kin =
            evidence.rows.iter().map(|row| &row.view.reminder).filter(|other| other.escalates == Some(occurrence));
        let family = kin.map(|other| other.id).chain([occurrence.reminder]);
        let given = family.filter_map(|id| commands.get(&id)).flatten();
        let n_snoozes = given.filter(|command| matches!(command.change.plain(), Change::Snooze { .. })).count();
        if keys.len() > asks * (n_snoozes + 1) {
            found.push(format!("{occurrence} to {to} has {} keys for {asks} messages", keys.len()));
        }
    }
    found
}
