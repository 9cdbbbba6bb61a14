//! Foreign calendars: where they come from, and what their text means.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_calendar::event::{Defaults, of_item};
use punctual_calendar::{Calendar, Limits, read};
use punctual_channels::fetch::{FetchError, Fetched, Fetcher};
use punctual_core::calendars::{Calendars, Contents, ReadError, Reading};
use punctual_core::event::Offset;
use punctual_core::feed::{Feed, FeedKind, Known};
use punctual_core::invalid::Invalid;
use punctual_core::rules::rota::Duty;
use punctual_core::scope::Path as ScopePath;
use punctual_core::steps::Steps;
use punctual_core::zone::Zone;

/// How much work the rules of one calendar may be.
pub(crate) const STEPS: u64 = 2_000_000;
/// The reminder of an item that says none, where its reader has no scope: a quarter of an hour before.
pub(crate) const OFFSET_MINUTES: i64 = 15;
/// From when and until when duties are worked out.
const DUTIES_BACK: SignedDuration = SignedDuration::from_hours(8 * 24);
const DUTIES_AHEAD: SignedDuration = SignedDuration::from_hours(90 * 24);
/// The most duties of one item.
const DUTIES_MAX: usize = 500;
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
            if about.len() > Limits::default().bytes as u64 {
                return Err(std::io::Error::other("it is larger than 10 MB"));
            }
            let changed = about.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let etag = Some(format!("{}-{}", changed.as_nanos(), about.len()));
            if known.etag == etag {
                return Ok(None);
            }
            Ok(Some((std::fs::read(&path)?, Known { etag, modified: None })))
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
                scope: scope_of(&feed.key.owner),
                source: Some(source.clone()),
                settings: &feed.settings,
                offsets: &[Offset::minutes_before(OFFSET_MINUTES)],
                now,
            };
            let events = calendar.items.iter().filter_map(|item| of_item(item, &defaults)).collect();
            Contents { events, problems, ..Contents::default() }
        }
        FeedKind::Group => {
            let mut duties = Vec::new();
            let (from, until) = (now - DUTIES_BACK, now + DUTIES_AHEAD);
            for item in calendar.items.iter().filter(|item| !item.done) {
                for run in item.instances(from, until, DUTIES_MAX, steps) {
                    let Some(until_at) = run.ends_at.filter(|until_at| *until_at > now) else { continue };
                    duties.push(Duty {
                        from_at: run.starts_at,
                        until_at,
                        title: run.title,
                        mails: item.people.clone(),
                        priority: item.priority,
                    });
                }
            }
            Contents { duties, problems, ..Contents::default() }
        }
    }
}

/// Where a user's defaults stand: `punctual scopes set user:alice 15`.
pub(crate) fn scope_of(user: &str) -> Option<ScopePath> {
    format!("user:{}", user.replace('%', "%25").replace('/', "%2F")).parse().ok()
}
