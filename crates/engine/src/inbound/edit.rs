//! Messages that show what became of their run.
//!
//! After an answer, by whatever door, every message of its run is changed where the platform can: it says done, put off or not needed, and
//! its buttons are gone. This is best effort and never delays an answer. A message that was not changed is when somebody presses
//! one of its buttons.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use punctual_core::answer::Verb;
use punctual_core::channel::receive::{Edit, End, Shows};
use punctual_core::channel::{Message, SendError};
use punctual_core::id::OccurrenceId;
use punctual_core::occurrence::{Attempt, AttemptStatus, Occurrence, State};
use punctual_core::reminder::{Address, Reminder};
use punctual_core::store::{Changed, Question};
use punctual_core::wake::text;

use super::take::put_off_until;
use crate::dispatch::send::fate;
use crate::dispatch::{Channels, Dispatcher};
use crate::node::Node;
use crate::system::Runtime;

/// The last messages of a run are changed, and no more.
const MESSAGES_MAX: usize = 10;
/// More runs than this are not shown at once; their messages stay as they are.
const SHOWN_MAX: usize = 1000;
/// The channel of messages that were left before anybody knew where they are.
const ANY: &str = "any";
/// A platform that asks for a longer wait than this is not asked again.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Changes messages.
pub(crate) struct Editor {
    pub(crate) node: Node,
    pub(crate) channels: Arc<Channels>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) n_shown: AtomicUsize,
}

impl Editor {
    /// Lets the messages of the run that a command was about show what became of it, and those of others who were asked about the same.
    pub(crate) fn changed(self: &Arc<Self>, changed: &Changed) {
        changed.occurrence.iter().chain(&changed.others).for_each(|run| self.show_changed(run));
    }

    /// The same for a run and those of others who were asked about the same.
    pub(crate) fn show_all(self: &Arc<Self>, run: &Occurrence, others: &[Occurrence]) {
        others.iter().chain([run]).for_each(|run| self.show_changed(run));
    }

    /// The same for the messages of others alone.
    pub(crate) fn others_changed(self: &Arc<Self>, changed: &Changed) {
        changed.others.iter().for_each(|run| self.show_changed(run));
    }

    fn show_changed(self: &Arc<Self>, run: &Occurrence) {
        let shows = matches!(
            run.state,
            State::Completed { .. } | State::Dismissed { .. } | State::Snoozed | State::Cancelled { .. }
        );
        let can_edit = || self.channels.values().any(|channel| channel.edits().is_some());
        if shows && run.tries.reached > 0 && can_edit() {
            self.show(run.id);
        }
    }

    /// Lets the messages of a run show what became of it: the pressed one, and with `all` the others. Returns what the pressed message
    /// shows where the reply to the press changes it.
    pub(crate) fn show_pressed(
        self: &Arc<Self>,
        question: &Question,
        channel: &str,
        message_id: Option<&str>,
        all: bool,
    ) -> Option<Box<Edit>> {
        let is_pressed =
            |edit: &Edit| edit.message.to.channel == channel && Some(edit.message_id.as_str()) == message_id;
        let (mut pressed, others): (Vec<Edit>, Vec<Edit>) =
            self.edits(question).into_iter().partition(|edit| is_pressed(edit));
        let in_reply = if self.edits_in_reply(channel) { pressed.pop() } else { None };
        pressed.extend(others.into_iter().filter(|_| all));
        self.begin(pressed);
        in_reply.map(Box::new)
    }

    /// Whether a channel changes the pressed message in its reply to the press.
    pub(crate) fn edits_in_reply(&self, channel: &str) -> bool {
        let receives = self.channels.get(channel).and_then(|channel| channel.receives());
        receives.is_some_and(|receives| receives.edits_in_reply())
    }

    fn show(self: &Arc<Self>, run: OccurrenceId) {
        // Before the store is asked for the messages: while too many are shown already, that would be for nothing.
        let Some(showing) = Showing::begin(self) else { return self.node.metrics.count_edit(ANY, "left") };
        let this = self.clone();
        self.runtime.spawn(Box::pin(async move {
            match this.node.store.question(run).await {
                Ok(Some(question)) => this.edit_all(&this.edits(&question), showing).await,
                Ok(None) => {}
                Err(error) => tracing::debug!(%run, %error, "its messages do not show what became of it"),
            }
        }));
    }

    /// The changes of a run's messages that let them show its answer; none while it awaits one.
    fn edits(&self, question: &Question) -> Vec<Edit> {
        let Some(shows) = shows(question) else { return Vec::new() };
        let is_there = |attempt: &&Attempt| {
            let was_sent = matches!(attempt.status, AttemptStatus::Sent | AttemptStatus::Delivered);
            // A message with several runs in it belongs to the others, too.
            let is_own = attempt.key.is_none();
            was_sent && is_own && self.channels.get(&attempt.channel).is_some_and(|channel| channel.edits().is_some())
        };
        let attempts = question.trail.attempts.iter().rev().filter(is_there).take(MESSAGES_MAX);
        let edit = |attempt: &Attempt| {
            let message_id = attempt.message_id.clone()?;
            Some(Edit { message: self.message(question, attempt), message_id, shows: shows.clone() })
        };
        attempts.filter_map(edit).collect()
    }

    /// The message of an attempt, as it was sent.
    fn message(&self, question: &Question, attempt: &Attempt) -> Message {
        let Question { reminder, trail, user } = question;
        let (id, sent_at) = (trail.occurrence.id, attempt.started_at);
        let to = Address::new(&attempt.channel, &attempt.address);
        let reached = |other: &Attempt| matches!(other.status, AttemptStatus::Sent | AttemptStatus::Delivered);
        let is_first = !trail.attempts.iter().any(|other| other.number < attempt.number && reached(other));
        // Asking once more is not late; and what a snooze has moved since says nothing about then.
        let due_at = if is_first { trail.occurrence.due_at.min(sent_at) } else { sent_at };
        let language = user.as_ref().and_then(|user| user.language.as_ref()?.parse().ok());
        Message {
            occurrence: id,
            attempt: attempt.number,
            reminder: Arc::new(Reminder::clone(reminder)),
            idempotency_key: id.idempotency_key(&to, 0),
            attempt_key: id.attempt_key(&to, attempt.number),
            text: text(reminder, due_at, sent_at),
            language: language.unwrap_or(self.node.settings.language),
            to,
            due_at,
            dated: due_at,
            sent_at,
        }
    }

    /// Changes messages, beside whatever is done.
    fn begin(self: &Arc<Self>, edits: Vec<Edit>) {
        if edits.is_empty() {
            return;
        }
        let Some(showing) = Showing::begin(self) else {
            edits.iter().for_each(|edit| self.node.metrics.count_edit(&edit.message.to.channel, "left"));
            return;
        };
        let this = self.clone();
        self.runtime.spawn(Box::pin(async move { this.edit_all(&edits, showing).await }));
    }

    async fn edit_all(self: &Arc<Self>, edits: &[Edit], _showing: Showing) {
        for edit in edits {
            let outcome = match self.try_edit(edit).await {
                Ok(()) => "edited",
                Err(error) => {
                    let (run, channel) = (edit.message.occurrence, &edit.message.to.channel);
                    tracing::debug!(%run, %channel, %error, "a message does not show what became of its run");
                    "failed"
                }
            };
            self.node.metrics.count_edit(&edit.message.to.channel, outcome);
        }
    }

    /// Changes one message, and once more if the platform asks for a short wait.
    async fn try_edit(self: &Arc<Self>, edit: &Edit) -> Result<(), SendError> {
        match self.edit(edit).await {
            Err(SendError::Throttled { wait, .. }) if wait <= WAIT_MAX && self.node.pause(wait).await => {
                // The run may have been answered again meanwhile.
                let question = self.node.store.question(edit.message.occurrence).await.ok().flatten();
                let is_same = |now: &Edit| now.message.to == edit.message.to && now.message_id == edit.message_id;
                match question.and_then(|question| self.edits(&question).into_iter().find(is_same)) {
                    Some(edit) => self.edit(&edit).await,
                    None => Ok(()),
                }
            }
            said => said,
        }
    }

    async fn edit(self: &Arc<Self>, edit: &Edit) -> Result<(), SendError> {
        let to = &edit.message.to;
        let Some(channel) = self.channels.get(&to.channel) else { return Ok(()) };
        let Some(edits) = channel.edits() else { return Ok(()) };
        // Platforms count a change of a message like a message.
        let user = edit.message.reminder.user.clone();
        let turn = self.dispatcher.take_turn(to.clone(), user, self.node.now()).await?;
        let said = self.dispatcher.sender().edit(edits, edit).await;
        turn.end(fate(&said.clone().map(|()| Default::default())));
        said
    }
}

/// One run whose messages are being changed.
struct Showing(Arc<Editor>);

impl Showing {
    /// `None`: too many are.
    fn begin(of: &Arc<Editor>) -> Option<Self> {
        // It counts itself, and no more when it is dropped.
        let showing = Self(of.clone());
        (of.n_shown.fetch_add(1, Ordering::AcqRel) < SHOWN_MAX).then_some(showing)
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        self.0.n_shown.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What the messages of a run show; nothing while it awaits an answer.
fn shows(question: &Question) -> Option<Shows> {
    let Question { trail, reminder, .. } = question;
    let last = trail.responses.last();
    let end = match &trail.occurrence.state {
        State::Completed { .. } => End::Done,
        // A run that had reached its person when its reminder was cancelled is not asked about any more.
        State::Dismissed { .. } if last.is_some_and(|last| last.verb == Verb::Dismiss) => End::NotNeeded,
        State::Dismissed { .. } | State::Cancelled { .. } => End::Cancelled,
        State::Snoozed => End::Snoozed(put_off_until(question)?),
        State::Unanswered { .. } => End::Unanswered,
        _ => return None,
    };
    let answered = !matches!(end, End::Cancelled | End::Unanswered);
    let of_other = |user: &&String| **user != reminder.user;
    let by = last
        .filter(|_| answered)
        .and_then(|last| last.said.name.clone().or_else(|| last.user.as_ref().filter(of_other).cloned()));
    Some(Shows { end, by })
}
