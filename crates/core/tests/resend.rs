//! Which runs that failed are sent again, and as what.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::said::{check, written};
use common::{asked, at, every, occurrence, once, reminder};
use punctual_core::change::{Besides, Change, Loaded, Resend, changed};
use punctual_core::occurrence::{Attempt, AttemptStatus, Occurrence, State, StateKind, Tries};
use punctual_core::reminder::{OnUnknown, Reminder, ReminderStatus};
use punctual_core::rules::course::{Progress, Series, Tally};
use punctual_core::store::By;

/// A reminder whose first run, due at second 0, has failed after attempts that ended so.
fn failed(reminder: Reminder, attempts: &[AttemptStatus]) -> Loaded {
    let attempt = |(number, status): (u32, &AttemptStatus)| Attempt {
        number,
        channel: "webhook".into(),
        address: "https://a.example".into(),
        status: *status,
        started_at: at(0),
        ended_at: Some(at(1)),
        error: None,
        message_id: None,
        key: None,
    };
    let attempts: Vec<Attempt> = (1..).zip(attempts).map(attempt).collect();
    let n_attempts = attempts.len() as u32;
    let tries = Tries { attempts: n_attempts, rounds: 3, position: 1, refused: 0b1, ..Tries::default() };
    let state = State::Failed { at: at(9), error: "engaged".into() };
    let run = Occurrence { state, tries, ..occurrence(&reminder, 1, at(0)) };
    let is_over = !reminder.schedule.is_recurring();
    let carried_by = (!is_over).then_some(2);
    let series = Series { last_run: if is_over { 1 } else { 2 }, carried_by, planned: if is_over { 1 } else { 2 } };
    let last_status = Some(StateKind::Failed);
    let tally = Tally { last_run_at: Some(at(9)), last_status, total_runs: 1, consecutive_errors: 1 };
    let next = (!is_over).then(|| occurrence(&reminder, 2, at(100_000)));
    let status = if is_over { ReminderStatus::Completed } else { ReminderStatus::Active };
    Loaded {
        reminder: Reminder { status, ..reminder },
        progress: Progress { series, tally },
        open: next.into_iter().collect(),
        last_ended: Some(run),
        has_kin: false,
        family: vec![],
        besides: Besides::Attempts(attempts),
    }
}

fn resend(loaded: Loaded, resend: Resend) -> Result<Vec<String>, String> {
    let sent = changed(loaded, &Change::Resend(resend), &By::new("ann", at(50)));
    sent.map(|(_, writes)| written(&writes)).map_err(|refused| refused.to_string())
}

#[test]
fn a_run_that_failed_begins_its_tries_anew_and_keeps_its_name() {
    let single = failed(reminder(once()), &[AttemptStatus::Failed; 4]);
    check(
        "a single reminder",
        "resend",
        &resend(single, Resend::default()).unwrap(),
        &[
            "run 1 due 0: retry at 50 (engaged); attempts 4; at once",
            "priority of open runs: normal",
            "reminder active: carried by none, last run 1, 1 planned; 0 counted, 0 errors, last pending_retry at 9; changed at 50",
            "entry: reminder.changed run 1 {did:resend} by ann",
            "look at 50",
        ],
    );
    let series = failed(reminder(every(100_000)), &[AttemptStatus::Failed]);
    check(
        "a series",
        "resend",
        &resend(series, Resend { run: Some(1), ..Resend::default() }).unwrap(),
        &[
            "run 1 due 0: retry at 50 (engaged); attempts 1; at once",
            "priority of open runs: normal",
            "reminder active: carried by 2, last run 2, 2 planned; 0 counted, 0 errors, last pending_retry at 9; changed at 50",
            "entry: reminder.changed run 1 {did:resend} by ann",
            "look at 50",
        ],
    );
}

#[test]
fn a_run_that_may_have_arrived_is_sent_again_only_if_asked() {
    let cut_off = [AttemptStatus::Failed, AttemptStatus::Unknown];
    let holding: Arc<BTreeSet<String>> = Arc::new(["webhook".to_owned()].into());
    for (on_unknown, holds_by_default, is_sent) in [
        (OnUnknown::Resend, true, true),
        (OnUnknown::Auto, false, true),
        (OnUnknown::Auto, true, false),
        (OnUnknown::Hold, false, false),
    ] {
        let loaded = || failed(Reminder { on_unknown, ..reminder(once()) }, &cut_off);
        let holding = if holds_by_default { holding.clone() } else { Arc::default() };
        let plain = resend(loaded(), Resend { holding: holding.clone(), ..Resend::default() });
        assert_eq!(plain.is_ok(), is_sent, "{on_unknown} {holds_by_default}: {plain:?}");
        assert!(plain.is_ok() || plain.unwrap_err().contains("may have arrived"));
        assert!(resend(loaded(), Resend { held: true, holding, ..Resend::default() }).is_ok());
        // Only an attempt that was cut off may have arrived.
        let refused = failed(Reminder { on_unknown, ..reminder(once()) }, &[AttemptStatus::Refused]);
        assert!(resend(refused, Resend { holding: Arc::new(["webhook".into()].into()), ..Resend::default() }).is_ok());
    }
}

#[test]
fn only_a_run_that_failed_is_sent_again() {
    let refused = |change: &dyn Fn(&mut Loaded), run: Option<u32>| {
        let mut loaded = failed(reminder(once()), &[AttemptStatus::Failed]);
        change(&mut loaded);
        resend(loaded, Resend { run, ..Resend::default() }).unwrap_err()
    };
    let delivered = |loaded: &mut Loaded| loaded.last_ended.as_mut().unwrap().state = State::Delivered { at: at(1) };
    assert_eq!(refused(&delivered, None), "run 1 is delivered; only a run that failed is sent again");
    let open = |loaded: &mut Loaded| {
        let mut run = loaded.last_ended.take().unwrap();
        run.state = asked(at(0), at(600));
        loaded.open.push(run);
    };
    assert_eq!(refused(&open, Some(1)), "run 1 has not ended; only a run that failed is sent again");
    assert_eq!(refused(&open, None), "no run of it has failed");
    let with = |status| move |loaded: &mut Loaded| loaded.reminder.status = status;
    assert_eq!(refused(&with(ReminderStatus::Cancelled), None), "it is cancelled");
    assert_eq!(refused(&with(ReminderStatus::Paused), None), "it is paused; resume it first");
    let others = |loaded: &mut Loaded| loaded.reminder.escalates = Some(loaded.last_ended.as_ref().unwrap().id);
    assert_eq!(refused(&others, None), "it asked in another's place, and that is over");
}
