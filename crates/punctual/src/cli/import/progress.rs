//! How far it is: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use punctual_core::span;
use punctual_engine::SystemClock;

use crate::cli::style::neutral;

/// How often a line is written where there is no terminal, in seconds.
const LINE_EVERY_SECONDS: i64 = 5;

pub(in crate::cli) struct Progress {
    bar: Option<ProgressBar>,
    what: &'static str,
    total: u64,
    done: u64,
    began_at: Timestamp,
    said_at: Timestamp,
}

impl Progress {
    pub(in crate::cli) fn begin(what: &'static str, total: u64) -> Self {
        let now = SystemClock::read();
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total);
            let style = "{msg} {bar:30} {human_pos} of {human_len}, {per_sec}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.with_message(what)
        });
        Self { bar, what, total, done: 0, began_at: now, said_at: now }
    }

    pub(in crate::cli) fn advance(&mut self, n: usize) {
        self.done += n as u64;
        if let Some(bar) = &self.bar {
            // A table that grows while it is read has more rows than were counted.
            bar.set_length(self.total.max(self.done));
            bar.set_position(self.done);
            return;
        }
        let now = SystemClock::read();
        if now.as_second() - self.said_at.as_second() < LINE_EVERY_SECONDS {
            return;
        }
        self.said_at = now;
        let seconds = now.duration_since(self.began_at).as_secs_f64().max(0.001);
        let rate = self.done as f64 / seconds;
        let left = Duration::try_from_secs_f64(self.total.saturating_sub(self.done) as f64 / rate.max(0.001));
        let left = left.map_or_else(|_| "long".to_owned(), span::rough);
        eprintln!("{}: {} of {}, {rate:.0}/s, {left} left", self.what, self.done, self.total);
    }

    /// Writes a line that stays.
    pub(in crate::cli) fn say(&self, line: &str) {
        // Another system's database may have had a say in it.
        let line = neutral(line);
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    /// Takes the bar away; returns how long it took, in seconds.
    pub(in crate::cli) fn end(self) -> f64 {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        SystemClock::read().duration_since(self.began_at).as_secs_f64()
    }
}
