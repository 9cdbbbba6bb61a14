//! When people are reminded, and where that is said.

use punctual_client::known::{EventEnd, Offset};
use punctual_client::wire::{OffsetInput, Scope};
use serde_json::Value;

use crate::manner::Manner;
use crate::parts::Filled;
use crate::texts::{events as t, time};

/// Offsets as the API gives them. One that a newer server knows is left out.
pub(in crate::pages) fn read(values: &[Value]) -> Vec<Offset> {
    values.iter().filter_map(|value| Offset::read(value).ok()).collect()
}

/// `15 min before`, `at the start`.
pub(in crate::pages) fn say(m: &Manner, offset: Offset) -> String {
    let span = whole_span(m, offset.before_seconds.unsigned_abs());
    let (at, before, after) = match offset.of {
        EventEnd::Start => (t::AT_START, t::BEFORE_START, t::AFTER_START),
        EventEnd::End => (t::AT_END, t::BEFORE_END, t::AFTER_END),
    };
    match offset.before_seconds {
        0 => m.t(at).into_owned(),
        1.. => m.say(before, &[("span", &span)]),
        _ => m.say(after, &[("span", &span)]),
    }
}

/// A span with all of its units, such as `1 h 30 min`: an offset is exact.
fn whole_span(m: &Manner, seconds: u64) -> String {
    let units = [(86_400, u64::MAX, time::DAY), (3600, 24, time::HOUR), (60, 60, time::MINUTE), (1, 60, time::SECOND)];
    let parts = units.iter().map(|(length, wrap, unit)| (seconds / length % wrap, unit)).filter(|(n, _)| *n > 0);
    parts.map(|(n, unit)| format!("{n} {}", m.t(*unit))).collect::<Vec<_>>().join(" ")
}

/// All of them in one line.
pub(in crate::pages) fn say_all(m: &Manner, offsets: &[Offset]) -> String {
    match offsets {
        [] => m.t(t::NEVER).into_owned(),
        offsets => offsets.iter().map(|offset| say(m, *offset)).collect::<Vec<_>>().join(", "),
    }
}

/// Offsets as a field has them: `60, 15, end+10m`.
pub(in crate::pages) fn field(offsets: &[Offset]) -> String {
    offsets.iter().map(|offset| offset.word()).collect::<Vec<_>>().join(", ")
}

/// The offsets in a field, for the API to read. Commas divide them, and so do blanks between plain numbers.
pub(in crate::pages) fn filled(form: &Filled, name: &str) -> Vec<OffsetInput> {
    let text = form.get(name).unwrap_or_default();
    let pieces = text.split([',', ';', '\n']).map(str::trim).filter(|piece| !piece.is_empty());
    let words = pieces.flat_map(|piece| {
        let words: Vec<&str> = piece.split_whitespace().collect();
        if words.iter().all(|word| word.parse::<i64>().is_ok()) { words } else { vec![piece] }
    });
    words.map(|word| OffsetInput(Value::from(word))).collect()
}

/// The scope that says the offsets of events at `path`: itself, or the nearest above.
pub(in crate::pages) fn nearest<'a>(path: &str, scopes: &'a [Scope]) -> Option<&'a Scope> {
    with_ancestors(path).find_map(|path| scopes.iter().find(|scope| scope.path == path))
}

/// A path and what it is below, nearest first.
pub(in crate::pages) fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scope(path: &str) -> Scope {
        serde_json::from_value(json!({ "path": path, "offsets": [60], "updated_at": "2026-01-01T00:00:00Z" })).unwrap()
    }

    #[test]
    fn an_event_inherits_from_the_nearest_scope_above_it() {
        let scopes = ["guild:1", "guild:1/channel:2", "guild:10"].map(scope);
        for (path, expect) in [
            ("guild:1/channel:2/room:3", Some("guild:1/channel:2")),
            ("guild:1/channel:2", Some("guild:1/channel:2")),
            ("guild:1/channel:22", Some("guild:1")),
            ("guild:1", Some("guild:1")),
            ("guild:2", None),
            ("guild", None),
        ] {
            assert_eq!(nearest(path, &scopes).map(|scope| scope.path.as_str()), expect, "{path}");
        }
    }

    #[test]
    fn a_field_of_offsets_is_read_as_people_write_it() {
        for (text, expect) in [
            ("60, 15", vec!["60", "15"]),
            ("60 15", vec!["60", "15"]),
            ("1d,\r\n -30m; end+10m", vec!["1d", "-30m", "end+10m"]),
            ("1h 30m", vec!["1h 30m"]),
            ("", vec![]),
        ] {
            let form: Filled =
                serde_urlencoded::from_str(&serde_urlencoded::to_string([("offsets", text)]).unwrap()).unwrap();
            let read: Vec<Value> = filled(&form, "offsets").into_iter().map(|offset| offset.0).collect();
            assert_eq!(read, expect.into_iter().map(Value::from).collect::<Vec<_>>(), "{text}");
        }
        let known = read(&[json!(60), json!({ "after": "end", "by": "10m" }), json!("from another time")]);
        assert_eq!(field(&known), "60, end+10m");
    }
}
