//! What becomes of an event's reminders when the event, its scope or its people change.
//!
//! A store locks events, loads the slots that have reminders with those ([`Loaded`], [`Around`]) and asks [`planned`]. A reminder that nobody
//! has seen is changed in place; one that was sent is not sent again for the same start, and a move makes it due anew.

use std::collections::{BTreeSet, HashMap};

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::change::{Change, Patch, Refused, Work};
use super::family::{self, Kin};
use super::person::look_again;
use crate::alarm::NextRun;
use crate::event::{Event, Slot};
use crate::group::Group;
use crate::id::ReminderId;
use crate::invalid::Invalid;
use crate::journal::{Data, Entry, Kind, Who};
use crate::model::scope::Scope;
use crate::model::series::name_of;
use crate::model::version::Version;
use crate::occurrence::{Occurrence, State, Why};
use crate::reminder::{Reminder, ReminderStatus};
use crate::rules::course::Progress;
use crate::rules::event::{Want, Wanted, instance_named, wanted};
use crate::shard::shard_of;
use crate::steps::Steps;
use crate::store::{Answered, By, ByPlanner, NewReminder, PlannedEvent, PlannedEvents, PutDone, PutEvent, PutInstance};
use crate::writes::{Link, Moved, Stands, Writes};
use crate::zone::Zone;

/// How much sooner than its moment an event may be planned: the clock of whoever wrote it may be a little ahead of a node's.
pub const AHEAD: SignedDuration = SignedDuration::from_millis(100);
/// How soon an event is looked at again of which something is just being sent: when that has ended, it is planned soon.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// A claim has nothing to do with what is further away than that.
const SOON: SignedDuration = SignedDuration::from_secs(10);
/// How long the slots of a series' past instances are kept.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);

/// An event as a store has it, locked.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The event, or why it cannot be read.
    pub event: Result<Event, String>,
    /// How far planning it has come.
    pub stands: Stands,
    /// When something was first asked for that has not been planned.
    pub asked_at: Option<Timestamp>,
    /// Its slots that have reminders.
    pub links: Vec<Link>,
}

impl Loaded {
    /// The event as it is once somebody has put it over `before`.
    pub fn put(event: Event, before: Option<Self>, now: Timestamp) -> Self {
        let mut asked_at = before.as_ref().and_then(|before| before.asked_at);
        let (key, planned) = (event.key.clone(), before.as_ref().is_none_or(|before| before.stands.planned));
        let mut stands = Stands { key, removed: false, planned, plan_at: None, planned_until: None, error: None };
        stands.mark(&mut asked_at, now);
        let links = before.map(|before| before.links).unwrap_or_default();
        Self { event: Ok(event), stands, asked_at, links }
    }
}

/// What planning several events needs to know beside them.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// The scopes above them.
    pub scopes: Vec<Scope>,
    /// Their groups.
    pub groups: Vec<Group>,
    /// The zones of their people.
    pub zones: HashMap<String, Zone>,
    /// The reminders of their slots, locked.
    pub linked: HashMap<ReminderId, Linked>,
}

/// A reminder of an event, locked.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The reminder.
    pub reminder: Reminder,
    /// Its series and tally.
    pub progress: Progress,
    /// Its runs that have not ended.
    pub open: Vec<Occurrence>,
    /// Those who were asked in its person's place.
    pub family: Vec<Kin>,
}

/// What must be loaded to plan `loaded`: the paths of scopes, and the names of groups.
pub fn needs(loaded: &[Loaded]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut paths, mut groups) = (BTreeSet::new(), BTreeSet::new());
    for event in loaded.iter().filter_map(|loaded| loaded.event.as_ref().ok()) {
        if let Some(path) = event.scope.as_ref().filter(|_| event.offsets.is_none()) {
            paths.extend(path.with_ancestors().map(str::to_owned));
        }
        groups.extend(event.groups.iter().cloned());
    }
    (paths, groups)
}

/// The people of `loaded` whose zones must be known.
pub fn people(loaded: &[Loaded], groups: &[Group]) -> BTreeSet<String> {
    let mut people = BTreeSet::new();
    for event in loaded.iter().filter_map(|loaded| loaded.event.as_ref().ok()) {
        // A reminder without a zone of its event's is in its person's.
        if event.timezone.is_none() {
            people.extend(event.users.iter().cloned());
            let known = groups.iter().filter(|group| event.groups.contains(&group.name));
            people.extend(known.flat_map(|group| group.users.iter().cloned()));
        }
    }
    people
}

/// What somebody did to events: what became of each, those that must be planned, and what is written besides.
#[derive(Debug)]
pub struct Done {
    /// What became of each.
    pub done: Vec<PutDone>,
    /// Those that must be planned, as they are now.
    pub to_plan: Vec<Loaded>,
    /// What is written besides.
    pub writes: Writes,
}

impl Done {
    fn new(now: Timestamp) -> Self {
        Self { done: Vec::new(), to_plan: Vec::new(), writes: Writes::new(now) }
    }
}

/// Decides what putting events over those that are there `before` leads to. `answered` is kept with them.
pub fn put_all(
    before: Vec<Loaded>,
    put_events: Vec<PutEvent>,
    answered: Option<(String, Answered)>,
    by: &ByPlanner,
) -> Result<Done, Refused> {
    let mut before: HashMap<String, Loaded> = before.into_iter().map(|one| (one.stands.key.clone(), one)).collect();
    let mut all = Done::new(by.now);
    all.writes.answered.extend(answered);
    for event in put_events {
        let key = event.event.key.clone();
        expected(before.get(&key), by)?;
        let (done, after, writes) = put(before.get(&key), event, by)?;
        all.done.push(done);
        all.writes.add(writes);
        all.to_plan.extend(after.map(|after| Loaded::put(after, before.remove(&key), by.now)));
    }
    Ok(all)
}

/// Decides what removing those events that are there leads to.
pub fn remove_all(before: Vec<Loaded>, source: Option<&str>, by: &ByPlanner) -> Result<Done, Refused> {
    let mut all = Done::new(by.now);
    for mut event in before.into_iter().filter(|event| !event.stands.removed) {
        expected(Some(&event), by)?;
        all.writes.add(removed(&mut event, source, by)?);
        let key = event.stands.key.clone();
        all.done.push(PutDone { key, is_new: false, is_changed: true, dropped: Vec::new() });
        all.to_plan.push(event);
    }
    Ok(all)
}

/// Decides what changing an instance of the event that is there `before` leads to; `None`: there is none.
pub fn change_instance(before: Option<Loaded>, put: PutInstance, by: &ByPlanner) -> Result<Option<Done>, Refused> {
    let Some(before) = before.filter(|before| !before.stands.removed) else { return Ok(None) };
    let Ok(event) = &before.event else { return Ok(None) };
    expected(Some(&before), by)?;
    let (done, after, writes) = put_instance(event, put, by)?;
    let to_plan = after.map(|after| Loaded::put(after, Some(before), by.now)).into_iter().collect();
    Ok(Some(Done { done: vec![done], to_plan, writes }))
}

/// Refuses a change where another event is there than the caller has seen. One that cannot be read has no version that anybody has seen.
fn expected(before: Option<&Loaded>, by: &ByPlanner) -> Result<(), Refused> {
    let there = before.filter(|before| !before.stands.removed);
    let version = || there.map(|before| before.event.as_ref().map_or(Version::of(&before.stands.key), Event::version));
    if by.who.expects.is_met(version) { Ok(()) } else { Err(Refused::Unexpected) }
}

/// Decides what putting an event over `before` writes; an event that is put as it was changes nothing.
pub fn put(
    before: Option<&Loaded>,
    put: PutEvent,
    by: &ByPlanner,
) -> Result<(PutDone, Option<Event>, Writes), Invalid> {
    let PutEvent { event: mut after, keeps_instances } = put;
    let mut writes = Writes::new(by.now);
    let there = before.filter(|before| !before.stands.removed);
    let known = there.and_then(|before| before.event.as_ref().ok());
    let mut done = PutDone { key: after.key.clone(), is_new: there.is_none(), is_changed: true, dropped: Vec::new() };
    (after.created_at, after.updated_at) = (by.now, by.now);
    if let Some(before) = known {
        check_source(before, after.source.as_deref())?;
        after.created_at = before.created_at;
        if let (true, Some(old), Some(new)) = (keeps_instances, &before.repeats, &mut after.repeats)
            && !old.overrides.is_empty()
        {
            new.follow(before);
            done.dropped = settle_instances(&mut after, by)?;
        }
        let same = Event { updated_at: before.updated_at, ..after.clone() };
        if same == *before {
            done.is_changed = false;
            return Ok((done, None, writes));
        }
    }
    let was = known.map(|before| before.starts_at).filter(|was| *was != after.starts_at);
    let dropped = done.dropped.iter().map(|at| name_of(*at)).collect();
    let data = Data::Event {
        event: after.key.clone(),
        starts_at: Some(after.starts_at),
        was,
        is_new: done.is_new,
        instance: None,
        dropped,
        deleted: false,
    };
    writes.entries.push(entry(Kind::EventChanged, by.who.clone(), data, by.now));
    match before {
        None => writes.event.new.push(after.clone()),
        Some(_) => writes.event.put.push(after.clone()),
    }
    Ok((done, Some(after), writes))
}

/// Decides what changing an instance of `before` writes.
pub fn put_instance(
    before: &Event,
    put: PutInstance,
    by: &ByPlanner,
) -> Result<(PutDone, Option<Event>, Writes), Invalid> {
    check_source(before, None)?;
    instance_named(before, &by.zone, put.at)?;
    let mut after = before.clone();
    let dropped = settle_instances(&mut after, by)?;
    if let Some(repeats) = &mut after.repeats {
        repeats.set(put.at, put.following, put.change);
    }
    after.updated_at = by.now;
    after.validate(&by.zone, &Steps::of_request(1))?;
    let mut writes = Writes::new(by.now);
    let is_changed = after.repeats != before.repeats;
    let done = PutDone { key: after.key.clone(), is_new: false, is_changed, dropped };
    if !is_changed {
        return Ok((done, None, writes));
    }
    let data = Data::Event {
        event: after.key.clone(),
        starts_at: Some(after.starts_at),
        was: None,
        is_new: false,
        instance: Some(name_of(put.at)),
        dropped: done.dropped.iter().map(|at| name_of(*at)).collect(),
        deleted: false,
    };
    writes.entries.push(entry(Kind::EventChanged, by.who.clone(), data, by.now));
    writes.event.put.push(after.clone());
    Ok((done, Some(after), writes))
}

/// Decides what removing an event writes: its reminders are withdrawn when it is planned, which a store does in the same transaction.
pub fn removed(before: &mut Loaded, source: Option<&str>, by: &ByPlanner) -> Result<Writes, Invalid> {
    let mut writes = Writes::new(by.now);
    if let Ok(event) = &before.event {
        check_source(event, source)?;
    }
    let key = before.stands.key.clone();
    let starts_at = before.event.as_ref().ok().map(|event| event.starts_at);
    let data = Data::Event {
        event: key,
        starts_at,
        was: None,
        is_new: false,
        instance: None,
        dropped: Vec::new(),
        deleted: true,
    };
    writes.entries.push(entry(Kind::EventChanged, by.who.clone(), data, by.now));
    before.stands = Stands { removed: true, planned: false, plan_at: Some(by.now), ..before.stands.clone() };
    writes.event.stands.push(before.stands.clone());
    Ok(writes)
}

/// Decides what writing or removing a scope writes, when so many events are to be planned because of it.
pub fn put_scope(path: &Scope, is_removed: bool, n_events: u64, who: Who, now: Timestamp) -> Writes {
    let mut writes = Writes::new(now);
    let offsets = path.offsets.iter().map(|offset| offset.to_value()).collect();
    let data = Data::Scope { scope: path.path.to_string(), offsets, events: n_events, deleted: is_removed };
    writes.entries.push(entry(Kind::ScopeChanged, who, data, now));
    match is_removed {
        true => writes.event.scopes_gone.push(path.path.clone()),
        false => writes.event.scopes.push(path.clone()),
    }
    writes
}

/// Leaves an event the instances that its series has, where nobody has looked yet; returns the names of those that it has not.
fn settle_instances(event: &mut Event, by: &ByPlanner) -> Result<Vec<DateTime>, Invalid> {
    let Some(repeats) = event.repeats.as_ref().filter(|repeats| repeats.unchecked.is_some()) else {
        return Ok(Vec::new());
    };
    let (checked, dropped) = repeats.checked(event, &by.zone, &Steps::of_request(1))?;
    event.repeats = Some(checked);
    Ok(dropped)
}

fn check_source(event: &Event, source: Option<&str>) -> Result<(), Invalid> {
    match &event.source {
        Some(of) if source != Some(of) => {
            Err(Invalid::new("key", format!("`{}` follows the calendar {of}; change it there", event.key)))
        }
        None if source.is_some() => {
            Err(Invalid::new("key", format!("`{}` is there already, and follows no calendar", event.key)))
        }
        _ => Ok(()),
    }
}

fn entry(kind: Kind, who: Who, data: Data, now: Timestamp) -> Entry {
    Entry { at: now, kind, who, user: None, reminder: None, run: None, data }
}

/// Makes the reminders of events what they should be. At most about `n_max` of them are made, changed and withdrawn: events that need more
/// stay unplanned, and those after them are not looked at.
pub fn planned(loaded: Vec<Loaded>, mut around: Around, n_max: usize, by: &ByPlanner) -> (PlannedEvents, Writes) {
    let mut planned = PlannedEvents::default();
    let mut writes = Writes::new(by.now);
    let mut n_left = n_max;
    let mut linked = std::mem::take(&mut around.linked);
    for loaded in loaded {
        if n_left == 0 {
            planned.is_unfinished = true;
            break;
        }
        let reminders = loaded.links.iter().map(|link| link.reminder);
        let linked = reminders.filter_map(|id| Some((id, linked.remove(&id)?))).collect();
        let mut work = Plan::new(&around, by, n_left);
        work.plan(loaded, linked);
        let Plan { done, writes: one, next_runs, busy, n_left: left, .. } = work;
        n_left = left;
        writes.add(one);
        planned.is_unfinished |= done.is_unfinished;
        planned.events.push(done);
        planned.next_runs.extend(next_runs);
        planned.busy.extend(busy);
    }
    planned.wakes = writes.wakes().collect();
    (planned, writes)
}

/// One event while it is planned.
struct Plan<'a> {
    around: &'a Around,
    by: &'a ByPlanner,
    n_left: usize,
    done: PlannedEvent,
    writes: Writes,
    next_runs: Vec<NextRun>,
    busy: Vec<ReminderId>,
}

/// How a slot's reminder stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody has seen it.
    Untouched,
    /// It was tried, and has reached nobody.
    Retrying,
    /// Its person has seen it, or put it off.
    Seen,
    /// A node is sending it, or is about to.
    Busy,
    /// It is over, or forgotten.
    Ended,
    /// A person cancelled it: what the planner withdraws has no slot any more.
    Refused,
}

impl Linked {
    /// Whether somebody may have been asked in its person's place.
    pub fn may_have_kin(&self) -> bool {
        self.reminder.ack.is_some() && self.open.iter().any(|run| run.tries.attempts > 0)
    }

    fn standing(&self) -> Standing {
        let is_sending = self.open.iter().any(|run| run.state.sending().is_some());
        let is_untouched = |run: &Occurrence| {
            let waits =
                matches!(run.state, State::Unplanned { .. } | State::Scheduled | State::Waiting { .. } | State::Paused);
            waits && run.tries.reached == 0
        };
        let is_retrying = |run: &Occurrence| matches!(run.state, State::PendingRetry { .. }) && run.tries.reached == 0;
        if self.reminder.status == ReminderStatus::Cancelled {
            Standing::Refused
        } else if is_sending {
            Standing::Busy
        } else if self.open.is_empty() {
            Standing::Ended
        } else if self.progress.series.last_run == 1 && self.open.iter().all(is_untouched) {
            Standing::Untouched
        } else if self.progress.series.last_run == 1 && self.open.iter().all(is_retrying) {
            Standing::Retrying
        } else {
            Standing::Seen
        }
    }
}

impl<'a> Plan<'a> {
    fn new(around: &'a Around, by: &'a ByPlanner, n_left: usize) -> Self {
        let (done, writes) = (PlannedEvent::default(), Writes::new(by.now));
        Self { around, by, n_left, done, writes, next_runs: Vec::new(), busy: Vec::new() }
    }

    fn plan(&mut self, loaded: Loaded, mut linked: HashMap<ReminderId, Linked>) {
        let Loaded { event, stands, asked_at, links } = loaded;
        self.done.key.clone_from(&stands.key);
        let now = self.by.now;
        let event = match event {
            Ok(event) => event,
            Err(_) if stands.removed => return self.remove(stands, links, linked),
            Err(error) => return self.fail(stands, error),
        };
        if stands.removed {
            return self.remove(stands, links, linked);
        }
        let event = match self.check_instances(event) {
            Ok(event) => event,
            Err(invalid) => return self.fail(stands, invalid.to_string()),
        };
        let (known, by) = (self.around, self.by);
        let around = crate::rules::event::Around {
            scopes: &known.scopes,
            groups: &known.groups,
            zones: &known.zones,
            zone: &by.zone,
            planned_until: stands.planned_until,
        };
        let instances = links.iter().map(|link| link.slot.instance.clone()).filter(|name| !name.is_empty()).collect();
        let mut wants = match wanted(&event, around, &instances, now) {
            Ok(wants) => wants,
            Err(invalid) => return self.fail(stands, invalid.to_string()),
        };
        // What was asked for while nobody could plan it is told late.
        let since = asked_at.filter(|_| !stands.planned).unwrap_or(now).min(now);
        let mut slots = std::mem::take(&mut wants.slots);
        let mut writes = Todo { plan: Vec::new() };
        for link in links {
            let want = slots.remove(&link.slot);
            let linked = linked.remove(&link.reminder);
            if let Err(invalid) = self.look(&wants, link, linked, want, since, &mut writes) {
                return self.fail(stands, invalid.to_string());
            }
        }
        let new = slots.iter().filter(|(_, want)| want.due_at > since || want.is_late);
        for (slot, want) in new {
            match wants.draft(slot, want) {
                Ok(draft) => writes.plan.push(Do::Make(slot.clone(), draft, want.due_at)),
                Err(invalid) => return self.fail(stands, invalid.to_string()),
            }
        }
        self.done.n_missed = wants.n_missed;
        self.carry_out(writes);
        let is_unfinished = self.done.is_unfinished;
        let plan_at = match is_unfinished {
            true => Some(self.again_at()),
            false => wants.plan_at,
        };
        let after = Stands {
            planned: !is_unfinished,
            plan_at,
            planned_until: wants.looked_until.filter(|_| !is_unfinished).or(stands.planned_until),
            error: None,
            ..stands.clone()
        };
        self.finish(&stands, after, Some(event.starts_at));
    }

    /// Looks whether a series that SQL has written has the instances that something is different about; the journal names those that it has
    /// not.
    fn check_instances(&mut self, mut event: Event) -> Result<Event, Invalid> {
        if event.repeats.as_ref().is_none_or(|repeats| repeats.unchecked.is_none()) {
            return Ok(event);
        }
        let dropped = settle_instances(&mut event, self.by)?;
        if !dropped.is_empty() {
            let data = Data::Event {
                event: event.key.clone(),
                starts_at: Some(event.starts_at),
                was: None,
                is_new: false,
                instance: None,
                dropped: dropped.into_iter().map(name_of).collect(),
                deleted: false,
            };
            self.writes.entries.push(entry(Kind::EventChanged, self.by.who.clone(), data, self.by.now));
        }
        self.writes.event.put.push(event.clone());
        Ok(event)
    }

    /// Decides what becomes of a slot that has a reminder, when `want` is what it should have.
    fn look(
        &mut self,
        wants: &Wanted<'_>,
        link: Link,
        linked: Option<Linked>,
        want: Option<Want>,
        since: Timestamp,
        todo: &mut Todo,
    ) -> Result<(), Invalid> {
        let now = self.by.now;
        let is_invited = || wants.is_invited(&link.slot.user, link.due_at);
        let standing = linked.as_ref().map_or(Standing::Ended, Linked::standing);
        let is_ahead = |want: &Want| want.due_at > since || want.is_late;
        let is_same = |want: &Want| want.due_at == link.due_at;
        let make = |want: &Want, todo: &mut Todo| -> Result<(), Invalid> {
            todo.plan.push(Do::Make(link.slot.clone(), wants.draft(&link.slot, want)?, want.due_at));
            Ok(())
        };
        match (standing, linked, want) {
            (Standing::Untouched, Some(linked), Some(want)) if is_same(&want) || is_ahead(&want) => {
                let draft = wants.draft(&link.slot, &want)?;
                todo.plan.push(Do::Change(link, Box::new(linked), draft, want.due_at));
            }
            (Standing::Retrying, Some(linked), Some(want)) if is_same(&want) => {
                todo.plan.push(Do::Release(Box::new(linked)))
            }
            (Standing::Untouched | Standing::Retrying, Some(linked), want) => {
                todo.plan.push(Do::Withdraw(link.slot.clone(), Box::new(linked)));
                if let Some(want) = want.filter(is_ahead) {
                    make(&want, todo)?;
                }
            }
            (Standing::Seen, Some(linked), want) => {
                let next = want.filter(|want| !is_same(want) && is_ahead(want));
                // A slot has one reminder: what goes on beside a new one would go on when the event is gone.
                todo.plan.push(match next.is_none() && is_invited() {
                    true => Do::Release(Box::new(linked)),
                    false => Do::Withdraw(link.slot.clone(), Box::new(linked)),
                });
                if let Some(want) = next {
                    make(&want, todo)?;
                }
            }
            (Standing::Busy, _, Some(want)) if is_same(&want) => self.done.n_planned += 1,
            (Standing::Busy, Some(linked), want) => {
                // Its person is just being asked once more, which nothing here is about.
                let is_asked = linked.open.iter().all(|run| run.tries.reached > 0) && is_invited();
                if !is_asked || want.is_some() {
                    self.wait_for(linked.reminder.id);
                }
            }
            (Standing::Refused, _, _) if is_invited() => {}
            (Standing::Ended, _, Some(want)) if !is_same(&want) && is_ahead(&want) => make(&want, todo)?,
            (Standing::Ended, _, _) if is_invited() => {
                let is_old = !link.slot.instance.is_empty() && now.duration_since(link.due_at) > KEPT_FOR;
                if is_old {
                    self.writes.event.unlinked.push(link.slot);
                }
            }
            (_, _, _) => self.writes.event.unlinked.push(link.slot),
        }
        Ok(())
    }

    /// Withdraws all reminders of an event that somebody removed; the event is gone with the last of them.
    fn remove(&mut self, stands: Stands, links: Vec<Link>, mut linked: HashMap<ReminderId, Linked>) {
        let mut todo = Todo { plan: Vec::new() };
        for link in links {
            match linked.remove(&link.reminder) {
                Some(linked) => match linked.standing() {
                    Standing::Busy => self.wait_for(linked.reminder.id),
                    Standing::Ended | Standing::Refused => self.writes.event.unlinked.push(link.slot),
                    _ => todo.plan.push(Do::Withdraw(link.slot, Box::new(linked))),
                },
                None => self.writes.event.unlinked.push(link.slot),
            }
        }
        self.carry_out(todo);
        if !self.done.is_unfinished {
            self.writes.event.gone.push(stands.key.clone());
        }
        let plan_at = Some(self.again_at());
        let after = Stands { planned: false, plan_at, ..stands.clone() };
        self.finish(&stands, after, None);
    }

    /// When to look again at an event that is not finished: at once, or when what is being sent may have ended.
    fn again_at(&self) -> Timestamp {
        match self.busy.is_empty() {
            true => self.by.now,
            false => self.by.now.saturating_add(AGAIN_AFTER).unwrap_or(Timestamp::MAX),
        }
    }

    /// A reminder must change, and a node has leased a run of it.
    fn wait_for(&mut self, reminder: ReminderId) {
        self.busy.push(reminder);
        self.done.is_unfinished = true;
    }

    /// Leaves everything as it is, and says why. The event counts as planned, so that its reminders go on.
    fn fail(&mut self, stands: Stands, error: String) {
        self.done.error = Some(error.clone());
        // What was decided before the problem was found is not done.
        self.writes = Writes::new(self.by.now);
        (self.busy, self.done.is_unfinished) = (Vec::new(), false);
        if stands.error.as_ref() != Some(&error) {
            let data = Data::EventFailed { event: stands.key.clone(), error: error.clone() };
            self.writes.entries.push(entry(Kind::EventFailed, self.by.who.clone(), data, self.by.now));
        }
        let after = Stands { planned: true, plan_at: None, error: Some(error), ..stands };
        self.writes.event.stands.push(after);
    }

    fn carry_out(&mut self, todo: Todo) {
        for task in todo.plan {
            if self.n_left == 0 {
                self.done.is_unfinished = true;
                return;
            }
            match task {
                Do::Make(slot, draft, due_at) => self.make(slot, draft, due_at),
                Do::Change(link, linked, draft, due_at) => self.change(link, *linked, draft, due_at),
                Do::Withdraw(slot, linked) => self.withdraw(slot, *linked),
                Do::Release(linked) => self.release(*linked),
            }
        }
    }

    fn make(&mut self, slot: Slot, draft: Reminder, due_at: Timestamp) {
        self.n_left -= 1;
        self.done.n_made += 1;
        self.done.n_planned += 1;
        let now = self.by.now;
        let name =
            format!("{}\0{}\0{}\0{}\0{}", slot.event, slot.instance, slot.offset, slot.user, due_at.as_microsecond());
        let id = ReminderId::imported("event", &name, now);
        let reminder = Reminder { id, created_at: now, updated_at: now, ..draft };
        self.next_runs.push(NextRun::of(&reminder, due_at));
        self.writes.event.links.push(Link { slot, due_at, reminder: id });
        self.writes.create(vec![NewReminder { reminder, first_due_at: due_at }], &self.by.who);
    }

    /// Changes a reminder that nobody has seen, and moves its run.
    fn change(&mut self, link: Link, linked: Linked, draft: Reminder, due_at: Timestamp) {
        self.done.n_planned += 1;
        let (now, is_moved) = (self.by.now, due_at != link.due_at);
        let Linked { mut reminder, progress, open, .. } = linked;
        let (was, event) = (reminder.clone(), draft.event.clone());
        let mut fields = patch(draft, is_moved).apply(&mut reminder);
        if reminder.event != event {
            reminder.event = event;
            fields.push("event");
        }
        let shard = shard_of(&reminder.user);
        let mut is_changed = !fields.is_empty();
        for before in open {
            let mut run = before.clone();
            free(&mut run, &was, now);
            if is_moved {
                (run.due_at, run.made_for) = (due_at, due_at);
                if run.state != State::Paused {
                    run.state = State::Scheduled;
                }
            }
            if (&was.to, was.only) != (&reminder.to, reminder.only) {
                run.readdress();
            }
            if was.tags != reminder.tags && run.state.waits_for() == Some(Why::Silenced) {
                look_again(&mut run, None, now);
            }
            if run == before {
                self.look_again_at(&run, shard);
            } else {
                is_changed = true;
                let wake_at = self.writes.change(run, shard);
                self.next_runs.extend(wake_at.map(|at| NextRun::of(&reminder, at)));
            }
        }
        if is_moved {
            self.writes.event.links.push(Link { due_at, ..link });
        }
        if !is_changed {
            return;
        }
        self.n_left -= 1;
        if fields.is_empty() {
            return;
        }
        self.done.n_moved += 1;
        let (id, status) = (reminder.id, reminder.status);
        self.writes.moved.push(Moved { reminder: id, status, changed_at: Some(now), progress });
        if was.priority != reminder.priority {
            self.writes.priorities.push((id, reminder.priority));
        }
        let data = Data::Did { did: "update", fields };
        let user = Some(reminder.user.clone());
        let who = self.by.who.clone();
        self.writes.entries.push(Entry {
            at: now,
            kind: Kind::Changed,
            who,
            user,
            reminder: Some(id),
            run: Some(1),
            data,
        });
        reminder.updated_at = now;
        self.writes.reminders.push(reminder);
    }

    /// Ends a reminder, and with it the questions of those who were asked in its person's place.
    fn withdraw(&mut self, slot: Slot, linked: Linked) {
        let Linked { reminder, progress, open, family, .. } = linked;
        if let Err(Refused::OtherBegun(begun)) = family::may_cancel(&family) {
            begun.into_iter().for_each(|id| self.wait_for(id));
            return;
        }
        let now = self.by.now;
        let by = By::new(self.by.who.clone(), now);
        let mut work = Work::new(reminder, progress, open, None, now);
        // It is neither cancelled nor being sent.
        if work.cancel(true).is_err() {
            return;
        }
        self.n_left -= 1;
        self.done.n_withdrawn += 1;
        let about = work.written().first().map(|run| run.id);
        let mut writes = work.writes(&by);
        let (kind, data) = work.what_happened(&Change::Cancel, &writes);
        writes.entries.push(work.entry(kind, &by, about.map(|run| run.run), data));
        if !family.is_empty() {
            writes.add(family::spread(family, &work.reminder, about, &Change::Cancel, &by));
        }
        self.writes.add(writes);
        self.writes.event.unlinked.push(slot);
    }

    /// Lets the runs of a reminder go on that waited until their event was planned.
    fn release(&mut self, linked: Linked) {
        self.done.n_planned += 1;
        let shard = shard_of(&linked.reminder.user);
        for before in linked.open {
            let mut run = before.clone();
            free(&mut run, &linked.reminder, self.by.now);
            if run == before {
                self.look_again_at(&run, shard);
            } else {
                let wake_at = self.writes.change(run, shard);
                self.next_runs.extend(wake_at.map(|at| NextRun::of(&linked.reminder, at)));
            }
        }
    }

    /// A claim may have stepped around a run just now, because it was locked. It is looked at again when its moment comes, if that is soon.
    fn look_again_at(&mut self, run: &Occurrence, shard: u8) {
        let soon = self.by.now.saturating_add(SOON).unwrap_or(Timestamp::MAX);
        self.writes.moments.extend(run.wake_at().filter(|at| *at <= soon).map(|at| (shard, at)));
    }

    /// Writes how far planning has come, and what was done.
    fn finish(&mut self, before: &Stands, after: Stands, starts_at: Option<Timestamp>) {
        let PlannedEvent { n_planned, n_made, n_moved, n_withdrawn, n_missed, .. } = self.done;
        if n_made + n_moved + n_withdrawn + n_missed > 0 {
            let data = Data::EventPlanned {
                event: after.key.clone(),
                starts_at,
                planned: n_planned,
                made: n_made,
                moved: n_moved,
                withdrawn: n_withdrawn,
                missed: n_missed,
            };
            self.writes.entries.push(entry(Kind::EventPlanned, self.by.who.clone(), data, self.by.now));
        }
        // What is put is to be planned, unless it is said otherwise.
        let is_put = !self.writes.event.put.is_empty();
        if (is_put || *before != after) && !self.writes.event.gone.contains(&after.key) {
            self.writes.event.stands.push(after);
        }
    }
}

/// What is to be done about an event's slots, in order.
struct Todo {
    plan: Vec<Do>,
}

enum Do {
    Make(Slot, Reminder, Timestamp),
    Change(Link, Box<Linked>, Reminder, Timestamp),
    Withdraw(Slot, Box<Linked>),
    Release(Box<Linked>),
}

/// The fields that an event says of its reminders. The schedule is a person's own business until the event moves.
fn patch(draft: Reminder, is_moved: bool) -> Patch {
    Patch {
        name: Some(draft.name),
        message: Some(draft.message),
        schedule: is_moved.then_some(draft.schedule),
        timezone: Some(draft.timezone),
        priority: Some(draft.priority),
        to: Some(draft.to),
        only: Some(draft.only),
        ack: Some(draft.ack),
        escalate: Some(draft.escalate),
        snooze_allowed: Some(draft.snooze_allowed),
        retries_max: Some(draft.retries_max),
        misfire: Some(draft.misfire),
        on_unknown: Some(draft.on_unknown),
        metadata: Some(draft.metadata),
        tags: Some(draft.tags),
    }
}

/// Ends a run's wait for its event: it is as it was before.
fn free(run: &mut Occurrence, reminder: &Reminder, now: Timestamp) {
    if run.state.waits_for() != Some(Why::Event) {
        return;
    }
    match run.state {
        State::Waiting { from, .. } => (run.state, run.due_at) = (State::Scheduled, from),
        _ => look_again(run, reminder.ack.as_ref().map(|ack| ack.timeout), now),
    }
}
