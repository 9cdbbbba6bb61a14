//! A press counts at most once, however often its platform tells of it; and one that was acknowledged as an answer is in the books.

use std::collections::BTreeMap;

use super::Evidence;

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut counted: BTreeMap<usize, usize> = BTreeMap::new();
    for response in evidence.rows.iter().flat_map(|row| &row.trails).flat_map(|trail| &trail.responses) {
        if let Some(number) = response.said.name.as_ref().and_then(|name| name.parse().ok()) {
            *counted.entry(number).or_default() += 1;
        }
    }
    let book = evidence.ledger.read();
    let mut found = Vec::new();
    for (number, press) in book.presses.iter().enumerate() {
        let n = counted.get(&number).copied().unwrap_or_default();
        let (run, verb) = (press.pressed.occurrence, press.pressed.verb);
        if n > 1 {
            found.push(format!("the press {number} ({verb} of {run}) counts {n} times"));
        }
        if let Some(told) = press.told.filter(|_| n == 0) {
            found.push(format!("the person was told at {} that {verb} of {run} is recorded, and it is not", told.at));
        }
    }
    found
}
