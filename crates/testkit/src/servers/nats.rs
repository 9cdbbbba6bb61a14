//! A NATS server of a test's own, with JetStream.

use std::path::PathBuf;

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Running, as_server, directory, free_port, in_path, installed, listens};

/// A running NATS server.
pub struct Nats {
    // Stopped before its files go.
    running: Option<Running>,
    program: PathBuf,
    dir: TempDir,
    port: u16,
    args: Vec<String>,
}

impl Nats {
    /// Starts one; `None` where it is not installed and a test may be skipped for that.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts one with further arguments, such as `--user` and a name, `--pass` and a password.
    pub fn start_with(args: &[&str]) -> Option<Self> {
        let program = installed("NATS", in_path("nats-server"), "nats-server")?;
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut nats = Self { running: None, program, dir: directory("nats"), port: free_port(), args };
        nats.start_again();
        Some(nats)
    }

    /// Starts it after it was stopped, on the same port and files; returns when it takes connections.
    pub fn start_again(&mut self) {
        let mut command = as_server(&self.program);
        command.args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--jetstream", "--store_dir"]);
        command.arg(self.dir.path().join("streams")).args(&self.args);
        self.running = Some(Running::start(&mut command, &self.dir.path().join("log"), || listens(self.port)));
    }

    /// Stops it at once, as a power cut would; what is on the disk stays.
    pub fn stop_immediately(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::KILL);
        }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL, without a user.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
}
