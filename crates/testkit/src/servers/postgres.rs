//! A PostgreSQL of a test's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Running, as_server, directory, free_port, in_path, installed, run};
use crate::process::output;

/// The role that owns everything in it. It needs no password: the server listens on this machine only.
const USER: &str = "punctual";

/// How it runs.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    /// Wait for the disk at every commit. Tests do without, unless they are about the disk: they stop the server and never the
    /// machine.
    pub fsync: bool,
    /// Offer TLS, with a certificate for `localhost` that only [`Postgres::certificate`] vouches for.
    pub tls: bool,
    /// Further settings, such as `("log_statement", "all")`.
    pub settings: Vec<(String, String)>,
}

/// A running PostgreSQL.
pub struct Postgres {
    // Stopped before its files go.
    running: Option<Running>,
    bin: PathBuf,
    dir: TempDir,
    port: u16,
    options: PostgresOptions,
    n_databases: AtomicUsize,
}

impl Postgres {
    /// Starts one; `None` where it is not installed and a test may be skipped for that.
    pub fn start() -> Option<Self> {
        Self::start_with(PostgresOptions::default())
    }

    /// Starts one that runs as `options` say.
    pub fn start_with(options: PostgresOptions) -> Option<Self> {
        let bin = installed("PostgreSQL", binaries(), "postgresql")?;
        let dir = directory("postgres");
        run(as_server(&bin.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C.UTF-8"])
            .arg("-D")
            .arg(dir.path().join("data")));
        if options.tls {
            let data = dir.path().join("data");
            let mut openssl = as_server(&in_path("openssl").expect("openssl, which the postgresql package brings"));
            openssl.args(["req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost"]);
            openssl.args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]);
            run(openssl.arg("-keyout").arg(data.join("server.key")).arg("-out").arg(data.join("server.crt")));
        }
        let mut postgres =
            Self { running: None, bin, dir, port: free_port(), options, n_databases: AtomicUsize::new(0) };
        postgres.start_again();
        Some(postgres)
    }

    /// Starts it after it was stopped, on the same port and files; returns when it answers.
    pub fn start_again(&mut self) {
        let on_off = if self.options.fsync { "on" } else { "off" };
        let mut settings = vec![
            ("port".to_owned(), self.port.to_string()),
            ("listen_addresses".to_owned(), "127.0.0.1".to_owned()),
            ("unix_socket_directories".to_owned(), String::new()),
            ("max_connections".to_owned(), "300".to_owned()),
            ("fsync".to_owned(), on_off.to_owned()),
            ("full_page_writes".to_owned(), on_off.to_owned()),
            ("ssl".to_owned(), if self.options.tls { "on" } else { "off" }.to_owned()),
        ];
        settings.extend(self.options.settings.iter().cloned());
        let mut command = as_server(&self.bin.join("postgres"));
        command.arg("-D").arg(self.dir.path().join("data"));
        for (name, value) in settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        // The log lies outside of the server's directory, because the user who runs the test opens it.
        let log = self.dir.path().join("log");
        let port = self.port.to_string();
        let ready = || {
            let mut asked = Command::new(self.bin.join("pg_isready"));
            output(asked.args(["-q", "-h", "127.0.0.1", "-p", &port])).status.success()
        };
        self.running = Some(Running::start(&mut command, &log, ready));
    }

    /// Stops it as a power cut would: nothing is finished, nothing is said. The next start recovers from the log.
    pub fn stop_immediately(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::QUIT);
        }
    }

    /// Stops it in order; connections are cut.
    pub fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::INT);
        }
    }

    /// Makes it a standby, which follows nobody: it answers, and cannot be written to.
    pub fn become_standby(&mut self) {
        self.stop();
        run(as_server(Path::new("touch")).arg(self.dir.path().join("data/standby.signal")));
        self.start_again();
    }

    /// The file with its certificate, if it offers TLS.
    pub fn certificate(&self) -> PathBuf {
        self.dir.path().join("data/server.crt")
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database in it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes a new database, a copy of `template` if one is given, and returns its name.
    pub fn new_database(&self, template: Option<&str>) -> String {
        let name = format!("test_{}", self.n_databases.fetch_add(1, Ordering::Relaxed));
        let template = template.map(|template| format!(" template {template}")).unwrap_or_default();
        self.sql("postgres", &format!("create database {name}{template}"));
        name
    }

    /// Runs SQL in a database as any other client would; returns rows as lines, fields with `|` between.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url(database), "-c", sql]);
        run(&mut psql).trim_end().to_owned()
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

/// The newest version's directory, or the one named by `PUNCTUAL_TEST_POSTGRES_BIN`.
fn binaries() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("PUNCTUAL_TEST_POSTGRES_BIN") {
        return Some(dir.into());
    }
    let version = |dir: &Path| dir.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = debian
        .map(|entry| entry.path().join("bin"))
        .filter(|dir| dir.join("postgres").is_file())
        .max_by_key(|dir| version(dir));
    newest.or_else(|| in_path("postgres")?.parent().map(Path::to_owned))
}
