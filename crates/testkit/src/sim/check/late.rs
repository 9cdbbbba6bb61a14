//! Sends begin on their instant: always, if nothing ever goes wrong, and again soon after it did.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::change::Change;
use punctual_core::reminder::Address;

use super::{Evidence, silenced};

/// A simulated commit takes up to a tenth of a second, and a busy phone takes messages one by one.
const LATE_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// Where every limit is so low that it is reached, messages wait for their turn.
const LATE_AFTER_TIGHT: SignedDuration = SignedDuration::from_secs(20);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    if evidence.options.calls && evidence.options.tight || evidence.options.questions {
        // A call may take minutes, and few may be under way: the others wait for the end of it. So they do where phones are slow.
        return Vec::new();
    }
    let commands = evidence.commands();
    let book = evidence.ledger.read();
    let excuse_ends = evidence.quiet_since + evidence.options.settles_within();
    let always = evidence.options.is_punctual() && !evidence.options.receivers_hang;
    let late_after = if evidence.options.tight { LATE_AFTER_TIGHT } else { LATE_AFTER };
    let mut waits: BTreeMap<&Address, Vec<(SignedDuration, SignedDuration)>> = BTreeMap::new();
    for sent in &book.sends {
        if let (Some(wait), Some((answered, _))) = (sent.asked_to_wait, sent.answered) {
            waits.entry(&sent.message.to).or_default().push((answered.elapsed, answered.elapsed + wait));
        }
    }
    let mut found = Vec::new();
    for sent in &book.sends {
        let message = &sent.message;
        let id = message.occurrence;
        // A retry is as late as its delay; a first attempt has no excuse, nor has asking again.
        let asks_again = message.idempotency_key != id.idempotency_key(&message.to, 0);
        if message.attempt > 1 && !asks_again {
            continue;
        }
        // A reminder that was asked for after its instant counts from the asking.
        let asked =
            book.creates.get(&id.reminder).into_iter().flat_map(|created| [Some(created.begun), created.acknowledged]);
        let told = commands.get(&id.reminder).into_iter().flatten().flat_map(|command| {
            [Some(command.begun), command.acknowledged, command.refused.as_ref().map(|(moment, _)| *moment)]
        });
        // The run after a call is planned when somebody knows what became of the call, and so is a question to another about it.
        let calls = book.sends.iter().filter(|call| {
            let other = call.message.occurrence;
            let is_before = other.reminder == id.reminder && other != id || message.reminder.escalates == Some(other);
            call.message.to.channel == "call" && is_before
        });
        let ended = calls.map(|call| call.answered.map(|(moment, _)| moment));
        let words = asked.chain(told).chain(ended).flatten().filter(|moment| *moment < sent.begun);
        let last_word = words.map(|moment| moment.at).max();
        // A question that a cancel ended, and an undo brought back, is asked again when its time to answer has passed once more.
        let undos = commands.get(&id.reminder).into_iter().flatten().filter(|command| {
            asks_again && matches!(command.change, Change::Undo) && command.begun < sent.begun && !command.is_refused()
        });
        let timeout = message.reminder.ack.as_ref().map_or(Duration::ZERO, |ack| ack.timeout);
        let undone = undos.map(|undo| undo.acknowledged.unwrap_or(undo.begun).at + timeout).max();
        let last_word = last_word.max(undone);
        let since = last_word.map_or(sent.message.due_at, |at| at.max(sent.message.due_at));
        let mut late = sent.begun.at.duration_since(since);
        // An address that asked for a wait gets no message meanwhile; lateness counts from the end of the wait.
        let asked = waits.get(&message.to).into_iter().flatten().filter(|(from, _)| *from < sent.begun.elapsed);
        if let Some(waited_until) = asked.map(|(_, until)| *until).max() {
            late = late.min(sent.begun.elapsed - waited_until);
        }
        // A run that waited for one address may have got another meanwhile, or its person may then have asked for silence.
        let changed = commands.get(&id.reminder).into_iter().flatten().any(|command| command.begun < sent.begun);
        let waited = (evidence.options.people || changed)
            && waits.values().flatten().any(|(from, until)| {
                let due = sent.begun.elapsed - sent.begun.at.duration_since(message.due_at);
                *from < sent.begun.elapsed && *until > due
            });
        if let Some(silence) = silenced::outstayed(&book.silences, sent).filter(|_| always) {
            found.push(format!("{id} waited until the end of the silence {}, which was over before", silence.id));
        }
        let excused = waited || (!always && sent.begun.elapsed - late < excuse_ends);
        if late > late_after && !excused {
            found.push(format!("{id} is due at {} and was sent {late:#} late", sent.message.due_at));
        }
    }
    found
}
