//! Creating: all of it or nothing, and the same answer to the same request.

use punctual_core::change::Change;
use punctual_core::occurrence::StateKind;
use punctual_core::reminder::{
    AckPolicy, Address, Metadata, Misfire, MisfirePolicy, OnUnknown, Priority, Reminder, ReminderStatus,
};
use punctual_core::store::{Answer, Answered, By, ChangeError, Create, NewReminder, ReminderView, Repeat, StoreError};
use punctual_core::zone::Zone;

use super::desk::{Desk, at, every, once, run};

rules!(
    a_created_reminder_reads_back_whole,
    a_batch_is_written_whole_or_not_at_all,
    a_key_is_used_once,
    a_command_is_done_once_under_its_key,
    a_request_that_has_begun_is_known_until_it_is_finished,
    one_that_is_paused_from_the_start_waits_until_it_is_resumed,
);

async fn a_created_reminder_reads_back_whole(desk: Desk) {
    let metadata = serde_json_object();
    let full = Reminder {
        name: Some("plants".into()),
        timezone: Zone::named("Europe/Berlin").expect("a real zone"),
        priority: Priority::Critical,
        to: vec![Address::new("phone", "ann"), Address::new("mail", "ann@example.org")],
        only: true,
        ack: Some(AckPolicy { prompt: Some("done?".into()), ..AckPolicy::default() }),
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: false,
        retries_max: 7,
        misfire: Misfire { policy: MisfirePolicy::All, within: std::time::Duration::from_secs(90) },
        on_unknown: OnUnknown::Auto,
        original_text: Some("every two minutes".into()),
        metadata,
        tags: vec!["chores".into(), "čišćenje".into()],
        ..every(1, 120)
    };
    desk.create(&[&full]).await;
    assert_eq!(desk.view(full.id).await, ReminderView::fresh(full.clone(), at(120)));
    assert_eq!(desk.states(full.id).await, [(StateKind::Scheduled, 120)]);
    assert_eq!(desk.kinds(full.id).await, ["created"]);
    assert_eq!(desk.status(full.id).await, ReminderStatus::Active);
    assert!(desk.store.reminder(once(9, 1).id).await.expect("the store works").is_none());
    assert!(desk.store.occurrence(run(&full, 2)).await.expect("the store works").is_none());
}

async fn a_batch_is_written_whole_or_not_at_all(desk: Desk) {
    let (first, second) = (once(1, 10), once(2, 10));
    desk.create(&[&first]).await;
    let twice = desk.try_create(&[&second, &first]).await;
    assert!(twice.is_err(), "an id cannot be taken twice");
    assert!(desk.store.reminder(second.id).await.expect("the store works").is_none(), "nothing of it was written");
    assert_eq!(desk.kinds(second.id).await, Vec::<String>::new());
    desk.create(&[&second, &once(3, 10)]).await;
    assert_eq!(desk.claim(10).await.to_send.len(), 3);
}

async fn a_key_is_used_once(desk: Desk) {
    let answered = Answered { request: [7; 32], answer: Some(Answer { status: 201, body: "made".into() }) };
    let create = |reminder: Reminder| Create {
        reminders: vec![NewReminder { reminder, first_due_at: at(10) }],
        who: "ann".into(),
        answered: Some(("key".into(), answered.clone())),
        now: at(0),
    };
    assert_eq!(desk.store.answered("key").await.expect("the store works"), None);
    desk.store.create(create(once(1, 10))).await.expect("the key is new");
    assert_eq!(desk.store.answered("key").await.expect("the store works"), Some(answered.clone()));
    let again = desk.store.create(create(once(2, 10))).await;
    assert!(matches!(again, Err(StoreError::KeyUsed)), "{again:?}");
    assert!(desk.store.reminder(once(2, 10).id).await.expect("the store works").is_none());

    desk.store.forget_answered(at(3600)).await.expect("the store works");
    assert!(desk.store.answered("key").await.expect("the store works").is_some(), "a client may still repeat it");
    desk.store.forget_answered(at(49 * 3600)).await.expect("the store works");
    assert_eq!(desk.store.answered("key").await.expect("the store works"), None);
}

async fn a_command_is_done_once_under_its_key(desk: Desk) {
    let reminder = every(1, 100);
    desk.create(&[&reminder]).await;
    let show = |view: &ReminderView| Answer { status: 200, body: format!("{:?}", view.next_run_at) };
    let repeat = Repeat { key: "key".into(), request: [7; 32], answer: std::sync::Arc::new(show) };
    let by = By { repeat: Some(repeat.clone()), ..By::new("ann", at(10)) };
    let refused = desk.store.change(reminder.id, Change::Resume, by.clone()).await;
    assert!(matches!(refused, Err(ChangeError::Refused(_))), "{refused:?}");
    assert_eq!(desk.store.answered("key").await.expect("the store works"), None, "what is refused uses up no key");

    let changed = desk.store.change(reminder.id, Change::Fire, by.clone()).await.expect("the key is new");
    let kept = desk.store.answered("key").await.expect("the store works");
    assert_eq!(kept, Some(repeat.answered(&changed.view)), "the answer is kept with what was done");
    let again = desk.store.change(reminder.id, Change::Fire, by).await;
    assert!(matches!(again, Err(ChangeError::Store(StoreError::KeyUsed))), "{again:?}");
    assert_eq!(desk.runs(reminder.id).await.len(), 2, "it was fired once");
    assert_eq!(desk.kinds(reminder.id).await, ["created", "changed"]);
}

async fn a_request_that_has_begun_is_known_until_it_is_finished(desk: Desk) {
    let begin = || desk.store.begin_answer("key", [7; 32], at(0));
    begin().await.expect("the key is new");
    let begun = Answered { request: [7; 32], answer: None };
    assert_eq!(desk.store.answered("key").await.expect("the store works"), Some(begun));
    assert!(matches!(begin().await, Err(StoreError::KeyUsed)));
    desk.store.finish_answer("key", None).await.expect("the store works");
    assert_eq!(
        desk.store.answered("key").await.expect("the store works"),
        None,
        "it was refused: the key is free again"
    );

    begin().await.expect("the key is free");
    let answer = Answer { status: 200, body: "done".into() };
    desk.store.finish_answer("key", Some(answer.clone())).await.expect("the store works");
    let kept = Answered { request: [7; 32], answer: Some(answer) };
    assert_eq!(desk.store.answered("key").await.expect("the store works"), Some(kept));
}

async fn one_that_is_paused_from_the_start_waits_until_it_is_resumed(desk: Desk) {
    let paused = Reminder { status: ReminderStatus::Paused, ..every(1, 100) };
    desk.create(&[&paused]).await;
    assert_eq!(desk.states(paused.id).await, [(StateKind::Paused, 100)]);
    assert_eq!(desk.view(paused.id).await.next_run_at, None);
    assert_eq!(desk.claim(150).await.n_taken, 0);
    desk.change(paused.id, Change::Resume, 150).await;
    assert_eq!(desk.states(paused.id).await, [(StateKind::Missed, 100), (StateKind::Scheduled, 200)]);
    desk.deliver(200).await;
}

fn serde_json_object() -> Metadata {
    Metadata::from_stored(r#"{"room":"kitchen","n":3}"#.into())
}
