//! What Twilio's codes mean.
//!
//! The rule behind the table: what the number itself cannot do is gone; what this message or this number is not allowed is
//! refused; what the operator can mend in the settings or at Twilio, and what heals by itself, is unavailable.

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Gone,
    Refused,
    Unavailable,
    Throttled,
}

/// The class of a code, else of the HTTP status.
pub(super) fn class(code: Option<u64>, status: u16) -> Class {
    let Some(code) = code.filter(|code| *code != 0) else { return by_status(status) };
    match code {
        // No such number, a landline, a short code, or a number that no carrier knows.
        21_211 | 21_217 | 21_265 | 21_614 | 21_635 | 30_005 | 30_006 => Class::Gone,

        // The person has said STOP. It is not gone: START takes it back, and nobody tells us.
        21_610 => Class::Refused,
        // Not to this region, not from a trial account, not to premium numbers, not to ourselves, no route from here to there.
        21_408 | 21_608 | 21_612 | 21_266 | 21_268 | 21_216 => Class::Refused,
        // The text: missing, too long, blocked or filtered by a carrier, too expensive.
        21_602 | 21_604 | 21_605 | 21_617 | 21_619 | 21_623 | 30_004 | 30_007 | 30_010 | 30_019 | 30_044 => {
            Class::Refused
        }

        // More than a second's worth, or the sender's queue is full.
        14_107 | 20_429 | 21_611 | 30_001 => Class::Throttled,

        // Our own identity: keys, account, and a sender that is not ours or not for this.
        20_001..=20_008 | 20_403 | 20_404 | 21_210 | 21_212 | 21_213 | 21_267 | 21_601 | 21_603 | 21_606 | 21_607 => {
            Class::Unavailable
        }
        21_659..=21_664 | 21_701..=21_713 | 30_002 | 30_032 | 30_034 | 30_037 | 30_038 | 90_007 => Class::Unavailable,
        // Not reached this time: the phone is off, the carrier is out of order, a daily cap, or it waited for too long.
        30_003 | 30_008 | 30_009 | 30_022 | 30_023 | 30_027 | 30_036 | 30_410 | 30_500 | 63_038 => Class::Unavailable,

        // A new code: the status knows whose mistake it is.
        _ => by_status(status),
    }
}

fn by_status(status: u16) -> Class {
    match status {
        429 => Class::Throttled,
        401 | 402 | 403 | 404 | 408 => Class::Unavailable,
        400..=499 => Class::Refused,
        _ => Class::Unavailable,
    }
}
