//! Reading what people see who look at their day, once for every store.

use jiff::Timestamp;
use punctual_core::occurrence::StateKind;
use punctual_core::store::RunsQuery;

/// The instants between which runs are due: the first is included, the second is not. The place after which a page begins narrows them, so that an index
/// begins there.
pub(crate) fn limits(query: &RunsQuery) -> (Timestamp, Timestamp) {
    let (from, to) = (query.from.unwrap_or(Timestamp::MIN), query.to.unwrap_or(Timestamp::MAX));
    match query.after {
        Some((at, _)) if query.newest_first => (from, to.min(next_micro(at))),
        Some((at, _)) => (from.max(at), to),
        None => (from, to),
    }
}

/// The instant after `at`, as stores keep them.
fn next_micro(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond().saturating_add(1)).unwrap_or(Timestamp::MAX)
}

/// The condition that a run `o` is in one of these states, with ` and ` before it; none is no condition.
pub(crate) fn is_in(states: &[StateKind]) -> String {
    if states.is_empty() {
        return String::new();
    }
    let words: Vec<String> = states.iter().map(|state| format!("'{state}'")).collect();
    format!(" and o.state in ({})", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_at_its_place() {
        let at = |second| Timestamp::from_second(second).expect("a small number of seconds");
        let id = "0198c0de-0000-7000-8000-000000000001-3".parse().expect("the name of a run");
        let limits = |newest_first, after: Option<i64>| {
            let after = after.map(|second| (at(second), id));
            let (from, to) = (Some(at(10)), Some(at(50)));
            let query = RunsQuery { user: "ann".into(), from, to, states: vec![], newest_first, after, limit: 9 };
            super::limits(&query)
        };
        assert_eq!(limits(false, None), (at(10), at(50)));
        assert_eq!(limits(false, Some(30)), (at(30), at(50)));
        assert_eq!(limits(true, Some(30)), (at(10), next_micro(at(30))));
        assert_eq!(is_in(&[]), "");
        assert_eq!(is_in(&[StateKind::Failed, StateKind::AwaitingAck]), " and o.state in ('failed', 'awaiting_ack')");
    }
}
