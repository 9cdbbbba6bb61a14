//! Pages on which there is nothing yet teach what they are for, and the one thing to do next.

use maud::{Markup, html};

/// What an empty page says.
pub(crate) struct Empty<'a> {
    pub(crate) title: &'a str,
    pub(crate) what_for: &'a str,
    /// A working example: a form, or a command.
    pub(crate) example: Markup,
}

pub(crate) fn empty(Empty { title, what_for, example }: Empty<'_>) -> Markup {
    html! {
        section.empty {
            h2 { (title) }
            p { (what_for) }
            (example)
        }
    }
}
