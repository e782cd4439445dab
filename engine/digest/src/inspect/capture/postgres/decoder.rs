//! Decodes PostgreSQL's protocol: turns messages of client and server into events.

use super::message::{is_answer, is_request, sqlstate};
use super::prepared::{Portal, Prepared, Statement};
use super::request::{Ask, Request, UNKNOWN, Who};
use super::values;
use crate::inspect::capture::decoder::Decoder;
use crate::inspect::capture::events::Out;
use crate::inspect::capture::framer::{LONGEST, Message, Style};
use crate::inspect::capture::position::{Position, Side};
use dyno_protocol::bytes::Bytes;
use dyno_protocol::postgres::frames::{completed, reported};
use dyno_protocol::postgres::messages::Startup;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of unanswered requests.
const QUEUE: usize = 65_536;

/// Bytes buffered of a server's message, of the types that are read.
const KEPT: usize = 4096;

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client sends its startup message.
    Startup,
    /// The server answers an encryption request.
    Encryption,
    /// The server authenticates the client.
    Login,
    Ready,
    Unreadable(&'static str),
    /// The rest of the connection is ignored.
    Passed,
}

/// Decoder of one connection.
pub struct Postgres {
    state: State,
    product: Option<String>,
    who: Who,
    prepared: Prepared,
    queue: VecDeque<Request>,
    queue_bytes: usize,
    /// Messages that prepare an execution: position of the first, and their size in bytes.
    lead: Option<(Position, u64)>,
    /// Size of the answers to these, bytes.
    lead_sent: u64,
    /// After a gap in the server's bytes: ignore the server until the client sends the next request.
    is_waiting_for_question: bool,
}

const TORN: &str = "a statement that the capture does not have whole";

impl Postgres {
    /// Creates a decoder at the start (`is_begin`) or in the middle of a connection.
    pub fn new(session: u64, is_begin: bool) -> Self {
        Self {
            state: if is_begin { State::Startup } else { State::Ready },
            product: None,
            who: Who { session, ..Who::default() },
            prepared: Prepared::default(),
            queue: VecDeque::new(),
            queue_bytes: 0,
            lead: None,
            lead_sent: 0,
            is_waiting_for_question: !is_begin,
        }
    }

    fn startup(&mut self, message: &Message<'_>) -> bool {
        match Startup::read(message.body) {
            Some(Startup::WantsEncryption) => self.state = State::Encryption,
            Some(Startup::Cancel) => self.state = State::Passed,
            Some(Startup::Login { user, database }) => {
                (self.who.user, self.who.database) = (user, database);
                self.state = State::Login;
                self.queue.push_back(Request::new(Ask::Connect, message));
            }
            None => return false,
        }
        true
    }

    fn query(&mut self, message: &Message<'_>) -> Request {
        let text = message.body.strip_suffix(b"\0").unwrap_or(message.body);
        Request { text: Some(text.into()), ..Request::new(Ask::Query, message) }
    }

    fn parse(&mut self, mut body: Bytes<'_>, message: &Message<'_>) -> Option<Request> {
        let mut request = Request::new(Ask::Parse, message);
        let mut read = || {
            let (name, text) = (body.text()?, Arc::<[u8]>::from(body.text()?));
            let count = body.big(2)?;
            let types = (0..count).map(|_| body.big(4).map(|kind| kind as u32));
            Some((name.to_vec(), Statement { text, types: types.collect::<Option<_>>()? }))
        };
        if let Some((name, statement)) = read() {
            request.text = Some(statement.text.clone());
            self.prepared.keep_statement(&name, statement);
            request.name = name;
        } else if message.is_whole() {
            return None;
        }
        if request.name.is_empty() {
            self.lead(message);
        }
        Some(request)
    }

    fn bind(&mut self, mut body: Bytes<'_>, message: &Message<'_>) -> Option<Request> {
        let mut request = Request::new(Ask::Bind, message);
        self.lead(message);
        if let (Some(portal), Some(name)) = (body.text(), body.text()) {
            let statement = self.prepared.statement(name);
            let types = statement.map_or(&[][..], |statement| &statement.types);
            let parameters = values::parameters(body, types);
            if parameters.is_none() && message.is_whole() {
                return None;
            }
            request.parameters = parameters.unwrap_or_default().into();
            request.text = statement.map(|statement| statement.text.clone());
            let parameters = request.parameters.clone();
            self.prepared.keep_portal(portal, Portal { text: request.text.clone(), parameters });
        } else if message.is_whole() {
            return None;
        }
        Some(request)
    }

    fn execute(&mut self, mut body: Bytes<'_>, message: &Message<'_>) -> Option<Request> {
        let name = body.text()?;
        let portal = self.prepared.portal(name).cloned().unwrap_or_default();
        let mut request = Request::new(Ask::Execute, message);
        if let Some((begin, bytes)) = self.lead.take() {
            request.begin = begin;
            request.received += bytes;
        }
        request.unknown = portal.text.is_none().then_some(UNKNOWN);
        (request.text, request.parameters) = (portal.text, portal.parameters);
        Some(request)
    }

    fn describe(&mut self, mut body: Bytes<'_>, message: &Message<'_>) -> Option<Request> {
        let mut request = Request::new(Ask::Describe, message);
        let (kind, name) = (body.byte()?, body.text()?);
        request.text = if kind == b'S' {
            request.name = name.to_vec();
            self.prepared.statement(name).map(|statement| statement.text.clone())
        } else {
            self.prepared.portal(name).and_then(|portal| portal.text.clone())
        };
        if self.lead.is_some() {
            self.lead(message);
        }
        Some(request)
    }

    fn close(&mut self, mut body: Bytes<'_>, message: &Message<'_>) -> Option<Request> {
        let (kind, name) = (body.byte()?, body.text()?);
        match kind {
            b'S' => self.prepared.drop_statement(name),
            _ => self.prepared.drop_portal(name),
        }
        Some(Request::new(Ask::Close, message))
    }

    /// Counts a message towards the next execution.
    fn lead(&mut self, message: &Message<'_>) {
        let (begin, bytes) = self.lead.unwrap_or((message.begin, 0));
        self.lead = Some((begin, bytes + message.size as u64));
    }

    /// Reads a ParameterStatus message.
    fn status(&mut self, body: &[u8]) {
        if let Ok((b"server_version", version)) = reported(body) {
            let version = String::from_utf8_lossy(version);
            let number = version.split_whitespace().next().unwrap_or_default();
            self.product = Some(format!("PostgreSQL {number}"));
        }
    }

    fn is_front(&self, ask: Ask) -> bool {
        self.queue.front().is_some_and(|front| front.ask == ask)
    }

    fn with_front(&mut self, change: impl FnOnce(&mut Request)) -> bool {
        self.queue.front_mut().map(change).is_some()
    }

    fn pop(&mut self) -> Option<Request> {
        let request = self.queue.pop_front()?;
        self.queue_bytes -= request.size();
        Some(request)
    }

    /// Completes a step before an execution; returns whether the first waiting request is this step.
    fn pass(&mut self, ask: Ask) -> bool {
        if !self.is_front(ask) {
            return false;
        }
        self.lead_sent += self.pop().map_or(0, |request| request.sent);
        true
    }

    fn parsed(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        let is_named = self.queue.front().is_some_and(|front| !front.name.is_empty());
        if !is_named || !self.is_front(Ask::Parse) {
            return self.pass(Ask::Parse);
        }
        if let Some(request) = self.pop() {
            request.tell(&self.who, Some(message.end), out);
        }
        true
    }

    fn types(&mut self, body: &[u8]) {
        let mut bytes = Bytes(body);
        if let Some(front) = self.queue.front().filter(|front| front.ask == Ask::Describe)
            && let Some(count) = bytes.big(2)
            && let Some(types) =
                (0..count).map(|_| bytes.big(4).map(|kind| kind as u32)).collect::<Option<_>>()
        {
            self.prepared.types(&front.name, types);
        }
    }

    /// Processes CommandComplete.
    fn completed(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        let (command, count) = completed(message.body.strip_suffix(b"\0").unwrap_or(message.body));
        let Some(front) = self.queue.front_mut() else { return false };
        match command {
            b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" | b"COPY" => {
                let count = count.unwrap_or(0);
                if std::mem::take(&mut front.is_copied_out) {
                    front.rows += count;
                } else {
                    front.affected = Some(front.affected.unwrap_or(0).saturating_add(count));
                }
            }
            _ => {}
        }
        front.ask == Ask::Query || self.executed(message, out)
    }

    /// Ends an execution, complete or at its row limit. A simple query may continue.
    fn executed(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        match self.queue.front().map(|front| front.ask) {
            Some(Ask::Query) => true,
            Some(Ask::Execute) => {
                if let Some(mut request) = self.pop() {
                    request.sent += std::mem::take(&mut self.lead_sent);
                    request.tell(&self.who, Some(message.end), out);
                }
                true
            }
            _ => false,
        }
    }

    /// Processes an error. The server skips later requests up to the next Sync.
    fn failed(&mut self, message: &Message<'_>, out: &mut Out<'_>) {
        let error = sqlstate(message.body).unwrap_or(b"XX000").to_vec();
        // The server closes the connection without a request.
        let Some(front) = self.queue.front_mut() else { return };
        if front.error.is_empty() {
            front.error = error;
        }
        match front.ask {
            Ask::Query | Ask::Call | Ask::Sync => return,
            Ask::Connect => self.state = State::Ready,
            _ => {}
        }
        let failed = self.pop();
        while let Some(front) = self.queue.front().filter(|front| front.ask != Ask::Sync) {
            if front.ask == Ask::Parse {
                let name = front.name.clone();
                self.prepared.drop_statement(&name);
            }
            self.pop();
        }
        self.lead_sent = 0;
        if let Some(request) = failed {
            request.tell(&self.who, Some(message.end), out);
            if request.ask == Ask::Parse {
                self.prepared.drop_statement(&request.name);
            }
        }
    }

    /// Processes ReadyForQuery: ends all requests up to a Sync or a query.
    fn ready(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        self.state = State::Ready;
        let is_end = |request: &Request| {
            matches!(request.ask, Ask::Sync | Ask::Query | Ask::Call | Ask::Connect)
        };
        if !self.queue.iter().any(is_end) {
            return false;
        }
        while let Some(request) = self.pop() {
            let is_last = is_end(&request);
            request.tell(&self.who, is_last.then_some(message.end), out);
            if is_last {
                break;
            }
        }
        self.lead_sent = 0;
        if message.body == b"I" && self.queue.is_empty() {
            self.prepared.end_transaction();
        }
        true
    }
}

impl Decoder for Postgres {
    fn style(&self, side: Side) -> Style {
        match (self.state, side) {
            (State::Startup, Side::Client) => Style::Untyped,
            (State::Encryption, Side::Server) => Style::Byte,
            _ => Style::Typed,
        }
    }

    fn wanted(&self, side: Side, tag: u8) -> usize {
        match (side, tag) {
            // Rows, COPY data, passwords and notices.
            (Side::Client, b'd' | b'p') | (Side::Server, b'D' | b'd' | b'T' | b'N') => 0,
            (Side::Client, _) | (Side::Server, b't') => LONGEST,
            (Side::Server, _) => KEPT,
        }
    }

    fn client(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        match self.state {
            State::Startup => return self.startup(message),
            State::Ready => {}
            // Passwords: no known client sends requests before the end of authentication.
            _ => return true,
        }
        let is_ask = matches!(message.tag, b'Q' | b'P' | b'B' | b'D' | b'E' | b'C' | b'S' | b'F');
        if is_ask && self.is_waiting_for_question {
            self.give_up(out);
            self.is_waiting_for_question = false;
        }
        if is_ask && self.queue.len() == QUEUE {
            out.not_understood(message.begin, "more requests wait for answers than are kept");
            return false;
        }
        let body = Bytes(message.body);
        // The type of an incomplete message still counts.
        let request = match message.tag {
            b'Q' => Some(self.query(message)),
            b'P' => self.parse(body, message),
            b'B' => self.bind(body, message),
            b'E' => self.execute(body, message),
            b'D' => self.describe(body, message),
            b'C' => self.close(body, message),
            b'S' => Some(Request::new(Ask::Sync, message)),
            b'F' => Some(Request::new(Ask::Call, message)),
            // Flush, Terminate, COPY data, passwords.
            b'H' | b'X' | b'd' | b'c' | b'f' | b'p' => return true,
            _ => return false,
        };
        let Some(mut request) = request else { return false };
        if !message.is_whole() && matches!(request.ask, Ask::Query | Ask::Parse | Ask::Bind) {
            request.unknown =
                Some(if message.is_torn { TORN } else { "a message longer than 64 MiB" });
        }
        self.queue_bytes += request.size();
        self.queue.push_back(request);
        true
    }

    fn server(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        match self.state {
            State::Encryption => {
                self.state = match message.tag {
                    b'S' => State::Unreadable("a connection under TLS"),
                    b'G' => State::Unreadable("a connection under GSSAPI encryption"),
                    b'N' => State::Startup,
                    // An error of an old server: the client reconnects.
                    _ => State::Passed,
                };
                return true;
            }
            State::Unreadable(_) | State::Passed => return true,
            State::Startup => return false,
            State::Login | State::Ready => {}
        }
        if let Some(front) = self.queue.front_mut() {
            front.sent += message.size as u64;
        }
        match message.tag {
            b'S' => self.status(message.body),
            b'K' => {
                if let Some(session) = Bytes(message.body).big(4) {
                    self.who.session = session;
                }
            }
            b'N' | b'A' | b'R' | b'v' => {}
            b'Z' => return self.ready(message, out),
            b'E' => self.failed(message, out),
            b'1' => return self.parsed(message, out),
            b'2' => return self.pass(Ask::Bind),
            b'3' => return self.pass(Ask::Close),
            b't' => self.types(message.body),
            b'T' | b'n' => {
                if self.is_front(Ask::Describe) {
                    return self.pass(Ask::Describe);
                }
            }
            b'D' => return self.with_front(|front| front.rows += 1),
            b'H' => return self.with_front(|front| front.is_copied_out = true),
            b'C' => return self.completed(message, out),
            b'I' | b's' => return self.executed(message, out),
            b'G' | b'W' | b'd' | b'c' | b'V' => {}
            _ => return false,
        }
        true
    }

    fn lost(&mut self, side: Side) {
        if matches!(self.state, State::Startup | State::Encryption | State::Login) {
            self.state = State::Ready;
        }
        match side {
            Side::Client => self.lead = None,
            Side::Server => self.is_waiting_for_question = true,
        }
    }

    fn is_border(&self, side: Side, bytes: &[u8]) -> bool {
        match side {
            Side::Client => is_request(bytes),
            Side::Server => {
                !self.is_waiting_for_question && !self.queue.is_empty() && is_answer(bytes)
            }
        }
    }

    fn give_up(&mut self, out: &mut Out<'_>) {
        while let Some(request) = self.pop() {
            request.tell(&self.who, None, out);
        }
        self.lead_sent = 0;
    }

    fn unreadable(&self) -> Option<&'static str> {
        match self.state {
            State::Unreadable(why) => Some(why),
            _ => None,
        }
    }

    fn product(&self) -> Option<String> {
        self.product.clone()
    }

    fn buffered(&self) -> usize {
        let queue = self.queue_bytes + self.queue.len() * size_of::<Request>();
        queue + self.prepared.bytes()
    }
}
