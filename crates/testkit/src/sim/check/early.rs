//! No send begins before its instant, by the world's clock.

use punctual_core::alert;
use punctual_core::decide::family;
use punctual_core::rules::escalate;
use punctual_core::schedule::Rule;

use super::Evidence;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    for sent in &book.sends {
        let id = sent.message.occurrence;
        if sent.begun.at < sent.message.due_at {
            found.push(format!("{id} is due at {} and was sent at {}", sent.message.due_at, sent.begun.at));
        }
        // The reminder as its user asked for it is the judge, not the message, where no command has changed it since.
        let Some(created) = book.creates.get(&id.reminder) else {
            if [alert::VIA, escalate::VIA, family::VIA].contains(&sent.message.reminder.created_via.as_str()) {
                // The engine made it; other checkers ask why.
                continue;
            }
            found.push(format!("{id} was sent although nobody created it"));
            continue;
        };
        if let Rule::Once { at } = created.reminder.schedule.rule
            && !commands.contains_key(&id.reminder)
            && sent.begun.at < at
        {
            found.push(format!("{id} was asked for at {at} and sent at {}", sent.begun.at));
        }
    }
    found
}
