//! Removing somebody, after a question.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use maud::html;
use punctual_client::wire::EraseInput;

use super::of_person;
use crate::flash::Flash;
use crate::layout::Place;
use crate::parts::{self, Field, Filled, Refusal, Tried};
use crate::texts::people as t;
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer};

/// How often the API is asked to go on before the page answers. Each takes two seconds at most.
const GOES_ON_MAX: usize = 5;

pub(super) async fn ask_delete(v: Viewer, Path(id): Path<String>) -> Result<Response, Trouble> {
    v.must_write()?;
    let seen = v.client.see_user(&id).await?;
    let m = &v.m;
    let question = m.say(t::DELETE_ASK, &[("name", &id)]);
    let page = of_person(&id);
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
    Path(id): Path<String>,
    Posted { viewer: v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    let gone = form.as_seen(&v.client)?.delete_user(&id).await;
    if let Some(said) = Flash::of_overtaken(&v.m, &gone) {
        return Ok(said.then(&of_person(&id)));
    }
    gone?;
    let page = if v.caller.is_bound { of_person(&id) } else { "/people".to_owned() };
    Ok(Flash::done(v.m.say(t::DELETED, &[("name", &id)])).then(&page))
}

pub(super) async fn ask_erase(v: Viewer, Path(id): Path<String>) -> Result<Response, Trouble> {
    if !v.may(Scope::Admin) {
        return Err(Trouble::NotFound);
    }
    Ok(erase_page(&v, &id, None, None))
}

/// Goes on until all of it is gone, or for about ten seconds; then the page asks whether to go on.
pub(super) async fn erase(
    Path(id): Path<String>,
    Posted { viewer: v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    let mut input = EraseInput { confirm: Some(form.owned("confirm").unwrap_or_default()), after: form.owned("after") };
    let mut reminders: u64 = form.get("erased").and_then(|n| n.parse().ok()).unwrap_or(0);
    for _ in 0..GOES_ON_MAX {
        let erased = match v.client.erase_user(&id, &input).await {
            Ok(erased) => erased,
            Err(failure) => {
                let refusal = Refusal::of(&v.m, "erase", &form, failure)?;
                return Ok((refusal.status(), erase_page(&v, &id, None, Some(&refusal))).into_response());
            }
        };
        reminders += erased.reminders;
        if erased.is_done {
            let said = v.m.say(t::ERASED, &[("name", &id), ("n", &v.m.number(reminders))]);
            return Ok(Flash::done(said).then("/people"));
        }
        input.after = Some(erased.after);
    }
    Ok(erase_page(&v, &id, input.after.map(|after| (after, reminders)), None))
}

fn erase_page(v: &Viewer, id: &str, so_far: Option<(String, u64)>, refusal: Option<&Refusal>) -> Response {
    let m = &v.m;
    let question = m.say(t::ERASE_ASK, &[("name", id)]);
    let page = of_person(id);
    let tried = Tried::of("erase", refusal);
    let inside = html! {
        @if let Some((after, reminders)) = &so_far {
            p.card role="status" { (m.say(t::ERASE_GOES_ON, &[("n", &m.number(*reminders))])) }
            input type="hidden" name="after" value=(after);
            input type="hidden" name="erased" value=(reminders);
        }
        (tried.alert(m, &["confirm"]))
        div.fields {
            (tried.field(&Field { name: "confirm", label: &m.t(t::ERASE_NAME), value: if so_far.is_some() { id } else { "" }, is_required: true, ..Field::default() }))
        }
    };
    let main =
        parts::confirm(v, &question, &m.t(t::ERASE_WHAT), (&format!("{page}/erase"), &page), &inside, &m.t(t::ERASE));
    v.page(Place::People, &question, &main)
}
