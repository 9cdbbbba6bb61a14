//! Words that a person wrote to an application's own bot: the application asks here before it asks a model.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use punctual_channels::common::buttons;
use punctual_core::channel::receive::Sender;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::phrase::TEXT_MAX;
use punctual_engine::{Reply, Written};

use super::App;
use super::auth::{Caller, Herald, OfChannels};
use super::input::Input;
use super::problem::Problem;
use super::shown;
use crate::wire::{Choice, Heard, InboundInput, Reminder};

/// Takes what a person wrote: an answer to a reminder is recorded.
///
/// Words that are no answer, and a user or an address that is not known, are no error: 200 with `{"handled":false}`, and nothing is kept.
#[utoipa::path(
    post, path = "/v1/inbound", operation_id = "inbound", tag = "answers", request_body = InboundInput,
    responses((status = 200, description = "What was made of it", body = Heard)),
)]
pub(super) async fn take(
    State(app): State<Arc<App>>,
    OfChannels(Herald(caller)): OfChannels<Herald>,
    body: Input,
) -> Result<Response, Problem> {
    let (input, faults) = body.partly::<InboundInput>(&[])?;
    let written = written(input, faults, &caller)?;
    let reply = app.engine.inbound(written).await?;
    let reminder = match &reply.made {
        Some(view) => Some(Box::new(owned(&app.shown_new(view, None).await)?)),
        None => None,
    };
    Ok(shown::answer(StatusCode::OK, &heard(&reply, reminder, &app)))
}

fn written(input: InboundInput, mut faults: Faults, caller: &Caller) -> Result<Written, Problem> {
    let InboundInput { user, channel, address, text, reply_to } = input;
    let missing = || Invalid::missing("text", "send what the person wrote");
    let text = faults.note(text.ok_or_else(missing)).unwrap_or_default();
    if text.len() > TEXT_MAX {
        faults.add(Invalid::new("text", format!("is {} bytes long; at most {TEXT_MAX}", text.len())));
    }
    let text_max = |field: &str, value: &Option<String>| match value {
        Some(value) if value.len() > 2048 => {
            Err(Invalid::new(field, format!("is {} bytes long; at most 2048 are accepted", value.len())))
        }
        _ => Ok(()),
    };
    for (field, value) in [("user", &user), ("channel", &channel), ("address", &address), ("reply_to", &reply_to)] {
        faults.note(text_max(field, value));
    }
    if address.is_some() && channel.is_none() {
        faults.add(Invalid::missing("channel", "an address is one of a channel"));
    }
    if user.is_none() && address.is_none() && caller.bound_to().is_none() {
        faults.add(Invalid::missing("user", "say who wrote it, or send `channel` and `address`"));
    }
    faults.finish()?;
    if !caller.channels().is_empty() && !channel.as_deref().is_some_and(|channel| caller.uses(channel)) {
        let detail = format!("this key may only hand in what was written on {}; say on which", caller.named_channels());
        return Err(Problem::forbidden(detail).at_field("channel"));
    }
    if let Some(user) = &user {
        caller.must_be(user)?;
    }
    let user = user.or_else(|| caller.bound_to().filter(|_| address.is_none()).map(str::to_owned));
    let sender = address.map(|address| Sender {
        person: vec![address.clone()],
        chat: vec![address],
        is_group: false,
        name: String::new(),
    });
    Ok(Written {
        text,
        user,
        channel,
        sender,
        reply_to,
        only: caller.bound_to().map(str::to_owned),
        channels: caller.channels().to_vec(),
        who: caller.who(),
        ..Written::default()
    })
}

/// The reminder as a value of its own.
fn owned(reminder: &Reminder<'_>) -> Result<Reminder<'static>, Problem> {
    let again = serde_json::to_string(reminder).and_then(|json| serde_json::from_str::<Reminder<'static>>(&json));
    again.map_err(|_| Problem::internal("the reminder was made and cannot be shown"))
}

fn heard(reply: &Reply, reminder: Option<Box<Reminder<'static>>>, app: &App) -> Heard {
    let minutes = reply.until.map(|until| until.duration_since(app.now()).as_secs().max(0));
    Heard {
        handled: reply.handled,
        response: reply.answer.map(|answer| answer.word().to_owned()),
        minutes: minutes.and_then(|seconds| u32::try_from((seconds + 30) / 60).ok()),
        until: reply.until,
        reminder_id: reply.about.map(|about| about.reminder.to_string()),
        occurrence_id: reply.about.map(|about| about.to_string()),
        refused: reply.refused.map(str::to_owned),
        say: reply.say.clone(),
        choices: reply
            .choices
            .iter()
            .map(|choice| Choice {
                label: choice.label.clone(),
                data: buttons::data(choice.pressed),
                until: choice.pressed.until,
                occurrence_id: (!choice.pressed.is_cancel()).then(|| choice.pressed.occurrence.to_string()),
                reminder_id: choice.pressed.occurrence.reminder.to_string(),
            })
            .collect(),
        reminder,
    }
}
