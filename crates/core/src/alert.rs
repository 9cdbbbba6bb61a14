//! Telling the admins what a critical reminder did not lead to.
//!
//! An alert is a reminder like any other, for an admin and due at once. A store writes it in the transaction in which the
//! occurrence ends, so no crash can come between the two.

use jiff::Timestamp;
use serde_json::json;

use crate::id::{OccurrenceId, ReminderId};
use crate::occurrence::{Attempt, Occurrence, State, StateKind};
use crate::phrase::Lang;
use crate::reminder::{Address, Metadata, Misfire, OnUnknown, Priority, Reminder, ReminderStatus};
use crate::schedule::{Rule, Schedule};
use crate::store::NewReminder;
use crate::user::User;
use crate::zone::Zone;

/// What `created_via` says of an alert.
pub const VIA: &str = "alert";
/// Whom an alert is for when nobody is an admin. Without an entry of their own they are reached by the default channel.
pub const NOBODY: &str = "admin";
/// How often an alert is tried again.
const RETRIES_MAX: u32 = 10;
/// The longest quotation of a message or an error, in characters.
const QUOTED_MAX: usize = 300;

/// Whether somebody must be told that a run of `reminder` ended like this. An alert raises no other: that would never end.
pub fn is_alarming(reminder: &Reminder, state: StateKind) -> bool {
    is_alarming_end(reminder.priority, state) && reminder.created_via != VIA
}

/// The same, as far as can be said without the reminder.
pub fn is_alarming_end(priority: Priority, state: StateKind) -> bool {
    priority == Priority::Critical && matches!(state, StateKind::Failed | StateKind::Unanswered | StateKind::Missed)
}

/// The reminders that tell `admins` what became of `occurrence`, which has ended after `attempts`: those of them who have not
/// asked for silence, or else all.
///
/// Their ids follow from the occurrence, how it ended and the admin: however often they are made, they are the same.
pub fn alerts(
    reminder: &Reminder,
    occurrence: &Occurrence,
    attempts: &[Attempt],
    admins: &[User],
    now: Timestamp,
) -> Vec<NewReminder> {
    if !is_alarming(reminder, occurrence.state.kind()) {
        return Vec::new();
    }
    let alert = |admin: &str, known: Option<&User>| {
        let lang = known.and_then(|user| user.language.as_ref()?.parse().ok()).unwrap_or(Lang::En);
        let timezone = known.and_then(|user| user.timezone.clone()).unwrap_or_else(|| reminder.timezone.clone());
        let due = occurrence.due_at.to_zoned(timezone.rules().clone()).strftime("%Y-%m-%d %H:%M");
        let message = words(lang).say(reminder, occurrence, attempts, &format!("{due} {timezone}"));
        let key = format!("{} {} {admin}", occurrence.id, occurrence.state.kind());
        let about = json!({
            "occurrence_id": occurrence.id.to_string(),
            "reminder_id": reminder.id.to_string(),
            "user": reminder.user,
        });
        let metadata = serde_json::Map::from_iter([("about".to_owned(), about)]);
        let id = ReminderId::imported(VIA, &key, occurrence.due_at);
        let plain = plain(id, admin.to_owned(), message, now);
        let reminder = Reminder { timezone, metadata: Metadata::new(&metadata), ..plain };
        NewReminder { reminder, first_due_at: now }
    };
    if admins.is_empty() {
        return vec![alert(NOBODY, None)];
    }
    let is_paused = |admin: &&User| admin.paused_until.is_some_and(|until| until > now);
    let all_are = admins.iter().all(|admin| is_paused(&admin));
    let told = admins.iter().filter(|admin| all_are || !is_paused(admin));
    told.map(|admin| alert(&admin.id, Some(admin))).collect()
}

/// What could be read of a run that could not be read as a whole.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// Which run.
    pub id: OccurrenceId,
    /// Whom it is for.
    pub user: String,
    /// What it says.
    pub message: String,
    /// How much it matters.
    pub priority: Priority,
    /// Where its reminder came from.
    pub created_via: String,
    /// When it was due.
    pub due_at: Timestamp,
    /// What cannot be read.
    pub error: String,
}

/// The reminders that tell `admins` of a run that was set aside as failed because it cannot be read.
pub fn alerts_of_unreadable(run: &Unreadable, admins: &[User], now: Timestamp) -> Vec<NewReminder> {
    let plain = plain(run.id.reminder, run.user.clone(), run.message.clone(), now);
    let reminder = Reminder { priority: run.priority, created_via: run.created_via.clone(), ..plain };
    let state = State::Failed { at: now, error: run.error.clone() };
    let occurrence = Occurrence { state, ..Occurrence::scheduled(run.id, run.due_at) };
    alerts(&reminder, &occurrence, &[], admins, now)
}

/// A critical reminder, due now, that says this.
fn plain(id: ReminderId, user: String, message: String, now: Timestamp) -> Reminder {
    Reminder {
        id,
        user,
        name: None,
        message,
        schedule: Schedule::new(Rule::Once { at: now }),
        timezone: Zone::utc(),
        priority: Priority::Critical,
        to: Vec::new(),
        ack: None,
        snooze_allowed: true,
        retries_max: RETRIES_MAX,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        created_via: VIA.to_owned(),
        original_text: None,
        metadata: Metadata::default(),
        status: ReminderStatus::Active,
        created_at: now,
        updated_at: now,
    }
}

/// An address as others than its owner may see it: of a URL, which may be a secret as a whole, only the host.
pub fn shown(address: &Address) -> String {
    let Address { channel, address } = address;
    let place = match address.split_once("://") {
        None => match address.split_once('/') {
            None => address.clone(),
            Some((first, _)) => format!("{first}/…"),
        },
        Some((_, rest)) => {
            let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
            authority.rsplit('@').next().unwrap_or_default().to_owned()
        }
    };
    if place.is_empty() { channel.clone() } else { format!("{channel}:{place}") }
}

/// The words of one language.
struct Words {
    /// Before the user's name, when it was not delivered.
    failed: [&'static str; 2],
    /// Before and after it, when nobody answered.
    unanswered: [&'static str; 2],
    /// Before and after it, when it was left out for being late.
    missed: [&'static str; 2],
    /// Around the message.
    quotes: [&'static str; 2],
    /// Before the instant.
    due: &'static str,
    /// Of an address that it reached.
    sent: &'static str,
}

impl Words {
    fn say(&self, reminder: &Reminder, occurrence: &Occurrence, attempts: &[Attempt], due: &str) -> String {
        let [before, after] = match occurrence.state {
            State::Unanswered { .. } => self.unanswered,
            State::Missed { .. } => self.missed,
            _ => self.failed,
        };
        let [open, close] = self.quotes;
        let (user, message) = (short(&reminder.user), short(&reminder.message));
        let mut text = format!("❗ {before} {user} {after}: {open}{message}{close} ({} {due}).", self.due);
        let mut told: Vec<String> = Vec::new();
        for (address, last) in last_of_each(attempts) {
            let became = last.error.as_deref().map_or_else(|| self.sent.to_owned(), short);
            told.push(format!("{}: {became}", shown(&address)));
        }
        if told.is_empty() {
            // Nothing was tried; the state says why.
            told.extend(occurrence.state.error().map(short));
        }
        if !told.is_empty() {
            text.push(' ');
            text.push_str(&told.join("; "));
        }
        text
    }
}

/// The last attempt at each address, in the order in which they were first tried.
fn last_of_each(attempts: &[Attempt]) -> Vec<(Address, &Attempt)> {
    let mut found: Vec<(Address, &Attempt)> = Vec::new();
    for attempt in attempts.iter().filter(|attempt| !attempt.channel.is_empty()) {
        let address = Address::new(&attempt.channel, &attempt.address);
        match found.iter_mut().find(|(known, _)| *known == address) {
            Some((_, last)) => *last = attempt,
            None => found.push((address, attempt)),
        }
    }
    found
}

/// One line, visibly shortened if it is long.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

fn words(lang: Lang) -> Words {
    match lang {
        Lang::En => Words {
            failed: ["A critical reminder for", "was not delivered"],
            unanswered: ["A critical reminder for", "was never answered"],
            missed: ["A critical reminder for", "was missed because nothing ran when it was due"],
            quotes: ["\"", "\""],
            due: "due",
            sent: "sent",
        },
        Lang::De => Words {
            failed: ["Eine kritische Erinnerung für", "wurde nicht zugestellt"],
            unanswered: ["Eine kritische Erinnerung für", "blieb ohne Antwort"],
            missed: ["Eine kritische Erinnerung für", "wurde verpasst, weil nichts lief, als sie fällig war"],
            quotes: ["„", "“"],
            due: "fällig",
            sent: "gesendet",
        },
        Lang::Hr | Lang::Bs => Words {
            failed: ["Kritični podsjetnik za", "nije dostavljen"],
            unanswered: ["Kritični podsjetnik za", "ostao je bez odgovora"],
            missed: ["Kritični podsjetnik za", "propušten je jer u to vrijeme ništa nije radilo"],
            quotes: ["„", "”"],
            due: "za",
            sent: "poslano",
        },
        Lang::Sr => Words {
            failed: ["Kritični podsetnik za", "nije isporučen"],
            unanswered: ["Kritični podsetnik za", "ostao je bez odgovora"],
            missed: ["Kritični podsetnik za", "propušten je jer u to vreme ništa nije radilo"],
            quotes: ["„", "”"],
            due: "za",
            sent: "poslato",
        },
        Lang::SrCyrl => Words {
            failed: ["Критични подсетник за", "није испоручен"],
            unanswered: ["Критични подсетник за", "остао је без одговора"],
            missed: ["Критични подсетник за", "пропуштен је јер у то време ништа није радило"],
            quotes: ["„", "”"],
            due: "за",
            sent: "послато",
        },
    }
}
