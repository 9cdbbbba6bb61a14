//! punctual inside another program.

use std::time::Duration;

use punctual::embed::{Ask, Error, Message, Punctual, Receipt};
use tokio::sync::mpsc;

use crate::common::soon;

#[tokio::test]
async fn a_program_handles_its_reminders_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let punctual = Punctual::open(dir.path().join("reminders.db"))
        .channel("room", move |message: Message| {
            let sender = sender.clone();
            async move {
                let _ = sender.send(message);
                Ok(Receipt::default())
            }
        })
        .start()
        .await
        .unwrap();
    let asked = punctual.remind(Ask::new("stretch").after(Duration::from_millis(50)).user("alice")).await.unwrap();
    let message = soon(receiver.recv()).await.unwrap();
    assert_eq!((message.text.as_str(), message.reminder.user.as_str()), ("stretch", "alice"));
    assert_eq!(message.occurrence.reminder, asked.reminder.id);
    assert!(message.sent_at >= message.due_at, "never early");

    let error = punctual.remind(Ask::new("x").cron("0 8 * *")).await.unwrap_err();
    assert!(matches!(&error, Error::Invalid(invalid) if invalid.field == "schedule.expr"), "{error}");
    let later = punctual.remind(Ask::new("x").after(Duration::from_secs(3600))).await.unwrap();
    punctual.cancel(later.reminder.id).await.unwrap();
    punctual.stop().await;
    assert!(receiver.try_recv().is_err());
}

#[tokio::test]
async fn without_a_channel_it_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let started = Punctual::open(dir.path().join("reminders.db")).start().await;
    assert!(matches!(started, Err(Error::NoChannel)));
}
