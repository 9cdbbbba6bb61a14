//! The journal live.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use punctual_testkit::proxy::Proxy;
use punctual_testkit::wait::pause;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::common::{Home, Kept, Server, answer, soon, within};
use crate::events::Events;

const LATER: &str = "2099-01-01T00:00:00Z";

fn reminder(user: &str) -> Value {
    json!({ "user": user, "message": "m", "schedule": { "type": "once", "at": LATER } })
}

async fn remind(server: &Server, user: &str) -> String {
    server.create(reminder(user)).await["id"].as_str().unwrap().to_owned()
}

async fn new_key(server: &Server, body: Value) -> (String, String) {
    let (status, key) = server.call(Method::POST, "/v1/keys", Some(body)).await;
    assert_eq!(status, 201, "{key}");
    (key["id"].as_str().unwrap().to_owned(), key["key"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_is_streamed_as_the_audit_shows_it() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        remind(&server, "before").await;
        let mut events = Events::open(&server, "", None).await;
        let id = remind(&server, "ann").await;
        let event = events.entry().await;
        assert_eq!((event.name.as_str(), &event.data["reminder_id"]), ("reminder.created", &json!(id)), "from now on");
        assert_eq!(event.data["id"], event.id.unwrap());
        let listed = server.get(&format!("/v1/audit?reminder={id}")).await;
        assert_eq!(listed["entries"], json!([event.data]), "one shape everywhere");
        server.call(Method::DELETE, &format!("/v1/reminders/{id}"), None).await;
        assert_eq!(events.entry().await.name, "reminder.cancelled");

        // From a position, by query or by header, which goes before it.
        let mut again = Events::open(&server, "?after=0", None).await;
        assert_eq!(again.entry().await.data["user"], "before");
        let mut again = Events::open(&server, "?after=0", event.id).await;
        assert_eq!(again.entry().await.name, "reminder.cancelled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_shows_what_it_was_asked_for_and_what_its_key_may_see() {
    let home = Home::new();
    let server = home.serve();
    let (_, ann_key) = new_key(&server, json!({ "name": "ann", "user": "ann", "scopes": ["read"] })).await;
    let anns = remind(&server, "ann").await;
    let mut streams = [
        Events::open_with(&server, &ann_key, "", None).await,
        Events::open(&server, "?user=ann", None).await,
        Events::open(&server, &format!("?reminder={anns}"), None).await,
        Events::open(&server, "?kind=reminder.cancelled,user.changed", None).await,
    ];
    let bobs = remind(&server, "bob").await;
    server.call(Method::DELETE, &format!("/v1/reminders/{bobs}"), None).await;
    server.call(Method::PATCH, &format!("/v1/reminders/{anns}"), Some(json!({ "message": "tea" }))).await;
    server.call(Method::DELETE, &format!("/v1/reminders/{anns}"), None).await;
    for events in &mut streams[..3] {
        assert_eq!(events.entry().await.name, "reminder.changed");
        assert_eq!(events.entry().await.name, "reminder.cancelled");
    }
    let [.., by_kind] = &mut streams;
    assert_eq!(by_kind.entry().await.data["user"], "bob");
    assert_eq!(by_kind.entry().await.data["user"], "ann");

    let request = |key: &str, query: &str| server.request(Method::GET, &format!("/v1/stream{query}")).bearer_auth(key);
    for (key, query, status, field) in [
        (&ann_key, "?user=bob", 403, "user"),
        (&server.key, "?kind=reminder.send", 422, "kind"),
        (&server.key, "?after=-1", 400, "after"),
        (&server.key, "?after=soon", 400, "after"),
        (&server.key, "?from=1", 400, "from"),
        (&server.key, "?after=1000000", 409, "after"),
    ] {
        let (found, problem) = answer(soon(request(key, query).send()).await.unwrap()).await;
        assert_eq!((found.as_u16(), &problem["field"]), (status, &json!(field)), "{query}: {problem}");
    }
    let header = request(&server.key, "").header("last-event-id", "x").send();
    assert_eq!(soon(header).await.unwrap().status(), 400);
    assert_eq!(soon(request("pk_wrong", "").send()).await.unwrap().status(), 401);
}

/// Writes reminders, one request after the other, until it is told to stop; returns how many.
async fn writing(server: &Server, stop: &AtomicUsize) -> usize {
    let mut n_written = 0;
    while stop.load(Ordering::Acquire) == 0 {
        let batch = json!({ "reminders": (0..7).map(|_| reminder("ann")).collect::<Vec<_>>() });
        let (status, _) = server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await;
        assert_eq!(status, 201);
        n_written += 7;
        // The reader shares the processors with the writers.
        pause().await;
    }
    n_written
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_reconnects_a_thousand_times_under_load_misses_none_and_sees_none_twice() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let stop = AtomicUsize::new(0);
        let reading = async {
            let (mut seen, mut last_id) = (Vec::new(), Some(0));
            for connection in 0..1000_usize {
                let mut events = Events::open(&server, "", last_id).await;
                for _ in 0..connection % 4 {
                    seen.push(events.entry().await.id.unwrap());
                }
                // What the server said last, with an entry or without.
                last_id = seen.last().copied().max(last_id);
            }
            stop.store(1, Ordering::Release);
            (seen, last_id)
        };
        let ((mut seen, last_id), n_one, n_other) = within(Duration::from_secs(300), async {
            tokio::join!(reading, writing(&server, &stop), writing(&server, &stop))
        })
        .await;
        let n_written = n_one + n_other;
        let mut events = Events::open(&server, "", last_id).await;
        while seen.len() < n_written {
            seen.push(events.entry().await.id.unwrap());
        }
        assert!(seen.is_sorted_by(|a, b| a < b), "none twice, and in order");
        let mut listed = Vec::new();
        let mut cursor = String::from("0");
        loop {
            let page = server.get(&format!("/v1/audit?limit=500&cursor={cursor}")).await;
            listed.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_i64().unwrap()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = next.to_owned();
        }
        assert_eq!(seen, listed, "none missed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_and_the_audit_are_narrowed_by_tag() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let tagged = async |user: &str, tags: Value| {
            let input =
                json!({ "user": user, "message": "m", "tags": tags, "schedule": { "type": "once", "at": LATER } });
            server.create(input).await["id"].as_str().unwrap().to_owned()
        };
        let (key_id, key) = new_key(&server, json!({ "name": "reader", "scopes": ["read"] })).await;
        let before = tagged("ann", json!(["health"])).await;
        let mut streams = [
            Events::open_with(&server, &key, "?tag=Health&after=0", None).await,
            Events::open(&server, "?tag=health", None).await,
            Events::open(&server, "?tag=health&user=ann&kind=reminder.created", None).await,
        ];
        assert_eq!(streams[0].entry().await.data["reminder_id"], json!(before), "what was there is found, too");
        let plain = tagged("ann", json!([])).await;
        let bobs = tagged("bob", json!(["garden", "health"])).await;
        let anns = tagged("ann", json!(["health"])).await;
        for events in &mut streams[..2] {
            assert_eq!(events.entry().await.data["reminder_id"], json!(bobs));
            assert_eq!(events.entry().await.data["reminder_id"], json!(anns));
        }
        assert_eq!(streams[2].entry().await.data["reminder_id"], json!(anns));
        // A reminder that gets the tag later is told from then on.
        let patch = json!({ "tags": ["health"] });
        server.call(Method::PATCH, &format!("/v1/reminders/{plain}"), Some(patch)).await;
        assert_eq!(streams[1].entry().await.data["reminder_id"], json!(plain));
        // A stream that is narrowed sees the end of its key all the same.
        assert_eq!(streams[0].entry().await.name, "reminder.changed");
        server.call(Method::DELETE, &format!("/v1/keys/{key_id}"), None).await;
        assert_eq!(streams[0].next().await.unwrap().data["reason"], "key_deleted");

        let of_health = server.get("/v1/audit?tag=health&kind=reminder.created").await;
        let ids: Vec<&Value> =
            of_health["entries"].as_array().unwrap().iter().map(|entry| &entry["reminder_id"]).collect();
        assert_eq!(ids, [&json!(before), &json!(plain), &json!(bobs), &json!(anns)]);
        let shown = home.run(&["audit", "--tag", "garden", "--json"]);
        assert_eq!(shown.out.lines().count(), 1, "{}", shown.out);
        assert!(shown.out.contains(&bobs), "{}", shown.out);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_too_little_is_dropped_with_a_reason_and_can_go_on() {
    let home = Home::new();
    let server = home.serve();
    // A socket that takes little, and a reader that takes just enough to be there.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = soon(socket.connect(address)).await.unwrap();
    let request = format!(
        "GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        server.key
    );
    soon(stream.write_all(request.as_bytes())).await.unwrap();
    // The buffers between are filled with large pages; then single entries make the pages that it is behind. Another reader takes each.
    let mut events = Events::open(&server, "", None).await;
    let long = "a".repeat(200);
    for _ in 0..8 {
        let batch = json!({ "reminders": (0..2000).map(|_| reminder(&long)).collect::<Vec<_>>() });
        assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
        for _ in 0..2000 {
            events.entry().await;
        }
    }
    // A good part at once, so that it is not taken for a reader that reads nothing.
    let (mut text, mut buffer) = (vec![0; 64 * 1024], [0; 64]);
    soon(stream.read_exact(&mut text)).await.unwrap();
    for _ in 0..300 {
        remind(&server, "ann").await;
        events.entry().await;
        let n_read = stream.try_read(&mut buffer).unwrap_or(0);
        text.extend_from_slice(&buffer[..n_read]);
    }
    // When it reads again, it is told why, and from where it can go on.
    soon(stream.read_to_end(&mut text)).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let end = text.split("event: end\ndata: ").nth(1).expect("the last event is the reason");
    let end: Value = serde_json::from_str(end.lines().next().unwrap()).unwrap();
    assert_eq!(end["reason"], "too_slow", "{end}");
    let last = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<i64>().ok()).next_back().unwrap();
    assert_eq!(end["resume_after"], last);
    let mut events = Events::open(&server, "", Some(last)).await;
    assert_eq!(events.entry().await.id, Some(last + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_cut_off_and_its_reason_is_counted_and_logged() {
    let home = Home::new();
    let server = home.serve();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let mut stream = soon(socket.connect(address)).await.unwrap();
    let request = format!("GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n", server.key);
    soon(stream.write_all(request.as_bytes())).await.unwrap();
    let mut begin = Vec::new();
    while !String::from_utf8_lossy(&begin).contains("id: ") {
        soon(stream.read_buf(&mut begin)).await.unwrap();
    }
    // Another reader takes everything, and is left in peace.
    let mut events = Events::open(&server, "", None).await;
    let long = "a".repeat(200);
    for _ in 0..8 {
        let batch = json!({ "reminders": (0..2000).map(|_| reminder(&long)).collect::<Vec<_>>() });
        assert_eq!(server.call(Method::POST, "/v1/reminders/batch", Some(batch)).await.0, 201);
        for _ in 0..2000 {
            events.entry().await;
        }
    }
    let metrics = async || {
        let response = soon(server.request(Method::GET, "/metrics").send()).await.unwrap();
        soon(response.text()).await.unwrap()
    };
    // After 25 seconds, and on a busy machine later.
    within(Duration::from_secs(120), async {
        while !metrics().await.contains("punctual_streams_ended_total{reason=\"unread\"} 1") {
            pause().await;
        }
    })
    .await;
    assert!(metrics().await.contains("punctual_streams 1\n"), "the other goes on");
    let cut_off = soon(stream.read_to_end(&mut begin)).await.unwrap_err();
    assert_eq!(cut_off.kind(), std::io::ErrorKind::ConnectionReset);
    // It goes on from the last entry that it has, wherever in the bytes it was cut.
    let text = String::from_utf8_lossy(&begin);
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let last = whole.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<i64>().ok()).next_back().unwrap();
    let mut again = Events::open(&server, "", Some(last)).await;
    assert_eq!(again.entry().await.id, Some(last + 1));
    let (_, lines) = server.stop();
    assert!(lines.iter().any(|line| line.contains("its reader took nothing") && line.contains("admin")), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams_at_once_and_says_so() {
    let home = Home::new();
    let server = home.serve();
    let mut events = Events::open(&server, "", None).await;
    remind(&server, "ann").await;
    let last = events.entry().await.id.unwrap();
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    let end = events.next().await.unwrap();
    assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!("stopping")));
    assert_eq!(end.data["resume_after"], last);
    assert!(events.next().await.is_none());
    let (ended, lines) = stopping.await.unwrap();
    assert!(ended.success());
    assert!(!lines.iter().any(|line| line.contains("did not end in time")), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_deleted_ends_its_streams_and_no_others() {
    for kept in Kept::everywhere() {
        let home = Home::new();
        let server = home.serve_with(&kept.env());
        let (id, key) = new_key(&server, json!({ "name": "ann", "user": "ann" })).await;
        let (_, other) = new_key(&server, json!({ "name": "bob", "user": "bob" })).await;
        let mut streams = [
            Events::open_with(&server, &key, "", None).await,
            Events::open_with(&server, &key, "?kind=reminder.sent", None).await,
        ];
        let mut others = Events::open_with(&server, &other, "", None).await;
        let (status, _) = server.call(Method::DELETE, &format!("/v1/keys/{id}"), None).await;
        assert_eq!(status, 204);
        let deleted = &server.get("/v1/audit?kind=key.deleted").await["entries"][0]["id"];
        for events in &mut streams {
            let end = events.next().await.unwrap();
            assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!("key_deleted")));
            let goes_on = end.data["resume_after"].as_i64();
            assert!(goes_on < deleted.as_i64(), "with another key the reader goes on where it was: {}", end.data);
            assert!(events.next().await.is_none());
        }
        remind(&server, "bob").await;
        assert_eq!(others.entry().await.name, "reminder.created");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_that_was_removed_is_said_to_be_gone() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_JOURNAL_KEEP", "1ms")]);
    for _ in 0..3 {
        remind(&server, "ann").await;
    }
    let database = home.data_dir().join("punctual.db");
    // Entries are removed every hour; this test does not wait for that.
    let connection = rusqlite::Connection::open(database).unwrap();
    let n_removed =
        connection.execute("DELETE FROM journal WHERE number < (SELECT max(number) FROM journal)", []).unwrap();
    assert_eq!(n_removed, 2);
    let request = server.request(Method::GET, "/v1/stream?after=0").bearer_auth(&server.key);
    let (status, problem) = answer(soon(request.send()).await.unwrap()).await;
    assert_eq!((status.as_u16(), &problem["code"]), (410, &json!("removed")), "{problem}");
    let mut events = Events::open(&server, "?after=2", None).await;
    assert_eq!(events.entry().await.id, Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_follows_and_goes_on_after_it_was_cut_off() {
    let home = Home::new();
    let server = home.serve();
    let proxy = Proxy::start(server.url.strip_prefix("http://").unwrap().parse().unwrap());
    let mut command = home.command(["audit", "--follow", "--json", "--after", "0"]);
    command.env("PUNCTUAL_URL", format!("http://127.0.0.1:{}", proxy.port())).env("PUNCTUAL_API_KEY", &server.key);
    let mut command = tokio::process::Command::from(command);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        async || -> Value { serde_json::from_str(&soon(lines.next_line()).await.unwrap().unwrap()).unwrap() };
    remind(&server, "ann").await;
    assert_eq!(next().await["user"], "ann");
    for user in ["bob", "eve"] {
        proxy.cut();
        remind(&server, user).await;
        assert_eq!(next().await["user"], user, "the next, and none twice");
    }
}
