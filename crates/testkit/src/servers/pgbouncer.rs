//! A PgBouncer of a test's own, in transaction mode.

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Postgres, Running, as_server, directory, free_port, in_path, installed, listens};

/// How many connections to the server all clients of one database share: fewer than a store opens, so that its transactions
/// really wander from one to another.
const POOL_SIZE: usize = 3;

/// A running PgBouncer.
pub struct PgBouncer {
    // Stopped before its files go.
    running: Option<Running>,
    dir: TempDir,
    port: u16,
}

impl PgBouncer {
    /// Starts one before `postgres`; `None` where it is not installed and a test may be skipped for that.
    pub fn start(postgres: &Postgres) -> Option<Self> {
        let program = installed("PgBouncer", in_path("pgbouncer"), "pgbouncer")?;
        let dir = directory("pgbouncer");
        let port = free_port();
        let users = dir.path().join("users");
        std::fs::write(&users, "\"punctual\" \"\"\n").expect("its files can be written");
        let config = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
             default_pool_size = {POOL_SIZE}\nmax_client_conn = 500\nserver_idle_timeout = 1\n\
             server_login_retry = 1\n",
            postgres.port(),
            users.display()
        );
        let file = dir.path().join("pgbouncer.ini");
        std::fs::write(&file, config).expect("its files can be written");
        for file in [&file, &users] {
            std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("they are ours");
        }
        let mut bouncer = Self { running: None, dir, port };
        let mut command = as_server(&program);
        command.arg(&file);
        bouncer.running = Some(Running::start(&mut command, &bouncer.dir.path().join("log"), || listens(port)));
        Some(bouncer)
    }

    /// Stops it at once; every connection through it is cut.
    pub fn stop_immediately(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop(Signal::KILL);
        }
    }

    /// The URL of a database behind it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://punctual@127.0.0.1:{}/{database}", self.port)
    }
}
