//! Wait, go another way, or fail: how a run goes on that was not delivered.
//!
//! This is the one place where a retry is decided. The engine asks it before a send, with what its gates know of the receiver;
//! [`crate::decide::decide`] asks it after a send, with what the channel said. The answer depends on nothing else.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::alert::is_told_of;
use crate::channel::{SendError, WAIT_MAX};
use crate::clock::later;
use crate::occurrence::Tries;
use crate::reminder::{OnUnknown, Reminder};
use crate::retry::RetryPolicy;
use crate::store::Claimed;

/// How long a receiver may do nothing but ask to wait before the runs that wait for it fail. Waiting costs no attempt, so without a
/// bound it could go on for ever.
pub const PATIENCE: SignedDuration = SignedDuration::from_hours(24);

/// Why a run cannot be sent to its address now, or was not delivered there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// A rate allows no send before `until`.
    Full {
        /// When its turn comes.
        until: Timestamp,
    },
    /// The receiver, or the address, asked to be left alone.
    AskedToWait {
        /// Until when.
        until: Timestamp,
        /// Since when it has done nothing but ask for that, if it did so before.
        since: Option<Timestamp>,
    },
    /// So many sends in a row have failed that the receiver is left alone.
    OnlyFails {
        /// Until when.
        until: Timestamp,
        /// How many sends.
        n_failed: u32,
    },
    /// It did not work, and may work later.
    Unavailable,
    /// It was cut off, and nobody knows whether it arrived.
    MayHaveArrived,
    /// This address will never take this message.
    Refused,
}

/// How a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOn {
    /// It waits for the same address. That costs no attempt.
    Wait {
        /// Until when.
        until: Timestamp,
        /// The admins must hear that every way to its person fails.
        is_news: bool,
    },
    /// It goes to another address at once.
    OtherAddress {
        /// Which, as a position in its route.
        position: u32,
    },
    /// Every address has been tried, so it begins another round over them.
    Again {
        /// When.
        at: Timestamp,
        /// With which address, as a position in its route.
        position: u32,
    },
    /// It may have arrived, and its reminder or its channel wants nothing twice: it is not sent again.
    Hold,
    /// No address and no retry is left.
    Fail,
}

/// Decides how a run goes on after `trouble` with the address at `run.position`.
///
/// `jitter`, in `0.0..1.0`, spreads the instants of [`WayOn::Again`]; whether a run waits depends neither on it nor, but for
/// [`PATIENCE`], on `now`.
pub fn way_on(run: &Claimed, trouble: Trouble, policy: &RetryPolicy, jitter: f64, now: Timestamp) -> WayOn {
    let refused = refused_after(run, trouble);
    let n_addresses = run.route.len() as u32;
    match trouble {
        Trouble::Full { until } => return WayOn::Wait { until, is_news: false },
        Trouble::AskedToWait { until, since } => {
            // A wait that makes the run later than a retry would is not waited for where there is another address.
            let is_too_long = until > first_retry_at(run, policy);
            let goes_elsewhere = is_too_long && addresses(run).any(|position| position != run.position);
            if !goes_elsewhere && !is_out_of_patience(run, since, now) {
                return WayOn::Wait { until, is_news: false };
            }
        }
        // With a single address left, the run waits for as long as its retries would have taken.
        Trouble::OnlyFails { until, .. } if addresses(run).count() <= 1 && until <= last_retry_at(run, policy) => {
            return WayOn::Wait { until, is_news: is_unheard_of(run) };
        }
        // A channel that holds forbids only itself; a reminder that asks to hold forbids every address.
        Trouble::MayHaveArrived
            if run.reminder.on_unknown == OnUnknown::Hold
                || holds_unknown(run) && next_address(refused, 0, n_addresses).is_none() =>
        {
            return WayOn::Hold;
        }
        _ => {}
    }
    if let Some(position) = next_address(refused, run.position + 1, n_addresses) {
        return WayOn::OtherAddress { position };
    }
    let rounds = run.before.tries.rounds;
    match next_address(refused, 0, n_addresses) {
        Some(position) if rounds < run.reminder.retries_max => {
            let at = later(now, policy.delay(run.reminder.priority, rounds + 1, jitter));
            let at = match trouble {
                // A retry cannot work while the receiver is left alone.
                Trouble::OnlyFails { until, .. } => at.max(until),
                _ => at,
            };
            WayOn::Again { at, position }
        }
        _ => WayOn::Fail,
    }
}

/// The addresses that will never take the run after `trouble` with the one at `run.position`, as bits.
pub(crate) fn refused_after(run: &Claimed, trouble: Trouble) -> u64 {
    let is_final = match trouble {
        Trouble::Refused => true,
        Trouble::MayHaveArrived => holds_unknown(run),
        _ => false,
    };
    run.before.tries.refused | if is_final { bit(run.position) } else { 0 }
}

/// Whether `run` has waited long enough for a receiver, or an address, that has done nothing but ask to wait since `since`.
pub fn is_out_of_patience(run: &Claimed, since: Option<Timestamp>, now: Timestamp) -> bool {
    since.is_some_and(|since| now.duration_since(since) >= PATIENCE) && now.duration_since(run.before.due_at) > PATIENCE
}

impl Trouble {
    /// What a channel's error means.
    pub fn of(error: &SendError, now: Timestamp) -> Self {
        match error {
            SendError::Throttled { wait, .. } => {
                let until = later(now, (*wait).clamp(Duration::from_millis(100), WAIT_MAX));
                Self::AskedToWait { until, since: None }
            }
            SendError::Unavailable(_) => Self::Unavailable,
            SendError::Unknown(_) => Self::MayHaveArrived,
            SendError::Refused(_) | SendError::Gone(_) => Self::Refused,
        }
    }

    /// Why a run waits for `channel`, for people.
    pub fn why_it_waits(self, channel: &str) -> String {
        let why = match self {
            Self::AskedToWait { .. } => "asked to wait",
            Self::OnlyFails { .. } => "only fails and is left alone for a while",
            _ => "takes no more now",
        };
        format!("waits for its turn: {channel} {why}")
    }

    /// Why `run` was not tried, for people.
    pub fn why_not_tried(self, run: &Claimed, now: Timestamp) -> String {
        let seconds_to = |until: Timestamp| until.duration_since(now).as_secs() + 1;
        match self {
            Self::AskedToWait { since, .. } if is_out_of_patience(run, since, now) => {
                "it has done nothing but ask to wait for a whole day".into()
            }
            Self::AskedToWait { until, .. } => format!("not tried: it asked to wait, {} s more", seconds_to(until)),
            Self::OnlyFails { until, n_failed } => format!(
                "not tried: {n_failed} sends in a row have failed there; it is called again in {} s",
                seconds_to(until)
            ),
            _ => "not tried".into(),
        }
    }
}

/// Whether the admins must still hear that every way to its person fails.
pub(crate) fn is_unheard_of(run: &Claimed) -> bool {
    let Tries { rounds, reached, .. } = run.before.tries;
    is_told_of(&run.reminder) && rounds == 0 && reached == 0 && run.message_id.is_none()
}

/// The first address at or after `from` that has not refused for good.
pub(crate) fn next_address(refused: u64, from: u32, n_addresses: u32) -> Option<u32> {
    (from..n_addresses).find(|position| refused & bit(*position) == 0)
}

/// Whether a send of `run` that may have arrived is not repeated at the same address.
fn holds_unknown(run: &Claimed) -> bool {
    run.reminder.on_unknown.holds(run.holds_unknown)
}

/// The addresses of a run that have not refused it, as positions in its route.
fn addresses(run: &Claimed) -> impl Iterator<Item = u32> {
    let refused = run.before.tries.refused;
    (0..run.route.len() as u32).filter(move |position| refused & bit(*position) == 0)
}

/// When a run would have been tried again if it had failed at once.
fn first_retry_at(run: &Claimed, policy: &RetryPolicy) -> Timestamp {
    later(run.before.due_at, policy.delay(run.reminder.priority, 1, 0.0))
}

/// When a run would have been tried for the last time.
fn last_retry_at(run: &Claimed, policy: &RetryPolicy) -> Timestamp {
    let Reminder { priority, retries_max, .. } = *run.reminder;
    later(run.before.due_at, (1..=retries_max).map(|round| policy.delay(priority, round, 0.0)).sum())
}

fn bit(position: u32) -> u64 {
    1u64.checked_shl(position).unwrap_or(0)
}
