//! The way to the rest of a list.

use maud::{Markup, html};

use crate::manner::Manner;
use crate::texts::forms as t;
use crate::viewer::{Viewer, query_value};

/// One value of the query of the page that is shown; an empty one says nothing.
pub(crate) fn asked(v: &Viewer, name: &str) -> Option<String> {
    let (_, query) = v.here.split_once('?')?;
    query_value(query, name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Links to the first and to the next page of a list at `path`, with the filters in `query`.
pub(crate) fn more(m: &Manner, path: &str, query: &[(&str, &str)], cursor: Option<&str>, next: Option<&str>) -> Markup {
    if cursor.is_none() && next.is_none() {
        return html! {};
    }
    html! {
        div.pager role="navigation" aria-label=(m.t(t::PAGES)) {
            @if cursor.is_some() { a.button href=(href(path, query, None)) { (m.t(t::FIRST_PAGE)) } }
            @if let Some(next) = next { a.button href=(href(path, query, Some(next))) rel="next" { (m.t(t::NEXT_PAGE)) } }
        }
    }
}

fn href(path: &str, query: &[(&str, &str)], cursor: Option<&str>) -> String {
    let pairs =
        query.iter().copied().filter(|(_, value)| !value.is_empty()).chain(cursor.map(|cursor| ("cursor", cursor)));
    let query = serde_urlencoded::to_string(pairs.collect::<Vec<_>>()).unwrap_or_default();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_keeps_the_filters() {
        assert_eq!(
            href("/events", &[("scope", "guild:1/a b"), ("user", "")], Some("c&d")),
            "/events?scope=guild%3A1%2Fa+b&cursor=c%26d"
        );
        assert_eq!(href("/events", &[("user", "")], None), "/events");
    }
}
