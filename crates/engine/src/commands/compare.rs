//! Comparing lines of another store with what is here.

use std::collections::HashMap;

use jiff::Timestamp;
use punctual_core::feed::FEEDS_OF_USER_MAX;
use punctual_core::group::Group;
use punctual_core::reminder::Address;
use punctual_core::store::{DeadAddress, SilenceQuery, Store, StoreError, Which, WholeQuery};
use punctual_core::whole::{Line, RUNS_MAX, WholeEvent};

use crate::Engine;

/// How many dead addresses are read at a time.
const DEAD_AT_ONCE: usize = 1000;
/// How many reminders are.
const REMINDERS_AT_ONCE: usize = 100;

/// What is here of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Here {
    /// Nothing.
    Nothing,
    /// This.
    This(Box<Line>),
}

impl Engine {
    /// What is here of each of these lines.
    pub async fn here(&self, lines: &[Line]) -> Result<Vec<Here>, StoreError> {
        here(&**self.store(), lines, self.parts.node.now()).await
    }
}

async fn here(store: &dyn Store, lines: &[Line], now: Timestamp) -> Result<Vec<Here>, StoreError> {
    let mut found: HashMap<usize, Line> = HashMap::new();
    let (mut reminders, mut users, mut groups, mut entries) =
        (HashMap::new(), HashMap::new(), HashMap::new(), Vec::new());
    let mut dead: Option<HashMap<Address, DeadAddress>> = None;
    for (index, line) in lines.iter().enumerate() {
        match line {
            Line::Entry(entry) => entries.push((index, entry)),
            Line::User(user) => drop(users.insert(user.id.clone(), index)),
            Line::Group(group) => drop(groups.insert(group.name.clone(), index)),
            Line::Reminder(whole) => drop(reminders.insert(whole.reminder.id, index)),
            Line::Silence(silence) => {
                let id = Some(silence.id);
                let query = SilenceQuery { user: None, tag: None, id, after: None, now, limit: 1 };
                found.extend(store.silences(query).await?.pop().map(|silence| (index, Line::Silence(silence))));
            }
            Line::DeadAddress(one) => {
                if dead.is_none() {
                    dead = Some(all_dead(store).await?);
                }
                let known = dead.as_ref().and_then(|dead| dead.get(&one.address)).cloned();
                found.extend(known.map(|known| (index, Line::DeadAddress(known))));
            }
            Line::Scope(scope) => {
                found.extend(store.scope(&scope.path).await?.map(|scope| (index, Line::Scope(scope))));
            }
            Line::Event(whole) => {
                if let Some(view) = store.event(&whole.event.key).await? {
                    let links = store.links(&whole.event.key).await?;
                    found.insert(index, Line::Event(Box::new(WholeEvent { event: view.event, links })));
                }
            }
            Line::Ledger(watch, row) => {
                let there = store.ledger_of(watch, vec![row.key.clone()]).await?.pop();
                found.extend(there.map(|row| (index, Line::Ledger(watch.clone(), row))));
            }
            Line::Calendar(feed) => {
                let owner = Some(feed.key.owner.clone());
                let all = store.feeds(feed.key.kind, owner, None, FEEDS_OF_USER_MAX).await?;
                let there = all.into_iter().find(|other| other.key == feed.key);
                found.extend(there.map(|feed| (index, Line::Calendar(feed))));
            }
            // It says nothing that could be here.
            Line::Gone(..) => drop(found.insert(index, line.clone())),
            Line::Runs(id, runs) => {
                let Some((first, last)) = runs.first().zip(runs.last()) else { continue };
                let below = last.occurrence.id.run.saturating_add(1);
                let mut there = store.runs_below(*id, below, runs.len()).await?;
                there.retain(|run| run.occurrence.id.run >= first.occurrence.id.run);
                found.extend((!there.is_empty()).then_some((index, Line::Runs(*id, there))));
            }
        }
    }
    let there = store.users_of(users.keys().cloned().collect()).await?;
    found.extend(there.into_iter().filter_map(|user| Some((*users.get(&user.id)?, Line::User(user)))));
    let there = store.groups_of(groups.keys().cloned().collect()).await?;
    // Who is on duty is read from the rota, and stands in no line.
    let there = there.into_iter().map(|group| Group { shifts: Vec::new(), ..group });
    found.extend(there.filter_map(|group| Some((*groups.get(&group.name)?, Line::Group(group)))));
    let ids: Vec<_> = reminders.keys().copied().collect();
    for some in ids.chunks(REMINDERS_AT_ONCE) {
        let mut rest = some.to_vec();
        while !rest.is_empty() {
            let which = Which::These(rest.clone());
            let there = store.wholes(WholeQuery { which, user: None, runs_max: RUNS_MAX }).await?.wholes;
            if there.is_empty() {
                break;
            }
            rest.retain(|id| there.iter().all(|whole| whole.reminder.id != *id));
            let line = |whole| Line::Reminder(Box::new(whole));
            found.extend(there.into_iter().map(|whole| (reminders[&whole.reminder.id], line(whole))));
        }
    }
    let wanted = entries.iter().map(|(_, entry)| (*entry).clone()).collect();
    let are_there = store.has_entries(wanted).await?;
    for ((index, entry), is_there) in entries.into_iter().zip(are_there) {
        found.extend(is_there.then(|| (index, Line::Entry(entry.clone()))));
    }
    let here = |index| found.remove(&index).map_or(Here::Nothing, |line| Here::This(Box::new(line)));
    Ok((0..lines.len()).map(here).collect())
}

async fn all_dead(store: &dyn Store) -> Result<HashMap<Address, DeadAddress>, StoreError> {
    let (mut all, mut after) = (HashMap::new(), None);
    loop {
        let some = store.dead_addresses(after, DEAD_AT_ONCE).await?;
        after = some.last().map(|dead| dead.address.clone());
        if after.is_none() {
            return Ok(all);
        }
        all.extend(some.into_iter().map(|dead| (dead.address.clone(), dead)));
    }
}
