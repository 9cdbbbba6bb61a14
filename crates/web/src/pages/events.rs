//! Events: things with a start, whose reminders move with them.

/// All of them, and a new one.
mod list;

/// One event, as it is.
mod event;

/// What is done on the page of an event.
mod change;

/// When people are reminded, and where that is said.
pub(super) mod offsets;

use axum::Router;
use axum::routing::get;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use punctual_client::escaped;

use crate::Web;
use crate::manner::Manner;
use crate::texts::{events as t, scopes};

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/events", get(list::show).post(list::create))
        .route("/events/{key}", get(event::show).post(change::change))
        .route("/events/{key}/delete", get(change::ask_delete).post(change::delete))
}

/// The page of an event.
pub(super) fn of_event(key: &str) -> String {
    format!("/events/{}", escaped(key))
}

/// Events and scopes stand beside each other.
pub(super) fn tabs(m: &Manner, at: &str) -> Markup {
    let tabs = [("/events", t::TITLE), ("/scopes", scopes::TITLE)];
    html! {
        ul.chips { @for (path, name) in tabs { li { a.chip href=(path) aria-current=[(path == at).then_some("page")] { (m.t(name)) } } } }
    }
}

/// An instant as a field for local times has it.
fn local_field(at: Timestamp, zone: &TimeZone) -> String {
    let at = zone.to_datetime(at);
    if at.second() == 0 {
        at.strftime("%Y-%m-%dT%H:%M").to_string()
    } else {
        at.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    }
}

/// What a field for local times means in `zone`. The API reads anything else, and says what is wrong with it.
fn instant_of(field: &str, zone: &TimeZone) -> String {
    let local: Option<DateTime> = field.parse().ok();
    let at = local.and_then(|local| local.to_zoned(zone.clone()).ok());
    at.map_or_else(|| field.to_owned(), |at| at.timestamp().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_field_means_an_instant_in_its_zone() {
        let zone = TimeZone::get("Europe/Zagreb").unwrap();
        for (field, expect) in [
            ("2026-12-10T18:00", "2026-12-10T17:00:00Z"),
            ("2026-07-10T18:00", "2026-07-10T16:00:00Z"),
            ("2026-07-10T18:00:30", "2026-07-10T16:00:30Z"),
            ("tomorrow", "tomorrow"),
        ] {
            assert_eq!(instant_of(field, &zone), expect);
        }
        assert_eq!(local_field("2026-12-10T17:00:00Z".parse().unwrap(), &zone), "2026-12-10T18:00");
        assert_eq!(local_field("2026-12-10T17:00:05Z".parse().unwrap(), &zone), "2026-12-10T18:00:05");
    }
}
