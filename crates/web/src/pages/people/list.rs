//! All people, and the groups.

use axum::response::{IntoResponse, Response};
use futures_util::future::join4;
use maud::{Markup, html};
use punctual_client::wire::{AddressInput, Group, PageQuery, Silence, SilenceQuery, User, UserInput};
use punctual_time::zone::Zone;

use super::peace::{Peace, silences_of};
use super::reach::Reaches;
use super::{LOOKED_AT, groups, of_person};
use crate::flash::{Flash, leads};
use crate::layout::Place;
use crate::parts::{self, Empty, Field, Filled, Refusal, Tried};
use crate::texts::{forms, groups as tg, people as t};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer};

/// How many people stand on a page.
const PAGE: usize = 50;
/// How many of somebody's groups are named beside them; their own page has all.
const GROUPS_NAMED: usize = 4;
/// How many groups stand below them.
const GROUPS_SHOWN: usize = 100;

pub(super) async fn show(v: Viewer) -> Result<Response, Trouble> {
    render(&v, None).await
}

/// Makes an entry for somebody new.
pub(super) async fn create(Posted { viewer: mut v, form }: Posted<Filled>) -> Result<Response, Trouble> {
    v.here = "/people".into();
    let id = form.get("name").unwrap_or_default();
    let address =
        form.get("address").or_else(|| form.get("channel").filter(|channel| *channel == "console").map(|_| id));
    let address =
        address.map(|address| AddressInput { channel: form.owned("channel"), address: Some(address.to_owned()) });
    let input = UserInput {
        timezone: form.owned("timezone"),
        language: form.owned("language"),
        addresses: address.map(|address| vec![address]),
        ..UserInput::default()
    };
    let refusal = match v.client.if_seen(None)?.put_user(id, &input).await {
        Ok(user) => {
            return Ok(Flash::done(v.m.say(t::CREATED, &[("name", &user.id)])).then(&of_person(&user.id)));
        }
        Err(failure) if failure.is_overtaken() => Refusal::at("new", &form, "name", v.m.t(t::TAKEN)),
        Err(failure) => Refusal::of(&v.m, "new", &form, failure)?,
    };
    Ok((refusal.status(), render(&v, Some(&refusal)).await?).into_response())
}

/// What the page shows.
struct People {
    users: Vec<User>,
    next: Option<String>,
    groups: Vec<Group>,
    silences: Vec<Silence>,
    server_zone: Zone,
    channels: Vec<String>,
    reaches: Reaches,
}

/// The page, also for a form of it that was refused.
pub(super) async fn render(v: &Viewer, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    if v.caller.is_bound {
        return Ok(leads(&of_person(&v.caller.user)));
    }
    let m = &v.m;
    let cursor = parts::asked(v, "cursor");
    let (page, all) =
        (PageQuery { limit: Some(PAGE), cursor: cursor.clone() }, PageQuery { limit: Some(LOOKED_AT), cursor: None });
    let silent = SilenceQuery { limit: Some(LOOKED_AT), ..SilenceQuery::default() };
    let asked = join4(v.client.users(&page), v.client.groups(&all), v.client.silences(&silent), v.client.settings());
    let ((users, groups, silences, settings), channels) = futures_util::future::join(asked, v.client.channels()).await;
    let users = users?;
    let reaches = Reaches::of(v, users.users.iter().map(|user| user.id.as_str())).await;
    let people = People {
        users: users.users,
        next: users.next_cursor,
        groups: groups?.groups,
        silences: silences?.silences,
        server_zone: Zone::named(&settings?.timezone).unwrap_or_else(|_| Zone::utc()),
        channels: channels
            .map(|channels| channels.channels.into_iter().map(|channel| channel.name).collect())
            .unwrap_or_default(),
        reaches,
    };
    let may_write = v.may(Scope::Write);
    let is_empty = people.users.is_empty() && cursor.is_none();
    let new = new_person(v, &people.channels, is_empty, refusal);
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::INTRO)) }
        @if is_empty {
            (parts::empty(Empty { title: &m.t(t::EMPTY_TITLE), what_for: &m.t(t::EMPTY), example: if may_write { new } else { html! {} } }))
        } @else {
            @if may_write { (parts::unfold("new", &m.t(t::NEW), Tried::of("new", refusal).is_refused(), &new)) }
            ul.rows #people data-live="user. silence. group." data-each-minute { @for user in &people.users { (row(v, user, &people)) } }
            (parts::more(m, "/people", &[], cursor.as_deref(), people.next.as_deref()))
        }
        (groups_section(v, &people.groups, refusal))
    };
    Ok(v.page(Place::People, &m.t(t::TITLE), &main))
}

fn row(v: &Viewer, user: &User, people: &People) -> Markup {
    let m = &v.m;
    let zone =
        user.timezone.as_deref().and_then(|zone| Zone::named(zone).ok()).unwrap_or_else(|| people.server_zone.clone());
    let silences = silences_of(&user.id, &people.silences, &people.groups);
    let reach = people.reaches.get(&user.id);
    let shape = Peace::now(Some(user), reach, &silences, &zone, m.now).shape(m);
    let tags =
        silences.iter().filter(|silence| silence.tag.is_some() && silence.from <= m.now && silence.until > m.now);
    let mut channels: Vec<&str> = user.addresses.iter().map(|address| address.channel.as_str()).collect();
    channels.dedup();
    let groups: Vec<&Group> = people.groups.iter().filter(|group| group.users.contains(&user.id)).collect();
    let n_more_groups = groups.len().saturating_sub(GROUPS_NAMED);
    html! {
        li {
            span.dot.(shape.class) aria-hidden="true" { (shape.mark) }
            a.what href=(of_person(&user.id)) { (user.id) @if user.admin { small { (m.t(t::ADMIN)) } } }
            span.when { time datetime=(m.now) { (m.time_in(m.now, zone.rules())) } " · " (zone.name()) }
            p.sub {
                @if let Some(language) = &user.language { span { (language_name(language)) } " · " }
                @if channels.is_empty() { (m.t(reach.without_address())) } @else { (channels.join(", ")) }
                @for group in groups.iter().take(GROUPS_NAMED) { " · " a href=(super::of_group(&group.name)) { (group.name) } }
                @if n_more_groups > 0 { " · " (m.say(t::MORE_GROUPS, &[("n", &m.number(n_more_groups as u64))])) }
            }
            span.do {
                (parts::state(&shape))
                @for silence in tags {
                    " · " (m.say(t::SILENT_TAG, &[("tag", silence.tag.as_deref().unwrap_or_default()), ("when", &m.instant(silence.until))]))
                }
            }
        }
    }
}

/// The form for somebody new. On an empty page it is filled in with an example that works.
fn new_person(v: &Viewer, channels: &[String], is_example: bool, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("new", refusal);
    let example = |text: &str| if is_example { text.to_owned() } else { String::new() };
    let name = example(&m.t(t::NAME_EXAMPLE));
    let zone = example(m.zone.name());
    parts::form(
        v,
        "/people",
        html! {
            (tried.alert(m, &["id", "name", "timezone", "language", "addresses", "channel", "address"]))
            div.fields {
                (tried.field(&Field { name: "name", label: &m.t(t::NAME), value: &name, hint: Some(&m.t(t::NAME_HINT)), is_required: true, ..Field::default() }))
                (tried.field(&Field { name: "timezone", label: &m.t(t::ZONE), value: &zone, list: Some("zones"), example: Some("Europe/Zagreb"), ..Field::default() }))
                (tried.select("language", &m.t(t::LANGUAGE), if is_example { m.tag() } else { "" }, &languages(m.t(t::AS_SERVER).into_owned()), None))
                (channel_field(v, tried, channels))
                (tried.field(&Field { name: "address", label: &m.t(t::ADDRESS), value: &name, hint: Some(&m.t(t::ADDRESS_HINT)), ..Field::default() }))
            }
            (zones())
            div.buttons { button.main type="submit" { (m.t(forms::CREATE)) } }
        },
    )
}

/// The choice of a channel.
pub(super) fn channel_field(v: &Viewer, tried: Tried<'_>, channels: &[String]) -> Markup {
    let choices: Vec<(&str, String)> = channels.iter().map(|name| (name.as_str(), name.clone())).collect();
    let first = channels.iter().find(|name| *name == "console").or(channels.first()).map_or("", String::as_str);
    tried.select("channel", &v.m.t(t::CHANNEL), first, &choices, None)
}

/// The languages of messages, each by its own name.
pub(super) fn languages(none: String) -> [(&'static str, String); 9] {
    let [en, de, hr, sr, sr_cyrl, bs, es, fr] =
        ["en", "de", "hr", "sr", "sr-Cyrl", "bs", "es", "fr"].map(|tag| (tag, language_name(tag).to_owned()));
    [("", none), en, de, hr, sr, sr_cyrl, bs, es, fr]
}

pub(super) fn language_name(tag: &str) -> &str {
    match tag {
        "en" => "English",
        "de" => "Deutsch",
        "hr" => "Hrvatski",
        "sr" => "Srpski",
        "sr-Cyrl" => "Српски",
        "bs" => "Bosanski",
        "es" => "Español",
        "fr" => "Français",
        other => other,
    }
}

/// Suggestions for zones; any other may be written as well, and a misspelt one is answered with the nearest.
pub(super) fn zones() -> Markup {
    const ZONES: [&str; 32] = [
        "Europe/Zagreb",
        "Europe/Belgrade",
        "Europe/Sarajevo",
        "Europe/Berlin",
        "Europe/Vienna",
        "Europe/Zurich",
        "Europe/London",
        "Europe/Paris",
        "Europe/Madrid",
        "Europe/Rome",
        "Europe/Warsaw",
        "Europe/Athens",
        "Europe/Helsinki",
        "Europe/Kyiv",
        "Europe/Istanbul",
        "Europe/Moscow",
        "Africa/Cairo",
        "Africa/Johannesburg",
        "Asia/Dubai",
        "Asia/Kolkata",
        "Asia/Singapore",
        "Asia/Shanghai",
        "Asia/Tokyo",
        "Australia/Sydney",
        "Pacific/Auckland",
        "America/Sao_Paulo",
        "America/New_York",
        "America/Chicago",
        "America/Denver",
        "America/Los_Angeles",
        "America/Mexico_City",
        "UTC",
    ];
    html! { datalist #zones { @for zone in ZONES { option value=(zone) {} } } }
}

fn groups_section(v: &Viewer, groups: &[Group], refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("group", refusal);
    html! {
        section aria-labelledby="groups" {
            h2 #groups { (m.t(t::GROUPS)) }
            @if groups.is_empty() { p { (m.t(tg::WHAT)) } }
            ul.rows { @for group in groups.iter().take(GROUPS_SHOWN) { (groups::row(m, group)) } }
            @if v.may(Scope::Write) { (parts::unfold("new-group", &m.t(tg::NEW), tried.is_refused(), &groups::new_group(v, tried))) }
        }
    }
}
