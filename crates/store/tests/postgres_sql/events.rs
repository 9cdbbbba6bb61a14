//! Events, their offsets, and the scopes these come from.

use jiff::{SignedDuration, Timestamp};
use punctual_core::change::Change;
use punctual_core::channel::{Receipt, SendError};
use punctual_core::decide::decide;
use punctual_core::id::ReminderId;
use punctual_core::journal::Who;
use punctual_core::reach::DefaultChannel;
use punctual_core::reminder::Address;
use punctual_core::retry::RetryPolicy;
use punctual_core::shard::Shards;
use punctual_core::store::{By, ByPlanner, Claim, Claimed, Events, Store};
use punctual_core::user::User;
use punctual_core::zone::Zone;
use punctual_engine::SystemClock;
use punctual_store::postgres::PostgresStore;
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until;

use crate::client::{Listener, database};

/// The runs that are to be sent: user, minutes before `START`, message.
const WAITING: &str = "select string_agg(r.user_id || ' ' || extract(epoch from timestamptz 'START' - o.due_at)::int / 60 \
    || ' ' || r.message, E'\\n' order by r.user_id, o.due_at) from punctual.reminder r join punctual.occurrence o \
    on o.reminder_id = r.id where o.wake_at is not null and o.wake_at = o.due_at \
    and r.schedule::jsonb ->> 'at' = punctual.instant_text(o.due_at)";
/// The same moment for all, far away.
const START: &str = "2099-06-01 18:00:00+00";

struct Desk {
    server: Postgres,
    store: PostgresStore,
    name: String,
}

impl Desk {
    async fn open() -> Option<Self> {
        let server = Postgres::start()?;
        let (store, name) = database(&server).await;
        Some(Self { server, store, name })
    }

    fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.name, &sql.replace("START", START))
    }

    /// Plans what is to be planned, as a node does after a commit.
    async fn plan(&self) {
        loop {
            let (who, zone, now) = (Who::ENGINE, Zone::utc(), SystemClock::read());
            let planned = self.store.plan_events(None, ByPlanner { who, zone, now }).await.unwrap();
            if planned.events.is_empty() {
                return;
            }
        }
    }

    /// Calls a function; a node plans after it.
    async fn call(&self, call: &str) -> String {
        let returned = self.sql(&format!("select punctual.{call}"));
        self.plan().await;
        returned
    }

    /// Calls a function, and says what waits then.
    async fn check(&self, call: &str, returns: &str, waiting: &[&str]) {
        assert_eq!(self.call(call).await, returns, "{call}");
        assert_eq!(self.sql(WAITING).lines().collect::<Vec<_>>(), waiting, "{call}");
        // One for each event, offset and user, and none of something that is not there.
        let whole = "select (select count(*) from punctual.occurrence where wake_at is not null) - (select count(*) \
                     from punctual.event_reminder l join punctual.occurrence o on o.reminder_id = l.reminder_id \
                     and o.wake_at = l.due_at)";
        assert_eq!(self.sql(whole), "0", "{call}");
    }

    /// The reminder of a user that is due so many minutes before the start.
    fn reminder(&self, user: &str, minutes: i64) -> ReminderId {
        let found = format!(
            "select reminder_id from punctual.event_reminder where user_id = '{user}' and offset_word = '{minutes}'"
        );
        self.sql(&found).parse().unwrap()
    }

    fn due_at(&self, minutes: i64) -> Timestamp {
        "2099-06-01T18:00:00Z".parse::<Timestamp>().unwrap() - SignedDuration::from_mins(minutes)
    }

    /// Claims what is due so many minutes before the start. The database's clock shows today, so its moment is made to have come.
    async fn claim(&self, minutes: i64) -> Vec<Claimed> {
        let now = self.due_at(minutes);
        // As a claim does, it steps around what others hold, so that nobody waits in a circle.
        self.sql(&format!(
            "begin; set local punctual.quiet = on; update punctual.occurrence o set wake_at = now() \
             from (select reminder_id, run from punctual.occurrence where wake_at <= '{now}' for update skip locked) as v \
             where o.reminder_id = v.reminder_id and o.run = v.run; commit"
        ));
        let claim = Claim {
            now,
            from: Timestamp::MIN,
            until: now,
            shards: Shards::ALL,
            limit: 100,
            node: "n".into(),
            lease_until: now + SignedDuration::from_secs(15),
            default_channel: DefaultChannel::chosen(Address::new("console", "")),
            only: None,
            holding: Default::default(),
        };
        self.store.claim(claim).await.unwrap().to_send
    }

    /// Sends what is due so many minutes before the start.
    async fn send(&self, minutes: i64) -> usize {
        let now = self.due_at(minutes);
        let claimed = self.claim(minutes).await;
        let settle = |claimed: &_| decide(claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, now, now);
        self.store.settle(claimed.iter().map(settle).collect(), now).await.unwrap();
        claimed.len()
    }

    async fn change(&self, id: ReminderId, change: Change) {
        self.store.change(id, change, By::new("ann", self.due_at(600))).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_reminds_each_user_at_each_offset_and_moves_with_its_scopes() {
    let Some(desk) = Desk::open().await else { return };
    let put = "put_event('game:1', 'START', scope => 'guild:1/channel:2', message => 'Game in {minutes} min', users => '{ann,bob}')";
    // No offsets anywhere: nothing yet. Then the guild's, the channel's, its own, and back.
    desk.check(put, "t", &[]).await;
    desk.check("put_scope('guild:10', '{5}')", "0", &[]).await;
    desk.check("put_scope('guild:1/channel:22', '{5}')", "0", &[]).await;
    let by_guild = ["ann 60 Game in 60 min", "ann 15 Game in 15 min", "bob 60 Game in 60 min", "bob 15 Game in 15 min"];
    desk.check("put_scope('guild:1', '{15,60,60}')", "1", &by_guild).await;
    let kept = desk.reminder("ann", 60);
    desk.check(put, "f", &by_guild).await;
    assert_eq!(desk.reminder("ann", 60), kept, "the same again changes nothing");
    assert_eq!(
        desk.sql("select count(*) from punctual.journal where kind not in ('reminder.created', 'event.changed', 'event.planned', 'scope.changed')"),
        "0"
    );
    let by_channel = ["ann 60 Game in 60 min", "ann 0 Game in 0 min", "bob 60 Game in 60 min", "bob 0 Game in 0 min"];
    desk.check("put_scope('guild:1/channel:2', '{60,0}')", "1", &by_channel).await;
    assert_eq!(desk.reminder("ann", 60), kept, "what is wanted all along is the same all along");
    desk.check("put_scope('guild:1', '{45}')", "1", &by_channel).await;
    desk.check("put_scope('guild:1/channel:2', '{}')", "1", &[]).await;
    desk.check("remove_scope('guild:1/channel:2')", "t", &["ann 45 Game in 45 min", "bob 45 Game in 45 min"]).await;
    desk.check("remove_scope('guild:1/channel:2')", "f", &["ann 45 Game in 45 min", "bob 45 Game in 45 min"]).await;
    let own = "put_event('game:1', 'START', '{30}', 'guild:1/channel:2', message => 'Game in {minutes} min', users => '{ann,bob}')";
    desk.check(own, "f", &["ann 30 Game in 30 min", "bob 30 Game in 30 min"]).await;
    desk.check("put_scope('guild:1', '{1}')", "0", &["ann 30 Game in 30 min", "bob 30 Game in 30 min"]).await;

    // Another time, other words, another user, and all that a reminder may have.
    let moved = "put_event('game:1', timestamptz 'START' + interval '1 hour', '{90}', message => '{key} at {starts_at}', \
                 users => '{ann,cid,ann}', timezone => 'europe/berlin', priority => 'high', name => 'chess', \
                 ack_prompt => 'coming?', \"to\" => '[\"webhook:https://example.org\"]', metadata => '{\"b\": 1, \"a\": 2}')";
    desk.check(moved, "f", &["ann 30 game:1 at 2099-06-01 21:00", "cid 30 game:1 at 2099-06-01 21:00"]).await;
    let view = desk.store.reminder(desk.reminder("cid", 90)).await.unwrap().unwrap();
    assert_eq!(view.reminder.to, [Address::new("webhook", "https://example.org")]);
    assert_eq!((view.reminder.name.as_deref(), view.reminder.metadata.as_str()), (Some("chess"), r#"{"a":2,"b":1}"#));
    assert_eq!((view.reminder.timezone.name(), view.reminder.priority.as_str()), ("Europe/Berlin", "high"));
    assert!(view.reminder.ack.is_some() && view.reminder.validate().is_ok());
    // Ann's was changed in place, and Bob's cancelled.
    desk.check(
        "put_event('game:1', 'START', '{90}', message => 'x', \"to\" => '[\"console\"]')",
        "f",
        &["event:game:1 90 x"],
    )
    .await;
    desk.check("remove_event('game:1')", "t", &[]).await;
    desk.check("remove_event('game:1')", "f", &[]).await;
    let left = "select (select count(*) from punctual.event) + (select count(*) from punctual.event_reminder)";
    assert_eq!(desk.sql(left), "0");
    let states = "select string_agg(distinct r.status || ' ' || o.state, ', ') from punctual.reminder r \
                  join punctual.occurrence o on o.reminder_id = r.id";
    assert_eq!(desk.sql(states), "cancelled cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_lies_ahead_is_planned() {
    let Some(desk) = Desk::open().await else { return };
    let put = "put_event('soon', now() + interval '30 minutes', '{60,15}', message => 'x', users => '{ann}')";
    assert_eq!(desk.call(put).await, "t");
    assert_eq!(desk.sql("select offset_word from punctual.event_reminder"), "15");
    // Moved into the past, nothing is left to remind of.
    let past = "put_event('soon', now() - interval '1 minute', '{60,15,0}', message => 'x', users => '{ann}')";
    desk.check(past, "f", &[]).await;
    desk.check("put_scope('a', '{0}')", "0", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_claimed_sent_or_cancelled_by_a_person_is_left_alone() {
    let Some(desk) = Desk::open().await else { return };
    let put = |start: &str, users: &str| {
        format!("put_event('game', timestamptz 'START' {start}, '{{60,15}}', message => 'x', users => '{users}')")
    };
    desk.check(
        &put("", "{ann,bob,cid,dan}"),
        "t",
        &["ann 60 x", "ann 15 x", "bob 60 x", "bob 15 x", "cid 60 x", "cid 15 x", "dan 60 x", "dan 15 x"],
    )
    .await;
    desk.change(desk.reminder("bob", 60), Change::Cancel).await;
    desk.change(desk.reminder("cid", 60), Change::Pause).await;
    let until = desk.due_at(50);
    desk.change(desk.reminder("dan", 60), Change::Snooze { until }).await;
    // Ann's first was sent, Bob's never will be; Cid's waits to be resumed, Dan's for its new time.
    assert_eq!(desk.send(60).await, 1);
    assert_eq!(desk.call(&put("", "{ann,bob,cid,dan}")).await, "f");
    assert_eq!(desk.sql("select count(*) from punctual.reminder"), "8", "the same again makes nothing");
    let states = "select string_agg(l.user_id || l.offset_word || ' ' || o.state, ', ' order by l.user_id, \
                  o.due_at) from punctual.event_reminder l join punctual.occurrence o on o.reminder_id = l.reminder_id";
    let before = "ann60 delivered, ann15 scheduled, bob60 cancelled, bob15 scheduled, cid60 paused, cid15 scheduled, \
                  dan60 snoozed, dan15 scheduled";
    assert_eq!(desk.sql(states), before);

    // Moved: who was told of the old time is told of the new one; who does not want to be is not.
    let (sent, paused) = (desk.reminder("ann", 60), desk.reminder("cid", 60));
    assert_eq!(desk.call(&put("+ interval '1 day'", "{ann,bob,cid,dan}")).await, "f");
    assert_ne!(desk.reminder("ann", 60), sent);
    assert_eq!(desk.reminder("cid", 60), paused);
    let after = "ann60 scheduled, ann15 scheduled, bob60 cancelled, bob15 scheduled, cid60 paused, cid15 scheduled, \
                 dan60 scheduled, dan15 scheduled";
    assert_eq!(desk.sql(states), after);
    assert_eq!(desk.sql(&format!("select status from punctual.reminder where id = '{sent}'")), "completed");
    desk.change(paused, Change::Resume).await;

    // While it is being sent, it can be neither moved nor removed.
    let claimed = desk.claim(60 - 1440).await;
    assert_eq!(claimed.len(), 3, "the moved ones: what Dan had put off has given way");
    assert_eq!(desk.call("remove_event('game')").await, "t");
    let states = "select string_agg(distinct state, ', ') from punctual.occurrence where wake_at is not null";
    assert_eq!(desk.sql(states), "processing");
    let now = desk.due_at(60 - 1440);
    let settle = |claimed: &_| decide(claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, now, now);
    let settled = desk.store.settle(claimed.iter().map(settle).collect(), now).await.unwrap();
    assert!(settled.lost.is_empty(), "their senders' results count");
}

/// Ann's is tried again, Bob's waits for the end of a pause, Cid was told and is asked again, Dan put his off.
async fn one_of_each(desk: &Desk) {
    let paused = User {
        id: "bob".into(),
        timezone: None,
        language: None,
        addresses: vec![],
        quiet_hours: None,
        paused_until: Some(desk.due_at(-600)),
        escalate: Vec::new(),
        habits: punctual_core::habits::Habits::default(),
        admin: false,
        created_at: desk.due_at(600),
        updated_at: desk.due_at(600),
    };
    desk.store.put_user(paused, "ann".into()).await.unwrap();
    desk.call(&put_asking("", "{ann,bob,cid,dan}")).await;
    let now = desk.due_at(60);
    let claimed = desk.claim(60).await;
    let settle = |claimed: &Claimed| {
        let said = match claimed.reminder.user.as_str() {
            "ann" => Err(SendError::Unavailable("not now".into())),
            _ => Ok(Receipt::default()),
        };
        decide(claimed, said, &RetryPolicy::default(), 0.0, now, now)
    };
    desk.store.settle(claimed.iter().map(settle).collect(), now).await.unwrap();
    let snooze = Change::Snooze { until: desk.due_at(30) };
    desk.store.change(desk.reminder("dan", 60), snooze, By::new("dan", now)).await.unwrap();
    assert_eq!(desk.sql(OPEN), "ann pending_retry, bob waiting, cid awaiting_ack, dan snoozed");
}

fn put_asking(start: &str, users: &str) -> String {
    format!(
        "put_event('game', timestamptz 'START' {start}, '{{60}}', message => 'x', users => '{users}', ack_prompt => 'coming?')"
    )
}

/// The users with open runs, and the states of these.
const OPEN: &str = "select string_agg(r.user_id || ' ' || o.state, ', ' order by r.user_id, r.id) \
    from punctual.occurrence o join punctual.reminder r on r.id = o.reminder_id where o.wake_at is not null";

#[tokio::test(flavor = "multi_thread")]
async fn removing_an_event_ends_what_waits_for_a_retry_a_pause_or_an_answer() {
    let Some(desk) = Desk::open().await else { return };
    one_of_each(&desk).await;
    assert_eq!(desk.call("remove_event('game')").await, "t");
    assert_eq!(desk.sql(OPEN), "");
    let states = "select string_agg(r.user_id || ' ' || r.status || ' ' || o.state, ', ' order by r.user_id) \
                  from punctual.occurrence o join punctual.reminder r on r.id = o.reminder_id";
    let expect = "ann cancelled cancelled, bob cancelled cancelled, cid cancelled dismissed, dan cancelled cancelled";
    assert_eq!(desk.sql(states), expect);
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_an_event_leaves_one_reminder_for_each_person() {
    let Some(desk) = Desk::open().await else { return };
    one_of_each(&desk).await;
    // The same again, although its instant has passed: it is on its way.
    desk.call(&put_asking("", "{ann,bob,cid,dan}")).await;
    assert_eq!(desk.sql(OPEN), "ann pending_retry, bob waiting, cid awaiting_ack, dan snoozed");
    // Another day: everybody hears of the new time alone, also those who have seen the old one.
    desk.call(&put_asking("+ interval '1 day'", "{ann,bob,cid,dan}")).await;
    assert_eq!(desk.sql(OPEN), "ann scheduled, bob scheduled, cid scheduled, dan scheduled");
    desk.call("remove_event('game')").await;
    assert_eq!(desk.sql(OPEN), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_planned_was_asked_for_when_it_was_first_marked() {
    let Some(desk) = Desk::open().await else { return };
    let series =
        "put_event('game', 'START', scope => 'guild:1', message => 'x', users => '{ann}', rrule => 'FREQ=WEEKLY')";
    desk.call("put_scope('guild:1', '{60}')").await;
    desk.call(series).await;
    let stands = "select planned, plan_at = asked_at, asked_at from punctual.event";
    // No node plans in between.
    let calls = [
        ("put_scope('guild:1', '{30}')", "1"),
        ("put_instance('game', '2099-06-08 18:00', message => 'y')", "t"),
        (
            "put_event('game', 'START', scope => 'guild:1', message => 'z', users => '{ann}', rrule => 'FREQ=WEEKLY')",
            "f",
        ),
        ("put_scope('guild:1', '{15}')", "1"),
    ];
    let mut first = None;
    for (call, returns) in calls {
        assert_eq!(desk.sql(&format!("select punctual.{call}")), returns, "{call}");
        let stands = desk.sql(stands);
        let [planned, is_first, asked_at] = stands.split('|').collect::<Vec<_>>()[..] else { panic!("{stands}") };
        assert_eq!((planned, is_first), ("f", if first.is_none() { "t" } else { "f" }), "{call}");
        assert_eq!(first.get_or_insert_with(|| asked_at.to_owned()), asked_at, "{call}");
    }
    // One that somebody has removed depends on no scope any more, though its reminders are still to be withdrawn.
    assert_eq!(desk.sql("select punctual.remove_event('game')"), "t");
    assert_eq!(desk.sql("select punctual.put_scope('guild:1', '{5}')"), "0");
    assert_eq!(desk.sql("select asked_at from punctual.event"), first.unwrap_or_default());
    desk.plan().await;
    assert_eq!(desk.sql("select count(*) from punctual.event"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_who_are_no_longer_invited_hear_nothing_more_of_an_event() {
    let Some(desk) = Desk::open().await else { return };
    one_of_each(&desk).await;
    desk.call(&put_asking("", "{ann}")).await;
    assert_eq!(desk.sql(OPEN), "ann pending_retry");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_snoozed_and_whose_event_moves_is_made_for_the_new_instant() {
    let Some(desk) = Desk::open().await else { return };
    let put = |start: &str| {
        format!("put_event('game', timestamptz 'START' {start}, '{{60}}', message => 'x', users => '{{ann}}')")
    };
    assert_eq!(desk.call(&put("")).await, "t");
    let id = desk.reminder("ann", 60);
    desk.change(id, Change::Snooze { until: desk.due_at(50) }).await;
    desk.change(id, Change::Pause).await;
    let run = async || desk.store.occurrences(id, None, 1).await.unwrap().remove(0).occurrence;
    let before = run().await;
    assert_eq!((before.due_at, before.made_for), (desk.due_at(50), desk.due_at(60)));
    assert_eq!(desk.call(&put("+ interval '1 day'")).await, "f");
    let moved = run().await;
    assert_eq!((moved.due_at, moved.made_for), (desk.due_at(60 - 1440), desk.due_at(60 - 1440)));
}

#[tokio::test(flavor = "multi_thread")]
async fn old_events_go_with_their_history() {
    let Some(desk) = Desk::open().await else { return };
    let put = "put_event('game', timestamptz 'START', '{60}', message => 'x', users => '{ann}')";
    desk.check(put, "t", &["ann 60 x"]).await;
    assert_eq!(desk.send(60).await, 1);
    let kept = "select count(*) || ' ' || (select count(*) from punctual.event_reminder) from punctual.event";
    for (days, left) in [(-1, "1 1"), (1, "0 0")] {
        let before = desk.due_at(0) + SignedDuration::from_hours(days * 24);
        while desk.store.prune(before, 100).await.unwrap() > 0 {}
        assert_eq!(desk.sql(kept), left);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_event_is_an_error_that_names_the_argument() {
    let Some(desk) = Desk::open().await else { return };
    let client = Listener::connect(&desk.server.url(&desk.name)).await.client;
    for (call, column, words) in [
        ("put_event(null, now())", "key", "is missing"),
        ("put_event('', now(), users => '{ann}', message => 'x')", "key", "is empty"),
        ("put_event(repeat('x', 201), now(), users => '{ann}', message => 'x')", "key", "at most 200"),
        ("put_event('e', null, users => '{ann}', message => 'x')", "starts_at", "is missing"),
        ("put_event('e', 'infinity', users => '{ann}', message => 'x')", "starts_at", "further away"),
        ("put_event('e', now(), message => 'x')", "users", "whom to remind"),
        ("put_event('e', now(), users => '{}', message => 'x')", "users", "whom to remind"),
        ("put_event('e', now(), users => '{ann,\"\"}', message => 'x')", "users[1]", "is empty"),
        ("put_event('e', now(), users => array[null], message => 'x')", "users[0]", "is null"),
        (
            "put_event('e', now(), users => array(select 'u' || n from generate_series(1, 10001) as n), message => 'x')",
            "users",
            "at most 10000",
        ),
        ("put_event('e', now(), users => '{ann}')", "message", "is missing"),
        ("put_event('e', now(), users => '{ann}', message => ' ')", "message", "is empty"),
        ("put_event('e', now(), '{-527041}', users => '{ann}', message => 'x')", "offsets[0]", "366 days"),
        ("put_event('e', now(), '{60,527041}', users => '{ann}', message => 'x')", "offsets[1]", "366 days"),
        ("put_event('e', now(), '{NULL}', users => '{ann}', message => 'x')", "offsets[0]", "is no offset"),
        (
            "put_event('e', now(), array(select generate_series(1, 33)), users => '{ann}', message => 'x')",
            "offsets",
            "at most 32",
        ),
        (
            "put_event('e', now(), '{1}', offset_list => '[1]', users => '{ann}', message => 'x')",
            "offset_list",
            "one of them",
        ),
        ("put_event('e', now(), offset_list => '60', users => '{ann}', message => 'x')", "offset_list", "is no list"),
        (
            "put_event('e', now(), offset_list => '[\"soon\"]', users => '{ann}', message => 'x')",
            "offset_list[0]",
            "a span",
        ),
        (
            "put_event('e', now(), offset_list => '[\"end+1m\"]', users => '{ann}', message => 'x')",
            "offset_list",
            "ends_at",
        ),
        (
            "put_event('e', now(), ends_at => now() - interval '1 s', users => '{ann}', message => 'x')",
            "ends_at",
            "before starts_at",
        ),
        ("put_event('e', now(), groups => '{none}', message => 'x')", "groups[0]", "no group"),
        ("put_event('e', now(), users => '{ann}', message => '{title}')", "message", "unknown field {title}"),
        ("put_event('e', now(), users => '{ann}', message => 'a { b')", "message", "single {"),
        ("put_event('e', now(), users => '{ann}', message => 'x', rrule => '')", "rrule", "is empty"),
        ("put_event('e', now(), scope => '/a', users => '{ann}', message => 'x')", "scope", "empty part"),
        ("put_event('e', now(), scope => '', users => '{ann}', message => 'x')", "scope", "is empty"),
        ("put_event('e', now(), users => '{ann}', message => 'x', priority => 'urgent')", "priority", "low, normal"),
        ("put_event('e', now(), users => '{ann}', message => 'x', timezone => 'Mars')", "timezone", "unknown"),
        ("put_event('e', now(), \"to\" => '[\"webhook:x\"]', message => 'x')", "to[0].address", "http"),
        ("put_event('e', now(), scope => '50%', users => '{ann}', message => 'x')", "scope", "single %"),
        ("put_event('e', now(), scope => '1/2/3/4/5/6/7/8/9', users => '{ann}', message => 'x')", "scope", "at most 8"),
        ("put_instance('e', null)", "at", "is missing"),
        ("put_instance('e', now()::timestamp, now(), cancelled => true)", "cancelled", "Leave one out"),
        ("put_scope(null, '{1}')", "path", "is missing"),
        ("put_scope('a//b', '{1}')", "path", "empty part"),
        ("put_scope('a', null)", "offsets", "is missing"),
        ("put_scope('a', '{527041}')", "offsets[0]", "366 days"),
    ] {
        let error = client.batch_execute(&format!("select punctual.{call}")).await.expect_err(call);
        let error = error.as_db_error().unwrap_or_else(|| panic!("{call}: {error}"));
        let said = format!("{} {}", error.message(), error.hint().unwrap_or_default());
        assert_eq!((error.code().code(), error.column()), ("22023", Some(column)), "{call}: {said}");
        assert!(said.contains(words), "{call}: {said}");
    }
    let left = "select (select count(*) from punctual.event) + (select count(*) from punctual.scope) \
                + (select count(*) from punctual.reminder)";
    assert_eq!(desk.sql(left), "0");
    assert_eq!(desk.sql("select punctual.remove_event(null), punctual.remove_scope(null)"), "f|f");
}

/// Clients put, move and remove events while nodes claim: in the end each event has the reminders that it says.
#[tokio::test(flavor = "multi_thread")]
async fn events_changed_by_many_at_once_end_as_the_last_one_said() {
    let Some(desk) = Desk::open().await else { return };
    let changing = |client: usize, url: String| async move {
        let client_of = Listener::connect(&url).await.client;
        for round in 0..25 {
            let call = match (client + round) % 5 {
                0 => format!("put_scope('guild:1', '{{{}}}')", 10 + (client * 25 + round) % 20),
                1 => format!("put_scope('guild:1/channel:1', '{{{}, 90}}')", 10 + round % 20),
                2 if round % 10 == 2 => "remove_scope('guild:1/channel:1')".to_owned(),
                _ => format!(
                    "put_event('game:{}', timestamptz '{START}' + interval '{} minutes', scope => 'guild:1/channel:{}', \
                     message => 'in {{minutes}}', users => '{{ann,bob}}')",
                    round % 4,
                    client * 100 + round,
                    round % 2
                ),
            };
            client_of
                .batch_execute(&format!("select punctual.{call}"))
                .await
                .unwrap_or_else(|error| panic!("{call}: {error:?}"));
        }
    };
    let tasks: Vec<_> = (0..6).map(|n| tokio::spawn(changing(n, desk.server.url(&desk.name)))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    desk.plan().await;
    let wrong = "select count(*) from (select e.key, u, e.starts_at - b::integer * interval '1 minute' \
        from punctual.event e, json_array_elements_text(e.users::json) u, json_array_elements_text(coalesce(e.offsets, \
        (select s.offsets from punctual.scope s where e.scope = s.path or e.scope like s.path || '/%' \
        order by length(s.path) desc limit 1))::json) b) as v (key, u, at) \
        full join (select l.event_key, l.user_id, o.due_at from punctual.event_reminder l join punctual.occurrence o \
        on o.reminder_id = l.reminder_id and o.wake_at is not null) as w (key, u, at) using (key, u, at) \
        where v is null or w is null";
    assert_eq!(desk.sql(wrong), "0");
    // Once more, while all of it is claimed and settled: nobody waits in a circle.
    let tasks: Vec<_> = (0..4).map(|n| tokio::spawn(changing(n, desk.server.url(&desk.name)))).collect();
    let mut n_sent = 0;
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        n_sent += desk.send(-1440).await;
        desk.plan().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    desk.plan().await;
    println!("{n_sent} sent meanwhile");
    let stray = "select count(*) from punctual.occurrence o where o.wake_at is not null and not exists \
                 (select from punctual.event_reminder l where l.reminder_id = o.reminder_id)";
    assert_eq!(desk.sql(stray), "0", "none is left behind");
    println!(
        "{} made, {} cancelled",
        desk.sql("select count(*) from punctual.reminder"),
        desk.sql("select count(*) from punctual.reminder where status = 'cancelled'")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_told_once_of_an_event_for_very_many() {
    let Some(desk) = Desk::open().await else { return };
    let mut listener = Listener::connect(&desk.server.url(&desk.name)).await;
    let put = |minutes: i64| {
        format!(
            "select punctual.put_event('game', now() + interval '{minutes} minutes', '{{1}}', message => 'x', \
             users => array(select 'u' || n from generate_series(1, 1000) n))"
        )
    };
    for _ in 0..2 {
        listener.client.batch_execute(&put(120)).await.unwrap();
        assert_eq!(listener.told().await, ["events"]);
        desk.plan().await;
        listener.told().await;
    }
    let same = "select punctual.put_event('fixed', '2099-01-01', '{1}', message => 'x', users => '{ann}')";
    listener.client.batch_execute(same).await.unwrap();
    assert_eq!(listener.told().await, ["events"]);
    listener.client.batch_execute(same).await.unwrap();
    assert_eq!(listener.told().await, Vec::<String>::new(), "the same again is nothing to plan");
    let many = "select punctual.put_event('many:' || n, '2099-01-01', '{1}', message => 'x', users => '{ann}') from generate_series(1, 100) n";
    listener.client.batch_execute(many).await.unwrap();
    assert_eq!(listener.told().await, ["events"], "once for a transaction");
    listener.client.batch_execute("select punctual.remove_event('game')").await.unwrap();
    assert_eq!(listener.told().await, ["events"]);
    listener.client.batch_execute(&format!("begin; {}; rollback", put(2))).await.unwrap();
    assert_eq!(listener.told().await, Vec::<String>::new());
}

/// An application moves an event while a node claims its reminder: either the claim came first, and the node is asked for the run back, or it
/// leaves the run alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_at_the_same_moment_is_asked_back_or_leaves_the_run_alone() {
    let Some(desk) = Desk::open().await else { return };
    let (mut n_asked, mut n_left) = (0, 0);
    let put = |round: i64, start: &str| {
        format!("put_event('game:{round}', timestamptz 'START' {start}, '{{60}}', message => 'x', users => '{{ann}}')")
    };
    let client = Listener::connect(&desk.server.url(&desk.name)).await.client;
    for round in 0..40 {
        desk.call(&put(round, "")).await;
        desk.sql("begin; set local punctual.quiet = on; update punctual.occurrence set wake_at = now() where wake_at is not null; commit");
        let moved = format!("select punctual.{}", put(round, "+ interval '1 day'").replace("START", START));
        let (claimed, moved) = tokio::join!(desk.claim(60), client.batch_execute(&moved));
        moved.unwrap();
        let asked = desk.sql("select count(*) from punctual.recall r join punctual.occurrence o using (reminder_id) where o.state = 'processing'");
        match claimed.len() {
            0 => n_left += 1,
            _ => {
                assert_eq!(asked, "1", "a run that was claimed before is asked back");
                n_asked += 1;
            }
        }
        let now = desk.due_at(60);
        let settle = |claimed: &_| decide(claimed, Ok(Receipt::default()), &RetryPolicy::default(), 0.0, now, now);
        desk.store.settle(claimed.iter().map(settle).collect(), now).await.unwrap();
        desk.call(&format!("remove_event('game:{round}')")).await;
        desk.sql("delete from punctual.recall");
    }
    println!("{n_asked} asked back, {n_left} left alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_of_a_series_is_moved_cancelled_and_as_its_series_says_again() {
    let Some(desk) = Desk::open().await else { return };
    let put = "put_event('standup', (current_date + 1) at time zone 'UTC', '{0}', message => '{starts_at}', users => '{ann}', \
               timezone => 'UTC', rrule => 'FREQ=DAILY;COUNT=3')";
    assert_eq!(desk.call(put).await, "t");
    let due = "select string_agg((due_at - (current_date + 1) at time zone 'UTC')::text, ', ' order by instance) from punctual.event_reminder";
    assert_eq!(desk.sql(due), "00:00:00, 1 day, 2 days");
    let at = "(current_date + 2)::timestamp";
    assert_eq!(
        desk.call(&format!("put_instance('standup', {at}, {at} at time zone 'UTC' + interval '1 hour')")).await,
        "t"
    );
    assert_eq!(desk.sql(due), "00:00:00, 1 day 01:00:00, 2 days");
    assert_eq!(desk.call("put_instance('standup', (current_date + 3)::timestamp, cancelled => true)").await, "t");
    assert_eq!(desk.sql(due), "00:00:00, 1 day 01:00:00");
    // What is different about instances stays when the series is written again, and goes with nothing said.
    assert_eq!(desk.call(&put.replace("{starts_at}", "at {starts_at}")).await, "f");
    assert_eq!(desk.sql(due), "00:00:00, 1 day 01:00:00");
    assert_eq!(desk.call(&format!("put_instance('standup', {at})")).await, "t");
    assert_eq!(desk.call("put_instance('standup', (current_date + 3)::timestamp)").await, "t");
    assert_eq!(desk.sql(due), "00:00:00, 1 day, 2 days");
    assert_eq!(desk.call("put_instance('none', now()::timestamp, cancelled => true)").await, "f");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_that_is_moved_keeps_what_is_different_about_its_days() {
    let Some(desk) = Desk::open().await else { return };
    let put = |hour: i64, rule: &str| {
        format!(
            "put_event('standup', (current_date + 1) at time zone 'UTC' + interval '{hour} hours', '{{0}}', message => 'x', \
             users => '{{ann}}', timezone => 'UTC', rrule => '{rule}')"
        )
    };
    let due = "select string_agg((due_at - (current_date + 1) at time zone 'UTC')::text, ', ' order by instance) from punctual.event_reminder";
    let dropped = "select string_agg(data::json ->> 'dropped', ' ') from punctual.journal where data::json ->> 'dropped' is not null";
    desk.call(&put(9, "FREQ=DAILY;COUNT=3")).await;
    desk.call("put_instance('standup', current_date + 2 + time '9:00', cancelled => true)").await;
    assert_eq!(desk.sql(due), "09:00:00, 2 days 09:00:00");
    // The day stays off, at whatever time the others are.
    desk.call(&put(11, "FREQ=DAILY;COUNT=3")).await;
    assert_eq!(desk.sql(due), "11:00:00, 2 days 11:00:00");
    let event = "select repeats from punctual.event where key = 'standup'";
    assert!(!desk.sql(event).contains("unchecked") && desk.sql(event).contains("T110000"), "{}", desk.sql(event));
    let entries = "select count(*) from punctual.journal where kind = 'event.changed'";
    let before = desk.sql(entries);
    desk.call(&put(11, "FREQ=DAILY;COUNT=3")).await;
    assert_eq!(desk.sql(entries), before, "the same again changes nothing");
    assert_eq!(desk.sql(dropped), "");
    // A day that the series does not have is named in the journal, and nothing else changes.
    desk.call("put_instance('standup', current_date + 9 + time '9:00', cancelled => true)").await;
    assert_eq!(desk.sql(due), "11:00:00, 2 days 11:00:00");
    assert!(desk.sql(dropped).contains("T090000"), "{}", desk.sql(dropped));
    // One that is removed and written again is new.
    assert_eq!(desk.sql("select punctual.remove_event('standup')"), "t");
    assert_eq!(desk.call(&put(11, "FREQ=DAILY;COUNT=3")).await, "t");
    assert_eq!(desk.sql(due), "11:00:00, 1 day 11:00:00, 2 days 11:00:00");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_is_named_is_meant_by_its_very_name() {
    let Some(desk) = Desk::open().await else { return };
    let put = |minutes: i64| {
        format!(
            "put_event('h:1', (current_date + 1) at time zone 'UTC' + interval '{minutes} minutes', '{{0}}', message => 'x', \
             users => '{{ann}}', timezone => 'UTC', rrule => 'FREQ=HOURLY;COUNT=24')"
        )
    };
    let off = |time: &str| format!("put_instance('h:1', current_date + 1 + time '{time}', cancelled => true)");
    let missing = "select coalesce(string_agg(h::text, ' ' order by h), '') from generate_series(0, 23) as h where not exists ( \
        select from punctual.event_reminder r where extract(hour from r.due_at at time zone 'UTC') = h)";
    let dropped = "select string_agg(right(d, 7), ' ' order by write, item) from punctual.journal, json_array_elements_text(data::json -> 'dropped') as d";
    desk.call(&put(0)).await;
    desk.call(&off("10:30")).await;
    assert_eq!(
        (desk.sql(missing).as_str(), desk.sql(dropped).as_str()),
        ("", "T103000"),
        "no other is cancelled for it"
    );
    desk.call(&off("10:00")).await;
    desk.call(&off("11:00")).await;
    assert_eq!(desk.sql(missing), "10 11");
    // Those that were named before go along with the series, each by itself.
    desk.call(&put(30)).await;
    assert_eq!((desk.sql(missing).as_str(), desk.sql(dropped).as_str()), ("10 11", "T103000"));
    // One that is named together with a move of the series is named as it is then.
    let both = format!("select punctual.{}, punctual.{}", put(45), off("12:45"));
    desk.sql(&both);
    desk.plan().await;
    assert_eq!((desk.sql(missing).as_str(), desk.sql(dropped).as_str()), ("10 11 12", "T103000"));
    let both = format!("select punctual.{}, punctual.{}", put(50), off("13:45"));
    desk.sql(&both);
    desk.plan().await;
    assert_eq!((desk.sql(missing).as_str(), desk.sql(dropped).as_str()), ("10 11 12", "T103000 T134500"));
    // Two moves before a node has looked are one.
    desk.sql(&format!("select punctual.{}, punctual.{}", put(20), put(10)));
    desk.plan().await;
    assert_eq!(desk.sql(missing), "10 11 12");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_write_the_same_new_event_at_once_write_one() {
    let Some(desk) = Desk::open().await else { return };
    let url = desk.server.url(&desk.name);
    let (one, other) = (Listener::connect(&url).await.client, Listener::connect(&url).await.client);
    let put = |hour: i64| {
        format!(
            "select punctual.put_event('game', '2099-06-01 18:00+00'::timestamptz + interval '{hour} hours', '{{60}}', message => 'x', users => '{{ann}}')"
        )
    };
    one.batch_execute(&format!("begin; {}", put(0))).await.unwrap();
    let second = put(1);
    let writing = tokio::spawn(async move { other.query_one(&second, &[]).await });
    let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
    until("the second one waits", async || desk.sql(waits) == "1").await;
    one.batch_execute("commit").await.unwrap();
    let is_new: bool = writing.await.unwrap().expect("it is no error").get(0);
    assert!(!is_new, "it was there by then");
    desk.plan().await;
    assert_eq!(desk.sql("select count(*) from punctual.reminder"), "1");
    assert_eq!(desk.sql("select starts_at = '2099-06-01 19:00+00' from punctual.event"), "t");
}
