//! Words that a person wrote: an answer to a reminder, or none.
//!
//! The words come first, because most of what people write is no answer and must cost nothing: only words that answer in some language
//! lead to a look at the store. Words that are not ours are neither kept nor logged.

use std::sync::{Arc, OnceLock, Weak};

use jiff::Timestamp;
use punctual_core::answer::Pressed;
use punctual_core::change::Refused;
use punctual_core::channel::receive::{Choice, Sender};
use punctual_core::decide::inbound::{Scene, Verdict, ended_since, last_said, meant, verdict};
use punctual_core::id::OccurrenceId;
use punctual_core::journal::Who;
use punctual_core::opinion::Opinion;
use punctual_core::phrase::{self, Answer, Lang};
use punctual_core::rules::say::{self, Line};
use punctual_core::rules::sender::{self, may_answer};
use punctual_core::store::{Answerer, By, Came, ChangeError, Question, ReminderView, Said, StoreError};
use punctual_core::zone::Zone;
use tokio::sync::Semaphore;

use super::edit::Editor;
use super::take::name_of;
use crate::Engine;
use crate::commands::change::Changer;
use crate::node::Node;
use crate::parts::Wired;

/// What a person wrote, and who they are.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The words.
    pub text: String,
    /// The user, where the caller knows.
    pub user: Option<String>,
    /// The channel on which it was written, if it is known.
    pub channel: Option<String>,
    /// Who it was there.
    pub sender: Option<Sender>,
    /// The message that it is a reply to, as its platform names it.
    pub reply_to: Option<String>,
    /// The run of that message, where its buttons named it.
    pub about: Option<OccurrenceId>,
    /// When it was written, where the platform says so.
    pub at: Option<Timestamp>,
    /// The only user whose reminders may be answered, if the caller is bound to one.
    pub only: Option<String>,
    /// The channels of the only messages that may be answered, if the caller is bound to some.
    pub channels: Vec<String>,
    /// Through whom it came, for the journal.
    pub who: Who,
    /// How it came, where its platform may give it again.
    pub came: Came,
}

/// What was made of it.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Whether it was about a reminder.
    pub handled: bool,
    /// The answer that was understood.
    pub answer: Option<Answer>,
    /// Until when the run is put off.
    pub until: Option<Timestamp>,
    /// The run that it was about.
    pub about: Option<OccurrenceId>,
    /// Why nothing was changed although it was about a reminder, in one word.
    pub refused: Option<&'static str>,
    /// What to say back, in the person's language.
    pub say: Option<String>,
    /// Buttons under it.
    pub choices: Vec<Choice>,
    /// The reminder that was made of it.
    pub made: Option<Box<ReminderView>>,
    /// Nobody knows who wrote it, and it would have been an answer or a command.
    pub is_unknown: bool,
    /// No language takes it for an answer, and somebody can be asked for a second opinion.
    pub(crate) is_open: bool,
}

/// The person's language and zone, for understanding them and for answering.
struct Ear {
    /// Their own language.
    lang: Option<Lang>,
    zone: Zone,
    now: Timestamp,
}

impl Ear {
    fn of(asked: &[Question], now: Timestamp) -> Self {
        let user = asked.iter().find_map(|question| question.user.as_ref());
        let lang = user.and_then(|user| user.language.as_deref()).and_then(|tag| tag.parse().ok());
        let own = user.and_then(|user| user.timezone.clone());
        let zone = own.or_else(|| asked.first().map(|question| question.reminder.timezone.clone()));
        Self { lang, zone: zone.unwrap_or_else(Zone::utc), now }
    }

    /// What the words answer: in the person's own language, else in any. With the language to answer in.
    fn understand(&self, text: &str) -> Option<(Answer, Lang)> {
        let own = self.lang.and_then(|lang| phrase::answer_in(text, Some(lang), &self.zone, self.now));
        let (answer, said_in) = own.or_else(|| phrase::answer_in(text, None, &self.zone, self.now))?;
        Some((answer, self.lang.unwrap_or(said_in)))
    }

    fn say(&self, line: &Line, question: Option<&Question>, lang: Lang) -> Option<String> {
        let message = question.map_or("", |question| question.reminder.message.as_str());
        Some(say::say(line, message, lang, &self.zone, self.now))
    }
}

/// How many second opinions are asked for at once.
pub(crate) const OPINIONS_MAX: usize = 4;

/// Whether words are short enough to be an answer, and are any.
fn may_be_asked_about(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.len() <= phrase::ANSWER_MAX
}

/// Whether the words answer in some language. It needs to know nobody.
fn may_be_answer(text: &str, now: Timestamp) -> bool {
    let is_answer = |lang| phrase::answer(text, Some(lang), &Zone::utc(), now).is_some();
    [Lang::En, Lang::De, Lang::Hr, Lang::SrCyrl].into_iter().any(is_answer)
}

impl Engine {
    /// Takes what a person wrote. It answers the run that it is about, if it is an answer.
    pub async fn inbound(&self, written: Written) -> Result<Reply, StoreError> {
        let parts = self.parts.clone();
        // A caller that goes away must not leave an answer half taken.
        self.finish(async move {
            match parts.words.take(&written).await? {
                reply if !reply.is_open => Ok(reply),
                open => match parts.words.opinions.try_acquire() {
                    Ok(_place) => parts.words.ask_about(&written).await,
                    Err(_) => Ok(Reply { is_open: false, ..open }),
                },
            }
        })
        .await
    }
}

/// Takes what people write.
pub(crate) struct Words {
    pub(crate) node: Node,
    pub(crate) changer: Arc<Changer>,
    pub(crate) editor: Arc<Editor>,
    /// Gives a second opinion on words that are no answer in any language.
    pub(crate) opinion: Option<Arc<dyn Opinion>>,
    /// The places of those who ask.
    pub(crate) opinions: Arc<Semaphore>,
    /// The engine that these are a part of, for making reminders.
    pub(crate) engine: OnceLock<Weak<Wired>>,
}

impl Words {
    /// What becomes of it. [`StoreError::Seen`]: it was taken before.
    ///
    /// While something awaits an answer, an answer goes first: `cancel` is one.
    pub(crate) async fn take(&self, written: &Written) -> Result<Reply, StoreError> {
        let now = self.node.now();
        let takes_commands =
            written.channel.as_ref().is_some_and(|channel| self.node.settings.commands.contains(channel));
        // A command is about all of a person's reminders, and a caller that is bound to channels sees those of its channels alone.
        let takes_commands = takes_commands && written.channels.is_empty();
        let command = takes_commands.then(|| phrase::command(&written.text)).flatten();
        let is_answer = may_be_answer(&written.text, now);
        let is_open = self.opinion.is_some() && !is_answer && command.is_none() && may_be_asked_about(&written.text);
        if !is_answer && command.is_none() {
            return Ok(Reply { is_open, ..Reply::default() });
        }
        let who = self.who(written).await?;
        if who.users.is_empty() && who.question.is_none() {
            return Ok(Reply { is_unknown: true, ..Reply::default() });
        }
        if is_answer {
            let reply = self.answer(written, &who, now).await?;
            if reply.handled {
                return Ok(reply);
            }
        }
        match (command, who.users.as_slice()) {
            (Some(command), [user]) if !who.is_shared => self.obey(command, written, user, now).await,
            // Whose reminder would it be? Somebody in a group sees and cancels nobody else's.
            _ => Ok(Reply::default()),
        }
    }

    /// Answers the run that the words are about.
    async fn answer(&self, written: &Written, who: &People, now: Timestamp) -> Result<Reply, StoreError> {
        let mut asked = self.asked(written, who, None).await?;
        let mut has_ended = false;
        loop {
            let ear = Ear::of(&asked, now);
            // Without a question the person's language is not known yet: what is not understood now may be then.
            let understood = ear.understand(&written.text);
            let (Some((answer, lang)), false) = (understood, asked.is_empty() && !has_ended) else {
                if has_ended || !asked.is_empty() {
                    return Ok(Reply::default());
                }
                (asked, has_ended) = (self.asked(written, who, Some(ended_since(now))).await?, true);
                continue;
            };
            let scene = scene(written, who);
            let of = |id: OccurrenceId| asked.iter().find(|question| question.trail.occurrence.id == id);
            match verdict(&scene, answer, &asked, has_ended, now) {
                Verdict::NotMine => return Ok(Reply::default()),
                Verdict::LookFurther => {}
                Verdict::Which { runs } => {
                    let runs: Vec<&Question> = runs.into_iter().filter_map(of).collect();
                    return Ok(Reply {
                        handled: true,
                        answer: Some(answer),
                        refused: Some("ambiguous"),
                        say: ear.say(&Line::Which, None, lang),
                        choices: runs.into_iter().map(|question| choice(question, answer, lang, &ear)).collect(),
                        ..Reply::default()
                    });
                }
                Verdict::Say { about, line } => return Ok(said(&ear, line, answer, about, of(about), lang)),
                Verdict::Answer { run, answer: command, line } => {
                    let Some(question) = of(run) else { return Ok(Reply::default()) };
                    let by = by(written, who, question, now);
                    match self.changer.change(run.reminder, command, by).await {
                        Ok(changed) => {
                            self.editor.changed(&changed);
                            return Ok(said(&ear, line, answer, run, Some(question), lang));
                        }
                        Err(ChangeError::NotFound) => return Ok(Reply::default()),
                        Err(ChangeError::Store(error)) => return Err(error),
                        Err(ChangeError::Refused(Refused::SendBegun)) => {
                            return Ok(said(&ear, Line::Busy, answer, run, Some(question), lang));
                        }
                        // Another answer was faster: the run is judged again as it is now.
                        Err(ChangeError::Refused(_)) if !has_ended => {}
                        Err(ChangeError::Refused(_)) => {
                            return Ok(said(&ear, Line::IsOver, answer, run, Some(question), lang));
                        }
                    }
                }
            }
            if has_ended {
                return Ok(Reply::default());
            }
            (asked, has_ended) = (self.asked(written, who, Some(ended_since(now))).await?, true);
        }
    }

    /// Asks for a second opinion on words that no language takes for an answer, if it is clear what they are about. At most
    /// [`OPINIONS_MAX`] are asked for at once: the caller has one of their places.
    pub(crate) async fn ask_about(&self, written: &Written) -> Result<Reply, StoreError> {
        let Some(opinion) = &self.opinion else { return Ok(Reply::default()) };
        let (now, who) = (self.node.now(), self.who(written).await?);
        let asked = self.asked(written, &who, None).await?;
        let scene = scene(written, &who);
        let Some(question) = meant(&scene, &asked) else { return Ok(Reply::default()) };
        let prompt = question.reminder.ack.as_ref().and_then(|ack| ack.prompt.as_deref()).unwrap_or("Done?");
        let Some(answer) = opinion.opinion(prompt, written.text.trim()).await else { return Ok(Reply::default()) };
        let ear = Ear::of(&asked, now);
        let lang = ear.lang.unwrap_or(self.node.settings.language);
        match verdict(&scene, answer, std::slice::from_ref(question), true, now) {
            Verdict::Say { about, line } => Ok(said(&ear, line, answer, about, Some(question), lang)),
            Verdict::Answer { run, answer: command, line } => {
                let mut by = by(written, &who, question, now);
                by.who = by.who.via("opinion");
                match self.changer.change(run.reminder, command, by).await {
                    Ok(changed) => {
                        self.editor.changed(&changed);
                        Ok(said(&ear, line, answer, run, Some(question), lang))
                    }
                    Err(ChangeError::Store(error)) => Err(error),
                    // It was answered meanwhile.
                    Err(ChangeError::Refused(_) | ChangeError::NotFound) => Ok(Reply::default()),
                }
            }
            _ => Ok(Reply::default()),
        }
    }

    /// Who wrote it, as far as that is known.
    async fn who(&self, written: &Written) -> Result<People, StoreError> {
        let is_allowed = |user: &String| written.only.as_ref().is_none_or(|only| only == user);
        let mut who = People::default();
        if let Some(user) = &written.user {
            who.users = vec![user.clone()];
        }
        if let (Some(channel), Some(sender)) = (&written.channel, &written.sender) {
            who.addresses = sender.person.iter().chain(&sender.chat).cloned().collect();
            who.addresses.dedup();
            if written.user.is_none() {
                let at = async |addresses: &[String]| -> Result<Vec<String>, StoreError> {
                    let found = self.node.store.users_at(channel, addresses.to_vec()).await?;
                    Ok(found.into_iter().map(|user| user.id).collect())
                };
                who.known = at(&sender.person).await?;
                who.users.clone_from(&who.known);
                who.is_shared = who.users.len() > 1;
                if who.users.is_empty() && sender.is_group {
                    (who.users, who.is_shared) = (at(&sender.chat).await?, true);
                }
            }
        }
        who.users.retain(is_allowed);
        // The message that was replied to says whose it is, also where its person has no entry.
        if let (Some(run), true) = (written.about, written.sender.is_some() && written.user.is_none()) {
            let question = self.node.store.question(run).await?;
            let may = |question: &Question| who.answerer(written, question).is_some();
            who.question = question.filter(|question| is_allowed(&question.reminder.user) && may(question));
        }
        Ok(who)
    }

    /// The runs that were said to them and that they may answer; with `ended_since` also those that have ended since then.
    async fn asked(
        &self,
        written: &Written,
        who: &People,
        ended_since: Option<Timestamp>,
    ) -> Result<Vec<Question>, StoreError> {
        let mut asked = match who.users.is_empty() {
            true => Vec::new(),
            false => self.node.store.asked(who.users.clone(), ended_since).await?,
        };
        if let Some(question) = &who.question
            && asked.iter().all(|other| other.trail.occurrence.id != question.trail.occurrence.id)
        {
            // It may have been answered since it was loaded.
            asked.extend(self.node.store.question(question.trail.occurrence.id).await?);
        }
        let is_seen = |question: &Question| {
            let mut sent_by = question.trail.attempts.iter().map(|attempt| &attempt.channel);
            written.channels.is_empty() || sent_by.any(|channel| written.channels.contains(channel))
        };
        asked.retain(|question| is_seen(question) && who.answerer(written, question).is_some());
        Ok(asked)
    }
}

/// The people who may have written something.
#[derive(Default)]
struct People {
    /// The users that it may be.
    users: Vec<String>,
    /// Every address that means them or their chat.
    addresses: Vec<String>,
    /// Those of them who have an address of the person's own.
    known: Vec<String>,
    /// They share the address or the chat, so it is not known who of them it was.
    is_shared: bool,
    /// The run whose message was replied to, if they may answer it.
    question: Option<Question>,
}

impl People {
    /// As whom they answer a run; `None`: they may not.
    fn answerer(&self, written: &Written, question: &Question) -> Option<Answerer> {
        let (Some(channel), Some(sender), None) = (&written.channel, &written.sender, &written.user) else {
            // The caller has said who it is.
            return Some(written.user.clone().map_or(Answerer::Caller, Answerer::User));
        };
        let Question { reminder, trail, .. } = question;
        match may_answer(sender, channel, &reminder.user, &trail.attempts, &self.known) {
            sender::Verdict::User(user) => Some(Answerer::User(user)),
            sender::Verdict::InGroup => Some(Answerer::Somebody),
            sender::Verdict::Stranger | sender::Verdict::Unknown => None,
        }
    }
}

fn scene<'a>(written: &'a Written, who: &'a People) -> Scene<'a> {
    Scene {
        channel: written.channel.as_deref(),
        addresses: &who.addresses,
        is_shared: who.is_shared,
        reply_to: written.reply_to.as_deref(),
        about: written.about,
        at: written.at,
    }
}

fn by(written: &Written, who: &People, question: &Question, now: Timestamp) -> By {
    let name = written.sender.as_ref().and_then(name_of);
    By {
        user: Some(question.reminder.user.clone()),
        answerer: who.answerer(written, question).unwrap_or_default(),
        said: Said { text: Some(written.text.clone()), channel: written.channel.clone(), name },
        came: written.came.clone(),
        ..By::new(written.who.clone(), now)
    }
}

/// The reply that says `line` about a run.
fn said(ear: &Ear, line: Line, answer: Answer, about: OccurrenceId, question: Option<&Question>, lang: Lang) -> Reply {
    let refused = match &line {
        Line::Done | Line::DoneLate | Line::Snoozed { .. } | Line::Dismissed => None,
        Line::WasDone { .. } | Line::WasNotNeeded => Some("already_answered"),
        Line::WasCancelled => Some("cancelled"),
        Line::CannotSnooze { .. } => Some("snooze_not_allowed"),
        Line::BadTime => Some("bad_time"),
        Line::Busy => Some("being_sent"),
        _ => Some("over"),
    };
    let until = match &line {
        Line::Snoozed { until } => Some(*until),
        _ => None,
    };
    Reply {
        handled: true,
        answer: Some(answer),
        until,
        about: Some(about),
        refused,
        say: ear.say(&line, question, lang),
        ..Reply::default()
    }
}

/// The button that means this run.
fn choice(question: &Question, answer: Answer, lang: Lang, ear: &Ear) -> Choice {
    let said_at = last_said(question).map(|attempt| attempt.started_at);
    Choice {
        label: say::label(&question.reminder.message, said_at, lang, &ear.zone, ear.now),
        pressed: Pressed::said(answer, question.trail.occurrence.id),
    }
}
