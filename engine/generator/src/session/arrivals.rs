//! Arrivals of an open loop: a free session claims the next one, and waits for it if it is not due yet.

use super::{GroupConfig, Session, Sinks, State, Step};
use crate::pacing::arrival_source::{Arrival, ArrivalSource};

impl Session {
    pub(super) fn next_arrival(
        &mut self,
        now_ns: u64,
        arrival_source: &ArrivalSource,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        let Some(arrival) = arrival_source.claim() else {
            self.state = State::Resting;
            return Step::Rest;
        };
        self.take(now_ns, arrival, sinks, config)
    }

    /// Takes an arrival. The transaction depends on the arrival, not on the session.
    fn take(
        &mut self,
        now_ns: u64,
        arrival: Arrival,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        self.compose((config.group as u32) << 24, arrival.number, config);
        self.arrival = Some(arrival);
        self.was_awaited = arrival.due_ns > now_ns;
        if self.was_awaited {
            self.state = State::Pacing;
            return self.wait(arrival.due_ns);
        }
        self.begin_attempt(now_ns, sinks, config)
    }

    /// Number of the arrival that the session waits for, `u64::MAX` when it rests; `None` when it does not
    /// wait for an arrival.
    pub fn awaits(&self) -> Option<u64> {
        match (self.state, self.arrival) {
            (State::Pacing, Some(arrival)) => Some(arrival.number),
            (State::Resting, _) => Some(u64::MAX),
            _ => None,
        }
    }

    /// Takes an arrival that was given back and is earlier than the one that the session
    /// [`awaits`](Self::awaits).
    pub fn reconsider(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        match (config.arrival_source, self.arrival.take()) {
            (Some(arrival_source), Some(held)) => {
                self.take(now_ns, arrival_source.exchange(held), sinks, config)
            }
            (Some(arrival_source), None) => {
                self.next_arrival(now_ns, arrival_source, sinks, config)
            }
            (None, _) => unreachable!("a closed loop waits for no arrival"),
        }
    }

    /// Ends the session with the load: an arrival without an answer counts as left.
    pub fn leave(&mut self, config: &GroupConfig<'_>) {
        self.leave_unplayed(config);
        self.give_back(config);
        self.leave_batch(config);
    }

    pub(super) fn give_back(&mut self, config: &GroupConfig<'_>) {
        if let (Some(arrival_source), Some(arrival)) = (config.arrival_source, self.arrival.take())
        {
            arrival_source.give_back(arrival);
        }
    }
}
