//! A run that somebody has answered is not sent any more, by any node, to its person or to others who were asked; and each of them is told.

use jiff::SignedDuration;
use punctual_core::change::Change;
use punctual_core::decide::family;

use super::{Evidence, Row};

/// How long after an answer was acknowledged a send that another node had claimed may still begin.
const STOPPED_WITHIN: SignedDuration = SignedDuration::from_millis(100);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = untold(evidence);
    if !evidence.options.is_punctual() {
        // A node that does not hear, or stands still, finds out when its lease has ended.
        return found;
    }
    let book = evidence.ledger.read();
    for command in book.commands.iter().filter(|command| ends(&command.change)) {
        let (Some(acknowledged), Some(run)) = (command.acknowledged, command.about) else { continue };
        let row = evidence.rows.iter().find(|row| row.view.reminder.id == command.reminder);
        // The run that all of them were asked about.
        let about = row.and_then(|row| row.view.reminder.escalates).unwrap_or(run);
        let later = book.sends.iter().filter(|sent| {
            let since = sent.begun.elapsed - acknowledged.elapsed;
            let message = &sent.message;
            let is_meant = [run, about].contains(&message.occurrence) || message.reminder.escalates == Some(about);
            is_meant && sent.begun > acknowledged && since > STOPPED_WITHIN
        });
        for sent in later {
            found.push(format!(
                "{} was sent at {} although {run} was answered at {}",
                sent.message.occurrence, sent.begun.at, acknowledged.at
            ));
        }
    }
    found
}

fn ends(change: &Change) -> bool {
    matches!(change.plain(), Change::Ack | Change::Dismiss)
}

/// Whom a message has reached about a run that another has answered is told so.
fn untold(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let relays: Vec<&Row> = evidence.rows.iter().filter(|row| row.view.reminder.created_via == family::VIA).collect();
    let mut found = Vec::new();
    for row in &evidence.rows {
        let reminder = &row.view.reminder;
        if commands.contains_key(&reminder.id) {
            // Somebody with whom they share a chat may have answered in it.
            continue;
        }
        for trail in row.trails.iter().filter(|trail| trail.occurrence.tries.reached > 0) {
            let of_others =
                trail.responses.iter().filter(|said| said.user.as_ref().is_some_and(|user| *user != reminder.user));
            for said in of_others {
                let is_about = |relay: &&&Row| {
                    let relay = &relay.view.reminder;
                    relay.user == reminder.user && relay.created_at == said.at
                };
                if relays.iter().find(is_about).is_none() {
                    let id = trail.occurrence.id;
                    found.push(format!(
                        "{id} of {} was answered by another at {}, and nobody said so",
                        reminder.user, said.at
                    ));
                }
            }
        }
    }
    found
}
