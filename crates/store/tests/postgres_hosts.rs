//! Several hosts in one URL: which of them is used, and how long the others are waited for.
#![cfg(unix)]

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_core::store::Store;
use punctual_engine::machine;
use punctual_store::postgres::{OpenError, PostgresStore, Session};
use punctual_testkit::proxy::{Proxy, Toward};
use punctual_testkit::servers::Postgres;
use punctual_testkit::wait::until;

/// The result of `future`; fails the test when it takes longer.
#[expect(clippy::disallowed_methods, reason = "how long it may take is what is tested")]
async fn within<T>(span: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(span, future).await.unwrap_or_else(|_| panic!("it took longer than {span:?}"))
}

/// The URL of a database on several ports.
fn url(ports: &[u16], database: &str, query: &str) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres://punctual@{}/{database}?{query}", hosts.join(","))
}

/// The port that the server which answers listens on.
async fn answers(url: &str) -> Result<u16, OpenError> {
    let session = Session::open(url, &machine()).await?;
    let ports = session.texts("select current_setting('port')").await.expect("a server knows its port");
    Ok(ports[0].parse().expect("a port is a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_takes_connections_and_stays_silent_is_left_for_the_next_also_at_start() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    // Connections are made by the system; nobody ever says anything.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = silent.local_addr().map(|address| (silent, address.port())).unwrap();
    let url = url(&[silent.1, server.port()], &database, "connect_timeout=2");
    let store =
        within(Duration::from_secs(15), PostgresStore::open(&url, &machine())).await.expect("the second host answers");
    // All connections lead to the host that answers: the silent one is not waited for again.
    let calls = (0..8).map(|_| store.probe());
    let called = within(Duration::from_millis(1_900), futures_util::future::join_all(calls)).await;
    assert!(called.iter().all(Result::is_ok), "{called:?}");

    let nobody = self::url(&[silent.1, silent.1], &database, "connect_timeout=1");
    let error =
        within(Duration::from_secs(10), PostgresStore::open(&nobody, &machine())).await.err().unwrap().to_string();
    assert!(error.matches("the server does not answer").count() == 2, "each host is named with its trouble: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_falls_silent_is_left_for_the_next() {
    let Some(server) = Postgres::start() else { return };
    let database = server.new_database(None);
    let (first, second) = (Proxy::before(server.port()), Proxy::before(server.port()));
    let store = PostgresStore::open(&url(&[first.port(), second.port()], &database, "connect_timeout=1"), &machine())
        .await
        .unwrap();
    assert_eq!((first.connections(), second.connections()), (1, 0));
    first.swallow(Toward::Both);
    let window = punctual_core::store::UpcomingQuery {
        from: Timestamp::UNIX_EPOCH,
        until: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1),
        shards: punctual_core::shard::Shards::ALL,
        limit: 1,
    };
    // A query under way is given up after five seconds of silence; then the next host answers.
    let going_on = until("the next host answers", async || store.upcoming(window).await.is_ok());
    within(Duration::from_secs(12), going_on).await;
    assert!(second.connections() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_that_is_asked_for_is_found_among_several() {
    let (Some(mut standby), Some(primary)) = (Postgres::start(), Postgres::start()) else { return };
    standby.become_standby();
    let (s, p) = (standby.port(), primary.port());
    let table = [
        (&[s, p], "any", s),
        (&[p, s], "any", p),
        (&[s, p], "primary", p),
        (&[s, p], "read-write", p),
        (&[p, s], "read-only", s),
        (&[p, s], "standby", s),
        (&[p, s], "prefer-standby", s),
        (&[p, p], "prefer-standby", p),
    ];
    for (ports, wanted, expected) in table {
        let found = answers(&url(ports, "postgres", &format!("target_session_attrs={wanted}"))).await;
        assert_eq!(found.unwrap(), expected, "{wanted}");
    }
    primary.sql("postgres", "alter database postgres set default_transaction_read_only = on");
    for (wanted, is_taken) in [("primary", true), ("read-write", false), ("read-only", true), ("standby", false)] {
        let found = answers(&url(&[p], "postgres", &format!("target_session_attrs={wanted}"))).await;
        assert_eq!(found.is_ok(), is_taken, "a primary that is read-only by default, and {wanted}: {found:?}");
    }
    let error = answers(&url(&[s], "postgres", "target_session_attrs=primary")).await.unwrap_err().to_string();
    assert!(error.contains("the server is a standby"), "{error}");
}
