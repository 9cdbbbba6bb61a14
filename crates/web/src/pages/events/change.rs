//! What is done on the page of an event.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use punctual_client::wire::{EventInput, InstanceInput, Priority};
use punctual_client::{Client, Failure};

use super::event::{load, render};
use super::offsets::filled;
use super::{instant_of, of_event};
use crate::flash::Flash;
use crate::layout::Place;
use crate::parts::{self, Filled, Refusal};
use crate::texts::{events as t, forms};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Viewer};

pub(super) async fn change(
    Path(key): Path<String>,
    Posted { viewer: mut v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    v.here = of_event(&key);
    let shown = load(&v, &key).await?;
    let rules = shown.zone.rules().clone();
    let client = form.as_seen(&v.client)?;
    let (what, done) = match form.get("do") {
        Some("move") => {
            let input = moved(EventInput::from(shown.event), form.get("starts_at").unwrap_or_default(), &rules);
            let done = client.put_event(&key, &input).await;
            ("move", done.map(|event| v.m.say(t::MOVED, &[("name", &key), ("when", &v.m.instant(event.starts_at))])))
        }
        Some("edit") => {
            let input = edited(EventInput::from(shown.event), &form, &rules);
            ("edit", client.put_event(&key, &input).await.map(|_| v.m.t(forms::SAVED).into_owned()))
        }
        Some("instance") => ("instance", instance(&v, &client, &key, &form, &rules).await),
        Some("instance-back") => {
            let at = form.get("at").unwrap_or_default();
            let back = client.put_instance(&key, at, &InstanceInput::default()).await;
            ("instance", back.map(|_| v.m.t(t::INSTANCE_SAVED).into_owned()))
        }
        _ => return Err(Trouble::NotFound),
    };
    match done {
        Ok(said) => Ok(Flash::done(said).then(&v.here)),
        Err(failure) => {
            let refusal = Refusal::of(&v.m, what, &form, failure)?;
            Ok((refusal.status(), render(&v, &key, Some(&refusal)).await?).into_response())
        }
    }
}

/// Moves or cancels one instance of a series.
async fn instance(v: &Viewer, client: &Client, key: &str, form: &Filled, rules: &TimeZone) -> Result<String, Failure> {
    let at = form.get("at").unwrap_or_default();
    let said = v.m.t(t::INSTANCE_SAVED).into_owned();
    if form.is_ticked("cancel") {
        return client.delete_instance(key, at).await.map(|()| said);
    }
    let starts_at = form.get("starts_at").map(|to| instant_of(to, rules));
    client.put_instance(key, at, &InstanceInput { starts_at, ..InstanceInput::default() }).await.map(|_| said)
}

/// The event at another start. It stays as long as it was.
fn moved(mut event: EventInput, to: &str, rules: &TimeZone) -> EventInput {
    let to = instant_of(to, rules);
    let instant = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    if let (Some(before), Some(ends), Ok(after)) =
        (instant(&event.starts_at), instant(&event.ends_at), to.parse::<Timestamp>())
    {
        event.ends_at = after.checked_add(ends.duration_since(before)).ok().map(|ends| ends.to_string());
    }
    event.starts_at = Some(to);
    event
}

/// The event as the form wants it. What is not in the form stays.
fn edited(event: EventInput, form: &Filled, rules: &TimeZone) -> EventInput {
    let list = |names: Vec<String>| Some(names).filter(|names| !names.is_empty());
    EventInput {
        starts_at: form.get("starts_at").map(|at| instant_of(at, rules)),
        ends_at: form.get("ends_at").map(|at| instant_of(at, rules)),
        timezone: form.owned("timezone"),
        scope: form.owned("scope"),
        offsets: (form.get("offsets_from") == Some("own")).then(|| filled(form, "offsets")),
        users: list(form.words("users")),
        groups: list(form.words("groups")),
        message: form.owned("message"),
        rrule: form.owned("rrule"),
        priority: form.get("priority").map(Priority::new),
        tags: Some(form.words("tags")),
        require_ack: Some(form.is_ticked("require_ack")),
        ..event
    }
}

pub(super) async fn ask_delete(v: Viewer, Path(key): Path<String>) -> Result<Response, Trouble> {
    v.must_write()?;
    let seen = v.client.see_event(&key).await?;
    let m = &v.m;
    let (question, page) = (m.say(t::DELETE_ASK, &[("name", &key)]), of_event(&key));
    Ok(parts::ask(
        &v,
        Place::Events,
        &question,
        &m.t(t::DELETE_WHAT),
        (&page, "delete"),
        Some(&seen.tag),
        &m.t(t::DELETE),
    ))
}

pub(super) async fn delete(
    Path(key): Path<String>,
    Posted { viewer: v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    let gone = form.as_seen(&v.client)?.delete_event(&key).await;
    if let Some(said) = Flash::of_overtaken(&v.m, &gone) {
        return Ok(said.then(&of_event(&key)));
    }
    gone?;
    Ok(Flash::done(v.m.say(forms::REMOVED, &[("name", &key)])).then("/events"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> TimeZone {
        TimeZone::get("Europe/Zagreb").unwrap()
    }

    #[test]
    fn a_moved_event_stays_as_long_as_it_was() {
        let event = EventInput {
            starts_at: Some("2026-12-10T17:00:00Z".into()),
            ends_at: Some("2026-12-10T18:30:00Z".into()),
            ..EventInput::default()
        };
        let after = moved(event, "2026-12-11T20:00", &zone());
        assert_eq!(
            (after.starts_at.as_deref(), after.ends_at.as_deref()),
            (Some("2026-12-11T19:00:00Z"), Some("2026-12-11T20:30:00Z"))
        );
        let alone = moved(EventInput::default(), "nonsense", &zone());
        assert_eq!(alone.starts_at.as_deref(), Some("nonsense"), "the API says what is wrong with it");
    }

    #[test]
    fn an_edit_keeps_what_its_form_does_not_have() {
        let event = EventInput {
            max_retries: Some(7),
            only: Some(true),
            users: Some(vec!["ann".into()]),
            ..EventInput::default()
        };
        let form: Filled = serde_urlencoded::from_str(
            "starts_at=2026-12-10T18%3A00&users=bob%2C+eve&message=hi&offsets_from=scope&offsets=60",
        )
        .unwrap();
        let after = edited(event, &form, &zone());
        assert_eq!((after.max_retries, after.only), (Some(7), Some(true)));
        assert_eq!(after.users.as_deref(), Some(&["bob".to_owned(), "eve".to_owned()][..]));
        assert!(after.offsets.is_none(), "the scope says them");
        let own: Filled = serde_urlencoded::from_str("offsets_from=own&offsets=").unwrap();
        assert_eq!(edited(EventInput::default(), &own, &zone()).offsets, Some(Vec::new()), "its own, and none");
    }
}
