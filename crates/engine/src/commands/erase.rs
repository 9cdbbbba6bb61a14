//! Removing a person everywhere.
//!
//! It is done step by step, each a transaction of a bounded number of rows, so that nobody's reminder waits for it. Nothing is remembered between two
//! steps but where it goes on, which the caller has: an erasure that was cut off is begun anew, and finds the rest.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use punctual_core::change::{Change, Refused};
use punctual_core::event::Event;
use punctual_core::feed::{FEEDS_OF_USER_MAX, FeedKind};
use punctual_core::invalid::Invalid;
use punctual_core::journal::{Data, Entry, Kind, Who};
use punctual_core::scope::Path;
use punctual_core::step::{Step, Target};
use punctual_core::store::{By, ChangeError, EventQuery, PutEvent, Record, SilenceQuery, StoreError};

use super::CreateError;
use crate::Engine;

/// How many groups, users, events or silences are read at a time.
const AT_ONCE: usize = 500;
/// How long a send is waited for before it is looked for again.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// How far an erasure has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Erasure {
    part: Part,
    after: String,
    /// How many reminders are gone.
    pub n_reminders: u64,
    /// How many records of others have named the person.
    pub n_records: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    /// Their keys and silences, and the calendars that they follow.
    #[default]
    Person,
    /// Their places in groups.
    Groups,
    /// Their places in other people's plans.
    Plans,
    /// Their places in events.
    Events,
    /// Their defaults and their own entry.
    Entry,
    /// Their reminders.
    Reminders,
    /// What others have of them.
    Records(Record),
    /// All of it is gone.
    Done,
}

impl Erasure {
    /// Whether all of it is gone.
    pub fn is_done(&self) -> bool {
        self.part == Part::Done
    }

    fn then(&self, part: Part) -> Self {
        Self { part, after: String::new(), ..self.clone() }
    }

    /// Where it goes on when `last` was the last that was looked at; when none was, `next` follows.
    fn after(&self, last: Option<String>, next: Part) -> Self {
        last.map_or_else(|| self.then(next), |after| Self { after, ..self.clone() })
    }
}

impl fmt::Display for Erasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match &self.part {
            Part::Person => "person",
            Part::Groups => "groups",
            Part::Plans => "plans",
            Part::Events => "events",
            Part::Entry => "entry",
            Part::Reminders => "reminders",
            Part::Records(record) => record.as_str(),
            Part::Done => "done",
        };
        write!(f, "{part}/{}/{}/{}", self.n_reminders, self.n_records, self.after)
    }
}

impl FromStr for Erasure {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong =
            || Invalid::new("after", format!("`{text}` is not where an erasure goes on; leave it out to begin anew"));
        let mut parts = text.splitn(4, '/');
        let mut next = || parts.next().ok_or_else(wrong);
        let part = match next()? {
            "person" => Part::Person,
            "groups" => Part::Groups,
            "plans" => Part::Plans,
            "events" => Part::Events,
            "entry" => Part::Entry,
            "reminders" => Part::Reminders,
            word => Part::Records(word.parse().map_err(|_| wrong())?),
        };
        let n_reminders = next()?.parse().map_err(|_| wrong())?;
        let n_records = next()?.parse().map_err(|_| wrong())?;
        Ok(Self { part, n_reminders, n_records, after: next()?.to_owned() })
    }
}

impl Engine {
    /// Goes on with the erasure of `user`, as `who` asked, for about `span`; returns how far it has come.
    pub async fn erase(&self, user: &str, erasure: Erasure, who: &Who, span: Duration) -> Result<Erasure, StoreError> {
        let (engine, user, who) = (self.clone(), user.to_owned(), who.clone());
        self.finish(async move {
            let clock = &engine.parts.node.clock;
            let (began_at, mut erasure) = (clock.now(), erasure);
            while !erasure.is_done() && clock.now().duration_since(began_at).unsigned_abs() < span {
                erasure = engine.erase_some(&user, erasure, &who).await?;
            }
            Ok(erasure)
        })
        .await
    }

    async fn erase_some(&self, user: &str, mut erasure: Erasure, who: &Who) -> Result<Erasure, StoreError> {
        let store = self.store();
        match erasure.part {
            Part::Person => {
                self.erase_own(user, who).await?;
                Ok(erasure.then(Part::Groups))
            }
            Part::Groups => self.erase_from_groups(user, erasure, who).await,
            Part::Plans => self.erase_from_plans(user, erasure, who).await,
            Part::Events => self.erase_from_events(user, erasure, who).await,
            Part::Entry => {
                self.erase_entry(user, who).await?;
                // Nothing that is planned or begun for them may make another reminder of theirs.
                erasure.n_records += store.redact(user, Record::Small, "").await?.n as u64;
                Ok(erasure.then(Part::Reminders))
            }
            Part::Reminders => {
                let removed = store.remove_reminders(user).await?;
                erasure.n_reminders += removed.n_reminders as u64;
                let mut is_waited_for = false;
                for id in &removed.open {
                    let by = By::new(who.clone(), self.parts.node.now());
                    match self.change(*id, Change::Cancel, by).await {
                        // A send that has begun ends by itself; another node may have it.
                        Err(ChangeError::Refused(Refused::SendBegun | Refused::OtherBegun(_))) => is_waited_for = true,
                        Err(ChangeError::Store(error)) => return Err(error),
                        Ok(_) | Err(_) => {}
                    }
                }
                if is_waited_for {
                    self.parts.node.clock.pause(LOOK_AGAIN_AFTER).await;
                }
                match removed.has_more || !removed.open.is_empty() {
                    true => Ok(erasure),
                    false => Ok(erasure.then(Part::Records(Record::Reminders))),
                }
            }
            Part::Records(record) => {
                let redacted = store.redact(user, record, &erasure.after).await?;
                erasure.n_records += redacted.n as u64;
                match (redacted.next, record.next()) {
                    (Some(after), _) => Ok(Erasure { after, ..erasure }),
                    (None, Some(next)) => Ok(erasure.then(Part::Records(next))),
                    // Whatever was removed of theirs has been entered under their name just before, and so was found in the journal.
                    (None, None) if (erasure.n_reminders, erasure.n_records) == (0, 0) => Ok(erasure.then(Part::Done)),
                    (None, None) => {
                        let data = Data::Erased { reminders: erasure.n_reminders, records: erasure.n_records };
                        let at = self.parts.node.now();
                        let (user, reminder, run, who) = (None, None, None, who.clone());
                        store.record(Entry { at, kind: Kind::UserErased, who, user, reminder, run, data }).await?;
                        self.parts.node.journal.written();
                        Ok(erasure.then(Part::Done))
                    }
                }
            }
            Part::Done => Ok(erasure),
        }
    }

    /// Removes a person's keys and silences, and follows their calendars no more: those would bring back events.
    async fn erase_own(&self, user: &str, who: &Who) -> Result<(), StoreError> {
        let store = self.store();
        for key in store.keys().await?.into_iter().filter(|key| key.user.as_deref() == Some(user)) {
            self.delete_key(&key.id, who.clone()).await?;
        }
        let now = self.parts.node.now();
        loop {
            let query =
                SilenceQuery { user: Some(user.to_owned()), tag: None, id: None, after: None, now, limit: AT_ONCE };
            let silences = store.silences(query).await?;
            if silences.is_empty() {
                break;
            }
            for silence in silences {
                self.end_silence(silence.id, who.clone()).await?;
            }
        }
        for feed in store.feeds(FeedKind::User, Some(user.to_owned()), None, FEEDS_OF_USER_MAX).await? {
            self.remove_feed(&feed.key, who.clone()).await?;
        }
        Ok(())
    }

    /// Takes a person out of the groups that come next. A group of theirs alone goes, unless a rota says who is on duty.
    async fn erase_from_groups(&self, user: &str, mut erasure: Erasure, who: &Who) -> Result<Erasure, StoreError> {
        let groups = self.store().groups(after_of(&erasure), AT_ONCE).await?;
        let last = groups.last().map(|group| group.name.clone());
        for mut group in groups.into_iter().filter(|group| group.users.iter().any(|one| one == user)) {
            erasure.n_records += 1;
            group.users.retain(|one| one != user);
            match group.users.is_empty() && group.rota.is_none() {
                true => drop(self.delete_group(&group.name, who.clone()).await?),
                false => {
                    group.updated_at = self.parts.node.now();
                    self.put_group(group, who.clone()).await?;
                }
            }
        }
        Ok(erasure.after(last, Part::Plans))
    }

    /// Takes a person out of the plans of the people that come next.
    async fn erase_from_plans(&self, user: &str, mut erasure: Erasure, who: &Who) -> Result<Erasure, StoreError> {
        let users = self.store().users(after_of(&erasure), AT_ONCE).await?;
        let last = users.last().map(|user| user.id.clone());
        for mut other in users.into_iter().filter(|other| other.escalate.iter().any(|step| asks(step, user))) {
            erasure.n_records += 1;
            other.escalate.retain(|step| !asks(step, user));
            other.updated_at = self.parts.node.now();
            self.put_user(other, who.clone()).await?;
        }
        Ok(erasure.after(last, Part::Events))
    }

    /// Takes a person out of the events that come next. An event of theirs alone goes.
    async fn erase_from_events(&self, user: &str, mut erasure: Erasure, who: &Who) -> Result<Erasure, StoreError> {
        let events = self
            .store()
            .events(EventQuery { after: after_of(&erasure), limit: AT_ONCE, ..EventQuery::default() })
            .await?;
        let last = events.last().map(|event| event.key.clone());
        let is_theirs = |event: &Event| event.users.iter().any(|one| one == user);
        let names = |event: &Event| is_theirs(event) || event.escalate.iter().any(|step| asks(step, user));
        for mut event in events.into_iter().filter(names) {
            erasure.n_records += 1;
            let was_theirs = is_theirs(&event);
            event.users.retain(|one| one != user);
            event.escalate.retain(|step| !asks(step, user));
            let is_gone = was_theirs && event.users.is_empty() && event.groups.is_empty();
            let put = match (is_gone, &event.source) {
                (true, Some(source)) => {
                    self.remove_events_of(vec![event.key.clone()], source).await.map_err(CreateError::Store)
                }
                (true, None) => self.remove_events(vec![event.key.clone()], who.clone()).await,
                // Whether the others can still be reached is no reason to keep this one.
                (false, _) => {
                    self.put_back_events(vec![PutEvent { event, keeps_instances: true }], who.clone(), None).await
                }
            };
            match put {
                Ok(_) => {}
                Err(CreateError::Store(error)) => return Err(error),
                Err(CreateError::Invalid { invalid, .. }) => return Err(StoreError::Broken(invalid.to_string())),
            }
        }
        Ok(erasure.after(last, Part::Entry))
    }

    /// Removes a person's entry, and what is about nobody else.
    async fn erase_entry(&self, user: &str, who: &Who) -> Result<(), StoreError> {
        let store = self.store();
        // Their own defaults for the calendars that they follow.
        if let Some(path) = Path::of_user(user) {
            loop {
                let scopes = store.scopes(Some(path.clone()), None, AT_ONCE).await?;
                if scopes.is_empty() {
                    break;
                }
                for scope in scopes {
                    self.remove_scope(&scope.path, who.clone()).await?;
                }
            }
        }
        let Some(person) = store.user(user).await? else { return Ok(()) };
        for address in &person.addresses {
            let there = store.users_at(&address.channel, vec![address.address.clone()]).await?;
            if there.iter().all(|other| other.id == user) {
                // That it is dead is known about nobody else.
                store.revive(address).await?;
            }
        }
        self.delete_user(user, who.clone()).await.map(drop)
    }
}

/// Whether this person is asked by a step of a plan.
fn asks(step: &Step, person: &str) -> bool {
    matches!(&step.to, Target::User(user) if user == person)
}

fn after_of(erasure: &Erasure) -> Option<String> {
    Some(erasure.after.clone()).filter(|after| !after.is_empty())
}
