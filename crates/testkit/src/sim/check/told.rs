//! A critical reminder that led to nothing is told to somebody.

use std::collections::BTreeMap;

use punctual_core::alert::VIA;
use punctual_core::change::Change;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::Priority;

use super::Evidence;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let mut alerts: BTreeMap<String, usize> = BTreeMap::new();
    for row in evidence.rows.iter().filter(|row| row.view.reminder.created_via == VIA) {
        let about =
            row.view.reminder.metadata.to_value()["about"]["occurrence_id"].as_str().unwrap_or_default().to_owned();
        *alerts.entry(about).or_default() += 1;
    }
    let mut found = Vec::new();
    for row in &evidence.rows {
        let reminder = &row.view.reminder;
        let is_changed = |command: &super::Command| matches!(command.change, Change::Update(_));
        if reminder.created_via == VIA || commands.get(&reminder.id).is_some_and(|all| all.iter().any(is_changed)) {
            // What it was worth when it ended is not known.
            continue;
        }
        for trail in &row.trails {
            let kind = trail.occurrence.state.kind();
            // Of runs that were missed together the first is told of, which is the one that the audit trail names.
            let run = Some(trail.occurrence.id.run);
            let is_named = || row.audit.iter().any(|entry| entry.run == run && entry.action == "missed");
            let led_to_nothing = match kind {
                StateKind::Failed | StateKind::Unanswered => true,
                StateKind::Missed => is_named(),
                _ => false,
            };
            let expected = reminder.priority == Priority::Critical && led_to_nothing;
            let n = alerts.get(&trail.occurrence.id.to_string()).copied().unwrap_or(0);
            if n != usize::from(expected) {
                found.push(format!(
                    "{} is {} and {kind}, and was told {n} times",
                    trail.occurrence.id, reminder.priority
                ));
            }
        }
    }
    found
}
