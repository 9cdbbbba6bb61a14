//! Which reminders an event should have.
//!
//! A single event has a slot for each of its people at each of its offsets. A series has them for the instances of about a week
//! ([`WINDOW`]), and says when it must be looked at again. Instances are named by their original local start, whatever became of them since.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use crate::event::{
    Changed, End, Event, Field, Instance, OfEvent, Offset, Override, REMINDERS_MAX, Repeats, Slot, template,
};
use crate::group::Group;
use crate::invalid::{Faults, Invalid};
use crate::model::scope::{self, Scope};
use crate::model::series::{OVERRIDES_MAX, has, name_of, read_name};
use crate::reminder::{MisfirePolicy, Reminder};
use crate::schedule::Schedule;
use crate::steps::Steps;
use crate::template::Template;
use crate::zone::Zone;

/// How far ahead the instances of a series are planned.
pub const WINDOW: SignedDuration = SignedDuration::from_hours(8 * 24);
/// The most instances of a series that are planned ahead; fewer where they have very many reminders ([`Wanted::instances_max`]).
pub const INSTANCES_MAX: usize = 64;
/// An instance is planned at the latest when its first reminder is so near.
const NEAR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// A series is not looked at again sooner than that,
const LOOK_AFTER_MIN: SignedDuration = SignedDuration::from_hours(1);
/// and not later: the zone database may have changed.
const LOOK_AFTER_MAX: SignedDuration = SignedDuration::from_hours(24);
/// A series of which an instance comes sooner is looked at that long before its first reminder, and no more often.
const LAST_LOOK: SignedDuration = SignedDuration::from_mins(1);
/// How many steps it may take to find the instances of one event.
const STEPS_MAX: u64 = 400_000;

/// What planning an event needs to know beside the event.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The scopes above it.
    pub scopes: &'a [Scope],
    /// The groups that it names, as far as there are any.
    pub groups: &'a [Group],
    /// The zones of its people, as far as they have any.
    pub zones: &'a HashMap<String, Zone>,
    /// The server's zone.
    pub zone: &'a Zone,
    /// Until when its instances have been planned before.
    pub planned_until: Option<Timestamp>,
}

/// What an event should have.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    event: &'a Event,
    around: Around<'a>,
    /// The instances, in no order.
    told: Vec<Told>,
    /// The slots, by place. Also those whose instant has passed: a reminder that is there for the same instant is on its way.
    pub slots: BTreeMap<Slot, Want>,
    /// Until when instances were looked for.
    pub looked_until: Option<Timestamp>,
    /// When it must be looked at again.
    pub plan_at: Option<Timestamp>,
    /// How many instances passed while nobody could plan them, and are not told of any more.
    pub n_missed: u32,
}

/// What a slot should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// When.
    pub due_at: Timestamp,
    /// It is wanted although its instant has passed, because nobody could plan it before.
    pub is_late: bool,
    instance: usize,
}

/// An instance with what is said of it.
#[derive(Debug, Clone)]
struct Told {
    at: At,
    changed: Option<Changed>,
    template: Template<Field>,
}

/// When an instance is. A single event has one, without a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Its original local start.
    pub name: Option<DateTime>,
    /// When it starts.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Option<Timestamp>,
}

/// Says which reminders `event` should have at `now`. `linked` are the instances of which it has some already, by name.
pub fn wanted<'a>(
    event: &'a Event,
    around: Around<'a>,
    linked: &BTreeSet<String>,
    now: Timestamp,
) -> Result<Wanted<'a>, Invalid> {
    let mut wanted = Wanted {
        event,
        around,
        told: Vec::new(),
        slots: BTreeMap::new(),
        looked_until: None,
        plan_at: None,
        n_missed: 0,
    };
    match &event.repeats {
        None => {
            let (starts_at, ends_at) = (event.starts_at, event.ends_at);
            wanted.tell(At { name: None, starts_at, ends_at }, None)?;
        }
        Some(repeats) => {
            let series = Series::new(event, repeats, around.zone)?;
            wanted.tell_series(&series, linked, now)?;
        }
    }
    Ok(wanted)
}

/// The next instances of an event that start after `after`, at most `max`: for people.
pub fn next_starts(event: &Event, zone: &Zone, after: Timestamp, max: usize) -> Vec<At> {
    let Some(repeats) = &event.repeats else {
        let at = At { name: None, starts_at: event.starts_at, ends_at: event.ends_at };
        return Some(at).filter(|at| at.starts_at > after).into_iter().collect();
    };
    let Ok(series) = Series::new(event, repeats, zone) else { return Vec::new() };
    let mut found: Vec<At> = series.moved().map(|(at, _)| at).filter(|at| at.starts_at > after).collect();
    let (later, _) = series.shifts();
    let originals = series.originals(minus(after, later)).take(max.saturating_add(series.repeats.overrides.len()));
    let ahead = originals.filter_map(|name| series.instance(name)).map(|(at, _)| at).filter(|at| at.starts_at > after);
    found.extend(ahead.take(max));
    found.sort_unstable_by_key(|at| at.starts_at);
    found.dedup();
    found.truncate(max);
    found
}

/// The name of an event's instance if there is one with this original local start; an error where it has none.
pub fn instance_named(event: &Event, zone: &Zone, name: DateTime) -> Result<(), Invalid> {
    let Some(repeats) = &event.repeats else {
        return Err(Invalid::new("at", "the event does not repeat; move the event itself"));
    };
    let series = Series::new(event, repeats, zone)?;
    if has(&series.schedule, series.zone, name) {
        return Ok(());
    }
    let at = series.zone.rules().to_timestamp(name).unwrap_or(event.starts_at);
    Err(no_instance(name, series.zone, series.originals(at).next()))
}

/// Refuses what a person says of an instance that the event's series does not have: it would change nothing, and nobody would notice.
pub fn check_instances(event: &Event, zone: &Zone, steps: &Steps) -> Result<(), Invalid> {
    let Some(repeats) = event.repeats.as_ref().filter(|repeats| !repeats.overrides.is_empty()) else { return Ok(()) };
    let zone = event.timezone.as_ref().unwrap_or(zone);
    // A rule that is wrong is refused elsewhere.
    let Ok(schedule) = repeats.schedule(event.starts_at, zone, steps) else { return Ok(()) };
    let mut faults = Faults::default();
    for Override { at, .. } in repeats.overrides.iter().take(OVERRIDES_MAX) {
        let next = zone.rules().to_timestamp(*at).ok().and_then(|from| {
            let before = minus(from, SignedDuration::from_nanos(1));
            schedule.next_within(zone, before, steps).map(|next| zone.rules().to_datetime(next))
        });
        if steps.are_spent() {
            return Err(Invalid::new("instances", "take too long to work out; name fewer, or write a simpler rrule"));
        }
        if next != Some(*at) {
            let invalid = no_instance(*at, zone, next);
            faults.add(invalid.within(&format!("instances.{}", name_of(*at))));
        }
        if faults.is_full() {
            break;
        }
    }
    faults.finish()
}

fn no_instance(name: DateTime, zone: &Zone, next: Option<DateTime>) -> Invalid {
    let hint = next.map(|next| format!("; the next one is {}", name_of(next))).unwrap_or_default();
    Invalid::new("at", format!("there is no instance {}, in {zone}{hint}", name_of(name)))
}

impl<'a> Wanted<'a> {
    /// Adds the slots of one instance.
    fn tell(&mut self, at: At, changed: Option<Changed>) -> Result<(), Invalid> {
        let event = self.event;
        let (message, metadata) = match &changed {
            Some(changed) => (changed.message.as_ref(), changed.metadata.as_ref()),
            None => (None, None),
        };
        let template = template(message.unwrap_or(&event.message), metadata.unwrap_or(&event.metadata))?;
        let offsets = self.offsets();
        let own = changed.as_ref().and_then(|changed| changed.offsets.clone());
        let (instance, n_before) = (self.told.len(), self.slots.len());
        for offset in own.as_deref().unwrap_or(offsets) {
            // An end that the event does not have is refused where the event names it, and left out where a scope does.
            let Some(due_at) = offset.instant(at.starts_at, at.ends_at) else { continue };
            for user in self.people(due_at) {
                let name = at.name.map(name_of).unwrap_or_default();
                let slot = Slot { event: event.key.clone(), instance: name, offset: *offset, user };
                self.slots.insert(slot, Want { due_at, is_late: false, instance });
            }
        }
        // Offsets of its own were counted when the event was put; those of a scope may come later.
        let n_reminders = self.slots.len() - n_before;
        if n_reminders > REMINDERS_MAX {
            let problem = format!("of its scope make {n_reminders} reminders for its people; at most {REMINDERS_MAX}");
            return Err(Invalid::new("offsets", problem));
        }
        self.told.push(Told { at, changed, template });
        Ok(())
    }

    fn tell_series(&mut self, series: &Series<'a>, linked: &BTreeSet<String>, now: Timestamp) -> Result<(), Invalid> {
        let (reach, instances_max) = (self.reach(series), self.instances_max(now));
        let horizon = plus(now, WINDOW);
        // One whose first reminder would come before the next look is planned, however many there are.
        let can_wait = |first_at: Timestamp| first_at > plus(now, 2 * LAST_LOOK);
        // Instances that have reminders already, and those that were moved, wherever they are.
        let mut told = BTreeSet::new();
        for name in linked.iter().filter_map(|name| read_name(name).ok()) {
            if has(&series.schedule, series.zone, name) && told.insert(name) {
                self.tell_one(series, name)?;
            }
        }
        let mut beyond: Option<Timestamp> = None;
        let mut moved: Vec<At> = series.moved().map(|(at, _)| at).collect();
        moved.sort_unstable_by_key(|at| at.starts_at);
        let mut n_moved = 0;
        for at in moved.iter().filter(|at| plus(at.starts_at, reach.tail) > now) {
            let Some(name) = at.name else { continue };
            let first_at = minus(at.starts_at, reach.lead);
            if first_at >= horizon || n_moved >= instances_max && can_wait(first_at) {
                beyond = Some(beyond.map_or(first_at, |beyond| beyond.min(first_at)));
                break;
            }
            n_moved += 1;
            if told.insert(name) {
                self.tell_one(series, name)?;
            }
        }
        let planned_until = self.around.planned_until.unwrap_or(now).min(now);
        if planned_until < now {
            self.tell_missed(series, &reach, planned_until, now, &mut told)?;
        }
        // Those of the window: at least the next, at most so many.
        let (later, earlier) = series.shifts();
        let from = minus(minus(now, reach.tail), later);
        let mut n_ahead = 0;
        for name in series.originals(from).filter(|name| !series.is_moved(*name)) {
            let Some((at, _)) = series.instance(name) else { continue };
            let first_at = minus(at.starts_at, reach.lead);
            let is_ahead = plus(at.starts_at, reach.tail) > now;
            let is_enough = n_ahead >= INSTANCES_MAX || n_ahead >= instances_max && can_wait(minus(first_at, earlier));
            if is_enough || n_ahead > 0 && minus(first_at, earlier) >= horizon {
                beyond = Some(beyond.map_or(first_at, |beyond| beyond.min(first_at)));
                break;
            }
            if is_ahead && told.insert(name) {
                self.tell_one(series, name)?;
            }
            n_ahead += usize::from(is_ahead);
        }
        self.looked_until = Some(beyond.unwrap_or(horizon).min(horizon).max(now));
        self.plan_at = beyond.map(|first_at| {
            let again_at = minus(first_at, NEAR).clamp(plus(now, LOOK_AFTER_MIN), plus(now, LOOK_AFTER_MAX));
            again_at.min(minus(first_at, LAST_LOOK)).max(plus(now, LAST_LOOK))
        });
        Ok(())
    }

    /// How many instances are planned ahead, and how many that passed are looked at: a series for ten thousand people is not laid out for
    /// weeks in memory.
    fn instances_max(&self, now: Timestamp) -> usize {
        let n_each = self.people(now).len() * self.offsets().len();
        (REMINDERS_MAX / n_each.max(1)).clamp(1, INSTANCES_MAX)
    }

    fn tell_one(&mut self, series: &Series<'a>, name: DateTime) -> Result<(), Invalid> {
        match series.instance(name) {
            Some((at, changed)) => self.tell(at, changed),
            None => Ok(()),
        }
    }

    /// Looks at the instances that passed after `planned_until` while nobody could plan them: as the misfire policy says, the latest is still
    /// told of.
    fn tell_missed(
        &mut self,
        series: &Series<'a>,
        reach: &Reach,
        planned_until: Timestamp,
        now: Timestamp,
        told: &mut BTreeSet<DateTime>,
    ) -> Result<(), Invalid> {
        let Series { schedule, zone, .. } = series;
        let (from, until) = (plus(planned_until, reach.lead), plus(now, reach.lead));
        let n_max = self.instances_max(now);
        let missed = schedule.latest_between(zone, minus(from, SignedDuration::from_nanos(1)), until, n_max);
        let within = SignedDuration::try_from(self.event.misfire.within).unwrap_or(SignedDuration::MAX);
        let before: BTreeSet<Slot> = self.slots.keys().cloned().collect();
        for start in &missed.instants {
            let name = zone.rules().to_datetime(*start);
            if told.insert(name) {
                self.tell_one(series, name)?;
            }
        }
        // The latest that passed, for each person.
        let mut latest: HashMap<&str, Timestamp> = HashMap::new();
        let is_due =
            |due_at: Timestamp| due_at <= now && due_at > planned_until && now.duration_since(due_at) <= within;
        for (slot, want) in self.slots.iter().filter(|(slot, want)| is_due(want.due_at) && !before.contains(slot)) {
            let at = latest.entry(slot.user.as_str()).or_insert(want.due_at);
            *at = (*at).max(want.due_at);
        }
        let latest: HashMap<String, Timestamp> = latest.into_iter().map(|(user, at)| (user.to_owned(), at)).collect();
        let policy = self.event.misfire.policy;
        let mut late = BTreeSet::new();
        for (slot, want) in self.slots.iter_mut().filter(|(slot, want)| is_due(want.due_at) && !before.contains(slot)) {
            want.is_late = match policy {
                MisfirePolicy::Skip => false,
                MisfirePolicy::All => true,
                MisfirePolicy::Latest => latest.get(&slot.user) == Some(&want.due_at),
            };
            if want.is_late {
                late.insert(slot.instance.clone());
            }
        }
        let is_lost = |start: &&Timestamp| {
            let is_late = late.contains(&name_of(zone.rules().to_datetime(**start)));
            plus(**start, reach.tail) <= now && !is_late
        };
        let n_lost = missed.instants.iter().filter(is_lost).count() + missed.total - missed.instants.len();
        self.n_missed = u32::try_from(n_lost).unwrap_or(u32::MAX);
        Ok(())
    }

    /// The offsets of instances that have none of their own.
    fn offsets(&self) -> &'a [Offset] {
        let inherited = || self.event.scope.as_ref().map(|path| scope::offsets_at(path, self.around.scopes));
        self.event.offsets.as_deref().or_else(inherited).unwrap_or_default()
    }

    /// Who is reminded at `due_at`, each once.
    fn people(&self, due_at: Timestamp) -> BTreeSet<String> {
        let Event { users, groups, .. } = self.event;
        if users.is_empty() && groups.is_empty() {
            return BTreeSet::from([self.event.own_user()]);
        }
        let known = self.around.groups.iter().filter(|group| groups.contains(&group.name));
        let members = known.flat_map(|group| group.people_at(due_at));
        users.iter().chain(members).cloned().collect()
    }

    /// How far reminders of the series lie before and after its starts.
    fn reach(&self, series: &Series<'a>) -> Reach {
        let mut reach = Reach { lead: SignedDuration::ZERO, tail: SignedDuration::ZERO };
        let length = |starts_at: Timestamp, ends_at: Option<Timestamp>| {
            ends_at.map_or(SignedDuration::ZERO, |ends_at| ends_at.duration_since(starts_at))
        };
        let own = length(self.event.starts_at, self.event.ends_at);
        reach.add(self.offsets(), own);
        for Override { change, .. } in &series.repeats.overrides {
            let Instance::Changed(changed) = change else { continue };
            let length = changed.starts_at.map_or(own, |starts_at| length(starts_at, changed.ends_at).max(own));
            reach.add(changed.offsets.as_deref().unwrap_or(self.offsets()), length);
        }
        reach
    }

    /// Who was invited: also people for whom nothing is wanted.
    pub fn is_invited(&self, user: &str, due_at: Timestamp) -> bool {
        self.people(due_at).contains(user)
    }

    /// The reminder that a slot should have, drafted: its id and its times of writing are the caller's business.
    pub fn draft(&self, slot: &Slot, want: &Want) -> Result<Reminder, Invalid> {
        let Told { at, changed, template } = &self.told[want.instance];
        let event = self.event;
        let zone = event.timezone.as_ref().or_else(|| self.around.zones.get(&slot.user)).unwrap_or(self.around.zone);
        let local = |at: Timestamp| zone.rules().to_datetime(at).strftime("%Y-%m-%d %H:%M").to_string();
        let message = template.fill(|field| match field {
            Field::Minutes => format!("{:.0}", slot.offset.minutes()),
            Field::StartsAt => local(at.starts_at),
            Field::EndsAt => at.ends_at.map(local).unwrap_or_default(),
            Field::Key => event.key.clone(),
            Field::Said(said) => said.clone(),
        });
        let mut reminder = event.draft(&slot.user, message, want.due_at, zone);
        if let Some(metadata) = changed.as_ref().and_then(|changed| changed.metadata.as_ref()) {
            reminder.metadata = metadata.clone();
        }
        reminder.event = Some(OfEvent {
            key: event.key.clone(),
            starts_at: at.starts_at,
            ends_at: at.ends_at,
            offset: slot.offset,
            instance: at.name.map(name_of),
        });
        reminder.validate()?;
        Ok(reminder)
    }
}

/// How far reminders lie before and after a start.
struct Reach {
    lead: SignedDuration,
    tail: SignedDuration,
}

impl Reach {
    fn add(&mut self, offsets: &[Offset], length: SignedDuration) {
        for Offset { of, before_seconds } in offsets {
            let before = SignedDuration::from_secs(*before_seconds);
            let length = if *of == End::End { length } else { SignedDuration::ZERO };
            self.lead = self.lead.max(before);
            self.tail = self.tail.max(length.saturating_sub(before));
        }
    }
}

/// The original starts of a series, and what is different about some.
struct Series<'a> {
    event: &'a Event,
    repeats: &'a Repeats,
    schedule: Schedule,
    zone: &'a Zone,
    steps: Steps,
}

impl<'a> Series<'a> {
    fn new(event: &'a Event, repeats: &'a Repeats, zone: &'a Zone) -> Result<Self, Invalid> {
        let zone = event.timezone.as_ref().unwrap_or(zone);
        let steps = Steps::new(STEPS_MAX);
        let schedule = repeats.schedule(event.starts_at, zone, &steps)?;
        Ok(Self { event, repeats, schedule, zone, steps: Steps::new(STEPS_MAX) })
    }

    /// The original local starts at or after `from`, in order.
    fn originals(&self, from: Timestamp) -> impl Iterator<Item = DateTime> {
        let next = |after: &Timestamp| self.schedule.next_within(self.zone, *after, &self.steps);
        let first = next(&minus(from, SignedDuration::from_nanos(1)));
        std::iter::successors(first, next).map(|at| self.zone.rules().to_datetime(at))
    }

    /// The instance with this original start, and what is different about it; `None`: it does not take place.
    fn instance(&self, name: DateTime) -> Option<(At, Option<Changed>)> {
        let original = self.zone.rules().to_timestamp(name).ok()?;
        let length = self.event.ends_at.map(|ends_at| ends_at.duration_since(self.event.starts_at));
        let mut at = At { name: Some(name), starts_at: original, ends_at: length.map(|length| plus(original, length)) };
        let all = &self.repeats.overrides;
        let following = all.iter().rfind(|other| other.following && other.at <= name);
        let own = all.iter().find(|other| !other.following && other.at == name);
        let mut changed: Option<Changed> = None;
        if let Some(Override { at: from, change, .. }) = following {
            let Instance::Changed(change) = change else { return None };
            if let Some(starts_at) = change.starts_at {
                // All are moved by as much on the clock.
                let by = self.zone.rules().to_datetime(starts_at).duration_since(*from);
                let moved = name.checked_add(by).ok().and_then(|local| self.zone.rules().to_timestamp(local).ok())?;
                let length = change.ends_at.map(|ends_at| ends_at.duration_since(starts_at)).or(length);
                at = At { starts_at: moved, ends_at: length.map(|length| plus(moved, length)), ..at };
            }
            changed = Some((**change).clone());
        }
        if let Some(Override { change, .. }) = own {
            let Instance::Changed(change) = change else { return None };
            let length = at.ends_at.map(|ends_at| ends_at.duration_since(at.starts_at));
            let starts_at = change.starts_at.unwrap_or(at.starts_at);
            let ends_at = change.ends_at.or(length.map(|length| plus(starts_at, length)));
            at = At { starts_at, ends_at, ..at };
            let below = changed.unwrap_or_default();
            changed = Some(Changed {
                starts_at: None,
                ends_at: None,
                offsets: change.offsets.clone().or(below.offsets),
                message: change.message.clone().or(below.message),
                metadata: change.metadata.clone().or(below.metadata),
            });
        }
        Some((at, changed))
    }

    /// The instances that were moved on their own.
    fn moved(&self) -> impl Iterator<Item = (At, Option<Changed>)> {
        let moved = self.repeats.overrides.iter().filter(|other| is_moved(other));
        moved.filter(|other| has(&self.schedule, self.zone, other.at)).filter_map(|other| self.instance(other.at))
    }

    /// Whether the instance with this original start was moved on its own.
    fn is_moved(&self, name: DateTime) -> bool {
        self.repeats.overrides.iter().any(|other| other.at == name && is_moved(other))
    }

    /// By how much the starts that follow a moved one are moved at most: to later, and to earlier.
    fn shifts(&self) -> (SignedDuration, SignedDuration) {
        let (mut later, mut earlier) = (SignedDuration::ZERO, SignedDuration::ZERO);
        for Override { at, following, change } in &self.repeats.overrides {
            let Instance::Changed(changed) = change else { continue };
            let Some(starts_at) = changed.starts_at.filter(|_| *following) else { continue };
            let by = self.zone.rules().to_datetime(starts_at).duration_since(*at);
            later = later.max(by);
            earlier = earlier.max(-by);
        }
        (later, earlier)
    }
}

fn is_moved(other: &Override) -> bool {
    !other.following && matches!(&other.change, Instance::Changed(changed) if changed.starts_at.is_some())
}

fn plus(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.saturating_add(span).unwrap_or(Timestamp::MAX)
}

fn minus(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.saturating_sub(span).unwrap_or(Timestamp::MIN)
}
