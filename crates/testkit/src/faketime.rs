//! A clock that a test sets for the programs that it starts: libfaketime shows it to them.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use punctual_engine::SystemClock;
use tempfile::TempDir;

use crate::report;

/// The time that programs are shown.
pub struct Faketime {
    library: String,
    dir: TempDir,
    file: String,
}

impl Faketime {
    /// A clock that is right until it is set; `None`, and a line in the report, where libfaketime is not installed and its tests may be
    /// left out.
    ///
    /// # Panics
    /// Where libfaketime is not installed and its tests may not be left out, or a file cannot be written.
    pub fn new() -> Option<Self> {
        let found = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let found = found.map(|entry| entry.path().join("faketime/libfaketime.so.1")).find(|file| file.is_file());
        let Some(library) = found else {
            let reason = "libfaketime is not installed (Debian package faketime; scripts/test installs it)";
            let may_skip = std::env::var("PUNCTUAL_TEST_SKIP_SERVERS").is_ok_and(|value| value == "1");
            assert!(may_skip, "{reason}; PUNCTUAL_TEST_SKIP_SERVERS=1 skips the tests that need it");
            report::left_out(&format!("a test that needs libfaketime: {reason}"));
            return None;
        };
        let dir = tempfile::tempdir().expect("a directory for a file can be made");
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let clock = Self { library: text(library), file: text(dir.path().join("skew")), dir };
        clock.skew(SignedDuration::ZERO);
        Some(clock)
    }

    /// The environment of a program that sees this clock.
    pub fn env(&self) -> [(&str, &str); 4] {
        [
            ("LD_PRELOAD", &self.library),
            ("DONT_FAKE_MONOTONIC", "1"),
            ("FAKETIME_TIMESTAMP_FILE", &self.file),
            ("FAKETIME_NO_CACHE", "1"),
        ]
    }

    /// Shows the right time and `by` more from now on.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn skew(&self, by: SignedDuration) {
        // Never a file that is half written.
        let new = self.dir.path().join("new");
        std::fs::write(&new, format!("{:+.3}\n", by.as_secs_f64())).expect("a file can be written");
        std::fs::rename(new, &self.file).expect("a file can be renamed");
    }

    /// Sets the clock to `at`, from where it goes on.
    pub fn set(&self, at: Timestamp) {
        self.skew(at.duration_since(SystemClock::read()));
    }
}
