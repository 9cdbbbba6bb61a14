//! The limits and delays.

use std::collections::BTreeSet;
use std::time::Duration;

use punctual_core::phrase::Lang;
use punctual_core::reach::DefaultChannel;
use punctual_core::retry::RetryPolicy;
use punctual_core::store::Shared;
use punctual_core::zone::Zone;

use crate::subscriptions::Subscription;
use crate::watches::DefinedWatch;

/// The limits and delays of the engine. Each limit says what happens when it is reached.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This process's name in leases.
    pub node: String,
    /// What all nodes on one store should have alike: secrets as fingerprints, and the ways in which answers come.
    pub shared: Shared,
    /// How long a lease lasts unless renewed. A dead node's work is taken over after it.
    pub lease_for: Duration,
    /// The most occurrences one claim takes; more are taken by the next claim.
    pub batch_max: usize,
    /// The most occurrences this node holds leases for; when reached, claiming waits.
    pub in_flight_max: usize,
    /// The most sends at once, to all receivers together; more wait their turn.
    pub sends_max: usize,
    /// How long one send may take before its outcome is called unknown.
    pub send_timeout: Duration,
    /// How often what is overdue by more than the grace is looked for.
    pub fallback_interval: Duration,
    /// How late is suspicious: a healthy engine never finds anything this late.
    pub fallback_grace: Duration,
    /// How late makes a backlog, which is drained at a bounded rate, beside what is due now.
    pub backlog_after: Duration,
    /// The most of a backlog that is taken every tenth of a second.
    pub backlog_batch: usize,
    /// How long ended occurrences are kept; `None` keeps them for ever.
    pub keep_history_for: Option<Duration>,
    /// How long entries of the journal are kept; `None` keeps them for ever.
    pub keep_journal_for: Option<Duration>,
    /// Whether this node keeps the index of texts by which reminders are found.
    pub search: bool,
    /// Which applications are told what.
    pub subscriptions: Vec<Subscription>,
    /// The applications' tables that are looked into.
    pub watches: Vec<DefinedWatch>,
    /// Retry delays by priority.
    pub retry: RetryPolicy,
    /// Where to send when neither the reminder nor its user says.
    pub default_channel: DefaultChannel,
    /// The language of those who have none.
    pub language: Lang,
    /// The zone of those who have none.
    pub timezone: Zone,
    /// How many times a reminder that is made in a chat is tried again.
    pub retries_max: u32,
    /// The channels by which people can make, list and cancel reminders in words.
    pub commands: BTreeSet<String>,
    /// How long an orderly stop waits for sends in flight.
    pub stop_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            node: "local".into(),
            shared: Shared::default(),
            lease_for: Duration::from_secs(15),
            batch_max: 1024,
            in_flight_max: 16_384,
            sends_max: 1024,
            send_timeout: Duration::from_secs(30),
            fallback_interval: Duration::from_secs(300),
            fallback_grace: Duration::from_secs(120),
            backlog_after: Duration::from_secs(10),
            backlog_batch: 256,
            keep_history_for: None,
            keep_journal_for: None,
            search: false,
            subscriptions: Vec::new(),
            watches: Vec::new(),
            retry: RetryPolicy::default(),
            default_channel: DefaultChannel::default(),
            language: Lang::En,
            timezone: Zone::utc(),
            retries_max: 3,
            commands: BTreeSet::new(),
            stop_grace: Duration::from_secs(10),
        }
    }
}
