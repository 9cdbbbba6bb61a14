//! Everything that happened is in the journal once, in an order in which it can have happened; and a reader who was cut off and resumed has
//! read it all, once.

use std::collections::BTreeMap;

use punctual_core::id::ReminderId;
use punctual_core::journal::{Kind, Placed};
use punctual_core::occurrence::{AttemptStatus, State};
use punctual_core::store::Trail;

use super::{Evidence, Row};

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    let journal = &evidence.journal;
    if !journal.is_sorted_by(|a, b| a.position < b.position) {
        found.push("positions do not rise".to_owned());
    }
    read_by_the_reader(evidence, &mut found);
    for row in &evidence.rows {
        let id = row.view.reminder.id;
        let n_created = of(row, Kind::Created).count();
        if n_created != 1 || row.entries.first().is_some_and(|first| first.kind != Kind::Created.as_str()) {
            found.push(format!("{id} was created {n_created} times, or something happened to it before"));
        }
        for trail in &row.trails {
            attempts(row, trail, &mut found);
            ending(row, trail, &mut found);
        }
    }
    commands(evidence, &mut found);
    found
}

/// The reader has read what the journal begins with, and all but its last moments.
fn read_by_the_reader(evidence: &Evidence, found: &mut Vec<String>) {
    let journal = &evidence.journal;
    let book = evidence.ledger.read();
    let read = &book.entries;
    if let Some(index) = read.iter().zip(journal).position(|(read, kept)| read != kept) {
        found.push(format!("the reader read {:?} where {:?} stands", read[index], journal[index]));
    } else if read.len() > journal.len() {
        found.push(format!("the reader read {} entries of {}", read.len(), journal.len()));
    } else if let Some(missed) = journal.get(read.len()).filter(|entry| entry.position <= evidence.head_before_the_end)
    {
        found.push(format!("the reader has not read {missed:?}"));
    }
}

fn of(row: &Row, kind: Kind) -> impl Iterator<Item = &Placed> {
    row.entries.iter().filter(move |entry| entry.kind == kind.as_str())
}

fn number(entry: &Placed, field: &str) -> Option<u64> {
    let data: serde_json::Value = serde_json::from_str(entry.data.as_deref()?).ok()?;
    data[field].as_u64()
}

/// Each attempt that has ended has one entry, and each such entry an attempt.
fn attempts(row: &Row, trail: &Trail, found: &mut Vec<String>) {
    let id = trail.occurrence.id;
    let kinds = [Kind::Sent, Kind::Failed, Kind::AttemptFailed].map(|kind| kind.as_str());
    let told = row.entries.iter().filter(|entry| entry.run == Some(id.run) && kinds.contains(&entry.kind.as_str()));
    let mut told: Vec<u64> = told.filter_map(|entry| number(entry, "attempt")).collect();
    told.sort_unstable();
    let ended = trail.attempts.iter().filter(|attempt| attempt.status != AttemptStatus::Sending);
    let ended: Vec<u64> = ended.map(|attempt| u64::from(attempt.number)).collect();
    if told != ended {
        found.push(format!("{id} has the attempts {ended:?}, and entries of {told:?}"));
    }
}

/// Each final state has its entry.
fn ending(row: &Row, trail: &Trail, found: &mut Vec<String>) {
    let id = trail.occurrence.id;
    let n = |kind| of(row, kind).filter(|entry| entry.run == Some(id.run)).count();
    let cancelled = || {
        let ended = |entry: &Placed| {
            let data = entry.data.as_deref().and_then(|data| serde_json::from_str::<serde_json::Value>(data).ok());
            let data = data.unwrap_or_default();
            let runs = data["runs"].as_array().cloned().unwrap_or_default();
            // It was withdrawn because another of its family was answered, put off or cancelled.
            let is_withdrawn = entry.run == Some(id.run) && data["did"].is_string();
            is_withdrawn || runs.contains(&id.run.into())
        };
        of(row, Kind::Cancelled).filter(|entry| ended(entry) && !is_undone(row, entry)).count()
    };
    let resent = || row.did("resend").filter(|entry| entry.run == Some(id.run)).count();
    let skipped = || row.did("skip").filter(|entry| entry.run == Some(id.run)).count();
    let n_told = match &trail.occurrence.state {
        State::Delivered { .. } => n(Kind::Sent).min(1),
        State::Completed { .. } => n(Kind::Acknowledged),
        State::Dismissed { .. } => n(Kind::Dismissed) + cancelled(),
        // One that was put off may have been asked again.
        State::Unanswered { .. } => n(Kind::Unanswered).min(1),
        // One that was sent again has failed as often before.
        State::Failed { .. } => n(Kind::Failed).saturating_sub(resent()),
        State::Cancelled { .. } => cancelled() + skipped(),
        // Of runs that were missed together the first is named.
        State::Missed { .. } => {
            of(row, Kind::Missed).filter(|entry| entry.run.is_some_and(|run| run <= id.run)).count().min(1)
        }
        _ => 1,
    };
    if n_told != 1 {
        found.push(format!("{id} is {}, and {n_told} entries say so", trail.occurrence.state.kind()));
    }
}

/// Whether the next of a reminder's cancels and undos is an undo.
fn is_undone(row: &Row, cancelled: &Placed) -> bool {
    let undos: Vec<i64> = row.did("undo").map(|entry| entry.position).collect();
    let later = |position: &&i64| **position > cancelled.position;
    let next_cancel =
        of(row, Kind::Cancelled).map(|entry| entry.position).find(|position| *position > cancelled.position);
    undos.iter().find(later).is_some_and(|undo| next_cancel.is_none_or(|cancel| *undo < cancel))
}

/// Each acknowledged command has one entry, and no entry is nobody's.
fn commands(evidence: &Evidence, found: &mut Vec<String>) {
    let root_of: BTreeMap<ReminderId, ReminderId> = evidence
        .rows
        .iter()
        .map(|row| {
            let reminder = &row.view.reminder;
            (reminder.id, reminder.escalates.map_or(reminder.id, |run| run.reminder))
        })
        .collect();
    let all = evidence.commands();
    for (id, given) in &all {
        // Where several were asked about one run, what one of them did is entered for each.
        let root = root_of.get(id);
        let family = || all.iter().filter(|(other, _)| root_of.get(other) == root).flat_map(|(_, given)| given);
        let is_alone = !root_of.iter().any(|(other, of)| other != id && Some(of) == root);
        for verb in
            ["cancel", "pause", "resume", "skip", "ack", "snooze", "dismiss", "fire", "update", "undo", "resend"]
        {
            let given = || given.iter().filter(|command| command.change.verb() == verb);
            let n_done = given().filter(|command| command.acknowledged.is_some()).count();
            // A caller who got no answer may have been obeyed, and so may one whose store failed.
            let n_perhaps = given().filter(|command| command.acknowledged.is_none()).count();
            let n_told = n_entries(evidence, *id, verb);
            let is_too_many = match verb {
                "ack" | "snooze" | "dismiss" if !is_alone => {
                    let n_given = family().filter(|command| command.change.verb() == verb).count();
                    most_of_a_run(evidence, *id, verb) > n_given
                }
                // One that was withdrawn is entered as cancelled.
                "cancel" if !is_alone => false,
                _ => n_told > n_done + n_perhaps,
            };
            if n_told < n_done || is_too_many {
                found.push(format!("{id}: {n_done} {verb} were done, {n_perhaps} perhaps, and {n_told} are entered"));
            }
        }
    }
}

fn n_entries(evidence: &Evidence, id: ReminderId, verb: &str) -> usize {
    entries(evidence, id, verb).len()
}

/// How many entries of a command there are of the run that has most.
fn most_of_a_run(evidence: &Evidence, id: ReminderId, verb: &str) -> usize {
    let mut by_run: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    for entry in entries(evidence, id, verb) {
        *by_run.entry(entry.run).or_default() += 1;
    }
    by_run.into_values().max().unwrap_or_default()
}

/// The entries of a command about a reminder.
fn entries<'a>(evidence: &'a Evidence, id: ReminderId, verb: &str) -> Vec<&'a Placed> {
    let row = evidence.rows.iter().find(|row| row.view.reminder.id == id);
    row.map_or(Vec::new(), |row| match verb {
        "cancel" => of(row, Kind::Cancelled).collect(),
        "ack" => of(row, Kind::Acknowledged).collect(),
        "snooze" => of(row, Kind::Snoozed).collect(),
        "dismiss" => of(row, Kind::Dismissed).collect(),
        other => row.did(other).collect(),
    })
}
