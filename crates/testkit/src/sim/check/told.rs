//! A critical reminder that led to nothing is told to somebody; so is one that every address failed, and then that it got through.

use std::collections::BTreeMap;

use punctual_core::alert::VIA;
use punctual_core::change::Change;
use punctual_core::journal::{ENGINE, Kind};
use punctual_core::reminder::Priority;

use super::Evidence;

/// How often somebody was told what of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    trouble: usize,
    recovered: usize,
    ended: usize,
}

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let mut alerts: BTreeMap<String, Told> = BTreeMap::new();
    for row in evidence.rows.iter().filter(|row| row.view.reminder.created_via == VIA) {
        let metadata = row.view.reminder.metadata.to_value();
        let about = metadata["about"]["occurrence_id"].as_str().unwrap_or_default().to_owned();
        let told = alerts.entry(about).or_default();
        match metadata["about"]["news"].as_str() {
            Some("trouble") => told.trouble += 1,
            Some("recovered") => told.recovered += 1,
            _ => told.ended += 1,
        }
    }
    let mut found = Vec::new();
    for row in &evidence.rows {
        let reminder = &row.view.reminder;
        let is_changed = |command: &super::Command| matches!(command.change, Change::Update(_));
        // Of somebody who is asked in another's place the admins hear nothing: they hear of the run itself.
        if reminder.created_via == VIA
            || reminder.escalates.is_some()
            || commands.get(&reminder.id).is_some_and(|all| all.iter().any(is_changed))
        {
            // The priority it had when it ended is not known.
            continue;
        }
        for trail in &row.trails {
            let kind = trail.occurrence.state.kind();
            // The journal names how it ended, also if somebody answered later; and of runs that were missed together, the first.
            let run = Some(trail.occurrence.id.run);
            let is_named = |kind: &Kind| {
                let mut entries = row.entries.iter().filter(|entry| entry.run == run && entry.actor == ENGINE);
                entries.any(|entry| entry.kind == kind.as_str())
            };
            let n_ends = [Kind::Failed, Kind::Unanswered, Kind::Missed].iter().filter(|kind| is_named(kind)).count();
            let expected = if reminder.priority == Priority::Critical { n_ends } else { 0 };
            let told = alerts.get(&trail.occurrence.id.to_string()).copied().unwrap_or_default();
            let tries = trail.occurrence.tries;
            let in_trouble = reminder.priority == Priority::Critical && tries.rounds > 0 && tries.reached == 0;
            let got_through = told.trouble > 0 && tries.reached > 0;
            if told.trouble > 1 || in_trouble && told.trouble == 0 || told.recovered != usize::from(got_through) {
                found.push(format!("{} is {} and {kind}, and {told:?}", trail.occurrence.id, reminder.priority));
            }
            let n = told.ended;
            if n != expected {
                found.push(format!(
                    "{} is {} and {kind}, and was told {n} times",
                    trail.occurrence.id, reminder.priority
                ));
            }
        }
    }
    found
}
