//! What the ends of leases change, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::said::{check, settled as told_of, written};
use common::{at, claimed, every, every_from, once, reminder, retrying};
use punctual_core::channel::{Receipt, SendError, Whom};
use punctual_core::decide::settle::{Counted, Leased, settled};
use punctual_core::decide::{decide, postpone, sent_under, withdraw};
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::occurrence::{State, Tries};
use punctual_core::reminder::{AckPolicy, Address, Priority, Reminder, ReminderStatus};
use punctual_core::retry::RetryPolicy;
use punctual_core::rules::course::{Course, Progress, Series, Tally};
use punctual_core::schedule::{Anchor, Schedule};
use punctual_core::store::{Claimed, Settlement};

/// What is settled, and what a store has loaded for it.
struct Given {
    settlements: Vec<Settlement>,
    /// What the store has of each run; `None`: another holds its lease.
    leased: Option<Leased>,
    /// The reminders as they are now, and how many of the runs of each are open.
    reminders: Vec<(Reminder, Series, Option<u32>)>,
}

/// A row: its name, what is settled, what the caller is told, what is written.
type Row = (&'static str, Given, &'static [&'static str], &'static [&'static str]);

/// Run 1 of a reminder, due at second 0, claimed with lease 7 for `web:a` and then `web:b`, if there are so many addresses.
fn run(reminder: Reminder, n_addresses: usize) -> Claimed {
    let mut claimed = claimed(reminder, n_addresses);
    claimed.route = ["a", "b"].iter().take(n_addresses).map(|address| Address::new("web", *address)).collect();
    claimed
}

/// The channel was called at second 1 and said this at second 2.
fn said(run: &Claimed, said: Result<Receipt, SendError>) -> Given {
    given(run, decide(run, said, &RetryPolicy::default(), 0.0, at(1), at(2)))
}

fn given(run: &Claimed, settlement: Settlement) -> Given {
    let reminder = (*run.reminder).clone();
    let series = Series::begun(reminder.schedule.is_recurring());
    Given {
        settlements: vec![settlement],
        leased: Some(Leased::default()),
        reminders: vec![(reminder, series, Some(1))],
    }
}

impl Given {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

fn sent() -> Result<Receipt, SendError> {
    Ok(Receipt::of("M1"))
}

fn unavailable() -> Result<Receipt, SendError> {
    Err(SendError::Unavailable("500".into()))
}

fn gone() -> Result<Receipt, SendError> {
    Err(SendError::Gone("410".into()))
}

fn critical() -> Reminder {
    Reminder { priority: Priority::Critical, ..reminder(once()) }
}

fn asking(schedule: Schedule) -> Reminder {
    Reminder { ack: Some(AckPolicy::default()), ..reminder(schedule) }
}

/// The same run, tried before.
fn tried(mut run: Claimed, tries: Tries) -> Claimed {
    run.before.state = retrying(at(0), "500");
    run.before.tries = tries;
    run.position = tries.position;
    run
}

fn check_all<const N: usize>(rows: [Row; N]) {
    for (name, given, told, expect) in rows {
        let leased: HashMap<(OccurrenceId, u64), Leased> = match given.leased {
            Some(leased) => given.settlements.iter().map(|settlement| ((settlement.id(), 7), leased.clone())).collect(),
            None => HashMap::new(),
        };
        let counted: HashMap<ReminderId, Counted> =
            given.reminders.into_iter().map(|(reminder, series, n_open)| counted(reminder, series, n_open)).collect();
        let (settled, writes) = settled(&given.settlements, &leased, &counted, at(2));
        check(name, "told", &told_of(&settled, &writes), told);
        check(name, "written", &written(&writes), expect);
    }
}

fn counted(reminder: Reminder, series: Series, n_open: Option<u32>) -> (ReminderId, Counted) {
    let progress = Progress { series, tally: Tally::default() };
    let counted = Counted {
        course: Course { status: reminder.status, progress, n_open },
        priority: reminder.priority,
        user: reminder.user.clone(),
        carried: reminder.schedule.is_recurring().then(|| Arc::new(reminder.clone())),
    };
    (reminder.id, counted)
}

#[test]
fn what_got_through() {
    let single = run(reminder(once()), 1);
    let series = run(reminder(every(60)), 1);
    check_all([
        (
            "a single reminder is over",
            said(&single, sent()),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a single reminder of which another run is open is not over",
            said(&single, sent()).with(|given| given.reminders[0].2 = Some(2)),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a series goes on with its next run",
            said(&series, sent()),
            &["next run of alice at 60"],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "plan run 2 due 60: scheduled",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by 2, last run 2, 2 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
                "look at 60",
            ],
        ),
        (
            "a long series that goes on is not counted through",
            said(&series, sent()).with(|given| given.reminders[0].2 = None),
            &["next run of alice at 60"],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "plan run 2 due 60: scheduled",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by 2, last run 2, 2 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
                "look at 60",
            ],
        ),
        (
            "a long series that ends is counted by the store",
            said(&series, sent()).with(|given| {
                given.reminders[0].0.schedule.count = Some(1);
                given.reminders[0].2 = None;
            }),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "completed unless a run is open",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a series whose count is used up is over",
            said(&series, sent()).with(|given| given.reminders[0].0.schedule.count = Some(1)),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a series whose end has come is over",
            said(&series, sent()).with(|given| given.reminders[0].0.schedule.ends_at = Some(at(59))),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a series that was changed meanwhile goes on as it is now",
            said(&series, sent()).with(|given| given.reminders[0].0.schedule = every(90)),
            &["next run of alice at 90"],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "plan run 2 due 90: scheduled",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by 2, last run 2, 2 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
                "look at 90",
            ],
        ),
        (
            "a series that was paused meanwhile plans a paused run",
            said(&series, sent()).with(|given| given.reminders[0].0.status = ReminderStatus::Paused),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "plan run 2 due 60: paused",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder paused: carried by 2, last run 2, 2 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a run that does not carry the series plans nothing",
            said(&series, sent()).with(|given| {
                given.reminders[0].1 = Series { last_run: 2, carried_by: Some(2), planned: 2 };
                given.reminders[0].2 = Some(2);
            }),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by 2, last run 2, 2 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "a question is open until it is answered",
            said(&run(asking(once()), 1), sent()),
            &[],
            &[
                "run 1 due 0: asked at 2, again at 602; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last awaiting_ack at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
                "look at 602",
            ],
        ),
        (
            "a series that is counted from the answer waits for it",
            said(&run(asking(every_from(60, Anchor::Ack)), 1), sent()),
            &[],
            &[
                "run 1 due 0: asked at 2, again at 602; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by 1, last run 1, 1 planned; 1 counted, 0 errors, last awaiting_ack at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
                "look at 602",
            ],
        ),
        (
            "asking again is no other run",
            said(
                &tried(run(asking(once()), 1), Tries { attempts: 1, asks: 1, reached: 1, ..Tries::default() }),
                sent(),
            ),
            &[],
            &[
                "run 1 due 0: asked at 2, again at 602; attempts 2; asks 2; reached 2",
                "attempt 2 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last awaiting_ack at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:2}",
                "look at 602",
            ],
        ),
        (
            "a critical one that got through after trouble is news; whether anybody hears it is decided later",
            said(&tried(run(critical(), 1), Tries { attempts: 1, rounds: 1, ..Tries::default() }), sent()),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 2; asks 1; reached 1",
                "attempt 2 of run 1 to web:a: sent, 1 to 2, id M1",
                "news of run 1: Recovered",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:2}",
            ],
        ),
    ]);
}

#[test]
fn what_failed() {
    let single = run(reminder(once()), 1);
    let last = |reminder| tried(run(reminder, 1), Tries { attempts: 3, rounds: 3, ..Tries::default() });
    check_all([
        (
            "a retry is left: the run is tried again after the delay of its priority",
            said(&single, unavailable()),
            &[],
            &[
                "run 1 due 0: retry at 62 (500); attempts 1; rounds 1",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (500)",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:500,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
        (
            "a retry is left: the series goes on beside it",
            said(&run(reminder(every(60)), 1), unavailable()),
            &["next run of alice at 60"],
            &[
                "run 1 due 0: retry at 62 (500); attempts 1; rounds 1",
                "plan run 2 due 60: scheduled",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (500)",
                "reminder active: carried by 2, last run 2, 2 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:500,next_at:2027-01-15T08:01:02Z}",
                "look at 60",
                "look at 62",
            ],
        ),
        (
            "another address is left: it is tried at once, and that is no round",
            said(&run(reminder(once()), 2), unavailable()),
            &[],
            &[
                "run 1 due 0: retry at 2 (500); attempts 1; position 1",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (500)",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:500,next_at:2027-01-15T08:00:02Z}",
                "look at 2",
            ],
        ),
        (
            "no retry is left: the run has failed, and the reminder is over",
            said(&last(reminder(once())), unavailable()),
            &[],
            &[
                "run 1 due 0: failed at 2 (500); attempts 4; rounds 3",
                "attempt 4 of run 1 to web:a: failed, 1 to 2 (500)",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 2",
                "entry: reminder.failed run 1 {channel:web,attempt:4,status:failed,error:500}",
            ],
        ),
        (
            "a critical one is news as soon as every address has failed once",
            said(&run(critical(), 1), unavailable()),
            &[],
            &[
                "run 1 due 0: retry at 12 (500); attempts 1; rounds 1",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (500)",
                "news of run 1: Trouble",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:500,next_at:2027-01-15T08:00:12Z}",
                "look at 12",
            ],
        ),
        (
            "a critical one with another address is no news yet",
            said(&run(critical(), 2), unavailable()),
            &[],
            &[
                "run 1 due 0: retry at 2 (500); attempts 1; position 1",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (500)",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:500,next_at:2027-01-15T08:00:02Z}",
                "look at 2",
            ],
        ),
        (
            "a critical one that has failed is news",
            said(&last(critical()), unavailable()),
            &[],
            &[
                "run 1 due 0: failed at 2 (500); attempts 4; rounds 3",
                "attempt 4 of run 1 to web:a: failed, 1 to 2 (500)",
                "news of run 1: Ended",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 2",
                "entry: reminder.failed run 1 {channel:web,attempt:4,status:failed,error:500}",
            ],
        ),
        (
            "one that is critical no longer is no news",
            said(&last(critical()), unavailable()).with(|given| given.reminders[0].0.priority = Priority::High),
            &[],
            &[
                "run 1 due 0: failed at 2 (500); attempts 4; rounds 3",
                "attempt 4 of run 1 to web:a: failed, 1 to 2 (500)",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 2",
                "entry: reminder.failed run 1 {channel:web,attempt:4,status:failed,error:500}",
            ],
        ),
        (
            "an address that is gone is written down as dead",
            said(&single, gone()),
            &[],
            &[
                "run 1 due 0: failed at 2 (gone: 410); attempts 1; refused 0b1",
                "attempt 1 of run 1 to web:a: refused, 1 to 2 (gone: 410)",
                "dead web:a since 2: gone: 410",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 2",
                "entry: reminder.failed run 1 {channel:web,attempt:1,status:refused,error:gone: 410}",
            ],
        ),
        (
            "a wait that the receiver asks for costs no round",
            said(&single, Err(SendError::Throttled { wait: Duration::from_secs(7), whom: Whom::Receiver })),
            &[],
            &[
                "run 1 due 0: retry at 9 (throttled for 7s); attempts 1",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (throttled for 7s)",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:throttled for 7s,next_at:2027-01-15T08:00:09Z}",
                "look at 9",
            ],
        ),
    ]);
}

#[test]
fn what_another_node_or_person_did_meanwhile() {
    let single = run(reminder(once()), 1);
    let delivered = decide(&single, sent(), &RetryPolicy::default(), 0.0, at(1), at(2));
    check_all([
        (
            "another holds the lease: nothing is written",
            said(&single, sent()).with(|given| given.leased = None),
            &["lost: run 1"],
            &[],
        ),
        (
            "its reminder is gone: nothing is written",
            said(&single, sent()).with(|given| given.reminders.clear()),
            &["lost: run 1"],
            &[],
        ),
        (
            "a lease ends once, also within one batch",
            said(&single, sent()).with(|given| given.settlements.push(delivered)),
            &["lost: run 1"],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
            ],
        ),
        (
            "the lease has another number: nothing is written",
            said(&single, sent()).with(|given| given.settlements[0].lease = 6),
            &["lost: run 1"],
            &[],
        ),
        (
            "other addresses since: what this attempt learned of the old ones is forgotten",
            said(&run(reminder(once()), 2), gone()).with(|given| {
                given.leased = Some(Leased { readdressed: true, message_id: None });
            }),
            &[],
            &[
                "run 1 due 0: retry at 2 (gone: 410); attempts 1",
                "attempt 1 of run 1 to web:a: refused, 1 to 2 (gone: 410)",
                "dead web:a since 2: gone: 410",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:refused,error:gone: 410,next_at:2027-01-15T08:00:02Z}",
                "look at 2",
            ],
        ),
        (
            "the platform's id was written while it was sent: it is kept",
            said(&single, unavailable()).with(|given| {
                given.leased = Some(Leased { readdressed: false, message_id: Some("CA1".into()) });
            }),
            &[],
            &[
                "run 1 due 0: retry at 62 (500); attempts 1; rounds 1",
                "attempt 1 of run 1 to web:a: failed, 1 to 2 (500), id CA1",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 2",
                "entry: attempt.failed run 1 {channel:web,attempt:1,status:failed,error:500,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
    ]);
}

#[test]
fn what_is_given_back() {
    let series = run(reminder(every(60)), 1);
    check_all([
        (
            "a run whose send never began is as it was, and its series is left alone",
            given(&series, withdraw(&series, at(2))),
            &[],
            &["run 1 due 0: scheduled", "look at 0"],
        ),
        (
            "a run whose turn comes later waits for it, at no cost",
            given(&series, postpone(&series, at(30), "waits for its turn".into())),
            &[],
            &["run 1 due 0: retry at 30 (waits for its turn)", "look at 30"],
        ),
    ]);
}

#[test]
fn what_is_settled_together() {
    let other = |schedule: Schedule| {
        let mut reminder = reminder(schedule);
        reminder.id = ReminderId::new(at(0), [2; 10]);
        reminder
    };
    let (first, second) = (run(reminder(once()), 1), run(other(every(60)), 1));
    let mut later = run(reminder(once()), 1);
    later.before.id.run = 2;
    check_all([
        (
            "the members of a digest: each has its attempt, under the key of the one message",
            said(&first, sent()).with(|given| {
                let member = said(&second, sent());
                given.settlements.extend(member.settlements);
                given.reminders.extend(member.reminders);
                given.settlements = given.settlements.drain(..).map(|one| sent_under(one, "K-d1")).collect();
            }),
            &["next run of alice at 60"],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "run b1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "plan run b2 due 60: scheduled",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1, under K-d1",
                "attempt 1 of run b1 to web:a: sent, 1 to 2, id M1, under K-d1",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last delivered at 2",
                "reminder b active: carried by 2, last run 2, 2 planned; 1 counted, 0 errors, last delivered at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1,digest:K-d1}",
                "entry: reminder.sent run b1 {channel:web,attempt:1,digest:K-d1}",
                "look at 60",
            ],
        ),
        (
            "two runs of one reminder: both are counted, and the last of them completes it",
            said(&first, sent()).with(|given| {
                given.settlements.extend(said(&later, unavailable()).settlements);
                given.settlements[1].occurrence.state = State::Failed { at: at(2), error: "500".into() };
                given.settlements[1].counts = true;
                given.reminders[0].1.last_run = 2;
                given.reminders[0].2 = Some(2);
            }),
            &[],
            &[
                "run 1 due 0: delivered at 2; attempts 1; asks 1; reached 1",
                "run 2 due 0: failed at 2 (500); attempts 1; rounds 1",
                "attempt 1 of run 1 to web:a: sent, 1 to 2, id M1",
                "attempt 1 of run 2 to web:a: failed, 1 to 2 (500)",
                "reminder completed: carried by none, last run 2, 1 planned; 2 counted, 1 errors, last failed at 2",
                "entry: reminder.sent run 1 {channel:web,attempt:1}",
                "entry: reminder.failed run 2 {channel:web,attempt:1,status:failed,error:500}",
            ],
        ),
    ]);
}
