//! Real servers for tests, each private to the test that starts it: a free port on this machine, files in a temporary
//! directory, gone with the value that stands for it.
//!
//! They come from Debian packages (`postgresql`, `pgbouncer`, `redis-server`, `rabbitmq-server`, `nats-server`,
//! `exim4-daemon-light`), which `scripts/test` installs. Where they are not installed, a test fails and says so; with `PUNCTUAL_TEST_SKIP_SERVERS=1` it says
//! so and does nothing.

mod exim;
mod nats;
mod pgbouncer;
mod postgres;
mod rabbitmq;
mod redis;

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use exim::Exim;
pub use nats::Nats;
pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, PostgresOptions};
pub use rabbitmq::RabbitMq;
pub use redis::Redis;

use crate::process::{ended_within, output, pause};

/// How long a server may take to answer after it was started, on a machine that is busy compiling.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// How often it is asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// How long a server may take to stop when it is asked to. Then it is killed.
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// The program `name`, or why there is no test: what is missing, and how to get it.
///
/// # Panics
/// When it is not installed and skipping was not allowed.
fn installed(name: &str, found: Option<PathBuf>, package: &str) -> Option<PathBuf> {
    if found.is_some() {
        return found;
    }
    let reason = format!("{name} is not installed (Debian package {package}; scripts/test installs it)");
    if std::env::var("PUNCTUAL_TEST_SKIP_SERVERS").is_ok_and(|value| value == "1") {
        crate::report::left_out(&format!("a test that needs {name}: {reason}"));
        return None;
    }
    panic!("{reason}; PUNCTUAL_TEST_SKIP_SERVERS=1 skips the tests that need it");
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let sbin = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(sbin).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// A directory that the servers' user owns.
fn directory(name: &str) -> TempDir {
    let dir = tempfile::Builder::new().prefix(&format!("punctual-{name}-")).tempdir().expect("a place for files");
    if rustix::process::geteuid().is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(dir.path()));
    }
    dir
}

/// `program`, to be run as somebody a database server agrees to run as, and to end when this test's thread does, however that
/// ends.
fn as_server(program: &Path) -> Command {
    let mut command = Command::new("env");
    // A shell ignores SIGQUIT and SIGINT in what it runs in the background, and whatever is started there ignores them as well.
    command.args(["--default-signal=QUIT,INT,TERM", "setpriv"]);
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.args(["--pdeathsig", "QUIT"]).arg(program).current_dir("/");
    command
}

/// Runs a command to its end.
///
/// # Panics
/// When it fails.
fn run(command: &mut Command) -> String {
    let out = output(command);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&out.stderr));
    text
}

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// A server that runs.
struct Running {
    child: Child,
}

impl Running {
    /// Starts it and waits until `ready` says so.
    ///
    /// # Panics
    /// When it ends instead, with what it wrote.
    fn start(command: &mut Command, log: &Path, ready: impl Fn() -> bool) -> Self {
        let file = std::fs::File::options().create(true).append(true).open(log).expect("the log can be written");
        let errors = file.try_clone().expect("the log can be written");
        let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let mut running = Self { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")) };
        let mut waited = Duration::ZERO;
        while !ready() {
            let ended = running.child.try_wait().expect("a child can be asked");
            if ended.is_some() || waited > READY_WITHIN {
                let mut said = String::new();
                let _ = std::fs::File::open(log).and_then(|mut file| file.read_to_string(&mut said));
                panic!("{command:?} does not start ({ended:?}): {said}");
            }
            pause(ASK_EVERY);
            waited += ASK_EVERY;
        }
        running
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&self, signal: Signal) {
        // One that has ended already needs no signal.
        let _ = kill_process(self.pid(), signal);
    }

    /// Sends the signal and waits until it has ended. One that does not end is killed.
    fn stop(&mut self, signal: Signal) {
        self.stop_within(signal, STOPS_WITHIN);
    }

    fn stop_within(&mut self, signal: Signal, span: Duration) {
        self.signal(signal);
        if ended_within(&mut self.child, span).is_none() {
            self.signal(Signal::KILL);
            assert!(ended_within(&mut self.child, span).is_some(), "a killed server does not end");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop(Signal::QUIT);
    }
}

/// Whether something listens there.
fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ignores_the_signal_to_stop_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let ready = dir.path().join("ready");
        let mut deaf = Command::new("sh");
        // A signal that is ignored stays ignored in the program that the shell becomes.
        deaf.args(["-c", "trap '' QUIT; touch \"$0\"; exec sleep 1000"]).arg(&ready);
        let mut running = Running::start(&mut deaf, &dir.path().join("log"), || ready.exists());
        running.stop_within(Signal::QUIT, Duration::from_millis(300));
        assert!(running.child.try_wait().unwrap().is_some(), "it runs on");
    }
}
