//! What stands around every page: the rail, the place for what is said once, and what the script needs.

use maud::{DOCTYPE, Markup, html};
use punctual_client::escaped;

use crate::assets::{CSS_PATH, JS_PATH};
use crate::flash::Flash;
use crate::manner::Manner;
use crate::parts::form;
use crate::texts::{self, Text, frame as t};
use crate::viewer::{Scope, Viewer};

/// A page, as the rail knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Today,
    Reminders,
    People,
    Events,
    Watches,
    Health,
    Channels,
    Keys,
    Settings,
}

impl Place {
    /// In the order of the rail.
    const ALL: [Self; 9] = [
        Self::Today,
        Self::Reminders,
        Self::People,
        Self::Events,
        Self::Watches,
        Self::Health,
        Self::Channels,
        Self::Keys,
        Self::Settings,
    ];

    /// The first page that has anything for this viewer.
    pub(crate) fn first_for(v: &Viewer) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.is_for(v))
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Today => "/",
            Self::Reminders => "/reminders",
            Self::People => "/people",
            Self::Events => "/events",
            Self::Watches => "/watches",
            Self::Health => "/health",
            Self::Channels => "/channels",
            Self::Keys => "/keys",
            Self::Settings => "/settings",
        }
    }

    fn name(self) -> Text {
        match self {
            Self::Today => texts::today::TITLE,
            Self::Reminders => texts::reminders::TITLE,
            Self::People => texts::people::TITLE,
            Self::Events => texts::events::TITLE,
            Self::Watches => texts::watches::TITLE,
            Self::Health => texts::health::TITLE,
            Self::Channels => texts::channels::TITLE,
            Self::Keys => texts::keys::TITLE,
            Self::Settings => texts::settings::TITLE,
        }
    }

    /// The key that goes there, after `g`.
    fn key(self) -> &'static str {
        match self {
            Self::Today => "t",
            Self::Reminders => "r",
            Self::People => "p",
            Self::Events => "e",
            Self::Watches => "w",
            Self::Health => "h",
            Self::Channels => "c",
            Self::Keys => "k",
            Self::Settings => "s",
        }
    }

    /// Whether there is anything on it for this viewer. The API has the last word on every page.
    fn is_for(self, v: &Viewer) -> bool {
        match self {
            Self::Today | Self::Reminders | Self::People => v.may(Scope::Read),
            Self::Channels | Self::Settings => v.may(Scope::Read) || v.may(Scope::SendTest),
            Self::Events | Self::Watches | Self::Health => v.may(Scope::Read) && !v.caller.is_bound,
            Self::Keys => v.may(Scope::Keys) && !v.caller.is_bound,
        }
    }

    /// Whether it stands behind `More` on a phone.
    fn is_seldom(self) -> bool {
        !matches!(self, Self::Today | Self::Reminders | Self::People)
    }
}

/// The clock of the brand: its red hand points to now.
pub(crate) fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" aria-hidden="true" {
            circle cx="12" cy="12" r="9.5" {}
            path d="M12 6.5V12h4" {}
            path class="hand" d="M12 12 7.8 15.6" {}
        }
    }
}

/// A page for somebody who has signed in, at its place in the rail if it has one there.
pub(crate) fn page(v: &Viewer, place: Option<Place>, title: &str, main: &Markup, said: Option<&Flash>) -> Markup {
    let m = &v.m;
    html! {
        (DOCTYPE)
        html lang=(m.tag()) {
            (head(title))
            body data-form=(v.form_token()) data-lost=[v.may_follow().then(|| m.t(t::LOST))] data-back=(m.t(t::BACK)) data-user=(v.person) {
                a.skip href="#main" { (m.t(t::SKIP)) }
                div #lost role="status" aria-live="polite" {}
                div.frame {
                    (rail(v, place))
                    main #main tabindex="-1" {
                        @if v.looks_at_another() { (whose(v)) }
                        (main)
                        (toast(v, said))
                    }
                }
                (palette(v))
                (keys(m))
            }
        }
    }
}

/// A page for anybody.
pub(crate) fn bare(m: &Manner, title: &str, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(m.tag()) {
            (head(title))
            body.bare {
                main #main {
                    a.brand href="/" { (mark()) "punctual" }
                    (main)
                }
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
            meta name="color-scheme" content="light dark";
            meta name="theme-color" media="(prefers-color-scheme: light)" content="#fbfaf7";
            meta name="theme-color" media="(prefers-color-scheme: dark)" content="#141517";
            title { (title) " · punctual" }
            link rel="stylesheet" href=(*CSS_PATH);
            link rel="icon" href="/icon.svg" type="image/svg+xml";
            link rel="apple-touch-icon" href="/icon-192.png";
            link rel="manifest" href="/manifest.webmanifest";
            script type="module" src=(*JS_PATH) {}
        }
    }
}

fn rail(v: &Viewer, place: Option<Place>) -> Markup {
    let m = &v.m;
    let shown: Vec<Place> = Place::ALL.into_iter().filter(|place| place.is_for(v)).collect();
    let link = |one: Place| {
        html! {
            a.more[one.is_seldom()] href=(v.href(one.path())) aria-current=[(Some(one) == place).then_some("page")] data-go=(one.key()) {
                span { (m.t(one.name())) }
            }
        }
    };
    let (often, seldom): (Vec<Place>, Vec<Place>) = shown.into_iter().partition(|place| !place.is_seldom());
    html! {
        header.rail {
            a.brand href=(v.href("/")) { (mark()) "punctual" }
            nav.places aria-label=(m.t(t::MAIN)) {
                @for one in &often { (link(*one)) }
                hr;
                @for one in &seldom { (link(*one)) }
                details.others {
                    summary { (m.t(t::MORE)) }
                    div {
                        @for one in &seldom { (link(*one)) }
                        button.find type="button" data-palette { (m.t(t::SEARCH)) }
                        (leave(v))
                    }
                }
            }
            button.find type="button" data-palette { (m.t(t::SEARCH)) kbd { "Ctrl K" } }
            div.foot {
                p.live { span { @if v.may_follow() { (m.t(t::LIVE)) " · " } (v.m.zone.name()) } }
                (leave(v))
            }
        }
    }
}

/// Who has signed in, and the way out.
fn leave(v: &Viewer) -> Markup {
    let m = &v.m;
    html! {
        div.leave {
            p { (m.say(t::SIGNED_IN_AS, &[("name", &v.caller.name)])) }
            @if v.may(Scope::Read) { a href="/browser" aria-current=[(v.here == "/browser").then_some("page")] { (m.t(texts::browser::ADD)) } }
            (form(v, "/sign-out", html! { button.link type="submit" { (m.t(t::SIGN_OUT)) } }))
            (form(v, "/sign-out", html! { button.link type="submit" name="everywhere" value="1" { (m.t(t::SIGN_OUT_EVERYWHERE)) } }))
        }
    }
}

fn whose(v: &Viewer) -> Markup {
    let m = &v.m;
    html! {
        p.whose { (m.t(t::WHOSE)) ": " b { (v.person) } " · " a href="?" { (m.t(t::WHOSE_ME)) } }
    }
}

/// What was done a moment ago, and the way back.
fn toast(v: &Viewer, said: Option<&Flash>) -> Markup {
    let m = &v.m;
    html! {
        div #toast role="status" aria-live="polite" {
            @if let Some(said) = said {
                div.toast.problem[said.is_problem] {
                    span { (said.text) @if let Some(note) = &said.note { " " (note) } }
                    @if let Some(person) = &said.unreached {
                        a href=(format!("/people/{}#addresses", escaped(person))) { (m.t(texts::people::ADD_ADDRESS)) }
                    }
                    @if let Some((id, verb)) = &said.undo {
                        (form(v, &format!("/reminders/{}/{}", escaped(id), escaped(verb)), html! {
                            input type="hidden" name="back" value=(v.here);
                            button.link type="submit" data-undo { (m.t(t::UNDO)) }
                        }))
                    }
                    @if let Some((ids, verb)) = &said.undo_many {
                        (form(v, "/reminders/many", html! {
                            input type="hidden" name="back" value=(v.here);
                            input type="hidden" name="verb" value=(verb);
                            @for id in ids { input type="hidden" name="id" value=(id); }
                            button.link type="submit" data-undo { (m.t(t::UNDO)) }
                        }))
                    }
                    button.link type="button" data-close aria-label=(m.t(t::CLOSE)) { "✕" }
                }
            }
        }
    }
}

/// Ctrl-K: the script fills it.
fn palette(v: &Viewer) -> Markup {
    let m = &v.m;
    html! {
        dialog #palette aria-label=(m.t(t::SEARCH)) {
            input type="search" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" autocomplete="off"
                spellcheck="false" placeholder=(m.t(t::PALETTE_HINT)) aria-label=(m.t(t::PALETTE_HINT));
            ul #palette-list role="listbox" aria-label=(m.t(t::SEARCH)) {}
        }
    }
}

/// `?`: the keys.
fn keys(m: &Manner) -> Markup {
    let rows = [
        ("Ctrl K", t::KEY_PALETTE),
        ("n", t::KEY_ADD),
        ("/", t::KEY_FIND),
        ("g", t::KEY_GO),
        ("j k", t::KEY_MOVE),
        ("Alt ↑ ↓", t::KEY_SORT),
        ("z", t::KEY_UNDO),
        ("Esc", t::KEY_CLOSE),
        ("?", t::KEY_HELP),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { (m.t(t::KEYS_TITLE)) }
            dl { @for (key, what) in rows { dt { kbd { (key) } } dd { (m.t(what)) } } }
            form method="dialog" { button { (m.t(t::CLOSE)) } }
        }
    }
}
