//! Reminders: finding one among many, and doing something about many.

use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::response::Response;
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_client::Failure;
use punctual_client::known::{ReminderStatus, StateKind};
use punctual_client::wire::{DueQuery, OccurrenceState, Priority, Reminder, ReminderQuery, Reminders};
use sha2::{Digest, Sha256};

use crate::Web;
use crate::layout::Place;
use crate::parts::{self, Empty, Field, Refusal, Tried};
use crate::texts::{Text, events as te, reminders as t, states};
use crate::trouble::Trouble;
use crate::viewer::{Scope, Viewer, query_value, refused};

/// How many are on a page, which stays below 100 kB in all.
const PAGE: usize = 40;

/// The chips of the status, each with its word in the API.
const STATUSES: [(&str, Text); 9] = [
    ("", t::ALL),
    (AWAITING, states::AWAITING_ACK),
    ("active", states::ACTIVE),
    ("paused", states::PAUSED),
    ("failed", states::FAILED),
    ("unanswered", states::UNANSWERED),
    ("missed", states::MISSED),
    ("completed", states::OVER),
    ("cancelled", states::CANCELLED),
];

/// The chip of those that wait for an answer. They are found by their runs, person by person.
const AWAITING: &str = "awaiting_ack";

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/reminders", get(show)).route("/reminders/{id}/tools", get(tools))
}

/// What the address of the page asks for.
#[derive(Debug, Default, Clone)]
struct Asked {
    q: String,
    status: String,
    tag: String,
    cursor: Option<String>,
    everybody: bool,
}

impl Asked {
    fn read(query: &str) -> Self {
        let value = |name| query_value(query, name).unwrap_or_default();
        Self {
            q: value("q"),
            status: value("status"),
            tag: value("tag"),
            cursor: query_value(query, "cursor").filter(|cursor| !cursor.is_empty()),
            everybody: value("all") == "1",
        }
    }

    /// The address of a page that asks for this.
    fn href(&self, v: &Viewer) -> String {
        let pairs = [
            ("q", self.q.as_str()),
            ("status", &self.status),
            ("tag", &self.tag),
            ("all", if self.everybody { "1" } else { "" }),
            ("cursor", self.cursor.as_deref().unwrap_or_default()),
            ("user", if v.looks_at_another() { &v.person } else { "" }),
        ];
        let said = pairs.iter().filter(|(_, value)| !value.is_empty());
        let query: Vec<String> =
            said.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))).collect();
        if query.is_empty() { "/reminders".into() } else { format!("/reminders?{}", query.join("&")) }
    }

    /// The runs that wait are a person's, newest first: neither words nor a tag narrow them.
    fn waiting(self) -> Self {
        Self { q: String::new(), tag: String::new(), everybody: false, status: AWAITING.into(), ..self }
    }

    /// Whether the server has counted them lately: everybody's, by status. How the last run ended is none.
    fn is_in_stats(&self) -> bool {
        let is_status = ["", "active", "paused", "completed", "cancelled"].contains(&self.status.as_str());
        self.everybody && self.q.trim().is_empty() && self.tag.is_empty() && is_status
    }

    fn is_plain(&self) -> bool {
        self.q.is_empty() && self.status.is_empty() && self.tag.is_empty() && self.cursor.is_none()
    }
}

async fn show(v: Viewer, RawQuery(query): RawQuery) -> Result<Response, Trouble> {
    let mut asked = Asked::read(query.as_deref().unwrap_or_default());
    asked.everybody &= !v.caller.is_bound;
    if asked.status == AWAITING {
        asked = asked.waiting();
    }
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    // Everybody's of a status are counted already, and a key for some channels counts nothing.
    let is_counted = !asked.is_in_stats() && v.caller.channels.is_empty();
    let search = ReminderQuery {
        count: is_counted.then_some(true),
        user: (!asked.everybody).then(|| v.person.clone()),
        status: said(&asked.status),
        tag: said(&asked.tag),
        q: said(&asked.q),
        limit: Some(PAGE),
        cursor: asked.cursor.clone(),
        ..ReminderQuery::default()
    };
    let found = match asked.status.as_str() {
        AWAITING => awaiting(&v, &asked).await,
        _ => v.client.reminders(&search).await,
    };
    let found = match found {
        Ok(found) => Ok(found),
        // Too few letters, or a status that there is not: the person who typed it is told.
        Err(failure) => match refused(&failure) {
            Some(words) => Err(words.to_owned()),
            None => return Err(failure.into()),
        },
    };
    let total = match &found {
        Ok(found) => total(&v, &asked, found).await,
        Err(_) => None,
    };
    let m = &v.m;
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        (finder(&v, &asked))
        div #found data-found data-live="reminder." {
            @match &found {
                Ok(found) => (list(&v, &asked, found, total)),
                Err(problem) => p.problem { (problem) },
            }
        }
    };
    Ok(v.page(Place::Reminders, &m.t(t::TITLE), &main))
}

/// The reminders of a person that wait for an answer.
async fn awaiting(v: &Viewer, asked: &Asked) -> Result<Reminders<'static>, Failure> {
    let query = DueQuery {
        user: Some(v.person.clone()),
        status: Some(AWAITING.into()),
        order: Some("newest".into()),
        limit: Some(PAGE),
        cursor: asked.cursor.clone(),
        ..DueQuery::default()
    };
    let page = v.client.runs(&query).await?;
    let reminders = page.runs.into_iter().map(|run| run.reminder).collect();
    Ok(Reminders { reminders, next_cursor: page.next_cursor, total: None, indexing: None })
}

/// How many there are in all, and whether that is exact. Everybody's are not counted anew: the server has counted them lately, by status.
async fn total(v: &Viewer, asked: &Asked, found: &Reminders<'_>) -> Option<(u64, bool)> {
    if !asked.is_in_stats() {
        // Counting may have ended before it came to those that are shown.
        let n_shown = found.reminders.len();
        let total = found.total.map(|total| (total.n.max(n_shown) as u64, total.exact));
        // That it has found none so far says nothing.
        return total.filter(|(n, is_exact)| *n > 0 || *is_exact);
    }
    let counts = v.client.stale_stats().await.ok()?.reminders;
    let n = match asked.status.as_str() {
        "" => counts.values().sum(),
        status => counts.get(status).copied()?,
    };
    // Counts may be a few seconds old.
    Some((n.max(found.reminders.len() as u64), true))
}

fn finder(v: &Viewer, asked: &Asked) -> Markup {
    let m = &v.m;
    let chip = |is_on: bool, href: String, text: &str| html! { li { a.chip href=(href) aria-current=[is_on.then_some("true")] { (text) } } };
    html! {
        form.search role="search" action="/reminders" method="get" data-as-you-type {
            label.unseen for="q" { (m.t(t::SEARCH)) }
            input #q type="search" name="q" value=(asked.q) placeholder=(m.t(t::SEARCH_HINT)) autocomplete="off" data-key="/";
            @for (name, value) in [("status", &asked.status), ("tag", &asked.tag)] {
                // Words leave the chip of those that wait: they look through all.
                @if !value.is_empty() && value != AWAITING { input type="hidden" name=(name) value=(value); }
            }
            @if asked.everybody { input type="hidden" name="all" value="1"; }
            @if v.looks_at_another() { input type="hidden" name="user" value=(v.person); }
            button type="submit" { (m.t(t::SEARCH)) }
        }
        @if !v.caller.is_bound {
            ul.chips aria-label=(m.t(t::WHOSE)) {
                @for (everybody, word) in [(false, t::MINE), (true, t::EVERYBODY)] {
                    @let to = Asked { everybody, cursor: None, ..asked.clone() };
                    // Whoever asks for everybody's leaves the chip of those that wait, which are one's own.
                    @let to = if everybody && to.status == AWAITING { Asked { status: String::new(), ..to } } else { to };
                    (chip(asked.everybody == everybody, to.href(v), &m.t(word)))
                }
            }
        }
        ul.chips aria-label=(m.t(t::STATUS)) {
            @for (status, word) in STATUSES {
                @let to = Asked { status: status.into(), cursor: None, ..asked.clone() };
                @let to = if status == AWAITING { to.waiting() } else { to };
                (chip(asked.status == status, to.href(v), &m.t(word)))
            }
            @if !asked.tag.is_empty() {
                (chip(true, Asked { tag: String::new(), cursor: None, ..asked.clone() }.href(v), &format!("{}: {} ✕", m.t(t::TAGGED), asked.tag)))
            }
        }
    }
}

fn list(v: &Viewer, asked: &Asked, found: &Reminders<'_>, total: Option<(u64, bool)>) -> Markup {
    let m = &v.m;
    let n = found.reminders.len() as u64;
    if n == 0 && asked.is_plain() && !asked.everybody {
        return teach(v);
    }
    let count = match (total, &found.next_cursor, &asked.cursor) {
        (Some((total, true)), None, None) if total == n => m.say(t::SHOWING_ALL, &[("n", &m.number(n))]),
        (Some((total, is_exact)), ..) => {
            let text = if is_exact { t::SHOWING_OF } else { t::SHOWING_OVER };
            m.say(text, &[("n", &m.number(n)), ("m", &m.number(total))])
        }
        (None, None, None) => m.say(t::SHOWING_ALL, &[("n", &m.number(n))]),
        (None, ..) => m.say(t::SHOWING_SOME, &[("n", &m.number(n))]),
    };
    html! {
        p.sub role="status" { (count) @if found.indexing.is_some() { " · " (m.t(t::INDEXING)) } }
        @if n == 0 { p { (m.t(t::NONE)) } }
        ul.rows { @for reminder in &found.reminders { (row(v, asked, reminder)) } }
        @if v.may(Scope::Write) && n > 0 { (many(v)) }
        @if let Some(cursor) = &found.next_cursor {
            p { a.button href=(Asked { cursor: Some(cursor.clone()), ..asked.clone() }.href(v)) { (m.t(t::MORE)) } }
        }
    }
}

fn row(v: &Viewer, asked: &Asked, reminder: &Reminder<'_>) -> Markup {
    let m = &v.m;
    let waits = |last: &OccurrenceState| *last == StateKind::AwaitingAck && is_open(reminder);
    let shape = match (&reminder.status, &reminder.last_status) {
        (_, _) if asked.status == AWAITING => parts::of_run(m, &OccurrenceState::new(AWAITING)),
        (status, Some(last))
            if waits(last)
                || *status == ReminderStatus::Completed
                || !asked.status.is_empty() && asked.status == last.as_str() =>
        {
            parts::of_run(m, last)
        }
        (status, _) => parts::of_reminder(m, status),
    };
    html! {
        li data-id=(reminder.id) {
            @if v.may(Scope::Write) {
                label.pick {
                    input type="checkbox" form="many" name="id" value=(reminder.id) aria-label=(m.say(t::TICK, &[("what", &reminder.message)]));
                }
            } @else { span {} }
            a.what href=(v.href(&format!("/reminders/{}", reminder.id))) { (reminder.message) }
            p.sub {
                (parts::state(&shape))
                // Once is when it is due, which stands beside.
                @if !reminder.schedule.is_once() || reminder.next_run_at.is_none() { " · " (m.schedule(reminder)) }
                @if let Some(event) = &reminder.event { " · " a href=(super::events::of_event(&event.key)) { (event.key) } }
                @if asked.everybody { " · " (reminder.user) }
                @for tag in reminder.tags.iter() { " " a href=(Asked { tag: tag.clone(), cursor: None, ..asked.clone() }.href(v)) { "#" (tag) } }
            }
            span.when { @if let Some(at) = reminder.next_run_at { (parts::with_zone(m, at, &reminder.timezone)) } @else { "–" } }
            @if v.may(Scope::Write) { (fold(v, reminder)) }
        }
    }
}

/// Whether it may still be due: then it can be changed.
fn is_open(reminder: &Reminder<'_>) -> bool {
    reminder.status == ReminderStatus::Active || reminder.status == ReminderStatus::Paused
}

/// Whether its last run did not arrive and can be sent again.
fn has_failed(reminder: &Reminder<'_>) -> bool {
    let is_going_on = reminder.status == ReminderStatus::Active || reminder.status == ReminderStatus::Completed;
    is_going_on && reminder.last_status.as_ref().is_some_and(|last| *last == StateKind::Failed)
}

/// What can be done to a reminder, where it stands in a list. It is fetched when somebody unfolds it; without script its page has the same.
fn fold(v: &Viewer, reminder: &Reminder<'_>) -> Markup {
    let m = &v.m;
    if !is_open(reminder) {
        // Of what is over there is nothing to edit: what can be done to it is one press.
        let verb = match reminder.status == ReminderStatus::Cancelled {
            true => Some(("undo", t::BRING_BACK)),
            false => Some(("resend", t::RESEND)).filter(|_| has_failed(reminder)),
        };
        let Some((verb, word)) = verb else { return html! {} };
        let inside = html! {
            input type="hidden" name="back" value=(v.here);
            button.link type="submit" aria-label=(format!("{}: {}", m.t(word), reminder.message)) { (m.t(word)) }
        };
        return html! { span.do { (parts::form(v, &format!("/reminders/{}/{verb}", reminder.id), inside)) } };
    }
    let from = format!("/reminders/{}/tools?back={}", reminder.id, utf8_percent_encode(&v.here, NON_ALPHANUMERIC));
    html! {
        details.do id=(format!("do-{}", reminder.id)) {
            summary aria-label=(format!("{}: {}", m.t(t::EDIT), reminder.message)) { (m.t(t::EDIT)) }
            div data-from=(v.href(&from)) { a.button href=(v.href(&format!("/reminders/{}", reminder.id))) { (m.t(t::EDIT)) } }
        }
    }
}

async fn tools(mut v: Viewer, Path(id): Path<String>, RawQuery(query): RawQuery) -> Result<Markup, Trouble> {
    let reminder = v.client.reminder(&id, &v.anybody()).await?;
    if let Some(back) = query_value(query.as_deref().unwrap_or_default(), "back") {
        v.here = back;
    }
    Ok(html! { div { (edit(&v, &reminder, None)) (buttons(&v, &reminder)) } })
}

/// The message and the time, to be changed in words.
pub(super) fn edit(v: &Viewer, reminder: &Reminder<'_>, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("edit", refusal).about(&reminder.id);
    if !is_open(reminder) {
        return html! {};
    }
    let priorities = ["low", "normal", "high", "critical"].map(|word| (word, parts::priority(m, &Priority::new(word))));
    parts::form(
        v,
        &format!("/reminders/{}/edit", reminder.id),
        html! {
            input type="hidden" name="back" value=(tried.value("back", &v.here));
            (parts::seen(Some(&seen(reminder))))
            (tried.alert(m, &["message", "when", "priority", "timezone"]))
            div.fields {
                (tried.field(&Field { name: "message", label: &m.t(t::WHAT), value: &reminder.message, is_required: true, ..Field::default() }))
                (tried.field(&Field { name: "when", label: &m.t(t::WHEN), now: Some(&reminder.summary), example: Some(&reminder.summary), hint: Some(&m.t(t::WHEN_HINT)), ..Field::default() }))
                (tried.select("priority", &m.t(te::PRIORITY), reminder.priority.as_str(), &priorities, None))
                (tried.field(&Field { name: "timezone", label: &m.t(te::ZONE), value: &reminder.timezone, is_required: true, ..Field::default() }))
            }
            div.buttons { button.main type="submit" { (m.t(t::SAVE)) } }
        },
    )
}

/// What the form to edit shows of a reminder. Its version would be another after every run, and a run changes nothing of this.
pub(super) fn seen(reminder: &Reminder<'_>) -> String {
    let (priority, zone) = (reminder.priority.as_str(), &reminder.timezone);
    let shown = format!("{}\n{}\n{zone}\n{priority}", reminder.message, reminder.schedule.0);
    BASE64_URL_SAFE_NO_PAD.encode(&Sha256::digest(shown)[..12])
}

/// What can be done to a reminder with one press: one form, whose buttons say where it goes.
pub(super) fn buttons(v: &Viewer, reminder: &Reminder<'_>) -> Markup {
    let m = &v.m;
    let to = |verb: &str| format!("/reminders/{}/{verb}", reminder.id);
    let (is_active, is_paused) = (reminder.status == ReminderStatus::Active, reminder.status == ReminderStatus::Paused);
    let (is_cancelled, has_failed) = (reminder.status == ReminderStatus::Cancelled, has_failed(reminder));
    let next = reminder.next_run_at.filter(|_| is_active && !reminder.schedule.is_once());
    if !is_active && !is_paused && !is_cancelled && !has_failed {
        return html! {};
    }
    let button = |verb: &str, class: &str, text: Text| {
        html! { button.(class) type="submit" formaction=(to(verb)) { (m.t(text)) } }
    };
    let inside = html! {
        input type="hidden" name="back" value=(v.here);
        @if is_active { input type="hidden" name="minutes" value="60"; }
        @if let Some(next) = next { input type="hidden" name="next" value=(next); }
        @if has_failed { (button("resend", "", t::RESEND)) }
        @if next.is_some() { (button("skip", "", t::SKIP)) }
        @if is_active { (button("snooze", "", t::SNOOZE)) (button("pause", "", t::PAUSE)) (button("fire", "", t::FIRE)) }
        @if is_paused { (button("resume", "", t::RESUME)) }
        @if is_active || is_paused { (button("cancel", "quiet danger", t::CANCEL)) }
        @if is_cancelled { (button("undo", "", t::BRING_BACK)) }
    };
    html! { div.buttons { (parts::form(v, &to("pause"), inside)) } }
}

/// What can be done to all that are ticked.
fn many(v: &Viewer) -> Markup {
    let m = &v.m;
    html! {
        div.many data-of="id" {
            form #many method="post" action="/reminders/many" data-swap {
                input type="hidden" name="form" value=(v.form_token());
                input type="hidden" name="back" value=(v.here);
                div.buttons {
                    label { input type="checkbox" data-all="id" aria-label=(m.t(t::TICK_ALL)); " " span data-count { } " " (m.t(t::CHOSEN)) }
                    @for (verb, word) in [("pause", t::PAUSE), ("resume", t::RESUME), ("skip", t::SKIP), ("snooze", t::SNOOZE), ("cancel", t::CANCEL)] {
                        button type="submit" name="verb" value=(verb) { (m.t(word)) }
                    }
                }
            }
        }
    }
}

fn teach(v: &Viewer) -> Markup {
    let m = &v.m;
    parts::empty(Empty {
        title: &m.t(t::EMPTY_TITLE),
        what_for: &m.t(t::EMPTY),
        example: super::today::to_try(v, &m.t(t::EXAMPLE)),
    })
}
