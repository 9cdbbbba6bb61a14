//! A watch reminds of each row once, wherever its node dies, stands still, or loses an answer.

#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::Channel;
use punctual_core::clock::Clock;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::Address;
use punctual_core::store::{ReminderQuery, RunLease, Store, StoreError};
use punctual_core::watch::{Intent, RunState, Watch, WatchRun};
use punctual_engine::{DefinedWatch, Settings};
use punctual_testkit::clock::ManualClock;
use punctual_testkit::nodes::Nodes;
use punctual_testkit::phone::RecordingChannel;
use punctual_testkit::source::{Fails, HALF, Tasks};
use punctual_testkit::tap::Tap;

/// A minute passes until the first run begins.
const MINUTE: SignedDuration = SignedDuration::from_secs(60);
const ROWS: i64 = 5;

/// What is wrong with the store.
#[derive(Clone, Default)]
struct Trouble {
    forgets_intents: bool,
    /// The intents are those of another definition, which had other rows.
    had_other_rows: bool,
    /// The call of this number fails, counted from 1, on whichever node.
    fails: Option<(usize, Fails)>,
    n_calls: Arc<AtomicUsize>,
}

/// A store that takes its time before its effect and after it.
struct Slow {
    clock: ManualClock,
    trouble: Trouble,
    /// The call that is under way fails after its effect.
    fails_after: AtomicBool,
}

/// The calls that a run makes.
const CALLS: [&str; 5] = ["begin_run", "intend", "finish_rows", "end_run", "intents"];

#[async_trait]
impl Tap for Slow {
    async fn before(&self, call: &'static str) -> Result<(), StoreError> {
        if !CALLS.contains(&call) {
            return Ok(());
        }
        self.clock.pause(HALF).await;
        let number = self.trouble.n_calls.fetch_add(1, Ordering::Relaxed) + 1;
        match self.trouble.fails.filter(|(call, _)| *call == number) {
            Some((_, Fails::Before)) => return Err(StoreError::Unavailable("it is gone".into())),
            Some((_, Fails::After)) => self.fails_after.store(true, Ordering::Relaxed),
            None => {}
        }
        Ok(())
    }

    async fn after(&self, call: &'static str) -> Result<(), StoreError> {
        if !CALLS.contains(&call) {
            return Ok(());
        }
        self.clock.pause(HALF).await;
        match self.fails_after.swap(false, Ordering::Relaxed) {
            true => Err(StoreError::Unavailable("the answer is lost".into())),
            false => Ok(()),
        }
    }

    async fn intend(
        &self,
        store: &Arc<dyn Store>,
        lease: RunLease,
        watch: &str,
        intents: Vec<Intent>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut intents = if self.trouble.forgets_intents { Vec::new() } else { intents };
        if self.trouble.had_other_rows {
            intents.iter_mut().for_each(|intent| intent.rows = "others".to_owned());
        }
        store.intend(lease, watch, intents, now).await
    }
}

struct Stage {
    nodes: Nodes,
    tasks: Tasks,
}

impl Stage {
    /// Two nodes that watch five tasks, in batches of two; the first run is about to begin, on node 1.
    fn new() -> Self {
        Self::with(&Trouble::default(), |_| {})
    }

    fn with(trouble: &Trouble, prepare: impl FnOnce(&Tasks)) -> Self {
        let clock = ManualClock::at(punctual_testkit::sample::instant(punctual_testkit::story::BEGIN));
        let tasks = Tasks::new(&clock, ROWS);
        prepare(&tasks);
        let phone: Arc<dyn Channel> = Arc::new(RecordingChannel::default());
        let settings = Settings {
            default_channel: DefaultChannel::chosen(Address::new("phone", "1")),
            watches: vec![DefinedWatch { watch: Arc::new(Tasks::watch(2)), source: Arc::new(tasks.clone()) }],
            ..Settings::default()
        };
        let channels = BTreeMap::from([("phone".to_owned(), phone)]);
        let tap = |_, clock: &ManualClock| Slow {
            clock: clock.clone(),
            trouble: trouble.clone(),
            fails_after: AtomicBool::new(false),
        };
        let nodes = Nodes::start_at(clock, 2, &channels, &settings, tap);
        let to_the_minute = 60_000_000 - nodes.clock.now().as_microsecond().rem_euclid(60_000_000);
        nodes.advance(SignedDuration::from_micros(to_the_minute));
        Self { nodes, tasks }
    }

    fn store<T: Send + 'static>(&self, work: impl AsyncFnOnce(&dyn Store) -> T) -> T {
        futures_util::FutureExt::now_or_never(work(self.nodes.store())).expect("a store in memory answers at once")
    }

    fn runs(&self) -> Vec<WatchRun> {
        self.store(async |store| store.watch_runs("tasks", 10).await.unwrap())
    }

    /// The row of each reminder.
    fn reminded(&self) -> Vec<i64> {
        let query = ReminderQuery { limit: 1000, ..ReminderQuery::default() };
        let views = self.store(async |store| store.reminders(query).await.unwrap());
        let key = |metadata: serde_json::Value| metadata["watch"]["key"].as_str().unwrap().parse().unwrap();
        let mut keys: Vec<i64> = views.iter().map(|view| key(view.reminder.metadata.to_value())).collect();
        keys.sort_unstable();
        keys
    }

    /// Whether each row has one reminder and its mark, and nothing is left half done.
    fn is_once(&self) -> Result<(), String> {
        let expect: Vec<i64> = self.tasks.rows().into_keys().collect();
        let (reminded, left) = (self.reminded(), self.store(async |store| store.intents("tasks").await.unwrap()));
        let unmarked: Vec<i64> =
            self.tasks.rows().iter().filter(|(_, row)| row.sent.is_none()).map(|(key, _)| *key).collect();
        match reminded == expect && left.is_empty() && unmarked.is_empty() {
            true => Ok(()),
            false => Err(format!("{reminded:?} were reminded of, {} left, {unmarked:?} unmarked", left.len())),
        }
    }
}

fn millis(n: u64) -> SignedDuration {
    SignedDuration::from_micros(i64::try_from(n * 1000 + 500).unwrap())
}

/// How long a run takes where nothing goes wrong.
fn length() -> u64 {
    let stage = Stage::new();
    stage.nodes.advance(SignedDuration::from_secs(2));
    let run = stage.runs().remove(0);
    assert_eq!((run.state, run.counts.seen, run.counts.sent), (RunState::Done, 5, 5));
    assert_eq!(stage.is_once(), Ok(()));
    (run.ended_at.unwrap().duration_since(run.started_at).as_millis()).try_into().unwrap()
}

#[test]
fn a_node_may_die_at_any_moment_of_a_run_and_another_goes_on_within_five_seconds() {
    for died_after in 0..length() + 3 {
        let stage = Stage::new();
        stage.nodes.advance(millis(died_after));
        stage.nodes.kill(1);
        stage.nodes.advance(SignedDuration::from_secs(5));
        let run = stage.runs().into_iter().next();
        let went_on = run.as_ref().is_some_and(|run| run.state == RunState::Done);
        assert!(went_on, "after {died_after} ms: {run:?}");
        assert_eq!(stage.is_once(), Ok(()), "after {died_after} ms");
        assert_eq!(stage.runs().len(), 1, "after {died_after} ms: the same run");
    }
}

#[test]
fn a_node_may_stand_still_at_any_moment_and_wake_at_any_other() {
    for stood_after in 0..length() + 3 {
        for stood_for in [500, 2_000, 4_003, 4_020, 4_500, 9_000] {
            let stage = Stage::new();
            stage.nodes.advance(millis(stood_after));
            stage.nodes.freeze(1, true);
            stage.nodes.advance(SignedDuration::from_millis(stood_for));
            stage.nodes.freeze(1, false);
            stage.nodes.advance(SignedDuration::from_secs(12));
            assert_eq!(stage.is_once(), Ok(()), "after {stood_after} ms, for {stood_for} ms");
        }
    }
}

#[test]
fn without_intents_a_death_in_the_middle_would_lose_a_reminder() {
    let is_once = |died_after| {
        let stage = Stage::with(&Trouble { forgets_intents: true, ..Trouble::default() }, |_| {});
        stage.nodes.advance(millis(died_after));
        stage.nodes.kill(1);
        stage.nodes.advance(SignedDuration::from_secs(50));
        stage.is_once()
    };
    let lost = (0..length() + 3).filter(|died_after| is_once(*died_after).is_err()).count();
    assert!(lost >= 3, "each of three batches has a moment between its mark and its reminders: {lost}");
}

#[test]
fn an_answer_of_the_application_may_be_lost_at_any_call() {
    let n_calls = {
        let stage = Stage::new();
        stage.nodes.advance(SignedDuration::from_secs(2));
        stage.tasks.n_calls()
    };
    for call in 1..=n_calls {
        for fails in [Fails::Before, Fails::After] {
            let stage = Stage::with(&Trouble::default(), |tasks| tasks.fail(call, fails));
            stage.nodes.advance(SignedDuration::from_secs(12));
            assert_eq!(stage.is_once(), Ok(()), "call {call} {fails:?}");
            assert_eq!(stage.runs()[0].counts.retried, 1, "call {call} {fails:?}");
        }
    }
}

#[test]
fn an_answer_of_the_store_may_be_lost_at_any_call() {
    let calm = Trouble::default();
    Stage::with(&calm, |_| {}).nodes.advance(SignedDuration::from_secs(2));
    let n_calls = calm.n_calls.load(Ordering::Relaxed);
    assert!(n_calls > 8, "{n_calls}");
    for call in 1..=n_calls {
        for fails in [Fails::Before, Fails::After] {
            let trouble = Trouble { fails: Some((call, fails)), ..Trouble::default() };
            let stage = Stage::with(&trouble, |_| {});
            stage.nodes.advance(SignedDuration::from_secs(12));
            assert_eq!(stage.is_once(), Ok(()), "call {call} {fails:?}");
            assert_eq!(stage.runs()[0].state, RunState::Done, "call {call} {fails:?}");
        }
    }
}

#[test]
fn a_row_that_is_refused_is_named_and_the_others_go_on() {
    let stage = Stage::with(&Trouble::default(), |tasks| {
        tasks.refuse(2);
        tasks.change(4, |row| {
            row.owner = None;
            Some(())
        });
    });
    stage.nodes.advance(SignedDuration::from_secs(2));
    let run = stage.runs().remove(0);
    assert_eq!((run.counts.seen, run.counts.sent, run.counts.skipped, run.counts.failed), (5, 3, 0, 2));
    assert_eq!(stage.reminded(), [1, 3, 5]);
    let unmarked: Vec<i64> =
        stage.tasks.rows().iter().filter(|(_, row)| row.sent.is_none()).map(|(key, _)| *key).collect();
    assert_eq!(unmarked, [2, 4], "they stay unmarked");
    let bad = stage.store(async |store| store.bad_rows(run.id, 0, 10).await.unwrap());
    let bad: Vec<_> = bad.iter().map(|(_, bad)| (bad.key.as_str(), bad.field.as_deref().unwrap())).collect();
    assert_eq!(bad, [("2", "reminder_sent_at"), ("4", "owner")]);
}

/// What became of a run that was left.
struct LeftOver {
    /// The keys of its bad rows, each with what is wrong.
    bad: Vec<(String, String)>,
    reminded: Vec<i64>,
}

/// What became of a run that was left, after each moment at which it can be.
fn left_over(trouble: &Trouble, meanwhile: impl Fn(&Tasks)) -> Vec<LeftOver> {
    let ended = |died_after| {
        let stage = Stage::with(trouble, |_| {});
        stage.nodes.advance(millis(died_after));
        stage.nodes.kill(1);
        meanwhile(&stage.tasks);
        stage.nodes.advance(SignedDuration::from_secs(6));
        let run = stage.runs().remove(0);
        assert_eq!(run.state, RunState::Done, "after {died_after} ms: {run:?}");
        assert!(stage.store(async |store| store.intents("tasks").await.unwrap()).is_empty(), "after {died_after} ms");
        let bad = stage.store(async |store| store.bad_rows(run.id, 0, 10).await.unwrap());
        let bad = bad.into_iter().map(|(_, bad)| (bad.key, bad.problem)).collect();
        LeftOver { bad, reminded: stage.reminded() }
    };
    (0..length()).map(ended).collect()
}

#[test]
fn a_row_that_cannot_be_looked_up_any_more_is_named_and_stops_no_other() {
    let all = left_over(&Trouble::default(), |tasks| tasks.double(2));
    assert!(all.iter().any(|left| !left.bad.is_empty()), "some node has left it half done");
    for LeftOver { bad, reminded } in all {
        assert!(bad.iter().all(|(key, problem)| key == "2" && problem == "`id` is not unique"), "{bad:?}");
        let others: Vec<i64> = reminded.into_iter().filter(|key| *key != 2).collect();
        assert_eq!(others, [1, 3, 4, 5], "{bad:?}");
    }
}

#[test]
fn rows_that_an_earlier_definition_had_are_named_and_not_looked_up_among_others() {
    let trouble = Trouble { had_other_rows: true, ..Trouble::default() };
    let all = left_over(&trouble, |_| {});
    assert!(all.iter().any(|left| !left.bad.is_empty()), "some node has left them half done");
    for LeftOver { bad, mut reminded } in all {
        assert!(bad.iter().all(|(_, problem)| problem.contains("has other rows since")), "{bad:?}");
        // Those that were marked by then are named alone; the others are found again.
        reminded.extend(bad.iter().map(|(key, _)| key.parse::<i64>().unwrap()));
        reminded.sort_unstable();
        reminded.dedup();
        assert_eq!(reminded, [1, 2, 3, 4, 5], "{bad:?}");
    }
}

#[test]
fn a_run_that_was_left_is_taken_over_while_two_others_hang() {
    let clock = ManualClock::at(punctual_testkit::sample::instant(punctual_testkit::story::BEGIN));
    let all: Vec<Tasks> = (0..3).map(|_| Tasks::new(&clock, ROWS)).collect();
    let defined = |(n, tasks): (usize, &Tasks)| DefinedWatch {
        watch: Arc::new(Watch { name: format!("tasks {n}"), ..Tasks::watch(2) }),
        source: Arc::new(tasks.clone()),
    };
    let phone: Arc<dyn Channel> = Arc::new(RecordingChannel::default());
    let settings = Settings {
        default_channel: DefaultChannel::chosen(Address::new("phone", "1")),
        watches: all.iter().enumerate().map(defined).collect(),
        ..Settings::default()
    };
    let channels = BTreeMap::from([("phone".to_owned(), phone)]);
    let tap = |_, clock: &ManualClock| Slow {
        clock: clock.clone(),
        trouble: Trouble::default(),
        fails_after: AtomicBool::new(false),
    };
    let nodes = Nodes::start_at(clock, 2, &channels, &settings, tap);
    let run = |name: &str| {
        let found = nodes.store().watch_runs(name, 1);
        let runs = futures_util::FutureExt::now_or_never(found).expect("a store in memory answers at once").unwrap();
        runs.into_iter().next().unwrap()
    };
    // A minute passes until their first runs, which go well.
    nodes.advance(MINUTE + SignedDuration::from_secs(5));
    let ask = |node, name: &str| {
        // It is asked for with the first look, and nobody waits for it.
        drop(futures_util::FutureExt::now_or_never(nodes.engine(node).run_watch(name)));
    };
    for tasks in &all {
        (1..=ROWS).for_each(|key| {
            tasks.change(key, |row| {
                row.sent = None;
                Some(())
            });
        });
    }
    // Two of them hang on node 2, and node 1 dies with the third.
    for (tasks, name) in all.iter().zip(["tasks 0", "tasks 1"]) {
        tasks.stall();
        ask(2, name);
    }
    nodes.advance(SignedDuration::from_millis(50));
    ask(1, "tasks 2");
    nodes.advance(millis(12));
    let before = run("tasks 2");
    assert_eq!(
        (run("tasks 0").state, run("tasks 1").state, before.state),
        (RunState::Running, RunState::Running, RunState::Running)
    );
    assert_eq!(run("tasks 0").node, run("tasks 1").node);
    nodes.kill(1);
    nodes.advance(SignedDuration::from_secs(5));
    let after = run("tasks 2");
    assert_eq!((after.id, after.state, &after.node), (before.id, RunState::Done, &run("tasks 0").node));
    assert_eq!(run("tasks 0").state, RunState::Running);
}

#[test]
fn a_row_that_another_worker_takes_meanwhile_is_skipped() {
    let stage = Stage::new();
    // The first batch has been read, and not marked yet.
    stage.nodes.advance(millis(10));
    let now = stage.nodes.clock.now();
    for key in 1..=2 {
        stage.tasks.change(key, |row| {
            row.sent.get_or_insert(now);
            Some(())
        });
    }
    stage.nodes.advance(SignedDuration::from_secs(2));
    let run = stage.runs().remove(0);
    assert_eq!(run.counts.sent + run.counts.skipped, run.counts.seen);
    assert_eq!(run.counts.sent as usize, stage.reminded().len());
    let marked = stage.tasks.rows().values().filter(|row| row.sent != Some(now)).count();
    assert_eq!(marked, stage.reminded().len(), "each mark of ours has its reminder, and no other");
}

#[test]
fn a_ledger_makes_one_reminder_an_interval_wherever_a_node_dies() {
    for died_after in 0..40 {
        let stage = Stage::with(&Trouble::default(), Tasks::only_read);
        stage.nodes.advance(millis(died_after));
        stage.nodes.kill(1);
        stage.nodes.advance(MINUTE * 3);
        assert_eq!(stage.reminded(), [1, 2, 3, 4, 5], "after {died_after} ms");
        assert!(stage.tasks.rows().values().all(|row| row.sent.is_none()), "nothing is marked");
    }
}

#[test]
fn a_statement_that_goes_on_after_its_connection_is_gone_loses_no_reminder() {
    for hangs_for in [3, 12, 20, 40, 70] {
        let stage = Stage::with(&Trouble::default(), |_| {});
        stage.tasks.hang(stage.nodes.clock.now() + Duration::from_secs(hangs_for));
        stage.nodes.advance(MINUTE * 4);
        assert_eq!(stage.is_once(), Ok(()), "for {hangs_for} s");
        let runs = stage.runs();
        let given_up = runs.iter().filter(|run| run.state == RunState::GivenUp).count();
        assert_eq!(given_up > 0, hangs_for > 8, "for {hangs_for} s: {runs:?}");
        assert_eq!(runs[0].state, RunState::Done);
    }
}

#[test]
fn a_table_that_may_only_be_read_for_a_while_is_no_reason_to_remind_twice() {
    let stage = Stage::new();
    stage.nodes.advance(MINUTE);
    assert_eq!(stage.reminded(), [1, 2, 3, 4, 5]);
    stage.tasks.change(3, |row| {
        row.sent = None;
        Some(())
    });
    stage.tasks.only_read();
    stage.nodes.advance(MINUTE * 2);
    assert_eq!(stage.reminded(), [1, 2, 3, 3, 4, 5], "the marks count that are there");
    stage.tasks.may_be_written();
    stage.nodes.advance(MINUTE * 2);
    assert_eq!(stage.reminded(), [1, 2, 3, 3, 4, 5], "and what the ledger says");
}

#[test]
fn a_run_that_was_asked_for_answers_with_its_counts_and_a_second_asker_joins() {
    let stage = Stage::new();
    stage.nodes.advance(SignedDuration::from_secs(2));
    stage.tasks.change(3, |row| {
        row.sent = None;
        Some(())
    });
    let (one, two) = (stage.nodes.engine(1).clone(), stage.nodes.engine(2).clone());
    let (first, second) =
        stage.nodes.run(1, async move { tokio::join!(one.run_watch("tasks"), two.run_watch("tasks")) });
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.run.id, second.run.id, "on whichever node");
    assert_eq!((first.joined, second.joined), (false, true));
    assert_eq!((first.run.counts.seen, first.run.counts.sent), (1, 1));
    assert_eq!(second.run.counts, first.run.counts);
}

#[test]
fn a_node_that_is_stopped_gives_its_run_back() {
    for stopped_after in [3, 8, 15, 22] {
        let mut stage = Stage::new();
        stage.nodes.advance(millis(stopped_after));
        stage.nodes.stop(1);
        let stopped_at = stage.nodes.clock.run_for();
        stage.nodes.advance(SignedDuration::from_secs(4));
        assert_eq!(stage.is_once(), Ok(()), "after {stopped_after} ms");
        assert!(stage.nodes.clock.run_for() - stopped_at >= Duration::from_secs(4));
        assert_eq!(stage.runs().len(), 1, "another goes on with it");
    }
}
