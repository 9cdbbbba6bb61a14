//! For tests only: time and randomness in a test's hand, fake channels, the behaviour every store must show, and a
//! simulator whose checkers know nothing of the engine.

/// Time that passes when a test says so.
pub mod clock;

/// An alarm that a test rings.
pub mod alarm;

/// Randomness that is the same every time.
pub mod random;

/// Tasks on one thread, polled in a chosen order.
pub mod executor;

/// Letting others go first.
pub mod yields;

/// Reminders for tests.
pub mod sample;

/// A channel that remembers what it was told to say.
pub mod phone;

/// A chat platform in memory, whose people answer.
pub mod chat;

/// Several nodes on one store in memory.
pub mod nodes;

/// A stage for engine tests that read like a story.
pub mod story;

/// A store with something between it and its caller.
pub mod tap;

/// An application's table in memory, which watches look into.
pub mod source;

/// A store in memory, for many nodes.
pub mod memory;

/// The behaviour every store must show.
pub mod conformance;

/// Guarantees, broken on purpose.
pub mod broken;

/// The simulator and its checkers.
pub mod sim;

/// Readers of calendars that are not ours.
pub mod judges;

/// Reports which files beyond the repository a test run looked at, and what it left out.
pub mod report;

/// Waiting for what nobody announces, with a deadline.
pub mod wait;

/// A clock that a test sets for the programs that it starts.
pub mod faketime;

/// Waiting for other programs, with a deadline.
#[cfg(unix)]
pub mod process;

/// PostgreSQL, PgBouncer, Redis, RabbitMQ and NATS, started privately.
#[cfg(unix)]
pub mod servers;

/// A network that fails when a test says so.
#[cfg(unix)]
pub mod proxy;

/// Telegram, Slack and Discord on the loopback, and requests signed as platforms sign them.
pub mod platforms;
