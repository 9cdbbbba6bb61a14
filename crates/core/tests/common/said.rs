//! What a decision led to, in lines: everything that it tells and writes, so that a row of a table forgets nothing.

use jiff::Timestamp;
use punctual_core::alarm::NextRun;
use punctual_core::id::OccurrenceId;
use punctual_core::journal::Entry;
use punctual_core::occurrence::{Attempt, Escalation, Occurrence, State, Tries};
use punctual_core::reminder::{Address, Priority};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::store::{Claimed, Claims, Settled};
use punctual_core::writes::{EventWrites, Link, Moved, Planned, Stands, Writes};

use super::at;

/// Compares lines, and names the row that differs.
///
/// # Panics
/// When they differ.
#[track_caller]
pub(crate) fn check(row: &str, what: &str, found: &[String], expect: &[&str]) {
    assert!(
        found == expect,
        "\n{row}: {what}\n  found:\n    {}\n  expected:\n    {}\n",
        found.join("\n    "),
        expect.join("\n    ")
    );
}

/// Seconds into the test's world.
pub(crate) fn second(instant: Timestamp) -> String {
    let seconds = instant.duration_since(at(0));
    if seconds.subsec_nanos() == 0 { seconds.as_secs().to_string() } else { seconds.as_secs_f64().to_string() }
}

/// What a claim tells, with what it writes: the moments of both are the same but for those that only the caller hears of.
pub(crate) fn claims(claims: &Claims, writes: &Writes) -> Vec<String> {
    let Claims { to_send, n_taken, wakes, not_before, ended, next_runs, events } = claims;
    let mut lines: Vec<String> = to_send.iter().map(claimed).collect();
    lines.extend(ended.iter().map(|kind| format!("ended: {kind}")));
    lines.extend(not_before.iter().map(|at| format!("not before {}", second(*at))));
    lines.extend(other_wakes(wakes, writes).map(|at| format!("look again at {at}")));
    lines.extend(next_runs.iter().map(next_run));
    lines.extend(events.iter().map(|key| format!("to be planned: {key}")));
    lines.push(format!("taken: {n_taken}"));
    lines
}

/// What a settle tells, with what it writes.
pub(crate) fn settled(settled: &Settled, writes: &Writes) -> Vec<String> {
    let Settled { lost, wakes, next_runs } = settled;
    let mut lines: Vec<String> = lost.iter().map(|id| format!("lost: run {}", run(*id))).collect();
    lines.extend(other_wakes(wakes, writes).map(|at| format!("look again at {at}")));
    lines.extend(next_runs.iter().map(next_run));
    lines
}

/// Everything that is written.
pub(crate) fn written(writes: &Writes) -> Vec<String> {
    let Writes {
        now: _,
        recalls,
        event,
        answered,
        seen,
        place,
        created,
        reminders,
        moved,
        uncounted,
        occurrences,
        planned,
        set_aside,
        priorities,
        attempts,
        reported,
        dead,
        responses,
        entries,
        news,
        unreadable,
        moments,
    } = writes;
    let mut lines: Vec<String> = answered.iter().map(|(key, _)| format!("answer under {key}")).collect();
    lines.extend(seen.iter().map(|seen| format!("seen on {} until {}", seen.channel, second(seen.until))));
    lines.extend(
        place.iter().map(|place| format!("{} was read to {} under {}", place.channel, place.text, place.lease)),
    );
    lines.extend(
        created.iter().map(|new| format!("create for {}, due {}", new.reminder.user, second(new.first_due_at))),
    );
    lines.extend(reminders.iter().map(|reminder| format!("schedule: {}", reminder.schedule.rule.kind())));
    lines.extend(occurrences.iter().map(occurrence));
    lines.extend(planned.iter().map(plan));
    lines.extend(set_aside.iter().map(|(id, error)| format!("set aside run {}: {error}", run(*id))));
    lines.extend(priorities.iter().map(|(_, priority)| format!("priority of open runs: {priority}")));
    lines.extend(attempts.iter().map(|ended| attempt(ended.occurrence, &ended.attempt)));
    lines.extend(reported.iter().map(|ended| {
        let Attempt { number, status, error, .. } = &ended.attempt;
        format!("attempt {number} is {status}: {}", error.as_deref().unwrap_or("-"))
    }));
    lines
        .extend(dead.iter().map(|dead| format!("dead {} since {}: {}", dead.address, second(dead.since), dead.reason)));
    lines.extend(
        responses.iter().map(|response| format!("response to run {}: {}", run(response.occurrence), response.verb)),
    );
    lines.extend(news.iter().map(|(id, news)| format!("news of run {}: {news:?}", run(*id))));
    lines.extend(unreadable.iter().map(|left| format!("news of unreadable run {}", run(left.id))));
    lines.extend(moved.iter().map(progress));
    lines.extend(uncounted.iter().map(|moved| format!("completed unless a run is open{}", of_other(moved))));
    lines.extend(recalls.iter().map(|id| format!("recall what nodes have of reminder {}", id.as_bytes()[15])));
    lines.extend(of_events(event));
    lines.extend(entries.iter().map(entry));
    lines.extend(moments.iter().map(|(_, at)| format!("look at {}", second(*at))));
    lines
}

/// What is written of events and scopes.
fn of_events(writes: &EventWrites) -> Vec<String> {
    let EventWrites { new, put, marked, stands, gone, unlinked, links, scopes, scopes_gone } = writes;
    let mut lines: Vec<String> = new.iter().map(|event| format!("new event {}", event.key)).collect();
    lines.extend(put.iter().map(|event| format!("put event {}", event.key)));
    lines.extend(marked.iter().map(|marked| format!("plan event {} as of {}", marked.key, second(marked.at))));
    lines.extend(stands.iter().map(|stands| {
        let Stands { key, removed, planned, plan_at, planned_until, error } = stands;
        let mut line = format!("event {key}: {}", if *planned { "planned" } else { "to be planned" });
        line.push_str(if *removed { ", removed" } else { "" });
        line.push_str(&plan_at.map(|at| format!(", look at {}", second(at))).unwrap_or_default());
        line.push_str(&planned_until.map(|at| format!(", planned until {}", second(at))).unwrap_or_default());
        line.push_str(&error.as_ref().map(|error| format!(", error {error}")).unwrap_or_default());
        line
    }));
    lines.extend(gone.iter().map(|key| format!("event {key} is gone")));
    lines.extend(unlinked.iter().map(|slot| format!("unlink {} {} {}", slot.instance, slot.offset, slot.user)));
    lines.extend(links.iter().map(|link| {
        let Link { slot, due_at, .. } = link;
        format!("link {} {} {} due {}", slot.instance, slot.offset, slot.user, second(*due_at))
    }));
    lines.extend(scopes.iter().map(|scope| format!("put scope {}", scope.path)));
    lines.extend(scopes_gone.iter().map(|path| format!("scope {path} is gone")));
    lines
}

/// A run's number; that of another reminder than the first has a letter before it.
pub(crate) fn run(id: OccurrenceId) -> String {
    match id.reminder.as_bytes()[15] {
        1 => id.run.to_string(),
        other => format!("{}{}", char::from(b'a' + other - 1), id.run),
    }
}

/// A run with all that is not as it was made.
pub(crate) fn occurrence(occurrence: &Occurrence) -> String {
    let Occurrence { id, due_at, made_for: _, state, tries: tried, at_once, escalation } = occurrence;
    let mut line = format!("run {} due {}", run(*id), second(*due_at));
    if let Some(from) = occurrence.moved_from() {
        line.push_str(&format!(" (made for {})", second(from)));
    }
    line.push_str(&format!(": {}", standing(state)));
    line.push_str(&tries(tried));
    if *at_once {
        line.push_str("; at once");
    }
    match escalation {
        Some(Escalation::Planned { at }) => line.push_str(&format!("; escalates at {}", second(*at))),
        Some(Escalation::Asked { until }) => line.push_str(&format!("; escalated until {}", second(*until))),
        None => {}
    }
    line
}

fn tries(tries: &Tries) -> String {
    let Tries { attempts, rounds, position, refused, asks, reached } = *tries;
    let counts =
        [("attempts", attempts), ("rounds", rounds), ("position", position), ("asks", asks), ("reached", reached)];
    let mut line: String = counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("; {name} {n}")).collect();
    if refused != 0 {
        line.push_str(&format!("; refused {refused:#b}"));
    }
    line
}

fn standing(state: &State) -> String {
    let waits =
        |why: &Option<_>| why.map(|why: punctual_core::occurrence::Why| format!(", waits: {why}")).unwrap_or_default();
    match state {
        State::Processing { lease, sending } => {
            let mut line = format!(
                "processing, lease {} until {}, to {} since {}",
                lease.number,
                second(lease.until),
                sending.to,
                second(sending.since)
            );
            line.extend(sending.message_id.as_ref().map(|id| format!(", id {id}")));
            line.push_str(if sending.readdressed { ", readdressed" } else { "" });
            line
        }
        State::PendingRetry { retry_at, error, waits_for } => {
            format!("retry at {} ({error}){}", second(*retry_at), waits(waits_for))
        }
        State::AwaitingAck { delivered_at, ask_again_at, waits_for } => {
            format!("asked at {}, again at {}{}", second(*delivered_at), second(*ask_again_at), waits(waits_for))
        }
        State::Waiting { why, from } => format!("waiting ({why}) from {}", second(*from)),
        State::Failed { at, error } => format!("failed at {} ({error})", second(*at)),
        _ => match state.at() {
            Some(at) => format!("{} at {}", state.kind(), second(at)),
            None => state.kind().to_string(),
        },
    }
}

fn claimed(claimed: &Claimed) -> String {
    let mut line = format!(
        "send run {} to {} at {}, lease {} until {}, attempt {}",
        run(claimed.before.id),
        claimed.to(),
        second(claimed.wake_at),
        claimed.lease,
        second(claimed.lease_until),
        claimed.attempt()
    );
    line.extend(claimed.message_id.as_ref().map(|id| format!(", asks after {id}")));
    line.push_str(if claimed.holds_unknown { ", holds" } else { "" });
    line
}

fn next_run(next: &NextRun) -> String {
    format!("next run of {} at {}", next.user, second(next.at))
}

fn plan(planned: &Planned) -> String {
    let Planned { occurrence: planned, priority, shard: _ } = planned;
    let line = format!("plan {}", occurrence(planned));
    if *priority == Priority::Normal { line } else { format!("{line}; {priority}") }
}

fn attempt(of: OccurrenceId, attempt: &Attempt) -> String {
    let Attempt { number, channel, address, status, started_at, ended_at, error, message_id, key } = attempt;
    let to = Address::new(channel, address);
    let ended = ended_at.map(second).unwrap_or_default();
    let mut line = format!("attempt {number} of run {} to {to}: {status}, {} to {ended}", run(of), second(*started_at));
    line.extend(error.as_ref().map(|error| format!(" ({error})")));
    line.extend(message_id.as_ref().map(|id| format!(", id {id}")));
    line.extend(key.as_ref().map(|key| format!(", under {key}")));
    line
}

/// How far a reminder has come. What its runs led to is said once there is something to say.
pub(crate) fn progress(moved: &Moved) -> String {
    let Moved { reminder: _, status, changed_at, progress } = moved;
    let Progress { series: Series { last_run, carried_by, planned }, tally } = *progress;
    let carried = carried_by.map_or("carried by none".to_owned(), |run| format!("carried by {run}"));
    let mut line = format!("reminder{} {status}: {carried}, last run {last_run}, {planned} planned", of_other(moved));
    if tally != Tally::default() {
        let Tally { last_run_at, last_status, total_runs, consecutive_errors } = tally;
        let last = last_status.map(|status| status.to_string()).unwrap_or_default();
        let at = last_run_at.map(|at| format!(" at {}", second(at))).unwrap_or_default();
        line.push_str(&format!("; {total_runs} counted, {consecutive_errors} errors, last {last}{at}"));
    }
    line.extend(changed_at.map(|at| format!("; changed at {}", second(at))));
    line
}

fn of_other(moved: &Moved) -> String {
    match moved.reminder.as_bytes()[15] {
        1 => String::new(),
        other => format!(" {}", char::from(b'a' + other - 1)),
    }
}

/// What happened, with its data without quotes; whose it was unless it is alice's, and by whom unless the engine did it.
fn entry(entry: &Entry) -> String {
    let mut line = format!("entry: {}", entry.kind);
    if let (Some(reminder), Some(of)) = (entry.reminder, entry.run) {
        line.push_str(&format!(" run {}", run(OccurrenceId { reminder, run: of })));
    }
    line.extend(entry.data_json().map(|data| format!(" {}", data.replace('"', ""))));
    if entry.user.as_deref() != Some("alice") {
        line.push_str(&format!(" of {}", entry.user.as_deref().unwrap_or("nobody")));
    }
    line.extend(entry.who.actor.as_ref().map(|actor| format!(" by {actor}")));
    line
}

/// The moments that the caller hears of and that no write makes. Those that a write makes must be among them.
fn other_wakes(wakes: &[Timestamp], writes: &Writes) -> impl Iterator<Item = String> {
    let made: Vec<Timestamp> = writes.wakes().collect();
    assert!(wakes.ends_with(&made), "{wakes:?} end with {made:?}");
    let n_other = wakes.len() - made.len();
    wakes[..n_other].iter().map(|at| second(*at)).collect::<Vec<_>>().into_iter()
}
