//! Standard output: lines for programs, text for people. A reader that went away is no error to
//! shout about, but it ends the job.

use crate::signals;
use dyno_core::error::{Error, Kind};
use dyno_core::event::Event;
use dyno_core::shown::shown;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Prints and gives the exit code. Logs and names may hold what commands a terminal: it is shown, and
/// JSON stays what it says.
pub fn text(text: &str) -> i32 {
    let mut out = io::stdout().lock();
    match out.write_all(shown(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => crate::DONE,
        Err(_) => crate::INTERRUPTED,
    }
}

/// Where events go once scripts may print.
static KEPT: OnceLock<File> = OnceLock::new();

/// From now on what anybody else prints, as scripts do, goes to standard error: standard output is
/// for events alone.
///
/// # Errors
/// [`Kind::System`] when the system has no descriptor left.
pub fn keep_for_events() -> Result<(), Error> {
    let refused = |error: io::Error| {
        Error::new(Kind::System, format!("standard output cannot be kept for events: {error}"))
            .hint("raise `ulimit -n`")
    };
    let kept = io::stdout().as_fd().try_clone_to_owned().map_err(refused)?;
    // Already kept: nothing to do.
    let _ = KEPT.set(File::from(kept));
    // SAFETY: both descriptors are open for as long as the process lives.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(refused(io::Error::last_os_error()));
    }
    Ok(())
}

/// Writes an event as a line; when nobody reads any more, sets `stop`.
pub fn event(event: &Event, stop: &AtomicBool) {
    // Numbers that JSON cannot hold (NaN) do not occur: every event's numbers are counts or ratios
    // of positive lengths. Should one, the line is left out rather than broken.
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

/// An error as the last line of a job.
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
