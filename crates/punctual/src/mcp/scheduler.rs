//! What the tool does: one call of the API after the other, and an answer in words.

use std::cmp::Reverse;

use jiff::Timestamp;
use punctual_client::wire::{Answer as AnswerInput, Reminder, ReminderInput, ReminderQuery, UserQuery};
use punctual_client::{Client, Failure};
use punctual_core::clock::Clock;
use punctual_core::invalid::Invalid;
use punctual_core::zone::Zone;
use reqwest::StatusCode;
use rmcp::model::CallToolResult;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::arguments::{self, Action, Asked, Call, List, New, Verb};
use super::ask::{Answer, Answers, Question};
use super::result::{failed, not_done, refused, result};
use super::say::{self, Here, Said};
use super::understand::Speaker;
use super::{Acting, LIST_MAX};
use crate::when;

/// How many reminders a list has if nobody says.
const LIST_DEFAULT: u32 = 20;
/// What made a reminder, in its own record.
const VIA: &str = "mcp";

/// One call of the tool.
pub(super) struct Scheduler<'a> {
    acting: Acting,
    clock: &'a dyn Clock,
    answers: &'a Answers,
}

/// Why a call has no result yet, or none at all. Nothing was changed, but where it says so.
#[derive(Debug)]
pub(super) enum Stop {
    /// The arguments are wrong.
    Invalid(Invalid),
    /// The API refused, or did not answer.
    Failure(Failure),
    /// The person must be asked.
    Ask(Question),
    /// The person did not want to say.
    Declined,
    /// The first part of a change was made, and the second, which is named, was not.
    Half(&'static str, Failure),
}

impl From<Invalid> for Stop {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(acting: Acting, clock: &'a dyn Clock, answers: &'a Answers) -> Self {
        Self { acting, clock, answers }
    }

    /// Does what the arguments ask for; `Err`: only the person can say what is meant.
    pub(super) async fn call(
        mut self,
        arguments: Map<String, Value>,
        only: Option<Action>,
    ) -> Result<CallToolResult, Question> {
        let action = only.or_else(|| arguments::action_of(&arguments));
        match self.done(arguments, only).await {
            Ok(said) => Ok(result(action, true, said)),
            Err(Stop::Ask(question)) => Err(question),
            Err(Stop::Invalid(invalid)) => Ok(refused(action, Some(&invalid.field), &invalid.to_string())),
            Err(Stop::Failure(failure)) => Ok(failed(action, &failure)),
            Err(Stop::Declined) => Ok(refused(action, None, "the user was asked, and did not want to say")),
            Err(Stop::Half(verb, failure)) => {
                let words = format!("The other changes were made, but the reminder could not be {verb}d: {failure}");
                Ok(not_done(action, None, &words))
            }
        }
    }

    async fn done(&mut self, arguments: Map<String, Value>, only: Option<Action>) -> Result<Said, Stop> {
        let Asked { user, call } = arguments::read(arguments, only)?;
        self.acting.user = match (self.acting.user.take(), user) {
            (Some(fixed), Some(asked)) if fixed != asked => {
                return Err(Invalid::new("user", format!("must be `{fixed}` here; leave it out")).into());
            }
            (fixed, asked) => fixed.or(asked),
        };
        match call {
            Call::Add(new) => self.add(new).await,
            Call::List(list) => self.list(list).await,
            Call::Update { which, change, paused } => self.update(&which, change, paused).await,
            Call::Remove { which } => self.remove(&which).await,
            Call::Answer { verb, which, answer } => self.answer(verb, which.as_deref(), answer).await,
        }
    }

    async fn add(&self, new: New) -> Result<Said, Stop> {
        let New { mut fields, text, when } = new;
        fields.insert("created_via".into(), VIA.into());
        if let Some(user) = &self.acting.user {
            fields.insert("user".into(), user.as_str().into());
        }
        match (when, text) {
            (Some(when), _) => {
                let speaker = Speaker::new(&fields, self.user());
                fields.insert("schedule".into(), self.schedule(when, &speaker).await?);
                fields.remove("lang");
            }
            (None, Some(text)) => self.understand(text, &mut fields).await?,
            // The arguments have one of them.
            (None, None) => {}
        }
        let reminder = self.client().create(&read::<ReminderInput>(fields)?).await?;
        let here = self.here(&reminder).await;
        Ok(Said::about(&format!("Scheduled: {}", say::due(&reminder, &here)), &reminder, &here))
    }

    async fn update(&self, which: &str, change: New, paused: Option<bool>) -> Result<Said, Stop> {
        let reminder = self.find(which).await?;
        let owner = UserQuery::of(Some(&reminder.user));
        let New { mut fields, text, when } = change;
        let speaker = Speaker::of(&reminder, &fields);
        match (when, text) {
            (Some(when), _) => drop(fields.insert("schedule".into(), self.schedule(when, &speaker).await?)),
            (None, Some(text)) => {
                let understood = self.understood(&text, &speaker).await?;
                fields.insert("schedule".into(), self.choice(&understood, "text")?);
                if let Some(rest) = understood["rest"].as_str().filter(|rest| !rest.is_empty()) {
                    fields.entry("message").or_insert_with(|| rest.into());
                }
            }
            (None, None) => {}
        }
        // They say how to read the words, and nothing about the reminder.
        fields.remove("lang");
        fields.remove("original_text");
        let mut changed = reminder;
        let is_whole = fields.is_empty();
        if !is_whole {
            changed = self.client().update(&changed.id, &owner, &read::<ReminderInput>(fields)?).await?;
        }
        let is_paused = changed.status.as_str() == "paused";
        if let Some(paused) = paused.filter(|paused| *paused != is_paused) {
            let verb = if paused { "pause" } else { "resume" };
            let done = self.client().command(&changed.id, verb, &owner).await;
            changed =
                done.map_err(|failure| if is_whole { Stop::Failure(failure) } else { Stop::Half(verb, failure) })?;
        }
        let here = self.here(&changed).await;
        let words = match changed.status.as_str() {
            "paused" => format!("Changed: {}. It is paused: nothing is sent until it is resumed.", changed.summary),
            _ => format!("Changed: {}", say::due(&changed, &here)),
        };
        Ok(Said::about(&words, &changed, &here))
    }

    async fn remove(&self, which: &str) -> Result<Said, Stop> {
        let reminder = self.find(which).await?;
        let cancelled = self.client().cancel(&reminder.id, &UserQuery::of(Some(&reminder.user))).await?;
        let here = self.here(&cancelled).await;
        Ok(Said::about("Cancelled: nothing of it is sent any more.", &cancelled, &here))
    }

    async fn answer(&self, verb: Verb, which: Option<&str>, mut answer: Map<String, Value>) -> Result<Said, Stop> {
        let reminder = match which {
            Some(which) => self.find(which).await?,
            None => self.waiting().await?,
        };
        if let Some(words) = answer.get("until").and_then(Value::as_str)
            && let Some(until) = self.until(words, &Speaker::of(&reminder, &Map::new())).await?
        {
            answer.insert("until".into(), until);
        }
        let owner = UserQuery::of(Some(&reminder.user));
        let answered = self.client().answer(&reminder.id, verb.word(), &owner, &read::<AnswerInput>(answer)?).await?;
        let here = self.here(&answered).await;
        let next = here.next(&answered).map(|next| format!(" Next: {next}.")).unwrap_or_default();
        let words = match verb {
            Verb::Ack => format!("Marked as done.{next}"),
            Verb::Dismiss => format!("Dismissed: this time it is not needed.{next}"),
            Verb::Snooze => match answered.snoozed_until.or(answered.next_run_at) {
                Some(until) => format!("Put off until {}.", here.local(until)),
                None => "Put off.".to_owned(),
            },
        };
        Ok(Said::about(&words, &answered, &here))
    }

    async fn list(&self, list: List) -> Result<Said, Stop> {
        let List { words, status, from, to, tag, limit, cursor } = list;
        let status = match status.as_deref() {
            Some("all" | "any") => None,
            // Whoever looks for words wants to find them, whatever became of them.
            None if words.is_some() => None,
            None => Some("active".to_owned()),
            Some(status) => Some(status.to_owned()),
        };
        let limit = limit.unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX);
        let limit = usize::try_from(limit).ok();
        let query = ReminderQuery { status, from, to, tag, q: words, limit, cursor, ..self.whose() };
        let page = self.client().reminders(&query).await?;
        let mut reminders = page.reminders;
        // Those that come first, first; those that do not come any more last.
        reminders.sort_by_key(|reminder| {
            (reminder.next_run_at.is_none(), reminder.next_run_at, Reverse(reminder.created_at))
        });
        let Some(first) = reminders.first() else {
            let mut said = Said::of("No reminders.");
            said.data.insert("reminders".into(), json!([]));
            return Ok(said);
        };
        let here = self.here(first).await;
        let mut words = match reminders.len() {
            1 => format!("1 reminder. {}", say::NOTE),
            n => format!("{n} reminders. {}", say::NOTE),
        };
        for (n, reminder) in reminders.iter().enumerate() {
            words.push_str(&format!("\n{}. {}", n + 1, say::line(reminder, &here)));
        }
        let mut said = Said::of(words);
        let all: Vec<Value> = reminders.iter().map(|reminder| say::data(reminder, &here)).collect();
        said.data.insert("reminders".into(), all.into());
        if let Some(cursor) = page.next_cursor {
            said.words.push_str("\nThere are more; `next_cursor` begins the next page.");
            said.data.insert("next_cursor".into(), cursor.into());
        }
        Ok(said)
    }

    /// What the person answers to `question`, once they have.
    pub(super) fn ask(&self, question: Question) -> Result<String, Stop> {
        match self.answers.get(question.key()) {
            Some(Answer::Said(said)) => Ok(said.clone()),
            Some(Answer::Declined) => Err(Stop::Declined),
            None => Err(Stop::Ask(question)),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.acting.client
    }

    /// The user that was named.
    pub(super) fn user(&self) -> Option<&str> {
        self.acting.user.as_deref()
    }

    /// Narrows a list down to the user who is meant.
    pub(super) fn whose(&self) -> ReminderQuery {
        self.acting.whose()
    }

    /// Where the user of `reminder` is, and the present. What was done is said also where that cannot be read: then in the reminder's own zone.
    pub(super) async fn here(&self, reminder: &Reminder<'_>) -> Here {
        let now = self.clock.now();
        let here = self.acting.here(Some(&reminder.user), now).await;
        here.unwrap_or_else(|_| Here { zone: when::zone_of(reminder), now })
    }
}

impl Acting {
    /// Narrows a list down to the user who is meant: without a name, the key's own.
    pub(super) fn whose(&self) -> ReminderQuery {
        let mine = self.user.is_none().then_some(true);
        ReminderQuery { user: self.user.clone(), mine, ..ReminderQuery::default() }
    }

    /// The zone of `user`, else the server's.
    pub(super) async fn here(&self, user: Option<&str>, now: Timestamp) -> Result<Here, Failure> {
        let user = match user {
            Some(user) => match self.client.user(user).await {
                Ok(user) => user.timezone,
                // Who has no entry has no zone; a key may also not be allowed to read it.
                Err(failure) if is_unknown(&failure) => None,
                Err(failure) => return Err(failure),
            },
            None => None,
        };
        let name = match user {
            Some(zone) => zone,
            None => self.client.settings().await?.timezone,
        };
        Ok(Here { zone: Zone::named(&name).unwrap_or_else(|_| Zone::utc()), now })
    }
}

fn is_unknown(failure: &Failure) -> bool {
    failure.refused().is_some_and(|refused| matches!(refused.status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN))
}

/// The fields as one of the API's types.
fn read<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Invalid> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| Invalid::new("arguments", error.to_string()))
}
