//! The code of docs/embedding.md: every piece of the page stands in this file, and runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use punctual::embed::{
    Ask, Change, Channel, Error, EventAsk, Invalid, Limits, Message, Priority, Punctual, Receipt, ReminderId,
    SendError, Watch, Zone, async_trait,
};
use punctual_testkit::servers::{Postgres, Redis};
use punctual_testkit::wait::until;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::common::soon;

async fn with_a_file(path: &Path, heard: UnboundedSender<String>) -> Result<Punctual, Error> {
    let punctual = Punctual::open(path)
        .timezone(Zone::named("Europe/Berlin")?)
        .channel("room", move |message: Message| {
            let heard = heard.clone();
            async move {
                // Here a program would show a notification, move a robot, or post to its own chat.
                heard.send(message.text).map_err(|_| SendError::Unavailable("nobody is in the room".into()))?;
                Ok(Receipt::default())
            }
        })
        .start()
        .await?;
    Ok(punctual)
}

async fn asks(punctual: &Punctual) -> Result<(), Error> {
    punctual.remind(Ask::new("stretch your legs").after(Duration::from_millis(100))).await?;
    punctual.remind(Ask::new("stand-up").cron("55 9 * * 1-5").user("ann").priority(Priority::High)).await?;
    let tea = punctual.remind(Ask::new("tea").schedule(json!({ "type": "daily", "time": "16:30" }))).await?;
    punctual.cancel(tea.reminder.id).await?;
    Ok(())
}

async fn with_a_database(url: &str, printer: Printer) -> Result<Punctual, Error> {
    let punctual = Punctual::connect(url).with_channel("printer", Arc::new(printer)).start().await?;
    Ok(punctual)
}

async fn with_redis(path: &Path, redis: &str, printer: Printer) -> Result<Punctual, Error> {
    let punctual = Punctual::open(path).redis(redis).with_channel("printer", Arc::new(printer)).start().await?;
    Ok(punctual)
}

/// Prints a slip of paper for a room.
struct Printer {
    paper: UnboundedSender<(String, String)>,
}

#[async_trait]
impl Channel for Printer {
    fn kind(&self) -> &'static str {
        "printer"
    }

    async fn send(&self, message: &Message) -> Result<Receipt, SendError> {
        let slip = (message.to.address.clone(), message.text.clone());
        // It is tried again later, by the reminder's own rules.
        self.paper.send(slip).map_err(|_| SendError::Unavailable("out of paper".into()))?;
        // The same key comes with every attempt: a printer that knows it prints once.
        Ok(Receipt::of(message.idempotency_key.clone()))
    }

    fn check_address(&self, address: &str) -> Result<(), Invalid> {
        let is_room = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_digit());
        if is_room { Ok(()) } else { Err(Invalid::new("address", "must be the number of a room, such as 12")) }
    }

    fn limits(&self) -> Limits {
        Limits { concurrency: 1, ..Limits::default() }
    }
}

async fn asks_for_an_answer(punctual: &Punctual) -> Result<ReminderId, Error> {
    let pills = Ask::new("take your pills").to("printer", "12").ack("Did you take them?");
    let pills = punctual.remind(pills.after(Duration::from_millis(50))).await?;
    Ok(pills.reminder.id)
}

async fn is_answered(punctual: &Punctual, pills: ReminderId) -> Result<(), Error> {
    punctual.change(pills, Change::Ack).await?;
    Ok(())
}

async fn with_events(punctual: &Punctual) -> Result<(), Error> {
    let game = EventAsk::new("game:42", "2099-03-10T18:00:00Z", "{title} in {minutes} min");
    let game = game.offsets(json!([60, 15])).to("printer", "7").field("metadata", json!({ "title": "Chess" }));
    let planned = punctual.put_event(game).await?;
    assert_eq!(planned.n_slots, 2);
    Ok(())
}

async fn with_a_watch(path: &Path, tasks: &str, printer: Printer) -> Result<Punctual, Box<dyn std::error::Error>> {
    let watch = Watch::over(tasks).table("tasks").key("id").due("due_date").sent("reminder_sent_at").user("owner");
    let punctual = Punctual::open(path)
        .with_channel("printer", Arc::new(printer))
        .watch("tasks", watch.message("{title} is due").with("to", "printer:3"))
        .start()
        .await?;
    punctual.run_watch("tasks").await?;
    Ok(punctual)
}

async fn until_it_is_told_to_stop(punctual: Punctual, quit: oneshot::Receiver<()>) {
    // Such as tokio::signal::ctrl_c(), or whatever else ends the program.
    let _ = quit.await;
    punctual.stop().await;
}

fn printer() -> (Printer, UnboundedReceiver<(String, String)>) {
    let (paper, slips) = unbounded_channel();
    (Printer { paper }, slips)
}

#[test]
fn every_piece_of_the_page_stands_in_this_file() {
    fn lines(text: &str) -> Vec<&str> {
        text.lines().map(str::trim).collect()
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedding.md")).unwrap();
    let own = lines(include_str!("embedding.rs"));
    let pieces: Vec<&str> = page.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(pieces.len() >= 8, "the pieces were found: {pieces:?}");
    for piece in pieces {
        let wanted = lines(piece.trim_end());
        assert!(own.windows(wanted.len()).any(|here| here == wanted), "it is not in embedding.rs:\n{piece}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reminders_live_in_a_file_and_the_program_stops_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("reminders.db");
    let (heard, mut hears) = unbounded_channel();
    let punctual = with_a_file(&path, heard.clone()).await.unwrap();
    asks(&punctual).await.unwrap();
    assert_eq!(soon(hears.recv()).await.unwrap(), "stretch your legs");
    let (quit, quits) = oneshot::channel();
    let running = tokio::spawn(until_it_is_told_to_stop(punctual, quits));
    quit.send(()).unwrap();
    soon(running).await.unwrap();
    // Another start finds the file free, and what was asked for in it.
    let again = with_a_file(&path, heard).await.unwrap();
    assert_eq!(again.engine().store().stats(again.engine().clock().now()).await.unwrap().pending, 1, "the stand-up");
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_of_ones_own_sends_and_refuses_what_it_cannot_reach() {
    let dir = tempfile::tempdir().unwrap();
    let (printer, mut slips) = printer();
    let path = dir.path().join("reminders.db");
    let punctual = Punctual::open(path).with_channel("printer", Arc::new(printer)).start().await.unwrap();
    let pills = asks_for_an_answer(&punctual).await.unwrap();
    let (room, text) = soon(slips.recv()).await.unwrap();
    assert_eq!(room, "12");
    assert!(text.contains("take your pills"), "{text}");
    // Between the send and its commit nothing awaits an answer yet.
    until("the answer counts", async || is_answered(&punctual, pills).await.is_ok()).await;
    with_events(&punctual).await.unwrap();
    let nowhere = punctual.remind(Ask::new("x").to("printer", "the kitchen")).await.unwrap_err();
    assert!(matches!(&nowhere, Error::Invalid(invalid) if invalid.problem.contains("number of a room")), "{nowhere}");
    punctual.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reminders_live_in_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let (printer, mut slips) = printer();
    let punctual = with_a_database(&postgres.url(&postgres.new_database(None)), printer).await.unwrap();
    let ask = Ask::new("lights out").to("printer", "1").after(Duration::from_millis(20));
    punctual.remind(ask).await.unwrap();
    assert_eq!(soon(slips.recv()).await.unwrap(), ("1".to_owned(), "lights out".to_owned()));
    punctual.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_in_redis_is_set_for_what_is_to_come_and_none_is_set_without_it() {
    let Some(redis) = Redis::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (own, mut slips) = printer();
    let punctual = with_redis(&dir.path().join("reminders.db"), &redis.url(), own).await.unwrap();
    punctual.remind(Ask::new("later").to("printer", "1").after(Duration::from_secs(600))).await.unwrap();
    let alarm = punctual.engine().alarm().expect("there is a timer in Redis");
    until("the timer is set", async || alarm.health().armed == 1).await;
    punctual.remind(Ask::new("now").to("printer", "1").after(Duration::ZERO)).await.unwrap();
    assert_eq!(soon(slips.recv()).await.unwrap().1, "now");
    punctual.stop().await;

    let (own, _slips) = printer();
    let refused =
        Punctual::open(dir.path().join("r.db")).redis("http://x").with_channel("p", Arc::new(own)).start().await;
    assert!(matches!(refused, Err(Error::Redis(_))));
    let (own, _slips) = printer();
    let without = Punctual::open(dir.path().join("s.db")).with_channel("p", Arc::new(own)).start().await.unwrap();
    assert!(without.engine().alarm().is_none());
    without.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_ones_own_is_watched() {
    let dir = tempfile::tempdir().unwrap();
    let tasks = dir.path().join("app.db");
    let app = rusqlite::Connection::open(&tasks).unwrap();
    app.execute_batch(
        "create table tasks (id integer primary key, title text, due_date text, reminder_sent_at text, owner text);
         insert into tasks (title, due_date, owner) values ('Taxes', strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+2 hours'), 'ann');",
    )
    .unwrap();
    let (printer, mut slips) = printer();
    let url = format!("sqlite:{}", tasks.display());
    let punctual = with_a_watch(&dir.path().join("reminders.db"), &url, printer).await.unwrap();
    let (room, text) = soon(slips.recv()).await.unwrap();
    assert_eq!((room.as_str(), text.as_str()), ("3", "Taxes is due"));
    let marked: bool = app.query_row("select reminder_sent_at is not null from tasks", [], |row| row.get(0)).unwrap();
    assert!(marked, "the application's own column says so");
    punctual.stop().await;
}
