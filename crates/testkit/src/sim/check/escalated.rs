//! Who does not answer is followed by the next, at the instant, once.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use punctual_core::answer::Verb;
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::State;
use punctual_core::reminder::Reminder;
use punctual_core::step::Target;
use punctual_core::store::Trail;

use super::{Evidence, Row};
use crate::sim::load::GROUP;

/// How much later than its plan says somebody may be asked: a plan counts from when its person is told.
const LATE_AFTER: SignedDuration = SignedDuration::from_secs(1);
/// Where limits are so low that messages wait for their turn.
const LATE_AFTER_TIGHT: SignedDuration = SignedDuration::from_secs(120);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let commands = evidence.commands();
    let mut asked: BTreeMap<OccurrenceId, Vec<&Row>> = BTreeMap::new();
    for row in &evidence.rows {
        if let Some(about) = row.view.reminder.escalates {
            asked.entry(about).or_default().push(row);
        }
    }
    let mut found = Vec::new();
    for row in evidence.rows.iter().filter(|row| !row.view.reminder.escalate.is_empty()) {
        if commands.contains_key(&row.view.reminder.id) {
            // Its plan may have been another, and a snooze begins it anew.
            continue;
        }
        for trail in &row.trails {
            let others = asked.get(&trail.occurrence.id).map(Vec::as_slice).unwrap_or_default();
            if trail.responses.iter().any(|response| response.verb == Verb::Snooze) {
                // Somebody else's snooze begins it anew as well.
                continue;
            }
            let is_answered = !trail.responses.is_empty();
            let wrong = wrong(evidence, &row.view.reminder, trail, others, is_answered);
            found.extend(wrong.into_iter().map(|what| format!("{} {what}", trail.occurrence.id)));
        }
    }
    found
}

/// Compares the people who were asked about a run with its plan.
fn wrong(evidence: &Evidence, reminder: &Reminder, trail: &Trail, others: &[&Row], is_answered: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let run = &trail.occurrence;
    let is_failed = matches!(run.state, State::Failed { .. });
    let plan = plan(reminder);
    let first = plan.first().map_or(Duration::ZERO, |(after, _)| *after);
    // A reminder that was made too late is told at once, and its plan counts from then.
    let told_at = run.due_at.max(reminder.created_at);
    // One that waits until another call has ended is told when it is sent.
    let begun_at = trail.attempts.first().map_or(told_at, |attempt| attempt.started_at.max(told_at));
    for (after, user) in &plan {
        let theirs: Vec<_> = others.iter().filter(|other| other.view.reminder.user == *user).collect();
        let due_at = told_at + if is_failed { *after - first } else { *after };
        let asked_at = |other: &Row| other.trails.first().map(|trail| trail.occurrence.made_for);
        let is_early = theirs.iter().filter_map(|other| asked_at(other)).any(|at| at < due_at);
        if is_early {
            wrong.push(format!("has {user} asked before {due_at}"));
        }
        if is_answered {
            continue;
        }
        if theirs.len() > 1 {
            wrong.push(format!("has {user} asked {} times", theirs.len()));
        }
        let late_after = if evidence.options.tight { LATE_AFTER_TIGHT } else { LATE_AFTER };
        let is_silent =
            matches!(run.state, State::AwaitingAck { .. } | State::Unanswered { .. }) && run.tries.reached > 0;
        let is_on_time = evidence.options.is_punctual() && !evidence.options.receivers_hang;
        if is_silent && is_on_time && !evidence.options.receivers_fail {
            let is_due = evidence.now > due_at + late_after + begun_at.duration_since(told_at);
            let in_time = |at| at <= due_at + late_after + begun_at.duration_since(told_at);
            if is_due && !theirs.iter().filter_map(|other| asked_at(other)).any(in_time) {
                wrong.push(format!("is {} and {user} was not asked at {due_at}", run.state.kind()));
            }
        }
    }
    let strangers = others.iter().filter(|other| plan.iter().all(|(_, user)| *user != other.view.reminder.user));
    wrong.extend(strangers.map(|other| format!("has {} asked, whom nobody named", other.view.reminder.user)));
    wrong
}

/// Who is asked and when, in a world whose only group is asked at once.
fn plan(reminder: &Reminder) -> Vec<(Duration, String)> {
    let mut plan: Vec<(Duration, String)> = Vec::new();
    for step in &reminder.escalate {
        let users = match &step.to {
            Target::User(user) => vec![user.clone()],
            Target::Group(_) => GROUP.iter().map(|user| (*user).to_owned()).collect(),
        };
        for user in users {
            if user != reminder.user && plan.iter().all(|(_, other)| *other != user) {
                plan.push((step.after, user));
            }
        }
    }
    plan
}
