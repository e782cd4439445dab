//! Finds sessions that block their load thread and thus its other sessions: scripts that call into C
//! and wait there. Signs are resumes that take long, use little CPU time, and yield the CPU
//! voluntarily. Such a session moves to a thread of its own.

use crate::console::{self, Level};
use dyno_core::clock::{Clock, MonotonicClock};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A resume longer than this delays other sessions too much.
const LONG_NS: u64 = 50_000_000;
/// The number of resumes to observe before a suspect is cleared.
const LOOKS: u8 = 64;

static HAS_TOLD: AtomicBool = AtomicBool::new(false);

/// The behaviour of a session towards the others of its thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conduct {
    /// The session has not requested an event yet: `thread_init` may take long.
    #[default]
    Unknown,
    /// No resume took long.
    Good,
    /// One resume took long, perhaps due to the machine or real work; this many are yet to be observed.
    Suspect(u8),
    /// The session blocks, and must leave at its next event.
    Blocks,
    /// The session received "no further event" so that it ends here.
    Leaves,
}

/// A measurement before a resume.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    coarse_ns: u64,
    look: Option<Look>,
}

/// A measurement of this thread. Costs a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    now_ns: u64,
    cpu_ns: u64,
    /// The number of voluntary context switches.
    waits: i64,
}

impl Conduct {
    /// The session shares its thread with no other: it may stay.
    #[inline]
    pub fn forgive(&mut self) {
        if *self == Self::Blocks {
            *self = Self::Good;
        }
    }

    /// Measures before a resume. `None`: its duration does not matter.
    #[inline]
    pub fn before(self) -> Option<Before> {
        match self {
            Self::Good => Some(Before { coarse_ns: coarse_ns(), look: None }),
            Self::Suspect(_) => Some(Before { coarse_ns: coarse_ns(), look: Some(Look::now()) }),
            Self::Unknown | Self::Blocks | Self::Leaves => None,
        }
    }

    /// Evaluates a resume.
    #[inline]
    pub fn after(&mut self, before: &Before) {
        let is_long = coarse_ns().saturating_sub(before.coarse_ns) > LONG_NS;
        if is_long || before.look.is_some() {
            *self = self
                .next(is_long, || before.look.is_some_and(|look| look.has_blocked(&Look::now())));
        }
    }

    #[cold]
    fn next(self, is_long: bool, has_blocked: impl FnOnce() -> bool) -> Self {
        match self {
            Self::Good if is_long => Self::Suspect(LOOKS),
            Self::Suspect(_) if is_long && has_blocked() => {
                tell();
                Self::Blocks
            }
            Self::Suspect(0) => Self::Good,
            Self::Suspect(left) => Self::Suspect(left - 1),
            other => other,
        }
    }
}

fn tell() {
    if !HAS_TOLD.swap(true, Relaxed) {
        console::say(
            Level::Warning,
            "the script makes a blocking call, which delays other sessions of its load thread. In the \
             trial of an experiment the session stays there; otherwise it moves to its own thread at \
             its next event. There thread_init runs again, and the script's globals are initialised \
             again. Waits of one session (queries, ffi.C.usleep) need no thread",
        );
    }
}

/// Reads a clock that costs some nanoseconds and advances in steps of some milliseconds.
#[inline]
fn coarse_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
        cpu_ns < took_ns / 2 && after.waits > self.waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wait_of_ones_own_accord_is_blocking() {
        let before = Look { now_ns: 0, cpu_ns: 0, waits: 5 };
        let after = |ms: u64, cpu_ms: u64, waits| {
            before.has_blocked(&Look { now_ns: ms * 1_000_000, cpu_ns: cpu_ms * 1_000_000, waits })
        };
        assert!(after(60, 1, 6));
        assert!(!after(60, 50, 6), "work");
        assert!(!after(60, 1, 5), "others had the CPU");
    }

    #[test]
    fn a_session_blocks_when_it_is_seen_twice_and_is_forgiven_else() {
        let suspect = Conduct::Good.next(true, || unreachable!("nobody has looked"));
        assert_eq!(suspect, Conduct::Suspect(LOOKS));
        assert_eq!(suspect.next(true, || true), Conduct::Blocks);
        assert_eq!(suspect.next(true, || false), Conduct::Suspect(LOOKS - 1), "a loop");
        let mut conduct = suspect;
        for _ in 0..=LOOKS {
            conduct = conduct.next(false, || unreachable!("it was short"));
        }
        assert_eq!(conduct, Conduct::Good);
        assert_eq!(Conduct::Unknown.before().map(|_| ()), None, "thread_init");
    }
}
