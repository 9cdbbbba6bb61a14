//! Nothing is sent after an acknowledged cancel.

use punctual_core::change::Change;

use super::Evidence;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    for command in book.commands.iter().filter(|command| matches!(command.change, Change::Cancel)) {
        let Some(acknowledged) = command.acknowledged else { continue };
        let later = book
            .sends
            .iter()
            .filter(|sent| sent.message.occurrence.reminder == command.reminder && sent.begun > acknowledged);
        for sent in later {
            found.push(format!(
                "{} was sent at {} although a cancel was acknowledged at {}",
                sent.message.occurrence, sent.begun.at, acknowledged.at
            ));
        }
    }
    found
}
