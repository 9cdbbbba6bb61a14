//! One function for each route, with the types of the wire both ways.

use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Client, NONE, Seen};
use crate::failure::Failure;
use crate::wire::{
    Adopt, Adopted, Alive, Answer, Batch, Calendar, CalendarAddress, CalendarImportInput, CalendarImported,
    CalendarInput, Calendars, Caller, Channels, Created, DeadAddresses, DueQuery, DueRuns, EraseInput, Erased, Event,
    EventBatch, EventInput, EventQuery, Events, EventsPut, ExportPage, ExportQuery, Group, GroupInput, Groups, Heard,
    Import, Imported, InboundInput, InstanceInput, Journal, JournalQuery, Key, KeyInput, Keys, Lateness, LatenessQuery,
    Nodes, Occurrence, Occurrences, PageQuery, ParseInput, Ready, Reminder, ReminderInput, ReminderQuery, Reminders,
    ResendInput, Resent, Revive, Revived, RotateInput, RunQuery, Scope, ScopeInput, ScopeQuery, Scopes, Sends,
    SendsQuery, Settings, SettingsQuery, SignInLink, Silence, SilenceInput, SilenceQuery, Silences, Stats, StatsQuery,
    Subscriptions, Test, Tested, Understood, User, UserInput, UserQuery, Users, Watch, WatchRun, WatchTest, Watches,
};

type Answered<T> = Result<T, Failure>;

impl Client {
    /// Makes a reminder.
    pub async fn create(&self, input: &ReminderInput) -> Answered<Reminder<'static>> {
        self.call(Method::POST, "/v1/reminders", NONE, Some(input)).await
    }

    /// Makes many reminders in one transaction: all of them, or none.
    pub async fn create_batch(&self, batch: &Batch) -> Answered<Created<'static>> {
        self.call(Method::POST, "/v1/reminders/batch", NONE, Some(batch)).await
    }

    /// Says what a text means, and makes nothing of it.
    pub async fn parse(&self, input: &ParseInput) -> Answered<Understood> {
        self.call(Method::POST, "/v1/parse", NONE, Some(input)).await
    }

    /// Hands over what a person wrote: an answer to a reminder, or none.
    pub async fn inbound(&self, input: &InboundInput) -> Answered<Heard> {
        self.call(Method::POST, "/v1/inbound", NONE, Some(input)).await
    }

    /// A page of reminders.
    pub async fn reminders(&self, query: &ReminderQuery) -> Answered<Reminders<'static>> {
        self.get("/v1/reminders", query).await
    }

    /// One reminder; if a user is named, it must be theirs.
    pub async fn reminder(&self, id: &str, user: &UserQuery) -> Answered<Reminder<'static>> {
        self.get(&reminder(id), user).await
    }

    /// One reminder with its version, which also a run makes another.
    pub async fn see_reminder(&self, id: &str, user: &UserQuery) -> Answered<Seen<Reminder<'static>>> {
        self.see(&reminder(id), user).await
    }

    /// Changes the given fields of a reminder.
    pub async fn update(&self, id: &str, user: &UserQuery, input: &ReminderInput) -> Answered<Reminder<'static>> {
        self.call(Method::PATCH, &reminder(id), Some(user), Some(input)).await
    }

    /// Cancels a reminder.
    pub async fn cancel(&self, id: &str, user: &UserQuery) -> Answered<Reminder<'static>> {
        self.call(Method::DELETE, &reminder(id), Some(user), NONE).await
    }

    /// Does one of the commands that are a word, such as `pause`.
    pub async fn command(&self, id: &str, verb: &str, user: &UserQuery) -> Answered<Reminder<'static>> {
        self.call(Method::POST, &format!("{}/{verb}", reminder(id)), Some(user), NONE).await
    }

    /// Answers a reminder with `ack`, `snooze` or `dismiss`.
    pub async fn answer(&self, id: &str, verb: &str, user: &UserQuery, answer: &Answer) -> Answered<Reminder<'static>> {
        self.call(Method::POST, &format!("{}/{verb}", reminder(id)), Some(user), Some(answer)).await
    }

    /// Sends again what has failed, or counts it.
    pub async fn resend(&self, input: &ResendInput) -> Answered<Resent> {
        self.call(Method::POST, "/v1/resend", NONE, Some(input)).await
    }

    /// The last runs of a reminder.
    pub async fn occurrences(&self, id: &str, query: &PageQuery) -> Answered<Occurrences> {
        self.get(&format!("{}/occurrences", reminder(id)), query).await
    }

    /// A page of a user's runs, by when they are due.
    pub async fn runs(&self, query: &DueQuery) -> Answered<DueRuns<'static>> {
        self.get("/v1/occurrences", query).await
    }

    /// One run of a reminder.
    pub async fn occurrence(&self, id: &str, user: &UserQuery) -> Answered<Occurrence> {
        self.get(&format!("/v1/occurrences/{}", escaped(id)), user).await
    }

    /// A page of users.
    pub async fn users(&self, query: &PageQuery) -> Answered<Users> {
        self.get("/v1/users", query).await
    }

    /// One user.
    pub async fn user(&self, id: &str) -> Answered<User> {
        self.get(&user(id), &()).await
    }

    /// One user with the version of the entry.
    pub async fn see_user(&self, id: &str) -> Answered<Seen<User>> {
        self.see(&user(id), &()).await
    }

    /// Writes or replaces a user.
    pub async fn put_user(&self, id: &str, input: &UserInput) -> Answered<User> {
        self.call(Method::PUT, &user(id), NONE, Some(input)).await
    }

    /// Where a user's calendar is.
    pub async fn calendar(&self, id: &str) -> Answered<CalendarAddress> {
        self.get(&format!("{}/calendar", user(id)), &()).await
    }

    /// Changes the address of a user's calendar.
    pub async fn renew_calendar(&self, id: &str) -> Answered<CalendarAddress> {
        self.call(Method::POST, &format!("{}/calendar", user(id)), NONE, NONE).await
    }

    /// The calendars that a user follows.
    pub async fn calendars(&self, id: &str) -> Answered<Calendars> {
        self.get(&format!("{}/calendars", user(id)), &()).await
    }

    /// One calendar that a user follows.
    pub async fn followed_calendar(&self, id: &str, name: &str) -> Answered<Calendar> {
        self.get(&calendar(id, name), &()).await
    }

    /// One calendar that a user follows, with its version.
    pub async fn see_followed_calendar(&self, id: &str, name: &str) -> Answered<Seen<Calendar>> {
        self.see(&calendar(id, name), &()).await
    }

    /// Follows a calendar.
    pub async fn put_calendar(&self, id: &str, name: &str, input: &CalendarInput) -> Answered<Calendar> {
        self.call(Method::PUT, &calendar(id, name), NONE, Some(input)).await
    }

    /// Follows a calendar no more.
    pub async fn delete_calendar(&self, id: &str, name: &str) -> Answered<()> {
        self.delete(&calendar(id, name)).await
    }

    /// Has a calendar read now.
    pub async fn read_calendar(&self, id: &str, name: &str) -> Answered<Calendar> {
        self.call(Method::POST, &format!("{}/read", calendar(id, name)), NONE, NONE).await
    }

    /// Takes over a calendar.
    pub async fn import_calendar(&self, input: &CalendarImportInput) -> Answered<CalendarImported> {
        self.call(Method::POST, "/v1/import/calendar", NONE, Some(input)).await
    }

    /// Removes a user's entry.
    pub async fn delete_user(&self, id: &str) -> Answered<()> {
        self.delete(&user(id)).await
    }

    /// Goes on with the erasure of a user.
    pub async fn erase_user(&self, id: &str, input: &EraseInput) -> Answered<Erased> {
        self.call(Method::POST, &format!("{}/erase", user(id)), NONE, Some(input)).await
    }

    /// A page of groups.
    pub async fn groups(&self, query: &PageQuery) -> Answered<Groups> {
        self.get("/v1/groups", query).await
    }

    /// One group.
    pub async fn group(&self, name: &str) -> Answered<Group> {
        self.get(&group(name), &()).await
    }

    /// One group with its version.
    pub async fn see_group(&self, name: &str) -> Answered<Seen<Group>> {
        self.see(&group(name), &()).await
    }

    /// Writes or replaces a group.
    pub async fn put_group(&self, name: &str, input: &GroupInput) -> Answered<Group> {
        self.call(Method::PUT, &group(name), NONE, Some(input)).await
    }

    /// Removes a group.
    pub async fn delete_group(&self, name: &str) -> Answered<()> {
        self.delete(&group(name)).await
    }

    /// A page of events.
    pub async fn events(&self, query: &EventQuery) -> Answered<Events> {
        self.get("/v1/events", query).await
    }

    /// One event with its reminders.
    pub async fn event(&self, key: &str) -> Answered<Event> {
        self.get(&event(key), &()).await
    }

    /// One event with its version.
    pub async fn see_event(&self, key: &str) -> Answered<Seen<Event>> {
        self.see(&event(key), &()).await
    }

    /// Writes or replaces an event.
    pub async fn put_event(&self, key: &str, input: &EventInput) -> Answered<Event> {
        self.call(Method::PUT, &event(key), NONE, Some(input)).await
    }

    /// Writes or replaces many events in one transaction.
    pub async fn put_events(&self, batch: &EventBatch) -> Answered<EventsPut> {
        self.call(Method::POST, "/v1/events/batch", NONE, Some(batch)).await
    }

    /// Removes an event.
    pub async fn delete_event(&self, key: &str) -> Answered<()> {
        self.delete(&event(key)).await
    }

    /// Changes one instance of a series.
    pub async fn put_instance(&self, key: &str, at: &str, input: &InstanceInput) -> Answered<Event> {
        self.call(Method::PUT, &instance(key, at), NONE, Some(input)).await
    }

    /// Cancels one instance of a series.
    pub async fn delete_instance(&self, key: &str, at: &str) -> Answered<()> {
        self.delete(&instance(key, at)).await
    }

    /// A page of scopes.
    pub async fn scopes(&self, query: &ScopeQuery) -> Answered<Scopes> {
        self.get("/v1/scopes", query).await
    }

    /// One scope.
    pub async fn scope(&self, path: &str) -> Answered<Scope> {
        self.get(&scope(path), &()).await
    }

    /// One scope with its version.
    pub async fn see_scope(&self, path: &str) -> Answered<Seen<Scope>> {
        self.see(&scope(path), &()).await
    }

    /// Writes or replaces a scope.
    pub async fn put_scope(&self, path: &str, input: &ScopeInput) -> Answered<Scope> {
        self.call(Method::PUT, &scope(path), NONE, Some(input)).await
    }

    /// Removes a scope.
    pub async fn delete_scope(&self, path: &str) -> Answered<()> {
        self.delete(&scope(path)).await
    }

    /// A page of silences.
    pub async fn silences(&self, query: &SilenceQuery) -> Answered<Silences> {
        self.get("/v1/silences", query).await
    }

    /// One silence.
    pub async fn silence(&self, id: &str) -> Answered<Silence> {
        self.get(&silence(id), &()).await
    }

    /// One silence with its version.
    pub async fn see_silence(&self, id: &str) -> Answered<Seen<Silence>> {
        self.see(&silence(id), &()).await
    }

    /// Silences reminders for a while.
    pub async fn create_silence(&self, input: &SilenceInput) -> Answered<Silence> {
        self.call(Method::POST, "/v1/silences", NONE, Some(input)).await
    }

    /// Ends a silence.
    pub async fn end_silence(&self, id: &str) -> Answered<()> {
        self.delete(&silence(id)).await
    }

    /// All keys.
    pub async fn keys(&self) -> Answered<Keys> {
        self.get("/v1/keys", &()).await
    }

    /// One key.
    pub async fn key(&self, id: &str) -> Answered<Key> {
        self.get(&key(id), &()).await
    }

    /// One key with its version.
    pub async fn see_key(&self, id: &str) -> Answered<Seen<Key>> {
        self.see(&key(id), &()).await
    }

    /// Makes a key.
    pub async fn create_key(&self, input: &KeyInput) -> Answered<Key> {
        self.call(Method::POST, "/v1/keys", NONE, Some(input)).await
    }

    /// Gives a key another secret.
    pub async fn rotate_key(&self, id: &str, input: &RotateInput) -> Answered<Key> {
        self.call(Method::POST, &format!("{}/rotate", key(id)), NONE, Some(input)).await
    }

    /// Deletes a key.
    pub async fn delete_key(&self, id: &str) -> Answered<()> {
        self.delete(&key(id)).await
    }

    /// Who asks, by the key.
    pub async fn caller(&self) -> Answered<Caller> {
        self.get("/v1/caller", &()).await
    }

    /// A link that signs in to the page once.
    pub async fn sign_in_link(&self) -> Answered<SignInLink> {
        self.call(Method::POST, "/v1/sign-in", NONE, NONE).await
    }

    /// All channels.
    pub async fn channels(&self) -> Answered<Channels> {
        self.get("/v1/channels", &()).await
    }

    /// Sends a real message.
    pub async fn test_channel(&self, name: &str, test: &Test) -> Answered<Tested> {
        self.call(Method::POST, &format!("/v1/channels/{}/test", escaped(name)), NONE, Some(test)).await
    }

    /// Takes an address to be alive again.
    pub async fn revive(&self, channel: &str, address: &Revive) -> Answered<Revived> {
        self.call(Method::POST, &format!("/v1/channels/{}/revive", escaped(channel)), NONE, Some(address)).await
    }

    /// A page of dead addresses.
    pub async fn dead_addresses(&self, query: &PageQuery) -> Answered<DeadAddresses> {
        self.get("/v1/dead-addresses", query).await
    }

    /// Takes over what another system was asked for.
    pub async fn import(&self, import: &Import) -> Answered<Imported> {
        self.call(Method::POST, "/v1/import", NONE, Some(import)).await
    }

    /// Takes over lines of another store, or compares them with what is here.
    pub async fn adopt(&self, lines: &Adopt) -> Answered<Adopted> {
        self.call(Method::POST, "/v1/import/lines", NONE, Some(lines)).await
    }

    /// A page of everything.
    pub async fn export(&self, query: &ExportQuery) -> Answered<ExportPage> {
        self.get("/v1/export", query).await
    }

    /// A page of imported reminders, with their sends.
    pub async fn sends(&self, query: &SendsQuery) -> Answered<Sends> {
        self.get("/v1/import/sends", query).await
    }

    /// A page of the journal.
    pub async fn journal(&self, query: &JournalQuery) -> Answered<Journal> {
        self.get("/v1/audit", query).await
    }

    /// The applications that are told what happens.
    pub async fn subscriptions(&self) -> Answered<Subscriptions> {
        self.get("/v1/subscriptions", &()).await
    }

    /// The watches.
    pub async fn watches(&self) -> Answered<Watches> {
        self.get("/v1/watches", &()).await
    }

    /// One watch with its last runs.
    pub async fn watch(&self, name: &str) -> Answered<Watch> {
        self.get(&watch(name), &()).await
    }

    /// Runs a watch now, or joins the run that is going. A run that takes long is answered before its end.
    pub async fn run_watch(&self, name: &str) -> Answered<WatchRun> {
        self.call(Method::POST, &format!("{}/run", watch(name)), Some(&RunQuery { wait: Some(20) }), NONE).await
    }

    /// One run of a watch, with a page of the rows that could not be reminded of.
    pub async fn watch_run(&self, name: &str, run: &str, query: &PageQuery) -> Answered<WatchRun> {
        self.get(&format!("{}/runs/{}", watch(name), escaped(run)), query).await
    }

    /// What a run of a watch would do.
    pub async fn test_watch(&self, name: &str) -> Answered<WatchTest> {
        self.call(Method::POST, &format!("{}/test", watch(name)), NONE, NONE).await
    }

    /// Forgets a watch.
    pub async fn forget_watch(&self, name: &str) -> Answered<()> {
        self.delete(&watch(name)).await
    }

    /// Counts.
    pub async fn stats(&self) -> Answered<Stats> {
        self.get("/v1/stats", &()).await
    }

    /// The last counts that there are, however old.
    pub async fn stale_stats(&self) -> Answered<Stats> {
        self.get("/v1/stats", &StatsQuery { stale: Some(true) }).await
    }

    /// The nodes that live.
    pub async fn nodes(&self) -> Answered<Nodes> {
        self.get("/v1/nodes", &()).await
    }

    /// How late sends were.
    pub async fn lateness(&self, query: &LatenessQuery) -> Answered<Lateness> {
        self.get("/v1/lateness", query).await
    }

    /// Every setting that is in force, and where it comes from.
    pub async fn settings_in_force(&self) -> Answered<Settings> {
        self.get("/v1/settings", &SettingsQuery { all: Some(true) }).await
    }

    /// What the server assumes where nobody says.
    pub async fn settings(&self) -> Answered<Settings> {
        self.get("/v1/settings", &()).await
    }

    /// Whether the process answers.
    pub async fn alive(&self) -> Answered<Alive> {
        self.get("/healthz", &()).await
    }

    /// Whether the server can do its work.
    pub async fn ready(&self) -> Answered<Ready> {
        self.get("/readyz", &()).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, query: &impl Serialize) -> Answered<T> {
        self.call(Method::GET, path, Some(query), NONE).await
    }
}

fn reminder(id: &str) -> String {
    format!("/v1/reminders/{}", escaped(id))
}

fn user(id: &str) -> String {
    format!("/v1/users/{}", escaped(id))
}

fn calendar(id: &str, name: &str) -> String {
    format!("{}/calendars/{}", user(id), escaped(name))
}

fn watch(name: &str) -> String {
    format!("/v1/watches/{}", escaped(name))
}

fn group(name: &str) -> String {
    format!("/v1/groups/{}", escaped(name))
}

fn key(id: &str) -> String {
    format!("/v1/keys/{}", escaped(id))
}

fn silence(id: &str) -> String {
    format!("/v1/silences/{}", escaped(id))
}

fn event(key: &str) -> String {
    format!("/v1/events/{}", escaped(key))
}

fn instance(key: &str, at: &str) -> String {
    format!("{}/instances/{}", event(key), escaped(at))
}

/// Levels stay levels; a slash in the name of one is escaped.
fn scope(path: &str) -> String {
    let level = |level: &str| escaped(&level.replace("%2F", "/").replace("%2f", "/").replace("%25", "%"));
    format!("/v1/scopes/{}", path.split('/').map(level).collect::<Vec<_>>().join("/"))
}

/// `text` as one segment of a path.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
