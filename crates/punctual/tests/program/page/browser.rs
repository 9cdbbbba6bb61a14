//! The browser of a test run: one Chromium, driven by Playwright (npm), for all stories. `browser.mjs` says how it is spoken to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use punctual_testkit::{judges, report};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::common::within;

/// Debian's, and where others put it.
const CHROMIUM: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/// How long one story may take. None takes this long when all is well, also on a busy machine.
const STORY_MAX: Duration = Duration::from_secs(240);
/// How many stories are told at once: more would only wait for the processor.
const AT_ONCE: usize = 3;

/// The shared browser; `None`, and a line in the report, where this machine has none.
pub(super) fn browser() -> Option<&'static Browser> {
    static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();
    BROWSER.get_or_init(Browser::start).as_ref()
}

pub(super) struct Browser {
    input: Mutex<ChildStdin>,
    listeners: Arc<Mutex<Listeners>>,
    places: Semaphore,
}

/// Who waits for the lines of which story.
#[derive(Default)]
struct Listeners {
    last: u64,
    waiting: HashMap<u64, mpsc::UnboundedSender<Value>>,
}

impl Browser {
    fn start() -> Option<Self> {
        let what = "the web page in a real browser";
        let (node, modules) = judges::node(what)?;
        let Some(chromium) = CHROMIUM.into_iter().find(|path| Path::new(path).exists()) else {
            report::left_out(&format!("{what}: there is no Chromium"));
            return None;
        };
        let pictures = pictures();
        let mut command = Command::new(node);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/page/browser.mjs"));
        command.arg(modules.canonicalize().unwrap()).arg(chromium).arg(&pictures);
        // Its standard input ends with this process, however that ends, and the browser with its standard input.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut lines = BufReader::new(output).lines().map(|line| line.unwrap());
        let ready = lines.next().expect("the browser starts");
        let ready: Value = serde_json::from_str(&ready).unwrap();
        report::ran(&format!(
            "{what}: Chromium {}; pictures in {}",
            ready["ready"].as_str().unwrap(),
            pictures.display()
        ));
        let listeners = Arc::new(Mutex::new(Listeners::default()));
        let told = Arc::clone(&listeners);
        std::thread::spawn(move || {
            for line in lines {
                let line: Value = serde_json::from_str(&line).unwrap();
                if let Some(listener) = told.lock().unwrap().waiting.get(&line["id"].as_u64().unwrap()) {
                    // A story that nobody waits for any more has failed already.
                    let _ = listener.send(line);
                }
            }
            // Nobody waits for a browser that is gone.
            told.lock().unwrap().waiting.clear();
            let _ = child.wait();
        });
        Some(Self { input: Mutex::new(input), listeners, places: Semaphore::new(AT_ONCE) })
    }

    /// Tells a story, and returns what it found. `answer` does what it asks for on its way.
    pub(super) async fn tell(&self, story: &str, with: Value, mut answer: impl AsyncFnMut(Value) -> Value) -> Value {
        let _place = self.places.acquire().await.unwrap();
        let (sender, mut lines) = mpsc::unbounded_channel();
        let id = {
            let mut listeners = self.listeners.lock().unwrap();
            listeners.last += 1;
            let id = listeners.last;
            listeners.waiting.insert(id, sender);
            id
        };
        self.say(&json!({ "id": id, "story": story, "with": with }));
        let ended = within(STORY_MAX, async {
            loop {
                let line = lines.recv().await.expect("the browser lives until all stories are told");
                match line.get("ask") {
                    Some(asked) => self.say(&json!({ "id": id, "answer": answer(asked.clone()).await })),
                    None => break line,
                }
            }
        });
        let ended = ended.await;
        self.listeners.lock().unwrap().waiting.remove(&id);
        if let Some(why) = ended["failed"].as_str() {
            panic!("{story}: {why}");
        }
        ended["ok"].clone()
    }

    fn say(&self, line: &Value) {
        self.input.lock().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// The folder that pictures of the pages are written to.
fn pictures() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("page-screenshots")
}
