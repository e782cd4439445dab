//! Histories: what each attempt at a transaction read and wrote, for checks of consistency.
//!
//! A workload that has a [history](crate::workload::Workload::has_history) writes a value once in a
//! load, so that each value read has one writer. [`unique`] makes such values.

use crate::workload::Transaction;
use crate::workload::rows::Rows;

/// Largest number of an attempt that values distinguish.
pub const ATTEMPT_MAX: u32 = (1 << ATTEMPT_BITS) - 1;
/// Sessions of a group that values distinguish.
pub const SESSIONS_MAX: u32 = 1 << SESSION_BITS;
/// Groups of a plan that values distinguish.
pub const GROUPS_MAX: usize = 1 << GROUP_BITS;
/// Writes of a transaction that values distinguish.
pub const WRITES_MAX: u32 = 1 << WRITE_BITS;
/// The value of every key before the load. No operation writes it.
pub const INITIAL: i64 = 0;
/// What a read found that returned no row.
pub const MISSING: i64 = -1;

const SESSION_BITS: u32 = 13;
const GROUP_BITS: u32 = 5;
const WRITE_BITS: u32 = 3;
const ATTEMPT_BITS: u32 = 6;
const ATTEMPT_SHIFT: u32 = SESSION_BITS + GROUP_BITS + WRITE_BITS;
const INDEX_SHIFT: u32 = ATTEMPT_SHIFT + ATTEMPT_BITS;
/// Lowest bit of the group in a session's number.
const GROUP_SHIFT: u32 = 24;

/// The value of write number `write` of the first attempt at transaction `index` of `session`.
/// Values of early transactions have few digits.
pub fn unique(session: u32, index: u64, write: u32) -> i64 {
    debug_assert!(write < WRITES_MAX, "more writes than values");
    let group = u64::from(session >> GROUP_SHIFT) & ((1 << GROUP_BITS) - 1);
    let number = u64::from(session & (SESSIONS_MAX - 1));
    let write = u64::from(write) << (SESSION_BITS + GROUP_BITS);
    ((index + 1) << INDEX_SHIFT | write | group << SESSION_BITS | number) as i64
}

/// The same write's value in attempt `attempt`.
pub fn of_attempt(value: i64, attempt: u32) -> i64 {
    let all = i64::from(ATTEMPT_MAX) << ATTEMPT_SHIFT;
    value & !all | i64::from(attempt.min(ATTEMPT_MAX)) << ATTEMPT_SHIFT
}

/// Kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Verb {
    /// `seen` was there.
    Read = 1,
    /// `value` was written, or appended, whatever was there.
    Write = 2,
    /// `value` was written, on condition that `seen` was there: it was.
    Swap = 3,
    /// The same, and something else was there: nothing was written.
    Miss = 4,
}

/// One access of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// What was done.
    pub verb: Verb,
    /// The key; 0 for a read of all keys.
    pub key: u32,
    /// The value written. Of a list that was read: its [digest](Digest).
    pub value: i64,
    /// The value read. Of a list: its last element. Of all keys: the smallest value.
    pub seen: i64,
    /// Number of elements of a list that was read, or of rows.
    pub count: u32,
}

/// What a session knows about an attempt when it ends.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The transaction as composed.
    pub transaction: &'a Transaction,
    /// Number of its operations that were sent.
    pub sent: usize,
    /// Rows of each answered operation that keeps them, in order.
    pub answers: &'a [Rows],
    /// Number of rows that the operation answered last has changed.
    pub affected: u64,
    /// Whether all operations were answered.
    pub is_complete: bool,
}

/// Digest of a list of integers: h(0) = 0, h(n) = h(n-1) * 6364136223846793005 + element(n) + 1
/// modulo 2^64 (the multiplier is Knuth's, MMIX). A prefix of a list has a digest of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    /// Appends an element.
    pub fn push(&mut self, element: i64) {
        let grown = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = grown.wrapping_add(element as u64).wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn values_differ_by_all_that_identifies_a_write() {
        let mut seen = BTreeSet::from([INITIAL, MISSING]);
        let mut all = 2;
        for session in [0, 1, 8191, 1 << 24, 31 << 24 | 8191] {
            for index in [0, 1, 1 << 30] {
                for write in [0, 7] {
                    for attempt in [0, 1, ATTEMPT_MAX] {
                        seen.insert(of_attempt(unique(session, index, write), attempt));
                        all += 1;
                    }
                }
            }
        }
        assert_eq!(seen.len(), all);
        assert!(seen.range(1..).count() == all - 2, "all are positive");
    }

    #[test]
    fn an_attempt_replaces_the_one_before() {
        let first = unique(3, 5, 1);
        assert_eq!(of_attempt(of_attempt(first, 7), 0), first);
        assert_eq!(of_attempt(first, 1000), of_attempt(first, ATTEMPT_MAX));
    }

    #[test]
    fn digests_depend_on_the_order() {
        let of = |list: &[i64]| {
            let mut digest = Digest::default();
            list.iter().for_each(|&element| digest.push(element));
            digest.0
        };
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[5]), 6);
        assert_ne!(of(&[5, 6]), of(&[6, 5]));
        assert_eq!(of(&[5, 6]), 6_u64.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7));
    }
}
