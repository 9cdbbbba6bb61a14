//! A server in a directory of its own, a receiver on the loopback, and waiting with a deadline.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use punctual_testkit::process::{ended_within, output};
use punctual_testkit::servers::Postgres;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// Where no server is.
pub(crate) const NOWHERE: &str = "http://127.0.0.1:1";

/// How long anything may take before a test fails. Nothing waits this long when all is well.
const DEADLINE: Duration = Duration::from_secs(30);

/// The result of `future`; fails the test when it takes too long.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    within(DEADLINE, future).await
}

/// The result of `future`; fails the test when it takes longer than `span`.
#[expect(clippy::disallowed_methods, reason = "a test that hangs must fail; this is its only clock")]
pub(crate) async fn within<T>(span: Duration, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(span, future).await.expect("this should have happened by now")
}

/// A directory for one or more servers, one after the other.
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The program, with nothing of this machine's settings.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(args).env_clear();
        command.env("HOME", self.dir.path()).env("TZ", "UTC").env("PUNCTUAL_DATA_DIR", self.data_dir());
        command
    }

    /// Runs the program to its end where no server can be found, whatever else runs on this machine.
    pub(crate) fn run_alone(&self, args: &[&str]) -> Ran {
        Ran::of(output(self.command(args).env("PUNCTUAL_URL", NOWHERE)))
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(output(&mut self.command(args)))
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    /// A running server with `nofile` descriptors, such as `256:1024`: at first, and at most.
    pub(crate) fn serve_limited(&self, nofile: &str) -> Server {
        let command = self.command(["serve", "--listen", "127.0.0.1:0"]);
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nofile={nofile}")).arg(command.get_program()).args(command.get_args()).env_clear();
        limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.env("PUNCTUAL_WEBHOOK_ALLOW_PRIVATE", "true").env("PUNCTUAL_DEFAULT_CHANNEL", "console");
        Server::start(limited, self.data_dir(), None)
    }

    /// A running server with these settings. Who has no address is reached by its console.
    pub(crate) fn serve_with(&self, env: &[(&str, &str)]) -> Server {
        self.serve_unchosen_with(&[&[("PUNCTUAL_DEFAULT_CHANNEL", "console")], env].concat())
    }

    /// A running server whose default channel nobody chose.
    pub(crate) fn serve_unchosen(&self) -> Server {
        self.serve_unchosen_with(&[])
    }

    /// A running server at an address that was chosen before.
    pub(crate) fn serve_at(&self, listen: &str) -> Server {
        let mut command = self.command(["serve", "--listen", listen]);
        command.env("PUNCTUAL_DEFAULT_CHANNEL", "console");
        Server::start(command, self.data_dir(), None)
    }

    pub(crate) fn serve_unchosen_with(&self, env: &[(&str, &str)]) -> Server {
        let mut command = self.command(["serve", "--listen", "127.0.0.1:0"]);
        command.env("PUNCTUAL_WEBHOOK_ALLOW_PRIVATE", "true").envs(env.iter().copied());
        Server::start(command, self.data_dir(), env.iter().find(|(name, _)| *name == "PUNCTUAL_API_KEY"))
    }
}

/// Where a server keeps its reminders: a file, or a PostgreSQL of the test's own.
pub(crate) struct Kept {
    url: Option<String>,
    _postgres: Option<Postgres>,
}

impl Kept {
    /// Every way to keep them that this machine has.
    pub(crate) fn everywhere() -> Vec<Self> {
        let mut all = vec![Self { url: None, _postgres: None }];
        if let Some(postgres) = Postgres::start() {
            let url = postgres.url(&postgres.new_database(None));
            all.push(Self { url: Some(url), _postgres: Some(postgres) });
        }
        all
    }

    /// The settings that say so.
    pub(crate) fn env(&self) -> Vec<(&str, &str)> {
        self.url.iter().map(|url| ("PUNCTUAL_DATABASE_URL", url.as_str())).collect()
    }
}

/// The exit code and output of one run of the program.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// Checks that it failed with `code` and one line that has all of `words`. Fields that are wrong may follow, each in a line of its own.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        let mut more = self.err.trim_end().lines().skip(1);
        assert!(self.err.starts_with("error: ") && more.all(|line| line.starts_with("  ")), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in: {}", self.err);
        }
    }
}

/// A running server. Dropping it kills it.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) client: reqwest::Client,
    /// What it logged until it was ready.
    pub(crate) started_with: Vec<String>,
    lines: std_mpsc::Receiver<String>,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
    pub(crate) fn start(mut command: Command, data_dir: PathBuf, key: Option<&(&str, &str)>) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stderr.take().unwrap());
        let mut seen = Vec::new();
        let url = loop {
            let Ok(line) = lines.recv_timeout(DEADLINE) else { panic!("the server did not start: {seen:#?}") };
            let entry: Value = serde_json::from_str(&line).unwrap_or_default();
            let message = entry["message"].as_str().unwrap_or_default().to_owned();
            seen.push(line);
            if let Some(url) = message.strip_prefix("listening on ") {
                break url.to_owned();
            }
        };
        let key = match key {
            Some((_, key)) => (*key).to_owned(),
            None => std::fs::read_to_string(data_dir.join("admin.key")).unwrap(),
        };
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(DEADLINE * 2).build().unwrap();
        Self { child, url, key, client, started_with: seen, lines }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Calls the API with the admin's key.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        self.call_with(&self.key, method, path, body).await
    }

    /// Calls the API with another key.
    pub(crate) async fn call_with(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (StatusCode, Value) {
        let mut request = self.request(method, path).bearer_auth(key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        answer(soon(request.send()).await.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.call(Method::GET, path, None).await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// Creates a reminder; returns it.
    pub(crate) async fn create(&self, body: Value) -> Value {
        let (status, body) = self.call(Method::POST, "/v1/reminders", Some(body)).await;
        assert_eq!(status, 201, "{body}");
        body
    }

    /// Sends it a signal to stop.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for a line of its log that has `words` in it.
    #[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
    pub(crate) fn wait_for_log(&self, words: &str) {
        while !self.lines.recv_timeout(DEADLINE).unwrap().contains(words) {}
    }

    /// Whether a line of its log that nobody has read yet has `words` in it.
    pub(crate) fn has_logged(&self, words: &str) -> bool {
        self.lines.try_iter().any(|line| line.contains(words))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits until it has. Returns how it ended and what it logged.
    #[expect(clippy::disallowed_methods, reason = "another process is waited for, and its time is real")]
    pub(crate) fn stop(mut self) -> (ExitStatus, Vec<String>) {
        self.terminate();
        let mut seen = Vec::new();
        // Its standard error ends with the process.
        loop {
            match self.lines.recv_timeout(DEADLINE) {
                Ok(line) => seen.push(line),
                Err(std_mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std_mpsc::RecvTimeoutError::Timeout) => panic!("the server did not stop: {seen:#?}"),
            }
        }
        let ended = ended_within(&mut self.child, DEADLINE);
        (ended.expect("a server that closes its standard error ends"), seen)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = ended_within(&mut self.child, DEADLINE);
    }
}

fn lines_of(stderr: impl Read + Send + 'static) -> std_mpsc::Receiver<String> {
    let (sender, receiver) = std_mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The status and the JSON of a response.
pub(crate) async fn answer(response: reqwest::Response) -> (StatusCode, Value) {
    let status = response.status();
    let bytes = soon(response.bytes()).await.unwrap();
    (status, if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() })
}

/// A receiver of webhooks on the loopback.
pub(crate) struct Receiver {
    pub(crate) url: String,
    requests: mpsc::UnboundedReceiver<(HeaderMap, Value)>,
}

impl Receiver {
    /// Listens, and answers everything with `status`.
    pub(crate) async fn answering(status: StatusCode) -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        Self::serving(Router::new().route("/hook", post(take)).with_state((sender, status)), requests).await
    }

    pub(crate) async fn listen() -> Self {
        Self::answering(StatusCode::NO_CONTENT).await
    }

    /// Listens, and answers with whatever status was said last.
    pub(crate) async fn changing(status: StatusCode) -> (watch::Sender<StatusCode>, Self) {
        let (sender, requests) = mpsc::unbounded_channel();
        let (said, says) = watch::channel(status);
        let take = move |State(sender): State<Sender>, headers: HeaderMap, body: String| async move {
            // Read first: a test that has seen the request may set another answer from then on.
            let status = *says.borrow();
            let _ = sender.send((headers, serde_json::from_str(&body).unwrap()));
            status
        };
        let app = Router::new().route("/hook", post(take)).with_state(sender);
        (said, Self::serving(app, requests).await)
    }

    /// Listens, takes everything, and never answers.
    pub(crate) async fn hanging() -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let hang = |State(sender): State<Sender>, headers: HeaderMap, body: String| async move {
            let _ = sender.send((headers, serde_json::from_str(&body).unwrap()));
            std::future::pending::<()>().await;
        };
        Self::serving(Router::new().route("/hook", post(hang)).with_state(sender), requests).await
    }

    async fn serving(app: Router, requests: mpsc::UnboundedReceiver<(HeaderMap, Value)>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, requests }
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> (HeaderMap, Value) {
        soon(self.requests.recv()).await.unwrap()
    }

    /// The next request that has come already.
    pub(crate) fn next_now(&mut self) -> Option<(HeaderMap, Value)> {
        self.requests.try_recv().ok()
    }

    /// Whether nothing has come that was not taken.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.next_now().is_none()
    }
}

type Sender = mpsc::UnboundedSender<(HeaderMap, Value)>;

async fn take(State((sender, status)): State<(Sender, StatusCode)>, headers: HeaderMap, body: String) -> StatusCode {
    // A test that has ended listens no more.
    let _ = sender.send((headers, serde_json::from_str(&body).unwrap()));
    status
}
