//! Programs that are not ours, which judge what we write: readers of calendars (`icalendar`, `recurring-ical-events` and `khal`), of pushes
//! (`pywebpush`) and the SDK of the Model Context Protocol from PyPI, which `scripts/judges` puts into `target/judges`, and that protocol's own scenarios from npm, in
//! `target/judges-node`.
//!
//! This file needs the standard library and `report` alone: a crate below the testkit includes both by their path.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::report;

/// What they are asked, in their own language.
const QUESTIONS: &str = include_str!("judges.py");
/// The same of a push.
const PUSHES: &str = include_str!("judges_webpush.py");

/// The folder of the programs that read calendars; `None`, and a line in the report, where they are missing.
pub fn judges() -> Option<PathBuf> {
    programs("calendars in other readers")
}

/// The folder of the programs from PyPI; `None`, and a line in the report that `what` is left out, where they are missing.
pub fn programs(what: &str) -> Option<PathBuf> {
    let judges = target().join("judges");
    if judges.join("pins").exists() {
        return Some(judges.join("bin"));
    }
    report::left_out(&format!("{what}: run scripts/judges, which needs PyPI"));
    None
}

/// A node that can run the programs from npm, and the folder of those; `None`, and a line in the report that `what` is left out, where they are
/// missing.
pub fn node(what: &str) -> Option<(PathBuf, PathBuf)> {
    let judges = target().join("judges-node");
    if judges.join("pins").exists() {
        return Some((judges.join("node"), judges.join("node_modules")));
    }
    report::left_out(&format!("{what}: run scripts/judges, which needs npm"));
    None
}

fn target() -> PathBuf {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"));
    std::env::var_os("CARGO_TARGET_DIR").map_or(beside, PathBuf::from)
}

/// Asks them about a calendar; the answer is what they print. Panics with what they say where they refuse the text.
pub fn ask(programs: &std::path::Path, question: &[&str], text: &str) -> String {
    ask_by(programs, QUESTIONS, question, text)
}

/// Lets pywebpush's libraries read a push: decrypts its body and verifies who sent it. `push` is JSON: `private` and `auth` of the browser, and
/// `body` and `authorization` as they were sent.
pub fn ask_webpush(programs: &std::path::Path, push: &str) -> String {
    ask_by(programs, PUSHES, &[], push)
}

fn ask_by(programs: &std::path::Path, script: &str, question: &[&str], text: &str) -> String {
    let mut python = Command::new(programs.join("python"))
        .args(["-c", script])
        .args(question)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the judges' python starts");
    let mut input = python.stdin.take().expect("it has an input");
    let text = text.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = python.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{question:?} is refused:\n{errors}");
    writer.join().expect("nobody panics").expect("it reads all of it");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}
