//! The engine's counters.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::flight::Via;
use crate::inbound::outcome::Outcome;

/// The engine's counters. All are cheap to clone and to raise.
#[derive(Debug, Clone)]
pub struct Metrics {
    /// From the due instant to the begin of the send.
    pub lateness_seconds: Histogram,
    /// Attempts by channel and outcome.
    pub attempts: Family<AttemptLabels, Counter>,
    /// Occurrences by the state they were settled into and by who woke them.
    pub occurrences: Family<OccurrenceLabels, Counter>,
    /// Waits that platforms asked for, by channel.
    pub throttled: Family<ChannelLabel, Counter>,
    /// Times a receiver was left alone because it only failed, by channel.
    pub broken: Family<ChannelLabel, Counter>,
    /// Attempts after the first of an occurrence.
    pub retries: Counter,
    /// Results refused because another had taken over.
    pub claims_lost: Counter,
    /// Overdue occurrences that only the safety sweep found.
    pub fallback_found: Counter,
    /// Whether the safety sweep found more than a few within a day.
    pub fallback_alert: Gauge,
    /// Leases held.
    pub in_flight: Gauge,
    /// Events from platforms, by channel and what was made of them.
    pub inbound: Family<AttemptLabels, Counter>,
    /// From the arrival of an answer to its commit.
    pub inbound_seconds: Histogram,
    /// 1 while this node has a channel's connection and it is open.
    pub inbound_connected: Family<ChannelLabel, Gauge>,
    /// Connections that were opened again, by channel.
    pub inbound_reconnects: Family<ChannelLabel, Counter>,
    /// Messages that were changed to show an answer, by channel and outcome.
    pub edits: Family<AttemptLabels, Counter>,
    /// Nodes that live, this one among them.
    pub nodes: Gauge,
    /// Shards that are this node's.
    pub shards: Gauge,
    /// 1 while this node hears what others change.
    pub hears: Gauge,
    /// Entries that were told, by subscription.
    pub subscription_told: Family<SubscriptionLabel, Counter>,
    /// Entries that could not be told, by subscription.
    pub subscription_given_up: Family<SubscriptionLabel, Counter>,
    /// How many positions of the journal lie between its end and what was told, by subscription.
    pub subscription_behind: Family<SubscriptionLabel, Gauge>,
    /// Rows that watches have dealt with, by watch and outcome.
    pub watch_rows: Family<WatchRowLabels, Counter>,
    /// Runs of watches that have ended, by watch and state.
    pub watch_runs: Family<WatchRunLabels, Counter>,
    /// How long runs of watches took.
    pub watch_run_seconds: Histogram,
}

/// Labels of an attempt, and of what else has an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct AttemptLabels {
    /// Which channel.
    pub channel: String,
    /// How it ended.
    pub outcome: &'static str,
}

/// Labels of what is counted by channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ChannelLabel {
    /// Which channel.
    pub channel: String,
}

/// Labels of what is counted by subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct SubscriptionLabel {
    /// Which subscription.
    pub name: String,
}

/// Labels of a row that a watch has dealt with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchRowLabels {
    /// Which watch.
    pub watch: String,
    /// What became of it: sent, skipped or failed.
    pub outcome: &'static str,
}

/// Labels of a run of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchRunLabels {
    /// Which watch.
    pub watch: String,
    /// How it ended.
    pub state: &'static str,
}

/// Labels of an occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OccurrenceLabels {
    /// The state it was settled into.
    pub state: &'static str,
    /// How it was noticed.
    pub via: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let bounds =
            [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 600.0, 3600.0];
        let of = |n: i64| {
            let gauge: Gauge = Gauge::default();
            gauge.set(n);
            gauge
        };
        Self {
            lateness_seconds: Histogram::new(bounds),
            attempts: Family::default(),
            occurrences: Family::default(),
            throttled: Family::default(),
            broken: Family::default(),
            retries: Counter::default(),
            claims_lost: Counter::default(),
            fallback_found: Counter::default(),
            fallback_alert: Gauge::default(),
            in_flight: Gauge::default(),
            inbound: Family::default(),
            inbound_seconds: Histogram::new(bounds),
            inbound_connected: Family::default(),
            inbound_reconnects: Family::default(),
            edits: Family::default(),
            // A node that shares its store with no other is told no count: it is one, and has everything.
            nodes: of(1),
            shards: of(256),
            hears: Gauge::default(),
            subscription_told: Family::default(),
            subscription_given_up: Family::default(),
            subscription_behind: Family::default(),
            watch_rows: Family::default(),
            watch_runs: Family::default(),
            watch_run_seconds: Histogram::new(bounds),
        }
    }
}

impl Metrics {
    pub(crate) fn count_attempt(&self, channel: &str, outcome: &'static str) {
        self.attempts.get_or_create(&AttemptLabels { channel: channel.to_owned(), outcome }).inc();
    }

    pub(crate) fn count_occurrence(&self, state: &'static str, via: Via) {
        self.occurrences.get_or_create(&OccurrenceLabels { state, via: via.as_str() }).inc();
    }

    /// Counts an event from a platform.
    pub fn count_inbound(&self, channel: &str, outcome: Outcome) {
        self.inbound.get_or_create(&AttemptLabels { channel: channel.to_owned(), outcome: outcome.as_str() }).inc();
    }

    pub(crate) fn count_edit(&self, channel: &str, outcome: &'static str) {
        self.edits.get_or_create(&AttemptLabels { channel: channel.to_owned(), outcome }).inc();
    }

    /// Registers everything under the names users rely on.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("punctual_lateness_seconds", "From due to send begun", self.lateness_seconds.clone());
        registry.register("punctual_attempts", "Attempts by channel and outcome", self.attempts.clone());
        registry.register("punctual_occurrences", "Occurrences by state and who woke them", self.occurrences.clone());
        registry.register("punctual_throttled", "Waits that platforms asked for, by channel", self.throttled.clone());
        registry.register(
            "punctual_receivers_left_alone",
            "Times a receiver was left alone because it only failed, by channel",
            self.broken.clone(),
        );
        registry.register("punctual_retries", "Attempts after the first", self.retries.clone());
        registry.register(
            "punctual_claims_lost",
            "Results refused because another had taken over",
            self.claims_lost.clone(),
        );
        registry.register(
            "punctual_fallback_found",
            "Overdue occurrences only the sweep found",
            self.fallback_found.clone(),
        );
        registry.register(
            "punctual_fallback_alert",
            "Whether the sweep found more than 5 within a day",
            self.fallback_alert.clone(),
        );
        registry.register("punctual_in_flight", "Leases held by this node", self.in_flight.clone());
        registry.register("punctual_inbound", "Events from platforms, by channel and outcome", self.inbound.clone());
        registry.register(
            "punctual_inbound_seconds",
            "From the arrival of an answer to its commit",
            self.inbound_seconds.clone(),
        );
        registry.register(
            "punctual_inbound_connected",
            "1 while this node's connection to a platform is open",
            self.inbound_connected.clone(),
        );
        registry.register(
            "punctual_inbound_reconnects",
            "Connections to platforms that were opened again",
            self.inbound_reconnects.clone(),
        );
        registry.register("punctual_edits", "Messages changed to show an answer, by outcome", self.edits.clone());
        registry.register("punctual_nodes", "Nodes that live, as this one sees it", self.nodes.clone());
        registry.register("punctual_shards", "Shards of this node, of 256", self.shards.clone());
        registry.register(
            "punctual_listening",
            "1 while this node hears what others change; else it looks every second",
            self.hears.clone(),
        );
        registry.register(
            "punctual_subscription_told",
            "Entries of the journal that were told, by subscription",
            self.subscription_told.clone(),
        );
        registry.register(
            "punctual_subscription_given_up",
            "Entries of the journal that could not be told, by subscription",
            self.subscription_given_up.clone(),
        );
        registry.register(
            "punctual_subscription_behind",
            "Positions between the journal's end and what was told, by subscription",
            self.subscription_behind.clone(),
        );
        registry.register("punctual_watch_rows", "Rows of watches by outcome", self.watch_rows.clone());
        registry.register("punctual_watch_runs", "Runs of watches that have ended, by state", self.watch_runs.clone());
        registry.register(
            "punctual_watch_run_seconds",
            "How long runs of watches took",
            self.watch_run_seconds.clone(),
        );
    }
}
