//! What people read who are asked in another's place, and what they read when somebody has answered.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::phrase::Lang;
use crate::rules::alert::short;

/// Why somebody is asked in another's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Nobody has answered.
    Unanswered,
    /// It could not be delivered.
    Failed,
}

impl Cause {
    /// Its name, for the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unanswered => "unanswered",
            Self::Failed => "failed",
        }
    }
}

/// What somebody is asked in place of `user`, whose `message` was due at `due_at`.
pub(crate) fn asks(
    lang: Lang,
    cause: Cause,
    user: &str,
    message: &str,
    (due_at, asked_at): (Timestamp, Timestamp),
    zone: &TimeZone,
) -> String {
    let Words { silent, missed, due, quotes: [open, close], .. } = words(lang);
    let verb = match cause {
        Cause::Unanswered => silent,
        Cause::Failed => missed,
    };
    let due_at = clock(due_at, asked_at, zone);
    format!("{} {verb}: {open}{}{close} ({due} {due_at})", short(user), short(message))
}

/// What people read who were asked as well, when `user` has answered, or somebody who is no user.
pub(crate) fn answered(
    lang: Lang,
    answer: Told,
    user: Option<&str>,
    message: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let Words { done, dismissed, snoozed, cancelled, quotes: [open, close], .. } = words(lang);
    let said = match answer {
        Told::Done => done.to_owned(),
        Told::Dismissed => dismissed.to_owned(),
        Told::Snoozed { until } => format!("{snoozed} {}", clock(until, now, zone)),
        Told::Cancelled => cancelled.to_owned(),
    };
    let who = user.map(|user| format!("{}: ", short(user))).unwrap_or_default();
    format!("✓ {who}{said}. {open}{}{close}", short(message))
}

/// What somebody did about a run that others were asked about as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Done,
    Dismissed,
    Snoozed { until: Timestamp },
    Cancelled,
}

/// A time of day; with its date, if that is another than today's.
fn clock(at: Timestamp, today: Timestamp, zone: &TimeZone) -> String {
    let (at, today) = (zone.to_datetime(at), zone.to_datetime(today));
    let format = if at.date() == today.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    at.strftime(format).to_string()
}

/// The words of one language.
struct Words {
    /// Of a person who does not answer.
    silent: &'static str,
    /// Of a person whom nothing reaches.
    missed: &'static str,
    /// Before the instant at which it was due.
    due: &'static str,
    done: &'static str,
    dismissed: &'static str,
    /// Before the instant until which it was put off.
    snoozed: &'static str,
    cancelled: &'static str,
    /// Around the message.
    quotes: [&'static str; 2],
}

fn words(lang: Lang) -> Words {
    match lang {
        Lang::Es => Words {
            silent: "no ha respondido",
            missed: "no está localizable",
            due: "para",
            done: "hecho",
            dismissed: "no hace falta",
            snoozed: "aplazado hasta",
            cancelled: "cancelado",
            quotes: ["«", "»"],
        },
        Lang::Fr => Words {
            silent: "n'a pas répondu",
            missed: "n'est pas joignable",
            due: "pour",
            done: "c'est fait",
            dismissed: "pas besoin",
            snoozed: "reporté jusqu'à",
            cancelled: "annulé",
            quotes: ["« ", " »"],
        },
        Lang::En => Words {
            silent: "has not answered",
            missed: "could not be reached",
            due: "due",
            done: "done",
            dismissed: "not needed",
            snoozed: "put off until",
            cancelled: "cancelled",
            quotes: ["\"", "\""],
        },
        Lang::De => Words {
            silent: "hat nicht geantwortet",
            missed: "war nicht zu erreichen",
            due: "fällig",
            done: "erledigt",
            dismissed: "nicht nötig",
            snoozed: "verschoben bis",
            cancelled: "abgesagt",
            quotes: ["„", "“"],
        },
        Lang::Hr | Lang::Bs => Words {
            silent: "ne odgovara",
            missed: "nije na vezi",
            due: "za",
            done: "gotovo",
            dismissed: "ne treba",
            snoozed: "odgođeno do",
            cancelled: "otkazano",
            quotes: ["„", "”"],
        },
        Lang::Sr => Words {
            silent: "ne odgovara",
            missed: "nije na vezi",
            due: "za",
            done: "gotovo",
            dismissed: "ne treba",
            snoozed: "odloženo do",
            cancelled: "otkazano",
            quotes: ["„", "”"],
        },
        Lang::SrCyrl => Words {
            silent: "не одговара",
            missed: "није на вези",
            due: "за",
            done: "готово",
            dismissed: "не треба",
            snoozed: "одложено до",
            cancelled: "отказано",
            quotes: ["„", "”"],
        },
    }
}
