//! The running session of this thread, for primitives: one load from thread-local memory, without a
//! look-up.

use crate::lua::sessions::slot::Slot;
use crate::lua::setup::Setup;
use crate::session::Session;
use std::cell::Cell;
use std::ptr::NonNull;

/// The data that a resume works on.
pub struct Current {
    session: NonNull<Session<'static>>,
    slot: NonNull<Slot>,
    setup: NonNull<Setup>,
}

thread_local! {
    static CURRENT: Cell<*mut Current> = const { Cell::new(std::ptr::null_mut()) };
}

/// The running session, borrowed by one primitive. Meanwhile other primitives get [`None`]: for
/// example a finalizer that Lua's collector runs inside a primitive does not get a second borrow.
pub struct Running {
    current: NonNull<Current>,
}

impl Running {
    /// Takes the running session; none outside of [`scope`], and within another primitive.
    #[inline]
    pub fn take() -> Option<Self> {
        let current = CURRENT.replace(std::ptr::null_mut());
        NonNull::new(current).map(|current| Self { current })
    }

    /// Returns the three parts.
    #[inline]
    pub fn parts(&mut self) -> (&mut Session<'static>, &mut Slot, &Setup) {
        // SAFETY: `scope` made the pointers from references that live until it ends, and CURRENT
        // holds them no longer; `take` hands them out to one at a time. The session's lifetime is
        // stretched to 'static, but reaches nobody beyond the borrow of `self`: primitives keep
        // nothing of it.
        unsafe {
            let current = self.current.as_mut();
            (current.session.as_mut(), current.slot.as_mut(), current.setup.as_ref())
        }
    }

    /// The state that the session shares with its load thread.
    #[inline]
    pub fn session(&mut self) -> &mut Session<'static> {
        self.parts().0
    }

    /// The session's Lua state.
    #[inline]
    pub fn slot(&mut self) -> &mut Slot {
        self.parts().1
    }

    /// The data that all sessions share.
    #[inline]
    pub fn setup(&mut self) -> &Setup {
        self.parts().2
    }
}

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.current.as_ptr());
    }
}

/// Runs `body` with these as the running session.
#[inline]
pub fn scope<R>(
    session: &mut Session<'_>,
    slot: &mut Slot,
    setup: &Setup,
    body: impl FnOnce() -> R,
) -> R {
    let mut current = Current {
        session: NonNull::from(session).cast(),
        slot: NonNull::from(slot),
        setup: NonNull::from(setup),
    };
    let outer = CURRENT.replace(&raw mut current);
    let result = body();
    CURRENT.set(outer);
    result
}
