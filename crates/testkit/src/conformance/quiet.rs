//! Quiet hours and pauses: what falls into them waits for the end.

use jiff::Timestamp;
use jiff::civil::time;
use punctual_core::change::{Change, Patch};
use punctual_core::decide::withdraw;
use punctual_core::journal::{Kind, Placed};
use punctual_core::occurrence::{AttemptStatus, State, StateKind, Why};
use punctual_core::reminder::{Priority, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::store::Claims;
use punctual_core::user::{Except, QuietHours, User};

use super::desk::{Desk, asking, at, every, failed, once, run, taken};

rules!(
    a_run_that_falls_into_quiet_hours_waits_for_their_end,
    a_critical_run_is_sent_in_quiet_hours,
    each_run_of_a_series_waits_for_the_end,
    a_counted_series_ends_in_its_quiet_hours,
    everything_waits_for_the_end_of_a_pause_and_runs_in_between_are_left_out,
    a_claim_ahead_of_time_looks_at_the_moment_of_the_send,
    a_retry_waits_without_losing_its_place,
    a_question_is_not_asked_again_at_night,
    a_run_that_was_cut_off_waits_too,
    a_person_who_may_be_disturbed_again_gets_waiting_runs_at_once,
    other_changes_of_a_user_wake_nothing,
    a_waiting_run_can_be_cancelled_paused_skipped_and_snoozed,
    a_waiting_run_is_among_the_coming_ones,
    a_waiting_run_that_was_given_back_waits_on,
    a_run_that_waited_while_no_node_ran_is_missed_by_policy,
    a_run_that_was_fired_by_hand_is_sent_at_once,
    a_run_snoozed_before_its_due_time_is_never_sent_earlier_than_that,
    a_run_that_its_person_frees_is_not_due_before_its_own_instant_also_where_the_clock_was_set_back,
);

/// The desk's day begins at 22:13:20 UTC. Quiet from 22:15 (second 100) until 22:30 (second 1000).
const QUIET_FROM: i64 = 100;
const QUIET_TO: i64 = 1000;

fn ann() -> User {
    User {
        id: "ann".into(),
        timezone: None,
        language: None,
        addresses: vec![],
        quiet_hours: None,
        paused_until: None,
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn quiet(except: Except) -> User {
    let hours = QuietHours { from: time(22, 15, 0, 0), to: time(22, 30, 0, 0), except, digest: false };
    User { quiet_hours: Some(hours), ..ann() }
}

fn paused(until: i64) -> User {
    User { paused_until: Some(at(until)), ..ann() }
}

async fn put(desk: &Desk, user: User, now: i64) -> Vec<Timestamp> {
    let user = User { updated_at: at(now), ..user };
    desk.store.put_user(user, "ann".into()).await.expect("the store works")
}

/// Claims at `now`, when no run may be sent; returns what came of it.
async fn puts_off(desk: &Desk, now: i64) -> Claims {
    let claims = desk.claim(now).await;
    assert!(claims.to_send.is_empty(), "nothing is sent at second {now}");
    claims
}

/// What the journal says of the waits of a reminder's runs.
async fn waits(desk: &Desk, reminder: &Reminder) -> Vec<String> {
    let waits = |entry: Placed| (entry.kind == Kind::Waiting.as_str()).then_some(entry.data?);
    desk.entries(reminder.id).await.into_iter().filter_map(waits).collect()
}

async fn a_run_that_falls_into_quiet_hours_waits_for_their_end(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let (before, first, last, after) =
        (once(1, QUIET_FROM - 1), once(2, QUIET_FROM), once(3, QUIET_TO - 1), once(4, QUIET_TO));
    desk.create(&[&before, &first, &last, &after]).await;
    desk.deliver(QUIET_FROM - 1).await;
    let claims = puts_off(&desk, QUIET_FROM).await;
    assert_eq!((claims.n_taken, &claims.ended[..]), (1, &[StateKind::Waiting][..]));
    assert_eq!(claims.wakes, [at(QUIET_TO)], "the timer must learn of it");
    assert_eq!(claims.next_runs.len(), 1);
    let trail = desk.trail(run(&first, 1)).await;
    assert_eq!(trail.occurrence.state, State::Waiting { why: Why::Quiet, from: at(QUIET_FROM) });
    assert_eq!((trail.occurrence.due_at, trail.attempts.len()), (at(QUIET_TO), 0), "nothing was tried");
    let told = waits(&desk, &first).await;
    assert_eq!(told.len(), 1);
    let (until, from) = (at(QUIET_TO), at(QUIET_FROM));
    assert_eq!(told[0], format!(r#"{{"why":"quiet","until":"{until}","from":"{from}"}}"#));
    assert_eq!(desk.status(first.id).await, ReminderStatus::Active);
    puts_off(&desk, QUIET_TO - 1).await;
    assert_eq!(puts_off(&desk, QUIET_TO - 1).await.n_taken, 0, "it is not looked at again before the end");
    let at_the_end: Vec<_> = desk.claim(QUIET_TO).await.to_send;
    assert_eq!(at_the_end.len(), 3);
    for claimed in &at_the_end {
        assert_eq!((claimed.wake_at, claimed.before.due_at), (at(QUIET_TO), at(QUIET_TO)), "and it is not late");
        desk.settle(claimed, taken(), QUIET_TO).await;
    }
    assert_eq!(desk.states(last.id).await, [(StateKind::Delivered, QUIET_TO)]);
    assert_eq!(desk.status(last.id).await, ReminderStatus::Completed);
}

async fn a_critical_run_is_sent_in_quiet_hours(desk: Desk) {
    let of = |number, priority| Reminder { priority, ..once(number, 200) };
    let all = [of(1, Priority::Low), of(2, Priority::Normal), of(3, Priority::High), of(4, Priority::Critical)];
    let others = Reminder { user: "bob".into(), ..once(5, 200) };
    desk.create(&all.iter().chain([&others]).collect::<Vec<_>>()).await;
    put(&desk, quiet(Except::High), 0).await;
    let sent = |claims: &Claims| claims.to_send.iter().map(|c| c.before.id.reminder).collect::<Vec<_>>();
    assert_eq!(sent(&desk.claim(200).await), [all[3].id, all[2].id, others.id], "high and critical, and others'");
    put(&desk, quiet(Except::Critical), 1).await;
    let more = [
        Reminder { priority: Priority::High, ..once(6, 300) },
        Reminder { priority: Priority::Critical, ..once(7, 300) },
    ];
    desk.create(&[&more[0], &more[1]]).await;
    assert_eq!(sent(&desk.claim_only(300, vec![more[0].id, more[1].id], 10).await), [more[1].id], "critical alone");
}

async fn each_run_of_a_series_waits_for_the_end(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let reminder = every(1, 400);
    desk.create(&[&reminder]).await;
    let claims = puts_off(&desk, 400).await;
    let mut wakes = claims.wakes;
    wakes.sort();
    assert_eq!(wakes, [at(800), at(QUIET_TO)], "the next run is planned at once");
    assert_eq!(claims.next_runs.len(), 1);
    assert_eq!(claims.next_runs[0].at, at(800), "the first of them rings");
    puts_off(&desk, 800).await;
    let waiting = (StateKind::Waiting, QUIET_TO);
    assert_eq!(desk.states(reminder.id).await, [waiting, waiting, (StateKind::Scheduled, 1200)]);
    let both = desk.claim(QUIET_TO).await.to_send;
    let settlements = both.iter().map(|claimed| Desk::settlement(claimed, taken(), QUIET_TO)).collect();
    let settled = desk.write(settlements, QUIET_TO).await;
    assert!(settled.wakes.is_empty(), "the series has gone on already");
    let delivered = (StateKind::Delivered, QUIET_TO);
    assert_eq!(desk.states(reminder.id).await, [delivered, delivered, (StateKind::Scheduled, 1200)]);
    let view = desk.view(reminder.id).await;
    assert_eq!((view.total_runs, view.next_run_at), (2, Some(at(1200))));
}

async fn a_counted_series_ends_in_its_quiet_hours(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let mut reminder = every(1, 400);
    reminder.schedule.count = Some(2);
    desk.create(&[&reminder]).await;
    puts_off(&desk, 400).await;
    assert_eq!(puts_off(&desk, 800).await.wakes, [at(QUIET_TO)], "none comes after it");
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Active, "they are still to come");
    for claimed in desk.claim(QUIET_TO).await.to_send {
        desk.settle(&claimed, taken(), QUIET_TO).await;
    }
    assert_eq!(desk.status(reminder.id).await, ReminderStatus::Completed);
    assert_eq!(desk.runs(reminder.id).await.len(), 2);
}

async fn everything_waits_for_the_end_of_a_pause_and_runs_in_between_are_left_out(desk: Desk) {
    put(&desk, paused(450), 0).await;
    let (series, urgent) = (every(1, 100), Reminder { priority: Priority::Critical, ..once(2, 100) });
    desk.create(&[&series, &urgent]).await;
    let claims = puts_off(&desk, 100).await;
    assert_eq!(claims.wakes, [at(450), at(450)], "the series does not go on meanwhile");
    assert_eq!(desk.trail(run(&urgent, 1)).await.occurrence.state, State::Waiting { why: Why::Paused, from: at(100) });
    let told = waits(&desk, &series).await;
    assert!(told[0].contains(r#""why":"paused""#) && told[0].contains(r#""series_waits":true"#), "{told:?}");
    assert!(!waits(&desk, &urgent).await[0].contains("series_waits"), "it has no others");
    let sent = desk.claim(450).await.to_send;
    assert_eq!(sent.len(), 2, "at the end to the second");
    for claimed in &sent {
        desk.settle(claimed, taken(), 450).await;
    }
    assert_eq!(desk.states(series.id).await, [(StateKind::Delivered, 450), (StateKind::Scheduled, 500)]);
    desk.deliver(500).await;
}

async fn a_claim_ahead_of_time_looks_at_the_moment_of_the_send(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let (into, out) = (once(1, QUIET_FROM), once(2, QUIET_TO));
    desk.create(&[&into, &out]).await;
    let claims = desk.claim_between(QUIET_FROM - 1, 0, QUIET_FROM, 10).await;
    assert!(claims.to_send.is_empty(), "it would be sent when it is quiet");
    let claims = desk.claim_between(QUIET_TO - 1, 0, QUIET_TO, 10).await;
    assert_eq!(claims.to_send.len(), 2, "they are sent when it is over");
    assert!(claims.to_send.iter().all(|claimed| claimed.wake_at == at(QUIET_TO)));
}

async fn a_retry_waits_without_losing_its_place(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let reminder = once(1, 50);
    desk.create(&[&reminder]).await;
    let claimed = desk.claim_one(50).await;
    desk.settle(&claimed, failed(), 50).await;
    assert_eq!(puts_off(&desk, 110).await.wakes, [at(QUIET_TO)]);
    let occurrence = desk.trail(run(&reminder, 1)).await.occurrence;
    assert_eq!((occurrence.state.kind(), occurrence.due_at), (StateKind::PendingRetry, at(50)));
    assert!(occurrence.state.error().is_some_and(|error| error.ends_with("not now")), "{occurrence:?}");
    let claimed = desk.claim_one(QUIET_TO).await;
    assert_eq!((claimed.attempt(), claimed.before.tries.rounds), (2, 1));
}

async fn a_question_is_not_asked_again_at_night(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let (again, last) = (asking(once(1, 50), 1), asking(once(2, 55), 0));
    desk.create(&[&again, &last]).await;
    desk.deliver(50).await;
    desk.deliver(55).await;
    let claims = puts_off(&desk, 115).await;
    let mut ended = claims.ended;
    ended.sort();
    assert_eq!(ended, [StateKind::Waiting, StateKind::Unanswered], "what is over is over, at night too");
    let occurrence = desk.trail(run(&again, 1)).await.occurrence;
    assert_eq!(
        occurrence.state,
        State::AwaitingAck { delivered_at: at(50), ask_again_at: at(QUIET_TO), waits_for: Some(Why::Quiet) }
    );
    desk.change(again.id, Change::Ack, 500).await;
    assert_eq!(desk.claim(QUIET_TO).await.n_taken, 0, "and it can be answered meanwhile");
}

async fn a_run_that_was_cut_off_waits_too(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let reminder = once(1, 90);
    desk.create(&[&reminder]).await;
    desk.claim_one(90).await;
    puts_off(&desk, 105).await;
    let trail = desk.trail(run(&reminder, 1)).await;
    assert_eq!(trail.occurrence.state.kind(), StateKind::PendingRetry);
    assert_eq!(trail.attempts[0].status, AttemptStatus::Unknown);
    assert_eq!(desk.claim_one(QUIET_TO).await.attempt(), 2);
}

async fn a_person_who_may_be_disturbed_again_gets_waiting_runs_at_once(desk: Desk) {
    let reminders = [once(1, 100), asking(once(2, 60), 1), once(3, 70), every(4, 120)];
    desk.create(&reminders.iter().collect::<Vec<_>>()).await;
    desk.deliver(60).await;
    let retried = desk.claim_one(70).await;
    desk.settle(&retried, failed(), 71).await;
    put(&desk, paused(5000), 80).await;
    puts_off(&desk, 140).await;
    let states: Vec<_> = [desk.states(reminders[0].id).await, desk.states(reminders[3].id).await].concat();
    assert_eq!(states, [(StateKind::Waiting, 5000), (StateKind::Waiting, 5000)]);
    assert_eq!(puts_off(&desk, 1000).await.n_taken, 0);
    // A shorter pause is decided again, and what is still too early waits on.
    assert_eq!(put(&desk, paused(3000), 1000).await, [at(1000); 4]);
    assert_eq!(puts_off(&desk, 1000).await.wakes, [at(3000); 4]);
    // And none at all is the end of it.
    assert_eq!(put(&desk, ann(), 1500).await, [at(1500); 4]);
    let sent = desk.claim(1500).await.to_send;
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|claimed| claimed.wake_at <= at(1500)), "each of them now");
    for claimed in &sent {
        desk.settle(claimed, taken(), 1500).await;
    }
    assert_eq!(desk.states(reminders[3].id).await, [(StateKind::Delivered, 1500), (StateKind::Scheduled, 1560)]);

    put(&desk, paused(9000), 1501).await;
    puts_off(&desk, 1560).await;
    let wakes = desk.store.delete_user("ann", "ann".into(), at(1570)).await.expect("the store works");
    assert_eq!(wakes, Some(vec![at(1570)]));
    assert_eq!(desk.claim(1570).await.to_send.len(), 1, "and nobody knows of a pause any more");
}

async fn other_changes_of_a_user_wake_nothing(desk: Desk) {
    let (reminder, bobs) = (once(1, 100), Reminder { user: "bob".into(), ..once(2, 100) });
    desk.create(&[&reminder, &bobs]).await;
    put(&desk, paused(5000), 0).await;
    put(&desk, User { id: "bob".into(), ..paused(5000) }, 0).await;
    puts_off(&desk, 100).await;
    let renamed = User { language: Some("de".into()), admin: true, ..paused(5000) };
    assert_eq!(put(&desk, renamed, 200).await, []);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Waiting, 5000)]);
    assert_eq!(put(&desk, ann(), 300).await, [at(300)]);
    assert_eq!(desk.states(bobs.id).await, [(StateKind::Waiting, 5000)], "another's waits on");
    // A snooze is the person's own, and no quiet hours'.
    desk.deliver(300).await;
    desk.change(reminder.id, Change::Snooze { until: at(900) }, 310).await;
    assert_eq!(put(&desk, paused(400), 320).await, []);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Snoozed, 900)]);
}

async fn a_waiting_run_can_be_cancelled_paused_skipped_and_snoozed(desk: Desk) {
    put(&desk, paused(5000), 0).await;
    let all: Vec<Reminder> = (1..=5).map(|number| once(number, 100)).chain([every(6, 100)]).collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    puts_off(&desk, 100).await;
    desk.change(all[0].id, Change::Cancel, 200).await;
    assert_eq!(desk.states(all[0].id).await, [(StateKind::Cancelled, 5000)]);
    desk.change(all[1].id, Change::Pause, 200).await;
    assert_eq!(desk.states(all[1].id).await, [(StateKind::Paused, 5000)]);
    desk.change(all[1].id, Change::Resume, 300).await;
    assert_eq!(desk.states(all[1].id).await, [(StateKind::Scheduled, 5000)]);
    desk.change(all[2].id, Change::Snooze { until: at(6000) }, 200).await;
    assert_eq!(desk.states(all[2].id).await, [(StateKind::Snoozed, 6000)]);
    let made_for = desk.trail(run(&all[2], 1)).await.occurrence.made_for;
    assert_eq!(made_for, at(100), "neither the wait nor the snooze changes what it was made for");
    let schedule = Schedule::new(Rule::Once { at: at(7000) });
    let patch = Patch { schedule: Some(schedule), ..Patch::default() };
    desk.change(all[3].id, Change::Update(Box::new(patch)), 200).await;
    assert_eq!(desk.states(all[3].id).await, [(StateKind::Scheduled, 7000)], "it is moved and not told twice");
    for change in [Change::Ack, Change::Dismiss] {
        desk.refused(all[4].id, change, 200).await;
    }
    desk.change(all[5].id, Change::Skip, 200).await;
    assert_eq!(desk.states(all[5].id).await, [(StateKind::Cancelled, 5000), (StateKind::Scheduled, 5100)]);
    let sent = desk.claim(5000).await.to_send;
    assert_eq!(sent.len(), 2, "the one that was resumed and the one that was left alone");
}

async fn a_waiting_run_is_among_the_coming_ones(desk: Desk) {
    put(&desk, paused(5000), 0).await;
    let reminder = once(1, 100);
    desk.create(&[&reminder]).await;
    puts_off(&desk, 100).await;
    assert_eq!(desk.view(reminder.id).await.next_run_at, Some(at(5000)));
    let coming = desk.store.coming(at(0), at(6000), None, 10).await.expect("the store works");
    assert_eq!(coming.iter().map(|(id, entry)| (*id, entry.at)).collect::<Vec<_>>(), [(run(&reminder, 1), at(5000))]);
    let stats = desk.store.stats(at(200)).await.expect("the store works");
    assert_eq!((stats.pending, stats.oldest_at), (1, Some(at(5000))));
}

async fn a_waiting_run_that_was_given_back_waits_on(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let reminder = once(1, 200);
    desk.create(&[&reminder]).await;
    puts_off(&desk, 200).await;
    let claimed = desk.claim_between(QUIET_TO - 1, 0, QUIET_TO, 10).await.to_send.remove(0);
    let settled = desk.write(vec![withdraw(&claimed, at(QUIET_TO - 1))], QUIET_TO - 1).await;
    assert_eq!(settled.wakes, [at(QUIET_TO)]);
    let trail = desk.trail(run(&reminder, 1)).await;
    assert_eq!(trail.occurrence.state, State::Waiting { why: Why::Quiet, from: at(200) });
    desk.deliver(QUIET_TO).await;
}

async fn a_run_that_waited_while_no_node_ran_is_missed_by_policy(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let reminder = every(1, 400);
    desk.create(&[&reminder]).await;
    puts_off(&desk, 400).await;
    puts_off(&desk, 800).await;
    let claims = puts_off(&desk, 3 * 86_400).await;
    assert!(claims.ended.iter().all(|state| *state == StateKind::Missed), "{:?}", claims.ended);
    let late = desk.claim(3 * 86_400).await.to_send;
    assert_eq!(late.len(), 1, "the latest run alone is told");
    assert_eq!(late[0].before.due_at, at(3 * 86_400));
}

async fn a_run_that_was_fired_by_hand_is_sent_at_once(desk: Desk) {
    let reminder = asking(every(1, 50_000), 1);
    desk.create(&[&reminder]).await;
    for (second, person) in [(200, quiet(Except::Critical)), (300, paused(QUIET_TO))] {
        put(&desk, person, second).await;
        let fired = desk.change(reminder.id, Change::Fire, second).await.occurrence.expect("a run was added");
        let first = desk.claim_one(second).await;
        assert_eq!(first.before.id, fired.id);
        desk.settle(&first, failed(), second).await;
        let again = desk.claim_one(second + 70).await;
        assert_eq!(again.before.id, fired.id, "and so is its retry");
        desk.settle(&again, taken(), second + 70).await;
    }
    // Asking again at night is not what was asked for.
    assert_eq!(puts_off(&desk, 900).await.ended, [StateKind::Waiting]);
    let other = every(2, 50_000);
    desk.create(&[&other]).await;
    let fired = desk.change(other.id, Change::Fire, 910).await.occurrence.expect("a run was added");
    desk.settle(&desk.claim_one(910).await, taken(), 910).await;
    desk.change(other.id, Change::Snooze { until: at(920) }, 911).await;
    puts_off(&desk, 920).await;
    let state = desk.trail(fired.id).await.occurrence.state;
    assert_eq!(state, State::Waiting { why: Why::Paused, from: at(920) }, "nor is what was put off since");
}

async fn a_run_snoozed_before_its_due_time_is_never_sent_earlier_than_that(desk: Desk) {
    put(&desk, quiet(Except::Critical), 0).await;
    let reminder = once(1, QUIET_FROM);
    desk.create(&[&reminder]).await;
    let claims = desk.claim_between(QUIET_FROM - 2, i64::MIN, QUIET_FROM, 10).await;
    assert_eq!(claims.ended, [StateKind::Waiting]);
    assert_eq!(put(&desk, ann(), QUIET_FROM - 1).await, [at(QUIET_FROM)]);
    assert_eq!(desk.states(reminder.id).await, [(StateKind::Waiting, QUIET_FROM)]);
    assert_eq!(desk.claim_one(QUIET_FROM).await.wake_at, at(QUIET_FROM));
}

async fn a_run_that_its_person_frees_is_not_due_before_its_own_instant_also_where_the_clock_was_set_back(desk: Desk) {
    for (number, wait) in [(1, quiet(Except::Critical)), (2, paused(QUIET_TO))] {
        let made_for = 200 * i64::from(number);
        put(&desk, wait, 0).await;
        let reminder = once(number, made_for);
        desk.create(&[&reminder]).await;
        assert_eq!(puts_off(&desk, made_for).await.ended, [StateKind::Waiting]);
        // By the time the person may be disturbed again, the clock shows an earlier time than that of the run.
        let freed = made_for - 50;
        if number == 1 {
            assert_eq!(put(&desk, ann(), freed).await, [at(made_for)]);
        } else {
            let wakes = desk.store.delete_user("ann", "ann".into(), at(freed)).await.expect("the store works");
            assert_eq!(wakes, Some(vec![at(made_for)]));
        }
        assert_eq!(desk.states(reminder.id).await, [(StateKind::Waiting, made_for)]);
        assert_eq!(desk.claim(made_for - 1).await.n_taken, 0, "it is not due yet");
        let claimed = desk.claim_one(made_for).await;
        assert_eq!(claimed.wake_at, at(made_for));
        desk.settle(&claimed, taken(), made_for).await;
    }
}
