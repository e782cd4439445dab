//! `threads`: each event locks, yields the CPU, and unlocks, `--thread-yields` times, using the
//! `--thread-locks` locks in turn. With more threads than CPUs and locks, it measures the scheduler.

use super::events::{Events, Work};
use super::lock::Lock;
use super::{Crew, Native, Run, at_least, locks, number};
use crate::options::{Declared, Options};
use crate::report::Kind;
use crate::session::Session;
use std::sync::Arc;

/// The test.
pub struct Threads;

impl Native for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn about(&self) -> &'static str {
        "Threads subsystem performance test"
    }

    fn options(&self) -> Vec<Declared> {
        vec![
            number("thread-yields", "number of yields to do per request", 1000),
            number("thread-locks", "number of locks per thread", 8),
        ]
    }

    fn run(&self, options: &Options, _crew: Crew) -> Result<Run, String> {
        let yields = at_least(options, "thread-yields", 0)?;
        let count = locks(options, "thread-locks")?;
        let locks: Arc<[Lock]> = (0..count).map(|_| Lock::new()).collect();
        Ok(Run {
            heading: String::new(),
            kind: Kind::Threads,
            limits_events: false,
            make: Arc::new(move |_| {
                let work = Yielding { yields, locks: Arc::clone(&locks) };
                Ok(Box::new(Events::new(work, None)))
            }),
        })
    }
}

struct Yielding {
    yields: u64,
    locks: Arc<[Lock]>,
}

impl Work for Yielding {
    fn event(&mut self, _session: &Session<'_>) -> Result<(), String> {
        for lock in self.locks.iter().cycle().take(self.yields as usize) {
            let _held = lock.hold();
            std::thread::yield_now();
        }
        Ok(())
    }
}
