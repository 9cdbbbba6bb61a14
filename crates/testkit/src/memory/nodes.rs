//! Nodes tell each other through the store that they live, which runs they want back, whose turn it is, and which receivers to leave alone.

use super::*;

/// A node that has not been seen for this long has no shards.
const LIVES_FOR: SignedDuration = SignedDuration::from_secs(3);
/// A node that asked for something back longer ago than this waits no more.
const ASKED_FOR: SignedDuration = SignedDuration::from_secs(1);

/// A node that has beaten.
pub(super) struct Seen {
    /// When it did so last,
    pub(super) at: Timestamp,
    /// and first.
    pub(super) since: Timestamp,
    /// The secrets that it uses.
    shared: String,
    /// Whether somebody reads the journal there.
    follows: bool,
    pub(super) about: About,
}

impl Seen {
    pub(super) fn lives(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) < LIVES_FOR
    }
}

impl Tables {
    pub(super) fn beat(&mut self, Beat { node, echo, shared, follows, about }: Beat) -> Pulse {
        let now = self.now;
        self.nodes.retain(|_, seen| seen.lives(now));
        let since = self.nodes.get(&node).map_or(now, |seen| seen.since);
        let seen = Seen { at: now, since, shared, follows: follows != Follows::No, about };
        self.nodes.insert(node.clone(), seen);
        self.names.insert(self.connection, node.clone());
        echo.into_iter().for_each(|echo| self.say(&Heard::Beat(echo)));
        if follows == Follows::Begins {
            self.say(&Heard::Followed);
        }
        let nodes: Vec<String> = self.nodes.keys().cloned().collect();
        let shared: BTreeSet<String> = self.nodes.values().map(|seen| seen.shared.clone()).collect();
        let share = &mut self.shares[self.connection];
        if share.0 != nodes {
            *share = (nodes.clone(), Shards::share(&node, &nodes));
        }
        let shards = share.1;
        let followed = self.nodes.values().any(|seen| seen.follows);
        let (head, unplaced) = (self.announced, self.head() > self.announced);
        let shared = shared.into_iter().collect();
        Pulse { now, nodes, shards, first_at: self.first_at(), shared, followed, head, unplaced }
    }

    pub(super) fn leave(&mut self, node: &str) {
        // From now on others are told of everything.
        self.shares[self.connection] = (Vec::new(), Shards::NONE);
        self.nodes.remove(node);
        self.say(&Heard::Left);
    }

    pub(super) fn listen(&mut self) -> Box<dyn Ears> {
        let (mouth, ears) = unbounded_channel();
        self.ears.push(mouth);
        Box::new(Open(ears))
    }

    /// Takes the connections that no living node has, unless this node is not seen to live itself, and lets go of its others.
    pub(super) fn hold(&mut self, node: &str, channels: Vec<String>) -> Vec<HeldConnection> {
        let now = self.now;
        let nodes = &self.nodes;
        let lives = |name: &str| nodes.get(name).is_some_and(|seen| seen.lives(now));
        for channel in channels.iter().filter(|_| lives(node)) {
            let new = HeldConnection { channel: channel.clone(), node: node.to_owned(), lease: 0, place: None };
            let held = self.inbound.entry(channel.clone()).or_insert(new);
            if held.lease == 0 || (held.node != node && !lives(&held.node)) {
                (held.node, held.lease) = (node.to_owned(), held.lease + 1);
            }
        }
        for held in self.inbound.values_mut().filter(|held| held.node == node && !channels.contains(&held.channel)) {
            held.node.clear();
        }
        self.inbound.values().cloned().collect()
    }

    pub(super) fn recall(&mut self, reminder: ReminderId) {
        self.recalls.insert(reminder, self.now);
        self.say(&Heard::Recalled);
    }

    pub(super) fn recalled(&mut self) -> Vec<ReminderId> {
        let now = self.now;
        self.recalls.retain(|_, asked_at| now.duration_since(*asked_at) < ASKED_FOR);
        self.recalls.keys().copied().collect()
    }

    pub(super) fn take_turns(&mut self, limits: &[(String, Rate)]) -> Vec<Duration> {
        let now = self.now;
        let wait = |(name, rate): &(String, Rate)| {
            let mut taken = self.turns.get(name).into_iter().flatten().rev();
            let free_at = taken.nth(rate.n as usize - 1).map_or(now, |first| *first + rate.per);
            free_at.duration_since(now).max(SignedDuration::ZERO).unsigned_abs()
        };
        let waits: Vec<Duration> = limits.iter().map(wait).collect();
        if waits.iter().all(Duration::is_zero) {
            limits.iter().for_each(|(name, _)| self.turns.entry(name.clone()).or_default().push(now));
        }
        waits
    }

    pub(super) fn tell_throttle(&mut self, throttle: Throttle) {
        let until = self.now + throttle.wait.min(Throttle::wait_max(throttle.is_address));
        self.throttles.push((self.now, until, throttle));
        self.say(&Heard::Throttled);
    }

    pub(super) fn throttles(&self, since: Option<Timestamp>) -> Vec<Throttle> {
        let told = self.throttles.iter().filter(|(told_at, ..)| since.is_none_or(|since| *told_at > since));
        let left = told.map(|(_, until, throttle)| (until.duration_since(self.now), throttle));
        let lasting = left.filter(|(left, _)| left.is_positive());
        lasting.map(|(left, throttle)| Throttle { wait: left.unsigned_abs(), ..throttle.clone() }).collect()
    }
}

struct Open(UnboundedReceiver<Heard>);

#[async_trait]
impl Ears for Open {
    async fn hear(&mut self) -> Done<Heard> {
        self.0.recv().await.ok_or_else(|| StoreError::Unavailable("the store is gone".into()))
    }
}
