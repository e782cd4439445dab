//! Source of an open loop's transactions: each free session claims the next arrival.
//!
//! A free session claims the next arrival. If the arrival is due already, the session begins at once;
//! otherwise it waits for it. So no session is free while unclaimed arrivals are due (work is
//! conserved), arrivals begin in order, and the *backlog*, the arrivals that are due and not claimed,
//! is a difference of two numbers: its memory does not grow, and no arrival is ever dropped.
//!
//! A session that loses its connection before its arrival has begun gives the arrival back. The
//! next claim then takes that arrival, unless a session that waits for a later one exchanges it first
//! ([`ArrivalSource::has_before`], [`ArrivalSource::exchange`]).
//!
//! Each group has one lock. A session without work takes it once a transaction, and never while a
//! statement is in progress. Closed loops have no arrival source.

use crate::pacing::arrivals::{NEVER, Stream};
use dyno_core::histogram::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A transaction with a due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// Number of the transaction in the group.
    pub number: u64,
    /// Due time on the load's clock.
    pub due_ns: u64,
    /// Whether it falls due in the measured phase.
    pub is_measured: bool,
}

/// The arrivals of one group, shared by its sessions.
#[derive(Debug)]
pub struct ArrivalSource {
    state: Mutex<State>,
    /// Arrivals due at or after this time never begin.
    end_ns: AtomicU64,
    /// Number of the first arrival given back, `u64::MAX` if there is none. Lets waiting sessions check
    /// without the lock.
    first_back: AtomicU64,
    /// Count of arrivals ever given back.
    given_back: AtomicU64,
}

#[derive(Debug)]
struct State {
    stream: Stream,
    measure_ns: u64,
    /// Arrivals given back: of each session at most what it sends together.
    back: BinaryHeap<Reverse<Arrival>>,
}

impl ArrivalSource {
    /// Creates a source without arrivals before [`open`](Self::open).
    pub fn new(stream: Stream) -> Self {
        let state = State { stream, measure_ns: 0, back: BinaryHeap::new() };
        Self {
            state: Mutex::new(state),
            end_ns: AtomicU64::new(0),
            first_back: AtomicU64::new(u64::MAX),
            given_back: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the source: measured from `measure_ns` on; arrivals from `end_ns` on never begin.
    pub fn open(&self, measure_ns: u64, end_ns: u64) {
        self.state().measure_ns = measure_ns;
        self.end_at(end_ns);
    }

    /// Ends the measured phase at `end_ns`, which is in the future and before the end passed to
    /// [`open`](Self::open). Arrivals due later do not begin, even if sessions wait for them.
    pub fn end_at(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Release);
    }

    /// When the measured phase ends.
    pub fn end_ns(&self) -> u64 {
        self.end_ns.load(Acquire)
    }

    /// Whether an arrival is due after the end, and so must not begin.
    #[inline]
    pub fn is_over(&self, arrival: Arrival) -> bool {
        arrival.due_ns >= self.end_ns()
    }

    /// A stream of the same arrivals, for counting, and its time 0 on the load's clock.
    pub fn count_along(&self) -> (Stream, u64) {
        let state = self.state();
        (state.stream.clone(), state.measure_ns)
    }

    /// Claims the next arrival; `None` when no further arrival will be due.
    pub fn claim(&self) -> Option<Arrival> {
        self.next(&mut self.state(), u64::MAX)
    }

    /// Takes the next arrival, if it is due by `until_ns`.
    fn next(&self, state: &mut State, until_ns: u64) -> Option<Arrival> {
        while let Some(&Reverse(arrival)) = state.back.peek() {
            if arrival.due_ns > until_ns {
                return None;
            }
            state.back.pop();
            self.tell(state);
            if !self.is_over(arrival) {
                return Some(arrival);
            }
        }
        let due_ns = state.stream.due_ns();
        let at_ns = state.measure_ns.saturating_add_signed(due_ns);
        if due_ns == NEVER || at_ns > until_ns || at_ns >= self.end_ns() {
            return None;
        }
        let number = state.stream.number();
        state.stream.advance();
        Some(Arrival { number, due_ns: at_ns, is_measured: due_ns >= 0 })
    }

    /// Claims up to `most` arrivals that are due by `now_ns`, in order, and appends them to `claimed`.
    pub fn claim_due(&self, now_ns: u64, most: u32, claimed: &mut Vec<Arrival>) {
        let mut state = self.state();
        for _ in 0..most {
            let Some(arrival) = self.next(&mut state, now_ns) else { break };
            claimed.push(arrival);
        }
    }

    /// Returns a claimed arrival that has not begun, or will have no answer before the load ends.
    pub fn give_back(&self, arrival: Arrival) {
        let mut state = self.state();
        state.back.push(Reverse(arrival));
        self.tell(&state);
        // A thread that sees this count also sees the arrival.
        self.given_back.fetch_add(1, Release);
    }

    /// Count of arrivals ever given back. When it changes, a worker with waiting sessions checks them
    /// once. Exchanges need no further check: they put back a later arrival than any that the checked
    /// sessions hold.
    #[inline]
    pub fn given_back(&self) -> u64 {
        self.given_back.load(Acquire)
    }

    /// Whether an arrival before number `held` was given back.
    #[inline]
    pub fn has_before(&self, held: u64) -> bool {
        self.first_back.load(Relaxed) < held
    }

    /// Exchanges a later arrival that has not begun for the first one given back.
    pub fn exchange(&self, held: Arrival) -> Arrival {
        let mut state = self.state();
        state.back.push(Reverse(held));
        let first = state.back.pop().map_or(held, |Reverse(first)| first);
        self.tell(&state);
        first
    }

    fn tell(&self, state: &State) {
        let first = state.back.peek().map_or(u64::MAX, |Reverse(arrival)| arrival.number);
        self.first_back.store(first, Relaxed);
    }

    /// Removes the measured arrivals due before `until_ns` that have no answer, and counts each into
    /// `ages` with its age at `now_ns`. Returns their number. Call after the sessions have ended.
    pub fn leave(&self, until_ns: u64, now_ns: u64, ages: &mut Histogram) -> u64 {
        let mut state = self.state();
        let mut left = 0;
        while let Some(Reverse(arrival)) = state.back.pop() {
            if arrival.is_measured && arrival.due_ns < until_ns {
                ages.record(now_ns.saturating_sub(arrival.due_ns));
                left += 1;
            }
        }
        self.tell(&state);
        let measure_ns = state.measure_ns;
        let since = |at_ns: u64| at_ns.cast_signed().saturating_sub_unsigned(measure_ns);
        // Sessions may not have reached the measured phase.
        state.stream.pass(0.min(since(until_ns)));
        let first = state.stream.number();
        state.stream.pass_into(since(until_ns), since(now_ns), ages);
        left + state.stream.number() - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::{Arrivals, Process, RateStep};

    const MS: u64 = 1_000_000;

    /// Arrivals each 10 ms from 20 ms on, measured from 40 ms to 100 ms.
    fn arrival_source() -> ArrivalSource {
        let steps = vec![RateStep { for_s: None, from_per_s: 100.0, to_per_s: 100.0 }];
        let arrivals = Arrivals { process: Process::Uniform, steps };
        let arrival_source = ArrivalSource::new(Stream::new(&arrivals, 1, 0, 0.02));
        arrival_source.open(40 * MS, 100 * MS);
        arrival_source
    }

    fn numbers(arrival_source: &ArrivalSource) -> Vec<u64> {
        std::iter::from_fn(|| arrival_source.claim()).map(|arrival| arrival.number).collect()
    }

    #[test]
    fn arrivals_come_in_order_until_the_end() {
        let arrival_source = arrival_source();
        let all: Vec<Arrival> = std::iter::from_fn(|| arrival_source.claim()).collect();
        let due: Vec<u64> = all.iter().map(|arrival| arrival.due_ns / MS).collect();
        assert_eq!(due, [20, 30, 40, 50, 60, 70, 80, 90]);
        assert_eq!(all.iter().filter(|arrival| arrival.is_measured).count(), 6);
        assert_eq!(arrival_source.claim(), None);
    }

    #[test]
    fn nothing_is_due_before_the_load_begins() {
        let steps = vec![RateStep { for_s: None, from_per_s: 100.0, to_per_s: 100.0 }];
        let arrivals = Arrivals { process: Process::Poisson, steps };
        assert_eq!(ArrivalSource::new(Stream::new(&arrivals, 1, 0, 0.0)).claim(), None);
    }

    #[test]
    fn what_is_given_back_comes_first() {
        let arrival_source = arrival_source();
        let [a, b, c] = [(); 3].map(|()| arrival_source.claim().unwrap());
        assert!(!arrival_source.has_before(c.number));
        arrival_source.give_back(b);
        arrival_source.give_back(a);
        assert!(arrival_source.has_before(1) && !arrival_source.has_before(0));
        assert_eq!(arrival_source.exchange(c), a);
        assert!(arrival_source.has_before(b.number + 1) && !arrival_source.has_before(b.number));
        // A later arrival is not exchanged.
        assert_eq!(arrival_source.exchange(a), a);
        assert_eq!(numbers(&arrival_source), [1, 2, 3, 4, 5, 6, 7]);
        assert!(!arrival_source.has_before(u64::MAX));
    }

    #[test]
    fn only_what_is_due_is_claimed_together_and_in_order() {
        let arrival_source = arrival_source();
        let claim = |now_ms: u64, most| {
            let mut claimed = Vec::new();
            arrival_source.claim_due(now_ms * MS, most, &mut claimed);
            claimed.into_iter().map(|arrival| arrival.number).collect::<Vec<_>>()
        };
        assert_eq!(claim(19, 9), [0; 0]);
        assert_eq!(claim(40, 2), [0, 1], "at 20 and 30 ms");
        assert_eq!(claim(49, 9), [2]);
        let [c, d] = [(); 2].map(|()| arrival_source.claim().unwrap());
        arrival_source.give_back(d);
        assert_eq!(claim(59, 9), [0; 0], "what was given back is due at 60 ms, and comes first");
        arrival_source.give_back(c);
        assert_eq!(claim(70, 9), [c.number, d.number, 5]);
        assert_eq!(claim(500, 9), [6, 7], "none is due after the end");
    }

    #[test]
    fn an_end_that_comes_sooner_holds_for_what_was_claimed_and_given_back_too() {
        let arrival_source = arrival_source();
        let taken: Vec<Arrival> = (0..6).map(|_| arrival_source.claim().unwrap()).collect();
        arrival_source.end_at(65 * MS);
        assert_eq!(
            taken.iter().map(|&one| arrival_source.is_over(one)).filter(|&over| over).count(),
            1
        );
        // Due at 60 and 70 ms.
        arrival_source.give_back(taken[5]);
        arrival_source.give_back(taken[4]);
        assert_eq!(numbers(&arrival_source), [4]);
        assert_eq!(arrival_source.claim(), None);
        assert!(!arrival_source.has_before(u64::MAX));
    }

    #[test]
    fn whatever_is_left_counts_with_its_age() {
        let arrival_source = arrival_source();
        let taken: Vec<Arrival> = (0..5).map(|_| arrival_source.claim().unwrap()).collect();
        // Due at 20 (warm-up) and 60 ms; the arrivals at 70, 80 and 90 ms are unclaimed.
        arrival_source.give_back(taken[0]);
        arrival_source.give_back(taken[4]);
        let mut ages = Histogram::default();
        let left = arrival_source.leave(100 * MS, 150 * MS, &mut ages);
        assert_eq!((left, ages.min_ns() / MS), (4, 59));
        assert_eq!((ages.count(), ages.mean_ns()), (4, 75.0 * MS as f64));
    }

    #[test]
    fn an_early_end_leaves_only_what_was_due() {
        let arrival_source = arrival_source();
        let mut ages = Histogram::default();
        assert_eq!(arrival_source.leave(30 * MS, 30 * MS, &mut ages), 0);
        assert_eq!(arrival_source.leave(65 * MS, 65 * MS, &mut ages), 3);
        assert_eq!((ages.count(), ages.min_ns() / MS), (3, 4));
    }
}
