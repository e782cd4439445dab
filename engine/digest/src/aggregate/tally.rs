//! Counts of one log: events, filtered events and pieces that were not understood.

use crate::aggregate::censoring::Durations;
use crate::document::NotUnderstood;
use crate::event::Event;
use crate::filter::Filter;

/// The most pieces that were not understood that are reported; the first by position.
pub const TOLD: usize = 20;

/// Counts of one log.
#[derive(Debug, Default)]
pub struct Tally {
    /// Events read.
    pub events: u64,
    /// Events that the filter excluded.
    pub filtered: u64,
    /// Bytes that were not understood.
    pub bytes_not_understood: u64,
    /// Pieces that were not understood.
    pub pieces_not_understood: u64,
    /// The first of these pieces, by position.
    pub told: Vec<NotUnderstood>,
    /// All durations, before filters.
    pub durations: Durations,
}

impl Tally {
    /// Counts an event; returns whether it passes the filter.
    #[inline]
    pub fn passes(&mut self, filter: &Filter, event: &Event<'_>) -> bool {
        self.events += 1;
        if let Some(duration_ns) = event.duration_ns {
            self.durations.add(duration_ns);
        }
        self.durations.weight_max = self.durations.weight_max.max(event.weight);
        let passes = filter.passes(event);
        self.filtered += u64::from(!passes);
        passes
    }

    /// Adds a piece that was not understood.
    pub fn not_understood(&mut self, offset: u64, bytes: u64, why: &str) {
        self.bytes_not_understood += bytes;
        self.pieces_not_understood += 1;
        if self.told.len() == TOLD && self.told.last().is_some_and(|last| last.offset <= offset) {
            return;
        }
        let at = self.told.partition_point(|told| told.offset <= offset);
        self.told.insert(at, NotUnderstood { offset, line: None, bytes, why: why.to_owned() });
        self.told.truncate(TOLD);
    }

    /// Merges other counts.
    pub fn merge(&mut self, other: Tally) {
        self.events += other.events;
        self.filtered += other.filtered;
        self.bytes_not_understood += other.bytes_not_understood;
        self.pieces_not_understood += other.pieces_not_understood;
        self.told.extend(other.told);
        self.told.sort_by_key(|told| told.offset);
        self.told.truncate(TOLD);
        self.durations.merge(&other.durations);
    }
}
