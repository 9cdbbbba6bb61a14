//! A program that handles its reminders itself: no server, no network, one file.
//!
//! Run it with `cargo run --example embed`. It asks to be reminded one second from now, is, and
//! exits.

use std::time::Duration;

use punctual::embed::{Ask, Message, Punctual, Receipt};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let (heard, mut hears) = mpsc::channel(1);

    let punctual = Punctual::open(dir.path().join("reminders.db"))
        .channel("room", move |message: Message| {
            let heard = heard.clone();
            async move {
                // Here a program would show a notification, move a robot, or post to its own chat.
                println!("{} at {} ({:.1} ms late)", message.text, message.due_at, message.late_seconds() * 1e3);
                // The listener may have gone; the reminder was handled all the same.
                let _ = heard.send(()).await;
                Ok(Receipt::default())
            }
        })
        .start()
        .await?;

    let asked = punctual.remind(Ask::new("stretch your legs").after(Duration::from_secs(1))).await?;
    println!("asked for {}", asked.reminder.schedule.summary(&asked.reminder.timezone));

    hears.recv().await;
    punctual.stop().await;
    Ok(())
}
