//! Channels: how each does, how much it may send, what is left alone and why, dead addresses, and a test with the platform's answer.

use axum::Router;
use axum::extract::{Path, Query};
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use punctual_client::known::SendOutcome;
use punctual_client::wire::{
    Channel, Channels, DeadAddresses, Gate, Outcomes, PageQuery, Receives, Revive, Test, Tested, Word,
};
use serde::Deserialize;

use crate::Web;
use crate::flash::Flash;
use crate::layout::Place;
use crate::manner::Manner;
use crate::parts::{self, Empty, Field, Shape};
use crate::texts::channels as t;
use crate::trouble::Trouble;
use crate::viewer::{Posted, Scope, Viewer, refused};

/// How many dead addresses are shown at once.
const DEAD_SHOWN: usize = 50;

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/channels", get(show))
        .route("/channels/test", post(test_named))
        .route("/channels/{name}/test", post(test))
        .route("/channels/{name}/revive", post(revive))
}

#[derive(Deserialize)]
struct Asked {
    /// Where the list of dead addresses goes on.
    dead: Option<String>,
}

async fn show(Query(asked): Query<Asked>, v: Viewer) -> Result<Response, Trouble> {
    if v.may(Scope::SendTest) && !v.may(Scope::Read) {
        return Ok(test_alone(&v));
    }
    let page = v.client.channels().await?;
    let dead = match v.is_admin() {
        true => Some(v.client.dead_addresses(&PageQuery { limit: Some(DEAD_SHOWN), cursor: asked.dead }).await?),
        false => None,
    };
    let m = &v.m;
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        @if let (Some(node), Some(since)) = (&page.node, page.since) {
            p.sub { (m.say(t::SUB, &[("node", node), ("since", &m.instant(since))])) }
        }
        @for warning in &page.warnings { p.warning { (warning) } }
        div #channels data-live="channel. attempt.failed reminder.failed" data-each-minute {
            @for channel in &page.channels { (card(&v, channel)) }
        }
        @if let Some(dead) = &dead { (dead_addresses(&v, dead)) }
        @if is_bare(&page) { (teach(&v)) }
    };
    Ok(v.page(Place::Channels, &m.t(t::TITLE), &main))
}

/// Whether there is nothing but what is always there.
fn is_bare(page: &Channels) -> bool {
    page.channels.iter().all(|channel| matches!(&*channel.kind, "console" | "webhook" | "webpush"))
}

fn teach(v: &Viewer) -> Markup {
    let m = &v.m;
    let example = "[channels.family]\nkind = \"telegram\"\ntoken_file = \"/run/secrets/telegram\"";
    parts::empty(Empty {
        title: &m.t(t::ADD_TITLE),
        what_for: &m.t(t::ADD),
        example: html! { pre tabindex="0" { (example) } },
    })
}

/// How a channel does: a shape and a word.
fn health(v: &Viewer, channel: &Channel, outcomes: &Outcomes) -> Shape {
    let m = &v.m;
    let (sent, failed) = (outcomes.sent, outcomes.failed);
    let is_closed = channel.closed.as_ref().is_some_and(|closed| !closed.is_empty());
    let (mark, word, class) = match (sent, failed) {
        (0, 0) if !is_closed => ("○", t::UNUSED, ""),
        (_, 0) if !is_closed => ("✓", t::WELL, "good"),
        (0, _) => ("✕", t::FAILING, "bad"),
        _ => ("!", t::TROUBLED, "wait"),
    };
    Shape { mark, word: m.t(word).into_owned(), class }
}

fn card(v: &Viewer, channel: &Channel) -> Markup {
    let m = &v.m;
    let limits = [
        channel.rate.as_ref().map(|rate| m.say(t::TO_RECEIVER, &[("rate", rate)])),
        channel.address_rate.as_ref().map(|rate| m.say(t::TO_ADDRESS, &[("rate", rate)])),
        Some(m.say(t::AT_ONCE, &[("n", &m.number(channel.concurrency as u64))])),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    html! {
        section.card aria-labelledby=(format!("channel-{}", channel.name)) {
            div.head {
                h2 id=(format!("channel-{}", channel.name)) { (channel.name) @if channel.kind != channel.name { " " small { (channel.kind) } } }
                // Whoever sees one person's things alone sees no traffic, and so not how the channel does.
                @if let Some(outcomes) = &channel.outcomes { (parts::state(&health(v, channel, outcomes))) }
            }
            @if channel.default { p.hint { (m.t(t::DEFAULT)) } }
            dl.facts {
                @if let Some(outcomes) = &channel.outcomes {
                    dt { (m.t(t::LAST_HOUR)) } dd { (m.say(t::SENT_FAILED, &[("sent", &m.number(outcomes.sent)), ("failed", &m.number(outcomes.failed))])) }
                    dt { (m.t(t::LAST_MINUTE)) } dd { (last_minute(m, channel, outcomes)) }
                }
                dt { (m.t(t::RATE)) } dd { (limits.join(", ")) }
                @if let (Some(sending), Some(waiting)) = (channel.sending, channel.waiting) {
                    dt { (m.t(t::NOW)) } dd { (m.say(t::SENDING_WAITING, &[("sending", &m.number(sending as u64)), ("waiting", &m.number(waiting as u64))])) }
                }
                @if let Some((error, at)) = channel.outcomes.as_ref().and_then(|all| all.error.as_ref().zip(all.failed_at)) {
                    dt { (m.t(t::LAST_ERROR)) } dd { (error) " " small { (parts::instant(m, at)) } }
                }
                @if let Some(closed) = channel.closed.as_ref().filter(|closed| !closed.is_empty()) {
                    dt { (m.t(t::CLOSED)) } dd { ul.plain { @for gate in closed.iter().take(20) { (of_gate(v, gate)) } } }
                }
                @if let Some(receives) = &channel.receives { dt { (m.t(t::ANSWERS)) } dd { (of_receives(v, receives)) } }
                @if let Some(n) = channel.dead.filter(|n| *n > 0) {
                    dt { (m.t(t::DEAD)) } dd { a href="#dead" { (m.say(t::DEAD_N, &[("n", &m.number(n as u64))])) } }
                }
            }
            @if v.may(Scope::SendTest) { (test_form(v, channel)) }
        }
    }
}

/// How much was sent in a minute, of how much may be sent to one receiver in one.
fn last_minute(m: &Manner, channel: &Channel, outcomes: &Outcomes) -> String {
    let n = m.number(outcomes.last_minute);
    match channel.rate.as_deref().and_then(per_minute) {
        Some(limit) => m.say(t::OF_LIMIT, &[("n", &n), ("m", &m.number(limit))]),
        None => m.say(t::SENDS, &[("n", &n)]),
    }
}

/// How many a rate such as `30/1s` or `5/500ms` allows in a minute.
fn per_minute(rate: &str) -> Option<u64> {
    let (n, per) = rate.split_once('/')?;
    let millis: u64 = match per.strip_suffix("ms") {
        Some(millis) => millis.parse().ok()?,
        None => per.strip_suffix('s')?.parse::<u64>().ok()?.checked_mul(1000)?,
    };
    n.parse::<u64>().ok()?.checked_mul(60_000)?.checked_div(millis)
}

fn of_gate(v: &Viewer, gate: &Gate) -> Markup {
    let m = &v.m;
    let why = match &*gate.why {
        "throttled" => m.t(t::THROTTLED).into_owned(),
        "broken" => m.say(t::BROKEN, &[("n", &m.number(u64::from(gate.failures)))]),
        _ => m.t(t::TRYING).into_owned(),
    };
    html! { li { (gate.to) ": " (why) @if let Some(until) = gate.until { " " (m.say(t::UNTIL, &[("when", &m.instant(until))])) } } }
}

fn of_receives(v: &Viewer, receives: &Receives) -> Markup {
    let m = &v.m;
    let state = match &*receives.state {
        "connected" => m.t(t::CONNECTED),
        "connecting" => m.t(t::CONNECTING),
        "elsewhere" => m.t(t::CONNECTED_ELSEWHERE),
        "refused" => m.t(t::CONNECTION_REFUSED),
        "listening" => m.t(t::LISTENING),
        other => other.into(),
    };
    html! {
        @if let Some(answers) = receives.answers {
            (m.say(t::ANSWERS_TAKEN, &[("state", &state), ("n", &m.number(answers))]))
        } @else { (state) }
        @if let Some(node) = &receives.node { " " small { (node) } }
        @if let Some(error) = &receives.error { br; span.problem { (error) } }
    }
}

/// For a key that may send tests and see nothing: it names the channel itself.
fn test_alone(v: &Viewer) -> Response {
    let m = &v.m;
    let tried = parts::Tried::of("test", None);
    let main = html! {
        h1 { (m.t(t::TITLE)) }
        p.sub { (m.t(t::TEST_ALONE)) }
        (parts::form(v, "/channels/test", html! {
            div.fields {
                (tried.field(&Field { name: "channel", label: &m.t(t::CHANNEL), is_required: true, ..Field::default() }))
                (tried.field(&Field { name: "address", label: &m.t(t::ADDRESS), hint: Some(&m.t(t::ADDRESS_HINT)), ..Field::default() }))
                (tried.field(&Field { name: "message", label: &m.t(t::MESSAGE), example: Some(&m.t(t::MESSAGE_HINT)), ..Field::default() }))
            }
            div.buttons { button.main type="submit" { (m.t(t::TEST)) } }
        }))
    };
    v.page(Place::Channels, &m.t(t::TITLE), &main)
}

fn test_form(v: &Viewer, channel: &Channel) -> Markup {
    let m = &v.m;
    let id = |field: &str| format!("{field}-{}", channel.name);
    html! {
        details id=(id("test")) {
            summary { (m.t(t::TEST)) }
            (parts::form(v, &format!("/channels/{}/test", punctual_client::escaped(&channel.name)), html! {
                div.fields {
                    div {
                        label for=(id("address")) { (m.t(t::ADDRESS)) " " span.hint { (m.t(t::ADDRESS_HINT)) } }
                        input id=(id("address")) name="address" autocomplete="off" spellcheck="false" value=(own_address(v, &channel.name));
                    }
                    div {
                        label for=(id("message")) { (m.t(t::MESSAGE)) }
                        input id=(id("message")) name="message" placeholder=(m.t(t::MESSAGE_HINT));
                    }
                }
                div.buttons { button type="submit" { (m.t(t::TEST)) } }
            }))
        }
    }
}

/// The viewer's own address on a channel, if they have one: the natural place for a test.
fn own_address(v: &Viewer, channel: &str) -> String {
    let addresses = v.user.iter().flat_map(|user| user.addresses.iter());
    addresses.filter(|to| to.channel == channel).map(|to| to.address.clone()).next().unwrap_or_default()
}

#[derive(Deserialize)]
struct Wanted {
    /// Where the path does not name it.
    channel: Option<String>,
    address: String,
    message: String,
}

async fn test(Path(name): Path<String>, Posted { viewer, form }: Posted<Wanted>) -> Result<Response, Trouble> {
    send(&viewer, &name, form).await
}

async fn test_named(Posted { viewer, mut form }: Posted<Wanted>) -> Result<Response, Trouble> {
    let name = form.channel.take().unwrap_or_default();
    send(&viewer, name.trim(), form).await
}

/// Sends a real message, and says what the platform answered.
async fn send(v: &Viewer, name: &str, form: Wanted) -> Result<Response, Trouble> {
    let given = |text: String| Some(text).filter(|text| !text.trim().is_empty());
    let message = given(form.message).unwrap_or_else(|| v.m.t(t::MESSAGE_HINT).into_owned());
    let asked = Test { address: given(form.address), message: Some(message) };
    let back = v.href("/channels");
    Ok(match v.client.test_channel(name, &asked).await {
        Ok(tested) => {
            let (outcome, meaning) = meant(&v.m, &tested);
            let span = v.m.millis(tested.took_ms);
            let text =
                v.m.say(t::TESTED, &[("channel", name), ("outcome", &outcome), ("span", &span), ("said", &meaning)]);
            // What the platform itself says stays in its words.
            let text = match tested.error.or(tested.message_id) {
                Some(said) => v.m.say(t::PLATFORM_SAID, &[("text", &text), ("words", &said)]),
                None => text,
            };
            let flash = if tested.outcome == SendOutcome::Sent { Flash::done(text) } else { Flash::problem(text) };
            flash.then(&back)
        }
        Err(failure) => match refused(&failure) {
            Some(words) => Flash::problem(words).then(&back),
            None => return Err(failure.into()),
        },
    })
}

/// What became of a test, and what that means for reminders.
fn meant(m: &Manner, tested: &Tested) -> (String, String) {
    let (outcome, meaning) = match &tested.outcome {
        Word::Known(SendOutcome::Sent) if tested.dead => (t::WAS_SENT, t::SENT_TO_DEAD),
        Word::Known(SendOutcome::Sent) => (t::WAS_SENT, t::SENT_MEANS),
        Word::Known(SendOutcome::Throttled) => (t::WAS_THROTTLED, t::THROTTLED_MEANS),
        Word::Known(SendOutcome::Unavailable) => (t::WAS_UNAVAILABLE, t::UNAVAILABLE_MEANS),
        Word::Known(SendOutcome::Refused) => (t::WAS_REFUSED, t::REFUSED_MEANS),
        Word::Known(SendOutcome::Gone) => (t::WAS_GONE, t::GONE_MEANS),
        Word::Known(SendOutcome::Unknown) => (t::WAS_UNKNOWN, t::UNKNOWN_MEANS),
        // A newer server's.
        Word::Other(other) => return (other.clone(), tested.meaning.clone()),
    };
    (m.t(outcome).into_owned(), m.t(meaning).into_owned())
}

fn dead_addresses(v: &Viewer, dead: &DeadAddresses) -> Markup {
    let m = &v.m;
    html! {
        section #dead {
            h2 { (m.t(t::DEAD)) }
            @if dead.dead_addresses.is_empty() { p.sub { (m.t(t::NO_DEAD)) } } @else {
                p.sub { (m.t(t::DEAD_WHAT)) }
                ul.rows {
                    @for address in &dead.dead_addresses {
                        li {
                            span aria-hidden="true" { "✕" }
                            span.what { (address.channel) ": " (address.address) }
                            span.when { (parts::instant(m, address.since)) }
                            p.sub { (address.reason) }
                            span.do {
                                (parts::form(v, &format!("/channels/{}/revive", punctual_client::escaped(&address.channel)), html! {
                                    input type="hidden" name="address" value=(address.address);
                                    button.link type="submit" aria-label=(format!("{}: {}", m.t(t::REVIVE), address.address)) { (m.t(t::REVIVE)) }
                                }))
                            }
                        }
                    }
                }
                @if let Some(next) = &dead.next_cursor {
                    p { a href=(v.href(&format!("/channels?dead={}#dead", punctual_client::escaped(next)))) { (m.t(t::MORE)) } }
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Dead {
    address: String,
}

async fn revive(Path(name): Path<String>, Posted { viewer: v, form }: Posted<Dead>) -> Result<Response, Trouble> {
    let back = v.href("/channels");
    Ok(match v.client.revive(&name, &Revive { address: Some(form.address.clone()) }).await {
        Ok(_) => Flash::done(v.m.say(t::REVIVED, &[("address", &form.address)])).then(&back),
        Err(failure) => match refused(&failure) {
            Some(words) => Flash::problem(words).then(&back),
            None => return Err(failure.into()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_said_by_the_minute() {
        for (rate, expect) in
            [("30/1s", Some(1800)), ("20/60s", Some(20)), ("5/500ms", Some(600)), ("1/3600s", Some(0)), ("often", None)]
        {
            assert_eq!(per_minute(rate), expect, "{rate}");
        }
    }
}
