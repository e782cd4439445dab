//! An open database with statements of the same lifetime, and the deadline of its calls.

use super::errors::fatal;
use dyno_core::error::{Error, Kind, Result};
use rusqlite::{Connection, OpenFlags};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Steps of SQLite's virtual machine between two checks of the clock: some 0.1 ms.
const STEPS_PER_LOOK: i32 = 10_000;

/// A connection from which neighbouring fields may borrow.
pub struct Handle {
    /// A leaked box, freed in `drop`.
    owner: *mut Connection,
}

impl Handle {
    /// Opens the file; `is_stopped` interrupts every call in progress.
    pub fn open(
        path: &Path,
        create: bool,
        is_stopped: Arc<AtomicBool>,
    ) -> Result<(Self, Deadline)> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let failed = |error| fatal(&format!("open {}", path.display()), &error);
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        // The driver waits for locks itself.
        connection.busy_timeout(std::time::Duration::ZERO).map_err(failed)?;
        let deadline = Deadline::new(is_stopped);
        deadline.watch(&mut connection).map_err(failed)?;
        Ok((Self { owner: Box::into_raw(Box::new(connection)) }, deadline))
    }

    /// The connection, for borrowers in neighbouring fields of this handle.
    ///
    /// # Safety
    /// All borrowers must be dropped before the handle.
    pub unsafe fn outliving(&self) -> &'static Connection {
        // SAFETY: `owner` points to a live box until `drop`; the caller guarantees the rest.
        unsafe { &*self.owner }
    }
}

impl Deref for Handle {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        // SAFETY: `owner` points to a live box until `drop`, and is never borrowed mutably.
        unsafe { &*self.owner }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: `owner` came from `Box::into_raw` in `open` and is freed here only; borrowers are
        // dropped already, as `outliving` requires.
        drop(unsafe { Box::from_raw(self.owner) });
    }
}

/// When SQLite must stop, in nanoseconds since `base`, or at once; read by the progress handler.
pub struct Deadline {
    base: Instant,
    at_ns: Arc<AtomicU64>,
    is_stopped: Arc<AtomicBool>,
}

impl Deadline {
    fn new(is_stopped: Arc<AtomicBool>) -> Self {
        Self { base: Instant::now(), at_ns: Arc::new(AtomicU64::new(u64::MAX)), is_stopped }
    }

    pub fn set(&self, at: Instant) {
        let ns = at.saturating_duration_since(self.base).as_nanos();
        self.at_ns.store(u64::try_from(ns).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn clear(&self) {
        self.at_ns.store(u64::MAX, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn watch(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let (base, at_ns, is_stopped) = (self.base, self.at_ns.clone(), self.is_stopped.clone());
        let past = move || base.elapsed().as_nanos() > u128::from(at_ns.load(Ordering::Relaxed));
        let must_end = move || is_stopped.load(Ordering::Relaxed) || past();
        connection.progress_handler(STEPS_PER_LOOK, Some(must_end))
    }
}

/// Checks whether SQLite accepted a statement of `session_sql`: it reports a rejected journal mode
/// in the result only.
pub fn check_setting(sql: &str, answer: Option<&str>) -> Result<()> {
    let words: Vec<String> = sql
        .split(|c: char| c.is_whitespace() || "=;()'\"".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    if let [pragma, name, wanted] = &words[..]
        && pragma == "pragma"
        && name.rsplit('.').next() == Some("journal_mode")
        && let Some(got) = answer
        && !got.eq_ignore_ascii_case(wanted)
    {
        return Err(Error::new(Kind::Server, format!("SQLite answered {got} to \"{sql}\""))
            .hint("the file system or another connection does not allow this journal mode"));
    }
    Ok(())
}
