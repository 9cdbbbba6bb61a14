//! What new values for a reminder's fields change.

use super::change::{Refused, Work, not_now};
use super::person::look_again;
use crate::clock::later;
use crate::invalid::Invalid;
use crate::occurrence::{Escalation, Occurrence, State, Why};
use crate::reminder::{AckPolicy, Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use crate::rules::escalate;
use crate::schedule::Schedule;
use crate::step::Step;
use crate::zone::Zone;

/// New values for a reminder's fields; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the fields are those of Reminder")]
pub struct Patch {
    pub name: Option<Option<String>>,
    pub message: Option<String>,
    pub schedule: Option<Schedule>,
    pub timezone: Option<Zone>,
    pub priority: Option<Priority>,
    pub to: Option<Vec<Address>>,
    pub only: Option<bool>,
    pub ack: Option<Option<AckPolicy>>,
    pub escalate: Option<Vec<Step>>,
    pub snooze_allowed: Option<bool>,
    pub retries_max: Option<u32>,
    pub misfire: Option<Misfire>,
    pub on_unknown: Option<OnUnknown>,
    pub metadata: Option<Metadata>,
    pub tags: Option<Vec<String>>,
}

impl Patch {
    /// Writes the new values over the old ones; returns the names of the fields that had another value.
    pub fn apply(&self, reminder: &mut Reminder) -> Vec<&'static str> {
        let mut fields = Vec::new();
        let mut add = |name, is_changed: bool| fields.extend(is_changed.then_some(name));
        add("name", set(&mut reminder.name, &self.name));
        add("message", set(&mut reminder.message, &self.message));
        add("schedule", set(&mut reminder.schedule, &self.schedule));
        add("timezone", set(&mut reminder.timezone, &self.timezone));
        add("priority", set(&mut reminder.priority, &self.priority));
        add("to", set(&mut reminder.to, &self.to));
        add("only", set(&mut reminder.only, &self.only));
        add("ack", set(&mut reminder.ack, &self.ack));
        add("escalate", set(&mut reminder.escalate, &self.escalate));
        add("snooze_allowed", set(&mut reminder.snooze_allowed, &self.snooze_allowed));
        add("max_retries", set(&mut reminder.retries_max, &self.retries_max));
        add("misfire", set(&mut reminder.misfire, &self.misfire));
        add("on_unknown", set(&mut reminder.on_unknown, &self.on_unknown));
        add("metadata", set(&mut reminder.metadata, &self.metadata));
        add("tags", set(&mut reminder.tags, &self.tags));
        fields
    }
}

impl Work {
    pub(super) fn update(&mut self, patch: &Patch) -> Result<(), Refused> {
        if self.course.status == ReminderStatus::Cancelled {
            return Err(not_now("it is cancelled; make a new one"));
        }
        if patch.schedule.is_some() && self.reminder.escalates.is_some() {
            let problem = "cannot be changed: it asks about a run of another reminder; snooze it instead";
            return Err(Invalid::new("schedule", problem).into());
        }
        let recurring = self.reminder.schedule.is_recurring();
        // The instant of a single reminder is fixed; only a rule about local time moves with the zone.
        let replan = patch.schedule.is_some() || (patch.timezone.is_some() && recurring);
        let addresses = |reminder: &Reminder| (reminder.to.clone(), reminder.only);
        let before = addresses(&self.reminder);
        let escalated = self.reminder.escalate.clone();
        let tags = self.reminder.tags.clone();
        self.fields = patch.apply(&mut self.reminder);
        self.reminder.validate()?;
        if escalated != self.reminder.escalate {
            self.plan_escalations();
        }
        if replan {
            self.replan(recurring)?;
        }
        if before != addresses(&self.reminder) {
            self.readdress();
        }
        if tags != self.reminder.tags {
            self.unsilence();
        }
        Ok(())
    }

    /// Lets every open run forget what it knows of the old addresses.
    fn readdress(&mut self) {
        self.write.iter_mut().for_each(Occurrence::readdress);
        self.open.iter_mut().for_each(Occurrence::readdress);
    }

    /// Lets the runs that wait for an answer follow a changed plan, unless others have been asked already. A run that is just being sent
    /// goes on with the old one.
    fn plan_escalations(&mut self) {
        let first = escalate::steps(&self.reminder, &[]).first().map(|step| step.after);
        for occurrence in &mut self.open {
            let waits = matches!(occurrence.state, State::AwaitingAck { .. } | State::PendingRetry { .. });
            if waits && !matches!(occurrence.escalation, Some(Escalation::Asked { .. })) {
                let at = first.map(|after| later(occurrence.due_at, after).max(self.now));
                occurrence.escalation = at.map(|at| Escalation::Planned { at });
            }
        }
    }

    /// Looks again at every open run that waits because of a silence: that may not be for the new tags.
    fn unsilence(&mut self) {
        let ack_timeout = self.reminder.ack.as_ref().map(|ack| ack.timeout);
        for occurrence in self.open.iter_mut().filter(|o| o.state.waits_for() == Some(Why::Silenced)) {
            look_again(occurrence, ack_timeout, self.now);
        }
    }

    /// Plans the series anew from its changed rule. A run that is under way stays, and so does what its person has put off of a series
    /// (`was_recurring`). What they have put off of a single reminder is what the new rule is about.
    fn replan(&mut self, was_recurring: bool) -> Result<(), Refused> {
        let reminder = &self.reminder;
        let Some(due_at) = reminder.schedule.first_after(&reminder.timezone, self.now) else {
            return Err(Invalid::new("schedule", "is never due: every instant of it has passed").into());
        };
        let recurring = reminder.schedule.is_recurring();
        let paused = self.course.status == ReminderStatus::Paused;
        let series = self.course.progress.series;
        let planned = self.take(|o| {
            matches!(o.state, State::Unplanned { .. } | State::Scheduled | State::Waiting { .. } | State::Paused)
                && (series.carried_by.is_none() || series.is_carried_by(o.id.run))
        });
        let planned = planned.or_else(|| self.take(|o| !was_recurring && o.state == State::Snoozed));
        if let Some(mut occurrence) = planned {
            occurrence.due_at = due_at;
            occurrence.made_for = due_at;
            occurrence.state = match occurrence.state {
                State::Paused => State::Paused,
                State::Snoozed if paused => State::Paused,
                // What has reached its person can be answered before it comes again.
                State::Snoozed if occurrence.tries.reached > 0 && !recurring => State::Snoozed,
                // Its old instant counts no more, and it waits for nothing.
                _ => State::Scheduled,
            };
            self.course.progress.series.carried_by = recurring.then_some(occurrence.id.run);
            self.write.push(occurrence);
        } else {
            let id = self.course.next_run(&self.reminder);
            self.course.progress.series.carried_by = recurring.then_some(id.run);
            let mut occurrence = Occurrence::scheduled(id, due_at);
            if paused {
                occurrence.state = State::Paused;
            } else {
                self.course.status = ReminderStatus::Active;
            }
            self.insert.push(occurrence);
        }
        // A changed rule counts its runs from here.
        self.course.progress.series.planned = 1;
        Ok(())
    }
}

fn set<T: Clone + PartialEq>(field: &mut T, value: &Option<T>) -> bool {
    let Some(value) = value.as_ref().filter(|value| **value != *field) else { return false };
    *field = value.clone();
    true
}
