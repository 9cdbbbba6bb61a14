//! Turns an event of a platform into a reaction, and counts an event that comes twice once.

use std::sync::Arc;
use std::time::Duration;

use jiff::Zoned;
use punctual_core::answer::{Pressed, Verb};
use punctual_core::change::Refused;
use punctual_core::channel::receive::{Became, Inbound, NAME_CHARS_MAX, NotNow, NotTaken, Reaction, Sender, What};
use punctual_core::clock::Random;
use punctual_core::id::OccurrenceId;
use punctual_core::journal::Who;
use punctual_core::occurrence::{Occurrence, State};
use punctual_core::phrase::Lang;
use punctual_core::reach::route;
use punctual_core::rules::sender::{Verdict, may_answer};
use punctual_core::rules::stale::is_stale;
use punctual_core::store::{
    Answerer, By, Came, ChangeError, Changed, PlaceMove, Question, Report, Reported, Said, Seen, StoreError,
};

use super::edit::Editor;
use super::outcome::Outcome;
use super::standing::Standings;
use super::words::{Reply, Words, Written};
use crate::Engine;
use crate::commands::change::Changer;
use crate::commands::finish;
use crate::node::Node;
use crate::system::Runtime;
use crate::timer::Timer;

/// How long a store that cannot be used is tried again. Platforms want an answer within three seconds.
const TRY_FOR: Duration = Duration::from_secs(2);
/// How long it is left alone in between.
const AGAIN_AFTER: Duration = Duration::from_millis(100);

impl Engine {
    /// Takes an event that came to this server by a request of a channel's platform. When it has returned a reaction, what was made of it
    /// survives power loss.
    pub async fn receive(&self, channel: &str, inbound: Inbound) -> Result<Reaction, NotTaken> {
        self.parts.taker.take(channel, inbound, None).await
    }
}

/// Takes events.
pub(crate) struct Taker {
    pub(crate) node: Node,
    pub(crate) changer: Arc<Changer>,
    pub(crate) editor: Arc<Editor>,
    pub(crate) standings: Arc<Standings>,
    pub(crate) timer: Arc<Timer>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) words: Arc<Words>,
}

/// What became of a press that somebody may give.
enum Press {
    Answered,
    /// The run's state does not allow it, or the run is gone.
    Refused(Option<Refused>),
    /// It was taken before.
    Replayed,
}

impl Taker {
    /// Takes an event of `channel`; one that came by a connection names the number under which this node has it.
    pub(crate) async fn take(
        self: &Arc<Self>,
        channel: &str,
        inbound: Inbound,
        lease: Option<u64>,
    ) -> Result<Reaction, NotTaken> {
        let begun_at = self.node.now();
        let (this, name) = (self.clone(), channel.to_owned());
        // The channel that handed it over may go away, as a connection that breaks: the event is taken to its end all the same.
        let work = async move { Ok::<_, StoreError>(this.react(&name, inbound, lease).await) };
        let (reaction, outcome) = match finish(&self.runtime, work).await {
            Ok(taken) => taken,
            Err(_) => (Err(NotTaken::Unavailable), Outcome::Unavailable),
        };
        self.node.metrics.count_inbound(channel, outcome);
        if outcome == Outcome::Answered {
            self.standings.answered(channel);
            let took = self.node.now().duration_since(begun_at);
            self.node.metrics.inbound_seconds.observe(took.as_secs_f64().max(0.0));
        }
        reaction
    }

    /// The reaction, and what was made of the event.
    async fn react(
        &self,
        channel: &str,
        inbound: Inbound,
        lease: Option<u64>,
    ) -> (Result<Reaction, NotTaken>, Outcome) {
        let give_up_at = self.node.clock.run_for() + TRY_FOR;
        loop {
            let failed = match &inbound.what {
                What::Press { pressed, message_id } => {
                    match self.press(channel, &inbound, *pressed, message_id.as_deref(), lease).await {
                        Ok((reaction, outcome)) => return (Ok(reaction), outcome),
                        Err(error) => error,
                    }
                }
                What::Words { text, reply_to, about } => {
                    let written = Written {
                        text: text.clone(),
                        user: None,
                        channel: Some(channel.to_owned()),
                        sender: inbound.from.clone(),
                        reply_to: reply_to.clone(),
                        about: *about,
                        at: inbound.at,
                        only: None,
                        channels: Vec::new(),
                        who: who(channel),
                        came: self.came(channel, &inbound, lease),
                    };
                    match self.words.take(&written).await {
                        Ok(reply) if reply.is_unknown => {
                            self.remember_unknown(channel, inbound.from.as_ref());
                            return (Ok(Reaction::Nothing), Outcome::UnknownSender);
                        }
                        Ok(reply) if reply.is_open => {
                            self.ask_beside(channel, &inbound, written);
                            return (Ok(Reaction::Nothing), Outcome::NoAnswer);
                        }
                        Ok(reply) => return reaction(reply),
                        Err(StoreError::Seen) => return (Ok(Reaction::Nothing), Outcome::Replayed),
                        Err(error) => error,
                    }
                }
                What::Report { occurrence, message_id, became } => {
                    match self.report(channel, *occurrence, message_id, became).await {
                        // The platform was faster than the write of what it had answered, and tells it again.
                        Ok(Reported::NotYet) if self.node.clock.run_for() >= give_up_at || self.node.stopping() => {
                            return (Err(NotTaken::Unavailable), Outcome::Unavailable);
                        }
                        Ok(Reported::NotYet) => StoreError::Unavailable("the message is still being sent".into()),
                        Ok(_) => return (Ok(Reaction::Nothing), Outcome::Report),
                        Err(error) => error,
                    }
                }
            };
            match failed {
                StoreError::LeaseLost => return (Err(NotTaken::LeaseLost), Outcome::Unavailable),
                StoreError::Unavailable(_) if self.node.clock.run_for() < give_up_at && !self.node.stopping() => {
                    self.node.clock.pause(AGAIN_AFTER).await;
                }
                error => {
                    self.node.health.failed(&error);
                    return (Err(NotTaken::Unavailable), Outcome::Unavailable);
                }
            }
        }
    }

    /// A button was pressed.
    async fn press(
        &self,
        channel: &str,
        inbound: &Inbound,
        pressed: Pressed,
        message_id: Option<&str>,
        lease: Option<u64>,
    ) -> Result<(Reaction, Outcome), StoreError> {
        let Self { node, .. } = self;
        let Some(sender) = &inbound.from else { return Ok((Reaction::Nothing, Outcome::UnknownSender)) };
        let store = &node.store;
        let about = self.about(pressed).await?;
        let (question, known) = tokio::join!(store.question(about), store.users_at(channel, sender.person.clone()));
        let known = known?;
        let Some(question) = question? else {
            let language = known.first().and_then(|user| user.language.as_ref()?.parse().ok());
            let language = language.unwrap_or(node.settings.language);
            return Ok((Reaction::Already { state: None, edit: None, language }, Outcome::Already));
        };
        let language = self.language(&question);
        let ids: Vec<String> = known.iter().map(|user| user.id.clone()).collect();
        let verdict = may_answer(sender, channel, &question.reminder.user, &question.trail.attempts, &ids);
        let answerer = match verdict {
            Verdict::User(user) => Answerer::User(user),
            Verdict::InGroup => Answerer::Somebody,
            Verdict::Stranger => return Ok((Reaction::NotYours { language }, Outcome::NotYours)),
            Verdict::Unknown => {
                self.remember_unknown(channel, Some(sender));
                return Ok((Reaction::NotYours { language }, Outcome::UnknownSender));
            }
        };
        if inbound.at.is_some_and(|at| is_stale(at, &question.trail)) {
            return Ok((self.already(&question, channel, message_id, language), Outcome::Stale));
        }
        let now = node.now();
        let came = self.came(channel, inbound, lease);
        let said = Said { text: None, channel: Some(channel.to_owned()), name: name_of(sender) };
        let by = By { answerer, said, came, ..By::new(who(channel), now) };
        let id = about;
        let became = match self.changer.change(id.reminder, pressed.change(now), by).await {
            Ok(Changed { occurrence: Some(run), others, .. })
                if run.id == id && !self.editor.edits_in_reply(channel) =>
            {
                // The messages show the answer as soon as they can: the person is told without waiting for that.
                self.editor.show_all(&run, &others);
                let mut after = question;
                after.trail.occurrence = run;
                let until = (pressed.verb == Verb::Snooze).then(|| put_off_until(&after)).flatten();
                return Ok((Reaction::Answered { verb: pressed.verb, until, edit: None, language }, Outcome::Answered));
            }
            Ok(changed) => {
                self.editor.others_changed(&changed);
                Press::Answered
            }
            Err(ChangeError::Refused(refused)) => Press::Refused(Some(refused)),
            Err(ChangeError::NotFound) => Press::Refused(None),
            Err(ChangeError::Store(StoreError::Seen)) => Press::Replayed,
            Err(ChangeError::Store(error)) => return Err(error),
        };
        // The run as it is now, for the messages that show it and for the words of a refusal.
        let after = node.store.question(id).await?.unwrap_or(question);
        Ok(match became {
            Press::Answered => {
                let until = (pressed.verb == Verb::Snooze).then(|| put_off_until(&after)).flatten();
                let edit = self.editor.show_pressed(&after, channel, message_id, true);
                (Reaction::Answered { verb: pressed.verb, until, edit, language }, Outcome::Answered)
            }
            Press::Refused(Some(Refused::SendBegun | Refused::OtherBegun(_))) => {
                (Reaction::NotNow { why: NotNow::BeingSent, language }, Outcome::NotNow)
            }
            Press::Refused(_) => match why_not(&after, pressed.verb) {
                Some(why) => (Reaction::NotNow { why, language }, Outcome::NotNow),
                None => (self.already(&after, channel, message_id, language), Outcome::Already),
            },
            Press::Replayed => (self.already(&after, channel, message_id, language), Outcome::Replayed),
        })
    }

    /// The run that a press is about: of the reminder as a whole its last.
    async fn about(&self, pressed: Pressed) -> Result<OccurrenceId, StoreError> {
        let id = pressed.occurrence;
        if !pressed.is_cancel() {
            return Ok(id);
        }
        let last = self.node.store.occurrences(id.reminder, None, 1).await?.pop();
        Ok(last.map_or(id, |trail| trail.occurrence.id))
    }

    /// Asks for a second opinion on words, beside whatever else comes: others do not wait for it. Where too many are asked for, it is not.
    fn ask_beside(&self, channel: &str, inbound: &Inbound, mut written: Written) {
        let Ok(place) = self.words.opinions.clone().try_acquire_owned() else { return };
        // The connection is read on meanwhile.
        written.came.place = None;
        let (node, words, standings) = (self.node.clone(), self.words.clone(), self.standings.clone());
        let (name, inbound, channel) =
            (channel.to_owned(), inbound.clone(), self.editor.channels.get(channel).cloned());
        self.runtime.spawn(Box::pin(async move {
            let _place = place;
            let reply = match words.ask_about(&written).await {
                Ok(reply) if reply.handled => reply,
                Ok(_) | Err(StoreError::Seen) => return,
                Err(error) => return node.health.failed(&error),
            };
            let (reaction, outcome) = reaction(reply);
            node.metrics.count_inbound(&name, outcome);
            if outcome == Outcome::Answered {
                standings.answered(&name);
            }
            // Where a channel can only speak in its reply, the message alone shows the answer.
            let receives = channel.as_ref().and_then(|channel| channel.receives());
            if let (Some(receives), Ok(reaction)) = (receives, reaction)
                && let Err(error) = receives.react(&inbound, &reaction).await
            {
                tracing::debug!(channel = %name, %error, "a person was not told what became of their answer");
            }
        }));
    }

    /// Remembers somebody whom no user is.
    fn remember_unknown(&self, channel: &str, sender: Option<&Sender>) {
        let address = sender.and_then(|sender| sender.person.first()).map_or("", String::as_str);
        self.standings.unknown(channel, address, self.node.now());
    }

    /// How an event came, for the transaction of what it leads to.
    fn came(&self, channel: &str, inbound: &Inbound, lease: Option<u64>) -> Came {
        let place = lease.zip(inbound.place.clone());
        Came {
            seen: inbound.id.as_ref().map(|id| Seen::new(channel, id, self.node.now())),
            place: place.map(|(lease, text)| PlaceMove { channel: channel.to_owned(), lease, text }),
        }
    }

    /// A platform says what became of a message.
    async fn report(
        &self,
        channel: &str,
        run: OccurrenceId,
        message_id: &str,
        became: &Became,
    ) -> Result<Reported, StoreError> {
        let Self { node, .. } = self;
        let Some(question) = node.store.question(run).await? else { return Ok(Reported::Nothing) };
        let addresses = question.user.map(|user| user.addresses).unwrap_or_default();
        let report = Report {
            run,
            channel: channel.to_owned(),
            message_id: message_id.to_owned(),
            became: became.clone(),
            route: route(&question.reminder, &addresses, &node.settings.default_channel),
            policy: node.settings.retry,
            jitter: self.random.unit(),
        };
        let (said, wakes) = node.store.report(report, node.now()).await?;
        self.timer.wake_at(wakes);
        if said == Reported::Changed {
            node.journal.written();
        }
        Ok(said)
    }

    /// It was answered before, or is over. Its message may not show that yet.
    fn already(&self, question: &Question, channel: &str, message_id: Option<&str>, language: Lang) -> Reaction {
        let edit = self.editor.show_pressed(question, channel, message_id, false);
        Reaction::Already { state: Some(question.trail.occurrence.state.kind()), edit, language }
    }

    fn language(&self, question: &Question) -> Lang {
        let own = question.user.as_ref().and_then(|user| user.language.as_ref()?.parse().ok());
        own.unwrap_or(self.node.settings.language)
    }
}

/// A channel, as the journal names it.
fn who(channel: &str) -> Who {
    Who::from(format!("channel:{channel}").as_str()).via("inbound")
}

/// What a person is told who wrote something, and what was made of it.
fn reaction(reply: Reply) -> (Result<Reaction, NotTaken>, Outcome) {
    let outcome = match (reply.handled, reply.refused) {
        (false, _) => Outcome::NoAnswer,
        (true, None) => Outcome::Answered,
        (true, Some("already_answered" | "cancelled" | "over")) => Outcome::Already,
        (true, Some(_)) => Outcome::NotNow,
    };
    let is_taken = reply.answer.is_some() && reply.refused.is_none();
    let say = reply.say.filter(|_| reply.handled);
    let say = say.map(|text| Reaction::Say { text, choices: reply.choices, is_taken });
    (Ok(say.unwrap_or(Reaction::Nothing)), outcome)
}

/// What the person calls themselves, if it is anything.
pub(super) fn name_of(sender: &Sender) -> Option<String> {
    let name: String = sender.name.trim().chars().take(NAME_CHARS_MAX).collect();
    Some(name).filter(|name| !name.is_empty())
}

/// Until when a run was put off, in its person's zone.
pub(super) fn put_off_until(question: &Question) -> Option<Zoned> {
    let Question { reminder, trail, user } = question;
    let zone = user.as_ref().and_then(|user| user.timezone.as_ref()).unwrap_or(&reminder.timezone);
    let Occurrence { state, due_at, .. } = &trail.occurrence;
    (*state == State::Snoozed).then(|| due_at.to_zoned(zone.rules().clone()))
}

/// Why a run that is still open cannot be answered so; none if it awaits no answer any more.
fn why_not(question: &Question, verb: Verb) -> Option<NotNow> {
    let run = &question.trail.occurrence;
    let is_open = !run.state.is_final() && run.state != State::Snoozed;
    match verb {
        Verb::Snooze if is_open && !question.reminder.snooze_allowed => Some(NotNow::SnoozeNotAllowed),
        _ if is_open => Some(NotNow::NotAsked),
        _ => None,
    }
}
