//! Which state of something a caller has seen, and on what condition it changes it.
//!
//! Two callers who read the same thing, and both write it, must not undo each other's change without knowing. So a caller can say which state
//! it has seen. The condition goes with the change into the transaction of the change, where the store holds it against what it has loaded.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::id::hex;
use crate::store::StoreError;

/// How many bytes of the hash are kept.
const BYTES: usize = 8;

/// A state of something that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version([u8; BYTES]);

impl Version {
    /// The version of `thing`: a hash of everything that it says. So a field that is added later counts without anybody thinking of it.
    pub fn of(thing: &impl fmt::Debug) -> Self {
        let mut hashing = Hashing(Sha256::new());
        // Hashing takes every text.
        let _ = fmt::write(&mut hashing, format_args!("{thing:?}"));
        let hash: [u8; 32] = hashing.0.finalize().into();
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&hash[..BYTES]);
        Self(bytes)
    }
}

struct Hashing(Sha256);

impl fmt::Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// A text that is no version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoVersion;

impl FromStr for Version {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let mut bytes = [0; BYTES];
        if text.len() != 2 * BYTES || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NoVersion);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NoVersion)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NoVersion)?;
        }
        Ok(Self(bytes))
    }
}

/// What a caller takes to be there before its change. Where it is not so, nothing is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expects {
    /// It does not care.
    #[default]
    Anything,
    /// Nothing: it makes something new.
    Nothing,
    /// Something, whatever it is.
    Something,
    /// One of these states.
    OneOf(Vec<Version>),
}

impl Expects {
    /// Whether what is there is what the caller expects. `found` is asked only where it matters.
    pub fn is_met(&self, found: impl FnOnce() -> Option<Version>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => found().is_none(),
            Self::Something => found().is_some(),
            Self::OneOf(versions) => found().is_some_and(|found| versions.contains(&found)),
        }
    }

    /// Refuses a change where something else is there than the caller expects.
    pub fn check(&self, found: impl FnOnce() -> Option<Version>) -> Result<(), StoreError> {
        if self.is_met(found) { Ok(()) } else { Err(StoreError::Unexpected) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_it_is_written_and_differs_with_what_it_is_of() {
        let (one, other) = (Version::of(&("tea", 1)), Version::of(&("tea", 2)));
        assert_ne!(one, other);
        assert_eq!(one, Version::of(&("tea", 1)));
        assert_eq!(one.to_string().parse(), Ok(one));
        for wrong in ["", "12", "00000000000000zz", "+000000000000000", "00000000000000AA"] {
            assert_eq!(wrong.parse::<Version>(), Err(NoVersion), "{wrong}");
        }
    }

    #[test]
    fn a_condition_is_held_against_what_is_there() {
        let (one, other) = (Version::of(&1), Version::of(&2));
        let table = [
            (Expects::Anything, [true, true, true]),
            (Expects::Nothing, [true, false, false]),
            (Expects::Something, [false, true, true]),
            (Expects::OneOf(vec![one]), [false, true, false]),
            (Expects::OneOf(vec![other, one]), [false, true, true]),
            (Expects::OneOf(Vec::new()), [false, false, false]),
        ];
        for (expects, met) in table {
            let found = [None, Some(one), Some(other)].map(|found| expects.is_met(|| found));
            assert_eq!(found, met, "{expects:?}");
        }
    }
}
