//! A watch is run by one node at a time, and its rows are finished with their reminders or not at all.

use punctual_core::decide::watch::version_of;
use punctual_core::id::{ReminderId, WatchRunId};
use punctual_core::journal::{Data, WatchEnded, Who};
use punctual_core::store::{
    BeginRun, Begun, DefineWatch, Defined, EndRun, FinishRows, JournalQuery, KnownWatch, NewReminder, RunLease, Start,
    StoreError, TakenRun,
};
use punctual_core::version::Expects;
use punctual_core::watch::{BadRow, Counts, Draft, Intent, LedgerRow, Place, Raw, RunState};
use punctual_core::whole::{Cursor, Line, Section};
use punctual_engine::export::{Export, History, page};

use super::desk::{Desk, at, once};

rules!(
    a_definition_replaces_the_one_of_its_name,
    a_run_begins_when_its_time_has_come_and_once,
    a_run_that_is_asked_for_begins_at_any_time,
    a_watch_that_was_replaced_or_forgotten_is_not_run,
    a_run_that_was_left_is_taken_over_with_its_id_and_counts,
    an_old_lease_writes_no_intent_and_no_reminder,
    an_intent_is_written_once_and_outlives_its_run,
    rows_are_finished_with_their_reminders,
    rows_that_are_finished_twice_are_finished_once,
    a_run_leaves_its_entry_and_its_bad_rows,
    the_ledger_says_when_a_row_was_last_reminded_of,
    what_the_ledger_says_while_an_export_is_written_is_exported_again,
    the_ledger_of_other_rows_goes_with_their_definition,
    a_watch_shows_its_present_and_its_last_run,
    what_is_forgotten_leaves_nothing,
    old_runs_and_ledger_rows_go,
);

fn definition(hash: &str, now: i64) -> DefineWatch {
    DefineWatch {
        name: "tasks".into(),
        hash: hash.into(),
        definition: format!("{{\"table\":\"{hash}\"}}"),
        next_at: Some(at(now + 100)),
        now: at(now),
    }
}

fn run_id(n: u8) -> WatchRunId {
    WatchRunId::from_bytes([n; 16])
}

fn begin(n: u8, asked: bool, now: i64) -> BeginRun {
    let (watch, hash, node) = ("tasks".to_owned(), "one".to_owned(), format!("node {n}"));
    BeginRun { watch, hash, id: run_id(n), node, asked, next_at: Some(at(now + 100)), now: at(now) }
}

async fn begun(desk: &Desk, begin: BeginRun) -> Begun {
    desk.store.begin_run(begin).await.expect("the store works")
}

async fn taken(desk: &Desk, begin: BeginRun) -> TakenRun {
    match begun(desk, begin).await {
        Begun::Taken(taken) => *taken,
        other => panic!("it is taken, not {other:?}"),
    }
}

/// A watch with a run that was asked for at 10.
async fn running(desk: &Desk) -> RunLease {
    desk.store.define_watch(definition("one", 0)).await.expect("it is defined");
    taken(desk, begin(1, true, 10)).await.lease
}

async fn watch(desk: &Desk) -> KnownWatch {
    desk.store.watches().await.expect("they are read").pop().expect("there is one")
}

fn intent(key: &str, reminder: u8) -> Intent {
    let (user, message, zone) = ("ann".to_owned(), "x".to_owned(), "UTC".to_owned());
    let draft = Draft { user, message, to: None, zone, at: at(10), metadata: serde_json::Map::new() };
    let (key, due, mark) = (Raw::Text(key.into()), Raw::Integer(7), Raw::Text("now".into()));
    Intent { rows: "one".into(), key, due, previous: None, mark, id: once(reminder, 10).id, draft }
}

fn finish(lease: RunLease) -> FinishRows {
    FinishRows {
        lease,
        watch: "tasks".into(),
        created: Vec::new(),
        done: Vec::new(),
        ledger: Vec::new(),
        bad: Vec::new(),
        place: None,
        counts: Counts::default(),
        now: at(11),
    }
}

fn new(reminder: u8) -> (NewReminder, String) {
    (NewReminder { reminder: once(reminder, 10), first_due_at: at(10) }, reminder.to_string())
}

fn end(lease: RunLease, state: RunState, now: i64) -> EndRun {
    let data = WatchEnded { watch: "tasks".into(), state: state.as_str(), ..WatchEnded::default() };
    let counts = Counts { seen: 3, sent: 1, skipped: 1, failed: 1, retried: 2 };
    EndRun { lease, state, error: None, counts, data: Data::WatchRun(Box::new(data)), now: at(now) }
}

async fn kinds(desk: &Desk) -> Vec<String> {
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 100)).await;
    page.entries.into_iter().map(|entry| entry.kind).collect()
}

async fn the_ledger_of_other_rows_goes_with_their_definition(desk: Desk) {
    let lease = running(&desk).await;
    let row = LedgerRow { key: "t7".into(), due_at: at(100), n: 1, sent_at: at(11) };
    desk.store.finish_rows(FinishRows { ledger: vec![row], ..finish(lease) }).await.expect("written");
    let n_rows = async || desk.store.ledger_of("tasks", vec!["t7".into()]).await.expect("it is read").len();
    // Another message and another time, of the same rows.
    let said = r#"{"table":"one","message":"x"}"#;
    let same = DefineWatch { definition: said.into(), ..definition("said in another way", 20) };
    assert_eq!(desk.store.define_watch(same).await.expect("it is defined"), Defined::Replaced);
    assert_eq!(n_rows().await, 1);
    let keyed = DefineWatch { definition: r#"{"table":"one","key":"uid"}"#.into(), ..definition("keyed", 30) };
    assert_eq!(desk.store.define_watch(keyed).await.expect("it is defined"), Defined::Replaced);
    assert_eq!(n_rows().await, 0, "a key of the one says nothing of a key of the other");
}

async fn a_definition_replaces_the_one_of_its_name(desk: Desk) {
    let define = async |hash: &str, now| desk.store.define_watch(definition(hash, now)).await.expect("it is defined");
    assert_eq!(define("one", 0).await, Defined::New);
    assert_eq!(define("one", 50).await, Defined::Same);
    let known = watch(&desk).await;
    assert_eq!((known.hash.as_str(), known.defined_at, known.next_at), ("one", at(0), Some(at(100))));
    assert_eq!(define("two", 60).await, Defined::Replaced);
    let known = watch(&desk).await;
    assert_eq!((known.hash.as_str(), known.definition.as_str()), ("two", "{\"table\":\"two\"}"));
    assert_eq!((known.defined_at, known.next_at), (at(60), Some(at(160))));
    assert_eq!(kinds(&desk).await, ["watch.changed", "watch.changed"]);
}

async fn a_run_begins_when_its_time_has_come_and_once(desk: Desk) {
    desk.store.define_watch(definition("one", 0)).await.expect("it is defined");
    assert_eq!(begun(&desk, begin(1, false, 99)).await, Begun::NotDue(Some(at(100))));
    let first = taken(&desk, begin(1, false, 100)).await;
    assert!(first.is_new && !first.run.asked && first.run.started_at == at(100));
    desk.store.end_run(end(first.lease, RunState::Done, 101)).await.expect("it ends");
    assert_eq!(begun(&desk, begin(2, false, 101)).await, Begun::NotDue(Some(at(200))), "its time was made use of");
    assert!(taken(&desk, begin(2, false, 1000)).await.is_new, "an hour that was missed comes once");
}

async fn a_run_that_is_asked_for_begins_at_any_time(desk: Desk) {
    desk.store.define_watch(definition("one", 0)).await.expect("it is defined");
    let run = taken(&desk, begin(1, true, 10)).await;
    assert!(run.is_new && run.run.asked);
    assert_eq!((run.run.id, run.run.node.as_str(), run.lease.number), (run_id(1), "node 1", 1));
}

async fn a_watch_that_was_replaced_or_forgotten_is_not_run(desk: Desk) {
    desk.store.define_watch(definition("two", 0)).await.expect("it is defined");
    assert_eq!(begun(&desk, begin(1, true, 10)).await, Begun::Replaced);
    assert!(desk.store.forget_watch("tasks", Who::from("ann"), at(11)).await.expect("the store works"));
    assert_eq!(begun(&desk, begin(1, true, 12)).await, Begun::Replaced);
}

async fn a_run_that_was_left_is_taken_over_with_its_id_and_counts(desk: Desk) {
    let lease = running(&desk).await;
    let counts = Counts { seen: 5, sent: 4, skipped: 1, failed: 0, retried: 0 };
    let place = Place { due: Raw::Integer(3), key: Raw::Text("c".into()) };
    desk.store.finish_rows(FinishRows { counts, place: Some(place.clone()), ..finish(lease) }).await.expect("written");
    assert!(desk.store.keep_run(lease).await.expect("the store works"));
    desk.store.leave_run(lease).await.expect("it is given back");
    let over = taken(&desk, begin(2, false, 12)).await;
    assert!(!over.is_new);
    assert_eq!((over.run.id, over.lease), (run_id(1), RunLease { run: run_id(1), number: 2 }));
    assert_eq!((over.run.counts, over.run.place, over.run.node.as_str()), (counts, Some(place), "node 2"));
    assert_eq!(over.run.started_at, at(10));
}

async fn an_old_lease_writes_no_intent_and_no_reminder(desk: Desk) {
    let old = running(&desk).await;
    desk.store.leave_run(old).await.expect("it is given back");
    let lease = taken(&desk, begin(2, false, 12)).await.lease;
    let lost = |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::LeaseLost)), "{result:?}");
    assert!(!desk.store.keep_run(old).await.expect("the store works"));
    lost(desk.store.intend(old, "tasks", vec![intent("a", 1)], at(12)).await);
    lost(desk.store.finish_rows(FinishRows { created: vec![new(1)], ..finish(old) }).await);
    lost(desk.store.end_run(end(old, RunState::Done, 12)).await);
    assert_eq!(desk.store.intents("tasks").await.expect("they are read"), []);
    assert!(desk.store.reminder(once(1, 10).id).await.expect("the store works").is_none());
    desk.store.end_run(end(lease, RunState::Done, 13)).await.expect("its holder ends it");
    lost(desk.store.intend(lease, "tasks", vec![intent("a", 1)], at(14)).await);
}

async fn an_intent_is_written_once_and_outlives_its_run(desk: Desk) {
    let lease = running(&desk).await;
    desk.store.intend(lease, "tasks", vec![intent("b", 2), intent("a", 1)], at(11)).await.expect("written");
    desk.store.intend(lease, "tasks", vec![intent("a", 9)], at(12)).await.expect("it is there");
    desk.store.end_run(end(lease, RunState::GivenUp, 13)).await.expect("it ends");
    assert_eq!(desk.store.intents("tasks").await.expect("they are read"), [intent("a", 1), intent("b", 2)]);
    assert_eq!(desk.store.intents("calls").await.expect("they are read"), []);
}

async fn rows_are_finished_with_their_reminders(desk: Desk) {
    let lease = running(&desk).await;
    desk.store.intend(lease, "tasks", vec![intent("a", 1), intent("b", 2)], at(11)).await.expect("written");
    let counts = Counts { seen: 2, sent: 1, ..Counts::default() };
    let rows = FinishRows { created: vec![new(1)], done: vec![Raw::Text("a".into()).kept()], counts, ..finish(lease) };
    desk.store.finish_rows(rows).await.expect("written");
    assert_eq!(desk.store.intents("tasks").await.expect("they are read"), [intent("b", 2)]);
    assert_eq!(desk.store.watch_run(run_id(1)).await.expect("it is read").expect("it is there").counts, counts);
    let entry = desk.entries(once(1, 10).id).await.remove(0);
    let data: serde_json::Value = serde_json::from_str(entry.data.as_deref().expect("it says why")).expect("JSON");
    assert_eq!((entry.kind.as_str(), &data["watch"], &data["row"]), ("reminder.created", &"tasks".into(), &"1".into()));
    assert_eq!(data["watch_run"], run_id(1).to_string());
    assert_eq!(desk.claim_one(10).await.reminder.id, once(1, 10).id, "it is delivered like any other");
}

async fn rows_that_are_finished_twice_are_finished_once(desk: Desk) {
    let lease = running(&desk).await;
    let rows = FinishRows {
        created: vec![new(1)],
        bad: vec![(1, BadRow { key: "x".into(), field: None, problem: "no".into() })],
        ..finish(lease)
    };
    desk.store.finish_rows(rows.clone()).await.expect("written");
    let more = FinishRows { created: vec![new(1), new(2)], ..rows };
    desk.store.finish_rows(more).await.expect("those that are there are left alone");
    let ids: Vec<ReminderId> = [1, 2].map(|n| once(n, 10).id).to_vec();
    assert_eq!(desk.store.existing(ids).await.expect("they are read").len(), 2);
    assert_eq!(desk.entries(once(1, 10).id).await.len(), 1);
    assert_eq!(desk.store.bad_rows(run_id(1), 0, 10).await.expect("they are read").len(), 1);
}

async fn a_run_leaves_its_entry_and_its_bad_rows(desk: Desk) {
    let lease = running(&desk).await;
    let bad = |n: u64| (n, BadRow { key: format!("k{n}"), field: Some("owner".into()), problem: "is empty".into() });
    desk.store.finish_rows(FinishRows { bad: (1..=5).map(bad).collect(), ..finish(lease) }).await.expect("written");
    let error = Some("gone".to_owned());
    desk.store.end_run(EndRun { error: error.clone(), ..end(lease, RunState::GivenUp, 12) }).await.expect("it ends");
    assert_eq!(desk.store.bad_rows(run_id(1), 2, 2).await.expect("they are read"), [bad(3), bad(4)]);
    let run = desk.store.watch_run(run_id(1)).await.expect("it is read").expect("it is there");
    assert_eq!((run.state, run.ended_at, run.error), (RunState::GivenUp, Some(at(12)), error));
    assert_eq!(run.counts, Counts { seen: 3, sent: 1, skipped: 1, failed: 1, retried: 2 });
    let page = desk.journal(JournalQuery::new(Start::OLDEST, 100)).await;
    let last = page.entries.last().expect("there is one");
    assert_eq!(last.kind, "watch.run");
    assert!(last.data.as_deref().is_some_and(|data| data.contains("\"state\":\"given_up\"")), "{last:?}");
}

async fn the_ledger_says_when_a_row_was_last_reminded_of(desk: Desk) {
    let lease = running(&desk).await;
    let row = |key: &str, n: u32| LedgerRow { key: key.into(), due_at: at(50), n, sent_at: at(10 + i64::from(n)) };
    desk.store.finish_rows(FinishRows { ledger: vec![row("a", 1), row("b", 1)], ..finish(lease) }).await.expect("written");
    desk.store.finish_rows(FinishRows { ledger: vec![row("a", 2)], ..finish(lease) }).await.expect("written");
    let keys = ["a", "b", "c"].map(str::to_owned).to_vec();
    let mut found = desk.store.ledger_of("tasks", keys.clone()).await.expect("it is read");
    found.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(found, [row("a", 2), row("b", 1)]);
    assert_eq!(desk.store.ledger_of("calls", keys).await.expect("it is read"), []);
}

async fn what_the_ledger_says_while_an_export_is_written_is_exported_again(desk: Desk) {
    let lease = running(&desk).await;
    let row = |key: Raw, n: u32| LedgerRow { key: key.kept(), due_at: at(50), n, sent_at: at(10 + i64::from(n)) };
    let (first, second) = (row(Raw::Integer(1), 1), row(Raw::Text("2".into()), 1));
    let rows = FinishRows { created: vec![new(1), new(2)], ledger: vec![first.clone(), second], ..finish(lease) };
    desk.store.finish_rows(rows).await.expect("written");
    // The export has read the ledger when a row is written again, and another for the first time.
    let head = desk.store.place().await.expect("the store works");
    let (again, third) = (row(Raw::Text("2".into()), 2), row(Raw::Integer(3), 1));
    let created = vec![(new(4).0, "2".to_owned()), new(3)];
    let rows = FinishRows { created, ledger: vec![again.clone(), third.clone()], ..finish(lease) };
    desk.store.finish_rows(rows).await.expect("written");
    let after = Cursor::after(Section::Changes, head.to_string());
    let export = Export { after, head, user: None, history: History::None, runs_max: 10 };
    let lines = page(&*desk.store, &export, at(20)).await.expect("the store works").lines;
    let mut found: Vec<LedgerRow> = lines
        .into_iter()
        .filter_map(|line| match line {
            Line::Ledger(watch, row) if watch == "tasks" => Some(row),
            _ => None,
        })
        .collect();
    found.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(found, [third, again], "{first:?} was exported before");
}

async fn a_watch_shows_its_present_and_its_last_run(desk: Desk) {
    let lease = running(&desk).await;
    assert_eq!(watch(&desk).await.going.map(|run| run.id), Some(run_id(1)));
    desk.store.end_run(end(lease, RunState::Done, 12)).await.expect("it ends");
    let second = taken(&desk, begin(2, true, 20)).await.lease;
    let known = watch(&desk).await;
    assert_eq!((known.going.map(|run| run.id), known.last.map(|run| run.id)), (Some(run_id(2)), Some(run_id(1))));
    desk.store.end_run(end(second, RunState::Done, 22)).await.expect("it ends");
    let ids: Vec<_> = desk.store.watch_runs("tasks", 10).await.expect("they are read").iter().map(|run| run.id).collect();
    assert_eq!(ids, [run_id(2), run_id(1)], "newest first");
    assert_eq!(watch(&desk).await.last.map(|run| run.id), Some(run_id(2)));
    assert_eq!(desk.store.watch_runs("tasks", 1).await.expect("they are read").len(), 1);
}

async fn what_is_forgotten_leaves_nothing(desk: Desk) {
    let lease = running(&desk).await;
    desk.store.intend(lease, "tasks", vec![intent("a", 1)], at(11)).await.expect("written");
    // Whoever has seen an older definition removes nothing.
    let seen = |hash| Who { expects: Expects::OneOf(vec![version_of(hash)]), ..Who::from("ann") };
    let late = desk.store.forget_watch("tasks", seen("zero"), at(12)).await;
    assert!(matches!(late, Err(StoreError::Unexpected)), "{late:?}");
    assert!(desk.store.forget_watch("tasks", seen("one"), at(12)).await.expect("the store works"));
    assert!(!desk.store.forget_watch("tasks", Who::from("ann"), at(12)).await.expect("the store works"));
    assert_eq!(desk.store.watches().await.expect("they are read"), []);
    assert_eq!(desk.store.intents("tasks").await.expect("they are read"), []);
    assert!(!desk.store.keep_run(lease).await.expect("the store works"));
    assert_eq!(kinds(&desk).await, ["watch.changed", "watch.changed"]);
}

async fn old_runs_and_ledger_rows_go(desk: Desk) {
    let lease = running(&desk).await;
    let row = |key: &str, due: i64| LedgerRow { key: key.into(), due_at: at(due), n: 1, sent_at: at(10) };
    let bad = vec![(1, BadRow { key: "x".into(), field: None, problem: "no".into() })];
    let rows = FinishRows { ledger: vec![row("a", 20), row("b", 90)], bad, ..finish(lease) };
    desk.store.finish_rows(rows).await.expect("written");
    desk.store.end_run(end(lease, RunState::Done, 12)).await.expect("it ends");
    assert_eq!(desk.store.prune_watches(at(12), 10).await.expect("it is pruned"), 0);
    assert_eq!(desk.store.prune_watches(at(50), 10).await.expect("it is pruned"), 1);
    assert!(desk.store.watch_run(run_id(1)).await.expect("it is read").is_none());
    assert_eq!(desk.store.bad_rows(run_id(1), 0, 10).await.expect("they are read"), []);
    let keys = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(desk.store.ledger_of("tasks", keys).await.expect("it is read"), [row("b", 90)]);
}
