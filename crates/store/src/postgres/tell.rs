//! Telling other nodes what this one has planned for them, and hearing what they tell.
//!
//! A trigger tells what any client changes. Our own statements keep it quiet (`punctual.quiet`), because a node knows what
//! it plans, and say themselves what another node must know: what is in another's shards, and soon.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use punctual_core::shard::Shards;
use punctual_core::store::Heard;
use tokio_postgres::types::Type;

use super::fault::Fault;
use super::pool::Connection;

/// The channel of all notifications.
pub(super) const CHANNEL: &str = "punctual";

/// A moment that is further away is not told: every node looks again before then. The triggers have the same number.
const SOON: SignedDuration = SignedDuration::from_mins(2);
/// More instants than this are not listed; everybody looks for themselves. The trigger has the same number.
const LISTED_MAX: usize = 50;
/// No node sends more than this along with a beat.
const ECHO_MAX: usize = 64;

/// Tells of moments in shards that are not `own`.
pub(super) async fn tell(
    db: &Connection<'_>,
    own: Shards,
    moments: impl IntoIterator<Item = (u8, Timestamp)>,
    now: Timestamp,
) -> Result<(), Fault> {
    let soon = now.checked_add(SOON).unwrap_or(Timestamp::MAX);
    let foreign: BTreeSet<(u8, Timestamp)> =
        moments.into_iter().filter(|(shard, at)| !own.contains(*shard) && *at < soon).collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let payload = match foreign.len() <= LISTED_MAX {
        true => foreign.iter().fold("wake".to_owned(), |text, (shard, at)| {
            // Rounded as instants are when they are kept.
            format!("{text} {shard}:{}", super::row::micros(*at).number())
        }),
        false => "look".to_owned(),
    };
    db.rows(&format!("select pg_notify('{CHANNEL}', $1)"), &[(&payload, Type::TEXT)]).await?;
    Ok(())
}

/// The meaning of a notification. It is no more than a reason to look: any role that may connect may send one.
pub(super) fn understand(payload: &str) -> Heard {
    let (word, rest) = payload.split_once(' ').unwrap_or((payload, ""));
    match (word, rest) {
        ("look", "") => Heard::Look,
        ("left", "") => Heard::Left,
        ("throttle", "") => Heard::Throttled,
        ("recall", "") => Heard::Recalled,
        ("journal", "") => Heard::Placed,
        ("follow", "") => Heard::Followed,
        ("events", "") => Heard::Events,
        ("beat", echo) if (1..=ECHO_MAX).contains(&echo.len()) => Heard::Beat(echo.to_owned()),
        ("wake", moments) => moments_of(moments).map_or(Heard::Nonsense, Heard::Wake),
        _ => Heard::Nonsense,
    }
}

fn moments_of(text: &str) -> Option<Vec<(u8, Timestamp)>> {
    let moment = |pair: &str| {
        let (shard, at) = pair.split_once(':')?;
        Some((shard.parse().ok()?, Timestamp::from_microsecond(at.parse().ok()?).ok()?))
    };
    let moments: Vec<_> = text.split_ascii_whitespace().take(LISTED_MAX + 1).map(moment).collect::<Option<_>>()?;
    (1..=LISTED_MAX).contains(&moments.len()).then_some(moments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_triggers_have_the_same_limits() {
        let soon = format!("clock_timestamp() + interval '{} minutes'", SOON.as_mins());
        let (inserted, updated) =
            (include_str!("functions/occurrence_inserted.sql"), include_str!("functions/occurrence_updated.sql"));
        assert!(inserted.contains(&soon) && updated.contains(&soon));
        assert!(inserted.contains(&format!("limit {}), false", LISTED_MAX + 1)));
        assert!(include_str!("functions/tell.sql").contains(&format!("cardinality(pairs) > {LISTED_MAX} ")));
    }

    #[test]
    fn what_is_told_is_understood() {
        let at = |micros| Timestamp::from_microsecond(micros).unwrap();
        let wake = Heard::Wake(vec![(7, at(1_700_000_000_000_001)), (255, at(5))]);
        assert_eq!(understand("wake 7:1700000000000001 255:5"), wake);
        assert_eq!(understand("look"), Heard::Look);
        assert_eq!(understand("beat 12-abc"), Heard::Beat("12-abc".into()));
        assert_eq!((understand("throttle"), understand("recall")), (Heard::Throttled, Heard::Recalled));
        assert_eq!((understand("journal"), understand("follow")), (Heard::Placed, Heard::Followed));
        assert_eq!(understand("events"), Heard::Events);
    }

    #[test]
    fn what_no_node_says_is_nonsense() {
        let many = format!("wake{}", " 1:5".repeat(LISTED_MAX + 1));
        let long = format!("beat {}", "x".repeat(ECHO_MAX + 1));
        let others =
            ["", "wake", "wake 256:5", "wake 7", "wake 7:x", "recall x", "throttle host 5 webhook h", "beat", "look x"];
        for other in others.into_iter().chain([many.as_str(), &long]) {
            assert_eq!(understand(other), Heard::Nonsense, "{other}");
        }
    }
}
