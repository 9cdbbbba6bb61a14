//! Stretches of time in which some reminders are not sent.

use std::slice::from_ref;

use punctual_core::change::Change;
use punctual_core::group::{Group, Mode};
use punctual_core::id::SilenceId;
use punctual_core::occurrence::{State, StateKind, Why};
use punctual_core::reminder::{Priority, Reminder};
use punctual_core::silence::{SILENCES_OF_USER_MAX, Silence};
use punctual_core::store::{JournalQuery, Released, SilenceQuery, Start};
use punctual_core::user::User;

use super::desk::{Desk, asking, at, every, failed, once, run, taken};

rules!(
    silences_are_kept_until_they_end,
    a_silence_holds_user_group_and_tag,
    a_silence_begins_and_ends_when_it_says,
    a_silence_that_is_ended_lets_go,
    a_silence_that_is_ended_lets_nothing_else_go,
    one_who_leaves_a_silent_group_is_told,
    one_who_leaves_a_group_that_is_not_silent_waits_on,
    a_series_stands_still_in_a_silence,
    a_retry_and_a_question_wait_for_the_end_of_a_silence,
    a_reminder_that_is_fired_is_sent_in_a_silence,
    of_a_pause_and_a_silence_the_last_end_counts,
    a_reminder_that_loses_its_tag_is_silent_no_more,
    silences_and_groups_are_in_the_journal,
    one_user_leaves_room_for_the_silences_of_others,
);

pub(super) fn silence(number: u8, from: i64, until: i64) -> Silence {
    Silence {
        id: SilenceId::new(at(0), [number; 10]),
        user: None,
        group: None,
        tag: None,
        from: at(from),
        until: at(until),
        created_at: at(0),
        created_by: "ann".into(),
    }
}

fn of_user(number: u8, user: &str, from: i64, until: i64) -> Silence {
    Silence { user: Some(user.into()), ..silence(number, from, until) }
}

fn of_tag(number: u8, tag: &str, from: i64, until: i64) -> Silence {
    Silence { tag: Some(tag.into()), ..silence(number, from, until) }
}

fn of_group(number: u8, group: &str, from: i64, until: i64) -> Silence {
    Silence { group: Some(group.into()), ..silence(number, from, until) }
}

fn group(name: &str, users: &[&str]) -> Group {
    let users = users.iter().map(|user| (*user).to_owned()).collect();
    Group { name: name.into(), mode: Mode::InOrder, users, rota: None, shifts: vec![], created_at: at(0), updated_at: at(0) }
}

fn tagged(tags: &[&str], reminder: Reminder) -> Reminder {
    Reminder { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..reminder }
}

fn of(user: &str, reminder: Reminder) -> Reminder {
    Reminder { user: user.into(), ..reminder }
}

async fn put(desk: &Desk, silences: &[Silence]) {
    for silence in silences {
        assert!(desk.store.put_silence(silence.clone(), "ann".into()).await.expect("the store works"), "there is room");
    }
}

async fn end(desk: &Desk, silence: &Silence, now: i64) -> Option<Released> {
    desk.store.end_silence(silence.id, None, "ann".into(), at(now)).await.expect("the store works")
}

/// Sends everything that is due until `now`; returns the numbers of these reminders.
async fn sent(desk: &Desk, all: &[Reminder], now: i64) -> Vec<usize> {
    let claims = desk.claim(now).await;
    let place = |id| all.iter().position(|reminder| reminder.id == id).expect("one of them");
    let mut sent = Vec::new();
    for claimed in &claims.to_send {
        desk.settle(claimed, taken(), now).await;
        sent.push(place(claimed.before.id.reminder));
    }
    sent.sort_unstable();
    sent
}

async fn silences_are_kept_until_they_end(desk: Desk) {
    let (anns, chores) = (of_user(1, "ann", 10, 20), of_tag(2, "chores", 30, 40));
    let both = Silence { user: Some("bob".into()), ..of_tag(3, "chores", 5, 50) };
    put(&desk, &[both.clone(), anns.clone(), chores.clone()]).await;
    let all = SilenceQuery { user: None, tag: None, id: None, after: None, now: at(0), limit: 10 };
    let list = async |query: SilenceQuery| desk.store.silences(query).await.expect("the store works");
    assert_eq!(list(all.clone()).await, [anns.clone(), chores.clone(), both.clone()]);
    assert_eq!(list(SilenceQuery { limit: 1, ..all.clone() }).await, from_ref(&anns));
    assert_eq!(list(SilenceQuery { after: Some(anns.id), limit: 1, ..all.clone() }).await, from_ref(&chores));
    assert_eq!(list(SilenceQuery { user: Some("bob".into()), ..all.clone() }).await, from_ref(&both));
    let about_chores = SilenceQuery { tag: Some("chores".into()), ..all.clone() };
    assert_eq!(list(about_chores).await, [chores.clone(), both.clone()]);
    assert_eq!(list(SilenceQuery { id: Some(chores.id), ..all.clone() }).await, from_ref(&chores));
    assert_eq!(list(SilenceQuery { now: at(20), ..all.clone() }).await, [chores.clone(), both.clone()]);
    assert_eq!(end(&desk, &chores, 35).await, Some(Released::default()));
    assert_eq!(end(&desk, &chores, 35).await, None);
    assert_eq!(list(all.clone()).await, [anns, both]);
    desk.store.prune(at(21), 100).await.expect("the store works");
    assert_eq!(list(all).await.len(), 1, "one that is long over is forgotten");
}

async fn a_silence_holds_user_group_and_tag(desk: Desk) {
    desk.store.put_group(group("on-call", &["bob", "eve"]), "ann".into()).await.expect("the store works");
    let all = [
        once(1, 100),                                              // 0
        of("bob", once(2, 100)),                                   // 1
        of("carl", once(3, 100)),                                  // 2
        tagged(&["chores", "home"], of("carl", once(4, 100))),     // 3
        tagged(&["home"], of("carl", once(5, 100))),               // 4
        tagged(&["home"], of("dan", once(6, 100))),                // 5
        tagged(&["night"], of("fay", once(7, 100))),               // 6
        Reminder { priority: Priority::Critical, ..once(8, 100) }, // 7
    ];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    put(
        &desk,
        &[
            of_user(1, "ann", 50, 200),
            of_group(2, "on-call", 50, 200),
            of_tag(3, "chores", 50, 200),
            Silence { user: Some("dan".into()), ..of_tag(4, "home", 50, 200) },
            Silence { group: Some("on-call".into()), ..of_tag(5, "night", 50, 200) },
            of_group(6, "nobody", 50, 200),
        ],
    )
    .await;
    assert_eq!(sent(&desk, &all, 100).await, [2, 4, 6]);
    let waits = State::Waiting { why: Why::Silenced, from: at(100) };
    for held in [0, 1, 3, 5, 7] {
        let trail = desk.trail(run(&all[held], 1)).await;
        assert_eq!((trail.occurrence.state, trail.occurrence.due_at), (waits.clone(), at(200)), "number {held}");
        assert_eq!(desk.kinds(all[held].id).await, ["created", "waiting"]);
    }
    assert_eq!(sent(&desk, &all, 200).await, [0, 1, 3, 5, 7], "at the end they are sent");
}

async fn a_silence_begins_and_ends_when_it_says(desk: Desk) {
    let all = [once(1, 99), once(2, 100), once(3, 199), once(4, 200)];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    put(&desk, &[of_user(1, "ann", 100, 200)]).await;
    assert_eq!(sent(&desk, &all, 99).await, [0]);
    assert!(sent(&desk, &all, 100).await.is_empty());
    assert_eq!(desk.states(all[1].id).await, [(StateKind::Waiting, 200)]);
    // A claim a little ahead puts off what is due before the end, and takes what is due at the end.
    let ahead = desk.claim_between(198, 150, 200, 100).await;
    let mut taken: Vec<_> = ahead.to_send.iter().map(|claimed| claimed.before.id).collect();
    taken.sort();
    assert_eq!(taken, [run(&all[1], 1), run(&all[3], 1)]);
    assert_eq!(desk.states(all[2].id).await, [(StateKind::Waiting, 200)]);
}

async fn a_silence_that_is_ended_lets_go(desk: Desk) {
    desk.store.put_group(group("family", &["zoe", "ann"]), "ann".into()).await.expect("the store works");
    let chores = of_tag(1, "chores", 50, 900);
    for (second, silence) in [
        (100, chores.clone()),
        (200, of_user(2, "ann", 50, 900)),
        (300, of_group(3, "family", 50, 900)),
        (400, Silence { user: Some("ann".into()), ..chores }),
    ] {
        let held = tagged(&["chores"], once(second as u8, second));
        desk.create(&[&held]).await;
        put(&desk, from_ref(&silence)).await;
        assert!(desk.claim(second).await.to_send.is_empty());
        assert_eq!(desk.states(held.id).await, [(StateKind::Waiting, 900)]);
        let released = end(&desk, &silence, second + 10).await.expect("it is there");
        assert_eq!(released, Released { wakes: vec![at(second + 10)], more_after: None });
        assert_eq!(desk.deliver(second + 10).await.before.id, run(&held, 1));
    }
}

async fn a_silence_that_is_ended_lets_nothing_else_go(desk: Desk) {
    let (mine, bobs) = (once(1, 100), tagged(&["chores"], of("bob", once(2, 100))));
    desk.create(&[&mine, &bobs]).await;
    let (anns, chores, also) = (of_user(1, "ann", 50, 900), of_tag(2, "chores", 50, 900), of_user(3, "ann", 50, 800));
    put(&desk, &[anns.clone(), chores, also]).await;
    assert!(desk.claim(100).await.to_send.is_empty());
    let released = end(&desk, &anns, 110).await.expect("it is there");
    assert_eq!(released.wakes, [at(110)]);
    assert!(desk.claim(110).await.to_send.is_empty(), "another silence holds it");
    assert_eq!(desk.states(mine.id).await, [(StateKind::Waiting, 800)]);
    assert_eq!(desk.states(bobs.id).await, [(StateKind::Waiting, 900)]);
}

async fn one_who_leaves_a_silent_group_is_told(desk: Desk) {
    let put_group = async |users: &[&str], now: i64| {
        let changed = Group { updated_at: at(now), ..group("on-call", users) };
        desk.store.put_group(changed, "ann".into()).await.expect("the store works")
    };
    assert_eq!(put_group(&["bob", "eve", "dan"], 0).await, []);
    let all = [of("bob", once(1, 100)), of("eve", once(2, 100)), of("dan", once(3, 100))];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    put(&desk, &[of_group(1, "on-call", 50, 900)]).await;
    assert!(sent(&desk, &all, 100).await.is_empty());
    assert_eq!(put_group(&["bob", "dan"], 110).await, [at(110)]);
    assert_eq!(sent(&desk, &all, 110).await, [1]);
    let woken = desk.store.delete_group("on-call", "ann".into(), at(120)).await.expect("the store works");
    assert_eq!(woken, Some(vec![at(120), at(120)]));
    assert_eq!(sent(&desk, &all, 120).await, [0, 2]);
}

async fn one_who_leaves_a_group_that_is_not_silent_waits_on(desk: Desk) {
    let put_group = async |users: &[&str], now: i64| {
        let changed = Group { updated_at: at(now), ..group("on-call", users) };
        desk.store.put_group(changed, "ann".into()).await.expect("the store works")
    };
    put_group(&["bob", "eve"], 0).await;
    let all = [of("bob", once(1, 100)), of("eve", once(2, 100))];
    desk.create(&all.iter().collect::<Vec<_>>()).await;
    // The group was silent until a moment ago; each of them still has a silence of their own.
    put(&desk, &[of_group(1, "on-call", 50, 105), of_user(2, "bob", 50, 900), of_user(3, "eve", 50, 900)]).await;
    assert!(sent(&desk, &all, 100).await.is_empty());
    assert_eq!(put_group(&["eve"], 110).await, []);
    assert_eq!(desk.states(all[0].id).await, [(StateKind::Waiting, 900)]);
    let woken = desk.store.delete_group("on-call", "ann".into(), at(120)).await.expect("the store works");
    assert_eq!(woken, Some(vec![]));
    assert_eq!(desk.states(all[1].id).await, [(StateKind::Waiting, 900)]);
}

async fn a_series_stands_still_in_a_silence(desk: Desk) {
    let series = every(1, 100);
    desk.create(&[&series]).await;
    put(&desk, &[of_user(1, "ann", 50, 350)]).await;
    assert!(desk.claim(100).await.to_send.is_empty());
    assert_eq!(desk.states(series.id).await, [(StateKind::Waiting, 350)]);
    assert!(desk.claim(300).await.to_send.is_empty());
    desk.deliver(350).await;
    assert_eq!(desk.states(series.id).await, [(StateKind::Delivered, 350), (StateKind::Scheduled, 400)]);
}

async fn a_retry_and_a_question_wait_for_the_end_of_a_silence(desk: Desk) {
    let (retried, asked) = (once(1, 100), asking(once(2, 200), 3));
    desk.create(&[&retried, &asked]).await;
    let claimed = desk.claim_one(100).await;
    desk.settle(&claimed, failed(), 100).await;
    put(&desk, &[of_user(1, "ann", 150, 190), of_user(2, "ann", 220, 500)]).await;
    assert!(desk.claim(160).await.to_send.is_empty());
    let waits = desk.trail(run(&retried, 1)).await.occurrence.state;
    assert_eq!((waits.waits_for(), waits.wake_at(at(100))), (Some(Why::Silenced), Some(at(190))));
    desk.deliver(190).await;
    desk.deliver(200).await;
    assert!(desk.claim(260).await.to_send.is_empty());
    let question = desk.trail(run(&asked, 1)).await.occurrence.state;
    let waits_for = Some(Why::Silenced);
    assert_eq!(question, State::AwaitingAck { delivered_at: at(200), ask_again_at: at(500), waits_for });
    desk.change(asked.id, Change::Ack, 270).await;
    assert_eq!(desk.states(asked.id).await, [(StateKind::Completed, 200)], "it can be answered meanwhile");
}

async fn a_reminder_that_is_fired_is_sent_in_a_silence(desk: Desk) {
    let reminder = once(1, 900);
    desk.create(&[&reminder]).await;
    put(&desk, &[of_user(1, "ann", 50, 500)]).await;
    desk.change(reminder.id, Change::Fire, 100).await;
    desk.deliver(100).await;
}

async fn of_a_pause_and_a_silence_the_last_end_counts(desk: Desk) {
    let user = |id: &str, paused_until| User {
        id: id.into(),
        timezone: None,
        language: None,
        addresses: Vec::new(),
        quiet_hours: None,
        paused_until: Some(at(paused_until)),
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: at(0),
        updated_at: at(0),
    };
    for (id, paused_until) in [("ann", 300), ("bob", 100)] {
        desk.store.put_user(user(id, paused_until), "ann".into()).await.expect("the store works");
    }
    let (anns, bobs) = (once(1, 50), of("bob", once(2, 50)));
    desk.create(&[&anns, &bobs]).await;
    put(&desk, &[of_user(1, "ann", 0, 200), of_user(2, "bob", 0, 200)]).await;
    assert!(desk.claim(50).await.to_send.is_empty());
    let why = async |reminder| desk.trail(run(reminder, 1)).await.occurrence.state.waits_for();
    assert_eq!((why(&anns).await, desk.states(anns.id).await[0].1), (Some(Why::Paused), 300));
    assert_eq!((why(&bobs).await, desk.states(bobs.id).await[0].1), (Some(Why::Silenced), 200));
}

async fn a_reminder_that_loses_its_tag_is_silent_no_more(desk: Desk) {
    let reminder = tagged(&["chores"], once(1, 100));
    desk.create(&[&reminder]).await;
    put(&desk, &[of_tag(1, "chores", 50, 900)]).await;
    assert!(desk.claim(100).await.to_send.is_empty());
    let patch = punctual_core::change::Patch { tags: Some(Vec::new()), ..Default::default() };
    let changed = desk.change(reminder.id, Change::Update(Box::new(patch)), 110).await;
    assert_eq!(changed.wakes, [at(110)]);
    desk.deliver(110).await;
}

async fn silences_and_groups_are_in_the_journal(desk: Desk) {
    desk.store.put_group(group("family", &["zoe"]), "ann".into()).await.expect("the store works");
    let chores = Silence { user: Some("zoe".into()), ..of_tag(1, "chores", 50, 900) };
    put(&desk, from_ref(&chores)).await;
    end(&desk, &chores, 60).await.expect("it is there");
    desk.store.delete_group("family", "ann".into(), at(70)).await.expect("the store works");
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 100)).await;
    let kinds: Vec<(&str, Option<&str>)> =
        page.entries.iter().map(|entry| (entry.kind.as_str(), entry.user.as_deref())).collect();
    let expected = [
        ("group.changed", None),
        ("silence.created", Some("zoe")),
        ("silence.deleted", Some("zoe")),
        ("group.changed", None),
    ];
    assert_eq!(kinds, expected);
}

async fn one_user_leaves_room_for_the_silences_of_others(desk: Desk) {
    let one = |number: usize, user: &str, until: i64| {
        let id = SilenceId::new(at(0), [number as u8; 10]);
        Silence { id, ..of_user(0, user, 0, until) }
    };
    let put = async |silence: Silence| desk.store.put_silence(silence, "ann".into()).await.expect("the store works");
    for number in 1..SILENCES_OF_USER_MAX {
        assert!(put(one(number, "ann", 100)).await, "{number}");
    }
    assert!(put(Silence { created_at: at(-60), ..one(150, "ann", -30) }).await, "one that has ended takes no room");
    assert!(put(one(151, "ann", 100)).await && !put(one(152, "ann", 100)).await);
    assert!(put(one(153, "bob", 100)).await && put(of_tag(154, "chores", 0, 100)).await);
}
