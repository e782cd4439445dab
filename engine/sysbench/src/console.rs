//! What a call prints: messages by level, as far as `--verbosity` admits them, and reports.
//!
//! Everything goes through C's `stdout`, line by line: scripts print there (`print`, `io.write`),
//! and only one buffer keeps their lines and ours in the order in which they were printed.

use dyno_core::shown::shown;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// How much a message matters; the number is the verbosity that admits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The run ends.
    Fatal,
    /// Something went wrong.
    Alert,
    /// Something may be wrong.
    Warning,
    /// Headers and reports.
    Notice,
    /// More than most want to know.
    Info,
    /// For who looks for a mistake.
    Debug,
}

/// `--verbosity`'s default.
const DEFAULT: u8 = Level::Notice as u8;

static VERBOSITY: AtomicU8 = AtomicU8::new(DEFAULT);

impl Level {
    fn prefix(self) -> &'static str {
        match self {
            Self::Fatal => "FATAL: ",
            Self::Alert => "ALERT: ",
            Self::Warning => "WARNING: ",
            Self::Notice | Self::Info => "",
            Self::Debug => "DEBUG: ",
        }
    }
}

/// From now on messages up to this level are printed.
pub fn set_verbosity(level: u8) {
    VERBOSITY.store(level, Relaxed);
}

/// Whether messages of this level are printed.
pub fn admits(level: Level) -> bool {
    level as u8 <= VERBOSITY.load(Relaxed)
}

/// The last message of trouble, and how often it came again since it was printed.
static LAST: Mutex<(String, u64)> = Mutex::new((String::new(), 0));

/// Prints a message, as a line with its level's prefix, if the verbosity admits it. One of trouble
/// that comes again is counted instead, until there is another.
pub fn say(level: Level, text: &str) {
    if !admits(level) {
        return;
    }
    let line = format!("{}{text}\n", level.prefix());
    if level > Level::Warning {
        return print(&line);
    }
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.0 == line {
        last.1 += 1;
        return;
    }
    if last.1 > 0 {
        print(&format!("(last message repeated {} times)\n", last.1));
    }
    print(&line);
    *last = (line, 0);
}

/// Prints text, whatever the verbosity. What cannot be printed cannot be told either. It may hold
/// what a server said, which is shown to a terminal, never sent.
pub fn print(text: &str) {
    let _ = io::Write::write_all(&mut Stdout, shown(text).as_bytes());
}

unsafe extern "C" {
    #[link_name = "stdout"]
    static mut C_STDOUT: *mut libc::FILE;
}

/// C's `stdout`, so that what Rust prints and what scripts print stays in order.
#[derive(Debug, Clone, Copy)]
pub struct Stdout;

impl Stdout {
    /// Each line goes out when it ends, also into a pipe or a file: wrappers read while we run.
    pub fn by_lines() {
        // SAFETY: C's own stream, before anything was written to it; a null buffer lets C choose.
        unsafe { libc::setvbuf(C_STDOUT, std::ptr::null_mut(), libc::_IOLBF, 0) };
    }
}

impl io::Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the stream lives as long as the process and locks itself; the bytes live through
        // the call.
        let written = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), C_STDOUT) };
        end_without_reader();
        if written == 0 && !bytes.is_empty() {
            return Err(io::Error::last_os_error());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        // SAFETY: as above.
        let code = unsafe { libc::fflush(C_STDOUT) };
        let error = io::Error::last_os_error();
        end_without_reader();
        if code == 0 { Ok(()) } else { Err(error) }
    }
}

/// Ends the process by SIGPIPE, as others end (to a shell 128 + 13), if something could not be printed
/// and the reader of the pipe has gone away (`| head -1`); scripts' own printing counts too. The signal
/// is asked for here alone, as sockets of servers that die raise it as well.
fn end_without_reader() {
    // SAFETY: the stream lives as long as the process; `poll` is given one descriptor of ours; the
    // default action of the signal ends the process.
    unsafe {
        if libc::ferror(C_STDOUT) == 0 {
            return;
        }
        let mut out = libc::pollfd { fd: libc::STDOUT_FILENO, events: libc::POLLOUT, revents: 0 };
        if libc::poll(&raw mut out, 1, 0) == 1 && out.revents & libc::POLLERR != 0 {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::raise(libc::SIGPIPE);
        }
    }
}
