//! Copies from and to mapped files that go on where the file is gone from under them.
//!
//! The kernel answers a touch of such a page (the file was truncated, the drive or a full file system
//! refuses it) with SIGBUS, which ends a process without a word. Here a handler puts a page of zeros in
//! its place, so that the copy ends, and the copy says that it failed. Faults elsewhere are not touched.
//!
//! Sources: mmap(2), "Errors"; sigaction(2), `si_addr`; signal-safety(7).

use std::cell::Cell;
use std::io;
use std::sync::OnceLock;

/// The copy that this thread is about.
#[derive(Clone, Copy)]
struct Copy {
    /// First address in the mapping.
    begin: usize,
    /// The one after the last.
    end: usize,
    has_failed: bool,
}

const NONE: Copy = Copy { begin: 0, end: 0, has_failed: false };

thread_local! {
    // Constant and without a destructor: a signal handler may look at it.
    static COPY: Cell<Copy> = const { Cell::new(NONE) };
}

/// What was done about SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, for the whole process; once is enough.
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

/// Copies, where `bytes` of the memory at `mapped` belong to a mapping of a file.
///
/// # Errors
/// The file does not hold them any more.
pub fn guarded(mapped: *mut libc::c_void, bytes: usize, copy: impl FnOnce()) -> io::Result<()> {
    let begin = mapped as usize;
    COPY.set(Copy { begin, end: begin + bytes, has_failed: false });
    copy();
    if !COPY.replace(NONE).has_failed {
        return Ok(());
    }
    Err(io::Error::other("it has become shorter since it was mapped, or its drive has failed"))
}

extern "C" fn handle(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid structure, whose address is set for SIGBUS. The page belongs to a
    // mapping of ours, in which a copy of this very thread is under way; sysconf, mmap and sigaction
    // are system calls or look at constants; errno is put back.
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
            // The instruction runs again, and faults as if we were not here.
            libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut());
        }
        *libc::__errno_location() = errno;
    }
}

/// Puts a page of zeros into the mapping; whether the kernel refuses.
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
