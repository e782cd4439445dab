//! Progress of a run, reported to an observer on the thread that called [`run`](super::run). The
//! tallies hold the numbers of events. They count the measured time only, so the reporter does not
//! subtract the warm-up.

/// The state of a run at one time. Times are nanoseconds on the clock of
/// [`MonotonicClock`](dyno_core::clock::MonotonicClock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current time.
    pub now_ns: u64,
    /// The time at which all sessions had begun.
    pub started_ns: u64,
    /// The start of the measured time: `started_ns` plus the warm-up.
    pub origin_ns: u64,
    /// The end of the measured time; `u64::MAX`: the run ends with its events.
    pub end_ns: u64,
    /// With a rate: the backlog, events that are due and that no session has begun, without a limit.
    pub backlog: u64,
    /// With a rate: events in progress.
    pub concurrency: u64,
    /// Sessions that have not ended.
    pub running: u32,
}

/// Observes a run. All calls come from one thread, in this order: `started`, `measuring`, then
/// `tick` at each requested time; `failed` may come at any time.
pub trait Observer {
    /// All sessions have begun. Not called if a session failed to begin.
    fn started(&mut self, _at: &Progress) {}

    /// The measured time begins. Returns the time of the first `tick`; `u64::MAX`: never.
    fn measuring(&mut self, _at: &Progress) -> u64 {
        u64::MAX
    }

    /// The requested time has come. Returns the time of the next `tick`.
    fn tick(&mut self, _at: &Progress) -> u64 {
        u64::MAX
    }

    /// The script of session `number` has failed with this message; the run ends.
    fn failed(&mut self, _number: u32, _message: &str) {}
}

/// An observer that ignores all calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
