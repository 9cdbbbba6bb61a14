//! Reminders by message: a person makes, lists and cancels reminders by writing to a bot.

use jiff::Timestamp;
use punctual_core::answer::Pressed;
use punctual_core::change::Change;
use punctual_core::channel::receive::Choice;
use punctual_core::id::{ReminderId, hex};
use punctual_core::phrase::{self, Command, Lang, Mention};
use punctual_core::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use punctual_core::rules::say::{self, Line};
use punctual_core::sentence::{self, NotUnderstood};
use punctual_core::steps::Steps;
use punctual_core::store::{
    Answer, Answered, By, Came, ChangeError, ReminderQuery, ReminderView, StatusFilter, StoreError,
};
use punctual_core::user::User;
use punctual_core::zone::Zone;

use super::words::{Reply, Words, Written};
use crate::{CreateError, Engine};

/// Which door such reminders come through.
const VIA: &str = "chat";
/// How many reminders a list in a chat has.
const LISTED_MAX: usize = 10;
/// How many of a user's reminders are looked through for what is meant.
const LOOKED_THROUGH_MAX: usize = 500;

/// The person who asks.
struct Speaker<'a> {
    user: &'a str,
    lang: Lang,
    /// Their own language, for understanding them.
    own_lang: Option<Lang>,
    zone: Zone,
    now: Timestamp,
}

impl Speaker<'_> {
    fn say(&self, line: &Line, message: &str) -> Reply {
        let say = Some(say::say(line, message, self.lang, &self.zone, self.now));
        Reply { handled: true, say, ..Reply::default() }
    }
}

impl Words {
    /// Does what `user` asks for.
    pub(super) async fn obey(
        &self,
        command: Command,
        written: &Written,
        user: &str,
        now: Timestamp,
    ) -> Result<Reply, StoreError> {
        let entry = self.node.store.user(user).await?;
        let own_lang = entry.as_ref().and_then(|entry| entry.language.as_deref()).and_then(|tag| tag.parse().ok());
        let zone = entry.as_ref().and_then(|entry| entry.timezone.clone());
        let speaker = Speaker {
            user,
            lang: own_lang.unwrap_or(self.node.settings.language),
            own_lang,
            zone: zone.unwrap_or_else(|| self.node.settings.timezone.clone()),
            now,
        };
        match command {
            Command::Remind { sentence } => self.remind(&sentence, written, &speaker, entry.as_ref()).await,
            Command::List => self.list(&speaker).await,
            Command::Cancel { what } => self.cancel(what, written, &speaker).await,
        }
    }

    /// Makes a reminder that is sent to the chat in which it was asked for.
    async fn remind(
        &self,
        text: &str,
        written: &Written,
        speaker: &Speaker<'_>,
        entry: Option<&User>,
    ) -> Result<Reply, StoreError> {
        let Speaker { user, own_lang, zone, now, .. } = speaker;
        let habits = entry.map(|entry| entry.habits).unwrap_or_default();
        let read = match sentence::read_for(text, *own_lang, zone, *now, habits, &Steps::of_request(1)) {
            Err(NotUnderstood::NoTime(_)) if own_lang.is_some() => {
                sentence::read_for(text, None, zone, *now, habits, &Steps::of_request(1))
            }
            read => read,
        };
        let asked = match read {
            Ok(asked) => asked,
            Err(NotUnderstood::NoTime(_)) => return Ok(speaker.say(&Line::NoTime, "")),
            Err(NotUnderstood::NoReminder(why) | NotUnderstood::Unclear(why)) => {
                return Ok(speaker.say(&Line::NoReminder { why }, ""));
            }
        };
        let Some(message) = asked.message().map(str::to_owned) else { return Ok(speaker.say(&Line::OnlyWhen, "")) };
        let Some(engine) = self.engine() else { return Ok(Reply::default()) };
        let reminder = Reminder {
            id: ReminderId::new(*now, engine.random().ten()),
            user: (*user).to_owned(),
            name: None,
            message,
            schedule: asked.schedule,
            timezone: zone.clone(),
            priority: Priority::Normal,
            to: self.chat(written, entry),
            only: false,
            ack: None,
            escalate: Vec::new(),
            escalates: None,
            event: None,
            snooze_allowed: true,
            retries_max: self.node.settings.retries_max,
            misfire: Misfire::default(),
            on_unknown: OnUnknown::Auto,
            created_via: VIA.into(),
            original_text: Some(written.text.clone()),
            metadata: Metadata::default(),
            tags: Vec::new(),
            status: ReminderStatus::Active,
            created_at: *now,
            updated_at: *now,
        };
        let view = match engine.create(vec![reminder], written.who.clone(), once(&written.came)).await {
            Ok(mut views) => views.pop(),
            Err(CreateError::Store(StoreError::KeyUsed)) => return Err(StoreError::Seen),
            Err(CreateError::Store(error)) => return Err(error),
            Err(CreateError::Invalid { invalid, .. }) => {
                return Ok(speaker.say(&Line::NoReminder { why: invalid.problem }, ""));
            }
        };
        let Some(view) = view else { return Ok(Reply::default()) };
        let summary = view.reminder.schedule.summary_in(speaker.lang, zone);
        let said = speaker.say(&Line::Made { summary }, &view.reminder.message);
        let label = say::cancel_label(speaker.lang).to_owned();
        let choices = vec![Choice { label, pressed: Pressed::cancel(view.reminder.id) }];
        Ok(Reply { choices, made: Some(Box::new(view)), ..said })
    }

    /// The address of the chat: where it was written, else the user's first on that channel.
    fn chat(&self, written: &Written, entry: Option<&User>) -> Vec<Address> {
        let Some(channel) = &written.channel else { return Vec::new() };
        let sender = written.sender.as_ref().and_then(|sender| sender.chat.first().or(sender.person.first()));
        let own = || entry?.addresses.iter().find(|address| address.channel == *channel).cloned();
        sender.map(|address| Address::new(channel, address)).or_else(own).into_iter().collect()
    }

    async fn list(&self, speaker: &Speaker<'_>) -> Result<Reply, StoreError> {
        let mut views = self.coming(speaker).await?;
        views.truncate(LISTED_MAX);
        if views.is_empty() {
            return Ok(speaker.say(&Line::NothingToCome, ""));
        }
        let reply = speaker.say(&Line::Listed, "");
        let lines = views.iter().map(|view| format!("\n• {}", label(view, speaker))).collect::<String>();
        let say = reply.say.map(|say| say + &lines);
        Ok(Reply { say, choices: cancels(&views, speaker), ..reply })
    }

    /// Cancels the reminder that is meant. Nothing is cancelled by its place in a list, which may have moved since.
    async fn cancel(
        &self,
        what: Option<String>,
        written: &Written,
        speaker: &Speaker<'_>,
    ) -> Result<Reply, StoreError> {
        let mut views = self.coming(speaker).await?;
        let mut is_named = false;
        if let Some(what) = &what {
            let says = |view: &ReminderView, how: Mention| {
                let Reminder { message, name, .. } = &view.reminder;
                [Some(message), name.as_ref()].into_iter().flatten().any(|text| phrase::mention(text, what) == how)
            };
            is_named = views.iter().any(|view| says(view, Mention::Named));
            // The person is asked about a reminder that only has a similar name.
            let how = if is_named { Mention::Named } else { Mention::Alike };
            views.retain(|view| says(view, how));
        }
        match (views.as_slice(), what) {
            ([], Some(what)) => Ok(speaker.say(&Line::NoSuch { what }, "")),
            ([], None) => Ok(speaker.say(&Line::NothingToCome, "")),
            ([view], Some(_)) if is_named => {
                let (user, came) = (Some(speaker.user.to_owned()), written.came.clone());
                let by = By { user, came, ..By::new(written.who.clone(), speaker.now) };
                let message = view.reminder.message.clone();
                let line = match self.changer.change(view.reminder.id, Change::Cancel, by).await {
                    Ok(changed) => {
                        self.editor.changed(&changed);
                        Line::Cancelled
                    }
                    Err(ChangeError::Store(error)) => return Err(error),
                    Err(ChangeError::Refused(_) | ChangeError::NotFound) => Line::Busy,
                };
                Ok(speaker.say(&line, &message))
            }
            _ => {
                views.truncate(LISTED_MAX);
                let reply = speaker.say(&Line::CancelWhich, "");
                Ok(Reply { refused: Some("ambiguous"), choices: cancels(&views, speaker), ..reply })
            }
        }
    }

    /// The person's reminders that are still to come, the soonest first.
    async fn coming(&self, speaker: &Speaker<'_>) -> Result<Vec<ReminderView>, StoreError> {
        let query = ReminderQuery {
            user: Some(speaker.user.to_owned()),
            status: Some(StatusFilter::Is(ReminderStatus::Active)),
            limit: LOOKED_THROUGH_MAX,
            ..ReminderQuery::default()
        };
        let mut views = self.node.store.reminders(query).await?;
        views.retain(|view| view.next_run_at.is_some());
        views.sort_by_key(|view| view.next_run_at);
        Ok(views)
    }

    fn engine(&self) -> Option<Engine> {
        Some(Engine { parts: self.engine.get()?.upgrade()? })
    }
}

/// Lets a reminder be made once of a message that its platform may give again.
fn once(came: &Came) -> Option<(String, Answered)> {
    let seen = came.seen.as_ref()?;
    let mut request = [0; 32];
    request[..seen.id.len()].copy_from_slice(&seen.id);
    let answer = Answer { status: 200, body: String::new() };
    // No key of the API has an id that begins so.
    Some((format!("inbound {}:{}", seen.channel, hex(&seen.id)), Answered { request, answer: Some(answer) }))
}

fn label(view: &ReminderView, speaker: &Speaker<'_>) -> String {
    say::label(&view.reminder.message, view.next_run_at, speaker.lang, &speaker.zone, speaker.now)
}

/// A button for each that cancels it.
fn cancels(views: &[ReminderView], speaker: &Speaker<'_>) -> Vec<Choice> {
    let choice = |view: &ReminderView| Choice {
        label: format!("✕ {}", label(view, speaker)),
        pressed: Pressed::cancel(view.reminder.id),
    };
    views.iter().map(choice).collect()
}
