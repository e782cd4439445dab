//! Signals: SIGINT and SIGTERM ask for a clean stop, SIGUSR1 says that enough has been measured,
//! SIGHUP is ignored (a run survives a lost terminal), and the death of the parent is ours at once (prctl(2), PR_SET_PDEATHSIG): nobody is
//! left to use what we measure, and whoever resumes the run must not meet us in its files.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Set when the job must end; also by whoever finds that nobody reads the events.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// The process that started this one.
static PARENT: AtomicI32 = AtomicI32::new(0);

/// Set while a job has nothing worth keeping when cut short.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_signal: libc::c_int) {
    // An atomic store is all that is allowed and all that is needed here.
    STOP.store(true, Ordering::Relaxed);
}

/// Installs the handlers.
pub fn install() {
    // SAFETY: getppid has no preconditions.
    PARENT.store(unsafe { libc::getppid() }, Ordering::Relaxed);
    end_with_parent();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal, on_signal as *const () as libc::sighandler_t);
    }
    handle(libc::SIGHUP, libc::SIG_IGN);
    block(&only(libc::SIGUSR1));
    // Beyond a limit on file sizes (setrlimit(2)) a write then fails as on a full disk.
    handle(libc::SIGXFSZ, libc::SIG_IGN);
}

/// Asks for our death with the parent's. Asked for again where the account has changed (prctl(2)).
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

/// Whether SIGUSR1 has come since this was last asked. It is blocked and taken from here, not handled:
/// a handler would break off the calls of load threads, at whose cost the trial is not to end.
pub fn enough() -> bool {
    let (set, at_once) = (only(libc::SIGUSR1), libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: both live through the call; what is known of the signal is not asked for.
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

/// Blocks signals in this thread and in those that it will make.
fn block(set: &libc::sigset_t) {
    // SAFETY: the set lives through the call; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, std::ptr::null_mut()) };
}

/// Gives SIGINT and SIGTERM their usual effect: a load has nothing worth keeping when cut short.
pub fn end_at_once() {
    AT_ONCE.store(true, Ordering::Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal, libc::SIG_DFL);
    }
    if STOP.load(Ordering::Relaxed) {
        std::process::exit(crate::INTERRUPTED);
    }
}

/// The reader of the events has gone: ends the job, cleanly where that keeps something.
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
