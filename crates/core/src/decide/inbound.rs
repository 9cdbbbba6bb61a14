//! Decides which run a person means who answers in words, and how the run is answered.
//!
//! [`crate::phrase::answer`] understands the words. This module decides which run they are about: the run that was replied to, else the
//! one that was said last. A wrong guess marks a medicine as taken that was not, so of two that were said close together the person is
//! asked which.

use jiff::{SignedDuration, Timestamp};

use crate::answer::SNOOZE_MINUTES;
use crate::change::{Change, LATE_WINDOW, SNOOZE_MAX, snooze_until};
use crate::id::OccurrenceId;
use crate::occurrence::{Attempt, AttemptStatus, State};
use crate::phrase::Answer;
use crate::reminder::ReminderStatus;
use crate::rules::say::Line;
use crate::rules::stale::is_before;
use crate::store::Question;

/// The run that was said last is meant if all others were said longer than this before it.
pub const LATEST_APART: SignedDuration = SignedDuration::from_mins(5);
/// How long after its end a run is still talked about: `done`, said twice, is about the same.
const TALKED_ABOUT_FOR: SignedDuration = SignedDuration::from_mins(10);

/// Where words were said, and to what.
#[derive(Debug, Clone, Default)]
pub struct Scene<'a> {
    /// The channel, if it is known.
    pub channel: Option<&'a str>,
    /// Every address on that channel that means the person, or the chat.
    pub addresses: &'a [String],
    /// Several people share the chat, and it is not known who of them it was: only what was said there can be meant.
    pub is_shared: bool,
    /// The message that they are a reply to, as its platform names it.
    pub reply_to: Option<&'a str>,
    /// The run of that message, where its buttons named it.
    pub about: Option<OccurrenceId>,
    /// When they were said, where the platform says so. A run that was said later is not meant: a platform keeps what people write while
    /// nobody listens, and gives it when somebody does.
    pub at: Option<Timestamp>,
}

/// The decision about words.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// They are not about a reminder.
    NotMine,
    /// They answer this run.
    Answer {
        /// The run.
        run: OccurrenceId,
        /// The command.
        answer: Change,
        /// What is said back when it is done.
        line: Line,
    },
    /// They may answer any of these; the person is asked which.
    Which {
        /// The runs, the one that was said last first.
        runs: Vec<OccurrenceId>,
    },
    /// Nothing is changed, and this is said back.
    Say {
        /// The run that they are about.
        about: OccurrenceId,
        /// What is said.
        line: Line,
    },
    /// They are about no run that waits for an answer. The runs that have ended lately must be loaded, too.
    LookFurther,
}

/// Since when runs that have ended must be loaded after [`Verdict::LookFurther`].
pub fn ended_since(now: Timestamp) -> Timestamp {
    now.checked_sub(LATE_WINDOW).unwrap_or(Timestamp::MIN)
}

/// Decides what `answer`, said at `scene`, is about. `asked` are the runs that were said to the person, the one that was said last first;
/// with `has_ended`, those that have ended lately are among them.
pub fn verdict(scene: &Scene<'_>, answer: Answer, asked: &[Question], has_ended: bool, now: Timestamp) -> Verdict {
    if scene.reply_to.is_some() || scene.about.is_some() {
        return match asked.iter().find(|question| scene.is_reply_to(question)) {
            Some(question) if is_open(question) => of_open(question, answer, now),
            Some(question) => of_ended(question, answer, now, true),
            None if has_ended => Verdict::NotMine,
            None => Verdict::LookFurther,
        };
    }
    let open: Vec<&Question> = asked.iter().filter(|question| is_open(question)).collect();
    let candidates = scene.nearest(&open);
    if let Some(question) = scene.latest(&candidates) {
        return of_open(question, answer, now);
    }
    if !candidates.is_empty() {
        return Verdict::Which { runs: candidates.iter().map(|question| question.trail.occurrence.id).collect() };
    }
    if !has_ended {
        return Verdict::LookFurther;
    }
    let ended: Vec<&Question> = asked.iter().filter(|question| !is_open(question)).collect();
    let verdicts = scene.nearest(&ended).into_iter().map(|question| of_ended(question, answer, now, false));
    let is_mine = |verdict: &Verdict| !matches!(verdict, Verdict::NotMine);
    verdicts.into_iter().find(is_mine).unwrap_or(Verdict::NotMine)
}

/// The one run that words at `scene` can be about, whatever they say: a second opinion is only asked for where nothing is to be guessed.
pub fn meant<'q>(scene: &Scene<'_>, asked: &'q [Question]) -> Option<&'q Question> {
    let open: Vec<&Question> = asked.iter().filter(|question| is_open(question)).collect();
    let candidates = match scene.reply_to.is_some() || scene.about.is_some() {
        true => open.into_iter().filter(|question| scene.is_reply_to(question)).collect(),
        false => scene.nearest(&open),
    };
    <[&Question; 1]>::try_from(candidates).ok().map(|[question]| question)
}

/// The command that answers `run`.
pub fn command(run: OccurrenceId, answer: Answer, now: Timestamp) -> Change {
    let answer = match answer {
        Answer::Ack => Change::Ack,
        Answer::Dismiss => Change::Dismiss,
        Answer::Snooze { until } => Change::Snooze { until: until_of(until, now) },
    };
    Change::AnswerRun { run: run.run, answer: Box::new(answer) }
}

fn until_of(until: Option<Timestamp>, now: Timestamp) -> Timestamp {
    until.unwrap_or_else(|| snooze_until(now, u64::from(SNOOZE_MINUTES)))
}

/// When a run was last said to its person, and where.
pub fn last_said(question: &Question) -> Option<&Attempt> {
    said(question).max_by_key(|attempt| attempt.started_at)
}

/// The attempts by which a run was said to its person.
fn said(question: &Question) -> impl Iterator<Item = &Attempt> {
    let is_said = |attempt: &&Attempt| matches!(attempt.status, AttemptStatus::Sent | AttemptStatus::Delivered);
    question.trail.attempts.iter().filter(is_said)
}

/// Whether the run was said and can still be answered.
fn is_open(question: &Question) -> bool {
    let run = &question.trail.occurrence;
    let was_asked = question.reminder.ack.is_some() && run.tries.reached > 0;
    match run.state {
        State::AwaitingAck { .. } => true,
        State::Processing { .. } | State::PendingRetry { .. } | State::Snoozed => was_asked,
        _ => false,
    }
}

impl Scene<'_> {
    fn is_reply_to(&self, question: &Question) -> bool {
        if let Some(about) = self.about {
            return question.trail.occurrence.id == about;
        }
        let Some(reply_to) = self.reply_to else { return false };
        let is_here = |attempt: &&Attempt| self.channel.is_none_or(|channel| attempt.channel == channel);
        question.trail.attempts.iter().filter(is_here).any(|attempt| {
            let id = attempt.message_id.as_deref();
            // A platform that numbers the messages of each chat by themselves has a receipt of both: `CHAT/ID`.
            id == Some(reply_to) || self.is_at(attempt) && id.is_some_and(|id| ends_with_part(id, reply_to))
        })
    }

    fn is_at(&self, attempt: &Attempt) -> bool {
        self.channel == Some(&attempt.channel) && self.addresses.contains(&attempt.address)
    }

    /// When a run had last been said to its person when the words were, and where.
    fn last_said<'q>(&self, question: &'q Question) -> Option<&'q Attempt> {
        let was_said = |attempt: &&Attempt| !self.at.is_some_and(|at| is_before(at, attempt.started_at));
        said(question).filter(was_said).max_by_key(|attempt| attempt.started_at)
    }

    fn said_at(&self, question: &Question) -> Timestamp {
        self.last_said(question).map_or(Timestamp::MIN, |attempt| attempt.started_at)
    }

    /// The one of these that is meant: the only one, or the one that was said well after all others.
    fn latest<'q>(&self, candidates: &[&'q Question]) -> Option<&'q Question> {
        let last = candidates.iter().max_by_key(|question| self.said_at(question))?;
        let is_apart = |other: &&&Question| self.said_at(last).duration_since(self.said_at(other)) > LATEST_APART;
        let mut others = candidates.iter().filter(|other| other.trail.occurrence.id != last.trail.occurrence.id);
        others.all(|other| is_apart(&other)).then_some(last)
    }

    /// Of those that had been said when the words were: those that were last said in this chat; else those on this channel; else all.
    fn nearest<'q>(&self, asked: &[&'q Question]) -> Vec<&'q Question> {
        let those = |is_near: &dyn Fn(&Attempt) -> bool| -> Vec<&'q Question> {
            asked.iter().copied().filter(|question| self.last_said(question).is_some_and(is_near)).collect()
        };
        let here = those(&|attempt| self.is_at(attempt));
        if !here.is_empty() || self.is_shared {
            return here;
        }
        let on_channel = those(&|attempt| self.channel == Some(&attempt.channel));
        if !on_channel.is_empty() {
            return on_channel;
        }
        let is_later = |question: &Question| self.last_said(question).is_none() && last_said(question).is_some();
        asked.iter().copied().filter(|question| !is_later(question)).collect()
    }
}

fn ends_with_part(id: &str, part: &str) -> bool {
    id.rsplit_once('/').is_some_and(|(_, last)| last == part)
}

/// The verdict on a run that can be answered.
fn of_open(question: &Question, answer: Answer, now: Timestamp) -> Verdict {
    let run = question.trail.occurrence.id;
    let Answer::Snooze { until } = answer else {
        let line = if answer == Answer::Ack { Line::Done } else { Line::Dismissed };
        return Verdict::Answer { run, answer: command(run, answer, now), line };
    };
    if !question.reminder.snooze_allowed {
        let again_at = match question.trail.occurrence.state {
            State::AwaitingAck { ask_again_at, .. } => Some(ask_again_at),
            _ => None,
        };
        return Verdict::Say { about: run, line: Line::CannotSnooze { again_at } };
    }
    let until = until_of(until, now);
    if until <= now || until.duration_since(now) > SNOOZE_MAX {
        return Verdict::Say { about: run, line: Line::BadTime };
    }
    Verdict::Answer { run, answer: command(run, answer, now), line: Line::Snoozed { until } }
}

/// The verdict on a run that has ended, which the words may still be about.
fn of_ended(question: &Question, answer: Answer, now: Timestamp, is_reply: bool) -> Verdict {
    let run = &question.trail.occurrence;
    let (Some(at), about) = (run.state.at(), run.id) else { return Verdict::NotMine };
    let since = now.duration_since(at);
    let is_talked_about = is_reply || since <= TALKED_ABOUT_FOR;
    let say = |line: Line| Verdict::Say { about, line };
    match (&run.state, answer) {
        // A run that had reached its person when its reminder was cancelled is called dismissed.
        (State::Dismissed { .. } | State::Cancelled { .. }, _)
            if is_talked_about && question.reminder.status == ReminderStatus::Cancelled =>
        {
            say(Line::WasCancelled)
        }
        (State::Completed { .. }, _) if is_talked_about => {
            let by = question.trail.responses.last().and_then(|response| response.user.clone());
            say(Line::WasDone { at, by: by.filter(|by| *by != question.reminder.user) })
        }
        (State::Dismissed { .. }, _) if is_talked_about => say(Line::WasNotNeeded),
        (State::Unanswered { .. }, Answer::Snooze { .. }) if since <= LATE_WINDOW => say(Line::IsOver),
        (State::Unanswered { .. }, _) if since <= LATE_WINDOW => {
            let line = if answer == Answer::Ack { Line::DoneLate } else { Line::Dismissed };
            Verdict::Answer { run: about, answer: command(about, answer, now), line }
        }
        (State::Delivered { .. }, Answer::Snooze { .. }) if since <= LATE_WINDOW => of_open(question, answer, now),
        _ => Verdict::NotMine,
    }
}
