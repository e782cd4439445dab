//! Sessions of a script as Lua knows them: coroutine, connections, pending waits.

pub(crate) mod blocking_watch;
pub(crate) mod current;
pub(crate) mod debug_log;
pub(crate) mod slot;

use dyno_core::clock::{Clock, MonotonicClock};

/// Time on the run's clock.
#[inline]
pub fn now_ns() -> u64 {
    MonotonicClock.now_ns()
}
