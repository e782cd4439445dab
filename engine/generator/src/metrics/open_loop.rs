//! Open-loop metrics of one load thread: arrivals begun, committed and given up, and their times.

use super::counter::Counter;
use super::live_histogram::LiveHistogram;
use crate::pacing::arrival_source::Arrival;

/// Additional metrics of an open loop on one load thread, since the thread began.
#[derive(Debug, Default, Clone)]
pub struct OpenLoopMetrics {
    /// Arrivals begun.
    pub begun: Counter,
    /// Arrivals begun that were due in the measured phase.
    pub begun_measured: Counter,
    /// Arrivals due in the measured phase that committed.
    committed: Counter,
    /// Arrivals due in the measured phase that were given up.
    pub failed: Counter,
    /// Response times, from due time to the answer to the commit, of arrivals due in the measured phase.
    pub response: LiveHistogram,
    /// Ages of arrivals given up: lower bounds of their response times.
    pub censored: LiveHistogram,
    /// Response times of arrivals due before the measured phase.
    pub early_response: LiveHistogram,
    /// Times from due time to the first byte sent, of arrivals due in the measured phase that had an idle
    /// session.
    pub dispatch: LiveHistogram,
}

impl OpenLoopMetrics {
    /// Counts an arrival whose first byte left at `now_ns`. `was_awaited`: a session had waited for it.
    #[inline]
    pub fn begin(&self, arrival: Arrival, now_ns: u64, was_awaited: bool) {
        self.begun.add(1);
        if arrival.is_measured {
            self.begun_measured.add(1);
            if was_awaited {
                self.dispatch.record(now_ns.saturating_sub(arrival.due_ns));
            }
        }
    }

    /// Counts an arrival that committed at `now_ns`.
    #[inline]
    pub fn commit(&self, arrival: Arrival, now_ns: u64) {
        let response_ns = now_ns.saturating_sub(arrival.due_ns);
        if arrival.is_measured {
            self.response.record(response_ns);
            self.committed.add_last(1);
        } else {
            self.early_response.record(response_ns);
        }
    }

    /// Counts an arrival that was given up at `now_ns`.
    pub fn give_up(&self, arrival: Arrival, now_ns: u64) {
        if arrival.is_measured {
            self.censored.record(now_ns.saturating_sub(arrival.due_ns));
            self.failed.add_last(1);
        }
    }

    /// Number of arrivals due in the measured phase that have ended.
    pub fn ended(&self) -> u64 {
        self.committed.get() + self.failed.get()
    }
}
