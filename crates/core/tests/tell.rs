//! Which admins are told of a run of a critical reminder, and what is written for it, one row a case.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

mod common;

use common::said::{check, second, written};
use common::{asked, at, occurrence, once, reminder, retrying, user};
use punctual_core::alert::{News, Unreadable, VIA};
use punctual_core::decide::tell::{Newsworthy, People, alerts_about, told};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::reminder::{Priority, Reminder};
use punctual_core::user::User;

fn critical() -> Reminder {
    Reminder { priority: Priority::Critical, ..reminder(once()) }
}

fn run(news: News, reminder: Reminder) -> Newsworthy {
    let state = match news {
        News::Trouble => retrying(at(70), "500"),
        News::Recovered => State::Delivered { at: at(60) },
        News::Ended => State::Failed { at: at(60), error: "500".into() },
        News::Escalated { .. } => asked(at(0), at(600)),
    };
    let occurrence = Occurrence { state, ..occurrence(&reminder, 1, at(0)) };
    Newsworthy { news, reminder, occurrence, attempts: Vec::new(), escalate: Vec::new(), waiting: Vec::new() }
}

fn unreadable(priority: Priority) -> Unreadable {
    let reminder = critical();
    Unreadable {
        id: occurrence(&reminder, 1, at(0)).id,
        user: reminder.user,
        message: reminder.message,
        priority,
        created_via: reminder.created_via,
        due_at: at(0),
        error: "no such state".into(),
    }
}

fn admin(id: &str) -> User {
    User { admin: true, ..user(id) }
}

fn paused(id: &str) -> User {
    User { paused_until: Some(at(7200)), ..admin(id) }
}

fn told_to(admins: &[User]) -> People {
    People { admins: admins.to_vec(), ..People::default() }
}

/// The ids of the alerts that tell `admins` of `news`.
fn ids(news: News, admins: &[User]) -> Vec<ReminderId> {
    let (writes, _) = told(alerts_about(&[run(news, critical())], &[], &told_to(admins), at(60)), &[], at(60));
    writes.created.iter().map(|new| new.reminder.id).collect()
}

/// A row: its name, the runs that there is news of, the admins, the alerts that are there already, and who is told.
type Row<'a> = (&'a str, Vec<Newsworthy>, &'a [User], &'a [ReminderId], &'a [&'a str]);

#[test]
fn who_is_told() {
    use News::{Ended, Recovered, Trouble};
    let (root, ops) = (admin("root"), admin("ops"));
    let both = [root.clone(), ops.clone()];
    let of = |news| vec![run(news, critical())];
    let is = |change: fn(&mut Reminder)| {
        let mut reminder = critical();
        change(&mut reminder);
        vec![run(Ended, reminder)]
    };
    let trouble_of_root = ids(Trouble, std::slice::from_ref(&root));
    let trouble_of_nobody = ids(Trouble, &[]);
    let ended_of_root = ids(Ended, std::slice::from_ref(&root));
    let create = |user: &str| format!("create for {user}, due 60");
    let rows: [Row<'_>; 13] = [
        ("trouble: every admin", of(Trouble), &both, &[], &["root", "ops"]),
        ("trouble: each admin once, however often it is decided", of(Trouble), &both, &trouble_of_root, &["ops"]),
        ("got through: nobody who was not told of trouble", of(Recovered), &both, &[], &[]),
        ("got through: whoever was told of trouble", of(Recovered), &both, &trouble_of_root, &["root"]),
        (
            "got through: also where the trouble was told when there was no admin",
            of(Recovered),
            &both,
            &trouble_of_nobody,
            &["admin"],
        ),
        ("ended: every admin, told of trouble or not", of(Ended), &both, &trouble_of_root, &["root", "ops"]),
        ("ended: each admin once", of(Ended), &both, &ended_of_root, &["ops"]),
        ("there is no admin: whoever the default channel reaches", of(Ended), &[], &[], &["admin"]),
        ("an admin who asked for silence is spared", of(Ended), &[root.clone(), paused("ops")], &[], &["root"]),
        ("unless all of them did", of(Ended), &[paused("root"), paused("ops")], &[], &["root", "ops"]),
        ("nobody, of a run that is not critical", is(|reminder| reminder.priority = Priority::High), &both, &[], &[]),
        (
            "nobody, of an alert: that would never end",
            is(|reminder| reminder.created_via = VIA.into()),
            &both,
            &[],
            &[],
        ),
        ("nobody, of a critical run that got through at once", vec![], &both, &[], &[]),
    ];
    for (name, runs, admins, there, expect) in rows {
        let (writes, planned) = told(alerts_about(&runs, &[], &told_to(admins), at(60)), there, at(60));
        let mut lines: Vec<String> = expect.iter().map(|user| create(user)).collect();
        if !expect.is_empty() {
            let news = match runs[0].news {
                Trouble => "trouble",
                Recovered => "recovered",
                Ended | News::Escalated { .. } => "failed",
            };
            lines.push(format!("entry: reminder.alerted run 1 {{news:{news},to:[{}]}}", expect.join(",")));
            lines.extend(expect.iter().map(|user| format!("entry: reminder.created of {user}")));
            lines.extend(expect.iter().map(|_| "look at 60".to_owned()));
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        check(name, "written", &written(&writes), &lines);
        let planned: Vec<(&str, String)> = planned.iter().map(|next| (next.user.as_str(), second(next.at))).collect();
        let expect: Vec<(&str, String)> = expect.iter().map(|user| (*user, "60".to_owned())).collect();
        assert_eq!(planned, expect, "{name}");
    }
}

#[test]
fn an_unreadable_run_is_told_of_as_far_as_it_can_be_read() {
    let root = [admin("root")];
    let say = |priority| told(alerts_about(&[], &[unreadable(priority)], &told_to(&root), at(60)), &[], at(60)).0;
    let writes = say(Priority::Critical);
    let expect = [
        "create for root, due 60",
        "entry: reminder.alerted run 1 {news:failed,to:[root]}",
        "entry: reminder.created of root",
        "look at 60",
    ];
    check("critical", "written", &written(&writes), &expect);
    let message = &writes.created[0].reminder.message;
    assert!(message.contains("water the plants") && message.contains("no such state"), "{message}");
    check("not critical", "written", &written(&say(Priority::High)), &[]);
}

#[test]
fn a_store_looks_for_every_alert_that_decides_what_is_written() {
    let root = [admin("root")];
    let trouble = ids(News::Trouble, &root);
    let looked_for = |news| alerts_about(&[run(news, critical())], &[], &told_to(&root), at(60)).looked_for();
    assert_eq!(looked_for(News::Trouble), trouble);
    let recovered = looked_for(News::Recovered);
    assert!(recovered.contains(&trouble[0]), "it is told only after trouble was");
    // For root and for whoever is told when there is no admin, each with what it follows.
    assert_eq!(recovered.len(), 4);
}
