//! Web push in a real browser: it becomes an address, is told, and answers; and the page can be installed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use punctual_testkit::platforms::webpush::{Browser, PushService, Pushed};
use punctual_testkit::wait::until_some;
use punctual_testkit::{judges, report};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::common::{Home, Server};

/// Debian's, and where others put it.
const CHROMIUM: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// A browser that ends with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets a real browser go through `story` of `chromium.mjs`; `answer` gives it the pushes that it asks for.
async fn tell(story: &str, server: &Server, mut with: Value, mut answer: impl AsyncFnMut(Value) -> Value) {
    let what = "web push in a real browser";
    let Some((node, modules)) = judges::node(what) else { return };
    let Some(chromium) = CHROMIUM.into_iter().find(|path| Path::new(path).exists()) else {
        return report::left_out(&format!("{what}: there is no Chromium"));
    };
    with["url"] = json!(server.url);
    with["key"] = json!(server.key);
    let mut command = Command::new(node);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/web_push/chromium.mjs"));
    command.arg(modules.canonicalize().unwrap()).arg(chromium).arg(story).arg(with.to_string());
    let mut running = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let (mut input, output) = (running.0.stdin.take().unwrap(), running.0.stdout.take().unwrap());
    let (sender, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        // Nobody listens any more when the test has failed.
        BufReader::new(output).lines().for_each(|line| drop(sender.send(line.unwrap())));
    });
    // It gives up by itself when something takes too long.
    while let Some(line) = lines.recv().await {
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(asked) = line.get("ask") {
            input.write_all(format!("{}\n", answer(asked.clone()).await).as_bytes()).unwrap();
        } else if let Some(version) = line["done"].as_str() {
            return report::ran(&format!("{what}: {story}, Chromium {version}"));
        } else {
            panic!("{story}: {}", line["failed"].as_str().unwrap_or_default());
        }
    }
    panic!("{story}: the browser ended without a word");
}

/// Waits for a push of this kind, and returns what the service worker reads.
async fn pushed(push: &PushService, browser: &Browser, is_ended: bool) -> Value {
    let is_it = |pushed: &Pushed| pushed.payload["ended"].as_bool().unwrap_or_default() == is_ended;
    until_some("the push is there", async || push.pushed(browser).into_iter().find(is_it)).await.payload
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_becomes_an_address_shows_a_notification_with_buttons_and_a_press_answers() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_WEBPUSH_ALLOW_PRIVATE", "true")]);
    let key = &public_key(&server).await;
    let push = PushService::start();
    let browser = push.subscribe(key);
    let with = json!({ "subscription": subscription(&browser, key), "address": browser.address, "user": "me" });
    let answer = async |asked: Value| pushed(&push, &browser, asked == "ended").await;
    tell("browserIsToldAndAnswers", &server, with, answer).await;
}

/// The key that browsers subscribe with.
async fn public_key(server: &Server) -> String {
    let all = server.get("/v1/channels").await;
    let channel = all["channels"].as_array().unwrap().iter().find(|channel| channel["name"] == "webpush").unwrap();
    channel["public_key"].as_str().unwrap().to_owned()
}

/// What a browser has of its push service.
fn subscription(browser: &Browser, key: &str) -> Value {
    let (endpoint, keys) = browser.address.split_once("#p256dh=").unwrap();
    let (p256dh, auth) = keys.split_once("&auth=").unwrap();
    json!({ "endpoint": endpoint, "keys": { "p256dh": p256dh, "auth": auth }, "key": key })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_gets_another_address_tells_the_server_while_no_page_is_open() {
    let home = Home::new();
    let server = home.serve_with(&[("PUNCTUAL_WEBPUSH_ALLOW_PRIVATE", "true")]);
    let key = &public_key(&server).await;
    let push = PushService::start();
    let (old, next) = (push.subscribe(key), push.subscribe(key));
    let with = json!({
        "subscription": subscription(&old, key), "address": old.address, "user": "me",
        "next": subscription(&next, key), "nextAddress": next.address,
    });
    tell("browserGetsAnotherAddress", &server, with, async |asked| panic!("it asks for {asked}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_can_be_installed() {
    let home = Home::new();
    let server = home.serve();
    tell("pageCanBeInstalled", &server, json!({}), async |asked| panic!("it asks for {asked}")).await;
}
