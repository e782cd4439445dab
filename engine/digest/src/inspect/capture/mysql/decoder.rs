//! Decodes the MySQL protocol: turns messages of client and server into events.

use super::answer::{Answer, Step};
use super::command::{Command, Reply, attributed, greeting, is_request};
use super::prepared::Prepared;
use crate::event::{Kind, Measure, Numbers};
use crate::inspect::capture::decoder::Decoder;
use crate::inspect::capture::events::{Done, Out, terminated};
use crate::inspect::capture::framer::{LONGEST, Message, Style};
use crate::inspect::capture::position::{Position, Side};
use dyno_protocol::mysql::flags::{capability, command};
use dyno_protocol::mysql::handshake::Greeting;
use dyno_protocol::mysql::login::{self, Login};
use dyno_protocol::mysql::packet::{HEADER_BYTES, PAYLOAD_BYTES_MAX};
use std::collections::VecDeque;

/// Maximum number of unanswered requests.
const QUEUE: usize = 4096;
/// Bytes buffered of a server's packet, enough for errors and the ends of answers.
const KEPT: usize = 1024;
/// Capabilities that compress all packets after authentication.
const COMPRESSED: u32 = capability::COMPRESS | capability::COMPRESS_ZSTD;

/// Phase of a connection.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The server sends its greeting.
    Greeting,
    /// The client sends its login.
    Login(Greeting),
    /// Client and server exchange authentication data.
    Authentication,
    /// The client sends commands.
    Commands,
    Unreadable(&'static str),
}

/// Decoder of one connection.
pub struct Mysql {
    state: State,
    capabilities: Option<u32>,
    without_eof: Option<bool>,
    /// The last login; its user and database take effect after authentication.
    login: Login,
    product: Option<String>,
    user: Vec<u8>,
    database: Vec<u8>,
    session: u64,
    prepared: Prepared,
    queue: VecDeque<Request>,
    queue_bytes: usize,
    /// The first packets of a command of several packets; its position and its size so far, bytes.
    partial: Vec<u8>,
    partial_begin: Option<(Position, u64)>,
    /// The server's next packet continues its last one.
    goes_on: bool,
    /// After a gap in the server's bytes: ignore the server until the client sends the next request.
    is_waiting_for_question: bool,
    /// A gap in the client's bytes, already reported, may hide a request.
    may_lack_question: bool,
}

/// A command without a complete answer.
struct Request {
    command: &'static Command,
    /// Text of the statement, or name of a database.
    text: Vec<u8>,
    /// Why the statement is unknown.
    unknown: Option<&'static str>,
    /// Slot of the statement being prepared.
    slot: Option<u64>,
    begin: Position,
    received: u64,
    sent: u64,
    answer: Answer,
}

impl Mysql {
    /// Creates a decoder at the start (`is_begin`) or in the middle of a connection.
    pub fn new(session: u64, is_begin: bool) -> Self {
        Self {
            state: if is_begin { State::Greeting } else { State::Commands },
            capabilities: None,
            without_eof: None,
            login: Login::default(),
            product: None,
            user: vec![],
            database: vec![],
            session,
            prepared: Prepared::default(),
            queue: VecDeque::new(),
            queue_bytes: 0,
            partial: vec![],
            partial_begin: None,
            goes_on: false,
            is_waiting_for_question: !is_begin,
            may_lack_question: false,
        }
    }

    /// Whether the client's next packets belong to a file (LOAD DATA LOCAL).
    fn is_taking_file(&self) -> bool {
        self.queue.front().is_some_and(|request| request.answer.is_taking_file())
    }

    fn login(&mut self, message: &Message<'_>, known: u32) -> bool {
        let Some(login) = Login::read(message.body) else { return false };
        if login.wants_tls {
            self.state = State::Unreadable("a connection under TLS");
            return true;
        }
        let capabilities = login.capabilities & known;
        self.capabilities = Some(capabilities);
        self.without_eof = Some(capabilities & capability::DEPRECATE_EOF != 0);
        self.login = login;
        let connect = Command::of(11);
        self.state = State::Authentication;
        if let Some(command) = connect {
            self.queue.push_back(Request::new(command, vec![], message.begin, message.size as u64));
        }
        true
    }

    /// Processes a command of `length` bytes, of which `body` holds the first ones.
    fn command(
        &mut self,
        body: &[u8],
        length: usize,
        message: &Message<'_>,
        size: u64,
        out: &mut Out<'_>,
    ) -> bool {
        let Some((&code, rest)) = body.split_first() else { return message.is_torn };
        let Some(command) = Command::of(code) else { return false };
        let mut unknown = None;
        if message.is_torn {
            unknown = Some("a statement that the capture does not have whole");
        } else if body.len() < length {
            unknown = Some("a statement longer than 64 MiB");
        }
        self.may_lack_question = false;
        if self.is_waiting_for_question {
            self.give_up(out);
            self.is_waiting_for_question = false;
        }
        let mut request = Request::new(command, vec![], message.begin, size);
        let attributes = self.capabilities.map(|known| known & capability::QUERY_ATTRIBUTES != 0);
        let mut text = None;
        match code {
            command::QUERY => text = attributed(rest, attributes).map(<[u8]>::to_vec),
            command::STMT_PREPARE => {
                text = Some(rest.to_vec());
                request.slot = Some(self.prepared.begin(rest));
            }
            command::STMT_EXECUTE | command::STMT_BULK_EXECUTE => {
                text = match code {
                    command::STMT_EXECUTE => self.prepared.execute(rest, attributes),
                    _ => self.prepared.bulk_execute(rest),
                };
                if text.is_none() && unknown.is_none() {
                    unknown = Some("an execution of a statement whose text is not known");
                }
            }
            command::STMT_SEND_LONG_DATA => self.prepared.long_data(rest),
            command::STMT_CLOSE => self.prepared.close(rest),
            command::STMT_RESET => self.prepared.reset(rest),
            command::INIT_DB => text = Some(rest.to_vec()),
            command::CHANGE_USER => {
                if let Some((user, database)) = login::change_user(rest, self.capabilities) {
                    (self.login.user, self.login.database) = (user, database);
                }
                self.state = State::Authentication;
            }
            _ => {}
        }
        request.text = text.unwrap_or_default();
        request.unknown = unknown;
        self.queue_bytes += request.text.len();
        match command.reply {
            Reply::None => {
                self.finish(request, message.end, true, out);
            }
            Reply::Stream => {
                self.finish(request, message.end, false, out);
                self.state =
                    State::Unreadable("a stream of a binary log or of another server's data");
            }
            _ if self.queue.len() == QUEUE => {
                out.not_understood(message.begin, "more requests wait for answers than are kept");
                return false;
            }
            _ => self.queue.push_back(request),
        }
        true
    }

    fn greeting(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        if message.body.first() == Some(&0xFF) {
            // The server refuses the connection: too many connections, or a host that it does not accept.
            let Some(command) = Command::of(11) else { return false };
            let mut request = Request::new(command, vec![], message.begin, 0);
            request.answer.packet(message.body, message.length, &mut None);
            request.sent = message.size as u64;
            self.state = State::Commands;
            self.finish(request, message.end, true, out);
            return true;
        }
        let Some(greeting) = greeting(message.body) else { return false };
        self.session = greeting.connection_id.into();
        self.product = Some(greeting.product());
        self.state = State::Login(greeting);
        true
    }

    fn authentication(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        if let Some(front) = self.queue.front_mut() {
            front.sent += message.size as u64;
        }
        let is_over = matches!(message.body.first(), Some(0 | 0xFF));
        if !is_over {
            return true;
        }
        let Some(mut request) = self.queue.pop_front() else { return false };
        request.answer.packet(message.body, message.length, &mut self.without_eof);
        self.state = State::Commands;
        // The decoder ignores commands that the client sent before this packet.
        let is_in = request.answer.said.error == 0;
        if is_in || request.command.code != command::CHANGE_USER {
            self.user.clone_from(&self.login.user);
            self.database.clone_from(&self.login.database);
        }
        if is_in && request.command.code == command::CHANGE_USER {
            self.prepared.clear();
        }
        if is_in
            && request.command.code != command::CHANGE_USER
            && self.capabilities.is_some_and(|known| known & COMPRESSED != 0)
        {
            self.state = State::Unreadable("a compressed connection");
        }
        self.finish(request, message.end, true, out);
        true
    }

    /// Emits a request's event, and applies the effects of its answer on the connection. `is_answered`:
    /// the capture holds the end of the answer.
    fn finish(&mut self, request: Request, end: Position, is_answered: bool, out: &mut Out<'_>) {
        self.queue_bytes -= request.text.len().min(self.queue_bytes);
        let said = request.answer.said;
        let is_ok = is_answered && said.error == 0;
        let command = request.command;
        if let Some(why) = request.unknown {
            out.not_understood(request.begin, why);
        } else {
            let text = match command.kind {
                Kind::Command => command.name,
                _ => &request.text,
            };
            let mut numbers = Numbers::default();
            let is_timed = is_answered && command.reply != Reply::None;
            if is_timed {
                if matches!(command.reply, Reply::Result | Reply::Rows) && is_ok {
                    numbers.set(Measure::RowsSent, said.rows);
                }
                if command.reply == Reply::Result && is_ok {
                    numbers.set(Measure::RowsAffected, said.affected.unwrap_or(0));
                }
                numbers.set(Measure::BytesSent, request.sent);
            }
            numbers.set(Measure::BytesReceived, request.received);
            let error = if said.error == 0 { String::new() } else { said.error.to_string() };
            out.tell(&Done {
                kind: command.kind,
                text,
                parameters: b"",
                error: error.as_bytes(),
                user: &self.user,
                database: &self.database,
                session: self.session,
                begin: request.begin,
                end: is_timed.then_some(end),
                bytes: request.sent + request.received,
                numbers,
            });
        }
        if let Some(slot) = request.slot {
            match said.prepared {
                Some((id, count)) => self.prepared.prepared(slot, id, count),
                None if said.error != 0 => self.prepared.drop_slot(slot),
                None => {}
            }
        }
        match command.code {
            command::INIT_DB if is_ok => self.database = request.text,
            command::QUERY if is_ok => {
                if let Some(database) = used(&request.text) {
                    self.database = database;
                }
            }
            command::RESET_CONNECTION if is_ok => self.prepared.clear(),
            _ => {}
        }
    }
}

impl Decoder for Mysql {
    fn style(&self, _: Side) -> Style {
        Style::Mysql
    }

    fn wanted(&self, side: Side, _: u8) -> usize {
        match side {
            Side::Client if self.is_taking_file() => 0,
            Side::Client => LONGEST,
            Side::Server => KEPT,
        }
    }

    fn client(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        match &mut self.state {
            State::Greeting => return false,
            State::Login(greeting) => {
                let known = greeting.capabilities;
                return self.login(message, known);
            }
            State::Authentication | State::Unreadable(_) => return true,
            State::Commands => {}
        }
        if let Some(front) = self.queue.front_mut().filter(|front| front.answer.is_taking_file()) {
            front.received += message.size as u64;
            if message.length == 0 {
                front.answer.file_ended();
            }
            return true;
        }
        if self.partial_begin.is_none() && message.tag != 0 {
            return false;
        }
        let goes_on = message.length == PAYLOAD_BYTES_MAX;
        if !goes_on && self.partial_begin.is_none() {
            return self.command(message.body, message.length, message, message.size as u64, out);
        }
        let (begin, size) = self.partial_begin.unwrap_or((message.begin, 0));
        let size = size + message.size as u64;
        let room = LONGEST.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&message.body[..message.body.len().min(room)]);
        self.partial_begin = Some((begin, size));
        if goes_on {
            return true;
        }
        let body = std::mem::take(&mut self.partial);
        self.partial_begin = None;
        let packets =
            size.div_ceil((PAYLOAD_BYTES_MAX + HEADER_BYTES) as u64) * HEADER_BYTES as u64;
        let message = Message { begin, ..*message };
        self.command(&body, (size - packets) as usize, &message, size, out)
    }

    fn server(&mut self, message: &Message<'_>, out: &mut Out<'_>) -> bool {
        match self.state {
            State::Greeting => return self.greeting(message, out),
            State::Unreadable(_) => return true,
            State::Authentication => return self.authentication(message, out),
            State::Login(_) | State::Commands => {}
        }
        let Some(front) = self.queue.front_mut() else {
            return self.may_lack_question || needs_no_question(message);
        };
        front.sent += message.size as u64;
        let is_rest = std::mem::replace(&mut self.goes_on, message.length == PAYLOAD_BYTES_MAX);
        if is_rest {
            return true;
        }
        match front.answer.packet(message.body, message.length, &mut self.without_eof) {
            Step::More => true,
            Step::Wrong => false,
            Step::End => {
                if let Some(request) = self.queue.pop_front() {
                    self.finish(request, message.end, true, out);
                }
                true
            }
        }
    }

    fn lost(&mut self, side: Side) {
        if matches!(self.state, State::Login(_) | State::Greeting | State::Authentication) {
            self.state = State::Commands;
        }
        match side {
            Side::Client => {
                self.partial = vec![];
                self.partial_begin = None;
                self.may_lack_question = true;
            }
            Side::Server => {
                self.goes_on = false;
                self.is_waiting_for_question = true;
            }
        }
    }

    fn is_border(&self, side: Side, bytes: &[u8]) -> bool {
        match side {
            Side::Client => is_request(bytes),
            Side::Server => {
                bytes.get(3) == Some(&1) && !self.queue.is_empty() && !self.is_waiting_for_question
            }
        }
    }

    fn give_up(&mut self, out: &mut Out<'_>) {
        while let Some(request) = self.queue.pop_front() {
            let begin = request.begin;
            self.finish(request, begin, false, out);
        }
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
        self.partial.len() + queue + self.prepared.bytes()
    }
}

impl Request {
    fn new(command: &'static Command, text: Vec<u8>, begin: Position, received: u64) -> Self {
        let answer = Answer::new(command.reply);
        Self { command, text, unknown: None, slot: None, begin, received, sent: 0, answer }
    }
}

/// Whether the server may send this packet without a request: an error before it closes the
/// connection, or the EOF packet after definitions that the decoder did not expect.
fn needs_no_question(message: &Message<'_>) -> bool {
    match message.body.first() {
        Some(0xFF) => true,
        Some(0xFE) => message.length == 5,
        _ => false,
    }
}

/// The database in `use name`.
fn used(text: &[u8]) -> Option<Vec<u8>> {
    let text = terminated(text);
    let (verb, rest) = text.split_at_checked(3)?;
    if !verb.eq_ignore_ascii_case(b"use") || !rest.first()?.is_ascii_whitespace() {
        return None;
    }
    let name = rest.trim_ascii();
    match name.strip_prefix(b"`").and_then(|name| name.strip_suffix(b"`")) {
        Some(quoted) => {
            // A doubled backquote stands for one: drop the first.
            let mut is_half = false;
            let is_kept = |byte: &u8| {
                is_half = *byte == b'`' && !is_half;
                !is_half
            };
            Some(quoted.iter().copied().filter(is_kept).collect())
        }
        None => name.iter().all(|&byte| !byte.is_ascii_whitespace()).then(|| name.to_vec()),
    }
}
