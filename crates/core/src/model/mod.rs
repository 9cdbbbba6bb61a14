//! What there is: reminders, their occurrences and the states of those, attempts, people.
//!
//! Nothing here decides anything. Each type says which values it has and which of them are allowed.

/// Names of things: reminders, occurrences, and the key that makes a send happen once.
pub mod id;

/// What a user asked for.
pub mod reminder;

/// Words by which reminders are found and silenced together.
pub mod tag;

/// Where people can be reached.
pub mod address;

/// One instant at which a reminder is due.
pub mod occurrence;

/// The states that an occurrence goes through.
pub mod state;

/// One try at one address.
pub mod attempt;

/// What a person can answer, and which button says it.
pub mod answer;

/// Everything that happened, an entry each.
pub mod journal;

/// How an occurrence got where it is.
pub mod trail;

/// Which state of something a caller has seen, and on what condition it changes it.
pub mod version;

/// Who is asked next when a person does not answer.
pub mod step;

/// The people reminders are for.
pub mod user;

/// How late sends were.
pub mod lateness;

/// Keys that may use the API.
pub mod key;

/// People who belong together.
pub mod group;

/// Foreign calendars that are read every so often.
pub mod feed;

/// Something of the application's with a start.
pub mod event;

/// How an event repeats.
pub mod series;

/// How long before or after an event somebody is reminded of it.
pub mod offset;

/// Offsets for all events below a path.
pub mod scope;

/// Stretches of time in which some reminders are not sent.
pub mod silence;

/// Standing queries over the application's own table.
pub mod watch;

/// Which part of the work an occurrence belongs to, where many nodes divide it.
pub mod shard;
