//! Reminders that follow an application's events.

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_core::change::{Change, Refused};
use punctual_core::event::{Event, Repeats};
use punctual_core::group::{Group, Mode};
use punctual_core::id::ReminderId;
use punctual_core::model::offset::read_list;
use punctual_core::model::series::{Changed, Instance, read_name};
use punctual_core::occurrence::{StateKind, Why};
use punctual_core::reminder::{AckPolicy, Address, Metadata, Misfire, OnUnknown, Priority, ReminderStatus};
use punctual_core::scope::{Path, Scope};
use punctual_core::store::{
    ByPlanner, ChangeError, EventQuery, EventView, JournalQuery, PlannedEvents, Put, PutEvent, PutInstance, PutScope, Start,
};
use punctual_core::zone::Zone;
use serde_json::{Value, json};

use super::desk::{Desk, at, failed, taken};

rules!(
    an_event_is_kept_with_all_its_fields,
    an_event_reminds_each_user_at_each_offset,
    the_same_again_changes_nothing,
    a_moved_event_moves_what_nobody_has_seen,
    offsets_come_from_the_nearest_scope,
    a_changed_scope_marks_what_depends_on_it_and_nothing_else,
    scopes_are_kept_and_listed,
    what_was_sent_for_the_same_start_is_not_sent_again_and_a_move_makes_it_due_anew,
    what_a_person_cancelled_is_not_made_again,
    what_is_brought_back_moves_with_its_event,
    what_is_brought_back_is_withdrawn_where_its_offset_is_gone,
    a_snoozed_reminder_gives_way_to_a_new_one_and_nothing_is_left_of_a_removed_event,
    people_who_are_no_longer_invited_hear_nothing_more,
    a_removed_event_withdraws,
    what_is_being_sent_is_left_and_looked_at_again,
    a_claim_leaves_alone_what_is_to_be_planned_and_sends_it_when_it_is,
    an_overdue_reminder_survives_the_same_event_put_again,
    an_overdue_reminder_survives_a_change_that_leaves_its_instant,
    what_was_asked_for_while_nobody_planned_is_told_late,
    many_events_are_planned_in_turns_and_none_twice,
    a_series_is_planned_a_week_ahead_and_goes_on,
    a_moved_instance_moves_alone,
    a_moved_series_keeps_its_exceptions,
    a_group_that_changes_is_planned_anew,
    an_event_of_a_calendar_is_changed_by_that_calendar_alone,
    events_are_listed_by_what_they_have,
    old_events_go_with_their_history,
    everything_has_its_entry,
);

/// A game of ann's that starts at `second`, with offsets of one hour and a quarter of an hour.
pub(super) fn game(key: &str, second: i64) -> Event {
    Event {
        key: key.into(),
        starts_at: at(second),
        ends_at: None,
        repeats: None,
        offsets: read_list("offsets", &json!([60, 15])).ok(),
        scope: None,
        users: vec!["ann".into()],
        groups: Vec::new(),
        name: None,
        message: "{title} in {minutes} min".into(),
        timezone: None,
        priority: Priority::Normal,
        to: Vec::new(),
        only: false,
        ack: None,
        escalate: Vec::new(),
        snooze_allowed: true,
        retries_max: 3,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        metadata: metadata(&json!({"title": "Chess"})),
        tags: Vec::new(),
        source: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn metadata(value: &Value) -> Metadata {
    value.as_object().map(Metadata::new).unwrap_or_default()
}

fn in_scope(event: Event, path: &str) -> Event {
    Event { scope: Some(path_of(path)), offsets: None, ..event }
}

fn path_of(path: &str) -> Path {
    path.parse().expect("a path")
}

fn repeating(event: Event, rule: &str) -> Event {
    Event { repeats: Some(Repeats::new(rule, Vec::new())), ..event }
}

fn by(now: i64) -> ByPlanner {
    ByPlanner { who: "app".into(), zone: Zone::utc(), now: at(now) }
}

async fn put(desk: &Desk, event: &Event, now: i64) -> Put {
    let put = PutEvent { event: event.clone(), keeps_instances: true };
    desk.store.put_events(vec![put], None, by(now)).await.expect("the store takes it")
}

async fn put_scope(desk: &Desk, path: &str, offsets: Value, now: i64) -> PutScope {
    let offsets = read_list("offsets", &offsets).expect("offsets");
    let scope = Scope { path: path_of(path), offsets, updated_at: at(now) };
    desk.store.put_scope(scope, "app".into()).await.expect("the store works")
}

/// Plans until nothing is left whose moment has come.
async fn plan(desk: &Desk, now: i64) -> Vec<PlannedEvents> {
    let mut all = Vec::new();
    loop {
        let planned = desk.store.plan_events(None, by(now)).await.expect("the store works");
        let is_more = planned.events.iter().any(|event| !event.is_unfinished);
        all.push(planned);
        if !is_more {
            return all;
        }
    }
}

async fn view(desk: &Desk, key: &str) -> EventView {
    desk.store.event(key).await.expect("the store works").expect("the event is there")
}

/// The seconds at which an event's slots are, each with its user and the state of its run.
async fn slots(desk: &Desk, key: &str) -> Vec<(i64, String, Option<StateKind>)> {
    let second = |due_at: Timestamp| due_at.as_second() - at(0).as_second();
    let slots = view(desk, key).await.slots;
    slots.into_iter().map(|view| (second(view.due_at), view.slot.user, view.state)).collect()
}

/// The seconds at which ann is reminded of an event.
async fn seconds(desk: &Desk, key: &str) -> Vec<i64> {
    slots(desk, key).await.into_iter().map(|(second, ..)| second).collect()
}

async fn reminders(desk: &Desk, key: &str) -> Vec<ReminderId> {
    view(desk, key).await.slots.into_iter().map(|view| view.reminder).collect()
}

/// The kinds of all entries, oldest first.
async fn kinds(desk: &Desk) -> Vec<String> {
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 1000)).await;
    page.entries.into_iter().map(|entry| entry.kind).collect()
}

async fn an_event_is_kept_with_all_its_fields(desk: Desk) {
    let event = Event {
        ends_at: Some(at(10_000)),
        repeats: Some(Repeats::new(
            "RRULE:FREQ=DAILY\nEXDATE:20231116T000000",
            [json!({"at": "20231117T000000", "cancelled": true}), json!({"at": "20231118T000000", "message": "x"})]
                .iter()
                .map(|value| punctual_core::event::Override::from_value(value).expect("an instance"))
                .collect(),
        )),
        offsets: read_list("offsets", &json!([60, "90s", -30, {"after": "end", "by": "10m"}])).ok(),
        scope: Some(path_of("guild:1/a%2Fb")),
        users: vec!["ann".into(), "bob \"b\"".into()],
        groups: vec!["oc".into()],
        name: Some("Chess".into()),
        timezone: Zone::named("Europe/Berlin").ok(),
        priority: Priority::High,
        to: vec![Address::new("web", "x")],
        only: true,
        ack: Some(AckPolicy { prompt: Some("Coming?".into()), timeout: std::time::Duration::from_secs(90), reminders_max: 2 }),
        snooze_allowed: false,
        retries_max: 7,
        on_unknown: OnUnknown::Hold,
        metadata: metadata(&json!({"title": "Chess", "n": 1})),
        tags: vec!["chess".into()],
        ..game("game:\"1\"", 9000)
    };
    put(&desk, &event, 0).await;
    let kept = view(&desk, &event.key).await;
    assert_eq!(kept.event, event);
    assert_eq!((kept.is_planned, kept.error), (true, None));
    let of = desk.view(kept.slots[0].reminder).await.reminder;
    let drafted = of.event.expect("its reminders name it");
    assert_eq!((drafted.key.as_str(), drafted.offset), (event.key.as_str(), kept.slots[0].slot.offset));
    assert_eq!((of.to, of.ack, of.tags), (event.to, event.ack, event.tags));
}

async fn an_event_reminds_each_user_at_each_offset(desk: Desk) {
    let event = Event { users: vec!["ann".into(), "bob".into()], ..game("game:1", 7200) };
    let done = put(&desk, &event, 0).await;
    assert!(done.done[0].is_new && done.planned.events[0].n_made == 4);
    let scheduled = Some(StateKind::Scheduled);
    let expect = [(3600, "ann"), (3600, "bob"), (6300, "ann"), (6300, "bob")];
    let expect: Vec<_> = expect.map(|(second, user)| (second, user.to_owned(), scheduled)).into();
    assert_eq!(slots(&desk, "game:1").await, expect);
    let said = desk.view(reminders(&desk, "game:1").await[2]).await.reminder;
    assert_eq!((said.message.as_str(), said.name.as_deref()), ("Chess in 15 min", Some("game:1")));
    assert_eq!(desk.claim(3600).await.to_send.len(), 2);
    // With addresses alone the event itself is the user.
    let to = vec![Address::new("web", "x")];
    put(&desk, &Event { users: vec![], to, ..game("game:2", 7200) }, 0).await;
    assert_eq!(slots(&desk, "game:2").await[0].1, "event:game:2");
}

async fn the_same_again_changes_nothing(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let (before, entries) = (view(&desk, "game:1").await, kinds(&desk).await);
    let done = put(&desk, &game("game:1", 7200), 60).await;
    assert_eq!((done.done[0].is_new, done.done[0].is_changed), (false, false));
    desk.store.plan_events(Some(vec!["game:1".into()]), by(61)).await.expect("the store works");
    assert_eq!((view(&desk, "game:1").await, kinds(&desk).await), (before, entries));
}

async fn a_moved_event_moves_what_nobody_has_seen(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let before = reminders(&desk, "game:1").await;
    let mut planned = put(&desk, &game("game:1", 9000), 60).await.planned;
    planned.wakes.sort_unstable();
    assert_eq!(seconds(&desk, "game:1").await, [5400, 8100]);
    assert_eq!(reminders(&desk, "game:1").await, before, "the same reminders");
    assert_eq!(planned.wakes, [at(5400), at(8100)]);
    assert!(desk.claim(5399).await.to_send.is_empty(), "nothing is sent at the old instants");
    let sent = desk.claim_one(5400).await;
    let of = sent.reminder.event.as_ref().expect("it names its event");
    assert_eq!((of.starts_at, sent.before.made_for), (at(9000), at(5400)));
}

async fn offsets_come_from_the_nearest_scope(desk: Desk) {
    put_scope(&desk, "guild:1", json!([60]), 0).await;
    put_scope(&desk, "guild:1/channel:2", json!([30, 0]), 0).await;
    for (key, path) in [("a", "guild:1/channel:2"), ("b", "guild:1/channel:3"), ("c", "guild:10")] {
        put(&desk, &in_scope(game(key, 7200), path), 0).await;
    }
    assert_eq!(seconds(&desk, "a").await, [5400, 7200]);
    assert_eq!(seconds(&desk, "b").await, [3600]);
    assert_eq!(seconds(&desk, "c").await, [0; 0]);
}

async fn a_changed_scope_marks_what_depends_on_it_and_nothing_else(desk: Desk) {
    put_scope(&desk, "guild:1", json!([60]), 0).await;
    let all = [
        in_scope(game("own", 7200), "guild:1"),
        in_scope(game("below", 7200), "guild:1/channel:2"),
        in_scope(game("other", 7200), "guild:10"),
        Event { scope: Some(path_of("guild:1")), ..game("with offsets", 7200) },
    ];
    for event in &all {
        put(&desk, event, 0).await;
    }
    assert_eq!(put_scope(&desk, "guild:1", json!([30]), 60).await, PutScope { is_new: false, n_events: 2 });
    assert!(!view(&desk, "own").await.is_planned && view(&desk, "other").await.is_planned);
    plan(&desk, 60).await;
    assert!(view(&desk, "own").await.is_planned);
    for (key, expect) in [("own", vec![5400]), ("below", vec![5400]), ("other", vec![]), ("with offsets", vec![3600, 6300])] {
        assert_eq!(seconds(&desk, key).await, expect, "{key}");
    }
    assert_eq!(desk.store.remove_scope(&path_of("guild:1"), "app".into(), at(70)).await.expect("the store works"), Some(2));
    plan(&desk, 70).await;
    assert_eq!(seconds(&desk, "below").await, [0; 0], "nobody says when any more");
    assert_eq!(desk.store.remove_scope(&path_of("guild:1"), "app".into(), at(70)).await.expect("the store works"), None);
}

async fn scopes_are_kept_and_listed(desk: Desk) {
    for path in ["b", "a/b/c", "a", "ab", "a/b"] {
        assert!(put_scope(&desk, path, json!([60, "end+10m"]), 0).await.is_new);
    }
    let paths = async |under: Option<&str>, after: Option<&str>, limit| -> Vec<String> {
        let found = desk.store.scopes(under.map(path_of), after.map(path_of), limit).await.expect("the store works");
        found.into_iter().map(|scope| scope.path.to_string()).collect()
    };
    assert_eq!(paths(None, None, 10).await, ["a", "a/b", "a/b/c", "ab", "b"]);
    assert_eq!(paths(Some("a"), None, 10).await, ["a", "a/b", "a/b/c"]);
    assert_eq!(paths(None, Some("a/b"), 2).await, ["a/b/c", "ab"]);
    let kept = desk.store.scope(&path_of("a/b")).await.expect("the store works").expect("it is there");
    assert_eq!(kept.offsets, read_list("offsets", &json!([60, "end+10m"])).expect("offsets"));
    assert_eq!(desk.store.scope(&path_of("c")).await.expect("the store works"), None);
}

async fn what_was_sent_for_the_same_start_is_not_sent_again_and_a_move_makes_it_due_anew(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    desk.deliver(3600).await;
    let changed = Event { message: "{title} soon".into(), ..game("game:1", 7200) };
    put(&desk, &changed, 3700).await;
    assert!(desk.claim(3800).await.to_send.is_empty(), "it was sent for this start");
    put(&desk, &Event { starts_at: at(10_800), ..changed.clone() }, 3900).await;
    let sent = desk.claim_one(7200).await;
    assert_eq!(sent.reminder.message, "Chess soon");
    // Back to where it was: that instant has passed.
    desk.settle(&sent, taken(), 7200).await;
    put(&desk, &changed, 7201).await;
    assert!(desk.claim(20_000).await.to_send.is_empty());
}

async fn what_a_person_cancelled_is_not_made_again(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let first = reminders(&desk, "game:1").await[0];
    desk.change(first, Change::Cancel, 10).await;
    put(&desk, &game("game:1", 9000), 20).await;
    assert_eq!(desk.status(first).await, ReminderStatus::Cancelled);
    assert_eq!(desk.claim(8000).await.to_send.len(), 0);
    assert_eq!(desk.claim(8100).await.to_send.len(), 1, "the other offset stays");
}

async fn what_is_brought_back_moves_with_its_event(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let first = reminders(&desk, "game:1").await[0];
    desk.change(first, Change::Cancel, 10).await;
    put(&desk, &Event { message: "{title} at last".into(), ..game("game:1", 9000) }, 20).await;
    desk.change(first, Change::Undo, 30).await;
    assert!(!view(&desk, "game:1").await.is_planned, "what it wants now is looked at before anything is sent");
    assert!(desk.claim(3600).await.to_send.is_empty(), "nothing is sent at the old instant");
    plan(&desk, 3600).await;
    assert_eq!(seconds(&desk, "game:1").await, [5400, 8100]);
    assert_eq!(reminders(&desk, "game:1").await[0], first, "the same reminder");
    let sent = desk.claim_one(5400).await;
    assert_eq!((sent.reminder.id, sent.reminder.message.as_str()), (first, "Chess at last"));
    // One whose event has stayed as it was is as it was.
    let other = reminders(&desk, "game:1").await[1];
    desk.change(other, Change::Cancel, 5500).await;
    desk.change(other, Change::Undo, 5510).await;
    plan(&desk, 5510).await;
    assert_eq!(desk.states(other).await, [(StateKind::Scheduled, 8100)]);
}

async fn what_is_brought_back_is_withdrawn_where_its_offset_is_gone(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let first = reminders(&desk, "game:1").await[0];
    desk.change(first, Change::Cancel, 10).await;
    put(&desk, &Event { offsets: read_list("offsets", &json!([15])).ok(), ..game("game:1", 7200) }, 20).await;
    desk.change(first, Change::Undo, 30).await;
    plan(&desk, 30).await;
    assert_eq!(desk.status(first).await, ReminderStatus::Cancelled);
    assert_eq!(seconds(&desk, "game:1").await, [6300]);
    assert!(desk.claim(6299).await.to_send.is_empty());
    // The event has it no more, so that it does not come back again; nor does one of an event that is gone.
    desk.refused(first, Change::Undo, 40).await;
    let left = reminders(&desk, "game:1").await[0];
    desk.change(left, Change::Cancel, 50).await;
    desk.store.remove_events(vec!["game:1".into()], None, by(60)).await.expect("the store works");
    desk.refused(left, Change::Undo, 70).await;
}

async fn a_snoozed_reminder_gives_way_to_a_new_one_and_nothing_is_left_of_a_removed_event(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let first = reminders(&desk, "game:1").await[0];
    desk.deliver(3600).await;
    desk.change(first, Change::Snooze { until: at(6000) }, 3610).await;
    put(&desk, &game("game:1", 10_800), 3620).await;
    assert_eq!(seconds(&desk, "game:1").await, [7200, 9900]);
    assert!(desk.claim(7199).await.to_send.is_empty(), "what was put off is told at the new time");
    let second = reminders(&desk, "game:1").await[0];
    desk.change(second, Change::Snooze { until: at(8000) }, 7199).await;
    // Nothing new lies ahead of a start that has passed: what its person has put off stays.
    put(&desk, &game("game:1", 7000), 7199).await;
    assert_eq!(desk.claim_one(8000).await.reminder.id, second);
    put(&desk, &game("game:2", 20_000), 8000).await;
    let third = reminders(&desk, "game:2").await[0];
    desk.change(third, Change::Snooze { until: at(17_000) }, 8010).await;
    put(&desk, &game("game:2", 30_000), 8020).await;
    desk.store.remove_events(vec!["game:2".into()], None, by(8030)).await.expect("the store works");
    assert_eq!(desk.status(third).await, ReminderStatus::Cancelled, "no reminder of it is left");
    let left = desk.claim(40_000).await.to_send;
    assert!(left.iter().all(|claimed| claimed.reminder.id == second), "{left:?}");
}

async fn people_who_are_no_longer_invited_hear_nothing_more(desk: Desk) {
    let ack = Some(AckPolicy { prompt: None, timeout: std::time::Duration::from_secs(60), reminders_max: 3 });
    let both = Event { ack, users: vec!["ann".into(), "bob".into()], ..game("game:1", 7200) };
    put(&desk, &both, 0).await;
    for claimed in desk.claim(3600).await.to_send {
        desk.settle(&claimed, taken(), 3600).await;
    }
    put(&desk, &Event { users: vec!["ann".into()], ..both }, 3610).await;
    let left = slots(&desk, "game:1").await;
    assert!(left.iter().all(|(_, user, _)| user == "ann"), "{left:?}");
    let asked = desk.claim(3660).await.to_send;
    let asked: Vec<&str> = asked.iter().map(|claimed| claimed.reminder.user.as_str()).collect();
    assert_eq!(asked, ["ann"], "bob's question has ended");
}

async fn a_removed_event_withdraws(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let before = reminders(&desk, "game:1").await;
    let gone = desk.store.remove_events(vec!["game:1".into(), "none".into()], None, by(10)).await.expect("the store works");
    assert_eq!(gone.done.len(), 1);
    assert_eq!(desk.store.event("game:1").await.expect("the store works"), None);
    assert_eq!(desk.status(before[0]).await, ReminderStatus::Cancelled);
    assert!(desk.claim(8000).await.to_send.is_empty());
    let again = desk.store.remove_events(vec!["game:1".into()], None, by(10)).await.expect("the store works");
    assert_eq!(again.done, []);
    // It can be put anew.
    assert!(put(&desk, &game("game:1", 9000), 20).await.done[0].is_new);
    assert_eq!(seconds(&desk, "game:1").await, [5400, 8100]);
}

async fn what_is_being_sent_is_left_and_looked_at_again(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    let sending = desk.claim_one(3600).await;
    let busy = put(&desk, &game("game:1", 10_800), 3601).await.planned;
    assert_eq!(busy.busy, [sending.reminder.id]);
    assert!(busy.events[0].is_unfinished && !view(&desk, "game:1").await.is_planned);
    // It fails: it is not tried again for a start that is no more.
    desk.settle(&sending, failed(), 3602).await;
    let left_alone = desk.claim(3700).await;
    assert_eq!((left_alone.to_send.len(), left_alone.events), (0, vec!["game:1".to_owned()]));
    plan(&desk, 3700).await;
    assert_eq!(seconds(&desk, "game:1").await, [7200, 9900]);
    assert_eq!(desk.status(sending.reminder.id).await, ReminderStatus::Cancelled);
    desk.deliver(7200).await;
    // One that was removed is gone when the send has ended.
    let sending = desk.claim_one(9900).await;
    desk.store.remove_events(vec!["game:1".into()], None, by(9901)).await.expect("the store works");
    assert_eq!(desk.store.event("game:1").await.expect("the store works"), None, "nobody sees it any more");
    desk.settle(&sending, taken(), 9902).await;
    plan(&desk, 9920).await;
    let put = put(&desk, &game("game:1", 20_000), 9930).await;
    assert!(put.done[0].is_new);
}

/// Marks all events of a scope: what an application's transaction in SQL, or a scope, leaves behind.
async fn mark(desk: &Desk, now: i64) {
    put_scope(desk, "a", json!([60, 15]), now).await;
}

async fn a_claim_leaves_alone_what_is_to_be_planned_and_sends_it_when_it_is(desk: Desk) {
    mark(&desk, 0).await;
    put(&desk, &in_scope(game("game:1", 7200), "a"), 0).await;
    put(&desk, &game("other", 7200), 0).await;
    mark(&desk, 3599).await;
    let claims = desk.claim(3600).await;
    assert_eq!(claims.to_send.len(), 1, "the other event is planned");
    assert_eq!(claims.events, ["game:1"]);
    assert_eq!(claims.wakes, [at(3601)], "in case nobody plans it");
    let id = reminders(&desk, "game:1").await[0];
    let run = desk.runs(id).await.remove(0).occurrence;
    assert_eq!((run.state.waits_for(), run.due_at), (Some(Why::Event), at(3601)));
    assert_eq!(desk.kinds(id).await, ["created"], "the journal does not tell of a moment");
    // Planned, it is as it was, and due at once.
    let planned = plan(&desk, 3600).await;
    assert!(planned[0].wakes.contains(&at(3600)), "{:?}", planned[0].wakes);
    let sent = desk.claim_one(3600).await;
    assert_eq!((sent.reminder.id, sent.before.due_at), (id, at(3600)));
}

async fn an_overdue_reminder_survives_the_same_event_put_again(desk: Desk) {
    put(&desk, &game("game:1", 7200), 0).await;
    // Nothing ran; the reminder of 3600 is a minute late when the application writes the same again, and its scope is written, too.
    put(&desk, &game("game:1", 7200), 3660).await;
    desk.store.plan_events(Some(vec!["game:1".into()]), by(3661)).await.expect("the store works");
    let sent = desk.claim_one(3662).await;
    assert_eq!(sent.before.due_at, at(3600));
}

async fn an_overdue_reminder_survives_a_change_that_leaves_its_instant(desk: Desk) {
    mark(&desk, 0).await;
    put(&desk, &in_scope(game("game:1", 7200), "a"), 0).await;
    let changed = Event { message: "{title} now".into(), ..in_scope(game("game:1", 7200), "a") };
    put(&desk, &changed, 3660).await;
    mark(&desk, 3661).await;
    plan(&desk, 3661).await;
    let sent = desk.claim_one(3662).await;
    assert_eq!((sent.before.due_at, sent.reminder.message.as_str()), (at(3600), "Chess now"));
}

async fn what_was_asked_for_while_nobody_planned_is_told_late(desk: Desk) {
    put(&desk, &in_scope(game("game:1", 7200), "a"), 0).await;
    assert_eq!(seconds(&desk, "game:1").await, [0; 0]);
    // The scope says when; the node that plans it comes ten minutes after the first instant.
    mark(&desk, 3000).await;
    mark(&desk, 3650).await;
    plan(&desk, 4200).await;
    assert_eq!(seconds(&desk, "game:1").await, [3600, 6300]);
    assert_eq!(desk.claim_one(4200).await.before.due_at, at(3600));
}

async fn many_events_are_planned_in_turns_and_none_twice(desk: Desk) {
    let events = (0..300).map(|n| PutEvent { event: game(&format!("game:{n}"), 7200), keeps_instances: true });
    let done = desk.store.put_events(events.collect(), None, by(0)).await.expect("the store takes it");
    assert_eq!((done.done.len(), done.planned.events.len()), (300, 0), "more than are planned at once");
    let rounds = plan(&desk, 0).await;
    let keys: Vec<String> = rounds.iter().flat_map(|round| &round.events).map(|event| event.key.clone()).collect();
    let once: BTreeSet<&String> = keys.iter().collect();
    assert_eq!((keys.len(), once.len()), (300, 300));
    assert!(rounds.len() > 2 && rounds.iter().all(|round| round.events.len() <= 256));
    assert_eq!(rounds.last().and_then(|round| round.next_at), None);
    assert_eq!(seconds(&desk, "game:299").await, [3600, 6300]);
}

async fn a_series_is_planned_a_week_ahead_and_goes_on(desk: Desk) {
    const DAY: i64 = 86_400;
    let daily = Event { offsets: read_list("offsets", &json!([60])).ok(), ..repeating(game("game:1", 7200), "FREQ=DAILY") };
    let done = put(&desk, &daily, 0).await;
    let first: Vec<i64> = (0..8).map(|day| 3600 + day * DAY).collect();
    assert_eq!(seconds(&desk, "game:1").await, first);
    assert_eq!(done.planned.events[0].n_made, 8);
    let again = desk.store.plan_events(None, by(10)).await.expect("the store works");
    assert!(again.events.is_empty(), "there is nothing to look at before tomorrow");
    let next_at = again.next_at.expect("it is looked at again");
    assert!(at(3600) <= next_at && next_at <= at(DAY), "{next_at}");
    desk.deliver(3600).await;
    plan(&desk, DAY).await;
    assert_eq!(seconds(&desk, "game:1").await.last(), Some(&(3600 + 8 * DAY)), "one day more");
    let sent = desk.claim_one(3600 + DAY).await;
    let of = sent.reminder.event.clone().expect("it names its event");
    assert_eq!((of.starts_at, of.instance.is_some()), (at(7200 + DAY), true));
}

/// The name of the instance of a series that begins at `second`.
fn named(second: i64) -> String {
    Zone::utc().rules().to_datetime(at(second)).strftime("%Y%m%dT%H%M%S").to_string()
}

async fn put_instance(desk: &Desk, second: i64, change: Option<Instance>, now: i64) -> Result<Put, ChangeError> {
    let change = PutInstance { at: read_name(&named(second)).expect("a name"), following: false, change };
    desk.store.put_instance("game:1", change, by(now)).await
}

async fn a_moved_instance_moves_alone(desk: Desk) {
    const DAY: i64 = 86_400;
    let daily = Event { offsets: read_list("offsets", &json!([60])).ok(), ..repeating(game("game:1", 7200), "FREQ=DAILY;COUNT=3") };
    put(&desk, &daily, 0).await;
    let before = reminders(&desk, "game:1").await;
    let moved = Changed { starts_at: Some(at(10_800 + DAY)), ..Changed::default() };
    put_instance(&desk, 7200 + DAY, Some(Instance::Changed(Box::new(moved))), 10).await.expect("there is such an instance");
    assert_eq!(seconds(&desk, "game:1").await, [3600, 7200 + DAY, 3600 + 2 * DAY]);
    assert_eq!(reminders(&desk, "game:1").await, before, "the same reminders");
    put_instance(&desk, 7200 + 2 * DAY, Some(Instance::Cancelled), 20).await.expect("there is such an instance");
    assert_eq!(seconds(&desk, "game:1").await, [3600, 7200 + DAY]);
    assert_eq!(desk.status(before[2]).await, ReminderStatus::Cancelled);
    put_instance(&desk, 7200 + 2 * DAY, None, 30).await.expect("there is such an instance");
    assert_eq!(seconds(&desk, "game:1").await.len(), 3, "it takes place again");
    let none = put_instance(&desk, 7201, None, 30).await;
    assert!(matches!(none, Err(ChangeError::Refused(Refused::Invalid(_)))), "{none:?}");
    let change = PutInstance { at: read_name(&named(0)).expect("a name"), following: false, change: None };
    let none = desk.store.put_instance("game:2", change, by(0)).await;
    assert!(matches!(none, Err(ChangeError::NotFound)), "{none:?}");
}

async fn a_moved_series_keeps_its_exceptions(desk: Desk) {
    const DAY: i64 = 86_400;
    let daily = Event { offsets: read_list("offsets", &json!([0])).ok(), ..repeating(game("game:1", 7200), "FREQ=DAILY;COUNT=3") };
    put(&desk, &daily, 0).await;
    put_instance(&desk, 7200 + DAY, Some(Instance::Cancelled), 10).await.expect("there is such an instance");
    // Half an hour later on the same days.
    put(&desk, &Event { starts_at: at(9000), ..daily.clone() }, 20).await;
    assert_eq!(seconds(&desk, "game:1").await, [9000, 9000 + 2 * DAY]);
    let done = put(&desk, &Event { repeats: Some(Repeats::new("FREQ=DAILY;COUNT=1", vec![])), ..daily }, 30).await;
    assert_eq!(done.done[0].dropped.len(), 1, "the series has no such day any more");
}

async fn a_group_that_changes_is_planned_anew(desk: Desk) {
    let group = |users: &[&str], second| Group {
        name: "o_c".into(),
        mode: Mode::All,
        users: users.iter().map(|user| (*user).to_owned()).collect(),
        rota: None,
        shifts: Vec::new(),
        created_at: at(0),
        updated_at: at(second),
    };
    desk.store.put_group(group(&["ann", "bob"], 0), "app".into()).await.expect("the store works");
    let of = |name: &str| Event { users: vec![], groups: vec![name.into()], offsets: read_list("offsets", &json!([60])).ok(), ..game("game:1", 7200) };
    put(&desk, &of("o_c"), 0).await;
    put(&desk, &Event { key: "other".into(), ..of("oxc") }, 0).await;
    let users = async |key: &str| -> Vec<String> { slots(&desk, key).await.into_iter().map(|(_, user, _)| user).collect() };
    assert_eq!(users("game:1").await, ["ann", "bob"]);
    desk.store.put_group(group(&["bob", "eve"], 60), "app".into()).await.expect("the store works");
    assert!(!view(&desk, "game:1").await.is_planned && view(&desk, "other").await.is_planned);
    plan(&desk, 60).await;
    assert_eq!(users("game:1").await, ["bob", "eve"]);
    desk.store.delete_group("o_c", "app".into(), at(70)).await.expect("the store works");
    plan(&desk, 70).await;
    assert_eq!(users("game:1").await, [""; 0]);
}

async fn an_event_of_a_calendar_is_changed_by_that_calendar_alone(desk: Desk) {
    let of = |source: Option<&str>| Event { source: source.map(str::to_owned), ..game("game:1", 7200) };
    put(&desk, &of(Some("holidays")), 0).await;
    for source in [None, Some("other")] {
        let put = PutEvent { event: of(source), keeps_instances: true };
        let refused = desk.store.put_events(vec![put], None, by(1)).await;
        assert!(matches!(refused, Err(ChangeError::Refused(Refused::Invalid(_)))), "{source:?}: {refused:?}");
        let refused = desk.store.remove_events(vec!["game:1".into()], source.map(str::to_owned), by(1)).await;
        assert!(matches!(refused, Err(ChangeError::Refused(Refused::Invalid(_)))), "{source:?}: {refused:?}");
    }
    put(&desk, &Event { starts_at: at(9000), ..of(Some("holidays")) }, 2).await;
    desk.store.remove_events(vec!["game:1".into()], Some("holidays".into()), by(3)).await.expect("it is the calendar's");
}

async fn events_are_listed_by_what_they_have(desk: Desk) {
    let all = [
        in_scope(game("a", 1000), "x/y"),
        Event { users: vec!["bob".into(), "an".into()], ..game("b", 2000) },
        Event { source: Some("holidays".into()), ..in_scope(game("c", 3000), "x") },
        repeating(in_scope(game("d", 500), "xy"), "FREQ=DAILY"),
    ];
    for event in &all {
        put(&desk, event, 0).await;
    }
    let keys = async |query: EventQuery| -> String {
        let found = desk.store.events(query).await.expect("the store works");
        found.into_iter().map(|event| event.key).collect()
    };
    let every = || EventQuery { limit: 10, ..EventQuery::default() };
    assert_eq!(keys(every()).await, "abcd");
    assert_eq!(keys(EventQuery { limit: 2, after: Some("a".into()), ..every() }).await, "bc");
    assert_eq!(keys(EventQuery { scope: Some(path_of("x")), ..every() }).await, "ac");
    assert_eq!(keys(EventQuery { user: Some("an".into()), ..every() }).await, "b", "ann is another");
    let group = |name: &str, users: &[&str]| Group {
        name: name.into(),
        mode: Mode::All,
        users: users.iter().map(|user| (*user).to_owned()).collect(),
        rota: None,
        shifts: Vec::new(),
        created_at: at(0),
        updated_at: at(0),
    };
    for group in [group("o-c", &["zoe", "an"]), group("o", &["zoe"]), group("none", &["an"])] {
        desk.store.put_group(group, "app".into()).await.expect("the store works");
    }
    let of = |key: &str, groups: &[&str]| {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Event { users: vec![], groups, ..game(key, 3000) }
    };
    for event in [of("e", &["o"]), of("f", &["o", "o-c"])] {
        put(&desk, &event, 0).await;
    }
    assert_eq!(keys(EventQuery { user: Some("an".into()), ..every() }).await, "bf", "by name or in a group");
    assert_eq!(keys(EventQuery { user: Some("zoe".into()), ..every() }).await, "ef");
    assert_eq!(keys(EventQuery { user: Some("zoe".into()), limit: 1, after: Some("e".into()), ..every() }).await, "f");
    desk.store.remove_events(vec!["e".into(), "f".into()], None, by(1)).await.expect("they are there");
    assert_eq!(keys(EventQuery { from: Some(at(2000)), ..every() }).await, "bcd", "a series goes on");
    assert_eq!(keys(EventQuery { to: Some(at(2000)), ..every() }).await, "ad");
    assert_eq!(keys(EventQuery { source: Some("holidays".into()), ..every() }).await, "c");
}

async fn old_events_go_with_their_history(desk: Desk) {
    let once = |key: &str, second| Event { offsets: read_list("offsets", &json!([60])).ok(), ..game(key, second) };
    put(&desk, &once("old", 7200), 0).await;
    put(&desk, &once("new", 7200 + 86_400), 0).await;
    put(&desk, &Event { snooze_allowed: true, ..once("put off", 7200) }, 0).await;
    let off = reminders(&desk, "put off").await[0];
    for claimed in desk.claim(3600).await.to_send {
        desk.settle(&claimed, taken(), 3600).await;
    }
    desk.change(off, Change::Snooze { until: at(80_000) }, 3700).await;
    let prune = async |before| while desk.store.prune(at(before), 10).await.expect("the store works") > 0 {};
    prune(3000).await;
    assert!(desk.store.event("old").await.expect("the store works").is_some(), "it is not over");
    prune(20_000).await;
    assert!(desk.store.event("old").await.expect("the store works").is_none());
    assert!(desk.store.event("new").await.expect("the store works").is_some());
    assert!(desk.store.event("put off").await.expect("the store works").is_some(), "something of it is to come");
}

async fn everything_has_its_entry(desk: Desk) {
    mark(&desk, 0).await;
    put(&desk, &in_scope(game("game:1", 7200), "a"), 0).await;
    put(&desk, &in_scope(game("game:1", 9000), "a"), 10).await;
    put_scope(&desk, "a", json!([60]), 20).await;
    plan(&desk, 20).await;
    desk.store.remove_events(vec!["game:1".into()], None, by(30)).await.expect("the store works");
    desk.store.remove_scope(&path_of("a"), "app".into(), at(40)).await.expect("the store works");
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 1000)).await;
    let told: Vec<String> = page
        .entries
        .iter()
        .filter(|entry| entry.kind.starts_with("event") || entry.kind.starts_with("scope"))
        .map(|entry| format!("{} {}", entry.kind, entry.data.as_deref().unwrap_or_default()))
        .collect();
    let second = |second: i64| at(second).to_string();
    let (first, later) = (second(7200), second(9000));
    assert_eq!(
        told,
        [
            r#"scope.changed {"scope":"a","offsets":[60,15],"events":0}"#.to_owned(),
            format!(r#"event.changed {{"event":"game:1","starts_at":"{first}","new":true}}"#),
            format!(r#"event.planned {{"event":"game:1","starts_at":"{first}","planned":2,"made":2}}"#),
            format!(r#"event.changed {{"event":"game:1","starts_at":"{later}","was":"{first}"}}"#),
            format!(r#"event.planned {{"event":"game:1","starts_at":"{later}","planned":2,"moved":2}}"#),
            r#"scope.changed {"scope":"a","offsets":[60],"events":1}"#.to_owned(),
            format!(r#"event.planned {{"event":"game:1","starts_at":"{later}","planned":1,"withdrawn":1}}"#),
            format!(r#"event.changed {{"event":"game:1","starts_at":"{later}","deleted":true}}"#),
            r#"event.planned {"event":"game:1","planned":0,"withdrawn":1}"#.to_owned(),
            r#"scope.changed {"scope":"a","offsets":[60],"events":0,"deleted":true}"#.to_owned(),
        ]
    );
}
