//! The cost by which classes are ranked.

use crate::event::weight;
use crate::event::{Event, Measure};

/// The cost by which classes are ranked, also while reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderBy {
    /// Sum of durations.
    QueryTime,
    /// Number of events, weighted.
    Count,
    /// The slowest event.
    Max,
    /// Bytes of statements.
    StatementBytes,
    /// Sum of a measure.
    Measure(Measure),
}

impl OrderBy {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueryTime => "query_time",
            Self::Count => "count",
            Self::Max => "max",
            Self::StatementBytes => "statement_bytes",
            Self::Measure(measure) => measure.name(),
        }
    }

    /// The cost of one event.
    #[inline]
    pub fn cost(self, event: &Event<'_>) -> u64 {
        let value = match self {
            Self::Max => return event.duration_ns.unwrap_or(0),
            Self::QueryTime => event.duration_ns.unwrap_or(0),
            Self::Count => 1,
            Self::StatementBytes => event.text.len() as u64,
            Self::Measure(measure) => event.numbers.get(measure).unwrap_or(0),
        };
        value.saturating_mul(u64::from(weight(event)))
    }

    /// Combines two costs.
    #[inline]
    pub fn join(self, left: u64, right: u64) -> u64 {
        if self == Self::Max { left.max(right) } else { left.saturating_add(right) }
    }
}
