//! `bench email`: how fast mails go out to one server, over connections that are kept.
//!
//! The server is as small as one can be and runs on a thread of its own, so that what is measured is the sender: it reads every
//! command and every mail to its end, and says yes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use jiff::SignedDuration;
use punctual_channels::common::fields::Fields;
use punctual_channels::setup;
use punctual_core::reminder::Address;
use punctual_engine::SystemClock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::report::{Report, Table, per_second, rate};
use super::rig::message;
use super::summary::Summary;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// How many mails
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    /// How many at once, and how many connections at most
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    concurrency: u16,
}

pub(super) async fn run(args: &Args) -> anyhow::Result<Report> {
    let server = Arc::new(Server::default());
    let address = listen(Arc::clone(&server)).await?;
    let fields = [
        ("host", address.ip().to_string()),
        ("port", address.port().to_string()),
        ("tls", "none".to_owned()),
        ("from", "Punctual <punctual@bench.example>".to_owned()),
        ("concurrency", args.concurrency.to_string()),
    ];
    let fields: BTreeMap<_, _> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let channel = setup::make("email", Fields::new(fields), &setup::Server::new(Arc::new(SystemClock::start())))?;

    let n_begun = Arc::new(AtomicUsize::new(0));
    let count = args.count as usize;
    let begun_at = SystemClock::read();
    let senders: Vec<_> = (0..args.concurrency)
        .map(|_| {
            let (channel, n_begun) = (Arc::clone(&channel), Arc::clone(&n_begun));
            tokio::spawn(async move {
                let mut took = Vec::new();
                loop {
                    let number = n_begun.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return anyhow::Ok(took);
                    }
                    let to = Address::new("email", format!("person-{number}@bench.example"));
                    let sent_at = SystemClock::read();
                    channel.send(&message(&to, sent_at)).await.context("a mail was not taken")?;
                    took.push(SystemClock::read().duration_since(sent_at));
                }
            })
        })
        .collect();
    let mut took: Vec<SignedDuration> = Vec::with_capacity(count);
    for sender in senders {
        took.extend(sender.await.context("a sender panicked")??);
    }
    let whole = SystemClock::read().duration_since(begun_at);
    let (n_mails, n_connections) =
        (server.n_mails.load(Ordering::Relaxed), server.n_connections.load(Ordering::Relaxed));
    ensure!(n_mails == count, "{n_mails} of {count} mails arrived");

    let (per, took) = (rate(count, whole), Summary::of(took));
    let title = format!("email: {count} mails to one server on this machine, {} at once", args.concurrency);
    let mut report = Report::new("email", title);
    let mut table = Table::new(["", "mails", "a mail: p50", "p90", "p99", "max"]);
    table.row(["over kept connections".to_owned(), per_second(per)].into_iter().chain(took.cells()));
    report.table(table);
    report.note(format!("{n_connections} connections were made. All {count} mails arrived."));
    report.field("count", count);
    report.field("connections", n_connections);
    report.field("mails_per_second", per);
    report.field("mail", took.json());
    Ok(report)
}

/// What the server has seen.
#[derive(Default)]
struct Server {
    n_connections: AtomicUsize,
    n_mails: AtomicUsize,
}

/// Starts the server on a thread of its own, which ends with the process.
async fn listen(server: Arc<Server>) -> anyhow::Result<SocketAddr> {
    let (ready, address) = tokio::sync::oneshot::channel();
    let serve = move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            // The bench may be gone already.
            let _ = ready.send(listener.local_addr()?);
            loop {
                let (stream, _) = listener.accept().await?;
                server.n_connections.fetch_add(1, Ordering::Relaxed);
                // One that breaks off has nothing more to say.
                let server = Arc::clone(&server);
                tokio::spawn(async move { talk(stream, &server).await });
            }
        })
    };
    std::thread::spawn(serve);
    address.await.context("the mail server did not start")
}

async fn talk(stream: TcpStream, server: &Server) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 bench.example ESMTP\r\n").await?;
    let (mut line, mut in_mail) = (Vec::new(), false);
    loop {
        line.clear();
        if stream.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        if in_mail {
            if line == b".\r\n" {
                in_mail = false;
                server.n_mails.fetch_add(1, Ordering::Relaxed);
                stream.write_all(b"250 2.0.0 taken\r\n").await?;
            }
            continue;
        }
        let reply: &[u8] = match line.get(..4) {
            Some(b"DATA") => {
                in_mail = true;
                b"354 go on\r\n"
            }
            Some(b"QUIT") => return stream.write_all(b"221 2.0.0 bye\r\n").await,
            _ => b"250 fine\r\n",
        };
        stream.write_all(reply).await?;
    }
}
