//! A run that its person has answered is not sent any more, by any node.

use jiff::SignedDuration;
use punctual_core::change::Change;

use super::Evidence;

/// How long after an answer was acknowledged a send that another node had claimed may still begin.
const STOPPED_WITHIN: SignedDuration = SignedDuration::from_millis(100);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    if !evidence.options.is_punctual() {
        // A node that does not hear, or stands still, finds out when its lease has ended.
        return Vec::new();
    }
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    for command in book.commands.iter().filter(|command| ends(&command.change)) {
        let (Some(acknowledged), Some(run)) = (command.acknowledged, command.about) else { continue };
        let later = book.sends.iter().filter(|sent| {
            let since = sent.begun.elapsed - acknowledged.elapsed;
            sent.message.occurrence == run && sent.begun > acknowledged && since > STOPPED_WITHIN
        });
        for sent in later {
            found.push(format!(
                "{run} was sent at {} although its answer was taken at {}",
                sent.begun.at, acknowledged.at
            ));
        }
    }
    found
}

fn ends(change: &Change) -> bool {
    matches!(change.plain(), Change::Ack | Change::Dismiss)
}
