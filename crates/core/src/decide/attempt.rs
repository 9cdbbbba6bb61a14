//! What an attempt's result means for its occurrence.

use jiff::Timestamp;

use crate::alert::News;
use crate::channel::{Receipt, SendError};
use crate::clock::later;
use crate::occurrence::{Attempt, AttemptStatus, Lease, Occurrence, State, Tries};
use crate::retry::RetryPolicy;
use crate::rules::cut_off::CUT_OFF;
use crate::rules::route::{Trouble, WayOn, is_unheard_of, refused_after, way_on};
use crate::store::{Claimed, Settlement};

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
    let attempt = |status| attempt(claimed, status, begun_at, now);
    match said {
        Ok(receipt) => {
            let state = reached(claimed, receipt.unanswerable, now);
            let before = claimed.before.tries;
            let (asks, reached) = (before.asks + 1, before.reached + 1);
            let tries = Tries { position: 0, rounds: 0, asks, reached, ..before };
            ended(claimed, Attempt { message_id: receipt.message_id, ..attempt(AttemptStatus::Sent) }, state, tries)
        }
        Err(error) => {
            let status = match &error {
                SendError::Throttled { .. } | SendError::Unavailable(_) => AttemptStatus::Failed,
                SendError::Unknown(_) => AttemptStatus::Unknown,
                SendError::Refused(_) | SendError::Gone(_) => AttemptStatus::Refused,
            };
            let (text, gone) = (error.to_string(), matches!(error, SendError::Gone(_)));
            let (state, tries) = after_trouble(claimed, Trouble::of(&error, now), &text, policy, jitter, now);
            let settlement = ended(claimed, Attempt { error: Some(text), ..attempt(status) }, state, tries);
            Settlement { gone, ..settlement }
        }
    }
}

/// The settlement of a run that was not tried because of `trouble` with its receiver: as if it had been tried, and failed.
pub fn not_tried(claimed: &Claimed, trouble: Trouble, policy: &RetryPolicy, jitter: f64, now: Timestamp) -> Settlement {
    let text = trouble.why_not_tried(claimed, now);
    let (state, tries) = after_trouble(claimed, trouble, &text, policy, jitter, now);
    let attempt = attempt(claimed, AttemptStatus::Failed, now, now);
    ended(claimed, Attempt { error: Some(text), ..attempt }, state, tries)
}

/// The attempt that was claimed, as it ended.
fn attempt(claimed: &Claimed, status: AttemptStatus, begun_at: Timestamp, now: Timestamp) -> Attempt {
    let to = claimed.to();
    Attempt {
        number: claimed.attempt(),
        channel: to.channel.clone(),
        address: to.address.clone(),
        status,
        started_at: begun_at,
        ended_at: Some(now),
        error: None,
        message_id: None,
        key: None,
    }
}

/// Notes under which key a run went out that was sent in one message with others.
#[must_use]
pub fn sent_under(mut settlement: Settlement, key: &str) -> Settlement {
    if let Some(attempt) = &mut settlement.attempt {
        attempt.key = Some(key.to_owned());
    }
    settlement
}

/// The state of a run after trouble with its address, and what has been tried by then.
pub(super) fn after_trouble(
    claimed: &Claimed,
    trouble: Trouble,
    text: &str,
    policy: &RetryPolicy,
    jitter: f64,
    now: Timestamp,
) -> (State, Tries) {
    let before = claimed.before.tries;
    let tries = Tries { refused: refused_after(claimed, trouble), ..before };
    let again = |retry_at| State::PendingRetry { retry_at, error: text.to_owned(), waits_for: None };
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
fn ended(claimed: &Claimed, attempt: Attempt, state: State, tries: Tries) -> Settlement {
    let before = &claimed.before;
    let reached_first = tries.reached == 1 && attempt.status == AttemptStatus::Sent;
    let is_first_try = before.state == State::Scheduled && before.tries.attempts == 0;
    let news = match &state {
        State::Failed { .. } => Some(News::Ended),
        State::PendingRetry { .. } if tries.rounds > before.tries.rounds && tries.reached == 0 => Some(News::Trouble),
        _ if reached_first && !is_first_try => Some(News::Recovered),
        _ => None,
    };
    let counts = reached_first || matches!(state, State::Failed { .. });
    let tries = Tries { attempts: attempt.number, ..tries };
    let occurrence = Occurrence { state, tries, ..before.clone() };
    Settlement { occurrence, lease: claimed.lease, attempt: Some(attempt), gone: false, counts, news }
}

/// Gives a lease back as if the occurrence had never been claimed: its send never began.
pub fn withdraw(claimed: &Claimed, now: Timestamp) -> Settlement {
    let mut occurrence = claimed.before.clone();
    occurrence.state = match occurrence.state {
        // The platform has the message, so the next node asks about it.
        State::Processing { lease, sending } if claimed.message_id.is_some() => {
            State::Processing { lease: Lease { number: claimed.lease, until: now, ..lease }, sending }
        }
        // The node that it was taken over from is gone, and it must be tried again.
        State::Processing { .. } => State::PendingRetry { retry_at: now, error: CUT_OFF.to_owned(), waits_for: None },
        state => state,
    };
    Settlement { occurrence, lease: claimed.lease, attempt: None, gone: false, counts: false, news: None }
}

/// Gives a lease back until `retry_at`, because its turn cannot come before; `why` says so. No attempt is lost.
pub fn postpone(claimed: &Claimed, retry_at: Timestamp, why: String) -> Settlement {
    let mut settlement = withdraw(claimed, retry_at);
    if claimed.message_id.is_none() {
        settlement.occurrence.state = State::PendingRetry { retry_at, error: why, waits_for: None };
    }
    settlement
}

/// The same for one whose only receiver fails everybody: for its person that is as if it had failed.
pub fn postpone_in_trouble(claimed: &Claimed, retry_at: Timestamp, why: String) -> Settlement {
    let news = is_unheard_of(claimed).then_some(News::Trouble);
    Settlement { news, ..postpone(claimed, retry_at, why) }
}

fn reached(claimed: &Claimed, unanswerable: bool, now: Timestamp) -> State {
    match &claimed.reminder.ack {
        Some(ack) if !unanswerable => {
            State::AwaitingAck { delivered_at: now, ask_again_at: later(now, ack.timeout), waits_for: None }
        }
        _ => State::Delivered { at: now },
    }
}
