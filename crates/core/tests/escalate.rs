//! Who is asked when a person does not answer, when, and in which words, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use std::time::Duration;

use common::said::{check, second, written};
use common::{asked, at, occurrence, once, reminder, user};
use punctual_core::alert::News;
use punctual_core::decide::tell::{Newsworthy, People, alerts_about, groups_of, people_of, told};
use punctual_core::escalate::VIA;
use punctual_core::group::{Group, Mode};
use punctual_core::journal::Kind;
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::reminder::{AckPolicy, Priority, Reminder};
use punctual_core::step::Step;
use punctual_core::user::User;
use punctual_core::zone::Zone;

fn step(seconds: u64, to: &str) -> Step {
    Step { after: Duration::from_secs(seconds), to: to.parse().unwrap() }
}

fn group(name: &str, mode: Mode, users: &[&str]) -> Group {
    let users = users.iter().map(|user| (*user).to_owned()).collect();
    Group { name: name.into(), mode, users, rota: None, shifts: vec![], created_at: at(0), updated_at: at(0) }
}

/// A run of alice's that was due at second 0 and has this plan; an answer is waited for `timeout` seconds, twice.
fn silent(escalate: Vec<Step>, timeout: u64) -> Newsworthy {
    let ack = AckPolicy { prompt: Some("Done?".into()), timeout: Duration::from_secs(timeout), reminders_max: 1 };
    let first = escalate.first().map_or(0, |step| step.after.as_secs() as i64);
    let reminder = Reminder { ack: Some(ack), escalate, ..reminder(once()) };
    let occurrence = Occurrence { state: asked(at(0), at(60)), ..occurrence(&reminder, 1, at(0)) };
    let news = News::Escalated { at: at(first) };
    Newsworthy { news, reminder, occurrence, attempts: Vec::new(), escalate: Vec::new(), waiting: Vec::new() }
}

/// The same that failed, which is heard of at second 30.
fn failed(run: Newsworthy) -> Newsworthy {
    let state = State::Failed { at: at(30), error: "500".into() };
    let occurrence = Occurrence { state, ..run.occurrence };
    Newsworthy { news: News::Escalated { at: at(30) }, occurrence, ..run }
}

fn people(groups: Vec<Group>) -> People {
    People { groups, ..People::default() }
}

/// A row: its name, the run, the groups that there are, who is asked when, and until when the run is open.
type Row<'a> = (&'a str, Newsworthy, Vec<Group>, &'a [&'a str], i64);

#[test]
fn who_is_asked_and_when() {
    let oc = |mode, users: &[&str]| vec![group("oc", mode, users)];
    let two = || vec![step(300, "bob"), step(900, "group:oc")];
    let own_plan = |run: Newsworthy| Newsworthy { escalate: vec![step(60, "eve")], ..run };
    let rows: [Row<'_>; 11] = [
        ("one", silent(vec![step(300, "bob")], 600), vec![], &["300 bob"], 1500),
        (
            "a group in order: each when the one before has not answered",
            silent(two(), 600),
            oc(Mode::InOrder, &["eve", "dan"]),
            &["300 bob", "900 eve", "1500 dan"],
            2700,
        ),
        (
            "all of a group at once",
            silent(vec![step(300, "group:oc")], 600),
            oc(Mode::All, &["bob", "eve"]),
            &["300 bob", "300 eve"],
            1500,
        ),
        (
            "each once, and no gap where they would have stood",
            silent(two(), 600),
            oc(Mode::InOrder, &["bob", "eve"]),
            &["300 bob", "900 eve"],
            2100,
        ),
        ("never the owner", silent(vec![step(300, "alice"), step(540, "bob")], 60), vec![], &["540 bob"], 660),
        ("a group that there is not", silent(vec![step(300, "group:gone")], 60), vec![], &[], 0),
        (
            "the person's own plan",
            Newsworthy { news: News::Escalated { at: at(60) }, ..own_plan(silent(vec![], 60)) },
            vec![],
            &["60 eve"],
            180,
        ),
        ("the reminder's plan comes first", own_plan(silent(vec![step(300, "bob")], 60)), vec![], &["300 bob"], 420),
        (
            "of a run that failed the first is asked at once, the others at their distance",
            failed(silent(two(), 600)),
            oc(Mode::All, &["eve"]),
            &["30 bob", "630 eve"],
            1830,
        ),
        (
            "of a run that failed, also where the first of the plan is its owner",
            failed(silent(vec![step(300, "alice"), step(540, "bob")], 60)),
            vec![],
            &["30 bob"],
            150,
        ),
        (
            "who put it off has a reminder already",
            Newsworthy { waiting: vec!["bob".into()], ..silent(two(), 600) },
            oc(Mode::InOrder, &["eve"]),
            &["900 eve"],
            2100,
        ),
    ];
    for (name, run, groups, expect, until) in rows {
        let runs = [run];
        let (writes, planned) = told(alerts_about(&runs, &[], &people(groups.clone()), at(300)), &[], at(300));
        let asked = writes.created.iter().map(|new| format!("{} {}", second(new.first_due_at), new.reminder.user));
        check(name, "asked", &asked.collect::<Vec<_>>(), expect);
        let ends: Vec<String> = writes.occurrences.iter().map(common::said::occurrence).collect();
        let is_open = ends.first().map(|line| line.contains(&format!("escalated until {until}")));
        assert_eq!(is_open, (until > 0).then_some(true), "{name}: {ends:?}");
        assert_eq!(planned.len(), expect.len(), "{name}");
        assert_eq!((writes.entries[0].kind, writes.entries[0].run), (Kind::Escalated, Some(1)), "{name}");
        let named = groups_of(&runs);
        assert!(groups.iter().all(|group| named.contains(&group.name)), "{name}: {named:?}");
        let loaded = people_of(&runs, &groups);
        let asked = writes.created.iter().map(|new| &new.reminder.user);
        assert!(asked.clone().all(|user| loaded.contains(user)), "{name}: {loaded:?}");
    }
}

#[test]
fn it_is_made_once_however_often_it_is_decided() {
    let runs = [silent(vec![step(300, "bob"), step(300, "eve")], 60)];
    let make = |there: &[_]| told(alerts_about(&runs, &[], &people(vec![]), at(300)), there, at(300));
    let first: Vec<_> = make(&[]).0.created.iter().map(|new| new.reminder.id).collect();
    assert_eq!(alerts_about(&runs, &[], &people(vec![]), at(300)).looked_for(), first);
    let again = make(&first[..1]).0;
    assert_eq!(again.created.iter().map(|new| new.reminder.id).collect::<Vec<_>>(), first[1..]);
    // After a snooze or a pause its plan begins anew, and they are asked again.
    let mut later = runs;
    later[0].news = News::Escalated { at: at(1200) };
    assert!(alerts_about(&later, &[], &people(vec![]), at(1200)).looked_for().iter().all(|id| !first.contains(id)));
}

#[test]
fn a_run_stays_open_for_who_has_put_it_off() {
    let runs = [Newsworthy { waiting: vec!["bob".into()], ..silent(vec![step(300, "bob")], 600) }];
    let (writes, _) = told(alerts_about(&runs, &[], &people(vec![]), at(300)), &[], at(300));
    check(
        "bob has a reminder already",
        "written",
        &written(&writes),
        &["run 1 due 0: asked at 0, again at 60; escalated until 1500"],
    );
}

#[test]
fn the_journal_names_the_people_and_what_is_missing() {
    let runs = [silent(vec![step(300, "bob"), step(900, "group:gone")], 60)];
    let (writes, _) = told(alerts_about(&runs, &[], &people(vec![]), at(300)), &[], at(300));
    let id = writes.created[0].reminder.id;
    let to = format!("[{{user:bob,due_at:2027-01-15T08:05:00Z,reminder_id:{id}}}]");
    check(
        "bob, and a group that there is not",
        "written",
        &written(&writes),
        &[
            "create for bob, due 300",
            "run 1 due 0: asked at 0, again at 60; escalated until 420",
            &format!("entry: reminder.escalated run 1 {{why:unanswered,to:{to},unknown:[group:gone]}}"),
            "entry: reminder.created of bob",
            "look at 300",
        ],
    );
}

#[test]
fn a_person_is_asked_in_their_own_language_and_zone_by_their_own_addresses() {
    let bob =
        User { language: Some("de".into()), timezone: Some(Zone::named("Europe/Berlin").unwrap()), ..user("bob") };
    let mut run = silent(vec![step(300, "bob"), step(90_000, "eve")], 60);
    run.reminder.priority = Priority::High;
    run.reminder.name = Some("plants".into());
    let runs = [run];
    let known = People { users: vec![bob], ..People::default() };
    let (writes, _) = told(alerts_about(&runs, &[], &known, at(300)), &[], at(300));
    let [bob, eve] = &writes.created[..] else { panic!("{writes:?}") };
    assert_eq!(bob.reminder.message, "alice hat nicht geantwortet: „water the plants“ (fällig 09:00)");
    assert_eq!(bob.reminder.timezone.name(), "Europe/Berlin");
    assert_eq!(eve.reminder.message, "alice has not answered: \"water the plants\" (due 2027-01-15 08:00)");
    for new in [bob, eve] {
        let made = &new.reminder;
        assert_eq!((made.escalates, made.created_via.as_str()), (Some(runs[0].occurrence.id), VIA));
        assert_eq!((&made.to, made.only, &made.escalate), (&vec![], false, &vec![]));
        assert_eq!((&made.ack, made.priority), (&runs[0].reminder.ack, Priority::High));
        assert_eq!(made.metadata.to_value()["about"]["occurrence_id"], runs[0].occurrence.id.to_string());
        made.validate().unwrap();
    }
    let broken = [failed(silent(vec![step(300, "eve")], 60))];
    let (writes, _) = told(alerts_about(&broken, &[], &People::default(), at(30)), &[], at(30));
    assert_eq!(writes.created[0].reminder.message, "alice could not be reached: \"water the plants\" (due 08:00)");
}
