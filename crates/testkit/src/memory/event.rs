//! Events of applications, scopes and the reminders that follow them.

use punctual_core::change::Refused;
use punctual_core::decide::event::{self as decide, Around, Done as Decided, Loaded};
use punctual_core::event::Event;
use punctual_core::store::PlannedEvents;
use punctual_core::writes::{EventWrites, Link, Stands};

use super::*;

/// An event as it is kept.
pub(super) struct Kept {
    event: Event,
    pub(super) stands: Stands,
    asked_at: Option<Timestamp>,
}

#[async_trait]
impl Events for MemoryStore {
    async fn put_events(
        &self,
        put: Vec<PutEvent>,
        answered: Option<(String, Answered)>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        let tables = &mut *self.lock();
        let before = put.iter().filter_map(|put| tables.loaded_event(&put.event.key)).collect();
        tables.finish(decide::put_all(before, put, answered, &by), &by)
    }

    async fn remove_events(
        &self,
        keys: Vec<String>,
        source: Option<String>,
        by: ByPlanner,
    ) -> Result<Put, ChangeError> {
        let tables = &mut *self.lock();
        let before = keys.iter().filter_map(|key| tables.loaded_event(key)).collect();
        tables.finish(decide::remove_all(before, source.as_deref(), &by), &by)
    }

    async fn put_instance(&self, key: &str, change: PutInstance, by: ByPlanner) -> Result<Put, ChangeError> {
        let tables = &mut *self.lock();
        let changed = decide::change_instance(tables.loaded_event(key), change, &by).transpose();
        tables.finish(changed.ok_or(ChangeError::NotFound)?, &by)
    }

    async fn plan_events(&self, keys: Option<Vec<String>>, by: ByPlanner) -> Done<PlannedEvents> {
        let tables = &mut *self.lock();
        let is_due = |kept: &&Kept| kept.stands.plan_at.is_some_and(|at| at <= by.now + decide::AHEAD);
        let due = || tables.events.values().filter(is_due).map(|kept| kept.stands.key.clone());
        let is_meant = keys.is_some();
        let keys: Vec<String> = keys.unwrap_or_else(|| due().take(PLANNED_AT_ONCE).collect());
        let loaded: Vec<Loaded> = keys.iter().filter_map(|key| tables.loaded_event(key)).collect();
        let around = tables.around(&loaded);
        let (mut planned, writes) = decide::planned(loaded, around, REMINDERS_AT_ONCE, &by);
        tables.write(writes)?;
        planned.next_at = tables.next_plan_at().filter(|_| !is_meant);
        Ok(planned)
    }

    async fn put_scope(&self, scope: Scope, who: Who) -> Done<PutScope> {
        let tables = &mut *self.lock();
        who.expects.check(|| tables.scopes.get(&scope.path).map(Scope::version))?;
        let is_new = !tables.scopes.contains_key(&scope.path);
        let n_events = tables.mark_scope(&scope.path, scope.updated_at);
        tables.write(decide::put_scope(&scope, false, n_events, who, scope.updated_at))?;
        Ok(PutScope { is_new, n_events })
    }

    async fn remove_scope(&self, path: &Path, who: Who, now: Timestamp) -> Done<Option<u64>> {
        let tables = &mut *self.lock();
        let Some(scope) = tables.scopes.get(path).cloned() else { return Ok(None) };
        who.expects.check(|| Some(scope.version()))?;
        let n_events = tables.mark_scope(path, now);
        tables.write(decide::put_scope(&scope, true, n_events, who, now))?;
        Ok(Some(n_events))
    }

    async fn event(&self, key: &str) -> Done<Option<EventView>> {
        let tables = self.lock();
        let Some(kept) = tables.events.get(key).filter(|kept| !kept.stands.removed) else { return Ok(None) };
        let view = |(slot, (due_at, reminder)): (&Slot, &(Timestamp, ReminderId))| SlotView {
            slot: slot.clone(),
            due_at: *due_at,
            reminder: *reminder,
            state: tables.runs_of(*reminder).next_back().map(|run| run.occurrence.state.kind()),
        };
        let mut slots: Vec<SlotView> = tables.slots_of(key).map(view).collect();
        slots.sort_by_key(|view| (view.due_at, view.slot.offset.word(), view.slot.user.clone()));
        let n_slots = slots.len() as u64;
        slots.truncate(SLOTS_SHOWN_MAX);
        let (is_planned, error) = (kept.stands.planned, kept.stands.error.clone());
        Ok(Some(EventView { event: kept.event.clone(), slots, n_slots, is_planned, error }))
    }

    async fn events(&self, query: EventQuery) -> Done<Vec<Event>> {
        let tables = self.lock();
        let has = |name: &String, user: &String| {
            let group = tables.groups.get(name);
            group
                .is_some_and(|group| group.users.contains(user) || group.shifts.iter().any(|shift| shift.user == *user))
        };
        let is_wanted = |event: &&Event| {
            query.after.as_ref().is_none_or(|after| event.key > *after)
                && query.scope.as_ref().is_none_or(|path| event.scope.as_ref().is_some_and(|own| own.is_within(path)))
                && query
                    .user
                    .as_ref()
                    .is_none_or(|user| event.users.contains(user) || event.groups.iter().any(|name| has(name, user)))
                && query.from.is_none_or(|from| event.starts_at >= from || event.repeats.is_some())
                && query.to.is_none_or(|to| event.starts_at < to)
                && (query.source.is_none() || event.source == query.source)
        };
        let there = tables.events.values().filter(|kept| !kept.stands.removed).map(|kept| &kept.event);
        Ok(there.filter(is_wanted).take(query.limit).cloned().collect())
    }

    async fn scope(&self, path: &Path) -> Done<Option<Scope>> {
        Ok(self.lock().scopes.get(path).cloned())
    }

    async fn scopes(&self, under: Option<Path>, after: Option<Path>, limit: usize) -> Done<Vec<Scope>> {
        let tables = self.lock();
        let is_wanted = |scope: &&Scope| {
            under.as_ref().is_none_or(|under| scope.path.is_within(under))
                && after.as_ref().is_none_or(|after| scope.path > *after)
        };
        Ok(tables.scopes.values().filter(is_wanted).take(limit).cloned().collect())
    }
}

impl MemoryStore {
    /// Writes an event as an application does in SQL: it is not planned, and what nodes have leased of it is asked back.
    pub fn put_event_in_sql(&self, event: Event) {
        let tables = &mut *self.lock();
        let now = tables.now;
        let leased = |run: &Occurrence| run.state.lease().is_some();
        let reminders: Vec<ReminderId> = tables.slots_of(&event.key).map(|(_, (_, reminder))| *reminder).collect();
        let event = Event { updated_at: now, ..event };
        tables.write_events(EventWrites { put: vec![event], ..EventWrites::default() });
        for reminder in reminders {
            if tables.open(reminder).any(leased) {
                tables.recall(reminder);
            }
        }
        tables.say(&Heard::Events);
    }
}

impl Tables {
    fn slots_of(&self, key: &str) -> impl Iterator<Item = (&Slot, &(Timestamp, ReminderId))> {
        self.slots.iter().filter(move |(slot, _)| slot.event == key)
    }

    fn loaded_event(&self, key: &str) -> Option<Loaded> {
        let Kept { event, stands, asked_at } = self.events.get(key)?;
        let link = |(slot, (due_at, reminder)): (&Slot, &(Timestamp, ReminderId))| Link {
            slot: slot.clone(),
            due_at: *due_at,
            reminder: *reminder,
        };
        let links = self.slots_of(key).map(link).collect();
        Some(Loaded { event: Ok(event.clone()), stands: stands.clone(), asked_at: *asked_at, links })
    }

    /// Plans what is to be planned, if that is not too much at once, and writes it all.
    fn finish(&mut self, decided: Result<Decided, Refused>, by: &ByPlanner) -> Result<Put, ChangeError> {
        let Decided { done, to_plan, mut writes } = decided?;
        let mut planned = PlannedEvents::default();
        if to_plan.len() <= PLANNED_AT_ONCE {
            let around = self.around(&to_plan);
            let also;
            (planned, also) = decide::planned(to_plan, around, REMINDERS_AT_ONCE, by);
            writes.add(also);
        } else {
            planned.is_unfinished = true;
        }
        self.write(writes)?;
        if planned.is_unfinished {
            self.say(&Heard::Events);
        }
        Ok(Put { done, planned })
    }

    fn around(&self, loaded: &[Loaded]) -> Around {
        let (paths, groups) = decide::needs(loaded);
        let scopes = self.scopes.values().filter(|scope| paths.contains(scope.path.as_str())).cloned().collect();
        let groups: Vec<Group> = self.groups.values().filter(|group| groups.contains(&group.name)).cloned().collect();
        let people = decide::people(loaded, &groups);
        let zone = |user: &String| Some((user.clone(), self.users.get(user)?.timezone.clone()?));
        let zones = people.iter().filter_map(zone).collect();
        let locked = |id: ReminderId| {
            let (reminder, progress) = self.reminders.get(&id).cloned()?;
            let open = self.open(id).cloned().collect();
            let family = self.kin(id, &Family { root: id, runs: None });
            Some((id, decide::Linked { reminder, progress, open, family }))
        };
        let links = loaded.iter().flat_map(|loaded| &loaded.links);
        let linked = links.filter_map(|link| locked(link.reminder)).collect();
        Around { scopes, groups, zones, linked }
    }

    pub(super) fn write_events(&mut self, writes: EventWrites) {
        let EventWrites { new, put, marked, stands, gone, unlinked, links, scopes, scopes_gone } = writes;
        for event in new.into_iter().chain(put) {
            let now = event.updated_at;
            let before = self.events.get(&event.key);
            let mut asked_at = before.and_then(|before| before.asked_at);
            let (key, planned) = (event.key.clone(), before.is_none_or(|before| before.stands.planned));
            let mut stands = Stands { key, removed: false, planned, plan_at: None, planned_until: None, error: None };
            stands.mark(&mut asked_at, now);
            self.events.insert(event.key.clone(), Kept { event, stands, asked_at });
        }
        for marked in marked {
            self.mark(marked.at, |event| event.key == marked.key);
        }
        for stands in stands {
            self.events.entry(stands.key.clone()).and_modify(|kept| kept.stands = stands);
        }
        for key in gone {
            self.events.remove(&key);
            self.slots.retain(|slot, _| slot.event != key);
        }
        self.slots.retain(|slot, _| !unlinked.contains(slot));
        self.slots.extend(links.into_iter().map(|link| (link.slot, (link.due_at, link.reminder))));
        self.scopes.extend(scopes.into_iter().map(|scope| (scope.path.clone(), scope)));
        scopes_gone.iter().for_each(|path| drop(self.scopes.remove(path)));
    }

    /// Marks events to be planned; returns how many those are.
    pub(super) fn mark(&mut self, now: Timestamp, is_meant: impl Fn(&Event) -> bool) -> u64 {
        let mut n_marked = 0;
        for kept in self.events.values_mut().filter(|kept| !kept.stands.removed && is_meant(&kept.event)) {
            kept.stands.mark(&mut kept.asked_at, now);
            n_marked += 1;
        }
        if n_marked > 0 {
            self.say(&Heard::Events);
        }
        n_marked
    }

    fn mark_scope(&mut self, path: &Path, now: Timestamp) -> u64 {
        let depends =
            |event: &Event| event.offsets.is_none() && event.scope.as_ref().is_some_and(|own| own.is_within(path));
        self.mark(now, depends)
    }

    pub(super) fn next_plan_at(&self) -> Option<Timestamp> {
        self.events.values().filter_map(|kept| kept.stands.plan_at).min()
    }

    /// Forgets events that were over before then, and of which nothing is to come.
    pub(super) fn prune_events(&mut self, before: Timestamp) {
        let is_over = |kept: &Kept| {
            let is_past = kept.event.ends_at.unwrap_or(kept.event.starts_at) < before;
            let is_left =
                |id: ReminderId| self.runs_of(id).any(|run| run.occurrence.state.at().is_none_or(|at| at >= before));
            let has_more = self.slots_of(&kept.event.key).any(|(_, (_, id))| is_left(*id));
            is_past && kept.stands.planned && kept.stands.plan_at.is_none() && !has_more
        };
        let over = self.events.values().filter(|kept| is_over(kept)).map(|kept| kept.event.key.clone()).collect();
        self.write_events(EventWrites { gone: over, ..EventWrites::default() });
    }
}
