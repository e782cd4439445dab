//! The C library's mutex, which these tests are about: Rust's own spins before it sleeps.

use std::cell::UnsafeCell;

/// A mutex that guards nothing but itself. It must not move while it is in use, hence the box.
pub(super) struct Lock(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: a pthread mutex is made to be used by many threads.
unsafe impl Send for Lock {}
// SAFETY: as above.
unsafe impl Sync for Lock {}

/// A lock that is held.
pub(super) struct Held<'a>(&'a Lock);

impl Lock {
    pub fn new() -> Self {
        Self(Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)))
    }

    /// Waits until nobody holds it. A thread must not take it twice.
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
