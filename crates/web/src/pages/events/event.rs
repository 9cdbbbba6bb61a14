//! One event, as it is.

use axum::extract::Path;
use axum::response::Response;
use futures_util::future::{join, join_all};
use jiff::Timestamp;
use maud::{Markup, html};
use punctual_client::Seen;
use punctual_client::known::{Offset, default_offsets_at};
use punctual_client::wire::{Event, Instance, Planned, Scope as EventScope};
use punctual_time::zone::Zone;

use super::offsets::{field, nearest, read, say, say_all, with_ancestors};
use super::{local_field, of_event};
use crate::layout::Place;
use crate::parts::{self, Field, Refusal, Tried};
use crate::texts::{Text, events as t, forms};
use crate::trouble::Trouble;
use crate::viewer::{Scope, Viewer};

/// How many reminders are shown.
const REMINDERS_SHOWN: usize = 100;
const NAMES_SHOWN: usize = 30;
const CHANGED_SHOWN: usize = 50;

/// An event, with the scopes above it.
pub(super) struct Shown {
    pub(super) event: Event,
    /// Its version.
    tag: String,
    pub(super) scopes: Vec<EventScope>,
    /// The zone in which its local times are shown and written.
    pub(super) zone: Zone,
    server_zone: Zone,
}

impl Shown {
    /// Its offsets, and the scope that says them where it does not.
    fn offsets(&self) -> (Vec<Offset>, Option<&EventScope>) {
        if let Some(own) = &self.event.offsets {
            return (read(own), None);
        }
        let scope = self.event.scope.as_deref().and_then(|path| nearest(path, &self.scopes));
        let default = || self.event.scope.as_deref().map(default_offsets_at).unwrap_or_default().to_vec();
        (scope.map_or_else(default, |scope| read(&scope.offsets)), scope)
    }

    /// When it starts next, and ends.
    fn next(&self) -> (Timestamp, Option<Timestamp>) {
        let starts = self.event.next.first().copied().unwrap_or(self.event.starts_at);
        let ends = self.event.ends_at.map(|ends| starts + ends.duration_since(self.event.starts_at));
        (starts, ends)
    }

    /// The name of the instance that starts then: its original local start.
    fn instance_at(&self, starts: Timestamp) -> String {
        let moved = self.event.instances.iter().find(|instance| instance.starts_at == Some(starts));
        let zone = self
            .event
            .timezone
            .as_deref()
            .and_then(|zone| Zone::named(zone).ok())
            .unwrap_or_else(|| self.server_zone.clone());
        moved.map_or_else(
            || zone.rules().to_datetime(starts).strftime("%Y%m%dT%H%M%S").to_string(),
            |instance| instance.at.clone(),
        )
    }
}

pub(super) async fn show(v: Viewer, Path(key): Path<String>) -> Result<Response, Trouble> {
    render(&v, &key, None).await
}

/// The page, also for a form of it that was refused.
pub(super) async fn render(v: &Viewer, key: &str, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let shown = load(v, key).await?;
    let moves_to = parts::asked(v, "starts_at");
    Ok(v.page(Place::Events, key, &page(v, &shown, moves_to.as_deref(), refusal)))
}

pub(super) async fn load(v: &Viewer, key: &str) -> Result<Shown, Trouble> {
    let (event, settings) = join(v.client.see_event(key), v.client.settings()).await;
    let (Seen { it: event, tag }, settings) = (event?, settings?);
    let paths: Vec<&str> =
        event.scope.as_deref().filter(|_| event.offsets.is_none()).into_iter().flat_map(with_ancestors).collect();
    let scopes = join_all(paths.iter().map(|path| v.client.scope(path))).await;
    let scopes = scopes.into_iter().filter_map(Result::ok).collect();
    let server_zone = Zone::named(&settings.timezone).unwrap_or_else(|_| Zone::utc());
    let zone = event.timezone.as_deref().and_then(|zone| Zone::named(zone).ok()).unwrap_or_else(|| v.m.zone.clone());
    Ok(Shown { event, tag, scopes, zone, server_zone })
}

fn page(v: &Viewer, shown: &Shown, moves_to: Option<&str>, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let event = &shown.event;
    let may_write = v.may(Scope::Write) && event.source.is_none();
    let (starts, _) = shown.next();
    html! {
        p.crumb { a href="/events" { (m.t(t::TITLE)) } }
        h1 { (event.name.as_deref().unwrap_or(&event.key)) }
        p.sub {
            (parts::with_zone(m, starts, shown.zone.name())) " · " (m.relative(starts))
            @if let Some(scope) = &event.scope { " · " a href=(crate::pages::scopes::of_scope(scope)) { (scope) } }
        }
        @if let Some(source) = &event.source { p.card { (m.say(t::FROM_CALENDAR, &[("name", source)])) } }
        @if let Some(error) = &event.error { p.problem role="alert" { (error) } }
        @if event.planned == Some(false) { p.card #planned data-live="event." { (m.t(t::BEING_PLANNED)) } }
        @if may_write { (moving(v, shown, moves_to, refusal)) }
        (facts(v, shown))
        (offsets_section(v, shown))
        (reminders(v, event))
        @if event.rrule.is_some() { (series(v, shown, may_write, refusal)) }
        @if may_write {
            (parts::unfold("edit", &m.t(forms::EDIT), Tried::of("edit", refusal).is_refused(), &edit(v, shown, refusal)))
            div.buttons { a.button.quiet href=(format!("{}/delete", of_event(&event.key))) { (m.t(t::DELETE)) } }
        }
    }
}

fn form(v: &Viewer, shown: &Shown, what: &str, inside: &Markup) -> Markup {
    let inside = html! { input type="hidden" name="do" value=(what); (parts::seen(Some(&shown.tag))) (inside) };
    parts::form(v, &of_event(&shown.event.key), inside)
}

/// Another start: first what changes by it, then the change.
fn moving(v: &Viewer, shown: &Shown, moves_to: Option<&str>, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let event = &shown.event;
    let tried = Tried::of("move", refusal);
    let rules = shown.zone.rules();
    let now = local_field(event.starts_at, rules);
    let value = moves_to.unwrap_or(&now);
    let after: Option<Timestamp> = moves_to.and_then(|to| super::instant_of(to, rules).parse().ok());
    let zone = m.say(t::IN_ZONE, &[("zone", shown.zone.name())]);
    let inside = html! {
        form method="get" action=(of_event(&event.key)) data-swap {
            (tried.alert(m, &["starts_at", "ends_at"]))
            div.line {
                (tried.field(&Field { name: "starts_at", label: &m.t(t::MOVE_TO), value, hint: Some(&zone), kind: "datetime-local", is_required: true, ..Field::default() }))
                button type="submit" { (m.t(t::MOVE_PREVIEW)) }
            }
        }
        @if let Some(after) = after {
            (before_and_after(v, shown, after))
            (form(v, shown, "move", &html! {
                input type="hidden" name="starts_at" value=(value);
                div.buttons { button.main type="submit" { (m.t(t::MOVE)) } a.button.quiet href=(of_event(&event.key)) { (m.t(forms::KEEP)) } }
            }))
        }
    };
    parts::unfold("move", &m.t(t::MOVE), moves_to.is_some() || tried.is_refused(), &inside)
}

/// The instants of its start and offsets, before and after a move. A series moves by as much.
fn before_and_after(v: &Viewer, shown: &Shown, after: Timestamp) -> Markup {
    let m = &v.m;
    let (starts, ends) = shown.next();
    let by = after.duration_since(shown.event.starts_at);
    let moved = |at: Timestamp| at.checked_add(by).unwrap_or(at);
    let (offsets, _) = shown.offsets();
    let instant = |at: Option<Timestamp>, is_after: bool| match at {
        Some(at) if is_after && at < m.now => html! { (parts::instant(m, at)) " " small { (m.t(t::NOT_SENT_PAST)) } },
        Some(at) => parts::instant(m, at),
        None => html! { "–" },
    };
    html! {
        p { (m.t(t::NOT_YET)) }
        div.table tabindex="0" role="group" aria-label=(m.t(t::MOVE)) {
            table {
                thead { tr { th scope="col" { (m.t(t::OFFSET)) } th scope="col" { (m.t(t::BEFORE)) } th scope="col" { (m.t(t::AFTER)) } } }
                tbody {
                    tr { th scope="row" { (m.t(t::STARTS)) } td { (instant(Some(starts), false)) } td { (instant(Some(moved(starts)), false)) } }
                    @for offset in offsets {
                        tr {
                            th scope="row" { (say(m, offset)) }
                            td { (instant(offset.instant(starts, ends), false)) }
                            td { (instant(offset.instant(moved(starts), ends.map(moved)), true)) }
                        }
                    }
                }
            }
        }
    }
}

fn facts(v: &Viewer, shown: &Shown) -> Markup {
    let m = &v.m;
    let event = &shown.event;
    let zone = shown.zone.name();
    let names = |names: &[String], page: &dyn Fn(&str) -> String| {
        html! {
            @for (index, name) in names.iter().take(NAMES_SHOWN).enumerate() { @if index > 0 { " " } a href=(page(name)) { (name) } }
            @if names.len() > NAMES_SHOWN { " … (" (m.number(names.len() as u64)) ")" }
        }
    };
    html! {
        dl.facts {
            dt { (m.t(t::MESSAGE)) } dd { (event.message) }
            dt { (m.t(t::STARTS)) } dd { (parts::with_zone(m, event.starts_at, zone)) }
            @if let Some(ends) = event.ends_at { dt { (m.t(t::ENDS)) } dd { (parts::with_zone(m, ends, zone)) } }
            @if let Some(rule) = &event.rrule { dt { (m.t(t::REPEATS)) } dd.mono { (rule) } }
            @if !event.users.is_empty() { dt { (m.t(t::PEOPLE)) } dd { (names(&event.users, &|name| format!("/people/{}", punctual_client::escaped(name)))) } }
            @if !event.groups.is_empty() { dt { (m.t(t::GROUPS)) } dd { (names(&event.groups, &|name| format!("/groups/{}", punctual_client::escaped(name)))) } }
            @if !event.to.is_empty() { dt { (m.t(t::SENT_TO)) } dd { @for to in event.to.iter().take(NAMES_SHOWN) { span.mono { (to.channel) ":" (to.address) } " " } } }
            @if !event.tags.is_empty() { dt { (m.t(t::TAGS)) } dd { (event.tags.join(", ")) } }
            dt { (m.t(t::PRIORITY)) } dd { (parts::priority(m, &event.priority)) }
        }
    }
}

/// Each offset, its next instant, and where it is said.
fn offsets_section(v: &Viewer, shown: &Shown) -> Markup {
    let m = &v.m;
    let (offsets, scope) = shown.offsets();
    let (starts, ends) = shown.next();
    let is_nowhere = shown.event.offsets.is_none() && scope.is_none() && offsets.is_empty();
    html! {
        section {
            h2 #offsets { (m.t(t::OFFSETS)) }
            @if is_nowhere { p { (m.t(t::FROM_NOWHERE)) } }
            @else if offsets.is_empty() { p { (m.t(t::NEVER)) } }
            @if !offsets.is_empty() {
                div.table tabindex="0" role="group" aria-labelledby="offsets" {
                    table {
                        thead { tr { th scope="col" { (m.t(t::OFFSET)) } th scope="col" { (m.t(t::DUE)) } th scope="col" { (m.t(t::WHERE_FROM)) } } }
                        tbody {
                            @for offset in &offsets {
                                tr {
                                    th scope="row" { (say(m, *offset)) }
                                    td { @if let Some(at) = offset.instant(starts, ends) { (parts::instant(m, at)) } @else { "–" } }
                                    td {
                                        @match scope {
                                            Some(scope) => { a href=(crate::pages::scopes::of_scope(&scope.path)) { (m.say(t::FROM_SCOPE, &[("path", &scope.path)])) } }
                                            None if shown.event.offsets.is_none() => { (m.t(t::FROM_DEFAULT)) }
                                            None => { (m.t(t::FROM_OWN)) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn reminders(v: &Viewer, event: &Event) -> Markup {
    let m = &v.m;
    let all = event.reminders.as_deref().unwrap_or_default();
    let n = event.n_reminders.unwrap_or(all.len() as u64);
    // What comes is more wanted than what was: a long past is left out first.
    let first_to_come = all.iter().position(|planned| planned.due_at >= m.now).unwrap_or(all.len());
    let from = first_to_come.saturating_sub(REMINDERS_SHOWN / 2).min(all.len().saturating_sub(REMINDERS_SHOWN));
    let shown = all.iter().skip(from).take(REMINDERS_SHOWN);
    html! {
        section #reminders data-live="reminder. event." aria-labelledby="reminders-title" {
            h2 #reminders-title { (m.t(t::REMINDERS)) }
            @if all.is_empty() { p { (m.t(t::NO_REMINDERS)) } }
            @else {
                @if n > REMINDERS_SHOWN as u64 { p { (m.say(t::SHOWN_OF, &[("n", &m.number(REMINDERS_SHOWN as u64)), ("all", &m.number(n))])) } }
                ul.rows { @for planned in shown { (reminder(v, planned)) } }
            }
        }
    }
}

fn reminder(v: &Viewer, planned: &Planned) -> Markup {
    let m = &v.m;
    let shape = planned.state.as_ref().map(|state| parts::of_run(m, state));
    let seconds = planned.offset_minutes.as_f64().unwrap_or(0.0) * 60.0;
    let offset = Offset {
        of: if planned.of.as_deref() == Some("end") {
            punctual_client::known::EventEnd::End
        } else {
            punctual_client::known::EventEnd::Start
        },
        before_seconds: seconds as i64,
    };
    html! {
        li data-id=(planned.reminder_id) {
            span.dot.(shape.as_ref().map_or("", |shape| shape.class)) aria-hidden="true" { (shape.as_ref().map_or("·", |shape| shape.mark)) }
            a.what href=(format!("/reminders/{}", planned.reminder_id)) { (planned.user) small { (say(m, offset)) } }
            span.when { (parts::instant(m, planned.due_at)) @if planned.due_at > m.now { " · " (m.relative(planned.due_at)) } }
            span.do { @if let Some(shape) = &shape { (parts::state(shape)) } @else { (m.t(t::GONE_STATE)) } }
        }
    }
}

/// The next instances of a series, and those that are different.
fn series(v: &Viewer, shown: &Shown, may_write: bool, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let event = &shown.event;
    let tried = Tried::of("instance", refusal);
    html! {
        section aria-labelledby="next" {
            h2 #next { (m.t(t::NEXT)) }
            (tried.alert(m, &[]))
            ul.rows {
                @for starts in &event.next {
                    @let at = shown.instance_at(*starts);
                    li {
                        span.dot aria-hidden="true" { "○" }
                        span.what { (parts::with_zone(m, *starts, shown.zone.name())) }
                        span.when { (m.relative(*starts)) }
                        @if may_write {
                            div.sub.wide {
                                (parts::unfold(&format!("at-{at}"), &m.t(forms::EDIT), false, &html! {
                                    (form(v, shown, "instance", &html! {
                                        input type="hidden" name="at" value=(at);
                                        div.line {
                                            div {
                                                label for=(format!("to-{at}")) { (m.t(t::MOVE_TO)) }
                                                input id=(format!("to-{at}")) type="datetime-local" name="starts_at" value=(local_field(*starts, shown.zone.rules()));
                                            }
                                            button type="submit" { (m.t(t::MOVE_ONE)) }
                                            button.danger type="submit" name="cancel" value="1" { (m.t(t::CANCEL_ONE)) }
                                        }
                                    }))
                                }))
                            }
                        }
                    }
                }
            }
            @if !event.instances.is_empty() {
                h2 { (m.t(t::CHANGED_ONES)) }
                ul.rows { @for instance in event.instances.iter().take(CHANGED_SHOWN) { (changed(v, shown, instance, may_write)) } }
            }
        }
    }
}

fn changed(v: &Viewer, shown: &Shown, instance: &Instance, may_write: bool) -> Markup {
    let m = &v.m;
    html! {
        li {
            span.dot aria-hidden="true" { @if instance.cancelled { "⊘" } @else { "→" } }
            span.what.mono { (instance.at) }
            span.when {
                @if instance.cancelled { (m.t(t::OFF)) }
                @if let Some(starts) = instance.starts_at { (m.t(t::MOVED_FROM)) " → " (parts::instant(m, starts)) }
                @if instance.following { " " (m.t(t::FOLLOWING)) }
            }
            p.sub {
                @if let Some(message) = &instance.message { (message) " " }
                @if let Some(offsets) = &instance.offsets { (say_all(m, &read(offsets))) }
            }
            @if may_write {
                span.do { (form(v, shown, "instance-back", &html! {
                    input type="hidden" name="at" value=(instance.at);
                    button.link type="submit" { (m.t(t::AS_SERIES)) }
                })) }
            }
        }
    }
}

fn edit(v: &Viewer, shown: &Shown, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let event = &shown.event;
    let tried = Tried::of("edit", refusal);
    let rules = shown.zone.rules();
    let zone_hint = m.say(t::IN_ZONE, &[("zone", shown.zone.name())]);
    let own = event.offsets.as_ref().map(|offsets| field(&read(offsets))).unwrap_or_default();
    let from = [("scope", m.t(t::OFFSETS_SCOPE).into_owned()), ("own", m.t(t::OFFSETS_OWN).into_owned())];
    let priorities = ["low", "normal", "high", "critical"]
        .map(|word| (word, parts::priority(m, &punctual_client::wire::Priority::new(word))));
    let text = |name, label, value: &str, hint: Option<Text>| {
        let hint = hint.map(|hint| m.t(hint));
        tried.field(&Field { name, label: &m.t(label), value, hint: hint.as_deref(), ..Field::default() })
    };
    let at = |name, label, value: &str| {
        tried.field(&Field {
            name,
            label: &m.t(label),
            value,
            hint: Some(&zone_hint),
            kind: "datetime-local",
            ..Field::default()
        })
    };
    form(
        v,
        shown,
        "edit",
        &html! {
            (tried.alert(m, &["starts_at", "ends_at", "timezone", "scope", "offsets", "users", "groups", "message", "rrule", "priority", "tags", "require_ack"]))
            div.fields { (text("message", t::MESSAGE, &event.message, Some(t::MESSAGE_HINT))) }
            div.fields {
                (at("starts_at", t::STARTS, &local_field(event.starts_at, rules)))
                (at("ends_at", t::ENDS, &event.ends_at.map(|ends| local_field(ends, rules)).unwrap_or_default()))
                (text("timezone", t::ZONE, event.timezone.as_deref().unwrap_or_default(), Some(t::ZONE_HINT)))
                (text("scope", t::SCOPE, event.scope.as_deref().unwrap_or_default(), Some(t::SCOPE_HINT)))
                (tried.select("offsets_from", &m.t(t::OFFSETS), if event.offsets.is_some() { "own" } else { "scope" }, &from, None))
                (text("offsets", t::OFFSETS_OWN, &own, Some(t::OFFSETS_HINT)))
                (text("users", t::PEOPLE, &event.users.join(", "), Some(t::PEOPLE_HINT)))
                (text("groups", t::GROUPS, &event.groups.join(", "), None))
                (text("rrule", t::REPEATS, event.rrule.as_deref().unwrap_or_default(), Some(t::REPEATS_HINT)))
                (tried.select("priority", &m.t(t::PRIORITY), event.priority.as_str(), &priorities, None))
                (text("tags", t::TAGS, &event.tags.join(", "), None))
            }
            (tried.tick("require_ack", &m.t(t::ANSWER), event.require_ack))
            div.buttons { button.main type="submit" { (m.t(forms::SAVE)) } }
        },
    )
}
