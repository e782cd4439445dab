//! Copies from and to mapped files that survive the loss of the file's pages.
//!
//! The kernel raises SIGBUS on access to such a page (the file was truncated, or the drive or a
//! full file system fails), which ends the process without a message. The handler maps a page of
//! zeros in its place, so that the copy ends and returns an error. Other faults keep their default
//! treatment.
//!
//! Sources: mmap(2), "Errors"; sigaction(2), `si_addr`; signal-safety(7).

use std::cell::Cell;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// The current copy of this thread.
#[derive(Clone, Copy)]
struct Copy {
    /// First address in the mapping.
    begin: usize,
    /// The address after the last.
    end: usize,
    has_failed: bool,
}

const NONE: Copy = Copy { begin: 0, end: 0, has_failed: false };

thread_local! {
    // Constant and without a destructor, so that a signal handler may read it.
    static COPY: Cell<Copy> = const { Cell::new(NONE) };
}

/// The previous action for SIGBUS.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler for the whole process; further calls do nothing.
pub fn watch() {
    BEFORE.get_or_init(|| {
        // SAFETY: both structures are plain data; the handler keeps to what signal-safety(7) allows.
        unsafe {
            let mut own: libc::sigaction = std::mem::zeroed();
            own.sa_sigaction = handle as *const () as usize;
            own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGBUS, &raw const own, &raw mut before);
            before
        }
    });
}

/// Runs `copy`, which accesses `bytes` bytes at `mapped` in a mapping of a file.
///
/// # Errors
/// The file no longer backs these bytes.
pub fn guarded(mapped: *mut libc::c_void, bytes: usize, copy: impl FnOnce()) -> io::Result<()> {
    let begin = mapped as usize;
    COPY.set(Copy { begin, end: begin + bytes, has_failed: false });
    // The compiler does not know that the handler may run during a copy.
    compiler_fence(Ordering::SeqCst);
    copy();
    compiler_fence(Ordering::SeqCst);
    if !COPY.replace(NONE).has_failed {
        return Ok(());
    }
    Err(io::Error::other("it has become shorter since it was mapped, or its drive has failed"))
}

extern "C" fn handle(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure, whose address is set for SIGBUS. The page
    // belongs to a mapping of ours, which this very thread is copying from or to; sysconf, mmap and
    // sigaction are system calls or read constants; errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let address = (*info).si_addr() as usize;
        let copy = COPY.get();
        let page_bytes = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let page = address & !(page_bytes - 1);
        let is_ours = (copy.begin..copy.end).contains(&address) && !is_refused(page, page_bytes);
        if is_ours {
            COPY.set(Copy { has_failed: true, ..copy });
        } else if let Some(before) = BEFORE.get() {
            // The instruction runs again and faults under the previous action.
            libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut());
        }
        *libc::__errno_location() = errno;
    }
}

/// Maps a page of zeros at `page`; returns whether the kernel refused.
unsafe fn is_refused(page: usize, bytes: usize) -> bool {
    // SAFETY: see `handle`.
    let made = unsafe {
        libc::mmap(
            page as *mut libc::c_void,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    made == libc::MAP_FAILED
}
