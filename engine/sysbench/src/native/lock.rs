//! The C library's mutex, which these tests measure: Rust's own mutex spins before it sleeps.

use std::cell::UnsafeCell;

/// A mutex without data. It must not move while it is in use, hence the box.
pub(super) struct Lock(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a pthread mutex is made to be used by many threads.
unsafe impl Send for Lock {}
// SAFETY: as above.
unsafe impl Sync for Lock {}

/// A lock guard.
pub(super) struct Held<'a>(&'a Lock);

impl Lock {
    pub fn new() -> Self {
        Self(Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    /// Waits until the mutex is free. A thread must not lock it twice.
    #[inline]
    pub fn hold(&self) -> Held<'_> {
        // SAFETY: the mutex is initialised and stays where it is. Locking a normal mutex fails only
        // when its own thread holds it: it then waits for itself, and no memory is touched.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        Held(self)
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this thread holds it, since a `Held` exists; raw handles do not leave the thread.
        unsafe { libc::pthread_mutex_unlock(self.0.0.get()) };
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: nobody holds it, since a `Held` borrows it.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}
