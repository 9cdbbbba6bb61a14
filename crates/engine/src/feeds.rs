//! Foreign calendars, read every so often.
//!
//! A node takes a calendar whose moment has come for a minute, reads it, and writes what became of it: events that follow a user's calendar, or
//! who of a group is on duty. A calendar that cannot be read changes nothing: its events and shifts stay.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::calendars::{Calendars, Contents, ReadError, Reading};
use punctual_core::decide::calendar::{Changes, feed_failed, feed_read, feed_unchanged, waits_for_vanished};
use punctual_core::event::Event;
use punctual_core::feed::{FEEDS_OF_USER_MAX, Feed, FeedKey, FeedKind};
use punctual_core::journal::Who;
use punctual_core::rules::rota::{self, Known, RotaItem};
use punctual_core::store::{EventQuery, FeedEnd, PLANNED_AT_ONCE, PutEvent, StoreError};
use punctual_core::writes::Writes;
use punctual_core::zone::Zone;
use tokio::sync::Notify;

use crate::Engine;
use crate::instant::{plus, signed};
use crate::parts::Wired;

/// For how long a node has a calendar that it reads.
const TAKEN_FOR: Duration = Duration::from_secs(60);
/// How many calendars a node reads at once.
const READ_AT_ONCE: usize = 4;
/// How many ids and mail addresses of a rota are looked up.
const CANDIDATES_MAX: usize = 1000;
/// How many events are listed at once.
const PAGE: usize = 500;

impl Engine {
    /// Lets foreign calendars be read by `calendars`. It is to be called before [`Engine::start`]; without it none is read.
    pub fn follow_calendars(&self, calendars: Arc<dyn Calendars>) {
        let mut tasks = crate::node::lock(&self.parts.tasks);
        for number in 1..=READ_AT_ONCE {
            // Each has a name of its own: somebody asks for a calendar anew while one reads it, another reads it again, and what the first has
            // read must not count any more.
            let name = format!("{}/{number}", self.parts.node.settings.node);
            let reader = FeedReader { name, parts: Arc::downgrade(&self.parts), calendars: Arc::clone(&calendars) };
            tasks.push(Box::pin(reader.run()));
        }
    }
}

/// Wakes those who read calendars.
#[derive(Default)]
pub(crate) struct FeedsNudge(Notify);

impl FeedsNudge {
    pub(crate) fn nudge(&self) {
        self.0.notify_one();
    }
}

fn later(at: Timestamp, span: Duration) -> Timestamp {
    plus(at, signed(span))
}

struct FeedReader {
    name: String,
    parts: Weak<Wired>,
    calendars: Arc<dyn Calendars>,
}

impl FeedReader {
    async fn run(self) {
        while let Some(parts) = self.parts.upgrade() {
            let engine = Engine { parts };
            let node = engine.parts.node.clone();
            if node.stopping() {
                return;
            }
            let now = node.now();
            let taken = node.store.take_feed(&self.name, later(now, TAKEN_FOR), now).await;
            let next_at = match taken {
                Ok(taken) => {
                    if let Some(feed) = taken.feed {
                        // There may be more whose moment has come.
                        engine.parts.feeds.nudge();
                        self.read_one(&engine, feed).await;
                        continue;
                    }
                    taken.next_at
                }
                Err(_) => None,
            };
            // A calendar that another node was given is found by looking now and then.
            let latest = later(now, node.settings.fallback_interval);
            let until =
                next_at.map_or(latest, |next_at| next_at.min(latest)).max(later(now, Duration::from_millis(100)));
            // Who waits does not keep the engine.
            let feeds = Arc::clone(&engine.parts.feeds);
            drop(engine);
            tokio::select! { biased;
                () = node.stopped() => return,
                () = feeds.0.notified() => {}
                () = node.clock.sleep_until(until) => {}
            }
        }
    }

    async fn read_one(&self, engine: &Engine, feed: Feed) {
        let node = &engine.parts.node;
        let feed = Feed { known: feed.known_at(node.now()), ..feed };
        let key = feed.key.clone();
        let zone = match feed.key.kind {
            FeedKind::User => node.store.user(&feed.key.owner).await.ok().flatten().and_then(|user| user.timezone),
            FeedKind::Group => None,
        };
        let zone = zone.unwrap_or_else(|| node.settings.timezone.clone());
        let end = match self.take_in(engine, &feed, &zone).await {
            Ok(end) => end,
            Err(error) => {
                tracing::warn!(owner = %feed.key.owner, name = %feed.key.name, %error, "a calendar cannot be read");
                let (feed, writes) = feed_failed(&feed, &error, node.now());
                FeedEnd { feed, shifts: None, writes }
            }
        };
        let are_shifts = end.shifts.is_some();
        let ended = match node.store.end_feed(&self.name, end).await {
            Ok(false) => leave_nothing(engine, &key).await,
            ended => ended.map(drop),
        };
        node.journal.written();
        if let Err(error) = ended {
            tracing::warn!(%error, "what became of a calendar cannot be written; it is read again");
        }
        if are_shifts {
            engine.parts.planner.nudge();
        }
    }

    async fn take_in(&self, engine: &Engine, feed: &Feed, zone: &Zone) -> Result<FeedEnd, ReadError> {
        let node = &engine.parts.node;
        let contents = match self.calendars.read(feed, zone, node.now()).await? {
            Reading::Unchanged => {
                let now = node.now();
                return Ok(FeedEnd { feed: feed_unchanged(feed, now), shifts: None, writes: Writes::new(now) });
            }
            Reading::Changed(contents) => contents,
        };
        match feed.key.kind {
            FeedKind::User => follow_events(engine, feed, &contents).await,
            FeedKind::Group => follow_duties(engine, feed, &contents).await,
        }
    }
}

/// A feed as it is now.
async fn current(engine: &Engine, key: &FeedKey) -> Result<Option<Feed>, StoreError> {
    let all = engine.parts.node.store.feeds(key.kind, Some(key.owner.clone()), None, FEEDS_OF_USER_MAX).await?;
    Ok(all.into_iter().find(|feed| feed.key == *key))
}

/// Withdraws the events of a calendar that somebody removed while it was being read: they may have been put after that.
async fn leave_nothing(engine: &Engine, key: &FeedKey) -> Result<(), StoreError> {
    if key.kind == FeedKind::User && current(engine, key).await?.is_none() {
        engine.withdraw_events_of(&key.source()).await?;
    }
    Ok(())
}

fn unavailable(error: StoreError) -> ReadError {
    ReadError::Later(error.to_string())
}

/// Lets the events of a calendar be those that stand in it.
async fn follow_events(engine: &Engine, feed: &Feed, contents: &Contents) -> Result<FeedEnd, ReadError> {
    let source = feed.key.source();
    let mut kept: HashMap<String, Event> =
        events_of(engine, &source).await?.into_iter().map(|event| (event.key.clone(), event)).collect();
    let n_kept = kept.len();
    let (mut changes, mut put) = (Changes::default(), Vec::new());
    for event in &contents.events {
        match kept.remove(&event.key) {
            Some(before) if is_same(&before, event) => continue,
            Some(_) => changes.changed += 1,
            None => changes.added += 1,
        }
        put.push(PutEvent { event: event.clone(), keeps_instances: false });
    }
    let now = engine.parts.node.now();
    let is_over = |event: &Event| event.repeats.is_none() && event.ends_at.unwrap_or(event.starts_at) < now;
    // What is over has not vanished; its history is somebody else's business.
    let gone: Vec<String> = kept.into_values().filter(|event| !is_over(event)).map(|event| event.key).collect();
    let mut problems = contents.problems.clone();
    if current(engine, &feed.key).await.map_err(unavailable)?.is_none_or(|now| now.source != feed.source) {
        return Err(ReadError::Later("it was changed or removed while it was being read".into()));
    }
    for part in put.chunks(PLANNED_AT_ONCE) {
        put_each(engine, part.to_vec(), &mut problems).await?;
    }
    let waits = waits_for_vanished(feed, n_kept, gone.len());
    if !waits {
        changes.removed = gone.len();
        for part in gone.chunks(PLANNED_AT_ONCE) {
            engine.remove_events_of(part.to_vec(), &source).await.map_err(unavailable)?;
        }
    }
    let n_waited_for = if waits { gone.len() } else { 0 };
    let (feed, writes) = feed_read(feed, contents, problems, changes, n_waited_for, engine.parts.node.now());
    Ok(FeedEnd { feed, shifts: None, writes })
}

/// Puts events together, and where one of them is refused, each by itself.
async fn put_each(engine: &Engine, events: Vec<PutEvent>, problems: &mut Vec<String>) -> Result<(), ReadError> {
    use crate::CreateError;
    match engine.put_events(events.clone(), Who::ENGINE, None).await {
        Ok(_) => return Ok(()),
        Err(CreateError::Store(error)) => return Err(unavailable(error)),
        Err(CreateError::Invalid { .. }) => {}
    }
    for event in events {
        let key = event.event.key.clone();
        match engine.put_events(vec![event], Who::ENGINE, None).await {
            Ok(_) => {}
            Err(CreateError::Store(error)) => return Err(unavailable(error)),
            Err(CreateError::Invalid { invalid, .. }) => problems.push(format!("{key}: {invalid}")),
        }
    }
    Ok(())
}

async fn events_of(engine: &Engine, source: &str) -> Result<Vec<Event>, ReadError> {
    let mut found: Vec<Event> = Vec::new();
    loop {
        let after = found.last().map(|event| event.key.clone());
        let query = EventQuery { source: Some(source.to_owned()), after, limit: PAGE, ..EventQuery::default() };
        let page = engine.parts.node.store.events(query).await.map_err(unavailable)?;
        let is_last = page.len() < PAGE;
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}

/// Whether an event is what it was, whenever it was written.
fn is_same(before: &Event, event: &Event) -> bool {
    let Event { created_at, updated_at, .. } = *before;
    *before == Event { created_at, updated_at, ..event.clone() }
}

/// Works out who is on duty when.
async fn follow_duties(engine: &Engine, feed: &Feed, contents: &Contents) -> Result<FeedEnd, ReadError> {
    let node = &engine.parts.node;
    let group = node.store.groups_of(vec![feed.key.owner.clone()]).await.map_err(unavailable)?.pop();
    let users = group.as_ref().map(|group| group.users.clone()).unwrap_or_default();
    let known = known(engine, &contents.duties, &users).await.map_err(unavailable)?;
    let (shifts, unknown) = rota::shifts(contents.duties.clone(), &known);
    let problems = contents.problems.iter().cloned().chain(unknown).collect();
    let before = group.map(|group| group.shifts).unwrap_or_default();
    let changes = Changes {
        added: shifts.iter().filter(|shift| !before.contains(shift)).count(),
        changed: 0,
        removed: before.iter().filter(|shift| !shifts.contains(shift)).count(),
    };
    let (feed, writes) = feed_read(feed, contents, problems, changes, 0, node.now());
    Ok(FeedEnd { feed, shifts: Some(shifts), writes })
}

/// The users that duties may be about: those of the group, if it has any, else everybody.
async fn known(engine: &Engine, duties: &[RotaItem], users: &[String]) -> Result<Known, StoreError> {
    let store = &engine.parts.node.store;
    let mut known = Known::default();
    if users.is_empty() {
        let mut names: Vec<String> = duties.iter().flat_map(RotaItem::candidates).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names.truncate(CANDIDATES_MAX);
        known.ids = store.users_of(names).await?.into_iter().map(|user| user.id).collect();
    } else {
        known.ids = users.iter().cloned().collect();
    }
    let mut mails: Vec<String> = duties.iter().flat_map(|duty| duty.mails.clone()).collect();
    mails.sort_unstable();
    mails.dedup();
    mails.truncate(CANDIDATES_MAX);
    if mails.is_empty() {
        return Ok(known);
    }
    let mut by_mail = BTreeMap::new();
    for (name, channel) in engine.channels() {
        if channel.kind() != "email" {
            continue;
        }
        for user in store.users_at(name, mails.clone()).await? {
            for address in user.addresses.iter().filter(|address| address.channel == *name) {
                by_mail.insert(address.address.to_lowercase(), user.id.clone());
            }
        }
    }
    by_mail.retain(|_, user| users.is_empty() || users.contains(user));
    known.by_mail = by_mail;
    Ok(known)
}

/// When a calendar is read that somebody wants to be read now.
pub(crate) fn read_now(feed: Feed, now: Timestamp) -> Feed {
    Feed { next_at: Some(now), known: Default::default(), failures: 0, ..feed }
}
