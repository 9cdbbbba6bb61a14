//! Finding what is there.

use punctual_core::alarm::NextRun;
use punctual_core::change::{Change, Patch};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{Address, Metadata, Priority, Reminder, ReminderStatus};
use punctual_core::shard::Shards;
use punctual_core::store::{ImportedQuery, ImportedRun, ReminderQuery, StatusFilter, Upcoming, UpcomingQuery};

use super::desk::{Desk, LEASE, at, every, failed, once};

rules!(
    a_list_is_newest_first_and_comes_in_pages,
    pages_show_everything_once_while_others_write,
    a_list_can_be_narrowed,
    what_is_no_end_of_an_id_matches_no_id,
    tags_are_found_in_order_and_follow_a_change,
    a_list_can_be_narrowed_to_those_whose_last_run_failed,
    a_list_can_be_narrowed_to_a_channel,
    a_view_counts_what_its_runs_led_to,
    a_view_says_until_when_a_run_is_snoozed,
    runs_come_in_pages,
    reminders_that_are_there_are_found_among_many_ids,
    imported_reminders_are_listed_by_their_source_with_their_sends,
    upcoming_moments_are_in_order_and_within_the_asked_span,
    coming_runs_are_read_page_by_page,
);

async fn ids(desk: &Desk, query: ReminderQuery) -> Vec<ReminderId> {
    let query = ReminderQuery { limit: if query.limit == 0 { 100 } else { query.limit }, ..query };
    let views = desk.store.reminders(query).await.expect("the store works");
    views.into_iter().map(|view| view.reminder.id).collect()
}

async fn a_list_is_newest_first_and_comes_in_pages(desk: Desk) {
    let all: Vec<Reminder> = (1..=5).map(|number| once(number, 10)).collect();
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    let newest_first: Vec<_> = all.iter().rev().map(|reminder| reminder.id).collect();
    assert_eq!(ids(&desk, ReminderQuery::default()).await, newest_first);
    let page = ids(&desk, ReminderQuery { limit: 2, ..ReminderQuery::default() }).await;
    assert_eq!(page, newest_first[..2]);
    let next = ids(&desk, ReminderQuery { limit: 2, before: page.last().copied(), ..ReminderQuery::default() }).await;
    assert_eq!(next, newest_first[2..4]);
}

async fn pages_show_everything_once_while_others_write(desk: Desk) {
    for (first, status) in [(1_u8, None), (97, Some(StatusFilter::Is(ReminderStatus::Active)))] {
        let all: Vec<Reminder> = (first..first + 9).map(|number| tagged(&[&format!("list{first}")], once(number, 900))).collect();
        desk.create(&all.iter().collect::<Vec<_>>()).await;
        let of_page = |before| ReminderQuery { tag: Some(format!("list{first}")), status, limit: 2, before, ..ReminderQuery::default() };
        let (mut seen, mut before) = (Vec::new(), None);
        for n_page in 0..20 {
            let page = ids(&desk, of_page(before)).await;
            let Some(last) = page.last().copied() else { break };
            seen.extend(page);
            before = Some(last);
            match n_page {
                // New reminders stand before the first page.
                0 => desk.create(&[&tagged(&[&format!("list{first}")], once(first + 9, 900))]).await,
                // The last item of the page that was just read is cancelled, and so is one that is still to come.
                1 => {
                    desk.change(last, Change::Cancel, 1).await;
                    desk.change(all[1].id, Change::Cancel, 1).await;
                }
                2 => drop(desk.change(all[0].id, Change::Pause, 1).await),
                _ => {}
            }
        }
        let newest_first = all.iter().rev().map(|reminder| reminder.id);
        // A list of what is active leaves out what was cancelled or paused before its page was read.
        let is_left = |id: &ReminderId| status.is_none() || (*id != all[0].id && *id != all[1].id);
        assert_eq!(seen, newest_first.filter(is_left).collect::<Vec<_>>(), "{status:?}");
    }
}

fn tagged(tags: &[&str], reminder: Reminder) -> Reminder {
    Reminder { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..reminder }
}

async fn a_list_can_be_narrowed(desk: Desk) {
    let ann = Reminder { name: Some("plants".into()), ..once(1, 10) };
    let bob = Reminder { user: "bob".into(), ..once(2, 500) };
    let paused = once(3, 20);
    desk.create(&[&ann, &bob, &paused]).await;
    desk.change(paused.id, Change::Pause, 1).await;
    let all = ReminderQuery::default;
    for (query, expected) in [
        (ReminderQuery { user: Some("ann".into()), ..all() }, vec![paused.id, ann.id]),
        (ReminderQuery { status: Some(StatusFilter::Is(ReminderStatus::Paused)), ..all() }, vec![paused.id]),
        (ReminderQuery { from: Some(at(10)), to: Some(at(500)), ..all() }, vec![ann.id]),
        (ReminderQuery { from: Some(at(500)), ..all() }, vec![bob.id]),
        (ReminderQuery { matching: Some("plants".into()), ..all() }, vec![ann.id]),
        (ReminderQuery { matching: Some(bob.id.short()), ..all() }, vec![bob.id]),
        (ReminderQuery { matching: Some(bob.id.to_string().to_uppercase()), ..all() }, vec![bob.id]),
        (ReminderQuery { matching: Some(bob.id.to_string()[30..].into()), ..all() }, vec![bob.id]),
        (ReminderQuery { matching: Some(format!("0{}", bob.id)), ..all() }, vec![]),
        (ReminderQuery { matching: Some("plant%".into()), ..all() }, vec![]),
        (ReminderQuery { user: Some("bob".into()), matching: Some("plants".into()), ..all() }, vec![]),
    ] {
        assert_eq!(ids(&desk, query.clone()).await, expected, "{query:?}");
    }
}

async fn what_is_no_end_of_an_id_matches_no_id(desk: Desk) {
    desk.create(&[&once(1, 10)]).await;
    for text in ["%", "_", "0%", "%%", "-", "--", "", "*", ".", " ", "\\", "0_"] {
        let query = ReminderQuery { matching: Some(text.into()), ..ReminderQuery::default() };
        assert_eq!(ids(&desk, query).await, [], "{text:?}");
    }
    let percent = Reminder { message: "%".into(), ..once(2, 10) };
    desk.create(&[&percent]).await;
    let query = ReminderQuery { matching: Some("%".into()), ..ReminderQuery::default() };
    assert_eq!(ids(&desk, query).await, [percent.id], "a message is compared as it is");
}

async fn tags_are_found_in_order_and_follow_a_change(desk: Desk) {
    let (first, second) = (tagged(&["chores"], once(1, 10)), tagged(&["chores", "home"], once(2, 10)));
    let bobs = Reminder { user: "bob".into(), ..tagged(&["chores"], once(4, 10)) };
    desk.create(&[&first, &second, &once(3, 10), &bobs]).await;
    let of = |tag: &str| ReminderQuery { tag: Some(tag.into()), ..ReminderQuery::default() };
    assert_eq!(ids(&desk, of("chores")).await, [bobs.id, second.id, first.id]);
    assert_eq!(ids(&desk, of("chore")).await, []);
    assert_eq!(ids(&desk, ReminderQuery { user: Some("ann".into()), ..of("chores") }).await, [second.id, first.id]);
    let page = ReminderQuery { limit: 1, before: Some(bobs.id), ..of("chores") };
    assert_eq!(ids(&desk, page.clone()).await, [second.id]);
    let next = ReminderQuery { before: Some(second.id), user: Some("ann".into()), ..page };
    assert_eq!(ids(&desk, next).await, [first.id]);

    let retag = |tags: &[&str]| {
        let tags = Some(tags.iter().map(|tag| (*tag).to_owned()).collect());
        Change::Update(Box::new(Patch { tags, ..Patch::default() }))
    };
    desk.change(second.id, retag(&["garden", "home"]), 1).await;
    assert_eq!(desk.view(second.id).await.reminder.tags, ["garden", "home"]);
    assert_eq!(ids(&desk, of("chores")).await, [bobs.id, first.id]);
    assert_eq!((ids(&desk, of("home")).await, ids(&desk, of("garden")).await), (vec![second.id], vec![second.id]));
    desk.change(first.id, retag(&[]), 2).await;
    assert_eq!(ids(&desk, of("chores")).await, [bobs.id]);
    desk.change(bobs.id, Change::Cancel, 3).await;
    assert_eq!(ids(&desk, of("chores")).await, [bobs.id]);
    desk.store.prune(at(100), 100).await.expect("the store works");
    assert_eq!(ids(&desk, of("chores")).await, []);
}

async fn a_list_can_be_narrowed_to_those_whose_last_run_failed(desk: Desk) {
    let quick = |reminder: Reminder| Reminder { retries_max: 0, ..reminder };
    let (single, series, fine, to_come) = (quick(once(1, 10)), quick(every(2, 20)), once(3, 30), once(4, 900));
    desk.create(&[&single, &series, &fine, &to_come]).await;
    for second in [10, 20] {
        let claimed = desk.claim_one(second).await;
        desk.settle(&claimed, failed(), second).await;
    }
    desk.deliver(30).await;
    let of =
        |status: &str| ReminderQuery { status: Some(status.parse().expect("a status")), ..ReminderQuery::default() };
    assert_eq!(ids(&desk, of("failed")).await, [series.id, single.id], "one that goes on, and one that is over");
    assert_eq!(ids(&desk, of("missed")).await, []);
    assert_eq!(ids(&desk, of("completed")).await, [fine.id, single.id]);
    let wrong = "delivered".parse::<StatusFilter>().expect_err("no status").to_string();
    assert!(wrong.ends_with("not one of active, paused, completed, cancelled, failed, missed, unanswered"), "{wrong}");
}

async fn a_list_can_be_narrowed_to_a_channel(desk: Desk) {
    let to = |channel: &str, reminder: Reminder| Reminder { to: vec![Address::new(channel, "x")], ..reminder };
    let (phone, mail) = (to("phone", once(1, 10)), to("mail", once(2, 10)));
    let tags = vec!["home".to_owned()];
    let second = Reminder { tags, ..once(3, 500) };
    let second = Reminder { to: vec![Address::new("fax", "a"), Address::new("mail", "b")], ..second };
    let theirs = Reminder { to: vec![], user: "bob".into(), ..once(4, 20) };
    desk.create(&[&phone, &mail, &second, &theirs]).await;
    let of = |channel: &str| ReminderQuery { channel: Some(channel.into()), ..ReminderQuery::default() };
    assert_eq!(ids(&desk, of("mail")).await, [second.id, mail.id]);
    assert_eq!(ids(&desk, of("phone")).await, [phone.id]);
    assert_eq!(ids(&desk, of("mai")).await, []);
    assert_eq!(ids(&desk, ReminderQuery { tag: Some("home".into()), ..of("mail") }).await, [second.id]);
    assert_eq!(ids(&desk, ReminderQuery { before: Some(second.id), ..of("mail") }).await, [mail.id]);
    assert_eq!(ids(&desk, ReminderQuery { from: Some(at(400)), ..of("mail") }).await, [second.id]);
    assert_eq!(ids(&desk, ReminderQuery { limit: 1, ..of("mail") }).await, [second.id]);
    assert_eq!(desk.store.looks_to(of("mail")).await.expect("the store works"), None, "it looks at all of them");
    // A reminder without addresses of its own goes where its last attempt went: here to the default channel.
    assert_eq!(ids(&desk, of("console")).await, []);
    for claimed in desk.claim(20).await.to_send {
        desk.settle(&claimed, failed(), 20).await;
    }
    assert_eq!(ids(&desk, of("console")).await, [theirs.id]);
    assert_eq!(ids(&desk, ReminderQuery { user: Some("ann".into()), ..of("console") }).await, []);
}

async fn a_view_says_until_when_a_run_is_snoozed(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let times = async || {
        let view = desk.view(reminder.id).await;
        (view.next_run_at, view.snoozed_until)
    };
    assert_eq!(times().await, (Some(at(100)), None));
    desk.deliver(100).await;
    desk.change(reminder.id, Change::Snooze { until: at(250) }, 110).await;
    assert_eq!(times().await, (Some(at(200)), Some(at(250))), "the series goes on meanwhile");
    desk.deliver(200).await;
    desk.deliver(250).await;
    assert_eq!(times().await, (Some(at(300)), None));
}

async fn a_view_counts_what_its_runs_led_to(desk: Desk) {
    let reminder = Reminder { retries_max: 1, ..every(1, 100) };
    desk.create(&[&reminder]).await;
    let counts = |view: punctual_core::store::ReminderView| {
        (view.last_status, view.total_runs, view.consecutive_errors, view.next_run_at)
    };
    desk.deliver(100).await;
    let view = desk.view(reminder.id).await;
    assert_eq!(view.last_run_at, Some(at(100)));
    assert_eq!(counts(view), (Some(StateKind::Delivered), 1, 0, Some(at(200))));

    let claimed = desk.claim_one(200).await;
    desk.settle(&claimed, failed(), 200).await;
    let view = counts(desk.view(reminder.id).await);
    assert_eq!(view, (Some(StateKind::PendingRetry), 1, 0, Some(at(260))), "not a run before it is over");
    let claimed = desk.claim_one(260).await;
    desk.settle(&claimed, failed(), 260).await;
    assert_eq!(counts(desk.view(reminder.id).await), (Some(StateKind::Failed), 2, 1, Some(at(300))));
    desk.deliver(300).await;
    assert_eq!(counts(desk.view(reminder.id).await), (Some(StateKind::Delivered), 3, 0, Some(at(400))));
}

async fn runs_come_in_pages(desk: Desk) {
    let reminder = every(1, 10);
    desk.create(&[&reminder]).await;
    for second in [10, 20, 30] {
        desk.deliver(second).await;
    }
    let runs =
        |trails: Vec<punctual_core::store::Trail>| trails.iter().map(|t| t.occurrence.id.run).collect::<Vec<_>>();
    assert_eq!(runs(desk.store.occurrences(reminder.id, None, 2).await.expect("the store works")), [4, 3]);
    assert_eq!(runs(desk.store.occurrences(reminder.id, Some(3), 2).await.expect("the store works")), [2, 1]);
}

async fn reminders_that_are_there_are_found_among_many_ids(desk: Desk) {
    let all: Vec<Reminder> = (0..100).map(|number| once(number, 10)).collect();
    desk.create(&all.iter().step_by(2).collect::<Vec<_>>()).await;
    let found = desk.store.existing(all.iter().map(|reminder| reminder.id).collect()).await.expect("the store works");
    let mut found: Vec<_> = found.into_iter().map(|view| (view.reminder.id, view.next_run_at)).collect();
    found.sort();
    let mut expected: Vec<_> = all.iter().step_by(2).map(|reminder| (reminder.id, Some(at(10)))).collect();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(desk.store.existing(vec![]).await.expect("the store works"), []);
}

async fn imported_reminders_are_listed_by_their_source_with_their_sends(desk: Desk) {
    let from = |source: &str, reminder: Reminder| Reminder {
        metadata: Metadata::from_stored(format!(r#"{{"imported":{{"from":"{source}","id":"1"}}}}"#)),
        ..reminder
    };
    let (series, single) = (from("bot", every(1, 100)), from("bot", once(2, 150)));
    let other = Reminder { metadata: Metadata::from_stored(r#"{"imported":"bot"}"#.into()), ..once(4, 900) };
    desk.create(&[&series, &single, &from("other", once(3, 900)), &other, &once(5, 900)]).await;
    desk.deliver(100).await;
    let claimed = desk.claim_one(150).await;
    desk.settle(&claimed, failed(), 151).await;
    desk.deliver(200).await;
    let run = |run, due, state, sent: Option<i64>| ImportedRun { run, due_at: at(due), state, sent_at: sent.map(at) };
    let series_runs = [
        run(1, 100, StateKind::Delivered, Some(100)),
        run(2, 200, StateKind::Delivered, Some(200)),
        run(3, 300, StateKind::Scheduled, None),
    ];
    let list = async |after, from, to, limit| {
        let query = ImportedQuery { source: "bot".into(), after, from: at(from), to: at(to), limit };
        let found = desk.store.imported(query).await.expect("the store works");
        found.into_iter().map(|one| (one.reminder.id, one.runs)).collect::<Vec<_>>()
    };
    let single_run = vec![run(1, 150, StateKind::PendingRetry, None)];
    assert_eq!(list(None, 0, 1000, 10).await, [(series.id, series_runs.to_vec()), (single.id, single_run.clone())]);
    assert_eq!(list(None, 200, 300, 1).await, [(series.id, vec![series_runs[1]])]);
    assert_eq!(list(Some(series.id), 0, 1000, 1).await, [(single.id, single_run)]);
}

async fn upcoming_moments_are_in_order_and_within_the_asked_span(desk: Desk) {
    let urgent = Reminder { priority: punctual_core::reminder::Priority::Critical, ..once(4, 40) };
    desk.create(&[&once(1, 30), &once(2, 10), &once(3, 20), &urgent]).await;
    let within = |from, until, limit| {
        let store = desk.store.clone();
        let window = UpcomingQuery { from: at(from), until: at(until), shards: Shards::ALL, limit };
        async move { store.upcoming(window).await.expect("the store works") }
    };
    let upcoming = |from, limit| within(from, 1000, limit);
    let instants = |seconds: &[i64]| seconds.iter().map(|second| at(*second)).collect::<Vec<_>>();
    assert_eq!(upcoming(0, 10).await, Upcoming { instants: instants(&[10, 20, 30, 40]), overdue_since: None });
    assert_eq!(upcoming(0, 2).await.instants, instants(&[10, 20]));
    assert_eq!(upcoming(25, 10).await, Upcoming { instants: instants(&[30, 40]), overdue_since: Some(at(10)) });
    assert_eq!(within(0, 30, 10).await.instants, instants(&[10, 20, 30]));
    assert_eq!(upcoming(41, 0).await, Upcoming { instants: vec![], overdue_since: Some(at(10)) });

    // A leased run must be looked at when its lease ends; a run that has ended, never.
    desk.deliver(10).await;
    let claimed = desk.claim_one(20).await;
    assert_eq!(upcoming(0, 1).await.instants, [at(30)]);
    assert_eq!(claimed.lease_until, at(20) + LEASE);
    assert_eq!(upcoming(0, 10).await.instants, [at(30), at(20) + LEASE, at(40)]);
}

async fn coming_runs_are_read_page_by_page(desk: Desk) {
    let urgent = Reminder { priority: Priority::Critical, to: Vec::new(), ..once(4, 40) };
    let to = vec![Address::new("mail", "ann"), Address::new("phone", "ann")];
    let together: Vec<_> =
        (5..=8).map(|number| Reminder { user: "bob".into(), to: to.clone(), ..once(number, 30) }).collect();
    let paused = once(9, 35);
    let mut all = vec![once(1, 10), once(2, 20), urgent.clone(), once(3, 500), paused.clone()];
    all.extend(together.iter().cloned());
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    desk.change(paused.id, Change::Pause, 1).await;
    // A run that is under way, or waits for an answer, is not to be sent.
    let _claimed = desk.claim_one(10).await;

    let mut found: Vec<NextRun> = Vec::new();
    let mut after = None;
    loop {
        let page = desk.store.coming(at(15), at(40), after, 2).await.expect("the store works");
        let Some((id, entry)) = page.last() else { break };
        after = Some((entry.at, *id));
        found.extend(page.into_iter().map(|(_, entry)| entry));
    }
    let mut expected = vec![NextRun::of(&all[1], at(20))];
    expected.extend(together.iter().map(|reminder| NextRun::of(reminder, at(30))));
    expected.push(NextRun::of(&urgent, at(40)));
    assert_eq!(found, expected);
    assert_eq!((found[1].user.as_str(), found[1].channel.as_str()), ("bob", "mail"));
    assert_eq!(found[5].channel, "", "only its user's addresses say");
    let exclusive = desk.store.coming(at(20), at(30), None, 100).await.expect("the store works");
    assert!(exclusive.iter().all(|(_, entry)| entry.at == at(30)) && exclusive.len() == 4);
}
