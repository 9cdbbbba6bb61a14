//! What an attempt's result means, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::time::Duration;

use common::{asked, at, claimed, every, once, processing, reminder};
use punctual_core::channel::{Receipt, SendError, Whom};
use punctual_core::decide::{decide, postpone, withdraw};
use punctual_core::occurrence::{AttemptStatus, State, StateKind};
use punctual_core::reminder::{AckPolicy, OnUnknown, Priority, Reminder};
use punctual_core::retry::RetryPolicy;
use punctual_core::store::{Claimed, Settlement};

fn result(claimed: &Claimed, said: Result<Receipt, SendError>) -> Settlement {
    decide(claimed, said, &RetryPolicy::default(), 0.0, at(1), at(2))
}

fn unavailable() -> Result<Receipt, SendError> {
    Err(SendError::Unavailable("500".into()))
}

#[test]
fn each_answer_leads_to_its_status_and_state() {
    let throttled = SendError::Throttled { wait: Duration::from_secs(7), whom: Whom::Receiver };
    let rows = [
        (Ok(Receipt::default()), AttemptStatus::Sent, StateKind::Delivered),
        (unavailable(), AttemptStatus::Failed, StateKind::PendingRetry),
        (Err(throttled), AttemptStatus::Failed, StateKind::PendingRetry),
        (Err(SendError::Unknown("cut off".into())), AttemptStatus::Unknown, StateKind::PendingRetry),
        (Err(SendError::Refused("400".into())), AttemptStatus::Refused, StateKind::Failed),
        (Err(SendError::Gone("410".into())), AttemptStatus::Refused, StateKind::Failed),
    ];
    for (said, status, state) in rows {
        let settlement = result(&claimed(reminder(once()), 1), said.clone());
        assert_eq!(settlement.attempt.as_ref().unwrap().status, status, "{said:?}");
        assert_eq!(settlement.occurrence.state.kind(), state, "{said:?}");
        assert_eq!(
            (settlement.lease, settlement.attempt.unwrap().number, settlement.occurrence.tries.attempts),
            (7, 1, 1)
        );
    }
}

#[test]
fn success_awaits_an_answer_when_one_is_wanted() {
    let mut wanted = reminder(once());
    wanted.ack = Some(AckPolicy { timeout: Duration::from_secs(600), ..AckPolicy::default() });
    let settlement = result(&claimed(wanted, 1), Ok(Receipt::default()));
    assert_eq!(settlement.occurrence.state, asked(at(2), at(602)));
    assert!(settlement.counts, "reaching the person for the first time counts as a run");
}

#[test]
fn another_address_is_tried_at_once_and_costs_no_round() {
    let settlement = result(&claimed(reminder(once()), 2), unavailable());
    assert!(matches!(settlement.occurrence.state, State::PendingRetry { retry_at, .. } if retry_at == at(2)));
    assert_eq!((settlement.occurrence.tries.position, settlement.occurrence.tries.rounds), (1, 0));
}

#[test]
fn when_every_address_failed_the_round_is_over_and_the_priority_sets_the_delay() {
    for (priority, seconds) in
        [(Priority::Critical, 10), (Priority::High, 30), (Priority::Normal, 60), (Priority::Low, 300)]
    {
        let mut wanted = reminder(once());
        wanted.priority = priority;
        let mut second = claimed(wanted, 2);
        second.position = 1;
        let settlement = result(&second, unavailable());
        let retry_at = at(2 + seconds);
        assert!(
            matches!(settlement.occurrence.state, State::PendingRetry { retry_at: when, .. } if when == retry_at),
            "{priority}"
        );
        assert_eq!((settlement.occurrence.tries.position, settlement.occurrence.tries.rounds), (0, 1));
    }
}

#[test]
fn an_address_that_refused_is_never_tried_again() {
    let mut first = claimed(reminder(once()), 2);
    let refused = result(&first, Err(SendError::Refused("400".into())));
    assert_eq!(refused.occurrence.tries.position, 1);
    first.before.tries = refused.occurrence.tries;
    first.position = 1;
    let failed = result(&first, unavailable());
    assert_eq!(failed.occurrence.tries.position, 1, "the next round begins with the one address that may still work");
    first.before.tries = failed.occurrence.tries;
    let gone = result(&first, Err(SendError::Gone("410".into())));
    assert_eq!(gone.occurrence.state.kind(), StateKind::Failed, "no address is left, so no retry is either");
}

#[test]
fn retries_end() {
    let mut last = claimed(reminder(once()), 1);
    last.before.tries.rounds = 3;
    let settlement = result(&last, unavailable());
    assert_eq!(settlement.occurrence.state, State::Failed { at: at(2), error: "500".into() });
    assert!(settlement.counts);
}

fn throttled(seconds: u64) -> Result<Receipt, SendError> {
    Err(SendError::Throttled { wait: Duration::from_secs(seconds), whom: Whom::Receiver })
}

#[test]
fn a_wait_that_the_receiver_asks_for_costs_nothing() {
    let mut last_round = claimed(reminder(once()), 1);
    last_round.before.tries.rounds = 3;
    for (taken, seconds) in [(claimed(reminder(once()), 1), 7), (claimed(reminder(once()), 1), 3000), (last_round, 61)]
    {
        let settlement = result(&taken, throttled(seconds));
        assert!(
            matches!(settlement.occurrence.state, State::PendingRetry { retry_at, .. } if retry_at == at(2 + seconds as i64))
        );
        assert_eq!(settlement.occurrence.tries.rounds, taken.before.tries.rounds);
    }
}

#[test]
fn a_wait_that_is_longer_than_a_retry_is_not_waited_for_where_there_is_another_way() {
    // A normal one is tried again after a minute. It was due at 0, and now is 2.
    let mut two = claimed(reminder(once()), 2);
    let settlement = result(&two, throttled(58));
    assert!(matches!(settlement.occurrence.state, State::PendingRetry { retry_at, .. } if retry_at == at(60)));
    assert_eq!(settlement.occurrence.tries.position, 0);
    let mut late = two.clone();
    late.before.due_at = at(-50);
    assert_eq!(result(&late, throttled(20)).occurrence.tries.position, 1, "short waits add up");
    let settlement = result(&two, throttled(59));
    assert!(
        matches!(settlement.occurrence.state, State::PendingRetry { retry_at, .. } if retry_at == at(2)),
        "at once"
    );
    assert_eq!((settlement.occurrence.tries.position, settlement.occurrence.tries.rounds), (1, 0));
    // Not where the other way is closed for good.
    two.before.tries.refused = 0b10;
    assert!(
        matches!(result(&two, throttled(59)).occurrence.state, State::PendingRetry { retry_at, .. } if retry_at == at(61))
    );
}

#[test]
fn a_run_that_may_have_arrived_is_held_when_its_reminder_says_so() {
    let mut held = reminder(every(60));
    held.on_unknown = OnUnknown::Hold;
    let settlement = result(&claimed(held, 2), Err(SendError::Unknown("cut off".into())));
    assert_eq!(settlement.occurrence.state.kind(), StateKind::Failed, "not even another address is tried");

    // A run that its channel holds by default is not repeated there, and may go another way.
    let mut call = claimed(reminder(once()), 2);
    call.reminder = std::sync::Arc::new(Reminder { on_unknown: OnUnknown::Auto, ..(*call.reminder).clone() });
    call.holds_unknown = true;
    let another_way = result(&call, Err(SendError::Unknown("cut off".into())));
    assert_eq!(
        (another_way.occurrence.state.kind(), another_way.occurrence.tries.position),
        (StateKind::PendingRetry, 1)
    );
    call.before.tries.refused = 0b10;
    assert_eq!(result(&call, Err(SendError::Unknown("cut off".into()))).occurrence.state.kind(), StateKind::Failed);
}

#[test]
fn giving_back_leaves_no_trace() {
    let taken = claimed(reminder(once()), 1);
    let settlement = withdraw(&taken, at(1));
    assert_eq!((settlement.attempt, settlement.occurrence), (None, taken.before.clone()));

    let mut taken_over = claimed(reminder(once()), 1);
    taken_over.before.state = processing(6, at(-1), &taken.route[0]);
    assert_eq!(withdraw(&taken_over, at(1)).occurrence.state.kind(), StateKind::PendingRetry);

    let postponed = postpone(&taken, at(5), "waits for its turn".into());
    assert!(matches!(postponed.occurrence.state, State::PendingRetry { retry_at, .. } if retry_at == at(5)));
    assert_eq!((postponed.attempt, postponed.occurrence.tries), (None, taken.before.tries));
}
