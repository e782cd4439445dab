//! Passes parser context (last timestamp, default database) from one chunk to the next while several
//! threads read. Each thread scans its chunk for context, in the order of chunks, before reading it.

use crate::logs::format::Context;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Passes parser context from each chunk to the next.
#[derive(Default)]
pub struct ChunkContext {
    known: Mutex<Known>,
    has_changed: Condvar,
}

#[derive(Default)]
struct Known {
    /// Number of the next chunk, whose context follows.
    number: u64,
    time_ns: Option<i64>,
    database: Vec<u8>,
    /// Whether the thread of the next chunk has panicked.
    is_broken: bool,
}

impl ChunkContext {
    /// Returns the context of chunk `number`; `tell` scans that chunk for the context of later chunks.
    ///
    /// # Panics
    /// If `tell` panics, in this thread and in all threads that wait for it.
    pub fn pass(&self, number: u64, tell: impl FnOnce() -> Context) -> Context {
        let breaks = BreaksOnPanic(self);
        let told = tell();
        let mut known = self.lock();
        while known.number < number && !known.is_broken {
            known = self.has_changed.wait(known).unwrap_or_else(PoisonError::into_inner);
        }
        assert!(!known.is_broken, "another thread has failed");
        let context = Context {
            time_ns: known.time_ns,
            database: known.database.clone(),
            ..Context::default()
        };
        known.number = number + 1;
        known.time_ns = told.time_ns.or(known.time_ns);
        if !told.database.is_empty() {
            known.database = told.database;
        }
        drop(known);
        self.has_changed.notify_all();
        drop(breaks);
        context
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the waiting threads when this thread panics.
struct BreaksOnPanic<'a>(&'a ChunkContext);

impl Drop for BreaksOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().is_broken = true;
            self.0.has_changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(time_ns: Option<i64>, database: &str) -> Context {
        Context { time_ns, database: database.into(), ..Context::default() }
    }

    #[test]
    fn each_chunk_knows_what_those_before_it_told_whoever_comes_first() {
        let chunk_context = ChunkContext::default();
        std::thread::scope(|scope| {
            let last = scope.spawn(|| chunk_context.pass(2, || told(None, "")));
            let second = scope.spawn(|| chunk_context.pass(1, || told(None, "shop")));
            let first = chunk_context.pass(0, || told(Some(7), "app"));
            assert_eq!((first.time_ns, &*first.database), (None, &b""[..]));
            let second = second.join().unwrap();
            assert_eq!((second.time_ns, &*second.database), (Some(7), &b"app"[..]));
            let last = last.join().unwrap();
            assert_eq!((last.time_ns, &*last.database), (Some(7), &b"shop"[..]));
        });
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_failed() {
        let chunk_context = ChunkContext::default();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| chunk_context.pass(1, || told(None, "")));
            let fails = scope.spawn(|| chunk_context.pass(0, || panic!("on purpose")));
            assert!(fails.join().is_err() && waits.join().is_err());
        });
    }
}
