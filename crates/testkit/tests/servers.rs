//! The servers of tests start, answer, stop, and are gone when nobody holds them.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use punctual_testkit::process::ended_within;
use punctual_testkit::servers::{PgBouncer, Postgres, Redis};

fn ping(url: &str) -> std::io::Result<String> {
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 7];
    stream.read_exact(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn redis_stops_and_starts_again() {
    let Some(mut redis) = Redis::start() else { return };
    assert_eq!(ping(&redis.url()).unwrap(), "+PONG\r\n");
    redis.stop_immediately();
    assert!(ping(&redis.url()).is_err());
    redis.start_again();
    assert_eq!(ping(&redis.url()).unwrap(), "+PONG\r\n");
    let url = redis.url();
    drop(redis);
    assert!(ping(&url).is_err(), "it is gone with the value that stood for it");
}

#[test]
fn postgres_keeps_what_was_written_through_an_immediate_stop() {
    let Some(mut postgres) = Postgres::start() else { return };
    let database = postgres.new_database(None);
    postgres.sql(&database, "create table t (n int); insert into t values (7)");
    postgres.stop_immediately();
    postgres.start_again();
    assert_eq!(postgres.sql(&database, "select n from t"), "7");
    assert!(postgres.log().contains("was not properly shut down"), "it was an immediate stop");
    let Some(mut bouncer) = PgBouncer::start(&postgres) else { return };
    assert!(bouncer.url(&database).starts_with("postgres://"));
    bouncer.stop_immediately();
    postgres.stop();
}

#[test]
fn servers_stop_where_the_signal_to_quit_is_ignored() {
    // As in the background of a script: the shell ignores SIGQUIT there, and so does all that it starts.
    let ignoring = "trap '' QUIT; exec \"$0\" \"$@\"";
    let this = std::env::current_exe().unwrap();
    let mut tests = Command::new("sh")
        .args(["-c", ignoring])
        .arg(this)
        .args(["--exact", "redis_stops_and_starts_again"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let ended = ended_within(&mut tests, Duration::from_secs(60));
    if ended.is_none() {
        tests.kill().unwrap();
    }
    assert!(ended.is_some_and(|status| status.success()), "the tests of Redis did not end: {ended:?}");
}
