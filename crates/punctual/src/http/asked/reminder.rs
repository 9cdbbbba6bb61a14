//! A reminder as it is asked for.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_core::id::ReminderId;
use punctual_core::invalid::{Faults, Invalid};
use punctual_core::phrase::Lang;
use punctual_core::reminder::{AckPolicy, Metadata, Misfire, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::span;
use punctual_core::steps::Steps;
use punctual_core::tag;
use punctual_core::words::Words;
use punctual_core::zone::Zone;
use serde_json::Value;

use super::sentence::{self, Said, Speaker};
use super::{addresses, lang, steps as steps_of, zone};
use crate::http::problem::Problem;
use crate::http::read;
use crate::wire::{self, MisfireInput, ReminderInput, Understood, Word};

/// A reminder as it was sent, with as much read as is needed to learn whose zone counts.
pub(in crate::http) struct Asked {
    /// Whose it shall be, if the caller says.
    pub(in crate::http) user: Option<String>,
    /// Its own zone, if it has one.
    pub(in crate::http) timezone: Option<Zone>,
    /// The language of its sentence, if the caller says.
    lang: Option<Lang>,
    input: ReminderInput,
    said: Option<Said>,
    /// What is wrong with it, so far.
    faults: Faults,
}

/// A reminder that was asked for, and what was understood of its sentence, if it was asked for in one.
pub(in crate::http) struct Made {
    pub(in crate::http) reminder: Reminder,
    pub(in crate::http) understood: Option<Box<Understood>>,
}

/// The parts of a reminder that its caller did not say, and the server works out.
pub(in crate::http) struct Unsaid {
    pub(in crate::http) id: ReminderId,
    pub(in crate::http) user: String,
    pub(in crate::http) timezone: Zone,
    pub(in crate::http) retries_max: u32,
    pub(in crate::http) now: Timestamp,
    /// The door through which it is asked for.
    pub(in crate::http) via: &'static str,
    /// The steps that the request may still take.
    pub(in crate::http) steps: Arc<Steps>,
}

impl Asked {
    /// The error is that nothing of `value` can be read.
    pub(in crate::http) fn read(value: &Value) -> Result<Self, Invalid> {
        let (mut input, mut faults): (ReminderInput, Faults) =
            read::partly(value, read::WHOLE, ReminderInput::MADE_HERE)?;
        if input.lang.is_some() && input.text.is_none() {
            faults.add(Invalid::new("lang", "is the language of `text`, and there is no `text`"));
        }
        let timezone = faults.note(zone(input.timezone.take(), "timezone")).flatten();
        let lang = faults.note(lang(input.lang.take(), "lang")).flatten();
        Ok(Self { user: input.user.take(), timezone, lang, input, said: None, faults })
    }

    /// Whether it is asked for in a sentence.
    pub(in crate::http) fn is_sentence(&self) -> bool {
        self.input.text.is_some()
    }

    /// Reads the sentence, if there is one.
    pub(in crate::http) fn understand(&mut self, speaker: &Speaker<'_>) -> Result<(), Problem> {
        let Some(text) = self.input.text.take() else { return Ok(()) };
        let speaker = Speaker { lang: self.lang.or(speaker.lang), ..*speaker };
        match sentence::read(&text, &mut self.input, &speaker) {
            Ok(said) => self.said = Some(said),
            Err(problem) => return Err(problem.along_with(std::mem::take(&mut self.faults))),
        }
        Ok(())
    }

    /// Whether it may take longer to read than a request should hold up others.
    pub(in crate::http) fn is_heavy(&self) -> bool {
        self.is_sentence() || self.input.schedule.as_ref().is_some_and(|schedule| is_heavy(&schedule.0))
    }

    /// The reminder that was asked for, and what is wrong with it. Where something is, the reminder has a value that could be there, so that
    /// the rest can be looked at.
    pub(in crate::http) fn reminder(self, unsaid: Unsaid) -> (Made, Faults) {
        let Unsaid { id, user, timezone, retries_max, now, via, steps } = unsaid;
        let (mut input, mut faults) = (self.input, self.faults);
        let (message, schedule, understood) = match self.said {
            Some(said) => (said.message, said.schedule, Some(Box::new(said.understood))),
            None => {
                let missing =
                    || Invalid::missing("message", "say what to be reminded of, such as \"Take your medicine\"");
                let message = faults.note(input.message.take().ok_or_else(missing));
                let missing = || Invalid::missing("schedule", "say when, such as {\"type\":\"once\",\"at\":\"5m\"}");
                let given = input.schedule.take().ok_or_else(missing);
                let given = faults.note(given.and_then(|given| schedule(given, &timezone, now, &steps)));
                (message.unwrap_or_else(|| "?".into()), given.unwrap_or_else(|| in_an_hour(now)), None)
            }
        };
        let ack = Ack {
            required: input.require_ack,
            prompt: input.ack_prompt,
            timeout: input.ack_timeout,
            reminders_max: input.max_ack_reminders,
            escalates: input.escalate.as_ref().is_some_and(|steps| !steps.is_empty()),
        };
        let reminder = Reminder {
            id,
            user,
            name: input.name.flatten(),
            message,
            schedule,
            priority: known(input.priority, "priority", &mut faults).unwrap_or_default(),
            to: faults.note(addresses(input.to.unwrap_or_default(), "to")).unwrap_or_default(),
            only: input.only.unwrap_or(false),
            ack: ack.policy(None, &mut faults),
            escalate: faults.note(steps_of(input.escalate.unwrap_or_default(), "escalate")).unwrap_or_default(),
            escalates: None,
            event: None,
            snooze_allowed: input.snooze_allowed.unwrap_or(true),
            retries_max: input.max_retries.unwrap_or(retries_max),
            misfire: faults.note(input.misfire.map(misfire).transpose()).flatten().unwrap_or_default(),
            on_unknown: known(input.on_unknown, "on_unknown", &mut faults).unwrap_or_default(),
            created_via: input.created_via.unwrap_or_else(|| via.into()),
            original_text: input.original_text,
            metadata: input.metadata.map(|map| Metadata::new(&map)).unwrap_or_default(),
            tags: faults.note(tags(input.tags.unwrap_or_default())).unwrap_or_default(),
            status: ReminderStatus::Active,
            created_at: now,
            updated_at: now,
            timezone,
        };
        faults.settle();
        (Made { reminder, understood }, faults)
    }
}

/// A schedule in the place of one that cannot be read.
fn in_an_hour(now: Timestamp) -> Schedule {
    Schedule::new(Rule::Once { at: now.saturating_add(SignedDuration::from_hours(1)).unwrap_or(now) })
}

/// What a word stands for, if it is one of the list; else that is noted.
pub(super) fn known<T: Words>(word: Option<Word<T>>, field: &str, faults: &mut Faults) -> Option<T> {
    faults.note(word.map(|word| word.known(field)).transpose()).flatten()
}

pub(super) fn schedule(given: wire::Schedule, zone: &Zone, now: Timestamp, steps: &Steps) -> Result<Schedule, Invalid> {
    Schedule::from_input_within(&given.0, zone, now, steps).map_err(|invalid| invalid.within("schedule"))
}

/// Whether it may take longer to read a schedule than a request should hold up others: rules, phrases and exceptions do, a
/// time of day does not.
pub(in crate::http) fn is_heavy(schedule: &Value) -> bool {
    /// A time, a cron expression or a short phrase.
    const TEXT_BYTES_LIGHT: usize = 100;
    let is_light = |value: &Value| match value {
        Value::String(text) => text.len() <= TEXT_BYTES_LIGHT,
        Value::Array(list) => list.len() <= 7,
        _ => true,
    };
    let kind = schedule["type"].as_str().unwrap_or_default();
    let fields = || schedule.as_object().into_iter().flatten();
    matches!(kind, "smart" | "rrule")
        || fields().any(|(name, value)| name == "except" && !value.is_null() || !is_light(value))
}

/// Tags as they are kept.
pub(super) fn tags(given: Vec<String>) -> Result<Vec<String>, Invalid> {
    // Before doubles are gone and places have changed: the wrong one is named by its own place.
    tag::check("tags", &given)?;
    Ok(tag::kept(given))
}

/// How an answer is asked for, as far as it is said.
pub(super) struct Ack {
    pub(super) required: Option<bool>,
    pub(super) prompt: Option<Option<String>>,
    pub(super) timeout: Option<wire::Span>,
    pub(super) reminders_max: Option<u32>,
    /// Others are to be asked if there is no answer.
    pub(super) escalates: bool,
}

impl Ack {
    /// Whether nothing is said of it.
    pub(super) fn is_unsaid(&self) -> bool {
        let is_asked = self.required.is_some() || self.prompt.is_some() || self.escalates;
        !is_asked && self.timeout.is_none() && self.reminders_max.is_none()
    }

    /// How an answer is asked for, beginning from `before`. A prompt is a wish for an answer, and so is a plan of who is asked next, unless
    /// `require_ack` says otherwise: then what else is said must be right all the same.
    pub(super) fn policy(self, before: Option<&AckPolicy>, faults: &mut Faults) -> Option<AckPolicy> {
        let mut ack = before.cloned().unwrap_or_default();
        let wanted =
            self.required.unwrap_or(before.is_some() || self.escalates || matches!(self.prompt, Some(Some(_))));
        if let Some(prompt) = self.prompt {
            ack.prompt = prompt;
        }
        if let Some(timeout) = self.timeout {
            let timeout = span::parse(&timeout.0).map_err(|problem| Invalid::new("ack_timeout", problem));
            ack.timeout = faults.note(timeout).unwrap_or(ack.timeout);
        }
        if let Some(reminders_max) = self.reminders_max {
            ack.reminders_max = reminders_max;
        }
        if wanted {
            return Some(ack);
        }
        // An empty question is none.
        ack.prompt.take_if(|prompt| prompt.is_empty());
        faults.note(ack.validate());
        None
    }
}

pub(super) fn misfire(given: MisfireInput) -> Result<Misfire, Invalid> {
    let (mut misfire, mut faults) = (Misfire::default(), Faults::default());
    match given {
        MisfireInput::Policy(word) => misfire.policy = word.known("misfire")?,
        MisfireInput::Full { policy, within } => {
            misfire.policy = known(policy, "misfire.policy", &mut faults).unwrap_or(misfire.policy);
            let within = within.map(|within| span::parse(&within.0)).transpose();
            let within = faults.note(within.map_err(|problem| Invalid::new("misfire.within", problem)));
            misfire.within = within.flatten().unwrap_or(misfire.within);
        }
    }
    faults.finish()?;
    Ok(misfire)
}
