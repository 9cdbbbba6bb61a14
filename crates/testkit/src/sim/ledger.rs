//! The events of a run as seen from outside: the answers to users, the messages at receivers, the faults of the world.
//!
//! The checkers look at this and at the rows in the store, and at nothing inside the engine.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_core::answer::Pressed;
use punctual_core::change::Change;
use punctual_core::channel::Message;
use punctual_core::clock::Clock;
use punctual_core::id::{OccurrenceId, ReminderId};
use punctual_core::journal::Placed;
use punctual_core::reminder::Reminder;
use punctual_core::store::ChangeError;
use punctual_core::user::User;

use super::listener::Told;
use super::silences::Silences;
use crate::clock::ManualClock;
use crate::executor::Group;

/// The ledger of one world. Clones are the same ledger.
#[derive(Clone)]
pub struct Ledger {
    book: Arc<Mutex<Book>>,
    clock: ManualClock,
}

/// Everything that was written down, in order.
#[derive(Default)]
pub struct Book {
    /// Creates, by reminder.
    pub creates: BTreeMap<ReminderId, Created>,
    /// Commands.
    pub commands: Vec<Command>,
    /// Presses of buttons.
    pub presses: Vec<Press>,
    /// Changes of people.
    pub people: Vec<PutUser>,
    /// What the application was told, in order.
    pub told: Vec<Told>,
    /// Silences, and changes of the group that they may be for.
    pub silences: Silences,
    /// Sends.
    pub sends: Vec<Sent>,
    /// What the reader of the journal has read.
    pub entries: Vec<Placed>,
    /// What was done to the world.
    pub faults: Vec<Fault>,
    last_number: u64,
    hasher: DefaultHasher,
}

/// When something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Its place in the order of everything.
    pub number: u64,
    /// What the world's clock showed.
    pub at: Timestamp,
    /// How much time had passed since the beginning, whatever the clock was set to.
    pub elapsed: SignedDuration,
}

/// A create and whether it was acknowledged.
#[derive(Debug, Clone)]
pub struct Created {
    /// What was asked for.
    pub reminder: Reminder,
    /// When.
    pub begun: Moment,
    /// When it was acknowledged.
    pub acknowledged: Option<Moment>,
    /// When it was refused.
    pub refused: Option<Moment>,
}

/// A command and what was answered.
#[derive(Debug, Clone)]
pub struct Command {
    /// About which reminder.
    pub reminder: ReminderId,
    /// What was asked.
    pub change: Change,
    /// When.
    pub begun: Moment,
    /// When it was acknowledged.
    pub acknowledged: Option<Moment>,
    /// The run that it was about, as was said then.
    pub about: Option<OccurrenceId>,
    /// When it was refused, and why.
    pub refused: Option<(Moment, String)>,
    /// Whether the store failed: then it may have been written before.
    pub in_doubt: bool,
}

impl Command {
    /// Whether it changed nothing, for certain.
    pub fn is_refused(&self) -> bool {
        self.refused.is_some() && !self.in_doubt
    }
}

/// A button that a person pressed.
#[derive(Debug, Clone)]
pub struct Press {
    /// Which.
    pub pressed: Pressed,
    /// The command that it is.
    command: usize,
    /// When the person was told that their answer is recorded.
    pub told: Option<Moment>,
}

/// A person who was changed.
#[derive(Debug, Clone)]
pub struct PutUser {
    /// Their entry from then on.
    pub user: User,
    /// When it was asked for.
    pub begun: Moment,
    /// When it was acknowledged.
    pub acknowledged: Option<Moment>,
}

/// A message that reached a receiver.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The message.
    pub message: Message,
    /// Which process sent it.
    pub from: Group,
    /// When the send began.
    pub begun: Moment,
    /// Whether the receiver acted on it.
    pub effect: Option<Moment>,
    /// When the receiver answered, and what.
    pub answered: Option<(Moment, Answer)>,
    /// How long the receiver asked to be left alone.
    pub asked_to_wait: Option<SignedDuration>,
    /// When the store had the platform's id of it: from then on everybody can ask what became of it.
    pub id_written: Option<Moment>,
}

/// What a receiver answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Taken.
    Taken,
    /// Not taken, for certain.
    NotTaken,
    /// Cut off: it may have arrived.
    Unknown,
}

/// Something that was done to the world.
#[derive(Debug, Clone)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// To which process, if to one.
    pub group: Option<Group>,
    /// When.
    pub moment: Moment,
}

/// What can be done to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A process died.
    Crash,
    /// A process stood still, and went on.
    Stall,
    /// The clock was set.
    Jump,
    /// The store failed a call.
    Store,
    /// A process lost sight of the store, or sees it again.
    Cut,
    /// A process was stopped in order.
    Stop,
}

impl Ledger {
    /// An empty ledger that dates entries by `clock`.
    pub fn new(clock: ManualClock) -> Self {
        Self { book: Arc::default(), clock }
    }

    /// The entries.
    pub fn read(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A create is asked for.
    pub fn create_begun(&self, reminder: &Reminder) {
        let begun = self.moment(("create", reminder.id));
        let created = Created { reminder: reminder.clone(), begun, acknowledged: None, refused: None };
        self.read().creates.insert(reminder.id, created);
    }

    /// A create was answered.
    pub fn create_answered(&self, id: ReminderId, ok: bool) {
        let moment = self.moment(("created", id, ok));
        if let Some(created) = self.read().creates.get_mut(&id) {
            *(if ok { &mut created.acknowledged } else { &mut created.refused }) = Some(moment);
        }
    }

    /// A command is given; returns its index.
    pub fn command_begun(&self, reminder: ReminderId, change: Change) -> usize {
        let begun = self.moment((change.verb(), reminder));
        let mut book = self.read();
        book.commands.push(Command {
            reminder,
            change,
            begun,
            acknowledged: None,
            about: None,
            refused: None,
            in_doubt: false,
        });
        book.commands.len() - 1
    }

    /// A command was answered.
    pub fn command_answered(&self, index: usize, answer: Result<Option<OccurrenceId>, ChangeError>) {
        let moment = self.moment(("answered", index, answer.is_ok()));
        let command = &mut self.read().commands[index];
        match answer {
            Ok(about) => (command.acknowledged, command.about) = (Some(moment), about),
            Err(error) => {
                command.in_doubt = matches!(error, ChangeError::Store(_));
                command.refused = Some((moment, error.to_string()));
            }
        }
    }

    /// A person presses a button; returns the press's number.
    pub fn pressed(&self, pressed: Pressed, now: Timestamp) -> usize {
        let command = self.command_begun(pressed.occurrence.reminder, pressed.change(now));
        let mut book = self.read();
        book.presses.push(Press { pressed, command, told: None });
        book.presses.len() - 1
    }

    /// The platform has heard what became of a press, and the person with it.
    pub fn press_acknowledged(&self, number: usize, is_answered: bool) {
        let told = self.moment(("press", number, is_answered));
        let press = self.read().presses[number].clone();
        if is_answered {
            self.read().presses[number].told = Some(told);
            self.command_answered(press.command, Ok(Some(press.pressed.occurrence)));
        }
    }

    /// A person is changed; returns its index.
    pub fn put_user_begun(&self, user: &User) -> usize {
        let begun = self.moment(("put_user", &user.id));
        let mut book = self.read();
        book.people.push(PutUser { user: user.clone(), begun, acknowledged: None });
        book.people.len() - 1
    }

    /// A person was changed.
    pub fn put_user_answered(&self, index: usize, ok: bool) {
        let moment = self.moment(("user put", index, ok));
        if ok {
            self.read().people[index].acknowledged = Some(moment);
        }
    }

    /// A message arrives; returns its index.
    pub fn send_begun(&self, from: Group, message: &Message) -> usize {
        let begun = self.moment(("send", &message.idempotency_key, message.attempt));
        let mut book = self.read();
        book.sends.push(Sent {
            message: message.clone(),
            from,
            begun,
            effect: None,
            answered: None,
            asked_to_wait: None,
            id_written: None,
        });
        book.sends.len() - 1
    }

    /// The receiver acted on a message.
    pub fn send_took_effect(&self, index: usize) {
        let moment = self.moment(("effect", index));
        self.read().sends[index].effect = Some(moment);
    }

    /// The receiver answered.
    pub fn send_answered(&self, index: usize, answer: Answer) {
        let moment = self.moment(("sent", index, answer as u8));
        self.read().sends[index].answered = Some((moment, answer));
    }

    /// The store has the platform's id of what was sent.
    pub fn id_written(&self, occurrence: OccurrenceId, attempt: u32) {
        let moment = self.moment(("noted", occurrence, attempt));
        let mut book = self.read();
        let is_it = |sent: &&mut Sent| sent.message.occurrence == occurrence && sent.message.attempt == attempt;
        book.sends.iter_mut().filter(is_it).for_each(|sent| sent.id_written = Some(moment));
    }

    /// The receiver asked to be left alone for a while.
    pub fn asked_to_wait(&self, index: usize, wait: SignedDuration) {
        self.read().sends[index].asked_to_wait = Some(wait);
    }

    /// The reader has read on in the journal.
    pub fn entries_read(&self, entries: &[Placed]) {
        for entry in entries {
            self.trace(("read", entry.position));
            self.read().entries.push(entry.clone());
        }
    }

    /// Something was done to the world.
    pub fn fault(&self, kind: FaultKind, group: Option<Group>) {
        let moment = self.moment(("fault", kind as u8, group));
        self.read().faults.push(Fault { kind, group, moment });
    }

    /// Mixes something into the trace.
    pub fn trace(&self, what: impl Hash) {
        what.hash(&mut self.read().hasher);
    }

    /// A number that is the same if and only if everything happened in the same way.
    pub fn hash(&self) -> u64 {
        self.read().hasher.finish()
    }

    /// Writes into the book.
    pub(super) fn write<T>(&self, what: impl FnOnce(&mut Book) -> T) -> T {
        what(&mut self.read())
    }

    pub(super) fn moment(&self, what: impl Hash) -> Moment {
        let (at, elapsed) = (self.clock.now(), self.clock.elapsed());
        let mut book = self.read();
        book.last_number += 1;
        (book.last_number, at.as_nanosecond()).hash(&mut book.hasher);
        what.hash(&mut book.hasher);
        Moment { number: book.last_number, at, elapsed }
    }
}

impl Book {
    /// Everything that was written down, one line each, in order: what a person reads after a failure.
    pub fn story(&self) -> Vec<String> {
        let mut lines: Vec<(Moment, String)> = Vec::new();
        for (id, created) in &self.creates {
            let Reminder { schedule, ack, on_unknown, .. } = &created.reminder;
            let about = format!("{id} create: {:?}, ack {}, on unknown {on_unknown}", schedule, ack.is_some());
            lines.push((created.begun, about));
            lines.extend(created.acknowledged.map(|moment| (moment, format!("{id} created"))));
            lines.extend(created.refused.map(|moment| (moment, format!("{id} not created"))));
        }
        for Command { reminder, change, begun, acknowledged, about: _, refused, in_doubt: _ } in &self.commands {
            lines.push((*begun, format!("{reminder} {change:?}")));
            lines.extend(acknowledged.map(|moment| (moment, format!("{reminder} {} done", change.verb()))));
            let refused = refused.as_ref();
            lines
                .extend(refused.map(|(moment, why)| (*moment, format!("{reminder} {} refused: {why}", change.verb()))));
        }
        for PutUser { user, begun, acknowledged } in &self.people {
            let User { id, quiet_hours, paused_until, .. } = user;
            lines.push((*begun, format!("{id} wants quiet hours {quiet_hours:?}, a pause until {paused_until:?}")));
            lines.extend(acknowledged.map(|moment| (moment, format!("{id} has what they wanted"))));
        }
        lines.extend(self.silences.story());
        for Sent { message, from, begun, effect, answered, id_written, .. } in &self.sends {
            let name = format!("{} attempt {}", message.idempotency_key, message.attempt);
            lines.push((*begun, format!("{name} sent by {from} to {}, due at {}", message.to, message.due_at)));
            lines.extend(effect.map(|moment| (moment, format!("{name} took effect"))));
            lines.extend(id_written.map(|moment| (moment, format!("the id of {name} is written"))));
            lines.extend(answered.map(|(moment, answer)| (moment, format!("{name} answered: {answer:?}"))));
        }
        for Told { position, reminder, from, taken } in &self.told {
            let about = reminder.map(|id| id.to_string()).unwrap_or_default();
            lines.push((*taken, format!("{about} the application is told of {position} by {from}")));
        }
        for Fault { kind, group, moment } in &self.faults {
            lines.push((*moment, format!("{kind:?} of {group:?}")));
        }
        lines.sort();
        lines.into_iter().map(|(moment, line)| format!("{:>6} {} {line}", moment.number, moment.at)).collect()
    }
}
