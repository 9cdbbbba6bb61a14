//! What a person's answer changes: done, later, or not needed.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::change::{Refused, Work, not_now};
use crate::answer::Verb;
use crate::clock::later;
use crate::invalid::Invalid;
use crate::occurrence::{Occurrence, State, Tries};
use crate::reminder::ReminderStatus;
use crate::store::{By, Response};

/// How long a run that has ended can still be put off, if it wanted no answer, or be answered, if nobody did in time.
pub(crate) const LATE_WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// The furthest a snooze reaches.
pub(crate) const SNOOZE_MAX: SignedDuration = SignedDuration::from_hours(366 * 24);

impl Work {
    pub(super) fn answer(&mut self, verb: Verb, by: &By, state: State) -> Result<(), Refused> {
        let asked = self.take_asked().or_else(|| self.take_put_off()).or_else(|| self.take_unanswered());
        let Some(mut occurrence) = asked else {
            return Err(self.no_question());
        };
        occurrence.state = state.clone();
        self.respond(&occurrence, verb, by, None);
        // An interval counted from the answer goes on from here.
        self.go_on(&occurrence);
        self.write.push(occurrence);
        if self.reminder.escalates.is_some() {
            // Every run of a reminder in another's place asks the same, also one that was fired by hand.
            self.only_run = None;
            self.answer_as(verb, &state, false, by);
        }
        Ok(())
    }

    /// Takes the answer of somebody else who was asked. A run that has not reached its person is cancelled, unless it is the one that all of
    /// them were asked about (`is_own`).
    pub(super) fn answer_as(&mut self, verb: Verb, state: &State, is_own: bool, by: &By) {
        for mut occurrence in std::mem::take(&mut self.open) {
            if self.only_run.is_some_and(|run| run != occurrence.id.run) {
                self.open.push(occurrence);
                continue;
            }
            if is_own || occurrence.tries.reached > 0 {
                occurrence.state = state.clone();
                self.respond(&occurrence, verb, by, None);
                self.go_on(&occurrence);
            } else {
                occurrence.state = State::Cancelled { at: self.now };
            }
            self.write.push(occurrence);
        }
        if self.write.is_empty()
            && let Some(mut late) = self.take_unanswered()
        {
            late.state = state.clone();
            self.respond(&late, verb, by, None);
            self.write.push(late);
        }
    }

    /// Ends the open runs because nobody has to be asked any more: those that have not reached their person, and the others if
    /// `also_reached`.
    pub(super) fn withdraw(&mut self, also_reached: bool) {
        let at = self.now;
        for mut occurrence in std::mem::take(&mut self.open) {
            occurrence.state = match occurrence.tries.reached {
                0 => State::Cancelled { at },
                _ if also_reached => State::Dismissed { at },
                _ => {
                    self.open.push(occurrence);
                    continue;
                }
            };
            self.write.push(occurrence);
        }
    }

    /// The existing runs that were changed.
    pub(super) fn written(&self) -> Vec<Occurrence> {
        self.write.clone()
    }

    pub(super) fn snooze(&mut self, until: Timestamp, by: &By) -> Result<(), Refused> {
        if !self.reminder.snooze_allowed {
            return Err(not_now("it cannot be put off: snooze_allowed is false"));
        }
        if self.course.status == ReminderStatus::Cancelled {
            return Err(not_now("it is cancelled"));
        }
        if until <= self.now {
            return Err(Invalid::new("until", "is not in the future").into());
        }
        if until.duration_since(self.now) > SNOOZE_MAX {
            return Err(Invalid::new("until", "is more than a year ahead; cancel it and make a new one").into());
        }
        let recently =
            |o: &Occurrence, now: Timestamp| matches!(o.state, State::Delivered { at } if is_within(at, now));
        let (now, only_run) = (self.now, self.only_run);
        let is_meant = |o: &Occurrence| only_run.is_none_or(|run| run == o.id.run);
        let delivered = |o: &mut Occurrence| is_meant(o) && recently(o, now);
        let occurrence = self
            .take_asked()
            .or_else(|| self.last_ended.take_if(delivered))
            .or_else(|| self.take(|o| o.state.kind().is_to_come() && is_meant(o)));
        let Some(mut occurrence) = occurrence else {
            if self.open.iter().any(|o| is_meant(o) && matches!(o.state, State::Processing { .. })) {
                return Err(Refused::SendBegun);
            }
            return Err(self.no_question());
        };
        let is_unmoved = occurrence.state == State::Scheduled && occurrence.moved_from().is_none();
        if is_unmoved && until <= occurrence.due_at {
            let problem = format!("is not after its next run at {}; a snooze puts off", occurrence.due_at);
            return Err(Invalid::new("until", problem).into());
        }
        // It may be sooner than an earlier snooze or the end of quiet hours, and never sooner than what was asked for at first.
        if until < occurrence.made_for {
            let problem =
                format!("is before the instant this run was made for, {}; a snooze puts off", occurrence.made_for);
            return Err(Invalid::new("until", problem).into());
        }
        if matches!(occurrence.state, State::Scheduled | State::Waiting { .. }) {
            // The series goes on where it would have: a snooze moves this run alone.
            self.go_on(&occurrence);
        }
        if self.course.status == ReminderStatus::Completed {
            self.course.status = ReminderStatus::Active;
        }
        if matches!(occurrence.state, State::Processing { .. }) {
            // It is being asked again just now. If that arrives, what is said later must not look like a repeat of it.
            occurrence.tries.reached += 1;
        }
        occurrence.due_at = until;
        occurrence.state = State::Snoozed;
        // The plan begins anew when it comes again.
        occurrence.escalation = None;
        occurrence.at_once = false;
        occurrence.tries = Tries { asks: 0, rounds: 0, position: 0, ..occurrence.tries };
        self.respond(&occurrence, Verb::Snooze, by, Some(until));
        self.write.push(occurrence);
        Ok(())
    }

    fn respond(&mut self, occurrence: &Occurrence, verb: Verb, by: &By, until: Option<Timestamp>) {
        self.responses.push(Response {
            occurrence: occurrence.id,
            verb,
            at: self.now,
            actor: by.who.name().to_owned(),
            until,
            snooze_minutes: until.map(|until| minutes_between(self.now, until)),
            user: by.answers_as(&self.reminder.user),
            said: by.said.clone(),
        });
    }

    /// The earliest occurrence whose person has been asked; also while it is being asked again.
    fn take_asked(&mut self) -> Option<Occurrence> {
        let wants_answer = self.reminder.ack.is_some();
        let only_run = self.only_run;
        self.take(|o| match o.state {
            _ if only_run.is_some_and(|run| run != o.id.run) => false,
            State::AwaitingAck { .. } => true,
            State::Processing { .. } | State::PendingRetry { .. } => wants_answer && o.tries.reached > 0,
            _ => false,
        })
    }

    /// The earliest occurrence whose person was asked and said "later": it may be done sooner.
    fn take_put_off(&mut self) -> Option<Occurrence> {
        let (wants_answer, only_run) = (self.reminder.ack.is_some(), self.only_run);
        self.take(|o| {
            let is_meant = only_run.is_none_or(|run| run == o.id.run);
            is_meant && wants_answer && o.state == State::Snoozed && o.tries.reached > 0
        })
    }

    /// The last occurrence that has ended, if nobody answered it in time: a late answer counts for a day.
    fn take_unanswered(&mut self) -> Option<Occurrence> {
        let (now, only_run) = (self.now, self.only_run);
        self.last_ended.take_if(|o| {
            let is_meant = only_run.is_none_or(|run| run == o.id.run);
            is_meant && matches!(o.state, State::Unanswered { at } if is_within(at, now))
        })
    }

    fn no_question(&self) -> Refused {
        if self.reminder.ack.is_none() {
            return not_now("it asks for no answer: require_ack is false");
        }
        if self.only_run.is_some() {
            return not_now("this run awaits no answer any more");
        }
        match &self.last_ended {
            Some(last) if self.open.is_empty() => {
                not_now(&format!("no answer is awaited; the last run is {}", last.state.kind()))
            }
            _ => not_now("no answer is awaited yet"),
        }
    }
}

/// Whether a run that ended at `at` can still be put off or answered.
fn is_within(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) <= LATE_WINDOW
}

/// How many minutes lie between, to the nearest: a few milliseconds pass between a request and its transaction.
fn minutes_between(now: Timestamp, until: Timestamp) -> u32 {
    let seconds = until.duration_since(now).as_secs().max(0);
    u32::try_from((seconds + 30) / 60).unwrap_or(u32::MAX)
}

/// The instant `minutes` from `now`, for a snooze.
pub fn snooze_until(now: Timestamp, minutes: u64) -> Timestamp {
    later(now, Duration::from_secs(minutes.saturating_mul(60)))
}
