//! Rows as values, once for every store.

use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Time;
use punctual_core::decide::claim::Due;
use punctual_core::decide::event::Loaded as LoadedEvent;
use punctual_core::decide::person::Difference;
use punctual_core::decide::settle::Counted;
use punctual_core::decide::silence::SilencedRun;
use punctual_core::event::{Event, OfEvent, Offset, Repeats, Slot};
use punctual_core::feed::{self, Feed, FeedKey, FeedKind, FeedSettings};
use punctual_core::group::{Group, Shift};
use punctual_core::habits::Habits;
use punctual_core::id::{OccurrenceId, ReminderId, SilenceId};
use punctual_core::key::{ApiKey, Replaced, Scopes};
use punctual_core::model::lateness::{Histogram, Stretch};
use punctual_core::model::offset;
use punctual_core::occurrence::{Attempt, Escalation, Kept, Occurrence, State, StateKind, Tries};
use punctual_core::reminder::{AckPolicy, Address, Metadata, Misfire, Priority, Reminder};
use punctual_core::rules::course::{Course, Progress, Series, Tally};
use punctual_core::schedule::Schedule;
use punctual_core::scope::Scope;
use punctual_core::silence::{Silence, Silent};
use punctual_core::step::{self, Step};
use punctual_core::store::{Escalated, FailedRun, ReminderView, Response, Said, SlotView, StoreError};
use punctual_core::user::{Person, QuietHours, User};
use punctual_core::writes::{Link, Stands};
use punctual_core::zone::Zone;

/// A row of a result, as a store's driver has it.
pub(crate) trait Fields {
    /// A number, if there is one.
    fn number(&self, index: usize) -> Result<Option<i64>, StoreError>;
    /// Words, if there are any.
    fn text(&self, index: usize) -> Result<Option<&str>, StoreError>;
    /// An instant, if there is one.
    fn instant(&self, index: usize) -> Result<Option<Timestamp>, StoreError>;
    /// Yes or no, if it is said.
    fn flag(&self, index: usize) -> Result<Option<bool>, StoreError>;
    /// A reminder's id, if there is one.
    fn maybe_id(&self, index: usize) -> Result<Option<ReminderId>, StoreError>;

    /// A reminder's id.
    fn id(&self, index: usize) -> Result<ReminderId, StoreError> {
        self.maybe_id(index)?.ok_or_else(|| impossible(format!("column {} has no value", index + 1)))
    }
}

/// A value in the database that this program would never have written.
pub(crate) fn impossible(error: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(format!("a row cannot be read: {error}"))
}

/// Reads the columns of a row one after the other.
pub(crate) struct Reader<'r, F> {
    row: &'r F,
    next: usize,
}

impl<'r, F: Fields> Reader<'r, F> {
    /// From column `first` on.
    pub(crate) fn new(row: &'r F, first: usize) -> Self {
        Self { row, next: first }
    }

    fn index(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// A reminder's id.
    pub(crate) fn id(&mut self) -> Result<ReminderId, StoreError> {
        let index = self.index();
        self.row.id(index)
    }

    /// A reminder's id that may be missing.
    pub(crate) fn maybe_id(&mut self) -> Result<Option<ReminderId>, StoreError> {
        let index = self.index();
        self.row.maybe_id(index)
    }

    /// A run's id: the reminder's and the run's number.
    pub(crate) fn occurrence_id(&mut self) -> Result<OccurrenceId, StoreError> {
        Ok(OccurrenceId { reminder: self.id()?, run: self.count()? })
    }

    /// A number that may be missing.
    pub(crate) fn maybe_number(&mut self) -> Result<Option<i64>, StoreError> {
        let index = self.index();
        self.row.number(index)
    }

    /// A number.
    pub(crate) fn number(&mut self) -> Result<i64, StoreError> {
        self.maybe_number()?.ok_or_else(|| self.missing())
    }

    /// A count.
    pub(crate) fn count(&mut self) -> Result<u32, StoreError> {
        u32::try_from(self.number()?).map_err(impossible)
    }

    /// A count that may be missing.
    pub(crate) fn maybe_count(&mut self) -> Result<Option<u32>, StoreError> {
        self.maybe_number()?.map(u32::try_from).transpose().map_err(impossible)
    }

    /// A span in milliseconds that may be missing.
    pub(crate) fn maybe_span(&mut self) -> Result<Option<Duration>, StoreError> {
        let millis = self.maybe_number()?.map(u64::try_from).transpose().map_err(impossible)?;
        Ok(millis.map(Duration::from_millis))
    }

    /// A priority; a rank that is not known is the highest.
    pub(crate) fn priority(&mut self) -> Result<Priority, StoreError> {
        Ok(Priority::from_rank(u8::try_from(self.number()?).unwrap_or(u8::MAX)))
    }

    /// Words that may be missing.
    pub(crate) fn maybe_text(&mut self) -> Result<Option<&'r str>, StoreError> {
        let index = self.index();
        self.row.text(index)
    }

    /// Words.
    pub(crate) fn text(&mut self) -> Result<&'r str, StoreError> {
        self.maybe_text()?.ok_or_else(|| self.missing())
    }

    /// Words of our own that may be missing.
    pub(crate) fn maybe_owned(&mut self) -> Result<Option<String>, StoreError> {
        Ok(self.maybe_text()?.map(str::to_owned))
    }

    /// Words of our own.
    pub(crate) fn owned(&mut self) -> Result<String, StoreError> {
        Ok(self.text()?.to_owned())
    }

    /// One of a few words that may be missing.
    pub(crate) fn maybe_word<T: FromStr<Err: std::fmt::Display>>(&mut self) -> Result<Option<T>, StoreError> {
        self.maybe_text()?.map(str::parse).transpose().map_err(impossible)
    }

    /// One of a few words.
    pub(crate) fn word<T: FromStr<Err: std::fmt::Display>>(&mut self) -> Result<T, StoreError> {
        self.text()?.parse().map_err(impossible)
    }

    /// An instant that may be missing.
    pub(crate) fn maybe_at(&mut self) -> Result<Option<Timestamp>, StoreError> {
        let index = self.index();
        self.row.instant(index)
    }

    /// An instant.
    pub(crate) fn at(&mut self) -> Result<Timestamp, StoreError> {
        self.maybe_at()?.ok_or_else(|| self.missing())
    }

    /// Yes or no; nothing is no.
    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        let index = self.index();
        Ok(self.row.flag(index)?.unwrap_or_default())
    }

    /// Addresses, a JSON list; nothing is none.
    pub(crate) fn addresses(&mut self) -> Result<Vec<Address>, StoreError> {
        self.maybe_text()?.map_or(Ok(Vec::new()), |json| serde_json::from_str(json).map_err(impossible))
    }

    /// Who is asked next, a JSON list; nothing is none.
    pub(crate) fn steps(&mut self) -> Result<Vec<Step>, StoreError> {
        step::from_stored(self.maybe_text()?).map_err(impossible)
    }

    /// A run that may be missing: its number and its reminder's id.
    pub(crate) fn maybe_run(&mut self) -> Result<Option<OccurrenceId>, StoreError> {
        let run = self.maybe_count()?;
        let index = self.index();
        run.map(|run| Ok(OccurrenceId { reminder: self.row.id(index)?, run })).transpose()
    }

    /// Words, a JSON list; nothing is none.
    pub(crate) fn list(&mut self) -> Result<Vec<String>, StoreError> {
        self.maybe_text()?.map_or(Ok(Vec::new()), |json| serde_json::from_str(json).map_err(impossible))
    }

    fn missing(&self) -> StoreError {
        impossible(format!("column {} has no value", self.next))
    }
}

/// The columns that [`reminder`] reads, of a table called `r`.
pub(crate) const REMINDER: &str = "r.id, r.user_id, r.name, r.message, r.schedule, r.timezone, r.priority, r.route, r.only_to, \
    r.ack_timeout, r.ack_prompt, r.ack_reminders_max, r.snooze_allowed, r.retries_max, r.misfire, r.misfire_within, \
    r.on_unknown, r.created_via, r.original_text, r.metadata, r.status, r.created_at, r.updated_at, r.tags, \
    r.escalate, r.escalates_run, r.escalates_id, r.event";
/// How many those are.
pub(crate) const N_REMINDER: usize = 28;
/// Which of them is the user.
pub(crate) const USER_ID: usize = 1;

/// Reads [`REMINDER`].
pub(crate) fn reminder<F: Fields>(from: &mut Reader<'_, F>) -> Result<Reminder, StoreError> {
    let (id, user, name, message) = (from.id()?, from.owned()?, from.maybe_owned()?, from.owned()?);
    let schedule = Schedule::from_stored(from.text()?).map_err(impossible)?;
    let timezone = Zone::named(from.text()?).map_err(impossible)?;
    let (priority, to, only) = (from.priority()?, from.addresses()?, from.flag()?);
    let (timeout, prompt, reminders_max) = (from.maybe_span()?, from.maybe_owned()?, from.count()?);
    let ack = timeout.map(|timeout| AckPolicy { prompt, timeout, reminders_max });
    let (snooze_allowed, retries_max) = (from.flag()?, from.count()?);
    let misfire = Misfire { policy: from.word()?, within: from.maybe_span()?.unwrap_or_default() };
    let (on_unknown, created_via, original_text) = (from.word()?, from.owned()?, from.maybe_owned()?);
    let metadata = Metadata::from_stored(from.owned()?);
    let (status, created_at, updated_at, tags) = (from.word()?, from.at()?, from.at()?, from.list()?);
    let (escalate, escalates) = (from.steps()?, from.maybe_run()?);
    let event = from.maybe_text()?.map(OfEvent::from_stored).transpose().map_err(impossible)?;
    Ok(Reminder {
        id,
        user,
        name,
        message,
        schedule,
        timezone,
        priority,
        to,
        only,
        ack,
        escalate,
        escalates,
        event,
        snooze_allowed,
        retries_max,
        misfire,
        on_unknown,
        created_via,
        original_text,
        metadata,
        tags,
        status,
        created_at,
        updated_at,
    })
}

/// Whether the event of a reminder `r` is still to be planned: nothing is read for those that have none.
pub(crate) fn is_unplanned(schema: &str, key: &str) -> String {
    format!(
        "case when r.event is not null then exists (select 1 from {schema}event e where e.key = {key} and not e.planned) end"
    )
}

/// The columns that [`event`] reads, of a table called `e`: how far planning it has come, and the event.
pub(crate) const EVENT: &str = "e.key, e.removed, e.planned, e.plan_at, e.planned_until, e.error, e.asked_at, e.starts_at, e.ends_at, \
    e.repeats, e.offsets, e.scope, e.users, e.groups, e.name, e.message, e.timezone, e.priority, e.route, e.only_to, e.ack_timeout, \
    e.ack_prompt, e.ack_reminders_max, e.escalate, e.snooze_allowed, e.retries_max, e.misfire, e.misfire_within, e.on_unknown, \
    e.metadata, e.tags, e.source, e.created_at, e.updated_at";

/// Reads [`EVENT`], without the event's slots.
pub(crate) fn event<F: Fields>(row: &F) -> Result<LoadedEvent, StoreError> {
    let mut from = Reader::new(row, 0);
    let stands = Stands {
        key: from.owned()?,
        removed: from.flag()?,
        planned: from.flag()?,
        plan_at: from.maybe_at()?,
        planned_until: from.maybe_at()?,
        error: from.maybe_owned()?,
    };
    let asked_at = from.maybe_at()?;
    let event = event_of(&stands.key, &mut from).map_err(|error| error.to_string());
    Ok(LoadedEvent { event, stands, asked_at, links: Vec::new() })
}

fn event_of<F: Fields>(key: &str, from: &mut Reader<'_, F>) -> Result<Event, StoreError> {
    let (starts_at, ends_at) = (from.at()?, from.maybe_at()?);
    let repeats = from.maybe_text()?.map(Repeats::from_stored).transpose().map_err(impossible)?;
    let offsets = from.maybe_text()?.map(offset::from_stored).transpose().map_err(impossible)?;
    let scope = from.maybe_text()?.map(str::parse).transpose().map_err(impossible)?;
    let (users, groups, name, message) = (from.list()?, from.list()?, from.maybe_owned()?, from.owned()?);
    let timezone = from.maybe_text()?.map(Zone::named).transpose().map_err(impossible)?;
    let (priority, to, only) = (from.priority()?, from.addresses()?, from.flag()?);
    let (timeout, prompt, reminders_max) = (from.maybe_span()?, from.maybe_owned()?, from.count()?);
    let ack = timeout.map(|timeout| AckPolicy { prompt, timeout, reminders_max });
    Ok(Event {
        key: key.to_owned(),
        starts_at,
        ends_at,
        repeats,
        offsets,
        scope,
        users,
        groups,
        name,
        message,
        timezone,
        priority,
        to,
        only,
        ack,
        escalate: from.steps()?,
        snooze_allowed: from.flag()?,
        retries_max: from.count()?,
        misfire: Misfire { policy: from.word()?, within: from.maybe_span()?.unwrap_or_default() },
        on_unknown: from.word()?,
        metadata: Metadata::from_stored(from.owned()?),
        tags: from.list()?,
        source: from.maybe_owned()?,
        created_at: from.at()?,
        updated_at: from.at()?,
    })
}

/// The columns that [`link`] reads, of a table called `l`.
pub(crate) const LINK: &str = "l.event_key, l.instance, l.offset_word, l.user_id, l.due_at, l.reminder_id";

/// Reads [`LINK`].
pub(crate) fn link<F: Fields>(row: &F) -> Result<Link, StoreError> {
    let mut from = Reader::new(row, 0);
    let (event, instance) = (from.owned()?, from.owned()?);
    let (offset, user) = (Offset::parse(from.text()?).map_err(impossible)?, from.owned()?);
    let slot = Slot { event, instance, offset, user };
    Ok(Link { slot, due_at: from.at()?, reminder: from.id()? })
}

/// Reads [`LINK`], and after it the state of the reminder's last run.
pub(crate) fn slot_view<F: Fields>(row: &F) -> Result<SlotView, StoreError> {
    let Link { slot, due_at, reminder } = link(row)?;
    Ok(SlotView { slot, due_at, reminder, state: Reader::new(row, 6).maybe_word()? })
}

/// The columns that [`scope`] reads, of a table called `s`.
pub(crate) const SCOPE: &str = "s.path, s.offsets, s.updated_at";

/// Reads [`SCOPE`].
pub(crate) fn scope<F: Fields>(row: &F) -> Result<Scope, StoreError> {
    let mut from = Reader::new(row, 0);
    let path = from.word()?;
    let offsets = offset::from_stored(from.text()?).map_err(impossible)?;
    Ok(Scope { path, offsets, updated_at: from.at()? })
}

/// The columns that [`progress`] reads, of a table called `r`.
pub(crate) const PROGRESS: &str =
    "r.last_run, r.carried_by, r.planned, r.last_run_at, r.last_status, r.total_runs, r.consecutive_errors";

/// How many those are.
pub(crate) const N_PROGRESS: usize = 7;

/// Reads [`PROGRESS`].
pub(crate) fn progress<F: Fields>(from: &mut Reader<'_, F>) -> Result<Progress, StoreError> {
    let series = Series {
        last_run: from.count()?,
        carried_by: from.maybe_count()?,
        planned: u32::try_from(from.number()?).unwrap_or(u32::MAX),
    };
    let tally = Tally {
        last_run_at: from.maybe_at()?,
        // A word of a newer version tells this one nothing, and keeps no run from being sent.
        last_status: from.maybe_text()?.and_then(|word| word.parse().ok()),
        total_runs: from.count()?,
        consecutive_errors: from.count()?,
    };
    Ok(Progress { series, tally })
}

/// The columns that [`counted`] reads, of a table called `r`. The whole reminder is among them only where its series goes on.
pub(crate) fn counted_columns() -> String {
    let carried = REMINDER.split(", ").map(|column| format!("case when r.carried_by is not null then {column} end"));
    let carried: Vec<String> = carried.collect();
    let carried = carried.join(", ");
    format!("r.id, r.status, r.priority, r.user_id, {PROGRESS}, {carried}")
}

/// Reads [`counted_columns`].
pub(crate) fn counted<F: Fields>(from: &mut Reader<'_, F>) -> Result<(ReminderId, Counted), StoreError> {
    let (id, status, priority, user) = (from.id()?, from.word()?, from.priority()?, from.owned()?);
    let progress = progress(from)?;
    let is_carried = progress.series.carried_by.is_some();
    let carried = is_carried.then(|| reminder(from)).transpose()?.map(Arc::new);
    Ok((id, Counted { course: Course { status, progress, n_open: progress.n_open() }, priority, user, carried }))
}

/// Reads [`REMINDER`], [`PROGRESS`], when it is due next, and until when it is snoozed.
pub(crate) fn view<F: Fields>(from: &mut Reader<'_, F>) -> Result<ReminderView, StoreError> {
    let reminder = reminder(from)?;
    let Progress { tally, .. } = progress(from)?;
    Ok(tally.view(reminder, from.maybe_at()?, from.maybe_at()?))
}

/// The columns that [`due`] reads, of a table called `o`.
pub(crate) const OCCURRENCE: &str = "o.reminder_id, o.run, o.due_at, o.made_for, o.state, o.wake_at, o.own_at, o.at, o.error, o.waits_for, \
    o.lease, o.node, o.channel, o.address, o.message_id, o.readdressed, o.asked, o.attempts, o.rounds, o.position, o.refused, o.asks, \
    o.reached, o.at_once, o.escalation, o.escalate_at";
/// How many those are.
pub(crate) const N_OCCURRENCE: usize = 26;

/// Whether a run `o` has not ended: [`StateKind::is_final`] of a row. Everything that has not ended has a moment, but for what is paused.
pub(crate) const OPEN: &str = "(o.wake_at is not null or o.state = 'paused')";
/// The same on PostgreSQL where runs are read reminder by reminder: the sum keeps the planner from looking through all that is to come instead.
pub(crate) const OPEN_BY_KEY: &str = "(o.wake_at + interval '0' is not null or o.state = 'paused')";
/// Whether a run `o` has ended.
pub(crate) const ENDED: &str = "o.wake_at is null and o.state <> 'paused'";

/// The same by the words of the states, which lead no planner to the index of what has ended.
pub(crate) static ENDED_BY_STATE: LazyLock<String> = LazyLock::new(|| state_is(StateKind::is_final));
/// Whether a run `o` waits for the instant at which it is sent.
pub(crate) static TO_COME: LazyLock<String> = LazyLock::new(|| state_is(StateKind::is_to_come));
/// Whether a claim leaves a run `o` alone until its moment.
pub(crate) static LEFT_ALONE: LazyLock<String> = LazyLock::new(|| state_is(StateKind::is_left_alone));

/// Whether a run `o` is in one of the states of which this is true.
fn state_is(wanted: fn(StateKind) -> bool) -> String {
    let words: Vec<String> = StateKind::all().filter(|kind| wanted(*kind)).map(|kind| format!("'{kind}'")).collect();
    format!("o.state in ({})", words.join(", "))
}

/// The open runs `o` that a change of their person may concern, as core judges them too: a store locks and loads no others.
pub(crate) fn concerned(difference: Difference) -> &'static str {
    match (difference.times, difference.addresses) {
        (true, false) => "o.waits_for is not null",
        (false, _) => "(o.refused <> 0 or o.position <> 0 or o.state = 'processing')",
        (true, true) => "(o.waits_for is not null or o.refused <> 0 or o.position <> 0 or o.state = 'processing')",
    }
}

/// Reads [`OCCURRENCE`], with its moment and the number of its last lease.
pub(crate) fn due<F: Fields>(from: &mut Reader<'_, F>) -> Result<Due, StoreError> {
    let (id, due_at, made_for, kind) = (from.occurrence_id()?, from.at()?, from.maybe_at()?, from.word::<StateKind>()?);
    let (wake_at, own_at) = (from.maybe_at()?, from.maybe_at()?);
    let (at, error, waits_for) = (from.maybe_at()?, from.maybe_owned()?, from.maybe_word()?);
    let (lease, node) = (u64::try_from(from.number()?).map_err(impossible)?, from.maybe_owned()?);
    let to = from.maybe_owned()?.zip(from.maybe_owned()?);
    let (message_id, readdressed, asked) = (from.maybe_owned()?, from.flag()?, from.maybe_owned()?);
    let kept = Kept { lease, node, wake_at, own_at, at, error, waits_for, to, message_id, readdressed, asked };
    let state = State::from_kept(kind, kept, due_at)
        .ok_or_else(|| impossible(format!("a run that is {kind} lacks what it must have")))?;
    let tries = Tries {
        attempts: from.count()?,
        rounds: from.count()?,
        position: from.count()?,
        refused: from.number()? as u64,
        asks: from.count()?,
        reached: from.count()?,
    };
    let (made_for, at_once) = (made_for.unwrap_or(due_at), from.flag()?);
    let escalation = from.maybe_word()?.zip(from.maybe_at()?).map(|(kind, at)| Escalation::from_kept(kind, at));
    let occurrence = Occurrence { id, due_at, made_for, state, tries, at_once, escalation };
    Ok(Due { wake_at: wake_at.unwrap_or(due_at), occurrence, lease })
}

/// Reads [`OCCURRENCE`].
pub(crate) fn occurrence<F: Fields>(from: &mut Reader<'_, F>) -> Result<Occurrence, StoreError> {
    Ok(due(from)?.occurrence)
}

/// The columns that [`attempt`] reads, of a table called `a`.
pub(crate) const ATTEMPT: &str =
    "a.number, a.channel, a.address, a.status, a.started_at, a.ended_at, a.error, a.message_id, a.key";

/// Reads [`ATTEMPT`].
pub(crate) fn attempt<F: Fields>(from: &mut Reader<'_, F>) -> Result<Attempt, StoreError> {
    Ok(Attempt {
        number: from.count()?,
        channel: from.owned()?,
        address: from.owned()?,
        status: from.word()?,
        started_at: from.at()?,
        ended_at: from.maybe_at()?,
        error: from.maybe_owned()?,
        message_id: from.maybe_owned()?,
        key: from.maybe_owned()?,
    })
}

/// Whether a reminder `r` in a family may still be asked, as [`punctual_core::decide::family::may_be_asked`] decides it.
pub(crate) const MAY_BE_ASKED: &str = "r.status in ('active', 'paused')";

/// Whether a failed run of a reminder `r` can be sent again, as [`punctual_core::decide::resend::can_be_resent`] decides it.
pub(crate) const CAN_BE_RESENT: &str = "r.status in ('active', 'completed') and r.escalates_id is null";

/// A run that has failed: its id, its reminder's `on_unknown`, and the channels where it was cut off as a JSON list or nothing.
pub(crate) fn failed_run<F: Fields>(from: &mut Reader<'_, F>) -> Result<FailedRun, StoreError> {
    let (id, on_unknown) = (from.occurrence_id()?, from.word()?);
    let channels = from.maybe_text()?.map(serde_json::from_str).transpose().map_err(impossible)?;
    let mut cut_off_on: Vec<String> = channels.unwrap_or_default();
    cut_off_on.sort_unstable();
    Ok(FailedRun { id, on_unknown, cut_off_on })
}

/// The runs, of `r.escalates_run`, whose person was asked in vain, with the columns that [`escalated`] reads: of tables called `r` and `o`.
pub(crate) fn escalated_columns(schema: &str) -> String {
    format!(
        "r.escalates_run, r.user_id, r.id, o.due_at, o.state, (select min(a.ended_at) from {schema}attempt a \
         where a.reminder_id = r.id and a.run = 1 and a.status in ('sent', 'delivered')) from {schema}reminder r \
         join {schema}occurrence o on o.reminder_id = r.id and o.run = 1"
    )
}

/// Reads [`escalated_columns`].
pub(crate) fn escalated<F: Fields>(from: &mut Reader<'_, F>) -> Result<(u32, Escalated), StoreError> {
    let run = from.count()?;
    let (user, reminder, due_at) = (from.owned()?, from.id()?, from.at()?);
    Ok((run, Escalated { user, reminder, due_at, state: from.word()?, reached_at: from.maybe_at()? }))
}

/// The columns that [`response`] reads, of a table called `s`.
pub(crate) const RESPONSE: &str = "s.reminder_id, s.run, s.kind, s.at, s.actor, s.until, s.snooze_minutes, s.user_id, s.text, s.channel, \
    s.name";

/// Reads [`RESPONSE`].
pub(crate) fn response<F: Fields>(from: &mut Reader<'_, F>) -> Result<Response, StoreError> {
    Ok(Response {
        occurrence: from.occurrence_id()?,
        verb: from.word()?,
        at: from.at()?,
        actor: from.owned()?,
        until: from.maybe_at()?,
        snooze_minutes: from.maybe_count()?,
        user: from.maybe_owned()?,
        said: Said { text: from.maybe_owned()?, channel: from.maybe_owned()?, name: from.maybe_owned()? },
    })
}

/// The columns that [`person`] reads, of a table called `u`.
pub(crate) const PERSON: &str =
    "u.timezone, u.language, u.quiet_from, u.quiet_to, u.quiet_except, u.quiet_digest, u.paused_until, u.escalate";
/// How many those are.
pub(crate) const N_PERSON: usize = 8;

/// Reads [`PERSON`]; one who is not known has nothing.
pub(crate) fn person<F: Fields>(from: &mut Reader<'_, F>) -> Result<Person, StoreError> {
    let timezone = from.maybe_text()?.map(Zone::named).transpose().map_err(impossible)?;
    let language = from.maybe_text()?.and_then(|tag| tag.parse().ok());
    let time = |text: Option<&str>| text.map(str::parse::<Time>).transpose().map_err(impossible);
    let (quiet_from, quiet_to) = (time(from.maybe_text()?)?, time(from.maybe_text()?)?);
    let (except, digest) = (from.maybe_word()?.unwrap_or_default(), from.flag()?);
    let quiet = quiet_from.zip(quiet_to).map(|(from, to)| QuietHours { from, to, except, digest });
    Ok(Person { language, timezone, quiet, paused_until: from.maybe_at()?, escalate: from.steps()? })
}

/// Reads [`PERSON`] of `user` from column `first` on. A person who cannot be read is taken to have no zone, quiet hours or pause: that
/// must not keep their messages from them.
pub(crate) fn person_of<F: Fields>(user: &str, row: &F, first: usize) -> Person {
    person(&mut Reader::new(row, first)).unwrap_or_else(|error| {
        tracing::error!(user, %error, "a user cannot be read; they are reached as if they had no zone, quiet hours or pause");
        Person::default()
    })
}

/// The columns that [`group`] reads, of a table called `g`.
pub(crate) const GROUP: &str = "g.name, g.mode, g.users, g.rota, g.created_at, g.updated_at";

/// The columns that [`shift`] reads, of a table called `s`.
pub(crate) const SHIFT: &str = "s.group_name, s.from_at, s.until_at, s.user_id";

/// Reads [`SHIFT`]: a shift, and whose it is.
pub(crate) fn shift<F: Fields>(row: &F) -> Result<(String, Shift), StoreError> {
    let mut from = Reader::new(row, 0);
    Ok((from.owned()?, Shift { from_at: from.at()?, until_at: from.at()?, user: from.owned()? }))
}

/// Gives each group its shifts.
pub(crate) fn with_shifts(groups: &mut [Group], shifts: Vec<(String, Shift)>) {
    for (name, shift) in shifts {
        if let Some(group) = groups.iter_mut().find(|group| group.name == name) {
            group.shifts.push(shift);
        }
    }
}

/// The columns that [`feed`] reads, of a table called `f`.
pub(crate) const FEED: &str = "f.kind, f.owner, f.name, f.source, f.settings, f.every, f.next_at, f.etag, f.modified, f.read_at, \
    f.changed_at, f.failures, f.vanished, f.problem, f.problems, f.created_at";

/// Reads [`FEED`].
pub(crate) fn feed<F: Fields>(row: &F) -> Result<Feed, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok(Feed {
        key: FeedKey { kind: from.word()?, owner: from.owned()?, name: from.owned()? },
        source: from.owned()?,
        settings: FeedSettings::from_stored(from.text()?).map_err(impossible)?,
        every: Duration::from_secs(u64::try_from(from.number()?).map_err(impossible)?),
        next_at: from.maybe_at()?,
        known: feed::Known { etag: from.maybe_owned()?, modified: from.maybe_owned()? },
        read_at: from.maybe_at()?,
        changed_at: from.maybe_at()?,
        failures: from.count()?,
        vanished: from.count()?,
        problem: from.maybe_owned()?,
        problems: match from.maybe_text()? {
            Some(list) => serde_json::from_str(list).map_err(impossible)?,
            None => Vec::new(),
        },
        created_at: from.at()?,
    })
}

/// Reads [`crate::columns::FOLLOWED`]: a calendar that was never read here.
pub(crate) fn followed<F: Fields>(row: &F) -> Result<Feed, StoreError> {
    let mut from = Reader::new(row, 0);
    let key = FeedKey { kind: FeedKind::User, owner: from.owned()?, name: from.owned()? };
    let source = from.owned()?;
    let settings = FeedSettings::from_stored(from.text()?).map_err(impossible)?;
    let every = Duration::from_secs(u64::try_from(from.number()?).map_err(impossible)?);
    Ok(Feed::new(key, source, settings, every, from.at()?))
}

/// Reads [`GROUP`].
pub(crate) fn group<F: Fields>(row: &F) -> Result<Group, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok(Group {
        name: from.owned()?,
        mode: from.word()?,
        users: serde_json::from_str(from.text()?).map_err(impossible)?,
        rota: from.maybe_owned()?,
        shifts: Vec::new(),
        created_at: from.at()?,
        updated_at: from.at()?,
    })
}

/// The columns that [`silence`] reads, of a table called `s`.
pub(crate) const SILENCE: &str =
    "s.id, s.user_id, s.group_name, s.tag, s.from_at, s.until_at, s.created_at, s.created_by";
/// How many those are.
const N_SILENCE: usize = 8;

/// Reads [`SILENCE`].
pub(crate) fn silence<F: Fields>(row: &F) -> Result<Silence, StoreError> {
    let mut from = Reader::new(row, 0);
    Ok(Silence {
        id: SilenceId::from_bytes(*from.id()?.as_bytes()),
        user: from.maybe_owned()?,
        group: from.maybe_owned()?,
        tag: from.maybe_owned()?,
        from: from.at()?,
        until: from.at()?,
        created_at: from.at()?,
        created_by: from.owned()?,
    })
}

/// Reads [`SILENCE`], and after it the users of its group.
pub(crate) fn silent<F: Fields>(row: &F) -> Result<Silent, StoreError> {
    Ok(Silent { silence: silence(row)?, people: Reader::new(row, N_SILENCE).list()? })
}

/// Reads [`OCCURRENCE`], and after it the user, the tags and the time to answer of its reminder. A run that cannot be read is left to
/// the claim, which sets it aside.
pub(crate) fn silenced<F: Fields>(row: &F) -> Result<(OccurrenceId, Option<SilencedRun>), StoreError> {
    let id = Reader::new(row, 0).occurrence_id()?;
    let read = || -> Result<SilencedRun, StoreError> {
        let mut from = Reader::new(row, N_OCCURRENCE);
        let (user, tags, ack_timeout) = (from.owned()?, from.list()?, from.maybe_span()?);
        Ok(SilencedRun { occurrence: occurrence(&mut Reader::new(row, 0))?, user, tags, ack_timeout })
    };
    Ok((id, read().ok()))
}

/// The columns that [`user`] reads, of a table called `u`.
pub(crate) const USER: &str = "u.timezone, u.language, u.quiet_from, u.quiet_to, u.quiet_except, u.quiet_digest, u.paused_until, \
    u.escalate, u.id, u.language, u.addresses, u.admin, u.created_at, u.updated_at, u.habits";

/// Reads [`USER`].
pub(crate) fn user<F: Fields>(row: &F) -> Result<User, StoreError> {
    let person = person(&mut Reader::new(row, 0))?;
    let addresses = Reader::new(row, N_PERSON + 2).addresses()?;
    user_of(row, person, addresses)
}

/// Reads [`USER`] of an admin, without their addresses. One who cannot be read as a whole must not keep the others, or themselves,
/// from being told.
pub(crate) fn admin<F: Fields>(row: &F) -> Result<User, StoreError> {
    let id = Reader::new(row, N_PERSON).owned()?;
    user_of(row, person_of(&id, row, 0), Vec::new())
}

fn user_of<F: Fields>(row: &F, person: Person, addresses: Vec<Address>) -> Result<User, StoreError> {
    let mut from = Reader::new(row, N_PERSON);
    let (id, language) = (from.owned()?, from.maybe_owned()?);
    from.maybe_text()?;
    let (admin, created_at, updated_at) = (from.flag()?, from.at()?, from.at()?);
    Ok(User {
        id,
        timezone: person.timezone,
        language,
        addresses,
        quiet_hours: person.quiet,
        paused_until: person.paused_until,
        escalate: person.escalate,
        habits: Habits::from_stored(from.maybe_text()?),
        admin,
        created_at,
        updated_at,
    })
}

/// The columns that [`key`] reads, of a table called `k`, after those that each store names or reads in its own way.
pub(crate) const KEY: &str = "k.id, k.name, k.write, k.scopes, k.channels, k.rate, k.prefix, k.expires_at, k.created_at, k.used_at, \
    k.old_prefix, k.old_until";

/// Of a key: the hashes of its secret and of the one before it, and its user.
pub(crate) struct KeyOf {
    pub(crate) hash: [u8; 32],
    pub(crate) old_hash: Option<[u8; 32]>,
    pub(crate) user: Option<String>,
}

/// Reads [`KEY`] from column `first` on.
pub(crate) fn key<F: Fields>(row: &F, first: usize, of: KeyOf) -> Result<ApiKey, StoreError> {
    let mut from = Reader::new(row, first);
    let (id, name, write) = (from.owned()?, from.owned()?, from.flag()?);
    let scopes = match from.maybe_text()? {
        Some(text) => text.parse().map_err(impossible)?,
        None => Scopes::of_old(write, of.user.is_some()),
    };
    let channels = from.maybe_text()?.map(serde_json::from_str).transpose().map_err(impossible)?.unwrap_or_default();
    let rate = from.maybe_text()?.map(str::parse).transpose().map_err(impossible)?;
    let (prefix, expires_at) = (from.maybe_owned()?, from.maybe_at()?);
    let (created_at, used_at) = (from.at()?, from.maybe_at()?);
    let (old_prefix, old_until) = (from.maybe_owned()?, from.maybe_at()?);
    let replaced = of.old_hash.zip(old_until).map(|(hash, until)| Replaced { hash, prefix: old_prefix, until });
    let KeyOf { hash, user, .. } = of;
    Ok(ApiKey { id, name, prefix, hash, user, channels, scopes, rate, expires_at, created_at, used_at, replaced })
}

/// The channels of a key, as [`key`] reads them.
pub(crate) fn key_channels(key: &ApiKey) -> Result<Option<String>, StoreError> {
    (!key.channels.is_empty()).then(|| serde_json::to_string(&key.channels).map_err(impossible)).transpose()
}

/// The columns that [`stretch`] reads, of a table called `l`.
pub(crate) const STRETCH: &str = "l.at, l.node, l.since, l.late_max, l.counts, l.failed, l.given_up, l.waiting";

/// Reads [`STRETCH`].
pub(crate) fn stretch<F: Fields>(from: &mut Reader<'_, F>) -> Result<Stretch, StoreError> {
    let (at, node, since) = (from.at()?, from.owned()?, from.at()?);
    let max = Duration::from_micros(u64::try_from(from.number()?).map_err(impossible)?);
    let late = Histogram::from_kept(from.text()?, max);
    let mut count = || from.number().and_then(|n| u64::try_from(n).map_err(impossible));
    Ok(Stretch { at, node, since, late, failed: count()?, given_up: count()?, waiting: count()? })
}

/// The numbers of a stretch as they are kept: the latest send in microseconds, failed attempts, runs that were given up, messages that waited.
pub(crate) fn numbers_of(stretch: &Stretch) -> [i64; 4] {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let max = i64::try_from(stretch.late.max().as_micros()).unwrap_or(i64::MAX);
    [max, number(stretch.failed), number(stretch.given_up), number(stretch.waiting)]
}

#[cfg(test)]
mod tests {
    use punctual_core::decide::family::may_be_asked;
    use punctual_core::decide::resend::can_be_resent;
    use punctual_core::id::OccurrenceId;
    use punctual_core::reminder::ReminderStatus;
    use punctual_testkit::sample::{instant, once};

    use super::*;

    #[test]
    fn a_run_that_is_open_has_a_moment_or_is_paused() {
        let at = instant("2026-05-04T08:00:00Z");
        for kind in StateKind::all() {
            let to = Some(("phone".to_owned(), "ann".to_owned()));
            let (asked, node) = (Some("{}".to_owned()), Some("n".to_owned()));
            let waits_for = Some(punctual_core::occurrence::Why::Quiet);
            let kept = Kept { wake_at: Some(at), to, asked, node, waits_for, ..Kept::default() };
            let state = State::from_kept(kind, kept, at).expect("it has all that it needs");
            let is_open = state.wake_at(at).is_some() || kind == StateKind::Paused;
            assert_eq!(is_open, !kind.is_final(), "{kind}");
        }
    }

    #[test]
    fn the_conditions_on_reminders_are_cores() {
        let at = instant("2026-05-04T08:00:00Z");
        let statuses =
            [ReminderStatus::Active, ReminderStatus::Paused, ReminderStatus::Completed, ReminderStatus::Cancelled];
        let words = |wanted: &dyn Fn(ReminderStatus) -> bool| {
            let words = statuses.iter().filter(|status| wanted(**status)).map(|status| format!("'{status}'"));
            format!("r.status in ({})", words.collect::<Vec<_>>().join(", "))
        };
        let resent = |status| can_be_resent(&Reminder { status, ..once(1, at, at) });
        assert_eq!(CAN_BE_RESENT, format!("{} and r.escalates_id is null", words(&resent)));
        let escalates = Some(OccurrenceId { reminder: once(2, at, at).id, run: 1 });
        assert!(!can_be_resent(&Reminder { escalates, ..once(1, at, at) }));
        assert_eq!(MAY_BE_ASKED, words(&may_be_asked));
    }
}
