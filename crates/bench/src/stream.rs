//! How soon everybody who streams the journal sees an entry, and what an open stream costs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_core::clock::{Clock, within};
use punctual_engine::SystemClock;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::Common;
use super::http::{Connection, request};
use super::place::Place;
use super::report::{Report, Table, count};
use super::rig::{MESSAGE, plus};
use super::server::{Memory, Server};
use super::summary::Summary;

/// How long a server is left alone before its memory is read.
const SETTLE_FOR: SignedDuration = SignedDuration::from_secs(1);
/// An entry that has not come everywhere by then never will.
const DEADLINE: Duration = Duration::from_secs(30);
/// The line by which a reader knows an entry of this bench.
const EVENT: &[u8] = b"event: reminder.created\n";
/// The begin of every stream.
const OPENING: &[u8] = b"retry: ";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many streams are open
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4000))]
    readers: u16,
    /// How many entries are written, one after the other
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    entries: u16,
    /// How many milliseconds lie between them
    #[arg(long, default_value_t = 100, value_name = "MS")]
    every: u16,
}

pub(super) async fn run(args: &Args, common: &Common) -> anyhow::Result<Report> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let place = Place::new(common)?;
    // A bench must not mix its reminders with somebody's own.
    drop(place.open().await?);
    let server = Server::start(&place, &*clock).await?;
    let mut writer = Connection::open(server.address).await?;
    write(&mut writer, &server.key).await?;
    clock.sleep_until(plus(clock.now(), SETTLE_FOR)).await;
    let before = server.memory()?;

    let (seen, mut sees) = mpsc::unbounded_channel();
    let mut readers = Vec::new();
    for _ in 0..args.readers {
        let stream = open(&server).await?;
        readers.push(tokio::spawn(read(stream, Arc::clone(&clock), seen.clone())));
    }
    drop(seen);
    clock.sleep_until(plus(clock.now(), SETTLE_FOR)).await;
    let opened = server.memory()?;

    let mut by_reader = Vec::with_capacity(usize::from(args.readers) * usize::from(args.entries));
    let mut by_entry = Vec::with_capacity(args.entries.into());
    for _ in 0..args.entries {
        let asked_at = clock.run_for();
        write(&mut writer, &server.key).await?;
        let mut last = SignedDuration::ZERO;
        for n_seen in 0..args.readers {
            let Some(Some(seen_at)) = within(&*clock, DEADLINE, sees.recv()).await else {
                anyhow::bail!("an entry came to {n_seen} of {} streams within {DEADLINE:?}", args.readers);
            };
            let span = SignedDuration::try_from(seen_at.saturating_sub(asked_at))?;
            by_reader.push(span);
            last = last.max(span);
        }
        by_entry.push(last);
        clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(args.every.into()))).await;
    }
    let used = server.memory()?;
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    server.stop(&*clock).await?;

    let each = |memory: Memory| memory.now.saturating_sub(before.now) as f64 / f64::from(args.readers) / 1e3;
    let (by_reader, by_entry) = (Summary::of(by_reader), Summary::of(by_entry));
    let title = format!(
        "stream: {} open streams of the journal, {} entries, from the request that writes one to its readers",
        count(args.readers.into()),
        count(args.entries.into())
    );
    let mut report = Report::new("stream", title);
    let mut table = Table::new([&[""][..], &Summary::COLUMNS].concat());
    table.row([vec!["every reader".to_owned()], by_reader.cells().to_vec()].concat());
    table.row([vec!["the last reader".to_owned()], by_entry.cells().to_vec()].concat());
    report.table(table);
    report.note(format!(
        "Memory of the server: {:.1} MB before, {:.1} kB for each open stream, {:.1} kB after the entries.",
        Memory::megabytes(before.now),
        each(opened),
        each(used)
    ));
    report.note("The readers run on the same machine and share its processors with the server.");
    report.note(place.note());
    report.field("readers", args.readers);
    report.field("entries", args.entries);
    report.field("every_reader", by_reader.json());
    report.field("last_reader", by_entry.json());
    report.field("kb_each_open", each(opened));
    report.field("kb_each_used", each(used));
    Ok(report)
}

/// Writes one entry: a reminder for another century.
async fn write(writer: &mut Connection, key: &str) -> anyhow::Result<()> {
    let body =
        json!({ "user": "me", "message": MESSAGE, "schedule": { "type": "once", "at": "2099-01-01T00:00:00Z" } });
    let body = serde_json::to_vec(&body)?;
    writer.exchange(&request("POST", "/v1/reminders", Some(key), &body)).await?.text()?;
    Ok(())
}

/// Opens a stream, and waits for its beginning.
async fn open(server: &Server) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(server.address).await.context("cannot connect")?;
    stream.write_all(&request("GET", "/v1/stream", Some(&server.key), b"")).await?;
    let mut begin = Vec::new();
    while !begin.windows(OPENING.len()).any(|window| window == OPENING) {
        ensure!(stream.read_buf(&mut begin).await? > 0, "a stream was refused: {}", String::from_utf8_lossy(&begin));
    }
    Ok(stream)
}

/// Says when each entry came.
async fn read(mut stream: TcpStream, clock: Arc<dyn Clock>, seen: mpsc::UnboundedSender<Duration>) {
    let mut buffer = Vec::with_capacity(4096);
    while stream.read_buf(&mut buffer).await.is_ok_and(|n| n > 0) {
        let now = clock.run_for();
        while let Some(at) = buffer.windows(EVENT.len()).position(|window| window == EVENT) {
            buffer.drain(..at + EVENT.len());
            if seen.send(now).is_err() {
                return;
            }
        }
        // What is left may be the begin of the next line.
        let n_old = buffer.len().saturating_sub(EVENT.len());
        buffer.drain(..n_old);
    }
}
