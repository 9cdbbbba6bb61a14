//! A user as they are given and shown.

use jiff::Timestamp;
use jiff::civil::Time;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::Address;
use punctual_core::user::{QuietHours, User};
use serde::Serialize;
use serde_json::Value;

use super::addresses;
use crate::http::fields::Fields;
use crate::http::problem::WHOLE;

const KNOWN: &[&str] = &["timezone", "language", "addresses", "quiet_hours", "admin"];
const MADE_HERE: &[&str] = &["id", "created_at", "updated_at"];

/// The user that `value` describes in full.
pub(in crate::http) fn user(value: Value, id: String, now: Timestamp) -> Result<User, Invalid> {
    let mut fields = Fields::of(value, WHOLE, KNOWN, MADE_HERE)?;
    let user = User {
        id,
        timezone: fields.zone("timezone")?,
        language: fields.text("language")?,
        addresses: addresses(&mut fields, "addresses")?.unwrap_or_default(),
        quiet_hours: quiet_hours(&mut fields)?,
        paused_until: None,
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
    let mut fields = Fields::of(Value::Object(map), "quiet_hours", &["from", "to"], &[]).map_err(within)?;
    let mut time = |name: &str| {
        let text = fields.text(name)?.ok_or_else(|| Invalid::new(name, "is missing; write a time such as 22:00"))?;
        text.parse::<Time>().map_err(|_| Invalid::new(name, format!("`{text}` is not a time of day; write 22:00")))
    };
    let (from, to) = (time("from").map_err(within)?, time("to").map_err(within)?);
    let hours = QuietHours { from, to, except: Default::default(), digest: false };
    match hours.from == hours.to {
        true => Err(Invalid::new("quiet_hours", "begins and ends at the same time; leave it out for none")),
        false => Ok(Some(hours)),
    }
}

/// A user as they are shown.
#[derive(Serialize)]
pub(in crate::http) struct UserJson<'a> {
    id: &'a str,
    timezone: Option<&'a str>,
    language: Option<&'a str>,
    addresses: &'a [Address],
    quiet_hours: Option<QuietHoursJson>,
    admin: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct QuietHoursJson {
    from: String,
    to: String,
}

impl<'a> From<&'a User> for UserJson<'a> {
    fn from(user: &'a User) -> Self {
        let clock = |time: Time| time.strftime("%H:%M").to_string();
        Self {
            id: &user.id,
            timezone: user.timezone.as_ref().map(|zone| zone.name()),
            language: user.language.as_deref(),
            addresses: &user.addresses,
            quiet_hours: user.quiet_hours.map(|hours| QuietHoursJson { from: clock(hours.from), to: clock(hours.to) }),
            admin: user.admin,
            created_at: user.created_at,
            updated_at: user.updated_at,
        }
    }
}
