//! All events, and a new one.

use axum::response::{IntoResponse, Response};
use futures_util::future::join;
use maud::{Markup, html};
use punctual_client::known::default_offsets_at;
use punctual_client::wire::{Event, EventInput, EventQuery, Scope as EventScope, ScopeQuery};

use super::offsets::{filled, nearest, read, say_all};
use super::{instant_of, local_field, of_event, tabs};
use crate::flash::Flash;
use crate::layout::Place;
use crate::parts::{self, Empty, Field, Filled, Refusal, Tried};
use crate::texts::{events as t, forms};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer};

/// How many events stand on a page.
const PAGE: usize = 50;
/// How many scopes are looked at to say what an event inherits.
const SCOPES: usize = 500;

pub(super) async fn show(v: Viewer) -> Result<Response, Trouble> {
    render(&v, None).await
}

/// Writes a new event.
pub(super) async fn create(Posted { viewer: mut v, form }: Posted<Filled>) -> Result<Response, Trouble> {
    v.here = "/events".into();
    let key = form.get("key").unwrap_or_default();
    let list = |names: Vec<String>| Some(names).filter(|names| !names.is_empty());
    let input = EventInput {
        starts_at: form.get("starts_at").map(|at| instant_of(at, v.m.zone.rules())),
        scope: form.owned("scope"),
        offsets: Some(filled(&form, "offsets")).filter(|offsets| !offsets.is_empty()),
        users: list(form.words("users")),
        groups: list(form.words("groups")),
        message: form.owned("message"),
        timezone: form.owned("timezone"),
        rrule: form.owned("rrule"),
        ..EventInput::default()
    };
    let refusal = match v.client.if_seen(None)?.put_event(key, &input).await {
        Ok(event) => {
            return Ok(Flash::done(v.m.say(t::CREATED, &[("name", &event.key)])).then(&of_event(&event.key)));
        }
        Err(failure) if failure.is_overtaken() => Refusal::at("new", &form, "key", v.m.t(t::TAKEN)),
        Err(failure) => Refusal::of(&v.m, "new", &form, failure)?,
    };
    Ok((refusal.status(), render(&v, Some(&refusal)).await?).into_response())
}

async fn render(v: &Viewer, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let m = &v.m;
    let asked = |name: &str| parts::asked(v, name);
    let query = EventQuery {
        scope: asked("scope"),
        user: asked("person"),
        from: asked("from"),
        to: asked("to"),
        limit: Some(PAGE),
        cursor: asked("cursor"),
    };
    let scopes = ScopeQuery { limit: Some(SCOPES), ..ScopeQuery::default() };
    let (events, scopes) = join(v.client.events(&query), v.client.scopes(&scopes)).await;
    let (filter, events, next) = match events {
        Ok(page) => (None, page.events, page.next_cursor),
        // A filter that cannot be read is said at its field.
        Err(failure) => (Some(Refusal::of(&v.m, "filter", &Filled::default(), failure)?), Vec::new(), None),
    };
    let scopes = scopes?.scopes;
    let filters = [
        ("scope", query.scope.as_deref()),
        ("person", query.user.as_deref()),
        ("from", query.from.as_deref()),
        ("to", query.to.as_deref()),
    ];
    let filters = filters.map(|(name, value)| (name, value.unwrap_or_default()));
    let is_filtered = filters.iter().any(|(_, value)| !value.is_empty());
    let is_empty = events.is_empty() && !is_filtered && query.cursor.is_none();
    let may_write = v.may(Scope::Write) && !v.caller.is_bound;
    let new = new_event(v, is_empty, refusal);
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::INTRO)) }
        (tabs(m, "/events"))
        @if is_empty {
            (parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example: if may_write { new } else { html! {} } }))
        } @else {
            div.folds {
                @if may_write { (parts::unfold("new", &m.t(t::NEW), Tried::of("new", refusal).is_refused(), &new)) }
                (filter_form(v, &filters, is_filtered, filter.as_ref()))
            }
            div #found data-found data-live="event. scope." {
                @if events.is_empty() { p { (m.t(t::NONE_FOUND)) } }
                ul.rows { @for event in &events { (row(v, event, &scopes)) } }
                (parts::more(m, "/events", &filters, query.cursor.as_deref(), next.as_deref()))
            }
        }
    };
    Ok(v.page(Place::Events, &m.t(t::TITLE), &main))
}

fn filter_form(v: &Viewer, filters: &[(&str, &str); 4], is_filtered: bool, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("filter", refusal);
    let labels = [t::SCOPE, t::USER, t::FROM, t::TO];
    let inside = html! {
        form method="get" action="/events" data-swap data-as-you-type role="search" {
            (tried.alert(m, &["scope", "from", "to"]))
            div.fields {
                @for ((name, value), label) in filters.iter().zip(labels) {
                    (tried.field(&Field { name, label: &m.t(label), value, kind: if matches!(*name, "from" | "to") { "date" } else { "text" }, ..Field::default() }))
                }
            }
            div.buttons { button type="submit" { (m.t(forms::FILTER)) } @if is_filtered { a.button.quiet href="/events" { (m.t(forms::SHOW_ALL)) } } }
        }
    };
    parts::unfold("filter", &m.t(forms::FILTER), is_filtered, &inside)
}

fn row(v: &Viewer, event: &Event, scopes: &[EventScope]) -> Markup {
    let m = &v.m;
    let next = event.next.first().copied().unwrap_or(event.starts_at);
    // A series that has no next start is over.
    let is_over = next < m.now && event.next.is_empty();
    let inherited = event.scope.as_deref().and_then(|path| nearest(path, scopes));
    let offsets = match (&event.offsets, inherited) {
        (Some(own), _) => say_all(m, &read(own)),
        (None, Some(scope)) => say_all(m, &read(&scope.offsets)),
        (None, None) => say_all(m, event.scope.as_deref().map(default_offsets_at).unwrap_or_default()),
    };
    let n = event.users.len() as u64;
    html! {
        li {
            span.dot aria-hidden="true" { @if is_over { "–" } @else if event.rrule.is_some() { "↻" } @else { "○" } }
            a.what href=(of_event(&event.key)) { (event.name.as_deref().unwrap_or(&event.key)) @if let Some(scope) = &event.scope { small { (scope) } } }
            span.when { @match &event.timezone { Some(zone) => (parts::with_zone(m, next, zone)), None => (parts::instant(m, next)) } }
            p.sub { (offsets) @if event.offsets.is_none() && let Some(scope) = inherited { " · " (m.say(t::FROM_SCOPE, &[("path", &scope.path)])) } }
            span.do {
                @if n > 0 { (m.say(t::N_PEOPLE, &[("n", &m.number(n))])) }
                @for group in &event.groups { " " (group) }
                @if next > m.now { " · " (m.relative(next)) }
            }
        }
    }
}

/// The form for a new event. On an empty page it is filled in with an example that works.
fn new_event(v: &Viewer, is_example: bool, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("new", refusal);
    let example = |text: String| if is_example { text } else { String::new() };
    let key = example(m.t(t::KEY_EXAMPLE).into_owned());
    let message = example(m.t(t::MESSAGE_EXAMPLE).into_owned());
    let starts = m.now + jiff::SignedDuration::from_hours(24);
    let starts =
        m.local(starts).with().minute(0).second(0).subsec_nanosecond(0).build().map_or(starts, |at| at.timestamp());
    let zone = m.say(t::IN_ZONE, &[("zone", m.zone.name())]);
    parts::form(
        v,
        "/events",
        html! {
            (tried.alert(m, &["key", "starts_at", "offsets", "scope", "users", "groups", "message", "rrule"]))
            div.fields {
                (tried.field(&Field { name: "key", label: &m.t(t::KEY), value: &key, hint: Some(&m.t(t::KEY_HINT)), is_required: true, ..Field::default() }))
                (tried.field(&Field { name: "starts_at", label: &m.t(t::STARTS), value: &local_field(starts, m.zone.rules()), hint: Some(&zone), kind: "datetime-local", is_required: true, ..Field::default() }))
                (tried.field(&Field { name: "offsets", label: &m.t(t::OFFSETS_FIELD), value: if is_example { "60, 15" } else { "" }, example: Some("60, 15"), hint: Some(&m.t(t::OFFSETS_HINT_NEW)), ..Field::default() }))
                (tried.field(&Field { name: "users", label: &m.t(t::PEOPLE), value: &v.person, hint: Some(&m.t(t::PEOPLE_HINT)), ..Field::default() }))
                (tried.field(&Field { name: "scope", label: &m.t(t::SCOPE), hint: Some(&m.t(t::SCOPE_HINT)), ..Field::default() }))
                (tried.field(&Field { name: "rrule", label: &m.t(t::REPEATS), hint: Some(&m.t(t::REPEATS_HINT)), ..Field::default() }))
            }
            div.fields { (tried.field(&Field { name: "message", label: &m.t(t::MESSAGE), value: &message, hint: Some(&m.t(t::MESSAGE_HINT)), is_required: true, ..Field::default() })) }
            input type="hidden" name="timezone" value=(m.zone.name());
            div.buttons { button.main type="submit" { (m.t(forms::CREATE)) } }
        },
    )
}
