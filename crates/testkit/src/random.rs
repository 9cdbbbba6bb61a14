//! Randomness that is the same every time.

use std::sync::{Mutex, PoisonError};

use punctual_core::clock::Random;

/// Numbers that follow from a seed (SplitMix64).
pub struct SeededRandom {
    state: Mutex<u64>,
}

impl SeededRandom {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: Mutex::new(seed) }
    }

    /// A stream of its own for `purpose`, so that one part of a test drawing more does not change another.
    pub fn stream(seed: u64, purpose: &str) -> Self {
        let mixed = purpose.bytes().fold(seed ^ 0x5bd1_e995, |hash, byte| {
            (hash.rotate_left(7) ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let random = Self::new(mixed);
        random.next();
        random
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// A number in `low..=high`.
    pub fn between(&self, low: i64, high: i64) -> i64 {
        low + self.below(u64::try_from(high - low).unwrap_or(0) + 1).cast_signed()
    }

    /// True once in `n` times.
    pub fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.next().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_purpose_others() {
        let draw = |random: SeededRandom| (0..5).map(|_| random.next()).collect::<Vec<_>>();
        assert_eq!(draw(SeededRandom::new(7)), draw(SeededRandom::new(7)));
        assert_eq!(draw(SeededRandom::stream(7, "load")), draw(SeededRandom::stream(7, "load")));
        assert_ne!(draw(SeededRandom::stream(7, "load")), draw(SeededRandom::stream(7, "store")));
    }
}
