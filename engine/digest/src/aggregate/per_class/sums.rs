//! Sums of every class, however many classes there are: at most 128 bytes a class with its place in the
//! index. All sums are whole numbers, so that the order of events does not matter.

use crate::aggregate::stats::sum_table::Keyed;
use crate::event::{Event, weight};

/// A class without details.
pub const NO_DETAILS: u32 = u32::MAX;

/// Exact sums of a class.
#[derive(Debug, Clone)]
pub struct Sums {
    /// What makes the class.
    pub key: u128,
    /// Events.
    pub count: u64,
    /// Events that they stand for.
    pub weighted: u64,
    /// Events with a duration.
    pub timed: u64,
    /// What those stand for.
    pub timed_weighted: u64,
    /// Sum of durations, weighted.
    pub time_ns: u64,
    /// The least duration.
    pub min_ns: u64,
    /// The greatest duration.
    pub max_ns: u64,
    /// What classes are ordered by.
    pub cost: u64,
    /// Bytes of statements, weighted.
    pub bytes: u64,
    /// End of the first event; `i64::MAX`: none has an end.
    pub first_ns: i64,
    /// End of the last event.
    pub last_ns: i64,
    /// Events with an error.
    pub errors: u32,
    /// Where its details are, or [`NO_DETAILS`].
    pub details: u32,
}

const _: () = assert!(size_of::<Sums>() <= 112, "with two slots of the index at most 128 bytes");

impl Keyed for Sums {
    fn key(&self) -> u128 {
        self.key
    }
}

impl Sums {
    /// Sums of no events.
    pub fn new(key: u128, details: u32) -> Self {
        Self {
            key,
            count: 0,
            weighted: 0,
            timed: 0,
            timed_weighted: 0,
            time_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            cost: 0,
            bytes: 0,
            first_ns: i64::MAX,
            last_ns: i64::MIN,
            errors: 0,
            details,
        }
    }

    /// Adds an event; `cost` is added by the one who knows how.
    #[inline]
    pub fn add(&mut self, event: &Event<'_>) {
        let weight = u64::from(weight(event));
        self.count += 1;
        self.weighted += weight;
        self.bytes = self.bytes.saturating_add((event.text.len() as u64).saturating_mul(weight));
        self.errors = self.errors.saturating_add(u32::from(!event.error.is_empty()));
        if let Some(time_ns) = event.duration_ns {
            self.timed += 1;
            self.timed_weighted += weight;
            self.time_ns = self.time_ns.saturating_add(time_ns.saturating_mul(weight));
            self.min_ns = self.min_ns.min(time_ns);
            self.max_ns = self.max_ns.max(time_ns);
        }
        if let Some(end_ns) = event.end_ns {
            self.first_ns = self.first_ns.min(end_ns);
            self.last_ns = self.last_ns.max(end_ns);
        }
    }

    /// Adds all of another but its cost.
    pub fn merge(&mut self, other: &Sums) {
        self.count += other.count;
        self.weighted += other.weighted;
        self.timed += other.timed;
        self.timed_weighted += other.timed_weighted;
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.errors = self.errors.saturating_add(other.errors);
    }
}
