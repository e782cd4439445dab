//! The arrivals of an open loop as the reporter counts them: drawn, or those of a recording.

use crate::pacing::arrival_source::ArrivalSource;
use crate::pacing::arrivals::Stream;
use crate::pacing::replay::{Calendar, Replay};
use dyno_core::histogram::Histogram;

/// Source of a group's arrivals.
#[derive(Debug, Clone, Copy)]
pub enum DueCount<'a> {
    /// Drawn by a schedule.
    Drawn(&'a ArrivalSource),
    /// From a recording.
    Recorded(Replay<'a>),
}

/// An iterator over the same arrivals, advanced as time passes.
#[derive(Debug, Clone)]
pub enum Walk<'a> {
    /// Arrivals of a schedule.
    Drawn(Stream),
    /// Arrivals of a recording.
    Recorded(Calendar<'a>),
}

impl<'a> DueCount<'a> {
    /// See [`ArrivalSource::count_along`].
    pub fn count_along(&self) -> (Walk<'a>, u64) {
        match self {
            Self::Drawn(arrival_source) => {
                let (stream, measure_ns) = arrival_source.count_along();
                (Walk::Drawn(stream), measure_ns)
            }
            Self::Recorded(replay) => {
                let (calendar, measure_ns) = replay.count_along();
                (Walk::Recorded(calendar), measure_ns)
            }
        }
    }

    /// When the measured phase ends.
    pub fn end_ns(&self) -> u64 {
        match self {
            Self::Drawn(arrival_source) => arrival_source.end_ns(),
            Self::Recorded(replay) => replay.end_ns(),
        }
    }

    /// See [`ArrivalSource::leave`].
    pub fn leave(&self, until_ns: u64, now_ns: u64, ages: &mut Histogram) -> u64 {
        match self {
            Self::Drawn(arrival_source) => arrival_source.leave(until_ns, now_ns, ages),
            Self::Recorded(replay) => replay.leave_ages(until_ns, now_ns, ages),
        }
    }
}

impl Walk<'_> {
    /// Counts arrivals due before `until_ns`, relative to the start of the measured phase, including those
    /// of the warm-up.
    pub fn pass(&mut self, until_ns: i64) -> u64 {
        match self {
            Self::Drawn(stream) => stream.pass(until_ns),
            Self::Recorded(calendar) => calendar.pass(until_ns),
        }
    }
}
