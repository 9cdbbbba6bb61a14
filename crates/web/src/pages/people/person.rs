//! One person, as they are.

use axum::extract::Path;
use axum::response::Response;
use futures_util::future::{join, join4};
use maud::{Markup, html};
use punctual_client::Seen;
use punctual_client::known::Address;
use punctual_client::wire::{Calendar, Group, PageQuery, ReminderQuery, Silence, SilenceQuery, User};
use punctual_time::zone::Zone;

use super::list::{channel_field, language_name, languages, zones};
use super::peace::{Peace, silences_of, stretch};
use super::reach::{Reach, Reaches};
use super::{LOOKED_AT, of_group, of_person};
use crate::layout::Place;
use crate::parts::{self, Entry, Field, Refusal, Shape, Tried};
use crate::texts::{events, forms, people as t, reminders};
use crate::trouble::Trouble;
use crate::viewer::{Scope, Viewer, found};

/// How many of their latest reminders are looked at for tags.
const TAGS_FROM: usize = 100;
const TAGS_SHOWN: usize = 30;
/// How many silences are shown at once: each has a form.
const SILENCES_SHOWN: usize = 20;

/// Everything about a person.
pub(super) struct Person {
    id: String,
    /// Somebody may be reminded without an entry.
    user: Option<User>,
    /// The version of the entry.
    tag: Option<String>,
    zone: Zone,
    server_zone: String,
    groups: Vec<Group>,
    silences: Vec<Silence>,
    calendars: Vec<Calendar>,
    tags: Vec<String>,
    channels: Vec<String>,
    reach: Reach,
}

pub(super) async fn show(v: Viewer, Path(id): Path<String>) -> Result<Response, Trouble> {
    render(&v, &id, None).await
}

/// The page, also for a form of it that was refused.
pub(super) async fn render(v: &Viewer, id: &str, refusal: Option<&Refusal>) -> Result<Response, Trouble> {
    let person = load(v, id).await?;
    Ok(v.page(Place::People, id, &page(v, &person, refusal)))
}

async fn load(v: &Viewer, id: &str) -> Result<Person, Trouble> {
    if v.caller.is_bound && v.caller.user != id {
        return Err(Trouble::NotFound);
    }
    let (groups, silences) = (
        PageQuery { limit: Some(LOOKED_AT), cursor: None },
        SilenceQuery { limit: Some(LOOKED_AT), ..SilenceQuery::default() },
    );
    let reminders = ReminderQuery { user: Some(id.to_owned()), limit: Some(TAGS_FROM), ..ReminderQuery::default() };
    let first =
        join4(v.client.see_user(id), v.client.settings(), v.client.groups(&groups), v.client.silences(&silences));
    let reaches = Reaches::of(v, std::iter::once(id));
    let second = join4(v.client.calendars(id), v.client.reminders(&reminders), v.client.channels(), reaches);
    let ((user, settings, groups, silences), (calendars, reminders, channels, reaches)) = join(first, second).await;
    let (user, settings) = (found(user)?, settings?);
    let (user, tag) = user.map(|Seen { it, tag }| (it, tag)).unzip();
    let zone = user.as_ref().and_then(|user: &User| user.timezone.as_deref()).unwrap_or(&settings.timezone);
    let zone = Zone::named(zone).unwrap_or_else(|_| Zone::utc());
    let mut tags: Vec<String> = reminders?.reminders.iter().flat_map(|reminder| reminder.tags.to_vec()).collect();
    tags.sort();
    tags.dedup();
    tags.truncate(TAGS_SHOWN);
    let channels = channels.map(|channels| channels.channels.into_iter().map(|channel| channel.name).collect());
    Ok(Person {
        id: id.to_owned(),
        zone,
        server_zone: settings.timezone,
        groups: groups?.groups,
        silences: silences?.silences,
        calendars: found(calendars)?.map(|calendars| calendars.calendars).unwrap_or_default(),
        tags,
        channels: channels.unwrap_or_default(),
        reach: reaches.get(id),
        user,
        tag,
    })
}

fn page(v: &Viewer, person: &Person, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let silences = silences_of(&person.id, &person.silences, &person.groups);
    let shape = Peace::now(person.user.as_ref(), person.reach, &silences, &person.zone, m.now).shape(m);
    html! {
        (head(v, person, &shape))
        @if person.user.is_none() { p.card { (m.t(t::NO_ENTRY)) } }
        (addresses(v, person, refusal))
        (quiet(v, person, refusal))
        (pause(v, person, refusal))
        (silence(v, person, &silences, refusal))
        (about(v, person, refusal))
        (belongs(v, person))
        (calendar(v, person, refusal))
        @if v.may(Scope::Write) && person.user.is_some() || v.is_admin() { (leaving(v, person)) }
    }
}

fn head(v: &Viewer, person: &Person, shape: &Shape) -> Markup {
    let m = &v.m;
    let language = person.user.as_ref().and_then(|user| user.language.as_deref());
    let reminders = format!("/reminders?user={}", punctual_client::escaped(&person.id));
    html! {
        @if !v.caller.is_bound { p.crumb { a href="/people" { (m.t(t::TITLE)) } } }
        h1 { (person.id) }
        p.sub #now data-live="user. silence. group." data-each-minute {
            (parts::state(shape)) " · "
            time datetime=(m.now) { (m.say(t::CLOCK, &[("time", &m.time_in(m.now, person.zone.rules()))])) } " · " (person.zone.name())
            @if let Some(language) = language { " · " (language_name(language)) }
            @if person.user.as_ref().is_some_and(|user| user.admin) { " · " (m.t(t::ADMIN)) }
            " · " a href=(reminders) { (m.t(t::REMINDERS)) }
        }
    }
}

/// A form of the page: `what` says which.
fn form(v: &Viewer, person: &Person, what: &str, inside: &Markup) -> Markup {
    parts::form(
        v,
        &of_person(&person.id),
        html! {
            input type="hidden" name="do" value=(what);
            (parts::seen(person.tag.as_deref()))
            (inside)
        },
    )
}

/// A form of one button.
fn button(v: &Viewer, person: &Person, what: &str, name: &str, class: &str, label: &str) -> Markup {
    form(
        v,
        person,
        what,
        &html! {
            input type="hidden" name="name" value=(name);
            button class=(class) type="submit" { (label) }
        },
    )
}

/// What an address is called in a form.
pub(super) fn address_name(address: &Address) -> String {
    format!("{}:{}", address.channel, address.address)
}

fn addresses(v: &Viewer, person: &Person, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let known = person.user.as_ref().map(|user| user.addresses.as_slice()).unwrap_or_default();
    let names: Vec<String> = known.iter().map(address_name).collect();
    let entry = |(address, name): (&Address, &String)| -> (String, Markup) {
        (name.clone(), html! { b { (address.channel) } " " span.mono { (address.address) } })
    };
    let shown: Vec<(String, Markup)> = known.iter().zip(&names).map(entry).collect();
    let entries: Vec<Entry<'_>> = shown.iter().map(|(value, shown)| Entry { value, shown: shown.clone() }).collect();
    let tried = Tried::of("address", refusal);
    html! {
        section aria-labelledby="addresses" {
            h2 #addresses { (m.t(t::ADDRESSES)) }
            @if entries.is_empty() { p { (m.t(person.reach.without_address())) } }
            @else if v.may(Scope::Write) {
                p { (m.t(t::ADDRESSES_WHAT)) @if entries.len() > 1 { " " span.hint { (m.t(forms::SORT_HINT)) } } }
                (form(v, person, "addresses", &parts::order(m, &m.t(t::ADDRESSES), &entries)))
            }
            @else { ol { @for entry in &entries { li { (entry.shown) } } } }
            @if v.may(Scope::Write) {
                (parts::unfold("add-address", &m.t(t::ADD_ADDRESS), tried.is_refused(), &form(v, person, "address", &html! {
                    (tried.alert(m, &["addresses", "channel", "address"]))
                    div.fields {
                        (channel_field(v, tried, &person.channels))
                        (tried.field(&Field { name: "address", label: &m.t(t::ADDRESS), hint: Some(&m.t(t::ADDRESS_HINT)), ..Field::default() }))
                    }
                    div.buttons { button.main type="submit" { (m.t(forms::ADD)) } }
                })))
            }
        }
    }
}

fn quiet(v: &Viewer, person: &Person, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let hours = person.user.as_ref().and_then(|user| user.quiet_hours.as_ref());
    let now = parts::minute_of_day(m.now, person.zone.rules());
    let lets_high = hours.is_some_and(|hours| hours.except.as_str() == "high");
    let is_digest = hours.is_some_and(|hours| hours.digest);
    let said = match hours {
        None => m.t(t::QUIET_NONE).into_owned(),
        Some(hours) => {
            let length = stretch(hours).map_or(0, |stretch| i64::from(stretch.length()) * 60);
            let mut said = m.say(
                t::QUIET_IS,
                &[("from", &hours.from), ("to", &hours.to), ("span", &m.span(length)), ("zone", person.zone.name())],
            );
            let more =
                [Some(if lets_high { t::QUIET_HIGH } else { t::QUIET_CRITICAL }), is_digest.then_some(t::QUIET_DIGEST)];
            for text in more.into_iter().flatten() {
                said = format!("{said} {}", m.t(text));
            }
            said
        }
    };
    let label = m.say(
        t::QUIET_BAR,
        &[("zone", person.zone.name()), ("what", &said), ("time", &m.time_in(m.now, person.zone.rules()))],
    );
    let tried = Tried::of("quiet", refusal);
    let (from, to) = hours.map_or(("22:00", "07:00"), |hours| (&hours.from, &hours.to));
    let choices = [("critical", m.t(t::EXCEPT_CRITICAL).into_owned()), ("high", m.t(t::EXCEPT_HIGH).into_owned())];
    html! {
        section aria-labelledby="quiet" {
            h2 #quiet { (m.t(t::QUIET)) }
            (parts::bar(hours.and_then(stretch), now, &label))
            p { (said) }
            @if v.may(Scope::Write) {
                (parts::unfold("edit-quiet", &m.t(forms::EDIT), tried.is_refused(), &html! {
                    (form(v, person, "quiet", &html! {
                        (tried.alert(m, &["from", "to", "except", "digest"]))
                        div.fields {
                            (tried.field(&Field { name: "from", label: &m.t(t::FROM), value: from, kind: "time", is_required: true, ..Field::default() }))
                            (tried.field(&Field { name: "to", label: &m.t(t::TO), value: to, kind: "time", is_required: true, ..Field::default() }))
                            (tried.select("except", &m.t(t::EXCEPT), if lets_high { "high" } else { "critical" }, &choices, None))
                        }
                        (tried.tick("digest", &m.t(t::DIGEST), is_digest))
                        div.buttons { button.main type="submit" { (m.t(forms::SAVE)) } }
                    }))
                    @if hours.is_some() { (button(v, person, "no-quiet", "", "quiet", &m.t(t::NO_QUIET))) }
                }))
            }
        }
    }
}

fn pause(v: &Viewer, person: &Person, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let until = person.user.as_ref().and_then(|user| user.paused_until).filter(|until| *until > m.now);
    let tried = Tried::of("pause", refusal);
    html! {
        section aria-labelledby="pause" {
            h2 #pause { (m.t(t::PAUSE)) }
            @match until {
                Some(until) => {
                    p { (m.say(t::PAUSED_NOW, &[("name", &person.id), ("when", &m.instant(until))])) " " small { (m.relative(until)) } }
                    @if v.may(Scope::Write) { (button(v, person, "resume", "", "main", &m.t(t::RESUME))) }
                }
                None => {
                    p { (m.t(t::PAUSE_WHAT)) }
                    @if v.may(Scope::Write) {
                        (form(v, person, "pause", &html! {
                            (tried.alert(m, &["paused_until", "until"]))
                            div.line {
                                (tried.field(&Field { name: "paused_until", label: &m.t(t::PAUSE_UNTIL), example: Some(&m.t(t::PAUSE_EXAMPLE)),
                                    hint: Some(&m.t(t::WORDS_HINT)), is_required: true, ..Field::default() }))
                                button type="submit" { (m.t(t::PAUSE_BUTTON)) }
                            }
                        }))
                    }
                }
            }
        }
    }
}

fn silence(v: &Viewer, person: &Person, silences: &[&Silence], refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let tried = Tried::of("silence", refusal);
    let about = |silence: &Silence| match (&silence.tag, &silence.group) {
        (Some(tag), _) => m.say(t::SILENCE_TAG, &[("name", tag)]),
        (None, Some(group)) => m.say(t::SILENCE_GROUP, &[("name", group)]),
        (None, None) => m.t(t::SILENCE_ALL).into_owned(),
    };
    let when = |silence: &Silence| match silence.from > m.now {
        true => m.say(t::SILENCE_SPAN, &[("from", &m.instant(silence.from)), ("until", &m.instant(silence.until))]),
        false => m.say(t::SILENCE_UNTIL, &[("until", &m.instant(silence.until))]),
    };
    let from = parts::asked(v, "silences").and_then(|from| from.parse().ok()).unwrap_or(0);
    let shown: Vec<&Silence> = silences.iter().copied().skip(from).take(SILENCES_SHOWN).collect();
    let next = from + shown.len();
    html! {
        section aria-labelledby="silences" {
            h2 #silences { (m.t(t::SILENCES)) }
            @if silences.is_empty() { p { (m.t(t::SILENCES_WHAT)) } }
            @if silences.len() > SILENCES_SHOWN {
                p.hint { (m.say(events::SHOWN_OF, &[("n", &m.number(shown.len() as u64)), ("all", &m.number(silences.len() as u64))])) }
            }
            ul.rows {
                @for silence in shown {
                    li {
                        span.dot.wait aria-hidden="true" { "⊘" }
                        span.what { (about(silence)) }
                        span.when { (when(silence)) }
                        p.sub { (silence.created_by) }
                        @if v.may(Scope::Write) && (!v.caller.is_bound || silence.user.is_some()) {
                            span.do { (button(v, person, "silence-end", &silence.id, "link", &m.t(t::SILENCE_END))) }
                        }
                    }
                }
            }
            @if next < silences.len() { p { a.button href=(format!("{}?silences={next}#silences", of_person(&person.id))) { (m.t(reminders::MORE)) } } }
            @if v.may(Scope::Write) {
                (parts::unfold("new-silence", &m.t(t::SILENCE_NEW), tried.is_refused(), &form(v, person, "silence", &html! {
                    (tried.alert(m, &["tag", "from", "until"]))
                    div.fields {
                        (tried.field(&Field { name: "tag", label: &m.t(t::TAG), hint: Some(&m.t(t::TAG_HINT)), list: Some("tags"), ..Field::default() }))
                        (tried.field(&Field { name: "from", label: &m.t(t::BEGINS), hint: Some(&m.t(t::BEGINS_HINT)), ..Field::default() }))
                        (tried.field(&Field { name: "until", label: &m.t(t::PAUSE_UNTIL), example: Some(&m.t(t::PAUSE_EXAMPLE)), hint: Some(&m.t(t::WORDS_HINT)), is_required: true, ..Field::default() }))
                    }
                    datalist #tags { @for tag in &person.tags { option value=(tag) {} } }
                    div.buttons { button type="submit" { (m.t(t::SILENCE_BUTTON)) } }
                })))
            }
        }
    }
}

fn about(v: &Viewer, person: &Person, refusal: Option<&Refusal>) -> Markup {
    if !v.may(Scope::Write) {
        return html! {};
    }
    let m = &v.m;
    let tried = Tried::of("about", refusal);
    let user = person.user.as_ref();
    let habits = user.map(|user| user.habits.clone()).unwrap_or_default();
    let own = |value: &Option<String>| value.clone().unwrap_or_default();
    let (zone, language) =
        (own(&user.and_then(|user| user.timezone.clone())), own(&user.and_then(|user| user.language.clone())));
    let (morning, evening, day) = (own(&habits.morning), own(&habits.evening), own(&habits.day));
    let weeks = [("", m.t(t::WEEK_MONDAY)), ("sun", m.t(t::WEEK_SUNDAY)), ("sat", m.t(t::WEEK_SATURDAY))]
        .map(|(value, text)| (value, text.into_owned()));
    let first_day = own(&habits.first_day_of_week);
    let dates = [("", m.t(t::DATES_ZONE)), ("day_first", m.t(t::DATES_DAY)), ("month_first", m.t(t::DATES_MONTH))]
        .map(|(value, text)| (value, text.into_owned()));
    let escalate: Vec<String> = user
        .map(|user| user.escalate.iter().map(|step| format!("{} {}", step.after.0, step.to)).collect())
        .unwrap_or_default();
    let escalate = escalate.join("\n");
    let hint = m.say(t::ZONE_HINT, &[("zone", &person.server_zone)]);
    let time = |name, label, value: &str, example| {
        tried.field(&Field {
            name,
            label: &m.t(label),
            value,
            kind: "time",
            example: Some(example),
            ..Field::default()
        })
    };
    let inside = form(
        v,
        person,
        "about",
        &html! {
            (tried.alert(m, &["timezone", "language", "morning", "evening", "day", "first_day_of_week", "date_order", "escalate", "admin"]))
            div.fields {
                (tried.field(&Field { name: "timezone", label: &m.t(t::ZONE), value: &zone, hint: Some(&hint), list: Some("zones"), ..Field::default() }))
                (tried.select("language", &m.t(t::LANGUAGE), &language, &languages(m.t(t::AS_SERVER).into_owned()), None))
                (time("morning", t::MORNING, &morning, "07:00"))
                (time("evening", t::EVENING, &evening, "18:00"))
                (time("day", t::DAY, &day, "09:00"))
                (tried.select("first_day_of_week", &m.t(t::WEEK), if first_day == "mon" { "" } else { &first_day }, &weeks, None))
                (tried.select("date_order", &m.t(t::DATES), &own(&habits.date_order), &dates, None))
            }
            @if !v.caller.is_bound {
                (tried.field(&Field { name: "escalate", label: &m.t(t::ESCALATE), value: &escalate, hint: Some(&m.t(t::ESCALATE_HINT)), is_long: true, ..Field::default() }))
                (tried.tick("admin", &m.t(t::IS_ADMIN), user.is_some_and(|user| user.admin)))
            }
            (zones())
            div.buttons { button.main type="submit" { (m.t(forms::SAVE)) } }
        },
    );
    html! {
        section aria-labelledby="about" {
            h2 #about { (m.t(t::ABOUT)) }
            (parts::unfold("edit-about", &m.t(forms::EDIT), tried.is_refused() || person.user.is_none(), &inside))
        }
    }
}

/// Their tags and groups.
fn belongs(v: &Viewer, person: &Person) -> Markup {
    let m = &v.m;
    let groups: Vec<&Group> = person
        .groups
        .iter()
        .filter(|group| group.users.contains(&person.id) || is_on_duty(group, &person.id))
        .collect();
    let tagged = |tag: &str| {
        format!("/reminders?user={}&tag={}", punctual_client::escaped(&person.id), punctual_client::escaped(tag))
    };
    html! {
        @if !person.tags.is_empty() {
            section aria-labelledby="their-tags" {
                h2 #their-tags { (m.t(t::TAGS)) }
                ul.chips aria-label=(m.t(t::TAGS_WHAT)) { @for tag in &person.tags { li { a.chip href=(tagged(tag)) { (tag) } } } }
            }
        }
        @if !v.caller.is_bound {
            section aria-labelledby="their-groups" {
                h2 #their-groups { (m.t(t::GROUPS)) }
                @if groups.is_empty() { p { (m.t(t::NO_GROUPS)) } }
                ul.chips { @for group in groups { li {
                    a.chip href=(of_group(&group.name)) { (group.name) @if is_on_duty(group, &person.id) { small.is.good { "● " (m.t(t::ON_CALL)) } } }
                } } }
            }
        }
    }
}

fn is_on_duty(group: &Group, id: &str) -> bool {
    group.on_duty.as_ref().is_some_and(|people| people.iter().any(|user| user == id))
}

fn calendar(v: &Viewer, person: &Person, refusal: Option<&Refusal>) -> Markup {
    let m = &v.m;
    let address = person.user.as_ref().and_then(|user| user.calendar_url.as_deref());
    let tried = Tried::of("follow", refusal);
    html! {
        section aria-labelledby="calendar" {
            h2 #calendar { (m.t(t::CALENDAR)) }
            p { (m.t(t::CALENDAR_WHAT)) }
            @if let Some(address) = address {
                (parts::unfold("calendar-address", &m.t(t::CALENDAR_SHOW), false, &html! {
                    p.mono.whole { (address) }
                    @if v.may(Scope::Write) { (button(v, person, "calendar-renew", "", "", &m.t(t::CALENDAR_RENEW))) }
                }))
            }
            h2 { (m.t(t::FOLLOWED)) }
            @if person.calendars.is_empty() { p { (m.t(t::FOLLOWED_WHAT)) } }
            ul.rows { @for calendar in &person.calendars { (followed(v, person, calendar)) } }
            @if v.may(Scope::Write) && person.user.is_some() {
                (parts::unfold("follow", &m.t(t::FOLLOW), tried.is_refused(), &form(v, person, "follow", &html! {
                    (tried.alert(m, &["name", "url", "every"]))
                    div.fields {
                        (tried.field(&Field { name: "name", label: &m.t(t::FOLLOW_NAME), example: Some("work"), is_required: true, ..Field::default() }))
                        (tried.field(&Field { name: "url", label: &m.t(t::FOLLOW_URL), example: Some("https://example.org/work.ics"), is_required: true, ..Field::default() }))
                        (tried.field(&Field { name: "every", label: &m.t(t::FOLLOW_EVERY), value: "15m", ..Field::default() }))
                    }
                    div.buttons { button.main type="submit" { (m.t(t::FOLLOW_BUTTON)) } }
                })))
            }
        }
    }
}

fn followed(v: &Viewer, person: &Person, calendar: &Calendar) -> Markup {
    let m = &v.m;
    let read = match (calendar.next_read_at, calendar.read_at) {
        (None, _) => m.t(t::READ_GONE).into_owned(),
        (_, None) => m.t(t::READ_NEVER).into_owned(),
        (_, Some(at)) => m.say(t::READ_AT, &[("when", &m.relative(at))]),
    };
    let is_bad = calendar.problem.is_some() || !calendar.problems.is_empty();
    html! {
        li {
            span.dot.bad[is_bad].good[!is_bad] aria-hidden="true" { @if is_bad { "✕" } @else { "✓" } }
            span.what { (calendar.name) small { (calendar.source) } }
            span.when { (read) " · " (m.say(t::READ_EVERY, &[("span", &m.span(i64::try_from(calendar.every_seconds).unwrap_or(i64::MAX)))])) }
            p.sub.problem[is_bad] {
                @if let Some(problem) = &calendar.problem { (problem) }
                @for problem in calendar.problems.iter().take(3) { " " (problem) }
            }
            @if v.may(Scope::Write) {
                span.do.buttons {
                    (button(v, person, "read", &calendar.name, "link", &m.t(t::READ_NOW)))
                    (button(v, person, "unfollow", &calendar.name, "link", &m.t(forms::REMOVE)))
                }
            }
        }
    }
}

fn leaving(v: &Viewer, person: &Person) -> Markup {
    let m = &v.m;
    let page = of_person(&person.id);
    html! {
        section aria-labelledby="leave" {
            h2 #leave { (m.t(t::LEAVE)) }
            div.buttons {
                @if person.user.is_some() && v.may(Scope::Write) { a.button href=(format!("{page}/delete")) { (m.t(t::DELETE)) } }
                @if v.is_admin() { a.button href=(format!("{page}/erase")) { (m.t(t::ERASE)) } }
            }
        }
    }
}
