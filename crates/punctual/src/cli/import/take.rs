//! Reading a table page by page, and handing what it asks for to a server.
//!
//! Nothing is remembered between two runs: the server finds by itself what it was given before. So a run may be killed at any
//! moment, and the same command goes on.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use punctual_client::{Failure, Refused};
use punctual_core::clock::Clock;
use punctual_core::reminder::ReminderStatus;
use punctual_engine::SystemClock;
use punctual_store::foreign::{ForeignError, ForeignKey, ForeignPage, ForeignRow};
use reqwest::StatusCode;

use super::map::{Mapped, Wishes};
use super::progress::Progress;
use super::row::Row;
use super::source::Source;
use super::tally::{Fate, Problem, Tally};
use crate::cli::Context;
use crate::wire::{
    Import, ImportItem, ImportOutcome, ImportedItem, Reminder, ReminderInput, SendsQuery, UserQuery, Word,
};

/// How many rows are read, and how many items are sent, at once.
pub(super) const PAGE: usize = 1000;
/// How large a request may become before the rest goes into another.
const REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long to wait before something is tried again that a lost connection cut off, in seconds: two minutes in all, in which a database
/// server starts again after a crash.
pub(super) const TRY_AGAIN_AFTER: [u64; 7] = [1, 2, 4, 8, 15, 30, 60];

/// How to go about it.
pub(super) struct Way {
    /// Whether anything is written.
    pub(super) applies: bool,
    /// Whether reminders that ended there are cancelled here, and those that changed there are changed here.
    pub(super) follows: bool,
}

/// One row, and what it asks for.
struct Asked {
    key: String,
    state: String,
    /// What is sent to the server.
    item: ImportItem,
    mapped: Mapped,
}

/// An import under way.
struct Taking<'a> {
    source: &'a Source,
    way: &'a Way,
    context: &'a Context,
    clock: SystemClock,
    progress: &'a mut Progress,
    tally: Tally,
}

/// Takes everything over, or only says what would be.
pub(super) async fn all(
    source: &Source,
    wishes: &Wishes,
    way: &Way,
    context: &Context,
    progress: &mut Progress,
) -> anyhow::Result<Tally> {
    let clock = SystemClock::start();
    let mut taking = Taking { source, way, context, clock, progress, tally: Tally::default() };
    let mut after: Option<ForeignKey> = None;
    // Reminders that were imported before and are still to come. Those left over in the end are in the table no more.
    let mut unseen = taking.open_here().await?;
    loop {
        let rows = page(source, after.as_ref(), &taking.clock, taking.progress).await?;
        let n_rows = rows.len();
        after = rows.last().map(|row| row.key.clone());
        for row in &rows {
            unseen.remove(Row::new(&source.layout, &row.values).text("id").unwrap_or_default());
        }
        let asked = rows.iter().filter_map(|row| understood(row, source, wishes, &mut taking.tally)).collect();
        for batch in batches(asked) {
            if let Err(error) = taking.hand_over(batch).await {
                let so_far = taking.tally.n_created();
                return Err(match way.applies {
                    true => error.context(format!("{so_far} were created so far; the same command goes on from there")),
                    false => error,
                });
            }
        }
        taking.progress.advance(n_rows);
        if n_rows < PAGE {
            break;
        }
    }
    for id in unseen.values() {
        let fate = match way.applies && way.follows {
            true => taking.cancel(id, Fate::Gone).await?,
            false => Fate::Gone,
        };
        taking.tally.count("gone", fate, "");
    }
    Ok(taking.tally)
}

/// The next rows; asked for again while the other database cannot be reached.
pub(super) async fn page(
    source: &Source,
    after: Option<&ForeignKey>,
    clock: &SystemClock,
    progress: &Progress,
) -> anyhow::Result<Vec<ForeignRow>> {
    let key = source.layout.column("id").to_owned();
    let mut waits = TRY_AGAIN_AFTER.into_iter();
    loop {
        let page = ForeignPage { table: &source.table, key: &key, after, limit: PAGE };
        match (source.database.page(page).await, waits.next()) {
            (Err(error @ ForeignError::Lost { .. }), Some(seconds)) => {
                progress.say(&format!("{error}; trying again in {seconds} s"));
                clock.pause(Duration::from_secs(seconds)).await;
            }
            (page, _) => return Ok(page?),
        }
    }
}

/// What a row asks for; a row that cannot be understood is counted at once.
fn understood(row: &ForeignRow, source: &Source, wishes: &Wishes, tally: &mut Tally) -> Option<Asked> {
    let row = Row::new(&source.layout, &row.values);
    let key = row.text("id").unwrap_or_default().to_owned();
    let state = state_of(&row);
    let bad = |tally: &mut Tally, bad: super::row::Bad| {
        tally.count(&state, Fate::Refused, &bad.column);
        tally.problem(Problem { key: key.clone(), column: bad.column, detail: bad.problem });
    };
    let created_at = match row.instant("created_at") {
        Ok(at) => at,
        Err(found) => {
            bad(tally, found);
            return None;
        }
    };
    match (source.kind.map)(&row, wishes) {
        Ok(mapped) => {
            let item = item(&key, created_at, &mapped);
            Some(Asked { key, state, item, mapped })
        }
        Err(found) => {
            bad(tally, found);
            None
        }
    }
}

fn item(key: &str, created_at: Option<Timestamp>, mapped: &Mapped) -> ImportItem {
    // A row that is not taken is asked about: it may have been imported before.
    let (reminder, paused) = match mapped {
        Mapped::Take { reminder, paused } => (Some((**reminder).clone()), paused.then_some(true)),
        Mapped::Ended(_) | Mapped::LeftOut(_) => (None, None),
    };
    ImportItem { key: Some(key.to_owned()), created_at: created_at.map(|at| at.to_string()), paused, reminder }
}

/// Whether a reminder of this status is not over.
fn is_open(status: &Word<ReminderStatus>) -> bool {
    *status == ReminderStatus::Active || *status == ReminderStatus::Paused
}

/// The state a row is in there, in its own word.
pub(super) fn state_of(row: &Row<'_>) -> String {
    if let Some(status) = row.text("status") {
        return status.to_owned();
    }
    if row.layout.has("sent") {
        return if row.boolean("sent").ok().flatten() == Some(true) { "sent" } else { "not sent" }.into();
    }
    if row.layout.has("enabled") {
        return if row.boolean("enabled").ok().flatten() == Some(false) { "disabled" } else { "enabled" }.into();
    }
    "–".into()
}

fn batches(asked: Vec<Asked>) -> Vec<Vec<Asked>> {
    let mut batches = vec![Vec::new()];
    let mut n_bytes = 0;
    for one in asked {
        // A value of texts and numbers always becomes JSON.
        let size = serde_json::to_string(&one.item).map_or(0, |text| text.len());
        if n_bytes + size > REQUEST_BYTES_MAX && n_bytes > 0 {
            batches.push(Vec::new());
            n_bytes = 0;
        }
        n_bytes += size;
        if let Some(last) = batches.last_mut() {
            last.push(one);
        }
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

impl Taking<'_> {
    /// The reminders that were imported from the source and are not over, by their keys there.
    async fn open_here(&self) -> anyhow::Result<HashMap<String, String>> {
        // Its runs are of no interest here, and the first instant there is has none.
        let first = Some(Timestamp::MIN.to_string());
        let mut query =
            SendsQuery { source: self.source.name.clone(), to: first, limit: Some(500), ..SendsQuery::default() };
        let mut open = HashMap::new();
        loop {
            let page = self.patiently(|| self.context.client.sends(&query)).await?;
            let still_open = page.reminders.into_iter().filter(|one| is_open(&one.status));
            open.extend(still_open.map(|one| (one.key, one.id)));
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => return Ok(open),
            }
        }
    }

    /// Sends one batch, and counts what became of it.
    ///
    /// A batch that is refused because of one of its items is sent in halves, down to that item: one bad row stops no other.
    async fn hand_over(&mut self, batch: Vec<Asked>) -> anyhow::Result<()> {
        let mut waiting = vec![batch];
        while let Some(mut batch) = waiting.pop() {
            let error = match self.hand_over_whole(&batch).await {
                Ok(()) => continue,
                Err(error) => error,
            };
            match (error.downcast_ref::<Failure>().and_then(Failure::refused), batch.as_slice()) {
                (Some(refused), [asked]) if is_about_an_item(refused) => {
                    let field = refused.field().unwrap_or("row").trim_start_matches("items[0].");
                    let column = column_of(field, self.source);
                    self.tally.count(&asked.state, Fate::Refused, &column);
                    self.tally.problem(Problem { key: asked.key.clone(), column, detail: refused.to_string() });
                }
                (Some(refused), [_, _, ..]) if is_about_an_item(refused) => {
                    let second = batch.split_off(batch.len() / 2);
                    waiting.extend([second, batch]);
                }
                _ => return Err(error),
            }
        }
        Ok(())
    }

    async fn hand_over_whole(&mut self, batch: &[Asked]) -> anyhow::Result<()> {
        let import = Import {
            source: Some(self.source.name.clone()),
            dry_run: Some(!self.way.applies),
            items: Some(batch.iter().map(|asked| asked.item.clone()).collect()),
        };
        let answer = self.patiently(|| self.context.client.import(&import)).await?;
        let follows = self.way.applies && self.way.follows;
        for (asked, done) in batch.iter().zip(&answer.items) {
            let id = done.id.as_deref().unwrap_or_default();
            let (fate, why) = match fate(&asked.mapped, done) {
                (Fate::StillActive, why) if follows => (self.cancel(id, Fate::StillActive).await?, why),
                (Fate::Differs, why) if follows => (self.change(id, &asked.mapped, done).await?, why),
                other => other,
            };
            self.tally.count(&asked.state, fate, &why);
            if fate == Fate::Refused {
                let field = done.field.as_deref().unwrap_or("reminder");
                self.tally.problem(Problem {
                    key: asked.key.clone(),
                    column: column_of(field, self.source),
                    detail: match (&done.outcome, &done.detail) {
                        (_, Some(detail)) => detail.clone(),
                        (Word::Known(_), None) => "is refused".to_owned(),
                        (Word::Other(word), None) => {
                            format!("the server says `{word}`, which this program does not know")
                        }
                    },
                });
            }
            if fate == Fate::Differs {
                self.tally.problem(Problem {
                    key: asked.key.clone(),
                    column: why.clone(),
                    detail: format!("has changed since it was imported; here it stays as it was, as {id}"),
                });
            }
        }
        Ok(())
    }

    /// Cancels a reminder that ended there; returns `otherwise` when that is not possible any more.
    async fn cancel(&self, id: &str, otherwise: Fate) -> anyhow::Result<Fate> {
        let anybody = UserQuery::default();
        let cancelled = self.patiently(|| self.context.client.cancel(id, &anybody)).await;
        followed(cancelled, Fate::CancelledHere, otherwise)
    }

    /// Makes a reminder say what it says there now. Whose it is does not change.
    async fn change(&self, id: &str, mapped: &Mapped, done: &ImportedItem) -> anyhow::Result<Fate> {
        let Mapped::Take { reminder, .. } = mapped else { return Ok(Fate::Differs) };
        let differs = |field: &str| done.differs.iter().any(|name| name == field);
        let patch = ReminderInput {
            message: reminder.message.clone().filter(|_| differs("message")),
            schedule: reminder.schedule.clone().filter(|_| differs("schedule")),
            timezone: reminder.timezone.clone().filter(|_| differs("timezone")),
            priority: reminder.priority.clone().filter(|_| differs("priority")),
            ..ReminderInput::default()
        };
        let n_said =
            [patch.message.is_some(), patch.schedule.is_some(), patch.timezone.is_some(), patch.priority.is_some()];
        if n_said.into_iter().filter(|is_said| *is_said).count() < done.differs.len() {
            return Ok(Fate::Differs);
        }
        let anybody = UserQuery::default();
        let changed = self.patiently(|| self.context.client.update(id, &anybody, &patch)).await;
        followed(changed, Fate::ChangedHere, Fate::Differs)
    }

    /// Asks until there is an answer, as long as it may come. A request that is sent twice is done once.
    async fn patiently<T, F>(&self, ask: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut waits = TRY_AGAIN_AFTER.into_iter();
        loop {
            let failure = match ask().await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match waits.next() {
                Some(seconds) if failure.is_passing() => {
                    self.progress.say(&format!("{failure}; trying again in {seconds} s"));
                    self.clock.pause(Duration::from_secs(seconds)).await;
                }
                _ => return Err(failure),
            }
        }
    }
}

/// Whether a request was refused for what one of its items is, and not for what all of them are.
fn is_about_an_item(refused: &Refused) -> bool {
    let names_one = refused.field().is_some_and(|field| field.starts_with("items["));
    names_one || refused.status == StatusCode::PAYLOAD_TOO_LARGE
}

/// What the server's answer means for a row.
fn fate(mapped: &Mapped, done: &ImportedItem) -> (Fate, String) {
    use ImportOutcome::{Absent, Active, Created, Exists, New, Over};
    let outcome = match &done.outcome {
        Word::Known(outcome) => outcome,
        Word::Other(word) => return (Fate::Refused, word.clone()),
    };
    match (outcome, mapped) {
        (Created | New, Mapped::Take { paused: true, .. }) => (Fate::CreatedPaused, String::new()),
        (Created | New, _) => (Fate::Created, String::new()),
        // Once it is over here, it does not matter what becomes of it there.
        (Exists, _) if done.differs.is_empty() || !done.status.as_ref().is_some_and(is_open) => {
            (Fate::Exists, String::new())
        }
        (Exists, _) => (Fate::Differs, done.differs.join(", ")),
        (Active, Mapped::Ended(why)) => (Fate::StillActive, (*why).to_owned()),
        (Over, Mapped::Ended(_)) | (Active | Over, Mapped::LeftOut(_)) => (Fate::Exists, String::new()),
        (Absent, Mapped::Ended(why) | Mapped::LeftOut(why)) => (Fate::LeftOut, (*why).to_owned()),
        _ => (Fate::Refused, done.field.clone().unwrap_or_default()),
    }
}

fn followed(answer: Result<Reminder<'_>, Failure>, done: Fate, otherwise: Fate) -> anyhow::Result<Fate> {
    match answer {
        Ok(_) => Ok(done),
        // It is being sent just now, or it ended meanwhile, or it cannot be so.
        Err(failure) if failure.refused().is_some_and(|refused| refused.status.is_client_error()) => Ok(otherwise),
        Err(failure) => Err(failure.into()),
    }
}

/// The column that a field of a reminder comes from.
fn column_of(field: &str, source: &Source) -> String {
    let of_kind = match field {
        "message" => "message",
        "user" => "user_id",
        "schedule.at" => ["deliver_at", "notification_time", "due_at", "run_at"]
            .into_iter()
            .find(|name| source.layout.has(name))
            .unwrap_or("run_at"),
        "schedule.expr" => "cron_expr",
        "schedule.time" => "time_of_day",
        "schedule.every" => "interval_ms",
        "schedule.text" => "original_text",
        field if field.starts_with("schedule.days") => "days_of_week",
        field if field.starts_with("to[") => return format!("--to, as {field}"),
        field => return field.to_owned(),
    };
    source.layout.column(of_kind).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_outcome_that_only_a_newer_server_knows_is_named_and_is_no_success() {
        for (word, expect) in [("over", (Fate::Exists, "")), ("merged", (Fate::Refused, "merged"))] {
            let done: ImportedItem = serde_json::from_value(json!({ "key": "7", "outcome": word })).unwrap();
            let (fate, why) = fate(&Mapped::Ended("is done there"), &done);
            assert_eq!((fate, why.as_str()), expect);
        }
    }
}
