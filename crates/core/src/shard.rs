//! Which part of the work an occurrence belongs to.
//!
//! Many nodes on one database divide the shards among themselves, so that each looks first at what is its own. A shard
//! decides who looks first and never who may: claims are atomic, whoever makes them.

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

#[cfg(test)]
mod tests {
    use super::*;

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
