//! A message that may have arrived is not sent again when its reminder says `hold`.

use std::collections::BTreeMap;

use punctual_core::reminder::OnUnknown;

use super::Evidence;
use crate::sim::ledger::{Answer, FaultKind, Sent};

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let book = evidence.ledger.read();
    // The reminder as its user asked for it is the judge, not the message.
    let said = |sent: &Sent| book.creates.get(&sent.message.occurrence.reminder).map(|c| c.reminder.on_unknown);
    let held = book.sends.iter().filter(|sent| said(sent) == Some(OnUnknown::Hold));
    let mut by_key: BTreeMap<&str, Vec<&Sent>> = BTreeMap::new();
    for sent in held {
        by_key.entry(&sent.message.idempotency_key).or_default().push(sent);
    }
    let mut found = Vec::new();
    for (key, sends) in by_key {
        for (first, second) in sends.iter().zip(sends.iter().skip(1)) {
            let not_taken = matches!(first.answered, Some((at, Answer::NotTaken)) if at < second.begun);
            // A cut-off attempt whose instant is still to come counts as never begun; a clock that was set back makes it so.
            let set_back = book.faults.iter().any(|fault| {
                fault.kind == FaultKind::Jump && fault.moment > first.begun && fault.moment < second.begun
            });
            if !not_taken && !set_back {
                found.push(format!(
                    "{key} may have arrived at {} and was sent again at {}",
                    first.begun.at, second.begun.at
                ));
            }
        }
    }
    found
}
