//! A schedule that only core can read is planned by the node that claims it, or fails and somebody is told.

use jiff::Timestamp;
use punctual_core::change::{Change, Patch};
use punctual_core::id::ReminderId;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::ReminderStatus;
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::store::{By, Claims, Store};
use punctual_store::postgres::PostgresStore;
use punctual_testkit::servers::Postgres;

use crate::client::{Listener, database};
use crate::remind::claim;

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

    fn remind(&self, arguments: &str) -> ReminderId {
        let call = format!("select punctual.remind('ann', 'x', timezone => 'Europe/Berlin', {arguments})");
        self.server.sql(&self.name, &call).parse().unwrap()
    }

    async fn made_at(&self, id: ReminderId) -> Timestamp {
        self.store.reminder(id).await.unwrap().unwrap().reminder.created_at
    }

    async fn claim(&self, id: ReminderId) -> Claims {
        self.store.claim(claim(id, self.made_at(id).await)).await.unwrap()
    }

    async fn state(&self, id: ReminderId) -> StateKind {
        self.store.occurrences(id, None, 1).await.unwrap().remove(0).occurrence.state.kind()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_expression_a_calendar_rule_and_a_phrase_are_planned_by_the_claim() {
    let Some(desk) = Desk::open().await else { return };
    for (arguments, kind) in [
        ("cron => '0 8 * * 1-5'", "cron"),
        ("rrule => E'DTSTART:20990401T080000\\nRRULE:FREQ=DAILY', count => 3", "smart"),
        ("phrase => 'workdays at 8, weekends at 10'", "smart"),
        ("phrase => 'tomorrow at 8'", "once"),
    ] {
        let id = desk.remind(arguments);
        let before = desk.store.reminder(id).await.unwrap().unwrap();
        assert_eq!((desk.state(id).await, before.next_run_at), (StateKind::Unplanned, None), "{arguments}");
        let claims = desk.claim(id).await;
        assert_eq!((claims.n_taken, claims.to_send.len(), claims.ended.len()), (1, 0, 0), "{arguments}");
        let view = desk.store.reminder(id).await.unwrap().unwrap();
        let schedule = &view.reminder.schedule;
        assert_eq!((desk.state(id).await, schedule.rule.kind()), (StateKind::Scheduled, kind), "{arguments}");
        let first = schedule.first_after(&view.reminder.timezone, view.reminder.created_at);
        assert_eq!(view.next_run_at, first, "{arguments}");
        assert_eq!(
            claims.wakes,
            first.into_iter().collect::<Vec<_>>(),
            "the node that planned it knows when it is due"
        );
        assert_eq!(desk.claim(id).await.n_taken, 0, "it is planned once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_core_cannot_read_fails_with_its_error_and_the_admins_are_told() {
    let Some(desk) = Desk::open().await else { return };
    for (arguments, field) in [
        ("cron => '61 * * * *'", "schedule.expr: "),
        ("rrule => 'RRULE:FREQ=X'", "schedule.ical: "),
        ("phrase => 'qwrtz'", "schedule.text: "),
        ("every => '1 hour', ends_at => now() + interval '1 minute'", "schedule: is never due"),
    ] {
        let id = desk.remind(&format!("priority => 'critical', {arguments}"));
        let claims = desk.claim(id).await;
        assert_eq!(claims.ended, [StateKind::Failed], "{arguments}");
        let trail = desk.store.occurrences(id, None, 1).await.unwrap().remove(0);
        let error = trail.occurrence.state.error().unwrap_or_default();
        assert!(error.starts_with(field), "{arguments}: {error}");
        let view = desk.store.reminder(id).await.unwrap().unwrap();
        assert_eq!((view.reminder.status, view.next_run_at), (ReminderStatus::Completed, None), "{arguments}");
        let told =
            format!("select count(*) from punctual.reminder where created_via = 'alert' and metadata like '%{id}%'");
        assert_eq!(desk.server.sql(&desk.name, &told), "1", "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_not_planned_yet_can_be_cancelled_paused_and_given_another_schedule() {
    let Some(desk) = Desk::open().await else { return };
    let by = |at| By::new("ann", at);
    let cancelled = desk.remind("daily => '8:00'");
    assert_eq!(desk.server.sql(&desk.name, &format!("select punctual.cancel('{cancelled}')")), "t");
    assert_eq!(desk.claim(cancelled).await.n_taken, 0);
    assert_eq!(desk.state(cancelled).await, StateKind::Cancelled);

    let paused = desk.remind("daily => '8:00'");
    let at = desk.made_at(paused).await;
    desk.store.change(paused, Change::Pause, by(at)).await.unwrap();
    assert_eq!(desk.claim(paused).await.n_taken, 1);
    assert_eq!(desk.state(paused).await, StateKind::Paused);
    desk.store.change(paused, Change::Resume, by(at)).await.unwrap();
    let view = desk.store.reminder(paused).await.unwrap().unwrap();
    assert_eq!(view.next_run_at, view.reminder.schedule.first_after(&view.reminder.timezone, at));

    let changed = desk.remind("daily => '8:00'");
    let at = desk.made_at(changed).await;
    let tomorrow = at + jiff::SignedDuration::from_hours(24);
    let patch = Patch { schedule: Some(Schedule::new(Rule::Once { at: tomorrow })), ..Patch::default() };
    desk.store.change(changed, Change::Update(Box::new(patch)), by(at)).await.unwrap();
    let view = desk.store.reminder(changed).await.unwrap().unwrap();
    assert_eq!((desk.state(changed).await, view.next_run_at), (StateKind::Scheduled, Some(tomorrow)));
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_told_at_once_of_a_run_that_is_to_be_planned() {
    let Some(desk) = Desk::open().await else { return };
    let mut listener = Listener::connect(&desk.server.url(&desk.name)).await;
    let daily = "select punctual.remind('ann', 'x', daily => '8:00')";
    listener.client.batch_execute(&format!("begin; {daily}; rollback")).await.unwrap();
    assert_eq!(listener.told().await, Vec::<String>::new());
    listener.client.batch_execute(daily).await.unwrap();
    let told = listener.told().await;
    assert!(matches!(&told[..], [one] if one.starts_with("wake 73:")), "{told:?}");
}
