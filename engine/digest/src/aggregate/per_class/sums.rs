//! Sums of every class, without a limit on classes: at most 128 bytes per class including the
//! index. All sums are integers, so that the order of events does not matter.

use crate::aggregate::stats::sum_table::Keyed;
use crate::event::{Event, weight};

/// Place of a class without details.
pub const NO_DETAILS: u32 = u32::MAX;

/// Exact sums of a class.
#[derive(Debug, Clone)]
pub struct Sums {
    /// Key of the class.
    pub key: u128,
    /// Number of events.
    pub count: u64,
    /// Number of events, weighted.
    pub weighted: u64,
    /// Number of events with a duration.
    pub timed: u64,
    /// Number of events with a duration, weighted.
    pub timed_weighted: u64,
    /// Sum of durations, weighted.
    pub time_ns: u64,
    /// The shortest duration.
    pub min_ns: u64,
    /// The longest duration.
    pub max_ns: u64,
    /// The cost by which classes are ranked.
    pub cost: u64,
    /// Bytes of statements, weighted.
    pub bytes: u64,
    /// End of the first event; `i64::MAX`: no event has an end.
    pub first_ns: i64,
    /// End of the last event.
    pub last_ns: i64,
    /// Number of events with an error.
    pub errors: u32,
    /// Place of the class's details, or [`NO_DETAILS`].
    pub details: u32,
}

const _: () = assert!(size_of::<Sums>() <= 112, "with two slots of the index at most 128 bytes");

impl Keyed for Sums {
    fn key(&self) -> u128 {
        self.key
    }
}

impl Sums {
    /// Creates sums without events.
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

    /// Adds an event, except its `cost`, which the caller adds.
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

    /// Merges other sums, except the cost.
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
