//! What is written when something about calendars changes.

use std::time::Duration;

use jiff::Timestamp;

use crate::calendars::{Contents, ReadError};
use crate::clock::later;
use crate::feed::{EVERY, Feed, FeedKey, FeedKind, FeedSettings, PROBLEMS_MAX};
use crate::group::Shift;
use crate::journal::{Data, Entry, Kind, Who};
use crate::model::version::Version;
use crate::writes::Writes;

/// The longest wait after a failure.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(6 * 3600);
/// The longest wait that a server can ask for.
const ASKED_WAIT_MAX: Duration = Duration::from_secs(24 * 3600);
/// When a calendar is read again of which much has vanished.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// How often in a row a calendar is looked for that is not there.
const GONE_MAX: u32 = 3;
/// Of fewer items than these all may vanish at once.
const MANY: usize = 5;

/// The version of the address of a user's calendar, which is `generation`: each has its own.
pub fn address_version(generation: u64) -> Version {
    Version::of(&generation)
}

/// The address of a user's calendar was changed.
pub fn calendar_renewed(user: &str, who: Who, now: Timestamp) -> Writes {
    let data = Data::Fields { fields: vec!["calendar_url"] };
    let user = Some(user.to_owned());
    let entry = Entry { at: now, kind: Kind::UserChanged, who, user, reminder: None, run: None, data };
    Writes { entries: vec![entry], ..Writes::new(now) }
}

/// A feed was put or removed.
pub fn feed_changed(key: &FeedKey, deleted: bool, who: Who, now: Timestamp) -> Writes {
    let data = Data::Calendar { calendar: name_of(key), deleted, changes: None, problems: Vec::new(), error: None };
    Writes { entries: vec![entry(key, Kind::CalendarChanged, who, data, now)], ..Writes::new(now) }
}

/// What a group has instead of its old rota.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRota {
    /// The feed of its calendar, which is read at once; none: it names no calendar any more.
    pub feed: Option<Feed>,
    /// Who is on duty: by the old calendar nobody is any more, and the new one has still to be read.
    pub shifts: Vec<Shift>,
}

/// A group names the calendar `after`, and its feed has been read from `before`; `None` if all stays as it is.
pub fn rota_changed(group: &str, before: Option<&str>, after: Option<&str>, now: Timestamp) -> Option<NewRota> {
    let feed =
        |source: &str| Feed::new(FeedKey::of_group(group), source.to_owned(), FeedSettings::default(), EVERY, now);
    (before != after).then(|| NewRota { feed: after.map(feed), shifts: Vec::new() })
}

/// How many items of a feed were new, changed and gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changes {
    /// New.
    pub added: usize,
    /// Changed.
    pub changed: usize,
    /// Gone.
    pub removed: usize,
}

/// Whether it is waited for items that have vanished: more than half of many at once may be a mistake of the other side, and then a second
/// reading decides.
pub fn waits_for_vanished(feed: &Feed, n_kept: usize, n_gone: usize) -> bool {
    n_kept >= MANY && n_gone * 2 > n_kept && feed.vanished == 0
}

/// A feed is what it was.
pub fn feed_unchanged(feed: &Feed, now: Timestamp) -> Feed {
    let next_at = Some(later(now, feed.every));
    Feed { next_at, read_at: Some(now), failures: 0, problem: None, ..feed.clone() }
}

/// A feed was read, with these changes; `n_waited_for` of its items have vanished and are waited for.
pub fn feed_read(
    feed: &Feed,
    contents: &Contents,
    problems: Vec<String>,
    changes: Changes,
    n_waited_for: usize,
    now: Timestamp,
) -> (Feed, Writes) {
    let wait = contents.wait.map_or(feed.every, |wait| wait.min(ASKED_WAIT_MAX).max(feed.every));
    let mut problems = problems;
    problems.truncate(PROBLEMS_MAX);
    let is_changed = changes != Changes::default() || problems != feed.problems;
    let after = Feed {
        next_at: Some(later(now, if n_waited_for > 0 { LOOK_AGAIN } else { wait })),
        // While it waits, the whole text is wanted again.
        known: if n_waited_for > 0 { Default::default() } else { contents.known.clone() },
        read_at: Some(now),
        changed_at: if is_changed { Some(now) } else { feed.changed_at },
        failures: 0,
        vanished: u32::try_from(n_waited_for).unwrap_or(u32::MAX),
        problem: None,
        problems: problems.clone(),
        ..feed.clone()
    };
    let data =
        Data::Calendar { calendar: name_of(&feed.key), deleted: false, changes: Some(changes), problems, error: None };
    let entries = is_changed.then(|| entry(&feed.key, Kind::CalendarRead, Who::ENGINE, data, now));
    (after, Writes { entries: entries.into_iter().collect(), ..Writes::new(now) })
}

/// A feed could not be read: it is tried again, each time after twice as long; one that is gone is given up after a while. The journal says
/// it once.
pub fn feed_failed(feed: &Feed, error: &ReadError, now: Timestamp) -> (Feed, Writes) {
    let failures = feed.failures.saturating_add(1);
    let wait = feed.every.saturating_mul(1 << feed.failures.min(16)).min(FAILED_WAIT_MAX.max(feed.every));
    let is_given_up = matches!(error, ReadError::Gone(_)) && failures >= GONE_MAX;
    let mut problem = error.to_string();
    if is_given_up {
        problem.push_str("; it is not read any more until it is set again");
    }
    let next_at = (!is_given_up).then(|| later(now, wait));
    let after = Feed { next_at, failures, problem: Some(problem.clone()), ..feed.clone() };
    let is_news = failures == 1 || is_given_up;
    let calendar = name_of(&feed.key);
    let data = Data::Calendar { calendar, deleted: false, changes: None, problems: Vec::new(), error: Some(problem) };
    let entries = is_news.then(|| entry(&feed.key, Kind::CalendarFailed, Who::ENGINE, data, now));
    (after, Writes { entries: entries.into_iter().collect(), ..Writes::new(now) })
}

fn entry(key: &FeedKey, kind: Kind, who: Who, data: Data, now: Timestamp) -> Entry {
    let user = (key.kind == FeedKind::User).then(|| key.owner.clone());
    Entry { at: now, kind, who, user, reminder: None, run: None, data }
}

/// What the journal calls it.
fn name_of(key: &FeedKey) -> String {
    match key.kind {
        FeedKind::User => key.name.clone(),
        FeedKind::Group => format!("group:{}", key.owner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const MINUTE: u64 = 60;

    fn feed() -> Feed {
        let every = Duration::from_secs(15 * MINUTE);
        let key = FeedKey::of_user("ann", "family");
        Feed::new(key, "https://x.example/".into(), FeedSettings::default(), every, Timestamp::UNIX_EPOCH)
    }

    fn wait(feed: &Feed, now: Timestamp) -> Option<u64> {
        feed.next_at.map(|at| u64::try_from(at.duration_since(now).as_secs()).unwrap() / MINUTE)
    }

    #[test]
    fn a_failure_is_told_once_and_tried_again_ever_later() {
        let now = Timestamp::UNIX_EPOCH;
        let (mut feed, mut waits, mut n_told) = (feed(), Vec::new(), 0);
        for _ in 0..7 {
            let (after, writes) = feed_failed(&feed, &ReadError::Later("no".into()), now);
            waits.push(wait(&after, now).unwrap());
            n_told += writes.entries.len();
            feed = after;
        }
        assert_eq!((waits.as_slice(), n_told), (&[15, 30, 60, 120, 240, 360, 360][..], 1));
        assert_eq!(feed_unchanged(&feed, now).problem, None);
    }

    #[test]
    fn a_calendar_that_is_gone_is_given_up() {
        let (mut feed, now) = (feed(), Timestamp::UNIX_EPOCH);
        let mut n_told = 0;
        for _ in 0..3 {
            let (after, writes) = feed_failed(&feed, &ReadError::Gone("is not there".into()), now);
            n_told += writes.entries.len();
            feed = after;
        }
        assert_eq!((feed.next_at, n_told), (None, 2));
        assert!(feed.problem.unwrap().contains("not read any more"));
    }

    #[test]
    fn a_server_can_ask_to_be_left_alone_for_a_day() {
        let (feed, now) = (feed(), Timestamp::UNIX_EPOCH);
        for (asked, expect) in [(None, 15), (Some(1), 15), (Some(120), 120), (Some(100_000), 24 * 60)] {
            let contents =
                Contents { wait: asked.map(|asked| Duration::from_secs(asked * MINUTE)), ..Contents::default() };
            let (after, writes) = feed_read(&feed, &contents, vec![], Changes::default(), 0, now);
            assert_eq!((wait(&after, now), writes.entries.len()), (Some(expect), 0), "{asked:?}");
        }
    }

    #[test]
    fn a_group_that_names_another_calendar_has_it_read_at_once_and_nobody_on_duty() {
        let now = Timestamp::UNIX_EPOCH;
        for (before, after, is_changed) in [
            (None, None, false),
            (Some("https://a.example"), Some("https://a.example"), false),
            (None, Some("https://a.example"), true),
            (Some("https://a.example"), Some("https://b.example"), true),
            (Some("https://a.example"), None, true),
        ] {
            let changed = rota_changed("on-call", before, after, now);
            assert_eq!(changed.is_some(), is_changed, "{before:?} {after:?}");
            let Some(NewRota { feed, shifts }) = changed else { continue };
            let named = feed.as_ref().map(|feed| (feed.source.as_str(), feed.key.owner.as_str(), feed.next_at));
            assert_eq!((named, shifts.len()), (after.map(|after| (after, "on-call", Some(now))), 0), "{before:?}");
        }
    }

    #[test]
    fn much_that_vanishes_is_waited_for_once() {
        let (mut feed, now) = (feed(), Timestamp::UNIX_EPOCH);
        for (n_kept, n_gone, waits) in [(4, 4, false), (5, 3, true), (10, 5, false), (10, 6, true)] {
            assert_eq!(waits_for_vanished(&feed, n_kept, n_gone), waits, "{n_gone} of {n_kept}");
        }
        feed.known.etag = Some("1".into());
        let (after, _) = feed_read(&feed, &Contents::default(), vec![], Changes::default(), 6, now);
        assert_eq!((wait(&after, now), after.vanished, &after.known.etag), (Some(1), 6, &None));
        assert!(!waits_for_vanished(&after, 10, 6));
    }
}
