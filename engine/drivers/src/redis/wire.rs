//! The state machine of one connection: (TLS) - AUTH, SELECT - requests.
//!
//! Operations of several commands (a login, the rows of a load, a write with its identity) are
//! pipelined, and their replies are counted together. Requests may be pipelined too: each has its
//! own reply. Of a node of a cluster, replies about the cluster may precede that of a request
//! ([`Aside`]); sessions send one request at a time there.

mod asides;

use self::asides::Aside;
use super::Shared;
use super::commands::{Counts, Digits, Replies};
use super::errors::Refusal;
use super::keyspace::Walk;
use super::rows::Rows;
use dyno_core::driver::{Cancel, Progress, Reply, ServerError, Task, Wire, WireProtocol};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::workload::{Op, Transaction};
use dyno_protocol::resp::{self, Reader, Token, rubbish};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum stored text of the reply to a [`Wire::query`], bytes.
const ROW_BYTES_MAX: usize = 64 << 10;

/// One connection.
pub(super) struct RedisWire {
    shared: Arc<Shared>,
    phase: Phase,
    reader: Reader,
    /// The reply under construction.
    reply: Reply,
    /// The current or last operation.
    request: u16,
    /// The operations that follow it, of a pipeline.
    queue: VecDeque<u16>,
    /// Replies of a cluster's node that precede the next one of the operation.
    aside: VecDeque<Aside>,
    digits: Digits,
    first_row: Vec<Option<String>>,
    row_bytes: usize,
}

/// The state of the connection.
#[derive(Debug)]
enum Phase {
    /// Not connected.
    New,
    /// The policy forbids sending the password.
    Refused(Error),
    /// Number of login commands without a reply.
    Login(u32),
    /// Nothing is in flight.
    Idle,
    /// One of the group's commands.
    Operation(Replies),
    /// A command given as text.
    Query,
    /// A scan of the store's keys. `must_be_none`: the store is about to be created.
    Walk { walk: Walk, store: String, must_be_none: bool },
    /// A load, before its first rows.
    LoadBegins(Box<Rows>),
    /// Rows are being sent.
    Load(Box<Rows>),
    /// All rows and a final command are sent.
    LoadEnds(Box<Rows>),
    /// An error was returned: the connection is unusable.
    Lost,
}

impl RedisWire {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            phase: Phase::New,
            reader: Reader::default(),
            reply: Reply::default(),
            request: 0,
            queue: VecDeque::new(),
            aside: VecDeque::new(),
            digits: Digits::default(),
            first_row: Vec::new(),
            row_bytes: 0,
        }
    }

    fn log_in(&mut self, out: &mut Vec<u8>) {
        self.phase = match self.shared.login.put(out) {
            Ok(commands) => Phase::Login(commands),
            Err(error) => Phase::Refused(error),
        };
        if self.shared.map.is_some() && matches!(self.phase, Phase::Login(_)) {
            self.ask_slots(out);
        }
    }

    /// Begins a request. `keep`: its reply is stored.
    fn begin(&mut self, phase: Phase, keep: bool) {
        debug_assert!(matches!(self.phase, Phase::Idle), "one request at a time");
        if self.aside.is_empty() {
            self.reader.keep = keep;
        }
        self.phase = phase;
    }

    /// Handles one value of a reply. `top`: the value is the reply itself, not a part of it.
    #[inline]
    fn token(&mut self, token: &Token<'_>, top: bool) -> Result<()> {
        if let Token::Error(line) = token {
            if top {
                return self.refused(Refusal::parse(line));
            }
            if matches!(self.phase, Phase::Operation(_)) {
                self.undone(line);
            }
        }
        match &mut self.phase {
            Phase::Operation(replies) if top && replies.left == replies.counted => {
                match (replies.counts, token) {
                    (_, Token::Null | Token::Many(0)) => {}
                    (Counts::Row, token) => {
                        self.reply.rows = 1;
                        if let (true, Token::Text(text)) = (self.reader.keep, token) {
                            self.reply.kept.row();
                            self.reply.kept.value(Some(text));
                        }
                    }
                    (Counts::Write, _) => self.reply.affected = 1,
                }
            }
            Phase::Operation(replies) if top && replies.left < replies.counted => {
                return self.waited(token);
            }
            Phase::Login(_) if top && !matches!(token, Token::Status(_) | Token::Many(_)) => {
                return Err(rubbish("an answer to a login that is none"));
            }
            Phase::Operation(_) | Phase::Login(_) | Phase::LoadBegins(_) => {}
            Phase::Query => self.keep(token),
            Phase::Walk { walk, .. } => walk.token(token)?,
            Phase::Load(rows) | Phase::LoadEnds(rows) if rows.outstanding > 0 => match token {
                Token::Integer(new) => rows.answered(Some(*new)),
                Token::Status(b"OK") => rows.answered(Some(1)),
                Token::Null | Token::Status(b"PONG") => rows.answered(None),
                _ => return Err(rubbish("an answer to HSET or SET that is none")),
            },
            _ => return Err(rubbish("an answer to nothing")),
        }
        Ok(())
    }

    /// A command between `MULTI` and `EXEC` failed when it was executed; the others were done.
    #[cold]
    fn undone(&mut self, line: &[u8]) {
        let class = self.class();
        let error = Refusal::parse(line).of_command(class, self.shared.map.is_some());
        let error = ServerError { rolled_back: false, retryable: false, ..error };
        self.reply.error.get_or_insert_with(|| Box::new(error));
    }

    /// Handles the reply to `WAIT`: the number of replicas that have received the write.
    fn waited(&mut self, token: &Token<'_>) -> Result<()> {
        let Token::Integer(found) = token else {
            return Err(rubbish("an answer to WAIT that is no number"));
        };
        let wanted = self.shared.login.wait.map_or(0, |wait| wait.replicas);
        if u64::try_from(*found).is_ok_and(|found| found < wanted) {
            let class = self.class();
            let error = ServerError {
                code: "WAIT".to_owned(),
                message: format!("{class}: {found} of {wanted} replicas have received the write"),
                ..ServerError::default()
            };
            self.reply.error.get_or_insert_with(|| Box::new(error));
        }
        Ok(())
    }

    /// The statement class of the current operation.
    fn class(&self) -> &str {
        &self.shared.commands[usize::from(self.request)].class
    }

    fn keep(&mut self, token: &Token<'_>) {
        let text = match token {
            Token::Many(_) => return,
            Token::Null | Token::Skipped => None,
            Token::Integer(number) => Some(number.to_string()),
            Token::Status(text) | Token::Text(text) | Token::Error(text) => {
                Some(String::from_utf8_lossy(text).into_owned())
            }
        };
        self.reply.rows = 1;
        self.row_bytes += size_of::<Option<String>>() + text.as_ref().map_or(0, String::len);
        if self.row_bytes <= ROW_BYTES_MAX {
            self.first_row.push(text);
        }
    }

    fn refused(&mut self, refusal: Refusal) -> Result<()> {
        if matches!(self.phase, Phase::Login(_)) {
            return Err(self.shared.login.refused(&refusal));
        }
        // Only `WAIT` has failed, as when the server becomes a replica (`UNBLOCKED`): the write is
        // done, and may be kept or lost.
        let is_done = match &self.phase {
            Phase::Operation(replies) => replies.left < replies.counted,
            _ => false,
        };
        let class = match self.phase {
            Phase::Operation(_) => self.class(),
            Phase::New | Phase::Refused(_) | Phase::Idle | Phase::Lost => {
                // The server sends this before it closes: too many clients, or a client that is too
                // slow.
                let place = &self.shared.login.place;
                let what = format!("Redis at {place} ended the connection: {}", refusal.text);
                return Err(Error::new(Kind::Connection, what).hint("see the server's log"));
            }
            _ => "",
        };
        if self.reply.error.is_none() {
            let map = self.shared.map.as_ref();
            let redirect = map.and_then(|map| map.redirect(&refusal.text));
            let error = refusal.of_command(class, map.is_some());
            let rolled_back = error.rolled_back && !is_done;
            let retryable = error.retryable && !is_done;
            let error = ServerError { redirect, rolled_back, retryable, ..error };
            self.reply.error = Some(Box::new(error));
        }
        Ok(())
    }

    /// Handles a complete reply.
    #[inline]
    fn complete(&mut self, out: &mut Vec<u8>) -> Result<Option<Progress>> {
        match &mut self.phase {
            Phase::Operation(replies) => {
                replies.left -= 1;
                if replies.left > 0 {
                    return Ok(None);
                }
                return Ok(Some(if self.queue.is_empty() { self.finish() } else { self.follow() }));
            }
            Phase::Query => return Ok(Some(self.finish())),
            Phase::Login(left) => {
                *left -= 1;
                if *left > 0 {
                    return Ok(None);
                }
                if !self.aside.is_empty() {
                    self.keep_next();
                    return Ok(None);
                }
                self.phase = Phase::Idle;
                return Ok(Some(Progress::Ready));
            }
            Phase::Walk { walk, store, must_be_none } if self.reply.error.is_none() => {
                let found = walk.found;
                let is_there = *must_be_none && found > 0;
                if !is_there && !walk.is_over(out) {
                    return Ok(None);
                }
                if is_there {
                    self.reply.error = Some(Box::new(already_there(store)));
                }
                self.first_row.clear();
                self.first_row.push(Some(found.to_string()));
                return Ok(Some(self.finish()));
            }
            Phase::LoadBegins(_) if self.reply.error.is_none() => {
                if let Phase::LoadBegins(rows) = std::mem::replace(&mut self.phase, Phase::Lost) {
                    self.phase = Phase::Load(rows);
                }
                return Ok(Some(Progress::WantData));
            }
            // An error ends the load early.
            Phase::Load(_) if self.reply.error.is_none() => return Ok(None),
            Phase::LoadEnds(rows) if self.reply.error.is_none() => {
                if rows.outstanding > 0 {
                    return Ok(None);
                }
                self.reply.affected = rows.taken;
            }
            _ => {}
        }
        Ok(Some(self.finish()))
    }

    /// Returns the reply to an operation; another one follows.
    fn follow(&mut self) -> Progress {
        if let Some(request) = self.queue.pop_front() {
            self.request = request;
            self.phase = Phase::Operation(self.shared.commands[usize::from(request)].replies);
        }
        Progress::Reply(std::mem::take(&mut self.reply))
    }

    fn finish(&mut self) -> Progress {
        self.phase = Phase::Idle;
        Progress::Reply(std::mem::take(&mut self.reply))
    }

    fn advance(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        if let Phase::Refused(error) = &self.phase {
            return Err(error.clone());
        }
        let mut at = 0;
        loop {
            let top = self.reader.is_between();
            let (used, token) = self.reader.next(&input[at..])?;
            at += used;
            let Some(token) = token else { return Ok((at, Progress::More)) };
            if self.is_aside() {
                self.aside_token(&token, top)?;
                if self.reader.is_between()
                    && let Some(progress) = self.aside_over()
                {
                    return Ok((at, progress));
                }
                continue;
            }
            self.token(&token, top)?;
            if self.reader.is_between()
                && let Some(progress) = self.complete(out)?
            {
                return Ok((at, progress));
            }
        }
    }
}

impl WireProtocol for RedisWire {
    type Reply = Reply;

    fn begins_with_tls(&self) -> bool {
        self.shared.login.tls
    }

    fn connected(&mut self, _secure_transport: bool, out: &mut Vec<u8>) {
        self.log_in(out);
    }

    fn tls_established(&mut self, out: &mut Vec<u8>) {
        self.log_in(out);
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Progress)> {
        let result = self.advance(input, out);
        if result.is_err() {
            self.phase = Phase::Lost;
        }
        result
    }

    fn is_amid_message(&self) -> bool {
        self.reader.is_skipping()
    }

    /// Commands are short, and only scripts can be stopped.
    fn cancel(&self) -> Cancel {
        Cancel::Close
    }

    fn quit(&mut self, _out: &mut Vec<u8>) {}
}

impl Wire for RedisWire {
    #[inline]
    fn request(&mut self, op: &Op, tx: &Transaction, out: &mut Vec<u8>) {
        let command = &self.shared.commands[usize::from(op.request)];
        let (replies, keeps) = (command.replies, command.keeps);
        command.request(op, tx, &mut self.digits, out);
        if let Phase::Operation(_) = self.phase {
            return self.queue.push_back(op.request);
        }
        self.request = op.request;
        self.begin(Phase::Operation(replies), keeps);
    }

    fn asking(&mut self, out: &mut Vec<u8>) {
        resp::command(&[b"ASKING"], out);
        self.aside.push_back(Aside::Asking);
    }

    fn look_up(&mut self, out: &mut Vec<u8>) {
        if self.shared.map.as_ref().is_some_and(|map| map.take_doubt()) {
            self.ask_slots(out);
        }
    }

    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool {
        let (table, must_be_none) = match task {
            Task::Create(table) => (table, true),
            Task::Count(table) => (table, false),
            // There are no transactions, and nothing to build after a load.
            Task::Rollback | Task::BeginLoad(_) | Task::EndLoad(_) | Task::Finish(..) => {
                return false;
            }
        };
        let walk = Walk::begin(&self.shared.login.prefix, &table.name, out);
        self.begin(Phase::Walk { walk, store: table.name.clone(), must_be_none }, true);
        true
    }

    /// Sends a command; spaces separate its words.
    fn query(&mut self, text: &str, out: &mut Vec<u8>) {
        self.first_row.clear();
        self.row_bytes = 0;
        let words: Vec<&[u8]> = text.split_whitespace().map(str::as_bytes).collect();
        resp::command(if words.is_empty() { &[b"PING"] } else { &words }, out);
        self.begin(Phase::Query, true);
    }

    fn bulk(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>) {
        // The caller sends rows after the reply to this command.
        resp::command(&[b"PING"], out);
        let rows = Rows::new(&self.shared.login.prefix, table, columns);
        self.begin(Phase::LoadBegins(Box::new(rows)), false);
    }

    /// Does nothing after the server refused a row.
    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        if let Phase::Load(load) = &mut self.phase {
            load.put(rows, out);
        }
    }

    fn bulk_end(&mut self, out: &mut Vec<u8>) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Lost) {
            Phase::Load(mut rows) => {
                rows.end(out);
                Phase::LoadEnds(rows)
            }
            other => other,
        };
    }

    fn first_row(&self) -> &[Option<String>] {
        &self.first_row
    }
}

/// The error of a store that exists but is to be created.
fn already_there(store: &str) -> ServerError {
    ServerError {
        code: "EXISTS".to_owned(),
        message: format!("store {store} already exists: there are keys of it"),
        rolled_back: true,
        ..ServerError::default()
    }
}
