//! Everything there is, page by page.
//!
//! A page is read while the store is used, so an export is no snapshot: what changes after it was read is read again at the end
//! ([`Section::Changes`]), and the later line counts. No page depends on another, so an export can be cut off and gone on with anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use punctual_core::event::Event;
use punctual_core::feed::{FEEDS_OF_USER_MAX, FeedKey, FeedKind};
use punctual_core::group::Group;
use punctual_core::id::{ReminderId, SilenceId};
use punctual_core::journal::{Kind, Placed};
use punctual_core::reminder::Address;
use punctual_core::scope::Path;
use punctual_core::store::{EventQuery, JournalQuery, SilenceQuery, Start, Store, StoreError, Which, WholeQuery};
use punctual_core::watch::Raw;
use punctual_core::whole::{Cursor, Line, LineKind, Section, Whole, WholeEvent};

use crate::Engine;
use crate::instant::minus;

/// How many things are read at a time, and of reminders.
const AT_ONCE: usize = 500;
const REMINDERS_AT_ONCE: usize = 200;
/// How much earlier than the entry of its attempt an address may have died: a send takes its time.
const DIED_BEFORE: Duration = Duration::from_secs(3600);

/// What is exported.
#[derive(Debug, Clone)]
pub struct Export {
    /// Where it goes on.
    pub after: Cursor,
    /// The end of the journal when it began.
    pub head: i64,
    /// Only what is this user's.
    pub user: Option<String>,
    /// What happened: since when.
    pub history: History,
    /// At most so many runs in one line.
    pub runs_max: usize,
}

/// How much of the journal is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// All that is kept.
    #[default]
    All,
    /// What happened since then.
    Since(Timestamp),
    /// Nothing.
    None,
}

impl History {
    fn has(self, entry: &Placed) -> bool {
        match self {
            Self::All => true,
            Self::Since(from) => entry.at >= from,
            Self::None => false,
        }
    }
}

/// Some lines of an export.
#[derive(Debug, Clone)]
pub struct ExportPage {
    /// The lines.
    pub lines: Vec<Line>,
    /// Reminders that cannot be read, each with why.
    pub unreadable: Vec<(ReminderId, String)>,
    /// Where it goes on.
    pub next: Cursor,
    /// Whether that was all, for now: what changes later follows where it goes on.
    pub is_last: bool,
}

impl Engine {
    /// Reads the next page of an export.
    pub async fn export(&self, export: &Export) -> Result<ExportPage, StoreError> {
        page(&**self.store(), export, self.parts.node.now()).await
    }

    /// The end of the journal, where an export begins to look for what changes meanwhile.
    pub async fn journal_head(&self) -> Result<i64, StoreError> {
        self.store().place().await
    }
}

/// Reads the next page of an export of `store`.
pub async fn page(store: &dyn Store, export: &Export, now: Timestamp) -> Result<ExportPage, StoreError> {
    let Export { after: Cursor { section, after }, user, .. } = export;
    let user = user.as_deref();
    let (mut lines, mut unreadable) = (Vec::new(), Vec::new());
    let mut next = None;
    match section {
        Section::Entries => {
            let after = after.parse().unwrap_or(0);
            let from = match export.history {
                History::Since(from) => Some(from),
                History::All | History::None => None,
            };
            if export.history != History::None && after < export.head {
                let query =
                    JournalQuery { user: export.user.clone(), from, ..JournalQuery::new(Start::After(after), AT_ONCE) };
                let page = store.journal(query).await?;
                let of_then = page.entries.into_iter().filter(|entry| entry.position <= export.head);
                lines.extend(of_then.map(Line::Entry));
                next = Some(page.reached.to_string()).filter(|_| page.reached < export.head && !page.is_last);
            }
        }
        Section::Users => match user {
            Some(user) => lines.extend(store.user(user).await?.map(Line::User)),
            None => {
                let users = store.users(Some(after.clone()).filter(|after| !after.is_empty()), AT_ONCE).await?;
                next = users.last().map(|user| user.id.clone());
                lines.extend(users.into_iter().map(Line::User));
            }
        },
        Section::Groups => {
            let groups = store.groups(Some(after.clone()).filter(|after| !after.is_empty()), AT_ONCE).await?;
            next = groups.last().map(|group| group.name.clone());
            lines.extend(groups.into_iter().filter_map(|group| of_group(group, user)).map(Line::Group));
        }
        Section::Silences => {
            let after: Option<SilenceId> = after.parse().ok();
            let query = SilenceQuery { user: export.user.clone(), tag: None, id: None, after, now, limit: AT_ONCE };
            let silences = store.silences(query).await?;
            next = silences.last().map(|silence| silence.id.to_string());
            lines.extend(silences.into_iter().map(Line::Silence));
        }
        Section::DeadAddresses => {
            let after = after.split_once(':').map(|(channel, address)| Address::new(channel, address));
            let dead = store.dead_addresses(after, AT_ONCE).await?;
            next = dead.last().map(|dead| format!("{}:{}", dead.address.channel, dead.address.address));
            let theirs = addresses_of(store, user).await?;
            let is_theirs = |address: &Address| theirs.as_ref().is_none_or(|theirs| theirs.contains(address));
            lines.extend(dead.into_iter().filter(|dead| is_theirs(&dead.address)).map(Line::DeadAddress));
        }
        Section::Scopes => {
            // A person has those below their own; the others belong to applications.
            let own = user.map(Path::of_user);
            if own != Some(None) {
                let scopes = store.scopes(own.flatten(), after.parse().ok(), AT_ONCE).await?;
                next = scopes.last().map(|scope| scope.path.to_string());
                lines.extend(scopes.into_iter().map(Line::Scope));
            }
        }
        Section::Events => {
            let after = Some(after.clone()).filter(|after| !after.is_empty());
            let query = EventQuery { user: export.user.clone(), after, limit: AT_ONCE, ..EventQuery::default() };
            let events = store.events(query).await?;
            next = events.last().map(|event| event.key.clone());
            for event in events {
                lines.push(event_line(store, event, user).await?);
            }
        }
        Section::Calendars => {
            let after = after.rsplit_once('/').map(|(owner, name)| FeedKey::of_user(owner, name));
            let feeds = store.feeds(FeedKind::User, export.user.clone(), after, AT_ONCE).await?;
            next = feeds.last().map(|feed| feed.key.word());
            lines.extend(feeds.into_iter().map(Line::Calendar));
        }
        Section::Ledgers => {
            if user.is_none() {
                let after = after.split_once('/').map(|(watch, key)| (watch.to_owned(), key.to_owned()));
                let rows = store.ledgers(after, AT_ONCE).await?;
                next = rows.last().map(|(watch, row)| format!("{watch}/{}", row.key));
                lines.extend(rows.into_iter().map(|(watch, row)| Line::Ledger(watch, row)));
            }
        }
        Section::Reminders => next = reminders(store, export, &mut lines, &mut unreadable).await?,
        Section::Changes => {
            let at = after.parse().unwrap_or(export.head);
            store.place().await?;
            let query =
                JournalQuery { user: export.user.clone(), ..JournalQuery::new(Start::After(at), REMINDERS_AT_ONCE) };
            let page = store.journal(query).await?;
            changed(store, export, &page.entries, now, &mut lines, &mut unreadable).await?;
            if page.is_last {
                died(store, export, &mut lines).await?;
            }
            let next = Cursor::after(Section::Changes, page.reached.to_string());
            return Ok(ExportPage { lines, unreadable, next, is_last: page.is_last });
        }
    }
    let next = match next {
        Some(after) => Cursor::after(*section, after),
        // Nothing more of this part; the last one has returned above.
        None => Cursor::begin(section.next().unwrap_or(Section::Changes)),
    };
    Ok(ExportPage { lines, unreadable, next, is_last: false })
}

/// The addresses of the one person that is exported; `None`: everything is.
async fn addresses_of(store: &dyn Store, user: Option<&str>) -> Result<Option<Vec<Address>>, StoreError> {
    let Some(user) = user else { return Ok(None) };
    Ok(Some(store.user(user).await?.map(|user| user.addresses).unwrap_or_default()))
}

/// The addresses that died while the export was written. No entry names an address, for it may be a secret; but each dies with the entry of an
/// attempt, so what died before the first entry has been exported.
async fn died(store: &dyn Store, export: &Export, lines: &mut Vec<Line>) -> Result<(), StoreError> {
    let first = store.journal(JournalQuery::new(Start::After(export.head), 1)).await?.entries;
    let Some(since) = first.first().map(|entry| minus(entry.at, DIED_BEFORE)) else { return Ok(()) };
    let theirs = addresses_of(store, export.user.as_deref()).await?;
    let is_theirs = |address: &Address| theirs.as_ref().is_none_or(|theirs| theirs.contains(address));
    let mut after = None;
    loop {
        let dead = store.dead_addresses(after, AT_ONCE).await?;
        let is_last = dead.len() < AT_ONCE;
        after = dead.last().map(|dead| dead.address.clone());
        let new = dead.into_iter().filter(|dead| dead.since >= since && is_theirs(&dead.address));
        lines.extend(new.map(Line::DeadAddress));
        if is_last {
            return Ok(());
        }
    }
}

/// A group; of one person alone, if they belong to it: without the others, and without what the rota's address may give away.
fn of_group(mut group: Group, user: Option<&str>) -> Option<Group> {
    if let Some(user) = user {
        group.users.retain(|one| one == user);
        group.rota = None;
        return Some(group).filter(|group| !group.users.is_empty());
    }
    Some(group)
}

/// An event with its links; of one person alone, without the others.
async fn event_line(store: &dyn Store, mut event: Event, user: Option<&str>) -> Result<Line, StoreError> {
    let mut links = store.links(&event.key).await?;
    if let Some(user) = user {
        event.users.retain(|one| one == user);
        links.retain(|link| link.slot.user == user);
    }
    Ok(Line::Event(Box::new(WholeEvent { event, links })))
}

/// Reminders after one, or older runs of it: `ID`, or `ID/RUN`.
async fn reminders(
    store: &dyn Store,
    export: &Export,
    lines: &mut Vec<Line>,
    unreadable: &mut Vec<(ReminderId, String)>,
) -> Result<Option<String>, StoreError> {
    let (after, below) = match export.after.after.split_once('/') {
        Some((id, run)) => (id.parse().ok(), run.parse().ok()),
        None => (export.after.after.parse::<ReminderId>().ok(), None),
    };
    if let (Some(id), Some(below)) = (after, below) {
        let runs = store.runs_below(id, below, export.runs_max).await?;
        let lowest = runs.first().map(|run| run.occurrence.id.run).filter(|_| runs.len() == export.runs_max);
        if !runs.is_empty() {
            lines.push(Line::Runs(id, runs));
        }
        return Ok(Some(lowest.map_or_else(|| id.to_string(), |lowest| format!("{id}/{lowest}"))));
    }
    let which = Which::After(after, REMINDERS_AT_ONCE);
    let query = WholeQuery { which, user: export.user.clone(), runs_max: export.runs_max };
    let found = store.wholes(query).await?;
    unreadable.extend(found.unreadable);
    for whole in found.wholes {
        let Whole { more_below, .. } = whole;
        let id = whole.reminder.id;
        lines.push(Line::Reminder(Box::new(whole)));
        if let Some(below) = more_below {
            // The rest of the page follows when all of this one is written.
            return Ok(Some(format!("{id}/{below}")));
        }
    }
    Ok(found.last.map(|last| last.to_string()))
}

/// What happened while the export was written, and what it happened to, as it is now. Of a reminder with more runs than a line holds one line more of
/// them is written: between two looks at it no more of them end.
async fn changed(
    store: &dyn Store,
    export: &Export,
    entries: &[Placed],
    now: Timestamp,
    lines: &mut Vec<Line>,
    unreadable: &mut Vec<(ReminderId, String)>,
) -> Result<(), StoreError> {
    let of_kind = |kind: Kind| entries.iter().filter(move |entry| entry.kind == kind.as_str());
    // What they name and is not there any more is told as well, or an earlier line of it would count.
    let gone = |kind: LineKind, key: &dyn ToString| Line::Gone(kind, key.to_string());
    let mut users: BTreeSet<String> = of_kind(Kind::UserChanged).filter_map(|entry| entry.user.clone()).collect();
    for user in store.users_of(users.iter().cloned().collect()).await? {
        users.remove(&user.id);
        lines.push(Line::User(user));
    }
    lines.extend(users.iter().map(|id| gone(LineKind::User, id)));
    if export.user.is_none() {
        let groups = of_kind(Kind::GroupChanged).filter_map(|entry| entry.named("group"));
        let mut groups: BTreeSet<String> = groups.collect();
        for group in store.groups_of(groups.iter().cloned().collect()).await? {
            groups.remove(&group.name);
            lines.push(Line::Group(group));
        }
        lines.extend(groups.iter().map(|name| gone(LineKind::Group, name)));
    }
    let silences = of_kind(Kind::SilenceCreated).chain(of_kind(Kind::SilenceDeleted));
    for id in silences.filter_map(|entry| entry.named("silence")?.parse::<SilenceId>().ok()) {
        let query = SilenceQuery { user: None, tag: None, id: Some(id), after: None, now, limit: 1 };
        let there = store.silences(query).await?.pop();
        lines.push(there.map_or_else(|| gone(LineKind::Silence, &id), Line::Silence));
    }
    for path in of_kind(Kind::ScopeChanged).filter_map(|entry| entry.named("scope")?.parse::<Path>().ok()) {
        let there = store.scope(&path).await?;
        lines.push(there.map_or_else(|| gone(LineKind::Scope, &path), Line::Scope));
    }
    if export.user.is_none() {
        // A watch that keeps a ledger writes in it with the reminder.
        let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for entry in of_kind(Kind::Created) {
            let Some((watch, row)) = entry.named("watch").zip(entry.named("row")) else { continue };
            rows.entry(watch).or_default().extend(Raw::shown_as(&row).iter().map(Raw::kept));
        }
        for (watch, keys) in rows {
            let kept = store.ledger_of(&watch, keys).await?.into_iter();
            lines.extend(kept.map(|row| Line::Ledger(watch.clone(), row)));
        }
    }
    let mut left: BTreeSet<ReminderId> = entries.iter().filter_map(|entry| entry.reminder).collect();
    let mut ids: Vec<ReminderId> = left.iter().copied().collect();
    while !ids.is_empty() {
        let which = Which::These(ids.clone());
        let found = store.wholes(WholeQuery { which, user: None, runs_max: export.runs_max }).await?;
        left.retain(|id| !found.wholes.iter().any(|whole| whole.reminder.id == *id));
        left.retain(|id| !found.unreadable.iter().any(|(unreadable, _)| unreadable == id));
        // A page of many runs has not all of them.
        let seen: BTreeSet<ReminderId> = found
            .wholes
            .iter()
            .map(|whole| whole.reminder.id)
            .chain(found.unreadable.iter().map(|(id, _)| *id))
            .collect();
        unreadable.extend(found.unreadable);
        for whole in found.wholes {
            let (id, more_below) = (whole.reminder.id, whole.more_below);
            lines.push(Line::Reminder(Box::new(whole)));
            if let Some(below) = more_below {
                let runs = store.runs_below(id, below, export.runs_max).await?;
                lines.extend((!runs.is_empty()).then_some(Line::Runs(id, runs)));
            }
        }
        if seen.is_empty() {
            break;
        }
        ids.retain(|id| !seen.contains(id));
    }
    let events: BTreeSet<String> = of_kind(Kind::EventChanged)
        .chain(of_kind(Kind::EventPlanned))
        .filter_map(|entry| entry.named("event"))
        .collect();
    lines.extend(left.iter().map(|id| gone(LineKind::Reminder, id)));
    for key in events {
        lines.push(match store.event(&key).await? {
            Some(view) => event_line(store, view.event, export.user.as_deref()).await?,
            None => gone(LineKind::Event, &key),
        });
    }
    // The calendar of a group comes and goes with the group.
    let feeds =
        of_kind(Kind::CalendarChanged).filter_map(|entry| Some((entry.user.clone()?, entry.named("calendar")?)));
    for (user, name) in feeds.collect::<BTreeSet<_>>() {
        let key = FeedKey::of_user(&user, &name);
        let there = store.feeds(FeedKind::User, Some(user), None, FEEDS_OF_USER_MAX).await?;
        let there = there.into_iter().find(|feed| feed.key == key);
        lines.push(there.map_or_else(|| gone(LineKind::Calendar, &key.word()), Line::Calendar));
    }
    lines.extend(entries.iter().filter(|entry| export.history.has(entry)).cloned().map(Line::Entry));
    Ok(())
}
