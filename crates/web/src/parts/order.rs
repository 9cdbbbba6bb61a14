//! A list whose order matters: moved by drag, with Alt and the arrows, or by buttons that need no script.

use maud::{Markup, html};

use crate::manner::Manner;
use crate::texts::forms as t;

/// One entry: what a form calls it, and how it looks.
pub(crate) struct Entry<'a> {
    pub(crate) value: &'a str,
    pub(crate) shown: Markup,
}

/// The list, to stand in a form: each entry is sent as `order`, and a button as `move` with a direction and the entry.
pub(crate) fn order(m: &Manner, label: &str, entries: &[Entry<'_>]) -> Markup {
    let last = entries.len().saturating_sub(1);
    let button = |direction: &str, sign: &str, text: &str, entry: &Entry<'_>, is_off: bool| {
        html! {
            // One that has nothing to do still takes the focus, which would be lost when the entry comes to the end of the list.
            button.quiet type="submit" id=(format!("{direction}-{}", entry.value)) name="move" value=(format!("{direction} {}", entry.value))
                aria-disabled=[is_off.then_some("true")] aria-label=(format!("{text}: {}", entry.value)) title=(text) { span aria-hidden="true" { (sign) } }
        }
    };
    let (up, down, remove) = (m.t(t::UP), m.t(t::DOWN), m.t(t::REMOVE));
    html! {
        ol.order data-sortable aria-label=(label) {
            @for (index, entry) in entries.iter().enumerate() {
                li draggable="true" {
                    span.grip aria-hidden="true" { "⠿" }
                    span.nth { (index + 1) }
                    span.entry { (entry.shown) }
                    input type="hidden" name="order" value=(entry.value);
                    span.moves {
                        (button("up", "↑", &up, entry, index == 0))
                        (button("down", "↓", &down, entry, index == last))
                        (button("drop", "✕", &remove, entry, false))
                    }
                }
            }
        }
    }
}

/// The entries in the order that a form asks for. It names those that it knew: others stay, behind them, and those that are gone stay gone.
pub(crate) fn ordered<T: Clone>(now: &[T], name: impl Fn(&T) -> String, order: &[&str], moved: Option<&str>) -> Vec<T> {
    let mut rest: Vec<(String, T)> = now.iter().map(|one| (name(one), one.clone())).collect();
    let mut sorted: Vec<(String, T)> = Vec::with_capacity(rest.len());
    for wanted in order {
        if let Some(at) = rest.iter().position(|(name, _)| name == wanted) {
            sorted.push(rest.remove(at));
        }
    }
    sorted.append(&mut rest);
    if let Some((direction, wanted)) = moved.and_then(|moved| moved.split_once(' '))
        && let Some(at) = sorted.iter().position(|(name, _)| name == wanted)
    {
        match direction {
            "up" if at > 0 => sorted.swap(at, at - 1),
            "down" if at + 1 < sorted.len() => sorted.swap(at, at + 1),
            "drop" => drop(sorted.remove(at)),
            _ => {}
        }
    }
    sorted.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_behind_loses_nothing_and_brings_nothing_back() {
        let now = ["a b", "c", "d", "e"].map(str::to_owned);
        for (order, moved, expect) in [
            (&[][..], None, "a b,c,d,e"),
            (&["d", "c", "a b", "e"], None, "d,c,a b,e"),
            (&["c", "gone", "a b"], None, "c,a b,d,e"),
            (&["a b", "c", "d", "e"], Some("up c"), "c,a b,d,e"),
            (&["a b", "c", "d", "e"], Some("up a b"), "a b,c,d,e"),
            (&["a b", "c", "d", "e"], Some("down a b"), "c,a b,d,e"),
            (&["a b", "c", "d", "e"], Some("down e"), "a b,c,d,e"),
            (&["a b", "c", "d", "e"], Some("drop a b"), "c,d,e"),
            (&["a b", "c", "d", "e"], Some("drop gone"), "a b,c,d,e"),
            (&[], Some("sideways c"), "a b,c,d,e"),
        ] {
            assert_eq!(ordered(&now, Clone::clone, order, moved).join(","), expect, "{order:?} {moved:?}");
        }
    }
}
