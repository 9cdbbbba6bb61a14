//! The web page in a real browser, and what it says to any other: headless Chromium tells the stories in `stories/`, a fact each.
//!
//! Screenshots of every page are written to `target/page-screenshots`; `PUNCTUAL_PAGE_SCREENSHOTS=all` takes each with nothing, three and
//! three hundred items, else most are taken with three. A story that fails leaves its pages in `failed/` there.

mod browser;
mod world;

mod full;
mod guards;
mod live;
mod looks;
mod reminders;
mod sign_in;
mod today;
mod xss;

use serde_json::{Value, json};

use self::browser::browser;
use crate::common::Server;

/// Tells a story of this server in the shared browser. `None`: this machine has no browser, and the report says so.
async fn tell(story: &str, server: &Server, with: Value) -> Option<Value> {
    tell_with(story, server, with, async |asked| panic!("{story} asks for {asked}")).await
}

/// The same for a story that asks for something on its way.
async fn tell_with(
    story: &str,
    server: &Server,
    mut with: Value,
    answer: impl AsyncFnMut(Value) -> Value,
) -> Option<Value> {
    let browser = browser()?;
    let own = json!({ "url": server.url, "key": server.key });
    for (name, value) in own.as_object().unwrap() {
        with.as_object_mut().unwrap().entry(name).or_insert_with(|| value.clone());
    }
    Some(browser.tell(story, with, answer).await)
}
