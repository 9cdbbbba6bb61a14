//! A client that is not ours: `websockets` from PyPI.

use std::process::{Command, Stdio};

use punctual_testkit::judges;
use punctual_testkit::process::output;
use serde_json::Value;

use crate::common::Home;

/// What it does, in its own language.
const TALK: &str = include_str!("foreign.py");

#[tokio::test(flavor = "multi_thread")]
async fn the_websockets_of_python_speak_with_it() {
    let Some(programs) = judges::programs("the WebSocket with a client that is not ours") else { return };
    let home = Home::new();
    let server = home.serve();
    let url = server.url.replace("http://", "ws://") + "/v1/ws";
    let key = server.key.clone();
    let ran = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(programs.join("python"));
        command.args(["-c", TALK, &url]).env("PUNCTUAL_API_KEY", key).stdin(Stdio::null());
        output(&mut command)
    });
    let ran = ran.await.unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(said["n_written"], said["n_read"], "{said}");
    assert!(said["n_connections"].as_u64().unwrap() > 50, "{said}");
}
