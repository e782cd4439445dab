//! Standard output: lines for programs, text for people. A reader that went away is no error to
//! shout about, but it ends the job.

use crate::signals;
use dyno_core::error::{Error, Kind};
use dyno_core::event::Event;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

/// Prints and gives the exit code.
pub fn text(text: &str) -> i32 {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => crate::DONE,
        Err(_) => crate::INTERRUPTED,
    }
}

/// Writes an event as a line; when nobody reads any more, sets `stop`.
pub fn event(event: &Event, stop: &AtomicBool) {
    // Numbers that JSON cannot hold (NaN) do not occur: every event's numbers are counts or ratios
    // of positive lengths. Should one, the line is left out rather than broken.
    let Ok(mut line) = serde_json::to_vec(event) else { return };
    line.push(b'\n');
    let mut out = io::stdout().lock();
    if out.write_all(&line).and_then(|()| out.flush()).is_err() {
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
