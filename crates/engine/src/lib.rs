//! When reminders fire.
//!
//! The engine sees only the traits of `punctual-core`: it can reach no database, no network and no clock but what it
//! is handed. The modules follow the life of a reminder.

/// The commands: what every front door calls.
pub mod command;

/// Changing the people reminders are for.
mod people;

/// What is to come soon, and sleeping until then.
mod timer;

/// Taking the right to deliver, a little ahead of time.
mod claim;

/// Everything this node holds a lease for.
mod flight;

/// Holding until the instant, then sending.
mod deliver;

/// What goes out as one message.
mod gather;

/// Whose turn it is.
mod lanes;

/// Limits of platforms that several nodes keep to together.
mod together;

/// How the channels stand, for those who look after them.
mod standing;

/// What holds sends back.
mod gate;

/// Whether a wait is one address's or a whole host's.
mod crowd;

/// Addresses that their platform calls dead.
mod dead;

/// A message that is no reminder's.
mod trial;

/// Writing down what became of it.
mod settle;

/// Going on after the store could not be used.
mod outage;

/// Other nodes on the same store.
mod peers;

/// A second way to be woken: a timer outside this process.
mod alarm;

/// Keeping leases alive, finding what was overlooked, removing old history.
mod sweep;

/// The limits and delays.
pub mod settings;

/// What a healthy system says, and how much of it.
mod say;

/// What it counts.
pub mod metrics;

/// Starting and stopping.
mod run;

/// The system's clock, randomness and tasks.
pub mod system;

pub use command::{CreateError, Engine, Health, Parts};
pub use peers::Standing;
pub use run::Running;
pub use settings::Settings;
pub use standing::{ChannelStanding, ClosedGate};
pub use system::{Runtime, SystemClock, SystemRandom, TokioRuntime};
pub use trial::Trial;
