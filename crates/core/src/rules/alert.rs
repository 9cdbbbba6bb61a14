//! Telling the admins what a critical reminder did not lead to.
//!
//! An alert is a reminder like any other, for an admin and due at once. A store writes it in the transaction that writes what it
//! is about, so no crash can come between the two.
//!
//! The admins hear of a run as soon as every address has failed once ([`News::Trouble`]), and then once more: that it got through
//! ([`News::Recovered`]) or how it ended ([`News::Ended`]). A run that ends at its first failure is told once, as ended.

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

/// What others hear about a run: the admins of a critical reminder, or the people who are asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Every address has failed, and all are tried again.
    Trouble,
    /// It reached its person. An admin who was told of trouble is told.
    Recovered,
    /// It failed, was missed, or nobody answered.
    Ended,
    /// Nobody has answered it, or it failed: further people are asked, whatever its priority.
    Escalated {
        /// When the first of them is.
        at: Timestamp,
    },
}

impl News {
    /// The word for it, of a run in this state.
    pub(crate) fn word(self, state: &State) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Recovered => "recovered",
            Self::Ended | Self::Escalated { .. } => state.kind().as_str(),
        }
    }
}

/// A reminder that tells an admin something.
#[derive(Debug, Clone)]
pub struct Alert {
    /// The reminder.
    pub new: NewReminder,
    /// It is written only if this alert was.
    pub after: Option<ReminderId>,
}

/// The alerts that a store looks for before it writes `alerts`.
pub fn looked_for(alerts: &[Alert]) -> Vec<ReminderId> {
    alerts.iter().flat_map(|alert| [Some(alert.new.reminder.id), alert.after]).flatten().collect()
}

/// The alerts that are to be written, when those in `there` are written already.
pub fn to_write(alerts: Vec<Alert>, there: &[ReminderId]) -> Vec<NewReminder> {
    let is_there = |id: &ReminderId| there.contains(id);
    let is_new = |alert: &Alert| !is_there(&alert.new.reminder.id) && alert.after.as_ref().is_none_or(is_there);
    alerts.into_iter().filter(is_new).map(|alert| alert.new).collect()
}

/// Whether somebody must be told that a run of `reminder` ended like this. An alert raises no other: that would never end.
pub fn is_alarming(reminder: &Reminder, state: StateKind) -> bool {
    is_told_of(reminder) && matches!(state, StateKind::Failed | StateKind::Unanswered | StateKind::Missed)
}

/// Whether the admins hear of a reminder at all: not of one that asks in another's place, because they hear of the run itself.
pub(crate) fn is_told_of(reminder: &Reminder) -> bool {
    let is_own = reminder.created_via != VIA && reminder.escalates.is_none();
    reminder.priority == Priority::Critical && is_own
}

/// The alerts that tell `admins` this news of `occurrence`, after `attempts`: those of them who have not asked for silence, or else
/// all. An admin who was told of trouble is told that it got through.
///
/// Their ids follow from the occurrence, the news and the admin: however often they are made, they are the same.
pub fn alerts(
    news: News,
    reminder: &Reminder,
    occurrence: &Occurrence,
    attempts: &[Attempt],
    admins: &[User],
    now: Timestamp,
) -> Vec<Alert> {
    let is_told = match news {
        News::Trouble | News::Recovered => is_told_of(reminder),
        News::Ended => is_alarming(reminder, occurrence.state.kind()),
        // The next people hear of an escalation, and not the admins.
        News::Escalated { .. } => false,
    };
    if !is_told {
        return Vec::new();
    }
    let told = news.word(&occurrence.state);
    let id_of = |told: &str, admin: &str| {
        ReminderId::imported(VIA, &format!("{} {told} {admin}", occurrence.id), occurrence.made_for)
    };
    let alert = |admin: &str, known: Option<&User>| {
        let lang = known.and_then(|user| user.language.as_ref()?.parse().ok()).unwrap_or(Lang::En);
        let timezone = known.and_then(|user| user.timezone.clone()).unwrap_or_else(|| reminder.timezone.clone());
        let due = occurrence.due_at.to_zoned(timezone.rules().clone()).strftime("%Y-%m-%d %H:%M");
        let message = words(lang).say(news, reminder, occurrence, attempts, &format!("{due} {timezone}"));
        let about = json!({
            "news": told,
            "occurrence_id": occurrence.id.to_string(),
            "reminder_id": reminder.id.to_string(),
            "user": reminder.user,
        });
        let metadata = serde_json::Map::from_iter([("about".to_owned(), about)]);
        let plain = plain(id_of(told, admin), admin.to_owned(), message, now);
        let reminder = Reminder { timezone, metadata: Metadata::new(&metadata), ..plain };
        let after = (news == News::Recovered).then(|| id_of("trouble", admin));
        Alert { new: NewReminder { reminder, first_due_at: now }, after }
    };
    if news == News::Recovered {
        // The trouble may have been told when there was no admin.
        return admins.iter().map(|admin| alert(&admin.id, Some(admin))).chain([alert(NOBODY, None)]).collect();
    }
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

/// The alerts that tell `admins` of a run that was set aside as failed because it cannot be read.
pub fn alerts_of_unreadable(run: &Unreadable, admins: &[User], now: Timestamp) -> Vec<Alert> {
    let plain = plain(run.id.reminder, run.user.clone(), run.message.clone(), now);
    let reminder = Reminder { priority: run.priority, created_via: run.created_via.clone(), ..plain };
    let state = State::Failed { at: now, error: run.error.clone() };
    let occurrence = Occurrence { state, ..Occurrence::scheduled(run.id, run.due_at) };
    alerts(News::Ended, &reminder, &occurrence, &[], admins, now)
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
        only: false,
        ack: None,
        escalate: Vec::new(),
        escalates: None,
        event: None,
        snooze_allowed: true,
        retries_max: RETRIES_MAX,
        misfire: Misfire::default(),
        on_unknown: OnUnknown::Auto,
        created_via: VIA.to_owned(),
        original_text: None,
        metadata: Metadata::default(),
        tags: Vec::new(),
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
    /// Before and after the user's name, when every address has failed and all are tried again.
    trouble: [&'static str; 2],
    /// Before and after it, when it got through after that.
    recovered: [&'static str; 2],
    /// Before and after it, when it was not delivered.
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
    fn say(&self, news: News, reminder: &Reminder, occurrence: &Occurrence, attempts: &[Attempt], due: &str) -> String {
        let [before, after] = match (news, &occurrence.state) {
            (News::Trouble, _) => self.trouble,
            (News::Recovered, _) => self.recovered,
            (_, State::Unanswered { .. }) => self.unanswered,
            (_, State::Missed { .. }) => self.missed,
            _ => self.failed,
        };
        let mark = if news == News::Recovered { "✅" } else { "❗" };
        let [open, close] = self.quotes;
        let (user, message) = (short(&reminder.user), short(&reminder.message));
        let mut text = format!("{mark} {before} {user} {after}: {open}{message}{close} ({} {due}).", self.due);
        let mut told: Vec<String> = Vec::new();
        for (address, last) in last_of_each(attempts) {
            let became = last.error.as_deref().map_or_else(|| self.sent.to_owned(), short);
            told.push(format!("{}: {became}", shown(&address)));
        }
        if told.is_empty() {
            // No address was tried; the state says why.
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
pub(crate) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED_MAX) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

fn words(lang: Lang) -> Words {
    match lang {
        Lang::Es => Words {
            trouble: ["Un recordatorio crítico para", "aún no se ha entregado y se vuelve a intentar"],
            recovered: ["Un recordatorio crítico para", "se entregó al final"],
            failed: ["Un recordatorio crítico para", "no se entregó"],
            unanswered: ["Un recordatorio crítico para", "quedó sin respuesta"],
            missed: ["Un recordatorio crítico para", "se perdió porque nada funcionaba a esa hora"],
            quotes: ["«", "»"],
            due: "para",
            sent: "enviado",
        },
        Lang::Fr => Words {
            trouble: ["Un rappel critique pour", "n'a pas encore été remis et est réessayé"],
            recovered: ["Un rappel critique pour", "a finalement été remis"],
            failed: ["Un rappel critique pour", "n'a pas été remis"],
            unanswered: ["Un rappel critique pour", "est resté sans réponse"],
            missed: ["Un rappel critique pour", "a été manqué parce que rien ne tournait à cette heure"],
            quotes: ["« ", " »"],
            due: "pour",
            sent: "envoyé",
        },
        Lang::En => Words {
            trouble: ["A critical reminder for", "has not been delivered so far and is tried again"],
            recovered: ["A critical reminder for", "was delivered after all"],
            failed: ["A critical reminder for", "was not delivered"],
            unanswered: ["A critical reminder for", "was never answered"],
            missed: ["A critical reminder for", "was missed because nothing ran when it was due"],
            quotes: ["\"", "\""],
            due: "due",
            sent: "sent",
        },
        Lang::De => Words {
            trouble: ["Eine kritische Erinnerung für", "wurde bisher nicht zugestellt und wird erneut versucht"],
            recovered: ["Eine kritische Erinnerung für", "wurde doch noch zugestellt"],
            failed: ["Eine kritische Erinnerung für", "wurde nicht zugestellt"],
            unanswered: ["Eine kritische Erinnerung für", "blieb ohne Antwort"],
            missed: ["Eine kritische Erinnerung für", "wurde verpasst, weil nichts lief, als sie fällig war"],
            quotes: ["„", "“"],
            due: "fällig",
            sent: "gesendet",
        },
        Lang::Hr | Lang::Bs => Words {
            trouble: ["Kritični podsjetnik za", "još nije dostavljen; pokušava se ponovo"],
            recovered: ["Kritični podsjetnik za", "ipak je dostavljen"],
            failed: ["Kritični podsjetnik za", "nije dostavljen"],
            unanswered: ["Kritični podsjetnik za", "ostao je bez odgovora"],
            missed: ["Kritični podsjetnik za", "propušten je jer u to vrijeme ništa nije radilo"],
            quotes: ["„", "”"],
            due: "za",
            sent: "poslano",
        },
        Lang::Sr => Words {
            trouble: ["Kritični podsetnik za", "još nije isporučen; pokušava se ponovo"],
            recovered: ["Kritični podsetnik za", "ipak je isporučen"],
            failed: ["Kritični podsetnik za", "nije isporučen"],
            unanswered: ["Kritični podsetnik za", "ostao je bez odgovora"],
            missed: ["Kritični podsetnik za", "propušten je jer u to vreme ništa nije radilo"],
            quotes: ["„", "”"],
            due: "za",
            sent: "poslato",
        },
        Lang::SrCyrl => Words {
            trouble: ["Критични подсетник за", "још није испоручен; покушава се поново"],
            recovered: ["Критични подсетник за", "ипак је испоручен"],
            failed: ["Критични подсетник за", "није испоручен"],
            unanswered: ["Критични подсетник за", "остао је без одговора"],
            missed: ["Критични подсетник за", "пропуштен је јер у то време ништа није радило"],
            quotes: ["„", "”"],
            due: "за",
            sent: "послато",
        },
    }
}
