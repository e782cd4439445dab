//! Progress of a load: counted by all its threads, reported at most ten times a second.

use dyno_core::event::Event;
use dyno_core::workload::{FileSet, Table};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shortest time between two events.
const EVERY: Duration = Duration::from_millis(100);

/// Output of progress events, shared by all threads.
pub struct Report<'a> {
    emit: &'a (dyn Fn(Event) + Sync),
    told: Mutex<Option<Instant>>,
}

/// Rows of one table so far.
#[derive(Debug, Default)]
pub struct Rows(AtomicU64);

impl<'a> Report<'a> {
    /// Reports through `emit`.
    pub fn new(emit: &'a (dyn Fn(Event) + Sync)) -> Self {
        Self { emit, told: Mutex::new(None) }
    }

    /// Counts `more` rows of `table`.
    pub fn add(&self, table: &Table, rows: &Rows, more: u64) {
        let rows = rows.0.fetch_add(more, Ordering::Relaxed) + more;
        self.tell(&table.name, rows, table.rows, None);
    }

    /// Reports `bytes` of the set's files as written.
    pub fn files(&self, set: &FileSet, bytes: u64) {
        let all = set.file_bytes * u64::from(set.files);
        self.tell(&set.name, bytes >> 20, all >> 20, Some("MiB".to_owned()));
    }

    fn tell(&self, name: &str, rows: u64, rows_total: u64, unit: Option<String>) {
        // A thread that finds the lock taken has nothing to add to the current report.
        let Ok(mut told) = self.told.try_lock() else { return };
        if told.is_some_and(|told| told.elapsed() < EVERY) {
            return;
        }
        *told = Some(Instant::now());
        (self.emit)(Event::Progress { table: name.to_owned(), rows, rows_total, unit });
    }
}
