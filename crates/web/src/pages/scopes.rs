//! Scopes: who inherits what, before and after a change.

/// What a change does to the events below it.
mod effect;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::future::join;
use maud::{Markup, html};
use punctual_client::escaped;
use punctual_client::known::default_offsets_at;
use punctual_client::wire::{Event, EventQuery, OffsetInput, Scope as EventScope, ScopeInput, ScopeQuery};

use self::effect::{Effect, Wish, effects};
use super::events::offsets::{self, field, filled, nearest, say_all, with_ancestors};
use super::events::{of_event, tabs};
use crate::Web;
use crate::flash::Flash;
use crate::layout::Place;
use crate::manner::Manner;
use crate::parts::{self, Empty, Field, Filled, Refusal, Tried};
use crate::texts::{events as te, forms, reminders, scopes as t};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer, found};

/// How many scopes and events are looked at.
const LOOKED_AT: usize = 500;
/// How many events a table or a list shows: a page with a preview has both, and stays small.
const SHOWN: usize = 40;
/// How many paths of a tree are drawn where it is all there is, and beside other things.
const NODES: usize = 100;
const NODES_BESIDE: usize = 40;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/scopes", get(show).post(change))
}

/// The page of a scope. A path may have any letters, so it stands in the query.
pub(super) fn of_scope(path: &str) -> String {
    format!("/scopes?at={}", escaped(path))
}

async fn show(v: Viewer) -> Result<Response, Trouble> {
    render(&v, None).await
}

/// All that is looked at: the scopes, and the events at a path or below it.
struct Known {
    scopes: Vec<EventScope>,
    events: Vec<Event>,
    has_more_scopes: bool,
    has_more_events: bool,
}

async fn load(v: &Viewer, at: Option<&str>) -> Result<Known, Trouble> {
    let root = at.and_then(|at| at.split('/').next()).map(str::to_owned);
    let scopes = ScopeQuery { under: root, limit: Some(LOOKED_AT), cursor: None };
    let events = EventQuery { scope: at.map(str::to_owned), limit: Some(LOOKED_AT), ..EventQuery::default() };
    let (scopes, events) = join(v.client.scopes(&scopes), v.client.events(&events)).await;
    let (scopes, events) = (scopes?, events?);
    Ok(Known {
        has_more_scopes: scopes.next_cursor.is_some(),
        has_more_events: events.next_cursor.is_some(),
        scopes: scopes.scopes,
        events: events.events,
    })
}

async fn render(v: &Viewer, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let m = &v.m;
    let at = parts::asked(v, "at");
    // The version is older than all that is shown beside it, so a change that comes between is noticed.
    let tag = match &at {
        Some(path) => found(v.client.see_scope(path).await)?.map(|scope| scope.tag),
        None => None,
    };
    let known = load(v, at.as_deref()).await?;
    let (title, main) = match &at {
        None => (m.t(t::TITLE).into_owned(), tree_page(v, &known)),
        Some(path) => (path.clone(), scope_page(v, path, &known, tag.as_deref(), refusal)),
    };
    Ok(v.page(Place::Events, &title, &main))
}

fn tree_page(v: &Viewer, known: &Known) -> Markup {
    let m = &v.m;
    let tree = Tree::of(known);
    let open = |value: &str| {
        html! {
            form method="get" action="/scopes" data-swap {
                div.line {
                    (Tried::of("open", None).field(&Field { name: "at", label: &m.t(t::PATH), value, hint: Some(&m.t(t::PATH_HINT)), is_required: true, ..Field::default() }))
                    button type="submit" { (m.t(t::OPEN)) }
                }
            }
        }
    };
    html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::INTRO)) }
        (tabs(m, "/scopes"))
        @if tree.0.is_empty() {
            (parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example: if v.may(Scope::Write) { open("club:1") } else { html! {} } }))
        } @else {
            @if v.may(Scope::Write) { (parts::unfold("new", &m.t(t::NEW), false, &open(""))) }
            @if known.has_more_scopes { p.hint { (m.say(t::MORE_THAN, &[("n", &m.number(LOOKED_AT as u64))])) } }
            div #tree data-live="scope. event." { (tree.page(v, known, None, NODES)) }
        }
    }
}

/// The paths there are: of scopes, of events, and those above them, each with what stands below it.
struct Tree(BTreeMap<Option<String>, BTreeSet<String>>);

impl Tree {
    fn of(known: &Known) -> Self {
        let mut below: BTreeMap<Option<String>, BTreeSet<String>> = BTreeMap::new();
        let paths = known
            .scopes
            .iter()
            .map(|scope| scope.path.as_str())
            .chain(known.events.iter().filter_map(|event| event.scope.as_deref()));
        for path in paths.flat_map(with_ancestors) {
            let above = path.rsplit_once('/').map(|(above, _)| above.to_owned());
            below.entry(above).or_default().insert(path.to_owned());
        }
        Self(below)
    }

    fn below(&self, above: Option<&str>) -> impl Iterator<Item = &str> {
        self.0.get(&above.map(str::to_owned)).into_iter().flatten().map(String::as_str)
    }

    /// A page of what stands below `above`, and the way to the rest.
    fn page(&self, v: &Viewer, known: &Known, above: Option<&str>, n: usize) -> Markup {
        let m = &v.m;
        let from = parts::asked(v, "from").and_then(|from| from.parse().ok()).unwrap_or(0);
        let drawn = self.nearest(above, from, n);
        let (all, here) = (self.below(above).count(), self.below(above).filter(|path| drawn.contains(path)).count());
        let next = from + here;
        let on = above.map_or_else(|| "/scopes?".to_owned(), |above| format!("{}&", of_scope(above)));
        html! {
            @if here < all { p.hint { (m.say(te::SHOWN_OF, &[("n", &m.number(here as u64)), ("all", &m.number(all as u64))])) } }
            (self.draw(m, known, above, &drawn))
            @if next < all { p { a.button href=(format!("{on}from={next}")) { (m.t(reminders::MORE)) } } }
        }
    }

    /// The paths below `above` that are drawn: level by level, until a page has `n`. The first `from` of the first level are left out.
    fn nearest(&self, above: Option<&str>, from: usize, n: usize) -> BTreeSet<&str> {
        let mut drawn = BTreeSet::new();
        let mut level: VecDeque<&str> = self.below(above).skip(from).collect();
        while let Some(path) = level.pop_front().filter(|_| drawn.len() < n) {
            drawn.insert(path);
            level.extend(self.below(Some(path)));
        }
        drawn
    }

    /// What is drawn below `above`, as lists in lists.
    fn draw(&self, m: &Manner, known: &Known, above: Option<&str>, drawn: &BTreeSet<&str>) -> Markup {
        let paths: Vec<&str> = self.below(above).filter(|path| drawn.contains(path)).collect();
        if paths.is_empty() {
            return html! {};
        }
        html! {
            ul.tree {
                @for path in paths {
                    li {
                        div.node {
                            a.what href=(of_scope(path)) { (path.rsplit('/').next().unwrap_or(path)) }
                            (says(m, path, &known.scopes))
                            @let n = known.events.iter().filter(|event| event.scope.as_deref() == Some(path)).count();
                            @if n > 0 { small { (m.say(t::N_EVENTS, &[("n", &m.number(n as u64))])) } }
                            @let n_more = self.below(Some(path)).filter(|path| !drawn.contains(path)).count();
                            @if n_more > 0 { a href=(of_scope(path)) { (m.say(t::N_MORE, &[("n", &m.number(n_more as u64))])) } }
                        }
                        (self.draw(m, known, Some(path), drawn))
                    }
                }
            }
        }
    }
}

/// What a path says, or what it has from above.
fn says(m: &Manner, path: &str, scopes: &[EventScope]) -> Markup {
    html! {
        @match nearest(path, scopes) {
            Some(scope) if scope.path == path => { span.own { "● " (say_all(m, &offsets::read(&scope.offsets))) } }
            Some(scope) => { span.inherited { "↳ " (say_all(m, &offsets::read(&scope.offsets))) " " small { (m.say(t::INHERITED, &[("path", &scope.path)])) } } }
            None if !default_offsets_at(path).is_empty() => { span.inherited { "○ " (say_all(m, default_offsets_at(path))) " " small { (m.t(te::FROM_DEFAULT)) } } }
            None => { span.inherited { "○ " (m.t(t::NOTHING)) } }
        }
    }
}

fn scope_page(v: &Viewer, path: &str, known: &Known, tag: Option<&str>, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let own = known.scopes.iter().find(|scope| scope.path == path);
    let tried = Tried::of("scope", refusal);
    let asked = parts::asked(v, "offsets");
    let is_removal = parts::asked(v, "remove").is_some();
    let is_preview = is_removal || parts::asked(v, "preview").is_some();
    let value = asked.unwrap_or_else(|| {
        if is_preview {
            String::new()
        } else {
            own.map(|scope| field(&offsets::read(&scope.offsets))).unwrap_or_default()
        }
    });
    let above: Vec<&str> = with_ancestors(path).skip(1).collect();
    html! {
        p.crumb {
            a href="/scopes" { (m.t(t::TITLE)) }
            @for path in above.iter().rev() { " / " a href=(of_scope(path)) { (path.rsplit('/').next().unwrap_or(path)) } }
        }
        h1 { (path) }
        p.sub { (says(m, path, &known.scopes)) }
        @if v.may(Scope::Write) {
            section aria-labelledby="edit" {
                h2 #edit { (m.t(t::EDIT)) }
                form method="get" action="/scopes" data-swap {
                    (tried.alert(m, &["offsets"]))
                    input type="hidden" name="at" value=(path);
                    input type="hidden" name="preview" value="1";
                    div.fields { (tried.field(&Field { name: "offsets", label: &m.t(te::OFFSETS_FIELD), value: &value, example: Some("60, 15"), hint: Some(&m.t(t::OFFSETS_HINT)), ..Field::default() })) }
                    div.buttons {
                        button.main type="submit" { (m.t(t::PREVIEW)) }
                        @if own.is_some() { button.quiet type="submit" name="remove" value="1" { (m.t(t::PREVIEW_REMOVE)) } }
                    }
                }
            }
            @if is_preview { (preview(v, path, known, tag, &value, is_removal)) }
        }
        (depending(v, path, known))
        @let tree = Tree::of(known);
        @if tree.0.contains_key(&Some(path.to_owned())) {
            section aria-labelledby="below" { h2 #below { (m.t(t::BELOW)) } (tree.page(v, known, Some(path), NODES_BESIDE)) }
        }
    }
}

/// What would change, and the form that changes it.
fn preview(v: &Viewer, path: &str, known: &Known, tag: Option<&str>, value: &str, is_removal: bool) -> Markup {
    let m = &v.m;
    let wish = match is_removal {
        true => Wish::Removed,
        false => match read_field(value) {
            Ok(offsets) => Wish::Says(offsets),
            Err(problem) => return html! { p.problem role="alert" { (problem) } },
        },
    };
    let effects = effects(path, &wish, &known.scopes, &known.events);
    html! {
        section.card #preview aria-labelledby="changes" {
            h2 #changes { (m.t(t::CHANGES)) }
            p role="status" {
                @if effects.is_empty() { (m.t(t::NOTHING_CHANGES)) } @else { (m.say(t::N_CHANGE, &[("n", &m.number(effects.len() as u64))])) }
                @if known.has_more_events { " " (m.say(t::ONLY_FIRST, &[("n", &m.number(LOOKED_AT as u64))])) }
            }
            @if !effects.is_empty() { (effects_table(v, path, &effects)) }
            (parts::form(v, &of_scope(path), html! {
                input type="hidden" name="path" value=(path);
                (parts::seen(tag))
                input type="hidden" name="offsets" value=(value);
                div.buttons {
                    @if is_removal { button.danger type="submit" name="remove" value="1" { (m.t(t::REMOVE)) } }
                    @else { button.main type="submit" { (m.t(t::SAVE)) } }
                    a.button.quiet href=(of_scope(path)) { (m.t(forms::KEEP)) }
                }
            }))
        }
    }
}

fn effects_table(v: &Viewer, path: &str, effects: &[Effect<'_>]) -> Markup {
    let m = &v.m;
    let said = |offsets: &Option<Vec<punctual_client::known::Offset>>| match offsets {
        Some(offsets) => say_all(m, offsets),
        None => m.t(t::NOBODY).into_owned(),
    };
    html! {
        (shown_of(m, path, effects.len()))
        div.table tabindex="0" role="group" aria-labelledby="changes" {
            table {
                thead { tr { th scope="col" { (m.t(t::EVENT)) } th scope="col" { (m.t(t::NEXT_START)) } th scope="col" { (m.t(t::BEFORE)) } th scope="col" { (m.t(t::AFTER)) } } }
                tbody {
                    @for effect in effects.iter().take(SHOWN) {
                        tr {
                            th scope="row" { a href=(of_event(&effect.event.key)) { (effect.event.key) } }
                            td { (parts::instant(m, effect.event.next.first().copied().unwrap_or(effect.event.starts_at))) }
                            td { (said(&effect.before)) }
                            td { b { (said(&effect.after)) } }
                        }
                    }
                }
            }
        }
    }
}

/// How many of the events below a path are shown, and the way to all of them.
fn shown_of(m: &Manner, path: &str, n: usize) -> Markup {
    if n <= SHOWN {
        return html! {};
    }
    html! {
        p.hint {
            (m.say(te::SHOWN_OF, &[("n", &m.number(SHOWN as u64)), ("all", &m.number(n as u64))])) " "
            a href=(format!("/events?scope={}", escaped(path))) { (m.t(forms::SHOW_ALL)) }
        }
    }
}

/// The events that have their offsets from here.
fn depending(v: &Viewer, path: &str, known: &Known) -> Markup {
    let m = &v.m;
    let inherits = |event: &&Event| {
        event.offsets.is_none()
            && event
                .scope
                .as_deref()
                .and_then(|scope| nearest(scope, &known.scopes))
                .is_some_and(|scope| scope.path == path)
    };
    let events: Vec<&Event> = known.events.iter().filter(inherits).collect();
    html! {
        section aria-labelledby="depend" {
            h2 #depend { (m.t(t::DEPEND)) }
            @if events.is_empty() { p { (m.t(t::DEPEND_NONE)) } }
            (shown_of(m, path, events.len()))
            ul.rows {
                @for event in events.iter().take(SHOWN) {
                    @let next = event.next.first().copied().unwrap_or(event.starts_at);
                    li {
                        span.dot aria-hidden="true" { "○" }
                        a.what href=(of_event(&event.key)) { (event.key) @if let Some(scope) = &event.scope { small { (scope) } } }
                        span.when { (parts::instant(m, next)) }
                    }
                }
            }
        }
    }
}

/// The offsets of a field, as the API will read them.
fn read_field(value: &str) -> Result<Vec<punctual_client::known::Offset>, String> {
    let form: Filled =
        serde_urlencoded::from_str(&serde_urlencoded::to_string([("offsets", value)]).unwrap_or_default())
            .unwrap_or_default();
    let read = |OffsetInput(value): OffsetInput| punctual_client::known::Offset::read(&value);
    let mut all = filled(&form, "offsets").into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    all.sort_by_key(|offset| (offset.of, -offset.before_seconds));
    all.dedup();
    Ok(all)
}

async fn change(Posted { viewer: mut v, form }: Posted<Filled>) -> Result<Response, Trouble> {
    let path = form.owned("path").unwrap_or_default();
    v.here = of_scope(&path);
    let client = form.as_seen(&v.client)?;
    let done = if form.is_ticked("remove") {
        client.delete_scope(&path).await.map(|()| v.m.say(t::REMOVED, &[("path", &path)]))
    } else {
        let input = ScopeInput { offsets: Some(filled(&form, "offsets")) };
        let put = client.put_scope(&path, &input).await;
        put.map(|scope| v.m.say(t::SAVED, &[("n", &v.m.number(scope.replanned.unwrap_or(0)))]))
    };
    match done {
        Ok(said) => Ok(Flash::done(said).then(&v.here)),
        Err(failure) => {
            let refusal = Refusal::of(&v.m, "scope", &form, failure)?;
            Ok((refusal.status(), render(&v, Some(&refusal)).await?).into_response())
        }
    }
}
