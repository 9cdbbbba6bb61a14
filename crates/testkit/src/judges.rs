//! Readers of calendars that are not ours: `icalendar`, `recurring-ical-events` and `khal` from PyPI, which `scripts/judges` puts into
//! `target/judges`.
//!
//! This file needs the standard library and `report` alone: a crate below the testkit includes both by their path.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::report;

/// What they are asked, in their own language.
const QUESTIONS: &str = include_str!("judges.py");

/// The folder of their programs; `None`, and a line in the report, where they are missing.
pub fn judges() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(beside, PathBuf::from);
    let programs = target.join("judges/bin");
    if target.join("judges/pins").exists() {
        return Some(programs);
    }
    report::left_out("calendars in other readers: run scripts/judges, which needs PyPI");
    None
}

/// The judges' Python, where it has this package; `None`, and a line in the report about `what`, where it has not.
#[allow(dead_code, reason = "a crate that includes this file may need the others alone")]
pub fn python(package: &str, what: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(beside, PathBuf::from);
    let pins = std::fs::read_to_string(target.join("judges/pins")).unwrap_or_default();
    if pins.split_whitespace().any(|pin| pin.split_once("==").is_some_and(|(name, _)| name == package)) {
        return Some(target.join("judges/bin/python"));
    }
    report::left_out(&format!("{what}: run scripts/judges, which needs PyPI"));
    None
}

/// Asks them about a text; the answer is what they print. Panics with what they say where they refuse the text.
pub fn ask(programs: &std::path::Path, question: &[&str], text: &str) -> String {
    let mut python = Command::new(programs.join("python"))
        .args(["-c", QUESTIONS])
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
