//! Settings: as they are in force, and where each comes from.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use punctual_client::wire::Setting;

use crate::Web;
use crate::layout::Place;
use crate::texts::settings as t;
use crate::trouble::Trouble;
use crate::viewer::Viewer;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/settings", get(show))
}

async fn show(v: Viewer) -> Result<Response, Trouble> {
    let settings = match v.is_admin() {
        true => v.client.settings_in_force().await?,
        false => v.client.settings().await?,
    };
    let m = &v.m;
    let (chosen, defaults): (Vec<&Setting>, Vec<&Setting>) =
        settings.settings.iter().flatten().partition(|setting| setting.source != "default");
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        @if let Some(node) = &settings.node { p.sub { (m.say(t::SUB, &[("node", node)])) } } @else { p.sub { (m.t(t::ASSUMED)) } }
        dl.facts {
            dt { (m.t(t::TIMEZONE)) } dd { (settings.timezone) }
            dt { (m.t(t::LANGUAGE)) } dd { (settings.language) }
            dt { (m.t(t::VERSION)) } dd { (settings.version) }
        }
        @if settings.settings.is_some() {
            h2 { (m.t(t::CHOSEN)) }
            @if chosen.is_empty() { p.sub { (m.t(t::NONE_CHOSEN)) } pre tabindex="0" { "timezone = \"Europe/Zagreb\"\npublic_url = \"https://reminders.example.org\"" } } @else { (table(&v, &m.t(t::CHOSEN), &chosen)) }
            h2 { (m.t(t::DEFAULTS)) }
            (table(&v, &m.t(t::DEFAULTS), &defaults))
        }
    };
    Ok(v.page(Place::Settings, &m.t(t::TITLE), &main))
}

fn table(v: &Viewer, caption: &str, settings: &[&Setting]) -> Markup {
    let m = &v.m;
    html! {
        div.table tabindex="0" role="group" aria-label=(caption) {
            table.settings {
                thead { tr { th scope="col" { (m.t(t::NAME)) } th scope="col" { (m.t(t::VALUE)) } } }
                tbody { @for setting in settings { (row(v, setting)) } }
            }
        }
    }
}

fn row(v: &Viewer, setting: &Setting) -> Markup {
    let m = &v.m;
    let from = setting.from.as_deref().unwrap_or_default();
    let source = match &*setting.source {
        "flag" => m.say(t::FLAG, &[("from", from)]),
        "environment" => m.say(t::VARIABLE, &[("from", from)]),
        "file" => m.say(t::FILE, &[("from", from)]),
        _ => setting
            .variable
            .as_ref()
            .map_or_else(|| m.t(t::DEFAULT).into_owned(), |variable| m.say(t::HOW, &[("variable", variable)])),
    };
    html! {
        tr {
            th scope="row" { code { (breakable(&setting.name)) } small title=(setting.right) { (breakable(&source)) } }
            td {
                @match (&setting.value, setting.secret) {
                    (Some(value), _) => { (value) }
                    (None, true) => { small { (m.t(t::SECRET)) } }
                    (None, false) => { small { (m.t(t::NOT_SET)) } }
                }
            }
        }
    }
}

/// A name that may go on in the next line after each of its words.
fn breakable(name: &str) -> Markup {
    html! { @for part in name.split_inclusive('_') { (part) wbr; } }
}
