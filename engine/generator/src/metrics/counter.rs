//! A number with one writer that others read at any time, without a lock.

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
    /// Adds; only the owning thread may.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Adds, after everything that this thread wrote before.
    #[inline]
    pub(crate) fn add_last(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Release);
    }

    /// Takes away; only the owning thread may.
    pub fn sub(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(n), Relaxed);
    }

    /// Keeps the larger; only the owning thread may.
    pub fn raise(&self, to: u64) {
        self.0.store(self.0.load(Relaxed).max(to), Relaxed);
    }

    /// The total so far; what was written before it is visible too.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Acquire)
    }

    /// The total so far, whatever else is visible: behind a fence that orders the reads.
    #[inline]
    pub(crate) fn get_unordered(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
