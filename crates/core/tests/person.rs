//! What changes for a person's open runs when the person changes, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::time::Duration;

use common::said::{check, written};
use common::{asked, at, occurrence, once, processing, reminder, retrying, user};
use punctual_core::decide::person::{Before, Difference, OpenRun, person_changed};
use punctual_core::occurrence::{Occurrence, State, Tries, Why};
use punctual_core::reminder::Address;
use punctual_core::user::{Except, QuietHours, User};
use punctual_core::zone::Zone;

#[test]
fn what_is_different_about_a_person() {
    let alice = || user("alice");
    let known = |user: User| Before::Known(Box::new(user));
    let reached = || User { addresses: vec![Address::new("web", "a")], ..alice() };
    let hours = QuietHours {
        from: "22:00".parse().unwrap(),
        to: "07:00".parse().unwrap(),
        except: Except::Critical,
        digest: false,
    };
    let rows = [
        ("nothing", known(reached()), reached(), false, false),
        ("a name in another language", known(alice()), User { language: Some("de".into()), ..alice() }, false, false),
        ("whether they are an admin", known(alice()), User { admin: true, ..alice() }, false, false),
        ("another address", known(alice()), reached(), true, false),
        ("an address less", known(reached()), alice(), true, false),
        ("quiet hours", known(alice()), User { quiet_hours: Some(hours), ..alice() }, false, true),
        (
            "a digest at their end",
            known(User { quiet_hours: Some(hours), ..alice() }),
            User { quiet_hours: Some(QuietHours { digest: true, ..hours }), ..alice() },
            false,
            true,
        ),
        ("a pause", known(alice()), User { paused_until: Some(at(60)), ..alice() }, false, true),
        (
            "another zone",
            known(alice()),
            User { timezone: Some(Zone::named("Asia/Tokyo").unwrap()), ..alice() },
            false,
            true,
        ),
        ("a first entry without addresses", Before::Unknown, alice(), false, false),
        ("a first entry with addresses", Before::Unknown, reached(), true, false),
        ("an entry that could not be read", Before::Unreadable, alice(), true, true),
    ];
    for (name, before, after, addresses, times) in rows {
        let difference = Difference::between(&before, &after);
        assert_eq!(difference, Difference { addresses, times }, "{name}");
        assert_eq!(difference.is_none(), !addresses && !times, "{name}");
    }
}

const ADDRESSES: Difference = Difference { addresses: true, times: false };
const TIMES: Difference = Difference { addresses: false, times: true };

/// An open run, due at second 60, that has refused addresses behind it.
fn refused(state: State) -> Occurrence {
    let tries = Tries { attempts: 2, position: 1, refused: 0b1, ..Tries::default() };
    Occurrence { state, tries, ..occurrence(&reminder(once()), 1, at(60)) }
}

/// A run that was made for `from` and waits for the end of `why` at second 3600.
fn waiting(why: Why, from: i64) -> Occurrence {
    let run = occurrence(&reminder(once()), 1, at(from));
    Occurrence { due_at: at(3600), state: State::Waiting { why, from: at(from) }, ..run }
}

/// The change happens at second 600.
#[test]
fn what_becomes_of_an_open_run() {
    let retry = |waits_for| State::PendingRetry { retry_at: at(3600), error: "500".into(), waits_for };
    let question = |waits_for| State::AwaitingAck { delivered_at: at(60), ask_again_at: at(3600), waits_for };
    let of = |state| Occurrence { state, ..occurrence(&reminder(once()), 1, at(60)) };
    let sending = || processing(7, at(615), &Address::new("web", "a"));
    let snoozed_then_quiet = Occurrence { made_for: at(60), ..waiting(Why::Quiet, 1800) };
    let early = Occurrence { state: State::Waiting { why: Why::Quiet, from: at(60) }, ..waiting(Why::Quiet, 900) };
    let rows: [(&str, Difference, Occurrence, &[&str]); 17] = [
        (
            "other times: a run that waits is looked at now",
            TIMES,
            waiting(Why::Quiet, 60),
            &["run 1 due 600 (made for 60): waiting (quiet) from 60", "look at 600"],
        ),
        (
            "other times: so is one that waits for the end of a pause",
            TIMES,
            waiting(Why::Paused, 60),
            &["run 1 due 600 (made for 60): waiting (paused) from 60", "look at 600"],
        ),
        (
            "other times: a run that was put off ahead of its instant is due at that instant",
            TIMES,
            waiting(Why::Quiet, 900),
            &["run 1 due 900: waiting (quiet) from 900", "look at 900"],
        ),
        (
            "other times: a run that was snoozed before it waited is due when the snooze ends",
            TIMES,
            snoozed_then_quiet,
            &["run 1 due 1800 (made for 60): waiting (quiet) from 1800", "look at 1800"],
        ),
        (
            "other times: no run is due before the instant it was made for",
            TIMES,
            early,
            &["run 1 due 900: waiting (quiet) from 60", "look at 900"],
        ),
        (
            "other times: a retry that waits is tried now",
            TIMES,
            of(retry(Some(Why::Quiet))),
            &["run 1 due 60: retry at 600 (500)", "look at 600"],
        ),
        ("other times: a retry that waits for its delay goes on waiting", TIMES, of(retry(None)), &[]),
        (
            "other times: a question that waits is asked again when its time has come",
            TIMES,
            of(question(Some(Why::Quiet))),
            &["run 1 due 60: asked at 60, again at 1260", "look at 1260"],
        ),
        ("other times: a question whose time has not come goes on waiting", TIMES, of(question(None)), &[]),
        ("other times: a run that is scheduled finds out when its moment comes", TIMES, of(State::Scheduled), &[]),
        ("other times: which addresses refused stays known", TIMES, refused(State::Scheduled), &[]),
        (
            "other addresses: which of them refused is forgotten",
            ADDRESSES,
            refused(retrying(at(700), "500")),
            &["run 1 due 60: retry at 700 (500); attempts 2", "look at 700"],
        ),
        ("other addresses: a run that has tried none is left alone", ADDRESSES, of(State::Scheduled), &[]),
        ("other addresses: a run that waits goes on waiting", ADDRESSES, waiting(Why::Quiet, 60), &[]),
        (
            "other addresses: a run that is being sent goes on at the old one, and its node keeps it",
            ADDRESSES,
            refused(sending()),
            &[
                "run 1 due 60: processing, lease 7 until 615, to web:a since 0, readdressed; attempts 2; position 1; refused 0b1",
            ],
        ),
        (
            "other addresses: a question keeps its time",
            ADDRESSES,
            refused(asked(at(60), at(660))),
            &["run 1 due 60: asked at 60, again at 660; attempts 2", "look at 660"],
        ),
        (
            "both: a retry that waits is tried now, at the first address",
            Difference::REMOVED,
            refused(retry(Some(Why::Paused))),
            &["run 1 due 60: retry at 600 (500); attempts 2", "look at 600"],
        ),
    ];
    for (name, difference, occurrence, expect) in rows {
        let open = OpenRun { occurrence, ack_timeout: Some(Duration::from_secs(1200)), only: false };
        check(name, "written", &written(&person_changed(vec![open], "alice", difference, None, at(600))), expect);
    }
}

#[test]
fn a_run_for_its_reminders_own_addresses_remembers_them_and_is_looked_at_when_its_moment_comes() {
    let sent = processing(7, at(615), &Address::new("web", "a"));
    for (state, expect) in [(retrying(at(700), "500"), &["look at 700"] as &[_]), (sent, &[])] {
        let open = OpenRun { occurrence: refused(state), ack_timeout: None, only: true };
        let writes = person_changed(vec![open], "alice", ADDRESSES, None, at(600));
        check("a claim may have stepped around it", "written", &written(&writes), expect);
    }
}
