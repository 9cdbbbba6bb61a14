//! Nodes tell each other through the store that they live, which runs they want back, whose turn it is, and which receivers to leave alone.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use punctual_core::channel::Rate;
use punctual_core::id::ReminderId;
use punctual_core::shard::Shards;
use punctual_core::store::{Beat, Ears, Heard, Pulse, StoreError, Throttle};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::tables::Tables;

/// A node that has not been seen for this long has no shards.
const LIVES_FOR: SignedDuration = SignedDuration::from_secs(3);
/// A node that has not been seen for this long is forgotten.
const KEPT_FOR: SignedDuration = SignedDuration::from_mins(1);
/// A node that asked for something back longer ago than this waits no more.
const ASKED_FOR: SignedDuration = SignedDuration::from_secs(1);

impl Tables {
    pub(super) fn beat(&mut self, beat: Beat) -> Pulse {
        let now = self.now;
        self.nodes.insert(beat.node.clone(), (now, beat.shared));
        self.nodes.retain(|_, (seen_at, _)| now.duration_since(*seen_at) <= KEPT_FOR);
        if let Some(echo) = beat.echo {
            self.say(&Heard::Beat(echo));
        }
        let alive = || self.nodes.iter().filter(|(_, (seen_at, _))| now.duration_since(*seen_at) < LIVES_FOR);
        let nodes: Vec<String> = alive().map(|(name, _)| name.clone()).collect();
        let mut shared: Vec<String> = alive().map(|(_, (_, shared))| shared.clone()).collect();
        shared.dedup();
        let shared_out = (beat.node, nodes.clone());
        let shards = *self.divided.entry(shared_out).or_insert_with_key(|(node, nodes)| Shards::share(node, nodes));
        self.shards.insert(self.connection, shards);
        Pulse { now, nodes, shards, first_at: self.moments.first().map(|(at, _)| *at), shared }
    }

    pub(super) fn leave(&mut self, node: &str) {
        // From now on others are told of everything.
        self.shards.insert(self.connection, Shards::NONE);
        if self.nodes.remove(node).is_some() {
            self.say(&Heard::Left);
        }
    }

    pub(super) fn listen(&mut self) -> Box<dyn Ears> {
        let (mouth, ears) = unbounded_channel();
        self.ears.push(mouth);
        Box::new(Open(ears))
    }

    pub(super) fn recall(&mut self, reminder: ReminderId) {
        let now = self.now;
        self.recalls.retain(|_, asked_at| now.duration_since(*asked_at) < ASKED_FOR);
        self.recalls.insert(reminder, now);
        self.say(&Heard::Recalled);
    }

    pub(super) fn recalled(&self) -> Vec<ReminderId> {
        let asked = self.recalls.iter().filter(|(_, asked_at)| self.now.duration_since(**asked_at) < ASKED_FOR);
        asked.map(|(reminder, _)| *reminder).collect()
    }

    pub(super) fn take_turns(&mut self, limits: &[(String, Rate)]) -> Vec<Duration> {
        let now = self.now;
        let wait = |(name, rate): &(String, Rate)| {
            let begun = self.turns.get(name).map(Vec::as_slice).unwrap_or_default();
            let first = begun.len().checked_sub(rate.n as usize).map(|index| begun[index]);
            let free_at = first.map_or(now, |first| first + rate.per);
            free_at.duration_since(now).max(SignedDuration::ZERO).unsigned_abs()
        };
        let waits: Vec<Duration> = limits.iter().map(wait).collect();
        if waits.iter().all(Duration::is_zero) {
            for (name, _) in limits {
                self.turns.entry(name.clone()).or_default().push(now);
            }
        }
        waits
    }

    pub(super) fn tell_throttle(&mut self, throttle: Throttle) {
        let now = self.now;
        let until = now + throttle.wait.min(Throttle::wait_max(throttle.is_address));
        self.throttles.retain(|_, (until, _)| *until > now);
        let kept = self.throttles.entry((throttle.channel, throttle.is_address, throttle.name)).or_insert((until, now));
        *kept = (kept.0.max(until), now);
        self.say(&Heard::Throttled);
    }

    pub(super) fn throttles(&self, since: Option<Timestamp>) -> Vec<Throttle> {
        let now = self.now;
        let is_new = |told_at: Timestamp| since.is_none_or(|since| told_at > since);
        let told = self.throttles.iter().filter(|(_, (until, told_at))| *until > now && is_new(*told_at));
        let throttle =
            |((channel, is_address, name), (until, _)): (&(String, bool, String), &(Timestamp, Timestamp))| {
                let wait = until.duration_since(now).unsigned_abs();
                Throttle { channel: channel.clone(), name: name.clone(), is_address: *is_address, wait }
            };
        told.map(throttle).collect()
    }
}

struct Open(UnboundedReceiver<Heard>);

#[async_trait]
impl Ears for Open {
    async fn hear(&mut self) -> Result<Heard, StoreError> {
        self.0.recv().await.ok_or_else(|| StoreError::Unavailable("the store is gone".into()))
    }
}
