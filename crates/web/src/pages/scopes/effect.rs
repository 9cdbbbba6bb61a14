//! What a change of a scope does to the events below it.

use punctual_client::known::{Offset, default_offsets_at};
use punctual_client::wire::{Event, Scope};

use crate::pages::events::offsets::{nearest, read, with_ancestors};

/// What somebody wants of a scope.
pub(super) enum Wish {
    /// It says these offsets.
    Says(Vec<Offset>),
    /// It is gone: what is above it counts.
    Removed,
}

/// An event that is reminded of otherwise than before.
pub(super) struct Effect<'a> {
    pub(super) event: &'a Event,
    /// Nothing: no scope says when.
    pub(super) before: Option<Vec<Offset>>,
    pub(super) after: Option<Vec<Offset>>,
}

/// The events whose offsets change. One with offsets of its own, or below a nearer scope, does not.
pub(super) fn effects<'a>(path: &str, wish: &Wish, scopes: &[Scope], events: &'a [Event]) -> Vec<Effect<'a>> {
    let above: Vec<Scope> = scopes.iter().filter(|scope| scope.path != path).cloned().collect();
    let inheriting = events.iter().filter(|event| event.offsets.is_none());
    let effect = |event: &'a Event| {
        let scope = event.scope.as_deref()?;
        let default = || Some(default_offsets_at(scope).to_vec()).filter(|offsets| !offsets.is_empty());
        let before = nearest(scope, scopes).map(|scope| read(&scope.offsets)).or_else(default);
        let nearer = nearest(scope, &above);
        let is_here = with_ancestors(scope).any(|one| one == path);
        let is_nearer = nearer.is_some_and(|nearer| nearer.path.len() > path.len());
        let after = match wish {
            Wish::Says(offsets) if is_here && !is_nearer => Some(offsets.clone()),
            _ => nearer.map(|nearer| read(&nearer.offsets)).or_else(default),
        };
        (before != after).then_some(Effect { event, before, after })
    };
    inheriting.filter_map(effect).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn scope(path: &str, minutes: &[i64]) -> Scope {
        serde_json::from_value(json!({ "path": path, "offsets": minutes, "updated_at": "2026-01-01T00:00:00Z" }))
            .unwrap()
    }

    fn event(key: &str, scope: Option<&str>, own: Option<&[i64]>) -> Event {
        let fields = json!({ "key": key, "starts_at": "2026-12-10T18:00:00Z", "ends_at": null, "offsets": own, "scope": scope, "users": ["ann"], "groups": [],
            "to": [], "only": false, "message": "hi", "name": null, "timezone": null, "priority": "normal", "require_ack": false, "escalate": [],
            "snooze_allowed": true, "max_retries": 3, "misfire": { "policy": "latest", "within": "24h" }, "on_unknown": "hold", "metadata": {}, "tags": [],
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z" });
        serde_json::from_str(&Value::to_string(&fields)).unwrap()
    }

    fn minutes(offsets: &Option<Vec<Offset>>) -> Option<Vec<i64>> {
        offsets.as_ref().map(|offsets| offsets.iter().map(|offset| offset.before_seconds / 60).collect())
    }

    /// An event's key, and its offsets in minutes before and after.
    type Change = (String, Option<Vec<i64>>, Option<Vec<i64>>);

    /// Which events change, from what to what.
    fn changes(path: &str, wish: &Wish) -> Vec<Change> {
        let scopes = [scope("guild:1", &[60]), scope("guild:1/quiet", &[]), scope("guild:1/loud", &[5])];
        let events = [
            event("plain", Some("guild:1"), None),
            event("deep", Some("guild:1/room/chair"), None),
            event("own", Some("guild:1"), Some(&[1])),
            event("quiet", Some("guild:1/quiet"), None),
            event("loud", Some("guild:1/loud/x"), None),
            event("elsewhere", Some("guild:2"), None),
            event("nowhere", None, None),
        ];
        let effects = effects(path, wish, &scopes, &events);
        effects
            .iter()
            .map(|effect| (effect.event.key.clone(), minutes(&effect.before), minutes(&effect.after)))
            .collect()
    }

    #[test]
    fn only_events_without_offsets_and_without_a_nearer_scope_change() {
        let says =
            |minutes: &[i64]| Wish::Says(minutes.iter().map(|minutes| Offset::minutes_before(*minutes)).collect());
        assert_eq!(
            changes("guild:1", &says(&[30, 10])),
            [("plain".into(), Some(vec![60]), Some(vec![30, 10])), ("deep".into(), Some(vec![60]), Some(vec![30, 10]))]
        );
        assert!(changes("guild:1", &says(&[60])).is_empty(), "the same again changes nothing");
        assert_eq!(
            changes("guild:1/room", &says(&[5])),
            [("deep".into(), Some(vec![60]), Some(vec![5]))],
            "a new scope between"
        );
        assert_eq!(changes("guild:1/quiet", &Wish::Removed), [("quiet".into(), Some(vec![]), Some(vec![60]))]);
        assert_eq!(
            changes("guild:1", &Wish::Removed),
            [("plain".into(), Some(vec![60]), None), ("deep".into(), Some(vec![60]), None)]
        );
        assert_eq!(changes("guild:2", &says(&[])), [("elsewhere".into(), None, Some(vec![]))]);
    }
}
