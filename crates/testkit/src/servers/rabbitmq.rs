//! A RabbitMQ of a test's own: a node that no other node or tool knows of.
//!
//! Erlang nodes find each other through `epmd`, a small name server that the first of them starts and that outlives it. So a
//! test has an `epmd` of its own, on a port of its own, and ends it.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Running, as_server, directory, free_port, in_path, installed, listens};

/// The script itself: the one in the path insists on the package's own user and directories.
const SCRIPT: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A running RabbitMQ, with its own user `guest`, password `guest`.
pub struct RabbitMq {
    // Both are stopped before their files go, and the node before what it is named by.
    running: Option<Running>,
    _epmd: Running,
    script: PathBuf,
    dir: TempDir,
    port: u16,
    dist_port: u16,
    epmd_port: u16,
}

impl RabbitMq {
    /// Starts one; `None` where it is not installed and a test may be skipped for that.
    pub fn start() -> Option<Self> {
        let script = Some(PathBuf::from(SCRIPT)).filter(|script| script.is_file());
        let script = installed("RabbitMQ", script, "rabbitmq-server")?;
        let epmd = installed("epmd", in_path("epmd"), "erlang-base")?;
        let dir = directory("rabbitmq");
        let (port, dist_port, epmd_port) = (free_port(), free_port(), free_port());
        let mut command = as_server(&epmd);
        command.args(["-address", "127.0.0.1", "-port", &epmd_port.to_string()]);
        let epmd = Running::start(&mut command, &dir.path().join("epmd.log"), || listens(epmd_port));
        let mut rabbitmq = Self { running: None, _epmd: epmd, script, dir, port, dist_port, epmd_port };
        rabbitmq.start_again();
        Some(rabbitmq)
    }

    /// Starts it after it was stopped, on the same port and files; returns when it takes connections.
    pub fn start_again(&mut self) {
        let config = format!("listeners.tcp.1 = 127.0.0.1:{}\nlog.console = true\nlog.file = false\n", self.port);
        let file = |name: &str, text: &str| {
            let path = self.dir.path().join(name);
            std::fs::write(&path, text).expect("its files can be written");
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("it is ours");
            path
        };
        let config = file("rabbitmq.conf", &config);
        // None: each costs time at the start.
        let plugins = file("enabled_plugins", "[].\n");
        let mut command = as_server(&self.script);
        self.environment(&mut command);
        command.env("RABBITMQ_CONFIG_FILE", config).env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins);
        let log = self.dir.path().join("log");
        self.running = Some(Running::start(&mut command, &log, || listens(self.port)));
    }

    /// The machine's own RabbitMQ, if there is one, is neither read nor written.
    fn environment(&self, command: &mut Command) {
        let dir = self.dir.path();
        command
            // Where Erlang keeps the secret that nodes share.
            .env("HOME", dir)
            .env("RABBITMQ_CONF_ENV_FILE", dir.join("none"))
            .env("RABBITMQ_NODENAME", format!("punctual-{}@localhost", self.port))
            .env("RABBITMQ_NODE_PORT", self.port.to_string())
            .env("RABBITMQ_DIST_PORT", self.dist_port.to_string())
            .env("ERL_EPMD_PORT", self.epmd_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_MNESIA_BASE", dir.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", dir.join("logs"))
            .env("RABBITMQ_GENERATED_CONFIG_DIR", dir.join("generated"))
            .env("RABBITMQ_FEATURE_FLAGS_FILE", dir.join("feature_flags"))
            .env("RABBITMQ_PID_FILE", dir.join("pid"))
            // Only this machine, and no spinning while there is nothing to do.
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none")
            // The script then becomes the server instead of waiting for it, and a signal reaches the right process.
            .env("RUNNING_UNDER_SYSTEMD", "true");
    }

    /// Stops it at once, as a power cut would; what is on the disk stays.
    pub fn stop_immediately(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::KILL);
        }
    }

    /// Stops it in order: connections are told and closed.
    pub fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::TERM);
        }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL, with the user that may do everything.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }
}
