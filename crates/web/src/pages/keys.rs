//! Keys: what each may do and when it was last used; a new one is shown once.

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::future::join;
use maud::{Markup, html};
use punctual_client::escaped;
use punctual_client::wire::{Key, KeyInput, RotateInput};
use serde::Deserialize;

use crate::Web;
use crate::flash::Flash;
use crate::layout::Place;
use crate::parts::{self, Empty, Field, Filled, Refusal, Shape, Tried};
use crate::texts::{Text, keys as t, reminders};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Viewer, refused};

/// What a key may do, in the order of the form.
const SCOPES: [(&str, Text); 6] = [
    ("read", t::READ),
    ("write", t::WRITE),
    ("inbound", t::INBOUND),
    ("send-test", t::SEND_TEST),
    ("keys", t::KEYS),
    ("admin", t::ADMIN),
];
/// How long an old secret works beside a new one.
const OVERLAPS: [(&str, Text); 4] = [("1h", t::AN_HOUR), ("24h", t::A_DAY), ("7d", t::A_WEEK), ("0s", t::NOT_AT_ALL)];

/// How many are on a page, which stays below 100 kB in all.
const PAGE: usize = 25;

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/keys", get(show).post(make))
        .route("/keys/{id}/rotate", post(rotate))
        .route("/keys/{id}/delete", post(delete))
}

async fn show(v: Viewer) -> Result<Response, Trouble> {
    render(&v, None).await
}

/// The page, also for a new key that was refused.
async fn render(v: &Viewer, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let (keys, channels) = join(v.client.keys(), v.client.channels()).await;
    let keys = keys?.keys;
    // A key that may make keys need not see channels.
    let channels: Vec<String> =
        channels.map(|page| page.channels.into_iter().map(|channel| channel.name).collect()).unwrap_or_default();
    let m = &v.m;
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::SUB)) }
        div #keys-list data-live="key." {
            @if keys.is_empty() {
                (parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example: html! { pre tabindex="0" { "punctual keys create my-bot --user alice --expires 90d" } } }))
            } @else { (list(v, &keys)) }
        }
        h2 { (m.t(t::NEW)) }
        (make_form(v, &channels, Tried::of("new", refusal)))
        h2 { (m.t(t::SESSIONS)) }
        p.sub { (m.t(t::SESSIONS_WHAT)) }
        (parts::form(v, "/sign-out", html! { button type="submit" name="everywhere" value="1" { (m.t(t::EVERYWHERE)) } }))
    };
    Ok(v.page(Place::Keys, &m.t(t::TITLE), &main))
}

/// A page of the keys, or of those with a word in their name or their user's.
fn list(v: &Viewer, keys: &[Key]) -> Markup {
    let m = &v.m;
    let q = parts::asked(v, "q").unwrap_or_default().trim().to_lowercase();
    let has_word = |text: &str| text.to_lowercase().contains(&q);
    let is_found = |key: &&Key| has_word(&key.name) || key.user.as_deref().is_some_and(has_word);
    let found: Vec<&Key> = keys.iter().filter(is_found).collect();
    let from = parts::asked(v, "from").and_then(|from| from.parse().ok()).unwrap_or(0);
    let shown: Vec<&Key> = found.iter().copied().skip(from).take(PAGE).collect();
    let next = from + shown.len();
    html! {
        @if keys.len() > PAGE {
            form.search role="search" action="/keys" method="get" {
                label.unseen for="q" { (m.t(reminders::SEARCH)) }
                input #q type="search" name="q" value=(q) autocomplete="off" data-key="/";
                button type="submit" { (m.t(reminders::SEARCH)) }
            }
            p.sub role="status" { (m.say(reminders::SHOWING_OF, &[("n", &m.number(shown.len() as u64)), ("m", &m.number(found.len() as u64))])) }
        }
        ul.rows { @for key in &shown { (row(v, key)) } }
        @if next < found.len() {
            p { a.button href=(format!("/keys?from={next}&q={}", escaped(&q))) { (m.t(reminders::MORE)) } }
        }
    }
}

fn row(v: &Viewer, key: &Key) -> Markup {
    let m = &v.m;
    let is_over = key.expires_at.is_some_and(|at| at <= m.now);
    let shape = match is_over {
        false => Shape { mark: "✓", word: m.t(t::WORKS).into_owned(), class: "good" },
        true => Shape { mark: "⊘", word: m.t(t::OVER).into_owned(), class: "bad" },
    };
    let mut about = vec![key.scopes.join(", ")];
    about.extend(key.user.as_ref().map(|user| m.say(t::OF_USER, &[("name", user)])));
    if !key.channels.is_empty() {
        about.push(m.say(t::OF_CHANNELS, &[("names", &key.channels.join(", "))]));
    }
    about.extend(key.rate.clone());
    about.push(m.say(t::MADE, &[("when", &m.instant(key.created_at))]));
    about.extend(key.expires_at.map(|at| m.say(if is_over { t::ENDED } else { t::ENDS }, &[("when", &m.instant(at))])));
    about.extend(key.replaced.as_ref().map(|old| m.say(t::OLD_UNTIL, &[("when", &m.instant(old.until))])));
    let used = key
        .last_used_at
        .map_or_else(|| m.t(t::NEVER_USED).into_owned(), |at| m.say(t::LAST_USED, &[("when", &m.relative(at))]));
    let id = |field: &str| format!("{field}-{}", key.id);
    let path = format!("/keys/{}", escaped(&key.id));
    html! {
        li id=(id("key")) {
            (parts::state(&shape))
            span.what { (key.name) @if let Some(prefix) = &key.prefix { " " code { (prefix) "…" } } }
            span.when { (used) }
            p.sub { (about.join(" · ")) }
            div.do.wide {
                details id=(id("rotate")) {
                    summary { (m.t(t::ROTATE)) span.unseen { " " (key.name) } }
                    (parts::form(v, &format!("{path}/rotate"), html! {
                        label for=(id("overlap")) { (m.t(t::ROTATE_HINT)) }
                        div.buttons {
                            select id=(id("overlap")) name="overlap" { @for (span, text) in OVERLAPS { option value=(span) { (m.t(text)) } } }
                            button type="submit" { (m.t(t::ROTATE)) }
                        }
                    }))
                }
                details id=(id("delete")) {
                    summary { (m.t(t::DELETE)) span.unseen { " " (key.name) } }
                    p { (m.t(t::DELETE_SURE)) }
                    (parts::form(v, &format!("{path}/delete"), html! { button.danger type="submit" { (m.say(t::DELETE_IT, &[("name", &key.name)])) } }))
                }
            }
        }
    }
}

fn make_form(v: &Viewer, channels: &[String], tried: Tried<'_>) -> Markup {
    let m = &v.m;
    let field = |name: &str, label: Text, hint: Text, is_required: bool| {
        let key = is_required.then_some("n");
        tried.field(&Field { name, label: &m.t(label), hint: Some(&m.t(hint)), is_required, key, ..Field::default() })
    };
    let is_ticked = |name: &str, value: &str, otherwise: bool| tried.ticked_of(name, value, otherwise);
    html! {
        div.card {
            (parts::form(v, "/keys", html! {
                (tried.alert(m, &["name", "user", "expires_at", "rate"]))
                div.fields {
                    (field("name", t::NAME, t::NAME_HINT, true))
                    (field("user", t::USER, t::USER_HINT, false))
                    (field("expires_at", t::EXPIRES, t::EXPIRES_HINT, false))
                    (field("rate", t::RATE, t::RATE_HINT, false))
                }
                (boxes(m.t(t::SCOPES).as_ref(), "scopes", SCOPES.iter().map(|(scope, text)| (*scope, format!("{scope}: {}", m.t(*text)), is_ticked("scopes", scope, matches!(*scope, "read" | "write"))))))
                @if !channels.is_empty() {
                    (boxes(&format!("{} ({})", m.t(t::CHANNELS), m.t(t::CHANNELS_HINT)), "channels", channels.iter().map(|name| (name.as_str(), name.clone(), is_ticked("channels", name, false)))))
                }
                div.buttons { button.main type="submit" { (m.t(t::MAKE)) } }
            }))
        }
    }
}

/// Boxes of one name under a legend: the value, the label, and whether it is ticked.
fn boxes<'a>(legend: &str, name: &str, all: impl Iterator<Item = (&'a str, String, bool)>) -> Markup {
    html! {
        fieldset.boxes {
            legend { (legend) }
            @for (value, label, is_ticked) in all {
                label { input type="checkbox" name=(name) value=(value) checked[is_ticked]; " " (label) }
            }
        }
    }
}

async fn make(Posted { viewer: mut v, form }: Posted<Filled>) -> Result<Response, Trouble> {
    v.here = "/keys".into();
    let many = |name: &str| form.all(name).map(str::to_owned).collect::<Vec<_>>();
    let input = KeyInput {
        name: form.owned("name"),
        user: form.owned("user"),
        channels: Some(many("channels")).filter(|channels| !channels.is_empty()),
        scopes: Some(many("scopes")),
        rate: form.owned("rate"),
        expires_at: form.owned("expires_at"),
    };
    match v.client.create_key(&input).await {
        Ok(key) => Ok(shown_once(&v, &key)),
        Err(failure) => {
            let refusal = Refusal::of(&v.m, "new", &form, failure)?;
            Ok((refusal.status(), render(&v, Some(&refusal)).await?).into_response())
        }
    }
}

/// The page that shows a secret: no cookie and no address of a page ever has it.
fn shown_once(v: &Viewer, key: &Key) -> Response {
    let m = &v.m;
    let title = m.say(t::ONCE_TITLE, &[("name", &key.name)]);
    let main = html! {
        h1 { (title) }
        div.ask {
            p.q { (m.t(t::ONCE)) }
            label for="secret" { (m.t(t::THE_KEY)) }
            input #secret.mono readonly autofocus value=(key.key.as_deref().unwrap_or_default());
            @if let Some(old) = &key.replaced { p.why { (m.say(t::OLD_UNTIL, &[("when", &m.instant(old.until))])) } }
            div.buttons { a.button.main href="/keys" { (m.t(t::BACK)) } }
        }
    };
    v.page(Place::Keys, &title, &main)
}

#[derive(Deserialize)]
struct Rotate {
    overlap: String,
}

async fn rotate(Path(id): Path<String>, Posted { viewer: v, form }: Posted<Rotate>) -> Result<Response, Trouble> {
    match v.client.rotate_key(&id, &RotateInput { overlap: Some(form.overlap) }).await {
        Ok(key) => Ok(shown_once(&v, &key)),
        Err(failure) => match refused(&failure) {
            Some(words) => Ok(Flash::problem(words).then("/keys")),
            None => Err(failure.into()),
        },
    }
}

#[derive(Deserialize)]
struct Nothing {}

async fn delete(
    Path(id): Path<String>,
    Posted { viewer: v, form: Nothing {} }: Posted<Nothing>,
) -> Result<Response, Trouble> {
    match v.client.delete_key(&id).await {
        Ok(()) => Ok(Flash::done(v.m.t(t::DELETED)).then("/keys")),
        Err(failure) => match refused(&failure) {
            Some(words) => Ok(Flash::problem(words).then("/keys")),
            None => Err(failure.into()),
        },
    }
}
