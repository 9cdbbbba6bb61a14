//! The limits of the machine, measured without punctual.
//!
//! Three things: a plain timer, which remembers nothing; the same sender without a scheduler; and the disk. What comes
//! close to them cannot be made much better.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::{Channel, Message};
use punctual_engine::SystemClock;
use tokio::sync::oneshot;

use super::rig::{message, plus};
use super::sink::Sink;
use super::summary::Summary;

/// How much is written before each wait for the disk: a page, as the database does.
const PAGE_BYTES: usize = 4096;

/// How late a plain timer in memory is.
pub(super) async fn timer(instants: Vec<Timestamp>) -> anyhow::Result<Summary> {
    on_thread(move || {
        let late = |at: &Timestamp| {
            sleep_until(*at);
            SystemClock::read().duration_since(*at)
        };
        Summary::of(instants.iter().map(late).collect())
    })
    .await
}

/// Sends at each instant from a plain timer, through the same sender as punctual. Returns when the last one has begun; the
/// sink knows when they came.
pub(super) async fn timer_and_send(instants: Vec<Timestamp>, sink: &Sink) -> anyhow::Result<()> {
    let messages = messages(instants, sink);
    let (channel, runtime) = (sink.channel()?, tokio::runtime::Handle::current());
    on_thread(move || {
        for message in messages {
            sleep_until(message.due_at);
            let channel = Arc::clone(&channel);
            // What failed never arrives, and is missed there.
            runtime.spawn(async move { channel.send(&message).await });
        }
    })
    .await
}

/// Sends `count` messages as fast as the sender can, as many at once as punctual would; returns when it began.
pub(super) async fn sends(count: usize, sink: &Sink) -> anyhow::Result<Timestamp> {
    let messages: Arc<[Message]> = messages(vec![SystemClock::read(); count], sink).into();
    let (channel, next) = (sink.channel()?, Arc::new(AtomicUsize::new(0)));
    let begun_at = SystemClock::read();
    let tasks: Vec<_> = (0..sink.concurrency())
        .map(|_| tokio::spawn(send_some(Arc::clone(&messages), Arc::clone(&channel), Arc::clone(&next))))
        .collect();
    for task in tasks {
        task.await?;
    }
    Ok(begun_at)
}

async fn send_some(messages: Arc<[Message]>, channel: Arc<dyn Channel>, next: Arc<AtomicUsize>) {
    while let Some(message) = messages.get(next.fetch_add(1, Ordering::Relaxed)) {
        // What failed never arrives, and is missed there.
        let _ = channel.send(message).await;
    }
}

/// How long the disk takes to keep one page, measured for `span`.
pub(super) async fn fsyncs(dir: &Path, span: SignedDuration) -> anyhow::Result<Summary> {
    let path = dir.join("fsync-limit");
    on_thread(move || {
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let (page, mut took) = ([7; PAGE_BYTES], Vec::new());
        let mut now = SystemClock::read();
        let end_at = plus(now, span);
        while now < end_at {
            file.write_all(&page)?;
            file.sync_data()?;
            let then = SystemClock::read();
            took.push(then.duration_since(now));
            now = then;
        }
        std::fs::remove_file(&path)?;
        Ok(Summary::of(took))
    })
    .await?
}

fn messages(instants: Vec<Timestamp>, sink: &Sink) -> Vec<Message> {
    let to = sink.address();
    instants.into_iter().map(|at| message(&to, at)).collect()
}

/// Runs `work` on a thread of its own. A bench that is given up does not wait for it.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = sender.send(work());
    });
    receiver.await.context("a thread that measures the limit ended early")
}

#[expect(clippy::disallowed_methods, reason = "this sleep is the limit that is measured: a timer without any engine")]
fn sleep_until(at: Timestamp) {
    loop {
        let left = at.duration_since(SystemClock::read());
        if !left.is_positive() {
            return;
        }
        std::thread::sleep(left.unsigned_abs());
    }
}
