//! `mutex`: each thread has one event, in which it takes one of `--mutex-num` random locks
//! `--mutex-locks` times, increments a counter under the lock, and runs an empty loop of
//! `--mutex-loops` iterations in between. Threads mostly run in parallel and hold locks briefly.

use super::events::{Events, Work};
use super::lock::Lock;
use super::{Crew, Native, Run, at_least, locks, number};
use crate::options::{Declared, Options};
use crate::report::Kind;
use crate::session::Session;
use dyno_core::random::rng::Rng;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The test.
pub struct Mutex;

impl Native for Mutex {
    fn name(&self) -> &'static str {
        "mutex"
    }

    fn about(&self) -> &'static str {
        "Mutex performance test"
    }

    fn options(&self) -> Vec<Declared> {
        vec![
            number("mutex-num", "total size of mutex array", 4096),
            number("mutex-locks", "number of mutex locks to do per thread", 50000),
            number("mutex-loops", "number of empty loops to do outside mutex lock", 10000),
        ]
    }

    fn run(&self, options: &Options, crew: Crew) -> Result<Run, String> {
        let count = locks(options, "mutex-num")?;
        let takes = at_least(options, "mutex-locks", 1)?;
        let loops = at_least(options, "mutex-loops", 0)?;
        let guarded: Arc<[Guarded]> = (0..count).map(|_| Guarded::new()).collect();
        Ok(Run {
            heading: String::new(),
            kind: Kind::Mutex,
            limits_events: true,
            make: Arc::new(move |thread| {
                let rng = Rng::for_transaction(crew.seed, thread as u32, 0);
                let work = Locking { takes, loops, guarded: Arc::clone(&guarded), rng };
                Ok(Box::new(Events::new(work, Some(1))))
            }),
        })
    }
}

/// A number and the lock that alone orders the accesses to it.
struct Guarded {
    lock: Lock,
    number: AtomicU64,
}

impl Guarded {
    fn new() -> Self {
        Self { lock: Lock::new(), number: AtomicU64::new(0) }
    }

    #[inline]
    fn count(&self) {
        let _held = self.lock.hold();
        self.number.store(self.number.load(Relaxed) + 1, Relaxed);
    }
}

struct Locking {
    takes: u64,
    loops: u64,
    guarded: Arc<[Guarded]>,
    rng: Rng,
}

impl Work for Locking {
    fn event(&mut self, _session: &Session<'_>) -> Result<(), String> {
        for _ in 0..self.takes {
            let place = self.rng.below(self.guarded.len() as u64);
            self.guarded[place as usize].count();
            for _ in 0..self.loops {
                black_box(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_is_lost() {
        let guarded = Guarded::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| guarded.count()));
            }
        });
        assert_eq!(guarded.number.load(Relaxed), 40_000);
    }
}
