//! This browser as an address: it is told of reminders by notifications, also while no page is open.

use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use maud::{Markup, html};
use punctual_client::Failure;
use punctual_client::wire::{AddressInput, UserInput};
use serde::Deserialize;
use serde_json::json;

use crate::Web;
use crate::assets::PUSH_PATH;
use crate::flash::Flash;
use crate::pages::people::of_person;
use crate::parts::form;
use crate::texts::browser as t;
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer, as_it_is, found, refused};

/// The channel that reaches browsers, which every server has.
const CHANNEL: &str = "webpush";

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/browser", get(show).post(change)).route("/browser/renewal", get(renewal))
}

async fn show(v: Viewer) -> Result<Response, Trouble> {
    let m = &v.m;
    let key = key(&v).await?;
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::WHAT_FOR)) }
        @match key {
            Some(key) => {
                section.card aria-label=(m.t(t::TITLE)) { (control(&v, &key)) }
                p.hint { (m.t(t::ORDER)) " " a href=(of_person(&v.person)) { (m.t(t::ADDRESSES)) } }
            }
            None => p { (m.t(t::NOT_HERE)) },
        }
    };
    Ok(v.page(None, &m.t(t::TITLE), &main))
}

/// The key that browsers subscribe with. Somebody whose key may not use the channel, or may not write, has none.
async fn key(v: &Viewer) -> Result<Option<String>, Failure> {
    let channel = v.client.channels().await?.channels.into_iter().find(|channel| channel.name == CHANNEL);
    Ok(channel.and_then(|channel| channel.public_key).filter(|_| v.may(Scope::Write) && !v.looks_at_another()))
}

/// What the service worker needs to subscribe anew and to say so, while no page is open.
async fn renewal(v: Viewer) -> Result<Response, Trouble> {
    let key = key(&v).await?.ok_or(Trouble::NotFound)?;
    Ok(Json(json!({ "key": key, "form": v.form_token() })).into_response())
}

/// The parts of which the script shows the one that fits. Only a script can subscribe.
fn control(v: &Viewer, key: &str) -> Markup {
    let m = &v.m;
    let addresses = v.user.iter().flat_map(|user| &user.addresses).filter(|to| to.channel == CHANNEL);
    let known: Vec<&str> = addresses.map(|to| to.address.as_str()).collect();
    html! {
        this-browser data-key=(key) data-known=(json!(known)) {
            (form(v, "/browser", html! {
                input type="hidden" name="wish";
                input type="hidden" name="address";
            }))
            div data-when="off" hidden {
                p { (m.t(t::OFF)) }
                div.buttons { button.main type="button" data-wish="add" { (m.t(t::ADD)) } }
            }
            div data-when="on" hidden {
                p { (m.t(t::ON)) }
                div.buttons { button type="button" data-wish="remove" { (m.t(t::REMOVE)) } }
            }
            p data-when="denied" hidden { (m.t(t::DENIED)) }
            p data-when="missing" { (m.t(t::MISSING)) }
        }
        script type="module" src=(*PUSH_PATH) {}
    }
}

#[derive(Deserialize)]
struct Change {
    wish: Wish,
    address: String,
    /// The address that this one stands for now.
    old: Option<String>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Wish {
    Add,
    Renew,
    Remove,
}

async fn change(Posted { viewer: v, form }: Posted<Change>) -> Result<Response, Trouble> {
    let said = match (write(&v, &form).await, &form.wish) {
        (Ok(()), Wish::Add | Wish::Renew) => Flash::done(v.m.t(t::ADDED)),
        (Ok(()), Wish::Remove) => Flash::done(v.m.t(t::REMOVED)),
        (Err(failure), _) => match refused(&failure) {
            Some(words) => Flash::problem(words),
            None => return Err(failure.into()),
        },
    };
    Ok(said.then("/browser"))
}

/// Writes the person's entry with the address or without it.
async fn write(v: &Viewer, form: &Change) -> Result<(), Failure> {
    as_it_is(|| async {
        let seen = found(v.client.see_user(&v.person).await)?;
        let client = v.client.if_seen(seen.as_ref().map(|seen| seen.tag.as_str()))?;
        let input = seen.map(|seen| UserInput::from(seen.it)).unwrap_or_default();
        let addresses = changed(input.addresses.unwrap_or_default(), form);
        client.put_user(&v.person, &UserInput { addresses: Some(addresses), ..input }).await.map(drop)
    })
    .await
}

/// The addresses with this browser or without it. The newest browser is tried first; one that has only a new address stays in its place.
fn changed(mut addresses: Vec<AddressInput>, form: &Change) -> Vec<AddressInput> {
    let browser = |address: &str| AddressInput { channel: Some(CHANNEL.into()), address: Some(address.to_owned()) };
    let (own, old) = (browser(&form.address), form.old.as_deref().map(browser));
    let place = addresses.iter().position(|address| Some(address) == old.as_ref() || *address == own).unwrap_or(0);
    addresses.retain(|address| *address != own && Some(address) != old.as_ref());
    match form.wish {
        Wish::Add => addresses.insert(0, own),
        Wish::Renew => addresses.insert(place.min(addresses.len()), own),
        Wish::Remove => {}
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_with_a_new_address_stays_in_its_place() {
        let all = |names: &str| {
            let one = |name: &str| AddressInput { channel: Some(CHANNEL.into()), address: Some(name.into()) };
            names.split_whitespace().map(one).collect::<Vec<_>>()
        };
        for (wish, before, address, old, after) in [
            (Wish::Add, "a b", "c", None, "c a b"),
            (Wish::Add, "a b", "b", None, "b a"),
            (Wish::Renew, "a b d", "c", Some("b"), "a c d"),
            (Wish::Renew, "a b", "c", Some("gone"), "c a b"),
            (Wish::Renew, "a b", "c", None, "c a b"),
            (Wish::Renew, "a b", "b", Some("b"), "a b"),
            (Wish::Renew, "a b c", "c", Some("b"), "a c"),
            (Wish::Remove, "a b", "a", None, "b"),
        ] {
            let form = Change { wish, address: address.into(), old: old.map(str::to_owned) };
            assert_eq!(changed(all(before), &form), all(after), "{before}: {address} for {old:?}");
        }
    }
}
