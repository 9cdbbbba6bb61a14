//! What a platform's report about a message changes, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::said::{check, written};
use common::{asked, at, every, once, processing, reminder, retrying};
use jiff::Timestamp;
use punctual_core::change::{Besides, Loaded};
use punctual_core::channel::SendError;
use punctual_core::channel::receive::Became;
use punctual_core::decide::report::reported;
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::{Attempt, AttemptStatus, Occurrence, State, StateKind, Tries};
use punctual_core::reminder::{AckPolicy, Address, Priority, Reminder, ReminderStatus};
use punctual_core::retry::RetryPolicy;
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::store::{Report, Reported};

const A_DAY: i64 = 86_400;

/// A run, what was tried for it, and what the platform reports at which second.
#[derive(Clone)]
struct Given {
    reminder: Reminder,
    run: Occurrence,
    series: Series,
    attempts: Vec<Attempt>,
    report: Report,
    now: Timestamp,
}

/// A row: its name, what is given, what is said, what is written.
type Row = (&'static str, Given, Reported, &'static [&'static str]);

fn address(name: &str) -> Address {
    Address::new("sms", name)
}

/// An attempt that ended a second after it began.
fn attempt(number: u32, to: &str, status: AttemptStatus) -> Attempt {
    Attempt {
        number,
        channel: "sms".into(),
        address: to.into(),
        status,
        started_at: at(1),
        ended_at: Some(at(2)),
        error: None,
        message_id: Some(format!("M{number}")),
        key: None,
    }
}

/// Run 1, due at second 0, reached its person by `sms:a` at second 2; a minute later the platform tells of that message, M1. The route
/// goes on to `sms:b`.
fn reached(mut reminder: Reminder, became: Became) -> Given {
    reminder.to = vec![address("a"), address("b")];
    let mut run = Occurrence::scheduled(OccurrenceId { reminder: reminder.id, run: 1 }, at(0));
    run.state = match reminder.ack {
        Some(_) => asked(at(2), at(602)),
        None => State::Delivered { at: at(2) },
    };
    run.tries = Tries { attempts: 1, asks: 1, reached: 1, ..Tries::default() };
    let is_recurring = reminder.schedule.is_recurring();
    let series = match is_recurring {
        true => Series { last_run: 2, carried_by: Some(2), planned: 2 },
        false => Series::begun(false),
    };
    if run.state.is_final() && !is_recurring {
        reminder.status = ReminderStatus::Completed;
    }
    let report = Report {
        run: run.id,
        channel: "sms".into(),
        message_id: "M1".into(),
        became,
        route: reminder.to.clone(),
        policy: RetryPolicy::default(),
        jitter: 0.0,
    };
    Given { attempts: vec![attempt(1, "a", AttemptStatus::Sent)], reminder, run, series, report, now: at(62) }
}

impl Given {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The same run in another state.
    fn now_is(self, state: State) -> Self {
        self.with(|given| given.run.state = state)
    }

    /// Its person has one address.
    fn single(self) -> Self {
        self.with(|given| given.report.route.truncate(1))
    }

    /// Everything that a store loads.
    fn loaded(&self) -> Loaded {
        let Self { reminder, run, series, .. } = self;
        let tally = Tally {
            last_run_at: Some(at(2)),
            last_status: Some(StateKind::Delivered),
            total_runs: 1,
            consecutive_errors: 0,
        };
        let next = (series.last_run == 2).then(|| Occurrence::scheduled(OccurrenceId { run: 2, ..run.id }, at(600)));
        let (ended, open): (Vec<_>, Vec<_>) =
            [Some(run.clone()), next].into_iter().flatten().partition(|run| run.state.is_final());
        let progress = Progress { series: *series, tally };
        let (reminder, last_ended) = (reminder.clone(), ended.into_iter().next());
        Loaded { reminder, progress, open, last_ended, has_kin: false, family: Vec::new(), besides: Besides::Nothing }
    }
}

fn check_all<const N: usize>(rows: [Row; N]) {
    for (name, given, said, expect) in rows {
        let (told, writes) = reported(given.loaded(), &given.attempts, &given.report, given.now);
        check(name, "written", &written(&writes), expect);
        assert_eq!(told, said, "{name}");
    }
}

fn asking() -> Reminder {
    Reminder { ack: Some(AckPolicy::default()), ..reminder(once()) }
}

fn critical(reminder: Reminder) -> Reminder {
    Reminder { priority: Priority::Critical, ..reminder }
}

fn refused() -> Became {
    Became::Failed(SendError::Refused("blocked".into()))
}

fn off() -> Became {
    Became::Failed(SendError::Unavailable("the phone is off".into()))
}

fn gone() -> Became {
    Became::Failed(SendError::Gone("no such number".into()))
}

#[test]
fn a_message_that_arrived() {
    let delivered = || reached(asking(), Became::Delivered);
    check_all([
        ("while it awaits an answer", delivered(), Reported::Changed, &["attempt 1 is delivered: -"]),
        (
            "when nothing more is to come",
            reached(reminder(once()), Became::Delivered),
            Reported::Changed,
            &["attempt 1 is delivered: -"],
        ),
        (
            "a year later",
            delivered().with(|given| given.now = at(365 * A_DAY)),
            Reported::Changed,
            &["attempt 1 is delivered: -"],
        ),
        (
            "after the answer",
            delivered().now_is(State::Completed { at: at(30) }),
            Reported::Changed,
            &["attempt 1 is delivered: -"],
        ),
        (
            "while the person is asked again",
            delivered().now_is(processing(9, at(75), &address("a"))),
            Reported::Changed,
            &["attempt 1 is delivered: -"],
        ),
        (
            "of a reminder that was cancelled",
            delivered().with(|given| given.reminder.status = ReminderStatus::Cancelled),
            Reported::Changed,
            &["attempt 1 is delivered: -"],
        ),
    ]);
}

#[test]
fn a_report_that_comes_again_or_in_another_order() {
    let after = |status: AttemptStatus, became: Became| {
        reached(asking(), became).with(|given| given.attempts = vec![attempt(1, "a", status)])
    };
    check_all([
        ("delivered, and then read", after(AttemptStatus::Delivered, Became::Delivered), Reported::Nothing, &[]),
        ("delivered, and then undelivered", after(AttemptStatus::Delivered, refused()), Reported::Nothing, &[]),
        ("failed, and then delivered", after(AttemptStatus::Failed, Became::Delivered), Reported::Nothing, &[]),
        ("refused twice", after(AttemptStatus::Refused, refused()), Reported::Nothing, &[]),
        ("of an attempt that was cut off", after(AttemptStatus::Unknown, Became::Delivered), Reported::Nothing, &[]),
        ("of an attempt that is being sent", after(AttemptStatus::Sending, refused()), Reported::Nothing, &[]),
    ]);
}

#[test]
fn a_message_that_is_not_known() {
    let other_id = || reached(asking(), refused()).with(|given| given.report.message_id = "M9".into());
    let noted = |message_id: Option<&str>| {
        let mut state = processing(9, at(75), &address("a"));
        if let State::Processing { sending, .. } = &mut state {
            sending.message_id = message_id.map(str::to_owned);
        }
        other_id().now_is(state)
    };
    check_all([
        ("nobody sent it", other_id(), Reported::Nothing, &[]),
        (
            "it was sent by another channel",
            reached(asking(), refused()).with(|given| given.report.channel = "chat".into()),
            Reported::Nothing,
            &[],
        ),
        ("it is being sent, and its id is not written yet", noted(None), Reported::NotYet, &[]),
        ("another one is being sent, which its node asks about", noted(Some("M2")), Reported::Nothing, &[]),
        ("the run is over", other_id().now_is(State::Completed { at: at(30) }), Reported::Nothing, &[]),
    ]);
}

#[test]
fn a_message_that_did_not_arrive() {
    check_all([
        (
            "a question goes to the next address at once",
            reached(asking(), refused()),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 62 (blocked); attempts 1; position 1; refused 0b1",
                "attempt 1 is refused: blocked",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
        (
            "a reminder that was over goes to the next address",
            reached(reminder(once()), off()),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 62 (the phone is off); attempts 1; position 1",
                "priority of open runs: normal",
                "attempt 1 is failed: the phone is off",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:failed,error:the phone is off,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
        (
            "a run of a series goes to the next address, and the series stays",
            reached(reminder(every(600)), refused()),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 62 (blocked); attempts 1; position 1; refused 0b1",
                "priority of open runs: normal",
                "attempt 1 is refused: blocked",
                "reminder active: carried by 2, last run 2, 2 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
        (
            "with one address it is tried again after a while",
            reached(asking(), off()).single(),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 122 (the phone is off); attempts 1; rounds 1",
                "attempt 1 is failed: the phone is off",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:failed,error:the phone is off,next_at:2027-01-15T08:02:02Z}",
                "look at 122",
            ],
        ),
        (
            "with one address that will never take it, it fails",
            reached(asking(), refused()).single(),
            Reported::Changed,
            &[
                "run 1 due 0: failed at 62 (blocked); attempts 1; refused 0b1",
                "attempt 1 is refused: blocked",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 62",
                "entry: reminder.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "a number that is gone is not called again",
            reached(reminder(once()), gone()).single(),
            Reported::Changed,
            &[
                "run 1 due 0: failed at 62 (gone: no such number); attempts 1; refused 0b1",
                "priority of open runs: normal",
                "attempt 1 is refused: gone: no such number",
                "dead sms:a since 62: gone: no such number",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 62",
                "entry: reminder.failed run 1 {channel:sms,attempt:1,status:refused,error:gone: no such number}",
            ],
        ),
        (
            "the last retry is used up",
            reached(reminder(once()), off()).single().with(|given| given.run.tries.rounds = 3),
            Reported::Changed,
            &[
                "run 1 due 0: failed at 62 (the phone is off); attempts 1; rounds 3",
                "priority of open runs: normal",
                "attempt 1 is failed: the phone is off",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 62",
                "entry: reminder.failed run 1 {channel:sms,attempt:1,status:failed,error:the phone is off}",
            ],
        ),
        (
            "with other addresses since, it begins with the first of them",
            reached(asking(), refused()).with(|given| given.report.route = vec![address("c")]),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 62 (blocked); attempts 1",
                "attempt 1 is refused: blocked",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
        (
            "an error that leaves it open is certain when the platform reports it",
            reached(asking(), Became::Failed(SendError::Unknown("cut off".into()))).single(),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 122 (cut off); attempts 1; rounds 1",
                "attempt 1 is failed: cut off",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:failed,error:cut off,next_at:2027-01-15T08:02:02Z}",
                "look at 122",
            ],
        ),
    ]);
}

#[test]
fn a_critical_message_that_did_not_arrive() {
    let only = |became| reached(critical(asking()), became).single();
    check_all([
        (
            "the admins hear nothing while another address is left",
            reached(critical(asking()), refused()),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 62 (blocked); attempts 1; position 1; refused 0b1",
                "attempt 1 is refused: blocked",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
        (
            "the admins hear that every address failed",
            only(off()),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 72 (the phone is off); attempts 1; rounds 1",
                "attempt 1 is failed: the phone is off",
                "news of run 1: Trouble",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:failed,error:the phone is off,next_at:2027-01-15T08:01:12Z}",
                "look at 72",
            ],
        ),
        (
            "the admins hear that it failed",
            only(refused()),
            Reported::Changed,
            &[
                "run 1 due 0: failed at 62 (blocked); attempts 1; refused 0b1",
                "attempt 1 is refused: blocked",
                "news of run 1: Ended",
                "reminder completed: carried by none, last run 1, 1 planned; 1 counted, 1 errors, last failed at 62",
                "entry: reminder.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "one that reached its person before has not failed for the first time",
            only(off()).with(|given| {
                given.attempts = vec![attempt(1, "a", AttemptStatus::Delivered), attempt(2, "a", AttemptStatus::Sent)];
                given.run.tries = Tries { attempts: 2, asks: 2, reached: 2, ..Tries::default() };
                given.report.message_id = "M2".into();
            }),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 72 (the phone is off); attempts 2; rounds 1; asks 1; reached 1",
                "attempt 2 is failed: the phone is off",
                "reminder active: carried by none, last run 1, 1 planned; 1 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:2,status:failed,error:the phone is off,next_at:2027-01-15T08:01:12Z}",
                "look at 72",
            ],
        ),
    ]);
}

#[test]
fn a_message_that_did_not_arrive_and_no_longer_matters() {
    let alone = |state: State| reached(asking(), refused()).now_is(state);
    check_all([
        (
            "its person has answered",
            alone(State::Completed { at: at(30) }),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "its person does not need it",
            alone(State::Dismissed { at: at(30) }),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "its person has put it off",
            alone(State::Snoozed),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "asking has ended",
            alone(State::Unanswered { at: at(30) }),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "it is being asked again",
            alone(processing(9, at(75), &address("b"))),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "it is about to be tried again",
            alone(retrying(at(90), "500")),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "its reminder was cancelled",
            reached(asking(), refused()).with(|given| given.reminder.status = ReminderStatus::Cancelled),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "it was said again since, and that arrived",
            reached(asking(), refused()).with(|given| {
                given.attempts.push(attempt(2, "b", AttemptStatus::Sent));
                given.run.tries = Tries { attempts: 2, asks: 2, reached: 2, ..Tries::default() };
            }),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "it was over more than a day ago",
            reached(reminder(once()), refused()).with(|given| given.now = at(2 + A_DAY + 1)),
            Reported::Changed,
            &[
                "attempt 1 is refused: blocked",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked}",
            ],
        ),
        (
            "a day ago it still mattered",
            reached(reminder(once()), refused()).with(|given| given.now = at(2 + A_DAY)),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 86402 (blocked); attempts 1; position 1; refused 0b1",
                "priority of open runs: normal",
                "attempt 1 is refused: blocked",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 86402",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked,next_at:2027-01-16T08:00:02Z}",
                "look at 86402",
            ],
        ),
        (
            "a later attempt that failed does not hide it",
            reached(asking(), refused()).with(|given| given.attempts.push(attempt(2, "b", AttemptStatus::Failed))),
            Reported::Changed,
            &[
                "run 1 due 0: retry at 62 (blocked); attempts 1; position 1; refused 0b1",
                "attempt 1 is refused: blocked",
                "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 62",
                "entry: attempt.failed run 1 {channel:sms,attempt:1,status:refused,error:blocked,next_at:2027-01-15T08:01:02Z}",
                "look at 62",
            ],
        ),
    ]);
}
