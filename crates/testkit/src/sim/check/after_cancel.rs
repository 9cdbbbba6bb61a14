//! No message is sent after an acknowledged cancel, and a cancel is only refused for a send that has begun.

use jiff::SignedDuration;
use punctual_core::change::{Change, Refused};

use super::Evidence;
use crate::sim::ledger::{Book, Command, Sent};

/// How long after the answer to a send its run may still be called sending: a result is settled with others.
const SETTLED_WITHIN: SignedDuration = SignedDuration::from_millis(500);
/// How long it takes at most to get back from another node what that one has claimed and not begun to send, if it is asked once in
/// vain: five calls, each of which takes up to two milliseconds where nodes share a store, and a pause of five.
const GIVEN_BACK_WITHIN: SignedDuration = SignedDuration::from_millis(16);
/// How long it takes a single node if it is just claiming: one call, which takes up to forty milliseconds, and the pause.
const GIVEN_BACK_ALONE_WITHIN: SignedDuration = SignedDuration::from_millis(45);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let book = evidence.ledger.read();
    let given_back_within = if evidence.options.n_nodes == 1 { GIVEN_BACK_ALONE_WITHIN } else { GIVEN_BACK_WITHIN };
    let mut found = Vec::new();
    for command in book.commands.iter().filter(|command| matches!(command.change, Change::Cancel)) {
        if evidence.options.is_punctual() && is_wrongly_refused(&book, command, given_back_within) {
            found.push(format!("{} could not be cancelled although no send of it had begun", command.reminder));
        }
        let Some(acknowledged) = command.acknowledged else { continue };
        let later = book.sends.iter().filter(|sent| is_of(sent, command) && sent.begun > acknowledged);
        for sent in later.filter(|sent| !is_undone(&book, command, sent)) {
            found.push(format!(
                "{} was sent at {} although a cancel was acknowledged at {}",
                sent.message.occurrence, sent.begun.at, acknowledged.at
            ));
        }
    }
    found
}

/// Whether somebody undid the cancel before the message was sent, or may have.
fn is_undone(book: &Book, cancel: &Command, sent: &Sent) -> bool {
    let of_it = book.commands.iter().filter(|command| command.reminder == cancel.reminder && !command.is_refused());
    let mut undos = of_it.filter(|command| matches!(command.change, Change::Undo));
    undos.any(|undo| undo.begun > cancel.begun && undo.begun < sent.begun)
}

/// Whether a message is of the reminder that a command names, or of somebody who was asked in its person's place.
fn is_of(sent: &Sent, command: &Command) -> bool {
    let about = sent.message.reminder.escalates.map(|run| run.reminder);
    sent.message.occurrence.reminder == command.reminder || about == Some(command.reminder)
}

/// Whether a cancel was refused because of a send that had not begun when there was still time to take it back.
fn is_wrongly_refused(book: &Book, command: &Command, given_back_within: SignedDuration) -> bool {
    let Some((refused, why)) = &command.refused else { return false };
    let asked = command.begun.elapsed;
    let sends = || book.sends.iter().filter(|sent| is_of(sent, command));
    let was_in_time = |sent: &Sent| sent.begun.elapsed > asked + given_back_within;
    let is_over = |sent: &Sent| sent.answered.is_some_and(|(moment, _)| moment.elapsed + SETTLED_WITHIN < asked);
    let is_under_way = sends().any(|sent| !was_in_time(sent) && !is_over(sent));
    let began_since = sends().any(|sent| was_in_time(sent) && sent.begun < *refused);
    !is_under_way && (began_since || *why == Refused::SendBegun.to_string())
}
