//! The things that people see who look at their day, or who look after a server.

use std::time::Duration;

use punctual_core::change::Change;
use punctual_core::model::lateness::Stretch;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Reminder, ReminderStatus};
use punctual_core::store::{About, Beat, HowMany, DuePlace, Follows, ReminderQuery, RunsPage, RunsQuery, StatusFilter};

use super::desk::{Desk, asking, at, every, failed, once, run};

rules!(
    a_day_has_one_users_runs_by_their_due_instants,
    a_day_is_read_page_by_page_in_both_directions,
    a_day_can_be_narrowed_to_some_states,
    runs_that_wait_for_an_answer_are_found_wherever_they_are,
    a_run_of_a_day_has_its_trail_and_its_reminder,
    reminders_are_counted_as_they_are_listed,
    a_stretch_is_written_over_what_the_same_run_of_its_node_wrote,
    stretches_are_read_by_their_begin_and_forgotten_when_they_are_old,
    nodes_are_known_by_what_they_say_of_themselves,
    a_database_says_what_it_is,
);

fn of(user: &str, message: &str, reminder: Reminder) -> Reminder {
    Reminder { user: user.into(), message: message.into(), ..reminder }
}

fn all_of(user: &str) -> RunsQuery {
    RunsQuery {
        user: user.into(),
        from: None,
        to: None,
        states: Vec::new(),
        newest_first: false,
        after: None,
        limit: 100,
    }
}

async fn page(desk: &Desk, query: RunsQuery) -> RunsPage {
    desk.store.runs(query).await.expect("the store works")
}

/// The messages of a page's runs.
async fn messages(desk: &Desk, query: RunsQuery) -> Vec<String> {
    page(desk, query).await.runs.into_iter().map(|run| run.reminder.reminder.message).collect()
}

async fn a_day_has_one_users_runs_by_their_due_instants(desk: Desk) {
    let all = [
        of("ann", "third", once(1, 30)),
        of("bob", "not hers", once(2, 15)),
        of("ann", "first", once(3, 10)),
        of("ann", "second", every(4, 20)),
    ];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    assert_eq!(messages(&desk, all_of("ann")).await, ["first", "second", "third"]);
    assert_eq!(messages(&desk, RunsQuery { newest_first: true, ..all_of("ann") }).await, ["third", "second", "first"]);
    let between = RunsQuery { from: Some(at(10)), to: Some(at(30)), ..all_of("ann") };
    assert_eq!(messages(&desk, between).await, ["first", "second"], "the end of a stretch is not part of it");
    assert_eq!(messages(&desk, RunsQuery { from: Some(at(11)), ..all_of("ann") }).await, ["second", "third"]);
    assert_eq!(messages(&desk, all_of("eve")).await, Vec::<String>::new());

    // A run that has ended stays in its place, and the next run of a series comes after it.
    desk.deliver(10).await;
    let claims = desk.claim(20).await;
    let series = claims.to_send.iter().find(|claimed| claimed.reminder.message == "second").expect("it is due");
    desk.settle(series, super::desk::taken(), 20).await;
    let third = RunsQuery { from: Some(at(0)), to: Some(at(40)), ..all_of("ann") };
    assert_eq!(messages(&desk, third).await, ["first", "second", "third"]);
    assert_eq!(messages(&desk, RunsQuery { from: Some(at(40)), ..all_of("ann") }).await, ["second"]);
}

async fn a_day_is_read_page_by_page_in_both_directions(desk: Desk) {
    // Several are due at the same instant, and others' runs stand between them.
    let all: Vec<Reminder> = (0..24)
        .map(|n| {
            let user = if n % 3 == 2 { "bob" } else { "ann" };
            of(user, &n.to_string(), once(n, 10 + i64::from(n / 6)))
        })
        .collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let mut expected: Vec<DuePlace> =
        all.iter().filter(|r| r.user == "ann").map(|r| (at(10 + r.message.parse::<i64>().expect("a number") / 6), run(r, 1))).collect();
    expected.sort_unstable();
    for newest_first in [false, true] {
        for limit in [1, 3, 15, 16, 17] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = page(&desk, RunsQuery { newest_first, after, limit, ..all_of("ann") }).await;
                assert!(page.runs.len() <= limit);
                found.extend(page.runs.iter().map(|run| (run.trail.occurrence.due_at, run.trail.occurrence.id)));
                match page.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{limit} at a time, newest first: {newest_first}");
        }
        expected.reverse();
    }
}

async fn a_day_can_be_narrowed_to_some_states(desk: Desk) {
    let sent = of("ann", "sent", once(1, 10));
    let failing = of("ann", "failed", Reminder { retries_max: 0, ..once(2, 20) });
    let (cancelled, waiting) = (of("ann", "cancelled", once(3, 30)), of("ann", "to come", once(4, 40)));
    desk.create(&[&sent, &failing, &cancelled, &waiting]).await;
    desk.deliver(10).await;
    let claimed = desk.claim_one(20).await;
    desk.settle(&claimed, failed(), 20).await;
    desk.change(cancelled.id, Change::Cancel, 25).await;
    let only = |states: &[StateKind]| RunsQuery { states: states.to_vec(), ..all_of("ann") };
    assert_eq!(messages(&desk, only(&[StateKind::Delivered])).await, ["sent"]);
    assert_eq!(messages(&desk, only(&[StateKind::Failed, StateKind::Delivered])).await, ["sent", "failed"]);
    assert_eq!(messages(&desk, only(&[StateKind::Scheduled])).await, ["to come"]);
    assert_eq!(messages(&desk, only(&[StateKind::Missed])).await, Vec::<String>::new());
    let first = page(&desk, RunsQuery { limit: 1, ..only(&[StateKind::Cancelled, StateKind::Scheduled]) }).await;
    assert_eq!(first.runs[0].reminder.reminder.message, "cancelled");
    let rest = RunsQuery { after: first.next, ..only(&[StateKind::Cancelled, StateKind::Scheduled]) };
    assert_eq!(messages(&desk, rest).await, ["to come"]);
}

async fn runs_that_wait_for_an_answer_are_found_wherever_they_are(desk: Desk) {
    let waits: Vec<Reminder> =
        (1..=3).map(|n| of("ann", &n.to_string(), asking(once(n, 10 * i64::from(n)), 3))).collect();
    let (bobs, later) = (of("bob", "not hers", asking(once(7, 31), 3)), of("ann", "later", asking(once(8, 900), 3)));
    let mut all: Vec<&Reminder> = waits.iter().collect();
    all.extend([&bobs, &later]);
    desk.create(&all).await;
    for second in [10, 20, 30, 31] {
        desk.deliver(second).await;
    }
    let awaiting = || RunsQuery { states: vec![StateKind::AwaitingAck], ..all_of("ann") };
    assert_eq!(messages(&desk, awaiting()).await, ["1", "2", "3"]);
    assert_eq!(messages(&desk, RunsQuery { from: Some(at(20)), ..awaiting() }).await, ["2", "3"]);
    let first = page(&desk, RunsQuery { newest_first: true, limit: 2, ..awaiting() }).await;
    assert_eq!(first.next, Some((at(20), run(&waits[1], 1))));
    let rest = RunsQuery { newest_first: true, after: first.next, ..awaiting() };
    assert_eq!(messages(&desk, rest).await, ["1"]);

    desk.change(waits[0].id, Change::Ack, 40).await;
    desk.change(waits[1].id, Change::Snooze { until: at(500) }, 40).await;
    assert_eq!(messages(&desk, awaiting()).await, ["3"], "an answered run waits no more, and a snoozed one for its time");
}

async fn a_run_of_a_day_has_its_trail_and_its_reminder(desk: Desk) {
    let tea = of("ann", "tea", asking(once(1, 10), 3));
    desk.create(&[&tea]).await;
    let claimed = desk.claim_one(10).await;
    desk.settle(&claimed, super::desk::taken(), 12).await;
    desk.change(tea.id, Change::Ack, 40).await;
    let found = page(&desk, all_of("ann")).await.runs.remove(0);
    assert_eq!(found.trail, desk.trail(run(&tea, 1)).await);
    assert_eq!((found.trail.attempts.len(), found.trail.responses.len()), (1, 1));
    assert_eq!(found.reminder, desk.view(tea.id).await);
    assert_eq!(found.trail.late().map(|late| late.as_secs()), Some(2), "the send began two seconds after the instant");
}

async fn reminders_are_counted_as_they_are_listed(desk: Desk) {
    let mut all: Vec<Reminder> = (1..=5).map(|n| of("ann", &n.to_string(), once(n, 10 * i64::from(n)))).collect();
    all[1].tags = vec!["health".into()];
    all.push(of("bob", "not hers", Reminder { tags: vec!["health".into()], ..once(9, 15) }));
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    desk.change(all[4].id, Change::Cancel, 1).await;
    let ann = || ReminderQuery { user: Some("ann".into()), limit: 1, ..ReminderQuery::default() };
    let cancelled = Some(StatusFilter::Is(ReminderStatus::Cancelled));
    for (query, expect) in [
        (ReminderQuery::default(), 6),
        (ann(), 5),
        (ReminderQuery { before: Some(all[2].id), ..ann() }, 5),
        (ReminderQuery { status: cancelled, ..ann() }, 1),
        (ReminderQuery { tag: Some("health".into()), ..ReminderQuery::default() }, 2),
        (ReminderQuery { tag: Some("health".into()), ..ann() }, 1),
        (ReminderQuery { from: Some(at(20)), to: Some(at(40)), ..ann() }, 2),
        (ReminderQuery { matching: Some("3".into()), ..ann() }, 1),
        (ReminderQuery { user: Some("eve".into()), ..ann() }, 0),
    ] {
        let counted = desk.store.count(query.clone()).await.expect("the store works");
        assert_eq!(counted, HowMany { n: expect, is_all: true }, "{query:?}");
    }
}

/// What `node`, which was started at second `since`, has sent in the stretch that begins at `second`: messages that were so late, in milliseconds.
fn stretch(second: i64, node: &str, since: i64, late: &[u64]) -> Stretch {
    let mut stretch = Stretch::new(at(second), node.into(), at(since));
    late.iter().for_each(|late| stretch.late.add(Duration::from_millis(*late)));
    Stretch { failed: 1, given_up: 2, waiting: 3, ..stretch }
}

async fn a_stretch_is_written_over_what_the_same_run_of_its_node_wrote(desk: Desk) {
    let put = async |stretches: &[&Stretch]| {
        let stretches = stretches.iter().map(|stretch| (*stretch).clone()).collect();
        desk.store.put_lateness(stretches).await.expect("the store works");
    };
    let (first, later) = (stretch(0, "a", 0, &[1]), stretch(0, "a", 0, &[1, 700, 70_000]));
    let (restarted, other) = (stretch(0, "a", 100, &[2]), stretch(0, "b", 0, &[3]));
    put(&[&first, &other]).await;
    put(&[&later]).await;
    put(&[&restarted]).await;
    put(&[]).await;
    let found = desk.store.lateness(at(0), at(1)).await.expect("the store works");
    assert_eq!(found, [later, restarted, other], "by node, and by when it was started");
}

async fn stretches_are_read_by_their_begin_and_forgotten_when_they_are_old(desk: Desk) {
    let all: Vec<Stretch> = (0..4).map(|n| stretch(300 * n, "a", 0, &[])).collect();
    desk.store.put_lateness(all.clone()).await.expect("the store works");
    let read = async |from, to| desk.store.lateness(at(from), at(to)).await.expect("the store works");
    assert_eq!(read(300, 900).await, all[1..3], "the end is not part of it");
    desk.store.prune_lateness(at(600)).await.expect("the store works");
    assert_eq!(read(0, 10_000).await, all[2..]);
}

async fn nodes_are_known_by_what_they_say_of_themselves(desk: Desk) {
    let about = About {
        version: Some("1.2.3".into()),
        clock_offset_micros: Some(-40),
        in_flight: Some(7),
        waiting: Some(0),
        hears: Some(true),
    };
    let beat = |node: &str, about: About| {
        desk.store.beat(Beat { node: node.into(), echo: None, shared: String::new(), follows: Follows::No, about })
    };
    if beat("b", About::default()).await.expect("the store works").is_none() {
        assert_eq!(desk.store.nodes().await.expect("the store works"), None, "no other node can use it");
        return;
    }
    beat("a", about.clone()).await.expect("the store works");
    let known = desk.store.nodes().await.expect("the store works").expect("nodes can share it");
    let names: Vec<_> = known.nodes.iter().map(|node| (node.name.as_str(), node.is_alive)).collect();
    assert_eq!(names, [("a", true), ("b", true)]);
    assert_eq!((&known.nodes[0].about, &known.nodes[1].about), (&about, &About::default()));
    assert!(known.nodes.iter().all(|node| node.since <= node.seen_at && node.seen_at <= known.now), "{known:?}");
    desk.store.leave("b").await.expect("the store works");
    let known = desk.store.nodes().await.expect("the store works").expect("nodes can share it");
    assert_eq!(known.nodes.len(), 1, "a node that has left is not there");
}

async fn a_database_says_what_it_is(desk: Desk) {
    let database = desk.store.database().await.expect("the store works");
    assert!(["SQLite", "PostgreSQL", "memory"].contains(&database.kind), "{database:?}");
    if database.kind != "memory" {
        assert!(database.bytes > 10_000 && database.schema > 0 && database.version.contains('.'), "{database:?}");
    }
}
