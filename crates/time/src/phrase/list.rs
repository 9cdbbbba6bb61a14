//! A short list that lives in place: plans are copied for every atom that is tried, and a copy must not allocate.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// How many times of day or ordinals one phrase may list.
pub(super) const LIST_MAX: usize = 12;

/// Up to [`LIST_MAX`] items.
#[derive(Clone, Copy, Default)]
pub(super) struct List<T> {
    items: [T; LIST_MAX],
    len: usize,
}

impl<T: Copy> List<T> {
    /// Adds an item, unless the list is full.
    pub(super) fn push(&mut self, item: T) {
        if let Some(slot) = self.items.get_mut(self.len) {
            *slot = item;
            self.len += 1;
        }
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items[..self.len]
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[..self.len]
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
