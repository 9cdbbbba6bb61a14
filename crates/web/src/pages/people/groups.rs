//! One group.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use punctual_client::Seen;
use punctual_client::wire::{Group, GroupInput, GroupMode};

use super::{list, of_group, of_person};
use crate::flash::Flash;
use crate::layout::Place;
use crate::manner::Manner;
use crate::parts::{self, Entry, Field, Filled, Refusal, Tried};
use crate::texts::{forms, groups as t, people};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer, as_it_is};

const NAMES_SHOWN: usize = 8;

/// A group in a list.
pub(super) fn row(m: &Manner, group: &Group) -> Markup {
    let names: Vec<&str> = group.users.iter().take(NAMES_SHOWN).map(String::as_str).collect();
    let rest = if group.users.len() > NAMES_SHOWN { ", …" } else { "" };
    html! {
        li {
            span.dot aria-hidden="true" { "◉" }
            a.what href=(of_group(&group.name)) { (group.name) }
            span.when { (m.say(t::N_MEMBERS, &[("n", &m.number(group.users.len() as u64))])) }
            p.sub { (names.join(", ")) (rest) }
            span.do { (on_call(m, group)) }
        }
    }
}

/// Who is asked now.
fn on_call(m: &Manner, group: &Group) -> Markup {
    let said = match (&group.on_duty, group.users.first()) {
        (Some(people), _) if !people.is_empty() => m.say(t::ON_CALL, &[("names", &people.join(", "))]),
        (Some(_), _) => m.t(t::ON_CALL_NOBODY).into_owned(),
        (None, Some(first)) if group.mode.as_str() == "in_order" => m.say(t::FIRST, &[("name", first)]),
        (None, _) => m.t(t::AT_ONCE).into_owned(),
    };
    let is_on_call = group.on_duty.as_ref().is_some_and(|people| !people.is_empty());
    html! { span.is.good[is_on_call] { @if is_on_call { span aria-hidden="true" { "● " } } (said) } }
}

/// The form for a new group.
pub(super) fn new_group(v: &Viewer, tried: Tried<'_>) -> Markup {
    let m = &v.m;
    parts::form(
        v,
        "/groups",
        html! {
            (tried.alert(m, &["name", "users", "mode", "rota"]))
            div.fields {
                (tried.field(&Field { name: "name", label: &m.t(t::NAME), example: Some("on-call"), hint: Some(&m.t(t::NAME_HINT)), is_required: true, ..Field::default() }))
                (tried.field(&Field { name: "users", label: &m.t(t::MEMBERS), example: Some("ana, marko"), hint: Some(&m.t(t::MEMBERS_HINT)), ..Field::default() }))
                (mode_field(m, tried, "in_order"))
                (rota_field(m, tried, ""))
            }
            div.buttons { button.main type="submit" { (m.t(forms::CREATE)) } }
        },
    )
}

fn mode_field(m: &Manner, tried: Tried<'_>, mode: &str) -> Markup {
    let choices = [("in_order", m.t(t::IN_ORDER).into_owned()), ("all", m.t(t::AT_ONCE).into_owned())];
    tried.select("mode", &m.t(t::MODE), mode, &choices, None)
}

fn rota_field(m: &Manner, tried: Tried<'_>, rota: &str) -> Markup {
    tried.field(&Field {
        name: "rota",
        label: &m.t(t::ROTA),
        value: rota,
        hint: Some(&m.t(t::ROTA_HINT)),
        ..Field::default()
    })
}

pub(super) async fn create(Posted { viewer: mut v, form }: Posted<Filled>) -> Result<Response, Trouble> {
    v.here = "/people".into();
    let name = form.get("name").unwrap_or_default();
    let input = GroupInput {
        users: Some(form.words("users")),
        mode: form.get("mode").map(GroupMode::new),
        rota: form.owned("rota"),
    };
    let refusal = match v.client.if_seen(None)?.put_group(name, &input).await {
        Ok(group) => {
            return Ok(Flash::done(v.m.say(t::CREATED, &[("name", &group.name)])).then(&of_group(&group.name)));
        }
        Err(failure) if failure.is_overtaken() => Refusal::at("group", &form, "name", v.m.t(people::TAKEN)),
        Err(failure) => Refusal::of(&v.m, "group", &form, failure)?,
    };
    Ok((refusal.status(), list::render(&v, Some(&refusal)).await?).into_response())
}

pub(super) async fn show(v: Viewer, Path(name): Path<String>) -> Result<Response, Trouble> {
    render(&v, &name, None).await
}

async fn render(v: &Viewer, name: &str, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let group = v.client.see_group(name).await?;
    Ok(v.page(Place::People, name, &page(v, &group, refusal)))
}

fn page(v: &Viewer, Seen { it: group, tag }: &Seen<Group>, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("settings", refusal);
    let address = of_group(&group.name);
    let form = |what: &str, inside: Markup| {
        parts::form(
            v,
            &address,
            html! { input type="hidden" name="do" value=(what); (parts::seen(Some(tag))) (inside) },
        )
    };
    let entries: Vec<Entry<'_>> = group
        .users
        .iter()
        .map(|user| Entry { value: user, shown: html! { a href=(of_person(user)) { (user) } } })
        .collect();
    let member = Tried::of("member", refusal);
    html! {
        p.crumb { a href="/people" { (m.t(people::TITLE)) } }
        h1 { (group.name) }
        p.sub #duty data-live="group." data-each-minute { (on_call(m, group)) }
        section aria-labelledby="members" {
            h2 #members { (m.t(t::MEMBERS)) }
            @if v.may(Scope::Write) {
                @if entries.len() > 1 { p { span.hint { (m.t(forms::SORT_HINT)) } } }
                (form("members", html! { (Tried::of("members", refusal).alert(m, &[])) (parts::order(m, &m.t(t::MEMBERS), &entries)) }))
                (form("member", html! {
                    (member.alert(m, &["users"]))
                    div.line {
                        (member.field(&Field { name: "users", label: &m.t(t::ADD_MEMBER), is_required: true, ..Field::default() }))
                        button type="submit" { (m.t(forms::ADD)) }
                    }
                }))
            } @else { ol { @for entry in &entries { li { (entry.shown) } } } }
        }
        @if v.may(Scope::Write) {
            section aria-labelledby="settings" {
                h2 #settings { (m.t(t::SETTINGS)) }
                (form("settings", html! {
                    (tried.alert(m, &["mode", "rota"]))
                    div.fields { (mode_field(m, tried, group.mode.as_str())) (rota_field(m, tried, group.rota.as_deref().unwrap_or_default())) }
                    div.buttons { button.main type="submit" { (m.t(forms::SAVE)) } a.button.quiet href=(format!("{address}/delete")) { (m.t(t::DELETE)) } }
                }))
            }
        }
    }
}

pub(super) async fn change(
    Path(name): Path<String>,
    Posted { viewer: mut v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    v.here = of_group(&name);
    let wanted = form.get("do").unwrap_or_default();
    let Some(what) = ["members", "member", "settings"].into_iter().find(|known| *known == wanted) else {
        return Err(Trouble::NotFound);
    };
    let done = as_it_is(|| async {
        let group = v.client.see_group(&name).await?;
        // A list is changed as it is now; a form with values, as the person has seen it.
        let client = if what == "settings" { form.as_seen(&v.client)? } else { v.client.if_seen(Some(&group.tag))? };
        client.put_group(&name, &changed(group.it, what, &form)).await
    });
    match done.await {
        Ok(_) => Ok(Flash::done(v.m.t(forms::SAVED)).then(&v.here)),
        Err(failure) => {
            let refusal = Refusal::of(&v.m, what, &form, failure)?;
            Ok((refusal.status(), render(&v, &name, Some(&refusal)).await?).into_response())
        }
    }
}

/// The group as the form wants it.
fn changed(group: Group, what: &str, form: &Filled) -> GroupInput {
    let mut input = GroupInput { users: None, mode: Some(group.mode), rota: group.rota };
    let mut users = group.users;
    match what {
        "members" => {
            let order: Vec<&str> = form.all("order").collect();
            users = parts::ordered(&users, Clone::clone, &order, form.get("move"));
        }
        "member" => users.extend(form.words("users")),
        _ => {
            input.mode = form.get("mode").map(GroupMode::new);
            input.rota = form.owned("rota");
        }
    }
    GroupInput { users: Some(users), ..input }
}

pub(super) async fn ask_delete(v: Viewer, Path(name): Path<String>) -> Result<Response, Trouble> {
    v.must_write()?;
    let seen = v.client.see_group(&name).await?;
    let m = &v.m;
    let (question, page) = (m.say(t::DELETE_ASK, &[("name", &name)]), of_group(&name));
    Ok(parts::ask(
        &v,
        Place::People,
        &question,
        &m.t(t::DELETE_WHAT),
        (&page, "delete"),
        Some(&seen.tag),
        &m.t(t::DELETE),
    ))
}

pub(super) async fn delete(
    Path(name): Path<String>,
    Posted { viewer: v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    let gone = form.as_seen(&v.client)?.delete_group(&name).await;
    if let Some(said) = Flash::of_overtaken(&v.m, &gone) {
        return Ok(said.then(&of_group(&name)));
    }
    gone?;
    Ok(Flash::done(v.m.say(t::DELETED, &[("name", &name)])).then("/people"))
}
