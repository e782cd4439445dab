//! Output of a call: messages by level, filtered by `--verbosity`, and reports.
//!
//! All output goes through C's `stdout`, line by line. Scripts print there (`print`, `io.write`), and
//! only a shared buffer preserves the order of their lines and the engine's.

use dyno_core::shown::shown;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The level of a message; the number is the lowest verbosity that prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// A fatal error: the run ends.
    Fatal,
    /// An error.
    Alert,
    /// A possible error.
    Warning,
    /// Headers and reports.
    Notice,
    /// Details.
    Info,
    /// Details for debugging.
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

/// Sets the verbosity: messages up to this level are printed.
pub fn set_verbosity(level: u8) {
    VERBOSITY.store(level, Relaxed);
}

/// Whether messages of this level are printed.
pub fn admits(level: Level) -> bool {
    level as u8 <= VERBOSITY.load(Relaxed)
}

/// The last error or warning, and the number of its repetitions since it was printed.
static LAST: Mutex<(String, u64)> = Mutex::new((String::new(), 0));

/// Prints a message as a line with its level's prefix, if the verbosity admits it. A repeated error
/// or warning is counted instead, until a different one comes.
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

/// Prints text, whatever the verbosity; output errors are ignored. The text may contain messages of
/// a server; they are made safe for a terminal.
pub fn print(text: &str) {
    let _ = io::Write::write_all(&mut Stdout, shown(text).as_bytes());
}

unsafe extern "C" {
    #[link_name = "stdout"]
    static mut C_STDOUT: *mut libc::FILE;
}

/// C's `stdout`, so that the output of Rust and of scripts stays in order.
#[derive(Debug, Clone, Copy)]
pub struct Stdout;

impl Stdout {
    /// Line buffering, also into a pipe or a file: wrappers read during the run.
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

/// Ends the process by SIGPIPE, as other programs end (in a shell, status 128 + 13), if output
/// failed and the reader of the pipe has gone away (`| head -1`), also for output of scripts. The
/// signal is raised only here, because sockets of dying servers raise it as well.
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
