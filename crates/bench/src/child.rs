//! Other processes, ended when they are no longer needed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child as Process, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use punctual_core::clock::Clock;
use punctual_engine::SystemClock;
use tokio::sync::oneshot;

use super::rig::plus;

/// How much of what it said is kept for an error, in lines.
const KEPT_LINES: usize = 20;
/// How long it may take to say that it is ready.
const READY_MAX: SignedDuration = SignedDuration::from_secs(60);
/// How long it may take to stop in order.
const STOP_MAX: SignedDuration = SignedDuration::from_secs(30);

/// A process that ends, at the latest, when this is dropped.
pub(super) struct Child {
    process: Process,
    /// Its standard input; a receiver ends when it is closed.
    _stdin: Option<std::process::ChildStdin>,
}

/// A process that has said that it is ready.
pub(super) struct Ready {
    /// The text after the words that were waited for.
    pub(super) rest: String,
    /// From the moment before it was started.
    pub(super) after: SignedDuration,
}

impl Child {
    /// Starts this program with `arguments` and waits until it says `words`, on either of its outputs.
    pub(super) async fn start(
        arguments: &[&str],
        words: &'static str,
        clock: &dyn Clock,
    ) -> anyhow::Result<(Self, Ready)> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        // A bench must not be led astray by settings that were meant for a real server.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PUNCTUAL_") {
                command.env_remove(name);
            }
        }
        // Nor by the usual config file: there is none in a directory that does not exist.
        command.env("XDG_CONFIG_HOME", std::env::temp_dir().join("punctual-bench-has-no-config"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun_at = SystemClock::read();
        let mut process = command.spawn().context("cannot start another process")?;
        let stdin = process.stdin.take();
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let child = Self { process, _stdin: stdin };

        let said = Arc::new(Mutex::new(Said::default()));
        let (sender, ready) = oneshot::channel();
        lock(&said).ready = Some(sender);
        if let Some(stdout) = stdout {
            listen(stdout, words, said.clone());
        }
        if let Some(stderr) = stderr {
            listen(stderr, words, said.clone());
        }
        let ready = tokio::select! {
            ready = ready => ready.ok(),
            () = clock.sleep_until(plus(begun_at, READY_MAX)) => None,
        };
        let Some((rest, at)) = ready else {
            let lines = lock(&said).lines.join("\n");
            bail!("`punctual {}` did not get ready: {lines}", arguments.join(" "));
        };
        Ok((child, Ready { rest, after: at.duration_since(begun_at) }))
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Asks it to stop, waits until it has, and ends it if it does not.
    pub(super) async fn stop(mut self, clock: &dyn Clock) -> anyhow::Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.id().to_string()]).status();
        let give_up_at = plus(clock.now(), STOP_MAX);
        if asked.is_ok_and(|status| status.success()) {
            while self.process.try_wait()?.is_none() && clock.now() < give_up_at {
                clock.sleep_until(plus(clock.now(), SignedDuration::from_millis(5))).await;
            }
        }
        Ok(())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Default)]
struct Said {
    lines: Vec<String>,
    ready: Option<oneshot::Sender<(String, Timestamp)>>,
}

/// Reads what a process says, to its end, so that it never waits for us.
fn listen(output: impl Read + Send + 'static, words: &'static str, said: Arc<Mutex<Said>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            let at = SystemClock::read();
            let mut said = lock(&said);
            if let Some((_, rest)) = line.split_once(words)
                && let Some(ready) = said.ready.take()
            {
                // The bench may have been given up.
                let _ = ready.send((rest.trim().to_owned(), at));
            }
            if said.lines.len() == KEPT_LINES {
                said.lines.remove(0);
            }
            said.lines.push(line);
        }
    });
}

fn lock(said: &Mutex<Said>) -> std::sync::MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}
