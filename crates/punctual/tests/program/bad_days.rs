//! Bad days: a full disk, a file that another program has locked, a receiver that hangs, a server killed again and again.

use std::path::{Path, PathBuf};
use std::process::Command;

use punctual_testkit::report;
use punctual_testkit::wait::until;
use reqwest::Method;
use serde_json::json;

use crate::common::{Home, Receiver, Server};

/// A small file system of its own, where the test may fill the disk. Unmounted when dropped.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one at `path`, or says why this test cannot run here.
    fn mount(path: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"]).arg(&path).output();
        let why = match mounted {
            Ok(output) if output.status.success() => return Some(Self { path }),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(error) => format!("there is no mount command: {error}"),
        };
        report::left_out(&format!("what a full disk does: a small one cannot be mounted here: {why}"));
        None
    }

    /// Takes all the space there is.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.filling()).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.filling()).unwrap();
    }

    fn filling(&self) -> PathBuf {
        self.path.join("filling")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A test that fails leaves a server running for a moment; a lazy unmount does not mind.
        let _ = Command::new("umount").arg("-l").arg(&self.path).output();
    }
}

fn a_reminder(at: &str, receiver: &Receiver) -> serde_json::Value {
    json!({ "message": "m", "schedule": { "type": "once", "at": at }, "to": [{ "channel": "webhook", "address": receiver.url }] })
}

async fn is_ready(server: &Server) -> bool {
    server.request(Method::GET, "/readyz").send().await.unwrap().status() == 200
}

#[tokio::test]
async fn a_full_disk_refuses_new_work_loses_nothing_and_mends_itself() {
    let home = Home::new();
    let Some(disk) = SmallDisk::mount(home.data_dir()) else { return };
    let mut receiver = Receiver::listen().await;
    let server = home.serve();
    let kept = server.create(a_reminder("1h", &receiver)).await["id"].as_str().unwrap().to_owned();

    disk.fill();
    // Some pages may still fit into what SQLite has already got; soon nothing does.
    let mut n_accepted = 0;
    let refusal = loop {
        let (status, answer) = server.call(Method::POST, "/v1/reminders", Some(a_reminder("1h", &receiver))).await;
        if status != 201 {
            break (status, answer);
        }
        n_accepted += 1;
        assert!(n_accepted < 50_000, "the disk never filled");
    };
    assert_eq!(refusal.0, 503, "{}", refusal.1);
    assert!(refusal.1["detail"].as_str().unwrap().contains("disk is full"), "{}", refusal.1);
    assert!(!is_ready(&server).await, "readiness is red");
    assert_eq!(server.get(&format!("/v1/reminders/{kept}")).await["status"], "active", "reading goes on");

    disk.free();
    // A trial write is believed for a second, so this asks until the next one.
    until("it is ready", async || is_ready(&server).await).await;
    server.create(a_reminder("1s", &receiver)).await;
    receiver.next().await;
    let pending = |stats: serde_json::Value| stats["pending"].as_u64().unwrap();
    assert!(pending(server.get("/v1/stats").await) > n_accepted, "what was acknowledged is there");
    server.stop();
    assert_eq!(check(&home.data_dir()), "ok");
}

fn check(data_dir: &Path) -> String {
    punctual_store::sqlite::check(&data_dir.join("punctual.db")).unwrap().quick_check
}

#[tokio::test]
async fn a_file_that_another_program_has_locked_is_refused_with_a_way_out() {
    let home = Home::new();
    home.serve().stop();
    let other = rusqlite::Connection::open(home.data_dir().join("punctual.db")).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;").unwrap();
    home.run(&["serve", "--listen", "127.0.0.1:0"]).fails(1, &["is locked by another program", "try again"]);
}

#[tokio::test]
async fn a_receiver_that_hangs_delays_nobody_else() {
    let home = Home::new();
    let mut healthy = Receiver::listen().await;
    // It accepts connections, as the system does for a listening socket, and never says a word.
    let hanging = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging = json!([{ "channel": "webhook", "address": format!("http://{}/", hanging.local_addr().unwrap()) }]);
    let server = home.serve_with(&[("PUNCTUAL_WEBHOOK_TIMEOUT", "20s")]);
    let stuck = vec![json!({ "message": "stuck", "schedule": { "type": "once", "at": "300ms" }, "to": hanging }); 300];
    let (status, answer) = server.call(Method::POST, "/v1/reminders/batch", Some(json!({ "reminders": stuck }))).await;
    assert_eq!(status, 201, "{answer}");
    server.create(a_reminder("600ms", &healthy)).await;
    let (_, body) = healthy.next().await;
    let late = body["data"]["late_seconds"].as_f64().unwrap();
    assert!(late < 5.0, "it arrived {late} s late, behind those that hang");
}

#[tokio::test]
async fn killed_again_and_again_it_loses_nothing() {
    let home = Home::new();
    let report = home.run(&["bench", "crash", "--cycles", "15", "--json"]).json();
    assert_eq!(report["kills"], 15);
    assert!(report["acknowledged"].as_u64().unwrap() > 0, "{report}");
    for nothing in ["lost", "extra_effects", "sent_after_cancel", "early", "left_behind"] {
        assert_eq!(report[nothing], 0, "{report}");
    }
    assert_eq!(report["database"], "ok");
}
