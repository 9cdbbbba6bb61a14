//! What an attempt's result means for its occurrence.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::alert::{News, is_told_of};
use crate::channel::{Receipt, SendError, WAIT_MAX};
use crate::occurrence::{AttemptStatus, Lease, State, Tries};
use crate::reminder::{OnUnknown, Reminder};
use crate::retry::RetryPolicy;
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
    let mut tries = Tries { attempts: claimed.attempt(), ..claimed.before.tries };
    let gone = matches!(said, Err(SendError::Gone(_)));
    let (status, error, message_id, state) = match said {
        Ok(receipt) => {
            tries.position = 0;
            tries.rounds = 0;
            tries.asks += 1;
            tries.reached += 1;
            let state = reached(claimed, receipt.unanswerable, now);
            (AttemptStatus::Sent, None, receipt.message_id, state)
        }
        Err(error) => {
            let text = error.to_string();
            let (status, state) = failed(claimed, &mut tries, error, policy, jitter, now);
            (status, Some(text), None, state)
        }
    };
    let reached_first = tries.reached == 1 && status == AttemptStatus::Sent;
    let counts = reached_first || matches!(state, State::Failed { .. });
    let before = &claimed.before;
    let is_first_try = before.state == State::Scheduled && before.tries.attempts == 0;
    let news = match &state {
        State::Failed { .. } => Some(News::Ended),
        State::PendingRetry { .. } if tries.rounds > before.tries.rounds && tries.reached == 0 => Some(News::Trouble),
        _ if reached_first && !is_first_try => Some(News::Recovered),
        _ => None,
    };
    Settlement {
        occurrence: claimed.before.id,
        lease: claimed.lease,
        attempt: claimed.attempt(),
        ended: Some(AttemptEnd { status, begun_at, at: now, error, message_id, gone, key: None }),
        state,
        tries,
        due_at: claimed.before.due_at,
        counts,
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

/// Whether the admins must still hear that every way to its person fails.
pub fn is_unheard_of(claimed: &Claimed) -> bool {
    let Tries { rounds, reached, .. } = claimed.before.tries;
    is_told_of(&claimed.reminder) && rounds == 0 && reached == 0 && claimed.noted.is_none()
}

/// Leaves what is to be tried again after a while alone until `back_at`, because nothing can come of it before.
pub fn not_before(mut settlement: Settlement, back_at: Timestamp, now: Timestamp) -> Settlement {
    if let State::PendingRetry { retry_at, .. } = &mut settlement.state
        && *retry_at > now
    {
        *retry_at = back_at.max(*retry_at);
    }
    settlement
}

/// Whether one that would have to wait until `until` should rather be sent another way: it would be later than if it had failed
/// and been tried again, and there is another address.
pub fn has_other_way(claimed: &Claimed, until: Timestamp, policy: &RetryPolicy) -> bool {
    let others = (0..claimed.route.len() as u32).filter(|position| *position != claimed.position);
    until > later(claimed.before.due_at, policy.delay(claimed.reminder.priority, 1, 0.0))
        && others
            .into_iter()
            .any(|position| next_address(claimed.before.tries.refused, position, position + 1).is_some())
}

/// Until when one that has a single way left waits for it at no cost while its receiver is left alone: as long as its retries
/// would have taken.
pub fn waits_for_receiver(claimed: &Claimed, policy: &RetryPolicy) -> Option<Timestamp> {
    let n_ways = (0..claimed.route.len() as u32)
        .filter(|position| next_address(claimed.before.tries.refused, *position, *position + 1).is_some())
        .count();
    let Reminder { priority, retries_max, .. } = *claimed.reminder;
    let retries = (1..=retries_max).map(|round| policy.delay(priority, round, 0.0)).sum();
    (n_ways <= 1).then(|| later(claimed.before.due_at, retries))
}

fn reached(claimed: &Claimed, unanswerable: bool, now: Timestamp) -> State {
    match &claimed.reminder.ack {
        Some(ack) if !unanswerable => State::AwaitingAck { delivered_at: now, ask_again_at: later(now, ack.timeout) },
        _ => State::Delivered { at: now },
    }
}

fn failed(
    claimed: &Claimed,
    tries: &mut Tries,
    error: SendError,
    policy: &RetryPolicy,
    jitter: f64,
    now: Timestamp,
) -> (AttemptStatus, State) {
    let text = error.to_string();
    let holds = match claimed.reminder.on_unknown {
        OnUnknown::Hold => true,
        OnUnknown::Resend => false,
        OnUnknown::Auto => claimed.holds_unknown,
    };
    let status = match &error {
        SendError::Throttled { wait, .. } => {
            let retry_at = later(now, (*wait).clamp(Duration::from_millis(100), WAIT_MAX));
            if !has_other_way(claimed, retry_at, policy) {
                return (AttemptStatus::Failed, State::PendingRetry { retry_at, error: text });
            }
            AttemptStatus::Failed
        }
        SendError::Unknown(_) if holds => {
            // Not here again. What a channel holds by itself may still go another way; who asked to hold wants nothing twice.
            tries.refused |= 1u64.checked_shl(claimed.position).unwrap_or(0);
            let is_last = next_address(tries.refused, 0, claimed.route.len() as u32).is_none();
            if is_last || claimed.reminder.on_unknown == OnUnknown::Hold {
                let error = format!("held, because it may have arrived: {text}");
                return (AttemptStatus::Unknown, State::Failed { at: now, error });
            }
            AttemptStatus::Unknown
        }
        SendError::Unknown(_) => AttemptStatus::Unknown,
        SendError::Unavailable(_) => AttemptStatus::Failed,
        SendError::Refused(_) | SendError::Gone(_) => {
            tries.refused |= 1u64.checked_shl(claimed.position).unwrap_or(0);
            AttemptStatus::Refused
        }
    };

    let n_addresses = claimed.route.len() as u32;
    let state = if let Some(next) = next_address(tries.refused, claimed.position + 1, n_addresses) {
        // Another way to the same person is tried at once.
        tries.position = next;
        State::PendingRetry { retry_at: now, error: text }
    } else if let Some(first) = next_address(tries.refused, 0, n_addresses)
        && tries.rounds < claimed.reminder.retries_max
    {
        tries.rounds += 1;
        tries.position = first;
        let delay = policy.delay(claimed.reminder.priority, tries.rounds, jitter);
        State::PendingRetry { retry_at: later(now, delay), error: text }
    } else {
        State::Failed { at: now, error: text }
    };
    (status, state)
}

/// The first address at or after `from` that has not refused for good.
pub(crate) fn next_address(refused: u64, from: u32, n_addresses: u32) -> Option<u32> {
    (from..n_addresses).find(|position| refused & 1u64.checked_shl(*position).unwrap_or(0) == 0)
}

/// `at` plus `wait`, or the end of time.
pub(crate) fn later(at: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| at.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}
