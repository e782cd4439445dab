//! Tells, once, of a script that blocks its load thread, and so the other sessions of that: one that
//! calls into C for something that waits. Seen from outside, now and then: a resume that took long,
//! used little of the CPU, and gave it up of its own accord.

use crate::console::{self, Level};
use dyno_core::clock::{Clock, MonotonicClock};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// One resume in so many is looked at: looking costs two system calls.
const EVERY: u32 = 32;
/// What is too long for other sessions to wait.
const LONG_NS: u64 = 50_000_000;
/// How often it must be seen: once may have been the machine.
const TIMES: u32 = 2;

static HAS_TOLD: AtomicBool = AtomicBool::new(false);

/// The looks of one load thread.
#[derive(Debug, Default)]
pub struct Watch {
    resumes: u32,
    seen: u32,
}

/// A look at this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    now_ns: u64,
    cpu_ns: u64,
    /// How often it has given up the CPU because it had to wait.
    waits: i64,
}

impl Watch {
    /// Before a resume; nothing if this one is not looked at.
    #[inline]
    pub fn before(&mut self) -> Option<Look> {
        self.resumes = self.resumes.wrapping_add(1);
        (self.resumes.is_multiple_of(EVERY)).then(Look::now)
    }

    /// After it.
    pub fn after(&mut self, before: &Look) {
        if before.has_blocked(&Look::now()) {
            self.seen += 1;
            if self.seen == TIMES && !HAS_TOLD.swap(true, Relaxed) {
                console::say(
                    Level::Warning,
                    "the script calls something that blocks: while it does, the other sessions of its \
                     load thread wait too, and their latencies count that. Use what waits for one \
                     session alone (queries, ffi.C.usleep), or run with --threads no more than CPUs",
                );
            }
        }
    }
}

impl Look {
    fn now() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the structure is ours, and all zeroes is a value of it.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        let ns =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Self {
            now_ns: MonotonicClock.now_ns(),
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            waits: usage.ru_nvcsw,
        }
    }

    fn has_blocked(&self, after: &Self) -> bool {
        let took_ns = after.now_ns.saturating_sub(self.now_ns);
        let cpu_ns = after.cpu_ns.saturating_sub(self.cpu_ns);
        took_ns > LONG_NS && cpu_ns < took_ns / 2 && after.waits > self.waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_wait_of_ones_own_accord_is_blocking() {
        let before = Look { now_ns: 0, cpu_ns: 0, waits: 5 };
        let after = |ms: u64, cpu_ms: u64, waits| {
            before.has_blocked(&Look { now_ns: ms * 1_000_000, cpu_ns: cpu_ms * 1_000_000, waits })
        };
        assert!(after(60, 1, 6));
        assert!(!after(40, 1, 6), "short");
        assert!(!after(60, 50, 6), "work");
        assert!(!after(60, 1, 5), "others had the CPU");
    }
}
