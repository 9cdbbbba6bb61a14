//! A map that forgets its oldest entries.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Remembers up to `max` entries; the one that was put in first goes first. It is for values that can be asked for again.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    max: usize,
    entries: Mutex<(HashMap<K, V>, VecDeque<K>)>,
}

impl<K: Hash + Eq + Clone, V: Clone> Kept<K, V> {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, entries: Mutex::default() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.lock().0.get(key).cloned()
    }

    /// The value that is remembered for `key`. If there is none, `make` makes one, which is remembered from now on.
    pub(crate) fn get_or(&self, key: K, make: impl FnOnce() -> V) -> V {
        let entries = &mut *self.lock();
        if let Some(value) = entries.0.get(&key) {
            return value.clone();
        }
        let value = make();
        self.put_in(entries, key, value.clone());
        value
    }

    pub(crate) fn put(&self, key: K, value: V) {
        self.put_in(&mut self.lock(), key, value);
    }

    fn put_in(&self, (map, order): &mut (HashMap<K, V>, VecDeque<K>), key: K, value: V) {
        if map.insert(key.clone(), value).is_none() {
            order.push_back(key);
        }
        if order.len() > self.max
            && let Some(oldest) = order.pop_front()
        {
            map.remove(&oldest);
        }
    }

    pub(crate) fn forget(&self, key: &K) {
        let (map, order) = &mut *self.lock();
        if map.remove(key).is_some() {
            order.retain(|other| other != key);
        }
    }

    /// A panic cannot leave the two halves apart in a way that matters: at worst an entry is forgotten early.
    fn lock(&self) -> MutexGuard<'_, (HashMap<K, V>, VecDeque<K>)> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_goes_first() {
        let kept = Kept::new(2);
        for key in 1..=3 {
            kept.put(key, key * 10);
        }
        kept.put(3, 33);
        assert_eq!(kept.get_or(3, || 0), 33);
        assert_eq!((kept.get(&1), kept.get(&2), kept.get(&3)), (None, Some(20), Some(33)));
        kept.forget(&2);
        assert_eq!(kept.get_or(4, || 40), 40);
        assert_eq!((kept.get(&2), kept.get(&3), kept.get(&4)), (None, Some(33), Some(40)));
    }
}
