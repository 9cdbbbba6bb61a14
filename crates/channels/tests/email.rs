//! The e-mail channel before a real mail server: Exim, in the clear and over TLS, stopped and started in the middle.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

#[allow(dead_code, reason = "each file uses a part of it")]
mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{clock, may_work_later, message, soon, until_sent};
use punctual_channels::common::fields::Fields;
use punctual_channels::setup::{Server, make};
use punctual_core::channel::{Channel, Receipt, SendError, Whom};
use punctual_testkit::servers::Exim;
use punctual_testkit::wait::until_some;

const TO: &str = "bob@example.org";

/// The channel, with `more` settings.
fn channel(port: u16, more: &[(&str, &str)]) -> Arc<dyn Channel> {
    let port = port.to_string();
    let always = [("host", "127.0.0.1"), ("port", &port), ("from", "Punctual <p@example.net>")];
    let all = always.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    make("email", Fields::new(all.collect()), &Server::new(clock())).unwrap()
}

fn plain(exim: &Exim) -> Arc<dyn Channel> {
    channel(exim.port(), &[("tls", "none")])
}

/// The `Message-ID` of each mail that arrived, sorted, once there are at least `n`.
async fn arrived(exim: &Exim, n: usize) -> Vec<String> {
    let mails = until_some("all mails are there", async || Some(exim.mails()).filter(|mails| mails.len() >= n)).await;
    let id = |mail: &String| mail.lines().find_map(|line| line.strip_prefix("Message-ID: ").map(str::to_owned));
    let mut ids: Vec<_> = mails.iter().map(|mail| id(mail).unwrap()).collect();
    ids.sort();
    ids
}

fn id(receipt: Receipt) -> String {
    receipt.message_id.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_arrives_whole() {
    let Some(exim) = Exim::start() else { return };
    let mut sent = message(TO, 1);
    sent.text = "tea\n.\n..two dots\n.one".into();
    let receipt = soon(plain(&exim).send(&sent)).await.unwrap();
    assert_eq!(arrived(&exim, 1).await, [id(receipt)]);
    let mail = exim.mails().remove(0);
    assert!(mail.contains("\ntea\n.\n..two dots\n.one\n"), "a dot alone ends a mail on the way, not here: {mail}");
    assert!(mail.contains("Auto-Submitted: auto-generated") && mail.contains("multipart/alternative"), "{mail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_is_encrypted_and_the_password_is_asked() {
    let Some(exim) = Exim::start() else { return };
    let ca_file = exim.ca_file();
    let ca_file = ca_file.to_str().unwrap();
    let login = [("username", "alice"), ("password", "s3cret"), ("ca_file", ca_file)];
    for (run, (port, tls)) in [(exim.port(), "starttls"), (exim.tls_port(), "tls")].into_iter().enumerate() {
        let channel = channel(port, &[&login[..], &[("tls", tls)]].concat());
        // Over one connection, which is kept.
        for again in 0..3 {
            soon(channel.send(&message(TO, 10 * run as u32 + again))).await.unwrap();
        }
    }
    arrived(&exim, 6).await;
    let log = exim.log();
    let taken: Vec<_> = log.lines().filter(|line| line.contains(" <= p@example.net ")).collect();
    assert_eq!(taken.len(), 6, "{log}");
    assert!(taken.iter().all(|line| line.contains("X=TLS1.") && line.contains("A=plain:alice")), "{log}");

    // A server with a certificate that nobody vouches for gets no mail.
    let stranger = channel(exim.port(), &[("username", "alice"), ("password", "s3cret")]);
    let failed = soon(stranger.send(&message(TO, 30))).await.unwrap_err();
    assert!(matches!(&failed, SendError::Unavailable(why) if why.contains("certificate")), "{failed}");
    let wrong = [("username", "alice"), ("password", "wr0ng"), ("ca_file", ca_file)];
    let failed = soon(channel(exim.port(), &wrong).send(&message(TO, 31))).await.unwrap_err();
    assert!(matches!(&failed, SendError::Unavailable(why) if why.contains("535")), "{failed}");
    assert!(!failed.to_string().contains("wr0ng"), "{failed}");
    // A password never goes out in the clear, even where the way may be.
    let clear = channel(exim.port(), &[("username", "alice"), ("password", "s3cret"), ("tls", "none")]);
    let failed = soon(clear.send(&message(TO, 32))).await.unwrap_err();
    assert!(may_work_later(&failed) && !failed.to_string().contains("s3cret"), "{failed}");
    assert_eq!(exim.mails().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_reply_to_a_recipient_decides() {
    let Some(exim) = Exim::start() else { return };
    let channel = plain(&exim);
    let said = soon(channel.send(&message("nobody@example.org", 1))).await;
    assert!(matches!(&said, Err(SendError::Gone(why)) if why.contains("550 5.1.1 no such user")), "{said:?}");
    let said = soon(channel.send(&message("later@example.org", 2))).await;
    assert!(matches!(&said, Err(SendError::Throttled { whom: Whom::Address, .. })), "{said:?}");
    // The connection is as good as before.
    let receipt = soon(channel.send(&message(TO, 3))).await.unwrap();
    assert_eq!(arrived(&exim, 1).await, [id(receipt)]);
}

/// Mails go out while the server is stopped and started again, twice: what it took arrives, what it did not take is said, and what
/// is sent again is the same mail.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_stopped_and_started_in_the_middle_loses_nothing_that_was_sent() {
    const SENDERS: u32 = 4;
    const EACH: u32 = 60;
    let Some(mut exim) = Exim::start() else { return };
    let channel = plain(&exim);
    let (progress, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let (channel, progress) = (Arc::clone(&channel), progress.clone());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for n in 0..EACH {
                    ids.push(id(until_sent(channel.as_ref(), &message(TO, sender * EACH + n)).await));
                    progress.send(()).unwrap();
                }
                ids
            })
        })
        .collect();
    drop(progress);
    for _ in 0..2 {
        for _ in 0..SENDERS * EACH / 4 {
            soon(seen.recv()).await.expect("they are not done");
        }
        exim.stop_immediately();
        let failed = soon(channel.send(&message(TO, 9_999))).await.unwrap_err();
        assert!(matches!(&failed, SendError::Unavailable(why) if why.starts_with("no connection to ")), "{failed}");
        exim.start_again();
    }
    let mut sent = BTreeSet::new();
    for sender in senders {
        sent.extend(soon(sender).await.unwrap());
    }
    assert_eq!(sent.len(), (SENDERS * EACH) as usize);
    let here = until_some("each mail is there", async || {
        let here: BTreeSet<_> = arrived(&exim, sent.len()).await.into_iter().collect();
        Some(here).filter(|here| here.len() >= sent.len())
    })
    .await;
    assert_eq!(here, sent, "a mail that came twice came as the same mail");
}
