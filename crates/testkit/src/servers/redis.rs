//! A Redis of a test's own, without a disk.

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Running, as_server, directory, free_port, in_path, installed, listens};

/// A running Redis.
pub struct Redis {
    // Stopped before its files go.
    running: Option<Running>,
    program: std::path::PathBuf,
    dir: TempDir,
    port: u16,
    args: Vec<String>,
}

impl Redis {
    /// Starts one; `None` where it is not installed and a test may be skipped for that.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts one with further arguments, such as `--requirepass` and a password.
    pub fn start_with(args: &[&str]) -> Option<Self> {
        let program = installed("Redis", in_path("redis-server"), "redis-server")?;
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut redis = Self { running: None, program, dir: directory("redis"), port: free_port(), args };
        redis.start_again();
        Some(redis)
    }

    /// Starts it after it was stopped, on the same port, with nothing in it.
    pub fn start_again(&mut self) {
        let port = self.port.to_string();
        let mut command = as_server(&self.program);
        command.args(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "no", "--dir"]);
        command.arg(self.dir.path()).args(&self.args);
        self.running = Some(Running::start(&mut command, &self.dir.path().join("log"), || listens(self.port)));
    }

    /// Stops it at once; whatever it held is gone.
    pub fn stop_immediately(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::KILL);
        }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }
}
