//! Reports which files beyond the repository a test run looked at, and what it had to leave out.
//!
//! The platforms' public files lie beside the checkout, in `../shared/data`, and are not part of it. A test that reads one is
//! the second, deeper check of a fact that the repository states itself. Each such test says here what it ran or left out, and
//! `scripts/test` prints all of it at its end.
//!
//! This file needs the standard library alone: a crate below the testkit includes it by its path.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// The variable with the name of the file that all test programs of one run append their lines to.
const REPORT: &str = "PUNCTUAL_TEST_REPORT";

/// The public file or folder `name` in `../shared/data`; `None`, and a line in the report, where it is missing.
pub fn public(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(name);
    match path.metadata() {
        Ok(_) => Some(path),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            left_out(&format!("checks against ../shared/data/{name}: it is missing"));
            None
        }
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// Says that a check beyond the repository ran, such as `17 facts agree with discord/openapi.trimmed.json`.
pub fn ran(what: &str) {
    write(&format!("ran       {what}"));
}

/// Says that a check was left out, and why.
pub fn left_out(what_and_why: &str) {
    write(&format!("left out  {what_and_why}"));
}

fn write(line: &str) {
    println!("{line}");
    let Some(file) = std::env::var_os(REPORT) else { return };
    // One write to a file opened for appending: test programs that run at once do not mix their lines.
    let written = std::fs::File::options().create(true).append(true).open(&file);
    let written = written.and_then(|mut report| report.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("{REPORT}={}: {error}", file.display()));
}
