//! What can be done to one reminder, from any page: each is a form of its own, and leads back to where it stood.

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use punctual_client::wire::{Answer, ParseInput, Priority, Reading, Reminder, ReminderInput, Schedule, Understood};
use punctual_client::{Failure, escaped};
use serde_json::json;

use super::reminder::render;
use super::reminders::seen;
use super::today::add::{meant_too, why_none};
use crate::Web;
use crate::flash::{Flash, leads};
use crate::parts::{Filled, Refusal};
use crate::texts::{Text, reminders as t, today, trouble};
use crate::trouble::Trouble;
use crate::viewer::{Posted, Viewer, as_it_is, refused};

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/reminders/many", post(many)).route("/reminders/{id}/{verb}", get(back).post(act))
}

/// What a form says about a command.
#[derive(Default)]
struct Act {
    /// For how many minutes, or until when, a run is put off.
    minutes: Option<u32>,
    until: Option<String>,
    /// The run that an answer is about.
    run: Option<u32>,
    /// The next run as the form has shown it: another is not left out in its place.
    next: Option<String>,
}

impl Act {
    fn of(form: &Filled) -> Self {
        Self {
            minutes: form.get("minutes").and_then(|minutes| minutes.parse().ok()),
            until: form.owned("until"),
            run: form.get("run").and_then(|run| run.parse().ok()),
            next: form.owned("next"),
        }
    }
}

/// Leads from the address of a form, which a browser may have kept, to the reminder.
async fn back(v: Viewer, Path((id, _)): Path<(String, String)>) -> Response {
    leads(&v.href(&format!("/reminders/{}", escaped(&id))))
}

/// Does something to a reminder, and says so where the form stood.
async fn act(
    Path((id, verb)): Path<(String, String)>,
    Posted { viewer: mut v, form }: Posted<Filled>,
) -> Result<Response, Trouble> {
    let own = v.href(&format!("/reminders/{id}"));
    let back = form.owned("back").unwrap_or_else(|| own.clone());
    if verb == "edit" {
        return Ok(match edit(&v, &id, &form).await? {
            Ok(flash) => flash.then(&back),
            // Its own page shows the form once more, with what was written in it.
            Err(refusal) => {
                v.here = own;
                (refusal.status(), render(&v, &id, Some(&refusal)).await?).into_response()
            }
        });
    }
    let wish = Act::of(&form);
    Ok(match done(&v, &id, &verb, &wish).await {
        Ok(flash) => flash.then(&back),
        Err(failure) => match refused(&failure) {
            Some(words) => {
                let no_time = no_time(&v, wish.until.as_deref()).await;
                Flash::problem(no_time.unwrap_or_else(|| words.to_owned())).then(&back)
            }
            None => return Err(failure.into()),
        },
    })
}

/// That the words of a snooze that was refused say no time, where they say none.
async fn no_time(v: &Viewer, until: Option<&str>) -> Option<String> {
    let words = until?;
    let asked = ParseInput { text: Some(words.to_owned()), user: Some(v.person.clone()), ..ParseInput::default() };
    let meant = v.client.parse(&asked).await.ok()?;
    let example = v.m.t(today::UNTIL_EXAMPLE);
    let is_none = matches!(meant, Understood::None { .. });
    is_none.then(|| v.m.say(t::NO_TIME, &[("words", words), ("example", &example)]))
}

/// What was done, in a sentence.
fn say(v: &Viewer, text: Text, reminder: &Reminder<'_>) -> String {
    let when = reminder.snoozed_until.or(reminder.next_run_at).map(|at| v.m.instant(at)).unwrap_or_default();
    v.m.say(text, &[("what", &reminder.message), ("when", &when)])
}

/// Until when a run is put off, and when the series goes on meanwhile.
fn snoozed(v: &Viewer, reminder: &Reminder<'_>) -> String {
    let said = say(v, t::DID_SNOOZE, reminder);
    match (reminder.snoozed_until, reminder.next_run_at) {
        (Some(until), Some(next)) if next != until => {
            format!("{said} {}", v.m.say(t::NEXT_RUN, &[("when", &v.m.instant(next))]))
        }
        _ => said,
    }
}

async fn done(v: &Viewer, id: &str, verb: &str, form: &Act) -> Result<Flash, Failure> {
    let any = v.anybody();
    let said = |text, reminder: &Reminder<'_>| say(v, text, reminder);
    let answer = Answer { run: form.run, minutes: form.minutes, until: form.until.clone(), ..Answer::default() };
    Ok(match verb {
        "ack" => Flash::done(said(
            t::DID_ACK,
            &v.client.answer(id, "ack", &any, &Answer { minutes: None, until: None, ..answer }).await?,
        )),
        "dismiss" => {
            let answer = Answer { minutes: None, until: None, ..answer };
            Flash::done(said(t::DID_DISMISS, &v.client.answer(id, "dismiss", &any, &answer).await?))
        }
        "snooze" => Flash::done(snoozed(v, &v.client.answer(id, "snooze", &any, &answer).await?)),
        "pause" => Flash::undoable(said(t::DID_PAUSE, &v.client.command(id, "pause", &any).await?), id, "resume"),
        "resume" => Flash::undoable(said(t::DID_RESUME, &v.client.command(id, "resume", &any).await?), id, "pause"),
        "skip" => match skip(v, id, form.next.as_deref()).await? {
            Some(reminder) => Flash::done(said(t::DID_SKIP, &reminder)),
            None => Flash::problem(v.m.t(t::NEXT_IS_ANOTHER)),
        },
        "fire" => Flash::done(said(t::DID_FIRE, &v.client.command(id, "fire", &any).await?)),
        "resend" => Flash::done(said(t::DID_RESEND, &v.client.command(id, "resend", &any).await?)),
        "undo" => Flash::undoable(said(t::DID_UNDO, &v.client.command(id, "undo", &any).await?), id, "cancel"),
        "cancel" => Flash::undoable(said(t::DID_CANCEL, &v.client.cancel(id, &any).await?), id, "undo"),
        _ => Flash::problem(v.m.t(trouble::NOT_FOUND)),
    })
}

/// Leaves out the next run, or nothing where that is another than the form has shown.
async fn skip(v: &Viewer, id: &str, next: Option<&str>) -> Result<Option<Reminder<'static>>, Failure> {
    let any = v.anybody();
    as_it_is(|| async {
        let now = v.client.see_reminder(id, &any).await?;
        let is_it = next.is_none_or(|next| now.it.next_run_at.is_some_and(|at| at.to_string() == next));
        if !is_it {
            return Ok(None);
        }
        v.client.if_seen(Some(&now.tag))?.command(id, "skip", &any).await.map(Some)
    })
    .await
}

/// Changes the message or the time, if both are as the form has shown them. A run in between changes neither.
async fn edit(v: &Viewer, id: &str, form: &Filled) -> Result<Result<Flash, Refusal>, Trouble> {
    let (input, others) = match edited(v, form).await {
        Ok(Ok(edited)) => edited,
        Ok(Err(reason)) => return Ok(Err(Refusal::at("edit", form, "when", reason))),
        Err(failure) => return Ok(Err(Refusal::of(&v.m, "edit", form, failure)?)),
    };
    let any = v.anybody();
    let changed = as_it_is(|| async {
        let now = v.client.see_reminder(id, &any).await?;
        if form.get("seen").is_some_and(|shown| shown != seen(&now.it)) {
            return Ok(None);
        }
        // A field that the person left as it was changes nothing.
        let priority = input.priority.clone().filter(|priority| *priority != now.it.priority);
        let timezone = input.timezone.clone().filter(|zone| *zone != now.it.timezone);
        let input = ReminderInput { priority, timezone, ..input.clone() };
        v.client.if_seen(Some(&now.tag))?.update(id, &any, &input).await.map(Some)
    });
    Ok(match changed.await {
        Ok(Some(reminder)) => {
            let note = meant_too(&v.m, &others, &reminder.timezone);
            Ok(Flash::done(say(v, t::DID_EDIT, &reminder)).noting(note))
        }
        Ok(None) => Err(Refusal::overtaken(&v.m, "edit", form)),
        Err(failure) => Err(Refusal::of(&v.m, "edit", form, failure)?),
    })
}

/// The change that an edit asks for, and what else its words can mean; or what is not understood of it. A time in words is read as one who
/// makes a reminder says it.
async fn edited(v: &Viewer, form: &Filled) -> Result<Result<(ReminderInput, Vec<Reading>), String>, Failure> {
    let priority = form.get("priority").map(Priority::new);
    let mut input = ReminderInput {
        message: form.owned("message"),
        priority,
        timezone: form.owned("timezone"),
        ..ReminderInput::default()
    };
    let mut others = Vec::new();
    if let Some(when) = form.get("when") {
        let asked = ParseInput { text: Some(when.to_owned()), user: Some(v.person.clone()), ..ParseInput::default() };
        let meant = v.client.parse(&asked).await?;
        others = meant.alternatives().to_vec();
        input.schedule = Some(match meant {
            Understood::Instant { at, .. } | Understood::Duration { at, .. } => {
                Schedule(json!({"type": "once", "at": at}))
            }
            Understood::Interval { from, due, .. } => Schedule(json!({"type": "once", "at": due.unwrap_or(from)})),
            Understood::Recurring { schedule, .. } => schedule,
            Understood::None { reason, .. } => return Ok(Err(why_none(&v.m, &reason))),
            Understood::Other(_) => return Ok(Err(v.m.t(today::NO_TIME).into_owned())),
        });
    }
    Ok(Ok((input, others)))
}

/// Does the same to many: what cannot be done to one leaves the others alone.
async fn many(Posted { viewer: v, form }: Posted<Vec<(String, String)>>) -> Result<Response, Trouble> {
    let value = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let (back, verb) = (value("back").unwrap_or("/reminders").to_owned(), value("verb").unwrap_or_default().to_owned());
    let one = Act { minutes: Some(60), ..Act::default() };
    let (mut did, mut refusals) = (Vec::new(), Vec::new());
    for (_, id) in form.iter().filter(|(key, _)| key == "id").take(500) {
        match done(&v, id, &verb, &one).await {
            // Something else has happened to it meanwhile.
            Ok(flash) if flash.is_problem => refusals.push(flash.text),
            Ok(_) => did.push(id.clone()),
            Err(failure) => match refused(&failure) {
                Some(words) => refusals.push(words.to_owned()),
                None => return Err(failure.into()),
            },
        }
    }
    let (text, back_verb) = match verb.as_str() {
        "pause" => (t::MANY_PAUSED, Some("resume")),
        "resume" => (t::MANY_RESUMED, Some("pause")),
        "skip" => (t::MANY_SKIPPED, None),
        "snooze" => (t::MANY_SNOOZED, None),
        "undo" => (t::MANY_BACK, Some("cancel")),
        _ => (t::MANY_CANCELLED, Some("undo")),
    };
    let n = v.m.number(did.len() as u64);
    let mut said = v.m.say(text, &[("n", &n)]);
    if let Some(why) = refusals.first() {
        let n = v.m.number(refusals.len() as u64);
        said = format!("{said} {}", v.m.say(t::SOME_REFUSED, &[("n", &n), ("why", why)]));
    }
    let flash = match back_verb.filter(|_| !did.is_empty()) {
        Some(verb) => Flash::undoable_many(said, did, verb),
        None => Flash::done(said),
    };
    Ok(Flash { is_problem: !refusals.is_empty(), ..flash }.then(&back))
}
