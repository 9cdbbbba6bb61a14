//! The ways to reach people.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_core::channel::{SendError, SendOutcome};
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::reminder::Address;
use punctual_engine::{ChannelStanding, ClosedGate, Receiving, Trial};

use super::App;
use super::auth::{Admin, Caller, OfChannels, Tester};
use super::input::{InPath, Input, Params};
use super::problem::Problem;
use super::read;
use super::shown;
use crate::wire::{self, Channels, DeadAddresses, PageQuery, Revive, Revived, Test, Tested};

/// The message of a test that names none.
const TEST_TEXT: &str = "This is a test from punctual.";

/// Lists channels, how much each may send, and what is held back.
#[utoipa::path(
    get, path = "/v1/channels", operation_id = "list_channels", tag = "channels",
    responses((status = 200, description = "All channels", body = Channels)),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    OfChannels(caller): OfChannels<Caller>,
    params: Params,
) -> Result<Response, Problem> {
    params.only(&[])?;
    let default = &app.engine.settings().default_channel.address.channel;
    let sees_all = caller.bound_to().is_none() && !caller.is_bound();
    let dead = app.engine.dead_by_channel();
    let show = |channel: ChannelStanding| {
        let rate = |rate: Option<punctual_core::channel::Rate>| rate.map(|rate| rate.to_string());
        let gate = |gate: ClosedGate| wire::Gate {
            to: gate.to,
            why: gate.why.into(),
            until: gate.until,
            failures: gate.n_failed,
        };
        let receives = app.engine.receiving(&channel.name);
        let outcomes = app.engine.outcomes(&channel.name);
        wire::Channel {
            public_key: (channel.kind == "webpush").then(|| app.webpush_key.clone()),
            receives: receives.map(|receiving| shown_receiving(receiving, sees_all)),
            dead: sees_all.then(|| dead.get(&channel.name).copied().unwrap_or(0)),
            default: channel.name == *default,
            name: channel.name,
            kind: channel.kind.into(),
            concurrency: channel.limits.concurrency,
            rate: rate(channel.limits.rate),
            address_rate: rate(channel.limits.address_rate),
            // How much goes by a channel is everybody's traffic.
            sending: sees_all.then_some(channel.n_sending),
            waiting: sees_all.then_some(channel.n_waiting),
            // Addresses are somebody's: a key of one person does not see them.
            closed: sees_all.then(|| channel.closed.into_iter().map(gate).collect()),
            outcomes: sees_all.then_some(wire::Outcomes {
                sent: outcomes.sent,
                failed: outcomes.failed,
                last_minute: outcomes.last_minute,
                sent_at: outcomes.sent_at,
                failed_at: outcomes.failed_at,
                error: outcomes.error,
            }),
        }
    };
    let channels =
        app.engine.channel_standings().into_iter().filter(|channel| caller.uses(&channel.name)).map(show).collect();
    let warnings = app.local_links.iter().map(|links| links.warning.clone()).collect();
    let node = sees_all.then(|| app.engine.settings().node.clone());
    let since = sees_all.then(|| app.engine.since());
    Ok(shown::answer(StatusCode::OK, &Channels { channels, warnings, node, since, next_cursor: None }))
}

/// How answers come. Addresses are somebody's: a key of one person does not see them, nor what a platform says about its bot.
fn shown_receiving(receiving: Receiving, sees_all: bool) -> wire::Receives {
    let unknown = |(address, at)| wire::UnknownSender { address, at };
    let is_refused = receiving.error.is_some();
    wire::Receives {
        way: receiving.way.as_str().into(),
        state: match receiving.connection {
            Some(link) => link.as_str().into(),
            None if is_refused => "refused".into(),
            None => "listening".into(),
        },
        node: receiving.node.filter(|_| sees_all),
        since: receiving.since,
        error: receiving.error.filter(|_| sees_all),
        answers: sees_all.then_some(receiving.answers),
        unknown_senders: sees_all.then_some(receiving.unknown_senders),
        forged: sees_all.then_some(receiving.forged),
        last_unknown: sees_all.then(|| receiving.last_unknown.into_iter().map(unknown).collect()),
    }
}

/// Sends a real message, and says what became of it.
#[utoipa::path(
    post, path = "/v1/channels/{name}/test", operation_id = "test_channel", tag = "channels", params(("name" = String, Path, description = "The name of a channel")), request_body = Test,
    responses((status = 200, description = "What became of it", body = Tested)),
)]
pub(super) async fn test(
    State(app): State<Arc<App>>,
    OfChannels(Tester(caller)): OfChannels<Tester>,
    InPath(name): InPath<String>,
    body: Input,
) -> Result<Response, Problem> {
    if !caller.uses(&name) {
        return Err(Problem::not_found(format!("this key sees no channel but {}", caller.named_channels())));
    }
    let (asked, mut faults): (Test, Faults) = read::partly(&body.json_or_nothing()?, "the test", &[])?;
    let to = Address::new(name, asked.address.unwrap_or_default());
    let text = asked.message.unwrap_or_else(|| TEST_TEXT.to_owned());
    if text.trim().is_empty() || text.len() > 4096 {
        faults.add(Invalid::new("message", "must be 1 to 4096 bytes long"));
    }
    if !faults.is_empty()
        && let Some(channel) = app.engine.channels().get(&to.channel)
    {
        // The other faults are found as if this field were right.
        faults.note(channel.check_address(&to.address));
    }
    faults.finish()?;
    if let Some(bound) = caller.bound_to() {
        let user = app.engine.store().user(bound).await?;
        if !user.is_some_and(|user| user.addresses.contains(&to)) {
            let detail = format!("this may only test addresses of the user `{bound}`, and this is none of them");
            return Err(match caller.is_bound() {
                true => Problem::not_found(detail),
                false => Problem::forbidden(detail),
            }
            .at_field("address"));
        }
    }
    let trial = match app.engine.try_send(caller.default_user(), &text, to.clone(), caller.who()).await {
        Ok(trial) => trial,
        Err(invalid) if invalid.field == "channel" => return Err(Problem::not_found(invalid.problem)),
        Err(invalid) => return Err(invalid.into()),
    };
    Ok(shown::answer(StatusCode::OK, &told(&trial, to)))
}

fn told(trial: &Trial, to: Address) -> Tested {
    let (outcome, meaning) = match &trial.said {
        Ok(_) if trial.is_dead => (
            SendOutcome::Sent,
            "it was taken; the address counts as dead until `punctual channels revive` brings it back".to_owned(),
        ),
        Ok(_) => (SendOutcome::Sent, "it was taken".to_owned()),
        Err(SendError::Throttled { wait, .. }) => {
            let seconds = wait.as_secs_f64().ceil();
            (
                SendOutcome::Throttled,
                format!("nothing may be sent there for another {seconds} s; reminders wait and lose no attempt"),
            )
        }
        Err(SendError::Unavailable(_)) => (
            SendOutcome::Unavailable,
            "it may work later; a reminder would go another way, and be tried again".to_owned(),
        ),
        Err(SendError::Refused(_)) => {
            (SendOutcome::Refused, "such a message is never taken there; a reminder would go another way".to_owned())
        }
        Err(SendError::Gone(_)) => {
            (SendOutcome::Gone, "the address is dead; reminders would not be sent there again".to_owned())
        }
        Err(SendError::Unknown(_)) => {
            (SendOutcome::Unknown, "it may have arrived; whether a reminder is sent again is its on_unknown".to_owned())
        }
    };
    Tested {
        channel: to.channel,
        address: to.address,
        outcome: outcome.into(),
        meaning,
        error: trial.said.as_ref().err().map(|error| match error {
            // The outcome says it already.
            SendError::Gone(why) => why.clone(),
            error => error.to_string(),
        }),
        message_id: trial.said.as_ref().ok().and_then(|receipt| receipt.message_id.clone()),
        dead: trial.said.is_ok() && trial.is_dead,
        took_ms: trial.took.as_secs_f64() * 1000.0,
    }
}

/// Lists addresses that their platform calls dead.
#[utoipa::path(
    get, path = "/v1/dead-addresses", operation_id = "list_dead_addresses", tag = "channels", params(PageQuery),
    responses((status = 200, description = "A page", body = DeadAddresses)),
)]
pub(super) async fn dead(State(app): State<Arc<App>>, _: Admin, params: Params) -> Result<Response, Problem> {
    let params = params.only(&["limit", "cursor"])?;
    let limit = params.limit()?;
    let after = params.cursor(|text| text.parse::<Address>().ok())?;
    let mut found = app.engine.store().dead_addresses(after, limit + 1).await?;
    let next_cursor =
        shown::cut(&mut found, limit, |dead| format!("{}:{}", dead.address.channel, dead.address.address));
    let show = |dead: punctual_core::store::DeadAddress| {
        let Address { channel, address } = dead.address;
        wire::DeadAddress { channel, address, since: dead.since, reason: dead.reason }
    };
    let dead_addresses = found.into_iter().map(show).collect();
    Ok(shown::answer(StatusCode::OK, &DeadAddresses { dead_addresses, next_cursor }))
}

/// Takes a dead address to be alive again.
#[utoipa::path(
    post, path = "/v1/channels/{name}/revive", operation_id = "revive_address", tag = "channels", params(("name" = String, Path, description = "The name of a channel")), request_body = Revive,
    responses((status = 200, description = "It is used again", body = Revived)),
)]
pub(super) async fn revive(
    State(app): State<Arc<App>>,
    _: Admin,
    InPath(name): InPath<String>,
    body: Input,
) -> Result<Response, Problem> {
    let (asked, mut faults): (Revive, Faults) = read::partly(&body.json()?, "the address", &[])?;
    let missing = || Invalid::missing("address", "write the address that lives again");
    let address = faults.note(asked.address.ok_or_else(missing));
    faults.finish()?;
    let to = Address::new(name, address.unwrap_or_default());
    if !app.engine.revive(&to).await? {
        return Err(Problem::not_found(
            "there is no such dead address; `punctual channels dead` lists them, as does GET /v1/dead-addresses",
        ));
    }
    let Address { channel, address } = to;
    Ok(shown::answer(StatusCode::OK, &Revived { channel, address, revived: true }))
}
