//! What an attempt's result means for its occurrence.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::alert::News;
use crate::channel::{Receipt, SendError};
use crate::occurrence::{AttemptStatus, Lease, State, Tries};
use crate::retry::RetryPolicy;
use crate::rules::route::{Trouble, WayOn, is_unheard_of, refused_after, way_on};
use crate::store::{AttemptEnd, Claimed, Settlement};

/// Turns what the channel said into what is written: the attempt's end and the occurrence's next state.
///
/// `jitter` is in `0.0..1.0`. Nothing here does I/O, so every case is a row in a table of tests.
pub fn decide(
    claimed: &Claimed,
    said: Result<Receipt, SendError>,
    policy: &RetryPolicy,
    jitter: f64,
    begun_at: Timestamp,
    now: Timestamp,
) -> Settlement {
    let end = |status| AttemptEnd { status, begun_at, at: now, error: None, message_id: None, gone: false, key: None };
    match said {
        Ok(receipt) => {
            let state = reached(claimed, receipt.unanswerable, now);
            let before = claimed.before.tries;
            let (asks, reached) = (before.asks + 1, before.reached + 1);
            let tries = Tries { position: 0, rounds: 0, asks, reached, ..before };
            ended(claimed, AttemptEnd { message_id: receipt.message_id, ..end(AttemptStatus::Sent) }, state, tries)
        }
        Err(error) => {
            let status = match &error {
                SendError::Throttled { .. } | SendError::Unavailable(_) => AttemptStatus::Failed,
                SendError::Unknown(_) => AttemptStatus::Unknown,
                SendError::Refused(_) | SendError::Gone(_) => AttemptStatus::Refused,
            };
            let (text, gone) = (error.to_string(), matches!(error, SendError::Gone(_)));
            let (state, tries) = after_trouble(claimed, Trouble::of(&error, now), &text, policy, jitter, now);
            ended(claimed, AttemptEnd { error: Some(text), gone, ..end(status) }, state, tries)
        }
    }
}

/// What is written of a run that was not tried because of `trouble` with its receiver: as if it had been, and failed.
pub fn not_tried(claimed: &Claimed, trouble: Trouble, policy: &RetryPolicy, jitter: f64, now: Timestamp) -> Settlement {
    let text = trouble.why_not_tried(claimed, now);
    let (state, tries) = after_trouble(claimed, trouble, &text, policy, jitter, now);
    let (status, error) = (AttemptStatus::Failed, Some(text));
    let end = AttemptEnd { status, begun_at: now, at: now, error, message_id: None, gone: false, key: None };
    ended(claimed, end, state, tries)
}

/// Notes under which key a run went out that was sent in one message with others.
#[must_use]
pub fn sent_under(mut settlement: Settlement, key: &str) -> Settlement {
    if let Some(end) = &mut settlement.ended {
        end.key = Some(key.to_owned());
    }
    settlement
}

/// The state of a run after trouble with its address, and what has been tried by then.
fn after_trouble(
    claimed: &Claimed,
    trouble: Trouble,
    text: &str,
    policy: &RetryPolicy,
    jitter: f64,
    now: Timestamp,
) -> (State, Tries) {
    let before = claimed.before.tries;
    let tries = Tries { refused: refused_after(claimed, trouble), ..before };
    let again = |retry_at| State::PendingRetry { retry_at, error: text.to_owned() };
    match way_on(claimed, trouble, policy, jitter, now) {
        WayOn::Wait { until, .. } => (again(until), tries),
        WayOn::OtherAddress { position } => (again(now), Tries { position, ..tries }),
        WayOn::Again { at, position } => (again(at), Tries { position, rounds: before.rounds + 1, ..tries }),
        WayOn::Hold => {
            let error = format!("held, because it may have arrived: {text}");
            (State::Failed { at: now, error }, tries)
        }
        WayOn::Fail => (State::Failed { at: now, error: text.to_owned() }, tries),
    }
}

/// The end of a lease whose attempt has ended.
fn ended(claimed: &Claimed, end: AttemptEnd, state: State, tries: Tries) -> Settlement {
    let before = &claimed.before;
    let reached_first = tries.reached == 1 && end.status == AttemptStatus::Sent;
    let is_first_try = before.state == State::Scheduled && before.tries.attempts == 0;
    let news = match &state {
        State::Failed { .. } => Some(News::Ended),
        State::PendingRetry { .. } if tries.rounds > before.tries.rounds && tries.reached == 0 => Some(News::Trouble),
        _ if reached_first && !is_first_try => Some(News::Recovered),
        _ => None,
    };
    Settlement {
        occurrence: before.id,
        lease: claimed.lease,
        attempt: claimed.attempt(),
        counts: reached_first || matches!(state, State::Failed { .. }),
        ended: Some(end),
        state,
        tries: Tries { attempts: claimed.attempt(), ..tries },
        due_at: before.due_at,
        news,
    }
}

/// Gives a lease back as if the occurrence had never been claimed: its send never began.
pub fn withdraw(claimed: &Claimed, now: Timestamp) -> Settlement {
    let state = match &claimed.before.state {
        // What the platform has stays to be asked about.
        State::Processing { lease } if claimed.noted.is_some() => {
            State::Processing { lease: Lease { until: now, ..*lease } }
        }
        // The lease it was taken over from is gone; what remains is that it must be tried again.
        State::Processing { .. } => State::PendingRetry { retry_at: now, error: "cut off in flight".into() },
        state => state.clone(),
    };
    Settlement {
        occurrence: claimed.before.id,
        lease: claimed.lease,
        attempt: claimed.attempt(),
        ended: None,
        state,
        tries: claimed.before.tries,
        due_at: claimed.before.due_at,
        counts: false,
        news: None,
    }
}

/// Gives a lease back until `retry_at`, because its turn cannot come before; `why` says so. No attempt is lost.
pub fn postpone(claimed: &Claimed, retry_at: Timestamp, why: String) -> Settlement {
    if claimed.noted.is_some() {
        return withdraw(claimed, retry_at);
    }
    Settlement { state: State::PendingRetry { retry_at, error: why }, ..withdraw(claimed, retry_at) }
}

/// The same for one whose only receiver fails everybody: for its person that is as if it had failed.
pub fn postpone_in_trouble(claimed: &Claimed, retry_at: Timestamp, why: String) -> Settlement {
    let news = is_unheard_of(claimed).then_some(News::Trouble);
    Settlement { news, ..postpone(claimed, retry_at, why) }
}

fn reached(claimed: &Claimed, unanswerable: bool, now: Timestamp) -> State {
    match &claimed.reminder.ack {
        Some(ack) if !unanswerable => State::AwaitingAck { delivered_at: now, ask_again_at: later(now, ack.timeout) },
        _ => State::Delivered { at: now },
    }
}

/// `at` plus `wait`, or the end of time.
pub(crate) fn later(at: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| at.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}
