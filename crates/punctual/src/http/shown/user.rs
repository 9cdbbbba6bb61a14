//! A user as they are shown.

use jiff::Timestamp;
use jiff::civil::Time;
use punctual_core::habits;
use punctual_core::user;

use super::step;
use crate::wire::{Habits, QuietHours, User};

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
        habits: habits(&user.habits),
        admin: user.admin,
        calendar_url: None,
        created_at: user.created_at,
        updated_at: user.updated_at,
    }
}

fn habits(habits: &habits::Habits) -> Habits {
    let mut shown = Habits::default();
    for (name, text) in habits.to_texts() {
        let field = match name {
            "date_order" => &mut shown.date_order,
            "first_day_of_week" => &mut shown.first_day_of_week,
            "morning" => &mut shown.morning,
            "evening" => &mut shown.evening,
            _ => &mut shown.day,
        };
        *field = Some(text);
    }
    shown
}
