//! Limits on the memory for buffered results: one per request, and one for all connections of this
//! process, so that no server can exhaust the machine's memory.
//!
//! Small results fit each connection's own allowance and touch no shared counter.

use dyno_core::error::{Error, Kind, Result};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum size of the buffered results of one request, bytes.
pub(crate) const REQUEST_BYTES_MAX: usize = 256 << 20;
/// Allowance of each connection outside the shared pool, bytes.
const OWN_BYTES: usize = 256 << 10;

/// Memory that all connections share beyond their own allowances.
#[derive(Debug)]
pub(crate) struct Pool {
    taken: AtomicUsize,
    bytes_max: OnceLock<usize>,
}

/// The pool of this process: a quarter of the machine's memory, at least [`REQUEST_BYTES_MAX`].
static PROCESS: Pool = Pool { taken: AtomicUsize::new(0), bytes_max: OnceLock::new() };

impl Pool {
    fn bytes_max(&self) -> usize {
        *self.bytes_max.get_or_init(|| (memory_bytes() / 4).max(REQUEST_BYTES_MAX))
    }

    fn take(&self, bytes: usize) -> bool {
        let fits =
            |taken: usize| taken.checked_add(bytes).filter(|&after| after <= self.bytes_max());
        self.taken.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }
}

/// Physical memory of this machine in bytes; 0 if unknown.
fn memory_bytes() -> usize {
    // SAFETY: `sysconf` only returns two numbers; -1 where the system does not know them.
    let (pages, page_bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let number = |value: libc::c_long| usize::try_from(value).unwrap_or(0);
    number(pages).saturating_mul(number(page_bytes))
}

/// Memory that one connection may use for the current request.
#[derive(Debug)]
pub(crate) struct Allowance {
    granted: usize,
    bytes_max: usize,
    pool: &'static Pool,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { granted: OWN_BYTES, bytes_max: REQUEST_BYTES_MAX, pool: &PROCESS }
    }
}

impl Allowance {
    /// Checks that the request may buffer `size` bytes in total; raises the grant if necessary.
    ///
    /// # Errors
    /// [`Kind::System`]: `size` exceeds the limit of one request or of this machine.
    #[inline]
    pub fn check(&mut self, size: usize) -> Result<()> {
        if size <= self.granted { Ok(()) } else { self.raise(size) }
    }

    #[cold]
    fn raise(&mut self, size: usize) -> Result<()> {
        if size > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        // Rounds up to a power of two, so that a large result seldom reaches the pool.
        let wanted = size.next_power_of_two().min(self.bytes_max);
        if !self.pool.take(wanted - self.granted) {
            return Err(all_taken(self.pool.bytes_max()));
        }
        self.granted = wanted;
        Ok(())
    }

    /// Returns to the pool what `size` bytes do not need.
    #[inline]
    pub fn lower(&mut self, size: usize) {
        let needed = size.max(OWN_BYTES);
        if needed < self.granted {
            self.pool.taken.fetch_sub(self.granted - needed, Relaxed);
            self.granted = needed;
        }
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        self.lower(0);
    }
}

fn too_large(bytes_max: usize) -> Error {
    let what = format!(
        "the results of a statement are larger than the {} that are kept",
        shown(bytes_max)
    );
    Error::new(Kind::System, what)
        .hint("let the statement select less (LIMIT); or the server never ends its answer: look into its log, and at what stands between")
}

fn all_taken(bytes_max: usize) -> Error {
    let what = format!(
        "the results of all sessions' statements are larger than {}, a quarter of this machine's memory",
        shown(bytes_max)
    );
    Error::new(Kind::System, what).hint("use fewer sessions, or let statements select less (LIMIT)")
}

/// The error of an allocation that the system refused.
#[cold]
pub(crate) fn no_memory(_: std::collections::TryReserveError) -> Error {
    Error::new(Kind::System, "the system has no memory left for the results of a statement")
        .hint("raise `ulimit -v` or the container's limit, use fewer sessions, or let statements select less (LIMIT)")
}

fn shown(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
impl Allowance {
    /// An allowance of `bytes_max` per request, from a pool of its own.
    pub fn of(bytes_max: usize, pool_bytes_max: usize) -> Self {
        let pool = Pool { taken: AtomicUsize::new(0), bytes_max: OnceLock::from(pool_bytes_max) };
        Self { granted: OWN_BYTES, bytes_max, pool: Box::leak(Box::new(pool)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_bound_of_its_own() {
        let mut allowance = Allowance::of(10 << 20, usize::MAX);
        assert_eq!(allowance.check(10 << 20), Ok(()));
        let error = allowance.check((10 << 20) + 1).unwrap_err();
        assert_eq!(error.kind, Kind::System);
        assert!(error.what.contains("10 MiB") && error.hint.contains("LIMIT"), "{error}");
    }

    #[test]
    fn connections_share_what_all_of_them_may_have_and_give_it_back() {
        let mut one = Allowance::of(8 << 20, 10 << 20);
        let mut other = Allowance { granted: OWN_BYTES, ..Allowance::of(8 << 20, 0) };
        other.pool = one.pool;
        assert_eq!(one.check(8 << 20), Ok(()));
        assert_eq!(other.check(OWN_BYTES), Ok(()), "its own costs nobody anything");
        let error = other.check(4 << 20).unwrap_err();
        assert!(error.what.contains("10 MiB") && error.hint.contains("fewer sessions"), "{error}");
        one.lower(1 << 20);
        assert_eq!(other.check(4 << 20), Ok(()));
        let pool = one.pool;
        drop((one, other));
        assert_eq!(pool.taken.load(Relaxed), 0);
    }
}
