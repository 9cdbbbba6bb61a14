//! A user as they are described.

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp};
use punctual_core::habits::Habits;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::phrase::Lang;
use punctual_core::schedule::parse_until;
use punctual_core::user::{QuietHours, User};
use punctual_core::zone::Zone;

use super::{addresses, steps};
use crate::wire::{HabitsInput, QuietHoursInput, UserInput};

/// The longest pause: nobody means more, and an instant at the end of time would be no end.
const PAUSE_MAX: SignedDuration = SignedDuration::from_hours(3653 * 24);

/// The user that `input` describes in full; what is wrong is noted in `faults`. Somebody without a zone of their own is in `zone`.
pub(in crate::http) fn user(input: UserInput, id: String, zone: &Zone, now: Timestamp, faults: &mut Faults) -> User {
    let timezone = faults.note(super::zone(input.timezone, "timezone")).flatten();
    let language = input.language;
    let lang = language.as_deref().and_then(|tag| tag.parse().ok());
    let pause = |text: String| paused_until(&text, lang, timezone.as_ref().unwrap_or(zone), now);
    let quiet_hours = input.quiet_hours.map(quiet_hours).transpose();
    let user = User {
        id,
        language,
        addresses: faults.note(addresses(input.addresses.unwrap_or_default(), "addresses")).unwrap_or_default(),
        quiet_hours: faults.note(quiet_hours.map_err(|invalid| invalid.within("quiet_hours"))).flatten(),
        paused_until: faults.note(input.paused_until.map(pause).transpose()).flatten(),
        timezone,
        escalate: faults.note(steps(input.escalate.unwrap_or_default(), "escalate")).unwrap_or_default(),
        habits: faults
            .note(habits(input.habits.unwrap_or_default()).map_err(|invalid| invalid.within("habits")))
            .unwrap_or_default(),
        admin: input.admin.unwrap_or(false),
        created_at: now,
        updated_at: now,
    };
    faults.settle();
    faults.note(user.validate());
    user
}

fn habits(input: HabitsInput) -> Result<Habits, Invalid> {
    let HabitsInput { date_order, first_day_of_week, morning, evening, day } = input;
    let texts = [
        ("date_order", date_order),
        ("first_day_of_week", first_day_of_week),
        ("morning", morning),
        ("evening", evening),
        ("day", day),
    ];
    let mut habits = Habits::default();
    for (name, text) in texts {
        text.map_or(Ok(()), |text| habits.set(name, &text))?;
    }
    Ok(habits)
}

fn quiet_hours(input: QuietHoursInput) -> Result<QuietHours, Invalid> {
    let time = |name: &str, text: Option<String>| {
        let text = text.ok_or_else(|| Invalid::missing(name, "write a time such as 22:00"))?;
        text.parse::<Time>().map_err(|_| Invalid::new(name, format!("`{text}` is not a time of day; write 22:00")))
    };
    let mut faults = Faults::default();
    let except = faults.note(input.except.map(|word| word.known("except")).transpose()).flatten().unwrap_or_default();
    let digest = input.digest.unwrap_or(false);
    let (from, to) = (faults.note(time("from", input.from)), faults.note(time("to", input.to)));
    faults.finish()?;
    let quiet_hours = from.zip(to).map(|(from, to)| QuietHours { from, to, except, digest });
    quiet_hours.ok_or_else(|| Invalid::missing("from", "write a time such as 22:00"))
}

/// An instant, or how people say one: `until monday`, `monday at 8`, `3d`, `a week`.
fn paused_until(text: &str, lang: Option<Lang>, zone: &Zone, now: Timestamp) -> Result<Timestamp, Invalid> {
    let wrong = |problem: String| Invalid::new("paused_until", problem);
    let until = parse_until(text, lang, zone, now).map_err(wrong)?;
    if until <= now {
        return Err(wrong(format!("`{text}` is not in the future; leave it out to be told again")));
    }
    if until.duration_since(now) > PAUSE_MAX {
        return Err(wrong(format!("`{text}` is more than ten years ahead")));
    }
    Ok(until)
}
