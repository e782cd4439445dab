//! Standard output: JSON lines for programs, text for users. A closed standard output ends the job
//! without an error message.

use crate::signals;
use dyno_core::error::{Error, Kind};
use dyno_core::event::Event;
use dyno_core::shown::shown;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Prints text and returns the exit code. Terminal control characters, which logs and names may
/// contain, are escaped in a way that does not change the meaning of JSON.
pub fn text(text: &str) -> i32 {
    let mut out = io::stdout().lock();
    match out.write_all(shown(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => crate::DONE,
        Err(_) => crate::INTERRUPTED,
    }
}

/// Receives the events after [`keep_for_events`].
static KEPT: OnceLock<File> = OnceLock::new();

/// Reserves standard output for events: from now on, all other output, such as that of scripts, goes to
/// standard error.
///
/// # Errors
/// [`Kind::System`] if no file descriptor is left.
pub fn keep_for_events() -> Result<(), Error> {
    let refused = |error: io::Error| {
        Error::new(Kind::System, format!("standard output cannot be kept for events: {error}"))
            .hint("raise `ulimit -n`")
    };
    let kept = io::stdout().as_fd().try_clone_to_owned().map_err(refused)?;
    // An error means that the output is reserved already.
    let _ = KEPT.set(File::from(kept));
    // SAFETY: both descriptors are open for as long as the process lives.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(refused(io::Error::last_os_error()));
    }
    Ok(())
}

/// Writes an event as a line of JSON; sets `stop` if standard output is closed.
pub fn event(event: &Event, stop: &AtomicBool) {
    // Serialization does not fail: numbers that JSON cannot represent (NaN) do not occur, since all
    // are counts or ratios of positive lengths. If it failed, the line would be missing, not invalid.
    let Ok(mut line) = serde_json::to_vec(event) else { return };
    line.push(b'\n');
    let written = match KEPT.get() {
        Some(mut kept) => kept.write_all(&line),
        None => {
            let mut out = io::stdout().lock();
            let line = String::from_utf8_lossy(&line);
            out.write_all(shown(&line).as_bytes()).and_then(|()| out.flush())
        }
    };
    if written.is_err() {
        signals::nobody_reads(stop);
    }
}

/// The event of an error, the last line of a job.
pub fn failed(error: &Error) -> Event {
    let kind = match error.kind {
        Kind::Plan => "plan",
        Kind::Connection => "connection",
        Kind::Authentication => "authentication",
        Kind::Protocol => "protocol",
        Kind::Server => "server",
        Kind::System => "system",
    };
    Event::Failed { kind: kind.to_owned(), what: error.what.clone(), hint: error.hint.clone() }
}
