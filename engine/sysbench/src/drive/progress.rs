//! What a run says of itself while it goes on, and to whom: the reporter, on the thread that has
//! called [`run`](super::run) and waits there. Numbers of events are in the tallies, which hold what
//! belongs to the measured time alone: nothing of the warm-up has to be subtracted.

/// A run at one moment. Times are nanoseconds on the clock of
/// [`MonotonicClock`](dyno_core::clock::MonotonicClock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The moment.
    pub now_ns: u64,
    /// When all sessions had begun.
    pub started_ns: u64,
    /// When the measured time begins or began: `started_ns` and the warm-up.
    pub origin_ns: u64,
    /// When it is over; `u64::MAX`: with the events.
    pub end_ns: u64,
    /// With a rate: events that are due and that no session has begun, however many.
    pub backlog: u64,
    /// With a rate: events under way.
    pub concurrency: u64,
    /// Sessions that have not ended.
    pub running: u32,
}

/// Listens to a run. All calls come from one thread, in this order: `started`, `measuring`, then
/// `tick` as often as asked for; `failed` at any time.
pub trait Observer {
    /// All sessions have begun. Not called if one of them could not.
    fn started(&mut self, _at: &Progress) {}

    /// The measured time begins. Returns when to call `tick`; `u64::MAX`: never.
    fn measuring(&mut self, _at: &Progress) -> u64 {
        u64::MAX
    }

    /// The moment asked for has come. Returns the next one.
    fn tick(&mut self, _at: &Progress) -> u64 {
        u64::MAX
    }

    /// The script of session `number` has failed: the run ends, with this message among others.
    fn failed(&mut self, _number: u32, _message: &str) {}
}

/// Listens to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
