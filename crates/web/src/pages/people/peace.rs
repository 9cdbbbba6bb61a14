//! Whether somebody can be told something now.

use jiff::Timestamp;
use punctual_client::wire::{Group, QuietHours, Silence, User};
use punctual_time::zone::Zone;

use super::reach::Reach;
use crate::manner::Manner;
use crate::parts::{Shape, Stretch, minute_of_day};
use crate::texts::people as t;

/// Why nothing, or not everything, is sent to somebody now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peace {
    Reachable,
    Quiet,
    Paused(Timestamp),
    Silent(Timestamp),
    /// A reminder for them is refused: there is no address.
    NoAddress,
    /// A reminder for them is refused: every address is dead.
    Dead,
    /// There is no address of their own, and nobody says whether there is another.
    Unknown,
}

impl Peace {
    /// Of a person in `zone`, who may have no entry. That nothing reaches them goes before everything else.
    pub(super) fn now(user: Option<&User>, reach: Reach, silences: &[&Silence], zone: &Zone, now: Timestamp) -> Self {
        let has_address = user.is_some_and(|user| !user.addresses.is_empty());
        let peace = user.map_or(Self::Reachable, |user| Self::of(user, silences, zone, now));
        match (reach, peace) {
            (Reach::Nobody, _) if has_address => Self::Dead,
            (Reach::Nobody, _) => Self::NoAddress,
            (Reach::Unknown, Self::Reachable) if !has_address => Self::Unknown,
            (_, peace) => peace,
        }
    }

    /// A pause goes before a silence, and both before quiet hours.
    fn of(user: &User, silences: &[&Silence], zone: &Zone, now: Timestamp) -> Self {
        if let Some(until) = user.paused_until.filter(|until| *until > now) {
            return Self::Paused(until);
        }
        let whole =
            silences.iter().filter(|silence| silence.tag.is_none() && silence.from <= now && silence.until > now);
        if let Some(until) = whole.map(|silence| silence.until).max() {
            return Self::Silent(until);
        }
        let minute = minute_of_day(now, zone.rules());
        match user.quiet_hours.as_ref().and_then(stretch) {
            Some(stretch) if stretch.holds(minute) => Self::Quiet,
            _ => Self::Reachable,
        }
    }

    /// As a mark and a word.
    pub(super) fn shape(self, m: &Manner) -> Shape {
        let (mark, word, class) = match self {
            Self::Reachable => ("○", m.t(t::REACHABLE).into_owned(), ""),
            Self::Quiet => ("☾", m.t(t::IN_QUIET).into_owned(), "wait"),
            Self::Paused(until) => ("‖", m.say(t::PAUSED, &[("when", &m.instant(until))]), "wait"),
            Self::Silent(until) => ("⊘", m.say(t::SILENT, &[("when", &m.instant(until))]), "wait"),
            Self::NoAddress => ("✕", m.t(t::UNREACHED).into_owned(), "bad"),
            Self::Dead => ("✕", m.t(t::ALL_DEAD).into_owned(), "bad"),
            Self::Unknown => ("–", m.t(t::NOT_KNOWN).into_owned(), ""),
        };
        Shape { mark, word, class }
    }
}

/// Quiet hours as a stretch of the day.
pub(super) fn stretch(hours: &QuietHours) -> Option<Stretch> {
    Stretch::read(&hours.from, &hours.to)
}

/// The silences that hold for somebody: their own, and those of their groups.
pub(super) fn silences_of<'a>(id: &str, silences: &'a [Silence], groups: &[Group]) -> Vec<&'a Silence> {
    let is_in = |name: &str| groups.iter().any(|group| group.name == name && group.users.iter().any(|user| user == id));
    let holds = |silence: &&Silence| match (&silence.user, &silence.group) {
        (Some(user), _) => user == id,
        (None, Some(group)) => is_in(group),
        // A tag alone is everybody's.
        (None, None) => true,
    };
    silences.iter().filter(holds).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn user(fields: Value) -> User {
        let mut user = json!({ "id": "ann", "timezone": null, "language": null, "addresses": [], "quiet_hours": null, "paused_until": null,
            "admin": false, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z" });
        user.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(user).unwrap()
    }

    fn silence(fields: Value) -> Silence {
        let mut silence = json!({ "id": "1", "user": null, "group": null, "tag": null, "from": "2026-11-18T00:00:00Z", "until": "2026-11-19T00:00:00Z",
            "created_at": "2026-01-01T00:00:00Z", "created_by": "admin" });
        silence.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(silence).unwrap()
    }

    #[test]
    fn a_pause_goes_before_a_silence_and_a_silence_before_quiet_hours() {
        let now: Timestamp = "2026-11-18T22:30:00Z".parse().unwrap();
        let zone = Zone::utc();
        let quiet = json!({ "from": "22:00", "to": "07:00", "except": "critical", "digest": false });
        let (pause, end): (Timestamp, Timestamp) =
            ("2026-11-20T00:00:00Z".parse().unwrap(), "2026-11-19T00:00:00Z".parse().unwrap());
        let all = silence(json!({ "user": "ann" }));
        let tagged = silence(json!({ "user": "ann", "tag": "chores" }));
        let later = silence(json!({ "user": "ann", "from": "2026-11-18T23:00:00Z" }));
        for (fields, silences, expect) in [
            (json!({}), vec![], Peace::Reachable),
            (json!({ "quiet_hours": quiet }), vec![], Peace::Quiet),
            (json!({ "quiet_hours": quiet }), vec![&all], Peace::Silent(end)),
            (json!({ "paused_until": pause }), vec![&all], Peace::Paused(pause)),
            (json!({}), vec![&tagged, &later], Peace::Reachable),
        ] {
            assert_eq!(Peace::of(&user(fields.clone()), &silences, &zone, now), expect, "{fields}");
        }
    }

    #[test]
    fn nobody_is_called_reachable_whom_nothing_reaches() {
        let (now, zone) = ("2026-11-18T22:30:00Z".parse().unwrap(), Zone::utc());
        let address = json!([{ "channel": "console", "address": "ann" }]);
        let (none, paused) = (user(json!({})), user(json!({ "paused_until": "2026-11-20T00:00:00Z" })));
        let dead = user(json!({ "addresses": address }));
        for (user, reach, expect) in [
            (None, Reach::Somebody, Peace::Reachable),
            (None, Reach::Nobody, Peace::NoAddress),
            (None, Reach::Unknown, Peace::Unknown),
            (Some(&none), Reach::Unknown, Peace::Unknown),
            (Some(&none), Reach::Somebody, Peace::Reachable),
            (Some(&paused), Reach::Unknown, Peace::Paused("2026-11-20T00:00:00Z".parse().unwrap())),
            (Some(&paused), Reach::Nobody, Peace::NoAddress),
            (Some(&dead), Reach::Nobody, Peace::Dead),
            (Some(&dead), Reach::Unknown, Peace::Reachable),
        ] {
            assert_eq!(Peace::now(user, reach, &[], &zone, now), expect, "{reach:?}: {user:?}");
        }
    }

    #[test]
    fn a_silence_of_a_group_holds_for_its_members_and_one_of_a_tag_for_everybody() {
        let group: Group = serde_json::from_value(json!({ "name": "family", "users": ["ann"], "mode": "all",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z" }))
        .unwrap();
        let silences = [
            silence(json!({ "user": "bob" })),
            silence(json!({ "group": "family" })),
            silence(json!({ "tag": "chores" })),
        ];
        assert_eq!(silences_of("ann", &silences, std::slice::from_ref(&group)).len(), 2);
        assert_eq!(silences_of("bob", &silences, std::slice::from_ref(&group)).len(), 2);
        assert_eq!(silences_of("eve", &silences, &[group]).len(), 1);
    }
}
