//! Changes that follow from a platform's report about a message.
//!
//! Reports come late, twice and in any order, so an attempt moves once, and only forward: from `sent` to `delivered`, or to `failed` or
//! `refused`. When the message by which a run reached its person turns out not to have arrived, and nothing has happened since, the run goes on
//! as if the send had failed: to the next address, to a retry, or to its end.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::attempt::after_trouble;
use super::settle::entry;
use crate::alert::News;
use crate::change::Loaded;
use crate::channel::SendError;
use crate::channel::receive::Became;
use crate::journal::{Data, Entry, Kind};
use crate::occurrence::{Attempt, AttemptStatus, Occurrence, State, Tries};
use crate::reminder::{Address, Priority, ReminderStatus};
use crate::rules::course::Course;
use crate::rules::route::Trouble;
use crate::shard::shard_of;
use crate::store::{Claimed, DeadAddress, Report, Reported};
use crate::user::Person;
use crate::writes::{EndedAttempt, Writes};

/// How long after its delivery a run that wanted no answer can still turn out not to have arrived.
const BELIEVED_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Decides what `report` changes about a run with these attempts; `loaded` is its reminder, loaded for that run.
pub fn reported(loaded: Loaded, attempts: &[Attempt], report: &Report, now: Timestamp) -> (Reported, Writes) {
    let mut writes = Writes::new(now);
    let is_meant = |attempt: &&Attempt| {
        attempt.channel == report.channel && attempt.message_id.as_deref() == Some(report.message_id.as_str())
    };
    let Some(attempt) = attempts.iter().find(is_meant) else {
        return (unknown(&loaded, report), writes);
    };
    if attempt.status != AttemptStatus::Sent {
        return (Reported::Nothing, writes);
    }
    let Became::Failed(error) = &report.became else {
        let attempt = Attempt { status: AttemptStatus::Delivered, ..attempt.clone() };
        writes.reported.push(EndedAttempt { occurrence: report.run, attempt });
        return (Reported::Changed, writes);
    };
    let (text, is_final) = (error.to_string(), matches!(error, SendError::Refused(_) | SendError::Gone(_)));
    let status = if is_final { AttemptStatus::Refused } else { AttemptStatus::Failed };
    let failed = Attempt { status, error: Some(text.clone()), ..attempt.clone() };
    writes.reported.push(EndedAttempt { occurrence: report.run, attempt: failed.clone() });
    let user = loaded.reminder.user.clone();
    let address = Address::new(&attempt.channel, &attempt.address);
    if matches!(error, SendError::Gone(_)) {
        writes.dead.push(DeadAddress { address: address.clone(), since: now, reason: text.clone() });
    }
    let reached = |other: &Attempt| matches!(other.status, AttemptStatus::Sent | AttemptStatus::Delivered);
    let is_last = !attempts.iter().any(|other| other.number > attempt.number && reached(other));
    let went_on = is_last.then(|| go_on(loaded, &address, error, &text, report, &mut writes)).flatten();
    writes.entries.push(match went_on {
        Some(run) => entry(&failed, &run, &user, now),
        None => Entry::of_engine(now, Kind::AttemptFailed, report.run, Some(&user), Data::of_attempt(&failed, None)),
    });
    (Reported::Changed, writes)
}

/// There is no such message, or it is not written down yet.
fn unknown(loaded: &Loaded, report: &Report) -> Reported {
    let run = loaded.open.iter().find(|run| run.id == report.run);
    match run.and_then(|run| run.state.sending()) {
        // Its node asks the platform about it by itself.
        Some(sending) if sending.message_id.is_some() => Reported::Nothing,
        Some(_) => Reported::NotYet,
        None => Reported::Nothing,
    }
}

/// Lets a run that has not reached its person after all go on; returns it as it is then, unless it stays as it was.
fn go_on(
    loaded: Loaded,
    address: &Address,
    error: &SendError,
    text: &str,
    report: &Report,
    writes: &mut Writes,
) -> Option<Occurrence> {
    let now = writes.now;
    let Loaded { reminder, progress, open, last_ended, .. } = loaded;
    if reminder.status == ReminderStatus::Cancelled {
        return None;
    }
    let mut course = Course { status: reminder.status, progress, n_open: Some(open.len() as u32) };
    let is_believed = |run: &Occurrence| match run.state {
        State::AwaitingAck { .. } => true,
        State::Delivered { at } => now.duration_since(at) <= BELIEVED_AFTER,
        _ => false,
    };
    let mut run = open.into_iter().chain(last_ended).find(|run| run.id == report.run).filter(is_believed)?;
    let (was_over, rounds) = (run.state.is_final(), run.tries.rounds);
    run.tries =
        Tries { reached: run.tries.reached.saturating_sub(1), asks: run.tries.asks.saturating_sub(1), ..run.tries };
    let position = report.route.iter().position(|known| known == address);
    let (state, tries) = match position.and_then(|position| u32::try_from(position).ok()) {
        Some(position) => {
            let claimed = Claimed {
                before: run.clone(),
                lease: 0,
                lease_until: now,
                wake_at: now,
                reminder: Arc::new(reminder.clone()),
                person: Arc::new(Person::default()),
                route: report.route.clone(),
                position,
                holds_unknown: false,
                message_id: None,
            };
            // The platform has said for certain that it did not arrive.
            let trouble = match Trouble::of(error, now) {
                Trouble::Refused => Trouble::Refused,
                _ => Trouble::Unavailable,
            };
            after_trouble(&claimed, trouble, text, &report.policy, report.jitter, now)
        }
        // It has other addresses since: the first of them is next.
        None => {
            let again = State::PendingRetry { retry_at: now, error: text.to_owned(), waits_for: None };
            (again, Tries { position: 0, refused: 0, ..run.tries })
        }
    };
    (run.state, run.tries) = (state, tries);
    let is_over = run.state.is_final();
    // It was counted when it seemed to reach the person, and is when it does or fails.
    let counted = &mut course.progress.tally.total_runs;
    *counted = counted.saturating_sub(u32::from(run.tries.reached == 0));
    course.count(&run.state, is_over && run.tries.reached == 0, now);
    match (was_over, is_over) {
        (true, false) => course.open_one(),
        (false, true) => course.end_one(),
        _ => {}
    }
    if course.status == ReminderStatus::Completed && !is_over {
        course.status = ReminderStatus::Active;
    }
    let news = match is_over {
        true => Some(News::Ended),
        // Every address has failed, and nobody was reached.
        false => (run.tries.rounds > rounds && run.tries.reached == 0).then_some(News::Trouble),
    };
    writes.news.extend(news.filter(|_| reminder.priority == Priority::Critical).map(|news| (run.id, news)));
    if is_over {
        let planned = run.escalation;
        writes.end_escalation(&mut run, planned);
    }
    if let Some(next) = course.go_on(&reminder, run.id.run, run.due_at, &run.state, now) {
        writes.plan(next, &reminder);
    }
    if was_over {
        // While it was over it was left alone when its reminder got another priority.
        writes.priorities.push((reminder.id, reminder.priority));
    }
    writes.change(run.clone(), shard_of(&reminder.user));
    writes.finish(reminder.id, course, None);
    Some(run)
}
