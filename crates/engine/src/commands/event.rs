//! Writing and removing events and scopes.

use std::collections::{BTreeSet, HashMap};

use punctual_core::change::Refused;
use punctual_core::event::Event;
use punctual_core::invalid::{FAULTS_MAX, Faults, Invalid};
use punctual_core::journal::Who;
use punctual_core::reminder::Address;
use punctual_core::scope::{Path, Scope};
use punctual_core::steps::Steps;
use punctual_core::store::{Answered, ChangeError, Put, PutEvent, PutInstance, PutScope, StoreError};

use super::check::Others;
use super::create::CreateError;
use crate::Engine;

impl Engine {
    /// Writes or replaces all of `events`, as `who` asked, or none, and plans their reminders. When it has returned, they survive power loss. The
    /// reminders of very many events may be planned a little later.
    pub async fn put_events(
        &self,
        events: Vec<PutEvent>,
        who: impl Into<Who>,
        answered: Option<(String, Answered)>,
    ) -> Result<Put, CreateError> {
        self.check_events(&events).await?;
        self.put_back_events(events, who, answered).await
    }

    /// Writes events as [`Engine::put_events`] does, but looks at nothing that may have changed about their people and groups since they were
    /// accepted: what stays of an event is not asked for anew.
    pub(super) async fn put_back_events(
        &self,
        events: Vec<PutEvent>,
        who: impl Into<Who>,
        answered: Option<(String, Answered)>,
    ) -> Result<Put, CreateError> {
        let (parts, who) = (self.parts.clone(), who.into());
        let repeats = events.iter().any(|put| put.event.repeats.is_some());
        // A caller that goes away must not leave reminders written and the timer ignorant of them.
        self.finish(async move {
            let put = parts.node.store.put_events(events, answered, parts.planner.by(who.clone())).await;
            let mut put = put.map_err(not_put)?;
            parts.node.journal.written();
            let planned = std::mem::take(&mut put.planned);
            if repeats {
                // It says when it must look again.
                parts.planner.nudge();
            }
            parts.planner.finish_all(planned, &who).await?;
            Ok(put)
        })
        .await
    }

    /// Removes events, as `who` asked, and withdraws their reminders; says which there were.
    pub async fn remove_events(&self, keys: Vec<String>, who: impl Into<Who>) -> Result<Put, CreateError> {
        let (parts, who) = (self.parts.clone(), who.into());
        self.finish(async move {
            let removed = parts.node.store.remove_events(keys, None, parts.planner.by(who.clone())).await;
            let mut removed = removed.map_err(not_put)?;
            parts.node.journal.written();
            parts.planner.finish_all(std::mem::take(&mut removed.planned), &who).await?;
            Ok(removed)
        })
        .await
    }

    /// Changes one instance of a series, as `who` asked.
    pub async fn put_instance(&self, key: &str, change: PutInstance, who: impl Into<Who>) -> Result<Put, ChangeError> {
        let (parts, key, who) = (self.parts.clone(), key.to_owned(), who.into());
        self.finish(async move {
            let mut put = parts.node.store.put_instance(&key, change, parts.planner.by(who.clone())).await?;
            parts.node.journal.written();
            parts.planner.nudge();
            parts.planner.finish_all(std::mem::take(&mut put.planned), &who).await?;
            Ok(put)
        })
        .await
    }

    /// Writes or replaces a scope, as `who` asked, and plans anew the events that depend on it. Those of very many may be planned a little later.
    pub async fn put_scope(&self, scope: Scope, who: impl Into<Who>) -> Result<PutScope, StoreError> {
        let (parts, who) = (self.parts.clone(), who.into());
        self.finish(async move {
            let put = parts.node.store.put_scope(scope, who).await?;
            parts.node.journal.written();
            if put.n_events > 0 {
                parts.planner.catch_up().await?;
            }
            Ok(put)
        })
        .await
    }

    /// Removes a scope, as `who` asked: what depended on it depends on the next one up. Returns how many events are planned anew; `None`: there
    /// was none.
    pub async fn remove_scope(&self, path: &Path, who: impl Into<Who>) -> Result<Option<u64>, StoreError> {
        let (parts, path, who) = (self.parts.clone(), path.clone(), who.into());
        self.finish(async move {
            let removed = parts.node.store.remove_scope(&path, who, parts.node.now()).await?;
            parts.node.journal.written();
            if removed.is_some_and(|n_events| n_events > 0) {
                parts.planner.catch_up().await?;
            }
            Ok(removed)
        })
        .await
    }

    /// Checks events as [`Engine::put_events`] does.
    pub async fn check_events(&self, events: &[PutEvent]) -> Result<(), CreateError> {
        let known = Known::of(events, self).await?;
        let steps = Steps::of_request(events.len());
        let mut keys = BTreeSet::new();
        let mut wrong = Vec::new();
        for (index, PutEvent { event, .. }) in events.iter().enumerate() {
            let mut faults = Faults::default();
            faults.note(event.validate(&self.parts.node.settings.timezone, &steps));
            if !keys.insert(event.key.as_str()) {
                faults.add(Invalid::new("key", format!("`{}` is there twice; write each event once", event.key)));
            }
            faults.settle();
            self.check_event(event, &known, &mut faults);
            wrong.extend(faults.finish().err().map(|invalid| (index, invalid)));
            if wrong.len() >= FAULTS_MAX {
                break;
            }
        }
        CreateError::of(wrong).map_or(Ok(()), Err)
    }

    fn check_event(&self, event: &Event, known: &Known, faults: &mut Faults) {
        faults.note(self.check_addresses(&event.to));
        for (index, name) in event.groups.iter().enumerate().filter(|(_, name)| !known.others.groups.contains(*name)) {
            faults.add(Invalid::new(format!("groups[{index}]"), format!("there is no group `{name}`; make it first")));
        }
        // An address that is wrong reaches nobody: that is said once.
        faults.settle();
        let own = event.own_user();
        let is_alone = event.users.is_empty() && event.groups.is_empty();
        let mut draft = event.draft(&own, event.message.clone(), event.starts_at, &self.parts.node.settings.timezone);
        for user in event.users.iter().chain(is_alone.then_some(&own)) {
            draft.user.clone_from(user);
            let checked = self.check_reach(&draft, &known.addresses).map_err(|invalid| match invalid.field == "to" {
                true => Invalid::new("users", invalid.problem),
                false => invalid,
            });
            // Of ten thousand users whom nothing reaches, the first is named.
            if faults.note(checked).is_none() {
                break;
            }
        }
        faults.note(self.check_steps(&event.escalate, &known.others));
    }
}

/// The people and groups that decide whether events can be accepted.
struct Known {
    addresses: HashMap<String, Vec<Address>>,
    others: Others,
}

impl Known {
    async fn of(events: &[PutEvent], engine: &Engine) -> Result<Self, StoreError> {
        let is_dead = |address: &Address| engine.parts.dead.get(address).is_some();
        let depends = |event: &&Event| !event.only && event.to.iter().all(is_dead);
        let users = events.iter().map(|put| &put.event).filter(depends).flat_map(|event| &event.users);
        let users: BTreeSet<String> = users.cloned().collect();
        let addresses = match users.is_empty() {
            true => HashMap::new(),
            false => {
                let found = engine.parts.node.store.users_of(users.into_iter().collect()).await?;
                found.into_iter().map(|user| (user.id, user.addresses)).collect()
            }
        };
        let mut others = engine.others_of(events.iter().flat_map(|put| &put.event.escalate)).await?;
        let groups: BTreeSet<String> = events.iter().flat_map(|put| &put.event.groups).cloned().collect();
        if !groups.is_empty() {
            let found = engine.parts.node.store.groups_of(groups.into_iter().collect()).await?;
            others.groups.extend(found.into_iter().map(|group| group.name));
        }
        Ok(Self { addresses, others })
    }
}

/// Why a store did not write events.
fn not_put(error: ChangeError) -> CreateError {
    match error {
        ChangeError::Store(error) => CreateError::Store(error),
        ChangeError::Refused(Refused::Invalid(invalid)) => {
            CreateError::Invalid { index: 0, invalid, others: Vec::new() }
        }
        ChangeError::Refused(Refused::Unexpected) => CreateError::Store(StoreError::Unexpected),
        other => CreateError::Store(StoreError::Broken(other.to_string())),
    }
}
