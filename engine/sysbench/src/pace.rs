//! Decides when a session begins its next event: at once, or at the next due time of a rate; never
//! after the last event or the end of the run.
//!
//! With a rate, events are due as a Poisson process, or in a trial of an experiment by its schedule,
//! a pure function of (seed, number). Each event belongs to the session that claims it first
//! (`dyno_generator::pacing::arrival_source`). However late the sessions are, no event is dropped and
//! no queue grows: the backlog is the difference of two counters.

use dyno_core::plan::{Arrivals, Process, RateStep};
use dyno_generator::pacing::arrival_source::{Arrival, ArrivalSource};
use dyno_generator::pacing::arrivals::Stream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Above this rate the backlog is computed from the expected number of due events: counting each
/// event would cost more than generating them.
const COUNTED_RATE_MAX_PER_S: f64 = 1e7;

/// What a session does after it has ended an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Begin an event, due at `due_ns` (now, without a rate).
    Go {
        /// On the run's clock.
        due_ns: u64,
    },
    /// Ask again at this time: the session's next event is not due yet.
    Wait {
        /// On the run's clock.
        until_ns: u64,
    },
    /// There are no more events.
    Stop,
}

/// A rate of events, drawn from a seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Mean number of events per second, of all sessions together; positive, fractions allowed.
    pub per_s: f64,
    /// The seed of the due times.
    pub seed: u64,
}

/// Shared by all sessions of a run.
#[derive(Debug)]
pub struct Pace {
    /// Maximum number of events in the measured time; `u64::MAX`: no limit.
    events: u64,
    claimed: AtomicU64,
    /// The measured time, on the run's clock; `u64::MAX`: not known yet, or no end.
    origin_ns: AtomicU64,
    end_ns: AtomicU64,
    rate: Option<Rated>,
}

#[derive(Debug)]
struct Rated {
    /// The rate from which the backlog is computed, where counting each event costs too much.
    reckoned_per_s: Option<f64>,
    /// Length of the measured time after which no further event is due; none: until the run's end.
    length_ns: Option<u64>,
    arrival_source: ArrivalSource,
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Rated {
    fn new(stream: Stream) -> Self {
        Self {
            reckoned_per_s: None,
            length_ns: None,
            arrival_source: ArrivalSource::new(stream),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }
    }
}

/// The number of an arrival that is not an event.
const NONE: u64 = u64::MAX;

impl Pace {
    /// Limits the run to `events` events (0: no limit) in addition to those of the warm-up; without a
    /// rate, events begin at full speed. With a rate, none begins before [`starts`](Self::starts).
    pub fn new(events: u64, rate: Option<Rate>, warmup_s: f64) -> Self {
        let rated = |Rate { per_s, seed }| {
            let steps = vec![RateStep { for_s: None, from_per_s: per_s, to_per_s: per_s }];
            let arrivals = Arrivals { process: Process::Poisson, steps };
            let reckoned_per_s = Some(per_s).filter(|&per_s| per_s > COUNTED_RATE_MAX_PER_S);
            Rated { reckoned_per_s, ..Rated::new(Stream::new(&arrivals, seed, 0, warmup_s)) }
        };
        Self::of(events, rate.map(rated))
    }

    /// Events are due as `stream` determines for `length_ns` of measured time. Events that are due by
    /// then may begin later; sessions continue until [`stop`](Self::stop).
    pub fn trial(stream: Stream, length_ns: u64) -> Self {
        Self::of(0, Some(Rated { length_ns: Some(length_ns), ..Rated::new(stream) }))
    }

    fn of(events: u64, rate: Option<Rated>) -> Self {
        Self {
            events: if events == 0 { u64::MAX } else { events },
            claimed: AtomicU64::new(0),
            origin_ns: AtomicU64::new(u64::MAX),
            end_ns: AtomicU64::new(u64::MAX),
            rate,
        }
    }

    /// The arrivals of a rate.
    pub fn arrival_source(&self) -> Option<&ArrivalSource> {
        self.rate.as_ref().map(|rate| &rate.arrival_source)
    }

    /// Sets the measured time to `origin_ns` until `end_ns` (`u64::MAX`: until the events end).
    pub fn starts(&self, origin_ns: u64, end_ns: u64) {
        if let Some(rate) = &self.rate {
            let length_ns = rate.length_ns.unwrap_or(u64::MAX);
            rate.arrival_source.open(origin_ns, end_ns.min(origin_ns.saturating_add(length_ns)));
        }
        // `stop` may have been called before.
        let _ = self.end_ns.compare_exchange(u64::MAX, end_ns, Release, Relaxed);
        self.origin_ns.store(origin_ns, Release);
    }

    /// Ends the run: no further event begins.
    pub fn stop(&self) {
        self.end_ns.store(0, Release);
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.end_ns.load(Acquire) == 0
    }

    /// Whether an event due at this time is too late to begin.
    #[inline]
    pub fn is_over(&self, due_ns: u64) -> bool {
        due_ns >= self.end_ns.load(Relaxed)
    }

    /// Whether an event that begins now belongs to the measured time.
    #[inline]
    pub fn is_measured(&self, now_ns: u64) -> bool {
        now_ns >= self.origin_ns.load(Relaxed)
    }

    /// Whether events fall due at a rate.
    #[inline]
    pub fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// The event of a session that asks at `now_ns`; `None`: there is none. With a rate, the event may
    /// be due later, and still belongs to that session. If no other event is due before the end,
    /// returns the end itself, at which no event begins: sessions stay until the end.
    #[inline]
    pub fn claim(&self, now_ns: u64) -> Option<Arrival> {
        if self.is_over(now_ns) {
            return None;
        }
        let arrival = match &self.rate {
            Some(rate) => match rate.arrival_source.claim() {
                Some(arrival) => arrival,
                None => return Some(self.end()),
            },
            None => Arrival { number: NONE, due_ns: now_ns, is_measured: true },
        };
        let is_limited = self.events != u64::MAX && self.is_measured(arrival.due_ns);
        if is_limited && self.claimed.fetch_add(1, Relaxed) >= self.events {
            return None;
        }
        Some(arrival)
    }

    /// Updates a claimed event at `now_ns`. Without a rate, it is due at `now_ns`; with a rate, it
    /// becomes the end if it is due after an end that has come earlier.
    #[inline]
    pub fn reconsider(&self, arrival: Arrival, now_ns: u64) -> Arrival {
        match &self.rate {
            Some(rate) if rate.arrival_source.is_over(arrival) => self.end(),
            Some(_) => arrival,
            None => Arrival { due_ns: now_ns, ..arrival },
        }
    }

    fn end(&self) -> Arrival {
        Arrival { number: NONE, due_ns: self.end_ns.load(Relaxed), is_measured: false }
    }

    /// Returns an event that a session does not need or will not end.
    pub fn give_back(&self, arrival: Arrival) {
        if let Some(rate) = &self.rate
            && arrival.number != NONE
        {
            rate.arrival_source.give_back(arrival);
        }
    }

    /// A session begins an event.
    #[inline]
    pub fn begun(&self) {
        if let Some(rate) = &self.rate {
            rate.begun.fetch_add(1, Relaxed);
        }
    }

    /// A session has ended an event, or given it up.
    #[inline]
    pub fn ended(&self) {
        if let Some(rate) = &self.rate {
            rate.ended.fetch_add(1, Relaxed);
        }
    }

    /// Counts the backlog from now on; `None` without a rate. Call after [`starts`](Self::starts).
    pub fn backlog(&self) -> Option<Backlog<'_>> {
        let rate = self.rate.as_ref()?;
        let (mut stream, origin_ns) = rate.arrival_source.count_along();
        // Passing over a warm-up costs time; only a limit needs the number of events in it.
        let early = if self.events == u64::MAX { 0 } else { stream.clone().pass(0) };
        let due = match rate.reckoned_per_s {
            Some(per_s) => {
                let start_ns = origin_ns.saturating_add_signed(stream.due_ns().min(0));
                DueCount::Expected { start_ns, per_s }
            }
            None => DueCount::Counted { stream: Box::new(stream), origin_ns },
        };
        let due_max = self.events.saturating_add(early);
        Some(Backlog { rate, end_ns: &self.end_ns, due, due_max })
    }
}

/// The backlog of a run with a rate, for its reporter.
#[derive(Debug)]
pub struct Backlog<'a> {
    rate: &'a Rated,
    end_ns: &'a AtomicU64,
    due: DueCount,
    due_max: u64,
}

#[derive(Debug)]
enum DueCount {
    Counted { stream: Box<Stream>, origin_ns: u64 },
    Expected { start_ns: u64, per_s: f64 },
}

impl Backlog<'_> {
    /// Returns the numbers of events that are due and not begun, and in progress. `now_ns` must not
    /// decrease.
    pub fn at(&mut self, now_ns: u64) -> (u64, u64) {
        // In this order: an event that ends between the two reads counts as in progress.
        let ended = self.rate.ended.load(Relaxed);
        let begun = self.rate.begun.load(Relaxed);
        let until_ns = now_ns.min(self.end_ns.load(Relaxed)).min(self.rate.arrival_source.end_ns());
        let due = match &mut self.due {
            DueCount::Counted { stream, origin_ns } => {
                stream.pass(until_ns.cast_signed().saturating_sub_unsigned(*origin_ns))
            }
            DueCount::Expected { start_ns, per_s } => {
                (until_ns.saturating_sub(*start_ns) as f64 / 1e9 * *per_s) as u64
            }
        };
        (due.min(self.due_max).saturating_sub(begun), begun.saturating_sub(ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn due(pace: &Pace, now_ns: u64) -> Option<u64> {
        pace.claim(now_ns).map(|arrival| arrival.due_ns)
    }

    #[test]
    fn neither_more_events_than_asked_for_nor_any_after_the_end() {
        let pace = Pace::new(2, None, 0.0);
        pace.starts(1, u64::MAX);
        assert_eq!([1, 2, 3].map(|now| due(&pace, now)), [Some(1), Some(2), None]);
        let pace = Pace::new(0, None, 0.0);
        pace.starts(1, 10);
        assert_eq!((due(&pace, 9), due(&pace, 10)), (Some(9), None));
    }

    #[test]
    fn events_of_the_warm_up_are_not_counted_against_the_limit() {
        let pace = Pace::new(1, None, 5.0);
        pace.starts(15, u64::MAX);
        assert_eq!(
            [10, 14, 15, 16].map(|now| pace.claim(now).is_some()),
            [true, true, true, false]
        );
    }

    #[test]
    fn a_stop_holds_whether_it_comes_before_the_start_or_after_it() {
        for stops_first in [true, false] {
            let pace = Pace::new(0, Some(Rate { per_s: 100.0, seed: 1 }), 0.0);
            if stops_first {
                pace.stop();
            }
            pace.starts(S, 10 * S);
            assert_eq!(pace.claim(S).is_none(), stops_first);
            pace.stop();
            assert!(pace.claim(S).is_none() && pace.is_stopped());
        }
    }

    /// Fractional rates are exact in the mean; bounds are five standard errors.
    #[test]
    fn a_fractional_rate_is_a_pure_function_of_its_seed() {
        let times = |seed| {
            let pace = Pace::new(0, Some(Rate { per_s: 0.25, seed }), 0.0);
            pace.starts(S, 40_001 * S);
            std::iter::from_fn(|| due(&pace, S).filter(|&due_ns| !pace.is_over(due_ns)))
                .collect::<Vec<_>>()
        };
        let once = times(7);
        assert!((once.len() as f64 - 10_000.0).abs() < 500.0, "{}", once.len());
        assert!(once.windows(2).all(|pair| pair[0] <= pair[1]) && once[0] >= S);
        assert_eq!(once, times(7));
        assert_ne!(once, times(8));
    }

    #[test]
    fn the_backlog_is_what_is_due_less_what_has_begun() {
        let pace = Pace::new(0, Some(Rate { per_s: 1000.0, seed: 3 }), 0.0);
        pace.starts(S, 11 * S);
        let mut backlog = pace.backlog().expect("it has a rate");
        let early =
            std::iter::from_fn(|| due(&pace, S).filter(|&due_ns| due_ns < 2 * S)).count() as u64;
        assert_eq!(backlog.at(2 * S), (early, 0));
        pace.begun();
        pace.begun();
        pace.ended();
        assert_eq!(backlog.at(2 * S), (early - 2, 1));
        let whole = backlog.at(11 * S).0;
        assert_eq!(backlog.at(20 * S).0, whole, "nothing falls due after the end");
        assert!(Pace::new(0, None, 0.0).backlog().is_none());
    }

    /// One arrival every 100 ms for a second.
    fn trial() -> Pace {
        let steps = vec![RateStep { for_s: None, from_per_s: 10.0, to_per_s: 10.0 }];
        let arrivals = Arrivals { process: Process::Uniform, steps };
        let pace = Pace::trial(Stream::new(&arrivals, 1, 0, 0.0), S);
        pace.starts(S, u64::MAX);
        pace
    }

    #[test]
    fn in_a_trial_nothing_falls_due_after_its_time_and_sessions_stay_until_the_stop() {
        let pace = trial();
        let all: Vec<Arrival> = (0..10).filter_map(|_| pace.claim(9 * S)).collect();
        assert_eq!(all.iter().filter(|arrival| !pace.is_over(arrival.due_ns)).count(), 10);
        let end = pace.claim(9 * S).unwrap();
        assert_eq!(end.due_ns, u64::MAX);
        pace.stop();
        assert_eq!((pace.reconsider(end, 9 * S).due_ns, pace.claim(9 * S)), (0, None));
    }

    #[test]
    fn a_trial_that_ends_sooner_leaves_what_is_due_later() {
        let pace = trial();
        let held: Vec<Arrival> = (0..8).filter_map(|_| pace.claim(S)).collect();
        pace.arrival_source().unwrap().end_at(S + S / 2);
        let ends = |arrival: &&Arrival| pace.reconsider(**arrival, S).due_ns == u64::MAX;
        assert_eq!(held.iter().filter(ends).count(), 3);
        assert_eq!(due(&pace, S), Some(u64::MAX));
        pace.give_back(held[2]);
        assert_eq!(pace.claim(S), Some(held[2]));
    }

    #[test]
    fn a_rate_that_nobody_can_count_is_reckoned() {
        let pace = Pace::new(0, Some(Rate { per_s: 2e9, seed: 3 }), 0.0);
        pace.starts(S, 11 * S);
        let (due, _) = pace.backlog().expect("it has a rate").at(11 * S);
        assert!((due as f64 / 2e10 - 1.0).abs() < 0.01, "{due}");
    }

    #[test]
    fn a_limit_of_events_bounds_the_backlog() {
        let pace = Pace::new(5, Some(Rate { per_s: 1000.0, seed: 3 }), 0.0);
        pace.starts(S, u64::MAX);
        assert_eq!(pace.backlog().expect("it has a rate").at(9 * S).0, 5);
    }
}
