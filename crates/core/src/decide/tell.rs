//! Who is told of a run, and who is asked next about it.
//!
//! A store loads the runs that a [`Writes`] has news of, after it has written them, and the people whom [`groups_of`] and [`people_of`]
//! name; [`alerts_about`] makes the reminders that tell them; the store says which of those are there already; [`told`] says what is
//! written.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;

use crate::alarm::NextRun;
use crate::alert::{Alert, News, Unreadable, alerts, alerts_of_unreadable, looked_for, to_write};
use crate::clock::later;
use crate::escalate::{self, Asked, Cause};
use crate::group::Group;
use crate::id::{OccurrenceId, ReminderId};
use crate::journal::{AskedNext, Data, Entry, Kind, Who};
use crate::occurrence::{Attempt, Escalation, Occurrence, State, StateKind};
use crate::phrase::Lang;
use crate::reminder::{Metadata, Misfire, Reminder, ReminderStatus};
use crate::schedule::{Rule, Schedule};
use crate::step::{Step, Target};
use crate::store::{Claims, NewReminder, Settled};
use crate::user::User;
use crate::writes::Writes;

/// A run that there is news of.
#[derive(Debug, Clone)]
pub struct Newsworthy {
    /// What is new.
    pub news: News,
    /// Its reminder.
    pub reminder: Reminder,
    /// The run.
    pub occurrence: Occurrence,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Who is asked next by its person's own entry.
    pub escalate: Vec<Step>,
    /// Those who have an open reminder about this run: they put it off, and are not asked twice.
    pub waiting: Vec<String>,
}

/// The people who may have to be told.
#[derive(Debug, Clone, Default)]
pub struct People {
    /// The admins.
    pub admins: Vec<User>,
    /// The groups of [`groups_of`] that there are.
    pub groups: Vec<Group>,
    /// The users of [`people_of`] who have an entry that can be read.
    pub users: Vec<User>,
}

/// The reminders that tell people of some runs.
#[derive(Debug, Default)]
pub struct Alerts {
    alerts: Vec<About>,
    escalations: Vec<Escalated>,
}

/// The alerts about one run.
#[derive(Debug)]
struct About {
    id: OccurrenceId,
    /// Whose it is.
    user: String,
    news: &'static str,
    alerts: Vec<Alert>,
}

/// A run that further people are asked about.
#[derive(Debug)]
struct Escalated {
    run: Occurrence,
    /// Whose it is.
    user: String,
    cause: Cause,
    new: Vec<NewReminder>,
    unknown: Vec<String>,
}

/// The groups that are asked next.
pub fn groups_of(runs: &[Newsworthy]) -> Vec<String> {
    let steps = runs.iter().flat_map(Newsworthy::steps);
    let names = steps.filter_map(|step| match &step.to {
        Target::Group(name) => Some(name.clone()),
        Target::User(_) => None,
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The users who are asked next, when these are their groups.
pub fn people_of(runs: &[Newsworthy], groups: &[Group]) -> Vec<String> {
    let asked = runs.iter().filter_map(|run| Some(run.asked(run.escalated_at()?, groups).people));
    asked.flatten().map(|(_, user)| user).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Makes the reminders that tell `people`.
pub fn alerts_about(runs: &[Newsworthy], unreadable: &[Unreadable], people: &People, now: Timestamp) -> Alerts {
    let readable = runs.iter().map(|run| {
        let Newsworthy { news, reminder, occurrence, attempts, .. } = run;
        let alerts = alerts(*news, reminder, occurrence, attempts, &people.admins, now);
        About { id: occurrence.id, user: reminder.user.clone(), news: news.word(&occurrence.state), alerts }
    });
    let others = unreadable.iter().map(|run| {
        let (user, alerts) = (run.user.clone(), alerts_of_unreadable(run, &people.admins, now));
        About { id: run.id, user, news: StateKind::Failed.as_str(), alerts }
    });
    let escalations = runs.iter().filter_map(|run| Some(run.escalate(run.escalated_at()?, people, now)));
    Alerts { alerts: readable.chain(others).collect(), escalations: escalations.collect() }
}

impl Newsworthy {
    /// When the first of those is asked who are asked next, if that is what is new.
    fn escalated_at(&self) -> Option<Timestamp> {
        match self.news {
            News::Escalated { at } => Some(at),
            News::Trouble | News::Recovered | News::Ended => None,
        }
    }

    /// The plan by which further people are asked now.
    fn steps(&self) -> &[Step] {
        match self.escalated_at() {
            Some(_) => escalate::steps(&self.reminder, &self.escalate),
            None => &[],
        }
    }

    fn asked(&self, at: Timestamp, groups: &[Group]) -> Asked {
        escalate::asked(&self.reminder, self.steps(), groups, at)
    }

    /// The reminders of those who are asked next, the first of them at `at`.
    fn escalate(&self, at: Timestamp, people: &People, now: Timestamp) -> Escalated {
        let Asked { people: asked, unknown } = self.asked(at, &people.groups);
        let is_failed = matches!(self.occurrence.state, State::Failed { .. });
        let cause = if is_failed { Cause::Failed } else { Cause::Unanswered };
        // Of a run that failed the first is asked at once, whoever it is, and the others at their distance from them.
        let begin =
            if is_failed { asked.first().map(|(after, _)| *after) } else { self.steps().first().map(|s| s.after) };
        let new: Vec<NewReminder> = asked
            .iter()
            .filter(|(_, user)| !self.waiting.contains(user))
            .map(|(after, user)| {
                let due_at = later(at, after.saturating_sub(begin.unwrap_or_default()));
                let known = people.users.iter().find(|known| known.id == *user);
                NewReminder { reminder: self.for_other(at, user, known, due_at, cause, now), first_due_at: due_at }
            })
            .collect();
        let asking_for = self.reminder.ack.as_ref().map(escalate::asking_for).unwrap_or_default();
        // The run also waits for a person who has put the question off.
        let waits = asked.iter().any(|(_, user)| self.waiting.contains(user));
        let last = new.iter().map(|new| new.first_due_at).chain(waits.then_some(at)).max();
        let escalation = last.map(|last| Escalation::Asked { until: later(last, asking_for) });
        let (run, user) = (Occurrence { escalation, ..self.occurrence.clone() }, self.reminder.user.clone());
        Escalated { run, user, cause, new, unknown }
    }

    /// The reminder that asks `user` about this run at `due_at`. Its id follows from the run, the instant `at` of the first step and the user:
    /// however often it is made, it is the same.
    fn for_other(
        &self,
        at: Timestamp,
        user: &str,
        known: Option<&User>,
        due_at: Timestamp,
        cause: Cause,
        now: Timestamp,
    ) -> Reminder {
        let (reminder, run) = (&self.reminder, &self.occurrence);
        let key = format!("{} {} {user}", run.id, at.as_microsecond());
        let lang = known.and_then(|user| user.language.as_ref()?.parse().ok()).unwrap_or(Lang::En);
        let timezone = known.and_then(|user| user.timezone.clone()).unwrap_or_else(|| reminder.timezone.clone());
        let instants = (run.due_at, due_at);
        let message = escalate::asks(lang, cause, &reminder.user, &reminder.message, instants, timezone.rules());
        let mut metadata = match reminder.metadata.to_value() {
            serde_json::Value::Object(own) => own,
            _ => serde_json::Map::new(),
        };
        let about = json!({
            "news": cause.as_str(),
            "occurrence_id": run.id.to_string(),
            "reminder_id": reminder.id.to_string(),
            "user": reminder.user,
        });
        metadata.insert("about".to_owned(), about);
        Reminder {
            id: ReminderId::imported(escalate::VIA, &key, run.made_for),
            user: user.to_owned(),
            message,
            schedule: Schedule::new(Rule::Once { at: due_at }),
            timezone,
            to: Vec::new(),
            only: false,
            escalate: Vec::new(),
            escalates: Some(run.id),
            event: None,
            misfire: Misfire::default(),
            created_via: escalate::VIA.to_owned(),
            original_text: None,
            metadata: Metadata::new(&metadata),
            status: ReminderStatus::Active,
            created_at: now,
            updated_at: now,
            ..reminder.clone()
        }
    }
}

impl Alerts {
    /// The reminders whose presence decides what is written.
    pub fn looked_for(&self) -> Vec<ReminderId> {
        let alerts = self.alerts.iter().flat_map(|about| looked_for(&about.alerts));
        let escalations = self.escalations.iter().flat_map(|escalated| &escalated.new);
        alerts.chain(escalations.map(|new| new.reminder.id)).collect()
    }
}

/// What is written when those of [`Alerts::looked_for`] in `there` have been written before; and the runs that it plans.
pub fn told(alerts: Alerts, there: &[ReminderId], now: Timestamp) -> (Writes, Vec<NextRun>) {
    let mut writes = Writes::new(now);
    let mut planned = Vec::new();
    let mut create = |writes: &mut Writes, new: Vec<NewReminder>| {
        planned.extend(new.iter().map(|new| NextRun::of(&new.reminder, new.first_due_at)));
        writes.create(new, &Who::ENGINE);
    };
    for About { id, user, news, alerts } in alerts.alerts {
        let new = to_write(alerts, there);
        if new.is_empty() {
            continue;
        }
        let to = new.iter().map(|new| new.reminder.user.clone()).collect();
        writes.entries.push(Entry::of_engine(now, Kind::Alerted, id, Some(&user), Data::Told { news, to }));
        create(&mut writes, new);
    }
    for Escalated { run, user, cause, mut new, unknown } in alerts.escalations {
        if !new.is_empty() || !unknown.is_empty() {
            let to = new.iter().map(AskedNext::from).collect();
            let data = Data::Escalated { why: cause.as_str(), to, unknown };
            writes.entries.push(Entry::of_engine(now, Kind::Escalated, run.id, Some(&user), data));
        }
        if run.escalation.is_some() {
            writes.occurrences.push(run);
        }
        new.retain(|new| !there.contains(&new.reminder.id));
        create(&mut writes, new);
    }
    (writes, planned)
}

impl Claims {
    /// Adds the runs of alerts and of people who are asked next, which were planned when the claim was written.
    pub fn add_alerts(&mut self, planned: Vec<NextRun>) {
        self.wakes.extend(planned.iter().map(|run| run.at));
        self.next_runs.extend(planned);
    }
}

impl Settled {
    /// Adds the runs of alerts and of people who are asked next, which were planned when the settlements were written.
    pub fn add_alerts(&mut self, planned: Vec<NextRun>) {
        self.wakes.extend(planned.iter().map(|run| run.at));
        self.next_runs.extend(planned);
    }
}
