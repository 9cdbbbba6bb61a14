//! A user as they are given and shown.

use jiff::civil::Time;
use jiff::{SignedDuration, Timestamp};
use punctual_core::invalid::Invalid;
use punctual_core::phrase::Lang;
use punctual_core::reminder::Address;
use punctual_core::schedule::parse_until;
use punctual_core::user::{QuietHours, User};
use punctual_core::zone::Zone;
use serde::Serialize;
use serde_json::Value;

use super::addresses;
use crate::http::fields::Fields;
use crate::http::problem::WHOLE;

const KNOWN: &[&str] = &["timezone", "language", "addresses", "quiet_hours", "paused_until", "admin"];
/// The longest pause: nobody means more, and an instant at the end of time would be no end.
const PAUSE_MAX: SignedDuration = SignedDuration::from_hours(3653 * 24);
const MADE_HERE: &[&str] = &["id", "created_at", "updated_at"];

/// The user that `value` describes in full. Somebody without a zone of their own is in `zone`.
pub(in crate::http) fn user(value: Value, id: String, zone: &Zone, now: Timestamp) -> Result<User, Invalid> {
    let mut fields = Fields::of(value, WHOLE, KNOWN, MADE_HERE)?;
    let timezone = fields.zone("timezone")?;
    let language = fields.text("language")?;
    let lang = language.as_deref().and_then(|tag| tag.parse().ok());
    let user = User {
        id,
        language,
        addresses: addresses(&mut fields, "addresses")?.unwrap_or_default(),
        quiet_hours: quiet_hours(&mut fields)?,
        paused_until: paused_until(&mut fields, lang, timezone.as_ref().unwrap_or(zone), now)?,
        timezone,
        admin: fields.boolean("admin")?.unwrap_or(false),
        created_at: now,
        updated_at: now,
    };
    user.validate()?;
    Ok(user)
}

fn quiet_hours(fields: &mut Fields) -> Result<Option<QuietHours>, Invalid> {
    let Some(map) = fields.object("quiet_hours")? else { return Ok(None) };
    let within = |invalid: Invalid| invalid.within("quiet_hours");
    let known = &["from", "to", "except", "digest"];
    let mut fields = Fields::of(Value::Object(map), "quiet_hours", known, &[]).map_err(within)?;
    let except = fields.word("except").map_err(within)?.unwrap_or_default();
    let digest = fields.boolean("digest").map_err(within)?.unwrap_or(false);
    let mut time = |name: &str| {
        let text = fields.text(name)?.ok_or_else(|| Invalid::new(name, "is missing; write a time such as 22:00"))?;
        text.parse::<Time>().map_err(|_| Invalid::new(name, format!("`{text}` is not a time of day; write 22:00")))
    };
    Ok(Some(QuietHours { from: time("from").map_err(within)?, to: time("to").map_err(within)?, except, digest }))
}

/// An instant, or how people say one: `until monday`, `monday at 8`, `3d`, `a week`.
fn paused_until(
    fields: &mut Fields,
    lang: Option<Lang>,
    zone: &Zone,
    now: Timestamp,
) -> Result<Option<Timestamp>, Invalid> {
    let Some(text) = fields.text("paused_until")? else { return Ok(None) };
    let wrong = |problem: String| Invalid::new("paused_until", problem);
    let until = parse_until(&text, lang, zone, now).map_err(wrong)?;
    if until <= now {
        return Err(wrong(format!("`{text}` is not in the future; leave it out to be told again")));
    }
    if until.duration_since(now) > PAUSE_MAX {
        return Err(wrong(format!("`{text}` is more than ten years ahead")));
    }
    Ok(Some(until))
}

/// A user as they are shown.
#[derive(Serialize)]
pub(in crate::http) struct UserJson<'a> {
    id: &'a str,
    timezone: Option<&'a str>,
    language: Option<&'a str>,
    addresses: &'a [Address],
    quiet_hours: Option<QuietHoursJson>,
    /// Null as soon as it has passed.
    paused_until: Option<Timestamp>,
    admin: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct QuietHoursJson {
    from: String,
    to: String,
    except: &'static str,
    digest: bool,
}

impl<'a> UserJson<'a> {
    /// `user` as they are at `now`.
    pub(in crate::http) fn new(user: &'a User, now: Timestamp) -> Self {
        // Seconds are rarely said, and shown only then.
        let clock = |time: Time| time.strftime(if time.second() == 0 { "%H:%M" } else { "%H:%M:%S" }).to_string();
        let quiet_hours = |hours: QuietHours| QuietHoursJson {
            from: clock(hours.from),
            to: clock(hours.to),
            except: hours.except.as_str(),
            digest: hours.digest,
        };
        Self {
            id: &user.id,
            timezone: user.timezone.as_ref().map(|zone| zone.name()),
            language: user.language.as_deref(),
            addresses: &user.addresses,
            quiet_hours: user.quiet_hours.map(quiet_hours),
            paused_until: user.paused_until.filter(|until| *until > now),
            admin: user.admin,
            created_at: user.created_at,
            updated_at: user.updated_at,
        }
    }
}
