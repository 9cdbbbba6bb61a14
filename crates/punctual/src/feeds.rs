//! Foreign calendars: where they come from, and what their text means.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_calendar::event::{Defaults, of_item};
use punctual_calendar::{Calendar, Limits, read};
use punctual_channels::fetch::{FetchError, Fetched, Fetcher};
use punctual_core::calendars::{Calendars, Contents, ReadError, Reading};
use punctual_core::feed::{Feed, FeedKind, Known};
use punctual_core::invalid::Invalid;
use punctual_core::rules::rota::RotaItem;
use punctual_core::scope::Path as ScopePath;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

/// How much work the rules of one calendar may be.
pub(crate) const STEPS: u64 = 2_000_000;
/// Until when duties are worked out, and how long one may be that has begun.
const DUTIES_AHEAD: SignedDuration = SignedDuration::from_hours(90 * 24);
const DUTY_MAX: SignedDuration = SignedDuration::from_hours(366 * 24);
/// The most duties of one item, and of a whole calendar: the soonest. Later ones are found when their time comes nearer.
const DUTIES_OF_ITEM_MAX: usize = 500;
const DUTIES_MAX: usize = 2000;
/// What a source begins with that is a file in the folder of the setting `calendar_files`.
const FILE: &str = "file:";

/// Reads calendars from https servers and, where the operator names a folder, from files in it.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    fetcher: Fetcher,
    folder: Option<PathBuf>,
}

impl Sources {
    pub(crate) fn new(allow_private: bool, folder: Option<PathBuf>) -> Result<Self, Invalid> {
        let setting = "PUNCTUAL_CALENDAR_ALLOW_PRIVATE=true";
        Ok(Self { fetcher: Fetcher::new(Limits::default().bytes, allow_private, setting)?, folder })
    }

    /// Refuses a source that could not be read; returns it as it is kept. The error is about the field `field`.
    pub(crate) fn check(&self, field: &str, source: &str) -> Result<String, Invalid> {
        match source.strip_prefix(FILE) {
            Some(name) => match self.file(name) {
                Ok(_) => Ok(source.to_owned()),
                Err(problem) => Err(Invalid::new(field, problem)),
            },
            None => self.fetcher.check(source).map_err(|problem| Invalid::new(field, problem)),
        }
    }

    /// A file of the operator's folder: no path leads out of it.
    fn file(&self, name: &str) -> Result<PathBuf, String> {
        let Some(folder) = &self.folder else {
            return Err("names a file, and the setting calendar_files names no folder to read files from".into());
        };
        let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !is_inside {
            return Err("must name a file in the folder calendar_files, such as file:oncall.ics".into());
        }
        Ok(folder.join(name))
    }

    async fn text(&self, feed: &Feed) -> Result<Option<(String, Known, Option<Duration>)>, ReadError> {
        if let Some(name) = feed.source.strip_prefix(FILE) {
            return self.text_of_file(name, feed).await;
        }
        let Known { etag, modified } = &feed.known;
        match self.fetcher.fetch(&feed.source, etag.as_deref(), modified.as_deref()).await {
            Ok(Fetched::Unchanged) => Ok(None),
            Ok(Fetched::Text { text, etag, modified, max_age }) => Ok(Some((text, Known { etag, modified }, max_age))),
            Err(FetchError::Later(why)) => Err(ReadError::Later(why)),
            Err(FetchError::Refused(why)) => Err(ReadError::Refused(why)),
            Err(FetchError::Gone(why)) => Err(ReadError::Gone(why)),
        }
    }

    async fn text_of_file(
        &self,
        name: &str,
        feed: &Feed,
    ) -> Result<Option<(String, Known, Option<Duration>)>, ReadError> {
        let path = self.file(name).map_err(ReadError::Refused)?;
        let known = feed.known.clone();
        let read = tokio::task::spawn_blocking(move || -> std::io::Result<Option<(Vec<u8>, Known)>> {
            let about = std::fs::metadata(&path)?;
            let most = Limits::default().bytes as u64;
            // A pipe would be waited for, and never end.
            if !about.is_file() {
                return Err(std::io::Error::other("it is no file"));
            }
            if about.len() > most {
                return Err(std::io::Error::other("it is larger than 10 MB"));
            }
            let changed = about.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let etag = Some(format!("{}-{}", changed.as_nanos(), about.len()));
            if known.etag == etag {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            std::fs::File::open(&path)?.take(most + 1).read_to_end(&mut bytes)?;
            Ok(Some((bytes, Known { etag, modified: None })))
        });
        match read.await {
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some((bytes, known)))) => Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), known, None))),
            Ok(Err(error)) => Err(ReadError::Later(format!("the file cannot be read: {error}"))),
            Err(_) => Err(ReadError::Later("the file cannot be read".into())),
        }
    }
}

#[async_trait]
impl Calendars for Sources {
    async fn read(&self, feed: &Feed, zone: &Zone, now: Timestamp) -> Result<Reading, ReadError> {
        let Some((text, known, max_age)) = self.text(feed).await? else { return Ok(Reading::Unchanged) };
        let (feed, zone) = (feed.clone(), zone.clone());
        let understood = tokio::task::spawn_blocking(move || {
            let steps = Steps::new(STEPS);
            let calendar = read(&text, &zone, &Limits::default(), &steps, now)?;
            let mut contents = contents(&feed, &calendar, &steps, now);
            contents.wait = max_age.into_iter().chain(calendar.refresh).max();
            contents.known = known;
            Ok::<_, Invalid>(contents)
        });
        match understood.await {
            Ok(Ok(contents)) => Ok(Reading::Changed(Box::new(contents))),
            Ok(Err(invalid)) => Err(ReadError::Refused(invalid.problem)),
            Err(_) => Err(ReadError::Refused("it cannot be understood".into())),
        }
    }
}

/// What a calendar means to its owner.
fn contents(feed: &Feed, calendar: &Calendar, steps: &Steps, now: Timestamp) -> Contents {
    let problems = calendar.problems.iter().map(ToString::to_string).collect();
    match feed.key.kind {
        FeedKind::User => {
            let source = feed.key.source();
            let defaults = Defaults {
                prefix: &format!("{source}:"),
                user: &feed.key.owner,
                scope: ScopePath::of_user(&feed.key.owner),
                source: Some(source.clone()),
                settings: &feed.settings,
                now,
            };
            let events = calendar.items.iter().filter_map(|item| of_item(item, &defaults)).collect();
            Contents { events, problems, ..Contents::default() }
        }
        FeedKind::Group => Contents { duties: duties(calendar, steps, now), problems, ..Contents::default() },
    }
}

/// Who is on duty now and in the next time.
fn duties(calendar: &Calendar, steps: &Steps, now: Timestamp) -> Vec<RotaItem> {
    let mut duties: Vec<RotaItem> = Vec::new();
    let soonest = |duties: &mut Vec<RotaItem>| {
        duties.sort_by_key(|duty| duty.from_at);
        duties.truncate(DUTIES_MAX);
    };
    let until = now.checked_add(DUTIES_AHEAD).unwrap_or(Timestamp::MAX);
    for item in calendar.items.iter().filter(|item| !item.done) {
        // Whoever is on duty now may have begun as long ago as their duty lasts.
        let from = now.checked_sub(item.longest().min(DUTY_MAX)).unwrap_or(Timestamp::MIN);
        for run in item.instances(from, until, DUTIES_OF_ITEM_MAX, steps) {
            let Some(until_at) = run.ends_at.filter(|until_at| *until_at > now) else { continue };
            duties.push(RotaItem {
                from_at: run.starts_at,
                until_at,
                title: run.title,
                mails: item.people.clone(),
                priority: item.priority,
            });
        }
        if duties.len() >= 2 * DUTIES_MAX {
            soonest(&mut duties);
        }
    }
    soonest(&mut duties);
    duties
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-20T09:00:00Z";

    /// Who is on duty at [`NOW`], by these events; and how many duties there are in all.
    fn on_duty(events: &str) -> (Vec<String>, usize) {
        let now: Timestamp = NOW.parse().unwrap();
        let steps = Steps::new(STEPS);
        let text = format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n");
        let calendar = read(&text, &Zone::utc(), &Limits::default(), &steps, now).unwrap();
        assert!(calendar.problems.is_empty(), "{:?}", calendar.problems);
        let all = duties(&calendar, &steps, now);
        let is_now = |duty: &&RotaItem| duty.from_at <= now && now < duty.until_at;
        (all.iter().filter(is_now).map(|duty| duty.title.clone()).collect(), all.len())
    }

    fn event(uid: &str, title: &str, from: &str, until: &str, more: &str) -> String {
        format!(
            "BEGIN:VEVENT\r\nUID:{uid}\r\nSUMMARY:{title}\r\nDTSTART:{from}\r\nDTEND:{until}\r\n{more}END:VEVENT\r\n"
        )
    }

    #[test]
    fn whoever_began_weeks_ago_is_still_on_duty() {
        let month = event("1", "bob", "20260301T080000Z", "20260401T080000Z", "");
        assert_eq!(on_duty(&month).0, ["bob"]);
        let fortnight = event("2", "eve", "20250103T080000Z", "20250117T080000Z", "RRULE:FREQ=WEEKLY;INTERVAL=4\r\n");
        assert_eq!(on_duty(&fortnight).0, Vec::<String>::new(), "her next turn begins later");
        let fortnight = event("3", "eve", "20250117T080000Z", "20250131T080000Z", "RRULE:FREQ=WEEKLY;INTERVAL=2\r\n");
        assert_eq!(on_duty(&fortnight).0, ["eve"]);
        // An instance that is longer than the others.
        let longer = "BEGIN:VEVENT\r\nUID:4\r\nSUMMARY:dan\r\nRECURRENCE-ID:20260302T080000Z\r\nDTSTART:20260302T080000Z\r\n\
                      DTEND:20260330T080000Z\r\nEND:VEVENT\r\n";
        let series = event("4", "zoe", "20260105T080000Z", "20260106T080000Z", "RRULE:FREQ=MONTHLY;BYDAY=1MO\r\n");
        assert_eq!(on_duty(&format!("{series}{longer}")).0, ["dan"]);
    }

    #[test]
    fn a_rule_that_is_years_old_says_who_is_on_duty() {
        let daily = event("1", "bob", "20200101T080000Z", "20200102T080000Z", "RRULE:FREQ=DAILY\r\n");
        assert_eq!(on_duty(&daily), (vec!["bob".to_owned()], 91));
    }

    #[test]
    fn of_very_many_duties_the_soonest_are_kept() {
        let hourly = |n: usize| {
            let more = "RRULE:FREQ=HOURLY\r\n";
            event(&n.to_string(), &format!("u{n}"), "20260101T000000Z", "20260101T010000Z", more)
        };
        let events: String = (0..100).map(hourly).collect();
        let (now, n_all) = on_duty(&events);
        assert_eq!((now.len(), n_all), (100, DUTIES_MAX));
    }
}
