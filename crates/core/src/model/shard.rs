//! Which part of the work an occurrence belongs to.
//!
//! Many nodes on one database divide the shards among themselves, so that each looks first at what is its own. A shard
//! decides which node looks first and never which node may claim: claims are atomic.

use std::fmt;

use sha2::{Digest, Sha256};

/// How many shards there are. It is written into every occurrence, so it never changes.
pub const SHARDS: usize = 256;

/// The shard of a user's occurrences: the first byte of the SHA-256 of the user's name.
///
/// It is the same for every version and on every machine, and a database can compute it too, for what is created in plain
/// SQL: in PostgreSQL `get_byte(sha256(convert_to(user_id, 'UTF8')), 0)`. All of one user's occurrences share a shard, so one
/// node sends them in order.
pub fn shard_of(user: &str) -> u8 {
    Sha256::digest(user.as_bytes())[0]
}

/// Some of the shards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shards([u8; SHARDS / 8]);

impl Shards {
    /// Every shard.
    pub const ALL: Self = Self([u8::MAX; SHARDS / 8]);
    /// No shard.
    pub const NONE: Self = Self([0; SHARDS / 8]);

    /// The shards of `node` among `nodes`, which all name themselves the same way.
    ///
    /// Rendezvous hashing: each shard goes to the node that draws the highest number for it. Every node comes to the same
    /// division without asking anybody, and when one comes or goes only its own shards change hands.
    pub fn share(node: &str, nodes: &[String]) -> Self {
        let mut own = Self::NONE;
        for shard in 0..=u8::MAX {
            let best = nodes.iter().max_by_key(|name| (draw(name, shard), *name));
            if best.is_some_and(|name| name == node) {
                own.insert(shard);
            }
        }
        own
    }

    /// Whether `shard` is one of them.
    pub fn contains(&self, shard: u8) -> bool {
        self.0[usize::from(shard / 8)] & (1 << (shard % 8)) != 0
    }

    fn insert(&mut self, shard: u8) {
        self.0[usize::from(shard / 8)] |= 1 << (shard % 8);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// One bit a shard, the lowest bit of the first byte being shard 0: as PostgreSQL's `get_bit` counts them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {SHARDS} shards", self.count())
    }
}

fn draw(node: &str, shard: u8) -> [u8; 32] {
    Sha256::new().chain_update(node.as_bytes()).chain_update([0, shard]).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|number| format!("node-{number}")).collect()
    }

    #[test]
    fn every_shard_is_one_nodes_and_each_node_has_its_share() {
        for n in 1..=8 {
            let nodes = names(n);
            let shares: Vec<Shards> = nodes.iter().map(|node| Shards::share(node, &nodes)).collect();
            for shard in 0..=u8::MAX {
                assert_eq!(shares.iter().filter(|share| share.contains(shard)).count(), 1, "{shard} of {n}");
            }
            assert!(shares.iter().all(|share| share.count() * n > SHARDS / 2), "{shares:?}");
        }
    }

    #[test]
    fn when_one_goes_only_its_shards_change_hands() {
        let (before, after) = (names(4), names(3));
        for node in &after {
            let (had, has) = (Shards::share(node, &before), Shards::share(node, &after));
            assert!((0..=u8::MAX).all(|shard| !had.contains(shard) || has.contains(shard)));
        }
    }

    #[test]
    fn who_is_not_among_them_has_none() {
        assert_eq!(Shards::share("stranger", &names(3)), Shards::NONE);
    }

    #[test]
    fn a_shard_never_changes() {
        // From `printf ann | sha256sum`. Rows in databases carry these numbers.
        for (user, shard) in [("", 0xe3), ("ann", 0x49), ("bob", 0x81), ("žarko", 0xe2)] {
            assert_eq!(shard_of(user), shard, "{user}");
        }
    }

    #[test]
    fn users_are_spread_evenly() {
        let mut counts = [0; SHARDS];
        for number in 0..100 * SHARDS {
            counts[usize::from(shard_of(&format!("user-{number}")))] += 1;
        }
        assert!(counts.iter().all(|n| (50..160).contains(n)), "{counts:?}");
    }
}
