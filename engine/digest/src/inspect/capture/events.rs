//! Builds events from answered requests.

use super::position::Position;
use crate::event::{Event, Kind, Numbers};
use crate::sink::Sink;

/// Receiver of a connection's events.
pub struct Out<'a> {
    /// Receives the events.
    pub sink: &'a mut dyn Sink,
    /// Address of the client.
    pub host: &'a [u8],
}

/// A statement or command that was answered, or whose answer the capture lacks.
pub struct Done<'a> {
    pub kind: Kind,
    pub text: &'a [u8],
    pub parameters: &'a [u8],
    pub error: &'a [u8],
    pub user: &'a [u8],
    pub database: &'a [u8],
    pub session: u64,
    /// Position of its first byte.
    pub begin: Position,
    /// Position of the answer's last byte; `None` if the capture lacks it, or there is no answer.
    pub end: Option<Position>,
    /// Size of request and answer, bytes.
    pub bytes: u64,
    pub numbers: Numbers,
}

impl Out<'_> {
    /// Sends an event to the sink.
    pub fn tell(&mut self, done: &Done<'_>) {
        let last = done.end.unwrap_or(done.begin);
        let duration_ns = match (done.begin.time_ns, done.end.and_then(|end| end.time_ns)) {
            // The clock may go backwards: count that as 0.
            (Some(begin), Some(end)) => Some(u64::try_from(end - begin).unwrap_or(0)),
            _ => None,
        };
        self.sink.event(&Event {
            offset: done.begin.offset,
            // Other statements' packets mostly fill the space between two packets of a statement.
            bytes: done.bytes.min(last.end.saturating_sub(done.begin.offset)),
            kind: done.kind,
            end_ns: last.time_ns,
            duration_ns,
            text: if done.kind == Kind::Command { done.text } else { terminated(done.text) },
            user: done.user,
            host: self.host,
            database: done.database,
            session: Some(done.session),
            error: done.error,
            parameters: done.parameters,
            plan: b"",
            numbers: done.numbers.clone(),
            weight: 0,
        });
    }

    /// Reports a packet, or its contents, as not understood.
    pub fn not_understood(&mut self, at: Position, why: &'static str) {
        self.sink.not_understood(at.offset, at.end - at.offset, why);
    }
}

/// A statement without surrounding white space and final semicolons.
pub fn terminated(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii();
    while let Some(rest) = text.strip_suffix(b";") {
        text = rest.trim_ascii_end();
    }
    text
}
