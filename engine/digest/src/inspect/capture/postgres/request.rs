//! Unanswered requests, and their conversion to events.

use crate::event::{Kind, Measure, Numbers};
use crate::inspect::capture::events::{Done, Out};
use crate::inspect::capture::framer::Message;
use crate::inspect::capture::position::Position;
use std::sync::Arc;

/// Why an execution has no event.
pub const UNKNOWN: &str = "an execution of a statement whose text is not known";

/// User, database and session of a connection.
#[derive(Debug, Default)]
pub struct Who {
    pub user: Vec<u8>,
    pub database: Vec<u8>,
    pub session: u64,
}

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    Connect,
    Query,
    Parse,
    Bind,
    Describe,
    Execute,
    Close,
    Sync,
    Call,
}

/// A request and its answer so far.
#[derive(Debug)]
pub struct Request {
    pub ask: Ask,
    /// Text of the statement; `None`: unknown.
    pub text: Option<Arc<[u8]>>,
    pub parameters: Arc<[u8]>,
    /// Name of the statement that is parsed or described.
    pub name: Vec<u8>,
    /// Why the statement is unknown.
    pub unknown: Option<&'static str>,
    pub begin: Position,
    pub received: u64,
    pub sent: u64,
    pub rows: u64,
    pub affected: Option<u64>,
    pub error: Vec<u8>,
    pub is_copied_out: bool,
}

impl Request {
    /// Creates a request from a client's message.
    pub fn new(ask: Ask, message: &Message<'_>) -> Self {
        Self {
            ask,
            text: None,
            parameters: Arc::default(),
            name: vec![],
            unknown: None,
            begin: message.begin,
            received: message.size as u64,
            sent: 0,
            rows: 0,
            affected: None,
            error: vec![],
            is_copied_out: false,
        }
    }

    /// Size of its text, parameters and name, bytes.
    pub fn size(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len()) + self.parameters.len() + self.name.len()
    }

    /// Emits the request's event, if it has one. `end`: position of the answer's end, if the capture
    /// holds it.
    pub fn tell(&self, who: &Who, end: Option<Position>, out: &mut Out<'_>) {
        let has_failed = !self.error.is_empty();
        let (kind, command) = match self.ask {
            Ask::Connect => (Kind::Command, &b"Connect"[..]),
            Ask::Call => (Kind::Command, &b"Function call"[..]),
            Ask::Sync if has_failed => (Kind::Command, &b"Sync"[..]),
            Ask::Query | Ask::Execute => (Kind::Statement, &b""[..]),
            Ask::Parse if !self.name.is_empty() => (Kind::Prepare, &b""[..]),
            // The statement fails in this step, before its execution.
            Ask::Parse | Ask::Bind if has_failed => (Kind::Statement, &b""[..]),
            Ask::Describe if has_failed => (Kind::Command, &b"Describe"[..]),
            Ask::Close if has_failed => (Kind::Command, &b"Close"[..]),
            _ => return,
        };
        let text = self.text.as_deref().unwrap_or_default();
        if kind != Kind::Command
            && let Some(why) = self.unknown.or(self.text.is_none().then_some(UNKNOWN))
        {
            out.not_understood(self.begin, why);
            return;
        }
        let mut numbers = Numbers::default();
        if end.is_some() {
            if kind == Kind::Statement && !has_failed {
                numbers.set(Measure::RowsSent, self.rows);
                numbers.set(Measure::RowsAffected, self.affected.unwrap_or(0));
            }
            numbers.set(Measure::BytesSent, self.sent);
        }
        numbers.set(Measure::BytesReceived, self.received);
        out.tell(&Done {
            kind,
            text: if kind == Kind::Command { command } else { text },
            parameters: &self.parameters,
            error: &self.error,
            user: &who.user,
            database: &who.database,
            session: who.session,
            begin: self.begin,
            end,
            bytes: self.sent + self.received,
            numbers,
        });
    }
}
