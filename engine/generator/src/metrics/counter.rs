//! A counter with one writer and lock-free readers.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A running total with one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Clone for Counter {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.get()))
    }
}

impl Counter {
    /// Adds `n`; only the owning thread may call it.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Adds `n` with release ordering, after all earlier writes of this thread.
    #[inline]
    pub(crate) fn add_last(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Release);
    }

    /// Subtracts `n`; only the owning thread may call it.
    pub fn sub(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(n), Relaxed);
    }

    /// Raises the value to `to` if that is larger; only the owning thread may call it.
    pub fn raise(&self, to: u64) {
        self.0.store(self.0.load(Relaxed).max(to), Relaxed);
    }

    /// Reads the total with acquire ordering: the writer's earlier writes are visible too.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Acquire)
    }

    /// Reads the total without ordering, for use after a fence.
    #[inline]
    pub(crate) fn get_unordered(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
