//! What falls due in an open loop, as the reporter counts it: arrivals that are drawn, or those of a
//! recording.

use crate::pacing::arrival_source::Intake;
use crate::pacing::arrivals::Stream;
use crate::pacing::replay::{Calendar, Playback};
use dyno_core::histogram::Histogram;

/// Where the arrivals of a group come from.
#[derive(Debug, Clone, Copy)]
pub enum Due<'a> {
    /// Drawn by a schedule.
    Drawn(&'a Intake),
    /// Recorded.
    Recorded(Playback<'a>),
}

/// The same arrivals again, passed as time passes.
#[derive(Debug, Clone)]
pub enum Walk<'a> {
    /// Of a schedule.
    Drawn(Stream),
    /// Of a recording.
    Recorded(Calendar<'a>),
}

impl<'a> Due<'a> {
    /// See [`Intake::count_along`].
    pub fn count_along(&self) -> (Walk<'a>, u64) {
        match self {
            Self::Drawn(intake) => {
                let (stream, measure_ns) = intake.count_along();
                (Walk::Drawn(stream), measure_ns)
            }
            Self::Recorded(playback) => {
                let (calendar, measure_ns) = playback.count_along();
                (Walk::Recorded(calendar), measure_ns)
            }
        }
    }

    /// When the measured phase ends.
    pub fn end_ns(&self) -> u64 {
        match self {
            Self::Drawn(intake) => intake.end_ns(),
            Self::Recorded(playback) => playback.end_ns(),
        }
    }

    /// See [`Intake::leave`].
    pub fn leave(&self, until_ns: u64, now_ns: u64, ages: &mut Histogram) -> u64 {
        match self {
            Self::Drawn(intake) => intake.leave(until_ns, now_ns, ages),
            Self::Recorded(playback) => playback.leave_ages(until_ns, now_ns, ages),
        }
    }
}

impl Walk<'_> {
    /// Arrivals due before `until_ns` since the start of the measured phase, earlier ones included.
    pub fn pass(&mut self, until_ns: i64) -> u64 {
        match self {
            Self::Drawn(stream) => stream.pass(until_ns),
            Self::Recorded(calendar) => calendar.pass(until_ns),
        }
    }
}
