//! Signals. SIGINT and SIGTERM request a clean stop; SIGUSR1 ends the measured phase; SIGHUP is ignored,
//! so that a run survives a lost terminal. SIGKILL follows the death of the parent at once (prctl(2),
//! PR_SET_PDEATHSIG), since a resumed run must not compete with this process for its files.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Set when the job must end: by a signal, or when standard output is closed.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// Process id of the parent at start.
static PARENT: AtomicI32 = AtomicI32::new(0);

/// Set while an interrupted job would leave no useful results.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_signal: libc::c_int) {
    // An atomic store is async-signal-safe.
    STOP.store(true, Ordering::Relaxed);
}

/// Installs the signal handlers and the death signal.
pub fn install() {
    // SAFETY: getppid has no preconditions.
    PARENT.store(unsafe { libc::getppid() }, Ordering::Relaxed);
    end_with_parent();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal, on_signal as *const () as libc::sighandler_t);
    }
    handle(libc::SIGHUP, libc::SIG_IGN);
    block(&only(libc::SIGUSR1));
    // A write beyond RLIMIT_FSIZE (setrlimit(2)) then fails with an error, as on a full disk.
    handle(libc::SIGXFSZ, libc::SIG_IGN);
}

/// Requests SIGKILL on the parent's death. Must be repeated after a change of user, which clears the
/// setting (prctl(2)).
pub fn end_with_parent() {
    // SAFETY: PR_SET_PDEATHSIG takes a signal number.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as usize, 0_usize, 0_usize, 0_usize)
    };
    // SAFETY: getppid has no preconditions.
    if unsafe { libc::getppid() } != PARENT.load(Ordering::Relaxed) {
        // The parent died before the request was in place.
        std::process::exit(crate::INTERRUPTED);
    }
}

/// Whether SIGUSR1 has arrived since the last call. The signal is blocked and fetched here, since a
/// handler would interrupt system calls of load threads.
pub fn enough() -> bool {
    let (set, at_once) = (only(libc::SIGUSR1), libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both live through the call; no siginfo is requested.
    unsafe {
        libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const at_once)
            == libc::SIGUSR1
    }
}

/// The set of one signal.
fn only(signal: libc::c_int) -> libc::sigset_t {
    // SAFETY: the set is plain data, made valid by sigemptyset before it is used.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        set
    }
}

/// Blocks signals in this thread and in threads that it creates later.
fn block(set: &libc::sigset_t) {
    // SAFETY: the set lives through the call; the old one is not requested.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, std::ptr::null_mut()) };
}

/// Restores the default action of SIGINT and SIGTERM, since an interrupted load leaves no useful results.
pub fn end_at_once() {
    AT_ONCE.store(true, Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal, libc::SIG_DFL);
    }
    if STOP.load(Ordering::Relaxed) {
        std::process::exit(crate::INTERRUPTED);
    }
}

/// Ends the job after standard output was closed: cleanly, or at once if it has no useful results.
pub fn nobody_reads(stop: &AtomicBool) {
    stop.store(true, Ordering::Relaxed);
    if AT_ONCE.load(Ordering::Relaxed) {
        std::process::exit(crate::INTERRUPTED);
    }
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: an all-zero sigaction is valid; the handler only stores to an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}
