//! The proxy itself: what each fault does to a connection, seen from both ends.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what a test does not find is its failure")]

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use punctual_testkit::proxy::{Proxy, Toward};

/// Long enough for bytes that are not swallowed, and what a test waits for those that are.
const A_MOMENT: Duration = Duration::from_millis(150);
/// No step takes this long when all is well.
const DEADLINE: Duration = Duration::from_secs(10);

/// A server that accepts when asked, behind a proxy.
struct Stage {
    server: TcpListener,
    proxy: Proxy,
}

impl Stage {
    fn new() -> Self {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(server.local_addr().unwrap());
        Self { server, proxy }
    }

    /// Both ends of a new connection.
    fn connect(&self) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(("127.0.0.1", self.proxy.port())).unwrap();
        let (server, _) = self.server.accept().unwrap();
        for end in [&client, &server] {
            end.set_read_timeout(Some(DEADLINE)).unwrap();
            end.set_nodelay(true).unwrap();
        }
        (client, server)
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured is real")]
fn now() -> Instant {
    Instant::now()
}

#[track_caller]
fn expect(end: &mut TcpStream, words: &str) {
    let mut buffer = vec![0; words.len()];
    end.read_exact(&mut buffer).unwrap();
    assert_eq!(buffer, words.as_bytes());
}

/// No bytes come, and the connection is not closed either.
#[track_caller]
fn expect_silence(end: &mut TcpStream) {
    end.set_read_timeout(Some(A_MOMENT)).unwrap();
    let error = end.read(&mut [0; 1]).map(|n_read| format!("read {n_read}")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    end.set_read_timeout(Some(DEADLINE)).unwrap();
}

#[track_caller]
fn expect_reset(end: &mut TcpStream) {
    let error: Error = end.read(&mut [0; 1]).map(|n_read| format!("read {n_read}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// Until `condition` holds.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "another thread is waited for")]
fn until(condition: impl Fn() -> bool) {
    let begun = now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "this should have happened by now");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn bytes_and_ends_pass_both_ways() {
    let stage = Stage::new();
    let (mut client, mut server) = stage.connect();
    client.write_all(b"question").unwrap();
    expect(&mut server, "question");
    server.write_all(b"answer").unwrap();
    expect(&mut client, "answer");

    // A half-closed connection still carries the answer.
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
    let long = vec![7; 3_000_000];
    std::thread::scope(|scope| {
        scope.spawn(|| server.write_all(&long).unwrap());
        let mut got = vec![0; long.len()];
        client.read_exact(&mut got).unwrap();
        assert!(got == long);
    });
    drop(server);
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    until(|| stage.proxy.connections() == 0);
}

#[test]
fn a_url_is_led_through_it() {
    let stage = Stage::new();
    let target = stage.server.local_addr().unwrap().port();
    let url = stage.proxy.url_for(&format!("postgres://ann@127.0.0.1:{target}/life"));
    assert_eq!(url, format!("postgres://ann@127.0.0.1:{}/life", stage.proxy.port()));
}

#[test]
fn a_delay_is_for_one_direction_and_does_not_add_up() {
    let stage = Stage::new();
    let (mut client, mut server) = stage.connect();
    let delay = Duration::from_millis(400);
    stage.proxy.delay(Toward::Server, delay);
    let begun = now();
    client.write_all(b"a").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            expect(&mut server, "a");
            let took = now() - begun;
            assert!(took >= delay, "{took:?}");
            expect(&mut server, "b");
            server.write_all(b"c").unwrap();
        });
        // Sent while the first is on its way.
        client.write_all(b"b").unwrap();
        expect(&mut client, "c");
    });
    let took = now() - begun;
    assert!(took < delay * 2, "{took:?}");
}

#[test]
fn bytes_that_are_withheld_arrive_in_the_end() {
    let stage = Stage::new();
    let (mut client, mut server) = stage.connect();
    stage.proxy.withhold(Toward::Both);
    client.write_all(b"ping").unwrap();
    server.write_all(b"pong").unwrap();
    expect_silence(&mut server);
    expect_silence(&mut client);
    stage.proxy.resume();
    expect(&mut server, "ping");
    expect(&mut client, "pong");
}

#[test]
fn swallowed_bytes_are_gone_for_good_and_neither_side_is_told() {
    let stage = Stage::new();
    let (mut client, mut server) = stage.connect();
    stage.proxy.swallow(Toward::Server);
    client.write_all(b"ping").unwrap();
    expect_silence(&mut server);
    // The other way is as it was.
    server.write_all(b"news").unwrap();
    expect(&mut client, "news");

    // A connection that comes meanwhile is accepted, and nobody hears it.
    let (mut later_client, mut later_server) = stage.connect();
    later_client.write_all(b"hello").unwrap();
    expect_silence(&mut later_server);

    stage.proxy.resume();
    client.write_all(b"ping").unwrap();
    expect_silence(&mut server);
    drop(client);
    expect_silence(&mut server);
    let (mut new_client, mut new_server) = stage.connect();
    new_client.write_all(b"hello").unwrap();
    expect(&mut new_server, "hello");
}

#[test]
fn only_those_that_said_the_words_are_swallowed() {
    let stage = Stage::new();
    let (mut listener, mut listener_server) = stage.connect();
    let (mut other, mut other_server) = stage.connect();
    listener.write_all(b"Q...LISTEN punctual").unwrap();
    expect(&mut listener_server, "Q...LISTEN punctual");
    other.write_all(b"Q...select 1").unwrap();
    expect(&mut other_server, "Q...select 1");

    assert_eq!(stage.proxy.connections_that_said("listen"), 1);
    assert_eq!(stage.proxy.swallow_that_said("listen", Toward::Both), 1);
    listener_server.write_all(b"news").unwrap();
    expect_silence(&mut listener);
    other.write_all(b"again").unwrap();
    expect(&mut other_server, "again");
    // One that comes later is let through, whatever it says.
    let (mut new, mut new_server) = stage.connect();
    new.write_all(b"LISTEN").unwrap();
    expect(&mut new_server, "LISTEN");
}

#[test]
fn a_connection_that_says_the_words_is_not_heard_from_then_on() {
    let stage = Stage::new();
    stage.proxy.swallow_whoever_says("listen");
    let (mut client, mut server) = stage.connect();
    client.write_all(b"hello").unwrap();
    expect(&mut server, "hello");
    client.write_all(b"LISTEN").unwrap();
    expect_silence(&mut server);
    server.write_all(b"news").unwrap();
    expect_silence(&mut client);
    stage.proxy.resume();
    let (mut new, mut new_server) = stage.connect();
    new.write_all(b"LISTEN").unwrap();
    expect(&mut new_server, "LISTEN");
}

#[test]
fn a_cut_resets_both_ends_and_the_refused_never_get_anywhere() {
    let stage = Stage::new();
    let (mut client, mut server) = stage.connect();
    client.write_all(b"x").unwrap();
    expect(&mut server, "x");
    stage.proxy.cut();
    expect_reset(&mut client);
    expect_reset(&mut server);

    stage.proxy.refuse(true);
    let mut refused = TcpStream::connect(("127.0.0.1", stage.proxy.port())).unwrap();
    expect_reset(&mut refused);
    stage.proxy.resume();
    let (mut client, mut server) = stage.connect();
    client.write_all(b"y").unwrap();
    expect(&mut server, "y");
    drop(stage);
    expect_reset(&mut client);
    expect_reset(&mut server);
}

#[test]
fn where_nobody_listens_the_client_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::start(gone);
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    expect_reset(&mut client);
}
