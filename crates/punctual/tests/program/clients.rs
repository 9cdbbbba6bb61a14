//! Programs in other languages: examples/ runs here, with types that are generated from what the server says of itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use punctual_engine::SystemClock;
use punctual_testkit::process::output;
use punctual_testkit::proxy::Proxy;
use punctual_testkit::report;
use punctual_testkit::wait::until_some;
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::common::{Home, Ran, Server, soon};

/// The examples of one language, ready to run against a server.
struct Language {
    name: &'static str,
    /// Where they run: copies of the examples, the generated types, and nothing of the repository's.
    dir: tempfile::TempDir,
    /// Where their tools are.
    tools: PathBuf,
}

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

impl Language {
    /// Copies the examples; `None`, and a line in the report, where what they need is missing.
    fn of(name: &'static str) -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let tools = target.join("clients").join(name);
        if !tools.join("pins").exists() {
            report::left_out(&format!("the examples in {name}: run scripts/clients, which needs its registry"));
            return None;
        }
        let (dir, tools) = (tempfile::tempdir().unwrap(), tools.canonicalize().unwrap());
        for file in std::fs::read_dir(root.join("examples").join(name)).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), dir.path().join(file.file_name())).unwrap();
            }
        }
        Some(Self { name, dir, tools })
    }

    /// A command of the language's own tools.
    fn command(&self, server: &Server, program: &str, args: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path()).env_clear().env("HOME", self.dir.path());
        command.env("PATH", format!("{}:{path}", self.tools.join("bin").display()));
        command.env("PUNCTUAL_URL", &server.url).env("PUNCTUAL_API_KEY", &server.key);
        command.env("PUNCTUAL_WEBHOOK_SECRET", SECRET);
        command
    }

    #[track_caller]
    fn run(&self, server: &Server, program: &str, args: &[&str]) {
        let ran = Ran::of(output(&mut self.command(server, program, args)));
        assert_eq!(ran.code, Some(0), "{} {program} {args:?}: {}{}", self.name, ran.out, ran.err);
    }

    /// Generates the types and checks that the examples keep to them.
    fn prepare(&self, server: &Server) {
        match self.name {
            "python" => {
                self.run(server, "bash", &["generate", "."]);
                self.run(server, "mypy", &["--strict", "medicine.py", "follow.py"]);
            }
            _ => {
                let modules = self.dir.path().join("node_modules");
                std::os::unix::fs::symlink(self.tools.join("node_modules"), modules).unwrap();
                self.run(server, "npm", &["run", "--silent", "generate"]);
                self.run(server, "npm", &["run", "--silent", "build"]);
            }
        }
    }

    /// Starts an example, with these settings beside the usual ones.
    fn start(&self, server: &Server, example: &str, env: &[(&str, &str)]) -> Example {
        let mut command = match self.name {
            "python" => self.command(server, "python", &[&format!("{example}.py")]),
            _ => self.command(server, "node", &[&format!("built/{example}.js")]),
        };
        command.envs(env.iter().copied()).stdout(Stdio::piped());
        let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Example { child, lines }
    }
}

/// An example that runs. Dropping it ends it.
struct Example {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Example {
    async fn line(&mut self) -> String {
        soon(self.lines.next_line()).await.unwrap().expect("it says more")
    }

    /// What follows `words` in its next line.
    async fn says(&mut self, words: &str) -> String {
        let line = self.line().await;
        line.strip_prefix(words).unwrap_or_else(|| panic!("`{line}` does not begin with `{words}`")).to_owned()
    }
}

/// Goes through all that the examples of a language show.
async fn goes_through(name: &'static str) {
    let Some(language) = Language::of(name) else { return };
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_WEBHOOK_SECRET", SECRET)]);
    language.prepare(&server);
    is_reminded_and_answers(&language, &server).await;
    follows_without_a_gap(&language, &server).await;
    report::ran(&format!("the examples in {name}, with types generated from /openapi.json"));
}

async fn is_reminded_and_answers(language: &Language, server: &Server) {
    let mut example = language.start(server, "medicine", &[("TEXT", "take my medicine in 3 hours")]);
    let hook = example.says("listening at ").await;
    assert!(example.says("created: take my medicine, once on ").await.ends_with(", UTC"));

    // Somebody else knows the address, and not the secret.
    let forged = json!({ "data": { "reminder_id": "x", "run_number": 1, "message": "forged" } });
    let now = SystemClock::read().as_second().to_string();
    let request = server.client.post(&hook).header("webhook-id", "1").header("webhook-timestamp", now);
    let request = request.header("webhook-signature", "v1,Zm9yZ2Vk").json(&forged);
    assert_eq!(soon(request.send()).await.unwrap().status(), 401, "{}", language.name);

    let id = server.get("/v1/reminders").await["reminders"][0]["id"].as_str().unwrap().to_owned();
    let (status, fired) = server.call(Method::POST, &format!("/v1/reminders/{id}/fire"), None).await;
    assert_eq!(status, 200, "{fired}");
    assert_eq!(example.says("due: ").await, "take my medicine", "not the forged one");
    let mut kinds = vec![example.line().await];
    while kinds.last().is_some_and(|kind| kind != "reminder.acknowledged") {
        kinds.push(example.line().await);
    }
    assert_eq!(
        (kinds[0].as_str(), kinds.iter().filter(|kind| *kind == "reminder.sent").count()),
        ("reminder.created", 1)
    );
    assert!(soon(example.child.wait()).await.unwrap().success());
    let runs = server.get(&format!("/v1/reminders/{id}/occurrences")).await;
    let answer = &runs["occurrences"][0]["responses"][0];
    assert_eq!((&answer["response"], &answer["response_text"]), (&json!("ack"), &json!("I took it")), "{runs}");
}

async fn follows_without_a_gap(language: &Language, server: &Server) {
    let port = server.url.rsplit(':').next().unwrap().parse().unwrap();
    let proxy = Proxy::before(port);
    let mut example = language.start(server, "follow", &[("PUNCTUAL_URL", &proxy.url_for(&server.url))]);
    let mut last: i64 = example.says("following after ").await.parse().unwrap();
    let mut told = async |user: &str| {
        let line = example.line().await;
        let (position, rest) = line.split_once(' ').unwrap();
        let position = position.parse().unwrap();
        assert!(position > last, "{}: {line} after {last}", language.name);
        assert_eq!(rest, format!("reminder.created {user}"));
        last = position;
    };
    let remind = async |user: &str| {
        let later = json!({ "type": "once", "at": "2099-01-01T00:00:00Z" });
        server.create(json!({ "user": user, "message": "m", "schedule": later })).await;
    };
    remind("before").await;
    told("before").await;
    proxy.refuse(true);
    proxy.cut();
    remind("away").await;
    let tried = proxy.accepted();
    until_some("it tries again", async || (proxy.accepted() > tried).then_some(())).await;
    remind("again").await;
    proxy.refuse(false);
    told("away").await;
    told("again").await;
    remind("after").await;
    told("after").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_in_python_asks_verifies_follows_and_answers() {
    goes_through("python").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_in_typescript_asks_verifies_follows_and_answers() {
    goes_through("typescript").await;
}
