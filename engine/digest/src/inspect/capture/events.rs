//! Makes events of what a server has answered.

use super::position::Position;
use crate::event::{Event, Kind, Numbers};
use crate::sink::Sink;

/// Where a connection's events go.
pub struct Out<'a> {
    /// Takes them.
    pub sink: &'a mut dyn Sink,
    /// Address of the client.
    pub host: &'a [u8],
}

/// A statement or command that has been answered, or given up.
pub struct Done<'a> {
    pub kind: Kind,
    pub text: &'a [u8],
    pub parameters: &'a [u8],
    pub error: &'a [u8],
    pub user: &'a [u8],
    pub database: &'a [u8],
    pub session: u64,
    /// When its first byte was captured.
    pub begin: Position,
    /// When the last byte of the answer was; none: that was not seen, or there is none.
    pub end: Option<Position>,
    /// Bytes of request and answer.
    pub bytes: u64,
    pub numbers: Numbers,
}

impl Out<'_> {
    /// Hands on an event.
    pub fn tell(&mut self, done: &Done<'_>) {
        let last = done.end.unwrap_or(done.begin);
        let duration_ns = match (done.begin.time_ns, done.end.and_then(|end| end.time_ns)) {
            // A clock that is put back makes no time.
            (Some(begin), Some(end)) => Some(u64::try_from(end - begin).unwrap_or(0)),
            _ => None,
        };
        self.sink.event(&Event {
            offset: done.begin.offset,
            // What lies between two packets of a statement is mostly another one's.
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

    /// Tells of a packet that is not understood, or what is in it.
    pub fn not_understood(&mut self, at: Position, why: &'static str) {
        self.sink.not_understood(at.offset, at.end - at.offset, why);
    }
}

/// A statement without what ends it.
pub fn terminated(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii();
    while let Some(rest) = text.strip_suffix(b";") {
        text = rest.trim_ascii_end();
    }
    text
}
