//! Forms, which prove that they are ours.

use axum::response::Response;
use maud::{Markup, html};

use crate::layout::Place;
use crate::viewer::Viewer;

/// A form that posts to `action`. Its answer leads to a page; the script swaps that page in.
pub(crate) fn form(v: &Viewer, action: &str, inside: Markup) -> Markup {
    html! {
        form method="post" action=(action) data-swap {
            input type="hidden" name="form" value=(v.form_token());
            (inside)
        }
    }
}

/// How something was when its form was shown, for [`Filled::as_seen`](super::Filled::as_seen): the tag of what was there, or nothing.
pub(crate) fn seen(tag: Option<&str>) -> Markup {
    html! { input type="hidden" name="seen" value=(tag.unwrap_or_default()); }
}

/// A form that is folded until somebody wants it.
pub(crate) fn unfold(id: &str, summary: &str, is_open: bool, inside: &Markup) -> Markup {
    html! {
        details.unfold id=(id) open[is_open] {
            summary { (summary) }
            div { (inside) }
        }
    }
}

/// The page that asks whether something that has a page is to be removed, as it was when the page was shown.
pub(crate) fn ask(
    v: &Viewer,
    place: Place,
    question: &str,
    what: &str,
    (page, verb): (&str, &str),
    tag: Option<&str>,
    button: &str,
) -> Response {
    let fields = tag.map_or_else(|| html! {}, |tag| seen(Some(tag)));
    v.page(place, question, &confirm(v, question, what, (&format!("{page}/{verb}"), page), &fields, button))
}

/// A page that asks once more before something is gone: the fields it needs, the button that does it, and the way back.
pub(crate) fn confirm(
    v: &Viewer,
    question: &str,
    what: &str,
    to: (&str, &str),
    fields: &Markup,
    button: &str,
) -> Markup {
    let (action, keep) = to;
    html! {
        h1 { (question) }
        div.card.confirm {
            p { (what) }
            (form(v, action, html! {
                (fields)
                div.buttons {
                    button.danger type="submit" { (button) }
                    a.button.quiet href=(keep) { (v.m.t(crate::texts::forms::KEEP)) }
                }
            }))
        }
    }
}
