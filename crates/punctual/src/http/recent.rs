//! A cache of what was looked up a moment ago.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

/// Answers of the store, believed for a few seconds.
///
/// A change forgets everything and begins a new generation; an answer that was read before the
/// change and arrives after it belongs to the old generation and is not kept. When full, everything
/// is forgotten: the store is asked again. It is full by the number of its entries or by the bytes of their keys, which
/// callers choose: an answer under a very long key is not kept.
pub(super) struct Recent<K, V> {
    entries: Mutex<Entries<K, V>>,
    generation: AtomicU64,
    believed_for_seconds: i64,
    entries_max: usize,
}

struct Entries<K, V> {
    by_key: HashMap<K, (V, Timestamp)>,
    key_bytes: usize,
}

/// The longest key that is kept, in bytes: that of a user.
const KEY_BYTES_MAX: usize = 256;
/// How many bytes all keys together may have.
const KEYS_BYTES_MAX: usize = 1024 * 1024;

impl<K: Eq + Hash + AsRef<[u8]>, V: Clone> Recent<K, V> {
    pub(super) fn new(believed_for_seconds: i64, entries_max: usize) -> Self {
        let entries = Mutex::new(Entries { by_key: HashMap::new(), key_bytes: 0 });
        Self { entries, generation: AtomicU64::new(0), believed_for_seconds, entries_max }
    }

    /// The value that is still believed of `key` at `now`.
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q, now: Timestamp) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let entries = self.entries();
        let (value, read_at) = entries.by_key.get(key)?;
        // A clock that was set back must not make an old answer look fresh.
        let age = now.as_second() - read_at.as_second();
        (0..self.believed_for_seconds).contains(&age).then(|| value.clone())
    }

    /// To be read before the store is asked, and handed to [`Self::put`] with the answer.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Keeps an answer, unless something has changed since `generation`.
    pub(super) fn put(&self, generation: u64, key: K, value: V, now: Timestamp) {
        let n_bytes = key.as_ref().len();
        let mut entries = self.entries();
        if self.generation() != generation || n_bytes > KEY_BYTES_MAX {
            return;
        }
        if entries.by_key.len() >= self.entries_max || entries.key_bytes + n_bytes > KEYS_BYTES_MAX {
            entries.clear();
        }
        if entries.by_key.insert(key, (value, now)).is_none() {
            entries.key_bytes += n_bytes;
        }
    }

    /// Forgets everything, because something has changed.
    pub(super) fn forget(&self) {
        let mut entries = self.entries();
        self.generation.fetch_add(1, Ordering::AcqRel);
        entries.clear();
    }

    fn entries(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Entries<K, V> {
    /// Gives the memory back as well.
    fn clear(&mut self) {
        *self = Self { by_key: HashMap::new(), key_bytes: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_believed_for_a_while_and_not_after_a_change() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let recent: Recent<String, u32> = Recent::new(10, 2);
        recent.put(recent.generation(), "a".into(), 1, at(100));
        assert_eq!(recent.get("a", at(109)), Some(1));
        assert_eq!(recent.get("a", at(110)), None);
        assert_eq!(recent.get("a", at(99)), None, "the clock was set back");

        let before = recent.generation();
        recent.forget();
        assert_eq!(recent.get("a", at(100)), None);
        recent.put(before, "a".into(), 1, at(100));
        assert_eq!(recent.get("a", at(100)), None, "read before the change, arrived after it");

        for key in ["a", "b", "c"] {
            recent.put(recent.generation(), key.into(), 1, at(100));
        }
        assert_eq!((recent.get("a", at(100)), recent.get("c", at(100))), (None, Some(1)));
    }
    #[test]
    fn the_cache_is_bounded_in_bytes() {
        let now = Timestamp::UNIX_EPOCH;
        let recent: Recent<String, u32> = Recent::new(10, usize::MAX);
        recent.put(recent.generation(), "x".repeat(1024 * 1024), 1, now);
        assert!(recent.entries().by_key.is_empty(), "a key that is no user's");
        for n in 0..20_000 {
            recent.put(recent.generation(), format!("{n:0256}"), 1, now);
            recent.put(recent.generation(), format!("{n:0256}"), 1, now);
            let entries = recent.entries();
            assert_eq!(entries.key_bytes, entries.by_key.len() * 256);
            assert!(entries.key_bytes <= KEYS_BYTES_MAX, "{n}");
        }
        assert_eq!(recent.get(&*format!("{:0256}", 19_999), now), Some(1));
    }
}
