//! A user as they are shown.

use jiff::Timestamp;
use jiff::civil::Time;
use punctual_core::user;

use super::step;
use crate::wire::{QuietHours, User};

/// `user` as they are at `now`.
pub(in crate::http) fn user(user: user::User, now: Timestamp) -> User {
    // Seconds are rarely said, and shown only then.
    let clock = |time: Time| time.strftime(if time.second() == 0 { "%H:%M" } else { "%H:%M:%S" }).to_string();
    let quiet_hours = |hours: user::QuietHours| QuietHours {
        from: clock(hours.from),
        to: clock(hours.to),
        except: hours.except.into(),
        digest: hours.digest,
    };
    User {
        id: user.id,
        timezone: user.timezone.map(|zone| zone.name().to_owned()),
        language: user.language,
        addresses: user.addresses,
        quiet_hours: user.quiet_hours.map(quiet_hours),
        paused_until: user.paused_until.filter(|until| *until > now),
        escalate: user.escalate.iter().map(step).collect(),
        admin: user.admin,
        calendar_url: None,
        created_at: user.created_at,
        updated_at: user.updated_at,
    }
}
