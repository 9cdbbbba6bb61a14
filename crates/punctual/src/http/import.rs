//! Taking over what another system was asked for.
//!
//! Every item has the key under which the other system knows it. A reminder's id is made of the source and the key, so an item
//! that is sent again is found there and not created twice: an importer needs no memory, and may stop and begin anew at
//! any moment.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use punctual_core::id::ReminderId;
use punctual_core::invalid::Invalid;
use punctual_core::reminder::{Metadata, Reminder, ReminderStatus};
use punctual_core::schedule::{Rule, Schedule};
use punctual_core::steps::Steps;
use punctual_core::store::{ReminderView, StoreError};
use punctual_engine::CreateError;
use serde_json::{Map, Value, json};

use super::App;
use super::asked::{Asked, Unsaid};
use super::auth::{Caller, Writer};
use super::input::{BATCH_BYTES_MAX, Input};
use super::problem::Problem;
use super::read::{self, WHOLE};
use super::shown;
use crate::wire::{Import, ImportInput, ImportItem, ImportOutcome as Outcome, Imported, ImportedItem as Done};

/// The most items in one request.
const ITEMS_MAX: usize = 1000;
/// The steps that each item may take. Items do not share them: one that takes too many stops no other.
const ITEM_STEPS: u64 = 50_000;
/// The longest name of a source, and the longest key.
const NAME_BYTES_MAX: usize = 256;

fn done(key: String, outcome: Outcome, id: ReminderId) -> Done {
    let id = Some(id.to_string());
    Done { key, outcome: outcome.into(), id, status: None, differs: Vec::new(), field: None, detail: None }
}

fn refused(key: String, invalid: Invalid) -> Done {
    let (field, detail) = (Some(invalid.field), Some(invalid.problem));
    Done { key, outcome: Outcome::Refused.into(), id: None, status: None, differs: Vec::new(), field, detail }
}

/// One item, as far as it could be understood.
struct Item {
    key: String,
    id: ReminderId,
    /// The reminder; without one it is only asked about.
    reminder: Option<Reminder>,
}

/// Takes over what another system was asked for.
///
/// An item that is sent again is not created again, and a bad item stops no other.
#[utoipa::path(
    post, path = "/v1/import", operation_id = "import", tag = "import", request_body = ImportInput,
    responses((status = 200, description = "What became of each item", body = Imported)),
)]
pub(super) async fn take(
    State(app): State<Arc<App>>,
    Writer(caller): Writer,
    body: Input<BATCH_BYTES_MAX>,
) -> Result<Response, Problem> {
    caller.must_be_unbound()?;
    let _permit = app.batch_permit(body.batch_weight()).await;
    // One bad item stops no other, so each is looked at by itself.
    let asked: Import<Value> = read::read(body.json_with_nul()?, WHOLE, &[])?;
    drop(body);
    let source = name(asked.source, "source", "name where it comes from, such as v2_reminders@bot")?;
    let dry_run = asked.dry_run.unwrap_or(false);
    let values = asked.items.ok_or_else(|| Invalid::new("items", "is missing; send a list"))?;
    if values.len() > ITEMS_MAX {
        let problem = format!("has {} items; at most {ITEMS_MAX} fit in one request", values.len());
        return Err(Invalid::new("items", problem).into());
    }
    let now = app.now();
    let mut done: Vec<Option<Done>> = Vec::with_capacity(values.len());
    let mut items: Vec<(usize, Item)> = Vec::with_capacity(values.len());
    let mut seen = HashSet::new();
    for (index, value) in values.into_iter().enumerate() {
        let within = |invalid: Invalid| invalid.within(&format!("items[{index}]"));
        let known_as = value["key"].as_str().map(str::to_owned);
        let mut given: ImportItem<Value> = match (read::read(value, WHOLE, &[]), known_as) {
            (Ok(given), _) => given,
            (Err(invalid), Some(key)) if matches!(invalid.field.as_str(), "created_at" | "paused") => {
                done.push(Some(refused(key, invalid)));
                continue;
            }
            (Err(invalid), _) => return Err(within(invalid).into()),
        };
        let key = name(given.key.take(), "key", "name it as the other system does").map_err(within)?;
        let steps = Arc::new(Steps::new(ITEM_STEPS));
        match item(given, &key, &source, &app, now, &steps).await? {
            Ok(item) if !seen.insert(item.id) => {
                let invalid = Invalid::new("key", "is the key of an earlier item of this request");
                done.push(Some(refused(key, invalid)));
            }
            Ok(item) => {
                done.push(None);
                items.push((index, item));
            }
            Err(invalid) => done.push(Some(refused(key, invalid))),
        }
    }
    let finished = write(&app, &caller, items, dry_run).await?;
    for (index, one) in finished {
        done[index] = Some(one);
    }
    let done: Vec<Done> = done.into_iter().flatten().collect();
    let count = |outcome: Outcome| done.iter().filter(|one| one.outcome == outcome).count();
    let body = Imported {
        dry_run,
        created: count(Outcome::Created),
        exists: count(Outcome::Exists),
        refused: count(Outcome::Refused),
        source,
        items: done,
    };
    Ok(shown::answer(StatusCode::OK, &body))
}

fn name(text: Option<String>, field: &str, hint: &str) -> Result<String, Invalid> {
    let text = text.unwrap_or_default();
    match text.len() {
        0 => Err(Invalid::new(field, format!("is missing; {hint}"))),
        1..=NAME_BYTES_MAX if text.contains('\0') => Err(Invalid::new(field, "contains a NUL character")),
        1..=NAME_BYTES_MAX => Ok(text),
        length => Err(Invalid::new(field, format!("is {length} bytes long; at most {NAME_BYTES_MAX} are accepted"))),
    }
}

/// Reads one item. What is wrong with it is its own business and stops no other.
async fn item(
    given: ImportItem<Value>,
    key: &str,
    source: &str,
    app: &App,
    now: Timestamp,
    steps: &Arc<Steps>,
) -> Result<Result<Item, Invalid>, Problem> {
    macro_rules! check {
        ($read:expr) => {
            match $read {
                Ok(value) => value,
                Err(invalid) => return Ok(Err(Invalid::from(invalid))),
            }
        };
    }
    let created_at = check!(created_at(given.created_at));
    // An item without `created_at` is as old as can be, so that its id is the same every time.
    let known_since = created_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let id = ReminderId::imported(source, key, known_since);
    let paused = given.paused.unwrap_or(false);
    let Some(value) = given.reminder else {
        return Ok(Ok(Item { key: key.to_owned(), id, reminder: None }));
    };
    let read_at = check!(read_at(&value, known_since));
    let mut asked = check!(Asked::read(&value));
    if asked.is_sentence() {
        return Ok(Err(Invalid::new("text", "cannot be imported; give `message` and `schedule`")));
    }
    let user = check!(asked.user.take().ok_or_else(|| Invalid::new("user", "is missing; say whose it is")));
    if user.contains('\0') {
        // PostgreSQL cannot even be asked about such a user, and the error would be everybody's.
        return Ok(Err(Invalid::new("user", "contains a NUL character")));
    }
    let timezone = match asked.timezone.take() {
        Some(zone) => zone,
        None => app.zone_of(&user, now).await?,
    };
    let steps = Arc::clone(steps);
    let unsaid = Unsaid { id, user, timezone, retries_max: app.retries_max, now: read_at, via: "import", steps };
    let read = match asked.is_heavy() {
        true => app.aside(move || asked.reminder(unsaid)).await?,
        false => asked.reminder(unsaid),
    };
    let (made, faults) = read;
    check!(faults.finish());
    let mut reminder = made.reminder;
    reminder.created_at = created_at.filter(|at| *at <= now).unwrap_or(now);
    reminder.updated_at = now;
    reminder.metadata = with_origin(&reminder.metadata, source, key, now);
    if paused {
        reminder.status = ReminderStatus::Paused;
    }
    for checked in app.engine.check(std::slice::from_ref(&reminder), now).await? {
        check!(checked);
    }
    Ok(Ok(Item { key: key.to_owned(), id, reminder: Some(reminder) }))
}

fn created_at(text: Option<String>) -> Result<Option<Timestamp>, Invalid> {
    let Some(text) = text else { return Ok(None) };
    let wrong = || Invalid::new("created_at", format!("`{text}` is no instant; write 2026-03-02T08:00:00Z"));
    text.parse().map(Some).map_err(|_| wrong())
}

/// The moment at which a schedule is read, so that it means the same however often it is imported. A single instant must be
/// exact, and may lie in the past: then it is due at once.
fn read_at(reminder: &Value, known_since: Timestamp) -> Result<Timestamp, Invalid> {
    let schedule = &reminder["schedule"];
    if schedule["type"] != "once" {
        return Ok(known_since);
    }
    match schedule["at"].as_str().map(str::parse::<Timestamp>) {
        Some(Err(_)) => Err(Invalid::new(
            "schedule.at",
            format!("{} is no exact instant; write 2026-03-02T08:00:00Z", schedule["at"]),
        )),
        _ => Ok(Timestamp::UNIX_EPOCH),
    }
}

/// The metadata, and where it comes from.
fn with_origin(metadata: &Metadata, source: &str, key: &str, now: Timestamp) -> Metadata {
    let mut value = metadata.to_value();
    if let Some(map) = value.as_object_mut() {
        let imported = map.entry("imported").or_insert_with(|| Value::Object(Map::new()));
        if !imported.is_object() {
            *imported = json!({ "was": imported.take() });
        }
        imported["from"] = source.into();
        imported["id"] = key.into();
        imported["at"] = now.to_string().into();
        return Metadata::new(map);
    }
    metadata.clone()
}

/// Creates the reminders that are not there yet, and says what became of each item.
async fn write(
    app: &App,
    caller: &Caller,
    items: Vec<(usize, Item)>,
    dry_run: bool,
) -> Result<Vec<(usize, Done)>, Problem> {
    let ids: Vec<ReminderId> = items.iter().map(|(_, item)| item.id).collect();
    let mut there = existing(app, ids.clone()).await?;
    let missing = |there: &HashMap<ReminderId, ReminderView>| {
        let wanted = items.iter().filter(|(_, item)| !there.contains_key(&item.id));
        wanted.filter_map(|(_, item)| item.reminder.clone()).collect::<Vec<_>>()
    };
    let new = missing(&there);
    let mut created: HashSet<ReminderId> = new.iter().map(|reminder| reminder.id).collect();
    if !dry_run && !new.is_empty() {
        match app.create(new, caller, None).await {
            Ok(_) => {}
            Err(CreateError::Store(StoreError::Broken(_))) => {
                // Somebody else imports the same just now: what they have created is there, and the rest is new.
                there = existing(app, ids).await?;
                let new = missing(&there);
                created = new.iter().map(|reminder| reminder.id).collect();
                if !new.is_empty() {
                    app.create(new, caller, None).await?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    let done = items.into_iter().map(|(index, item)| {
        let is_new = created.contains(&item.id);
        (index, finished(item, &there, is_new, dry_run))
    });
    Ok(done.collect())
}

async fn existing(app: &App, ids: Vec<ReminderId>) -> Result<HashMap<ReminderId, ReminderView>, StoreError> {
    let found = app.engine.store().existing(ids).await?;
    Ok(found.into_iter().map(|view| (view.reminder.id, view)).collect())
}

fn finished(item: Item, there: &HashMap<ReminderId, ReminderView>, is_new: bool, dry_run: bool) -> Done {
    let Item { key, id, reminder } = item;
    let view = there.get(&id).filter(|_| !is_new);
    let outcome = match (&reminder, view) {
        (Some(_), None) if dry_run => Outcome::New,
        (Some(_), None) => Outcome::Created,
        (Some(_), Some(_)) => Outcome::Exists,
        (None, None) => Outcome::Absent,
        (None, Some(view)) if is_over(view) => Outcome::Over,
        (None, Some(_)) => Outcome::Active,
    };
    let mut done = done(key, outcome, id);
    if let Some(view) = view {
        done.status = Some(view.reminder.status.into());
        if let Some(wanted) = &reminder {
            done.differs = differences(wanted, &view.reminder);
        }
    }
    done
}

/// Whether nothing of it will be sent any more.
fn is_over(view: &ReminderView) -> bool {
    matches!(view.reminder.status, ReminderStatus::Completed | ReminderStatus::Cancelled)
}

fn differences(there: &Reminder, here: &Reminder) -> Vec<Cow<'static, str>> {
    let fields = [
        ("user", there.user == here.user),
        ("message", there.message == here.message),
        ("schedule", rule_of(there) == rule_of(here)),
        ("timezone", there.timezone.name() == here.timezone.name()),
        ("priority", there.priority == here.priority),
    ];
    fields.into_iter().filter(|(_, same)| !same).map(|(field, _)| field.into()).collect()
}

/// The schedule without where it began: there a series goes on while it runs here.
fn rule_of(reminder: &Reminder) -> Schedule {
    let mut schedule = reminder.schedule.clone();
    schedule.starts_at = None;
    if let Rule::Interval { origin, .. } = &mut schedule.rule {
        *origin = Timestamp::UNIX_EPOCH;
    }
    schedule
}
