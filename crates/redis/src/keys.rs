//! The names of keys and channels, and the arithmetic of instants.

use jiff::Timestamp;

/// The index: every timer's key, by the millisecond it expires in.
pub(super) const INDEX: &str = "punctual:due";
/// Changes when Redis has lost keys that were set.
pub(super) const MARKER: &str = "punctual:marker";
/// Until when everything is set, and under which marker.
pub(super) const FILLED: &str = "punctual:filled";
/// The node that sets everything at the moment.
pub(super) const FILLING: &str = "punctual:filling";
/// Where nodes tell each other that something earlier has been set.
pub(super) const NUDGE: &str = "punctual:nudge";
/// Expires every few seconds, to see that expiring is heard.
pub(super) const BEAT: &str = "punctual:beat";
/// Where Redis reports expired keys, in any of its databases.
pub(super) const EXPIRED: &str = "__keyevent@*__:expired";

/// The key of the timer `id` under `prefix`.
pub(super) fn key(prefix: &str, id: &str) -> String {
    format!("{prefix}:{id}")
}

/// The id that `key` has under `prefix`, if it is one of its keys.
pub(super) fn id_under<'a>(prefix: &str, key: &'a str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix(':')
}

/// Which database an event on `channel` comes from.
pub(super) fn database_of(channel: &str) -> Option<i64> {
    channel.strip_prefix("__keyevent@")?.strip_suffix("__:expired")?.parse().ok()
}

/// When a key must expire so that it rings at `at` and not before, on a clock that is ahead of ours.
///
/// Redis counts milliseconds, and a key has expired when its clock shows a later one than the key's.
pub(super) fn expires_at(at: Timestamp, ahead_micros: i64) -> i64 {
    let micros = at.as_microsecond().saturating_add(ahead_micros);
    micros.div_euclid(1000) + i64::from(micros.rem_euclid(1000) > 0) - 1
}

/// When a key that expires in the millisecond `millis` rings, by our clock.
pub(super) fn rings_at(millis: i64, ahead_micros: i64) -> Timestamp {
    let micros = millis.saturating_add(1).saturating_mul(1000).saturating_sub(ahead_micros);
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

/// The value that `notify-keyspace-events` must get so that Redis reports expired keys; none if it does already.
pub(super) fn with_expired(flags: &str) -> Option<String> {
    let (has_events, has_expired) = (flags.contains('E'), flags.contains('x') || flags.contains('A'));
    if has_events && has_expired {
        return None;
    }
    let mut wanted = flags.to_owned();
    wanted.push_str(if has_events { "" } else { "E" });
    wanted.push_str(if has_expired { "" } else { "x" });
    Some(wanted)
}

/// The run id in the answer to `INFO server`.
pub(super) fn run_id(info: &str) -> Option<&str> {
    info.lines().find_map(|line| line.trim().strip_prefix("run_id:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(micros).unwrap()
    }

    #[test]
    fn a_key_never_rings_early_and_at_most_a_millisecond_late() {
        for ahead in [0, 250, -1_300, 5_000_000] {
            for micros in [1_000_000, 1_000_001, 1_000_999, 1_001_000] {
                let rings = rings_at(expires_at(at(micros), ahead), ahead);
                let late = rings.as_microsecond() - micros;
                assert!((0..1000).contains(&late), "{micros} ahead {ahead}: {late}");
            }
        }
    }

    #[test]
    fn ids_and_databases_are_read_from_their_names() {
        assert_eq!(id_under("reminder", "reminder:0198"), Some("0198"));
        assert_eq!(id_under("a:b", "a:b:c:d"), Some("c:d"));
        assert_eq!(id_under("reminder", "reminders:0198"), None);
        assert_eq!(id_under("reminder", "reminder"), None);
        assert_eq!(database_of("__keyevent@0__:expired"), Some(0));
        assert_eq!(database_of("__keyevent@15__:expired"), Some(15));
        assert_eq!(database_of("__keyevent@x__:expired"), None);
        assert_eq!(database_of("punctual:nudge"), None);
    }

    #[test]
    fn events_that_redis_reports_already_stay_reported() {
        assert_eq!(with_expired(""), Some("Ex".into()));
        assert_eq!(with_expired("Kg"), Some("KgEx".into()));
        assert_eq!(with_expired("xK"), Some("xKE".into()));
        assert_eq!(with_expired("AK"), Some("AKE".into()));
        assert_eq!(with_expired("xE"), None);
        assert_eq!(with_expired("AKE"), None);
    }

    #[test]
    fn a_run_id_is_found() {
        assert_eq!(run_id("# Server\r\nredis_version:7.0.15\r\nrun_id:abc123\r\ntcp_port:1\r\n"), Some("abc123"));
        assert_eq!(run_id(""), None);
    }
}
